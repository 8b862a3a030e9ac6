"""Makes an operation on global arrays a JAX primitive, with evaluation, lowering and batching, and calls it."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jax._src import dispatch  # the registry of operations that need to know their devices has no public name
from jax.extend.core import Primitive
from jax.interpreters import batching, mlir
from jax.sharding import AxisType, Mesh, NamedSharding, PartitionSpec
from jaxtyping import Array

from solver.fft.method import Method
from solver.fft.stages import EXPORTING, AnyArray
from solver.grid.layout import Layout
from solver.mesh import MEMBER, AnyMesh, constrained, is_explicit, padded_sharding
from solver.static import no_ambient_mesh

# ---- registration -----------------------------------------------------------------------------------------------


def register(primitive: Primitive, operation: Callable[..., Callable[..., Any]]) -> None:
    """Give a primitive its evaluation, lowering and batching.

    Args:
        primitive: with parameters `layout`, `mesh`, `method` and others of its own.
        operation: `operation(operands=shapes, on_cpu=…, **parameters)` returns the function of global arrays.
    """

    def lowering_rule(on_cpu: bool) -> Callable[..., Any]:
        def run(*operands: Array, method: Method, **parameters: Any) -> Any:
            shapes = [jax.ShapeDtypeStruct(v.shape, v.dtype) for v in operands]
            method = method.for_export() if EXPORTING.get() else method
            return operation(operands=shapes, on_cpu=on_cpu, method=method, **parameters)(*operands)

        def lower(context: Any, *operands: Any, **parameters: Any) -> Any:
            token = EXPORTING.set(context.module_context.lowering_parameters.for_export)
            try:
                rule = mlir.lower_fun(run, multiple_results=primitive.multiple_results)
                return rule(context, *operands, **parameters)
            finally:
                EXPORTING.reset(token)

        return lower

    def evaluate(*operands: Any, **parameters: Any) -> Any:
        with jax.disable_jit(False):  # without compilation the primitive would evaluate itself by itself for ever
            return compiled(primitive.bind, **parameters)(*operands)

    primitive.def_impl(evaluate)
    dispatch.prim_requires_devices_during_lowering.add(primitive)
    mlir.register_lowering(primitive, lowering_rule(on_cpu=False))
    mlir.register_lowering(primitive, lowering_rule(on_cpu=True), platform="cpu")
    batching.primitive_batchers[primitive] = functools.partial(_batch, primitive)


def _batch(primitive: Primitive, operands: Any, axes: Any, **parameters: Any) -> tuple[Any, Any]:
    """The primitive on operands with one more leading axis, where `axes` says that they have it."""
    moved = [v if axis is None else jnp.moveaxis(v, axis, 0) for v, axis in zip(operands, axes, strict=True)]
    if "functions" in parameters:
        parameters["functions"] = parameters["functions"].on_batch(axes)
    results = _bind(primitive, *moved, **parameters)
    return results, [0] * len(results) if primitive.multiple_results else 0


def _bind(primitive: Primitive, *operands: Any, **parameters: Any) -> Any:
    """`primitive.bind`; of an empty batch, which has no planes to transform, zeros of the result's shape."""
    if operands[0].size > 0:
        return primitive.bind(*operands, **parameters)
    shapes = jax.eval_shape(lambda *given: primitive.bind(*given, **parameters), *operands)
    return jax.tree.map(lambda shape: jnp.zeros(shape.shape, shape.dtype), shapes)


# ---- calls ------------------------------------------------------------------------------------------------------


def bind(
    primitive: Primitive,
    u: AnyArray,
    layout: Layout,
    mesh: AnyMesh,
    operands: Sequence[AnyArray] = (),
    **parameters: Any,
) -> Any:
    """The primitive on padded arrays, with u and the first result pinned to their sharding.

    Unpinned, Shardy leaves the result replicated and gathers it; and `jit` cannot see the devices that a primitive
    needs inside. Further operands are not pinned: the operation says where it needs them.
    """

    def pin(v: AnyArray) -> Array:
        return constrained(v, _without_members(padded_sharding(mesh, v.ndim, layout.dimensions), layout.dimensions))

    results = _bind(primitive, pin(u), *operands, layout=layout, mesh=mesh, **parameters)
    return [pin(results[0]), *results[1:]] if primitive.multiple_results else pin(results)


def _without_members(sharding: NamedSharding, dimensions: int) -> NamedSharding:
    """The sharding, with leading axes left to the compiler where the mesh has parts for members.

    The derivative of a batch is taken of the primitive with the batch's axis in front, of which `vmap` and its
    `spmd_axis_name` no longer know. Pinned as whole, this axis would be gathered on each device.
    """
    if sharding.mesh.shape.get(MEMBER, 1) == 1:
        return sharding
    free = [PartitionSpec.UNCONSTRAINED] * (len(sharding.spec) - dimensions)
    return NamedSharding(sharding.mesh, PartitionSpec(*free, *sharding.spec[len(free) :]))


@functools.cache
def compiled(run: Callable[..., Any], result: NamedSharding | None = None, /, **parameters: Any) -> Callable[..., Any]:
    """`run(*operands, **parameters)` for calls outside of `jit`: compiled once for each set of parameters.

    `result` is the sharding of the result; None leaves it to the compiler.
    """
    options = {} if result is None else {"out_shardings": result}
    program = jax.jit(lambda *operands: run(*operands, **parameters), **options)

    def call(*operands: Any) -> Any:
        with no_ambient_mesh():
            return program(*operands)

    return call


def to_mesh(u: Any, sharding: NamedSharding) -> Any:
    """An array on other devices, or on the same ones in another mesh, moved to `sharding`; else u as it is."""
    mesh = sharding.mesh
    if isinstance(u, jax.core.Tracer) or not isinstance(u, jax.Array) or not isinstance(mesh, Mesh) or not u.committed:
        return u
    if isinstance(u.sharding, NamedSharding):
        return u if u.sharding.mesh == mesh else jax.device_put(u, sharding)
    return u if set(u.devices()) == set(mesh.devices.flat) else jax.device_put(u, sharding)


def refuse_other_explicit_mesh(u: Any, mesh: AnyMesh) -> None:
    """Raises ValueError while tracing under a mesh of `jax.set_mesh` with other Explicit axes than `mesh` has.

    There JAX takes every constraint for an assertion about that other mesh.
    """
    context = jax.sharding.get_abstract_mesh()
    if context.empty or not isinstance(u, jax.core.Tracer) or AxisType.Explicit not in context.axis_types:
        return
    if not (is_explicit(mesh) and context.axis_names == mesh.axis_names):
        raise ValueError(
            f"a transform over the mesh axes {list(mesh.axis_names)} was traced under jax.set_mesh with Explicit axes "
            f"{list(context.axis_names)}: call it outside of that mesh, or outside of jit"
        )


def refuse_inside_shard_map() -> None:
    """Raises ValueError inside a manual region, where the operation would silently transform each block alone."""
    manual = set(getattr(jax.sharding.get_abstract_mesh(), "manual_axes", ()))
    if manual:
        raise ValueError(
            f"a global transform was called inside a shard_map over {sorted(manual)}, on one device's block; "
            "call it outside, or use solver.fft.forward_local / inverse_local inside"
        )
