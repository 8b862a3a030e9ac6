"""Processor milliseconds of a fresh process with exponax until its first trajectory and gradient, by part."""

import json
import time

began = time.process_time()
import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402

jax.config.update("jax_enable_x64", True)
imported = time.process_time()

import exponax as ex  # noqa: E402


def stepper(viscosity):
    return ex.stepper.NavierStokesVorticity(2, 2 * jnp.pi, 64, 5e-3, diffusivity=viscosity, order=2)


def loss(viscosity):
    return jnp.sum(ex.repeat(stepper(viscosity), 50)(start) ** 2)


first = jax.block_until_ready(stepper(0.01))
made = time.process_time()
x = jnp.arange(64) * 2 * jnp.pi / 64
start = (2.5 * jnp.sin(x)[:, None] * jnp.sin(2 * x)[None, :] + jnp.cos(3 * x)[:, None])[None]
begun = time.process_time()
jax.block_until_ready(ex.rollout(ex.repeat(first, 10), 5, include_init=True)(start))
ran = time.process_time()
jax.block_until_ready(jax.jit(jax.grad(loss))(0.01))
differentiated = time.process_time()

stamps = [began, imported, made, begun, ran, differentiated]
names = ["import jax", "equation", "start", "first run", "first gradient"]
parts = {name: 1e3 * (b - a) for name, a, b in zip(names, stamps[:-1], stamps[1:], strict=True)}
print(json.dumps(parts | {"all": 1e3 * (differentiated - began)}))
