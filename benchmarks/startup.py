"""Seconds from the command to the first step of runs/taylor_green.toml, compiled programs being kept already.

Each measurement is a whole process; it ends when the row of step 1 stands in series.csv. Source trees take turns:

    python benchmarks/startup.py [TREE …] [--rounds N]

With --answers it is the whole time of commands that answer from text instead.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
LOOK_SECONDS = 0.005
RUN = ["run", "runs/taylor_green.toml", "output.series.every_steps=1", "output.snapshots.every_time=5.0"]


def first_step(tree: Path, programs: Path) -> float:
    """Seconds until the first step of a run is done."""
    environment = {**os.environ, "PYTHONPATH": str(tree), "XDG_CACHE_HOME": str(programs)}
    with tempfile.TemporaryDirectory() as folder:
        series = Path(folder) / "run" / "series.csv"
        began = time.perf_counter()
        process = subprocess.Popen(
            [sys.executable, "-m", "solver", *RUN, f"output.directory={folder}/run"],
            cwd=tree, env=environment, stdout=subprocess.DEVNULL,
        )  # fmt: skip
        try:
            while not (series.exists() and "\n1," in series.read_text()):
                if process.poll() is not None:
                    raise SystemExit(f"{tree}: the run ended with {process.returncode} before its first step")
                time.sleep(LOOK_SECONDS)
            return time.perf_counter() - began
        finally:
            process.kill()
            process.wait()


ANSWERS = {
    "list": ["list"],
    "describe NAME": ["describe", "navier-stokes"],
    "new EQUATION": ["new", "boussinesq"],
    "schema": ["schema"],
    "run --help": ["run", "--help"],
    "run, a wrong key": ["run", "runs/taylor_green.toml", "equation.viscosit=1"],
    "info RUN": ["info"],
    "check": ["check", "runs/taylor_green.toml"],
}


def answer(tree: Path, words: list[str]) -> float:
    """Seconds that a command takes."""
    began = time.perf_counter()
    subprocess.run(
        [sys.executable, "-m", "solver", *words], cwd=tree, env={**os.environ, "PYTHONPATH": str(tree)},
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    return time.perf_counter() - began


def answers(trees: list[Path], rounds: int, run: Path) -> None:
    """Measure every command in the trees in turn; print medians and spreads."""
    for name, words in ANSWERS.items():
        told = [*words, str(run)] if name == "info RUN" else words
        times: dict[Path, list[float]] = {tree: [] for tree in trees}
        for number in range(rounds):
            for tree in trees[:: -1 if number % 2 else 1]:
                times[tree].append(answer(tree, told))
        said = (f"{statistics.median(s):.2f} s ({min(s):.2f}–{max(s):.2f})" for s in times.values())
        print(f"| {name} | {' | '.join(said)} |", flush=True)


def main() -> None:
    """Measure the trees in turn; print medians and spreads."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("trees", nargs="*", type=Path, default=[ROOT])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--answers", type=Path, metavar="RUN", help="commands instead; a run that info looks at")
    options = parser.parse_args()
    trees = [tree.resolve() for tree in options.trees]
    if options.answers is not None:
        answers(trees, options.rounds, options.answers.resolve())
        return
    with tempfile.TemporaryDirectory() as programs:
        for tree in trees:  # compiles, and is not counted
            first_step(tree, Path(programs))
        times: dict[Path, list[float]] = {tree: [] for tree in trees}
        for number in range(options.rounds):
            for tree in trees[:: -1 if number % 2 else 1]:
                times[tree].append(first_step(tree, Path(programs)))
    for tree, seconds in times.items():
        print(f"{tree}: {statistics.median(seconds):.2f} s ({min(seconds):.2f}–{max(seconds):.2f})")


if __name__ == "__main__":
    main()
