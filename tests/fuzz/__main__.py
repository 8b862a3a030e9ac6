"""Invents run files for so many seconds, and prints the smallest one that each kind of fault was seen with.

make fuzz SECONDS=600 SEED=1
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import re
import sys
import tempfile
import time
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

import jax
from compilation import compile_fast

compile_fast(os.environ)
jax.config.update("jax_num_cpu_devices", 8)
jax.config.update("jax_enable_x64", True)
jax.config.update("jax_platforms", "cpu")
jax.devices()  # eight from now on, whatever a run file asks for

from hypothesis import HealthCheck, Phase, given, seed, settings  # noqa: E402

from fuzz.invent import run_files  # noqa: E402
from fuzz.trials import TRIALS, Fault  # noqa: E402

EACH = 20  # run files from one seed


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
        for name in self.trials:
            if self.is_over():
                return
            with tempfile.TemporaryDirectory() as folder:
                try:
                    self.results[TRIALS[name](table, Path(folder))] += 1
                except Fault as fault:
                    self._keep(name, str(fault), json.dumps(table))
                    raise

    def _keep(self, trial: str, fault: str, table: str) -> None:
        kind = f"{trial}: {kind_of(fault)}"
        if kind not in self.faults:
            print(f"FAULT {trial}: {fault}\n  {table}", flush=True)
        if kind not in self.faults or len(table) < len(self.faults[kind][1]):
            self.faults[kind] = (fault, table)

    def go(self, number: int, *, shrink: bool) -> None:
        """Try run files from one seed; with `shrink`, smaller ones of the first that is faulty."""
        phases = (Phase.generate, Phase.shrink) if shrink else (Phase.generate,)

        @seed(number)
        @settings(
            max_examples=EACH, deadline=None, database=None, phases=phases, suppress_health_check=list(HealthCheck)
        )
        @given(run_files())
        def one(table: dict[str, Any]) -> None:
            if not self.is_over():
                self.try_all(table)

        with contextlib.suppress(Fault, ExceptionGroup):  # kept already
            one()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--trials", default=",".join(TRIALS), help="of " + ", ".join(TRIALS))
    parser.add_argument("--shrink", action="store_true", help="look for smaller run files of each fault")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    search, number = Search(time.time() + options.seconds, options.trials.split(",")), options.seed
    while not search.is_over():
        search.go(number, shrink=options.shrink)
        number += 1
    for kind, (fault, table) in search.faults.items():
        print(f"\n{kind}\n  {fault}\n  {table}")
    print(f"\n{dict(search.results)}; {len(search.faults)} kinds of faults")
    return 1 if search.faults else 0


if __name__ == "__main__":
    sys.exit(main())
