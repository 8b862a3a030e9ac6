"""Arrays of a batch: one of each member's arrays along the first axis, which the mesh axis `member` splits.

A member's own arrays are on the whole mesh: each part along the axis `member` holds a copy.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import NamedSharding, PartitionSpec
from jaxtyping import Array

from solver.mesh import MEMBER, AnyMesh


class BatchArrays:
    """Shapes and shardings of a batch's arrays and of a member's; puts a member's arrays into a batch or takes them.

    Args:
        member: a pytree of arrays of one member.
        mesh: mesh of the arrays.
        size: number of places in the batch, a multiple of the number of parts along the mesh axis `member`.
    """

    def __init__(self, member: Any, mesh: AnyMesh, size: int) -> None:
        axis = MEMBER if MEMBER in mesh.shape else None
        self._shapes = jax.tree.map(lambda x: jax.ShapeDtypeStruct(x.shape, x.dtype), member)
        self._own = jax.tree.map(lambda x: NamedSharding(mesh, _spec(x, mesh)), member)
        self.shardings = jax.tree.map(lambda s: NamedSharding(mesh, PartitionSpec(axis, *s.spec)), self._own)
        self._size = size
        parts = mesh.shape.get(MEMBER, 1)
        each = size // parts
        within = _over_parts(mesh, self._own, self.shardings)
        self._take = within(lambda batch, place: _take(batch, place, each, parts), True, False)
        self._put = within(lambda batch, place, own: _put(batch, place, own, each, parts), False, True)

    def zeros(self) -> Any:
        """A batch of zeros."""
        whole = lambda x: jnp.zeros((self._size, *x.shape), x.dtype)  # noqa: E731
        return jax.jit(lambda: jax.tree.map(whole, self._shapes), out_shardings=self.shardings)()

    def take(self, batch: Any, place: int) -> Any:
        """The arrays of the member at a place. Communication: they are sent to all parts of the mesh."""
        return self._take(batch, np.int32(place))

    def put(self, batch: Any, place: int, member: Any) -> Any:
        """The batch with a member's arrays at a place; its buffers are used again. No communication."""
        return self._put(batch, np.int32(place), member)


def _spec(x: Any, mesh: AnyMesh) -> PartitionSpec:
    """Partition of an array of one member over its mesh; an array on another mesh is whole on each device."""
    sharding = getattr(x, "sharding", None)
    return sharding.spec if isinstance(sharding, NamedSharding) and sharding.mesh == mesh else PartitionSpec()


def _over_parts(mesh: AnyMesh, own: Any, batch: Any) -> Callable[..., Any]:
    """Compiles functions of the pieces on each device: of a batch, a place, and a member's arrays."""
    specs = lambda shardings: jax.tree.map(lambda s: s.spec, shardings)  # noqa: E731

    def compile_for(run: Callable[..., Any], gives_member: bool, takes_member: bool) -> Callable[..., Any]:
        given = (specs(batch), PartitionSpec(), *([specs(own)] if takes_member else []))
        result = own if gives_member else batch
        # whether the result is whole along the axis `member`, which a sum makes it, cannot be told from the types
        split = jax.shard_map(run, mesh=mesh, in_specs=given, out_specs=specs(result), check_vma=False)
        return jax.jit(split, donate_argnums=0 if takes_member else (), out_shardings=result)

    return compile_for


def _take(batch: Any, place: Array, each: int, parts: int) -> Any:
    """Row of the batch at a place; each device holds `each` rows."""
    at, here = _local(place, each, parts)

    def row(x: Array) -> Array:
        mine = jax.lax.dynamic_index_in_dim(x, at, 0, keepdims=False)
        if parts == 1:
            return mine
        return jax.lax.psum(jnp.where(here, mine, _nothing(mine.dtype)), MEMBER)

    return jax.tree.map(row, batch)


def _put(batch: Any, place: Array, own: Any, each: int, parts: int) -> Any:
    at, here = _local(place, each, parts)

    def with_row(x: Array, row: Array) -> Array:
        before = jax.lax.dynamic_index_in_dim(x, at, 0, keepdims=False)
        return jax.lax.dynamic_update_index_in_dim(x, jnp.where(here, row, before), at, 0)

    return jax.tree.map(with_row, batch, own)


def _local(place: Array, each: int, parts: int) -> tuple[Array, Any]:
    """Index of a place in this part of the mesh, and True if the place is in this part."""
    first = jax.lax.axis_index(MEMBER) * each if parts > 1 else 0
    at = place - first
    return jnp.clip(at, 0, each - 1), (at >= 0) & (at < each)


def _nothing(dtype: Any) -> Any:
    """Zero that changes no bit of a number when added to it: −0, since −0 + 0 is 0."""
    if jnp.issubdtype(dtype, jnp.complexfloating):
        return jnp.asarray(complex(-0.0, -0.0), dtype)
    return jnp.asarray(-0.0 if jnp.issubdtype(dtype, jnp.floating) else 0, dtype)


def constrained_batch(batch: Any, shardings: Sequence[NamedSharding]) -> Any:
    """The arrays of a batch that is being traced, with these shardings."""
    leaves, structure = jax.tree.flatten(batch)
    pinned = [jax.lax.with_sharding_constraint(x, how) for x, how in zip(leaves, shardings, strict=True)]
    return jax.tree.unflatten(structure, pinned)
