"""Co- and quadrature spectra, lines, planes and single modes against dense sums in NumPy."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from fields import CASES, dense, random_vector
from helpers import on_devices, refused_in_one_line

import solver as sw
from solver import diagnostics


def binned(values, index, count):
    return np.bincount(index.ravel().astype(int), values.ravel(), minlength=count)[:count]


@pytest.mark.parametrize("options", [{}, {"width": 1.7}, {"per_decade": 7}], ids=str)
def test_spectra_in_chosen_bins(make_grid, options):
    """In a long box, of shells as wide as the largest 2π/L: bins of the smallest, of a width, of log |k|."""
    grid = make_grid((12, 10), devices=2, lengths=(6.0, 2.0))
    u = np.random.default_rng(0).standard_normal((2, 12, 10))
    bins = diagnostics.Bins(**options)
    computed = on_devices(
        lambda v: diagnostics.binned_spectrum(v, grid, bins), sw.fft.Transform(grid).forward(jnp.asarray(u))
    )
    hats, k = dense(u, grid.lengths)
    kept = (np.abs(k[0]) <= 3.01 * np.pi / 3) & (np.abs(k[1]) <= 3.01 * np.pi) & (k[0] ** 2 + k[1] ** 2 > 0)
    k = np.sqrt(k[0] ** 2 + k[1] ** 2)
    centres = bins.centres(grid)
    edges = np.sqrt(centres[1:] * centres[:-1]) if "per_decade" in options else (centres[1:] + centres[:-1]) / 2
    index = np.searchsorted(edges * (1 - 1e-12), k, side="right")
    energy = 0.5 * np.sum(np.abs(hats) ** 2, axis=0) * kept
    np.testing.assert_allclose(computed, binned(energy, index, len(centres)), atol=1e-15)
    assert centres[0] == (0 if "per_decade" not in options else pytest.approx(np.pi / 3))


@pytest.mark.parametrize(("given", "message"), [
    ({"width": 0.0}, "width = 0: a positive number"), ({"per_decade": 0}, "per_decade = 0: one or more"),
    ({"width": 1.0, "per_decade": 3}, "width = 1 and per_decade = 3: one of them is needed"),
])  # fmt: skip
def test_bins_that_are_none(given, message):
    with refused_in_one_line(message):
        diagnostics.Bins(**given)


@pytest.mark.slow
@pytest.mark.parametrize(("case", "real"), [*((case, True) for case in CASES), ("odd, all modes", False)])
def test_co_and_quadrature_spectra(make_grid, case, real):
    transform, u_hat, u = random_vector(make_grid, case, components=2, real=real)
    grid = transform.grid
    both = lambda v: (  # noqa: E731
        diagnostics.co_spectrum(v[0], v[1], grid),
        diagnostics.quadrature_spectrum(v[0], v[1], grid),
    )
    co, quadrature = on_devices(both, u_hat)
    hats, k = dense(u, grid.lengths)
    product, last = np.conj(hats[0]) * hats[1], k[-1]
    shell = np.floor(np.sqrt(sum(q * q for q in k)) / diagnostics.shell_width(grid) + 0.5)
    np.testing.assert_allclose(co, binned(product.real, shell, len(co)), atol=1e-15)
    inside = 2 * product.imag * (last > 0) if real else product.imag
    np.testing.assert_allclose(quadrature, binned(inside, shell, len(co)), atol=1e-15)
    assert np.abs(quadrature).max() > 1e-3
    np.testing.assert_allclose(co.sum(), np.mean(np.conj(u[0]) * u[1]).real, rtol=1e-12)


@pytest.mark.slow
def test_a_phase_splits_into_both(make_grid):
    grid, phase = make_grid((12, 14, 10), devices=4), 0.7
    waves = sw.sample(lambda x, y, z: (jnp.cos(2 * x + z), jnp.cos(2 * x + z + phase) + 0 * y), grid)
    a, b = sw.fft.Transform(grid).forward(waves)
    np.testing.assert_allclose(diagnostics.co_spectrum(a, b, grid)[2], 0.5 * np.cos(phase), rtol=1e-13)
    np.testing.assert_allclose(diagnostics.quadrature_spectrum(a, b, grid)[2], 0.5 * np.sin(phase), rtol=1e-13)


def test_the_flux_is_what_lower_shells_have_lost():
    np.testing.assert_array_equal(diagnostics.shell_flux(jnp.array([0.0, -2.0, 0.5, 1.5])), [0, 2, 1.5, 0])


@pytest.mark.slow
@pytest.mark.parametrize("case", [*CASES, "1-D"])
def test_line_spectra(make_grid, case):
    transform, u_hat, u = random_vector(make_grid, case)
    grid = transform.grid
    hats, k = dense(u, grid.lengths)
    for axis in range(grid.dimensions):
        computed = on_devices(lambda v, axis=axis: diagnostics.line_spectrum(v, grid, axis), u_hat)
        wavenumbers = diagnostics.line_wavenumbers(grid, axis)
        index = np.rint(np.abs(k[axis]) / grid.fundamental[axis])
        for i in range(len(u)):
            expected = binned(0.5 * np.abs(hats[i]) ** 2, index, len(wavenumbers))
            np.testing.assert_allclose(computed[i], expected, atol=1e-15)
            np.testing.assert_allclose(computed[i].sum(), 0.5 * np.mean(u[i] ** 2), rtol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize(("case", "axis"), [*((case, 1) for case in CASES), ("3-D on 8", 0), ("3-D on 8", 2)])
def test_plane_spectra(make_grid, case, axis):
    transform, u_hat, u = random_vector(make_grid, case)
    grid = transform.grid
    computed = on_devices(lambda v: diagnostics.plane_spectrum(v, grid, axis), u_hat)
    hats, k = dense(u, grid.lengths)
    across = [a for a in range(grid.dimensions) if a != axis]
    width = max(grid.fundamental[a] for a in across)
    shell = np.floor(np.sqrt(sum(k[a] ** 2 for a in across)) / width + 0.5)
    index = np.rint(np.abs(k[axis]) / grid.fundamental[axis]) * computed.shape[1] + shell
    expected = binned(0.5 * np.sum(np.abs(hats) ** 2, axis=0), index, computed.size)
    np.testing.assert_allclose(computed.ravel(), expected, atol=1e-15)
    assert computed.shape == (
        len(diagnostics.line_wavenumbers(grid, axis)),
        len(diagnostics.across_wavenumbers(grid, axis)),
    )
    np.testing.assert_allclose(computed.sum(), 0.5 * np.mean(np.sum(u**2, axis=0)), rtol=1e-12)


@pytest.mark.parametrize(("case", "real"), [*((case, True) for case in [*CASES, "1-D"]), ("3-D on 8", False)])
def test_single_modes(make_grid, case, real):
    transform, u_hat, u = random_vector(make_grid, case, real=real)
    grid = transform.grid
    modes = [(1, 0, 0), (0, 2, 1), (-2, 1, -3), (0, -1, 0), (3, -2, 0)]
    modes = [mode[: grid.dimensions] for mode in modes]
    computed = on_devices(lambda v: diagnostics.mode_coefficients(v, modes, grid), u_hat)
    hats, _ = dense(u, grid.lengths)
    np.testing.assert_allclose(computed, np.stack([hats[(slice(None), *mode)] for mode in modes], axis=-1), atol=1e-15)


def test_modes_that_are_not_there_are_refused(make_grid):
    grid = make_grid((12, 12), devices=2)
    u_hat = jnp.zeros((1, *grid.spectral_shape), grid.complex_dtype)
    with pytest.raises(ValueError, match=r"mode \[4, 0\] is not retained"):
        diagnostics.mode_coefficients(u_hat, [(4, 0)], grid)


def test_a_wave_stands_at_its_frequency():
    """Two waves on whole frequencies of the record, each at its ω with its mean square; Parseval for noise."""
    t = np.arange(64) * 0.25
    unit = 2 * np.pi / 16
    waves = 3 * np.exp(-5j * unit * t) + 1j * np.exp(9j * unit * t)
    omega, power = diagnostics.frequency_spectrum(t, waves)
    for line, square in ((5, 9), (-9, 1)):
        near = np.abs(omega - line * unit) < 1.5 * unit  # the window spreads a line over three frequencies
        np.testing.assert_allclose(power[near].sum(), square, rtol=1e-12)
    noise = np.random.default_rng(0).normal(size=(64, 3))
    window = np.sin(np.pi * np.arange(64) / 64)[:, None] ** 2
    _, power = diagnostics.frequency_spectrum(t, noise)
    np.testing.assert_allclose(power.sum(axis=0), np.mean((window * noise) ** 2, axis=0) / np.mean(window**2))
    with pytest.raises(ValueError, match="equally spaced"):
        diagnostics.frequency_spectrum(t**2, waves)


def test_single_precision_stays_single(make_grid):
    grid = make_grid((12, 14, 10), devices=8, precision="float32")
    u_hat = sw.fft.Transform(grid).forward(np.random.default_rng(0).normal(size=(2, 12, 14, 10)))
    computed = jax.jit(lambda v: diagnostics.co_spectrum(v, v, grid))(u_hat)
    assert computed.dtype == np.float32
    np.testing.assert_allclose(0.5 * computed, diagnostics.shell_spectrum(u_hat, grid), rtol=1e-5)
