"""The two halves of a slab transform on one device, before and after the exchange, each as a loop over blocks."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
from jax import lax
from jaxtyping import Array

from solver.fft.local import AxisNames, mesh_names
from solver.fft.loops import blank, block_length, loop, loop_over_batch, put, take
from solver.fft.stages import extend, fft, ifft, resize, to_modes, to_points
from solver.fft.wire import all_to_all
from solver.grid.layout import Layout


@dataclass(frozen=True)
class Slabs:
    """One device's part of a layout, and the halves of a transform before and after its exchange.

    Shapes are written for three dimensions. In two dimensions points have no z, and kz has length 1.

    Args:
        layout: of the whole grid, in slabs of two or three dimensions.
        axis_name: mesh axis of the slabs; None where the array is whole, which is then one piece.
        dtype: of coefficients.
        in_cache: whether blocks are so small that they stay in a core's cache; False for one block, as a GPU needs it.
        precision: of what is sent, one of `solver.fft.wire.PRECISIONS`.
    """

    layout: Layout
    axis_name: AxisNames
    dtype: Any
    in_cache: bool = True
    precision: str = "grid"

    @property
    def name(self) -> str | None:
        """Mesh axis to exchange over; None if there is one device."""
        return mesh_names(self.axis_name, self.layout)[0] if self.layout.slabs > 1 else None

    @property
    def parts(self) -> int:
        """Number of pieces that one device sends: one for each device."""
        return 1 if self.name is None else self.layout.slabs

    @property
    def planes(self) -> int:
        """Number of planes of x on this device."""
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
        """Number of blocks for planes of so many fields; two blocks are merged into one."""
        *others, last = self.plane_shape
        blocks = math.ceil(planes / self._block_length(fields, *others, last // 2))
        return blocks if blocks > 2 else 1

    def loop_over_rows(self, fields: int, rows: int, body: Callable[..., Any], carry: Any) -> Any:
        """Loop over blocks: `carry = body(first field, number of fields, first row, number of rows, carry)`.

        A block holds some rows of one field, or all rows of several small fields.
        """
        length = self._block_length(self.layout.points[0], self.Kz)
        if rows <= length:
            blocks = max(1, round(fields * rows / length))
            return loop(fields, blocks, lambda field, count, carry: body(field, count, 0, rows, carry), carry)
        one_field = lambda field, start, count, carry: body(field, 1, start, count, carry)  # noqa: E731
        return loop_over_batch(fields, rows, math.ceil(rows / length), one_field, carry)

    def _block_length(self, *sides: int) -> int:
        """Number of planes with these sides in a block."""
        more_than_all_planes = self.layout.devices * math.prod(self.layout.points)
        return block_length(self.dtype, *sides) if self.in_cache else more_than_all_planes

    def blank_pieces(self, fields: int, planes: int, rows: int, data: Array) -> list[Array]:
        """Pieces `(field, x, ky, kz)` for a loop to fill; `data` as in `loops.blank`."""
        return [blank((fields, planes, rows, self.Kz), self.dtype, data, i) for i in range(self.parts)]

    def ky_runs(self, i: int) -> Iterator[tuple[int, int, int]]:
        """The modes ky in piece i, as runs: index of the first in the FFT, its index in the piece, and their number."""
        first = i * self.rows
        for fft_index, stored_index, length in kept_runs(self.layout, 1):
            low, high = max(stored_index, first), min(stored_index + length, first + self.rows)
            if low < high:
                yield fft_index + low - stored_index, low - first, high - low

    @property
    def kz_runs(self) -> list[tuple[int, int, int]]:
        """The modes kz, of which each piece holds all, as runs like `ky_runs`."""
        return kept_runs(self.layout, 2) if self.layout.dimensions == 3 else [(0, 0, 1)]

    # ---- planes of x ----

    def put_modes(self, pieces: Sequence[Array], u: Array, start: Any, factor: float) -> list[Array]:
        """FFT y z of planes `(field, x, y, z)`; the retained modes, times `factor`, replace planes of the pieces.

        The pieces are `(field, x, ky, kz)`; `start` is the first plane of x in them.
        """
        modes = to_modes(u, self.layout, self.layout.dimensions - 1)
        modes = modes.reshape(*modes.shape[:3], -1)
        filled = []
        for i, piece in enumerate(pieces):
            for y, ky, rows in self.ky_runs(i):
                for z, kz, columns in self.kz_runs:
                    part = modes[:, :, y : y + rows, z : z + columns] * factor
                    piece = lax.dynamic_update_slice(piece, part, (0, start, ky, kz))
            retained_rows = max(0, min(self.rows, self.layout.retained[1] - i * self.rows))
            if retained_rows < self.rows:
                padding = jnp.zeros((*modes.shape[:2], self.rows - retained_rows, self.Kz), self.dtype)
                piece = lax.dynamic_update_slice(piece, padding, (0, start, retained_rows, 0))
            filled.append(piece)
        return filled

    def points_of_planes(self, pieces: Sequence[Array], start: Any, count: int) -> Array:
        """Fields `(field, x, y, z)` on `count` planes of x from `start`, from the pieces that this device received."""
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
        layout, fields = self.layout, pieces[0].shape[0]

        def one_chunk(chunk_start: Any, chunk_rows: int, u_hat: Array) -> Array:
            received = self._exchange([take(p, chunk_start, chunk_rows, 2) for p in pieces])

            def transform_rows(field: Any, count: int, start: Any, rows: int, u_hat: Array) -> Array:
                row, sizes = chunk_start + start, (count, self.planes, rows, self.Kz)
                parts = [lax.dynamic_slice(p, (field, 0, start, 0), sizes) for p in received]
                lines = jnp.concatenate([jnp.moveaxis(part, 1, -1) for part in parts], axis=-1)
                modes = fft(resize(lines, -1, layout.points[0]))
                for fft_index, stored_index, length in kept_runs(layout, 0):
                    part = modes[..., fft_index : fft_index + length]
                    u_hat = lax.dynamic_update_slice(u_hat, part, (field, row, 0, stored_index))
                return u_hat

            return self.loop_over_rows(fields, chunk_rows, transform_rows, u_hat)

        u_hat = blank((fields, self.rows, self.Kz, layout.spectral_shape[-1]), self.dtype, pieces[0])
        return loop(self.rows, chunks, one_chunk, u_hat).reshape(fields, self.rows, *layout.spectral_shape[1:])

    def planes_of_modes(self, u_hat: Array, factor: float, chunks: int) -> list[Array]:
        """FFT x, and exchange: coefficients `(field, ky, kz, kx)` to pieces `(field, x, ky, kz)` of this device's x."""
        layout, fields = self.layout, len(u_hat)
        u_hat = u_hat.reshape(fields, self.rows, self.Kz, -1)
        scale = factor * math.prod(layout.points)  # to_points and this FFT divide by their numbers of points

        def one_chunk(chunk_start: Any, chunk_rows: int) -> list[Array]:
            def transform_rows(field: Any, count: int, start: Any, rows: int, pieces: Sequence[Array]) -> list[Array]:
                row, sizes = chunk_start + start, (count, rows, self.Kz, u_hat.shape[-1])
                kept = lax.dynamic_slice(u_hat, (field, row, 0, 0), sizes)
                lines = resize(ifft(extend(kept, layout, 0, -1)) * scale, -1, layout.padded_points[0])
                filled = []
                for i, piece in enumerate(pieces):
                    part = jnp.moveaxis(lines[..., i * self.planes : (i + 1) * self.planes], -1, 1)
                    filled.append(lax.dynamic_update_slice(piece, part, (field, 0, start, 0)))
                return filled

            pieces = self.blank_pieces(fields, self.planes, chunk_rows, u_hat)
            return self._exchange(self.loop_over_rows(fields, chunk_rows, transform_rows, pieces))

        def collect(chunk_start: Any, chunk_rows: int, received: Sequence[Array]) -> list[Array]:
            arrived = one_chunk(chunk_start, chunk_rows)
            return [put(p, new, chunk_start, 2) for p, new in zip(received, arrived, strict=True)]

        if chunks == 1:
            return one_chunk(0, self.rows)
        return loop(self.rows, chunks, collect, self.blank_pieces(fields, self.planes, self.rows, u_hat))

    def _exchange(self, pieces: Sequence[Array]) -> list[Array]:
        """Send piece i, `(field, x, ky, kz)`, to device i; returns those received, in the order of their senders."""
        if self.name is None:
            return list(pieces)
        return list(all_to_all(jnp.stack(pieces), self.name, self.precision, 3))


def kept_runs(layout: Layout, axis: int) -> list[tuple[int, int, int]]:
    """The retained modes of an axis, as runs: index of the first in an FFT, its index as stored, and their number."""
    if layout.dealias == "none":
        return [(0, 0, layout.retained[axis])]
    highest = layout.highest_mode(axis)
    runs = [(0, 0, highest + 1)]
    if highest and not layout.is_half(axis):
        runs.append((layout.points[axis] - highest, highest + 1, highest))
    return runs
