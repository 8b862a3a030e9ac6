"""Members of a batch: their common structure, the values that each has of its own, and all arrays as one batch.

The first axis counts the members, a row for each place; the mesh axis `member` splits it. A member's own arrays are on
the whole mesh: each part along the axis `member` holds a copy.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import NamedSharding, PartitionSpec
from jaxtyping import Array

from solver.dynamics.any_equation import AnyEquation
from solver.dynamics.compiled import in_precision
from solver.loop.controls import StepControl
from solver.mesh import MEMBER, AnyMesh, is_explicit
from solver.static import sealed
from solver.steppers.state import State
from solver.steppers.stepper import Stepper

Modules = tuple[AnyEquation, Stepper, StepControl]


def check_batch(modules: Sequence[Modules], size: int) -> None:
    """Refuse members that differ in more than numbers, and a batch in which they have no place.

    Raises:
        ValueError: the mesh has axes of type Explicit, the members differ in more than numbers, or the batch has too
            few places or no multiple of the mesh's parts.
    """
    mesh = modules[0][0].grid.mesh
    parts = mesh.shape.get(MEMBER, 1)
    if is_explicit(mesh):
        raise ValueError(
            f"members on a mesh with axes of type Explicit, {dict(mesh.shape)}: axes of type Auto are needed"
        )
    if size % parts or size < len(modules):
        raise ValueError(
            f"{len(modules)} members in a batch of {size} on a mesh of {dict(mesh.shape)}: at least as many places are "
            f"needed, a multiple of {parts}"
        )
    kinds = [signature(each) for each in modules]
    unlike = [number for number, kind in enumerate(kinds) if kind != kinds[0]]
    if unlike:
        raise ValueError(
            f"members {', '.join(map(str, unlike))} differ from member 0 in shapes or formulas: members of one batch "
            "may differ in numbers alone"
        )


def signature(modules: Modules) -> Any:
    """Structure of a member's modules and the shapes of their arrays: equal for all members of one batch.

    The numbers of a step control may differ.
    """
    kind = lambda leaf: np.asarray(leaf).dtype.kind if isinstance(leaf, float | complex) else leaf.dtype.kind  # noqa: E731
    shapes = [(np.shape(leaf), kind(leaf)) for leaf in jax.tree.leaves(sealed(modules))]
    return jax.tree.structure(sealed(modules)), shapes


def differing_leaves(modules: Sequence[Modules]) -> list[int]:
    """Positions among the leaves of the modules where not all members have the same number or array."""
    rows = [jax.tree.leaves(each) for each in modules]
    return [i for i, first in enumerate(rows[0]) if any(not _same(first, row[i]) for row in rows[1:])]


def _same(a: Any, b: Any) -> bool:
    return a is b or (not isinstance(a, jax.Array) and bool(np.all(a == b)))


def arrays_of(state: State) -> Any:
    """The arrays of a state that a batch holds; the random key as plain numbers."""
    key = jax.random.key_data(state.key) if isinstance(state.key, jax.Array) else state.key
    as_array = lambda x: x if isinstance(x, jax.Array) else np.asarray(x)  # noqa: E731
    return jax.tree.map(as_array, (state.field, state.history, state.forcing, key))


def numbers_of(state: State) -> State:
    """The numbers of a state, which the host holds; its arrays are left out."""
    return state.replace(field={}, history=(), forcing=(), key=())


def state_of(arrays: Any, numbers: State, kind: Any) -> State:
    """Inverse of `arrays_of` and `numbers_of`; `kind` is the kind of the random key."""
    field, history, forcing, key = arrays
    key = key if kind is None else jax.random.wrap_key_data(key, impl=kind)
    return numbers.replace(field=field, history=history, forcing=forcing, key=key)


def kind_of_key(key: Any) -> Any:
    """The kind of a random key; None if the state has no key."""
    return jax.random.key_impl(key) if isinstance(key, jax.Array) else None


def own_leaves(modules: Sequence[Modules], size: int) -> dict[int, Any]:
    """The leaves of the modules in which members differ, by position: a row for each place in the batch.

    Places without a member have the leaves of the first member.
    """
    leaves = [jax.tree.leaves(each) for each in modules]
    leaves += [leaves[0]] * (size - len(leaves))
    return {i: _stacked([each[i] for each in leaves]) for i in differing_leaves(modules)}


def with_own(modules: Modules, own: Mapping[int, Any]) -> Modules:
    """The modules of one member, from another's modules and its own leaves by position; numbers in their precision."""
    leaves, structure = jax.tree.flatten(modules)
    equation, stepper, control = jax.tree.unflatten(structure, [own.get(i, leaf) for i, leaf in enumerate(leaves)])
    return in_precision(equation), stepper, control


def _stacked(leaves: Sequence[Any]) -> Any:
    return jnp.stack(leaves) if any(isinstance(leaf, jax.Array) for leaf in leaves) else np.stack(leaves)


def rows(trees: Sequence[Any], places: Sequence[int], size: int) -> Any:
    """Numbers of these members at their places in the batch; all other places have the numbers of the first member."""
    filled = [trees[0]] * size
    for place, tree in zip(places, trees, strict=True):
        filled[place] = tree
    return jax.tree.map(lambda *leaves: _stacked(leaves), *filled)


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
