"""Time to an error in convection, next to Dedalus: python benchmarks/convection.py.

A vertical plane of 2 × 1, or with three numbers of modes a layer of 2 × 2 × 1, from one smooth start to t = `end`.
Compared are ⟨wT⟩ and ½⟨u²⟩ there with a run of short steps of our own on the same modes. Programs run in turn, a
process each; times are of the steps alone. Dedalus runs on two MPI ranks of the Python in `.peers`, where `make peers`
installs it; SLABWAVE_PEERS names another one.
"""

import argparse
import json
import sys
import time

from harness import Program, alternate, machine, two_ranks

SCHEMES = {"RK222": (0.01, 0.005, 0.0025), "RK443": (0.02, 0.01, 0.005), "SBDF2": (0.005, 0.0025)}


def ours(points, rayleigh, dt, end, stepper):
    """The numbers at the end, and the time of the steps, of this process."""
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_enable_x64", True)
    import solver as sw

    along, axes = len(points) - 1, {2: "y", 3: "z"}
    grid = sw.Grid(points, (2.0,) * along + (1.0,), walls=axes[len(points)], mesh=sw.device_mesh([0]))
    of = {"temperature": sw.walls.Value(1.0, 0.0)}
    flow, method = sw.equations.RayleighBenard(grid, rayleigh, 1.0, walls=of, energy_budget=False), stepper
    method = {"krogstad4": sw.steppers.Krogstad4, "etdrk5s4": sw.steppers.ETDRK5S4}[stepper]()
    *places, z = grid.coordinates()
    waves = sum(jnp.cos(jnp.pi * x) + 0.5 * jnp.sin(2 * jnp.pi * x) for x in places)
    temperature = jnp.broadcast_to(1 - z + 0.1 * jnp.sin(jnp.pi * z) * waves, (1, *points))
    start = {"velocity": jnp.zeros((along + 1, *points)), "temperature": temperature}
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
    flux, energy = mean(u[-1] * warm[0]), mean(0.5 * jnp.sum(u**2, axis=0))
    return {"seconds": took, "steps": steps, "flux": float(flux), "energy": float(energy)}


def programs_of(given):
    """A run of ours with short steps, then those that are compared."""
    *along, across = given.shape
    words = lambda numbers: "x".join(map(str, numbers))  # noqa: E731
    physics = lambda dt: [f"{given.rayleigh:g}", f"{dt:g}", f"{given.end:g}"]  # noqa: E731
    points = words([*(3 * n // 2 for n in along), 3 * across // 2 - 1])
    here = lambda dt: [sys.executable, __file__, "--ours", points, *physics(dt), "krogstad4"]  # noqa: E731
    peer = [*two_ranks("convection_dedalus.py"), words(given.shape)]
    compared = [Program(f"slabwave, krogstad4, dt = {dt:g}", here(dt)) for dt in (0.04, 0.02, 0.01)[: given.most]]
    for scheme in given.schemes:
        for dt in SCHEMES[scheme][: given.most]:
            command = [*peer, *physics(dt), scheme]
            compared.append(Program(f"Dedalus, {scheme}, dt = {dt:g}", command, needs=("dedalus",)))
    return Program(f"slabwave, krogstad4, dt = {given.short:g}", here(given.short)), compared


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--ours", nargs=5, help="points rayleigh dt end stepper, of this process")
    arguments.add_argument("--rayleigh", type=float, default=1e6)
    arguments.add_argument("--end", type=float, default=4.0)
    arguments.add_argument("--shape", type=int, nargs="+", default=(256, 64), help="modes along two or three axes")
    arguments.add_argument("--schemes", nargs="+", choices=SCHEMES, default=list(SCHEMES), help="of Dedalus")
    arguments.add_argument("--most", type=int, default=3, help="number of steps tried of each, the longest first")
    arguments.add_argument("--short", type=float, default=0.0025, help="step of the run that gives the errors")
    arguments.add_argument("--rounds", type=int, default=3)
    given = arguments.parse_args()
    if given.ours:
        points, rayleigh, dt, end, stepper = given.ours
        shape = tuple(map(int, points.split("x")))
        print(json.dumps(ours(shape, float(rayleigh), float(dt), float(end), stepper)))
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
