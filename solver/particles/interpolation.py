"""Values of a field at scattered positions, on one device: sums over the points around each of them."""

from __future__ import annotations

import math
from collections.abc import Sequence

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array

from solver.particles.splines import Across, Around

CHUNK = 1000  # positions at a time, whose weights and sums stay in a core's first-level cache
MANY = 20_000  # particles, from which on a fast sum is worth the time to compile it
UNROLL, UNROLL_FEW = 16, 2  # terms of the sum in one turn of its loop, of many particles and of few


def interpolated(
    c: Array,
    first: Array,
    cells: Array,
    axes: Sequence[Around | Across],
    periodic: Sequence[bool],
    *,
    slopes: bool = False,
    unroll: int = UNROLL,
) -> Array:
    """Σ_j c_j Π_d B_m at each position, chunk by chunk.

    Positions are best in the order of their cells, so that neighbours read the same points.

    Args:
        c: coefficients of the spline `(component, *points)`.
        first: first point of each position in this array `(direction, position)`, whole numbers.
        cells: positions in units of each direction's splines `(direction, position)`; where these are periodic, the
            places in their cells count.
        axes: splines of each direction.
        periodic: True for each direction whose points wrap around; else c reaches as far as the positions need.
        slopes: True for the derivatives along each direction, too, per unit.
        unroll: terms of the sum in one turn of its loop: more are faster, and take longer to compile.

    Returns:
        `(component, position)`; with slopes `(1 + directions, component, position)`, the values first.
    """
    d, count = cells.shape
    size = min(CHUNK, count)
    padded = math.ceil(count / size) * size
    kinds = 1 + d if slopes else 1

    def chunks(v: Array) -> Array:
        return jnp.pad(v, [(0, 0), (0, padded - count)]).reshape(d, -1, size).swapaxes(0, 1)

    def one(part: tuple[Array, Array]) -> Array:
        start, x = part
        weights = [own.weights(x[axis], start[axis]).astype(c.dtype) for axis, own in enumerate(axes)]
        mixed = [weights]
        for axis, own in enumerate(axes) if slopes else ():
            mixed.append([*weights])
            mixed[-1][axis] = own.slopes(x[axis], start[axis]).astype(c.dtype)
        return jnp.stack([_sum(c, start, w, periodic, unroll) for w in mixed])

    values = lax.map(jax.checkpoint(one), (chunks(first), chunks(cells)))  # (chunk, kind, component, position)
    values = jnp.moveaxis(values, 0, 2).reshape(kinds, len(c), padded)[..., :count]
    return values if slopes else values[0]


def _sum(c: Array, first: Array, weights: Sequence[Array], periodic: Sequence[bool], unroll: int) -> Array:
    """The sum over the m^d points of all components, whose order never changes.

    A product of matrices would be summed in an order that depends on the number of positions, and so change bits.
    """
    d, m, points = len(weights), len(weights[0]), c.shape[1:]
    flat = c.reshape(len(c), -1)
    places = []
    for axis in range(d):
        place = first[axis] + jnp.arange(m, dtype=jnp.int32)[:, None]
        if periodic[axis]:
            place = jnp.where(place >= points[axis], place - points[axis], place)
        places.append(place * math.prod(points[axis + 1 :]))

    def add(q: Array, total: Array) -> Array:
        digits = [(q // m ** (d - 1 - axis)) % m for axis in range(d)]
        place = sum((places[axis][digits[axis]] for axis in range(1, d)), places[0][digits[0]])
        weight = math.prod((weights[axis][digits[axis]] for axis in range(1, d)), start=weights[0][digits[0]])
        return total + weight * flat.at[:, place].get(mode="promise_in_bounds")

    nothing = jnp.zeros((len(c), first.shape[1]), c.dtype) + 0 * weights[0][0]  # varies over devices as weights do
    return lax.fori_loop(0, m**d, add, nothing, unroll=min(unroll, m**d))
