"""Modes of −d²/dζ² under conditions at the two walls, as Legendre coefficients.

The columns of B are a basis whose derivatives are orthonormal. With B = U S Vᵀ the modes are U and their eigenvalues
1/S²: nothing is squared, so that both keep all digits.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Wall:
    """A homogeneous condition at one wall, n the direction out of the fluid, in units of half the height.

    Args:
        is_value: True for g = 0; False for ∂g/∂n + β g = 0.
        beta: β ≥ 0; 0 is ∂g/∂n = 0.
    """

    is_value: bool = True
    beta: float = 0.0


VALUE, SLOPE = Wall(), Wall(False)


def scalar_modes(count: int, lower: Wall = VALUE, upper: Wall = VALUE) -> tuple[np.ndarray, np.ndarray]:
    """Eigenvalues λ ≥ 0 of −d²/dζ², and the modes `(polynomial, mode)`, orthonormal for the mean over the height.

    There are two modes fewer than polynomials for each value that is given, and as many as polynomials where none is.
    """
    basis, first = _without_ends(count), [np.zeros(count), np.zeros(count)]  # 1 and ζ
    first[0][0], first[1][1] = 1, 1 / math.sqrt(3)
    free = [not wall.is_value for wall in (lower, upper)]
    if all(free) and lower.beta == upper.beta == 0:
        basis = np.column_stack([first[1], basis])
        basis[0] = 0  # the constant is a mode by itself
        modes, sizes, _ = np.linalg.svd(basis, full_matrices=False)
        return np.concatenate([[0.0], 1 / sizes**2]), np.column_stack([np.eye(count)[:, 0], modes])
    if all(free):
        ends = np.array([[1.0, -1.0], [1.0, 1.0]])  # (1, ζ) at the walls
        stiffness = np.diag([0.0, 1.0]) + 0.5 * ends.T @ np.diag([lower.beta, upper.beta]) @ ends
        columns = np.array(first).T
    elif any(free):
        sign = 1.0 if lower.is_value else -1.0
        stiffness = np.array([[1 + 2 * (upper if lower.is_value else lower).beta]])
        columns = (first[0] + sign * first[1])[:, None]
    else:
        stiffness, columns = np.zeros((0, 0)), np.zeros((count, 0))
    linear = columns @ np.linalg.inv(np.linalg.cholesky(stiffness)).T if any(free) else columns
    modes, sizes, _ = np.linalg.svd(np.column_stack([linear, basis]), full_matrices=False)
    return 1 / sizes**2, modes


def _without_ends(count: int) -> np.ndarray:
    """φ_j ∝ P_j − P_{j+2}, which vanish at both walls, with φ_j' = −P_{j+1}."""
    made, j = np.zeros((count, count - 2)), np.arange(count - 2)
    made[j, j] = 1 / np.sqrt((2 * j + 1.0) * (2 * j + 3))
    made[j + 2, j] = -1 / np.sqrt((2 * j + 5.0) * (2 * j + 3))
    return made


def lifting(lower: tuple[float, float], upper: tuple[float, float]) -> np.ndarray:
    """The plainest function that has given right-hand sides at the walls, as Legendre coefficients `(3, wall)` of each.

    A wall's pair (a, b) is the condition a g + b ∂g/∂ζ = right-hand side. The function is linear, or quadratic without
    a mean where both conditions are slopes.
    """
    scale = np.sqrt([1.0, 3.0, 5.0])
    ends = np.array([[1.0, -1.0, 1.0], [1.0, 1.0, 1.0]]) * scale  # P_0, P_1, P_2 at −1 and 1
    slopes = np.array([[0.0, 1.0, -3.0], [0.0, 1.0, 3.0]]) * scale
    rows = np.array([a * ends[i] + b * slopes[i] for i, (a, b) in enumerate((lower, upper))])
    used = [0, 1] if abs(np.linalg.det(rows[:, :2])) > 1e-12 * np.abs(rows).max() ** 2 else [1, 2]
    made = np.zeros((3, 2))
    made[used] = np.linalg.inv(rows[:, used])
    return made
