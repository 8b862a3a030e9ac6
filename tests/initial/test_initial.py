"""Initial fields: what they are, and that the devices do not matter."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import solver as sw
from solver import initial, operators
from solver.diagnostics import mean_square, shell_spectrum, shell_wavenumbers

KEY = jax.random.key(7)


def largest_divergence(u, grid):
    u_hat = sw.fft.Transform(grid).forward(u)
    return float(jnp.max(jnp.abs(sw.fft.Transform(grid).inverse(operators.divergence(u_hat, grid)))))


@pytest.mark.parametrize("shape", [(24, 24), (24, 24, 24)], ids=str)
def test_taylor_green_is_solenoidal_with_its_energy(make_grid, shape):
    grid = make_grid(shape, devices=4, lengths=3.0)
    u = initial.taylor_green(grid, amplitude=2.0)
    assert largest_divergence(u, grid) < 1e-13
    assert float(jnp.mean(jnp.sum(u**2, axis=0)) / 2) == pytest.approx(4 * (0.25 if len(shape) == 2 else 0.125))


def test_beltrami_is_its_own_vorticity(make_grid):
    grid = make_grid((24, 24, 24), devices=4)
    u_hat = sw.fft.Transform(grid).forward(initial.beltrami(grid, (1.0, 0.7, 0.43), wavenumber=2))
    np.testing.assert_allclose(operators.curl(u_hat, grid), 2 * u_hat, atol=1e-15)


@pytest.mark.parametrize("solenoidal", [True, False])
def test_random_phase_has_the_prescribed_spectrum_exactly(make_grid, solenoidal):
    grid = make_grid((32, 24, 16), devices=4)
    u = initial.random_phase(grid, KEY, components=3, solenoidal=solenoidal, energy=0.7, peak=3.0, slope=2.0)
    u_hat = sw.fft.Transform(grid).forward(u)
    spectrum = shell_spectrum(u_hat, grid)
    k = shell_wavenumbers(grid)
    wanted = k**2 * np.exp(-((k / 3.0) ** 2))
    np.testing.assert_allclose(spectrum, 0.7 * wanted / wanted.sum(), rtol=1e-11, atol=1e-16)
    assert float(0.5 * mean_square(u_hat, grid)) == pytest.approx(0.7, rel=1e-13)
    assert np.abs(np.asarray(u).mean(axis=(1, 2, 3))).max() < 1e-15
    if solenoidal:
        assert largest_divergence(u, grid) < 1e-13


@pytest.mark.parametrize("real", [True, False])
@pytest.mark.parametrize("shape", [(24, 16, 20), (32, 24)], ids=str)
def test_random_phase_is_the_same_field_on_any_number_of_devices(make_grid, shape, real):
    fields = []
    for mesh in ((1, 1), (3, 1) if len(shape) == 2 else (2, 3), (5, 1)):
        grid = make_grid(shape, mesh_shape=mesh, real=real)
        fields.append(np.asarray(initial.random_phase(grid, KEY)))
    scale = np.abs(fields[0]).max()
    assert np.abs(fields[1] - fields[0]).max() < 1e-13 * scale
    assert np.abs(fields[2] - fields[0]).max() < 1e-13 * scale
    other = np.asarray(initial.random_phase(grid, jax.random.key(8)))
    assert np.abs(other - fields[0]).max() > 0.1 * scale


def test_packets(make_grid):
    grid = make_grid((32, 16, 16), devices=4, lengths=16.0, real=False, dealias="none")
    assert float(jnp.max(jnp.abs(jnp.abs(initial.plane_wave(grid, (1, 2), 3.0)) - 3))) < 1e-14
    psi = initial.gaussian(grid, width=1.2, centre=(0.0, 8.0, 15.0), velocity=(0.8, 0.0, 0.0))
    norm = float(jnp.mean(jnp.abs(psi) ** 2)) * 16**3
    assert norm == pytest.approx((np.pi * 1.2**2) ** 1.5, rel=2e-3)  # images: the packet is centred on the boundary
    two = initial.solitons(grid, [1.5, 2.0], [(4.0, 8.0, 8.0), (12.0, 8.0, 8.0)], coupling=3.0)
    assert two.shape == (1, 32, 16, 16)
    core = float(jnp.abs(two[0, 8, 8, 8]) ** 2)
    assert core == pytest.approx(initial.CORE_RADIUS**4 / (3 * 1.5**4), rel=0.05)


def test_impossible_fields_are_refused(make_grid):
    flat, cube = make_grid((16, 16), devices=2), make_grid((16, 16, 16), devices=2, real=False, dealias="none")
    with pytest.raises(ValueError, match="beltrami on a grid of 2 dimensions"):
        initial.beltrami(flat)
    with pytest.raises(ValueError, match="equal lengths in x and y"):
        initial.taylor_green(make_grid((16, 16), devices=2, lengths=[1.0, 2.0]))
    with pytest.raises(ValueError, match="energy=-1"):
        initial.random_phase(flat, KEY, energy=-1.0)
    with pytest.raises(ValueError, match="no shell of this grid"):
        initial.random_phase(flat, KEY, peak=1e-3)
    with pytest.raises(ValueError, match=r"centre \[1.0\]: 3 numbers"):
        initial.gaussian(cube, centre=[1.0])
    with pytest.raises(ValueError, match="1 core_radii, 2 centres"):
        initial.solitons(cube, [1.0], [(0.0, 0.0, 0.0)] * 2, coupling=1.0)
    with pytest.raises(ValueError, match="modes"):
        initial.plane_wave(cube, (1, 2, 3, 4))
