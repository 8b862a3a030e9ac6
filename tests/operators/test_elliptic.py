"""Helmholtz and biharmonic solves against closed forms, on one device and on eight."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import collectives

import solver as sw
from solver import operators

ALPHA = 2.5


def waves(grid):
    """5 + f with one wave, and |k|² of it."""
    k = [2 * np.pi * n / length for n, length in zip((3, 1, 2), grid.lengths, strict=False)]
    phase = lambda *x: sum(a * b for a, b in zip(k, x, strict=True))  # noqa: E731
    return sw.sample(lambda *x: 5 + jnp.sin(phase(*x)), grid), sum(a * a for a in k)


@pytest.mark.slow
@pytest.mark.parametrize("devices", [1, 8])
@pytest.mark.parametrize("shape", [(16, 24, 20), (24, 28)], ids=str)
def test_solves_of_one_wave(make_grid, shape, devices):
    grid = make_grid(shape, devices=devices, lengths=[2 * np.pi, 4.0, 6.0][: len(shape)])
    transform = sw.fft.Transform(grid)
    f, k2 = waves(grid)
    u = transform.inverse(operators.solve_helmholtz(transform.forward(f), grid, ALPHA))
    np.testing.assert_allclose(u, 5 / ALPHA + (f - 5) / (ALPHA + k2), atol=1e-14)
    u = transform.inverse(operators.solve_biharmonic(transform.forward(f), grid))
    np.testing.assert_allclose(u, (f - 5) / k2**2, atol=1e-14)


@pytest.mark.parametrize("devices", [1, 8])
def test_the_operators_bring_back_what_was_solved_for(make_grid, devices):
    """Several components at once; the operator applied to the solution is the right-hand side."""
    grid = make_grid((16, 24, 20), devices=devices, lengths=[2.0, 3.0, 4.0])
    f_hat = sw.fft.Transform(grid).forward(jax.random.normal(jax.random.key(0), (2, *grid.physical_shape)))
    k2 = grid.k_squared()
    u_hat = operators.solve_helmholtz(f_hat, grid, ALPHA)
    np.testing.assert_allclose((ALPHA + k2) * u_hat, f_hat, atol=1e-16)
    assert u_hat.sharding == f_hat.sharding
    u_hat = operators.solve_biharmonic(f_hat, grid)
    np.testing.assert_allclose(k2**2 * u_hat, jnp.where(k2 > 0, f_hat, 0), atol=1e-16)
    twice = operators.solve_poisson(operators.solve_poisson(f_hat, grid), grid)
    np.testing.assert_allclose(u_hat, twice, rtol=1e-13, atol=1e-20)


def test_solves_do_not_communicate(make_grid):
    grid = make_grid((16, 24, 20))
    f_hat = jax.device_put(jnp.ones(grid.spectral_shape, complex), grid.spectral_sharding())
    assert not collectives(lambda f: operators.solve_helmholtz(f, grid, ALPHA), f_hat)
    assert not collectives(lambda f: operators.solve_biharmonic(f, grid), f_hat)


def test_derivative_in_alpha(make_grid):
    grid = make_grid((16,), devices=1)
    f_hat = sw.fft.Transform(grid).forward(sw.sample(lambda x: 1 + jnp.cos(2 * x), grid))
    mean_square = lambda a: sw.diagnostics.mean_square(operators.solve_helmholtz(f_hat, grid, a), grid)  # noqa: E731
    expected = -2 / ALPHA**3 - 1 / (ALPHA + 4) ** 3  # of 1/α² + ½/(α + 4)²
    assert float(jax.grad(mean_square)(ALPHA)) == pytest.approx(expected, rel=1e-13)


@pytest.mark.parametrize("alpha", [0.0, -1.0, np.nan, np.ones(3)], ids=str)
def test_an_alpha_that_leaves_no_solution_is_refused(make_grid, alpha):
    grid = make_grid((8, 8), devices=2)
    with pytest.raises(ValueError, match=r"^alpha .*: one positive, finite number is needed"):
        operators.solve_helmholtz(jnp.zeros(grid.spectral_shape, complex), grid, alpha)
