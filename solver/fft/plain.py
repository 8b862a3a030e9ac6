"""Transforms by one FFT where planes and blocks do not pay: of few points, and of pairs of real fields on a CPU."""

from __future__ import annotations

import math
from dataclasses import dataclass

import jax
import jax.numpy as jnp
from jaxtyping import Array

from solver.fft.local import AxisNames
from solver.fft.stages import extend, to_modes, to_points, transposed, truncate
from solver.fft.whole import WholeArrays, forward_of_lines, inverse_of_lines
from solver.grid.layout import Layout

MOST_POINTS = 2**12  # 16³ or 64²


def has_plain_transform(layout: Layout, on_cpu: bool, most_points: int) -> bool:
    """True if a grid of two or three dimensions has no more points than these, and is on one device of a CPU."""
    return on_cpu and layout.devices == 1 and layout.dimensions > 1 and math.prod(layout.points) <= most_points


@dataclass(frozen=True)
class PlainArrays(WholeArrays):
    """Transforms of whole arrays on one device, by one FFT call each. Nothing is sent.

    Where there are few points, XLA needs longer to compile a program than the program runs. So nothing is cut into
    blocks and no two planes share an FFT: a step of Navier–Stokes is 843 instructions instead of 2402. From about 32³
    points on the steps of blocks are faster by a third (benchmarks/startup.md).
    """

    def forward(self, u: Array, layout: Layout, axis_name: AxisNames, factor: float) -> Array:
        """FFT of all axes, then the modes that are kept. See `LocalTransform.forward`."""
        d = layout.dimensions
        u_hat = to_modes(u, layout, d)
        for axis in range(d):
            u_hat = truncate(u_hat, layout, axis, axis - d)
        return transposed(u_hat, layout.order) * factor

    def inverse(self, u_hat: Array, layout: Layout, axis_name: AxisNames, factor: float) -> Array:
        """Zeros where modes were dropped, then the FFT of all axes. See `LocalTransform.inverse`."""
        d = layout.dimensions
        u_hat = transposed(u_hat * (factor * math.prod(layout.points)), [layout.order.index(axis) for axis in range(d)])
        for axis in range(d):
            u_hat = extend(u_hat, layout, axis, axis - d)
        return to_points(u_hat, layout, d)


@dataclass(frozen=True)
class PairedArrays(PlainArrays):
    """Transforms of real fields `(…, 2, x, y)`, the last axis before the points of length two.

    Each pair takes one complex FFT. Where U and V are the modes of u and v, the modes of u + iv are U(k) + i V(k) and,
    at −k, conj U(k) + i conj V(k). That is half the work of two real FFTs, and less: XLA carries out an inverse real
    FFT on a CPU at half the speed of a forward complex one. So all FFTs here are forward ones.

    Nothing is sent but parts of lines (`forward_of_lines`).
    """

    def forward(self, u: Array, layout: Layout, axis_name: AxisNames, factor: float) -> Array:
        """FFT of u_0 + i u_1, and the modes of both. See `LocalTransform.forward`."""
        if layout.devices > 1:
            transform = lambda u, whole: self.forward(u, whole, None, factor)  # noqa: E731
            return forward_of_lines(transform, u, layout, axis_name, self.precision)
        d = layout.dimensions
        pair = -d - 1
        made = jax.lax.complex(*(jax.lax.index_in_dim(u, i, u.ndim + pair, keepdims=False) for i in range(2)))
        if d == 1:
            made = jnp.fft.fft(made)[..., None]
        else:
            made, kept = jnp.swapaxes(jnp.fft.fft2(made), -1, -2), layout.retained[0] // 2 + 1
            made = jnp.concatenate([made[..., :kept], made[..., layout.points[0] + 1 - kept :]], -1)
        made, kept = made * (0.5 * factor), layout.retained[-1]
        here = made[..., :kept, :]
        there = jnp.concatenate([made[..., :1, :], jnp.flip(made[..., made.shape[-2] + 1 - kept :, :], -2)], -2)
        there = _mirrored(there)
        first = jax.lax.complex(here.real + there.real, here.imag - there.imag)
        second = jax.lax.complex(here.imag + there.imag, there.real - here.real)
        return jnp.stack([first, second] if d == 2 else [first[..., 0], second[..., 0]], pair)

    def inverse(self, u_hat: Array, layout: Layout, axis_name: AxisNames, factor: float) -> Array:
        """FFT of the modes of u_0 + i u_1. See `LocalTransform.inverse`."""
        if layout.devices > 1:
            transform = lambda u_hat, whole: self.inverse(u_hat, whole, None, factor)  # noqa: E731
            return inverse_of_lines(transform, u_hat, layout, axis_name, self.precision)
        d = layout.dimensions
        pair, whole = -d - 1, u_hat if d == 2 else u_hat[..., None]
        u, v = (jax.lax.index_in_dim(whole, i, whole.ndim - 3, keepdims=False) * factor for i in range(2))
        here = jax.lax.complex(u.real + v.imag, v.real - u.imag)  # of FFTs of exp(−i k·x)
        there = _mirrored(jax.lax.complex(u.real - v.imag, u.imag + v.real))
        alone = 0.5 * (here[..., :1, :] + there[..., :1, :])  # of modes that are their own mirror
        gap = jnp.zeros((*here.shape[:-2], layout.points[-1] + 1 - 2 * here.shape[-2], here.shape[-1]), here.dtype)
        made = jnp.concatenate([alone, here[..., 1:, :], gap, jnp.flip(there[..., 1:, :], -2)], -2)
        if d == 1:
            made = jnp.fft.fft(made[..., 0])
        else:
            kept = made.shape[-1] // 2 + 1
            gap = jnp.zeros((*made.shape[:-1], layout.points[0] - made.shape[-1]), made.dtype)
            made = jnp.concatenate([made[..., :kept], gap, made[..., kept:]], -1)
            made = jnp.fft.fft2(jnp.swapaxes(made, -1, -2))
        return jnp.stack([made.real, made.imag], pair)


def has_paired_transform(layout: Layout, on_cpu: bool) -> bool:
    """True if pairs are transformed together: of real fields in one and two dimensions, dealiased, on CPUs that do not
    split planes."""
    is_small = layout.dimensions < 3 and (layout.devices == 1 or layout.many_lines)
    return on_cpu and is_small and layout.real and layout.dealias == "two-thirds"


def _mirrored(u_hat: Array) -> Array:
    """Coefficients at −k along the whole axis, whose order is 0, 1, …, −1."""
    return jnp.concatenate([u_hat[..., :1], jnp.flip(u_hat[..., 1:], -1)], -1)
