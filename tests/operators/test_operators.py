"""Operators against closed forms."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import solver as sw
from solver import operators


@pytest.fixture
def grid(make_grid):
    return make_grid((16, 12, 20), devices=4, lengths=[2 * np.pi, 4.0, 6.0])


def field(grid, seed=0, components=3):
    return sw.fft.Transform(grid).forward(jax.random.normal(jax.random.key(seed), (components, *grid.physical_shape)))


@pytest.mark.slow
def test_vector_identities_hold_to_round_off(grid):
    u_hat = field(grid)
    scale = float(jnp.max(jnp.abs(operators.curl(u_hat, grid))))
    assert float(jnp.max(jnp.abs(operators.divergence(operators.curl(u_hat, grid), grid)))) < 1e-13 * scale
    phi_hat = u_hat[0]
    assert float(jnp.max(jnp.abs(operators.curl(operators.gradient(phi_hat, grid), grid)))) < 1e-13 * scale
    laplacian = operators.divergence(operators.gradient(phi_hat, grid), grid)
    np.testing.assert_allclose(laplacian, -grid.k_squared() * phi_hat, atol=1e-13)


def test_projection_removes_gradients_and_keeps_what_is_solenoidal(grid):
    u_hat = field(grid)
    projected = operators.project_solenoidal(u_hat, grid)
    assert float(jnp.max(jnp.abs(operators.divergence(projected, grid)))) < 1e-15
    np.testing.assert_allclose(operators.project_solenoidal(projected, grid), projected, atol=1e-16)
    np.testing.assert_array_equal(projected[:, 0, 0, 0], u_hat[:, 0, 0, 0])
    removed = u_hat - projected
    assert float(jnp.max(jnp.abs(operators.curl(removed, grid)))) < 1e-14
    assert projected.sharding == u_hat.sharding


def test_poisson_solves_laplace(grid):
    kx, ky = 2 * np.pi * 3 / grid.lengths[0], 2 * np.pi / grid.lengths[1]
    f = sw.sample(lambda x, y, z: 5 + jnp.sin(kx * x) * jnp.cos(ky * y), grid)
    transform = sw.fft.Transform(grid)
    phi = transform.inverse(operators.solve_poisson(transform.forward(f), grid))
    np.testing.assert_allclose(phi, -(f - 5) / (kx**2 + ky**2), atol=1e-14)


def test_wrong_components_are_refused(grid):
    with pytest.raises(ValueError, match=r"vector field of shape \[2, .*needs \[3, "):
        operators.divergence(field(grid, components=2), grid)
