"""B-splines: values at positions by weights of the points around, slopes, and the filter that makes them exact.

    u(x) = Σ_j c_j B_m(x/h − j),   ĉ(k) = û(k) / sinc^m(k h/2)

in each direction: B_m is the B-spline of order m, which is nonzero at m points. The filter undoes what the spline does
to a wave, so that the spline and the wave agree up to the images of the wave at k + 2πj/h:

    relative error = √Σ_{j≠0} |k/(k + 2πj/h)|^2m

From wall to wall (`Across`) the knots lie as densely as the Gauss–Legendre points do. There are as many splines as
points and walls. The knots between the walls are means of m − 1 neighbours among these places, and each wall is an
m-fold knot, so that the first and the last coefficient are the field's values at the walls. The others make the spline
nearest to the field. They are linear in the coefficients of its polynomials.

Sources: van Hinsberg, Thije Boonkkamp, Toschi & Clercx, SIAM J. Sci. Comput. 34 (2012) B479; de Boor, A Practical Guide
to Splines (2001), chapters IX and XIII.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float

from solver.grid import Grid
from solver.walls import legendre

ORDERS = (4, 6, 8, "spectral")  # the last one without splines: by the sum over all modes
CHUNK = 1000  # positions at a time, whose weights and sums stay in a core's first-level cache
MANY = 20_000  # particles, from which on a fast sum is worth the time to compile it
UNROLL, UNROLL_FEW = 16, 2  # terms of the sum in one turn of its loop, of many particles and of few


@partial(jax.jit, static_argnames="order")  # traced once for each shape
def spline_weights(f: Float[Array, " n"], order: int) -> Float[Array, "m n"]:
    """B_m at the m points around each position.

    Args:
        f: place in its cell, from 0 to 1.
        order: m.
    """
    weights: list[Array] = [jnp.ones_like(f)]
    for k in range(2, order + 1):
        last = [jnp.zeros_like(f), *weights, jnp.zeros_like(f)]
        weights = [((f + (k - 1 - j)) * last[j] + (1 - f + j) * last[j + 1]) / (k - 1) for j in range(k)]
    return jnp.stack(weights)


def spline_slopes(f: Float[Array, " n"], order: int) -> Float[Array, "m n"]:
    """Derivatives of B_m with respect to x/h at the same points: differences of B_{m−1}."""
    lower = spline_weights(f, order - 1)
    nothing = jnp.zeros_like(lower[:1])
    return jnp.concatenate([nothing, lower]) - jnp.concatenate([lower, nothing])


def first_point(cells: Float[Array, " n"], order: int) -> tuple[Array, Array]:
    """The first of the m points around each position, a whole number, and the place in the cell.

    Args:
        cells: positions in units of the spacing.
        order: m.
    """
    below = jnp.floor(cells)
    return below.astype(jnp.int32) - (order // 2 - 1), cells - below


def prefilter(grid: Grid, order: int) -> Array:
    """1/Π_d sinc^m(k_d h_d/2) at each mode of a periodic grid, by which coefficients are multiplied; broadcasts."""
    response = np.ones([1] * grid.dimensions)
    for axis, n in enumerate(grid.mode_numbers()):
        response = response * np.sinc(np.asarray(n) / grid.layout.points[axis]) ** order
    return jnp.asarray(1 / response, grid.dtype)


def spline_error(kh: float, order: int) -> float:
    """Relative error of one wave in one direction, kh its wavenumber times the spacing."""
    images = kh + 2 * np.pi * np.array([j for j in range(-50, 51) if j])
    return float(np.sqrt(np.sum(np.abs(kh / images) ** (2 * order))))


# ---- the splines of a direction ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Around:
    """Splines at equally spaced points around a periodic direction; places are in units of the spacing.

    Args:
        points: number of points, and of splines.
        order: order of the splines.
    """

    points: int
    order: int

    @property
    def splines(self) -> int:
        """Number of splines."""
        return self.points

    @property
    def unit(self) -> float:
        """Number of units of its places in the length of the direction."""
        return self.points

    def first(self, x: Float[Array, " n"]) -> Array:
        """Number of the first of the m splines at each place."""
        # modulo after floor: a position that was rounded up to the end of the box is in cell 0
        return first_point(x, self.order)[0] % self.points

    def weights(self, x: Float[Array, " n"], first: Array) -> Array:
        """The m splines at each place `(m, n)`."""
        return spline_weights(first_point(x, self.order)[1], self.order)

    def slopes(self, x: Float[Array, " n"], first: Array) -> Array:
        """Their derivatives per unit."""
        return spline_slopes(first_point(x, self.order)[1], self.order)


@dataclass(frozen=True)
class Across:
    """Splines from wall to wall; places are heights from 0 to 1, and places beyond a wall count as the wall's.

    Args:
        points: number of Gauss–Legendre points.
        order: order of the splines.
    """

    points: int
    order: int

    @property
    def splines(self) -> int:
        """Number of splines."""
        return self.points + 2

    @property
    def unit(self) -> float:
        """Number of units of its places in the length of the direction."""
        return 1

    def first(self, x: Float[Array, " n"]) -> Array:
        """Number of the first of the m splines at each place."""
        return cells(jnp.clip(x, 0, 1), self.points, self.order)

    def weights(self, x: Float[Array, " n"], first: Array) -> Array:
        """The m splines at each place `(m, n)`."""
        return knot_weights(jnp.clip(x, 0, 1), first, self.points, self.order)

    def slopes(self, x: Float[Array, " n"], first: Array) -> Array:
        """Their derivatives per unit."""
        return knot_slopes(jnp.clip(x, 0, 1), first, self.points, self.order)


def axes_of(grid: Grid, order: int) -> tuple[Around | Across, ...]:
    """The splines of each direction of a grid."""
    points = grid.layout.points
    return tuple((Around if goes_on else Across)(n, order) for n, goes_on in zip(points, grid.periodic, strict=True))


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
            once = points[axis] >= m - 1  # then no place is two boxes away
            place = jnp.where(place >= points[axis], place - points[axis], place) if once else place % points[axis]
        places.append(place * math.prod(points[axis + 1 :]))

    def add(q: Array, total: Array) -> Array:
        digits = [(q // m ** (d - 1 - axis)) % m for axis in range(d)]
        place = sum((places[axis][digits[axis]] for axis in range(1, d)), places[0][digits[0]])
        weight = math.prod((weights[axis][digits[axis]] for axis in range(1, d)), start=weights[0][digits[0]])
        return total + weight * flat.at[:, place].get(mode="promise_in_bounds")

    nothing = jnp.zeros((len(c), first.shape[1]), c.dtype) + 0 * weights[0][0]  # varies over devices as weights do
    return lax.fori_loop(0, m**d, add, nothing, unroll=min(unroll, m**d))


@lru_cache(maxsize=32)
def places(points: int) -> np.ndarray:
    """The walls and the Gauss–Legendre points, from 0 to 1."""
    made: np.ndarray = np.concatenate([[0.0], 0.5 * (1 + legendre.gauss_points(points)[0]), [1.0]])
    return made


@lru_cache(maxsize=32)
def knots(points: int, order: int) -> np.ndarray:
    """The `points` + 2 + m knots, from 0 to 1."""
    at = places(points)
    inner = [at[j + 1 : j + order].mean() for j in range(len(at) - order)]
    return np.concatenate([np.zeros(order), inner, np.ones(order)])


@lru_cache(maxsize=32)
def halves(points: int, order: int, count: int) -> np.ndarray:
    """Coefficients of the splines nearest to even and odd P_n, of the upper half of the B-splines: `(2, half, m)`.

    The nearest in the mean square over the height, with the values of P_n at the walls. As `Polynomials.halves`, which
    has values at the points.
    """
    at, weights = _dense_points(points, order)
    cell = cells(at, points, order, np)
    matrix = np.zeros((len(at), points + 2))
    matrix[np.arange(len(at)), cell + np.arange(order)[:, None]] = knot_weights(at, cell, points, order, np)
    ends = legendre.values(count, np.array([-1.0, 1.0]))
    rest = legendre.values(count, 2 * at - 1) - matrix[:, [0, -1]] @ ends
    q, r = np.linalg.qr(weights[:, None] * matrix[:, 1:-1])
    inner = np.linalg.solve(r, q.T @ (weights[:, None] * rest))
    upper = np.concatenate([inner, ends[1:]])[(points + 2) // 2 - 1 :]
    upper = np.pad(upper, [(0, 0), (0, count % 2)])
    return np.stack([upper[:, 0::2], upper[:, 1::2]])


def whole_of(halves: np.ndarray, points: int, count: int) -> np.ndarray:
    """The matrix `(spline, n)` of all splines and polynomials that `halves` has."""
    even, odd = halves
    upper = np.stack([even, odd], -1).reshape(len(even), -1)[:, :count]
    lower = upper * (-1.0) ** np.arange(count, dtype=upper.dtype)
    return np.concatenate([lower[points % 2 :][::-1], upper])


def _dense_points(points: int, order: int) -> tuple[np.ndarray, np.ndarray]:
    """Gauss points in each interval between knots, and the root of each one's weight in an integral."""
    ends = np.unique(knots(points, order))
    places, weights = legendre.gauss_points(order)
    lengths = np.diff(ends)[:, None]
    at = ends[:-1, None] + lengths * 0.5 * (1 + places)
    return at.ravel(), np.sqrt(lengths * weights).ravel()


