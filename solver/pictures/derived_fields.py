"""Fields that pictures make of those in a snapshot: vorticity, speed, Q, gradients, density and phase of ψ, and others.

They have the names that outputs use for the same quantities (`solver.dynamics.derived`), and some more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from solver.io import BODIES, Snapshot
from solver.pictures.run_file import parameter, run_table
from solver.walls.legendre import derivative_at_points, height_of

REAL, IMAGINARY = "_real", "_imag"
SHORT = {"q": "q_criterion"}  # other names of fields


ROUNDING = 1e-6  # of stored numbers in single precision, several times


@dataclass(frozen=True)
class DerivedField:
    """A scalar or a vector at the points.

    Args:
        linear: reads quantities that are linear in the stored fields, and so has a Fourier series as short as theirs.
        combine: makes the components of these arrays; a scalar has one.
        units: units of the values.
        labels: labels of the components; empty for a scalar.
    """

    linear: Callable[[Cut], list[np.ndarray]]
    combine: Callable[..., Sequence[np.ndarray]]
    units: str = ""
    labels: tuple[str, ...] = ()


def derived_fields(snapshot: Snapshot) -> dict[str, DerivedField]:
    """Fields by name. Those with derivatives are there if the snapshot holds the whole box."""
    made: dict[str, DerivedField] = {}
    whole = not snapshot.place and all(len(side) == 1 for v in snapshot.variables.values() for side in v.sides)
    for name, variable in snapshot.variables.items():
        is_vector = variable.labels == tuple("xyz")[: len(snapshot.axes)] and len(variable.labels) > 1
        if variable.labels:
            made[_size_of(name)] = _size(name, len(variable.labels), variable.units)
        if whole and is_vector:
            made |= _of_vector(snapshot, name, variable.units)
        elif whole and not variable.labels and name != BODIES and not name.endswith((REAL, IMAGINARY)):
            made |= _of_scalar(snapshot, name, variable.units)
    if whole and snapshot.equation == "vorticity" and "vorticity" in snapshot.variables:
        made |= _of_vorticity(snapshot)
    if whole and len(snapshot.axes) == 3 and {"velocity", "buoyancy"} <= snapshot.variables.keys():
        made |= _of_stratified_flow(snapshot)
    if "log_density" in snapshot.variables:
        made["density"] = DerivedField(lambda cut: [cut.values("log_density")], lambda s: [np.exp(s)], "density")
    for stem in wavefunctions(snapshot):
        made |= _of_wavefunction(snapshot, stem)
    return {name: field for name, field in made.items() if name not in snapshot.variables}


def wavefunctions(snapshot: Snapshot) -> list[str]:
    """Names of the complex fields, of which a snapshot holds the real and the imaginary part."""
    stems = [name.removesuffix(REAL) for name in snapshot.variables if name.endswith(REAL)]
    return [stem for stem in stems if f"{stem}{IMAGINARY}" in snapshot.variables]


def shown_fields(snapshot: Snapshot) -> list[str]:
    """Fields of a figure if none is named: those stored, but wavefunctions by density, or modulus, and phase.

    The mask of bodies is there only if nothing else is.
    """
    stems, stored = wavefunctions(snapshot), list(snapshot.variables)
    parts = {f"{stem}{part}" for stem in stems for part in (REAL, IMAGINARY)}
    shown = [name for name in stored if name != BODIES and name not in parts]
    for stem in stems:
        if not ("modulus" in stored or _density_is_stored(snapshot, stem)):
            shown.append(_of_stem("density", stem, snapshot))
        shown.append(_of_stem("phase", stem, snapshot))
    return shown or stored


def _density_is_stored(snapshot: Snapshot, stem: str) -> bool:
    """True if `density` is |ψ|² and not another field of this name."""
    density = snapshot.variables.get("density")
    return density is not None and density.units == _square_of(snapshot.variables[f"{stem}{REAL}"].units) != ""


def _square_of(units: str) -> str:
    return {"density^(1/2)": "density", "": "", "1": "1"}.get(units, f"({units})^2")


# ---- what is made ---------------------------------------------------------------------------------------------------


def _size_of(name: str) -> str:
    return "speed" if name == "velocity" else f"magnitude_{name}"


def _size(name: str, count: int, units: str) -> DerivedField:
    return DerivedField(lambda cut: [cut.values(name, i) for i in range(count)], lambda *u: [_norm(u)], units)


def _norm(u: Sequence[np.ndarray]) -> np.ndarray:
    return np.sqrt(sum(part**2 for part in u))


def _per_length(units: str) -> str:
    known = {"length/time": "1/time", "length": "", "length^2/time": "length/time", "": "1/length", "1": "1/length"}
    return known.get(units, f"{units}/length")


def _of_vector(snapshot: Snapshot, name: str, units: str) -> dict[str, DerivedField]:
    """Curl and divergence of a vector; of a velocity also Q and, where ν∇²u is all that damps it, the dissipation."""
    sides, rate = range(len(snapshot.axes)), _per_length(units)
    labels = tuple("xyz") if len(sides) == 3 else ()
    curl = DerivedField(lambda cut: list(_curl_terms(cut, name)), _differences, rate, labels)
    divergence = DerivedField(
        lambda cut: [cut.derivative(name, axis, axis) for axis in sides], lambda *parts: [np.sum(parts, axis=0)], rate
    )
    if name != "velocity":
        more = {"current": curl} if name == "magnetic_field" else {}
        return {f"curl_{name}": curl, **more, f"divergence_{name}": divergence}
    made = {"vorticity": curl, "divergence": divergence}
    gradients = lambda cut: [part for i in sides for part in cut.gradient(name, i)]  # noqa: E731
    if len(sides) == 3:
        made["q_criterion"] = DerivedField(gradients, lambda *parts: [_second_invariant(parts)], "1/time^2")
    viscosity = snapshot.viscosity
    if viscosity is not None:
        rounding = ROUNDING * np.pi / min(float(x[1] - x[0]) for x in snapshot.axes.values() if len(x) > 1)
        everything = lambda cut: [*gradients(cut), *(cut.values(name, i) for i in sides)]  # noqa: E731
        made["dissipation"] = DerivedField(
            everything, lambda *parts: [_dissipation(viscosity, parts, rounding)], "length^2/time^3"
        )
    return made


def _curl_terms(cut: Cut, name: str) -> Iterator[np.ndarray]:
    """∂_a u_b and ∂_b u_a for each component of the curl, one after the other."""
    for a, b in ((1, 2), (2, 0), (0, 1)) if len(cut.snapshot.axes) == 3 else ((0, 1),):
        yield cut.derivative(name, a, b)
        yield cut.derivative(name, b, a)


def _differences(*terms: np.ndarray) -> list[np.ndarray]:
    return [first - second for first, second in zip(terms[::2], terms[1::2], strict=True)]


def _square(parts: Sequence[np.ndarray]) -> np.ndarray:
    """∂_j u_i as `(i, j, …)`."""
    d = int(np.sqrt(len(parts)))
    return np.stack(parts).reshape(d, d, *parts[0].shape)


def _second_invariant(parts: Sequence[np.ndarray]) -> np.ndarray:
    """Q = −½ ∂_i u_j ∂_j u_i [1/time²] of a solenoidal velocity: positive where it turns more than it is strained.

    Source: Hunt, Wray & Moin, Center for Turbulence Research report S88 (1988) 193.
    """
    return -0.5 * np.einsum("ij...,ji...->...", _square(parts), _square(parts))


def _strain_squared(parts: Sequence[np.ndarray]) -> np.ndarray:
    """S_ij S_ij of the strain S."""
    gradient = _square(parts)
    return np.sum((0.5 * (gradient + gradient.swapaxes(0, 1))) ** 2, axis=(0, 1))


def _dissipation(viscosity: float, parts: Sequence[np.ndarray], rounding: float) -> np.ndarray:
    """2ν S_ij S_ij of a velocity without divergence; of another it depends on the equation, which is not here.

    Args:
        viscosity: ν.
        parts: ∂_j u_i, and then u_i.
        rounding: gradient that rounding of a u of order one may have [1/length].
    """
    d = round((np.sqrt(1 + 4 * len(parts)) - 1) / 2)
    parts, u = parts[: d * d], parts[d * d :]
    gradient = _square(parts)
    divergence, largest = np.abs(np.trace(gradient)).max(), np.abs(gradient).max()
    if divergence > 1e-3 * largest + rounding * np.abs(u).max():
        raise ValueError(
            f"field 'dissipation': u has divergence ({divergence:.2g} among gradients of {largest:.2g}): its "
            'dissipation depends on the equation; output.snapshots.fields = ["dissipation"] has the run write it'
        )
    return 2 * viscosity * _strain_squared(parts)


def _of_scalar(snapshot: Snapshot, name: str, units: str) -> dict[str, DerivedField]:
    rate, sides = _per_length(units), tuple("xyz")[: len(snapshot.axes)]
    gradient = lambda cut: cut.gradient(name)  # noqa: E731
    labels = sides if len(sides) > 1 else ()
    made = {f"gradient_{name}": DerivedField(gradient, lambda *parts: parts, rate, labels)}
    if labels:
        made[f"magnitude_gradient_{name}"] = DerivedField(gradient, lambda *parts: [_norm(parts)], rate)
    return made


def _of_vorticity(snapshot: Snapshot) -> dict[str, DerivedField]:
    """Stream function ψ, −∇²ψ = ω, and velocity (∂_y ψ, −∂_x ψ) of a flow in a plane."""
    spacing = [float(points[1] - points[0]) if len(points) > 1 else 1.0 for points in snapshot.axes.values()]

    def psi(cut: Cut) -> tuple[np.ndarray, list[np.ndarray]]:
        omega = cut.values("vorticity")
        k = [2 * np.pi * np.fft.fftfreq(n, d) for n, d in zip(omega.shape, spacing, strict=True)]
        k_squared = k[0][:, None] ** 2 + k[1] ** 2
        k_squared[0, 0] = 1.0
        psi_hat = np.fft.fft2(omega) / k_squared
        psi_hat[0, 0] = 0.0
        values = np.fft.ifft2(psi_hat).real
        return values, [spectral_derivative(values, 1, spacing[1]), -spectral_derivative(values, 0, spacing[0])]

    velocity = lambda cut: psi(cut)[1]  # noqa: E731
    return {
        "stream_function": DerivedField(lambda cut: [psi(cut)[0]], lambda values: [values], "length^2/time"),
        "velocity": DerivedField(velocity, lambda *u: u, "length/time", ("x", "y")),
        "speed": DerivedField(velocity, lambda *u: [_norm(u)], "length/time"),
    }


def _of_stratified_flow(snapshot: Snapshot) -> dict[str, DerivedField]:
    """Potential vorticity q = (ω + f ẑ)·∇(b + N² z) [1/time³], where N is known; ideal flow carries it along.

    Source: Vallis, Atmospheric and Oceanic Fluid Dynamics (2017), 4.5.
    """
    table = run_table(snapshot.path)
    frequency, f = parameter(table, "buoyancy_frequency"), parameter(table, "rotation") or 0.0
    if frequency is None:
        return {}

    def combined(*parts: np.ndarray) -> list[np.ndarray]:
        *terms, b_x, b_y, b_z = parts
        x, y, z = _differences(*terms)
        return [x * b_x + y * b_y + (z + f) * (b_z + frequency**2)]

    linear = lambda cut: [*_curl_terms(cut, "velocity"), *cut.gradient("buoyancy")]  # noqa: E731
    return {"potential_vorticity": DerivedField(linear, combined, "1/time^3")}


def _of_stem(quantity: str, stem: str, snapshot: Snapshot) -> str:
    """Name of a quantity of a complex field; the quantity of the only one has the quantity's name, if it is free."""
    only = len(wavefunctions(snapshot)) == 1 and quantity not in snapshot.variables
    return quantity if only else f"{quantity}_{stem}"


