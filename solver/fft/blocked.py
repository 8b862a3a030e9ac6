"""The slab transform of two and three dimensions in blocks that stay in a processor's cache.

XLA runs each operation over a whole array before the next one starts, so that on a CPU every FFT, every transposition
and every copy streams through main memory. Here a loop takes a few planes at a time through all that happens
before the exchange, and another loop a few rows through all that happens after it:

    (x, y, z) ──planes of x: FFT y z, keep, cut──▶ P pieces (x/P, ky/P, kz) ──exchange──▶
    P pieces (x/P, ky/P, kz) ──rows of ky: join, transpose, FFT x, keep──▶ (ky/P, kz, kx)

In two dimensions there is no z, and a plane of x is a line. Arithmetic and layout are the same as in
`solver.fft.whole`. A function of points goes from coefficients to coefficients: its fields exist at a few planes at a
time and never as arrays. With `chunks` above one the exchange runs inside of the loop over rows, for a part of the rows
at a time: what is sent and received never exists as a whole.
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
from solver.fft.loops import blank, loop
from solver.fft.maxima import largest_of_devices, largest_on_device
from solver.fft.point_function import FieldFunctions
from solver.fft.slabs import Slabs
from solver.grid.layout import Layout


@dataclass(frozen=True)
class Blocks(LocalTransform):
    """Transforms of slabs in blocks, in two and three dimensions.

    Args:
        chunks: number of parts of an exchange, sent one after the other; a function of points sends one.
        in_cache: True if blocks are so small that they stay in a core's cache; if not, one block holds all planes.
        precision: precision of the numbers that are sent, one of `solver.fft.wire.PRECISIONS`.
    """

    chunks: int = 1
    in_cache: bool = True
    precision: str = "grid"

    def forward(self, u: Array, layout: Layout, axis_name: AxisNames, factor: float) -> Array:
        """FFT y z of blocks of planes, the exchange, FFT x of blocks of rows. See `LocalTransform.forward`."""
        slabs = Slabs(layout, axis_name, jnp.result_type(u.dtype, jnp.complex64), self.in_cache, self.precision)
        batch, points = u.shape[: u.ndim - layout.dimensions], block_points(slabs)
        u = u.reshape(1, -1, *slabs.plane_shape)

        def transform_planes(start: Any, count: int, pieces: Sequence[Array]) -> list[Array]:
            return points.put_modes(pieces, points.halves(u, start, count), start, factor)

        pieces = [points.grouped(piece) for piece in slabs.blank_pieces(1, u.shape[1], slabs.rows, u)]
        pieces = loop(*points.blocks(1, u.shape[1]), transform_planes, pieces)
        u_hat = slabs.coefficients([p.reshape(-1, slabs.planes, *p.shape[-2:]) for p in pieces], self.chunks)
        return u_hat.reshape(*batch, *u_hat.shape[1:])

    def inverse(self, u_hat: Array, layout: Layout, axis_name: AxisNames, factor: float) -> Array:
        """FFT x of blocks of rows, the exchange, FFT y z of blocks of planes. See `LocalTransform.inverse`."""
        slabs = Slabs(layout, axis_name, u_hat.dtype, self.in_cache, self.precision)
        points, (batch, u_hat) = block_points(slabs), _flat(u_hat, layout)
        pieces = [p.reshape(1, -1, *p.shape[2:]) for p in slabs.planes_of_modes(u_hat, factor, self.chunks)]

        def transform_planes(start: Any, count: int, carry: tuple[Array, list[Array]]) -> tuple[Array, list[Array]]:
            u, modes = carry
            halves, modes = points.fields(pieces, start, count, modes)
            return points.put_points(u, halves, start), modes

        planes = len(u_hat) * slabs.planes
        u = blank((1, planes, *slabs.plane_shape), _field_dtype(u_hat.dtype, layout), pieces[0])
        groups, count = points.blocks(1, planes)
        u = loop(groups, count, transform_planes, (points.grouped(u), points.blank(1, count)))[0]
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
            pieces, modes, largest = carry
            halves, modes = points.fields(received, start, count, modes)
            operands_there = [points.halves(v, start, count) for v in at_points]
            results = []
            for j, (u, first) in enumerate(zip(halves, points.first_planes(start), strict=True)):
                u, here = u.reshape(*lead, *u.shape[1:]), [v[j] for v in operands_there]
                f = functions.fn(u, *parameters, *here)
                results.append(f.reshape(-1, *f.shape[-d:]))
                if functions.largest is not None:
                    numbers = functions.largest(u, *parameters, *here)
                    numbers = largest_on_device(numbers, layout, axis_name, first, points.group)
                    largest = [jnp.maximum(largest[0], numbers)]
            return points.put_modes(pieces, results, start, factor), modes, largest

        pieces = slabs.blank_pieces(math.prod(result_lead), slabs.planes, slabs.rows, received[0])
        pieces = [points.grouped(piece) for piece in pieces]
        largest: list[Array] = []
        if functions.largest is not None:
            numbers = jax.eval_shape(functions.largest, fields, *operands)
            largest = [jnp.full(numbers.shape[:-d], -jnp.inf, numbers.dtype)]
        groups, count = points.blocks(len(u_hat), slabs.planes)
        carry = (pieces, points.blank(len(u_hat), count), largest)
        pieces, _, largest = loop(groups, count, transform_planes, carry)
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
