"""The distributed transform as one JAX operation: partitioned, batched and differentiated as a whole.

An engine tells XLA how the operation is split over devices; `vmap` and gradients come from two primitives around it.
Both transforms are linear, so each one's transpose is the other, up to the weights of the half spectrum: a coefficient
that also stands for its conjugate counts twice.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax._src import dispatch  # the registry of operations that need to know their devices has no public name
from jax.core import ShapedArray
from jax.extend.core import Primitive
from jax.interpreters import ad, batching, mlir
from jax.sharding import Mesh, NamedSharding
from jaxtyping import Array

from solver.fft.engines import Method, pointwise_operation, transform_operation
from solver.fft.pointwise import Leading, PointFunction, check_pointwise, on_sides, unstack
from solver.fft.stages import EXPORTING, AnyArray, fit
from solver.grid.layout import Layout
from solver.mesh import (
    AnyMesh,
    across_hosts,
    constrained,
    is_explicit,
    on_gpu,
    over_auto_axes,
    padded_sharding,
    unpadded_sharding,
)

forward_p = Primitive("slabwave_forward")
inverse_p = Primitive("slabwave_inverse")
pointwise_p = Primitive("slabwave_pointwise")
pointwise_p.multiple_results = True


def forward(u: AnyArray, layout: Layout, mesh: AnyMesh, method: Method, factor: float, padded: bool = True) -> Array:
    """factor · Σ_x u(x) exp(-i k·x); `padded` says whether coefficients have the layout's padding."""
    return _apply(forward_p, u, layout, mesh, method, factor, padded)


def inverse(
    u_hat: AnyArray, layout: Layout, mesh: AnyMesh, method: Method, factor: float, padded: bool = True
) -> Array:
    """factor · Σ_k û(k) exp(i k·x); `padded` says whether coefficients have the layout's padding."""
    return _apply(inverse_p, u_hat, layout, mesh, method, factor, padded)


def pointwise(
    fn: PointFunction,
    u_hat: AnyArray,
    parameters: Sequence[AnyArray],
    at_points: Sequence[AnyArray],
    layout: Layout,
    mesh: AnyMesh,
    method: Method,
    largest: PointFunction | None = None,
) -> Any:
    """Coefficients of what fn returns, in its structure; and the largest value over the points of what `largest`
    returns, if it is given. See `solver.fft.Transform.pointwise`."""
    refuse_inside_shard_map()
    d = layout.dimensions
    u_spec = ((*u_hat.shape[: u_hat.ndim - d], *layout.points), _real(u_hat.dtype) if layout.real else u_hat.dtype)
    specs = [tuple((v.shape, v.dtype) for v in operands) for operands in (parameters, at_points)]
    results = check_pointwise(fn, layout.points, u_spec, *specs)
    if largest is not None:
        found = check_pointwise(largest, layout.points, u_spec, *specs, returns=_real(u_spec[1]))
        if found != Leading(()):
            shapes = ", ".join(str([*one.shape, *"xyz"[:d]]) for one in jax.tree.leaves(found))
            raise ValueError(f"{largest.name} is to give one number for each point; it gives {shapes}")

    def whole(v: AnyArray, *operands: AnyArray) -> list[Array]:
        padded = [fit(w, on_sides(w.shape, layout.points, layout.padded_points)[-d:]) for w in operands[count:]]
        operands = (*operands[:count], *padded)
        options = {"fn": fn, "parameters": count, "method": method, "largest": largest}
        return _bind(pointwise_p, v, layout, mesh, operands=operands, **options)

    composed = functools.partial(_composed, fn, largest, layout, mesh, method)
    count = len(parameters)
    one_wave = method.waves_on(layout, across_hosts(mesh)) == 1
    separate = one_wave and (method.most_fields(layout, on_gpu(mesh)) is not None or method.chunks > 1)
    in_parts = separate or method.engine == "jaxdecomp" or is_explicit(mesh)
    operands = [to_mesh(v, mesh) for v in (*parameters, *at_points)]
    f_hat, *most = (composed if in_parts else whole)(u_hat, *operands)
    leaves, structure = jax.tree.flatten(results)
    if not jax.tree_util.treedef_is_leaf(structure):
        f_hat = jax.tree.unflatten(structure, unstack(f_hat, [leaf.shape for leaf in leaves], d))
    return f_hat if largest is None else (f_hat, most[0])


