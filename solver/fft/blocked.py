"""The slab transform of three dimensions in blocks that stay in a processor's cache.

XLA runs each operation over a whole array before the next one starts, so that on a CPU every FFT, every transposition
and every copy streams through main memory. Here a loop takes a few planes at a time through all that happens
before the exchange, and another loop a few rows through all that happens after it:

    (x, y, z) ──planes of x: FFT y z, keep, cut──▶ P pieces (x/P, ky/P, kz) ──exchange──▶
    P pieces (x/P, ky/P, kz) ──rows of ky: join, transpose, FFT x, keep──▶ (ky/P, kz, kx)

Same arithmetic and same layout as `solver.fft.pipeline`. `pointwise_blocked` goes from coefficients to coefficients
of a function of the fields: its fields exist at a few planes at a time and never as arrays. With `chunks` above one
the exchange runs inside of the loop over rows, a part of them at a time: what is sent and received never exists
as a whole.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array

from solver.fft.pipeline import AxisNames, mesh_names
from solver.fft.stages import extend, fft, resize, to_modes, to_points, truncate, unscaled_ifft
from solver.grid.layout import Layout

BLOCK_BYTES = 2**18  # of complex numbers that a turn of a loop works on: half of a core's second-level cache
FEWEST_BLOCKS = 8  # of an array: its blocks' scratch is then small beside it


def forward_blocked(
    u: Array, layout: Layout, axis_name: AxisNames, factor: float | None = None, chunks: int = 1
) -> Array:
    """As `forward_local`, for slabs in three dimensions."""
    slabs = _Slabs(layout, axis_name, jnp.result_type(u, jnp.complex64))
    batch, u = u.shape[:-3], u.reshape(-1, *u.shape[-2:])
    scale = 1 / math.prod(layout.points) if factor is None else factor

    def planes(start: Any, count: int, pieces: Sequence[Array]) -> list[Array]:
        modes = slabs.modes_of_planes(_take(u, start, count, 0)[None], scale)
        return [_put(p, part, start, 1) for p, part in zip(pieces, modes, strict=True)]

    pieces = _loop(len(u), slabs.plane_blocks(1, len(u)), planes, slabs.blank_pieces(1, len(u), slabs.rows, u))
    pieces = [p.reshape(-1, slabs.planes, slabs.rows, slabs.Kz) for p in pieces]
    u_hat = slabs.coefficients(pieces, chunks)
    return u_hat.reshape(*batch, *u_hat.shape[1:])


def inverse_blocked(u_hat: Array, layout: Layout, axis_name: AxisNames, factor: float = 1.0, chunks: int = 1) -> Array:
    """As `inverse_local`, for slabs in three dimensions."""
    slabs = _Slabs(layout, axis_name, u_hat.dtype)
    batch, u_hat = u_hat.shape[:-3], u_hat.reshape(-1, *u_hat.shape[-3:])
    pieces = [p.reshape(1, -1, slabs.rows, slabs.Kz) for p in slabs.planes_of_modes(u_hat, factor, chunks)]

    def planes(start: Any, count: int, out: Array) -> Array:
        return _put(out, slabs.points_of_planes(pieces, start, count)[0], start, 0)

    dtype = u_hat.real.dtype if layout.real else u_hat.dtype
    out = _blank((len(u_hat) * slabs.planes, *layout.points[1:]), dtype, pieces[0])
    out = _loop(len(out), slabs.plane_blocks(1, len(out)), planes, out)
    return out.reshape(*batch, slabs.planes, *layout.points[1:])


def pointwise_blocked(
    u_hat: Array,
    fn: Callable[..., Array],
    layout: Layout,
    axis_name: AxisNames,
    parameters: Sequence[Array] = (),
    at_points: Sequence[Array] = (),
) -> Array:
    """Coefficients of `fn(u, *parameters, *at_points)`, for slabs in three dimensions.

    `fn` sees a few planes `(…, x, y, z)` of u at a time, and the same planes of each array of `at_points`.
    """
    slabs = _Slabs(layout, axis_name, u_hat.dtype)
    lead, u_hat = u_hat.shape[:-3], u_hat.reshape(-1, *u_hat.shape[-3:])
    scale = 1 / math.prod(layout.points)
    dtype = u_hat.real.dtype if layout.real else u_hat.dtype
    points = jax.ShapeDtypeStruct((*lead, slabs.planes, *layout.points[1:]), dtype)
    result = jax.eval_shape(fn, points, *parameters, *at_points).shape[:-3]
    received = slabs.planes_of_modes(u_hat, 1.0, 1)

    def planes(start: Any, count: int, pieces: Sequence[Array]) -> list[Array]:
        u = slabs.points_of_planes(received, start, count)
        here = [v if v.shape[-3] == 1 else _take(v, start, count, v.ndim - 3) for v in at_points]
        f = fn(u.reshape(*lead, *u.shape[1:]), *parameters, *here)
        modes = slabs.modes_of_planes(f.reshape(-1, *f.shape[-3:]), scale)
        return [_put(p, part, start, 1) for p, part in zip(pieces, modes, strict=True)]

    pieces = slabs.blank_pieces(math.prod(result), slabs.planes, slabs.rows, received[0])
    pieces = _loop(slabs.planes, slabs.plane_blocks(len(u_hat), slabs.planes), planes, pieces)
    f_hat = slabs.coefficients(pieces, 1)
    return f_hat.reshape(*result, *f_hat.shape[1:])


@dataclass(frozen=True)
class _Slabs:
    """One device's share of a layout, and the halves of a transform on both sides of its exchange.

    Args:
        layout: of the whole grid, in slabs.
        axis_name: mesh axis of the slabs; None where the array is whole, which is then one piece.
        dtype: of coefficients.
    """

    layout: Layout
    axis_name: AxisNames
    dtype: Any

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
        return self.layout.spectral_shape[1]

    def plane_blocks(self, fields: int, planes: int) -> int:
        """Into how many blocks planes of so many fields are cut."""
        return _blocks(1, planes, _block(self.dtype, fields, self.layout.points[1], self.layout.points[2] // 2))

    def row_blocks(self, fields: int, rows: int) -> int:
        """Into how many blocks the rows of each field are cut."""
        return _blocks(fields, rows, _block(self.dtype, self.layout.points[0], self.Kz))

    def blank_pieces(self, fields: int, planes: int, rows: int, data: Array) -> list[Array]:
        """Room for the pieces `(field, x, ky, kz)`."""
        return [_blank((fields, planes, rows, self.Kz), self.dtype, data) for _ in range(self.parts)]

    # ---- planes of x ----

    def modes_of_planes(self, u: Array, scale: float) -> list[Array]:
        """FFT y z of `(field, x, y, z)`, the retained modes, cut in pieces."""
        modes = truncate(to_modes(u, self.layout, 2), self.layout, 2, -1)
        modes = resize(truncate(modes, self.layout, 1, -2), -2, self.rows * self.parts) * scale
        return [modes[:, :, i * self.rows : (i + 1) * self.rows] for i in range(self.parts)]

    def points_of_planes(self, pieces: Sequence[Array], start: Any, count: int) -> Array:
        """Fields `(field, x, y, z)` of some planes, from the pieces that every device sent."""
        modes = jnp.concatenate([_take(p, start, count, 1) for p in pieces], axis=2)
        modes = extend(resize(modes, -2, self.layout.retained[1]), self.layout, 1, -2)
        return to_points(extend(modes, self.layout, 2, -1), self.layout, 2)

    # ---- rows of ky ----

    def coefficients(self, pieces: Sequence[Array], chunks: int) -> Array:
        """Exchange, and FFT x: pieces `(field, x, ky, kz)` to coefficients `(field, ky, kz, kx)`."""
        layout, fields = self.layout, pieces[0].shape[0]

        def rows(received: Sequence[Array], out: Array, b: Any, start: Any, count: int, at: Any) -> Array:
            block = jnp.concatenate([_take(_take(p, b, 1, 0)[0], start, count, 1) for p in received])  # (x, ky, kz)
            modes = fft(resize(jnp.moveaxis(block, 0, -1), -1, layout.points[0]))
            return lax.dynamic_update_slice(out, truncate(modes, layout, 0, -1)[None], (b, at, 0, 0))

        def chunk(start: Any, count: int, out: Array) -> Array:
            received = _swap([_take(p, start, count, 2) for p in pieces], self.name)
            body = lambda b, s, n, out: rows(received, out, b, s, n, start + s)  # noqa: E731
            return _loop2(fields, count, self.row_blocks(fields, count), body, out)

        out = _blank((fields, self.rows, self.Kz, layout.spectral_shape[2]), self.dtype, pieces[0])
        return _loop(self.rows, chunks, chunk, out)

    def planes_of_modes(self, u_hat: Array, factor: float, chunks: int) -> list[Array]:
        """FFT x, and exchange: coefficients `(field, ky, kz, kx)` to pieces `(field, x, ky, kz)` of this device's x."""
        layout, fields = self.layout, len(u_hat)
        scale = factor * math.prod(layout.points[1:])  # to_points divides by their product

        def rows(pieces: Sequence[Array], b: Any, start: Any, count: int, at: Any) -> list[Array]:
            block = _take(_take(u_hat, b, 1, 0)[0], start, count, 0)  # (ky, kz, kx)
            lines = resize(unscaled_ifft(extend(block, layout, 0, -1)) * scale, -1, layout.padded_points[0])
            cut = jnp.moveaxis(lines, -1, 0).reshape(self.parts, 1, self.planes, count, self.Kz)
            return [lax.dynamic_update_slice(p, cut[i], (b, 0, at, 0)) for i, p in enumerate(pieces)]

        def chunk(start: Any, count: int) -> list[Array]:
            pieces = self.blank_pieces(fields, self.planes, count, u_hat)
            body = lambda b, s, n, pieces: rows(pieces, b, start + s, n, s)  # noqa: E731
            return _swap(_loop2(fields, count, self.row_blocks(fields, count), body, pieces), self.name)

        def collect(start: Any, count: int, received: Sequence[Array]) -> list[Array]:
            return [_put(p, new, start, 2) for p, new in zip(received, chunk(start, count), strict=True)]

        if chunks == 1:
            return chunk(0, self.rows)
        received = self.blank_pieces(fields, self.planes, self.rows, u_hat)
        return _loop(self.rows, chunks, collect, received)


