"""The state that steppers move."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from html import escape
from typing import Any

import jax
import numpy as np

from solver.grid import Box, Storage
from solver.steppers.storage import Declared, split_arrays


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