def _composed(
    fn: Callable[..., Array],
    largest: Callable[..., Array] | None,
    layout: Layout,
    mesh: AnyMesh,
    method: Method,
    u_hat: AnyArray,
    *operands: AnyArray,
) -> list[Array]:
    """What `pointwise_p` gives, as separate transforms and the functions between them; operands have no padding."""
    u, given = inverse(u_hat, layout, mesh, method, 1.0), [jnp.asarray(v) for v in operands]
    # of all that its derivative needs, the backward pass keeps the fields alone
    f = jax.checkpoint(fn)(u, *given)
    f_hat = forward(f, layout, mesh, method, 1 / math.prod(layout.points))
    if largest is None:
        return [f_hat]
    values = largest(u, *given)
    return [f_hat, jnp.max(values, axis=tuple(range(values.ndim - layout.dimensions, values.ndim)))]


def _apply(
    primitive: Primitive, u: AnyArray, layout: Layout, mesh: AnyMesh, method: Method, factor: float, padded: bool
) -> Array:
    refuse_inside_shard_map()
    options = {"primitive": primitive, "layout": layout, "mesh": mesh, "method": method, "factor": factor}
    if isinstance(u, jax.core.Tracer):
        return _traced(u, **options, padded=padded)
    shape = (*(1,) * (u.ndim - layout.dimensions), *_result_shape(primitive, layout, padded))
    run = _compiled(_traced, unpadded_sharding(mesh, shape, layout.dimensions), **options, padded=padded)
    return run(to_mesh(u, mesh))


def _result_shape(primitive: Primitive, layout: Layout, padded: bool) -> tuple[int, ...]:
    if primitive is inverse_p:
        return layout.points
    return layout.spectral_shape if padded else layout.logical_spectral_shape


@functools.cache
def _compiled(run: Callable[..., Any], result: NamedSharding | None = None, /, **parameters: Any) -> Callable[..., Any]:
    """`run(*operands, **parameters)` for calls outside of `jit`: compiled once for each set of parameters."""
    placed = {} if result is None else {"out_shardings": result}
    return jax.jit(lambda *operands: run(*operands, **parameters), **placed)


def to_mesh(u: Any, mesh: AnyMesh) -> Any:
    """An array that lies on other devices than the mesh's, copied to all of those; `jit` moves any other."""
    if isinstance(u, jax.core.Tracer) or not isinstance(u, jax.Array) or not isinstance(mesh, Mesh):
        return u
    if u.committed and set(u.devices()) != set(mesh.devices.flat):
        return jax.device_put(u, NamedSharding(mesh, jax.P()))
    return u


def _traced(
    u: Array, *, primitive: Primitive, layout: Layout, mesh: AnyMesh, method: Method, factor: float, padded: bool
) -> Array:
    """The transform of an array being traced, in as many exchanges as the method says."""
    options = {"primitive": primitive, "layout": layout, "mesh": mesh, "method": method, "factor": factor}
    batch = u.shape[: u.ndim - layout.dimensions]
    shape = (*batch, *_result_shape(primitive, layout, padded))
    fields = math.prod(batch)
    once = lambda v: _in_one_exchange(v, **options, padded=padded)  # noqa: E731

    def run(u: Array) -> Array:
        most = method.most_fields(layout, on_gpu(mesh))
        if most is None or fields <= most:
            return once(u)
        flat = u.reshape(-1, *u.shape[len(batch) :])
        out = jnp.concatenate([once(flat[i : i + most]) for i in range(0, fields, most)])
        return out.reshape(*batch, *out.shape[1:])

    return over_auto_axes(run, mesh, unpadded_sharding(mesh, shape, layout.dimensions))(u)


def _in_one_exchange(u: Array, *, primitive: Primitive, layout: Layout, padded: bool, **parameters: Any) -> Array:
    """The primitive, which takes and returns padded arrays, on fields without padding."""
    u = fit(u, layout.padded_points if primitive is forward_p else layout.spectral_shape)
    return fit(_bind(primitive, u, layout, **parameters), _result_shape(primitive, layout, padded))


def refuse_inside_shard_map() -> None:
    """Raises ValueError inside a manual region, where the operation would silently transform each block alone."""
    manual = set(getattr(jax.sharding.get_abstract_mesh(), "manual_axes", ()))
    if manual:
        raise ValueError(
            f"a global transform was called inside a shard_map over {sorted(manual)}, on one device's block; "
            "call it outside, or use solver.fft.forward_local / inverse_local inside"
        )


