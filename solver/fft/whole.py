"""A device's part of a transform on whole arrays: local FFTs, pruning, and the exchanges in between.

Forward, in three dimensions, on a slab of x and on a pencil of x and y (P slabs, C pencils in each):

    slab    (…, x/P, y, z) ──FFT y z, keep ky kz──▶ (…, x/P, ky, kz)
                           ──exchange──▶ (…, ky/P, kz, x) ──FFT x, keep kx──▶ (…, ky/P, kz, kx)

    pencil  (…, x/P, y/C, z) ──FFT z, keep kz──▶ (…, x/P, y/C, kz)
                             ──exchange in the slab──▶ (…, x/P, kz/C, y) ──FFT y, keep ky──▶ (…, x/P, kz/C, ky)
                             ──exchange across slabs──▶ (…, ky/P, kz/C, x) ──FFT x, keep kx──▶ (…, ky/P, kz/C, kx)

Modes that are not retained are dropped as soon as their axis is transformed, so the exchange of slabs moves
16·Nx·Ky·Kz·(P-1)/P bytes in float64. Every FFT runs along the last, contiguous axes: XLA's kernels demand it.
Axes that the devices do not divide are padded: padding is cut off before an axis is transformed, whatever it holds,
and comes out as zeros. Without axis names the same steps act on a whole array.

On slabs FFT y z is one call where the sides are short, or powers of two, which cuFFT transforms in two passes.
Elsewhere it is FFT z, keep kz, FFT y, keep ky, as on pencils, and the sent array is `(…, x/P, kz, ky)`.

The inverse goes back the same way, one axis at a time, so that y is transformed for retained kz only. It is written for
GPUs, where every pass over memory counts. It consists of forward FFTs of conjugates, since XLA follows an inverse FFT
by a pass that scales; the last one, to real values, is complex and of half the length (`modes_of_pairs`). What is sent
keeps the order of its axes, so that XLA makes one kernel of each transposition and the zeros that are put in.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeAlias

import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array

from solver.fft.local import AxisNames, LocalTransform, mesh_names
from solver.fft.maxima import largest_of_devices, largest_on_device
from solver.fft.point_function import FieldFunctions
from solver.fft.stages import exchange, extend, fft, reorder, resize, table, to_modes, to_points, transposed, truncate
from solver.grid.layout import Layout

Step: TypeAlias = Callable[[Array], Array]
SHORT = 512  # points: of planes with longer sides that are no powers of two cuFFT needs 2.5 to 4.3 passes
OnLines: TypeAlias = Callable[[Array, Layout], Array]  # of pairs of whole lines `(pair, 2, x)`, and their layout


def forward_local(
    u: Array, layout: Layout, axis_name: AxisNames, factor: float | None = None, precision: str = "grid"
) -> Array:
    """Coefficients û(k) = f Σ_x u(x) exp(-i k·x) of this device's ky (and kz), from its block of points.

    For use inside a `shard_map` whose mesh axes split x (and y).

    Args:
        u: the block `(…, x, y, z)`; padded where `layout.padded_points` says so.
        layout: layout of the whole grid.
        axis_name: the mesh axis that splits x, or both that split x and y; None for a whole array.
        factor: f, 1/N if None.
        precision: precision of the numbers that are sent, one of `solver.fft.wire.PRECISIONS`.
    """
    scale = 1 / math.prod(layout.points) if factor is None else factor
    d = layout.dimensions
    if layout.many_lines and layout.slabs > 1:
        return forward_of_lines(lambda u, whole: forward_local(u, whole, None, scale), u, layout, axis_name, precision)
    if d == 1:
        return truncate(to_modes(u, layout, 1), layout, 0, -1) * scale
    if _in_one_call(layout):
        return transposed(to_modes(u, layout, d), layout.order) * scale
    return modes_of_lines(lines_of_planes(u, layout, axis_name, scale, precision), layout)


def inverse_local(
    u_hat: Array, layout: Layout, axis_name: AxisNames, factor: float = 1.0, precision: str = "grid"
) -> Array:
    """Field u(x) = f Σ_k û(k) exp(i k·x) on this device's block of points, from its ky (and kz)."""
    d = layout.dimensions
    if layout.many_lines and layout.slabs > 1:
        transform = lambda u, whole: inverse_local(u, whole, None, factor)  # noqa: E731
        return inverse_of_lines(transform, u_hat, layout, axis_name, precision)
    if d == 1:
        return to_points(extend(u_hat, layout, 0, -1) * (factor * layout.points[0]), layout, 1)
    if _in_one_call(layout) and not layout.real:
        in_space = transposed(jnp.conj(u_hat), [layout.order.index(axis) for axis in range(d)])
        return jnp.conj(fft(in_space, d)) * factor
    return planes_of_lines(lines_of_modes(u_hat, layout), layout, axis_name, factor, precision)


