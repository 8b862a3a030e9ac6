"""The distributed transforms as two JAX primitives: partitioned, batched and differentiated as a whole.

Both transforms are linear, so the transpose of each is the other one, up to the weights of the half spectrum: a
coefficient that also represents its conjugate counts twice.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import ShapedArray
from jax.extend.core import Primitive
from jax.interpreters import ad
from jaxtyping import Array

from solver.fft.lowering import bind, compiled, refuse_inside_shard_map, refuse_other_explicit_mesh, register, to_mesh
from solver.fft.method import Method
from solver.fft.operations import transform_operation
from solver.fft.stages import AnyArray, fit, real_dtype
from solver.grid.layout import Layout
from solver.mesh import AnyMesh, on_gpu, over_auto_axes, unpadded_sharding

forward_p = Primitive("slabwave_forward")
inverse_p = Primitive("slabwave_inverse")


def forward(u: AnyArray, layout: Layout, mesh: AnyMesh, method: Method, factor: float, padded: bool = True) -> Array:
    """factor · Σ_x u(x) exp(-i k·x); `padded` says whether coefficients have the layout's padding."""
    return _apply(forward_p, u, layout, mesh, method, factor, padded)


def inverse(
    u_hat: AnyArray, layout: Layout, mesh: AnyMesh, method: Method, factor: float, padded: bool = True
) -> Array:
    """factor · Σ_k û(k) exp(i k·x); `padded` says whether coefficients have the layout's padding."""
    return _apply(inverse_p, u_hat, layout, mesh, method, factor, padded)


def _apply(
    primitive: Primitive, u: AnyArray, layout: Layout, mesh: AnyMesh, method: Method, factor: float, padded: bool
) -> Array:
    """The transform, compiled here where u is not being traced."""
    refuse_inside_shard_map()
    refuse_other_explicit_mesh(u, mesh)
    options = {"primitive": primitive, "layout": layout, "mesh": mesh, "method": method, "factor": factor}
    if isinstance(u, jax.core.Tracer):
        return transform_traced(u, **options, padded=padded)
    shape = (*(1,) * (u.ndim - layout.dimensions), *_result_shape(primitive, layout, padded))
    result = unpadded_sharding(mesh, shape, layout.dimensions)
    u = to_mesh(u, unpadded_sharding(mesh, u.shape, layout.dimensions))
    return compiled(transform_traced, result, **options, padded=padded)(u)


def transform_traced(
    u: Array, *, primitive: Primitive, layout: Layout, mesh: AnyMesh, method: Method, factor: float, padded: bool
) -> Array:
    """The transform of an array that is being traced, in as many exchanges as the method says."""
    options = {"primitive": primitive, "layout": layout, "mesh": mesh, "method": method, "factor": factor}
    batch = u.shape[: u.ndim - layout.dimensions]
    shape = (*batch, *_result_shape(primitive, layout, padded))
    fields = math.prod(batch)
    if fields == 0:
        complex_dtype = np.result_type(u.dtype, np.complex64)
        return jnp.zeros(shape, real_dtype(u.dtype) if primitive is inverse_p and layout.real else complex_dtype)
    transform = lambda v: _in_one_exchange(v, **options, padded=padded)  # noqa: E731

    def run(u: Array) -> Array:
        most_fields = method.most_fields(layout, on_gpu(mesh))
        if most_fields is None or fields <= most_fields:
            return transform(u)
        flat = u.reshape(-1, *u.shape[len(batch) :])
        results = jnp.concatenate([transform(flat[i : i + most_fields]) for i in range(0, fields, most_fields)])
        return results.reshape(*batch, *results.shape[1:])

    return over_auto_axes(run, mesh, unpadded_sharding(mesh, shape, layout.dimensions))(u)


def _in_one_exchange(u: Array, *, primitive: Primitive, layout: Layout, padded: bool, **parameters: Any) -> Array:
    """The primitive, which takes and returns padded arrays, on fields without padding."""
    u = fit(u, layout.padded_points if primitive is forward_p else layout.spectral_shape)
    return fit(bind(primitive, u, layout, **parameters), _result_shape(primitive, layout, padded))


def _result_shape(primitive: Primitive, layout: Layout, padded: bool) -> tuple[int, ...]:
    """Last axes of what `forward` or `inverse` returns."""
    if primitive is inverse_p:
        return layout.points
    return layout.spectral_shape if padded else layout.logical_spectral_shape


# ---- rules of the primitives ------------------------------------------------------------------------------------


@forward_p.def_abstract_eval
def _forward_shape(u: ShapedArray, *, layout: Layout, mesh: AnyMesh, method: Method, factor: float) -> ShapedArray:
    shape = (*u.shape[: u.ndim - layout.dimensions], *layout.spectral_shape)
    return ShapedArray(shape, np.result_type(u.dtype, np.complex64))


@inverse_p.def_abstract_eval
def _inverse_shape(u_hat: ShapedArray, *, layout: Layout, mesh: AnyMesh, method: Method, factor: float) -> ShapedArray:
    shape = (*u_hat.shape[: u_hat.ndim - layout.dimensions], *layout.padded_points)
    return ShapedArray(shape, real_dtype(u_hat.dtype) if layout.real else u_hat.dtype)


def _weights(layout: Layout) -> np.ndarray:
    """Multiplicity of each stored mode of a half spectrum, as a vector along the half axis of spectral arrays."""
    axis = layout.order.index(layout.dimensions - 1)
    weights = layout.half_axis_weights()
    shape = [1] * layout.dimensions
    shape[axis] = layout.spectral_shape[axis]
    return np.concatenate([weights, np.ones(shape[axis] - len(weights))]).reshape(shape)


def _forward_transpose(
    cotangent: Any, u: Any, *, layout: Layout, mesh: AnyMesh, method: Method, factor: float
) -> list[Any]:
    """Σ over stored k of f c(k) exp(-i k·x): the inverse of conj(c), which counts each mode `weights` times."""
    if type(cotangent) is ad.Zero:
        return [ad.Zero(u.aval)]
    c = jnp.conj(cotangent)
    if layout.real:
        c = c * (1 / _weights(layout)).astype(real_dtype(c.dtype))
        return [bind(inverse_p, c, layout, mesh, method=method, factor=factor)]
    return [jnp.conj(bind(inverse_p, c, layout, mesh, method=method, factor=factor))]


def _inverse_transpose(
    cotangent: Any, u_hat: Any, *, layout: Layout, mesh: AnyMesh, method: Method, factor: float
) -> list[Any]:
    """JAX's convention for a real function of complex coefficients: conj of weights · f Σ_x c(x) exp(-i k·x)."""
    if type(cotangent) is ad.Zero:
        return [ad.Zero(u_hat.aval)]
    if layout.real:
        weights = _weights(layout).astype(cotangent.dtype)
        return [jnp.conj(bind(forward_p, cotangent, layout, mesh, method=method, factor=factor)) * weights]
    return [jnp.conj(bind(forward_p, jnp.conj(cotangent), layout, mesh, method=method, factor=factor))]


register(forward_p, functools.partial(transform_operation, True))
register(inverse_p, functools.partial(transform_operation, False))
ad.deflinear2(forward_p, _forward_transpose)
ad.deflinear2(inverse_p, _inverse_transpose)
