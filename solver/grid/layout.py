"""The modes that a grid keeps, and the order and shape in which they are stored. Integers only, no arrays of fields.

Physical axes are numbered as in the array: 0 is x. Spectral arrays are stored in the order that the exchange
leaves: `(ky, kz, kx)` in three dimensions, `(ky, kx)` in two, `(kx,)` in one. Slabs split x, and ky after the
exchange. Pencils also split y, and kz after their second exchange. A split spectral axis is padded with zeros to
a multiple of its number of parts. For real fields the last periodic axis holds the non-negative modes only.

Between walls the last axis is bounded, and counts Legendre polynomials n where others count wavenumbers: arrays are
stored as `(ky, kx, n)`, `(kx, n)` or `(n,)`. In two dimensions x and kx are split: fields along x, one for each n, are
exchanged so that each device transforms whole lines of some of them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

DEALIASING = (
    "two-thirds",
    "three-halves",
    "one-half",
    "phase-shift-random",
    "phase-shift-alternating",
    "smooth",
    "none",
)
STORAGE_ORDER = {1: (0,), 2: (1, 0), 3: (1, 2, 0)}
BETWEEN_WALLS = {1: (0,), 2: (0, 1), 3: (1, 0, 2)}
FEWEST_BETWEEN_WALLS = 8  # points


@dataclass(frozen=True)
class Layout:
    """Modes and array shapes of one grid, split over `slabs` × `pencils` devices.

    Args:
        shape: points per axis; with `three-halves`, modes per axis. One point along an axis has the mean mode alone:
            nothing varies along it.
        dealias: which modes are kept, n_i whole numbers and inequalities strict; docs/conventions.md says what each
            rule leaves aliased. On each axis by itself: `two-thirds` keeps |n| < N/3; `three-halves` |n| < N/2 and
            forms products on 3N/2 points, of an odd side on (3N − 1)/2; `one-half` |n| < N/4; `smooth` |n| < N/2, the
            highest damped; `none` every mode, the Nyquist mode included. `phase-shift-random` and
            `phase-shift-alternating` keep the ellipsoid Σ (n_i/N_i)² < 2/9, stored in the box around it.
        real: real fields (half of the last axis is stored) or complex ones.
        slabs: parts of x, and of ky.
        pencils: parts of y, and of kz, in three dimensions only; 1 means slabs.
        walls: True if the last axis is bounded by two walls: N points along it carry 2(N + 1)/3 polynomials.
        many_lines: True for the periodic axis of a plane between walls, along which many fields are transformed at
            once; it is split though it is one axis.

    Raises:
        ValueError: a shape, rule or number of parts that is not possible; the message names possible ones.
    """

    shape: tuple[int, ...]
    dealias: str = "two-thirds"
    real: bool = True
    slabs: int = 1
    pencils: int = 1
    walls: bool = False
    many_lines: bool = False

    def __post_init__(self) -> None:
        if len(self.shape) not in STORAGE_ORDER or min(self.shape) < 1 or max(self.shape) < 2:
            raise ValueError(f"shape {list(self.shape)}: one to three sides are needed, one of 2 points or more")
        if self.dealias not in DEALIASING:
            raise ValueError(f"dealias {self.dealias!r}: known here are {', '.join(DEALIASING)}")
        if self.walls:
            self._check_walls()
        if not 1 <= self.slabs <= self.max_slabs or not 1 <= self.pencils <= self.max_pencils:
            raise ValueError(self._cannot_split())

    def _check_walls(self) -> None:
        if self.dealias != "two-thirds":
            raise ValueError(f"dealias {self.dealias!r} between walls: two-thirds is needed")
        if self.shape[-1] < FEWEST_BETWEEN_WALLS:
            raise ValueError(
                f"shape {list(self.shape)} with {self.shape[-1]} points between the walls: "
                f"{FEWEST_BETWEEN_WALLS} or more are needed"
            )

    def _cannot_split(self) -> str:
        if self.walls and self.dimensions > 1 and self.pencils > 1:
            return f"{self.pencils} pencils in each slab between walls: it is split in slabs only"
        if self.dimensions == 1 and not self.many_lines:
            one = "devices.use = [0] in a run file, mesh=sw.device_mesh([0]) in Python"
            return f"a one-dimensional grid on {self.slabs} devices: it can use one, {one}"
        split = self.order[0]
        axes = f"{self.points[0]} planes along x and {self.retained[split]} retained k{'xyz'[split]}"
        if self.slabs > self.max_slabs:
            more = (
                " (in three dimensions pencils split y and kz too)" if self.dimensions == 3 and not self.walls else ""
            )
            return (
                f"{self.slabs} slabs of the grid {list(self.shape)}, which has {axes}; "
                f"possible are 1 to {self.max_slabs}{more}"
            )
        if self.dimensions == 2:
            return f"{self.slabs} × {self.pencils} devices for a two-dimensional grid: it is split in slabs only"
        return (
            f"{self.pencils} pencils in each slab of the grid {list(self.shape)}, which has {self.points[1]} planes "
            f"along y and {self.retained[2]} retained kz; possible are 1 to {self.max_pencils}"
        )

    def coarser(self, factor: int) -> Layout:
        """The layout of fewer points by a factor along each axis, with all modes that they have; between walls with two
        thirds of them.

        Raises:
            ValueError: the devices cannot split it, or there are too few points between the walls.
        """
        shape = tuple(n if n == 1 else n // factor for n in self.points)
        if 0 in shape or max(shape) < 2:
            most = min(max(self.points) // 2, *(n for n in self.points if n > 1))
            raise ValueError(f"{list(self.points)} points become {list(shape)}: a factor of at most {most} is needed")
        return replace(self, shape=shape, dealias=self.dealias if self.walls else "none")

    @cached_property
    def max_slabs(self) -> int:
        """Largest number of slabs: min(Nx, Ky), between walls in two dimensions min(Nx, Kx), 1 in one dimension."""
        is_split = self.dimensions > 1 or self.many_lines
        return min(self.points[0], self.retained[self.order[0]]) if is_split else 1

    @cached_property
    def max_pencils(self) -> int:
        """Largest number of pencils in each slab: min(Ny, Kz) in three dimensions, otherwise 1."""
        return min(self.points[1], self.retained[2]) if self.dimensions == 3 and not self.walls else 1

    @property
    def devices(self) -> int:
        """Number of devices that share the arrays."""
        return self.slabs * self.pencils

    @property
    def dimensions(self) -> int:
        """Number of dimensions in space."""
        return len(self.shape)

    @property
    def order(self) -> tuple[int, ...]:
        """Physical axis found at each position of a spectral array."""
        return (BETWEEN_WALLS if self.walls else STORAGE_ORDER)[self.dimensions]

    @cached_property
    def points(self) -> tuple[int, ...]:
        """Points per axis on which products are formed; the shape of physical arrays."""
        if self.dealias == "three-halves":
            return tuple(3 * n // 2 for n in self.shape)
        return self.shape

    def highest_mode(self, axis: int) -> int:
        """Largest retained |n| along a physical axis, or the degree of the last polynomial between the walls."""
        n = self.shape[axis]
        if self.is_bounded(axis):
            return 2 * (n + 1) // 3 - 1
        if self.shifts_phase:
            return math.isqrt((2 * n * n - 1) // 9)
        divisors = {"two-thirds": 3, "three-halves": 2, "one-half": 4, "smooth": 2}
        return n // 2 if self.dealias == "none" else (n - 1) // divisors[self.dealias]

    @property
    def shifts_phase(self) -> bool:
        """True if products are formed on points that move from evaluation to evaluation."""
        return self.dealias.startswith("phase-shift")

    def is_bounded(self, axis: int) -> bool:
        """True for the axis that two walls bound."""
        return self.walls and axis == self.dimensions - 1

    def is_half(self, axis: int) -> bool:
        """True for the axis of a real field that holds only the modes n >= 0."""
        return self.real and axis == self.dimensions - 1 - self.walls

    @cached_property
    def retained(self) -> tuple[int, ...]:
        """Number of modes kept along each physical axis."""
        return tuple(len(self.mode_numbers(axis)) for axis in range(self.dimensions))

    def mode_numbers(self, axis: int) -> np.ndarray:
        """Retained integers n along a physical axis, in the order stored: 0, 1, …, -2, -1."""
        highest = self.highest_mode(axis)
        if self.is_half(axis) or self.is_bounded(axis):
            return np.arange(highest + 1)
        if self.dealias == "none":
            return np.fft.ifftshift(np.arange(self.shape[axis]) - self.shape[axis] // 2)
        return np.r_[0 : highest + 1, -highest:0]

    def highest_told_apart(self, axis: int) -> int:
        """Largest |n| along a physical axis whose sine and cosine both exist: the Nyquist mode has a cosine alone."""
        return self.highest_mode(axis) - (self.nyquist(axis) is not None)

    def nyquist(self, axis: int) -> int | None:
        """Position of the Nyquist mode in `mode_numbers`; None if it is not kept."""
        if self.dealias == "none" and self.shape[axis] % 2 == 0:
            return self.shape[axis] // 2
        return None

    def half_axis_weights(self) -> np.ndarray:
        """Weights along the last periodic axis of a real field: 2 if a stored mode n also represents −n, else 1."""
        axis = self.dimensions - 1 - self.walls
        n = self.mode_numbers(axis)
        return np.where((n == 0) | (2 * n == self.points[axis]), 1.0, 2.0)

    @cached_property
    def parts(self) -> tuple[int, ...]:
        """Number of parts along each axis of an array, the same for physical and spectral arrays."""
        return (self.slabs, self.pencils, 1)[: self.dimensions]

    @cached_property
    def logical_spectral_shape(self) -> tuple[int, ...]:
        """Shape of a spectral array without its padding."""
        return tuple(self.retained[axis] for axis in self.order)

    @cached_property
    def spectral_shape(self) -> tuple[int, ...]:
        """Shape of a spectral array as stored: split axes padded with zeros to a multiple of their parts."""
        return self._padded(self.logical_spectral_shape)

    @cached_property
    def padded_points(self) -> tuple[int, ...]:
        """Points per axis, split axes padded to a multiple of their parts: the shape inside of a transform."""
        return self._padded(self.points)

    def _padded(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(math.ceil(n / p) * p for n, p in zip(shape, self.parts, strict=True))

    def exchange_bytes(self, itemsize: int = 16) -> int:
        """Bytes that all devices together send in one transform of one component (`itemsize`: a complex number).

        Of slabs each device keeps 1/P of its modes and sends the rest: itemsize · Nx · Ky · Kz · (P − 1)/P. Pencils
        send itemsize · Nx · Ny · Kz · (C − 1)/C more, C to a slab. Sizes of split axes count with their padding. Lines
        are sent twice, as points (half of `itemsize` each for real fields) and as modes.
        """
        if self.many_lines:
            points = self.padded_points[0] // (2 if self.real else 1)
            return itemsize * (points + self.spectral_shape[0]) * (self.slabs - 1) // self.slabs
        x, y = self.padded_points[0], self.padded_points[1] if self.dimensions > 1 else 1
        others = [n for n, axis in zip(self.spectral_shape, self.order, strict=True) if axis != 0]
        slabs = itemsize * x * math.prod(others) * (self.slabs - 1) // self.slabs
        pencils = itemsize * x * y * math.prod(others[1:]) * (self.pencils - 1) // self.pencils
        return slabs + pencils
