"""Several runs side by side, whose steps are carried out by one program."""

from __future__ import annotations

import time
from collections.abc import Generator, Mapping
from contextlib import ExitStack

from solver.cluster import LOGGER, is_first, log_of
from solver.loop import Advance, BlowUp, Members
from solver.loop.sums import as_number
from solver.simulation.progress import LINE_SECONDS

Runs = Mapping[int, Generator[Advance, None, bool]]  # by place in the batch


def carry_out_together(runs: Runs, members: Members, names: Mapping[int, str]) -> dict[int, bool | BlowUp]:
    """Carry runs out, each in turn from one call of `advance` to the next, and the calls together. Collective.

    Args:
        runs: generators of the calls that each run waits for, by its place in the batch; each returns whether it came
            to its end.
        members: carries out their calls.
        names: of the runs, for the log.

    Returns:
        By place, whether the run came to its end, or how it blew up. The others go on meanwhile.

    Raises:
        Whatever else a run raises: then all others are ended, each with its newest checkpoint kept.
    """
    over: dict[int, bool | BlowUp] = {}
    asks: dict[int, Advance] = {}

    def go_on(place: int) -> None:
        asks.pop(place, None)
        with log_of(names[place]):
            try:
                asks[place] = next(runs[place])
                return
            except StopIteration as end:
                over[place] = end.value
            except BlowUp as error:
                over[place] = error
        if over[place] is True:
            LOGGER.info("%s came to its end", names[place])

    with ExitStack() as stack:
        for place in sorted(runs, reverse=True):
            stack.callback(_close, runs[place], names[place])
        for place in sorted(runs):
            go_on(place)
        said = time.monotonic()
        while asks:
            for place in members.carry_out(asks):
                go_on(place)
            if is_first() and asks and time.monotonic() - said > LINE_SECONDS:
                said = time.monotonic()
                LOGGER.info(_progress(asks, names))
    return over


def _close(run: Generator[Advance, None, bool], name: str) -> None:
    with log_of(name):
        run.close()


def _progress(asks: Mapping[int, Advance], names: Mapping[int, str]) -> str:
    """One line for all runs that go on."""
    times = {place: float(as_number(ask.state.t)) for place, ask in asks.items() if ask.state is not None}
    last, first = min(times, key=lambda place: times[place]), max(times, key=lambda place: times[place])
    return (
        f"{len(asks)} members go on together, from t = {times[last]:.6g} ({names[last]}) to t = {times[first]:.6g} "
        f"({names[first]})"
    )
