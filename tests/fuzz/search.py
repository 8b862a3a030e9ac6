"""Run files from one seed after the other, and what was found."""

from __future__ import annotations

import contextlib
import json
import re
import tempfile
import time
from collections import Counter
from itertools import islice
from pathlib import Path
from random import Random
from typing import Any

from hypothesis import HealthCheck, Phase, given, seed, settings

from fuzz.invent import run_files
from fuzz.running import Fault
from fuzz.trials import TRIALS
from fuzz.turns import Turn, turns

EACH = 200  # run files from one seed
OTHERS = 1  # trials of a run file beside the first


def kind_of(fault: str) -> str:
    """A fault without its numbers, names and texts of equations."""
    return re.sub(r"/\S+|[-+]?\d[\d.e+-]*|(?<=field )\w+|(?<=column )\w+", "#", fault)[:40]


class Search:
    """What was found so far.

    Args:
        until: when to end, as `time.time()`.
        trials: names of those that run files go through: all the first, and some of the others.
        others: how many of the others.
    """

    def __init__(self, until: float, trials: list[str], others: int = OTHERS) -> None:
        self.until, self.trials, self.others = until, trials, others
        self.faults: dict[str, tuple[str, str]] = {}  # by kind: the line, and the smallest run file
        self.results: Counter[str] = Counter()

    def is_over(self) -> bool:
        return time.time() > self.until

    def try_all(self, table: dict[str, Any]) -> None:
        """The first trial, and some of the others; of a run file that is refused nothing more than mutations."""
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "runs").mkdir()
            for name in self._drawn(table):
                if self.is_over():
                    return
                place = Path(folder) / name
                place.mkdir()
                try:
                    result = TRIALS[name](table, place)
                except Exception as fault:
                    line = str(fault) if isinstance(fault, Fault) else f"the trial fails: {fault!r}"
                    self._keep(name, line, json.dumps(table))
                    raise Fault(line) from fault
                self.results[f"{name}: {result}"] += 1
                if result == "refused" and name != "mutations":
                    return

    def _drawn(self, table: dict[str, Any]) -> list[str]:
        first, *others = self.trials
        return [first, *Random(json.dumps(table)).sample(others, min(len(others), self.others))]

    def _keep(self, trial: str, fault: str, table: str) -> None:
        kind = f"{trial}: {kind_of(fault)}"
        if kind not in self.faults:
            print(f"FAULT {trial}: {fault}\n  {table}", flush=True)
        if kind not in self.faults or len(table) < len(self.faults[kind][1]):
            self.faults[kind] = (fault, table)

    def go(self, number: int, *, shrink: bool, count: int = EACH) -> None:
        """Try so many run files from one seed; with `shrink`, smaller ones of the first that is faulty."""
        for i, turn in enumerate(islice(turns(number), count)):
            if not self.is_over():
                self._one(turn, 1000 * number + i, shrink=shrink)

    def _one(self, turn: Turn, number: int, *, shrink: bool) -> None:
        drawn = 0

        @seed(number)
        @settings(
            max_examples=2, deadline=None, database=None, suppress_health_check=list(HealthCheck),
            phases=(Phase.generate, Phase.shrink) if shrink else (Phase.generate,),
        )  # fmt: skip
        @given(run_files(turn))
        def one(table: dict[str, Any]) -> None:
            nonlocal drawn
            drawn += 1
            if drawn > 1 and not self.is_over():  # hypothesis begins with the simplest one of all
                self.try_all(table)

        with contextlib.suppress(Fault, ExceptionGroup):  # kept already
            one()
