"""The trial of a candidate: it is started, compiled, and timed turn by turn."""

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
    """A candidate cannot be used; the message gives the reason."""


@dataclass(eq=False)
class Trial:
    """A candidate and its measurements.

    Attributes:
        milliseconds: per step, for each round of the last session that it took part in.
        held: bytes that the compiled program needs on a device; None if the compiler does not say.
        exchanges: all-to-alls per step.
        has_products: whether a step has functions of points, which can be computed in waves.
        failure: the reason why it cannot be used; empty if it can.
        final: whether it took part in the last session, which decides.
        ready: what a turn needs; None before the start and after the candidate has been dropped.
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
        """Whether it was timed and has not failed."""
        return bool(self.milliseconds) and not self.failure


@dataclass(frozen=True)
class Ready:
    """A candidate between two turns: its program, and its start in host memory, so that others can use the devices."""

    equation: PeriodicSystem
    stepper: Any
    moved: OnHost
    state: State
    dt: float
    program: Any = None

    def turn(self, steps: int) -> tuple[float, Fields]:
        """Take one step to warm up and then `steps` steps from the start.

        Returns:
            Seconds for `steps` steps, and the fields after them.

        Raises:
            TrialError: the fields are not finite.
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
        values = arguments(self, field, history, forcing, done, steps)
        return self.program(*fixed_steps_donating.sealed(*values))


def arguments(ready: Ready, field: Any, history: Any, forcing: Any, done: int, steps: int) -> tuple[Any, ...]:
    """Arguments of `fixed_steps`, `done` steps after the start."""
    state = ready.state
    return (
        ready.equation, ready.stepper, field, history, np.int64(steps), np.float64(ready.dt), state.t_reference,
        np.int64(done), forcing, state.key, np.int64(done),
    )  # fmt: skip


def begin(trial: Trial, mesh: Mesh, dt: float | None) -> None:
    """Make the start, on all processes together. `dt` is the step; None means the first step of the run."""
    assembly = assemble.Assembly(trial.candidate.config, mesh)
    equation, stepper, state = assembly.equation, assembly.stepper, assembly.start()
    dt = _first_step(assembly, state) if dt is None else dt
    calls = transforms_in_step(equation, stepper, state)
    trial.has_products = any(call.of_points for call in calls)
    trial.exchanges = trial.candidate.section.chunks * sum(call.exchanges for call in calls)
    moved = OnHost.of((with_budget(state.field, state.budget), state.history))
    trial.ready = Ready(equation, stepper, moved, state.replace(field=(), history=()), dt)


def compile_program(trial: Trial, mesh: Mesh) -> None:
    """Compile the program of a turn. Each process compiles alone, so one of them may fail.

    Raises:
        TrialError: the program needs more memory than a device has.
    """
    ready = trial.ready
    assert ready is not None
    field, history = ready.moved.shapes()
    program = fixed_steps_donating.lower(*arguments(ready, field, history, ready.state.forcing, 0, 1)).compile()
    trial.held = _bytes_held(program)
    _refuse_too_large(trial.held, mesh)
    if trial.candidate.section.engine == "jaxdecomp":  # XLA changes layouts with all-to-alls of its own
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
    """Raises TrialError instead of running out of memory in an exchange, where other processes would wait for ever."""
    mine = [device for device in mesh.devices.flat if device.process_index == jax.process_index()]
    limits = [stats["bytes_limit"] for device in mine if (stats := device.memory_stats()) and "bytes_limit" in stats]
    if held is not None and limits and held > min(limits):
        raise TrialError(f"needs {held / 2**30:.3g} GiB on each device, which has {min(limits) / 2**30:.3g} GiB")


# ---- waiting ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class OnHost:
    """Arrays in host memory; each process holds the pieces of its own devices."""

    leaves: list[tuple[Any, Any, list[tuple[Any, np.ndarray]]]]
    tree: Any

    @classmethod
    def of(cls, arrays: Any) -> OnHost:
        """Copy arrays from the devices."""
        leaves, tree = jax.tree.flatten(arrays)
        pieces = [[(shard.device, np.array(shard.data)) for shard in leaf.addressable_shards] for leaf in leaves]
        return cls([(leaf.shape, leaf.sharding, own) for leaf, own in zip(leaves, pieces, strict=True)], tree)

    def shapes(self) -> Any:
        """Shapes, types and shardings of the arrays."""
        return self.tree.unflatten(
            jax.ShapeDtypeStruct(shape, pieces[0][1].dtype, sharding=sharding)
            for shape, sharding, pieces in self.leaves
        )

    def to_devices(self) -> Any:
        """Copy the arrays back to their devices."""
        build = jax.make_array_from_single_device_arrays
        put = lambda piece, device: jnp.copy(jax.device_put(piece, device))  # noqa: E731  the copy's buffer is JAX's own
        return self.tree.unflatten(
            build(shape, sharding, [put(piece, device) for device, piece in pieces])
            for shape, sharding, pieces in self.leaves
        )
