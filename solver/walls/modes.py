"""Modes between two walls as Legendre coefficients: of −d²/dζ² under conditions, and of the Stokes operator.

The columns of B are a basis whose derivatives are orthonormal. With B = U S Vᵀ the modes of −d²/dζ² are U and their
eigenvalues 1/S²: nothing is squared, so that both keep all digits. A decomposition leaves the signs of U to round-off,
and another machine may read a state, coefficients of modes: the largest coefficient of each mode is positive.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache

import numpy as np

from solver.walls.legendre import antiderivative, derivative

FREE = {  # polynomials in ζ of w, besides those with w = w' = 0 at both walls
    (True, True): [],
    (True, False): [np.array([1, 1, -1, -1])],  # (1 − ζ)(1 + ζ)²
    (False, True): [np.array([1, -1, -1, 1])],
    (False, False): [np.array([1, 0, -1]), np.array([0, 1, 0, -1])],
}


@dataclass(frozen=True)
class Wall:
    """A homogeneous condition at one wall, n the direction out of the fluid, in units of half the height.

    Args:
        is_value: True for g = 0; False for ∂g/∂n + β g = 0.
        beta: β ≥ 0; 0 is ∂g/∂n = 0.
    """

    is_value: bool = True
    beta: float = 0.0


VALUE: Wall = Wall()
SLOPE: Wall = Wall(False)
SLOPES = 1e-6  # below this the conditions at both walls are slopes, relative to their sizes


def scalar_modes(count: int, lower: Wall = VALUE, upper: Wall = VALUE) -> tuple[np.ndarray, np.ndarray]:
    """Eigenvalues λ ≥ 0 of −d²/dζ², and the modes `(polynomial, mode)`, orthonormal for the mean over the height.

    There are two modes fewer than polynomials for each value that is given, and as many as polynomials where none is.
    """
    basis = _without_ends(count)
    if not (lower.is_value or upper.is_value) and lower.beta == upper.beta == 0:
        zeta = np.zeros(count)
        zeta[1] = 1 / math.sqrt(3)
        basis = np.column_stack([zeta, basis])
        basis[0] = 0  # the constant is a mode by itself
        modes, sizes, _ = np.linalg.svd(basis, full_matrices=False)
        return np.concatenate([[0.0], 1 / sizes**2]), np.column_stack([np.eye(count)[:, 0], _with_signs(modes)])
    modes, sizes, _ = np.linalg.svd(np.column_stack([*_linear(count, lower, upper), basis]), full_matrices=False)
    return 1 / sizes**2, _with_signs(modes)


def _with_signs(modes: np.ndarray) -> np.ndarray:
    """The modes `(polynomial, mode)` or their opposites: of each the one whose largest coefficient is positive."""
    largest = np.argmax(np.abs(modes), axis=0)
    return np.asarray(modes * np.sign(modes[largest, np.arange(modes.shape[1])]))


def _linear(count: int, lower: Wall, upper: Wall) -> list[np.ndarray]:
    """The linear functions that the conditions allow, orthonormal in ⟨f'g'⟩ + ½Σ β f g at the walls.

    They are made of (1 ∓ ζ)/2, of which one vanishes at each wall, and without a difference of large numbers: β of any
    sizes keep their digits.
    """
    below, above = np.zeros(count), np.zeros(count)
    below[:2], above[:2] = [0.5, -0.5 / math.sqrt(3)], [0.5, 0.5 / math.sqrt(3)]
    first = 0.25 + 0.5 * lower.beta
    if upper.is_value:
        return [] if lower.is_value else [below / math.sqrt(first)]
    if lower.is_value:
        return [above / math.sqrt(0.25 + 0.5 * upper.beta)]
    second = 0.5 * upper.beta + 0.125 * lower.beta / first
    return [below / math.sqrt(first), (above + 0.25 / first * below) / math.sqrt(second)]


def _without_ends(count: int) -> np.ndarray:
    """φ_j ∝ P_j − P_{j+2}, which vanish at both walls, with φ_j' = −P_{j+1}."""
    made, j = np.zeros((count, count - 2)), np.arange(count - 2)
    made[j, j] = 1 / np.sqrt((2 * j + 1.0) * (2 * j + 3))
    made[j + 2, j] = -1 / np.sqrt((2 * j + 5.0) * (2 * j + 3))
    return made


