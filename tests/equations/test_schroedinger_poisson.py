"""Schrödinger–Poisson: exact free solutions, conservation, the potential."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import series

import solver as sw
from solver import initial
from solver.equations import SchroedingerPoisson
from solver.steppers import Strang

pytestmark = pytest.mark.slow


def make(make_grid, shape, coupling, devices=4, length=16.0, mesh_shape=None):
    grid = make_grid(shape, devices=devices, mesh_shape=mesh_shape, lengths=length, real=False, dealias="none")
    return grid, SchroedingerPoisson(grid, coupling=coupling)


def run(equation, psi, end, step):
    stepper = Strang()
    *_, state = sw.evolve(equation, stepper, sw.initial_state(equation, stepper, psi), end=end, step=step)
    return state


@pytest.mark.thorough
def test_a_plane_wave_turns_exactly(make_grid):
    grid, equation = make(make_grid, (16, 12, 8), coupling=5.0)
    psi = initial.PlaneWave((2, -1, 1), amplitude=1.5)(grid)
    k2 = sum((2 * np.pi * m / 16.0) ** 2 for m in (2, -1, 1))
    state = run(equation, psi, 3.0, 0.1)  # uniform density: gravity does nothing, whatever the coupling
    np.testing.assert_allclose(state.field["wavefunction"], psi * np.exp(-0.5j * k2 * 3.0), atol=2e-13)


@pytest.mark.thorough
@pytest.mark.parametrize("shape", [(64,), (64, 48)], ids=["1-D", "2-D"])
def test_a_free_packet_spreads_and_moves_exactly(make_grid, shape):
    devices = 1 if len(shape) == 1 else 4
    grid, equation = make(make_grid, shape, coupling=0.0, devices=devices, length=20.0)
    width, t = 1.1, 0.8
    velocity = 2 * np.pi / 20.0 * np.arange(1, len(shape) + 1)
    psi = initial.Gaussian(width=width, velocity=list(velocity))(grid)
    state = run(equation, psi, t, 0.1)
    spread = 1 + 1j * t / width**2
    expected = np.ones(shape, complex)
    for x, v in zip(grid.coordinates(), velocity, strict=True):
        moved = x - 10.0 - v * t
        expected = expected * np.exp(-0.5 * moved**2 / (width**2 * spread) + 1j * v * x - 0.5j * v**2 * t)
        expected = expected / np.sqrt(spread)
    np.testing.assert_allclose(
        state.field["wavefunction"][0], expected, atol=1e-9
    )  # the packet's tail at the boundary is exp(-27)


@pytest.mark.thorough
def test_mass_is_kept_over_a_thousand_steps_and_energy_drifts_little(make_grid):
    grid, equation = make(make_grid, (16, 16, 16), coupling=3.0, devices=2, length=8.0)
    psi = initial.Gaussian(width=1.0, velocity=(0.8, 0.0, 0.0))(grid)
    state = run(equation, psi, 2.0, 0.002)
    assert int(state.step) == 1000
    after = equation.conserved(state.field)
    assert abs(float(after["mass"]) / float(state.conserved["mass"]) - 1) < 1e-12
    assert abs(float(after["energy"]) / float(state.conserved["energy"]) - 1) < 1e-4
    assert float(jnp.max(jnp.abs(state.field["wavefunction"]))) != pytest.approx(float(jnp.max(jnp.abs(psi))), rel=1e-2)


@pytest.mark.thorough
def test_the_potential_solves_poisson_s_equation(make_grid):
    grid, equation = make(make_grid, (24, 16, 20), coupling=2.5)
    psi = initial.Gaussian(width=2.0)(grid)
    potential = equation.split_potential(psi)
    to_real = sw.fft.Transform(grid.as_real)
    laplacian = to_real.inverse(-grid.as_real.k_squared() * to_real.forward(potential))
    density = jnp.abs(psi) ** 2
    np.testing.assert_allclose(laplacian, 2.5 * (density - jnp.mean(density)), atol=1e-12)
    assert abs(float(jnp.mean(potential))) < 1e-14


@pytest.mark.thorough
def test_gravity_attracts(make_grid):
    grid, equation = make(make_grid, (24, 24, 24), coupling=20.0, length=12.0)
    psi = initial.Gaussian(width=2.0)(grid)
    state = run(equation, psi, 0.6, 0.02)
    free = run(SchroedingerPoisson(grid, coupling=0.0), psi, 0.6, 0.02)
    assert float(jnp.max(jnp.abs(state.field["wavefunction"]))) > 1.02 * float(jnp.max(jnp.abs(psi)))
    assert float(jnp.max(jnp.abs(free.field["wavefunction"]))) < float(jnp.max(jnp.abs(psi)))


@pytest.mark.thorough
def test_a_soliton_alone_keeps_its_shape(make_grid):
    grid, equation = make(make_grid, (48, 48, 48), coupling=1.0, length=16.0)
    psi = initial.Solitons([1.2], [(8.0, 8.0, 8.0)], coupling=1.0)(grid)
    density = [jnp.abs(p) ** 2 for p in (psi, run(equation, psi, 2.0, 0.02).field["wavefunction"])]
    free = jnp.abs(run(SchroedingerPoisson(grid, coupling=0.0), psi, 2.0, 0.02).field["wavefunction"]) ** 2
    peak = float(jnp.max(density[0]))
    # the fit of the profile is good to a few per cent; without gravity the core spreads
    assert float(jnp.max(jnp.abs(density[1] - density[0]))) < 0.07 * peak
    assert float(jnp.max(jnp.abs(free - density[0]))) > 0.6 * peak


@pytest.mark.thorough
@pytest.mark.parametrize("n", [1, 4], ids=["unstable", "stable"])
def test_jeans_growth_rate(make_grid, n):
    """Small waves on a uniform density: a_tt = (g ρ₀ − k⁴/4) a. Gravity makes long ones grow, quantum pressure turns
    short ones."""
    grid, equation = make(make_grid, (32, 4, 4), coupling=0.5, length=8.0)
    k, small, end = 2 * np.pi * n / 8.0, 1e-7, 4.0
    square = 0.5 - k**4 / 4
    rate = np.sqrt(complex(square))
    # the real part of ψ − 1 is a, the imaginary part 2 a_t/k²: the growing wave, or the one that starts at its crest
    slope = 2 * rate.real / k**2
    wave = sw.sample(lambda x, y, z: 1 + small * (1 + 1j * slope) * jnp.cos(k * x) + 0 * y * z, grid)
    state = run(equation, wave, end, 0.005)
    computed = np.asarray(state.field["wavefunction"])[0].real
    amplitude = 2 * np.mean((computed - computed.mean()) * np.cos(k * np.asarray(grid.coordinates()[0]))) / small
    expected = np.exp(rate.real * end) if square > 0 else np.cos(rate.imag * end)
    assert amplitude == pytest.approx(expected, abs=3e-4 * max(1, abs(expected)))


@pytest.mark.thorough
def test_series_and_spectra_add_up(make_grid):
    grid, equation = make(make_grid, (16, 12, 8), coupling=2.0)
    state = sw.initial_state(equation, Strang(), initial.Gaussian(width=2.0)(grid))
    row = series(equation, state)
    assert list(equation.units) == list(["mass", "energy", "kinetic_energy", "potential_energy", "max_density", "cfl"])
    assert set(row) == set(equation.units)
    assert row["energy"] == pytest.approx(row["kinetic_energy"] + row["potential_energy"])
    assert row["potential_energy"] < 0 < row["kinetic_energy"]
    spectra = jax.jit(equation.spectra)(state.field)
    assert float(spectra["mass"].sum()) == pytest.approx(row["mass"])
    density = np.abs(np.asarray(state.field["wavefunction"])) ** 2
    assert float(2 * spectra["density"].sum()) == pytest.approx(np.mean(density**2))


def test_the_same_wave_on_any_number_of_devices(make_grid):
    ends = []
    for mesh in ((1, 1), (3, 2)):  # three does not divide the 16 planes
        grid, equation = make(make_grid, (16, 24, 10), coupling=3.0, mesh_shape=mesh)
        psi = initial.RandomPhase(peak=1.5)(grid, key=jax.random.key(0))
        ends.append(np.asarray(run(equation, psi, 0.04, 0.01).field["wavefunction"]))
    for end in ends[1:]:
        assert np.abs(end - ends[0]).max() < 1e-12 * np.abs(ends[0]).max()
