"""One Runge–Kutta step of Navier–Stokes, beside other solvers, alternating in one go.

    python benchmarks/navier_stokes.py [--dimensions 3] [--sizes 128 256] [--rounds 5] [--steps 5]
        [--only slabwave fluidsim] [--write benchmarks/navier_stokes.md]

Four right-hand sides per step, the modes |n| < N/3 retained, two devices, ranks or threads; double precision, and ours
in single precision beside it. Ours integrates its energy budget, as runs do by default, and others have none; so ours
is there without it, too.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))
from harness import PEER_SCRIPTS, TWO_DEVICES, Program, alternate, columns, machine, peer, two_ranks

DEVICES = 2  # of TWO_DEVICES
BASE = {2: "fluidsim ns2d, RK4, 2 ranks, fftw1d", 3: "fluidsim ns3d, RK4, 2 ranks"}
VARIANTS = {
    3: {
        "batch": "slabwave, IFRK4",
        "no-budget": "slabwave, IFRK4, no energy budget",
        "float32": "slabwave, IFRK4, float32",
        "shard_map": "slabwave, IFRK4, engine shard_map",
        "separate": "slabwave, IFRK4, one field per exchange",
    },
    2: {
        "vorticity": "slabwave vorticity, IFRK4",
        "vorticity-no-budget": "slabwave vorticity, IFRK4, no energy budget",
        "vorticity-float32": "slabwave vorticity, IFRK4, float32",
        "batch": "slabwave navier-stokes, IFRK4",
    },
}


def ours(dimensions: int, kind: str) -> Program:
    command = [sys.executable, __file__, "--child", str(dimensions), kind]
    return Program(VARIANTS[dimensions][kind], command, environment=TWO_DEVICES)


def others(dimensions: int) -> list[Program]:
    """Programs of others."""
    ranks, needs = two_ranks("ns_fluidsim.py"), ("fluidsim", "fluidfft_fftwmpi")
    if dimensions == 2:
        return [
            Program(BASE[2], [*ranks, "fft2d.mpi_with_fftw1d"], needs),
            Program(BASE[2].replace("fftw1d", "fftwmpi2d"), [*ranks, "fft2d.mpi_with_fftwmpi2d"], needs),
        ]
    return [
        Program(BASE[3], [*ranks, "fft3d.mpi_with_fftwmpi3d"], needs),
        Program("plain mpi4py-fft solver, RK4, 2 ranks", two_ranks("ns_mpi4py.py"), ("mpi4py_fft",)),
        Program("exponax, ETDRK4, 1 process", peer("ns_exponax.py"), ("exponax",)),
        Program("dnsjax, four steps of CN/AB2, 2 ranks", [sys.executable, str(PEER_SCRIPTS / "ns_dnsjax.py")]),
    ]


def child(dimensions: int, kind: str, n: int, steps: int) -> dict[str, float]:
    """In this process: milliseconds per step, in compiled chunks as `slabwave run` makes them; words per point."""
    engine, fields = "shard_map" if kind == "shard_map" else "slabwave", 1 if kind == "separate" else "auto"
    state, program, advance = stepping(
        (n,) * dimensions, kind.startswith("vorticity"), precision="float32" if kind.endswith("float32") else "float64",
        energy_budget=not kind.endswith("no-budget"), engine=engine, fields=fields,
    )  # fmt: skip
    memory = program().memory_analysis()
    state = advance(state, 1)
    times = []
    chunk = math.ceil(steps / 4)
    for _ in range(12):
        began = time.perf_counter()
        state = advance(state, chunk)
        times.append(1e3 * (time.perf_counter() - began) / chunk)
    held = (memory.argument_size_in_bytes + memory.temp_size_in_bytes) * DEVICES
    return {"step": statistics.median(times), "words": held / (4 if kind.endswith("float32") else 8) / n**dimensions}


def stepping(
    shape: tuple[int, ...],
    vorticity: bool,
    *,
    precision: str = "float64",
    energy_budget: bool = True,
    engine: str = "slabwave",
    fields: Any = "auto",
) -> tuple[Any, Callable[[], Any], Callable[[Any, int], Any]]:
    """A flow stepped by IFRK4 on two virtual devices, in compiled chunks as `slabwave run` makes them.

    To be called before JAX is used.

    Returns:
        The state at the start; what compiles the program; and what advances a state by so many steps and waits for it.
    """
    os.environ |= TWO_DEVICES
    from solver.cluster import keep_freed_memory

    keep_freed_memory()
    import jax

    import solver as sw
    from solver.loop import FixedStep, StepLimits, advance_donating, device_state

    grid = sw.Grid(shape, mesh=sw.device_mesh(), precision=precision)
    equation = sw.equations.Vorticity if vorticity else sw.equations.NavierStokes
    method = sw.fft.Method(engine, fields=fields)
    flow, stepper = equation(grid, viscosity=1e-2, method=method, energy_budget=energy_budget), sw.steppers.IFRK4()
    start = sw.sample(eddies, grid) if vorticity else sw.initial.TaylorGreen()(grid)
    state = device_state(sw.initial_state(flow, stepper, start))  # as a run carries it
    given = lambda state, n: (flow, stepper, FixedStep(1e-3), state, StepLimits(np.int64(n), state.t))  # noqa: E731
    program = lambda: advance_donating.lower(*given(state, 1)).compile()  # noqa: E731
    return state, program, lambda state, n: jax.block_until_ready(advance_donating(*given(state, n))[0])


def eddies(x: Any, y: Any) -> Any:
    """A vorticity to start from."""
    import jax.numpy as jnp

    return 2 * jnp.cos(x) * jnp.cos(y) + jnp.sin(3 * x + y)


def table(dimensions: int, sizes: list[int], rounds: int, steps: int, only: list[str]) -> str:
    """Everything, in turn."""
    text = ""
    for n in sizes:
        programs = [*(ours(dimensions, kind) for kind in VARIANTS[dimensions]), *others(dimensions)]
        programs = [p for p in programs if not only or any(f"{p.name} ".startswith(f"{word} ") for word in only)]
        alternate(programs, rounds, [str(n), str(steps)])
        text += f"\n## {n}{'²³'[dimensions - 2]}\n\n" + columns(programs, {"step": "step"}, (BASE[dimensions], ""))
        words = ", ".join(f"{p.name}: {p.median('words'):.1f}" for p in programs if p.times and "words" in p.times[0])
        text += f"\nReal words per grid point that the compiled program holds: {words}.\n"
    command = f"--dimensions {dimensions} --sizes {' '.join(map(str, sizes))} --rounds {rounds} --steps {steps}"
    command += "".join([" --only", *(f" '{word}'" for word in only)]) if only else ""
    about = (
        f"`python benchmarks/navier_stokes.py {command}` on {time.strftime('%Y-%m-%d')}; {machine()}. float64 where no "
        f"other precision is named, |n| < N/3 retained, four right-hand sides per step. Medians of {rounds} processes "
        f"each (smallest–largest), each the median over {steps} steps, ours of 12 chunks of a quarter as many; "
        "programs alternating."
    )
    return f"# One step of Navier–Stokes, beside other solvers\n\n{about}\n{text}"


if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        print(json.dumps(child(int(sys.argv[2]), sys.argv[3], int(sys.argv[4]), int(sys.argv[5]))))
        sys.exit()
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--dimensions", type=int, choices=(2, 3), default=3)
    parser.add_argument("--only", nargs="+", default=[], help="programs of these names, or of these first words")
    parser.add_argument("--sizes", type=int, nargs="+", default=[128, 256])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--write", type=Path)
    options = parser.parse_args()
    result = table(options.dimensions, options.sizes, options.rounds, options.steps, options.only)
    print(result)
    if options.write:
        options.write.write_text(result, encoding="utf-8")
