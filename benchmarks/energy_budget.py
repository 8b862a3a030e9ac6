"""What the energy budget adds to a step: programs with and without it in one process, in turn.

python benchmarks/energy_budget.py 3 64              dimensions, points along an axis
python benchmarks/energy_budget.py 2 512 --rounds 30 --steps 8
"""

from __future__ import annotations

import argparse
import statistics
import time

from navier_stokes import stepping


def measured(dimensions: int, n: int, rounds: int, steps: int) -> dict[bool, list[float]]:
    """Milliseconds per step of each round, in chunks of `steps` steps, by whether the budget is integrated."""
    ready = {}
    for budget in (True, False):
        state, _, advance = stepping((n,) * dimensions, dimensions == 2, energy_budget=budget)
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
