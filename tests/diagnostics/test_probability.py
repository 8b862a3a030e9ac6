"""Densities and moments against NumPy's histogram, and of Gaussian and log-normal noise."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from fields import CASES, random_vector
from helpers import on_devices

import solver as sw
from solver import diagnostics


@pytest.mark.slow
@pytest.mark.parametrize("case", [*CASES, "1-D"])
def test_densities_are_those_of_a_histogram(make_grid, case):
    transform, u_hat, u = random_vector(make_grid, case)
    grid, bins = transform.grid, 21
    values = lambda v: transform.inverse(v)  # noqa: E731
    each = on_devices(
        lambda v: diagnostics.deviation_density(values(v), 2.0, bins, grid), u_hat, exchanges=1 + (case == "pencils")
    )
    shares, outside, moments = each
    deviation = (u - u.mean()) / u.std()
    counted, edges = np.histogram(deviation, bins, (-2, 2))
    np.testing.assert_allclose(shares, counted / u.size / (edges[1] - edges[0]), atol=1e-13)
    np.testing.assert_allclose(outside, np.mean(np.abs(deviation) > 2), atol=1e-13)
    assert 0.01 < outside < 0.2
    np.testing.assert_allclose(diagnostics.bin_centres(-2, 2, bins), 0.5 * (edges[1:] + edges[:-1]), atol=1e-15)
    expected = [u.mean(), u.std(), np.mean(deviation**3), np.mean(deviation**4)]
    np.testing.assert_allclose(moments, expected, rtol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("case", ["3-D on 1", "3-D on 8", "odd, all modes"])
def test_positive_values_on_a_logarithmic_axis(make_grid, case):
    transform, u_hat, u = random_vector(make_grid, case, components=1)
    grid = transform.grid
    shares, outside, _ = on_devices(
        lambda v: diagnostics.log_density(np.maximum(1, 0) * transform.inverse(v) ** 4, -3, 1, 16, grid),
        u_hat,
        exchanges=1,
    )
    logarithm = np.log10(u**4 / np.mean(u**4))
    counted, edges = np.histogram(logarithm, 16, (-3, 1))
    np.testing.assert_allclose(shares, counted / u.size / (edges[1] - edges[0]), atol=1e-13)
    np.testing.assert_allclose(outside, 1 - counted.sum() / u.size, atol=1e-13)
    assert outside > 0.01


@pytest.mark.slow
def test_noise_of_known_statistics(make_grid):
    """Gaussian: skewness 0, flatness 3, density exp(−s²/2)/√2π; within five standard errors of 64³ values."""
    grid = make_grid((64, 64, 64), devices=8)
    noise = jax.random.normal(jax.random.key(0), (64, 64, 64), np.float64)
    n = noise.size
    shares, outside, moments = diagnostics.deviation_density(4 + 2 * noise, 5.0, 20, grid)
    np.testing.assert_allclose(moments.mean, 4, atol=5 * 2 / n**0.5)
    np.testing.assert_allclose(moments.std, 2, atol=5 * 2 / (2 * n) ** 0.5)
    np.testing.assert_allclose(moments.skewness, 0, atol=5 * (6 / n) ** 0.5)
    np.testing.assert_allclose(moments.flatness, 3, atol=5 * (24 / n) ** 0.5)
    assert outside < 1e-5
    edges = np.linspace(-5, 5, 21)
    fine = np.linspace(edges[:-1], edges[1:], 201)
    exact = np.trapezoid(np.exp(-(fine**2) / 2) / np.sqrt(2 * np.pi), fine, axis=0) / 0.5
    np.testing.assert_allclose(shares, exact, atol=5 * np.sqrt(exact.max() / 0.5 / n))
    logs, _, _ = diagnostics.log_density(10 ** (0.3 * noise), -4, 4, 40, grid)
    centre = np.sum(logs * diagnostics.bin_centres(-4, 4, 40)) * 0.2
    np.testing.assert_allclose(centre, -0.5 * 0.3**2 * np.log(10), atol=5 * 0.3 / n**0.5)  # ⟨10^(s g)⟩ of a Gaussian g


@pytest.mark.slow
def test_uniform_fields_and_zeros(make_grid):
    grid = make_grid((8, 6), devices=1)
    shares, outside, moments = diagnostics.deviation_density(np.full((1, 8, 6), 3.0), 10.0, 5, grid)
    np.testing.assert_allclose(shares, [0, 0, 0.25, 0, 0])
    assert (float(moments.std), float(moments.skewness), float(moments.flatness), float(outside)) == (0, 0, 0, 0)
    shares, outside, _ = diagnostics.log_density(np.zeros((8, 6)), -1, 1, 5, grid)
    assert float(outside) == 1
    assert not shares.any()


def test_a_bin_with_more_points_than_single_precision_can_count():
    grid = sw.Grid((4096, 6144), precision="float32", mesh=sw.device_mesh([0]))  # 1.5 · 2²⁴
    count = jax.jit(
        lambda: diagnostics.probability_density(jnp.zeros(grid.physical_shape, jnp.float32), -1, 1, 3, grid)
    )
    density, outside = count()
    assert density.dtype == jnp.float32
    np.testing.assert_allclose(density, [0, 1.5, 0], rtol=1e-6)
    assert abs(outside) < 1e-6
