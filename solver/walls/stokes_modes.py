"""Modes of the Stokes operator between two walls, for one horizontal wavenumber.

They are velocities without divergence in which viscosity is a number.

With κ the horizontal wavenumber in units of half the height, u_h = i κ̂ Z and w = κ∫Z, so that Z = w'/κ. The eigenvalue
is κ² + q², with κ² taken out exactly:

    q² = (⟨|w''|²⟩ + κ²⟨|w'|²⟩) / (⟨|w'|²⟩ + κ²⟨|w|²⟩)

The basis has orthonormal w''. One orthogonal factorisation and one singular value decomposition give q and Z without
squaring anything. Only Z is kept: w follows by integration, which loses nothing, and w' from w would lose N² digits.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.polynomial import polynomial
from numpy.polynomial.legendre import poly2leg
from scipy.linalg import solve_triangular

from solver.walls.legendre import antiderivative, derivative

FREE = {  # polynomials in ζ of w, besides those with w = w' = 0 at both walls
    (True, True): [],
    (True, False): [polynomial.polymul([1, -1], [1, 2, 1])],
    (False, True): [polynomial.polymul([1, 1], [1, -2, 1])],
    (False, False): [np.array([1, 0, -1]), np.array([0, 1, 0, -1])],
}


@cache
def _basis(count: int, rigid: tuple[bool, bool]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """w, w' and w'' of the basis as Legendre coefficients `(polynomial, column)`; w'' is orthonormal."""
    slope = derivative(count)
    twice = antiderivative(count + 2)
    w = (twice @ twice)[:count, 2 : count - 2]
    first = antiderivative(count + 1)[:count, 2 : count - 2]
    second = np.eye(count)[:, 2 : count - 2]
    for plain in reversed(FREE[rigid]):
        coefficients = poly2leg(plain) / np.sqrt(2 * np.arange(len(plain)) + 1)
        own = np.zeros(count)
        own[: len(plain)] = coefficients
        own = own / np.linalg.norm(slope @ slope @ own)
        w, first, second = (
            np.column_stack([new, old]) for new, old in ((own, w), (slope @ own, first), (slope @ slope @ own, second))
        )
    return w, first, second


def parts_by_symmetry(count: int, rigid: tuple[bool, bool]) -> list[tuple[slice, np.ndarray]]:
    """Rows and columns of the basis that do not mix with others: Z even and Z odd, where the walls are alike.

    Returns:
        For each part the polynomials of Z, and True for its columns.
    """
    _, _, second = _basis(count, rigid)
    if rigid[0] != rigid[1]:
        return [(slice(None), np.ones(second.shape[1], bool))]
    is_odd = np.argmax(np.abs(second), axis=0) % 2 == 1
    return [(slice(0, None, 2), is_odd), (slice(1, None, 2), ~is_odd)]


def stokes_modes(
    count: int, kappa: float, rigid: tuple[bool, bool] = (True, True)
) -> list[tuple[np.ndarray, np.ndarray]]:
    """q² and Z of the modes of one wavenumber, for each part of `parts_by_symmetry`.

    Args:
        count: number of polynomials.
        kappa: κ > 0.
        rigid: for the lower and the upper wall, True if it is rigid (w = w' = 0), False if it is free of stress
            (w = w'' = 0).

    Returns:
        For each part q² `(mode,)`, and Z `(polynomial of the part, mode)`: ⟨Z² + (κ∫Z)²⟩ = 1.
    """
    w, first, second = _basis(count, rigid)
    found = []
    for rows, columns in parts_by_symmetry(count, rigid):
        above = np.vstack([second[:, columns], kappa * first[:, columns]])
        below = np.vstack([first[:, columns], kappa * w[:, columns]])
        triangle = np.linalg.qr(above, mode="r")
        modes, sizes, _ = np.linalg.svd(solve_triangular(triangle, below.T, trans="T").T, full_matrices=False)
        found.append((1 / sizes**2, modes[:count][rows]))
    return found
