"""The disk that a run will fill, by the sizes of what its outputs write and the times at which they do."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from solver.dynamics.any_equation import AnyEquation
from solver.outputs.output import Output
from solver.steppers import State


@dataclass(frozen=True)
class DiskUse:
    """The files of an output.

    Args:
        name: name of the output.
        each: bytes of one state, before compression; None if they are not known.
        states: states that lie on the disk at most; None if it is not known how many steps there will be.
    """

    name: str
    each: int | None
    states: int | None

    @property
    def total(self) -> int | None:
        """Bytes at the end of the run; None if they are not known."""
        return None if self.each is None or self.states is None else self.each * self.states


def disk_use(
    outputs: Iterable[Output], equation: AnyEquation, state: State, end: float, steps: int | None
) -> list[DiskUse]:
    """Bytes that each output of a run from t = 0 fills; computes nothing.

    Args:
        outputs: outputs of the run.
        equation: that is solved.
        state: its shapes.
        end: time at which the run ends.
        steps: number of its steps; None if a control chooses their size.
    """
    return [
        DiskUse(output.name, output.bytes_of_state(equation.at_time(math.nan), state), output.states_kept(end, steps))
        for output in outputs
    ]
