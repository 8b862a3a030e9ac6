"""Functions of fields as one JAX primitive: from coefficients to coefficients, through the points.

The primitive is partitioned and batched as a whole. Its derivative is made of separate transforms.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jax.core import ShapedArray
from jax.extend.core import Primitive
from jax.interpreters import ad
from jax.sharding import NamedSharding, PartitionSpec
from jaxtyping import Array

from solver.fft.lowering import bind, refuse_inside_shard_map, refuse_other_explicit_mesh, register, to_mesh
from solver.fft.maxima import max_over_points
from solver.fft.method import Method
from solver.fft.operations import pointwise_operation
from solver.fft.point_function import FieldFunctions, PointFunction, on_sides, unstack
from solver.fft.pointwise_check import Leading, check_pointwise
from solver.fft.primitive import forward, inverse
from solver.fft.stages import AnyArray, fit, real_dtype
from solver.grid.layout import Layout
from solver.mesh import AnyMesh, across_hosts, is_explicit, on_gpu, unpadded_sharding

pointwise_p = Primitive("slabwave_pointwise")
pointwise_p.multiple_results = True


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
    """Coefficients of what `fn` returns, in its structure. See `solver.fft.Transform.pointwise`.

    If `largest` is given, a pair of these and the largest value over the points of what `largest` returns.
    """
    refuse_inside_shard_map()
    refuse_other_explicit_mesh(u_hat, mesh)
    results = _check_functions(fn, largest, u_hat, (parameters, at_points), layout)
    functions = FieldFunctions(fn, largest, len(parameters))

    def in_one_operation(u_hat: AnyArray, *operands: AnyArray) -> list[Array]:
        numbers, arrays = functions.split(operands)
        padded = [fit(v, on_sides(v.shape, layout.points, layout.padded_points)[-layout.dimensions :]) for v in arrays]
        return bind(pointwise_p, u_hat, layout, mesh, (*numbers, *padded), functions=functions, method=method)

    u_hat = to_mesh(u_hat, unpadded_sharding(mesh, u_hat.shape, layout.dimensions))
    parameters = [to_mesh(v, NamedSharding(mesh, PartitionSpec())) for v in parameters]
    at_points = [to_mesh(v, unpadded_sharding(mesh, v.shape, layout.dimensions)) for v in at_points]
    operands = [*parameters, *at_points]
    if _takes_separate_transforms(layout, mesh, method):
        f_hat, *maximum = _separate_transforms(functions, layout, mesh, method, u_hat, *operands)
    else:
        f_hat, *maximum = in_one_operation(u_hat, *operands)
    leaves, structure = jax.tree.flatten(results)
    if not jax.tree_util.treedef_is_leaf(structure):
        f_hat = jax.tree.unflatten(structure, unstack(f_hat, [leaf.shape for leaf in leaves], layout.dimensions))
    return f_hat if largest is None else (f_hat, maximum[0])


def _check_functions(
    fn: PointFunction,
    largest: PointFunction | None,
    u_hat: AnyArray,
    operands: tuple[Sequence[AnyArray], Sequence[AnyArray]],
    layout: Layout,
) -> Any:
    """Check both functions; `operands` are parameters and arrays over points.

    Returns:
        The structure of the results of `fn`, with the axes of each before those in space.

    Raises:
        ValueError: a function is not pointwise, or `largest` does not give one number for each point.
    """
    field_dtype = real_dtype(u_hat.dtype) if layout.real else u_hat.dtype
    fields = ((*u_hat.shape[: u_hat.ndim - layout.dimensions], *layout.points), field_dtype)
    specs = [tuple((v.shape, v.dtype) for v in arrays) for arrays in operands]
    results = check_pointwise(fn, layout.points, fields, *specs)
    if largest is not None:
        numbers = check_pointwise(largest, layout.points, fields, *specs, returns=real_dtype(field_dtype))
        if numbers != Leading(()):
            space = "xyz"[: layout.dimensions]
            shapes = ", ".join(str([*leaf.shape, *space]) for leaf in jax.tree.leaves(numbers))
            raise ValueError(f"{largest.name} is to give one number for each point; it gives {shapes}")
    return results


def _takes_separate_transforms(layout: Layout, mesh: AnyMesh, method: Method) -> bool:
    """True if functions of fields go through separate transforms, not through one operation.

    One operation exchanges all fields together or in waves, in one chunk, by an engine of this package; and it cannot
    be placed on Explicit axes.
    """
    one_wave = method.waves_on(layout, across_hosts(mesh)) == 1
    splits_exchange = one_wave and (method.most_fields(layout, on_gpu(mesh)) is not None or method.chunks > 1)
    return splits_exchange or method.engine == "jaxdecomp" or is_explicit(mesh)


def _separate_transforms(
    functions: FieldFunctions,
    layout: Layout,
    mesh: AnyMesh,
    method: Method,
    u_hat: AnyArray,
    *operands: AnyArray,
) -> list[Array]:
    """Compute the result of `pointwise_p` by an inverse and a forward transform; arrays over points have no padding."""
    u, arrays = inverse(u_hat, layout, mesh, method, 1.0), [jnp.asarray(v) for v in operands]
    # of all that its derivative needs, the backward pass keeps the fields alone
    f = jax.checkpoint(functions.fn)(u, *arrays)
    f_hat = forward(f, layout, mesh, method, 1 / math.prod(layout.points))
    if functions.largest is None:
        return [f_hat]
    numbers = functions.largest(u, *arrays)
    return [f_hat, max_over_points(numbers, layout.dimensions)]


# ---- rules of the primitive -------------------------------------------------------------------------------------


@pointwise_p.def_abstract_eval
def _pointwise_shape(
    u_hat: ShapedArray,
    *operands: ShapedArray,
    functions: FieldFunctions,
    layout: Layout,
    mesh: AnyMesh,
    method: Method,
) -> list[ShapedArray]:
    d = layout.dimensions
    field_dtype = real_dtype(u_hat.dtype) if layout.real else u_hat.dtype
    u = jax.ShapeDtypeStruct((*u_hat.shape[: u_hat.ndim - d], *layout.padded_points), field_dtype)
    f = jax.eval_shape(functions.fn, u, *operands)
    results = [ShapedArray((*f.shape[: f.ndim - d], *layout.spectral_shape), u_hat.dtype)]
    if functions.largest is not None:
        numbers = jax.eval_shape(functions.largest, u, *operands)
        results.append(ShapedArray(numbers.shape[: numbers.ndim - d], numbers.dtype))
    return results


def _pointwise_jvp(
    primals: Any,
    tangents: Any,
    *,
    functions: FieldFunctions,
    layout: Layout,
    mesh: AnyMesh,
    method: Method,
) -> tuple[list[Array], list[Array]]:
    """Derivative of functions of fields: the fields exist as arrays, since the backward pass needs them.

    A rule of the primitive, not a `custom_jvp` around it: where JAX differentiates a part of a scan it keeps the
    operations inside of a `custom_jvp` and drops the rule.
    """
    d = layout.dimensions
    is_varied = [type(t) is not ad.Zero and t.dtype != jax.dtypes.float0 for t in tangents]

    def of_varied(*varied: Array) -> list[Array]:
        new_values = iter(varied)
        u_hat, *operands = [next(new_values) if v else old for old, v in zip(primals, is_varied, strict=True)]
        numbers, arrays = functions.split(operands)
        arrays = [fit(v, on_sides(v.shape[-d:], layout.padded_points, layout.points)) for v in arrays]
        return _separate_transforms(functions, layout, mesh, method, u_hat, *numbers, *arrays)

    varied = [(p, t) for p, t, v in zip(primals, tangents, is_varied, strict=True) if v]
    return jax.jvp(of_varied, *zip(*varied, strict=True))


register(pointwise_p, pointwise_operation)
ad.primitive_jvps[pointwise_p] = _pointwise_jvp
