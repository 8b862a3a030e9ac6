"""Flows of other JAX codes beside ours on one GPU: 2-D vorticity and 3-D velocity, forward and with a gradient.

    python benchmarks/gpu_peers.py                                          # 2048² and 256³ on a GPU
    python benchmarks/gpu_peers.py --square 64 --cube 24 --platform cpu     # the same code, small

Each program is a process of its own, one after the other; in it, compiled calls of whole roll-outs, the median of five.
exponax, jax-cfd and dnsjax are found by this Python; what is missing is named in the table.
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

ROOT = Path(__file__).parents[1]
PROGRAMS = {"vorticity": ("ours", "exponax", "jax-cfd"), "velocity": ("ours", "exponax", "dnsjax")}
METHODS = {
    "ours": "ETDRK4",
    "exponax": "ETDRK4",
    "jax-cfd": "Crank–Nicolson with a low-storage RK4 of five stages",
    "dnsjax": "CN/AB2, four steps",
}


def ours(case: str, points: int, precision: str) -> tuple[Any, Any, Any]:
    """A function of arrays of its own, of fields at the start and a number of steps; the arrays and the fields."""
    import jax.numpy as jnp

    import solver as sw

    stepper, mesh = sw.steppers.ETDRK4(), sw.device_mesh([0])
    if case == "vorticity":
        grid = sw.Grid((points, points), precision=precision, mesh=mesh)
        equation, step = sw.equations.Vorticity(grid, 1e-3, energy_budget=False), 1e-3
        start = sw.sample(lambda x, y: 2.5 * jnp.sin(x) * jnp.sin(2 * y), grid)
    else:
        grid = sw.Grid((points,) * 3, precision=precision, mesh=mesh)
        equation, step = sw.equations.NavierStokes(grid, 1e-2, energy_budget=False), 1e-3
        start = sw.initial.TaylorGreen()(grid)
    state = sw.initial_state(equation, stepper, start)

    def after(_: Any, fields: Any, steps: int) -> Any:
        end = sw.integrate(equation, stepper, state.replace(field=fields), step=step, steps=steps, checkpoint="none")
        return next(iter(end.field.values()))

    return after, (), state.field


def child(options: argparse.Namespace) -> None:
    """In this process: one program's times."""
    import jax

    if options.platform == "cpu":
        jax.config.update("jax_platforms", "cpu")
    jax.config.update("jax_enable_x64", options.precision == "float64")
    sys.path.insert(0, str(ROOT / "benchmarks" / "peers"))
    if options.child == "ours":
        after, own, start = ours(options.case, options.points, options.precision)
    else:
        import flows

        after, own, start = flows.MADE[options.child](options.case, options.points, options.precision)
    print(json.dumps(timed(after, own, start, options.steps, options.gradient_steps)))


