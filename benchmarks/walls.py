"""A step between walls beside a periodic one, in turn: python benchmarks/walls.py [--shape 64 64 65] [--rounds 7].

Navier–Stokes and convection by `krogstad4` on one CPU device, with an energy budget and without, the C library keeping
freed memory and FFTs on one thread as under `slabwave run`. Prints medians in ms for each step, and the ratio to the
periodic flow's.
"""

import argparse
import os
import statistics
import time

os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false")

import jax

jax.config.update("jax_enable_x64", True)

import solver as sw  # noqa: E402
from solver.cluster import keep_freed_memory  # noqa: E402

STEP = 1e-4


def flows(shape):
    """Equation and state of each program by name."""
    mesh, stepper = sw.device_mesh([0]), sw.steppers.Krogstad4()
    lengths = (2.0, 2.0, 1.0)
    between = sw.Grid(shape, lengths, walls="z", mesh=mesh)
    periodic = sw.Grid(shape, lengths, mesh=mesh)
    heated = {"temperature": sw.walls.Value(1.0, 0.0)}
    for budget in (False, True):
        said = "" if budget else ", no budget"
        options = {"energy_budget": budget}
        yield f"navier-stokes, periodic{said}", sw.equations.NavierStokes(periodic, 1e-3, **options), stepper
        yield f"navier-stokes, walls{said}", sw.equations.NavierStokes(between, 1e-3, **options), stepper
        scalar = {"scalars": {"temperature": sw.PassiveScalar(1e-3)}, **options}
        yield (
            f"navier-stokes with a scalar, periodic{said}",
            sw.equations.NavierStokes(periodic, 1e-3, **scalar),
            stepper,
        )
        yield (
            f"rayleigh-benard, walls{said}",
            sw.equations.RayleighBenard(between, 1e6, walls=heated, **options),
            stepper,
        )


def started(equation, stepper):
    fields = {name: 0.1 * space.random(jax.random.key(0)) for name, space in equation.spaces.items()}
    return sw.initial_state(equation, stepper, equation.to_physical(fields))


def last_of(equation, stepper, state, steps):
    *_, last = sw.evolve(equation, stepper, state, step=STEP, end=steps * STEP)
    return last.field


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--shape", type=int, nargs=3, default=(64, 64, 65))
    arguments.add_argument("--rounds", type=int, default=7)
    arguments.add_argument("--steps", type=int, default=5)
    given = arguments.parse_args()
    keep_freed_memory()
    programs, times = [], {}
    for name, equation, stepper in flows(tuple(given.shape)):
        begin = time.perf_counter()
        state = started(equation, stepper)
        run = lambda state, e=equation, s=stepper: last_of(e, s, state, given.steps)  # noqa: E731
        jax.block_until_ready(run(state))
        programs.append((name, run, state))
        print(f"{name}: first call {time.perf_counter() - begin:.1f} s", flush=True)
    for number in range(given.rounds):
        for name, run, state in programs[:: 1 if number % 2 else -1]:
            begin = time.perf_counter()
            jax.block_until_ready(run(state))
            times.setdefault(name, []).append((time.perf_counter() - begin) / given.steps * 1e3)
    print(f"| program | ms a step at {'×'.join(map(str, given.shape))} | smallest–largest | ratio |\n|---|---|---|---|")
    for i, (name, _, _) in enumerate(programs):
        own, other = times[name], times[programs[i - i % 2][0]]
        ratio = statistics.median(own) / statistics.median(other)
        print(f"| {name} | {statistics.median(own):.1f} | {min(own):.1f}–{max(own):.1f} | {ratio:.2f} |")


if __name__ == "__main__":
    main()
