"""B-splines from wall to wall, on knots that lie as densely as the Gauss–Legendre points do.

There are as many splines as points and walls. The knots between the walls are means of m − 1 neighbours among these
places, and each wall is an m-fold knot, so that the first and the last coefficient are the field's values at the
walls. The others make the spline nearest to the field. They are linear in the coefficients of its polynomials.

Source: de Boor, A Practical Guide to Splines (2001), chapters IX and XIII.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from solver.walls import legendre


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
