"""Functions of fields whose exchanges overlap with work: planes of x pass in groups, called waves.

Across hosts an exchange takes longer than the work between two exchanges. Within one field's transform no work can
hide an exchange, and a product needs all its fields. But between the two exchanges of a function of points no plane of
x needs another plane. With two waves of planes, the first wave is transformed and multiplied while the second one
arrives, and is sent back while the second one is transformed.

    modes ──FFT x──▶ lines ──exchange wave 1──▶ FFT y z, product, FFT y z ──exchange──▶ lines ──FFT x──▶ modes
                           ──exchange wave 2──▶           …               ──exchange──▶

Each exchange sends 1/waves of the fields, all of them together unless `Method.fields` is a number. FFTs take the fields
one by one, so that as little memory is held as with one field per exchange. XLA's scheduler overlaps each exchange with
the work.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import jax.numpy as jnp
from jax import lax
from jaxtyping import Array

from solver.fft.local import AxisNames, LocalTransform
from solver.fft.maxima import largest_of_devices, largest_on_device
from solver.fft.point_function import FieldFunctions
from solver.fft.whole import Step, lines_of_modes, lines_of_planes, modes_of_lines, planes_of_lines
from solver.grid.layout import Layout


@dataclass(frozen=True)
class Overlapped(LocalTransform):
    """Functions of points in waves of planes of x, in two and three dimensions.

    Args:
        waves: number of waves; at most as many as a device has planes of x.
        fields: most fields that share an exchange; None for all fields.
        single: carries out forward and inverse transforms by themselves, where no work could overlap.
        precision: precision of the numbers that are sent, one of `solver.fft.wire.PRECISIONS`.
    """

    waves: int
    fields: int | None
    single: LocalTransform
    precision: str = "grid"

    def forward(self, u: Array, layout: Layout, axis_name: AxisNames, factor: float) -> Array:
        """As `single` does it."""
        return self.single.forward(u, layout, axis_name, factor)

    def inverse(self, u_hat: Array, layout: Layout, axis_name: AxisNames, factor: float) -> Array:
        """As `single` does it."""
        return self.single.inverse(u_hat, layout, axis_name, factor)

    def pointwise(
        self,
        u_hat: Array,
        functions: FieldFunctions,
        layout: Layout,
        axis_name: AxisNames,
        operands: Sequence[Array],
    ) -> list[Array]:
        """The functions see the fields on the planes of one wave at a time. See `LocalTransform.pointwise`.

        Axes of a batch (`functions.batch_axes`) stay together; all other leading axes are components.
        """
        d, factor = layout.dimensions, 1 / math.prod(layout.points)
        components = -d - 1  # the axis that all components are merged into
        batch_of_u, batch_of_f = functions.batch_axes
        parameters, at_points = functions.split(operands)
        slabs = 1 if axis_name is None else layout.slabs
        one_by_one = functools.partial(_one_by_one, axis=components)
        lines = one_by_one(lambda v: lines_of_modes(v, layout), _merge_components(u_hat, batch_of_u, d))
        lines_of_waves: list[list[Array]] = []  # for each wave the lines of each component of f
        maxima: list[Array] = []
        for first, last in _ranges(layout.padded_points[0] // slabs, self.waves):
            wave = _split_slabs(lines, -1, slabs)[..., first:last].reshape(*lines.shape[:-1], -1)
            groups = _groups(wave, components, self.fields)
            received = [planes_of_lines(group, layout, axis_name, 1.0, self.precision, one_by_one) for group in groups]
            u = jnp.concatenate(received, axis=components)
            u = u.reshape(*u_hat.shape[:-d], *u.shape[-d:])
            here = [v if v.shape[-d] == 1 else lax.slice_in_dim(v, first, last, axis=v.ndim - d) for v in at_points]
            f = functions.fn(u, *parameters, *here)
            if functions.largest is not None:
                maxima.append(largest_on_device(functions.largest(u, *parameters, *here), layout, axis_name, first))
            lead = f.shape[:-d]
            groups = _groups(_merge_components(f, batch_of_f, d), components, self.fields)
            sent = [lines_of_planes(group, layout, axis_name, factor, self.precision, one_by_one) for group in groups]
            lines_of_waves.append([_split_slabs(v, -d, slabs) for group in sent for v in _groups(group, components, 1)])
        modes = [_modes_of_waves(waves, layout) for waves in zip(*lines_of_waves, strict=True)]
        f_hat = jnp.concatenate(modes, axis=components)
        f_hat = f_hat.reshape(*lead, *f_hat.shape[-d:])
        if not maxima:
            return [f_hat]
        return [f_hat, largest_of_devices(functools.reduce(jnp.maximum, maxima), layout, axis_name)]


def _modes_of_waves(lines_of_waves: Sequence[Array], layout: Layout) -> Array:
    """Coefficients of one component, from its lines in all waves, whose axis of x is split by `_split_slabs`."""
    d = layout.dimensions
    lines = jnp.concatenate(lines_of_waves, axis=-d)
    return modes_of_lines(lines.reshape(*lines.shape[: -d - 2], 1, -1, *lines.shape[1 - d :]), layout)


def _ranges(total: int, count: int) -> Iterator[tuple[int, int]]:
    """Begin and end of each of `count` nearly equal parts of 0, …, total − 1."""
    for i in range(count):
        yield i * total // count, (i + 1) * total // count


def _merge_components(u: Array, batch: int, d: int) -> Array:
    """Fields `(batch axes…, component, x, y, z)`, all axes of components merged into one."""
    return u.reshape(*u.shape[:batch], -1, *u.shape[u.ndim - d :])


def _one_by_one(step: Step, u: Array, axis: int) -> Array:
    """The step on one component after the other, which holds less memory than all components at once."""
    return jnp.concatenate([step(component) for component in _groups(u, axis, 1)], axis=axis)


def _groups(u: Array, axis: int, count: int | None) -> Iterator[Array]:
    """Parts of an axis with at most `count` entries each; None for the whole axis."""
    axis, length = axis + u.ndim, u.shape[axis]
    step = count or length
    return (lax.slice_in_dim(u, i, min(i + step, length), axis=axis) for i in range(0, length, step))


def _split_slabs(u: Array, axis: int, slabs: int) -> Array:
    """The axis of x, which holds planes of every slab, split in two axes: slab, and plane of the slab."""
    axis += u.ndim
    return u.reshape(*u.shape[:axis], slabs, -1, *u.shape[axis + 1 :])
