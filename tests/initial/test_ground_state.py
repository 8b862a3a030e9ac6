"""Ground states of condensates: closed forms, the virial, a breathing condensate, refusals."""

import logging

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import advanced

import solver as sw
from solver.equations import Burgers, GrossPitaevskii, NonlinearSchroedinger, SchroedingerPoisson
from solver.initial import GroundState
from solver.initial.wavefunctions import CORE_RADIUS
from solver.steppers import Strang

pytestmark = pytest.mark.slow
RUBIDIUM = 7.3073e-10  # ħ/m of ⁸⁷Rb [m²/s]


def ground_state(equation, number, **given):
    return GroundState(number, **given).for_equation(equation, "wavefunction")


def test_without_interaction_it_is_the_gaussian_of_the_trap(make_grid, caplog):
    grid = make_grid((40, 48), devices=4, lengths=[12.0, 13.0], real=False, dealias="none")
    omega = (1.0, 1.3)
    equation = GrossPitaevskii(grid, coupling=0.0, trap=omega, chemical_potential=0.3)
    start = ground_state(equation, 5.0)
    with caplog.at_level(logging.INFO, logger="slabwave"):
        psi = start(grid)
    found = start.relaxed(grid)
    assert float(found.chemical_potential) == pytest.approx(1.15, abs=1e-12)
    assert f"ground-state: {int(found.steps)} steps to a residual of" in caplog.text
    assert "chemical potential 1.15 [1/time]" in caplog.text
    exact = lambda x, y: jnp.exp(-0.5 * (omega[0] * (x - 6) ** 2 + omega[1] * (y - 6.5) ** 2)) + 0j  # noqa: E731
    peak = np.sqrt(5.0 * np.sqrt(omega[0] * omega[1]) / np.pi)
    np.testing.assert_allclose(psi[0], peak * sw.sample(exact, grid), atol=5e-8)  # exp(-18) at the sides


def test_a_strong_interaction_gives_the_profile_of_thomas_and_fermi(make_grid):
    """⁸⁷Rb along a trap of 2π·100 Hz, SI units: (µ − ½Ω²x²m/ħ)/g; what it lacks is of the order of the ratio to µ."""
    omega, g, number = 2 * np.pi * 100, 2e-4, 1000.0
    grid = make_grid((192,), devices=1, lengths=3.2e-5, real=False, dealias="none")
    equation = GrossPitaevskii(grid, g, trap=(omega,), hbar_over_mass=RUBIDIUM)
    length = np.sqrt(RUBIDIUM / omega)
    mu = omega * (3 * g * number / (4 * np.sqrt(2) * length * omega)) ** (2 / 3)
    found = ground_state(equation, number).relaxed(grid)
    assert bool(found.converged)
    small = (omega / mu) ** 2
    assert float(found.chemical_potential) == pytest.approx(mu, rel=small)
    x = np.asarray(grid.coordinates()[0]) - 1.6e-5
    profile = np.maximum(mu - 0.5 * omega**2 * x**2 / RUBIDIUM, 0) / g
    inside = np.abs(x) < 0.8 * length * np.sqrt(2 * mu / omega)
    density = np.abs(np.asarray(found.psi[0])) ** 2
    assert mu / omega > 5
    np.testing.assert_allclose(density[inside], profile[inside], rtol=2 * small / 0.36)
    assert density[np.abs(x) > 1.3 * length * np.sqrt(2 * mu / omega)].max() < 1e-3 * density.max()
    row = equation.series({"wavefunction": found.psi}, 1e-6)
    virial = 2 * row["kinetic_energy"] - 2 * row["trap_energy"] + row["interaction_energy"]
    assert abs(float(virial)) < 1e-8 * float(row["energy"])
    per_particle = (row["kinetic_energy"] + row["trap_energy"] + 2 * row["interaction_energy"]) / row["mass"]
    assert float(per_particle / RUBIDIUM) == pytest.approx(float(found.chemical_potential), rel=1e-10)


def test_where_a_wave_focuses_itself_it_is_a_bright_soliton(make_grid):
    grid = make_grid((128,), devices=1, lengths=40.0, real=False, dealias="none")
    equation = NonlinearSchroedinger(grid, coupling=3.0, hbar_over_mass=1.5)
    found = ground_state(equation, 1.0)(grid)
    exact = sw.initial.NlsSoliton((1.0,)).for_equation(equation, "wavefunction")(grid)  # ∫|ψ|² = 2a ħ/(m g)
    np.testing.assert_allclose(found, exact, atol=1e-7)


@pytest.mark.thorough
def test_in_its_own_gravity_it_is_the_soliton_of_fuzzy_dark_matter(make_grid):
    """Its core radius times (g ρ_c)^¼; the box takes away the mean density and adds images."""
    grid = make_grid((40, 40, 40), devices=4, lengths=14.0, real=False, dealias="none")
    equation = SchroedingerPoisson(grid, coupling=1.0)
    density = np.abs(np.asarray(ground_state(equation, 30.0)(grid))[0]) ** 2
    x = np.asarray(grid.coordinates()[0]).ravel() - 7.0
    line = density[:, 20, 20]
    radius = np.interp(-0.5 * line.max(), -line[20:], x[20:])
    assert radius * line.max() ** 0.25 == pytest.approx(CORE_RADIUS, rel=0.02)


