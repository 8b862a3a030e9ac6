"""Extremes, radial profiles, zonal means, and the fit of a soliton, against NumPy and in closed form."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from fields import CASES, random_vector
from helpers import on_devices
from jax.sharding import AxisType

import solver as sw
from solver import diagnostics


@pytest.mark.parametrize("case", [*CASES, "1-D"])
def test_extremes_and_where_they_are(make_grid, case):
    transform, u_hat, u = random_vector(make_grid, case)
    grid = transform.grid

    def both(v):
        u = transform.inverse(v)[0]
        return diagnostics.largest(u, grid), diagnostics.smallest(u, grid)

    computed = on_devices(both, u_hat, exchanges=1 + (case == "pencils"))
    for (value, place), search in zip(computed, (np.argmax, np.argmin), strict=True):
        at = np.unravel_index(search(u[0]), u[0].shape)
        np.testing.assert_allclose(value, u[0][at], rtol=1e-12)
        np.testing.assert_allclose(place, [i * dx for i, dx in zip(at, grid.spacing, strict=True)], rtol=1e-12)


def test_the_first_of_equal_values(make_grid):
    grid = make_grid((12, 14, 10), devices=8)
    u = sw.sample(lambda x, y, z: (x + y > 8).astype(float) + 0 * z, grid)
    value, place = diagnostics.largest(u, grid)
    assert float(value) == 1
    np.testing.assert_allclose(place, [5 * np.pi / 6, 12 * np.pi / 7, 0], rtol=1e-12)


def test_values_equal_to_round_off_have_one_place(make_grid):
    """Their place does not depend on how each of them is rounded, nor is it nowhere."""
    grid = make_grid((12, 14), devices=4)
    u = np.zeros((12, 14))
    u[3, 5], u[7, 2], u[9, 9] = np.nextafter(1, 0), 1, 1 - 1e-9
    value, place = diagnostics.largest(sw.from_global(u, grid), grid)
    assert float(value) == 1
    np.testing.assert_allclose(place, [3 * grid.spacing[0], 5 * grid.spacing[1]], rtol=1e-12)


@pytest.mark.parametrize("case", [*CASES, "1-D"])
def test_radial_profiles(make_grid, case):
    transform, u_hat, u = random_vector(make_grid, case)
    grid = transform.grid
    around = lambda v: diagnostics.profile_around_peak(transform.inverse(v)[0], grid)  # noqa: E731
    means, count, peak, place = on_devices(around, u_hat, exchanges=1 + (case == "pencils"))
    at = np.unravel_index(np.argmax(u[0]), u[0].shape)
    apart = [
        np.minimum(np.abs(np.arange(n) - i), n - np.abs(np.arange(n) - i)) * dx
        for n, i, dx in zip(u[0].shape, at, grid.spacing, strict=True)
    ]
    r = np.sqrt(sum(q**2 for q in np.meshgrid(*apart, indexing="ij")))
    shell = np.floor(r / max(grid.spacing) + 0.5).astype(int)
    for n in range(len(means)):
        np.testing.assert_allclose(count[n], np.sum(shell == n))
        np.testing.assert_allclose(means[n], np.mean(u[0][shell == n]), rtol=1e-11)
    assert count[0] == 1
    np.testing.assert_allclose([peak, means[0]], u[0].max(), rtol=1e-12)
    np.testing.assert_allclose(place, [i * dx for i, dx in zip(at, grid.spacing, strict=True)], rtol=1e-12)


@pytest.mark.parametrize("case", CASES)
def test_zonal_means(make_grid, case):
    transform, u_hat, u = random_vector(make_grid, case)
    grid = transform.grid
    mean = lambda v: diagnostics.zonal_mean(transform.inverse(v), grid)  # noqa: E731
    computed = on_devices(mean, u_hat, exchanges=1 + (case == "pencils"))
    np.testing.assert_allclose(computed, u.mean(axis=1), atol=1e-14)


def test_a_soliton_is_fitted():
    r = np.arange(40) * 0.1
    profile = diagnostics.soliton_profile(r, 7.0, 0.9)
    np.testing.assert_allclose(np.interp(0.9, r, profile), 3.5, rtol=5e-3)  # half of the peak at the core radius
    np.testing.assert_allclose(diagnostics.fit_soliton(r, profile), (7.0, 0.9), rtol=1e-6)
    halo = profile + 0.02 / (1 + r**2)  # what lies around it has little weight within three core radii
    np.testing.assert_allclose(diagnostics.fit_soliton(r, halo), (7.0, 0.9), rtol=0.1)
    with pytest.raises(ValueError, match="below half of it is needed"):
        diagnostics.fit_soliton(r, np.full(40, 2.0))
    with pytest.raises(ValueError, match="three or more are needed"):
        diagnostics.fit_soliton(r[::20], profile[::20])


@pytest.mark.thorough
@pytest.mark.slow
def test_the_profile_of_a_soliton_in_a_box(make_grid):
    """Around its centre, across the sides of the box, and fitted: the radius of the one that was put there."""
    grid = make_grid((32, 32, 32), devices=8, lengths=8.0)
    centre = (0.25, 7.5, 4.0)

    def density(x, y, z):
        parts = zip((x, y, z), centre, strict=True)
        r2 = sum(jnp.minimum(jnp.abs(q - c), 8 - jnp.abs(q - c)) ** 2 for q, c in parts)
        return 3 * (1 + 0.091 * r2) ** -8

    means, _, peak, place = diagnostics.profile_around_peak(sw.sample(density, grid), grid)
    np.testing.assert_allclose(place, centre)
    assert float(peak) == pytest.approx(3)
    fit = diagnostics.fit_soliton(diagnostics.profile_radii(grid), np.asarray(means))
    np.testing.assert_allclose(fit, (3, 1), rtol=0.03)  # shells are a quarter thick


def test_explicit_meshes(make_grid):
    """Sums over modes and points where shardings are part of the arrays' types."""
    results = []
    for kind, devices in ((AxisType.Explicit, 4), (AxisType.Auto, 1)):
        grid = make_grid((12, 14, 10), devices=devices, axis_type=kind)
        transform = sw.fft.Transform(grid)
        u = sw.sample(
            lambda x, y, z: (jnp.cos(x + y) + 0 * z, jnp.sin(3 * z - x) + 0 * y, jnp.cos(2 * y) + 0 * x * z), grid
        )

        @jax.jit
        def everything(u, transform=transform, grid=grid):
            u_hat = transform.forward(u)
            return [
                diagnostics.line_spectrum(u_hat, grid, 0),
                diagnostics.co_spectrum(u_hat[0], u_hat[1], grid),
                diagnostics.mode_coefficients(u_hat, [(1, 1, 0), (1, 0, -3)], grid),
                diagnostics.probability_density(u, -1.1, 1.1, 7, grid)[0],
                diagnostics.zonal_mean(u, grid),
            ]

        results.append(everything(u))
    for explicit, auto in zip(*results, strict=True):
        np.testing.assert_allclose(explicit, auto, atol=1e-14)


@pytest.mark.slow
@pytest.mark.parametrize("length", [0.3, 2 * np.pi])
def test_points_on_the_edge_of_a_shell_are_in_the_outer_one(make_grid, length):
    grid = make_grid((8, 16), devices=2, lengths=length)
    centre = tuple(jnp.asarray(n * length / side) for n, side in ((3, 8), (5, 16)))
    _, counts = diagnostics.radial_profile(jnp.ones(grid.physical_shape), centre, grid)
    np.testing.assert_array_equal(counts, [1, 14, 22, 38, 40])


@pytest.mark.slow
def test_a_centre_outside_of_the_box_is_that_of_its_image(make_grid):
    grid = make_grid((8, 16), devices=2, lengths=(2.0, 3.0))
    values = jnp.asarray(np.random.default_rng(0).normal(size=(8, 16)))
    centres = [(jnp.asarray(0.7 + 2.0 * n), jnp.asarray(1.1 - 3.0 * n)) for n in (0, -3)]
    inside, outside = (diagnostics.radial_profile(values, centre, grid) for centre in centres)
    np.testing.assert_array_equal(outside[1], inside[1])
    np.testing.assert_allclose(outside[0], inside[0], atol=1e-14)
