"""The engine `jaxdecomp`: the jaxdecomp library's complex transform of all modes, truncated to the retained ones."""

from __future__ import annotations

import importlib.util

import jax
import jax.numpy as jnp
from jaxtyping import Array

from solver.fft.stages import extend, fit, resize, truncate
from solver.grid.layout import Layout
from solver.mesh import PENCIL, SLAB, AnyMesh, is_explicit, padded_sharding


def check_jaxdecomp(layout: Layout, mesh: AnyMesh, backend: str) -> None:
    """Raises ValueError where the library is missing or cannot transform this layout on this mesh."""
    if importlib.util.find_spec("jaxdecomp") is None:
        raise ValueError("engine 'jaxdecomp' needs the package: pip install jaxdecomp")
    if backend not in ("jax", "cudecomp"):
        raise ValueError(f"backend {backend!r} of jaxdecomp: jax or cudecomp is needed")
    if layout.dimensions != 3:
        raise ValueError(f"engine 'jaxdecomp' on the grid {list(layout.shape)}: it transforms three dimensions only")
    if PENCIL not in mesh.shape:
        raise ValueError(
            f"engine 'jaxdecomp' on a mesh with one axis: it expects two; device_mesh(shape=({layout.slabs}, 1)) "
            "gives the same slabs"
        )
    if is_explicit(mesh):
        raise ValueError("engine 'jaxdecomp' on a mesh with Explicit axes: it needs Auto ones")
    x, y, z = layout.points
    uneven = [n for n in ((x, z) if layout.pencils == 1 else (x, y)) if n % layout.slabs]
    uneven += [n for n in (y, z) if n % layout.pencils]
    if uneven:
        raise ValueError(
            f"engine 'jaxdecomp' on {layout.slabs} × {layout.pencils} devices and {list(layout.points)} points: "
            f"it must divide {uneven}; the engine 'slabwave' pads"
        )


def transform_by_jaxdecomp(u: Array, *, is_forward: bool, layout: Layout, mesh: AnyMesh, backend: str) -> Array:
    """The transform, without a factor, of fields one after the other.

    Args:
        u: fields `(…, x, y, z)` or coefficients `(…, ky, kz, kx)`, global.
        is_forward: from fields to coefficients, times 1/N, or back.
        layout: layout of the grid.
        mesh: over which arrays are split.
        backend: name of jaxdecomp's backend.
    """
    import jaxdecomp  # importing it configures its library: only where it is asked for

    fields = u.reshape(-1, *u.shape[-3:])
    pin = lambda v: jax.lax.with_sharding_constraint(v, padded_sharding(mesh, v.ndim, 3))  # noqa: E731
    modes_sharding = jax.NamedSharding(mesh, _modes_spec(layout))
    pin_modes = lambda v: jax.lax.with_sharding_constraint(v, modes_sharding)  # noqa: E731
    if is_forward:
        points = [pin(v.astype(jnp.result_type(u.dtype, jnp.complex64))) for v in fields]
        modes = [pin_modes(jaxdecomp.fft.pfft3d(v, norm="forward", backend=backend)) for v in points]
        results = jnp.stack([_retained_modes(v, layout) for v in modes])
    else:
        modes = [pin_modes(_all_modes(v, layout)) for v in fields]
        results = jnp.stack([pin(jaxdecomp.fft.pifft3d(v, norm="forward", backend=backend)) for v in modes])
        results = results.real if layout.real else results
    return results.reshape(*u.shape[:-3], *results.shape[1:])


def _modes_spec(layout: Layout) -> jax.P:
    """The axes along which jaxdecomp splits the modes (y, z, x) that it returns: slabs along z, not y as a layout."""
    if layout.pencils == 1:
        return jax.P(PENCIL, SLAB)
    return jax.P(SLAB, PENCIL) if layout.slabs > 1 else jax.P(None, PENCIL, SLAB)


def _retained_modes(modes: Array, layout: Layout) -> Array:
    """The modes that the layout retains, with its padding, from all modes (y, z, x)."""
    if layout.real:
        modes = modes[:, : layout.points[2] // 2 + 1]
    for array_axis, axis in zip((-3, -2, -1), layout.order, strict=True):
        modes = truncate(modes, layout, axis, array_axis)
    return fit(modes, layout.spectral_shape)


def _all_modes(u_hat: Array, layout: Layout) -> Array:
    """All modes (y, z, x) of a complex transform whose real part is the field.

    A stored mode of a half spectrum that also represents its conjugate is counted twice.
    """
    u_hat = fit(u_hat, layout.logical_spectral_shape)
    if layout.real:
        weights = layout.half_axis_weights().astype(u_hat.real.dtype)
        u_hat = u_hat * weights[:, None]
    for array_axis, axis in zip((-3, -2, -1), layout.order, strict=True):
        u_hat = extend(u_hat, layout, axis, array_axis)
    return resize(u_hat, -2, layout.points[2])