def _swap(pieces: Sequence[Array], name: str | None) -> list[Array]:
    """Send piece i to device i; the pieces that arrive, in the order of the devices that sent them."""
    if name is None:
        return list(pieces)
    return list(lax.all_to_all(jnp.stack(pieces), name, split_axis=0, concat_axis=0))


# ---- loops ------------------------------------------------------------------------------------------------------


def _block(dtype: Any, *sides: int) -> int:
    """How many planes with these sides a block holds."""
    return max(1, BLOCK_BYTES // (jnp.dtype(dtype).itemsize * math.prod(sides)))


def _blank(shape: tuple[int, ...], dtype: Any, data: Array) -> Array:
    """An array for a loop to fill.

    It repeats a number of the complex `data`, on which it so depends: XLA takes constants out of a surrounding loop
    over steps, and would keep each for the whole run and copy it at every turn.
    """
    number = data.ravel()[0]
    return jnp.full(shape, number if jnp.iscomplexobj(jnp.zeros(0, dtype)) else number.real, dtype)


def _blocks(batch: int, total: int, size: int) -> int:
    """Into how many blocks of about `size` each of `batch` ranges of length `total` is cut."""
    return max(math.ceil(total / size), min(total, math.ceil(FEWEST_BLOCKS / batch)))


def _loop(total: int, blocks: int, body: Callable[[Any, int, Any], Any], carry: Any) -> Any:
    """`carry = body(start, count, carry)` for as many blocks that cover `total`.

    All blocks are of one length; the last one starts early enough to end in time, and repeats what overlaps.
    """
    return _loop2(1, total, blocks, lambda _, start, count, carry: body(start, count, carry), carry)


def _loop2(batch: int, total: int, blocks: int, body: Callable[[Any, Any, int, Any], Any], carry: Any) -> Any:
    """The same for each b: `carry = body(b, start, count, carry)`."""
    count = math.ceil(total / blocks)
    blocks = math.ceil(total / count)
    if batch * blocks == 1:
        return body(0, 0, total, carry)

    def turn(i: Array, carry: Any) -> Any:
        return body(i // blocks, jnp.minimum(i % blocks * count, total - count), count, carry)

    return lax.fori_loop(0, batch * blocks, turn, carry)


def _take(u: Array, start: Any, count: int, axis: int) -> Array:
    return u if count == u.shape[axis] else lax.dynamic_slice_in_dim(u, start, count, axis)


def _put(u: Array, block: Array, start: Any, axis: int) -> Array:
    return block if block.shape == u.shape else lax.dynamic_update_slice_in_dim(u, block, start, axis)
