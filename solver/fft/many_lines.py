"""Transforms of many fields along one axis that is split over devices: each transforms whole lines of some fields.

    points (f, x/P) ──exchange──▶ (f/P, x) ──FFT x, keep kx──▶ (f/P, kx) ──exchange──▶ (f, kx/P) modes

Fields go two by two, and real values of two as one complex number. Their number is padded with zeros to what the
devices divide.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TypeAlias

import jax.numpy as jnp
from jax import lax
from jaxtyping import Array

from solver.fft.local import AxisNames, mesh_names
from solver.fft.stages import exchange, resize
from solver.grid.layout import Layout

OnLines: TypeAlias = Callable[[Array, Layout], Array]  # of pairs of whole lines `(pair, 2, x)`, and their layout


def forward_of_lines(transform: OnLines, u: Array, layout: Layout, axis_name: AxisNames, precision: str) -> Array:
    """Coefficients of a device's kx from its points: exchange, transform of whole lines, exchange."""
    send = partial(_send, layout=layout, axis_name=axis_name, precision=precision)
    lines = resize(send(_to_pairs(u, layout.slabs), to_lines=True), -1, layout.points[0])
    modes = resize(transform(lines, replace(layout, slabs=1)), -1, layout.spectral_shape[0])
    return _from_pairs(send(modes, to_lines=False), u.shape[:-1])


def inverse_of_lines(transform: OnLines, u_hat: Array, layout: Layout, axis_name: AxisNames, precision: str) -> Array:
    """Values at a device's points from its kx: the same back."""
    send = partial(_send, layout=layout, axis_name=axis_name, precision=precision)
    modes = resize(send(_to_pairs(u_hat, layout.slabs), to_lines=True), -1, layout.retained[0])
    lines = resize(transform(modes, replace(layout, slabs=1)), -1, layout.padded_points[0])
    return _from_pairs(send(lines, to_lines=False), u_hat.shape[:-1])


def _send(pairs: Array, *, layout: Layout, axis_name: AxisNames, precision: str, to_lines: bool) -> Array:
    """Exchange of pairs `(pair, 2, x)`: a part of each line for whole lines, or back."""
    name, _ = mesh_names(axis_name, layout)
    axes = (-3, -1) if to_lines else (-1, -3)
    send = partial(
        exchange, name=name, parts=layout.slabs, split_axis=axes[0], concat_axis=axes[1], dimensions=1,
        precision=precision,
    )  # fmt: skip
    if jnp.iscomplexobj(pairs):
        return send(pairs)
    sent = send(lax.complex(pairs[:, :1], pairs[:, 1:]))
    return jnp.concatenate([sent.real, sent.imag], axis=1)


def _to_pairs(u: Array, parts: int) -> Array:
    """Fields `(…, x)` as `(pair, 2, x)`, with zeros up to a number of pairs that so many devices divide."""
    count = math.prod(u.shape[:-1])
    pairs = math.ceil(count / (2 * parts)) * parts
    return resize(u.reshape(count, -1), -2, 2 * pairs).reshape(pairs, 2, -1)


def _from_pairs(pairs: Array, lead: tuple[int, ...]) -> Array:
    """Inverse of `_to_pairs`."""
    flat = pairs.reshape(-1, pairs.shape[-1])
    return resize(flat, -2, math.prod(lead)).reshape(*lead, -1)
