"""Turbulence from means over planes and time: stresses, skewness, the energy budget, wall units, errors of means."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from solver.config import nearest
from solver.walls.legendre import derivative_at_points, gauss_points, height_of, values

SLOPE, SQUARE, PRESSURE, VISCOSITY = "_slope", "_gradient_square", "pressure", "viscosity"
WALLS = ("lower", "upper")


def turbulence(profiles: Any, viscosity: float | None = None, vector: str = "velocity") -> Any:
    """Fluctuations about the means of `[output.vertical-profiles]`: stresses, skewness, the budget of ½⟨|u'|²⟩.

    With A' = A − ⟨A⟩ of each component A, ⟨⟩ the mean over planes and over time, and U_i = ⟨u_i⟩ of the vector u:
    covariances ⟨A'B'⟩ are called `A_B`, means `A`, standard deviations `A_rms`, ⟨A'³⟩/⟨A'²⟩^(3/2) `A_skewness`. Of u:

        kinetic_energy       ½⟨u_i'u_i'⟩
        production           −⟨u_i'w'⟩ ∂U_i/∂z
        transport            −∂/∂z ½⟨w'u_i'u_i'⟩
        pressure_transport   −∂/∂z ⟨w'p'⟩, where the pressure p was recorded
        viscous_diffusion    ν ∂²/∂z² ½⟨u_i'u_i'⟩
        dissipation          ν⟨∂_j u_i' ∂_j u_i'⟩
        rest                 dissipation less the terms before it: buoyancy, forces, ∂/∂t

    and `pressure_strain_ij`, ⟨p'(∂_j u_i' + ∂_i u_j')⟩, which moves energy from one component to others.

    Args:
        profiles: dataset of one window, `run.statistics["vertical-profiles"].isel(t=-1)`, or of the mean of several; or
            of a single time, `run.records["vertical-profiles"].isel(t=-1)`.
        viscosity: ν [length²/time]; by default the number that was recorded. Without it the budget is left out.
        vector: the velocity u.

    Returns:
        A dataset against the last direction. Derivatives are taken of the polynomial, or in a periodic box of the
        Fourier series, through the points.

    Raises:
        KeyError: no such vector was recorded.
        ValueError: several times; or points that are neither even nor Gauss–Legendre points.
    """
    axis = _axis(profiles)
    z = np.asarray(profiles[axis])
    made = fluctuations({str(name): np.asarray(column) for name, column in profiles.data_vars.items()})
    if viscosity is None and VISCOSITY in profiles:
        viscosity = float(profiles[VISCOSITY])
    if viscosity is not None:
        made |= energy_budget(
            {str(n): np.asarray(column) for n, column in profiles.items()}, made, z, viscosity, vector
        )
    kept = {name: ((axis,), column, _about(profiles, name)) for name, column in made.items()}
    return type(profiles)(kept, {axis: profiles[axis]})


def components_of(columns: Iterable[Any]) -> list[str]:
    """Names of the components whose profiles `[output.vertical-profiles]` has recorded."""
    names = [*map(str, columns)]
    slopes = (name.removesuffix(SLOPE) for name in names if name.endswith(SLOPE))
    return [name for name in slopes if f"{name}_{name}_{name}" in names]


def fluctuations(columns: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Means `A`, covariances `A_B`, `A_rms` and `A_skewness`, from the columns of `[output.vertical-profiles]`."""
    made = {name: columns[name] for name in components_of(columns)}
    means = dict(made)
    for pair in ((a, b) for a in means for b in means if f"{a}_{b}" in columns):
        made["_".join(pair)] = columns["_".join(pair)] - means[pair[0]] * means[pair[1]]
    for name, mean in means.items():
        variance = np.maximum(made[f"{name}_{name}"], 0)
        third = columns[f"{name}_{name}_{name}"] - 3 * mean * variance - mean**3
        made[f"{name}_rms"] = np.sqrt(variance)
        made[f"{name}_skewness"] = np.divide(third, variance**1.5, out=np.zeros_like(third), where=variance > 0)
    return made