def cells(x: Any, points: int, order: int, of: Any = jnp) -> Any:
    """Number of the interval between knots that holds each place: the first of the m splines there.

    Args:
        x: places from 0 to 1; those beyond are in the first or in the last interval.
        points, order: as in `knots`.
        of: `jax.numpy` or `numpy`.
    """
    ends = knots(points, order)[order : points + 2]  # of all intervals but the last one
    below, given = of.zeros(x.shape, np.int32), of.asarray(ends, x.dtype)
    for power in reversed(range(len(ends).bit_length())):  # as many steps as a search takes, without a loop
        further = below + 2**power
        is_below = (further <= len(ends)) & (given[of.minimum(further, len(ends)) - 1] <= x)
        below = of.where(is_below, further, below)
    return below


def knot_weights(x: Any, cell: Any, points: int, order: int, of: Any = jnp) -> Any:
    """The m splines of order m that are not 0 in a cell, at places `(m, …)`; see `cells` for the arguments."""
    weights, _ = _by_recursion(x, cell, knots(points, order), order, order, of)
    return of.stack(weights)


def knot_slopes(x: Array, cell: Array, points: int, order: int) -> Array:
    """Their derivatives, per length from wall to wall."""
    lower, width = _by_recursion(x, cell, knots(points, order), order, order - 1, jnp)
    parts = [(order - 1) * weight / width(q) for q, weight in enumerate(lower)]
    nothing = jnp.zeros_like(x)
    return jnp.stack([a - b for a, b in zip([nothing, *parts], [*parts, nothing], strict=True)])


def _by_recursion(x: Any, cell: Any, knots: np.ndarray, order: int, wanted: int, of: Any) -> tuple[list[Any], Any]:
    """Splines of the order that is wanted, on the knots of splines of another; the length of each one's support."""
    at = of.asarray(knots, x.dtype)
    begin = cell + order - 1  # the knot at the beginning of the cell
    left = [x - at[begin + 1 - j] for j in range(order)]
    right = [at[begin + j] - x for j in range(order)]
    weights = [of.ones_like(x)]
    for j in range(1, wanted):
        saved = of.zeros_like(x)
        for r in range(j):
            part = weights[r] / (right[r + 1] + left[j - r])
            weights[r] = saved + right[r + 1] * part
            saved = left[j - r] * part
        weights.append(saved)
    return weights, lambda q: right[q + 1] + left[order - 1 - q]
