"""What many members cost together: beside as many `slabwave run`, and inside a chunk beside exponax under `vmap`."""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from harness import ROOT, Program, alternate, machine, peer

RUN = """
title = "many"
[ensemble]
members = {members}
draw = {{ "equation.viscosity" = {{ log_uniform = [1e-3, 1e-2] }}, "random.seed" = "member" }}
[grid]
shape = [{points}, {points}]
[equation]
name = "vorticity"
[initial]
name = "random-phase"
[time]
stepper = "etdrk4"
step = 0.005
end = {end}
[output]
series = {{ every_steps = 20 }}
"""


def in_a_chunk(members: int, points: int, steps: int) -> dict[str, float]:
    """In this process: milliseconds of so many steps of all members, in one call; and of one run alone."""
    import jax
    import numpy as np

    jax.config.update("jax_enable_x64", True)
    import solver as sw
    from solver.loop import Course, Members

    grid, stepper, control = (
        sw.Grid((points, points), mesh=sw.device_mesh(members=len(jax.devices()))),
        sw.steppers.ETDRK4(),
        sw.FixedStep(5e-3),
    )
    start = sw.sample(lambda x, y: 2.5 * jax.numpy.sin(x) * jax.numpy.sin(2 * y), grid)
    calls: dict[str, Any] = {}
    for name, viscosities in (("equal", np.full(members, 1e-3)), ("own", np.geomspace(1e-3, 1e-2, members))):
        flows = [sw.equations.Vorticity(grid, float(viscosity)) for viscosity in viscosities]
        sizes = np.linspace(0.5, 1.5, members)
        states = [sw.initial_state(flow, stepper, size * start) for flow, size in zip(flows, sizes, strict=True)]
        batch = Members([(flow, stepper, control) for flow in flows], members)
        going = [
            Course(f, stepper, s, end=1e6, control=control, chunk=steps) for f, s in zip(flows, states, strict=True)
        ]
        calls[name] = (batch, going, {i: going[i].call() for i in range(members)})
    times: dict[str, list[float]] = {name: [] for name in calls}
    for number in range(6):
        for name, (batch, going, waiting) in calls.items():
            began = time.perf_counter()
            answers = batch.carry_out(waiting)
            if number:
                times[name].append(1e3 * (time.perf_counter() - began))
            for i, answer in answers.items():
                going[i].take(*answer())
                waiting[i] = going[i].call()
    return {name: statistics.median(of_call) for name, of_call in times.items()}


def command(*words: str) -> float:
    """Seconds of one command in a process of its own."""
    began = time.perf_counter()
    subprocess.run([sys.executable, "-m", "solver", *words], cwd=ROOT, check=True, capture_output=True)
    return time.perf_counter() - began


def whole_runs(members: int, points: int, end: float, alone: int, rounds: int) -> str:
    """Seconds of an ensemble, and of some of its members as runs of their own, in turn."""
    folder = Path(tempfile.mkdtemp())
    (folder / "many.toml").write_text(RUN.format(members=members, points=points, end=end))
    together, single = [], []
    for number in range(rounds):
        many = folder / f"many-{number}"
        together.append(command("run", str(folder / "many.toml"), f"output.directory={many}"))
        for i in range(alone):
            member = many / f"member-{i * members // alone:04d}" / "config.toml"
            single.append(command("run", str(member), f"output.directory={folder}/alone-{number}-{i}"))
        print(f"round {number + 1}/{rounds}  {together[-1]:.1f} s, {single[-alone:]}", file=sys.stderr, flush=True)
    one, all_of_them = statistics.median(single), statistics.median(together)
    return (
        f"| one `slabwave run` | {one:.2f} ({min(single):.2f}–{max(single):.2f}) |\n"
        f"| the ensemble of {members} | {all_of_them:.1f} ({min(together):.1f}–{max(together):.1f}) |\n"
        f"| the ensemble / {members} runs | {all_of_them / (members * one):.3f} |\n"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--members", type=int, default=64)
    parser.add_argument("--points", type=int, default=64, help="on each side")
    parser.add_argument("--steps", type=int, default=50, help="in one call")
    parser.add_argument("--end", type=float, default=0.5, help="of the whole runs")
    parser.add_argument("--alone", type=int, default=4, help="members that are run alone, in each round")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        print(json.dumps(in_a_chunk(options.members, options.points, options.steps)))
        return
    print(f"`python benchmarks/{Path(__file__).name} {' '.join(sys.argv[1:])}`; {machine()}.\n")
    sizes = [f"--{name}={getattr(options, name)}" for name in ("members", "points", "steps")]
    environment = {"JAX_ENABLE_X64": "true", "JAX_PLATFORMS": "cpu"}
    child, on_each = [sys.executable, __file__, "--child"], {**environment, "JAX_NUM_CPU_DEVICES": str(os.cpu_count())}
    programs = [
        Program("slabwave, a device for each core, as `slabwave run` has it", child, environment=on_each),
        Program("slabwave, one device", child, environment=environment),
        Program("exponax, `vmap`, one device", peer("many_exponax.py"), ["exponax"], environment),
    ]
    alternate(programs, options.rounds, sizes)
    print(
        f"| {options.steps} steps of {options.members} members, ms | equal viscosities | each its own |\n|---|---|---|"
    )
    for program in programs:
        said = [
            f"{program.median(n):.0f} ({program.spread(n)})" if program.times else program.missing
            for n in ("equal", "own")
        ]
        print(f"| {program.name} | {said[0]} | {said[1]} |")
    print(f"\n| whole processes, {round(options.end / 0.005)} steps | s |\n|---|---|")
    print(whole_runs(options.members, options.points, options.end, options.alone, options.rounds))


if __name__ == "__main__":
    main()