def energy_budget(
    columns: Mapping[str, np.ndarray], made: Mapping[str, np.ndarray], z: np.ndarray, nu: float, vector: str
) -> dict[str, np.ndarray]:
    """Terms of the budget of ½⟨u_i'u_i'⟩ and the pressure–strain correlation, as of `turbulence`.

    Args:
        columns: columns of `[output.vertical-profiles]`.
        made: result of `fluctuations` of them.
        z: places of the planes.
        nu: ν.
        vector: the velocity u.
    """
    names = components_of(columns)
    u = [name for name in names if name in {f"{vector}_{axis}" for axis in "xyz"}]
    if not u:
        raise KeyError(f"{vector!r} was not recorded{nearest(vector, {name.rpartition('_')[0] for name in names})}")
    w, slopes = u[-1], {a: columns[f"{a}{SLOPE}"] for a in u}
    across = lambda a: made[f"{a}_{w}"]  # noqa: E731
    energy = np.sum([made[f"{a}_{a}"] for a in u], axis=0) / 2
    square = 2 * energy + sum(made[a] ** 2 for a in u)
    flux = columns[f"{vector}_transport"] - made[w] * square / 2
    flux = flux - np.sum([made[a] * across(a) for a in u], axis=0)
    gained = {
        "production": -sum(across(a) * slopes[a] for a in u),
        "transport": -derivative(flux, z),
        "viscous_diffusion": nu * derivative(derivative(energy, z), z),
    }
    if PRESSURE in names:
        gained["pressure_transport"] = -derivative(made[f"{w}_{PRESSURE}"], z)
    lost = nu * (columns[f"{vector}{SQUARE}"] - sum(slope**2 for slope in slopes.values()))
    rest = {"dissipation": lost, "rest": lost - sum(gained.values())}
    return {"kinetic_energy": energy, **gained, **rest, **_pressure_strain(columns, made, u)}


def _pressure_strain(
    columns: Mapping[str, np.ndarray], made: Mapping[str, np.ndarray], u: list[str]
) -> dict[str, np.ndarray]:
    """⟨p'(∂_j u_i' + ∂_i u_j')⟩ by column; empty without a pressure. Means vary across the planes alone."""
    slopes = {a[-1]: columns[f"{a}{SLOPE}"] for a in u}
    zero, upward = np.zeros_like(slopes[u[-1][-1]]), u[-1][-1]
    strain = lambda i, j: sum(slopes[a] if b == upward else zero for a, b in ((i, j), (j, i)))  # noqa: E731
    pairs = [(i, j) for i in slopes for j in slopes if f"{PRESSURE}_strain_{i}{j}" in columns]
    of = {pair: columns[f"{PRESSURE}_strain_{''.join(pair)}"] - made[PRESSURE] * strain(*pair) for pair in pairs}
    return {f"{PRESSURE}_strain_{i}{j}": values for (i, j), values in of.items()}


def wall_units(profiles: Any, viscosity: float, along: str = "velocity_x") -> Any:
    """Friction velocity u_τ = (ν |∂U/∂z|)^½ at each wall, Re_τ = u_τ H/(2ν), and the distance of the points from it.

    Args:
        profiles: as of `turbulence`, between walls.
        viscosity: ν [length²/time].
        along: component whose mean is sheared at the walls.

    Returns:
        A dataset along `wall`, lower and upper: `friction_velocity`, `friction_reynolds` and `wall_distance` of the
        points [ν/u_τ]. A profile U of `turbulence` in wall units is U/u_τ, a stress ⟨u'w'⟩/u_τ².

    Raises:
        KeyError: no such component was recorded.
        ValueError: the points are not those between walls.
    """
    axis = _axis(profiles)
    z = np.asarray(profiles[axis])
    if f"{along}{SLOPE}" not in profiles:
        raise KeyError(f"{along!r} was not recorded{nearest(along, components_of(profiles))}")
    speed = np.sqrt(viscosity * np.abs(at_walls(np.asarray(profiles[f"{along}{SLOPE}"]), z)))
    height = _height(z)
    distance = np.stack([z, height - z]) * speed[:, None] / viscosity
    made = {
        "friction_velocity": (("wall",), speed, {"long_name": "friction velocity"}),
        "friction_reynolds": (("wall",), speed * height / (2 * viscosity), {"long_name": "friction Reynolds number"}),
        "wall_distance": (("wall", axis), distance, {"long_name": "distance from the wall in wall units"}),
    }
    return type(profiles)(made, {"wall": list(WALLS), axis: profiles[axis]})


