"""Base class of validation cases, the numbers that they compare, and the table of these."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from time import monotonic
from typing import Any, ClassVar

import jax

from solver.assemble import run
from solver.discovery import concrete_classes
from solver.dynamics.any_equation import AnyEquation
from solver.dynamics.compiled import compiled
from solver.loop import BlowUp, step_control
from solver.mesh import device_mesh
from solver.outputs import Checkpoints
from solver.simulation import Simulation
from solver.steppers.start import initial_state
from solver.steppers.state import State
from solver.steppers.stepper import Stepper

STEPS_BETWEEN = 200  # checkpoints: some minutes of the largest case, 256³ on two cores
HEAD = ("| case | quantity | here | known | within | | source |\n", "|---|---|---|---|---|---|---|\n")


@dataclass(frozen=True)
class Finding:
    """A computed number and its known value.

    Args:
        quantity: description, with the time.
        computed: by this installation.
        expected: exact or published.
        within: largest allowed difference.
        source: origin of `expected`.
    """

    quantity: str
    computed: float
    expected: float
    within: float
    source: str

    @property
    def holds(self) -> bool:
        """True if the computed number is finite and close enough to the known one."""
        return math.isfinite(self.computed) and abs(self.computed - self.expected) <= self.within


@dataclass(frozen=True)
class Case(ABC):
    """A problem whose result is known.

    Class attributes:
        name: its name on the command line.
        about: the problem in one line.
        takes: time of the full version, if it is long; the command prints it before the case starts.

    Args:
        quick: True for the small version, which takes seconds and has wider tolerances.
        output: directory for checkpoints, from which a case that was stopped continues; None to keep nothing.
    """

    quick: bool = True
    output: Path | None = None

    name: ClassVar[str]
    about: ClassVar[str]
    takes: ClassVar[str] = ""

    @abstractmethod
    def run(self) -> list[Finding]:
        """Compute the case on all devices of this process, and compare with known values."""

    def directory(self, flow: str) -> Path | None:
        """Directory of the states of one of the case's flows; None if they are not stored."""
        return None if self.output is None else self.output / self.name / ("quick" if self.quick else "full") / flow


def cases() -> dict[str, type[Case]]:
    """Every case by its name."""
    return concrete_classes("solver.validate", Case)


def mesh_for(points: int) -> Any:
    """A mesh of all devices, but no more than a quarter of `points`."""
    return device_mesh(range(min(len(jax.devices()), max(1, points // 4))))


def states(
    equation: AnyEquation,
    stepper: Stepper,
    start: Any,
    times: list[float],
    *,
    seed: int | None = None,
    directory: Path | None = None,
    **control: Any,
) -> list[State]:
    """States at the given times, in their order; include time 0 to get the first state.

    With a directory, the way to each time is a run in a folder of its own, and one that is there continues.

    Raises:
        BlowUp: the solution stopped being finite.
        ConfigError: a folder holds a run of other physics.
        StoppedEarly: by a signal, with a checkpoint written.
    """
    simulation = Simulation(
        equation=equation,
        stepper=stepper,
        control=step_control(**control),
        end=times[-1],
        start=lambda: initial_state(equation, stepper, start, seed=seed),
    )
    state = simulation.start()
    reached = []
    for time in times:
        if time > float(state.t):
            if directory is None:
                *_, state = replace(simulation, end=time).states(state)
            else:
                state = run(
                    equation, stepper, state, end=time, control=simulation.control, resume=True,
                    directory=directory / f"to_{time:.10g}", outputs=[Checkpoints(every_steps=STEPS_BETWEEN, keep=2)],
                )  # fmt: skip
        reached.append(state)
    return reached


def series_of(equation: AnyEquation, state: State) -> dict[str, float]:
    """The values of the equation's series for a state."""
    return {name: float(value) for name, value in _series(equation, state.field).items()}


_series = compiled(lambda equation, fields: equation.series(fields, 0.0))


def judge(case: Case) -> tuple[list[Finding], float]:
    """Findings of a case, and the seconds that it took. A blow-up becomes a finding that does not hold."""
    began = monotonic()
    try:
        findings = case.run()
    except BlowUp as error:
        findings = [Finding(f"blew up: {error}", math.nan, math.nan, 0.0, "")]
    return findings, monotonic() - began


def table(name: str, findings: Iterable[Finding]) -> list[str]:
    """Rows of one case, in Markdown."""
    return [_row(name, finding) for finding in findings]


def _row(name: str, finding: Finding) -> str:
    numbers = f"{finding.computed:.6g} | {finding.expected:.6g} | {finding.within:.2g}"
    verdict = "ok" if finding.holds else "FAILS"
    return f"| {name} | {_cell(finding.quantity)} | {numbers} | {verdict} | {_cell(finding.source)} |"


def _cell(text: str) -> str:
    """A text within a row, which a bar would end."""
    return text.replace("|", r"\|")
