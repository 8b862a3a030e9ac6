"""The trial of a candidate: it is started, compiled, and timed turn by turn."""

from __future__ import annotations

import re
import time
from collections.abc import Collection
from dataclasses import dataclass, field, replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh

from solver import assemble
from solver.dynamics.any_equation import AnyEquation
from solver.loop import FixedStep, StepLimits, advance_donating, device_state
from solver.operators import Fields
from solver.plan import transforms_in_step
from solver.simulation import OutputList, Simulation
from solver.steppers.state import State, path_in_state
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
        has_products: True if a step has functions of points, which can be computed in waves.
        failure: the reason why it cannot be used; empty if it can.
        final: True if it took part in the last session, which decides.
        ready: values needed for a turn; None before the start and after the candidate has been dropped.
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
        """True if it was timed and has not failed."""
        return bool(self.milliseconds) and not self.failure


@dataclass(frozen=True)
class Ready:
    """A candidate between two turns: its program, and its first state in host memory, so that others can use the
    devices."""

    equation: AnyEquation
    stepper: Any
    start: OnHost
    dt: float
    program: Any = None

    def turn(self, steps: int) -> tuple[float, Fields]:
        """Take one step to warm up and then `steps` steps from the start.

        Returns:
            Seconds for `steps` steps, and the fields after them.

        Raises:
            TrialError: the fields are not finite.
        """
        state, _ = self._advance(self.start.to_devices(), 1)
        jax.block_until_ready(state.field)
        began = time.perf_counter()
        state, is_finite = jax.block_until_ready(self._advance(state, steps))
        seconds = time.perf_counter() - began
        if not is_finite:
            raise TrialError(f"the solution is not finite after {steps + 1} steps of {self.dt:.3g}")
        return seconds, self.equation.fields_alone(state.field)

    def _advance(self, state: State, steps: int) -> Any:
        return self.program(*advance_donating.sealed(*self.arguments(state, steps)))

    def arguments(self, state: Any, steps: int) -> tuple[Any, ...]:
        """Arguments of `advance` for this many equal steps."""
        return self.equation, self.stepper, FixedStep(self.dt), state, StepLimits(np.int64(steps), state.t)


def begin(trial: Trial, mesh: Mesh, dt: float | None) -> None:
    """Make the first state, on all processes together. `dt` is the step; None means the first step of the run."""
    assembly = assemble.Assembly(trial.candidate.config, mesh)
    simulation = replace(assembly.simulation, outputs=OutputList.of(()))  # only steps are timed
    state = simulation.start()
    dt = _first_step(simulation, state) if dt is None else dt
    calls = transforms_in_step(simulation.equation, simulation.stepper, state)
    trial.has_products = any(call.of_points for call in calls)
    trial.exchanges = trial.candidate.section.chunks * sum(call.exchanges for call in calls)
    on_host = OnHost.of(device_state(state), state.storage_by_path())
    trial.ready = Ready(simulation.equation, simulation.stepper, on_host, dt)


def compile_program(trial: Trial, mesh: Mesh) -> None:
    """Compile the program of a turn. Each process compiles alone, so one of them may fail.

    Raises:
        TrialError: the program needs more memory than a device has.
    """
    ready = trial.ready
    assert ready is not None
    program = advance_donating.lower(*ready.arguments(ready.start.shapes(), 1)).compile()
    trial.held = _bytes_held(program)
    _refuse_too_large(trial.held, mesh)
    if trial.candidate.section.engine == "jaxdecomp":  # XLA changes layouts with all-to-alls of its own
        trial.exchanges = len(re.findall(r" all-to-all(?:-start)?\(", program.as_text()))
    trial.ready = replace(ready, program=program)


def _first_step(simulation: Simulation, state: State) -> float:
    """Size of the first step from a state."""
    if simulation.control.size is not None:
        return float(simulation.control.size)
    states = simulation.states(state, chunk=1)
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

    leaves: list[Any]
    tree: Any

    @classmethod
    def of(cls, state: State, split: Collection[str]) -> OnHost:
        """Copy from the devices the arrays of a state that are split over them, given their paths in the state."""
        leaves, tree = jax.tree_util.tree_flatten_with_path(state)
        return cls([Pieces.of(leaf) if path_in_state(path) in split else leaf for path, leaf in leaves], tree)

    def shapes(self) -> Any:
        """Shapes, types and shardings of the arrays; numbers and random keys as they are."""
        return self.tree.unflatten(leaf.shape() if isinstance(leaf, Pieces) else leaf for leaf in self.leaves)

    def to_devices(self) -> Any:
        """Copy the arrays back to their devices; copies of random keys, and numbers as they are."""
        copied = lambda leaf: jnp.copy(leaf) if isinstance(leaf, jax.Array) else leaf  # noqa: E731
        return self.tree.unflatten(
            leaf.to_devices() if isinstance(leaf, Pieces) else copied(leaf) for leaf in self.leaves
        )


@dataclass(frozen=True)
class Pieces:
    """The pieces of an array on this process's devices, on the host."""

    whole: tuple[int, ...]
    sharding: Any
    pieces: list[tuple[Any, np.ndarray]]  # device, values

    @classmethod
    def of(cls, array: jax.Array) -> Pieces:
        """Copy from the devices."""
        pieces = [(shard.device, np.array(shard.data)) for shard in array.addressable_shards]
        return cls(array.shape, array.sharding, pieces)

    def shape(self) -> jax.ShapeDtypeStruct:
        """Shape, type and sharding of the array."""
        return jax.ShapeDtypeStruct(self.whole, self.pieces[0][1].dtype, sharding=self.sharding)

    def to_devices(self) -> jax.Array:
        """A copy on the devices that the pieces came from, in buffers of JAX's own."""
        put = [jnp.copy(jax.device_put(values, device)) for device, values in self.pieces]
        return jax.make_array_from_single_device_arrays(self.whole, self.sharding, put)
