"""Storage of the arrays of a state, and `Modes`: questions about stored modes, for any functions of space."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, runtime_checkable

import numpy as np
from jax.sharding import NamedSharding, PartitionSpec
from jaxtyping import Array

from solver.grid.grid import Grid
from solver.mesh import split_axes

WORDS = ("modes", "points", "particles", "host")


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


OF_REAL_FIELDS = Fourier()


@dataclass(frozen=True)
class Storage:
    """Storage of an array of a state: the numbers that its last axes count, and the place of its parts.

    Args:
        holds: `modes`: coefficients of a field `(…, *modes.spectral_shape)`, split as `modes.spectral_sharding` says;
            `points`: values at the points `(…, *grid.physical_shape)`, split as `grid.physical_sharding` says;
            `particles`: numbers `(…, particle)`, split evenly over all devices by particle, padded with zeros; `host`:
            numbers of any shape that every process has whole.
        kind: kind of the modes; by default Fourier modes of real fields, which fill half of the last axis.
        count: number of particles.

    Raises:
        ValueError: another word.
    """

    holds: Literal["modes", "points", "particles", "host"]
    kind: Kind = OF_REAL_FIELDS
    count: int = 0

    def __post_init__(self) -> None:
        if self.holds not in WORDS:
            raise ValueError(f"storage {self.holds!r}: {', '.join(WORDS)} are there")

    def __str__(self) -> str:
        return str(self.kind) if self.holds == "modes" else self.holds

    @property
    def is_split(self) -> bool:
        """True if the array is split over the devices."""
        return self.holds != "host"

    def axes(self, grid: Grid) -> tuple[int, ...]:
        """The last axes of the array as it is on the devices, padding included; none on the host."""
        if not self.is_split:
            return ()
        if self.holds == "particles":
            return (math.ceil(self.count / grid.layout.devices) * grid.layout.devices,)
        return self.kind.on(grid).spectral_shape if self.holds == "modes" else grid.physical_shape

    def logical_axes(self, grid: Grid) -> tuple[int, ...]:
        """The last axes without padding; none on the host."""
        if self.holds == "particles":
            return (self.count,)
        return self.kind.on(grid).logical_spectral_shape if self.holds == "modes" else self.axes(grid)

    def logical_shape(self, shape: Sequence[int], grid: Grid) -> tuple[int, ...]:
        """An array's shape without padding."""
        axes = self.logical_axes(grid)
        return (*shape[: len(shape) - len(axes)], *axes)

    def padded_shape(self, shape: Sequence[int], grid: Grid) -> tuple[int, ...]:
        """An array's shape as it is on the devices of a grid, of its shape with other padding or without."""
        axes = self.axes(grid)
        return (*shape[: len(shape) - len(axes)], *axes)

    def sharding(self, ndim: int, grid: Grid) -> NamedSharding:
        """Sharding of an array of `ndim` axes. Numbers on the host are whole on each device, so that every process can
        read them."""
        if not self.is_split:
            return NamedSharding(grid.mesh, PartitionSpec())
        if self.holds == "particles":
            split = split_axes(grid.mesh) if grid.dimensions > 1 else None
            return NamedSharding(grid.mesh, PartitionSpec(*[None] * (ndim - 1), split))
        return self.kind.on(grid).spectral_sharding(ndim) if self.holds == "modes" else grid.physical_sharding(ndim)
