"""Processor seconds of a fresh process until its first trajectory and its first gradient, by part, next to exponax.

`vorticity`: 64², 50 steps of `etdrk2`, rows at each tenth, then the gradient of the sum of squares with respect to ν;
exponax has the same equation, size and method. `navier-stokes`: 32³, 20 steps of `ifrk4`. Processes in turn:

    python benchmarks/first_minute.py [--rounds N] [--trees TREE …] [--jit]

With `--jit` the gradient is one program, as that of exponax is; without it each operation of the loss is one more.

Bytecode of the packages is made before (one process that is not counted), and no compiled program is kept.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from harness import ROOT, Program, alternate, machine, peer

CASES = {"vorticity": ((64, 64), 50, 0.005), "navier-stokes": ((32, 32, 32), 20, 0.01)}
PARTS = ("import jax", "equation", "start", "first run", "first gradient", "all")


class Parts:
    """Processor milliseconds from one part to the next."""

    def __init__(self) -> None:
        self.began = self.last = time.process_time()
        self.times: dict[str, float] = {}

    def __call__(self, name: str) -> None:
        now = time.process_time()
        self.times[name], self.last = 1e3 * (now - self.last), now
        self.times["all"] = 1e3 * (now - self.began)


def child(case: str, jit: bool) -> dict[str, float]:
    """In this process: the parts of a case."""
    part = Parts()
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_enable_x64", True)
    part("import jax")
    import solver as sw

    shape, steps, dt = CASES[case]
    grid = sw.Grid(shape)
    make: Any = sw.equations.Vorticity if case == "vorticity" else sw.equations.NavierStokes
    stepper: Any = sw.steppers.ETDRK2() if case == "vorticity" else sw.steppers.IFRK4()
    equation, (name,) = make(grid, 0.01), make(grid, 0.01).fields
    part("equation")
    start = sw.initial.RandomPhase(energy=0.5, peak=3.0)(grid, equation.fields[name], jax.random.key(0))
    state = jax.block_until_ready(sw.initial_state(equation, stepper, start))
    part("start")

    if case == "vorticity":
        run: Any = sw.rollout(equation, stepper, state, step=dt, steps=steps, every=steps // 5)
    else:
        run = sw.integrate(equation, stepper, state, step=dt, steps=steps).field
    jax.block_until_ready(run)
    part("first run")

    def loss(viscosity: Any) -> Any:
        after = sw.integrate(make(grid, viscosity), stepper, state, step=dt, steps=steps)
        return jnp.sum(jnp.abs(after.field[name]) ** 2)

    gradient = jax.grad(loss)
    jax.block_until_ready((jax.jit(gradient) if jit else gradient)(0.01))
    part("first gradient")
    return part.times


def programs(trees: list[Path], jit: bool) -> list[Program]:
    """Each case of each tree, and exponax."""
    made = [
        Program(
            f"{case}, {tree.name}",
            [sys.executable, __file__, "--child", case, *(["--jit"] if jit else [])],
            ["jax"],
            {"PYTHONPATH": str(tree)},
        )
        for tree in trees
        for case in CASES
    ]
    return [*made, Program("exponax, vorticity", peer("first_exponax.py"), ["exponax"])]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--trees", nargs="+", type=Path, default=[ROOT], help="checkouts of the project")
    parser.add_argument("--jit", action="store_true", help="the gradient as one program")
    parser.add_argument("--child", choices=CASES, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        print(json.dumps(child(options.child, options.jit)))
        return
    os.environ.update(JAX_PLATFORMS="cpu", JAX_NUM_CPU_DEVICES="1", JAX_ENABLE_COMPILATION_CACHE="false")
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    trees = [tree.resolve() for tree in options.trees]
    for tree in trees:
        subprocess.run([sys.executable, "-c", "import solver"], cwd="/tmp", env=os.environ | {"PYTHONPATH": str(tree)})
    every = programs(trees, options.jit)
    alternate(every, options.rounds, [])
    print(f"`python benchmarks/{Path(__file__).name} {' '.join(sys.argv[1:])}`; {machine()}.\n")
    print("| program, processor s | " + " | ".join(PARTS) + " |\n" + "|---" * (1 + len(PARTS)) + "|")
    for program in every:
        cells = [f"{program.median(part) / 1e3:.2f}" for part in PARTS] if program.times else [program.missing]
        spread = [f"{min(t['all'] for t in program.times) / 1e3:.2f}"] if program.times else []
        print(f"| {program.name} | " + " | ".join(cells) + (f" ({spread[0]} at least)" if spread else "") + " |")


if __name__ == "__main__":
    main()
