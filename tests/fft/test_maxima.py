"""The largest value over the points, and its derivative where XLA computes the values more than once."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from solver.fft import Transform, max_over_points


@pytest.fixture
def values():
    return jnp.asarray(np.random.default_rng(3).normal(size=(2, 5, 4)))


@pytest.mark.slow
def test_it_is_the_maximum_of_all_or_of_the_last_axes(values):
    assert float(max_over_points(values)) == float(jnp.max(values))
    np.testing.assert_array_equal(max_over_points(values, 2), jnp.max(values, axis=(1, 2)))
    np.testing.assert_array_equal(jax.grad(max_over_points)(values), jax.grad(jnp.max)(values))
    rows = jax.jacobian(lambda v: max_over_points(v, 2))(values)
    np.testing.assert_array_equal(rows, jax.jacobian(lambda v: jnp.max(v, axis=(1, 2)))(values))
    np.testing.assert_array_equal(jax.vmap(jax.grad(max_over_points))(values), jax.vmap(jax.grad(jnp.max))(values))


def test_equal_values_have_the_derivative_of_the_first():
    slope = jax.grad(max_over_points)(jnp.asarray([[1.0, 3.0], [3.0, 3.0]]))
    np.testing.assert_array_equal(slope, [[0, 1], [0, 0]])


@pytest.mark.slow
@pytest.mark.parametrize("devices", [1, 2])
def test_a_compiled_gradient_has_all_of_it(make_grid, devices):
    """Of max(u² + v²), one component of the derivative of `jnp.max` is lost, or both, as the program is fused."""
    grid = make_grid((13, 12), devices=devices)
    transform = Transform(grid)
    u_hat = transform.forward(jnp.asarray(np.random.default_rng(0).normal(size=(2, 13, 12))))

    def fastest(factor):
        u = transform.inverse(factor * u_hat)
        return max_over_points((1.1 * u[0]) ** 2 + (0.7 * u[1]) ** 2)

    exact = 2 * float(fastest(1.0))
    for derive in (jax.grad(fastest), jax.jit(jax.grad(fastest)), jax.jit(jax.jacfwd(fastest))):
        assert float(derive(1.0)) == pytest.approx(exact, rel=1e-12)