def test_in_motion_its_centre_swings_with_the_trap(make_grid):
    """At any interaction: x − L/2 = (v/Ω) sin Ωt, Kohn's theorem."""
    grid = make_grid((64,), devices=1, lengths=16.0, real=False, dealias="none")
    equation = GrossPitaevskii(grid, 1.0, trap=(1.3,), hbar_over_mass=0.8)
    start = ground_state(equation, 20.0, velocity=(0.9,))
    speed = 0.8 * 2 * np.pi / 16 * round(0.9 / 0.8 * 16 / (2 * np.pi))
    assert start.notes(grid) == [f"ground-state: velocity [0.9] is not periodic in this box: [{speed:.6g}] is used"]
    state = advanced(equation, Strang(), start(grid), 1.5, 0.005)
    density = np.abs(np.asarray(state.field["wavefunction"])[0]) ** 2
    centre = np.sum(density * grid.coordinates()[0]) / density.sum() - 8
    assert centre == pytest.approx(speed / 1.3 * np.sin(1.3 * 1.5), abs=1e-4)


@pytest.mark.thorough
def test_it_stands_still_and_turns_with_its_chemical_potential(make_grid):
    grid = make_grid((32, 32), devices=2, lengths=12.0, real=False, dealias="none")
    equation = GrossPitaevskii(grid, 2.0, trap=(1.0, 1.2))
    found = ground_state(equation, 10.0).relaxed(grid)
    change = []
    for step in (0.02, 0.01):
        state = advanced(equation, Strang(), found.psi, 2.0, step)
        expected = found.psi * jnp.exp(-2j * found.chemical_potential)
        change.append(float(jnp.max(jnp.abs(state.field["wavefunction"] - expected))))
    assert change[1] < 1e-4
    assert change[0] / change[1] == pytest.approx(4, abs=0.2)


def test_a_condensate_breathes_in_the_plane_at_twice_the_trap(make_grid):
    """At any interaction: E_trap = ½E + (E_trap(0) − ½E) cos 2Ωt, the breathing mode of Pitaevskii and Rosch."""
    grid = make_grid((32, 32), devices=2, lengths=12.0, real=False, dealias="none")
    psi = ground_state(GrossPitaevskii(grid, 1.0, trap=(1.0, 1.0)), 20.0)(grid)
    equation = GrossPitaevskii(grid, 1.0, trap=(1.2, 1.2))
    state = sw.initial_state(equation, Strang(), psi)
    first = equation.series(state.field, 0.01)
    half = 0.5 * float(first["energy"])
    swing = float(first["trap_energy"]) - half
    assert swing > 0.1 * half
    for now in sw.evolve(equation, Strang(), state, end=2.0, step=0.02, pauses=[sw.Schedule(every_time=0.5)]):
        row = equation.series(now.field, 0.01)
        expected = half + swing * np.cos(2.4 * float(now.t))
        assert float(row["trap_energy"]) == pytest.approx(expected, abs=1e-3 * swing)


def test_in_single_precision_it_comes_to_the_round_off(make_grid):
    grid = make_grid((32, 32), devices=2, lengths=12.0, real=False, dealias="none", precision="float32")
    found = ground_state(GrossPitaevskii(grid, 0.0, trap=(1.0, 1.0)), 1.0).relaxed(grid)
    assert bool(found.converged)
    assert found.psi.dtype == jnp.complex64
    assert float(found.chemical_potential) == pytest.approx(1.0, abs=1e-5)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda g: ground_state(GrossPitaevskii(g, trap=(1.0, 1.0)), 1.0, max_steps=3)(g),
            "after 3 steps the residual",
        ),
        (lambda g: ground_state(GrossPitaevskii(g, -10.0), 10.0)(g), "outer third of the modes, 0.0001 or less"),
        (lambda g: ground_state(Burgers(g.as_real, 0.1), 1.0), "ground-state in burgers: a Schrödinger equation"),
        (lambda g: GroundState()(g), "ground-state without an equation"),
        (lambda g: GroundState(-1.0), "number -1.0: a positive number is needed"),
        (lambda g: GroundState(max_steps=0), "max_steps 0: one or more is needed"),
    ],
    ids=["steps", "collapse", "equation", "alone", "number", "no steps"],
)
def test_what_cannot_be_reached_is_refused(make_grid, make, message):
    with pytest.raises(ValueError, match=message):
        make(make_grid((32, 32), devices=2, lengths=12.0, real=False, dealias="none"))


@pytest.mark.thorough
def test_under_jit_what_is_not_reached_is_not_a_number(make_grid):
    grid = make_grid((16,), devices=1, lengths=10.0, real=False, dealias="none")
    equation = GrossPitaevskii(grid, 1.0, trap=(1.0,))
    psi = jax.jit(lambda number: ground_state(equation, number, max_steps=2)(grid))(3.0)
    assert bool(jnp.all(jnp.isnan(psi)))
