"""The distributed transform as one JAX operation: partitioned, batched and differentiated as a whole.

`custom_partitioning` tells XLA how the operation is split over devices, but has no rules for `vmap` or gradients;
two primitives carry those. Both transforms are linear, so each one's transpose is the other, up to the weights of
the half spectrum: a coefficient that also stands for its conjugate counts twice.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax._src import dispatch  # the registry of operations that need to know their devices has no public name
from jax.core import ShapedArray
from jax.experimental.custom_partitioning import custom_partitioning
from jax.extend.core import Primitive
from jax.interpreters import ad, batching, mlir
from jaxtyping import Array

from solver.fft.pipeline import forward_local, inverse_local
from solver.grid.layout import Layout
from solver.mesh import SLAB, AnyMesh, slab_sharding

forward_p = Primitive("slabwave_forward")
inverse_p = Primitive("slabwave_inverse")

# Shardy's rule: no output axis follows from an input axis, the callback places both sides
RULES = {2: "... x y -> ... k v", 3: "... x y z -> ... k w v"}


def forward(u: Array, layout: Layout, mesh: AnyMesh) -> Array:
    """Coefficients of `u`; see `solver.fft.Transform`."""
    refuse_inside_shard_map()
    return _apply(forward_p, u, layout, mesh)


def inverse(u_hat: Array, layout: Layout, mesh: AnyMesh) -> Array:
    """Field with the coefficients `u_hat`; see `solver.fft.Transform`."""
    refuse_inside_shard_map()
    return _apply(inverse_p, u_hat, layout, mesh)


def _apply(primitive: Primitive, u: Array, layout: Layout, mesh: AnyMesh) -> Array:
    """The primitive, with both sides pinned to their slabs.

    Unpinned, Shardy leaves the result replicated and gathers it; and `jit` cannot see the devices that a primitive
    needs inside.
    """
    pin = lambda v: jax.lax.with_sharding_constraint(v, slab_sharding(mesh, v.ndim, layout.dimensions))  # noqa: E731
    return pin(primitive.bind(pin(u), layout=layout, mesh=mesh))


def refuse_inside_shard_map() -> None:
    """Raises ValueError inside a manual region, where the operation would silently transform each block alone."""
    if SLAB in getattr(jax.sharding.get_abstract_mesh(), "manual_axes", ()):
        raise ValueError(
            f"a global transform was called inside a shard_map over {SLAB!r}, on one device's block; "
            "call it outside, or use solver.fft.forward_local / inverse_local inside"
        )


# ---- shapes ---------------------------------------------------------------------------------------------------


def _complex(dtype: Any) -> np.dtype:
    return np.result_type(dtype, np.complex64)


def _real(dtype: Any) -> np.dtype:
    return np.empty(0, dtype).real.dtype


@forward_p.def_abstract_eval
def _forward_shape(u: ShapedArray, *, layout: Layout, mesh: AnyMesh) -> ShapedArray:
    return ShapedArray((*u.shape[: u.ndim - layout.dimensions], *layout.spectral_shape), _complex(u.dtype))


@inverse_p.def_abstract_eval
def _inverse_shape(u_hat: ShapedArray, *, layout: Layout, mesh: AnyMesh) -> ShapedArray:
    dtype = _real(u_hat.dtype) if layout.real else u_hat.dtype
    return ShapedArray((*u_hat.shape[: u_hat.ndim - layout.dimensions], *layout.points), dtype)


# ---- partitioning ---------------------------------------------------------------------------------------------


def _partitioned(local: Callable[..., Array], layout: Layout, ndim: int) -> Callable[[Array], Array]:
    """`local` as an operation on global arrays."""
    whole = lambda u: local(u, layout, None)  # noqa: E731
    split = lambda on: slab_sharding(on, ndim, layout.dimensions)  # noqa: E731
    if layout.slabs == 1:
        return whole
    operation = custom_partitioning(whole)

    def partition(on: Any, operands: Any, result: Any) -> Any:
        return on, lambda u: local(u, layout, SLAB), split(on), (split(on),)

    operation.def_partition(
        partition=partition,
        infer_sharding_from_operands=lambda on, operands, result: split(on),
        sharding_rule=RULES[layout.dimensions],
    )
    return operation


def _lower(local: Callable[..., Array]) -> Callable[..., Any]:
    def traced(u: Array, *, layout: Layout, mesh: AnyMesh) -> Array:
        return _partitioned(local, layout, u.ndim)(u)

    return mlir.lower_fun(traced, multiple_results=False)


@functools.cache
def _compiled(primitive: Primitive, layout: Layout, mesh: AnyMesh) -> Callable[[Array], Array]:
    """For calls outside of `jit`."""
    return jax.jit(lambda u: _apply(primitive, u, layout, mesh))


def _register(primitive: Primitive, local: Callable[..., Array], transpose: Callable[..., Any]) -> None:
    primitive.def_impl(lambda u, *, layout, mesh: _compiled(primitive, layout, mesh)(u))
    dispatch.prim_requires_devices_during_lowering.add(primitive)
    mlir.register_lowering(primitive, _lower(local))
    ad.deflinear2(primitive, transpose)

    def batch(operands: Any, axes: Any, *, layout: Layout, mesh: AnyMesh) -> tuple[Array, int]:
        moved = jnp.moveaxis(operands[0], axes[0], 0)
        return primitive.bind(moved, layout=layout, mesh=mesh), 0

    batching.primitive_batchers[primitive] = batch


# ---- gradients ------------------------------------------------------------------------------------------------


def _weights(layout: Layout) -> np.ndarray:
    """How often each stored mode of a half spectrum counts, as a vector along its place in spectral arrays."""
    axis = layout.dimensions - 1
    twice = layout.half_axis_weights()
    position = layout.order.index(axis)
    shape = [1] * layout.dimensions
    shape[position] = layout.spectral_shape[position]
    return np.concatenate([twice, np.ones(shape[position] - len(twice))]).reshape(shape)


def _forward_transpose(ct: Any, u: Any, *, layout: Layout, mesh: AnyMesh) -> list[Any]:
    """Σ over stored k of c(k) exp(-i k·x)/N: the inverse of conj(c), which counts each mode `weights` times."""
    if type(ct) is ad.Zero:
        return [ad.Zero(u.aval)]
    scale = 1 / math.prod(layout.points)
    if layout.real:
        weights = (scale / _weights(layout)).astype(_real(ct.dtype))
        return [_apply(inverse_p, jnp.conj(ct) * weights, layout, mesh)]
    return [jnp.conj(_apply(inverse_p, jnp.conj(ct), layout, mesh)) * scale]


def _inverse_transpose(ct: Any, u_hat: Any, *, layout: Layout, mesh: AnyMesh) -> list[Any]:
    """JAX's convention for a real function of complex coefficients: conj of N · weights · forward(ct)."""
    if type(ct) is ad.Zero:
        return [ad.Zero(u_hat.aval)]
    scale = math.prod(layout.points)
    if layout.real:
        weights = (scale * _weights(layout)).astype(ct.dtype)
        return [jnp.conj(_apply(forward_p, ct, layout, mesh)) * weights]
    return [jnp.conj(_apply(forward_p, jnp.conj(ct), layout, mesh)) * scale]


_register(forward_p, forward_local, _forward_transpose)
_register(inverse_p, inverse_local, _inverse_transpose)
