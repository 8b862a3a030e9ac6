"""The operations behind the primitives: which work each device does, and how operands and results are split."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax.sharding import NamedSharding, PartitionSpec
from jaxtyping import Array

from solver.fft.blocked import Blocks
from solver.fft.jaxdecomp_engine import transform_by_jaxdecomp
from solver.fft.local import LocalTransform
from solver.fft.method import Method
from solver.fft.overlapped import Overlapped
from solver.fft.partitioning import DeviceWork, on_global_arrays
from solver.fft.plain import MOST_POINTS, PairedArrays, PlainArrays, has_paired_transform, has_plain_transform
from solver.fft.point_function import FieldFunctions
from solver.fft.stages import has_sizes
from solver.fft.whole import WholeArrays
from solver.grid.layout import Layout
from solver.mesh import AnyMesh, across_hosts, padded_sharding, unpadded_sharding

FEW_POINTS = 2**15  # 32³: a transform on its own is then one FFT call, which is quicker to compile than blocks


def local_transform(
    layout: Layout, mesh: AnyMesh, method: Method, on_cpu: bool, operand: jax.ShapeDtypeStruct, *, is_alone: bool
) -> LocalTransform:
    """A device's part of transforms: in one call, on whole arrays, in blocks, or overlapped in waves.

    A transform on its own (`is_alone`) is for starts, rows and gradients, while a step spends its time in functions of
    points. Where points are few, XLA takes longer to compile blocks than such a transform takes to run.

    An operand whose batch has no size yet, as `jax.export` may have it, is not cut: blocks and waves count what they
    hold.

    Raises:
        ValueError: such a batch on several devices: jaxlib 0.10 ends the process when such a program is called.
    """
    precision = method.precision
    if not has_sizes(operand.shape):
        if mesh.size > 1:
            raise ValueError(
                f"a batch of shape {list(operand.shape)} on {mesh.size} devices: a program for one device may leave "
                "its size open, for several devices it is needed"
            )
        return WholeArrays(precision)
    if method.pairs and has_paired_transform(layout, on_cpu):
        return PairedArrays(precision)
    if has_plain_transform(layout, on_cpu, FEW_POINTS if is_alone else MOST_POINTS):
        return PlainArrays()
    in_blocks = method.in_blocks(layout, on_cpu)
    single: LocalTransform = Blocks(method.chunks, on_cpu, precision) if in_blocks else WholeArrays(precision)
    waves = method.waves_on(layout, across_hosts(mesh))
    return Overlapped(waves, method.most_fields_in_waves, single, precision) if waves > 1 else single


def transform_operation(
    is_forward: bool,
    layout: Layout,
    mesh: AnyMesh,
    method: Method,
    factor: float,
    operands: Sequence[jax.ShapeDtypeStruct],
    on_cpu: bool,
) -> Callable[[Array], Array]:
    """The transform as a function of global arrays `(…, *layout.padded_points)` or `(…, *layout.spectral_shape)`.

    Args:
        is_forward: to coefficients; else to points.
        layout, mesh, method: layout, mesh and method of the transform.
        factor: number that multiplies the sum over points or modes.
        operands: shape and dtype of the one array that is transformed.
        on_cpu: True if the program is for a CPU.
    """
    if method.engine == "jaxdecomp":
        transform = partial(
            transform_by_jaxdecomp, is_forward=is_forward, layout=layout, mesh=mesh, backend=method.backend
        )
        return lambda u: transform(u) * (factor * math.prod(layout.points) if is_forward else factor)
    local = local_transform(layout, mesh, method, on_cpu, operands[0], is_alone=True)
    transform_local = local.forward if is_forward else local.inverse
    ndim = len(operands[0].shape)
    work = DeviceWork(
        run=lambda u, axis_name: [transform_local(u, layout, axis_name, factor)],
        operand_shardings=lambda mesh: [padded_sharding(mesh, ndim, layout.dimensions)],
        operand_axes=[ndim],
        result_axes=[ndim],
        has_batch=[True],
        content=repr(("transform", is_forward, layout, method, factor, on_cpu)),
    )
    run = on_global_arrays(work, layout, mesh, method.engine)
    return lambda u: run(u)[0]


def pointwise_operation(
    functions: FieldFunctions,
    layout: Layout,
    mesh: AnyMesh,
    method: Method,
    operands: Sequence[jax.ShapeDtypeStruct],
    on_cpu: bool,
) -> Callable[..., list[Array]]:
    """Functions of fields as a function of the global coefficients of the fields u and of the further operands.

    Args:
        functions: functions of u and of the further operands.
        layout, mesh, method: layout, mesh and method of the transforms.
        operands: shape and dtype of the coefficients of u, then of each further operand. Operands over the points have
            the layout's padding.
        on_cpu: True if the program is for a CPU.

    Returns:
        A function that gives the coefficients of `functions.fn`; then, if `functions.largest` is given, its largest
        value over the points.
    """
    d = layout.dimensions
    u_hat, *others = operands
    parameters, at_points = functions.split(others)
    local = local_transform(layout, mesh, method, on_cpu, u_hat, is_alone=False)

    def run(u_hat: Array, *others: Array, axis_name: Any) -> list[Array]:
        return local.pointwise(u_hat, functions, layout, axis_name, others)

    def operand_shardings(mesh: AnyMesh) -> list[NamedSharding]:
        replicated = [NamedSharding(mesh, PartitionSpec())] * len(parameters)
        split = [unpadded_sharding(mesh, v.shape, d) for v in at_points]
        return [padded_sharding(mesh, len(u_hat.shape), d), *replicated, *split]

    field_dtype = jnp.zeros(0, u_hat.dtype).real.dtype if layout.real else u_hat.dtype
    u = jax.ShapeDtypeStruct((*u_hat.shape[: len(u_hat.shape) - d], *layout.padded_points), field_dtype)
    trace_of_fn, f = jax.make_jaxpr(functions.fn, return_shape=True)(u, *others)
    trace_of_largest, result_axes = None, [len(f.shape)]
    if functions.largest is not None:
        trace_of_largest, numbers = jax.make_jaxpr(functions.largest, return_shape=True)(u, *others)
        result_axes.append(len(numbers.shape) - d)
    traces = str(trace_of_fn), str(trace_of_largest)
    waves = method.waves_on(layout, across_hosts(mesh))
    work = DeviceWork(
        run=run,
        operand_shardings=operand_shardings,
        operand_axes=[len(v.shape) for v in operands],
        result_axes=result_axes,
        has_batch=functions.has_batch(len(others)),
        content=repr(("pointwise", *traces, functions.parameters, layout, method, waves, on_cpu)),
    )
    return on_global_arrays(work, layout, mesh, method.engine)
