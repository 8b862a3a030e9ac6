"""Makes the work of each device an operation on global arrays: by `custom_partitioning`, or in a manual region."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np
from jax.experimental.custom_partitioning import custom_partitioning
from jax.sharding import AbstractMesh, NamedSharding, PartitionSpec
from jaxtyping import Array

from solver.grid.layout import Layout
from solver.mesh import MEMBER, AnyMesh, is_explicit, padded_sharding, split_axes


@dataclass(frozen=True)
class DeviceWork:
    """The work of each device in an operation on global arrays, and the split of its operands and results.

    The first result is split as coefficients and fields are. Further results have no axes in space, and are the same on
    every device.

    Args:
        run: `run(*operands, axis_name=names)` of one device's operands, with the mesh axes that split them (None where
            the device holds whole arrays); returns the device's results.
        operand_shardings: sharding of each operand on a mesh.
        operand_axes: number of axes of each operand.
        result_axes: number of axes of each result.
        has_batch: for each operand, True if it begins with the axis of a batch. In an ensemble such
            operands are split over the mesh axis of members.
        content: text that differs between any two operations that compute different things from equal shapes.
    """

    run: Callable[..., list[Array]]
    operand_shardings: Callable[[AnyMesh], list[NamedSharding]]
    operand_axes: Sequence[int]
    result_axes: Sequence[int]
    has_batch: Sequence[bool]
    content: str

    def result_shardings(self, mesh: AnyMesh, dimensions: int) -> list[NamedSharding]:
        """Sharding of each result on a mesh."""
        first, *others = self.result_axes
        return [padded_sharding(mesh, first, dimensions)] + [NamedSharding(mesh, PartitionSpec())] * len(others)


def on_global_arrays(work: DeviceWork, layout: Layout, mesh: AnyMesh, engine: str) -> Callable[..., list[Array]]:
    """The operation as a function of global arrays.

    Args:
        work: function that each device carries out.
        layout: layout of the whole grid.
        mesh: its devices.
        engine: `shard_map` for a manual region, else `custom_partitioning`.
    """
    if layout.devices == 1 and MEMBER not in mesh.shape:
        return lambda *operands: work.run(*operands, axis_name=None)
    axis_name = split_axes(mesh, layout.dimensions) if layout.devices > 1 else None
    run_on_block = lambda *operands: work.run(*operands, axis_name=axis_name)  # noqa: E731
    if engine == "shard_map":
        return _manual_region(work, run_on_block, layout, mesh)
    return _custom_partitioned(work, run_on_block, layout, mesh)


def _manual_region(
    work: DeviceWork, run_on_block: Callable[..., list[Array]], layout: Layout, mesh: AnyMesh
) -> Callable[..., list[Array]]:
    """The operation as a `shard_map`."""
    in_specs = tuple(sharding.spec for sharding in work.operand_shardings(mesh))
    out_specs = [sharding.spec for sharding in work.result_shardings(mesh, layout.dimensions)]
    # where axes are Explicit this runs within `auto_axes`, whose mesh is in force
    region_mesh = None if is_explicit(mesh) else mesh
    return jax.shard_map(run_on_block, mesh=region_mesh, in_specs=in_specs, out_specs=out_specs, check_vma=False)


def _custom_partitioned(
    work: DeviceWork, run_on_block: Callable[..., list[Array]], layout: Layout, mesh: AnyMesh
) -> Callable[..., list[Array]]:
    """The operation as a `custom_partitioning`, which XLA splits while it partitions the program around it.

    A program holds such an operation as its name, its shapes and an address; what the operation computes is not written
    into the program. Programs that JAX keeps on disk are compared without the address, so two operations of equal
    shapes would be taken for one another. The last operand is a number that represents the content; nothing reads it.
    """
    operation = custom_partitioning(lambda *operands: work.run(*operands[:-1], axis_name=None))
    digest = hashlib.sha256(work.content.encode()).digest()
    content_number = np.int32(int.from_bytes(digest[:4], "little", signed=True))

    def run_partitioned(*operands: Array) -> list[Array]:
        # traced while XLA partitions, where a mesh that the caller has put in force means nothing
        with jax.sharding.use_abstract_mesh(AbstractMesh((), ())):
            return run_on_block(*operands[:-1])

    lead_axes = (work.operand_axes[0] - layout.dimensions - 1, work.result_axes[0] - layout.dimensions - 1)
    of_ensemble = MEMBER in mesh.shape and min(*lead_axes, *work.result_axes[1:]) >= 1

    def shardings(mesh: Any, operands: Any) -> tuple[list[NamedSharding], tuple[NamedSharding, ...]]:
        """Shardings of the results and operands. Members of an ensemble are split as in the first operand."""
        results, inputs = work.result_shardings(mesh, layout.dimensions), work.operand_shardings(mesh)
        if of_ensemble and _first_mesh_axis(operands[0]) == MEMBER:
            results = [_over_members(sharding) for sharding in results]
            with_batch = zip(inputs, work.has_batch, strict=True)
            inputs = [_over_members(sharding) if has else sharding for sharding, has in with_batch]
        return results, (*inputs, NamedSharding(mesh, PartitionSpec()))

    def partition(mesh: Any, operands: Any, results: Any) -> Any:
        return mesh, run_partitioned, *shardings(mesh, operands)

    has_member = (*work.has_batch, False) if of_ensemble else ()
    operation.def_partition(
        partition=partition,
        infer_sharding_from_operands=lambda mesh, operands, results: shardings(mesh, operands)[0],
        sharding_rule=_sharding_rule([*work.operand_axes, 0], work.result_axes, has_member),
    )
    return lambda *operands: operation(*operands, content_number)


def _sharding_rule(operand_axes: Sequence[int], result_axes: Sequence[int], has_member: Sequence[bool]) -> str:
    """Shardy's rule of the operation. No axis of a result follows from an axis of an operand but the axis of members.

    The callback `shardings` places all other axes.

    Args:
        operand_axes, result_axes: number of axes of each operand and result.
        has_member: for each operand, True if it begins with an axis of members; empty without an ensemble.
    """
    names = [[f"v{n}_{i}" for i in range(ndim)] for n, ndim in enumerate((*operand_axes, *result_axes))]
    inputs, outputs = names[: len(operand_axes)], names[len(operand_axes) :]
    with_member = [axes for axes, has in zip(inputs, has_member, strict=True) if has] if has_member else []
    for axes in (*with_member, *outputs) if with_member else ():
        axes[0] = "members"
    join = lambda arrays: ", ".join(" ".join(axes) for axes in arrays)  # noqa: E731
    return f"{join(inputs)} -> {join(outputs)}"


def _first_mesh_axis(operand: Any) -> Any:
    """Name of the mesh axis that splits an operand's first axis."""
    spec = operand.sharding.spec
    name = spec[0] if len(spec) else None
    return name[0] if isinstance(name, tuple) and len(name) == 1 else name


def _over_members(sharding: NamedSharding) -> NamedSharding:
    """The same sharding, with the first axis split over the members of an ensemble."""
    return NamedSharding(sharding.mesh, PartitionSpec(MEMBER, *sharding.spec[1:]))
