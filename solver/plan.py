"""What a step costs, read off its own trace: transforms, exchanges, bytes, memory. Computes nothing."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

from solver.equations import PeriodicSystem
from solver.fft.primitive import forward_p, inverse_p
from solver.grid import Grid
from solver.steppers import State, Stepper


@dataclass(frozen=True)
class Plan:
    """Costs of a run on a number of devices.

    `transforms` counts transforms of one component, by True for forward and False for inverse.
    """

    devices: int
    possible: list[int]
    physical: tuple[int, ...]
    physical_block: tuple[int, ...]
    spectral: tuple[int, ...]
    spectral_block: tuple[int, ...]
    transforms: dict[bool, int]
    exchanges: int
    exchanged_bytes: int
    state_bytes: int
    peak_bytes: int
    advice: str


@dataclass(frozen=True)
class Call:
    """One batched transform in a step."""

    forward: bool
    batch: int
    exchanged_bytes: int
    working_bytes: int


def make_plan(equation: PeriodicSystem, stepper: Stepper, state: State) -> Plan:
    """The plan of one step of fixed size; `state` may hold shapes alone."""
    grid = equation.grid
    calls = transforms_in_step(equation, stepper, state)
    counts: Counter[bool] = Counter()
    for call in calls:
        counts[call.forward] += call.batch
    layout = grid.layout
    state_bytes = _bytes((state.field, state.history)) // layout.slabs
    return Plan(
        devices=layout.slabs,
        possible=layout.possible_slabs(10**5),
        physical=grid.physical_shape,
        physical_block=grid.physical_sharding.shard_shape(grid.physical_shape),
        spectral=layout.logical_spectral_shape,
        spectral_block=grid.spectral_sharding.shard_shape(grid.spectral_shape),
        transforms=dict(counts),
        exchanges=len(calls) if layout.slabs > 1 else 0,
        exchanged_bytes=sum(call.exchanged_bytes for call in calls),
        state_bytes=state_bytes,
        peak_bytes=_peak_bytes(equation, stepper, state, calls) // layout.slabs,
        advice=_advice(grid),
    )


def transforms_in_step(equation: PeriodicSystem, stepper: Stepper, state: State) -> list[Call]:
    """Every distributed transform that one step calls for."""
    dt = jax.ShapeDtypeStruct((), equation.grid.dtype)
    return list(_calls(jax.make_jaxpr(_step_function(equation, stepper))(state.field, state.history, dt).jaxpr))


def _step_function(equation: Any, stepper: Stepper) -> Any:
    def step(field: Any, history: Any, dt: Any) -> Any:
        return stepper.step(equation, field, history, dt, dt, stepper.coefficients(equation, dt))

    return step


def _calls(jaxpr: Any) -> Iterator[Call]:
    for equation in jaxpr.eqns:
        if equation.primitive in (forward_p, inverse_p):
            yield _call(equation)
        for parameter in equation.params.values():
            inner = getattr(parameter, "jaxpr", None)
            if inner is not None:
                yield from _calls(inner)


def _call(equation: Any) -> Call:
    layout = equation.params["layout"]
    is_forward = equation.primitive is forward_p
    points, modes = equation.invars[0].aval, equation.outvars[0].aval
    if not is_forward:
        points, modes = modes, points
    batch = math.prod(points.shape[: points.ndim - layout.dimensions])
    itemsize = modes.dtype.itemsize
    # in flight at once: the field, and what is sent and received, x not yet pruned
    exchanged = itemsize * layout.points[0] * math.prod(layout.spectral_shape[:-1])
    working = points.dtype.itemsize * math.prod(layout.points) + 2 * exchanged
    return Call(is_forward, batch, batch * layout.exchange_bytes(itemsize), batch * working)


def _peak_bytes(equation: PeriodicSystem, stepper: Stepper, state: State, calls: list[Call]) -> int:
    """State and the stepper's stages and coefficients, and the largest transform under way, for all devices."""
    dt = jax.ShapeDtypeStruct((), equation.grid.dtype)
    coefficients = jax.eval_shape(lambda dt: stepper.coefficients(equation, dt), dt)
    held = _bytes((state.history, coefficients)) + (1 + stepper.stages_held) * _bytes(state.field)
    return held + max((call.working_bytes for call in calls), default=0)


def _bytes(tree: Any) -> int:
    return sum(math.prod(leaf.shape) * np.dtype(leaf.dtype).itemsize for leaf in jax.tree.leaves(tree))


def _advice(grid: Grid) -> str:
    layout = grid.layout
    if grid.dimensions == 1:
        return "one device: a one-dimensional grid is not split"
    most = min(layout.points[0], layout.retained[layout.order[0]])
    if layout.slabs * 2 <= most:
        return f"slab: one exchange per transform; it stops at {most} devices"
    return f"slab is near its end, {most} devices: beyond, a pencil decomposition is needed (not in this version)"
