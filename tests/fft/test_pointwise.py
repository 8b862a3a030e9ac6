"""Functions that `pointwise` takes, and those that it must refuse."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import random_field

from solver.fft import Transform


def products(u):
    return jnp.stack([u[0] * u[1], jnp.sin(u[0]) / (2 + u[1] ** 2), jnp.where(u[0] > 0, u[0], 0.1 * u[0])])


def over_components(u):
    lengths = jnp.sqrt(jnp.sum(u * u, axis=0))
    return jnp.concatenate([u, lengths[None], jnp.max(u, axis=0)[None]])[::2][:2]


def rotated(u):
    return jnp.stack([-u[1], u[0]])


def helped(u):
    return jax.nn.relu(u) + jax.jit(jnp.cos)(u) + jnp.zeros_like(u) + jnp.ones(u.shape)


GOOD = [products, over_components, rotated, helped]


@pytest.mark.parametrize("shape", [(16, 12, 10), (16, 12)], ids=["3-D", "2-D"])
@pytest.mark.parametrize("fn", GOOD, ids=lambda f: f.__name__)
def test_pointwise_functions_are_taken(make_grid, fn, shape):
    grid = make_grid(shape, devices=2)
    transform = Transform(grid)
    u_hat = transform.forward(random_field(grid))
    expected = transform.forward(fn(transform.inverse(u_hat)))
    np.testing.assert_allclose(transform.pointwise(fn, u_hat), expected, atol=1e-14)


def relative(u):
    return u / jnp.max(u)


def without_mean(u):
    return u - jnp.mean(u, axis=(1, 2), keepdims=True)


def shifted(u):
    return jnp.roll(u, 1, axis=1)


def along_z(u):
    return jnp.cumsum(u, axis=-1)


def flipped(u):
    return u[..., ::-1]


def trapped(u):
    return u * jnp.arange(u.shape[-1])


def with_constants(u):
    return u + jnp.asarray([[1.0], [2.0]])[..., None, None]


BAD = [relative, without_mean, shifted, along_z, flipped, trapped]


@pytest.mark.parametrize("fn", BAD, ids=lambda f: f.__name__)
def test_functions_that_mix_points_are_refused_at_trace_time(make_grid, fn):
    grid = make_grid((12, 12, 12), devices=2)
    u_hat = jax.ShapeDtypeStruct((2, *grid.spectral_shape), complex)
    with pytest.raises(ValueError, match=f"{fn.__name__} is not pointwise"):
        jax.eval_shape(lambda v: Transform(grid).pointwise(fn, v), u_hat)


def test_constant_arrays_are_refused(make_grid):
    grid = make_grid((12, 12, 12), devices=2)
    with pytest.raises(ValueError, match=r"with_constants holds a constant array of shape \[2, 1\]"):
        Transform(grid).pointwise(with_constants, jnp.zeros((2, *grid.spectral_shape), complex))


def test_a_function_of_one_shape_is_refused(make_grid):
    grid = make_grid((12, 12, 12), devices=2)
    trap = np.ones(grid.physical_shape)

    def with_trap(u):
        return u * trap

    with pytest.raises(ValueError, match="with_trap is not pointwise: it works on fields of some shapes only"):
        Transform(grid).pointwise(with_trap, jnp.zeros((2, *grid.spectral_shape), complex))
