"""A run as one value, with the limits that end it early."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from solver.config import STALL_SECONDS
from solver.dynamics.any_equation import AnyEquation
from solver.io import RunDirectory, Writer, WritingThread
from solver.loop import Course, StepControl, check_step_control
from solver.mesh import AnyMesh
from solver.outputs.output import Run
from solver.simulation.output_list import OutputList
from solver.simulation.pauses import Listener
from solver.spaces import NotInSpace
from solver.steppers.state import State
from solver.steppers.stepper import Stepper


@dataclass(frozen=True)
class Limits:
    """Limits that end a run early.

    Args:
        time_limit: seconds after the start of the process before which the run is to have stopped, with a checkpoint.
        stall: seconds without a step after which it is given up.
        energy: half the mean square of all fields beyond which the solution counts as blown up.

    Raises:
        ValueError: one that is not positive.
    """

    time_limit: float | None = None
    stall: float = STALL_SECONDS
    energy: float | None = None

    def __post_init__(self) -> None:
        for name, value in (
            ("wall_limit", self.time_limit),
            ("stall_limit", self.stall),
            ("energy_limit", self.energy),
        ):
            if value is not None and not value > 0:
                raise ValueError(f"{name} = {value}: a positive number is needed")


@dataclass(frozen=True)
class Simulation:
    """Full description of a run. The command, `solver.run`, `tune` and `validate` build it.

    `states` steps it and writes nothing; `simulate` carries it out in its directory.

    Args:
        equation: the equation that is solved.
        stepper: time stepper of the run.
        control: control of the size of its steps.
        end: time at which it ends.
        start: function that makes the first state, if there is no checkpoint.
        outputs: outputs to write; no outputs but checkpoints by default.
        limits: limits that end it early.
        listeners: the user's own listeners, called at each pause after all others.
        directory: directory in which `simulate` writes; None for a run whose states alone are wanted.
        title: title of the run, in its files.
        run_file: the resolved run file, as text.
        analyse: mesh of other devices, which carry out outputs during the run; None if the devices that step
            do everything. If they are in other processes, these call `analyse`.
    """

    equation: AnyEquation
    stepper: Stepper
    control: StepControl
    end: float
    start: Callable[[], State]
    outputs: OutputList = field(default_factory=lambda: OutputList.of(()))
    limits: Limits = field(default_factory=Limits)
    listeners: tuple[Listener, ...] = ()
    directory: RunDirectory | None = None
    title: str = ""
    run_file: str = ""
    analyse: AnyMesh | None = None

    @property
    def devices(self) -> list[Any]:
        """All devices of the run: those that step, then those that analyse."""
        meshes = (self.equation.grid.mesh, self.analyse)
        return [device for mesh in meshes if mesh is not None for device in mesh.devices.flat]

    def check(self) -> None:
        """Refuse parts that do not go together; touches no device.

        Raises:
            TypeError: an equation that the stepper cannot step, or a step control that it cannot serve.
            ValueError: an end that cannot be reached, an output that cannot be written, or a mesh for the analysis that
                cannot split the grid.
        """
        check_step_control(self.equation, self.stepper, self.control, self.end)
        apart = None if self.analyse is None else self.equation.on_mesh(self.analyse)
        for output in self.outputs.all:
            try:
                output.check((self.equation if apart is None or output.keeps_bits else apart).at_time(math.nan))
            except NotInSpace as error:
                raise ValueError(f"output {output.name}: {error}") from None
            output.check_times(self.end)
        if apart is not None and self.outputs.checkpoints.layout == "shared":
            raise ValueError("output.checkpoints.layout = 'shared' beside groups of devices: 'per-process' is needed")

    def for_outputs(self, thread: WritingThread | None = None) -> Run:
        """The description of the run that its outputs receive, with a writer and notes of its own.

        Args:
            thread: thread that writes; the writer's own if None.

        Raises:
            ValueError: a run without a directory.
        """
        if self.directory is None:
            raise ValueError("simulate: the simulation has no directory; give it one, or ask for its `states`")
        return Run(
            self.equation.at_time(math.nan),
            self.directory,
            self.control,
            self.end,
            self.title,
            self.run_file,
            writer=Writer(thread),
        )

    def states(self, first: State, *, chunk: int | Callable[[], int] = 1000, donate: bool = False) -> Iterator[State]:
        """States from a given one to the end: that one, one at each pause, and the last. Writes nothing.

        Args:
            first: first state, from `start` or from a checkpoint.
            chunk, donate: as in `evolve`.

        Raises:
            BlowUp: the solution stopped being finite.
        """
        return self.course(first, chunk=chunk, donate=donate).states()

    def course(self, first: State, *, chunk: int | Callable[[], int] = 1000, donate: bool = False) -> Course:
        """The run from a given state on; the caller advances it."""
        return Course(
            self.equation, self.stepper, first, end=self.end, control=self.control, pauses=self.outputs.pauses,
            observe=lambda state, end: self.outputs.observe(self.equation, state, end), chunk=chunk, donate=donate,
        )  # fmt: skip
