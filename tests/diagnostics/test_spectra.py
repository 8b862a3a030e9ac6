"""Shell spectra."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import solver as sw
from solver.diagnostics import mean_square, shell_index, shell_spectrum, shell_wavenumbers


@pytest.mark.slow
@pytest.mark.parametrize(("shape", "real"), [((32,), True), ((16, 24), False), ((16, 24, 12), True)], ids=str)
def test_shells_add_up_to_the_energy(make_grid, shape, real):
    grid = make_grid(shape, devices=1 if len(shape) == 1 else 4, real=real)
    noise = jax.random.normal(jax.random.key(0), (2, *shape), grid.physical_dtype)
    u_hat = sw.fft.Transform(grid).forward(noise)
    spectrum = shell_spectrum(u_hat, grid)
    assert spectrum.shape == shell_wavenumbers(grid).shape
    np.testing.assert_allclose(spectrum.sum(), 0.5 * mean_square(u_hat, grid), rtol=1e-13)


@pytest.mark.slow
def test_a_mode_lands_in_its_shell(make_grid):
    grid = make_grid((16, 24, 18), devices=4)
    u = sw.sample(lambda x, y, z: 3 * jnp.cos(2 * x + 2 * y - z) + 0 * z, grid)  # |k| = 3
    spectrum = np.array(shell_spectrum(sw.fft.Transform(grid).forward(u), grid))
    np.testing.assert_allclose(spectrum[3], 0.5 * 9 / 2, rtol=1e-13)
    spectrum[3] = 0
    assert np.abs(spectrum).max() < 1e-28


def test_shells_follow_the_box(make_grid):
    grid = make_grid((16, 16, 16), devices=4, lengths=[1.0, 2.0, 2.0])
    assert shell_wavenumbers(grid)[1] == pytest.approx(2 * np.pi)


@pytest.mark.slow
def test_the_same_on_any_number_of_devices(make_grid):
    noise = np.random.default_rng(0).normal(size=(16, 24, 18))
    spectra = []
    for shape in (None, (2, 1), (3, 2)):
        grid = make_grid((16, 24, 18), devices=1 if shape is None else shape[0] * shape[1], mesh_shape=shape)
        spectra.append(shell_spectrum(sw.fft.Transform(grid).forward(noise), grid))
    np.testing.assert_allclose(spectra[1], spectra[0], rtol=1e-13)
    np.testing.assert_allclose(spectra[2], spectra[0], rtol=1e-13)


@pytest.mark.parametrize("precision", ["float32", "float64"])
@pytest.mark.parametrize("length", [0.3, 1.0, 1.1, 5.0, 10.0])
def test_modes_on_the_edge_of_a_shell_are_in_the_outer_one(make_grid, precision, length):
    """In a box twice as long along y, |k| = (m + ½) Δk of the modes (0, 2m + 1)."""
    grid = make_grid((16, 32), devices=2, lengths=(length, 2 * length), precision=precision)
    shells, numbers = np.asarray(shell_index(grid)), grid.mode_numbers()
    kept = np.broadcast_to(np.asarray(grid.is_kept()), grid.spectral_shape)
    exact = np.floor(np.sqrt(numbers[0].astype(float) ** 2 + numbers[1].astype(float) ** 2 / 4) + 0.5)
    np.testing.assert_array_equal(shells[kept], np.broadcast_to(exact, grid.spectral_shape)[kept])
    assert shells[kept].max() == len(shell_wavenumbers(grid)) - 1


@pytest.mark.parametrize("lengths", [(3.0, 0.3), (7.0, 0.7)])
def test_edges_of_shells_where_the_ratio_of_lengths_is_rounded(make_grid, lengths):
    """Ten modes along x to one along y: |k| = m + ½ shells at n_x = 10 m + 5, n_y = 0."""
    grid = make_grid((128, 16), devices=2, lengths=lengths)
    shells, (along, across) = np.asarray(shell_index(grid)), grid.mode_numbers()
    on_edge = np.broadcast_to((np.abs(along) % 10 == 5) & (across == 0), shells.shape) & np.asarray(grid.is_kept())
    expected = np.broadcast_to((np.abs(along) + 5) // 10, shells.shape)
    assert on_edge.sum() > 4
    np.testing.assert_array_equal(shells[on_edge], expected[on_edge])


@pytest.mark.parametrize("lengths", [1.0, (3.0, 1.5)])
def test_shells_far_out_are_told_apart_in_single_precision(make_grid, lengths):
    """√(n² + n) is 1/8n below the edge n + ½: from n = 360 on less than single precision rounds by."""
    grid = make_grid((1536, 1536), devices=1, precision="float32", lengths=lengths)
    along, across = (np.asarray(n, np.int64) for n in grid.mode_numbers())
    squared = along**2 + across**2 if lengths == 1.0 else along**2 + (2 * across) ** 2
    unit = 1 if lengths == 1.0 else 2
    shell = (np.vectorize(math.isqrt)(4 * squared) // unit + 1) // 2
    np.testing.assert_array_equal(np.asarray(shell_index(grid)), np.minimum(shell, len(shell_wavenumbers(grid)) - 1))


def test_a_second_spectrum_compiles_nothing(make_grid, programs_compiled):
    """Nor does a second `resample`, where both are called without `jit` around them, as in a loop of a notebook."""
    grid, coarse = make_grid((12, 12), devices=2), make_grid((8, 8), devices=2)
    u_hat = sw.fft.Transform(grid).forward(jnp.ones((12, 12)))
    call = lambda v: (shell_spectrum(v, grid), sw.fft.resample(v, grid, coarse))  # noqa: E731
    call(u_hat)
    programs = programs_compiled()
    call(2 * u_hat)
    assert programs_compiled() - programs <= 1  # 2 * u_hat
