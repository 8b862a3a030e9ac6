"""What the energy budget adds to a step: programs with and without it in one process, in turn.

python benchmarks/energy_budget.py 3 64              dimensions, points along an axis
python benchmarks/energy_budget.py 2 512 --rounds 30 --steps 8
"""

from __future__ import annotations

import argparse
import os
import statistics
import time

import numpy as np
from harness import TWO_DEVICES
from navier_stokes import eddies


def measured(dimensions: int, n: int, rounds: int, steps: int) -> dict[bool, list[float]]:
    """Milliseconds per step of each round, in chunks of `steps` steps, by whether the budget is integrated."""
    os.environ |= TWO_DEVICES
    from solver.cluster import keep_freed_memory

    keep_freed_memory()
    import jax

    jax.config.update("jax_enable_x64", True)
    import solver as sw
    from solver.loop import FixedStep, StepLimits, advance_donating, device_state

    grid = sw.Grid((n,) * dimensions, mesh=sw.device_mesh())
    equation = sw.equations.NavierStokes if dimensions == 3 else sw.equations.Vorticity
    start = sw.initial.TaylorGreen()(grid) if dimensions == 3 else sw.sample(eddies, grid)
    stepper, ready = sw.steppers.IFRK4(), {}
    for budget in (True, False):
        flow = equation(grid, viscosity=1e-2, energy_budget=budget)
        state = device_state(sw.initial_state(flow, stepper, start))
        advance = lambda state, count, flow=flow: jax.block_until_ready(  # noqa: E731
            advance_donating(flow, stepper, FixedStep(1e-3), state, StepLimits(np.int64(count), state.t))[0]
        )
        ready[budget] = [advance, advance(state, 1)]
    times: dict[bool, list[float]] = {True: [], False: []}
    for i in range(rounds):
        for budget in (True, False) if i % 2 else (False, True):
            advance, state = ready[budget]
            began = time.perf_counter()
            ready[budget][1] = advance(state, steps)
            times[budget].append(1e3 * (time.perf_counter() - began) / steps)
    return times


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("dimensions", type=int, choices=(2, 3))
    parser.add_argument("points", type=int)
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--steps", type=int, default=5)
    options = parser.parse_args()
    times = measured(options.dimensions, options.points, options.rounds, options.steps)
    ratios = [with_it / without for with_it, without in zip(times[True], times[False], strict=True)]
    low, middle, high = statistics.quantiles(ratios, n=4)
    print(
        f"with {statistics.median(times[True]):.2f} ms, without {statistics.median(times[False]):.2f} ms; "
        f"ratio {middle:.3f} ({low:.3f}–{high:.3f})"
    )
