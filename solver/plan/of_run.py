"""Every program that a run has on its devices, compiled for a target, and what each of them holds."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import jax

from solver.dynamics.any_equation import AnyEquation
from solver.grid import Grid
from solver.loop import StepControl, trace_advance
from solver.outputs.output import Output
from solver.plan.gpu import compiling_for
from solver.plan.program import Program, read_program
from solver.steppers import State, Stepper
from solver.steppers.state import path_in_state


@dataclass(frozen=True)
class Part:
    """A program of a run on one device.

    Args:
        name: purpose of the program.
        program: compiled.
        state_bytes: bytes of the run's state that are held while it runs and that it is not given.
    """

    name: str
    program: Program
    state_bytes: int

    @property
    def held(self) -> int:
        """Bytes on one device while it runs."""
        return self.program.held + self.state_bytes

    @property
    def with_workspace(self) -> int:
        """The same with the allowance for cuFFT."""
        return self.held + self.program.workspace


def compile_run(
    equation: AnyEquation,
    stepper: Stepper,
    state: State,
    control: StepControl,
    outputs: Iterable[Output],
    start: Callable[[], State] | None,
    xla: Mapping[str, Any],
) -> list[Part]:
    """A run's programs: the steps first, the start, and each output.

    Args:
        equation, stepper, control, outputs: parts of the run, on a mesh of the target.
        state: its shapes.
        start: makes the first state, if it can be traced.
        xla: description of the target's devices.
    """
    placed = place(state, equation.grid)
    state_bytes = bytes_on_one(placed)
    traced = {"steps": trace_advance(equation, stepper, placed, control)}
    if start is not None:
        first = jax.tree.leaves(placed.replace(statistics={}))  # outputs begin their sums when they see it
        shardings = [getattr(leaf, "sharding", None) for leaf in first]
        as_it_is = jax.tree.structure(jax.eval_shape(start))  # without what the outputs add to it
        traced["start"] = jax.jit(start, out_shardings=jax.tree.unflatten(as_it_is, shardings)).trace()
    for output in outputs:
        traced |= output.programs(equation.at_time(math.nan), placed)
    parts = []
    for name, program in traced.items():
        with compiling_for(xla):
            compiled = read_program(program.lower().compile())
        apart = 0 if name == "start" else max(0, state_bytes - compiled.arguments)
        parts.append(Part(name, compiled, apart))
    return parts


def place(state: State, grid: Grid) -> State:
    """Shapes of a state with the shardings that its arrays have in a run."""
    storage = state.storage_by_path()

    def sharded(path: Any, leaf: Any) -> Any:
        how = storage.get(path_in_state(path))
        if how is None:
            return leaf
        return jax.ShapeDtypeStruct(leaf.shape, leaf.dtype, sharding=how.sharding(leaf.ndim, grid))

    return jax.tree_util.tree_map_with_path(sharded, state)


def bytes_on_one(state: State) -> int:
    """Bytes of a state on one device."""
    total = 0
    for leaf in jax.tree.leaves(state):
        sharding = getattr(leaf, "sharding", None)
        shape = sharding.shard_shape(leaf.shape) if sharding is not None else getattr(leaf, "shape", ())
        total += math.prod(shape) * getattr(leaf.dtype, "itemsize", 4)
    return total
