"""Compiled programs that are kept between processes are not taken for one another."""

import os
import subprocess
import sys

import pytest

pytestmark = pytest.mark.slow

CODE = """
import os, sys
import jax, jax.numpy as jnp
from solver.cluster import keep_compiled_programs, set_up_jax

set_up_jax("cpu", 2)
assert keep_compiled_programs(os.environ) is not None
jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
import solver as sw

grid = sw.Grid((16, 12, 10), mesh=sw.device_mesh())
transform = sw.fft.Transform(grid)
functions = {"square": lambda u: u * u, "cube": lambda u: u * u * u}
fn = functions[sys.argv[1]]
u = sw.sample(lambda x, y, z: (2 * jnp.sin(x) + 0 * y + 0 * z,), grid)
u_hat = transform.forward(u)
changed = jax.jit(lambda v: transform.pointwise(fn, v))(u_hat)
largest = float(jnp.abs(transform.inverse(changed) - transform.inverse(transform.forward(fn(u)))).max())
assert largest < 1e-12, f"{sys.argv[1]}: {largest}"
norm = {"square": "forward", "cube": "ortho"}[sys.argv[1]]
total = float(jnp.abs(sw.fft.rfftn(jnp.ones((8, 8, 8)), norm=norm)).max())
assert abs(total - {"square": 1.0, "cube": 512**0.5}[sys.argv[1]]) < 1e-12, total
"""


def test_another_function_of_the_same_shapes_gets_a_program_of_its_own(tmp_path):
    environment = {**os.environ, "JAX_COMPILATION_CACHE_DIR": str(tmp_path)}
    for name in ("square", "cube", "square"):
        done = subprocess.run([sys.executable, "-c", CODE, name], env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
    assert any(tmp_path.rglob("*-cache")), "nothing was kept, so nothing was tested"
