"""Memory of the devices that analyse while others step."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from solver.dynamics.any_equation import AnyEquation
from solver.fft import transforms_in
from solver.outputs.output import Output
from solver.plan.of_run import bytes_on_one, place
from solver.simulation.analysis import MAX_BEHIND
from solver.steppers import State


@dataclass(frozen=True)
class AnalysisPlan:
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


def plan_analysis(equation: AnyEquation, outputs: Iterable[Output], state: State) -> AnalysisPlan:
    """The plan of the devices that analyse; computes nothing.

    Args:
        equation: on their mesh.
        outputs: outputs of the run; those that the devices that step carry out are left out.
        state: its shapes on their mesh.
    """
    devices = equation.grid.layout.devices
    programs = [
        program
        for output in outputs if not output.keeps_bits
        for program in output.programs(equation, state).values()
    ]  # fmt: skip
    working = max((call.working_bytes for program in programs for call in transforms_in(program.jaxpr)), default=0)
    held = bytes_on_one(place(state, equation.grid))
    return AnalysisPlan(devices, held, MAX_BEHIND * held + working // devices)
