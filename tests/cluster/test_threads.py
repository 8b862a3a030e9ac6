"""FFTs on the CPU are rounded alike each time, whatever else the machine does."""

import os
import subprocess
import sys

import pytest

from solver.cluster.devices import one_thread_each

REPEATED = """
from solver.cluster import set_up_jax

set_up_jax("cpu", 1)

import jax
import jax.numpy as jnp
import numpy as np

numbers = np.random.default_rng(0).normal(size=(2, 6, 171, 512))
x = jnp.asarray(numbers[0] + 1j * numbers[1])
transforms = jax.jit(lambda x: [jnp.fft.fft(jnp.sin(u.real) + 1j * u.imag) for u in x])  # some of them at a time
first = [np.asarray(u_hat) for u_hat in transforms(x)]
others = [np.asarray(u_hat) for _ in range(60) for u_hat in transforms(x)]
print(sum(not np.array_equal(u_hat, first[i % 6]) for i, u_hat in enumerate(others)))
"""


@pytest.mark.slow
def test_transforms_are_the_same_each_time():
    environment = {name: value for name, value in os.environ.items() if name != "XLA_FLAGS"}
    done = subprocess.run([sys.executable, "-c", REPEATED], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "0"  # on two cores some 50 of 360 with XLA's default


def test_flags_that_are_given_stay():
    given = {"XLA_FLAGS": "--xla_cpu_multi_thread_eigen=true --xla_dump_to=/tmp"}
    one_thread_each(given)
    assert given["XLA_FLAGS"] == "--xla_cpu_multi_thread_eigen=true --xla_dump_to=/tmp"
    other = {"XLA_FLAGS": "--xla_dump_to=/tmp"}
    one_thread_each(other)
    assert other["XLA_FLAGS"] == "--xla_dump_to=/tmp --xla_cpu_multi_thread_eigen=false"
