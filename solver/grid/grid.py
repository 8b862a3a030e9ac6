"""A periodic box: points, wavenumbers, and their distribution over devices."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property, lru_cache
from html import escape
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import AbstractMesh, Mesh, NamedSharding
from jax.typing import ArrayLike
from jaxtyping import Array

from solver.grid.layout import Layout
from solver.mesh import (
    AnyMesh,
    device_mesh,
    mesh_description,
    mesh_from,
    mesh_parts,
    padded_sharding,
    unpadded_sharding,
)
from solver.static import no_ambient_mesh
from solver.walls.legendre import gauss_points


@dataclass(frozen=True)
class Box:
    """A periodic box and its points: a `Grid` without its mesh and without its choice of real or complex fields."""

    shape: tuple[int, ...]
    lengths: tuple[float, ...]
    dealias: str
    precision: str
    walls: str | None = None

    def __str__(self) -> str:
        lengths = ", ".join(f"{length:.6g}" for length in self.lengths)
        between = f", between walls in {self.walls}" if self.walls else ""
        return f"{list(self.shape)} points on [{lengths}]{between}, {self.dealias}, {self.precision}"


@dataclass(frozen=True)
class Grid:
    """Periodic box [0, L)^d with equally spaced points, split in slabs or pencils over a device mesh.

    Physical arrays have shape `(..., *grid.physical_shape)`, spectral arrays `(..., *grid.spectral_shape)` in the
    transposed layout of `solver.grid.layout`; both are split along the first of these axes (pencils: the first
    two). A coefficient belongs to u(x) = Σ_k û(k) exp(i k·x).

    Args:
        shape: points per axis, 1 to 3 axes (with `three-halves`: modes per axis); one point along an axis along which
            nothing varies.
        lengths: box lengths, one for all axes or one each; 2π by default.
        dealias: `two-thirds`, `three-halves`, `one-half`, `phase-shift-random`, `phase-shift-alternating`, `smooth` or
            `none`; see `solver.grid.layout.Layout`.
        precision: `float64` or `float32`.
        real: True if wavenumbers and spectral shapes belong to real fields (half of the last axis is stored) or of
            complex ones. An equation takes either, and each of its fields the one that it needs.
        mesh: from `device_mesh`; all devices of the job by default (one device for a grid of one periodic axis).
        walls: the last axis, `"z"` in three dimensions, if two walls bound it, at 0 and at its length; its points are
            then Gauss–Legendre points, of which two thirds are modes (docs/walls.md). None for a periodic box.

    Raises:
        ValueError: a grid that these devices cannot split, sides that are not whole numbers, lengths that are not
            positive and finite, or float64 is chosen while JAX is limited to 32 bits.
    """

    shape: tuple[int, ...]
    lengths: float | Sequence[float] | np.ndarray = 2 * math.pi
    dealias: str = "two-thirds"
    precision: str = "float64"
    real: bool = True
    mesh: AnyMesh = field(default=None)  # type: ignore[assignment]
    walls: str | None = None

    def __post_init__(self) -> None:
        store = lambda name, value: object.__setattr__(self, name, value)  # noqa: E731
        store("shape", _whole_numbers(self.shape))
        store("lengths", _positive_numbers(self.lengths, len(self.shape)))
        if self.precision not in ("float32", "float64"):
            raise ValueError(f"precision {self.precision!r}: float32 or float64 is needed")
        if self.precision == "float64" and not jax.config.jax_enable_x64:  # type: ignore[attr-defined]
            raise ValueError(
                'precision float64 needs jax.config.update("jax_enable_x64", True) before the grid is made'
            )
        last = "xyz"[self.dimensions - 1 : self.dimensions]
        if self.walls not in (None, last):
            raise ValueError(f"walls {self.walls!r}: {last!r}, the last direction, is needed")
        if self.mesh is None:
            store("mesh", device_mesh([0]) if self.dimensions - bool(self.walls) <= 1 else device_mesh())
        if not isinstance(self.mesh, Mesh | AbstractMesh):
            raise TypeError(f"mesh={self.mesh!r}: a mesh from solver.device_mesh is needed")
        _ = self.layout
        self._check_squares()

    def _check_squares(self) -> None:
        """Refuse a box whose |k|² no number of the precision holds: every field would be none after one step."""
        limits, smallest = jnp.finfo(self.dtype), min(self.fundamental)
        largest = max(f * max(self.layout.highest_mode(axis), 1) for axis, f in enumerate(self.fundamental))
        if not float(limits.tiny) ** 0.5 < smallest <= largest < (float(limits.max) / 3) ** 0.5:
            raise ValueError(
                f"lengths {list(self.lengths)}: wavenumbers from {smallest:.3g} to {largest:.3g}, whose squares "  # type: ignore[arg-type]
                f"{self.precision} cannot hold; other units of length are needed"
            )

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the layout of the mesh; `solver.mesh.mesh_from` chooses devices when the grid is loaded."""
        described = {f.name: getattr(self, f.name) for f in fields(self) if f.name != "mesh"}
        return _grid_on_these_devices, (type(self), described, mesh_description(self.mesh))

    # ---- properties ----------------------------------------------------------------------------------------------

    @cached_property
    def layout(self) -> Layout:
        """Modes and shapes, as whole numbers."""
        return Layout(self.shape, self.dealias, self.real, *mesh_parts(self.mesh), walls=bool(self.walls))

    @cached_property
    def horizontal(self) -> Grid | None:
        """The periodic box of the axes along the walls; None in one dimension.

        Raises:
            ValueError: a grid without walls.
        """
        if not self.walls:
            raise ValueError("horizontal: this box has no walls")
        if self.dimensions == 1:
            return None
        shape, lengths = self.shape[:-1], self.lengths[:-1]  # type: ignore[index]
        if self.dimensions == 3:
            return replace(self, shape=shape, lengths=lengths, walls=None)
        return AlongWalls(shape, lengths, self.dealias, self.precision, self.real, self.mesh)

    @property
    def box(self) -> Box:
        """The part of the grid that a state stores: everything except its devices."""
        return Box(self.shape, self.lengths, self.dealias, self.precision, self.walls)  # type: ignore[arg-type]

    @cached_property
    def as_real(self) -> Grid:
        """The same box for real fields."""
        return self if self.real else replace(self, real=True)

    @cached_property
    def as_complex(self) -> Grid:
        """The same box for complex fields."""
        return replace(self, real=False) if self.real else self

    @property
    def dimensions(self) -> int:
        """Number of dimensions in space."""
        return len(self.shape)

    @property
    def dtype(self) -> np.dtype:
        """Precision of real numbers on this grid."""
        return np.dtype(self.precision)

    @property
    def complex_dtype(self) -> np.dtype:
        """Precision of coefficients."""
        return np.result_type(self.dtype, np.complex64)

    @property
    def physical_dtype(self) -> np.dtype:
        """Type of values at the grid points: real or complex."""
        return self.dtype if self.real else self.complex_dtype

    @property
    def periodic(self) -> tuple[bool, ...]:
        """True if each axis is periodic, so that it has no end."""
        return tuple(not self.layout.is_bounded(axis) for axis in range(self.dimensions))

    @property
    def physical_shape(self) -> tuple[int, ...]:
        """Points per axis on which fields are sampled."""
        return self.layout.points

    @property
    def spectral_shape(self) -> tuple[int, ...]:
        """Shape of the coefficients as stored, with padding."""
        return self.layout.spectral_shape

    @property
    def logical_spectral_shape(self) -> tuple[int, ...]:
        """Shape of the coefficients without padding."""
        return self.layout.logical_spectral_shape

    @property
    def axis_names(self) -> tuple[str, ...]:
        """Names of the axes of stored coefficients, in their order: ky, kz, kx; ky, kx, nz between walls."""
        return tuple(f"{'n' if self.layout.is_bounded(axis) else 'k'}{'xyz'[axis]}" for axis in self.layout.order)

    @property
    def parts(self) -> tuple[int, int]:
        """Numbers of slabs and of pencils."""
        return self.layout.slabs, self.layout.pencils

    @cached_property
    def spacing(self) -> tuple[float, ...]:
        """Distance between points [length]; between walls its mean."""
        return tuple(length / n for length, n in zip(self.lengths, self.physical_shape, strict=True))  # type: ignore[arg-type]

    @cached_property
    def fundamental(self) -> tuple[float, ...]:
        """2π/L per axis [1/length]."""
        return tuple(2 * math.pi / length for length in self.lengths)  # type: ignore[union-attr]

    @cached_property
    def k_min(self) -> float:
        """Smallest wavenumber of an axis but 0: the least 2π/L [1/length]. Axes of one point do not count."""
        return min(self.fundamental[a] for a in self.varying_axes)

    @cached_property
    def k_max(self) -> float:
        """Largest wavenumber retained in every direction: the smallest of the axes' largest [1/length].

        Axes of one point do not count.

        Raises:
            ValueError: a box between walls.
        """
        self._need_periodic("k_max")
        return min(self.fundamental[a] * self.layout.highest_mode(a) for a in self.varying_axes)

    @cached_property
    def varying_axes(self) -> tuple[int, ...]:
        """The axes of more than one point."""
        return tuple(axis for axis, n in enumerate(self.shape) if n > 1)

    @cached_property
    def k_corner(self) -> float:
        """Largest |k| of a box of retained modes, at its corners [1/length]."""
        self._need_periodic("k_corner")
        return math.hypot(*(self.fundamental[a] * self.layout.highest_mode(a) for a in range(self.dimensions)))

    # ---- distribution ------------------------------------------------------------------------------------------

    def spectral_sharding(self, ndim: int | None = None) -> NamedSharding:
        """Sharding of coefficients with `ndim` axes, the last of them in space: ky is split (pencils: and kz)."""
        return padded_sharding(self.mesh, self.dimensions if ndim is None else ndim, self.dimensions)

    def physical_sharding(self, ndim: int | None = None) -> NamedSharding:
        """Sharding of values at the points with `ndim` axes: x is split (pencils: and y), if the devices divide it.

        Between calls, JAX keeps arrays in parts of equal size only. An axis that the devices do not divide is therefore
        not split between calls; inside `jit` it is.
        """
        leading = 0 if ndim is None else ndim - self.dimensions
        return unpadded_sharding(self.mesh, (1,) * leading + self.physical_shape, self.dimensions)

    def __str__(self) -> str:
        split = (
            " × ".join(f"{n} {name}s" for name, n in self.mesh.shape.items()) if self.mesh.size > 1 else "one device"
        )
        return f"{self.box}; on {split}"

    def _repr_html_(self) -> str:
        return f"<pre>{escape(str(self))}</pre>"

    # ---- coordinates and wavenumbers --------------------------------------------------------------------------

    def coordinates(self) -> tuple[np.ndarray, ...]:
        """x, y, z as broadcastable vectors [length]: shapes (Nx, 1, 1), (1, Ny, 1), (1, 1, Nz)."""
        along = [np.arange(n) * spacing for n, spacing in zip(self.physical_shape, self.spacing, strict=True)]
        if self.walls:
            points, _ = gauss_points(self.shape[-1])
            along[-1] = 0.5 * self.lengths[-1] * (1 + points)  # type: ignore[index]
        return tuple(self._shaped(a, values) for a, values in enumerate(along))

    def meshgrid(self) -> tuple[Array, ...]:
        """x, y, z as full arrays of `physical_shape`; made under jit, every device fills only its own block."""
        shape = self.physical_shape
        fill = lambda: tuple(jnp.broadcast_to(c, shape) for c in self.coordinates())  # noqa: E731
        with no_ambient_mesh():
            return jax.jit(fill, out_shardings=self.physical_sharding())()

    def wavenumbers(self) -> tuple[np.ndarray, ...]:
        """kx, ky, kz as vectors that broadcast against spectral arrays [1/length]; zero in the padding."""
        return tuple(self._wavenumber(a, drop_nyquist=False) for a in range(self.dimensions))

    def derivative_wavenumbers(self) -> tuple[np.ndarray, ...]:
        """Like `wavenumbers`, but zero for the Nyquist modes.

        The Nyquist mode represents +N/2 and -N/2 alike, so its odd derivatives have no definite sign.
        """
        return tuple(self._wavenumber(a, drop_nyquist=True) for a in range(self.dimensions))

    def mode_numbers(self) -> tuple[np.ndarray, ...]:
        """Whole numbers n = kL/2π, as vectors that broadcast against spectral arrays; zero in the padding."""
        numbers = (self._stored(a, self.layout.mode_numbers(a)) for a in range(self.dimensions))
        return tuple(np.rint(n).astype(np.int32) for n in numbers)

    def k_squared(self) -> Array:
        """|k|² on every stored mode [1/length²]; zero in the padding. Inside jit it is fused, never stored."""
        return _run(_program(self, _k_squared))

    def in_band(self, low: ArrayLike, high: ArrayLike) -> Array:
        """True if low ≤ |k| ≤ high [1/length] for every stored mode; the padding counts as |k| = 0.

        Bands are named by their bounds: modes that differ from one by rounding lie within, in any precision.
        """
        k, slack = jnp.sqrt(self.k_squared()), 8 * float(jnp.finfo(self.dtype).eps)
        least, most = (jnp.asarray(bound, self.dtype) for bound in (low, high))
        shortest = 1e-9 * min(self.fundamental)
        return (k >= least - jnp.maximum(slack * least, shortest)) & (k <= most + jnp.maximum(slack * most, shortest))

    def inverse_k_squared(self) -> Array:
        """1/|k|², and 0 where k = 0 [length²]."""
        return _run(_program(self, _inverse_k_squared))

    def mode_weights(self) -> np.ndarray:
        """Weight of each stored mode in a sum over all k: 2 if −k is not stored, 1 if it is, 0 in the padding.

        A vector product that broadcasts against spectral arrays: Σ_k |û|² = sum(mode_weights · |û|²).
        """
        weights = np.ones([1] * self.dimensions, self.dtype)
        first_is_whole = self.dimensions > 1 and not self.layout.is_half(0)  # neither half nor padded
        for axis in range(int(first_is_whole), self.dimensions):
            counts = (
                self.layout.half_axis_weights() if self.layout.is_half(axis) else np.ones(self.layout.retained[axis])
            )
            weights = weights * self._stored(axis, counts)
        return weights

    def mode_filter(self) -> Array | None:
        """Factor by which each stored mode is multiplied after a transform to coefficients; None if it is 1 everywhere.

        With phase shifts 1 inside the ellipsoid Σ (n_i/N_i)² < 2/9 and 0 outside; with `smooth`
        Π exp(−36 (2|n_i|/N_i)^36).

        Source: Hou & Li, J. Comput. Phys. 226 (2007) 379, for the smooth filter.
        """
        if not (self.layout.shifts_phase or self.dealias == "smooth"):
            return None
        numbers = [jnp.asarray(n) for n in self._relative_mode_numbers()]
        if self.dealias == "smooth":
            return self.on_modes(lambda: jnp.exp(-36 * sum((2 * jnp.abs(n)) ** 36 for n in numbers)))
        inside = 2 / 9 * (1 - 1e-6)  # a mode on the surface itself stays outside, in single precision too
        return self.on_modes(lambda: (sum(n * n for n in numbers) < inside).astype(self.dtype))

    def is_kept(self) -> Array:
        """True on every stored mode that the dealiasing rule keeps, False on the others and in the padding."""
        factor = self.mode_filter()
        return self.on_modes(lambda: jnp.asarray(self.mode_weights() > 0) & (True if factor is None else factor > 0))

    def shift_phases(self, shift: Array) -> Array:
        """exp(i k·s) on every stored mode, for a shift s of the points `(dimension,)` in units of their spacing."""
        numbers = self._relative_mode_numbers()
        turns = [jnp.exp(2j * math.pi * n * shift[a]).astype(self.complex_dtype) for a, n in enumerate(numbers)]
        return math.prod(turns[1:], start=turns[0])

    def _relative_mode_numbers(self) -> list[np.ndarray]:
        """n_i/N_i as vectors that broadcast against spectral arrays."""
        return [self._stored(a, self.layout.mode_numbers(a) / n) for a, n in enumerate(self.shape)]

    def on_modes(self, fill: Callable[[], Array]) -> Array:
        """Evaluate `fill()`, an expression in wavenumbers, under jit: each device computes only its own modes."""
        return _run(_on_modes(self, fill))

    def _need_periodic(self, what: str) -> None:
        if self.walls:
            raise ValueError(f"{what} of a box between walls: Fourier modes of a periodic box are needed")

    def _wavenumber(self, axis: int, *, drop_nyquist: bool) -> np.ndarray:
        self._need_periodic("wavenumbers")
        n = self.layout.mode_numbers(axis).copy()
        position = self.layout.nyquist(axis)
        if drop_nyquist and position is not None:
            n[position] = 0
        return self._stored(axis, n * self.fundamental[axis])

    def _stored(self, axis: int, values: np.ndarray) -> np.ndarray:
        """`values` along an axis in space as stored arrays have it, padded with zeros as they are."""
        position = self.layout.order.index(axis)
        return self._shaped(position, np.pad(values, (0, self.spectral_shape[position] - len(values))))

    def _shaped(self, position: int, values: np.ndarray) -> np.ndarray:
        """`values` along an axis of arrays."""
        shape = [1] * self.dimensions
        shape[position] = len(values)
        return values.astype(self.dtype).reshape(shape)


