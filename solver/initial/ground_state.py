"""Ground states of condensates: the energy falls at a fixed number of particles until the field stands still."""

from __future__ import annotations

import logging
import math
from typing import Any, ClassVar, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike
from jaxtyping import Array

from solver.dynamics.checks import need
from solver.grid import Grid, sample
from solver.initial.initial import Initial, as_tuples, per_axis
from solver.initial.wavefunctions import galilean_phase, rounding_note
from solver.spaces.field import Field

LOGGER = logging.getLogger("slabwave.initial")
UNRESOLVED = 1e-4  # largest share of the particles in the outer third of the modes


class Relaxed(NamedTuple):
    """A ground state `(1, *grid.physical_shape)` and how it was reached.

    Args:
        psi: the wavefunction [density^(1/2)], real and positive but for round-off.
        chemical_potential: µ, over ħ [1/time].
        residual: ‖Hψ − µψ‖ over ‖½(ħ/m)∇²ψ‖ + ‖Vψ‖ [1].
        steps: number of steps that were taken.
        converged: True if the residual is within the tolerance or the round-off of the transforms.
        unresolved: share of the particles in the outer third of the modes along any axis [1].
    """

    psi: Array
    chemical_potential: Array
    residual: Array
    steps: Array
    converged: Array
    unresolved: Array


