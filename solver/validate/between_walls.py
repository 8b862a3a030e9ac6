"""Flows between walls against theory: convection rolls, their onset, and the largest growth of disturbances."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from solver.dynamics.write import write
from solver.equations import RayleighBenard
from solver.grid import Grid
from solver.loop import integrate
from solver.mesh import device_mesh
from solver.steppers import Krogstad4
from solver.steppers.start import initial_state
from solver.validate.case import Case, Finding, series_of
from solver.walls import NoSlip, Value

ROLLS = "Newton's method on another discretisation; Clever & Busse, J. Fluid Mech. 65 (1974) 625, to some parts in 1000"
GROWTH = "Butler & Farrell, Phys. Fluids A 4 (1992) 1637; Reddy & Henningson, J. Fluid Mech. 252 (1993) 209"
ROTATING = "Chandrasekhar (1961), chapter 3; the digits by Chebyshev collocation"


@dataclass(frozen=True)
class SteadyRolls(Case):
    """Nusselt numbers of rolls at Pr = 0.71 with the wavenumber of the onset, by the flux, dissipation and a slope."""

    name: ClassVar[str] = "rayleigh-benard"
    about: ClassVar[str] = "steady rolls between two plates: the heat that they carry"

    def run(self) -> list[Finding]:
        known = {5000.0: 2.110260} if self.quick else {5000.0: 2.110260, 10000.0: 2.652501}
        return [finding for rayleigh, nusselt in known.items() for finding in _rolls(rayleigh, nusselt)]


def _rolls(rayleigh: float, nusselt: float) -> list[Finding]:
    k, shape = 3.117, (32, 35)
    grid = Grid(shape, (2 * np.pi / k, 1.0), walls="y", mesh=device_mesh([0]))
    equation = RayleighBenard(grid, rayleigh, 0.71, walls={"temperature": Value(1.0, 0.0)}, energy_budget=False)
    x, z = grid.coordinates()
    temperature = jnp.asarray(1 - z + 0.1 * np.cos(k * x) * np.sin(np.pi * z), grid.dtype)
    fields = {"velocity": jnp.zeros((2, *shape), grid.dtype), "temperature": temperature[None]}
    state = initial_state(equation, Krogstad4(), fields)
    columns = series_of(equation, integrate(equation, Krogstad4(), state, step=0.05, steps=2400))
    within = {"flux": 1e-5, "dissipation": 1e-5, "bottom": 1e-4}
    return [
        Finding(f"Nu by {name}, Ra = {rayleigh:g}", columns[f"nusselt_{name}"], nusselt, error, ROLLS)
        for name, error in within.items()
    ]


@dataclass(frozen=True)
class OptimalGrowth(Case):
    """The largest growth of the energy of a disturbance, by power iteration with `integrate` and its adjoint.

    The adjoint in the energy's product is the gradient of the final energy with respect to the start.
    """

    name: ClassVar[str] = "optimal-growth"
    about: ClassVar[str] = "the largest growth of disturbances of plane Poiseuille and Couette flow at Re = 1000"

    def run(self) -> list[Finding]:
        found = [_growth("z*(2 - z)", "2 - 2*z", (0.0, 2.044), 76.0, 196.0, "Poiseuille flow, t = 76")]
        if not self.quick:
            found.append(_growth("z - 1", "1", (0.035, 1.60), 117.0, 1185.0, "Couette flow, t = 117"))
        return found


def _growth(profile: str, shear: str, wave: tuple[float, float], time: float, known: float, said: str) -> Finding:
    disturbance = write(
        [f"dt(u) = -({profile})*dx(u) - ({shear})*u.z*ex - grad(p) + nu*lap(u)", "div(u) = 0"],
        fields={"u": "vector"}, unknowns={"p": "scalar"}, energies={},
    )  # fmt: skip
    lengths = (2 * np.pi / (wave[0] or 1.0), 2 * np.pi / wave[1], 2.0)
    grid = Grid((4, 4, 47), lengths, walls="z", mesh=device_mesh([0]))
    equation, steps = disturbance(grid, nu=1e-3, walls={"u": NoSlip()}), round(time / 0.5)
    space = equation.space("u")
    weights = jnp.asarray(space.point_weights()) / np.prod(grid.physical_shape)
    x, y, _ = grid.coordinates()
    of_wave = np.exp(-1j * (wave[0] * x + wave[1] * y))

    def energy(u: Array) -> Array:
        state = initial_state(equation, Krogstad4(), u)
        last = integrate(equation, Krogstad4(), state, step=time / steps, steps=steps)
        return jnp.sum(space.mean(space.inverse(last.field["u"]) ** 2))

    def only_the_wave(u: Array) -> Array:
        along = jnp.mean(u * of_wave, axis=(1, 2), keepdims=True)
        return 2 * jnp.real(along * np.conj(of_wave))

    gradient = jax.jit(jax.value_and_grad(energy))
    u = only_the_wave(jax.random.normal(jax.random.key(0), (3, *grid.physical_shape), grid.dtype))
    u = only_the_wave(space.inverse(space.forward(u)))
    growth = 0.0
    for _ in range(12):
        u = u / jnp.sqrt(jnp.sum(space.mean(u**2)))
        value, slope = gradient(u)
        growth, u = float(value), only_the_wave(slope / (2 * weights))
    return Finding(f"largest growth, {said}", growth, known, 5e-3 * known, GROWTH)


@dataclass(frozen=True)
class RotatingConvection(Case):
    """The Rayleigh number at which convection begins at Ta = 10⁴, from growth rates on either side of it."""

    name: ClassVar[str] = "rotating-convection"
    about: ClassVar[str] = "the onset of convection between rigid plates that turn, Ta = 10000"

    def run(self) -> list[Finding]:
        critical, factors = 4712.042, (0.99, 1.01)
        rate = jax.jit(partial(_growth_rate, points=24 if self.quick else 48))
        onset = critical * float(np.interp(0.0, [float(rate(factor * critical)) for factor in factors], factors))
        return [Finding("Ra of the onset, k = 4.7848", onset, critical, 1.0, ROTATING)]


def _growth_rate(rayleigh: Array, points: int) -> Array:
    """Growth rate of a small roll, once the other waves are gone."""
    k, taylor = 4.7848, 1e4
    grid = Grid((4, 4, points), (2 * np.pi / k, 1.0, 1.0), walls="z", mesh=device_mesh([0]))
    flow = RayleighBenard(
        grid, rayleigh, 1.0, rotation=jnp.sqrt(taylor / rayleigh), walls={"temperature": Value(1.0, 0.0)},
        energy_budget=False,
    )  # fmt: skip
    x, _, z = grid.coordinates()
    warm = jnp.broadcast_to(1 - z + 1e-6 * np.cos(k * x) * np.sin(np.pi * z), grid.physical_shape).astype(grid.dtype)
    still = jnp.zeros((3, *grid.physical_shape), grid.dtype)
    state = initial_state(flow, Krogstad4(), {"velocity": still, "temperature": warm[None]})
    before = integrate(flow, Krogstad4(), state, step=0.1, steps=400)
    after = integrate(flow, Krogstad4(), before, step=0.1, steps=400)
    early, late = (jnp.sum(flow.space("velocity").mean_square(one.field["velocity"])) for one in (before, after))
    return jnp.log(late / early) / 80
