"""Time to an error in convection, next to Dedalus: python benchmarks/convection.py.

A vertical plane, 2 × 1, from one smooth start to t = `end`. Compared are ⟨wT⟩ and ½⟨u²⟩ there with a run of short steps
of our own on the same modes. Programs run in turn, a process each; times are of the steps alone. Dedalus runs on two
MPI ranks of the Python in `.peers`, where `make peers` installs it; SLABWAVE_PEERS names another one.
"""

import argparse
import json
import sys
import time

from harness import Program, alternate, machine, two_ranks

SCHEMES = {"RK222": (0.01, 0.005, 0.0025), "RK443": (0.02, 0.01, 0.005), "SBDF2": (0.005, 0.0025)}


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


def programs_of(given):
    """A run of ours with short steps, then those that are compared."""
    nx, nz = given.shape
    physics = lambda dt: [f"{given.rayleigh:g}", f"{dt:g}", f"{given.end:g}"]  # noqa: E731
    points = [str(3 * nx // 2), str(3 * nz // 2 - 1)]
    here = lambda dt: [sys.executable, __file__, "--ours", *points, *physics(dt), "krogstad4"]  # noqa: E731
    peer = [*two_ranks("convection_dedalus.py"), str(nx), str(nz)]
    compared = [Program(f"slabwave, krogstad4, dt = {dt:g}", here(dt)) for dt in (0.04, 0.02, 0.01)]
    for scheme, steps in SCHEMES.items():
        for dt in steps:
            command = [*peer, *physics(dt), scheme]
            compared.append(Program(f"Dedalus, {scheme}, dt = {dt:g}", command, needs=("dedalus",)))
    return Program("slabwave, krogstad4, dt = 0.0025", here(0.0025)), compared


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--ours", nargs=6, help="nx nz rayleigh dt end stepper, of this process")
    arguments.add_argument("--rayleigh", type=float, default=1e6)
    arguments.add_argument("--end", type=float, default=4.0)
    arguments.add_argument("--shape", type=int, nargs=2, default=(256, 64), help="modes")
    arguments.add_argument("--rounds", type=int, default=3)
    given = arguments.parse_args()
    if given.ours:
        nx, nz, rayleigh, dt, end, stepper = given.ours
        print(json.dumps(ours(int(nx), int(nz), float(rayleigh), float(dt), float(end), stepper)))
        return
    short, compared = programs_of(given)
    alternate([short], 1, [])
    if short.missing:
        raise SystemExit(short.missing)
    alternate(compared, given.rounds, [])
    print(f"{machine()}\n")
    print("| program | s, median (all) | ms a step | error of ⟨wT⟩ | error of ½⟨u²⟩ |\n|---|---|---|---|---|")
    for program in compared:
        if program.times:
            print(row(program, short.times[0]))
    for missing in sorted({program.missing for program in compared} - {""}):
        print(f"\nDedalus was left out: {missing}")


def row(program, exact):
    first = program.times[0]
    errors = [abs(first[key] / exact[key] - 1) for key in ("flux", "energy")]
    seconds = program.median("seconds")
    return (
        f"| {program.name} | {seconds:.2f} ({program.spread('seconds')}) | {1e3 * seconds / first['steps']:.2f} "
        f"| {errors[0]:.1e} | {errors[1]:.1e} |"
    )


if __name__ == "__main__":
    main()