# ---- shapes ---------------------------------------------------------------------------------------------------


def _complex(dtype: Any) -> np.dtype:
    return np.result_type(dtype, np.complex64)


def _real(dtype: Any) -> np.dtype:
    return np.empty(0, dtype).real.dtype


@forward_p.def_abstract_eval
def _forward_shape(u: ShapedArray, *, layout: Layout, mesh: AnyMesh, method: Method, factor: float) -> ShapedArray:
    return ShapedArray((*u.shape[: u.ndim - layout.dimensions], *layout.spectral_shape), _complex(u.dtype))


@inverse_p.def_abstract_eval
def _inverse_shape(u_hat: ShapedArray, *, layout: Layout, mesh: AnyMesh, method: Method, factor: float) -> ShapedArray:
    dtype = _real(u_hat.dtype) if layout.real else u_hat.dtype
    return ShapedArray((*u_hat.shape[: u_hat.ndim - layout.dimensions], *layout.padded_points), dtype)


@pointwise_p.def_abstract_eval
def _pointwise_shape(
    u_hat: ShapedArray,
    *operands: ShapedArray,
    fn: Callable[..., Array],
    parameters: int,
    layout: Layout,
    mesh: AnyMesh,
    method: Method,
    largest: Callable[..., Array] | None,
) -> list[ShapedArray]:
    d = layout.dimensions
    shape = (*u_hat.shape[: u_hat.ndim - d], *layout.padded_points)
    u = jax.ShapeDtypeStruct(shape, _real(u_hat.dtype) if layout.real else u_hat.dtype)
    result = jax.eval_shape(fn, u, *operands)
    found = [ShapedArray((*result.shape[: result.ndim - d], *layout.spectral_shape), u_hat.dtype)]
    if largest is not None:
        of_points = jax.eval_shape(largest, u, *operands)
        found.append(ShapedArray(of_points.shape[: of_points.ndim - d], of_points.dtype))
    return found


# ---- lowering and batching --------------------------------------------------------------------------------------


def _register(primitive: Primitive, operation: Callable[..., Callable[..., Array]]) -> None:
    """Evaluation, lowering and batching, from what makes the operation on global arrays."""

    def lowered(on_cpu: bool) -> Callable[..., Any]:
        def run(*operands: Array, method: Method, **parameters: Any) -> Any:
            given = [jax.ShapeDtypeStruct(v.shape, v.dtype) for v in operands]
            method = method.for_export() if EXPORTING.get() else method
            return operation(given=given, on_cpu=on_cpu, method=method, **parameters)(*operands)

        def lower(context: Any, *operands: Any, **parameters: Any) -> Any:
            before = EXPORTING.set(context.module_context.lowering_parameters.for_export)
            try:
                return mlir.lower_fun(run, multiple_results=primitive.multiple_results)(
                    context, *operands, **parameters
                )
            finally:
                EXPORTING.reset(before)

        return lower

    primitive.def_impl(lambda *operands, **parameters: _compiled(primitive.bind, **parameters)(*operands))
    dispatch.prim_requires_devices_during_lowering.add(primitive)
    mlir.register_lowering(primitive, lowered(on_cpu=False))
    mlir.register_lowering(primitive, lowered(on_cpu=True), platform="cpu")


def _batch(primitive: Primitive, operands: Any, axes: Any, **parameters: Any) -> tuple[Any, Any]:
    moved = [v if at is None else jnp.moveaxis(v, at, 0) for v, at in zip(operands, axes, strict=True)]
    for name in ("fn", "largest"):
        if parameters.get(name) is not None:
            parameters[name] = _OnBatch(parameters[name], tuple(None if at is None else 0 for at in axes))
    found = primitive.bind(*moved, **parameters)
    return found, [0] * len(found) if primitive.multiple_results else 0


@dataclass(frozen=True)
class _OnBatch:
    """A function of arrays, some of which have one more axis in front."""

    fn: Callable[..., Array]
    axes: tuple[int | None, ...]

    def __call__(self, *operands: Array) -> Array:
        return jax.vmap(self.fn, self.axes)(*operands)


