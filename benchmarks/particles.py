"""A step with particles beside one without, in turn: python benchmarks/particles.py [--side 64] [--counts 100000].

Navier–Stokes by `ifrk4` on two virtual CPU devices in double precision, without an energy budget; tracers anywhere in
the box. Prints medians in ms for each step, and what the particles add in steps of the flow alone.
"""

import argparse
import statistics
import time

import jax

jax.config.update("jax_enable_x64", True)
jax.config.update("jax_num_cpu_devices", 2)

import solver as sw  # noqa: E402

STEP = 1e-3


def started(side, particles):
    """Equation and state of a flow with random phases and the particles."""
    grid = sw.Grid((side, side, side), mesh=sw.device_mesh([0, 1]))
    flow = sw.equations.NavierStokes(grid, 1e-3, energy_budget=False, particles=particles)
    start = sw.initial.RandomPhase(0.5, 3.0)
    fields = start(grid, flow.fields["velocity"], jax.random.key(0))
    return flow, sw.initial_state(flow, sw.steppers.IFRK4(), fields)


def last_of(flow, state, steps):
    *_, last = sw.evolve(flow, sw.steppers.IFRK4(), state, step=STEP, end=steps * STEP)
    return last.field


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--side", type=int, default=64)
    arguments.add_argument("--counts", type=int, nargs="+", default=[100_000])
    arguments.add_argument("--orders", type=int, nargs="+", default=[4, 6])
    arguments.add_argument("--rounds", type=int, default=7)
    arguments.add_argument("--steps", type=int, default=3)
    given = arguments.parse_args()
    programs = {"flow alone": None}
    for count in given.counts:
        for order in given.orders:
            for precision in ("grid", "float32"):
                tracers = sw.particles.Tracers(count=count, order=order, precision=precision)
                programs[f"{count} tracers, order {order}, {precision}"] = {"tracers": tracers}
    ready = {name: started(given.side, particles) for name, particles in programs.items()}
    times = {name: [] for name in ready}
    for turn in range(given.rounds + 1):
        for name, (flow, state) in ready.items():
            begin = time.perf_counter()
            jax.block_until_ready(last_of(flow, state, given.steps))
            if turn:  # the first one compiles
                times[name].append((time.perf_counter() - begin) / given.steps * 1e3)
    alone = times["flow alone"]
    print(f"{given.side}³, jax {jax.__version__}, {given.rounds} rounds of {given.steps} steps")
    for name, found in times.items():
        added = statistics.median((one - flow) / flow for one, flow in zip(found, alone, strict=True))
        spread = f"{min(found):.1f}–{max(found):.1f}"
        print(f"{name}: {statistics.median(found):.1f} ms ({spread}); adds {added:.2f} steps of the flow")


if __name__ == "__main__":
    main()