class GroundState(Initial):
    """State of lowest energy of an equation with N particles: ψ > 0 with −½(ħ/m)∇²ψ + V(|ψ|²) ψ = µψ.

    V is the equation's: trap and interaction, or gravity. From a Gaussian in the middle of the box, an eighth of it
    wide, the energy is lowered in imaginary time with N kept after each step; direction and length of the steps
    come from conjugate gradients with the kinetic energy and V as preconditioner. Some dozen steps reach the tolerance,
    a few hundred where the interaction is strong. A step costs three forward and three inverse complex transforms. One
    line of the log says how many steps it took, which residual and which µ were reached.

    In a run the state keeps its density and turns as exp(−iµt), but for the error of the steps. With a velocity it
    moves: in a trap its centre swings with the trap's frequencies, whatever the interaction (Kohn's theorem). Forward
    derivatives pass through the search, reverse ones do not.

    Args:
        number: N = ∫|ψ|² over the box [density·length^d].
        velocity: v of ψ exp(i(m/ħ)v·x), rounded to the nearest that is periodic [length/time]; at rest if None.
        tolerance: largest ‖Hψ − µψ‖ over ‖½(ħ/m)∇²ψ‖ + ‖Vψ‖ [1]; if None, 1e-9, in single precision 1e-4.
        max_steps: steps after which the search is given up.

    Returns:
        When called on a grid of complex fields, after `for_equation`: `(1, *grid.physical_shape)`, split as any field.

    Raises:
        ValueError: a number or tolerance that is not positive; an equation without a potential; when called: no
            equation, a search that has not converged, or a state that the grid does not resolve, such as a collapse.

    Source: Antoine, Levitt & Tang, J. Comput. Phys. 343 (2017) 92; Bao & Du, SIAM J. Sci. Comput. 25 (2004) 1674.
    """

    number: ArrayLike = 1.0
    velocity: tuple[ArrayLike, ...] | None = eqx.field(converter=as_tuples, default=None)
    tolerance: float | None = eqx.field(default=None, static=True)
    max_steps: int = eqx.field(default=1000, static=True)
    equation: Any = eqx.field(default=None, kw_only=True, init=False, repr=False)

    name: ClassVar[str] = "ground-state"
    ranks: ClassVar[tuple[str, ...]] = ("wavefunction",)

    def __check_init__(self) -> None:
        object.__setattr__(self, "equation", None)
        need(self, "number", "number", "a positive number", above=0)
        need(self, "tolerance", "tolerance", "a positive number", above=0)
        need(self, "max_steps", "max_steps", "one or more", least=1)

    def notes(self, grid: Grid) -> list[str]:
        scale = None if self.equation is None else self.equation.hbar_over_mass
        return rounding_note("ground-state: velocity", self.velocity, grid, scale)

    def for_equation(self, equation: Any, field: str) -> GroundState:
        """The same with the equation, whose potential it needs.

        Raises:
            ValueError: the equation has no potential.
        """
        if len(equation.fields) > 1 or equation.report.hbar_over_mass is None:
            raise ValueError(
                f"ground-state in {equation.name}: a Schrödinger equation i ψ_t = (T + V)ψ of one wavefunction is "
                "needed, such as gross-pitaevskii"
            )
        return eqx.tree_at(lambda start: start.equation, self, equation, is_leaf=lambda leaf: leaf is None)

    def values(self, grid: Grid, field: Field, key: Array | None) -> Array:
        found = self.relaxed(grid)
        if isinstance(found.steps, jax.core.Tracer):
            reached = found.converged & (found.unresolved < UNRESOLVED)
            return self._moving(jnp.where(reached, found.psi, jnp.nan), grid)
        self._refuse(found)
        LOGGER.info(
            f"ground-state: {int(found.steps)} steps to a residual of {float(found.residual):.2g}, "
            f"chemical potential {float(found.chemical_potential):.8g} [1/time]"
        )
        return self._moving(found.psi, grid)

    def _moving(self, psi: Array, grid: Grid) -> Array:
        if self.velocity is None:
            return psi
        velocity = per_axis("velocity", self.velocity, grid, [])
        scale = self.equation.hbar_over_mass
        return psi * sample(lambda *points: jnp.exp(1j * galilean_phase(points, velocity, grid, scale)), grid)

    def relaxed(self, grid: Grid) -> Relaxed:
        """The state at rest at the points of the equation's grid, and how it was reached; refuses no result.

        Raises:
            ValueError: no equation, or one on another grid.
        """
        if self.equation is None:
            raise ValueError("ground-state without an equation: for_equation(equation, field) is needed")
        own = self.equation.grid
        if (own.shape, own.lengths) != (grid.shape, grid.lengths):
            raise ValueError(f"ground-state on a grid of {grid.shape}: the equation's, {own.shape}, is needed")
        middle = [0.5 * length for length in own.lengths]
        parts = [8 / length for length in own.lengths]

        def gaussian(*points: Array) -> Array:
            scaled = [x * a for x, a in zip(points, parts, strict=True)]
            centre = [c * a for c, a in zip(middle, parts, strict=True)]
            return jnp.exp(-0.5 * sum((x - c) ** 2 for x, c in zip(scaled, centre, strict=True))) + 0j

        return _relax(
            self.equation, sample(gaussian, own.as_complex)[None], self.number, self._tolerance, self.max_steps
        )

    @property
    def _tolerance(self) -> float:
        single = self.equation.grid.dtype == np.float32
        return (1e-4 if single else 1e-9) if self.tolerance is None else self.tolerance

    def _refuse(self, found: Relaxed) -> None:
        """Raises ValueError for a state that has not converged, or that the grid does not resolve."""
        if not bool(found.converged):
            raise ValueError(
                f"ground-state: after {int(found.steps)} steps the residual is {float(found.residual):.2g}, above the "
                f"tolerance of {self._tolerance:g}: more max_steps or a larger tolerance are needed, or a state that "
                "does not collapse"
            )
        if not float(found.unresolved) < UNRESOLVED:
            raise ValueError(
                f"ground-state: {float(found.unresolved):.2g} of the particles are in the outer third of the modes, "
                f"{UNRESOLVED:g} or less are needed: it takes more points, or it collapses"
            )


class _Search(NamedTuple):
    """ψ, the last direction and gradient and the product of gradients, and µ and residual of ψ before the last step."""

    psi: Array
    direction: Array
    gradient: Array
    product: Array
    chemical_potential: Array
    residual: Array
    converged: Array
    steps: Array


def _product(a: Array, b: Array) -> Array:
    """Re⟨a* b⟩."""
    return jnp.mean(a.real * b.real + a.imag * b.imag)


def _norm(a: Array) -> Array:
    return jnp.sqrt(_product(a, a))


