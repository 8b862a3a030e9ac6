"""exponax's incompressible Navier–Stokes with ETDRK4; one process, whose FFTs use the machine's threads."""

import json
import statistics
import sys
import time

import equinox
import exponax
import jax
import numpy as np

jax.config.update("jax_enable_x64", True)
n, steps = int(sys.argv[1]), int(sys.argv[2])
stepper = equinox.filter_jit(exponax.stepper.NavierStokesVelocity(3, 2 * np.pi, n, 1e-3, diffusivity=1e-2, order=4))
x = np.arange(n) * 2 * np.pi / n
X, Y, Z = np.meshgrid(x, x, x, indexing="ij")
u = np.stack([np.sin(X) * np.cos(Y) * np.cos(Z), -np.cos(X) * np.sin(Y) * np.cos(Z), 0 * Z])
u = jax.block_until_ready(stepper(u))
times = []
for _ in range(steps):
    began = time.perf_counter()
    u = jax.block_until_ready(stepper(u))
    times.append(1e3 * (time.perf_counter() - began))
print(json.dumps({"step": statistics.median(times)}))