def _of_wavefunction(snapshot: Snapshot, stem: str) -> dict[str, DerivedField]:
    units = snapshot.variables[f"{stem}{REAL}"].units
    parts = lambda cut: [cut.values(f"{stem}{part}") for part in (REAL, IMAGINARY)]  # noqa: E731
    return {
        _of_stem("density", stem, snapshot): DerivedField(parts, lambda a, b: [a**2 + b**2], _square_of(units)),
        _of_stem("modulus", stem, snapshot): DerivedField(parts, lambda a, b: [np.hypot(a, b)], units),
        _of_stem("phase", stem, snapshot): DerivedField(parts, lambda a, b: [np.arctan2(b, a)], "rad"),
    }


@dataclass(frozen=True)
class Cut:
    """A plane of a snapshot, or all of it.

    Args:
        snapshot: the file.
        index: an entry for each axis: a whole slice, or the number of a point.
    """

    snapshot: Snapshot
    index: tuple[Any, ...]

    def values(self, name: str, component: int | None = None) -> np.ndarray:
        """Values of a scalar, or of a component of a vector."""
        return self._read(name, self.index, component)

    def derivative(self, name: str, axis: int, component: int | None = None) -> np.ndarray:
        """Derivative along an axis of the box: of the Fourier series, where the derivative of the Nyquist mode is 0, or
        between walls of the polynomial through all points."""
        side, points = list(self.snapshot.axes.items())[axis]
        spacing = float(points[1] - points[0]) if len(points) > 1 else 1.0
        kept = self.index[axis]
        place = sum(isinstance(entry, slice) for entry in self.index[:axis])
        along = (*self.index[:axis], slice(None), *self.index[axis + 1 :])
        if side in self.snapshot.bounded and (across := _between_walls(points)) is not None:
            made = np.tensordot(across[kept], self._read(name, along, component), axes=(-1, place))
            return np.moveaxis(made, 0, place) if isinstance(kept, slice) else made
        if isinstance(kept, slice):
            return spectral_derivative(self.values(name, component), place, spacing)
        of_one = np.zeros(len(points))
        of_one[0] = 1.0
        column = spectral_derivative(of_one, 0, spacing)
        weights = column[(kept - np.arange(len(points))) % len(points)]
        return np.tensordot(self._read(name, along, component), weights, axes=(place, 0))

    def gradient(self, name: str, component: int | None = None) -> list[np.ndarray]:
        """The derivatives along all axes of the box."""
        return [self.derivative(name, axis, component) for axis in range(len(self.snapshot.axes))]

    def _read(self, name: str, index: tuple[Any, ...], component: int | None) -> np.ndarray:
        return self.snapshot.values(name, index if component is None else (*index, component))


def _between_walls(points: np.ndarray) -> np.ndarray | None:
    """The matrix of the derivative at Gauss–Legendre points, `(point, point)`; None for other points."""
    height = height_of(points)
    return None if height is None else derivative_at_points(len(points)) * (2 / height)


def spectral_derivative(values: np.ndarray, axis: int, spacing: float) -> np.ndarray:
    """Derivative of periodic values along an axis of the array."""
    n = values.shape[axis]
    factor = 2j * np.pi * np.fft.rfftfreq(n, spacing)
    if n % 2 == 0:
        factor[-1] = 0
    shape = [-1 if a == axis else 1 for a in range(values.ndim)]
    return np.fft.irfft(factor.reshape(shape) * np.fft.rfft(values, axis=axis), n, axis=axis)
