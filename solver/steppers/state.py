"""The state that steppers move, and the declared storage of its arrays: modes, points, or numbers on the host.

An equation declares its fields, a stepper its history, a forcing its state, an output its sums. Everything else in a
state is on the host. Nothing is inferred from shapes: an array that nobody declares is refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from html import escape
from typing import Any, TypeAlias

import jax
import numpy as np

from solver.grid import Box, Grid, Storage
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


@jax.tree_util.register_dataclass
@dataclass(frozen=True, repr=False)
class State:
    """Everything a run needs to continue: a pytree, and exactly what a checkpoint holds.

    Args:
        field: the equation's fields by name: coefficients, or values at the points for a `SplitEquation`.
        history: values that the stepper carries from step to step.
        conserved: the conserved quantities at the start, against which drift is measured.
        energies: the equation's energies at the start.
        budget: integrals since the start of what changes them, by column of the series.
        key: random key of the run.
        forcing: state of each forcing, by field name.
        statistics: sums of outputs over time, by the name of the output.
        t: time; `t = t_reference + (step - step_reference) · dt` where the step is fixed.
        dt: size of the last full step; 0 at the start of a run.
        taken: size of the last step, which may have been shortened to meet a time; 0 before the first step.
        step: number of steps done.
        t_reference, step_reference: time and step from which times are counted.
        control: memory of the step control, by the name of its class: dicts of numbers.
        rejected: number of steps that the step control made the run take again.
        box: the grid that the fields belong to, without its devices; static, so part of the pytree's structure. None
            for a state made by hand, whose grid nobody checks.
        storage: which of its arrays are modes and which are points, by path (`field/velocity`); all others are numbers
            on the host. Static. None for a state made by hand, which no checkpoint can be made of.
    """

    field: Any
    history: Any = ()
    conserved: dict[str, Any] = field(default_factory=dict)
    energies: dict[str, Any] = field(default_factory=dict)
    budget: dict[str, Any] = field(default_factory=dict)
    key: Any = ()
    forcing: Any = ()
    statistics: dict[str, Any] = field(default_factory=dict)
    t: Any = 0.0
    dt: Any = 0.0
    taken: Any = 0.0
    step: Any = 0
    t_reference: Any = 0.0
    step_reference: Any = 0
    control: dict[str, Any] = field(default_factory=dict)
    rejected: Any = 0
    box: Box | None = field(default=None, metadata={"static": True})
    storage: Declared | None = field(default=None, metadata={"static": True})

    def __repr__(self) -> str:
        """Step, time, shapes and devices of its fields; no numbers of them."""
        number = lambda value, form: format(value, form) if _is_known(value) else "?"  # noqa: E731
        fields = self.field.items() if isinstance(self.field, Mapping) else ()
        shapes = ", ".join(f"{name} {value.dtype}{list(value.shape)}{_split(value)}" for name, value in fields)
        others = [name for name in ("history", "forcing", "statistics") if jax.tree.leaves(getattr(self, name))]
        beside = f"; with {', '.join(others)}" if others else ""
        return f"State at step {number(self.step, 'd')}, t = {number(self.t, '.6g')}: {shapes}{beside}"

    def _repr_html_(self) -> str:
        return f"<pre>{escape(repr(self))}</pre>"

    def replace(self, **changes: Any) -> State:
        """A copy with some entries changed."""
        return replace(self, **changes)

    def storage_by_path(self) -> dict[str, Storage]:
        """Which of its arrays are modes and which are points, by path; all others are numbers on the host.

        Raises:
            ValueError: a state made by hand, which does not say it.
        """
        if self.storage is None:
            raise ValueError(
                "a state made by hand does not say which of its arrays are modes and which are points: one from "
                "initial_state, evolve, integrate or load_checkpoint is needed"
            )
        return dict(self.storage)

    def with_statistics(self, sums: Mapping[str, Any], declared: Mapping[str, Mapping[str, Storage]]) -> State:
        """A copy with these sums of outputs, by the name of the output.

        Args:
            sums: arrays and numbers.
            declared: the entries that `storage.declare` found for each output's sums.
        """
        if self.storage is None:
            return replace(self, statistics=dict(sums))
        others = {name: how for name, how in self.storage if not name.startswith("statistics/")}
        storage = split_arrays(others, *(declared[name] for name in sums))
        return replace(self, statistics=dict(sums), storage=storage)


def _is_known(value: Any) -> bool:
    """True if a number is there, and neither traced, nor a shape, nor one of several."""
    return not isinstance(value, jax.core.Tracer | jax.ShapeDtypeStruct) and np.shape(value) == ()


def _split(value: Any) -> str:
    """The split of an array over devices, in words; empty for an array that is whole or whose split is unknown."""
    if isinstance(value, jax.core.Tracer) or not isinstance(value, jax.Array) or len(value.sharding.device_set) == 1:
        return ""
    part = list(value.sharding.shard_shape(value.shape))
    return f" on {len(value.sharding.device_set)} devices, {part} on each"
