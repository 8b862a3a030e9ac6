"""What a gradient costs: each `checkpoint` in forward runs, and in the time that exponax takes for the same.

The gradient of ⟨u²⟩ after some steps with respect to the fields at the start. Whole compiled calls, the forward
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

# equation: points on a side, and steps
CASES = {"kuramoto-sivashinsky": ((256, 200),), "vorticity": ((64, 200), (128, 100), (256, 50))}
CHECKPOINTS = ("none", "steps", "sqrt")
CALLS = 10  # of each program in a process
# freed memory is kept, as `slabwave run` keeps it: else each call pays for new pages, the gradient for most
MEMORY = {"MALLOC_MMAP_MAX_": "0", "MALLOC_TRIM_THRESHOLD_": str(2**31 - 1), "MALLOC_ARENA_MAX": "1"}


def problem(case: str, points: int, order: int) -> tuple[Any, Any, Any, float]:
    """Equation, stepper, state and size of a step."""
    import jax.numpy as jnp

    import solver as sw

    mesh = sw.device_mesh([0])
    equation: Any
    if case == "kuramoto-sivashinsky":
        grid = sw.Grid((points,), lengths=60.0, mesh=mesh)
        equation, dt = sw.equations.KuramotoSivashinsky(grid), 0.05
        start = sw.sample(lambda x: jnp.cos(jnp.pi * x / 30) + 0.1 * jnp.sin(jnp.pi * x / 10), grid)
    else:
        grid = sw.Grid((points, points), mesh=mesh)
        equation, dt = sw.equations.Vorticity(grid, 1e-3), 5e-3
        start = sw.sample(lambda x, y: 2.5 * jnp.sin(x) * jnp.sin(2 * y), grid)
    stepper = {2: sw.steppers.ETDRK2, 4: sw.steppers.ETDRK4}[order]()
    return equation, stepper, sw.initial_state(equation, stepper, start), dt


def programs(case: str, points: int, steps: int, order: int) -> tuple[dict[str, Any], Any]:
    """The forward run and a gradient for each checkpoint, compiled; and what they take."""
    import jax

    import solver as sw

    equation, stepper, state, dt = problem(case, points, order)
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


def child(case: str, points: int, steps: int, order: int) -> dict[str, float]:
    """In this process: milliseconds of each, and MiB that the gradients hold."""
    made, fields = programs(case, points, steps, order)
    held = {f"{name} MiB": p.memory_analysis().temp_size_in_bytes / 2**20 for name, p in made.items()}
    return in_turn({name: lambda p=p: p(fields) for name, p in made.items()}, CALLS) | held


def table(case: str, points: int, steps: int, order: int, rounds: int) -> str:
    """A row for the forward run, and for each gradient."""
    environment = {"JAX_ENABLE_X64": "true", "JAX_PLATFORMS": "cpu", **MEMORY}
    named = {"child": case, "points": points, "steps": steps, "order": order}
    arguments = [word for name, value in named.items() for word in (f"--{name}", str(value))]
    ours = Program("slabwave", [sys.executable, __file__, *arguments], environment=environment)
    other = Program("exponax", [*peer("gradients_exponax.py"), *arguments], ["exponax"], environment)
    alternate([ours, other], rounds, [])
    lines = [
        f"\n## {case}, {points} points on a side, {steps} steps\n",
        "| program | ms | of exponax | forward runs (smallest–largest) | held, MiB |",
        "|---|---|---|---|---|",
        *_rows(ours, ("forward", *CHECKPOINTS), other),
        *_rows(other, ("forward", "gradient"), other),
    ]
    return "\n".join(lines)


def _rows(program: Program, kinds: tuple[str, ...], base: Program) -> list[str]:
    if not program.times:
        return [f"| {program.name} | {program.missing} | – | – | – |"]
    rows = []
    for kind in kinds:
        same = "forward" if kind == "forward" else "gradient"
        share = f"{program.median(kind) / base.median(same):.2f}" if base.times else "–"
        ratios = [t[kind] / t["forward"] for t in program.times]
        of_forward = f"{statistics.median(ratios):.2f} ({min(ratios):.2f}–{max(ratios):.2f})"
        held = f"{program.median(f'{kind} MiB'):.2f}" if f"{kind} MiB" in program.times[0] else "–"
        name = kind if kind in {"forward", "gradient"} else f'gradient, "{kind}"'
        rows.append(f"| {program.name}, {name} | {program.median(kind):.2f} | {share} | {of_forward} | {held} |")
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--order", type=int, choices=(2, 4), default=2, help="of ETDRK; exponax' own choice is 2")
    parser.add_argument("--rounds", type=int, default=3, help="processes of each program")
    parser.add_argument("--child", choices=CASES, help=argparse.SUPPRESS)
    parser.add_argument("--points", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--steps", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    if options.child:
        print(json.dumps(child(options.child, options.points, options.steps, options.order)))
        return
    print(f"`python benchmarks/{Path(__file__).name} {' '.join(sys.argv[1:])}`; {machine()}.")
    for case, sizes in CASES.items():
        for points, steps in sizes:
            print(table(case, points, steps, options.order, options.rounds), flush=True)


if __name__ == "__main__":
    main()