@dataclass(frozen=True)
class WholeArrays(LocalTransform):
    """Transforms step by step, each step on the whole block. For GPUs, for pencils, and for one dimension.

    Args:
        precision: precision of the numbers that are sent, one of `solver.fft.wire.PRECISIONS`.
    """

    precision: str = "grid"

    def forward(self, u: Array, layout: Layout, axis_name: AxisNames, factor: float) -> Array:
        """`forward_local`."""
        return forward_local(u, layout, axis_name, factor, self.precision)

    def inverse(self, u_hat: Array, layout: Layout, axis_name: AxisNames, factor: float) -> Array:
        """`inverse_local`."""
        return inverse_local(u_hat, layout, axis_name, factor, self.precision)

    def pointwise(
        self,
        u_hat: Array,
        functions: FieldFunctions,
        layout: Layout,
        axis_name: AxisNames,
        operands: Sequence[Array],
    ) -> list[Array]:
        """Inverse transform, the functions of all fields at all points, forward transform."""
        u = self.inverse(u_hat, layout, axis_name, 1.0)
        f_hat = self.forward(functions.fn(u, *operands), layout, axis_name, 1 / math.prod(layout.points))
        if functions.largest is None:
            return [f_hat]
        largest = largest_on_device(functions.largest(u, *operands), layout, axis_name)
        return [f_hat, largest_of_devices(largest, layout, axis_name)]


# ---- before and after the exchange: planes of x, which hold all y and z, and lines of x -------------------------


def together(step: Step, u: Array) -> Array:
    """The step on all fields together."""
    return step(u)


def lines_of_planes(
    u: Array,
    layout: Layout,
    axis_name: AxisNames,
    factor: float,
    precision: str,
    apply: Callable[[Step, Array], Array] = together,
) -> Array:
    """FFT y z of planes of x, and the exchange: lines of x `(…, x, ky/P, kz)`.

    On pencils, and where y and z are transformed one after the other, `(…, x, kz/C, ky/P)`.

    Args:
        u: planes `(…, x/P, y, z)`: all planes of this device, or the same part of the planes of every device.
        layout: layout of the whole grid.
        axis_name: as in `forward_local`.
        factor: number that multiplies the result.
        precision: precision of the numbers that are sent, one of `solver.fft.wire.PRECISIONS`.
        apply: `apply(step, u)` takes the fields through a step, all together or one after the other. The fields share
            the exchange in any case.
    """
    slab, pencil = mesh_names(axis_name, layout)
    d = layout.dimensions
    send = partial(exchange, dimensions=d, precision=precision)

    def of_planes(u: Array) -> Array:
        u_hat = to_modes(u, layout, d - 1)
        for axis in range(1, d):
            u_hat = truncate(u_hat, layout, axis, axis - d)
        return resize(u_hat, 1 - d, layout.spectral_shape[0]) * factor

    def along_z(u: Array) -> Array:
        return resize(truncate(to_modes(u, layout, 1), layout, 2, -1), -1, layout.spectral_shape[1])

    def along_y(u_hat: Array) -> Array:
        u_hat = fft(reorder(resize(u_hat, -2, layout.points[1]), (-3, -1, -2)))
        return resize(truncate(u_hat, layout, 1, -1), -1, layout.spectral_shape[0]) * factor

    if _planes_in_one_call(layout):
        return send(apply(of_planes, u), slab, layout.slabs, split_axis=1 - d, concat_axis=-d)
    if pencil is None:
        u_hat = apply(lambda u: along_y(along_z(u)), u)
        return send(u_hat, slab, layout.slabs, split_axis=-1, concat_axis=-3)
    u_hat = send(apply(along_z, u), pencil, layout.pencils, split_axis=-1, concat_axis=-2)
    return send(apply(along_y, u_hat), slab, layout.slabs, split_axis=-1, concat_axis=-3)


def modes_of_lines(lines: Array, layout: Layout) -> Array:
    """FFT x of lines as `lines_of_planes` returns them: coefficients."""
    d = layout.dimensions
    order: tuple[int, ...] = (-1, -2) if d == 2 else (-2, -1, -3) if _planes_in_one_call(layout) else (-1, -2, -3)
    return truncate(fft(reorder(resize(lines, -d, layout.points[0]), order)), layout, 0, -1, gather=True)


def lines_of_modes(u_hat: Array, layout: Layout) -> Array:
    """FFT x of conjugate coefficients: lines of x `(…, ky/P, kz, x)`, with pencils `(…, ky/P, kz/C, x)`."""
    # Σ û exp(i k·x) is the conjugate of Σ conj(û) exp(−i k·x): inverse FFTs on GPUs come with a pass that scales
    u = jnp.conj(u_hat)
    if _in_one_call(layout):
        in_space = transposed(u, [layout.order.index(axis) for axis in range(layout.dimensions)])
        # in the order of memory: one pass less
        u = reorder(in_space, tuple(axis - layout.dimensions for axis in layout.order))
    return resize(fft(extend(u, layout, 0, -1)), -1, layout.padded_points[0])


