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
from solver.fft.loops import blank, block_length, length_with_least_overlap, loop, loop_over_batch, put, take
from solver.fft.stages import extend, fft, resize, to_modes, to_points
from solver.fft.wire import all_to_all
from solver.grid.layout import Layout


@dataclass(frozen=True)
class Slabs:
    """A device's part of a layout, and the halves of a transform before and after its exchange.

    Shapes are written for three dimensions. In two dimensions points have no z, and kz has length 1.

    Args:
        layout: layout of the whole grid, in slabs of two or three dimensions.
        axis_name: mesh axis of the slabs; None where the array is whole, which is then one piece.
        dtype: dtype of coefficients.
        in_cache: True if blocks are so small that they stay in a core's cache; False for one block, as a GPU needs it.
        precision: precision of the numbers that are sent, one of `solver.fft.wire.PRECISIONS`.
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
        blocks = math.ceil(planes / self._block_length(fields, *others, max(1, last // 2)))
        return blocks if blocks > 2 else 1

    def loop_over_rows(self, fields: int, rows: int, body: Callable[..., Any], carry: Any) -> Any:
        """Loop over blocks: `carry, lines = body(first field, first row, carry, lines)`.

        A block holds some rows of one field, or all rows of several small fields. `lines`, `(field, ky, kz, x)` of a
        block, is the array to transform. It starts as zeros; places that `body` never writes stay zero.
        """
        most, Nx = self._block_length(self.layout.points[0], self.Kz), self.layout.points[0]
        if rows <= most:
            length = length_with_least_overlap(fields, max(1, round(fields * rows / most)))
            lines = jnp.zeros((length, rows, self.Kz, Nx), self.dtype)
            return loop(fields, length, lambda field, _, carry: body(field, 0, *carry), (carry, lines))[0]
        length = length_with_least_overlap(rows, math.ceil(rows / most))
        lines = jnp.zeros((1, length, self.Kz, Nx), self.dtype)
        turn = lambda field, row, _, carry: body(field, row, *carry)  # noqa: E731
        return loop_over_batch(fields, rows, length, turn, (carry, lines))[0]

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
            filled.append(self.clear_padding(piece, i, start, modes.shape[1]))
        return filled

    def clear_padding(self, piece: Array, i: int, start: Any, count: int) -> Array:
        """Piece i, `(field, x, …, ky, kz)`, with zeros in rows of ky that are padding, for `count` x from `start`."""
        retained_rows = max(0, min(self.rows, self.layout.retained[1] - i * self.rows))
        if retained_rows == self.rows:
            return piece
        others = piece.shape[2:-2]
        padding = jnp.zeros((len(piece), count, *others, self.rows - retained_rows, self.Kz), self.dtype)
        return lax.dynamic_update_slice(piece, padding, (0, start, *(0 for _ in others), retained_rows, 0))

    def points_of_planes(self, pieces: Sequence[Array], start: Any, count: int) -> Array:
        """Fields `(field, x, y, z)` on `count` planes of x from `start`, from the pieces that this device received.

        The pieces are conjugates, as `planes_of_modes` returns them.
        """
        layout, d = self.layout, self.layout.dimensions
        modes = jnp.concatenate([take(piece, start, count, 1) for piece in pieces], axis=2)
        modes = modes.reshape(modes.shape[: d + 1])
        modes = extend(resize(modes, 1 - d, layout.retained[1]), layout, 1, 1 - d)
        if d == 3:
            modes = extend(modes, layout, 2, -1)
        if not layout.real:
            return jnp.conj(fft(modes, d - 1))
        # `to_points` divides by the number of points
        return to_points(jnp.conj(modes) * math.prod(layout.points[1:]), layout, d - 1)

    # ---- rows of ky ----

    def coefficients(self, pieces: Sequence[Array], chunks: int) -> Array:
        """Exchange, and FFT x: pieces `(field, x, ky, kz)` to coefficients `(field, ky, kz, kx)`."""
        layout, fields = self.layout, pieces[0].shape[0]

        def one_chunk(chunk_start: Any, chunk_rows: int, u_hat: Array) -> Array:
            received = self._exchange([take(p, chunk_start, chunk_rows, 2) for p in pieces])

            def transform_rows(field: Any, start: Any, u_hat: Array, lines: Array) -> tuple[Array, Array]:
                count, rows = lines.shape[:2]
                parts = []
                for i, piece in enumerate(received):
                    planes = min(self.planes, layout.points[0] - i * self.planes)
                    if planes > 0:
                        part = lax.dynamic_slice(piece, (field, 0, start, 0), (count, planes, rows, self.Kz))
                        parts.append((i * self.planes, jnp.moveaxis(part, 1, -1)))
                lines = self._put_in_lines(lines, parts)
                modes = fft(lines)
                for fft_index, stored_index, length in kept_runs(layout, 0):
                    part = modes[..., fft_index : fft_index + length]
                    u_hat = lax.dynamic_update_slice(u_hat, part, (field, chunk_start + start, 0, stored_index))
                return u_hat, lines

            return self.loop_over_rows(fields, chunk_rows, transform_rows, u_hat)

        u_hat = blank((fields, self.rows, self.Kz, layout.spectral_shape[-1]), self.dtype, pieces[0])
        return loop(self.rows, math.ceil(self.rows / chunks), one_chunk, u_hat).reshape(
            fields, self.rows, *layout.spectral_shape[1:]
        )

    def planes_of_modes(self, u_hat: Array, factor: float, chunks: int) -> list[Array]:
        """FFT x, and exchange: coefficients `(field, ky, kz, kx)` to pieces `(field, x, ky, kz)` of this device's x.

        The pieces are conjugates: a forward FFT of conjugates gives the conjugate of an inverse FFT, and is faster.
        """
        layout, fields = self.layout, len(u_hat)
        u_hat = u_hat.reshape(fields, self.rows, self.Kz, -1)

        def one_chunk(chunk_start: Any, chunk_rows: int) -> list[Array]:
            def transform_rows(field: Any, start: Any, pieces: Any, lines: Array) -> tuple[list[Array], Array]:
                count, rows = lines.shape[:2]
                parts = []
                for fft_index, stored_index, length in kept_runs(layout, 0):
                    at = (field, chunk_start + start, 0, stored_index)
                    kept = lax.dynamic_slice(u_hat, at, (count, rows, self.Kz, length))
                    parts.append((fft_index, jnp.conj(kept) * factor))
                lines = self._put_in_lines(lines, parts)
                planes_of_x = resize(fft(lines), -1, layout.padded_points[0])
                filled = []
                for i, piece in enumerate(pieces):
                    part = jnp.moveaxis(planes_of_x[..., i * self.planes : (i + 1) * self.planes], -1, 1)
                    filled.append(lax.dynamic_update_slice(piece, part, (field, 0, start, 0)))
                return filled, lines

            pieces = self.blank_pieces(fields, self.planes, chunk_rows, u_hat)
            return self._exchange(self.loop_over_rows(fields, chunk_rows, transform_rows, pieces))

        def collect(chunk_start: Any, chunk_rows: int, received: Sequence[Array]) -> list[Array]:
            arrived = one_chunk(chunk_start, chunk_rows)
            return [put(p, new, chunk_start, 2) for p, new in zip(received, arrived, strict=True)]

        if chunks == 1:
            return one_chunk(0, self.rows)
        received = self.blank_pieces(fields, self.planes, self.rows, u_hat)
        return loop(self.rows, math.ceil(self.rows / chunks), collect, received)

    def _put_in_lines(self, lines: Array, parts: Sequence[tuple[int, Array]]) -> Array:
        """Parts `(field, ky, kz, x)` put into lines, from these numbers of x on; what lies between them is zero.

        In a cache it stays so. Elsewhere lines are joined anew, with zeros: a GPU does that in one pass.
        """
        if self.in_cache:
            for x, part in parts:
                lines = lax.dynamic_update_slice(lines, part, (0, 0, 0, x))
            return lines
        joined, end = [], 0
        for x, part in [*parts, (lines.shape[-1], lines[..., :0])]:
            joined += [jnp.zeros((*lines.shape[:-1], x - end), lines.dtype), part]
            end = x + part.shape[-1]
        return jnp.concatenate(joined, axis=-1)

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
