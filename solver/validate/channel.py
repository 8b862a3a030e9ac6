"""Flow between two plates at rest: laminar, a wave that grows on it, and turbulence that is compared with a table."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import ClassVar

import jax.numpy as jnp
import numpy as np

from solver.dynamics.write import write
from solver.equations import NavierStokes
from solver.forcing.uniform import Uniform
from solver.grid import Grid
from solver.loop import integrate
from solver.mesh import device_mesh
from solver.steppers import Krogstad4
from solver.steppers.start import initial_state
from solver.validate.case import Case, Finding
from solver.validate.turbulent_channel import turbulent
from solver.walls import NoSlip

ORSZAG = "Orszag, J. Fluid Mech. 50 (1971) 689"


@dataclass(frozen=True)
class Channel(Case):
    """Poiseuille flow from rest, and its growing wave at Re = 10⁴, α = 1: growth α c_i and frequency α c_r.

    In full also turbulence at Re_τ = 180, which takes half an hour to two hours on two cores.
    """

    name: ClassVar[str] = "channel"
    about: ClassVar[str] = "Poiseuille flow, the wave that grows on it at Re = 10000, and turbulence at Re_tau = 180"
    takes: ClassVar[str] = "half an hour to two hours on two cores; with --output it may be stopped and resumed"

    def run(self) -> list[Finding]:
        turbulence = [] if self.quick else self._turbulent()  # first, since it may be refused or stopped
        points, end = (64, 400.0) if self.quick else (95, 800.0)
        return [_laminar(), *_growing_wave(points, end), *turbulence]

    def _turbulent(self) -> list[Finding]:
        directory = self.directory("turbulence")
        if directory is not None:
            return turbulent(directory)
        with TemporaryDirectory() as folder:
            return turbulent(Path(folder))


def _laminar() -> Finding:
    """u = 4 z (1 − z) of a force 8ν, after ten times the slowest decay."""
    viscosity = 0.1
    grid = Grid((4, 17), (1.0, 1.0), walls="y", mesh=device_mesh([0]))
    force = Uniform((8 * viscosity, 0.0))
    flow = NavierStokes(grid, viscosity, forcing=force, energy_budget=False)
    rest = initial_state(flow, Krogstad4(), jnp.zeros((2, *grid.physical_shape), grid.dtype))
    last = integrate(flow, Krogstad4(), rest, step=0.05, steps=round(30 / np.pi**2 / viscosity / 0.05))
    z = grid.coordinates()[1]
    error = jnp.max(jnp.abs(flow.to_physical(last.field)["velocity"][0] - 4 * z * (1 - z)))
    return Finding("largest error of Poiseuille flow", float(error), 0.0, 1e-10, "exact")


def _growing_wave(points: int, end: float) -> list[Finding]:
    """Growth and frequency, once the other waves are gone."""
    wave = write(
        ["dt(u) = -(z*(2 - z))*dx(u) - (2 - 2*z)*u.z*ex - grad(p) + nu*lap(u)", "div(u) = 0"],
        fields={"u": "vector"}, unknowns={"p": "scalar"}, energies={},
    )  # fmt: skip
    grid = Grid((4, 4, points), (2 * np.pi, 1.0, 2.0), walls="z", mesh=device_mesh([0]))
    equation = wave(grid, nu=1e-4, walls={"u": NoSlip()})
    x, _, z = grid.coordinates()
    w = np.cos(x) * (z * (2 - z)) ** 2
    along = -np.sin(x) * 4 * z * (2 - z) * (1 - z)
    start = jnp.stack([jnp.broadcast_to(part, grid.physical_shape) for part in (along, 0 * w, w)]).astype(grid.dtype)
    state = integrate(
        equation, Krogstad4(), initial_state(equation, Krogstad4(), start), step=0.2, steps=round(5 * end)
    )
    later = integrate(equation, Krogstad4(), state, step=0.2, steps=50)
    place = jnp.argmax(jnp.abs(state.field["u"][0]).sum((0, 1)))
    of_wave = lambda one: one.field["u"][0, 0, 1, place]  # noqa: E731
    ratio = complex(of_wave(later) / of_wave(state))
    turned = (-np.angle(ratio)) % (2 * np.pi)
    return [
        Finding("growth of the wave at Re = 10000", np.log(abs(ratio)) / 10, 0.00373967, 1e-6, ORSZAG),
        Finding("its frequency", turned / 10, 0.23752649, 1e-6, ORSZAG),
    ]
