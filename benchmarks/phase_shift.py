"""Phase-shifted Runge–Kutta of order 2 beside two-thirds with order 4, at equal k_max: time and error of one flow."""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path

from harness import TWO_DEVICES, Program, alternate, columns, machine

SIZES = {"two-thirds": 144, "phase-shift-random": 100, "phase-shift-alternating": 100}  # k_max = 47 all
END = 0.5


def child(rule: str, stepper: str, steps: int) -> dict[str, float]:
    """In this process: milliseconds per step and per unit of time, and the enstrophy at the end."""
    from solver.cluster import keep_freed_memory

    keep_freed_memory()
    import jax

    import solver as sw
    from solver.assemble.registry import Registry

    n = SIZES[rule]
    grid = sw.Grid((n, n, n), mesh=sw.device_mesh(), dealias=rule)
    flow = sw.equations.NavierStokes(grid, viscosity=1e-2, energy_budget=False)
    method = Registry().find("stepper", stepper).cls()
    state = sw.initial_state(flow, method, sw.initial.TaylorGreen()(grid), seed=0)
    advance = lambda state, end: list(sw.evolve(flow, method, state, end=end, step=END / steps))[-1]  # noqa: E731
    warm = advance(state, END / steps)
    jax.block_until_ready(warm.field)
    began = time.perf_counter()
    last = advance(state, END)
    jax.block_until_ready(last.field)
    milliseconds = 1e3 * (time.perf_counter() - began)
    enstrophy = float(flow.series(last.field, 0.1)["enstrophy"])
    return {"step": milliseconds / steps, "run": milliseconds, "enstrophy": enstrophy, "k_max": float(grid.k_max)}


def table(rounds: int, steps: int) -> str:
    """All of them in turn."""
    here = [sys.executable, str(Path(__file__)), "--child"]
    chosen = {
        "two-thirds, ifrk4": ("two-thirds", "ifrk4", steps),
        "two-thirds, ifrk2": ("two-thirds", "ifrk2", steps),
        "phase-shift-random, ifrk2": ("phase-shift-random", "ifrk2", steps),
        "phase-shift-alternating, ifrk2": ("phase-shift-alternating", "ifrk2", steps),
        "phase-shift-random, ifrk2, half the step": ("phase-shift-random", "ifrk2", 2 * steps),
    }
    programs = [
        Program(name, [*here, rule, stepper, str(n)], environment=TWO_DEVICES)
        for name, (rule, stepper, n) in chosen.items()
    ]
    alternate(programs, rounds, [])
    base = programs[0]
    text = columns(programs, {"step": "step", "run": "run"}, (base.name, ""))
    text += "\n| | k_max | enstrophy | difference to the first |\n|---|---|---|---|\n"
    for program in programs:
        value = program.median("enstrophy")
        apart = value / base.median("enstrophy") - 1
        text += f"| {program.name} | {program.median('k_max'):.0f} | {value:.9g} | {apart:.1e} |\n"
    command = f"python benchmarks/phase_shift.py --rounds {rounds} --steps {steps}"
    about = (
        f"`{command}` on {time.strftime('%Y-%m-%d')}; {machine()}. Taylor–Green at Re = 100 until t = {END}, {steps} "
        f"steps; 144³ points with two-thirds, 100³ with phase shifts. Medians of {rounds} processes each "
        "(smallest–largest), in turn."
    )
    return f"# Phase shifts beside two-thirds\n\n{about}\n\n{text}"


if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        print(json.dumps(child(sys.argv[2], sys.argv[3], int(sys.argv[4]))))
        sys.exit()
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--write", type=Path)
    options = parser.parse_args()
    found = table(options.rounds, options.steps)
    print(found)
    if options.write:
        options.write.write_text(found)
