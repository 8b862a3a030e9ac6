"""Turbulence between two plates at Re_τ = 180, compared with the profiles of Moser, Kim and Mansour."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from solver.assemble import run
from solver.config import ConfigError
from solver.equations import NavierStokes
from solver.forcing.uniform import FlowRate
from solver.grid import Grid
from solver.mesh import device_mesh
from solver.outputs import Checkpoints, Series, Statistics, VerticalProfiles
from solver.reading import open_run, turbulence, wall_units
from solver.reading.fluctuations import at_heights, at_walls
from solver.reading.optional import needed
from solver.steppers import Krogstad4
from solver.steppers.start import initial_state
from solver.steppers.state import State
from solver.validate.case import STEPS_BETWEEN, Finding

REYNOLDS = 2800.0  # U_b h/ν of the mean velocity U_b and half the height h; both are one, and ν is 1/2800
LENGTHS = (2 * np.pi, np.pi, 2.0)
COARSE, FINE = (48, 48, 65), (96, 128, 97)  # points; two thirds of them are modes
DEVELOPED = 100.0  # h/U_b on the coarse points, from waves on the laminar flow
SETTLED, END = 20.0, 80.0  # h/U_b on the fine points before windows count, and at the end
WINDOW, SAMPLE_STEPS = 10.0, 20  # h/U_b of one window of the statistics, and steps from one sample to the next
PROFILES = "vertical-profiles"

MKM = "Moser, Kim & Mansour, Phys. Fluids 11 (1999) 943, chan180 (public data, no licence stated)"
DEAN = "Dean, J. Fluids Eng. 100 (1978) 215: C_f = 0.073 (2 U_b h/ν)^(-1/4)"
FORCES = "balance of the mean forces"
# y⁺, U⁺, and ⟨u'u'⟩, ⟨v'v'⟩, ⟨w'w'⟩, −⟨u'w'⟩ over u_τ² along the flow, across it, and across the walls (z here)
TABLE = np.array([
    (1.34, 1.334, 0.2342, 0.0517, 0.0002, 0.0019), (2.62, 2.594, 0.8769, 0.1514, 0.0019, 0.0141),
    (4.33, 4.210, 2.2065, 0.2976, 0.0092, 0.0582), (6.45, 6.049, 4.0762, 0.4647, 0.0288, 0.1554),
    (8.99, 7.905, 5.8261, 0.6343, 0.0670, 0.2970), (11.94, 9.579, 6.8566, 0.7949, 0.1272, 0.4457),
    (15.28, 10.967, 7.0655, 0.9352, 0.2084, 0.5674), (19.02, 12.066, 6.6864, 1.0443, 0.3040, 0.6501),
    (23.14, 12.921, 6.0115, 1.1176, 0.4036, 0.6979), (27.64, 13.590, 5.2660, 1.1597, 0.4970, 0.7196),
    (32.49, 14.121, 4.5730, 1.1795, 0.5764, 0.7226), (37.70, 14.557, 3.9764, 1.1797, 0.6369, 0.7127),
    (43.25, 14.931, 3.4789, 1.1593, 0.6765, 0.6943), (49.12, 15.264, 3.0738, 1.1212, 0.6961, 0.6705),
    (55.30, 15.569, 2.7409, 1.0756, 0.6985, 0.6420), (61.78, 15.855, 2.4687, 1.0283, 0.6874, 0.6098),
    (72.02, 16.260, 2.1376, 0.9571, 0.6543, 0.5562), (82.83, 16.637, 1.8751, 0.8714, 0.6149, 0.4995),
    (94.16, 16.985, 1.6578, 0.7763, 0.5722, 0.4406), (105.94, 17.302, 1.4524, 0.6783, 0.5249, 0.3782),
    (118.12, 17.585, 1.2490, 0.5880, 0.4787, 0.3129), (130.62, 17.835, 1.0616, 0.5008, 0.4376, 0.2456),
    (143.37, 18.045, 0.8932, 0.4275, 0.4044, 0.1787), (156.32, 18.198, 0.7576, 0.3785, 0.3836, 0.1124),
    (169.38, 18.285, 0.6773, 0.3529, 0.3754, 0.0451), (178.12, 18.301, 0.6626, 0.3473, 0.3744, 0.0),
])  # fmt: skip
PUBLISHED = {  # Re_τ, C_f of the mean 15.679 u_τ of the table's U, the largest u_rms and its place, by a parabola
    "friction": 178.12, "coefficient": 2 / 15.679**2, "peak": 2.660, "place": 14.58, "dissipation": 0.1715,
}  # fmt: skip


def turbulent(directory: Path) -> list[Finding]:
    """Compute the flow in a directory, from which one that was stopped continues, and compare its profiles.

    Raises:
        ConfigError: xarray is not installed.
        StoppedEarly: by a signal, with a checkpoint written.
    """
    try:
        needed("xarray", "channel in full", "analysis")
    except ModuleNotFoundError as error:
        raise ConfigError(str(error)) from None
    evolve(directory)
    return compared(profiles(directory / "fine", SETTLED))


def evolve(directory: Path) -> None:
    """Turbulence that grows from waves on coarse points, and continues on fine ones, where it is averaged."""
    stepper, coarse, fine = Krogstad4(), _flow(COARSE), _flow(FINE)
    kept = [Checkpoints(every_steps=STEPS_BETWEEN, keep=2), Series(every_steps=10)]
    developed = run(
        coarse,
        stepper,
        _start(coarse),
        end=DEVELOPED,
        cfl=0.8,
        directory=directory / "coarse",
        outputs=kept,
        resume=True,
    )
    u_hat = coarse.space("velocity").resampled(developed.field["velocity"], fine.space("velocity"))
    state = initial_state(fine, stepper, fine.to_physical({"velocity": u_hat}))
    averages = Statistics(of=(PROFILES,), sample_steps=SAMPLE_STEPS, every_time=WINDOW)
    outputs = [*kept, VerticalProfiles(every_time=WINDOW), averages]
    run(fine, stepper, state, end=END, cfl=1.2, directory=directory / "fine", outputs=outputs, resume=True)


def _flow(shape: tuple[int, int, int]) -> NavierStokes:
    """A flow of which the mean velocity is kept at one."""
    grid = Grid(shape, LENGTHS, walls="z", mesh=device_mesh([0]))
    return NavierStokes(grid, 1 / REYNOLDS, forcing=FlowRate((1.0, 0.0, 0.0)), energy_budget=False)


def _start(flow: NavierStokes) -> State:
    """The laminar flow with random waves of 0.15 U_b, the short ones damped."""
    space, grid = flow.space("velocity"), flow.grid
    drawn = jnp.exp(0.01 * space.laplacian()) * space.random(jax.random.key(0))
    waves = space.inverse_of_change(drawn)
    waves = 0.15 * waves / jnp.sqrt(jnp.sum(space.mean(waves**2)))
    z = jnp.asarray(grid.coordinates()[-1], grid.dtype)
    return initial_state(flow, Krogstad4(), waves.at[0].add(1.5 * z * (2 - z)))


def profiles(directory: Path, after: float) -> Any:
    """Means over planes and over the windows that begin at `after` [h/U_b] or later."""
    windows = open_run(directory).statistics[PROFILES]
    return windows.isel(t=np.flatnonzero(windows["since"] >= after - 1e-6)).mean("t")


def in_wall_units(means: Any) -> dict[str, np.ndarray]:
    """Profiles over z of both halves in one, in wall units: names as in `turbulence`, and `height`, `distance`, y⁺.

    `friction`, Re_τ, is of the mean of the stresses at both walls.
    """
    walls, made = wall_units(means, 1 / REYNOLDS), turbulence(means)
    u_tau = float(np.sqrt(np.mean(walls["friction_velocity"].values ** 2)))
    z = made["z"].values
    units = {"velocity_x": u_tau, "production": u_tau**4 * REYNOLDS, "dissipation": u_tau**4 * REYNOLDS}
    units["rest"] = units["production"]
    of = {name: made[name].values / units.get(name, u_tau**2) for name in (*units, *STRESSES)}
    both = {name: (p - p[::-1] if name == SHEAR else p + p[::-1]) / 2 for name, p in of.items()}
    return {**both, "height": z, "distance": z * u_tau * REYNOLDS, "friction": np.asarray(u_tau * REYNOLDS)}


SHEAR = "velocity_x_velocity_z"
STRESSES = (*(f"velocity_{axis}_velocity_{axis}" for axis in "xyz"), SHEAR)


def compared(means: Any) -> list[Finding]:
    """Friction, and the largest differences from the table."""
    flow = in_wall_units(means)
    friction, z = float(flow["friction"]), flow["height"]
    coefficient = 2 * (friction / REYNOLDS) ** 2
    fine = np.linspace(5, 30, 2501)
    along = np.sqrt(np.maximum(at_heights(flow[STRESSES[0]], z, fine / friction), 0))
    wall = float(at_walls(flow["dissipation"], z)[0])
    away = np.minimum(z, 2 - z) * friction > 1  # closer, ∂²/∂z² of the polynomial through squares at the points is off
    rest = _largest(flow["rest"][away])
    return [
        Finding("Re_τ of turbulence, U_b h/ν = 2800", friction, PUBLISHED["friction"], 3.5, MKM),
        Finding("C_f", coefficient, PUBLISHED["coefficient"], 3e-4, MKM),
        Finding("C_f, by the correlation", coefficient, 0.073 * (2 * REYNOLDS) ** -0.25, 6e-4, DEAN),
        Finding("largest u_rms⁺", float(along.max()), PUBLISHED["peak"], 0.1, MKM),
        Finding("y⁺ of the largest u_rms⁺", float(fine[along.argmax()]), PUBLISHED["place"], 1.5, MKM),
        *(Finding(f"largest difference of {name}", far, 0.0, near, MKM) for name, far, near in _differences(flow)),
        Finding("dissipation at the wall, over u_τ⁴/ν", wall, PUBLISHED["dissipation"], 0.01, MKM),
        Finding("largest imbalance of the energy budget beyond y⁺ = 1, over u_τ⁴/ν", rest, 0.0, 0.005, "exact"),
        Finding("largest difference of the total stress from 1 − z/h", _unbalanced(means, flow), 0.0, 0.04, FORCES),
    ]


def _differences(flow: dict[str, np.ndarray]) -> list[tuple[str, float, float]]:
    """Name, largest difference from the table at its y⁺, and the allowed one."""
    names = ["U⁺", "u_rms⁺", "v_rms⁺", "w_rms⁺", "−⟨u'w'⟩⁺"]
    return [
        (name, _largest(found - known), near)
        for name, found, known, near in zip(
            names, at_table(flow).T, table_of_rms().T[1:], (0.3, 0.15, 0.1, 0.08, 0.04), strict=True
        )
    ]


def at_table(flow: dict[str, np.ndarray]) -> np.ndarray:
    """U⁺, the r.m.s. of three components and −⟨u'w'⟩⁺, by columns, at the y⁺ of the table."""
    heights = TABLE[:, 0] / float(flow["friction"])
    columns = [at_heights(flow[name], flow["height"], heights) for name in ("velocity_x", *STRESSES)]
    return np.stack([columns[0], *np.sqrt(np.maximum(columns[1:4], 0)), -columns[4]], axis=1)


def table_of_rms() -> np.ndarray:
    """The table with square roots in the place of the variances."""
    return np.concatenate([TABLE[:, :2], np.sqrt(TABLE[:, 2:5]), TABLE[:, 5:]], axis=1)


def _unbalanced(means: Any, flow: dict[str, np.ndarray]) -> float:
    """Largest difference of (−⟨u'w'⟩ + ν ∂U/∂z)/u_τ² from a line between the walls, on which it is in a steady mean."""
    slope = means["velocity_x_slope"].values / REYNOLDS / (float(flow["friction"]) / REYNOLDS) ** 2
    return _largest((slope - slope[::-1]) / 2 - flow[SHEAR] - (1 - flow["height"]))


def _largest(values: np.ndarray) -> float:
    return float(np.max(np.abs(values)))
