"""Random numbers follow from a key alone, whatever the environment says of JAX's generators."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import solver as sw
from solver.operators import normal, random_key, uniform
from solver.operators.draws import _counters, _product

SHAPES = [(), (5,), (2, 3, 4)]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
def test_normal_numbers_are_those_of_jax(shape, dtype):
    ours = jax.jit(lambda key: normal(key, shape, dtype))(random_key(7))
    theirs = jax.jit(lambda key: jax.random.normal(key, shape, dtype))(jax.random.key(7))
    np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_uniform_numbers_are_those_of_jax(dtype):
    np.testing.assert_array_equal(
        uniform(random_key(7), (3, 4), dtype), jax.random.uniform(random_key(7), (3, 4), dtype)
    )


def test_counters_beyond_32_bits():
    """Indices of a large array, by Python's own whole numbers; the array itself is never made."""
    rows = np.array([0, 1, 70000, 2**21 - 1], dtype=np.uint32)
    for step in (2**33 + 77, 3 * 2**31 + 5):
        lower, upper = _product(jnp.asarray(rows), step)
        assert [int(a) + 2**32 * int(b) for a, b in zip(lower, upper, strict=True)] == [int(n) * step for n in rows]
    assert [shape.shape for shape in jax.eval_shape(lambda: _counters((3, 2**17, 2**17)))] == [(3, 2**17, 2**17)] * 2


def started_and_stepped(grid):
    """A start from noise and three steps with random forcing and moved points."""
    forcing = sw.forcing.OrnsteinUhlenbeck(rms=1.0, correlation_time=1.0, largest=1)
    flow = sw.equations.NavierStokes(grid, 0.1, forcing=forcing)
    noise = sw.initial.Noise(amplitude=1.0)(grid, flow.fields["velocity"], random_key(3))
    stepper = sw.steppers.IFRK2()
    state = sw.initial_state(flow, stepper, noise, seed=4)
    return np.asarray(noise), np.asarray(sw.integrate(flow, stepper, state, step=0.01, steps=3).field["velocity"])


@pytest.mark.slow
def test_runs_do_not_depend_on_variables_of_the_environment(make_grid):
    """JAX_THREEFRY_PARTITIONABLE=0 and JAX_DEFAULT_PRNG_IMPL=rbg change no bit."""
    wanted = started_and_stepped(make_grid((8, 8), 2, dealias="phase-shift-random"))
    with jax.threefry_partitionable(False), jax.default_prng_impl("rbg"):
        found = started_and_stepped(make_grid((8, 8), 2, dealias="phase-shift-random"))
    for a, b in zip(wanted, found, strict=True):
        np.testing.assert_array_equal(a, b)
