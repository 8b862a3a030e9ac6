"""Time to an error in convection, beside Dedalus: python benchmarks/convection.py --peer "mpiexec -n 2 PYTHON".

A vertical plane, 2 × 1, from one smooth start to t = `end`. Compared are ⟨wT⟩ and ½⟨u²⟩ there with a run of short steps
of our own on the same modes. Programs run in turn, a process each; times are of the steps alone.
"""

import argparse
import json
import os
import shlex
import statistics
import subprocess
import sys
import time
from pathlib import Path

PEER = Path(__file__).parent / "peers" / "convection_dedalus.py"


def ours(nx, nz, rayleigh, dt, end, stepper):
    """The numbers at the end, and the time of the steps, of this process."""
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_enable_x64", True)
    import solver as sw

    grid = sw.Grid((nx, nz), (2.0, 1.0), walls="y", mesh=sw.device_mesh([0]))
    of = {"temperature": sw.walls.Value(1.0, 0.0)}
    flow, method = sw.equations.RayleighBenard(grid, rayleigh, 1.0, walls=of, energy_budget=False), stepper
    method = {"krogstad4": sw.steppers.Krogstad4, "etdrk5s4": sw.steppers.ETDRK5S4}[stepper]()
    x, z = grid.coordinates()
    waves = jnp.cos(jnp.pi * x) + 0.5 * jnp.sin(2 * jnp.pi * x)
    temperature = 1 - z + 0.1 * jnp.sin(jnp.pi * z) * waves
    start = {"velocity": jnp.zeros((2, nx, nz)), "temperature": jnp.broadcast_to(temperature, (1, nx, nz))}
    state = sw.initial_state(flow, method, start)
    steps = round(end / dt)
    run = jax.jit(lambda state: sw.integrate(flow, method, state, step=dt, steps=steps))
    program = run.lower(state).compile()
    program(state)
    began = time.perf_counter()
    last = jax.block_until_ready(program(state))
    took = time.perf_counter() - began
    u, warm = (flow.to_physical(last.field)[name] for name in ("velocity", "temperature"))
    mean = flow.space("temperature").mean
    flux, energy = mean(u[1] * warm[0]), mean(0.5 * jnp.sum(u**2, axis=0))
    return {"seconds": took, "steps": steps, "flux": float(flux), "energy": float(energy)}


def told(command):
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "OMP_NUM_THREADS": "1"})
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout.strip().splitlines()[-1])


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--ours", nargs=6, help="nx nz rayleigh dt end stepper, of this process")
    arguments.add_argument("--peer", default="mpiexec -n 2 .peers/bin/python")
    arguments.add_argument("--rayleigh", type=float, default=1e6)
    arguments.add_argument("--end", type=float, default=4.0)
    arguments.add_argument("--shape", type=int, nargs=2, default=(256, 64), help="modes")
    arguments.add_argument("--rounds", type=int, default=3)
    given = arguments.parse_args()
    if given.ours:
        nx, nz, rayleigh, dt, end, stepper = given.ours
        print(json.dumps(ours(int(nx), int(nz), float(rayleigh), float(dt), float(end), stepper)))
        return
    nx, nz = given.shape
    common = [f"{given.rayleigh:g}"]
    points = [str(3 * nx // 2), str(3 * nz // 2 - 1)]
    mine = lambda dt, stepper: [  # noqa: E731
        sys.executable, __file__, "--ours", *points, *common, f"{dt:g}", f"{given.end:g}", stepper
    ]  # fmt: skip
    theirs = lambda dt, scheme: [  # noqa: E731
        *shlex.split(given.peer),
        str(PEER),
        str(nx),
        str(nz),
        *common,
        f"{dt:g}",
        f"{given.end:g}",
        scheme,
    ]
    exact = told(mine(0.0025, "krogstad4"))
    programs = {f"slabwave, krogstad4, dt = {dt:g}": mine(dt, "krogstad4") for dt in (0.04, 0.02, 0.01)}
    schemes = {"RK222": (0.01, 0.005, 0.0025), "RK443": (0.02, 0.01, 0.005), "SBDF2": (0.005, 0.0025)}
    for scheme, steps in schemes.items():
        programs |= {f"Dedalus, {scheme}, dt = {dt:g}": theirs(dt, scheme) for dt in steps}
    found = {name: [] for name in programs}
    for number in range(given.rounds):
        for name, command in list(programs.items())[:: 1 if number % 2 else -1]:
            found[name].append(told(command))
    print("| program | s, median (all) | ms a step | error of ⟨wT⟩ | error of ½⟨u²⟩ |\n|---|---|---|---|---|")
    for name, rounds in found.items():
        times = [one["seconds"] for one in rounds]
        errors = [abs(rounds[0][key] / exact[key] - 1) for key in ("flux", "energy")]
        median = statistics.median(times)
        print(
            f"| {name} | {median:.2f} ({min(times):.2f}–{max(times):.2f}) | {1e3 * median / rounds[0]['steps']:.2f} "
            f"| {errors[0]:.1e} | {errors[1]:.1e} |"
        )


if __name__ == "__main__":
    main()
