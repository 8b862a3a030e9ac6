"""Transforms, exchanges, bytes and memory of a step, and of the devices that analyse, counted on their own traces.

Nothing is computed. Of particles: positions and values between devices, and planes of points for the neighbours.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

from solver.dynamics.any_equation import AnyEquation
from solver.dynamics.budget import with_budget
from solver.dynamics.compiled import as_argument
from solver.fft import Call, transforms_in
from solver.fft.pointwise_check import programs_called
from solver.grid import Grid
from solver.outputs.output import Output
from solver.particles.exact_sum import SCOPE
from solver.particles.particles import particles_of
from solver.plan.of_run import bytes_on_one, place
from solver.simulation.analysis_by_thread import MAX_BEHIND
from solver.static import opened, sealed
from solver.steppers import State, Stepper

# of what a device holds ready it sends a part to each of P devices, itself among them, or all to one or to each other
SENT = {
    "all_to_all": lambda p: (p - 1) / p,
    "reduce_scatter": lambda p: (p - 1) / p,
    "ppermute": lambda p: 1,
    "all_gather": lambda p: p - 1,
}


@dataclass(frozen=True)
class Estimate:
    """Costs of a run on `slabs` × `pencils` devices.

    `transforms` counts transforms of one component, by True for forward and False for inverse; `complex_transforms` are
    transforms of complex fields, both ways. `exchange_precision` is the precision of sent numbers, as
    `Method.precision` has it. `particle_exchanges` counts the exchanges of particles by kind, in one round for each
    evaluation, and `particle_bytes` what they send in all.
    """

    slabs: int
    pencils: int
    max_slabs: int
    physical: tuple[int, ...]
    physical_block: tuple[int, ...]
    spectral_axes: tuple[str, ...]
    spectral: tuple[int, ...]
    spectral_block: tuple[int, ...]
    transforms: dict[bool, int]
    complex_transforms: int
    exchanges: int
    exchanged_bytes: int
    exchange_precision: str
    state_bytes: int
    peak_bytes: int
    advice: str
    particle_exchanges: dict[str, int]
    particle_bytes: int


def make_estimate(equation: AnyEquation, stepper: Stepper, state: State) -> Estimate:
    """The estimate of one step of fixed size; `state` may hold shapes alone."""
    grid, modes = equation.grid, equation.space(equation.first_field).modes
    traced = _trace_of_step(equation, stepper, state)
    calls, of_particles = transforms_in(traced), _exchanges_of_particles(equation, traced)
    counts: Counter[bool] = Counter()
    layout = grid.layout
    of_one = layout.retained[-1] if layout.walls else 1  # transforms along the walls for one of a scalar
    for call in calls:
        counts[call.forward] += call.batch // of_one
    summed = _bytes(state.statistics) // layout.devices
    further = summed + _bytes_of_modes(equation)
    state_bytes = _bytes((state.field, state.history)) // layout.devices + further
    return Estimate(
        slabs=layout.slabs,
        pencils=layout.pencils,
        max_slabs=layout.max_slabs,
        physical=grid.physical_shape,
        physical_block=tuple(n // p for n, p in zip(layout.padded_points, layout.parts, strict=True)),
        spectral_axes=modes.axis_names,
        spectral=modes.logical_spectral_shape,
        spectral_block=modes.spectral_sharding().shard_shape(modes.spectral_shape),
        transforms=dict(counts),
        complex_transforms=sum(call.batch for call in calls if not call.real),
        exchanges=sum(call.exchanges for call in calls),
        exchanged_bytes=sum(call.exchanged_bytes for call in calls),
        exchange_precision=equation.method.precision,
        state_bytes=state_bytes,
        peak_bytes=_peak_bytes(equation, stepper, state, calls) // layout.devices + further,
        advice=_advice(grid),
        particle_exchanges=dict(Counter(exchange.kind for exchange in of_particles)),
        particle_bytes=sum(exchange.sent for exchange in of_particles) * layout.devices,
    )


def transforms_in_step(equation: AnyEquation, stepper: Stepper, state: State) -> list[Call]:
    """Every distributed transform that one step calls for."""
    return transforms_in(_trace_of_step(equation, stepper, state))


def _exchanges_of_particles(equation: AnyEquation, traced: Any) -> list[Exchange]:
    """Exchanges of particles between devices in a step; none on one device."""
    if equation.grid.layout.devices == 1 or not particles_of(equation):
        return []
    return exchanges_in(traced)


def _trace_of_step(equation: AnyEquation, stepper: Stepper, state: State) -> Any:
    dt = jax.ShapeDtypeStruct((), equation.grid.dtype)

    def step(equation: Any, state: Any, dt: Any) -> Any:
        driven = opened(equation).at_step(state.forcing, state.key, state.step)
        fields = with_budget(state.field, state.budget)
        return stepper.step(driven, fields, state.history, dt, dt, stepper.coefficients(driven, dt))

    return jax.make_jaxpr(step)(sealed(as_argument(equation)), state, dt)


def _peak_bytes(equation: AnyEquation, stepper: Stepper, state: State, calls: list[Call]) -> int:
    """State and the stepper's stages and coefficients, and the largest transform under way, for all devices."""
    dt = jax.ShapeDtypeStruct((), equation.grid.dtype)
    prepare = lambda e, s, dt: stepper.coefficients(opened(e).at_step(s.forcing, s.key, s.step), dt)  # noqa: E731
    coefficients = jax.eval_shape(prepare, sealed(as_argument(equation)), state, dt)
    held = _bytes((state.history, coefficients)) + (1 + stepper.stages_held) * _bytes(state.field)
    return held + max((call.working_bytes for call in calls), default=0)