@dataclass(frozen=True)
class AlongWalls(Grid):
    """The periodic axis of a plane between walls, along which many fields are transformed at once.

    It is split over the devices: x at the points, and kx.
    """

    @cached_property
    def layout(self) -> Layout:
        return Layout(self.shape, self.dealias, self.real, *mesh_parts(self.mesh), many_lines=True)


def _run(program: Callable[[], Array]) -> Array:
    with no_ambient_mesh():
        return program()


def _on_modes(grid: Grid, fill: Callable[[], Array]) -> Callable[[], Array]:
    spread = lambda: jnp.broadcast_to(fill(), grid.spectral_shape)  # noqa: E731
    return jax.jit(spread, out_shardings=grid.spectral_sharding())


@lru_cache(maxsize=256)
def _program(grid: Grid, fill: Callable[[Grid], Array]) -> Callable[[], Array]:
    """`_on_modes` of a function of the grid, traced once: programs hold |k|² many times."""
    return _on_modes(grid, lambda: fill(grid))


def _k_squared(grid: Grid) -> Array:
    squares: Array = sum(k * k for k in map(jnp.asarray, grid.wavenumbers()))  # type: ignore[assignment]
    return squares


def _inverse_k_squared(grid: Grid) -> Array:
    k2 = _k_squared(grid)
    return jnp.where(k2 == 0, 0, 1 / jnp.where(k2 == 0, 1, k2))


