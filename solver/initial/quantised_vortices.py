"""Quantised vortices of a condensate in a periodic box."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar

import equinox as eqx
import jax.numpy as jnp
from jax.typing import ArrayLike
from jaxtyping import Array

from solver.dynamics.checks import need, require
from solver.grid import Grid, sample
from solver.initial.initial import Initial, as_tuples
from solver.initial.wavefunctions import or_one
from solver.spaces.field import Field


class QuantisedVortices(Initial):
    """ψ = ρ^½ e^{iθ} Π_j R(r_j/ξ): vortices along z with phases that turn by ±2π, exactly periodic in x and y.

    θ is the phase of Π ϑ₁(π(z − z_j)/L_x), z = x + i y, conjugate for a clockwise vortex, and a uniform flow that makes
    it periodic, the slowest there is: this is the flow of point vortices and all their periodic images. R is the Padé
    approximant of a vortex's profile; r_j is measured to the nearest image. A pair of opposite signs at the
    distance d moves with (ħ/m)/d and what its images add, (ħ/m)π d/A in a square box of area A.

    Args:
        centres: place of each vortex, (x, y) [length]; if None, a pair that moves along x, a quarter of the box apart.
        signs: +1 (counterclockwise) or −1 for each, adding up to zero, static.
        density: ρ away from the vortices [density].
        healing_length: ξ = (ħ/(m gρ))^½ [length]; if None, `for_equation` takes it from a repulsive equation.

    Returns:
        When called on a grid of complex fields: `(1, *grid.physical_shape)`; each device fills its own block.

    Raises:
        ValueError: as many centres as signs are needed, signs of ±1 that add up to zero, a density and a healing length
            that are positive; when called: no healing length, or a centre without two entries.

    Source: Weiss & McWilliams, Phys. Fluids A 3 (1991) 835 (periodic vortices); Berloff, J. Phys. A 37 (2004) 1617 (R).
    """

    centres: tuple[tuple[ArrayLike, ...], ...] | None = eqx.field(converter=as_tuples, default=None)
    signs: tuple[int, ...] = eqx.field(converter=as_tuples, static=True, default=(-1, 1))
    density: ArrayLike = 1.0
    healing_length: ArrayLike | None = None

    name: ClassVar[str] = "quantised-vortices"
    ranks: ClassVar[tuple[str, ...]] = ("wavefunction",)
    dimensions: ClassVar[tuple[int, ...]] = (2, 3)

    def __check_init__(self) -> None:
        count = 2 if self.centres is None else len(self.centres)
        if count != len(self.signs) or sum(self.signs) != 0 or any(abs(s) != 1 for s in self.signs):
            raise ValueError(
                f"quantised-vortices with {count} centres and signs {list(self.signs)}: one sign for each is needed, "
                "1 or -1, and they must add up to zero in a periodic box"
            )
        need(self, "density", "quantised-vortices with density", "a positive number", above=0)
        need(self, "healing_length", "quantised-vortices with healing_length", "a positive length", above=0)

    def for_equation(self, equation: Any, field: str) -> QuantisedVortices:
        """These vortices with the healing length of the equation where they lack their own.

        Raises:
            ValueError: the equation has no term −i g|ψ|²ψ with g > 0.
        """
        if self.healing_length is not None:
            return self
        focusing = equation.report.self_focusing
        needed = "a repulsive term −i g|ψ|²ψ with g > 0 (nonlinear-schroedinger: a negative coupling)"
        if focusing is None:
            raise ValueError(f"quantised-vortices in {equation.name}: {needed} is needed, or healing_length")
        require(f"quantised-vortices in {equation.name} with g =", -focusing, needed, above=0)
        return replace(self, healing_length=(-focusing * self.density / or_one(equation.report.hbar_over_mass)) ** -0.5)

    def values(self, grid: Grid, field: Field, key: Array | None) -> Array:
        if self.healing_length is None:
            raise ValueError("quantised-vortices without healing_length: it is needed, by argument or for_equation")
        sides = tuple(grid.lengths[:2])  # type: ignore[index]
        pair = tuple((0.5 * sides[0], part * sides[1]) for part in (0.375, 0.625))
        places = [_in_the_box(centre, sides) for centre in (pair if self.centres is None else self.centres)]

        def psi(*points: Array) -> Array:
            total = jnp.sqrt(self.density) * jnp.exp(1j * _uniform_flow(points, places, self.signs, sides))
            for (x, y), sign in zip(places, self.signs, strict=True):
                vortex = _vortex(points[0] - x, points[1] - y, sides, self.healing_length)
                total = total * (vortex if sign > 0 else jnp.conj(vortex))
            return total

        return sample(psi, grid)[None]


def _in_the_box(centre: Sequence[Any], sides: Sequence[float]) -> tuple[Any, ...]:
    if len(centre) != 2:
        raise ValueError(f"quantised-vortices with centre {list(centre)}: x and y are needed")
    return tuple(x % side for x, side in zip(centre, sides, strict=True))


def _vortex(x: Array, y: Array, sides: Sequence[float], healing_length: Any) -> Array:
    """R(r/ξ) ϑ₁/|ϑ₁| of π(x + i y)/L_x, nome exp(−π L_y/L_x), by the product for ϑ₁; |y| < L_y."""
    lx, ly = sides
    w = math.pi / lx * (x + 1j * y)
    sine, square = jnp.sin(w), jnp.sin(w.real) ** 2 + jnp.sinh(w.imag) ** 2
    apart = [d - side * jnp.round(d / side) for d, side in zip((x, y), sides, strict=True)]
    s = 2 * (apart[0] ** 2 + apart[1] ** 2) / healing_length**2  # Berloff's unit of length is 1/(2gρ)^½
    # r/|sin w| is smooth where both are zero, so that derivatives in the centre are those of ψ
    ratio = jnp.where(square > 0, s / jnp.where(square > 0, square, 1), 2 * (lx / math.pi / healing_length) ** 2)
    images, cosine = jnp.ones_like(w), jnp.cos(2 * w)
    for n in range(1, 3 + math.ceil(6 * lx / ly)):  # until the factors are 1 to round-off
        q = math.exp(-2 * math.pi * n * ly / lx)
        images = images * (1 + q * q - 2 * q * cosine)
    profile = jnp.sqrt(ratio * (11 / 32 + 11 / 384 * s) / (1 + s / 3 + 11 / 384 * s * s))
    return profile * sine * images / jnp.sqrt(images.real**2 + images.imag**2)


def _uniform_flow(points: Sequence[Array], places: Sequence[Any], signs: Sequence[int], sides: Sequence[float]) -> Any:
    """Phase that makes θ periodic in y, where ϑ₁ turns by −exp(−2πi x/L_x), and takes whole turns from its mean."""
    moment = [sum(s * place[i] for s, place in zip(signs, places, strict=True)) / sides[i] for i in (0, 1)]
    along_x = -jnp.round(moment[1])
    along_y = jnp.round(moment[0]) - moment[0]
    return 2 * math.pi * (along_x * points[0] / sides[0] + along_y * points[1] / sides[1])
