"""The two halves of a slab transform on one device, each a loop over blocks, and the exchange between them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
from jax import lax
from jaxtyping import Array

from solver.fft.loops import blank, block_length, loop, loop_over_batch, put, take
from solver.fft.pipeline import AxisNames, mesh_names
from solver.fft.stages import extend, fft, ifft, resize, to_modes, to_points
from solver.grid.layout import Layout


@dataclass(frozen=True)
class Slabs:
    """One device's share of a layout, and the halves of a transform on both sides of its exchange.

    Shapes are those of three dimensions. In two, z is missing from points and kz has length 1.

    Args:
        layout: of the whole grid, in slabs of two or three dimensions.
        axis_name: mesh axis of the slabs; None where the array is whole, which is then one piece.
        dtype: of coefficients.
        in_cache: whether blocks are to stay in a core's cache; False for one block, as a GPU wants it.
    """

    layout: Layout
    axis_name: AxisNames
    dtype: Any
    in_cache: bool = True

    @property
    def name(self) -> str | None:
        """Mesh axis to exchange over, None if there is nobody to exchange with."""
        return mesh_names(self.axis_name, self.layout)[0] if self.layout.slabs > 1 else None

    @property
    def parts(self) -> int:
        """Number of pieces that the exchange is cut into."""
        return 1 if self.name is None else self.layout.slabs

    @property
    def planes(self) -> int:
        """Planes of x on this device."""
        return self.layout.padded_points[0] // self.parts

    @property
    def rows(self) -> int:
        """Number of rows of ky on this device."""
        return self.layout.spectral_shape[0] // self.parts

    @property
    def Kz(self) -> int:
        """Number of kz."""
        return math.prod(self.layout.spectral_shape[1:-1])

    @property
    def plane_shape(self) -> tuple[int, ...]:
        """Points of a plane: (y, z), in two dimensions (y,)."""
        return self.layout.points[1:]

    def plane_blocks(self, fields: int, planes: int) -> int:
        """Into how many blocks planes of so many fields are cut: into none where they would be two."""
        *others, last = self.plane_shape
        blocks = math.ceil(planes / self._block_length(fields, *others, last // 2))
        return blocks if blocks > 2 else 1

    def loop_over_rows(self, fields: int, rows: int, body: Callable[..., Any], carry: Any) -> Any:
        """`carry = body(field, fields, start, count, carry)` for blocks of rows of a field, or of small fields."""
        length = self._block_length(self.layout.points[0], self.Kz)
        if rows <= length:
            blocks = max(1, round(fields * rows / length))
            return loop(fields, blocks, lambda b, n, carry: body(b, n, 0, rows, carry), carry)
        of_each = lambda b, start, count, carry: body(b, 1, start, count, carry)  # noqa: E731
        return loop_over_batch(fields, rows, math.ceil(rows / length), of_each, carry)

    def _block_length(self, *sides: int) -> int:
        """How many planes with these sides a block holds."""
        return (
            block_length(self.dtype, *sides) if self.in_cache else self.layout.devices * math.prod(self.layout.points)
        )

    def blank_pieces(self, fields: int, planes: int, rows: int, data: Array) -> list[Array]:
        """Room for the pieces `(field, x, ky, kz)`."""
        return [blank((fields, planes, rows, self.Kz), self.dtype, data, i) for i in range(self.parts)]

    def shares(self, i: int) -> Iterator[tuple[int, int, int]]:
        """Which modes ky of an FFT lie in piece i: the first, its place in the piece, and how many follow."""
        first = i * self.rows
        for source, stored, length in kept_runs(self.layout, 1):
            low, high = max(stored, first), min(stored + length, first + self.rows)
            if low < high:
                yield source + low - stored, low - first, high - low

    @property
    def kz_runs(self) -> list[tuple[int, int, int]]:
        """The same for kz, which is whole."""
        return kept_runs(self.layout, 2) if self.layout.dimensions == 3 else [(0, 0, 1)]

    # ---- planes of x ----

    def put_modes(self, pieces: Sequence[Array], u: Array, start: Any, scale: float) -> list[Array]:
        """FFT y z of planes `(field, x, y, z)`; the retained modes go into the pieces `(field, x, ky, kz)`."""
        modes = to_modes(u, self.layout, self.layout.dimensions - 1)
        modes = modes.reshape(*modes.shape[:3], -1)
        filled = []
        for i, piece in enumerate(pieces):
            for y, ky, rows in self.shares(i):
                for z, kz, columns in self.kz_runs:
                    part = modes[:, :, y : y + rows, z : z + columns] * scale
                    piece = lax.dynamic_update_slice(piece, part, (0, start, ky, kz))
            used = max(0, min(self.rows, self.layout.retained[1] - i * self.rows))
            if used < self.rows:
                padding = jnp.zeros((*modes.shape[:2], self.rows - used, self.Kz), self.dtype)
                piece = lax.dynamic_update_slice(piece, padding, (0, start, used, 0))
            filled.append(piece)
        return filled

    def points_of_planes(self, pieces: Sequence[Array], start: Any, count: int) -> Array:
        """Fields `(field, x, y, z)` of some planes, from the pieces that every device sent."""
        layout, d = self.layout, self.layout.dimensions
        modes = jnp.concatenate([take(piece, start, count, 1) for piece in pieces], axis=2)
        modes = modes.reshape(modes.shape[: d + 1])
        modes = extend(resize(modes, 1 - d, layout.retained[1]), layout, 1, 1 - d)
        if d == 3:
            modes = extend(modes, layout, 2, -1)
        return to_points(modes, layout, d - 1)

    # ---- rows of ky ----

    def coefficients(self, pieces: Sequence[Array], chunks: int) -> Array:
        """Exchange, and FFT x: pieces `(field, x, ky, kz)` to coefficients `(field, ky, kz, kx)`."""
        layout, fields, Nx = self.layout, pieces[0].shape[0], self.layout.points[0]

        def rows(received: Sequence[Array], out: Array, b: Any, n: int, start: Any, count: int, at: Any) -> Array:
            parts = [lax.dynamic_slice(p, (b, 0, start, 0), (n, self.planes, count, self.Kz)) for p in received]
            lines = resize(jnp.concatenate([jnp.moveaxis(part, 1, -1) for part in parts], axis=-1), -1, Nx)
            modes = fft(lines)
            for source, stored, length in kept_runs(layout, 0):
                part = modes[..., source : source + length]
                out = lax.dynamic_update_slice(out, part, (b, at, 0, stored))
            return out

        def chunk(start: Any, count: int, out: Array) -> Array:
            received = _swap([take(p, start, count, 2) for p in pieces], self.name)
            body = lambda b, n, s, m, out: rows(received, out, b, n, s, m, start + s)  # noqa: E731
            return self.loop_over_rows(fields, count, body, out)

        out = blank((fields, self.rows, self.Kz, layout.spectral_shape[-1]), self.dtype, pieces[0])
        return loop(self.rows, chunks, chunk, out).reshape(fields, self.rows, *layout.spectral_shape[1:])

    def planes_of_modes(self, u_hat: Array, factor: float, chunks: int) -> list[Array]:
        """FFT x, and exchange: coefficients `(field, ky, kz, kx)` to pieces `(field, x, ky, kz)` of this device's x."""
        layout, fields = self.layout, len(u_hat)
        u_hat = u_hat.reshape(fields, self.rows, self.Kz, -1)
        scale = factor * math.prod(layout.points)  # to_points and this FFT divide by their numbers of points

        def rows(pieces: Sequence[Array], b: Any, n: int, start: Any, count: int, at: Any) -> list[Array]:
            kept = lax.dynamic_slice(u_hat, (b, start, 0, 0), (n, count, self.Kz, u_hat.shape[-1]))
            modes = extend(kept, layout, 0, -1)
            lines = resize(ifft(modes) * scale, -1, layout.padded_points[0])
            filled = []
            for i, piece in enumerate(pieces):
                part = jnp.moveaxis(lines[..., i * self.planes : (i + 1) * self.planes], -1, 1)
                filled.append(lax.dynamic_update_slice(piece, part, (b, 0, at, 0)))
            return filled

        def chunk(start: Any, count: int) -> list[Array]:
            pieces = self.blank_pieces(fields, self.planes, count, u_hat)
            body = lambda b, n, s, m, pieces: rows(pieces, b, n, start + s, m, s)  # noqa: E731
            return _swap(self.loop_over_rows(fields, count, body, pieces), self.name)

        def collect(start: Any, count: int, received: Sequence[Array]) -> list[Array]:
            return [put(p, new, start, 2) for p, new in zip(received, chunk(start, count), strict=True)]

        if chunks == 1:
            return chunk(0, self.rows)
        received = self.blank_pieces(fields, self.planes, self.rows, u_hat)
        return loop(self.rows, chunks, collect, received)


def kept_runs(layout: Layout, axis: int) -> list[tuple[int, int, int]]:
    """Where the retained modes of an axis lie: runs of place in an FFT, place as stored, and length."""
    if layout.dealias == "none":
        return [(0, 0, layout.retained[axis])]
    highest = layout.highest_mode(axis)
    runs = [(0, 0, highest + 1)]
    if highest and not layout.is_half(axis):
        runs.append((layout.points[axis] - highest, highest + 1, highest))
    return runs


def _swap(pieces: Sequence[Array], name: str | None) -> list[Array]:
    """Send piece i to device i; the pieces that arrive, in the order of the devices that sent them."""
    if name is None:
        return list(pieces)
    return list(lax.all_to_all(jnp.stack(pieces), name, split_axis=0, concat_axis=0))
