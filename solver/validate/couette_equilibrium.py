"""Nagata's equilibrium of plane Couette flow: found on the way between laminar flow and turbulence, then by Newton."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array
from scipy.sparse.linalg import LinearOperator, gmres

from solver.equations import NavierStokes
from solver.grid import Grid
from solver.loop import integrate
from solver.mesh import device_mesh
from solver.steppers import Krogstad4
from solver.steppers.start import initial_state
from solver.validate.case import Case, Finding, series_of
from solver.walls import Moving

SOURCE = "Gibson, Halcrow & Cvitanović, J. Fluid Mech. 638 (2009) 243, EQ1"
REYNOLDS, LENGTHS = 400.0, (2 * np.pi / 1.14, 2 * np.pi / 2.5, 2.0)
STEP, BETWEEN = 0.1, 5.0  # of the stepper, and from one look at the flow to the next
LAMINAR, TURBULENT = 0.0015, 0.04  # energies of the deviation below and above which the end is clear
STEADY = 2e-3  # rms change between two looks from which Newton's method finds the equilibrium


@dataclass(frozen=True)
class CouetteEquilibrium(Case):
    """Nagata's lower branch at Re = 400 in a box of 2π/1.14 × 2π/2.5 × 2: energy, dissipation, size.

    A disturbance of the least amplitude that does not die out leads to the equilibrium, which has one unstable
    direction among the flows of its symmetry. Newton's method takes over, its linear equations solved by GMRES with
    derivatives of `integrate`. In full a second grid starts from what the first has found.
    """

    name: ClassVar[str] = "couette-equilibrium"
    about: ClassVar[str] = "the steady flow of Nagata between moving plates at Re = 400, by Newton's method"

    def run(self) -> list[Finding]:
        flow = _Flow((16, 16, 25))
        u = flow.steady(flow.between_laminar_and_turbulent())
        if not self.quick:
            finer = _Flow((24, 24, 35))
            u, flow = finer.steady(finer.from_another(flow, u)), finer
        energy, dissipation, size, change = flow.described(u)
        share = 1e-2 if self.quick else 5e-4
        return [
            Finding("energy", energy, 0.1363, share * 0.1363, SOURCE),
            Finding("dissipation over the laminar one", dissipation, 1.429, share * 1.429, SOURCE),
            Finding("rms of the deviation", size, 0.2091, share * 0.2091, SOURCE),
            Finding("rms change in 15 units of time", change, 0.0, 1e-8, "exact"),
        ]


class _Flow:
    """Couette flow on a grid, between walls that move with −1 and 1, as a deviation from the laminar one."""

    def __init__(self, shape: tuple[int, int, int]) -> None:
        self.grid = Grid(shape, LENGTHS, walls="z", mesh=device_mesh([0]))
        walls = {"velocity": Moving(lower=(-1.0, 0.0), upper=(1.0, 0.0))}
        self.equation = NavierStokes(self.grid, 1 / REYNOLDS, walls=walls, energy_budget=False)
        self.space = self.equation.space("velocity")
        x, y, z = np.broadcast_arrays(*self.grid.coordinates())
        self.x, self.y, self.z, self.laminar = x, y, z - 1, jnp.stack([jnp.asarray(z - 1), 0 * z, 0 * z])

    def symmetric(self, v: Array) -> Array:
        """The part that is the same after a shift along x and a reflection, and after a shift and half a turn."""
        along, across = (-n // 2 for n in self.grid.shape[:2])
        backwards = lambda u, axis: jnp.roll(jnp.flip(u, axis), 1, axis)  # noqa: E731
        signs = lambda *of: jnp.array(of, v.dtype).reshape(3, 1, 1, 1)  # noqa: E731
        v = (v + signs(1, -1, 1) * backwards(jnp.roll(v, along, 1), 2)) / 2
        turned = jnp.flip(backwards(jnp.roll(v, (along, across), (1, 2)), 1), 3)
        return (v + signs(-1, 1, -1) * turned) / 2

    def coefficients(self, v: Array) -> Array:
        return self.space.forward(self.laminar + self.symmetric(v))

    @cached_property
    def after(self) -> Callable[[Array, float], Array]:
        """Deviation from the laminar flow so much later."""
        start = initial_state(self.equation, Krogstad4(), self.laminar)

        def later(v: Array, time: float) -> Array:
            state = start.replace(field={"velocity": self.coefficients(v)})
            last = integrate(self.equation, Krogstad4(), state, step=STEP, steps=round(time / STEP))
            return self.space.inverse(last.field["velocity"]) - self.laminar

        return eqx.filter_jit(later)

    def rms(self, v: Array) -> float:
        return float(jnp.sqrt(jnp.sum(self.space.mean(v**2))))

    def between_laminar_and_turbulent(self) -> Array:
        """A flow that two of nearly equal starts pass before one decays and the other does not."""
        low, high = 1.28545, 1.28548  # found from 0.9 and 1.4 in the same way
        for _ in range(30):
            middle = (low + high) / 2
            is_turbulent, v, change = self._fate(middle)
            if change < STEADY:
                return v
            low, high = (low, middle) if is_turbulent else (middle, high)
        raise ArithmeticError("no flow between laminar and turbulent ones was found")

    def _fate(self, amplitude: float) -> tuple[bool, Array, float]:
        """True if a disturbance grows; the flow that changed the least since the look before, and by how much."""
        v, found = self.symmetric(amplitude * self._disturbance()), (self.laminar, np.inf)
        for number in range(80):
            earlier, v = v, self.after(v, BETWEEN)
            energy, change = self.rms(v) ** 2 / 2, self.rms(v - earlier)
            found = (v, change) if number > 5 and change < found[1] else found
            if found[1] < STEADY or not LAMINAR < energy < TURBULENT:
                return energy > LAMINAR, *found
        return True, *found

    def _disturbance(self) -> Array:
        """Streaks, the rolls that feed them, and waves."""
        x, y, z = 1.14 * self.x, 2.5 * self.y, self.z
        parabola = 1 - z**2
        streaks = [0.6 * parabola * np.cos(y), 0.08 * z * parabola * np.sin(y), 0.05 * parabola**2 * np.cos(y)]
        waves = [(0.3, y + 0.2), (1.0, 0 * y + 0.7), (2.0, y + 1.1)]
        return jnp.stack(
            [s + 0.1 * parabola * np.cos(x + p) * np.cos(q) for s, (p, q) in zip(streaks, waves, strict=True)]
        )

    def from_another(self, other: _Flow, v: Array) -> Array:
        """A flow on another grid, on this one."""
        found = other.space.resampled(other.coefficients(v), self.space)
        return self.space.inverse(found) - self.laminar

    def steady(self, v: Array) -> Array:
        """The flow that is the same 15 units of time later, by Newton's method from one nearby."""
        change = eqx.filter_jit(lambda v: self.after(v, 15.0) - self.symmetric(v))
        of_change = eqx.filter_jit(lambda v, d: jax.jvp(change, (v,), (d,))[1])
        for _ in range(8):
            if self.rms(rest := change(v)) < 1e-9:
                break
            along = partial(_on_vectors, partial(of_change, v), v.shape)
            step, _ = gmres(
                LinearOperator((v.size, v.size), along, dtype=float), -np.ravel(rest), rtol=1e-3, restart=40, maxiter=1
            )
            v = self.symmetric(v + step.reshape(v.shape))
        return v

    def described(self, v: Array) -> tuple[float, ...]:
        """Energy, dissipation over the laminar one, rms of the deviation, and its change."""
        state: Any = initial_state(self.equation, Krogstad4(), self.laminar)
        columns = series_of(self.equation, state.replace(field={"velocity": self.coefficients(v)}))
        return columns["energy"], columns["dissipation"] * REYNOLDS, self.rms(v), self.rms(self.after(v, 15.0) - v)


def _on_vectors(linear: Callable[[Array], Array], shape: tuple[int, ...], d: np.ndarray) -> np.ndarray:
    return np.array(linear(d.reshape(shape))).ravel()  # which GMRES writes into
