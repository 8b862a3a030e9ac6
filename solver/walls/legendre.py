"""Legendre polynomials P_n, scaled to a mean square of one over −1 ≤ ζ ≤ 1: points, values, derivative, antiderivative.

Sums of squares of coefficients are means over the height. Everything here is NumPy's, in double precision.
"""

from __future__ import annotations

import numpy as np

NEWTON_STEPS = 8


def gauss_points(count: int) -> tuple[np.ndarray, np.ndarray]:
    """Gauss–Legendre points in (−1, 1), in ascending order, and the weight of each in a mean: their sum is one.

    A mean of a polynomial of degree below 2 `count` is exact.
    """
    x = np.cos(np.pi * (np.arange(1, count + 1) - 0.25) / (count + 0.5))
    for _ in range(NEWTON_STEPS):
        before, now = np.ones_like(x), x.copy()
        for n in range(1, count):
            before, now = now, ((2 * n + 1) * x * now - n * before) / (n + 1)
        slope = count * (x * now - before) / (x * x - 1)
        x = x - now / slope
    weights = 2 / ((1 - x * x) * slope * slope)
    return x[::-1].copy(), (weights / weights.sum())[::-1].copy()


def values(count: int, points: np.ndarray) -> np.ndarray:
    """P_n(ζ) of the first `count` polynomials, `(point, n)`."""
    plain = np.zeros((len(points), max(count, 2)))
    plain[:, 0], plain[:, 1] = 1, points
    for n in range(1, count - 1):
        plain[:, n + 1] = ((2 * n + 1) * points * plain[:, n] - n * plain[:, n - 1]) / (n + 1)
    return plain[:, :count] * np.sqrt(2 * np.arange(count) + 1)


def derivative(count: int) -> np.ndarray:
    """D with ∂P_n/∂ζ = Σ_m D_mn P_m."""
    m, n = np.arange(count)[:, None], np.arange(count)[None]
    return np.where((n > m) & ((n - m) % 2 == 1), np.sqrt((2 * m + 1.0) * (2 * n + 1)), 0.0)


def antiderivative(count: int) -> np.ndarray:
    """I with ∫_{−1}^ζ P_n = Σ_m I_mn P_m, for n ≥ 1; what lies beyond the last polynomial is left out."""
    made = np.zeros((count, count))
    n = np.arange(1, count)
    made[n - 1, n] = -1 / np.sqrt((2 * n + 1.0) * (2 * n - 1))
    n = np.arange(1, count - 1)
    made[n + 1, n] = 1 / np.sqrt((2 * n + 1.0) * (2 * n + 3))
    return made


def height_of(places: np.ndarray) -> float | None:
    """H of Gauss–Legendre points between 0 and H; None of other places."""
    height = float(places[0] + places[-1])
    even = 0.5 * height * (1 + gauss_points(len(places))[0])
    return height if np.allclose(places, even, rtol=0, atol=1e-6 * abs(height)) else None


def derivative_at_points(count: int) -> np.ndarray:
    """∂/∂ζ at the Gauss points of the polynomial through `count` values there, `(point, point)`."""
    points, weights = gauss_points(count)
    at = values(count, points)
    made: np.ndarray = at @ derivative(count) @ (at * weights[:, None]).T
    return made


def modes_of(points: int) -> int:
    """Number of polynomials on so many points: the most for which N of products of two is exact, 2(points + 1)/3."""
    return 2 * (points + 1) // 3
