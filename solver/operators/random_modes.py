"""Random coefficients that belong to modes: the one way in which forcings and starts draw them.

Each number is a function of the key, the component and the whole numbers n of its mode, and of nothing else: not of the
number of devices, the padding, the layout, or the number of points. A device works out the numbers of its own modes.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from solver.grid import Grid
from solver.operators.draws import threefry, two_words
from solver.static import no_ambient_mesh


def random_modes(key: Array, grid: Grid, components: int = 1) -> Array:
    """Independent Gaussian coefficients of mean square 1 on every mode that the grid keeps.

    Real and imaginary part have the variance ½ each. Of a real field û(−k) = conj û(k), exactly; the modes that are
    their own mirror image (the mean, and Nyquist modes) are real numbers of variance 1.

    Use it in a random forcing or start of your own. A key gives each mode the same number on any number of devices, in
    slabs and in pencils, and on a grid with more points (with `three-halves`, with another dealiasing rule, …) as well;
    in single precision it is the same number, rounded. Numbers drawn on `grid.spectral_shape` would depend on the
    number of devices, since that shape has padding.

    Args:
        key: from `jax.random.key`, of any kind of generator.
        grid: grid of real or of complex fields.
        components: number of components of the field.

    Returns:
        Complex `(components, *grid.spectral_shape)`, zero in the padding and on modes that are not kept, split as
        coefficients are. No communication.

    Source: Salmon, Moraes, Dror & Shaw, Proc. SC'11 (2011), for numbers that are functions of a counter (Threefry);
    Box & Muller, Ann. Math. Stat. 29 (1958) 610; both from memory.
    """
    with no_ambient_mesh():
        return _drawer(grid, components)(key)


@cache
def _drawer(grid: Grid, components: int) -> Callable[[Array], Array]:
    """`random_modes` of one grid, compiled."""
    draw = lambda key: _drawn(two_words(key), grid, components)  # noqa: E731
    return jax.jit(draw, out_shardings=grid.spectral_sharding(1 + grid.dimensions))


def _drawn(words: Array, grid: Grid, components: int) -> Array:
    """The coefficients, by Box and Muller's formula: √(−ln u) exp(2πi v)."""
    numbers, mirrored, alone = _representatives(grid)
    pairs = _bits(words, numbers, (components, *grid.spectral_shape))
    u, v = (_between_0_and_1(leading, last, grid) for leading, last in pairs)
    modulus, angle = jnp.sqrt(-jnp.log(u)), 2 * math.pi * v
    real, imaginary = modulus * jnp.cos(angle), modulus * jnp.sin(angle)
    real = jnp.where(alone, math.sqrt(2) * real, real)
    imaginary = jnp.where(alone, 0, jnp.where(mirrored, -imaginary, imaginary))
    return jnp.where(_is_kept(grid), jax.lax.complex(real, imaginary), 0)


def _representatives(grid: Grid) -> tuple[list[Array], Array, Array]:
    """Whole numbers that name each mode, whether it is the conjugate of that mode, and whether it is its own mirror.

    Of a real field k and −k are both stored on the plane n = 0 of the half axis and on its Nyquist plane. There the one
    of the two whose first number is positive names both, so that they agree without an exchange.
    """
    numbers = [jnp.asarray(n) for n in grid.mode_numbers()]
    if not grid.real:
        return numbers, jnp.asarray(False), jnp.asarray(False)
    nyquist = [n if grid.layout.nyquist(a) is not None else 0 for a, n in enumerate(grid.shape)]
    is_mirror = [(n == 0) | (2 * jnp.abs(n) == nyquist[a]) for a, n in enumerate(numbers)]  # n and −n are one
    sign = jnp.asarray(0)  # of the first number that has one
    for n, same in zip(numbers[:-1], is_mirror[:-1], strict=True):
        sign = jnp.where(sign == 0, jnp.where(same, 0, jnp.sign(n)), sign)
    both_stored = is_mirror[-1]
    mirrored = both_stored & (sign < 0)
    named = [jnp.where(mirrored & ~same, -n, n) for n, same in zip(numbers[:-1], is_mirror[:-1], strict=True)]
    return [*named, numbers[-1]], mirrored, both_stored & (sign == 0)


def _bits(words: Array, numbers: list[Array], shape: tuple[int, ...]) -> tuple[Array, Array]:
    """Random bits of two numbers for each component and mode: 32 leading ones and 32 last ones, `(2, *shape)`."""
    x, y, z = [*numbers, jnp.asarray(0), jnp.asarray(0)][:3]
    component = jnp.arange(shape[0]).reshape(-1, *[1] * (len(shape) - 1))

    def drawn(given: tuple[Array, Array]) -> tuple[Array, Array]:
        words, number = given
        key = threefry((words[0], words[1]), x, y)
        return threefry(threefry(key, z, component), number, jnp.uint32(0))

    # XLA stores what a loop makes; without one it would draw each number again wherever it is read. The words are
    # given twice, or what both rounds share would be taken out of the loop in several arrays
    return jax.lax.map(drawn, (jnp.stack([words, words]), jnp.arange(2)))


def _between_0_and_1(leading: Array, last: Array, grid: Grid) -> Array:
    """A number in (0, 1] from 64 bits; single precision holds the leading ones alone."""
    u = (leading.astype(grid.dtype) + 0.5) * 2.0**-32
    return u if grid.dtype == np.float32 else u + (last.astype(grid.dtype) - 2.0**31) * 2.0**-64


def _is_kept(grid: Grid) -> Array:
    factor = grid.mode_filter()
    kept = jnp.asarray(grid.mode_weights() > 0)
    return kept if factor is None else kept & (factor > 0)
