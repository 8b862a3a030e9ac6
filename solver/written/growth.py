"""Finds linear parts that amplify ever shorter waves ever faster, so that no solution depends on its start.

Such a text has a wrong sign more often than not: −ν∇²u for ν∇²u. Whatever the grid, its shortest waves grow first, and
more points make it worse. Waves in a band may grow, as in Kuramoto–Sivashinsky.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from solver.written.elimination import Reduced
from solver.written.matrices import Linear, matrix, projector
from solver.written.rates import LARGE
from solver.written.symbols import RandomModes, Sizes, random_slopes
from solver.written.tree import Call

DIRECTIONS = 6  # of wavevectors in general position, beside those along the axes
ROUNDED = 1e-12  # of the size of terms that cancel in an entry
ROUNDED_TOGETHER = 1e-7  # of the size of entries: what rounding makes of eigenvalues that lie together
FASTER = 1.2  # at twice the wavenumber


def fastest_growth(linear: Linear, reduced: Reduced, numbers: Mapping[str, Any], k_max: float) -> float | None:
    """The largest rate at which waves of |k| = `k_max` grow, of an L that grows without bound; None for any other L.

    L grows without bound along a direction where the real part of an eigenvalue of L(k) is positive at a very large k,
    and larger at twice that. One that does, but damps all waves of `k_max`, is allowed: a grid never sees it.

    Args:
        linear: L.
        reduced: the system that it belongs to.
        numbers: every parameter of the text, by name: numbers, or arrays of them.
        k_max: the largest wavenumber of the grid [1/length].
    """
    directions = _directions(reduced.dimensions)
    of = lambda k: _growth(linear, reduced, _Waves(1j * k * directions, numbers))  # noqa: E731
    largest, seen = max(LARGE, LARGE * k_max), of(k_max)
    at, beyond = of(largest), of(2 * largest)
    unbounded = (seen > 0) & (at > 0) & (beyond > FASTER * at)
    return float(seen[unbounded].max()) if unbounded.any() else None


def _directions(dimensions: int) -> np.ndarray:
    """Unit vectors `(axis, direction)` along the axes and between them, each with its opposite."""
    between = random_slopes(np.random.default_rng(0), dimensions, DIRECTIONS if dimensions > 1 else 0)
    found = np.concatenate([np.eye(dimensions), between / np.linalg.norm(between, axis=0)], axis=1)
    return np.concatenate([found, -found], axis=1)


def _growth(linear: Linear, reduced: Reduced, modes: _Waves) -> np.ndarray:
    """The largest real part of the eigenvalues of L at each mode, on fields that meet the constraints; 0 if rounding.

    Not finite numbers count as 0: they are refused elsewhere, where a grid's own modes have them.
    """
    with np.errstate(all="ignore"):
        onto = projector(matrix(reduced.constraints, list(reduced.constraint_rows), reduced.scalars, modes))
        of_all = linear.matrix(reduced.scalars, modes) @ onto
        sizes = np.abs(linear.matrix(reduced.scalars, _SizesOfWaves(modes.slopes, modes.given))) @ np.abs(onto)
    finite = np.isfinite(of_all).all(axis=(1, 2)) & np.isfinite(sizes).all(axis=(1, 2))
    of_all, sizes = (np.where(finite[:, None, None], values, 0) for values in (of_all, sizes))
    growth = np.linalg.eigvals(of_all).real.max(axis=1)
    size = np.abs(np.linalg.eigvals(sizes)).max(axis=1)  # does not depend on the units of the fields
    rounded = ROUNDED if linear.couples == "nothing" else ROUNDED_TOGETHER
    return np.where(growth > rounded * size, growth, 0.0)


class _Waves(RandomModes):
    """Modes of given wavevectors, with the parameters that a run has.

    Args:
        slopes: i k `(axis, mode)`.
        given: the parameters, by name.
    """

    def __init__(self, slopes: np.ndarray, given: Mapping[str, Any]) -> None:
        super().__init__(slopes, np.random.default_rng(0), {})
        self.given = given

    def number(self, name: str, index: tuple[int, ...]) -> Any:
        return 1.0 * np.asarray(self.given[name])[index]  # NumPy refuses negative powers of whole numbers

    def called(self, symbol: Call) -> Any:
        return super(RandomModes, self).called(symbol)  # chooses as the parameters say

    def function(self, name: str, *arguments: Any) -> Any:
        return getattr(np, {"max": "maximum", "min": "minimum"}.get(name, name))(*arguments)


class _SizesOfWaves(Sizes, _Waves):
    """The size of the terms of a symbol at these modes: what rounding is measured by."""
