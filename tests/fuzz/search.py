"""Run files from one seed after the other, and what was found."""

from __future__ import annotations

import contextlib
import gc
import json
import re
import tempfile
import time
from collections import Counter
from itertools import islice
from pathlib import Path
from random import Random
from typing import Any

import jax
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis.strategies import DataObject, data, integers
from reference.control import NotKnown

from fuzz.invent import run_files
from fuzz.running import Fault
from fuzz.trials import NOTHING_TO_ASK, TRIALS
from fuzz.turns import Turn, shuffled_again_and_again, turns

EACH = 200  # run files from one seed
FORGET = 20  # programs are let go of after so many run files
TRIES = 4  # to draw one that is not refused
OTHERS = 1  # trials of a run file beside the first
MORE = 2  # that are at hand where one has nothing to ask


def kind_of(fault: str) -> str:
    """A fault without its numbers, names and texts of equations."""
    return re.sub(r"/\S+|[-+]?\d[\d.e+-]*|(?<=field )\w+|(?<=column )\w+", "#", fault)[:40]


class Search:
    """What was found so far.

    Args:
        until: when to end, as `time.time()`.
        trials: names of those that run files go through: all the first, and those of the others whose turn it is.
        others: how many of the others.
        only_walls: whether all run files are between walls.
    """

    def __init__(self, until: float, trials: list[str], others: int = OTHERS, *, only_walls: bool = False) -> None:
        self.only_walls = only_walls
        self.until, self.trials, self.others, self.of_turn = until, trials, min(others, len(trials) - 1), trials[:1]
        self.faults: dict[str, tuple[str, str]] = {}  # by kind: the line, and the smallest run file
        self.results: Counter[str] = Counter()

    def is_over(self) -> bool:
        return time.time() > self.until

    def try_all(self, table: dict[str, Any]) -> bool:
        """The trials of this turn; of a run file that is refused, which is False, only mutations."""
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "runs").mkdir()
            asked = 0
            for name in self.of_turn:
                if asked > self.others or self.is_over():
                    return True
                place = Path(folder) / name
                place.mkdir()
                try:
                    result = TRIALS[name](table, place)
                except NotKnown:
                    result = "not known"
                except Exception as fault:
                    line = str(fault) if isinstance(fault, Fault) else f"the trial fails: {fault!r}"
                    self._keep(name, line, json.dumps(table))
                    raise Fault(line) from fault
                self.results[f"{name}: {result}"] += 1
                if result == "refused" and name != "mutations":
                    return False
                asked += result not in NOTHING_TO_ASK
        return True

    def _keep(self, trial: str, fault: str, table: str) -> None:
        kind = f"{trial}: {kind_of(fault)}"
        if kind not in self.faults:
            print(f"FAULT {trial}: {fault}\n  {table}", flush=True)
        if kind not in self.faults or len(table) < len(self.faults[kind][1]):
            self.faults[kind] = (fault, table)

    def go(self, number: int, *, shrink: bool, count: int = EACH, part: tuple[int, int] = (0, 1)) -> None:
        """Try so many run files from one seed; with `shrink`, smaller ones of the first that is faulty.

        Args:
            number: the seed.
            shrink: whether to look for smaller ones.
            count: how many turns there are.
            part: of (i, n), turns i, i + n, i + 2 n and so on.
        """
        first, *others = self.trials
        in_turn = shuffled_again_and_again(others, Random(f"{number} {part}")) if others else iter(())
        for i, turn in islice(
            enumerate(islice(turns(number, only_walls=self.only_walls), count)), part[0], None, part[1]
        ):
            self.of_turn = list(dict.fromkeys([first, *islice(in_turn, self.others + MORE)]))
            if not self.is_over():
                self._one(turn, 1000 * number + i, shrink=shrink)
            if i // part[1] % FORGET == FORGET - 1:
                jax.clear_caches()  # no other run file has the same programs
                gc.collect()

    def _one(self, turn: Turn, number: int, *, shrink: bool) -> None:
        drawn, is_done = 0, False

        @seed(number)
        @settings(
            max_examples=1 + TRIES, deadline=None, database=None, report_multiple_bugs=False,
            suppress_health_check=list(HealthCheck),
            phases=(Phase.generate, Phase.shrink) if shrink else (Phase.generate,),
        )  # fmt: skip
        @given(data())
        def one(drawing: DataObject) -> None:
            nonlocal drawn, is_done
            drawn += 1
            drawing.draw(integers())  # tells the first from others: hypothesis begins with the simplest one of all
            if drawn > 1 and not is_done and not self.is_over():
                is_done = self.try_all(drawing.draw(run_files(turn)))

        with contextlib.suppress(Fault, ExceptionGroup):  # kept already
            one()
