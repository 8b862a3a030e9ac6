"""Solitons of the Korteweg–de Vries equation and of the modified one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike
from jaxtyping import Array

from solver.dynamics.any_equation import AnyEquation
from solver.dynamics.checks import need, require
from solver.equations.korteweg_de_vries import KortewegDeVries, ModifiedKortewegDeVries
from solver.grid import Grid, sample
from solver.initial.initial import Initial, as_tuples, bounded
from solver.spaces.field import Field

IMAGES = range(-20, 21)  # periodic images that are added up; what lies further away is below exp(−20.5 κL)
LEAST_DECAY = 1.8  # of κL, at which that is below the rounding of double precision; exp(−κx) is how a soliton falls off


class KdVSolitons(Initial):
    """u = Σ (3c/a) sech²(½√(c/b)(x − x₀)): solitons of u_t + a u u_x + b u_xxx = 0, and their periodic images.

    Each is exact where the others vanish; faster ones are taller and overtake. Alike along further axes.

    Args:
        speeds: c > 0 of each [length/time].
        positions: x₀ of each [length]; evenly spaced if None.
        nonlinearity, dispersion: a and b > 0 of the equation, which `for_equation` takes from it if None; else 6 and 1.

    Returns:
        When called: `(1, *grid.physical_shape)`; each device fills its own block.

    Raises:
        ValueError: no soliton, lists of different lengths, speeds or a dispersion that are not positive, or a
            nonlinearity of 0; in a run: solitons as wide as the box.

    Source: Korteweg & de Vries, Phil. Mag. 39 (1895) 422.
    """

    speeds: tuple[ArrayLike, ...] = eqx.field(converter=as_tuples, default=(4.0,))
    positions: tuple[ArrayLike, ...] | None = eqx.field(converter=as_tuples, default=None)
    nonlinearity: ArrayLike | None = None
    dispersion: ArrayLike | None = None

    name: ClassVar[str] = "kdv-solitons"
    ranks: ClassVar[tuple[str, ...]] = ("scalar",)

    def __check_init__(self) -> None:
        _check_lists("kdv-solitons", self.speeds, positions=self.positions)
        need(self, "dispersion", "kdv-solitons with dispersion", "a positive number, such as the equation's,", above=0)
        if isinstance(self.nonlinearity, int | float) and self.nonlinearity == 0:
            raise ValueError("kdv-solitons with nonlinearity 0: the equation's is needed, which is not zero")

    def for_equation(self, equation: Any, field: str) -> KdVSolitons:
        """These solitons with the coefficients of `korteweg-de-vries` where they lack their own."""
        if not isinstance(equation, KortewegDeVries):
            return self
        missing = [name for name in ("nonlinearity", "dispersion") if getattr(self, name) is None]
        return replace(self, **{name: getattr(equation, name) for name in missing})

    def check(self, equation: AnyEquation, field: str) -> None:
        if isinstance(equation, ModifiedKortewegDeVries):
            raise ValueError(f"name = 'kdv-solitons': {equation.name} has others, mkdv-solitons")
        _check_widths(self.name, self.speeds, 1.0 if self.dispersion is None else self.dispersion, equation.grid)

    def values(self, grid: Grid, field: Field, key: Array | None) -> Array:
        a = 6.0 if self.nonlinearity is None else self.nonlinearity
        b = 1.0 if self.dispersion is None else self.dispersion

        def profile(i: int, s: Array) -> Array:
            c = jnp.asarray(self.speeds[i])
            return 3 * c / a / jnp.cosh(bounded(0.5 * jnp.sqrt(c / b) * s)) ** 2

        return _train(profile, len(self.speeds), self.positions, grid)


class MKdVSolitons(Initial):
    """u = Σ s√c sech(√c(x − x₀)): solitons of u_t + 6u²u_x + u_xxx = 0, and their periodic images.

    Each is exact where the others vanish. Solitons of either sign s travel to the right. Alike along further axes.

    Args:
        speeds: c > 0 of each [length/time].
        positions: x₀ of each [length]; evenly spaced if None.
        polarities: s of each, 1 or −1, static; all 1 if None.

    Returns:
        When called: `(1, *grid.physical_shape)`; each device fills its own block.

    Raises:
        ValueError: no soliton, lists of different lengths, speeds that are not positive, or polarities other than ±1;
            in a run: an equation with sign −1, which has no solitons, or solitons as wide as the box.

    Source: Wadati, J. Phys. Soc. Jpn. 34 (1973) 1289.
    """

    speeds: tuple[ArrayLike, ...] = eqx.field(converter=as_tuples, default=(4.0,))
    positions: tuple[ArrayLike, ...] | None = eqx.field(converter=as_tuples, default=None)
    polarities: tuple[int, ...] | None = eqx.field(converter=as_tuples, static=True, default=None)

    name: ClassVar[str] = "mkdv-solitons"
    ranks: ClassVar[tuple[str, ...]] = ("scalar",)

    def __check_init__(self) -> None:
        _check_lists("mkdv-solitons", self.speeds, positions=self.positions, polarities=self.polarities)
        if set(self.polarities or ()) - {1, -1}:
            raise ValueError(f"mkdv-solitons with polarities {list(self.polarities or ())}: 1 or -1 for each is needed")

    def check(self, equation: AnyEquation, field: str) -> None:
        if isinstance(equation, KortewegDeVries):
            raise ValueError(f"name = 'mkdv-solitons': {equation.name} has others, kdv-solitons")
        if isinstance(equation, ModifiedKortewegDeVries) and equation.sign == -1:
            raise ValueError(f"name = 'mkdv-solitons': {equation.name} with sign -1 has no solitons; sign 1 is needed")
        _check_widths(self.name, self.speeds, 1.0, equation.grid)

    def values(self, grid: Grid, field: Field, key: Array | None) -> Array:
        signs = (1,) * len(self.speeds) if self.polarities is None else self.polarities

        def profile(i: int, s: Array) -> Array:
            root = jnp.sqrt(jnp.asarray(self.speeds[i]))
            return signs[i] * root / jnp.cosh(bounded(root * s))

        return _train(profile, len(self.speeds), self.positions, grid)


def _train(profile: Callable[[int, Array], Array], count: int, positions: Sequence[Any] | None, grid: Grid) -> Array:
    """Σ profile(i, x − x₀) over solitons and their images along x."""
    length = grid.lengths[0]  # type: ignore[index]
    places = [length * (i + 0.5) / count for i in range(count)] if positions is None else positions

    def fill(x: Array, *others: Array) -> tuple[Array]:
        total, images = jnp.zeros_like(x), length * jnp.asarray(IMAGES, x.dtype).reshape(-1, *[1] * x.ndim)
        for i, place in enumerate(places):
            nearest = x - place - length * jnp.round((x - place) / length)
            total += profile(i, nearest + images).sum(axis=0)
        return (total,)

    return sample(fill, grid)


def _check_widths(name: str, speeds: Sequence[Any], dispersion: Any, grid: Grid) -> None:
    """Refuse solitons that fall off, as exp(−√(c/b) x), over more than half of the box; traced numbers pass."""
    length = grid.lengths[0]  # type: ignore[index]
    if not isinstance(dispersion, jax.core.Tracer):
        least = float(np.max(dispersion)) * (LEAST_DECAY / length) ** 2
        needed = f"at least {least:.4g}, to fit in the box of length {length:.4g},"
        require(f"{name} with speeds", speeds, needed, least)


def _check_lists(name: str, speeds: Sequence[Any], **others: Sequence[Any] | None) -> None:
    if not speeds:
        raise ValueError(f"{name} with no speeds: one for each soliton is needed")
    for what, given in others.items():
        if given is not None and len(given) != len(speeds):
            raise ValueError(f"{name} with {len(speeds)} speeds and {len(given)} {what}: as many of each are needed")
    require(f"{name} with speeds", speeds, "a positive number for each", above=0)