def planes_of_lines(
    lines: Array,
    layout: Layout,
    axis_name: AxisNames,
    factor: float,
    precision: str,
    apply: Callable[[Step, Array], Array] = together,
) -> Array:
    """The exchange of lines as `lines_of_modes` returns them, and FFT y z: the field on planes of x, times `factor`.

    The lines may hold a part of the planes of x, the same part of every device's. `precision` and `apply` are as in
    `lines_of_planes`.
    """
    slab, pencil = mesh_names(axis_name, layout)
    d = layout.dimensions
    send = partial(exchange, dimensions=d, precision=precision)
    all_modes = d == 3 and not layout.real and layout.pencils == 1  # along z: FFTs y z are then one call
    order: tuple[int, ...] = (-1, -2) if d == 2 else (-1, -3, -2) if all_modes else (-3, -1, -2)

    def with_zeros(u: Array) -> Array:
        u = extend(resize(u, -d, layout.retained[1]), layout, 1, -d)
        return extend(u, layout, 2, -2) if all_modes else u

    def along_y(u: Array) -> Array:
        return resize(fft(reorder(with_zeros(u), (-1, -2, -3))), -1, layout.padded_points[1])

    def to_field(u: Array) -> Array:
        if d == 3 and not all_modes:
            u = extend(resize(u, -2, layout.retained[2]), layout, 2, -2)
        if layout.real and layout.points[-1] % 2 == 0:
            return points_of_pairs(fft(reorder(modes_of_pairs(u * factor), order)))
        if layout.real:  # which divides by the number of points
            return to_points(reorder(jnp.conj(u) * (factor * layout.points[-1]), order), layout, 1)
        return jnp.conj(fft(reorder(u, order), 2 if all_modes else 1)) * factor

    u = send(lines, slab, layout.slabs, split_axis=-1, concat_axis=-d)
    if d == 2 or all_modes:
        return apply(lambda u: to_field(with_zeros(u)), u)
    if pencil is None:
        return apply(lambda u: to_field(along_y(u)), u)
    return apply(to_field, send(apply(along_y, u), pencil, layout.pencils, split_axis=-1, concat_axis=-2))


def _in_one_call(layout: Layout) -> bool:
    """True if one FFT call transforms all axes: on one device that keeps all modes nothing is done between the axes."""
    return layout.devices == 1 and layout.dealias == "none"


def _planes_in_one_call(layout: Layout) -> bool:
    """True if one FFT call transforms planes of x: in two dimensions they have one axis, on pencils they are split.

    Measured on an H100 (benchmarks/gpu.md, "Passes of FFTs over memory").
    """
    quick = all(n <= SHORT or n & (n - 1) == 0 for n in layout.points[1:])
    return layout.dimensions == 2 or (layout.pencils == 1 and quick)


def modes_of_pairs(modes: Array) -> Array:
    """Conjugates of Z_0, …, Z_M−1 along the axis before the last, from the conjugates of U_0, …, U_M.

    Neighbouring points of a line of N make one complex number, z_j = u_2j + i u_2j+1, so that a complex FFT of N/2
    gives real values. With M = N/2 and w = exp(2πi/N) the modes of z are

        Z_k = (U_k + conj U_M−k) + i wᵏ (U_k − conj U_M−k),    k = 0, …, M − 1

    (Press et al., Numerical Recipes, section 12.3). On a GPU that is less work than an inverse real FFT: cuFFT's
    destroys its operand, so that XLA copies it first, and XLA scales the result in a pass of its own. The sums above
    become part of the kernel that writes the array to transform, and `points_of_pairs` takes the two parts where the
    values are read.

    Both choose by products with tables of zeros and ones. XLA would join parts in a kernel of their own; and it works a
    comparison of indices out once, and then merges the kernels that read the result, of one wave of planes and of the
    next, so that none could overlap an exchange.

    As in every transform to real values, the imaginary parts of U_0 and U_M count as zero.
    """
    m = modes.shape[-2] - 1
    k = np.arange(m)[:, None]
    low, high = modes[..., :m, :], jnp.conj(jnp.flip(modes[..., 1:, :], -2))
    counts = table((k > 0).astype(modes.real.dtype))
    low, high = (lax.complex(part.real, part.imag * counts) for part in (low, high))
    turn = table((-1j * np.exp(-1j * np.pi * k / m)).astype(modes.dtype))
    return low + high + turn * (low - high)


def points_of_pairs(pairs: Array) -> Array:
    """u along the last axis, from the conjugates of z."""
    turned = pairs[..., None] * table(np.asarray([1, 1j], pairs.dtype))  # whose real parts are u_2j and u_2j+1
    return turned.real.reshape(*pairs.shape[:-1], -1)


def forward_of_lines(transform: OnLines, u: Array, layout: Layout, axis_name: AxisNames, precision: str) -> Array:
    """Coefficients of a device's kx from its points: exchange, transform of whole lines, exchange.

    Each device transforms whole lines of some fields:

        points (f, x/P) ──exchange──▶ (f/P, x) ──FFT x, keep kx──▶ (f/P, kx) ──exchange──▶ (f, kx/P) modes

    Fields go two by two, and real values of two as one complex number. Their number is padded with zeros to what the
    devices divide.
    """
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
