"""Functions of fields from coefficients to coefficients, planes of x in waves: exchanges have work beside them.

Across hosts an exchange takes longer than the work between two of them, and nothing of one field's transform can hide
the exchange of a product that needs them all. But between the exchanges no plane of x needs another one: with two waves
of planes, the first is transformed and multiplied while the second arrives, and is sent back while the second is.

    modes ──FFT x──▶ lines ──exchange wave 1──▶ FFT y z, product, FFT y z ──exchange──▶ lines ──FFT x──▶ modes
                           ──exchange wave 2──▶           …               ──exchange──▶

Each exchange sends 1/waves of the fields, all of them together unless `Method.fields` is a number; FFTs take them one
by one, so that as many words are held as with one field per exchange. XLA's scheduler puts the kernels there by itself.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator, Sequence

import jax.numpy as jnp
from jax import lax
from jaxtyping import Array

from solver.fft.pipeline import (
    AxisNames,
    Step,
    largest_here,
    largest_of_all,
    lines_of_modes,
    lines_of_planes,
    modes_of_lines,
    planes_of_lines,
)
from solver.grid.layout import Layout


def pointwise_in_waves(
    u_hat: Array,
    fn: Callable[..., Array],
    layout: Layout,
    axis_name: AxisNames,
    parameters: Sequence[Array],
    at_points: Sequence[Array],
    largest: Callable[..., Array] | None,
    *,
    waves: int,
    fields: int | None,
    batch: tuple[int, int] = (0, 0),
) -> list[Array]:
    """Coefficients of `fn(u, *parameters, *at_points)`, in two and three dimensions; then the largest value over all
    points of `largest(u, *parameters, *at_points)`, if that is given.

    Args:
        u_hat: this device's coefficients `(…, ky, kz, kx)`; all axes but those of a batch are of components.
        fn, parameters, at_points, largest: as `Transform.pointwise` has them; a function sees one wave at a time.
        layout: of the whole grid.
        axis_name: mesh axes that split it.
        waves: at most as many as a device has planes.
        fields: most that share an exchange; None for all.
        batch: number of axes in front of the components, of u_hat and of what `fn` returns: these stay together.
    """
    d, scale = layout.dimensions, 1 / math.prod(layout.points)
    components = -d - 1  # their axis, all of them along one
    slabs = 1 if axis_name is None else layout.slabs
    one_by_one = functools.partial(_one_by_one, axis=components)
    lines = one_by_one(lambda v: lines_of_modes(v, layout), _with_components(u_hat, batch[0], d))
    returned: list[list[Array]] = []  # of each wave, fields
    most: list[Array] = []
    for first, last in _parts(layout.padded_points[0] // slabs, waves):
        of_wave = _in_slabs(lines, -1, slabs)[..., first:last].reshape(*lines.shape[:-1], -1)
        groups = _groups(of_wave, components, fields)
        arrived = [planes_of_lines(part, layout, axis_name, 1.0, one_by_one) for part in groups]
        u = jnp.concatenate(arrived, axis=components)
        u = u.reshape(*u_hat.shape[:-d], *u.shape[-d:])
        here = [v if v.shape[-d] == 1 else lax.slice_in_dim(v, first, last, axis=v.ndim - d) for v in at_points]
        f = fn(u, *parameters, *here)
        if largest is not None:
            most.append(largest_here(largest(u, *parameters, *here), layout, axis_name, first))
        results = f.shape[:-d]
        groups = _groups(_with_components(f, batch[1], d), components, fields)
        sent = [lines_of_planes(part, layout, axis_name, scale, one_by_one) for part in groups]
        returned.append([_in_slabs(one, -d, slabs) for part in sent for one in _groups(part, components, 1)])

    def modes(of_waves: Sequence[Array]) -> Array:
        planes = jnp.concatenate(of_waves, axis=-d)
        return modes_of_lines(planes.reshape(*planes.shape[: components - 1], 1, -1, *planes.shape[1 - d :]), layout)

    f_hat = jnp.concatenate([modes(of_waves) for of_waves in zip(*returned, strict=True)], axis=components)
    f_hat = f_hat.reshape(*results, *f_hat.shape[-d:])
    return [f_hat, *([largest_of_all(functools.reduce(jnp.maximum, most), layout, axis_name)] if most else [])]


def _parts(total: int, count: int) -> Iterator[tuple[int, int]]:
    """Beginning and end of each of `count` nearly equal parts of 0, …, total − 1."""
    for i in range(count):
        yield i * total // count, (i + 1) * total // count


def _with_components(u: Array, batch: int, d: int) -> Array:
    """Fields `(…, component, x, y, z)` with one axis of components between those of a batch and those in space."""
    return u.reshape(*u.shape[:batch], -1, *u.shape[u.ndim - d :])


def _one_by_one(step: Step, u: Array, axis: int) -> Array:
    """A step on one component after the other, which holds less than all at once."""
    return jnp.concatenate([step(one) for one in _groups(u, axis, 1)], axis=axis)


def _groups(u: Array, axis: int, most: int | None) -> Iterator[Array]:
    """Components, at most so many together; None for all."""
    axis, count = axis + u.ndim, u.shape[axis]
    step = most or count
    return (lax.slice_in_dim(u, i, min(i + step, count), axis=axis) for i in range(0, count, step))


def _in_slabs(u: Array, at: int, slabs: int) -> Array:
    """The axis of x, which holds planes of every slab, as two: slab, and plane in it."""
    at += u.ndim
    return u.reshape(*u.shape[:at], slabs, -1, *u.shape[at + 1 :])