def boundary_layers(profiles: Any, vector: str = "velocity") -> Any:
    """Thicknesses of the boundary layers at both walls, of each scalar T and of a velocity u.

        T_slope_thickness    |T(wall) − T(H/2)| / |∂T/∂z| at the wall, T the mean over planes and time
        T_rms_thickness      distance from the wall of the largest ⟨T'²⟩ in its half of the layer
        u_slope_thickness    largest u'_h in its half / ∂u'_h/∂z at the wall, u'_h² = ⟨u'² + v'²⟩ along the walls
        u_rms_thickness      distance from the wall of this largest u'_h

    Args:
        profiles: as of `turbulence`, between walls.
        vector: the velocity u.

    Returns:
        A dataset along `wall`, lower and upper [length], of the polynomials through the points. A mean without a slope
        at the wall has no thickness by slope: NaN. Nor has a velocity that fluctuates there: at free-slip walls, and at
        walls whose motion changes in time.

    Raises:
        KeyError: no such vector was recorded.
        ValueError: the points are not those between walls.

    Source: Scheel, Kim & White, J. Fluid Mech. 711 (2012) 281 (slope and r.m.s. thicknesses).
    """
    axis = _axis(profiles)
    z, names = np.asarray(profiles[axis]), components_of(profiles)
    height = _height(z)
    made = fluctuations({str(name): np.asarray(column) for name, column in profiles.data_vars.items()})
    u = [name for name in names if name in {f"{vector}_{axis}" for axis in "xyz"}]
    if not u:
        raise KeyError(f"{vector!r} was not recorded{nearest(vector, {name.rpartition('_')[0] for name in names})}")
    scalars = [name for name in names if name not in u and name != PRESSURE]
    found = {}
    for name in scalars:
        slopes = at_walls(np.asarray(profiles[f"{name}{SLOPE}"]), z)
        apart = np.abs(at_walls(made[name], z) - at_heights(made[name], z, np.array([0.5 * height]))[0])
        found[f"{name}_slope_thickness"] = np.divide(apart, np.abs(slopes), out=np.full(2, np.nan), where=slopes != 0)
        found[f"{name}_rms_thickness"] = _largest(made[f"{name}_{name}"], z)[0]
    along = np.sum([made[f"{name}_{name}"] for name in u[:-1]], axis=0)
    places, largest = _largest(along, z)
    bend = at_walls(derivative(derivative(along, z), z), z)  # of a square that is 0 at the wall with its slope
    steep = np.sqrt(np.maximum(0.5 * bend, 0)) * (at_walls(along, z) < AT_REST * largest)
    found[f"{vector}_slope_thickness"] = np.divide(np.sqrt(largest), steep, out=np.full(2, np.nan), where=steep > 0)
    found[f"{vector}_rms_thickness"] = places
    about = {name: {"long_name": name.replace("_", " "), "units": "length"} for name in found}
    return type(profiles)({name: (("wall",), v, about[name]) for name, v in found.items()}, {"wall": list(WALLS)})


