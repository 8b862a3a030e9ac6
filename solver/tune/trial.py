"""One candidate: started, compiled, and timed turn by turn."""

from __future__ import annotations

import re
import time
from dataclasses import dataclass, field, replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh

from solver import assemble
from solver.equations.budget import with_budget, without_budget
from solver.equations.system import PeriodicSystem
from solver.loop import evolve, fixed_steps_donating
from solver.operators import Fields
from solver.plan import transforms_in_step
from solver.steppers.base import State
from solver.tune.candidates import Candidate


class TrialError(RuntimeError):
    """A candidate that cannot be used; says why."""


@dataclass(eq=False)
class Trial:
    """What is known of a candidate.

    Attributes:
        milliseconds: per step, of each round of the last session that it took part in.
        held: bytes that the compiled program holds on a device; None where the compiler does not say.
        exchanges: all-to-alls per step.
        has_products: whether a step has functions of points, which can go in waves.
        failure: why it cannot be used; empty if it can.
        final: whether it took part in the last session, which decides.
        ready: to take a turn.
    """

    candidate: Candidate
    milliseconds: list[float] = field(default_factory=list)
    held: int | None = None
    exchanges: int | None = None
    has_products: bool = False
    failure: str = ""
    final: bool = False
    ready: Ready | None = None

    @property
    def median(self) -> float:
        """Milliseconds per step."""
        return float(np.median(self.milliseconds))

    @property
    def middle(self) -> tuple[float, float]:
        """Lower and upper quartile of the milliseconds per step: half of the rounds lie between."""
        return float(np.quantile(self.milliseconds, 0.25)), float(np.quantile(self.milliseconds, 0.75))

    @property
    def usable(self) -> bool:
        """Whether it was timed, and its result is the right one."""
        return bool(self.milliseconds) and not self.failure


@dataclass(frozen=True)
class Ready:
    """A candidate between two of its turns: its program, and its start on the host, so that another has the devices."""

    equation: PeriodicSystem
    stepper: Any
    moved: OnHost
    state: State
    dt: float
    program: Any = None

    def turn(self, steps: int) -> tuple[float, Fields]:
        """From the start one step to warm up and then `steps`: seconds of the latter, and the fields afterwards.

        Raises:
            TrialError: values that are not finite.
        """
        field, history = self.moved.to_devices()
        forcing = self.state.forcing
        field, history, forcing, _ = self._advance(field, history, forcing, 0, 1)
        jax.block_until_ready(field)
        began = time.perf_counter()
        field, history, forcing, is_finite = jax.block_until_ready(self._advance(field, history, forcing, 1, steps))
        seconds = time.perf_counter() - began
        if not is_finite:
            raise TrialError(f"the solution is not finite after {steps + 1} steps of {self.dt:.3g}")
        return seconds, without_budget(field)

    def _advance(self, field: Any, history: Any, forcing: Any, done: int, steps: int) -> Any:
        given = arguments(self, field, history, forcing, done, steps)
        return self.program(*fixed_steps_donating.sealed(*given))


def arguments(ready: Ready, field: Any, history: Any, forcing: Any, done: int, steps: int) -> tuple[Any, ...]:
    """Of `fixed_steps`, `done` steps after the start."""
    state = ready.state
    return (
        ready.equation, ready.stepper, field, history, np.int64(steps), np.float64(ready.dt), state.t_reference,
        np.int64(done), forcing, state.key, np.int64(done),
    )  # fmt: skip


def begin(trial: Trial, mesh: Mesh, dt: float | None) -> None:
    """Make the start, on all processes together; `dt` is the size of a step, that of the run's first one if None."""
    assembly = assemble.Assembly(trial.candidate.config, mesh)
    equation, stepper, state = assembly.equation, assembly.stepper, assembly.start()
    dt = _first_step(assembly, state) if dt is None else dt
    calls = transforms_in_step(equation, stepper, state)
    trial.has_products = any(call.of_points for call in calls)
    trial.exchanges = trial.candidate.section.chunks * sum(call.exchanges for call in calls)
    moved = OnHost.of((with_budget(state.field, state.budget), state.history))
    trial.ready = Ready(equation, stepper, moved, state.replace(field=(), history=()), dt)


def compile_program(trial: Trial, mesh: Mesh) -> None:
    """Compile what a turn calls; each process by itself, so that one of them may fail.

    Raises:
        TrialError: the program needs more memory than a device has.
    """
    ready = trial.ready
    assert ready is not None
    field, history = ready.moved.shapes()
    program = fixed_steps_donating.lower(*arguments(ready, field, history, ready.state.forcing, 0, 1)).compile()
    trial.held = _bytes_held(program)
    _refuse_too_large(trial.held, mesh)
    if trial.candidate.section.engine == "jaxdecomp":  # XLA moves its fields from layout to layout
        trial.exchanges = len(re.findall(r" all-to-all(?:-start)?\(", program.as_text()))
    trial.ready = replace(ready, program=program)


def _first_step(assembly: assemble.Assembly, state: State) -> float:
    control = assembly.control
    if control.step is not None:
        return control.step
    states = evolve(
        assembly.equation, assembly.stepper, state, end=control.end, cfl=control.cfl, tolerance=control.tolerance,
        max_step=control.max_step, chunk=1,
    )  # fmt: skip
    next(states)
    return float(next(states).dt)


def _bytes_held(program: Any) -> int | None:
    analysis = program.memory_analysis()
    if analysis is None:
        return None
    parts = (analysis.argument_size_in_bytes, analysis.output_size_in_bytes, analysis.temp_size_in_bytes)
    return int(sum(parts) - analysis.alias_size_in_bytes)


def _refuse_too_large(held: int | None, mesh: Mesh) -> None:
    """Raises TrialError before memory runs out in the middle of an exchange, where the other processes would wait."""
    mine = [device for device in mesh.devices.flat if device.process_index == jax.process_index()]
    there = [stats["bytes_limit"] for device in mine if (stats := device.memory_stats()) and "bytes_limit" in stats]
    if held is not None and there and held > min(there):
        raise TrialError(f"needs {held / 2**30:.3g} GiB on each device, which has {min(there) / 2**30:.3g} GiB")


# ---- waiting ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class OnHost:
    """Arrays that wait on the host, each process holding its own devices' pieces."""

    leaves: list[tuple[Any, Any, list[tuple[Any, np.ndarray]]]]
    tree: Any

    @classmethod
    def of(cls, arrays: Any) -> OnHost:
        """Copy from the devices."""
        leaves, tree = jax.tree.flatten(arrays)
        pieces = [[(shard.device, np.array(shard.data)) for shard in leaf.addressable_shards] for leaf in leaves]
        return cls([(leaf.shape, leaf.sharding, own) for leaf, own in zip(leaves, pieces, strict=True)], tree)

    def shapes(self) -> Any:
        """Their shapes, types and shardings."""
        return self.tree.unflatten(
            jax.ShapeDtypeStruct(shape, pieces[0][1].dtype, sharding=sharding)
            for shape, sharding, pieces in self.leaves
        )

    def to_devices(self) -> Any:
        """Copies on the devices that they came from."""
        build = jax.make_array_from_single_device_arrays
        put = lambda piece, device: jnp.copy(jax.device_put(piece, device))  # noqa: E731  the copy's buffer is JAX's own
        return self.tree.unflatten(
            build(shape, sharding, [put(piece, device) for device, piece in pieces])
            for shape, sharding, pieces in self.leaves
        )
