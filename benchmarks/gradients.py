"""What a gradient of 200 steps costs, in forward runs: each `checkpoint`, beside exponax.

The gradient is that of ⟨u²⟩ after the steps, with respect to the fields at the start. Whole compiled calls, the forward
run and the gradients alternating in one process; processor time on one core, which other work on the machine changes
least.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from harness import Program, alternate, machine, peer

CASES = ("kuramoto-sivashinsky", "navier-stokes")
CHECKPOINTS = ("none", "steps", "sqrt")
# freed memory is kept, as `slabwave run` keeps it: else each call pays for new pages, the gradient for most
MEMORY = {"MALLOC_MMAP_MAX_": "0", "MALLOC_TRIM_THRESHOLD_": str(2**31 - 1), "MALLOC_ARENA_MAX": "1"}


def problem(case: str, points: int) -> tuple[Any, Any, Any, float]:
    """Equation, stepper, state and size of a step."""
    import jax.numpy as jnp

    import solver as sw

    mesh = sw.device_mesh([0])
    if case == "kuramoto-sivashinsky":
        grid = sw.Grid((points,), lengths=60.0, mesh=mesh)
        equation, dt = sw.equations.KuramotoSivashinsky(grid), 0.05
        start = sw.sample(lambda x: jnp.cos(jnp.pi * x / 30) + 0.1 * jnp.sin(jnp.pi * x / 10), grid)
    else:
        grid = sw.Grid((points, points), mesh=mesh)
        equation, dt = sw.equations.NavierStokes(grid, 1e-3), 5e-3
        start = sw.sample(lambda x, y: (jnp.sin(x) * jnp.cos(2 * y), -0.5 * jnp.cos(x) * jnp.sin(2 * y)), grid)
    stepper = sw.steppers.ETDRK4()
    return equation, stepper, sw.initial_state(equation, stepper, start), dt


def programs(case: str, points: int, steps: int) -> tuple[dict[str, Any], Any]:
    """The forward run and a gradient for each checkpoint, compiled; and what they take."""
    import jax

    import solver as sw

    equation, stepper, state, dt = problem(case, points)
    name = next(iter(state.field))

    def final(fields: Any, checkpoint: str) -> Any:
        start = state.replace(field=fields)
        after = sw.integrate(equation, stepper, start, step=dt, steps=steps, checkpoint=checkpoint)
        return sw.diagnostics.mean_square(after.field[name], equation.grid)

    made = {"forward": jax.jit(final, static_argnums=1).lower(state.field, "none").compile()}
    for checkpoint in CHECKPOINTS:
        made[checkpoint] = jax.jit(jax.grad(final), static_argnums=1).lower(state.field, checkpoint).compile()
    return made, state.field


def in_turn(calls: dict[str, Callable[[], Any]], rounds: int) -> dict[str, float]:
    """Median milliseconds of each call, one after the other, `rounds` times."""
    import jax

    times: dict[str, list[float]] = {name: [] for name in calls}
    for number in range(rounds + 1):
        for name, call in calls.items():
            began = time.process_time()
            jax.block_until_ready(call())
            if number:
                times[name].append(1e3 * (time.process_time() - began))
    return {name: statistics.median(of_call) for name, of_call in times.items()}


def child(case: str, points: int, steps: int, rounds: int) -> dict[str, float]:
    """In this process: milliseconds of each, and MiB that the gradients hold."""
    made, fields = programs(case, points, steps)
    held = {f"{name} MiB": p.memory_analysis().temp_size_in_bytes / 2**20 for name, p in made.items()}
    return in_turn({name: lambda p=p: p(fields) for name, p in made.items()}, rounds) | held


def table(steps: int, rounds: int, points: dict[str, int]) -> str:
    """A row for each equation and program."""
    lines = [
        "| equation, program | forward, ms | gradient, ms | ratio (smallest–largest) | held, MiB |",
        "|---|---|---|---|---|",
    ]
    environment = {"JAX_ENABLE_X64": "true", "JAX_PLATFORMS": "cpu", **MEMORY}
    for case in CASES:
        arguments = ["--child", case, "--points", str(points[case]), "--steps", str(steps)]
        ours = Program(
            f"{case}, {points[case]} points", [sys.executable, __file__, *arguments], environment=environment
        )
        other = Program(f"{case}, exponax", [*peer("gradients_exponax.py"), *arguments], ["exponax"], environment)
        alternate([ours, other], rounds, [])
        for program, kinds in ((ours, CHECKPOINTS), (other, ("gradient",))):
            for kind in kinds if program.times else ():
                ratios = [t[kind] / t["forward"] for t in program.times]
                held = f"{program.median(f'{kind} MiB'):.2f}" if f"{kind} MiB" in program.times[0] else "–"
                lines.append(
                    f"| {program.name}, {kind} | {program.median('forward'):.2f} | {program.median(kind):.2f} | "
                    f"{statistics.median(ratios):.2f} ({min(ratios):.2f}–{max(ratios):.2f}) | {held} |"
                )
            if not program.times:
                lines.append(f"| {program.name} | {program.missing} | – | – | – |")
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=3, help="processes of each program")
    parser.add_argument("--line", type=int, default=256, help="points of Kuramoto–Sivashinsky")
    parser.add_argument("--square", type=int, default=64, help="points on each side of Navier–Stokes")
    parser.add_argument("--child", choices=CASES, help=argparse.SUPPRESS)
    parser.add_argument("--points", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    if options.child:
        print(json.dumps(child(options.child, options.points, options.steps, 10)))
        return
    sizes = dict(zip(CASES, (options.line, options.square), strict=True))
    print(f"`python benchmarks/{Path(__file__).name} {' '.join(sys.argv[1:])}`; {machine()}.\n")
    print(table(options.steps, options.rounds, sizes))


if __name__ == "__main__":
    main()
