"""Members of a batch: their common structure, and the values that each has of its own, a row for each place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from solver.dynamics.any_equation import AnyEquation
from solver.dynamics.compiled import in_precision
from solver.loop.controls import StepControl
from solver.mesh import MEMBER, is_explicit
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
