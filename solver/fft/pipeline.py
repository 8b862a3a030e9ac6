"""What one device does in a transform: local FFTs, pruning, and the exchanges in between.

Forward, in three dimensions, on a slab of x and on a pencil of x and y (P slabs, C pencils in each):

    slab    (…, x/P, y, z) ──FFT y z, keep ky kz──▶ (…, x/P, ky, kz)
                           ──exchange──▶ (…, ky/P, kz, x) ──FFT x, keep kx──▶ (…, ky/P, kz, kx)

    pencil  (…, x/P, y/C, z) ──FFT z, keep kz──▶ (…, x/P, y/C, kz)
                             ──exchange in the slab──▶ (…, x/P, kz/C, y) ──FFT y, keep ky──▶ (…, x/P, kz/C, ky)
                             ──exchange across slabs──▶ (…, ky/P, kz/C, x) ──FFT x, keep kx──▶ (…, ky/P, kz/C, kx)

Modes that are not retained are dropped as soon as their axis is transformed, so the exchange of slabs moves
16·Nx·Ky·Kz·(P-1)/P bytes in float64. Every FFT runs along the last, contiguous axes: XLA's kernels demand it.
Axes that the devices do not divide are padded: padding is cut off before an axis is transformed, whatever it holds,
and comes out as zeros. The inverse goes back the same way. Without axis names the same steps act on a whole array.
"""

from __future__ import annotations

import math
from typing import TypeAlias

from jaxtyping import Array

from solver.fft.stages import exchange, extend, fft, resize, to_modes, to_points, truncate, unscaled_ifft
from solver.grid.layout import Layout

AxisNames: TypeAlias = str | tuple[str, ...] | None  # mesh axes that split x (and y); None: the array is whole


def forward_local(u: Array, layout: Layout, axis_name: AxisNames, factor: float | None = None) -> Array:
    """Coefficients û(k) = f Σ_x u(x) exp(-i k·x) of this device's ky (and kz), from its block of points.

    For use inside a `shard_map` whose mesh axes split x (and y).

    Args:
        u: the block `(…, x, y, z)`; padded where `layout.padded_points` says so.
        layout: of the whole grid.
        axis_name: the mesh axis that splits x, or both that split x and y; None for a whole array.
        factor: f, 1/N if None.
    """
    slab, pencil = mesh_names(axis_name, layout)
    scale = 1 / math.prod(layout.points) if factor is None else factor
    if layout.dimensions == 1:
        return truncate(to_modes(u, layout, 1), layout, 0, -1) * scale
    if layout.dimensions == 2:
        u_hat = truncate(to_modes(u, layout, 1), layout, 1, -1)
        u_hat = resize(u_hat, -1, layout.spectral_shape[0]) * scale
        u_hat = exchange(u_hat, slab, layout.slabs, cut=-1, join=-2, order=(-1, -2))
    elif layout.pencils == 1:
        u_hat = truncate(truncate(to_modes(u, layout, 2), layout, 2, -1), layout, 1, -2)
        u_hat = resize(u_hat, -2, layout.spectral_shape[0]) * scale
        u_hat = exchange(u_hat, slab, layout.slabs, cut=-2, join=-3, order=(-2, -1, -3))
    else:
        u_hat = truncate(to_modes(u, layout, 1), layout, 2, -1)
        u_hat = resize(u_hat, -1, layout.spectral_shape[1])
        u_hat = exchange(u_hat, pencil, layout.pencils, cut=-1, join=-2, order=(-3, -1, -2))
        u_hat = truncate(fft(resize(u_hat, -1, layout.points[1])), layout, 1, -1)
        u_hat = resize(u_hat, -1, layout.spectral_shape[0]) * scale
        u_hat = exchange(u_hat, slab, layout.slabs, cut=-1, join=-3, order=(-1, -2, -3))
    return truncate(fft(resize(u_hat, -1, layout.points[0])), layout, 0, -1)


def inverse_local(u_hat: Array, layout: Layout, axis_name: AxisNames, factor: float = 1.0) -> Array:
    """Field u(x) = f Σ_k û(k) exp(i k·x) on this device's block of points, from its ky (and kz)."""
    slab, pencil = mesh_names(axis_name, layout)
    if layout.dimensions == 1:
        return to_points(extend(u_hat, layout, 0, -1) * (factor * layout.points[0]), layout, 1)
    u = resize(unscaled_ifft(extend(u_hat, layout, 0, -1)), -1, layout.padded_points[0])
    if layout.dimensions == 2:
        u = exchange(u * (factor * layout.points[1]), slab, layout.slabs, cut=-1, join=-2, order=(-1, -2))
        return to_points(extend(resize(u, -1, layout.retained[1]), layout, 1, -1), layout, 1)
    if layout.pencils == 1:
        scale = factor * math.prod(layout.points[1:])  # to_points divides by their product
        u = exchange(u * scale, slab, layout.slabs, cut=-1, join=-3, order=(-1, -3, -2))
        u = extend(resize(u, -2, layout.retained[1]), layout, 1, -2)
        return to_points(extend(u, layout, 2, -1), layout, 2)
    u = exchange(u * (factor * layout.points[2]), slab, layout.slabs, cut=-1, join=-3, order=(-1, -2, -3))
    u = unscaled_ifft(extend(resize(u, -1, layout.retained[1]), layout, 1, -1))
    u = exchange(resize(u, -1, layout.padded_points[1]), pencil, layout.pencils, cut=-1, join=-2, order=(-3, -1, -2))
    return to_points(extend(resize(u, -1, layout.retained[2]), layout, 2, -1), layout, 1)


def mesh_names(axis_name: AxisNames, layout: Layout) -> tuple[str | None, str | None]:
    """Names of the mesh axes that split x and y.

    Raises:
        ValueError: fewer names than axes that the layout splits.
    """
    if axis_name is None:
        return None, None
    names = (axis_name,) if isinstance(axis_name, str) else tuple(axis_name)
    if len(names) == 1 and layout.pencils == 1:
        return names[0], None
    if len(names) != 2:
        raise ValueError(f"mesh axes {list(names)} for a layout split {layout.slabs} × {layout.pencils}: name two")
    return names[0], names[1]