def timed(after: Any, own: Any, start: Any, steps: int, gradient_steps: int, rounds: int = 5) -> dict[str, float]:
    """Milliseconds a step, forward and of a gradient with its forward part, and what the compiled calls hold."""
    import jax
    import jax.numpy as jnp

    mean = lambda u, own: jnp.mean(jnp.abs(after(own, u, gradient_steps)) ** 2)  # noqa: E731
    calls = {"forward": (jax.jit(lambda u, own: after(own, u, steps)), steps)}
    if gradient_steps:
        calls |= {"few": (jax.jit(mean), gradient_steps), "gradient": (jax.jit(jax.grad(mean)), gradient_steps)}
    found: dict[str, float] = {}
    for name, (call, number) in calls.items():
        try:
            compiled = call.lower(start, own).compile()
            jax.block_until_ready(compiled(start, own))
            times = []
            for _ in range(rounds):
                began = time.perf_counter()
                jax.block_until_ready(compiled(start, own))
                times.append(1e3 * (time.perf_counter() - began) / number)
        except jax.errors.JaxRuntimeError as error:
            if "RESOURCE_EXHAUSTED" not in str(error):
                raise
            found[name] = float("nan")
            continue
        found[name] = sorted(times)[rounds // 2]
        found[f"{name} GiB"] = compiled.memory_analysis().temp_size_in_bytes / 2**30
    return found


def dnsjax(options: argparse.Namespace, points: int, steps: int) -> dict[str, float]:
    """Four right-hand sides of dnsjax' Kolmogorov flow, which prints their time."""
    platform = "cuda" if options.platform != "cpu" else "cpu"
    script = ROOT / "benchmarks" / "peers" / "ns_dnsjax.py"
    done = subprocess.run(
        [sys.executable, script, str(points), str(steps), platform],
        capture_output=True,
        text=True,
        timeout=options.timeout,
        env={**os.environ, "SLABWAVE_DNSJAX": f"{sys.executable} -m dnsjax"},
    )
    if done.returncode:
        raise RuntimeError((done.stderr.strip() or "no message").splitlines()[-1])
    return {"forward": json.loads(done.stdout.splitlines()[-1])["step"]}


def measured(options: argparse.Namespace, program: str, case: str, points: int, precision: str) -> dict[str, float]:
    """By a process of its own."""
    steps, gradient_steps = (100, 10) if case == "vorticity" else (20, options.cube_gradient)
    if options.platform == "cpu":
        steps, gradient_steps = 4, 2
    if program == "dnsjax":
        return dnsjax(options, points, steps)
    words = [sys.executable, __file__, "--child", program, "--case", case, "--points", str(points)]
    words += ["--precision", precision, "--steps", str(steps), "--gradient-steps", str(gradient_steps)]
    environment = {
        **os.environ,
        "PYTHONPATH": f"{ROOT}:{os.environ.get('PYTHONPATH', '')}",
        "XLA_PYTHON_CLIENT_MEM_FRACTION": "0.94",
        "TF_CPP_MIN_LOG_LEVEL": "2",
    }
    done = subprocess.run(
        [*words, "--platform", options.platform],
        capture_output=True,
        text=True,
        timeout=options.timeout,
        env=environment,
    )
    if done.returncode:
        raise RuntimeError((done.stderr.strip() or "no message").splitlines()[-1])
    return json.loads(done.stdout.splitlines()[-1])


def table(options: argparse.Namespace) -> None:
    """A row for each case, precision and program."""
    columns = "forward, ms a step | held, GiB | gradient, ms a step | in forward steps | held, GiB"
    print(f"| case | precision | program | {columns} |\n" + "|---" * 8 + "|", flush=True)
    end = time.time() + options.limit
    for case, points, sides in (("vorticity", options.square, 2), ("velocity", options.cube, 3)):
        for precision in options.precisions:
            for program in PROGRAMS[case]:
                what = f"{case}, {points}{'²³'[sides - 2]} | {precision} | {program}, {METHODS[program]}"
                if time.time() > end or (program == "dnsjax" and precision == "float32"):
                    print(f"| {what} | not run | | | | |", flush=True)
                    continue
                try:
                    found = measured(options, program, case, points, precision)
                except (RuntimeError, subprocess.TimeoutExpired) as error:
                    print(f"| {what} | failed: {str(error)[-200:].replace('|', '/')} | | | | |", flush=True)
                    continue
                number = lambda name, found=found: f"{found[name]:.3f}" if name in found else "–"  # noqa: E731
                ratio = f"{found['gradient'] / found['few']:.2f}" if "few" in found else "–"
                gradient = f"{number('gradient')} | {ratio} | {number('gradient GiB')}"
                print(f"| {what} | {number('forward')} | {number('forward GiB')} | {gradient} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--square", type=int, default=2048)
    parser.add_argument("--cube", type=int, default=256)
    parser.add_argument("--cube-gradient", type=int, default=2, help="steps that the gradient at cube³ goes back")
    parser.add_argument("--precisions", nargs="+", default=["float32", "float64"])
    parser.add_argument("--platform", choices=("auto", "cpu"), default="auto")
    parser.add_argument("--limit", type=float, default=900.0, help="seconds after which no program is started")
    parser.add_argument("--timeout", type=float, default=200.0, help="seconds of one program")
    for hidden in ("--child", "--case", "--precision"):
        parser.add_argument(hidden, help=argparse.SUPPRESS)
    for hidden in ("--points", "--steps", "--gradient-steps"):
        parser.add_argument(hidden, type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    child(options) if options.child else table(options)


if __name__ == "__main__":
    main()
