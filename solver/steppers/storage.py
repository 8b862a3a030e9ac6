"""Declared storage of a state's arrays: as modes, as points, or as numbers on the host.

An equation declares its fields, a stepper its history, a forcing its state, an output its sums. Everything else in a
state is on the host. Nothing is inferred from shapes: an array that nobody declares is refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

import jax
import numpy as np

from solver.grid import Grid, Storage
from solver.mesh import placed

Declared: TypeAlias = tuple[tuple[str, Storage], ...]  # by path in the state, such as `field/velocity`; sorted

HOST = Storage("host")


def path_in_state(path: Any) -> str:
    """The name of a leaf of a state: the names on the way to it, such as `history/nonlinear/velocity`."""
    return jax.tree_util.keystr(path, simple=True, separator="/")


def declare(owner: str, method: str, place: str, tree: Any, declared: Any, grid: Grid) -> dict[str, Storage]:
    """Storage of the arrays of one part of a state, by their paths in the state.

    Args:
        owner: whose part it is, for messages.
        method: method of the owner, which declares it, for messages.
        place: path of the part in the state.
        tree: the part, or its shapes.
        declared: `Storage`, or a tree of them, each entry of which holds for all that is below it in `tree`. None
            means numbers, which need no storage.
        grid: grid of the state.

    Raises:
        TypeError: a tree of another form, an array that is not declared, or complex numbers on the host.
        ValueError: an array declared as modes or points has not their shape.
    """
    is_entry = lambda entry: entry is None or isinstance(entry, Storage)  # noqa: E731
    entries, form = jax.tree.flatten(declared, is_leaf=is_entry)
    try:
        parts = form.flatten_up_to(tree)
    except ValueError as error:
        raise TypeError(f"{owner}: what {method} returns is not of the form of what it keeps: {error}") from None
    storage = [entry for entry, part in zip(entries, parts, strict=True) for _ in jax.tree.leaves(part)]
    storage_by_path = {}
    for (path, leaf), how in zip(jax.tree_util.tree_leaves_with_path(tree), storage, strict=True):
        name = "/".join(part for part in (place, path_in_state(path)) if part)
        _check(owner, method, name, tuple(getattr(leaf, "shape", ())), how, grid)
        if not (how or HOST).is_split and np.issubdtype(getattr(leaf, "dtype", np.float64), np.complexfloating):
            raise TypeError(f"{owner} keeps complex numbers on the host ({name}): real and imaginary parts are needed")
        storage_by_path[name] = how or HOST
    return storage_by_path


def _check(owner: str, method: str, name: str, shape: tuple[int, ...], how: Storage | None, grid: Grid) -> None:
    if how is None:
        if shape:
            raise TypeError(
                f"{owner} keeps an array of shape {list(shape)} ({name}) and does not say how it is stored: a method "
                f'{method} that returns Storage("modes"), Storage("points") or Storage("host") is needed'
            )
        return
    axes = how.axes(grid)
    if shape[len(shape) - len(axes) :] != axes or len(shape) < len(axes):
        raise ValueError(
            f"{owner} declares {name} of shape {list(shape)} as {how}: [..., {', '.join(map(str, axes))}] is needed"
        )


def split_arrays(*parts: Mapping[str, Storage]) -> Declared:
    """Storage that a state keeps of its parts: the entries of arrays that are split over the devices."""
    return tuple(sorted((name, how) for part in parts for name, how in part.items() if how.is_split))


def place_as_declared(part: Any, declared: Mapping[str, Storage], grid: Grid) -> Any:
    """Give each array of a new state the sharding that its storage says; called while the state is traced.

    Left to the compiler, an array of zeros would be whole on each device, and an array on the host may be split.

    Args:
        part: entries of the state by name: `{"field": …, "history": …}`.
        declared: storage of the arrays, by path in the state; an array without an entry is on the host.
        grid: grid of the state.

    Returns:
        The same entries: modes and points split over the devices, every other array whole on each device.
    """

    def place(path: Any, leaf: Any) -> Any:
        storage = declared.get(path_in_state(path), HOST)
        return placed(leaf, storage.sharding(np.ndim(leaf), grid))

    return jax.tree_util.tree_map_with_path(place, part)
