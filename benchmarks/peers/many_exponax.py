"""Steps of exponax 0.2 under `vmap`: many members of two-dimensional vorticity in one compiled call."""

import argparse
import json
import statistics
import time

import exponax as ex
import jax
import jax.numpy as jnp


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--members", type=int)
    parser.add_argument("--points", type=int)
    parser.add_argument("--steps", type=int)
    options = parser.parse_args()
    x = jnp.arange(options.points) * 2 * jnp.pi / options.points
    start = 2.5 * jnp.sin(x)[:, None] * jnp.sin(2 * x)[None, :]
    starts = jnp.linspace(0.5, 1.5, options.members)[:, None, None, None] * start
    viscosities = jnp.geomspace(1e-3, 1e-2, options.members)

    def after(u, viscosity):
        stepper = ex.stepper.NavierStokesVorticity(2, 2 * jnp.pi, options.points, 5e-3, diffusivity=viscosity, order=4)
        return ex.repeat(stepper, options.steps)(u)

    same = lambda u: after(u, 1e-3)  # noqa: E731
    calls = {"equal": (jax.jit(jax.vmap(same)), (starts,)), "own": (jax.jit(jax.vmap(after)), (starts, viscosities))}
    times = {name: [] for name in calls}
    for number in range(6):
        for name, (call, given) in calls.items():
            began = time.perf_counter()
            jax.block_until_ready(call(*given))
            if number:
                times[name].append(1e3 * (time.perf_counter() - began))
    print(json.dumps({name: statistics.median(of_call) for name, of_call in times.items()}))


if __name__ == "__main__":
    main()
