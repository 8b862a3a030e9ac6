"""Time per step and peak memory of the demo, runs/taylor_green.toml, in variants that alternate in one go.

    python benchmarks/demo.py [--rounds 5] [--steps 100] [--write benchmarks/demo.md]

Each measurement is a process of its own: it compiles, takes some steps, then times `--steps` more in one compiled call.
The table gives medians over the rounds and their ratio to the first variant, with versions and machine.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import statistics
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
RUN_FILE = ROOT / "runs" / "taylor_green.toml"
VARIANTS = {
    "as `make demo` runs it: 2 virtual devices": {"devices": 2, "keep": True},
    "1 device": {"devices": 1, "keep": True},
    "2 virtual devices, freed memory given back": {"devices": 2, "keep": False},
}


def measure(devices: int, keep: bool, steps: int) -> dict[str, float]:
    """In this process: milliseconds per step, and memory."""
    import jax
    import numpy as np

    from solver import assemble
    from solver.cluster import keep_freed_memory, set_up_jax
    from solver.config import load
    from solver.loop import FixedStep, StepLimits, advance_donating, device_state
    from solver.mesh import device_mesh
    from solver.plan import make_estimate

    set_up_jax("cpu", devices)
    if keep:
        keep_freed_memory()
    config = assemble.resolve(load(RUN_FILE, assemble.schema()))
    run = assemble.Assembly(config, device_mesh())
    start, control = device_state(run.start()), FixedStep(0.01)
    given = lambda state, n: (run.equation, run.stepper, control, state, StepLimits(np.int64(n), state.t))  # noqa: E731
    memory = advance_donating.lower(*given(start, 1)).compile().memory_analysis()
    state, _ = jax.block_until_ready(advance_donating(*given(start, 10)))
    began = time.perf_counter()
    state, _ = jax.block_until_ready(advance_donating(*given(state, steps)))
    seconds = time.perf_counter() - began
    words = (memory.argument_size_in_bytes + memory.temp_size_in_bytes) * devices / 8 / np.prod(config.grid.shape)
    return {
        "ms": 1e3 * seconds / steps,
        "program_mib": (memory.argument_size_in_bytes + memory.temp_size_in_bytes) * devices / 2**20,
        "words": float(words),
        "planned_mib": make_estimate(run.equation, run.stepper, run.state_shapes()).peak_bytes * devices / 2**20,
        "rss_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


def in_a_process(options: dict[str, object], steps: int) -> dict[str, float]:
    words = [sys.executable, __file__, "--child", json.dumps({**options, "steps": steps})]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(words, capture_output=True, text=True, check=True, env=environment)
    return json.loads(done.stdout.splitlines()[-1])


def processor() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return f"{line.partition(':')[2].strip()}, {len(os.sched_getaffinity(0))} cores"
    return platform.processor()


def table(rounds: int, steps: int) -> str:
    """Run everything, variants alternating, and write it up."""
    import jax
    import numpy

    results: dict[str, list[dict[str, float]]] = {name: [] for name in VARIANTS}
    for _ in range(rounds):
        for name, options in VARIANTS.items():
            results[name].append(in_a_process(options, steps))
    median = lambda name, key: statistics.median(r[key] for r in results[name])  # noqa: E731
    base = median(next(iter(VARIANTS)), "ms")
    lines = [
        "| variant | ms per step | spread | ratio | program's peak, MiB | words per point | peak resident, MiB |",
        "|---|---|---|---|---|---|---|",
    ]
    for name in VARIANTS:
        times = [r["ms"] for r in results[name]]
        lines.append(
            f"| {name} | {median(name, 'ms'):.1f} | {min(times):.1f}–{max(times):.1f} "
            f"| {median(name, 'ms') / base:.2f} "
            f"| {median(name, 'program_mib'):.1f} | {median(name, 'words'):.1f} | {median(name, 'rss_mib'):.0f} |"
        )
    about = (
        f"`python benchmarks/demo.py --rounds {rounds} --steps {steps}` on {time.strftime('%Y-%m-%d')}; {processor()}; "
        f"Python {platform.python_version()}, jax {jax.__version__}, numpy {numpy.__version__}. "
        "64³ points, float64, IFRK4 (4 right-hand sides, 32 real transforms per step), medians of "
        f"{rounds} processes each, variants alternating. The program's peak is its arguments and scratch as XLA's "
        "memory analysis gives them, all devices together; resident memory includes Python, JAX and the compiler."
    )
    return f"# The demo: time per step and peak memory\n\n{about}\n\n" + "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--write", type=Path)
    parser.add_argument("--child", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        print(json.dumps(measure(**json.loads(options.child))))
        return
    text = table(options.rounds, options.steps)
    print(text)
    if options.write:
        options.write.write_text(text)


if __name__ == "__main__":
    main()
