"""Transforms of many fields along one axis that is split over devices: each transforms whole lines of some fields.

    points (f, x/P) ──exchange──▶ (f/P, x) ──FFT x, keep kx──▶ (f/P, kx) ──exchange──▶ (f, kx/P) modes

Fields go two by two, and real values of two as one complex number. Their number is padded with zeros to what the
devices divide.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import partial

import jax.numpy as jnp
from jax import lax
from jaxtyping import Array

from solver.fft.local import AxisNames, LocalTransform, mesh_names
from solver.fft.stages import exchange, resize
from solver.fft.whole import WholeArrays
from solver.grid.layout import Layout


@dataclass(frozen=True)
class ManyLines(WholeArrays):
    """Transforms of fields along a line, in two exchanges.

    Args:
        precision: precision of the numbers that are sent, one of `solver.fft.wire.PRECISIONS`.
        single: the transform of whole lines on one device.
    """

    single: LocalTransform = field(default_factory=WholeArrays)

    def forward(self, u: Array, layout: Layout, axis_name: AxisNames, factor: float) -> Array:
        """Exchange, FFT of whole lines, exchange. See `LocalTransform.forward`."""
        pairs = _to_pairs(u, layout.slabs)
        lines = resize(self._send(pairs, layout, axis_name, to_lines=True), -1, layout.points[0])
        modes = self.single.forward(lines, replace(layout, slabs=1), None, factor)
        modes = self._send(resize(modes, -1, layout.spectral_shape[0]), layout, axis_name, to_lines=False)
        return _from_pairs(modes, u.shape[:-1])

    def inverse(self, u_hat: Array, layout: Layout, axis_name: AxisNames, factor: float) -> Array:
        """The same back. See `LocalTransform.inverse`."""
        pairs = _to_pairs(u_hat, layout.slabs)
        modes = resize(self._send(pairs, layout, axis_name, to_lines=True), -1, layout.retained[0])
        lines = self.single.inverse(modes, replace(layout, slabs=1), None, factor)
        lines = self._send(resize(lines, -1, layout.padded_points[0]), layout, axis_name, to_lines=False)
        return _from_pairs(lines, u_hat.shape[:-1])

    def _send(self, pairs: Array, layout: Layout, axis_name: AxisNames, *, to_lines: bool) -> Array:
        """Exchange of pairs `(pair, 2, x)`: a part of each line for whole lines, or back."""
        name, _ = mesh_names(axis_name, layout)
        send = partial(
            exchange, name=name, parts=layout.slabs, split_axis=-3 if to_lines else -1,
            concat_axis=-1 if to_lines else -3, dimensions=1, precision=self.precision,
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
