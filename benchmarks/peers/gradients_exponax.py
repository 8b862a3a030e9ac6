"""The gradient of some steps of exponax 0.2, beside its forward run: the same equations, sizes and steppers."""

import argparse
import json
import statistics
import time

import exponax as ex
import jax
import jax.numpy as jnp


def problem(case, points, order):
    """A stepper, and the field at the start."""
    if case == "kuramoto-sivashinsky":
        x = jnp.arange(points) * 60.0 / points
        start = jnp.cos(jnp.pi * x / 30) + 0.1 * jnp.sin(jnp.pi * x / 10)
        return ex.stepper.KuramotoSivashinsky(1, 60.0, points, 0.05, order=order), start[None]
    x = jnp.arange(points) * 2 * jnp.pi / points
    start = 2.5 * jnp.sin(x)[:, None] * jnp.sin(2 * x)[None, :]
    return ex.stepper.NavierStokesVorticity(2, 2 * jnp.pi, points, 5e-3, diffusivity=1e-3, order=order), start[None]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--child")
    parser.add_argument("--points", type=int)
    parser.add_argument("--steps", type=int)
    parser.add_argument("--order", type=int)
    options = parser.parse_args()
    stepper, start = problem(options.child, options.points, options.order)
    final = lambda u: jnp.mean(ex.repeat(stepper, options.steps)(u) ** 2)  # noqa: E731
    calls = {"forward": jax.jit(final), "gradient": jax.jit(jax.grad(final))}
    times = {name: [] for name in calls}
    for number in range(11):
        for name, call in calls.items():
            began = time.process_time()
            jax.block_until_ready(call(start))
            if number:
                times[name].append(1e3 * (time.process_time() - began))
    print(json.dumps({name: statistics.median(of_call) for name, of_call in times.items()}))


if __name__ == "__main__":
    main()
