"""Transforms bound to a grid, and free functions with NumPy's names."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh
from jaxtyping import Array

from solver.fft import primitive
from solver.grid import Grid, Layout
from solver.mesh import device_mesh, slab_count

AnyArray: TypeAlias = Array | np.ndarray


@dataclass(frozen=True)
class Transform:
    """Distributed Fourier transform on a grid: û(k) = (1/N) Σ_x u(x) exp(-i k·x), u(x) = Σ_k û(k) exp(i k·x).

    Only the modes that the grid retains are computed and exchanged. Any leading axes are batched: however many
    fields go in, one transform costs one all-to-all, and never an all-gather. Works under `jit`, `vmap`, `grad`,
    `jvp` and `lax` control flow, on global arrays; an input that lies otherwise is moved first.

    Args:
        grid: supplies shapes, retained modes, real or complex fields, and the device mesh.
    """

    grid: Grid

    def forward(self, u: AnyArray) -> Array:
        """Coefficients `(..., *grid.spectral_shape)` of fields `(..., *grid.physical_shape)`.

        Raises:
            ValueError: another shape, or complex input on a grid for real fields.
        """
        grid = self.grid
        primitive.refuse_inside_shard_map()
        _check_shape("a field", u.shape, grid.physical_shape)
        if grid.real and jnp.iscomplexobj(u):
            raise ValueError(f"a field of dtype {u.dtype} on a grid for real fields; make the grid with real=False")
        return primitive.forward(jnp.asarray(u, grid.physical_dtype), grid.layout, grid.mesh)

    def inverse(self, u_hat: AnyArray) -> Array:
        """Fields `(..., *grid.physical_shape)` with coefficients `(..., *grid.spectral_shape)`.

        On a grid for real fields the imaginary part that modes on the plane k = 0 of the half axis would give is
        dropped, as `numpy.fft.irfftn` does.

        Raises:
            ValueError: another shape.
        """
        grid = self.grid
        primitive.refuse_inside_shard_map()
        _check_shape("coefficients", u_hat.shape, grid.spectral_shape)
        return primitive.inverse(jnp.asarray(u_hat, grid.complex_dtype), grid.layout, grid.mesh)


def _check_shape(what: str, given: Sequence[int], needed: tuple[int, ...]) -> None:
    if tuple(given[-len(needed) :]) != needed:
        raise ValueError(f"{what} of shape {list(given)} on a grid that needs the last axes to be {list(needed)}")


# ---- NumPy's names ----------------------------------------------------------------------------------------------


def rfftn(u: AnyArray, *, dimensions: int | None = None, mesh: Mesh | None = None, norm: str | None = None) -> Array:
    """All modes of real fields, as `numpy.fft.rfftn` over the last `dimensions` axes, in the transposed layout.

    Args:
        u: real fields `(..., x, y, z)` or `(..., x, y)`.
        dimensions: how many last axes are in space; all (at most 3) if None.
        mesh: all devices by default; x and ky must be multiples of their number here (grids pad instead).
        norm: `backward` (default), `ortho` or `forward`, as in NumPy.

    Returns:
        `(..., ky, kz, kx)` with kz the half axis, or `(..., ky, kx)` with ky the half axis; split along ky.
        Equals `numpy.fft.rfftn` with its axes moved. One all-to-all.

    Raises:
        ValueError: shapes that the devices cannot split, or an unknown norm.
    """
    layout, mesh = _free_layout(u.shape, dimensions, mesh, real=True)
    return primitive.forward(jnp.asarray(u), layout, mesh) * _forward_factor(norm, layout)


def irfftn(u_hat: AnyArray, shape: Sequence[int], *, mesh: Mesh | None = None, norm: str | None = None) -> Array:
    """Inverse of `rfftn`; `shape` is the shape of the field, whose last side the half spectrum does not tell."""
    layout, mesh = _free_layout(shape, None, mesh, real=True)
    _check_shape("coefficients", u_hat.shape, layout.spectral_shape)
    return primitive.inverse(jnp.asarray(u_hat), layout, mesh) / _forward_factor(norm, layout)


def fftn(u: AnyArray, *, dimensions: int | None = None, mesh: Mesh | None = None, norm: str | None = None) -> Array:
    """All modes of complex fields, as `numpy.fft.fftn`, in the transposed layout `(..., ky, kz, kx)`. See `rfftn`."""
    layout, mesh = _free_layout(u.shape, dimensions, mesh, real=False)
    return primitive.forward(jnp.asarray(u, jnp.result_type(u, jnp.complex64)), layout, mesh) * _forward_factor(
        norm, layout
    )


def ifftn(
    u_hat: AnyArray, *, dimensions: int | None = None, mesh: Mesh | None = None, norm: str | None = None
) -> Array:
    """Inverse of `fftn`: from `(..., ky, kz, kx)` to `(..., x, y, z)`."""
    d = min(u_hat.ndim, 3) if dimensions is None else dimensions
    stored = u_hat.shape[-d:]
    layout, mesh = _free_layout((stored[-1], *stored[:-1]), None, mesh, real=False)
    return primitive.inverse(jnp.asarray(u_hat), layout, mesh) / _forward_factor(norm, layout)


def _free_layout(shape: Sequence[int], dimensions: int | None, mesh: Mesh | None, *, real: bool) -> tuple[Layout, Mesh]:
    mesh = device_mesh() if mesh is None else mesh
    d = min(len(shape), 3) if dimensions is None else dimensions
    layout = Layout(tuple(shape[len(shape) - d :]), "none", real, slab_count(mesh))
    if layout.spectral_shape != layout.logical_spectral_shape:
        raise ValueError(
            f"{layout.slabs} devices cannot split the {layout.retained[layout.order[0]]} modes ky of "
            f"{list(layout.shape)} evenly; use a multiple, or solver.fft.Transform(grid), which pads"
        )
    return layout, mesh


def _forward_factor(norm: str | None, layout: Layout) -> float:
    """What turns the 1/N of the primitive into NumPy's normalisation."""
    n = math.prod(layout.points)
    factors = {None: float(n), "backward": float(n), "ortho": math.sqrt(n), "forward": 1.0}
    if norm not in factors:
        raise ValueError(f"norm {norm!r}: backward, ortho or forward is needed")
    return factors[norm]
