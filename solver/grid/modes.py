"""`Modes`: questions about the modes that a state stores, for any functions of space."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np
from jax.sharding import NamedSharding
from jaxtyping import Array

if TYPE_CHECKING:
    from solver.grid.grid import Grid


@runtime_checkable
class Modes(Protocol):
    """The stored modes of one scalar, on the devices of a grid. Hashable and without arrays: static under `jit`.

    A `Grid` has the Fourier modes of its real or of its complex fields. A space of one's own
    (`solver.spaces.Space`) brings its own.
    """

    @property
    def dimensions(self) -> int:
        """Number of axes of a stored array."""

    @property
    def axis_names(self) -> tuple[str, ...]:
        """Names of the numbers that the axes of a stored array count, such as `kx`."""

    @property
    def mesh(self) -> Any:
        """The devices that share it."""

    @property
    def parts(self) -> tuple[int, int]:
        """Numbers of parts that its first two axes are split into; 1 where one is whole."""

    @property
    def dtype(self) -> np.dtype:
        """Precision of real numbers."""

    @property
    def complex_dtype(self) -> np.dtype:
        """Type of the stored numbers."""

    @property
    def spectral_shape(self) -> tuple[int, ...]:
        """Shape of a stored array, with padding."""

    @property
    def logical_spectral_shape(self) -> tuple[int, ...]:
        """Shape of a stored array, without padding."""

    def spectral_sharding(self, ndim: int | None = None) -> NamedSharding:
        """Sharding of a stored array with `ndim` axes, the last of them the axes of the modes."""

    def mode_weights(self) -> np.ndarray:
        """Weight of the square of each stored number in the mean square at the points; 0 in the padding.

        It broadcasts against stored arrays (Parseval's theorem).
        """

    def is_kept(self) -> Array:
        """True on every stored mode that may hold something, False on the others and in the padding."""


@runtime_checkable
class Kind(Protocol):
    """Which modes a state stores, on any grid: hashable, and its text is what checkpoints call it."""

    def on(self, grid: Grid) -> Modes:
        """These modes on the devices of a grid."""

    def __str__(self) -> str: ...


@dataclass(frozen=True)
class Fourier:
    """Modes exp(i k·x) of fields that are real at the points, half of them stored, or of complex ones."""

    real: bool = True

    def on(self, grid: Grid) -> Grid:
        return grid.as_real if self.real else grid.as_complex

    def __str__(self) -> str:
        return "modes" if self.real else "modes of complex fields"
