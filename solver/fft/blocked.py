"""The slab transform of two and three dimensions in blocks that stay in a processor's cache.

XLA runs each operation over a whole array before the next one starts, so that on a CPU every FFT, every transposition
and every copy streams through main memory. Here a loop takes a few planes at a time through all that happens
before the exchange, and another loop a few rows through all that happens after it:

    (x, y, z) ──planes of x: FFT y z, keep, cut──▶ P pieces (x/P, ky/P, kz) ──exchange──▶
    P pieces (x/P, ky/P, kz) ──rows of ky: join, transpose, FFT x, keep──▶ (ky/P, kz, kx)

In two dimensions there is no z, and a plane of x is a line. Arithmetic and layout are those of `solver.fft.whole`.
A function of points goes from coefficients to coefficients: its fields exist at a few planes at a time and never as
arrays. With `chunks` above one the exchange runs inside of the loop over rows, for a part of the rows at a time: what
is sent and received never exists as a whole.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array

from solver.fft.block_points import block_points
from solver.fft.local import AxisNames, LocalTransform
from solver.fft.loops import blank, length_without_overlap, loop, put, take
from solver.fft.maxima import largest_of_devices, largest_on_device
from solver.fft.point_function import FieldFunctions
from solver.fft.slabs import Slabs
from solver.grid.layout import Layout


@dataclass(frozen=True)
class Blocks(LocalTransform):
    """Transforms of slabs in blocks, in two and three dimensions.

    Args:
        chunks: number of parts of an exchange, sent one after the other; a function of points sends one.
        in_cache: whether blocks are so small that they stay in a core's cache; if not, one block holds all planes.
        precision: of what is sent, one of `solver.fft.wire.PRECISIONS`.
    """

    chunks: int = 1
    in_cache: bool = True
    precision: str = "grid"

    def forward(self, u: Array, layout: Layout, axis_name: AxisNames, factor: float) -> Array:
        """FFT y z of blocks of planes, the exchange, FFT x of blocks of rows. See `LocalTransform.forward`."""
        slabs = Slabs(layout, axis_name, jnp.result_type(u.dtype, jnp.complex64), self.in_cache, self.precision)
        batch = u.shape[: u.ndim - layout.dimensions]
        u = u.reshape(-1, *slabs.plane_shape)

        def transform_planes(start: Any, count: int, pieces: Sequence[Array]) -> list[Array]:
            return slabs.put_modes(pieces, take(u, start, count, 0)[None], start, factor)

        pieces = slabs.blank_pieces(1, len(u), slabs.rows, u)
        pieces = loop(len(u), slabs.plane_blocks(1, len(u)), transform_planes, pieces)
        u_hat = slabs.coefficients([p.reshape(-1, slabs.planes, *p.shape[2:]) for p in pieces], self.chunks)
        return u_hat.reshape(*batch, *u_hat.shape[1:])

    def inverse(self, u_hat: Array, layout: Layout, axis_name: AxisNames, factor: float) -> Array:
        """FFT x of blocks of rows, the exchange, FFT y z of blocks of planes. See `LocalTransform.inverse`."""
        slabs = Slabs(layout, axis_name, u_hat.dtype, self.in_cache, self.precision)
        batch, u_hat = _flat(u_hat, layout)
        pieces = [p.reshape(1, -1, *p.shape[2:]) for p in slabs.planes_of_modes(u_hat, factor, self.chunks)]

        def transform_planes(start: Any, count: int, u: Array) -> Array:
            return put(u, slabs.points_of_planes(pieces, start, count)[0], start, 0)

        planes = len(u_hat) * slabs.planes
        u = blank((planes, *slabs.plane_shape), _field_dtype(u_hat.dtype, layout), pieces[0])
        u = loop(planes, slabs.plane_blocks(1, planes), transform_planes, u)
        return u.reshape(*batch, slabs.planes, *slabs.plane_shape)

    def pointwise(
        self,
        u_hat: Array,
        functions: FieldFunctions,
        layout: Layout,
        axis_name: AxisNames,
        operands: Sequence[Array],
    ) -> list[Array]:
        """The functions see a few planes `(…, x, y, z)` of all fields at a time. See `LocalTransform.pointwise`."""
        d, slabs = layout.dimensions, Slabs(layout, axis_name, u_hat.dtype, self.in_cache, self.precision)
        points = block_points(slabs)
        lead, u_hat = _flat(u_hat, layout)
        factor = 1 / math.prod(layout.points)
        parameters, at_points = functions.split(operands)
        all_planes = (*lead, slabs.planes, *slabs.plane_shape)
        fields = jax.ShapeDtypeStruct(all_planes, _field_dtype(u_hat.dtype, layout))
        result_lead = jax.eval_shape(functions.fn, fields, *operands).shape[:-d]
        received = slabs.planes_of_modes(u_hat, 1.0, 1)

        def transform_planes(start: Any, count: int, carry: tuple[list[Array], list[Array], list[Array]]) -> Any:
            pieces, filled, largest = carry
            parts, filled = points.fields(received, start, count, filled)
            operands_there = [points.parts(v, start, count) for v in at_points]
            results = []
            for j, (u, first) in enumerate(zip(parts, points.first_planes(start), strict=True)):
                u, here = u.reshape(*lead, *u.shape[1:]), [v[j] for v in operands_there]
                f = functions.fn(u, *parameters, *here)
                results.append(f.reshape(-1, *f.shape[-d:]))
                if functions.largest is not None:
                    numbers = functions.largest(u, *parameters, *here)
                    numbers = largest_on_device(numbers, layout, axis_name, first, points.unit)
                    largest = [jnp.maximum(largest[0], numbers)]
            return points.put_modes(pieces, results, start, factor), filled, largest

        pieces = slabs.blank_pieces(math.prod(result_lead), slabs.planes, slabs.rows, received[0])
        pieces = [points.in_units(piece) for piece in pieces]
        largest: list[Array] = []
        if functions.largest is not None:
            numbers = jax.eval_shape(functions.largest, fields, *operands)
            largest = [jnp.full(numbers.shape[:-d], -jnp.inf, numbers.dtype)]
        units = slabs.planes // points.unit
        blocks = min(slabs.plane_blocks(len(u_hat), slabs.planes), units)
        carry = (pieces, points.blank(len(u_hat), length_without_overlap(units, blocks)), largest)
        pieces, _, largest = loop(units, blocks, transform_planes, carry)
        f_hat = slabs.coefficients([p.reshape(len(p), slabs.planes, *p.shape[-2:]) for p in pieces], 1)
        f_hat = f_hat.reshape(*result_lead, *f_hat.shape[1:])
        return [f_hat, *(largest_of_devices(v, layout, axis_name) for v in largest)]


def _flat(u_hat: Array, layout: Layout) -> tuple[tuple[int, ...], Array]:
    """The lengths of the leading axes of coefficients, and the coefficients with these axes merged into one."""
    lead = u_hat.shape[: u_hat.ndim - layout.dimensions]
    return lead, u_hat.reshape(-1, *u_hat.shape[len(lead) :])


def _field_dtype(dtype: Any, layout: Layout) -> Any:
    """Dtype of fields whose coefficients have this dtype."""
    return jnp.zeros(0, dtype).real.dtype if layout.real else dtype
