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
from solver.fft.blocked import BLOCK_BYTES
from solver.fft.engines import in_blocks
from solver.fft.primitive import forward_p, inverse_p, pointwise_p
from solver.grid import Grid, Layout
from solver.steppers import State, Stepper


@dataclass(frozen=True)
class Plan:
    """Costs of a run on `slabs` × `columns` devices.

    `transforms` counts transforms of one component, by True for forward and False for inverse.
    """

    slabs: int
    columns: int
    most_slabs: int
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
    state_bytes = _bytes((state.field, state.history)) // layout.devices
    return Plan(
        slabs=layout.slabs,
        columns=layout.columns,
        most_slabs=layout.most_slabs,
        physical=grid.physical_shape,
        physical_block=tuple(n // p for n, p in zip(layout.padded_points, layout.parts, strict=True)),
        spectral=layout.logical_spectral_shape,
        spectral_block=grid.spectral_sharding.shard_shape(grid.spectral_shape),
        transforms=dict(counts),
        exchanges=len(calls) * ((layout.slabs > 1) + (layout.columns > 1)),
        exchanged_bytes=sum(call.exchanged_bytes for call in calls),
        state_bytes=state_bytes,
        peak_bytes=_peak_bytes(equation, stepper, state, calls) // layout.devices,
        advice=_advice(grid),
    )


def transforms_in_step(equation: PeriodicSystem, stepper: Stepper, state: State) -> list[Call]:
    """Every distributed transform that one step calls for."""
    dt = jax.ShapeDtypeStruct((), equation.grid.dtype)

    def step(equation: Any, field: Any, history: Any, dt: Any) -> Any:
        return stepper.step(equation, field, history, dt, dt, stepper.coefficients(equation, dt))

    return list(_calls(jax.make_jaxpr(step)(equation, state.field, state.history, dt).jaxpr))


def _calls(jaxpr: Any) -> Iterator[Call]:
    for equation in jaxpr.eqns:
        if equation.primitive in (forward_p, inverse_p, pointwise_p):
            yield from _transforms(equation)
        for parameter in equation.params.values():
            for entry in parameter if isinstance(parameter, tuple) else (parameter,):
                inner = getattr(entry, "jaxpr", None)
                if inner is not None:
                    yield from _calls(getattr(inner, "jaxpr", inner))


def _transforms(equation: Any) -> Iterator[Call]:
    given, result = equation.invars[0].aval, equation.outvars[0].aval
    layout = equation.params["layout"]
    # a plan is for any processor; the fields of a product pass in blocks where they would on a CPU
    blocked = equation.primitive is pointwise_p and in_blocks(layout, equation.params["method"], on_cpu=True)
    if equation.primitive is not forward_p:
        yield _call(False, layout, given, blocked)
    if equation.primitive is not inverse_p:
        yield _call(True, layout, result, blocked)


def _call(forward: bool, layout: Layout, modes: Any, blocked: bool) -> Call:
    batch = math.prod(modes.shape[: modes.ndim - layout.dimensions])
    itemsize = modes.dtype.itemsize
    # in flight at once: the field, unless it passes in blocks, and what is sent and received, x not yet pruned
    exchanged = itemsize * layout.padded_points[0] * math.prod(layout.spectral_shape[:-1])
    point_size = itemsize // 2 if layout.real else itemsize
    fields = batch * point_size * math.prod(layout.points)
    if blocked:
        fields = min(fields, 4 * BLOCK_BYTES * layout.devices)
    return Call(forward, batch, batch * layout.exchange_bytes(itemsize), fields + 2 * batch * exchanged)


def _peak_bytes(equation: PeriodicSystem, stepper: Stepper, state: State, calls: list[Call]) -> int:
    """State and the stepper's stages and coefficients, and the largest transform under way, for all devices."""
    dt = jax.ShapeDtypeStruct((), equation.grid.dtype)
    coefficients = jax.eval_shape(lambda e, dt: stepper.coefficients(e, dt), equation, dt)
    held = _bytes((state.history, coefficients)) + (1 + stepper.stages_held) * _bytes(state.field)
    return held + max((call.working_bytes for call in calls), default=0)


def _bytes(tree: Any) -> int:
    return sum(math.prod(leaf.shape) * np.dtype(leaf.dtype).itemsize for leaf in jax.tree.leaves(tree))


def _advice(grid: Grid) -> str:
    layout = grid.layout
    if grid.dimensions == 1:
        return "one device: a one-dimensional grid is not split"
    most, pencils = layout.most_slabs, layout.most_slabs * layout.most_columns
    if layout.columns > 1:
        return f"pencil: two exchanges per transform; it stops at {pencils} devices, slabs at {most}"
    if layout.slabs * 2 <= most:
        return f"slab: one exchange per transform; it stops at {most} devices"
    if grid.dimensions == 2:
        return f"slab, near its end of {most} devices"
    return f"slab, near its end of {most} devices; pencils reach {pencils}: devices.decomposition = 'pencil'"