def _grid_on_these_devices(cls: type[Grid], described: dict[str, Any], mesh: tuple[Any, ...]) -> Grid:
    return cls(**described, mesh=mesh_from(*mesh))


def _whole_numbers(shape: Sequence[int]) -> tuple[int, ...]:
    try:
        return tuple(operator.index(n) for n in shape)
    except TypeError:
        raise ValueError(f"shape {shape}: one to three whole numbers are needed") from None


def _positive_numbers(lengths: float | Sequence[float] | np.ndarray, count: int) -> tuple[float, ...]:
    """Lengths for each axis; one number is used for all axes."""
    try:
        values = np.asarray(lengths, float)
    except (TypeError, ValueError):
        values = np.full(0, np.nan)
    values = np.full(count, values) if values.ndim == 0 else values
    if values.shape != (count,) or not np.all((values > 0) & np.isfinite(values)):
        raise ValueError(f"lengths {lengths}: {count} positive, finite numbers are needed, or one for all axes")
    return tuple(values.tolist())


def sample(fn: Callable[..., Array], grid: Grid) -> Array:
    """Evaluate `fn(x, y, z)` at the grid points; every device fills only its own block.

    Values are real or complex as `fn` returns them (complex on a grid for complex fields). `fn` may return a tuple or
    list, stacked as components in front: `(component, x, y, z)`.

    Raises:
        ValueError: a function that is not written with `jax.numpy`.
    """

    def fill() -> Array:
        try:
            values = fn(*(jnp.asarray(c) for c in grid.coordinates()))
        except (jax.errors.TracerArrayConversionError, jax.errors.ConcretizationTypeError) as error:
            name = getattr(fn, "__name__", "the function")
            raise ValueError(
                f"{name} needs its coordinates as NumPy's arrays or numbers, but they are traced; write it with "
                "jax.numpy (jnp.sin for np.sin)"
            ) from error
        parts = values if isinstance(values, tuple | list) else [values]
        dtype = grid.complex_dtype if any(map(jnp.iscomplexobj, parts)) else grid.physical_dtype
        filled = [jnp.broadcast_to(part, grid.physical_shape).astype(dtype) for part in parts]
        return jnp.stack(filled) if isinstance(values, tuple | list) else filled[0]

    ndim = jax.eval_shape(fill).ndim
    with no_ambient_mesh():
        return jax.jit(fill, out_shardings=grid.physical_sharding(ndim))()


def distance_squared(points: Sequence[Array], middle: Sequence[Any], grid: Grid) -> Array:
    """Squared distance of each point to a centre, or to its nearest image where the grid is periodic."""
    apart = [x - c for x, c in zip(points, middle, strict=True)]
    sides = zip(apart, grid.lengths, grid.periodic, strict=True)  # type: ignore[arg-type]
    nearest = [d - length * jnp.round(d / length) if goes_on else d for d, length, goes_on in sides]
    return sum(d * d for d in nearest)  # type: ignore[return-value]
