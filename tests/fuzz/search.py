"""Run files from one seed after the other, and what was found."""

from __future__ import annotations

import contextlib
import json
import re
import tempfile
import time
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

from hypothesis import HealthCheck, Phase, given, seed, settings

from fuzz.invent import run_files
from fuzz.running import Fault
from fuzz.trials import TRIALS

EACH = 20  # run files from one seed
OTHERS = 3  # trials of a run file beside the first


def kind_of(fault: str) -> str:
    """A fault without its numbers, names and texts of equations."""
    return re.sub(r"/\S+|[-+]?\d[\d.e+-]*|(?<=field )\w+|(?<=column )\w+", "#", fault)[:40]


class Search:
    """What was found so far.

    Args:
        until: when to end, as `time.time()`.
        trials: names of those that every run file goes through.
    """

    def __init__(self, until: float, trials: list[str]) -> None:
        self.until, self.trials = until, trials
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
        return [first, *Random(json.dumps(table)).sample(others, min(len(others), OTHERS))]

    def _keep(self, trial: str, fault: str, table: str) -> None:
        kind = f"{trial}: {kind_of(fault)}"
        if kind not in self.faults:
            print(f"FAULT {trial}: {fault}\n  {table}", flush=True)
        if kind not in self.faults or len(table) < len(self.faults[kind][1]):
            self.faults[kind] = (fault, table)

    def go(self, number: int, *, shrink: bool, count: int = EACH) -> None:
        """Try so many run files from one seed; with `shrink`, smaller ones of the first that is faulty."""
        phases = (Phase.generate, Phase.shrink) if shrink else (Phase.generate,)

        @seed(number)
        @settings(
            max_examples=count, deadline=None, database=None, phases=phases, suppress_health_check=list(HealthCheck)
        )
        @given(run_files())
        def one(table: dict[str, Any]) -> None:
            if not self.is_over():
                self.try_all(table)

        with contextlib.suppress(Fault, ExceptionGroup):  # kept already
            one()
