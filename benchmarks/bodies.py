"""What bodies cost: steps of Navier–Stokes with one body at rest, moving, or moved by the flow, beside none.

    python benchmarks/bodies.py --shape 128 128 128 --rounds 7

Alternating in one process; prints medians and their ratios.
"""

from __future__ import annotations

import argparse
import statistics
import time

import jax

jax.config.update("jax_enable_x64", True)

import solver as sw  # noqa: E402


def main() -> None:
    """Time and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--shape", type=int, nargs="+", default=[128, 128, 128])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--steps", type=int, default=2)
    parser.add_argument("--devices", type=int, default=1)
    options = parser.parse_args()
    dimensions = len(options.shape)
    centre, mesh = (3.0,) * dimensions, sw.device_mesh(range(options.devices))
    grid, stepper = sw.Grid(tuple(options.shape), mesh=mesh), sw.steppers.IFRK4()
    bodies = {
        "no body": None,
        "one at rest": sw.bodies.Sphere(centre, 0.8),
        "one that moves": sw.bodies.Sphere(centre, 0.8, velocity=(0.1,) * dimensions),
        "one that the flow moves": sw.bodies.Sphere(centre, 0.8, velocity=(0.1,) * dimensions, mass=2.0),
    }
    cases = {}
    for name, body in bodies.items():
        flow = sw.equations.NavierStokes(grid, viscosity=0.02, bodies=body, energy_budget=False)
        start = sw.initial_state(
            flow, stepper, sw.initial.RandomPhase()(grid, flow.fields["velocity"], jax.random.key(0))
        )
        cases[name] = flow, start
    run = lambda flow, start: jax.block_until_ready(  # noqa: E731
        sw.integrate(flow, stepper, start, step=1e-3, steps=options.steps).field
    )
    times: dict[str, list[float]] = {name: [] for name in cases}
    for case in cases.values():
        run(*case)
    for _ in range(options.rounds):
        for name, case in cases.items():
            began = time.perf_counter()
            run(*case)
            times[name].append((time.perf_counter() - began) / options.steps)
    plain = statistics.median(times["no body"])
    print(f"{'×'.join(map(str, options.shape))}, {options.devices} devices, jax {jax.__version__}")
    for name, taken in times.items():
        median = statistics.median(taken)
        print(f"{name:15} {1e3 * median:8.1f} ms a step, {median / plain:.2f}")


if __name__ == "__main__":
    main()
