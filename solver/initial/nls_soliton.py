"""Bright solitons of the nonlinear Schrödinger equation."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

import equinox as eqx
import jax.numpy as jnp
from jax.typing import ArrayLike
from jaxtyping import Array

from solver.dynamics.checks import need, require
from solver.grid import Grid, sample
from solver.initial.initial import Initial, as_tuples, bounded
from solver.initial.wavefunctions import galilean_phase, rounding_note, with_hbar_over_mass
from solver.spaces.field import Field


class NlsSoliton(Initial):
    """ψ = Σ_j a_j (α/g)^½ sech(a_j (x − c_j)) exp(i v_j x/α): bright solitons of i ψ_t = −½αψ_xx − g|ψ|²ψ, α = ħ/m.

    Alike in y and z. Alone, each moves with v_j and keeps its shape, with the phase v x/α + ½(αa² − v²/α) t; two of
    different velocities pass through each other and are only shifted. x − c is taken to the nearest periodic image: the
    sides should be some twenty widths 1/a away.

    Args:
        amplitudes: a_j, the inverse width of each [1/length].
        centres: c_j along x [length]; the middle of the box for each if None.
        velocities: v_j along x, rounded to the nearest that is periodic [length/time]; at rest if None.
        coupling: g > 0 of the equation [1/(density·time)]; `for_equation` takes the equation's if None.
        hbar_over_mass: α [length²/time]; `for_equation` takes the equation's if None; else 1.

    Returns:
        When called on a grid of complex fields: `(1, *grid.physical_shape)`; each device fills its own block.

    Raises:
        ValueError: lists of different lengths, amplitudes or a coupling that are not positive; when called: no
            coupling.

    Source: Zakharov & Shabat, Sov. Phys. JETP 34 (1972) 62.
    """

    amplitudes: tuple[ArrayLike, ...] = eqx.field(converter=as_tuples, default=(1.0,))
    centres: tuple[ArrayLike, ...] | None = eqx.field(converter=as_tuples, default=None)
    velocities: tuple[ArrayLike, ...] | None = eqx.field(converter=as_tuples, default=None)
    coupling: ArrayLike | None = None
    hbar_over_mass: ArrayLike | None = None

    name: ClassVar[str] = "nls-soliton"
    ranks: ClassVar[tuple[str, ...]] = ("wavefunction",)

    def __check_init__(self) -> None:
        count = len(self.amplitudes)
        for name in ("centres", "velocities"):
            given = getattr(self, name)
            if given is not None and len(given) != count:
                raise ValueError(f"nls-soliton with {count} amplitudes and {len(given)} {name}: as many are needed")
        need(self, "amplitudes", "nls-soliton with amplitudes", "a positive number for each", above=0)
        need(self, "coupling", "nls-soliton with coupling", "a positive number, such as the equation's,", above=0)
        need(self, "hbar_over_mass", "nls-soliton with hbar_over_mass", "a positive number", above=0)

    def notes(self, grid: Grid) -> list[str]:
        given = () if self.velocities is None else self.velocities
        note = lambda v: rounding_note("nls-soliton: velocity", self._along_x(v, grid), grid, self.hbar_over_mass)  # noqa: E731
        return [line for v in given for line in note(v)]

    def for_equation(self, equation: Any, field: str) -> NlsSoliton:
        """These solitons with the coupling and ħ/m of the equation where they lack their own.

        Raises:
            ValueError: the equation has no term i g|ψ|²ψ with g > 0.
        """
        filled = with_hbar_over_mass(self, equation)
        if self.coupling is not None:
            return filled
        focusing = equation.report.self_focusing
        needed = "a positive g of the term i g|ψ|²ψ (gross-pitaevskii: a negative coupling)"
        if focusing is None:
            raise ValueError(f"nls-soliton in {equation.name}: {needed} is needed, or coupling of its own")
        require(f"nls-soliton in {equation.name} with g =", focusing, needed, above=0)
        return replace(filled, coupling=focusing)

    def values(self, grid: Grid, field: Field, key: Array | None) -> Array:
        if self.coupling is None:
            raise ValueError("nls-soliton without coupling: the equation's is needed, by argument or for_equation")
        length = grid.lengths[0]  # type: ignore[index]
        count = len(self.amplitudes)
        strength = self.coupling if self.hbar_over_mass is None else self.coupling / self.hbar_over_mass
        centres = (0.5 * length,) * count if self.centres is None else self.centres
        velocities = (0.0,) * count if self.velocities is None else self.velocities

        def psi(*points: Array) -> Array:
            total: Array | float = 0.0
            for a, centre, velocity in zip(self.amplitudes, centres, velocities, strict=True):
                apart = points[0] - centre
                apart = apart - length * jnp.round(apart / length)
                phase = galilean_phase(points, self._along_x(velocity, grid), grid, self.hbar_over_mass)
                total = total + a / jnp.sqrt(strength) / jnp.cosh(bounded(a * apart)) * jnp.exp(1j * phase)
            return total  # type: ignore[return-value]

        return sample(psi, grid)[None]

    @staticmethod
    def _along_x(velocity: Any, grid: Grid) -> list[Any]:
        return [velocity, *[0.0] * (grid.dimensions - 1)]