_register(forward_p, functools.partial(transform_operation, True))
_register(inverse_p, functools.partial(transform_operation, False))
_register(pointwise_p, pointwise_operation)
for _primitive in (forward_p, inverse_p, pointwise_p):
    batching.primitive_batchers[_primitive] = functools.partial(_batch, _primitive)


# ---- gradients ------------------------------------------------------------------------------------------------


def _bind(
    primitive: Primitive,
    u: AnyArray,
    layout: Layout,
    mesh: AnyMesh,
    operands: Sequence[AnyArray] = (),
    **parameters: Any,
) -> Any:
    """The primitive on padded arrays, with both sides pinned to their parts.

    Unpinned, Shardy leaves the result replicated and gathers it; and `jit` cannot see the devices that a primitive
    needs inside. `operands` of a function of fields are left to the operation, which says where it needs them.
    """

    def pin(v: AnyArray) -> Array:
        return constrained(v, padded_sharding(mesh, v.ndim, layout.dimensions))

    found = primitive.bind(pin(u), *operands, layout=layout, mesh=mesh, **parameters)
    return [pin(found[0]), *found[1:]] if primitive.multiple_results else pin(found)


def _weights(layout: Layout) -> np.ndarray:
    """How often each stored mode of a half spectrum counts, as a vector along its place in spectral arrays."""
    position = layout.order.index(layout.dimensions - 1)
    weights = layout.half_axis_weights()
    shape = [1] * layout.dimensions
    shape[position] = layout.spectral_shape[position]
    return np.concatenate([weights, np.ones(shape[position] - len(weights))]).reshape(shape)


def _forward_transpose(ct: Any, u: Any, *, layout: Layout, mesh: AnyMesh, method: Method, factor: float) -> list[Any]:
    """Σ over stored k of f c(k) exp(-i k·x): the inverse of conj(c), which counts each mode `weights` times."""
    if type(ct) is ad.Zero:
        return [ad.Zero(u.aval)]
    if layout.real:
        weights = (1 / _weights(layout)).astype(_real(ct.dtype))
        return [_bind(inverse_p, jnp.conj(ct) * weights, layout, mesh, method=method, factor=factor)]
    return [jnp.conj(_bind(inverse_p, jnp.conj(ct), layout, mesh, method=method, factor=factor))]


def _inverse_transpose(
    ct: Any, u_hat: Any, *, layout: Layout, mesh: AnyMesh, method: Method, factor: float
) -> list[Any]:
    """JAX's convention for a real function of complex coefficients: conj of weights · f Σ_x c(x) exp(-i k·x)."""
    if type(ct) is ad.Zero:
        return [ad.Zero(u_hat.aval)]
    if layout.real:
        weights = _weights(layout).astype(ct.dtype)
        return [jnp.conj(_bind(forward_p, ct, layout, mesh, method=method, factor=factor)) * weights]
    return [jnp.conj(_bind(forward_p, jnp.conj(ct), layout, mesh, method=method, factor=factor))]


def _pointwise_jvp(
    primals: Any,
    tangents: Any,
    *,
    fn: Callable[..., Array],
    parameters: int,
    layout: Layout,
    mesh: AnyMesh,
    method: Method,
    largest: Callable[..., Array] | None,
) -> tuple[list[Array], list[Array]]:
    """Derivative of a function of fields: its fields exist as arrays, since the backward pass needs them.

    A rule of the primitive, not a `custom_jvp` around it: where JAX differentiates a part of a scan it keeps the
    operations inside of a `custom_jvp` and drops the rule.
    """
    d = layout.dimensions
    moves = [type(t) is not ad.Zero and t.dtype != jax.dtypes.float0 for t in tangents]

    def composed(*moving: Array) -> list[Array]:
        new = iter(moving)
        u_hat, *given = [next(new) if m else v for v, m in zip(primals, moves, strict=True)]
        over_points = [fit(v, on_sides(v.shape[-d:], layout.padded_points, layout.points)) for v in given[parameters:]]
        return _composed(fn, largest, layout, mesh, method, u_hat, *given[:parameters], *over_points)

    moving = [(v, t) for v, t, m in zip(primals, tangents, moves, strict=True) if m]
    return jax.jvp(composed, *zip(*moving, strict=True))


ad.primitive_jvps[pointwise_p] = _pointwise_jvp
ad.deflinear2(forward_p, _forward_transpose)
ad.deflinear2(inverse_p, _inverse_transpose)