def _largest(profile: np.ndarray, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Distance from each wall of the largest value in its half of the layer, and this value."""
    distance = np.linspace(0, 0.5 * _height(z), FINE)
    places, values_there = [], []
    for at in (distance, _height(z) - distance):
        values_at = at_heights(profile, z, at)
        i = int(np.clip(np.argmax(values_at), 1, FINE - 2))
        before, here, after = values_at[i - 1 : i + 2]
        bend = before - 2 * here + after
        shift = float(np.clip(0.5 * (before - after) / bend, -1, 1)) if bend < 0 else float(np.argmax(values_at) - i)
        places.append(distance[1] * (i + shift))
        values_there.append(here - 0.25 * (before - after) * shift if bend < 0 else values_at.max())
    return np.asarray(places), np.asarray(values_there)


def at_heights(profile: np.ndarray, z: np.ndarray, heights: np.ndarray) -> np.ndarray:
    """Values at any heights of the polynomial through a profile `(…, z)` at Gauss–Legendre points."""
    points, weights = gauss_points(len(z))
    coefficients = (np.asarray(profile) * weights) @ values(len(z), points)
    return np.asarray(coefficients @ values(len(z), 2 * heights / _height(z) - 1).T)


def at_walls(profile: np.ndarray, z: np.ndarray) -> np.ndarray:
    """Values at the lower and the upper wall of the polynomial through a profile `(…, z)` at Gauss–Legendre points."""
    return at_heights(profile, z, np.array([0.0, _height(z)]))


def derivative(profile: np.ndarray, z: np.ndarray) -> np.ndarray:
    """∂/∂z of a profile: of the polynomial through Gauss–Legendre points, or of a Fourier series through even ones."""
    steps = np.diff(z)
    if np.allclose(steps, steps[0], rtol=1e-6):
        k = 2 * np.pi * np.fft.rfftfreq(len(z), steps[0])
        k[-1] *= len(z) % 2  # the Nyquist mode has no derivative at the points
        return np.asarray(np.fft.irfft(1j * k * np.fft.rfft(profile), len(z)))
    return np.asarray(derivative_at_points(len(z)) @ profile * 2 / _height(z))


def mean_with_error(t: Any, values_at_t: Any, after: float = 0.0) -> tuple[float, float]:
    """Mean over time of a column, and the standard error of this mean, whose values are correlated in time.

    The variance of the mean is (1/T) ∫ C(s) ds of the autocovariance C, summed over blocks of growing length until
    doubling them changes it no more than its own uncertainty: the largest σ²_b/n over lengths b with at least 16 blocks
    (Flyvbjerg & Petersen). Too few independent values give an error that is too small.

    Args:
        t: times; not equally spaced ones count by the time up to their neighbours.
        values_at_t: values at these times.
        after: times before it are left out, while the flow settles.

    Raises:
        ValueError: fewer than 32 times are left.

    Source: Flyvbjerg & Petersen, J. Chem. Phys. 91 (1989) 461.
    """
    t, column = np.asarray(t, float), np.asarray(values_at_t, float)
    chosen = t >= after
    t, column = t[chosen], column[chosen]
    if len(t) < 2 * FEWEST_BLOCKS:
        raise ValueError(f"{len(t)} times from t = {after:g} on: {2 * FEWEST_BLOCKS} or more are needed")
    weights = np.gradient(t)
    mean, error = float(np.average(column, weights=weights)), 0.0
    while len(column) >= FEWEST_BLOCKS:
        spread = np.average((column - np.average(column, weights=weights)) ** 2, weights=weights)
        error = max(error, float(np.sqrt(spread / (len(column) - 1))))
        even = len(column) // 2 * 2
        pairs, sizes = column[:even].reshape(-1, 2), weights[:even].reshape(-1, 2)
        column, weights = np.average(pairs, weights=sizes, axis=1), sizes.sum(axis=1)
    return mean, error


FEWEST_BLOCKS = 16
AT_REST = 1e-3  # of the largest fluctuation's square: rounding of a velocity that a wall gives
FINE = 2001  # places in half of a layer, between which a largest value is that of a parabola


def _axis(profiles: Any) -> str:
    axes = [str(name) for name in profiles.dims]
    if len(axes) != 1:
        raise ValueError(f"profiles along {', '.join(axes) or 'nothing'}: profiles at one time are needed, .isel(t=-1)")
    return axes[0]


def _height(z: np.ndarray) -> float:
    height = height_of(z)
    if height is None:
        raise ValueError(f"{len(z)} places that are no Gauss–Legendre points: a direction between walls is needed")
    return height


def _about(profiles: Any, name: str) -> dict[str, Any]:
    return dict(profiles[name].attrs) if name in profiles else {}
