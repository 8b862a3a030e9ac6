"""The slab transform of two and three dimensions in blocks that stay in a processor's cache.

XLA runs each operation over a whole array before the next one starts, so that on a CPU every FFT, every transposition
and every copy streams through main memory. Here a loop takes a few planes at a time through all that happens
before the exchange, and another loop a few rows through all that happens after it:

    (x, y, z) ──planes of x: FFT y z, keep, cut──▶ P pieces (x/P, ky/P, kz) ──exchange──▶
    P pieces (x/P, ky/P, kz) ──rows of ky: join, transpose, FFT x, keep──▶ (ky/P, kz, kx)

In two dimensions there is no z, and a plane of x is a line. Same arithmetic and same layout as `solver.fft.pipeline`.
`pointwise_blocked` goes from coefficients to coefficients of a function of the fields: its fields exist at a few planes
at a time and never as arrays. With `chunks` above one the exchange runs inside of the loop over rows, a part of them at
a time: what is sent and received never exists as a whole.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array

from solver.fft.loops import blank, loop, put, take
from solver.fft.pipeline import AxisNames, largest_here, largest_of_all
from solver.fft.slabs import Slabs
from solver.grid.layout import Layout


def forward_blocked(
    u: Array, layout: Layout, axis_name: AxisNames, factor: float | None = None, chunks: int = 1, in_cache: bool = True
) -> Array:
    """As `forward_local`, for slabs in two and three dimensions."""
    slabs = Slabs(layout, axis_name, jnp.result_type(u.dtype, jnp.complex64), in_cache)
    batch = u.shape[: u.ndim - layout.dimensions]
    u = u.reshape(-1, *slabs.plane_shape)
    scale = 1 / math.prod(layout.points) if factor is None else factor

    def planes(start: Any, count: int, pieces: Sequence[Array]) -> list[Array]:
        return slabs.put_modes(pieces, take(u, start, count, 0)[None], start, scale)

    pieces = loop(len(u), slabs.plane_blocks(1, len(u)), planes, slabs.blank_pieces(1, len(u), slabs.rows, u))
    u_hat = slabs.coefficients([p.reshape(-1, slabs.planes, *p.shape[2:]) for p in pieces], chunks)
    return u_hat.reshape(*batch, *u_hat.shape[1:])


def inverse_blocked(
    u_hat: Array, layout: Layout, axis_name: AxisNames, factor: float = 1.0, chunks: int = 1, in_cache: bool = True
) -> Array:
    """As `inverse_local`, for slabs in two and three dimensions."""
    slabs = Slabs(layout, axis_name, u_hat.dtype, in_cache)
    batch, u_hat = _flat(u_hat, layout)
    pieces = [p.reshape(1, -1, *p.shape[2:]) for p in slabs.planes_of_modes(u_hat, factor, chunks)]

    def planes(start: Any, count: int, out: Array) -> Array:
        return put(out, slabs.points_of_planes(pieces, start, count)[0], start, 0)

    out = blank((len(u_hat) * slabs.planes, *slabs.plane_shape), _at_points(u_hat.dtype, layout), pieces[0])
    out = loop(len(out), slabs.plane_blocks(1, len(out)), planes, out)
    return out.reshape(*batch, slabs.planes, *slabs.plane_shape)


def pointwise_blocked(
    u_hat: Array,
    fn: Callable[..., Array],
    layout: Layout,
    axis_name: AxisNames,
    parameters: Sequence[Array] = (),
    at_points: Sequence[Array] = (),
    largest: Callable[..., Array] | None = None,
) -> list[Array]:
    """Coefficients of `fn(u, *parameters, *at_points)`, for slabs in two and three dimensions; then the largest value
    over all points of `largest(u, *parameters, *at_points)`, if that is given.

    `fn` sees a few planes `(…, x, y, z)` of u at a time, and the same planes of each array of `at_points`.
    """
    d, slabs = layout.dimensions, Slabs(layout, axis_name, u_hat.dtype)
    lead, u_hat = _flat(u_hat, layout)
    scale = 1 / math.prod(layout.points)
    points = jax.ShapeDtypeStruct((*lead, slabs.planes, *slabs.plane_shape), _at_points(u_hat.dtype, layout))
    result = jax.eval_shape(fn, points, *parameters, *at_points).shape[:-d]
    received = slabs.planes_of_modes(u_hat, 1.0, 1)

    def planes(start: Any, count: int, carry: tuple[list[Array], list[Array]]) -> tuple[list[Array], list[Array]]:
        pieces, most = carry
        u = slabs.points_of_planes(received, start, count)
        here = [v if v.shape[-d] == 1 else take(v, start, count, v.ndim - d) for v in at_points]
        u = u.reshape(*lead, *u.shape[1:])
        f = fn(u, *parameters, *here)
        pieces = slabs.put_modes(pieces, f.reshape(-1, *f.shape[-d:]), start, scale)
        if largest is None:
            return pieces, most
        return pieces, [jnp.maximum(most[0], largest_here(largest(u, *parameters, *here), layout, axis_name, start))]

    pieces = slabs.blank_pieces(math.prod(result), slabs.planes, slabs.rows, received[0])
    none: list[Array] = []
    if largest is not None:
        found = jax.eval_shape(largest, points, *parameters, *at_points)
        none = [jnp.full(found.shape[:-d], -jnp.inf, found.dtype)]
    pieces, most = loop(slabs.planes, slabs.plane_blocks(len(u_hat), slabs.planes), planes, (pieces, none))
    f_hat = slabs.coefficients(pieces, 1)
    return [f_hat.reshape(*result, *f_hat.shape[1:]), *(largest_of_all(one, layout, axis_name) for one in most)]


def _flat(u_hat: Array, layout: Layout) -> tuple[tuple[int, ...], Array]:
    """Leading axes of coefficients, and the coefficients with one axis in their place."""
    lead = u_hat.shape[: u_hat.ndim - layout.dimensions]
    return lead, u_hat.reshape(-1, *u_hat.shape[len(lead) :])


def _at_points(dtype: Any, layout: Layout) -> Any:
    """Dtype of fields whose coefficients have this one."""
    return jnp.zeros(0, dtype).real.dtype if layout.real else dtype
