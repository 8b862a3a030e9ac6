"""`solver.Ensemble`: runs from Python that differ in numbers alone, stepped by one program."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from jax.typing import ArrayLike
from jaxtyping import Array

from solver.assemble.classes import known_outputs
from solver.assemble.python import StoppedEarly, locked, prepared
from solver.cluster import Watchdog, in_group_of, is_first, start_log
from solver.config import STALL_SECONDS
from solver.dynamics.any_equation import AnyEquation
from solver.io import RunDirectory
from solver.loop import (
    BlowUp,
    Members,
    Rows,
    Schedule,
    StepControl,
    evolve_members,
    integrate_members,
    places_for,
    rollout_members,
    step_control,
)
from solver.operators import Fields
from solver.outputs.output import Output
from solver.simulation import Limits, Listener, OutputList, Running, Simulation, carry_out_together, running
from solver.steppers.state import State
from solver.steppers.stepper import Stepper
from solver.stop import StopRequest


class Ensemble:
    """Members whose equations, steppers and step controls differ in numbers alone, stepped by one compiled program.

    With a mesh of `sw.device_mesh(members=parts)` each part steps its own members, and exchanges nothing with others.
    Any number of members may be split over any number of parts, with places left over. Without such a mesh all devices
    step all members. A member's result agrees to round-off with the result of a run alone. Its bits depend on its
    place, on the number of places, and on which parameters differ between members.

    Args:
        equations: one for each member, on one mesh.
        stepper: one for all.
        states: one for each member, from `initial_state` or a checkpoint.

    Raises:
        ValueError: not one state for each equation, or none.
    """

    def __init__(self, equations: Sequence[AnyEquation], stepper: Stepper, states: Sequence[State]) -> None:
        if not equations or len(equations) != len(states):
            raise ValueError(
                f"{len(equations)} equations and {len(states)} states: one of each for each member is needed"
            )
        self.equations, self.stepper, self.states = list(equations), stepper, list(states)

    def __repr__(self) -> str:
        """Number of members, what they solve and how, and the first of their states."""
        first = self.equations[0]
        return f"Ensemble of {len(self)} members of {first.name} with {self.stepper.name}; member 0: {self.states[0]!r}"

    def __len__(self) -> int:
        return len(self.equations)

    def integrate(
        self,
        *,
        step: ArrayLike | Sequence[float] | None = None,
        steps: int | None = None,
        control: StepControl | Sequence[StepControl] | None = None,
        cfl: float | Sequence[float] | None = None,
        tolerance: float | Sequence[float] | None = None,
        max_step: float | None = None,
        end: ArrayLike | None = None,
        max_steps: int | None = None,
        checkpoint: str = "auto",
    ) -> Rows[State]:
        """Integrate every member; pure and differentiable, as `integrate` is.

        Args:
            step, control, cfl, tolerance, max_step: as of `integrate`, one for all or one for each member.
            steps, end, max_steps, checkpoint: as of `integrate`, for all; `auto` counts the memory of all members.

        Returns:
            The states by number: `result[3]` is the state of member 3, and `result.batch` one state with members along
            the first axis of its arrays, split over the mesh axis `member`; rows beyond the last member repeat the
            first.

        Raises:
            ValueError: as `integrate`; members that differ in more than numbers. Fields that `max_steps` attempts did
                not bring to `end` are not a number.
        """
        modules = self._modules(control=control, step=step, cfl=cfl, tolerance=tolerance, max_step=max_step)
        if steps is not None and modules[0][2].size is None:
            raise ValueError(f"steps={steps} with {modules[0][2]}: step alone is needed beside steps")
        if (steps is None) == (end is None or max_steps is None):
            raise ValueError(
                f"steps={steps}, end={end}, max_steps={max_steps}: steps, or end and max_steps, are needed"
            )
        return integrate_members(
            modules, self.states, steps=steps, end=end, max_steps=max_steps, checkpoint=checkpoint
        )  # fmt: skip

    def rollout(
        self, *, step: float | Sequence[float], steps: int, every: int = 1, checkpoint: str = "auto"
    ) -> tuple[Array, Rows[Fields]]:
        """Roll out every member, as `rollout` does.

        Args:
            As of `rollout`; `step` for all or for each member.

        Returns:
            Times `(member, time)`, and by number the values of each member by field name, `(time, component, x, y, z)`;
            `batch` as in `integrate`.
        """
        return rollout_members(
            self._modules(step=step), self.states, steps=steps, every=every, checkpoint=checkpoint
        )  # fmt: skip

    def evolve(
        self,
        *,
        end: float,
        control: StepControl | Sequence[StepControl] | None = None,
        step: float | Sequence[float] | None = None,
        cfl: float | Sequence[float] | None = None,
        tolerance: float | Sequence[float] | None = None,
        max_step: float | None = None,
        pauses: Sequence[Schedule] = (),
        observe: Callable[[State, bool], State] | None = None,
        chunk: int | Callable[[], int] = 1000,
    ) -> Iterator[tuple[int, State]]:
        """Yield the number of a member and its state, as `evolve` does: at the start, at each pause, and at `end`.

        A member steps at its own size, and waits at its end for the others.

        Args:
            As of `evolve`; the sizes of steps for all or for each member.

        Raises:
            BlowUp: after all other members came to their ends; names those that blew up.
        """
        modules = self._modules(control=control, step=step, cfl=cfl, tolerance=tolerance, max_step=max_step)
        ends = [end] * len(modules)
        return evolve_members(modules, self.states, ends=ends, pauses=pauses, observe=observe, chunk=chunk)

    def run(
        self,
        *,
        end: float,
        directory: str | Path,
        control: StepControl | Sequence[StepControl] | None = None,
        step: float | Sequence[float] | None = None,
        cfl: float | Sequence[float] | None = None,
        tolerance: float | Sequence[float] | None = None,
        max_step: float | None = None,
        outputs: Sequence[Output] = (),
        listeners: Sequence[Listener] = (),
        title: str = "",
        resume: bool = False,
        wall_limit: float | None = None,
        stall_limit: float = STALL_SECONDS,
        energy_limit: float | None = None,
    ) -> list[State]:
        """Run every member, as `run` does: each writes into `member-0000`, `member-0001`, … of the directory.

        Args:
            As of `run`; the sizes of steps for all or for each member.

        Returns:
            The last state of each member.

        Raises:
            BlowUp: after all other members came to their ends; names those that blew up.
            StoppedEarly: some were stopped by a signal, with a checkpoint written.
        """
        folder, modules = Path(directory), self._modules(
            control=control, step=step, cfl=cfl, tolerance=tolerance, max_step=max_step
        )  # fmt: skip
        with in_group_of(modules[0][0].grid.mesh):
            listed, places = OutputList.of(outputs, known_outputs()), places_for(len(modules), modules[0][0].grid.mesh)
            members, names = Members(modules, places), [f"member-{number:04d}" for number in range(len(modules))]
            limits = Limits(wall_limit, stall_limit, energy_limit)
            simulations = [
                prepared(
                    Simulation(
                        equation=equation, stepper=stepper, control=own, end=end, start=partial(_given, state),
                        outputs=listed, limits=limits, listeners=tuple(listeners),
                        directory=RunDirectory(folder / name), title=title,
                    ),
                    state, resume,
                )
                for (equation, stepper, own), state, name in zip(modules, self.states, names, strict=True)
            ]  # fmt: skip
            start_log(quiet=not is_first())
            folder.mkdir(parents=True, exist_ok=True)
            last: dict[int, State] = {}
            with StopRequest() as stop, Watchdog(stall_limit, folder / "log.txt") as watchdog:
                begun = {
                    number: _begun(simulation, resume, stop, watchdog, len(modules) - 1, number, last)
                    for number, simulation in enumerate(simulations)
                }
                endings = carry_out_together(begun, members, dict(enumerate(names)))
            if blown_up := {names[n]: end for n, end in sorted(endings.items()) if isinstance(end, BlowUp)}:
                raise BlowUp.of_members(blown_up, len(modules))
            if not all(endings.values()):
                raise StoppedEarly
            return [last[number] for number in range(len(modules))]

    def _modules(
        self, *, max_step: float | None = None, **short: Any
    ) -> list[tuple[AnyEquation, Stepper, StepControl]]:
        """Equation, stepper and step control of each member."""
        count = len(self)
        each = {name: _for_each(name, value, count) for name, value in short.items()}
        return [
            (
                equation, self.stepper,
                step_control(**{name: values[i] for name, values in each.items()}, max_step=max_step),
            )
            for i, equation in enumerate(self.equations)
        ]  # fmt: skip


def _for_each(name: str, value: Any, count: int) -> list[Any]:
    """A value for each member: one for all, or one each."""
    if not isinstance(value, Sequence) and getattr(value, "ndim", 0) == 0:
        return [value] * count
    if len(value) != count:
        raise ValueError(f"{name} with {len(value)} values for {count} members: one value, or one for each, is needed")
    return list(value)


def _given(state: State) -> State:
    return state


@contextmanager
def _begun(
    simulation: Simulation, resume: bool, stop: StopRequest, watchdog: Watchdog, companions: int, number: int,
    last: dict[int, State],
) -> Iterator[Running]:  # fmt: skip
    """A member that is begun in its directory; its last state is put into `last`."""
    with (
        locked(simulation, resume) as lock,
        running(simulation, stop, lock, watchdog, companions=companions) as run,
    ):
        yield run
        last[number] = run.state
