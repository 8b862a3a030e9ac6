"""Sums over modes, as many as are wanted in one pass over the fields."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import jax
import jax.numpy as jnp
from jax import lax
from jax.typing import ArrayLike
from jaxtyping import Array

from solver.grid import Modes
from solver.operators.derivatives import components

Term: TypeAlias = tuple[Any, Array, Array]  # weight · (from real parts + from imaginary parts) of each stored mode
Density: TypeAlias = tuple[Term, ...]  # terms that add up
ModeSum: TypeAlias = Mapping[Modes, Density]  # a sum that is not worked out yet: over each of these sets of modes


def product(a_hat: Array, b_hat: Array, modes: Modes, weight: ArrayLike = 1) -> ModeSum:
    """Σ_k weight(k) Re(â* b̂), summed over components: ⟨a · b⟩ where the weight is 1.

    Args:
        a_hat, b_hat: coefficients `(…, *modes.spectral_shape)`.
        modes: the modes that the coefficients belong to; a `Grid` means Fourier modes.
        weight: broadcasts against `modes.spectral_shape`.
    """
    # component by component: XLA sums over a leading axis 4 times slower on CPUs
    parts = [components(one_axis(v, modes)) for v in (a_hat, b_hat)]
    real = sum(a.real * b.real for a, b in zip(*parts, strict=True))
    imaginary = sum(a.imag * b.imag for a, b in zip(*parts, strict=True))
    return {modes: ((weight * modes.mode_weights(), real, imaginary),)}


def one_axis(u_hat: Array, modes: Modes) -> Array:
    """Coefficients with all leading axes as one.

    Raises:
        ValueError: the last axes are not the modes, as of values at the points.
    """
    shape, needed = list(u_hat.shape), list(modes.spectral_shape)
    if shape[-len(needed) :] != needed:
        raise ValueError(
            f"coefficients of shape {shape}: the last axes must be {needed}; values at the points become coefficients "
            "by solver.fft.Transform(grid).forward"
        )
    return u_hat.reshape(-1, *needed)


def plus(a: ModeSum, b: ModeSum, factor: ArrayLike = 1) -> ModeSum:
    """a + factor · b."""
    total = dict(a)
    for modes, terms in b.items():
        total[modes] = (*total.get(modes, ()), *((factor * weight, *parts) for weight, *parts in terms))
    return total


def summed(sums: Sequence[ModeSum], dtype: Any) -> list[Array]:
    """The values of sums over modes, on every device; 0 for an empty sum.

    All sums over one set of modes are one loop over their terms, and one all-reduce.
    """
    return _added_up(
        sums, dtype, lambda modes, densities: _sums_of_lines(densities).sum(axis=range(1, modes.dimensions))
    )


def summed_by_device(sums: Sequence[ModeSum], dtype: Any) -> list[Array]:
    """As `summed`, without the all-reduce: arrays `(devices,)` of each device's own sums, split over the devices."""
    return _added_up(sums, dtype, lambda modes, densities: _by_device(_sums_of_lines(densities), modes))


def _added_up(
    sums: Sequence[ModeSum], dtype: Any, values_of: Callable[[Modes, Sequence[Density]], Iterable[Array]]
) -> list[Array]:
    """The values of sums over modes, from the sums of each over one set of modes."""
    totals = [jnp.zeros((), dtype)] * len(sums)
    for modes in dict.fromkeys(modes for asked in sums for modes in asked):
        holding = [i for i, asked in enumerate(sums) if modes in asked]
        for i, value in zip(holding, values_of(modes, [sums[i][modes] for i in holding]), strict=True):
            totals[i] = totals[i] + value
    return totals


def _by_device(lines: Array, modes: Modes) -> Array:
    """Sums of lines `(sum, ky, kz)` as sums of what each device holds, `(sum, devices)`."""
    slabs, pencils = modes.parts
    rows, columns = (*lines.shape[1:], 1, 1)[:2]
    blocks = lines.reshape(len(lines), slabs, rows // slabs, pencils, columns // pencils)
    return blocks.sum(axis=(2, 4)).reshape(len(lines), -1)


def _sums_of_lines(densities: Sequence[Density]) -> Array:
    """The sums of each density along the lines of its last axis, `(density, ky, kz)`.

    XLA makes one loop of a reduction of several arrays, and computes them in it. The sum of a single array is a library
    call of its CPU backend, for which the array is written out first: 3 to 4 times slower at 64³ and 128³. So the two
    parts of a single density are reduced side by side. Sums of sums lose less to round-off than one sum does.

    The lines are one array, which makes one all-reduce of the sums. XLA's CPU backend carries out an
    all-reduce of several arrays one after the other, and the devices wait for each other at each.
    """
    if len(densities) == 1:
        real = sum(weight * part for weight, part, _ in densities[0])
        imaginary = sum(weight * part for weight, _, part in densities[0])
        return sum(_along_lines((real, imaginary)))[None]
    # a sum of weights times products: where several sums have a product in common it is made once
    whole = lambda terms: sum(weight * (real + imaginary) for weight, real, imaginary in terms)  # noqa: E731
    return jnp.stack(_along_lines(tuple(map(whole, densities))))


@jax.custom_jvp
def _along_lines(arrays: tuple[Array, ...]) -> tuple[Array, ...]:
    """The sum of each array along the last axis, all in one reduction."""
    zeros = tuple(jnp.zeros((), v.dtype) for v in arrays)
    return tuple(lax.reduce(arrays, zeros, _each_added, (arrays[0].ndim - 1,)))


def _each_added(left: tuple[Array, ...], right: tuple[Array, ...]) -> tuple[Array, ...]:
    """Sums of pairs. A function of the module: outside of `jit`, JAX compiles a reduction by another function anew."""
    return tuple(a + b for a, b in zip(left, right, strict=True))


@_along_lines.defjvp
def _along_lines_jvp(arrays: tuple[tuple[Array, ...]], changes: tuple[tuple[Array, ...]]) -> tuple[tuple, tuple]:
    """JAX differentiates a reduction of several arrays as any function of pairs, in many steps; it is linear."""
    return _along_lines(arrays[0]), tuple(jnp.sum(change, axis=-1) for change in changes[0])