def lifting(lower: tuple[float, float], upper: tuple[float, float]) -> np.ndarray:
    """The plainest function that has given right-hand sides at the walls, as Legendre coefficients `(3, wall)` of each.

    A wall's pair (a, b) is the condition a g + b ∂g/∂ζ = right-hand side. The function is linear, or quadratic without
    a mean where both conditions are slopes or nearly so (`lifting_is_linear`).
    """
    rows, sizes = _conditions(lower, upper)
    used = [0, 1] if lifting_is_linear(lower, upper) else [1, 2]
    made = np.zeros((3, 2))
    made[used] = np.linalg.inv(rows[:, used]) / sizes
    return made


def lifting_with_mean(lower: tuple[float, float], upper: tuple[float, float]) -> np.ndarray:
    """Quadratic functions as Legendre coefficients `(3, 3)`: for each wall the one without a mean that has a unit
    right-hand side there and 0 at the other, and the one of mean one without right-hand sides."""
    rows, sizes = _conditions(lower, upper)
    made = np.zeros((3, 3))
    made[1:, :2] = np.linalg.inv(rows[:, 1:]) / sizes
    made[:, 2] = [1.0, *np.linalg.solve(rows[:, 1:], -rows[:, 0])]
    return made


def lifting_is_linear(lower: tuple[float, float], upper: tuple[float, float]) -> bool:
    """True if the lifting is linear: no linear function has two slopes, and of two conditions that are nearly slopes it
    would have a mean so large that its digits are lost."""
    rows, _ = _conditions(lower, upper)
    return bool(abs(np.linalg.det(rows[:, :2])) > SLOPES)


def _conditions(lower: tuple[float, float], upper: tuple[float, float]) -> tuple[np.ndarray, np.ndarray]:
    """The conditions of P_0, P_1 and P_2 at the walls `(wall, n)`, divided by their sizes `(wall,)`."""
    scale = np.sqrt([1.0, 3.0, 5.0])
    ends = np.array([[1.0, -1.0, 1.0], [1.0, 1.0, 1.0]]) * scale
    slopes = np.array([[0.0, 1.0, -3.0], [0.0, 1.0, 3.0]]) * scale
    rows = np.array([a * ends[i] + b * slopes[i] for i, (a, b) in enumerate((lower, upper))])
    sizes = np.linalg.norm(rows, axis=1)
    return rows / sizes[:, None], sizes


@cache
def _basis(count: int, rigid: tuple[bool, bool]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """w, w' and w'' of the basis as Legendre coefficients `(polynomial, column)`; w'' is orthonormal."""
    from numpy.polynomial.legendre import poly2leg  # both take long to import, and a periodic box needs neither

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

    They are velocities without divergence in which viscosity is a number. With κ the horizontal wavenumber in units of
    half the height, u_h = i κ̂ Z and w = κ∫Z, so that Z = w'/κ. The eigenvalue is κ² + q², with κ² taken out exactly:

        q² = (⟨|w''|²⟩ + κ²⟨|w'|²⟩) / (⟨|w'|²⟩ + κ²⟨|w|²⟩)

    The basis has orthonormal w''. One orthogonal factorisation and one singular value decomposition give q and Z
    without squaring anything. Only Z is kept: w follows by integration, which loses nothing, and w' from w would lose
    N² digits.

    Args:
        count: number of polynomials.
        kappa: κ > 0.
        rigid: for the lower and the upper wall, True if it is rigid (w = w' = 0), False if it is free of stress
            (w = w'' = 0).

    Returns:
        For each part q² `(mode,)`, and Z `(polynomial of the part, mode)`: ⟨Z² + (κ∫Z)²⟩ = 1.
    """
    from scipy.linalg import solve_triangular

    w, first, second = _basis(count, rigid)
    found = []
    for rows, columns in parts_by_symmetry(count, rigid):
        others = rows if rows == slice(None) else slice(1 - rows.start, None, 2)  # polynomials of w and w''
        slope = first[rows, columns]
        above = np.vstack([second[others, columns], kappa * slope])
        below = np.vstack([slope, kappa * w[others, columns]])
        triangle = np.linalg.qr(above, mode="r")
        modes, sizes, _ = np.linalg.svd(solve_triangular(triangle, below.T, trans="T").T, full_matrices=False)
        found.append((1 / sizes**2, _with_signs(modes[: len(slope)])))
    return found
