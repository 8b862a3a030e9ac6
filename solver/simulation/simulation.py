"""A run as one value."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from solver.loop import check_end
from solver.outputs.base import Run
from solver.simulation.limits import Limits
from solver.simulation.output_list import OutputList
from solver.simulation.pauses import Listener
from solver.steppers.base import State, Stepper


@dataclass(frozen=True)
class Simulation:
    """What a run is: the command and `solver.run` build it, and `simulate` carries it out.

    Args:
        run: equation, step control, end and directory.
        stepper: how it is stepped.
        start: makes the first state, where there is no checkpoint.
        outputs: what is written.
        limits: what ends it early.
        listeners: of the user's, told of each pause after all others.
    """

    run: Run
    stepper: Stepper
    start: Callable[[], State]
    outputs: OutputList = field(default_factory=lambda: OutputList.of(()))
    limits: Limits = field(default_factory=Limits)
    listeners: tuple[Listener, ...] = ()

    def check(self) -> None:
        """Refuse parts that do not go together; touches no device.

        Raises:
            TypeError: an equation that the stepper cannot step, or a step control that it cannot serve.
            ValueError: an end that cannot be reached, or an output that cannot be written.
        """
        run = self.run
        self.stepper.check(run.equation)
        run.control.check(self.stepper)
        check_end(run.end, run.control)
        for output in self.outputs.all:
            output.check(run.equation)
            output.check_times(run.end)
