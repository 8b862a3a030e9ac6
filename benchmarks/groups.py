"""What outputs cost the devices that step: carried out by them, by a process on another core, and none at all."""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

from harness import ROOT, machine

RUN = """
[grid]
shape = [{points}, {points}]
[equation]
name = "vorticity"
viscosity = 1e-3
[initial]
name = "random-phase"
[time]
stepper = "etdrk4"
step = 1e-4
end = {end}
[devices]
virtual = 1
[output."clock.py:Clock"]
every_steps = {every}
"""
CLOCK = '''
import time
from dataclasses import dataclass

import solver as sw


@dataclass(frozen=True)
class Clock(sw.outputs.Output):
    """Writes down when the devices that step come to a pause."""

    name = "clock"
    keeps_bits = True

    def write(self, run, state):
        with open(run.directory.path / "clock.txt", "a") as file:
            file.write(f"{time.perf_counter()}\\\\n")
'''
OUTPUTS = ["series", "spectra", "pdfs", "structure-functions"]


def run(file: Path, folder: Path, cores: Sequence[int], words: Sequence[str]) -> float:
    """Milliseconds from pause to pause, the median without the first ones; a process on each of the cores."""
    address = ["--coordinator", f"127.0.0.1:{20000 + os.getpid() % 20000}", "--processes", str(len(cores))]
    together = [[*address, "--process", str(i)] if len(cores) > 1 else [] for i in range(len(cores))]
    started = [
        subprocess.Popen(
            ["taskset", "-c", str(core), sys.executable, "-m", "solver", "run", str(file), *place,
             f"output.directory={folder}", *words],
            cwd=ROOT, env={**os.environ, "JAX_PLATFORMS": "cpu"}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            text=True,
        )
        for core, place in zip(cores, together, strict=True)
    ]  # fmt: skip
    texts = [process.communicate()[0] for process in started]
    if any(process.returncode for process in started):
        raise SystemExit("\n".join(texts))
    times = [float(line) for line in (folder / "clock.txt").read_text().split()]
    return 1e3 * statistics.median(after - before for before, after in pairwise(times[3:]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--points", type=int, default=256, help="on each side")
    parser.add_argument("--every", type=int, default=50, help="steps between two pauses with outputs")
    parser.add_argument("--pauses", type=int, default=40)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    folder = Path(tempfile.mkdtemp())
    end = 1e-4 * options.every * options.pauses
    (folder / "run.toml").write_text(RUN.format(points=options.points, every=options.every, end=end))
    (folder / "clock.py").write_text(CLOCK.replace("\\\\n", "\\n"))
    outputs = [f"output.{name}={{ every_steps = {options.every} }}" for name in OUTPUTS]
    never = "output.series={ every_steps = 1000000000 }"  # by default there is a row every ten steps
    groups = "devices.groups={ step = 1, analyse = 1 }"
    cases: dict[str, tuple[list[int], list[str]]] = {
        "no outputs": ([0], [never]),
        "outputs by the device that steps": ([0], outputs),
        "no outputs, a process beside it": ([0, 1], [never, groups]),
        "outputs by that process": ([0, 1], [*outputs, groups]),
    }
    times: dict[str, list[float]] = {name: [] for name in cases}
    for number in range(options.rounds):
        for i, (name, (cores, words)) in enumerate(cases.items()):
            times[name].append(run(folder / "run.toml", folder / f"run-{number}-{i}", cores, words))
        print(f"round {number + 1}/{options.rounds}  {[v[-1] for v in times.values()]}", file=sys.stderr, flush=True)
    print(f"`python benchmarks/{Path(__file__).name} {' '.join(sys.argv[1:])}`; {machine()}.\n")
    least = statistics.median(times["no outputs"])
    print(f"| {options.every} steps and a pause, {options.points}² | ms | beside no outputs |\n|---|---|---|")
    for name, values in times.items():
        middle = statistics.median(values)
        print(f"| {name} | {middle:.1f} ({min(values):.1f}–{max(values):.1f}) | {middle / least:.3f} |")


if __name__ == "__main__":
    main()
