"""One Runge–Kutta step of three-dimensional Navier–Stokes, beside other solvers, alternating in one go.

    python benchmarks/navier_stokes.py [--sizes 128 256] [--rounds 5] [--steps 5] [--write benchmarks/navier_stokes.md]

Four right-hand sides per step, the modes |n| < N/3 retained, double precision, two devices, ranks or threads.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from harness import TWO_DEVICES, Program, alternate, columns, machine, peer, two_ranks

BASE = "fluidsim ns3d, RK4, 2 ranks"
VARIANTS = {
    "batch": "slabwave, IFRK4",
    "shard_map": "slabwave, IFRK4, engine shard_map",
    "separate": "slabwave, IFRK4, one field per exchange",
}


def ours(kind: str) -> Program:
    return Program(VARIANTS[kind], [sys.executable, __file__, "--child", kind], environment=TWO_DEVICES)


def child(kind: str, n: int, steps: int) -> dict[str, float]:
    """In this process: milliseconds per step, in compiled chunks as `slabwave run` makes them; words per point."""
    from solver.cluster import keep_freed_memory

    keep_freed_memory()
    import jax
    import numpy as np

    import solver as sw
    from solver.equations.budget import with_budget
    from solver.loop import fixed_steps_donating

    grid = sw.Grid((n, n, n), mesh=sw.device_mesh())
    engine, fields = "shard_map" if kind == "shard_map" else "slabwave", 1 if kind == "separate" else "auto"
    method = sw.fft.Method(engine, fields=fields)
    flow, stepper = sw.equations.NavierStokes(grid, viscosity=1e-2, method=method), sw.steppers.IFRK4()
    state = sw.initial_state(flow, stepper, sw.initial.TaylorGreen()(grid))
    field = with_budget(state.field, state.budget)  # as a run carries it
    numbers = lambda n: (np.int64(n), np.float64(1e-3), np.float64(0), np.int64(0), {}, (), np.int64(0))  # noqa: E731
    memory = fixed_steps_donating.lower(flow, stepper, field, (), *numbers(1)).compile().memory_analysis()
    advance = lambda f, n: jax.block_until_ready(fixed_steps_donating(flow, stepper, f, (), *numbers(n))[0])  # noqa: E731
    field = advance(field, 1)
    times = []
    for _ in range(3):
        began = time.perf_counter()
        field = advance(field, steps)
        times.append(1e3 * (time.perf_counter() - began) / steps)
    held = (memory.argument_size_in_bytes + memory.temp_size_in_bytes) * grid.mesh.size
    return {"step": statistics.median(times), "words": held / 8 / n**3}


def table(sizes: list[int], rounds: int, steps: int) -> str:
    """Everything, in turn."""
    text = ""
    for n in sizes:
        programs = [
            *map(ours, VARIANTS),
            Program(BASE, two_ranks("ns_fluidsim.py"), ("fluidsim", "fluidfft_fftwmpi")),
            Program("plain mpi4py-fft solver, RK4, 2 ranks", two_ranks("ns_mpi4py.py"), ("mpi4py_fft",)),
            Program("exponax, ETDRK4, 1 process", peer("ns_exponax.py"), ("exponax",)),
        ]
        alternate(programs, rounds, [str(n), str(steps)])
        text += f"\n## {n}³\n\n" + columns(programs, {"step": "step"}, (BASE, ""))
        words = ", ".join(f"{p.name}: {p.median('words'):.1f}" for p in programs[:3] if p.times)
        text += f"\nReal words per grid point that the compiled program holds: {words}.\n"
    command = f"--sizes {' '.join(map(str, sizes))} --rounds {rounds} --steps {steps}"
    about = (
        f"`python benchmarks/navier_stokes.py {command}` on {time.strftime('%Y-%m-%d')}; {machine()}. float64, "
        f"|n| < N/3 retained, four right-hand sides per step. Medians of {rounds} processes each (smallest–largest), "
        f"each the median over {steps} steps, or of three chunks of as many steps; programs alternating."
    )
    return f"# One step of Navier–Stokes, beside other solvers\n\n{about}\n{text}"


if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        print(json.dumps(child(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))))
        sys.exit()
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=[128, 256])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--write", type=Path)
    options = parser.parse_args()
    result = table(options.sizes, options.rounds, options.steps)
    print(result)
    if options.write:
        options.write.write_text(result, encoding="utf-8")