def _bytes_of_modes(equation: AnyEquation) -> int:
    """Bytes of the modes between walls on one device; 0 in a periodic box."""
    modes = (getattr(equation, "between", None) or {}).values()
    return sum(of_field.bytes_on_one(equation.grid.layout.devices) for of_field in modes)


def _bytes(tree: Any) -> int:
    return sum(math.prod(leaf.shape) * np.dtype(leaf.dtype).itemsize for leaf in jax.tree.leaves(tree))


def _advice(grid: Grid) -> str:
    layout = grid.layout
    if layout.max_slabs == layout.max_pencils == 1:
        several = "too few modes are kept to split them"
        by_axes = several if grid.dimensions > 1 else "a one-dimensional grid is not split"
        return f"one device: {'a grid of one periodic axis is not split' if grid.walls else by_axes}"
    most, most_pencils = layout.max_slabs, layout.max_slabs * layout.max_pencils
    if layout.pencils > 1:
        return f"pencil: two exchanges per transform; it stops at {most_pencils} devices, slabs at {most}"
    if layout.slabs * 2 <= most:
        return f"slab: one exchange per transform; it stops at {most} devices"
    if grid.dimensions == 2 or grid.walls:
        return f"slab, near its end of {most} devices"
    return f"slab, near its end of {most} devices; pencils reach {most_pencils}: devices.decomposition = 'pencil'"


@dataclass(frozen=True)
class AnalysisEstimate:
    """Memory of each device that analyses.

    Args:
        devices: number of devices.
        state_bytes: size of one state [bytes].
        peak_bytes: about the most that is held: the states that may be copied, and the largest transform of an
            output.
    """

    devices: int
    state_bytes: int
    peak_bytes: int


def estimate_analysis(equation: AnyEquation, outputs: Iterable[Output], state: State) -> AnalysisEstimate:
    """The estimate of the devices that analyse; computes nothing.

    Args:
        equation: on their mesh.
        outputs: outputs of the run; those that the devices that step carry out are left out.
        state: its shapes on their mesh.
    """
    devices = equation.grid.layout.devices
    programs = [
        program
        for output in outputs if not output.keeps_bits
        for program in output.programs(equation.at_time(math.nan), state).values()
    ]  # fmt: skip
    working = max((call.working_bytes for program in programs for call in transforms_in(program.jaxpr)), default=0)
    held = bytes_on_one(place(state, equation.grid))
    return AnalysisEstimate(devices, held, MAX_BEHIND * held + working // devices)


@dataclass(frozen=True)
class Exchange:
    """A collective operation between devices.

    Args:
        kind: `all_to_all`, `ppermute`, `all_gather` or `reduce_scatter`.
        held: bytes that one device holds ready for it.
        devices: number of devices that exchange.
    """

    kind: str
    held: int
    devices: int

    @property
    def sent(self) -> int:
        """Bytes that one device sends to others."""
        return round(self.held * SENT[self.kind](self.devices))


def exchanges_in(jaxpr: Any) -> list[Exchange]:
    """Every exchange of particles in a trace, as `jax.make_jaxpr` returns it: one round for each evaluation, as many as
    they need where they are spread evenly. The body of another loop counts once.
    """
    return list(_exchanges(getattr(jaxpr, "jaxpr", jaxpr), None))


def _exchanges(jaxpr: Any, mesh: Any) -> Iterator[Exchange]:
    for equation in jaxpr.eqns:
        if mesh is not None and equation.primitive.name in SENT:
            yield _exchange(equation, mesh)
        is_map = equation.primitive.name == "shard_map" and SCOPE in str(equation.source_info.name_stack)
        within = equation.params["mesh"] if is_map else mesh
        if mesh is not None and equation.primitive.name == "while":  # further rounds
            continue
        branches = [list(_exchanges(program, within)) for program in programs_called(equation)]
        if equation.primitive.name == "cond":  # the usual step
            branches = [min(branches, key=len)]
        for exchanges in branches:
            yield from exchanges


def _exchange(equation: Any, mesh: Any) -> Exchange:
    names = equation.params["axis_name"]
    devices = math.prod(mesh.shape[name] for name in ((names,) if isinstance(names, str) else names))
    held = sum(math.prod(v.aval.shape) * np.dtype(v.aval.dtype).itemsize for v in equation.invars)
    return Exchange(equation.primitive.name, held, devices)
