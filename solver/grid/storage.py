"""Storage of the arrays of a run's state: modes, points or particles, split over the devices, or host numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from jax.sharding import NamedSharding, PartitionSpec

from solver.grid.grid import Grid
from solver.grid.modes import Fourier, Kind
from solver.mesh import split_axes

WORDS = ("modes", "points", "particles", "host")
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