@jax.jit
def _relax(equation: Any, psi: Array, number: ArrayLike, tolerance: ArrayLike, max_steps: ArrayLike) -> Relaxed:
    """The search, as one program. A step takes the exchanges of its transforms and some all-reduces."""
    grid = equation.grid
    density = jnp.asarray(number / math.prod(grid.lengths), grid.dtype)
    start = psi * jnp.sqrt(density / _product(psi, psi))
    nothing, zero = jnp.zeros_like(start), jnp.zeros((), grid.dtype)
    first = _Search(start, nothing, nothing, zero + 1, zero, zero + jnp.inf, zero > 0, jnp.asarray(0))
    goes_on = lambda now: ~now.converged & (now.steps < max_steps) & jnp.isfinite(_product(now.psi, now.psi))  # noqa: E731
    step = lambda now: _step(equation, now, density, tolerance)  # noqa: E731
    last = jax.lax.while_loop(goes_on, step, first)
    subtracted = equation.report.chemical_potential
    mu = last.chemical_potential + (0.0 if subtracted is None else subtracted)
    return Relaxed(last.psi, mu, last.residual, last.steps, last.converged, _outer_share(equation, last.psi))


def _step(equation: Any, now: _Search, density: Array, tolerance: ArrayLike) -> _Search:
    """A step along a conjugate direction, to the lowest energy of its second-order expansion; none from a solution."""
    kinetic, potential = equation.transform, equation.split_potential
    energies = 0.5 * equation.hbar_over_mass * equation.grid.k_squared()
    of_modes = lambda factors, psi: kinetic.inverse(factors * kinetic.forward(psi))  # noqa: E731
    moving, at = of_modes(energies, now.psi), potential(now.psi)
    resting = at * now.psi
    mu = _product(now.psi, moving + resting) / density
    gradient = moving + resting - mu * now.psi
    scale, round_off = _norm(moving) + _norm(resting), _round_off(equation) * _norm(now.psi)
    size = _norm(gradient)
    converged = size <= jnp.maximum(tolerance * scale, round_off)

    tangent = lambda psi: psi - _product(now.psi, psi) / density * now.psi  # noqa: E731
    mean = _product(now.psi, moving + (at - jnp.min(at)) * now.psi) / density + jnp.min(
        energies, where=energies > 0, initial=jnp.inf
    )
    part = jnp.sqrt(mean / (mean + at - jnp.min(at)))
    down = tangent(part * of_modes(1 / (mean + energies), part * gradient))
    product = _product(down, gradient)
    kept = jnp.maximum(_product(down, gradient - now.gradient) / now.product, 0)
    direction = kept * tangent(now.direction) - down
    direction = jnp.where(_product(direction, gradient) < 0, direction, -down)
    slope = _product(direction, gradient)
    _, bent = jax.jvp(lambda psi: potential(psi) * psi, (now.psi,), (direction,))
    curvature = _product(direction, of_modes(energies, direction) + bent - mu * direction)
    longest = 0.5 * jnp.sqrt(density / _product(direction, direction))
    length = jnp.where(curvature > 0, jnp.minimum(-slope / curvature, longest), longest)
    moved = now.psi + length * direction
    moved = moved * jnp.sqrt(density / _product(moved, moved))
    psi = jnp.where(converged, now.psi, moved)
    residual = jnp.where(scale > 0, size / scale, 0)
    return _Search(psi, direction, gradient, product, mu, residual, converged, now.steps + ~converged)


def _round_off(equation: Any) -> Array:
    """Size of the round-off of Hψ over the size of ψ: precision times the largest kinetic energy [1/time]."""
    largest = sum(float(np.max(k * k)) for k in equation.grid.wavenumbers())
    return 0.5 * equation.hbar_over_mass * largest * 4 * float(np.finfo(equation.grid.dtype).eps)


def _outer_share(equation: Any, psi: Array) -> Array:
    """Share of ∫|ψ|² in the modes beyond two thirds of the highest one along any axis."""
    psi_hat = equation.transform.forward(psi)
    outer = jnp.zeros((), bool)
    for k in equation.grid.wavenumbers():
        outer = outer | (jnp.abs(k) > 2 / 3 * np.max(np.abs(k)))
    square = psi_hat.real**2 + psi_hat.imag**2
    return jnp.sum(jnp.where(outer, square, 0)) / jnp.sum(square)
