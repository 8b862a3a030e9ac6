"""Several runs side by side, whose steps are carried out by one program."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from contextlib import AbstractContextManager, ExitStack
from typing import TypeAlias

from solver.cluster import LOGGER, is_first, log_of
from solver.loop import BlowUp, Members
from solver.loop.members import Answer
from solver.simulation.progress import LINE_SECONDS
from solver.simulation.stepping import Running

Ending: TypeAlias = bool | BlowUp  # whether a run came to its end, or how it blew up


def carry_out_together(
    runs: Mapping[int, AbstractContextManager[Running]], members: Members, names: Mapping[int, str]
) -> dict[int, Ending]:
    """Carry runs out, each in turn from one pause to the next, and their steps together. Collective.

    Args:
        runs: the context of each run (`running`), by its place in the batch.
        members: carries out their calls.
        names: names of the runs, for the log.

    Returns:
        By place, the end of each run. If one blows up, the others continue.

    Raises:
        Whatever else a run raises: then all others are ended, each with its newest checkpoint kept.
    """
    endings: dict[int, Ending] = {}
    with ExitStack() as stack:
        blocks = {place: _Block(runs[place], names[place]) for place in sorted(runs)}
        for block in reversed(blocks.values()):
            stack.callback(block.abandon)
        going, said = blocks, time.monotonic()
        answers: dict[int, Answer | None] = dict.fromkeys(blocks)
        while going:
            endings |= {place: end for place in answers if (end := going[place].go_on(answers[place])) is not None}
            going = {place: block for place, block in going.items() if place not in endings}
            if going:
                answers = dict(members.carry_out({place: block.run.course.call() for place, block in going.items()}))
            if is_first() and going and time.monotonic() - said > LINE_SECONDS:
                said = time.monotonic()
                LOGGER.info(_progress(going))
    return endings


class _Block:
    """The block of one run, carried out in pieces: an exception in a piece ends it, as it would within `with`."""

    def __init__(self, context: AbstractContextManager[Running], name: str) -> None:
        self.name, self._context, self._is_open = name, context, False

    def go_on(self, answer: Answer | None) -> Ending | None:
        """Continue to the next pause with the answer to its call, or begin; the end of the run, if it has ended."""
        with log_of(self.name):
            try:
                return self._piece(answer)
            except BlowUp as error:
                vars(self).pop("run", None)  # and the state that it holds
                return error

    def _piece(self, answer: Answer | None) -> Ending | None:
        if answer is None:
            self.run, self._is_open = self._context.__enter__(), True
        try:
            if answer is not None:
                self.run.course.take(*answer())
            self.run.pause()
        except BaseException:
            self._is_open = False
            if not self._context.__exit__(*sys.exc_info()):
                raise
        if not self.run.over:
            return None
        finished, self._is_open = self.run.finished, False
        self._context.__exit__(None, None, None)
        del self.run  # and the state that it holds
        if finished:
            LOGGER.info("%s came to its end", self.name)
        return finished

    def abandon(self) -> None:
        """End the block without its end, if it is open."""
        if self._is_open:
            self._is_open = False
            with log_of(self.name):
                self._context.__exit__(GeneratorExit, GeneratorExit(), None)


def _progress(going: Mapping[int, _Block]) -> str:
    """A line for all runs that are not over."""
    times = {block.name: float(block.run.state.t) for block in going.values()}
    last, first = min(times, key=lambda name: times[name]), max(times, key=lambda name: times[name])
    return (
        f"{len(times)} members go on together, from t = {times[last]:.6g} ({last}) to t = {times[first]:.6g} ({first})"
    )
