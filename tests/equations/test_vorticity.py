"""Vorticity in two dimensions: Rossby waves, ideal invariants, the same flow as Navier–Stokes, its budget and cost."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import advanced

import solver as sw
from solver import initial
from solver.dynamics.budget import imbalance
from solver.equations import NavierStokes, Vorticity
from solver.forcing import ConstantPower
from solver.plan import transforms_in_step
from solver.steppers import ETDRK4, IFRK4

pytestmark = pytest.mark.slow


def eddies(grid, peak=3.0):
    return initial.RandomPhase(energy=2.0, peak=peak)(grid, key=jax.random.key(0))


@pytest.mark.thorough
def test_a_rossby_wave_of_any_height_drifts_west_exactly(make_grid):
    """A plane wave does not advect itself: ω = A cos(k·x − σt) with σ = −β kx/|k|², damped by drag and friction."""
    grid = make_grid((16, 24), devices=3, lengths=[5.0, 7.0])
    equation = Vorticity(grid, viscosity=0.01, beta=6.0, drag=0.03, hyperviscosity=1e-5, hyper_order=3)
    k = 2 * np.pi * np.array([2 / 5.0, -3 / 7.0])
    k2 = k @ k
    wave = lambda phase: sw.sample(lambda x, y: 4 * jnp.cos(k[0] * x + k[1] * y - phase), grid)[None]  # noqa: E731
    state = advanced(equation, ETDRK4(), wave(0.0), 3.0, 0.25)
    damped = np.exp(-3.0 * (0.01 * k2 + 0.03 + 1e-5 * k2**3))
    expected = damped * wave(-6.0 * k[0] / k2 * 3.0)
    np.testing.assert_allclose(equation.to_physical(state.field)["vorticity"], expected, atol=1e-13)
    assert float(jnp.max(jnp.abs(expected - damped * wave(0.0)))) > 1


@pytest.mark.thorough
def test_ideal_flow_conserves_energy_and_enstrophy(make_grid):
    """To the error of the steps alone, β-plane or not."""
    grid = make_grid((32, 24), devices=2)
    equation = Vorticity(grid, beta=2.0)
    drift = []
    for step in (0.04, 0.02):
        state = advanced(equation, IFRK4(), eddies(grid), 0.6, step)
        now, before = jax.jit(equation.report.energies)(state.field), state.energies
        drift.append([abs(float(now[e] / before[e]) - 1) for e in ("energy", "enstrophy")])
    assert np.all(np.array(drift[1]) < 1e-7)
    assert np.all(np.array(drift[0]) / drift[1] > 12), drift
    start = sw.initial_state(equation, IFRK4(), eddies(grid))
    assert float(jnp.max(jnp.abs(state.field["vorticity"] - start.field["vorticity"]))) > 0.05


@pytest.mark.thorough
def test_the_same_flow_as_navier_stokes(make_grid):
    grid = make_grid((24, 20), devices=4, lengths=[6.0, 5.0])
    equation = Vorticity(grid, viscosity=0.02)
    state = sw.initial_state(equation, IFRK4(), eddies(grid))
    psi_hat = -state.field["vorticity"][0] * grid.inverse_k_squared()
    psi_x, psi_y = jax.jit(sw.fft.Transform(grid).inverse)(sw.operators.gradient(psi_hat, grid))
    flow = advanced(NavierStokes(grid, viscosity=0.02), IFRK4(), jnp.stack([-psi_y, psi_x]), 0.5, 0.01)
    expected = sw.operators.curl(flow.field["velocity"], grid)
    computed = advanced(equation, IFRK4(), eddies(grid), 0.5, 0.01).field["vorticity"]
    np.testing.assert_allclose(computed, expected, atol=1e-14)
    row = jax.jit(equation.series)({"vorticity": computed}, 0.01)
    for name, other in jax.jit(NavierStokes(grid, 0.02).series)(flow.field, 0.01).items():
        assert name not in row or float(row[name]) == pytest.approx(float(other), rel=1e-12)
    for name, spectrum in jax.jit(equation.spectra)({"vorticity": computed}).items():
        assert float(spectrum.sum()) == pytest.approx(float(row[name]))


@pytest.mark.thorough
def test_a_forced_flow_with_drag_keeps_its_budget(make_grid):
    grid = make_grid((24, 20), devices=2)
    equation = Vorticity(grid, 0.01, 1.0, 0.1, 1e-5, 3, forcing=ConstantPower(2.0, 2.0, 4.0))
    state = advanced(equation, IFRK4(), eddies(grid), 0.5, 0.01)
    integrals = {name: float(value) for name, value in state.budget.items()}
    assert integrals["enstrophy_from_forcing"] == pytest.approx(1.0, rel=1e-9)  # ConstantPower counts ⟨ω f⟩
    for name in ("energy", "enstrophy"):
        now = float(jax.jit(equation.report.energies)(state.field)[name])
        assert abs(imbalance(name, float(state.energies[name]), now, integrals)) < 1e-8
        causes = [integrals[f"{name}_from_{cause}"] for cause in ("viscosity", "drag", "hyperviscosity")]
        assert max(causes) < -1e-5


def test_cost_of_a_right_hand_side(make_grid):
    grid = make_grid((16, 16), devices=2)
    equation = Vorticity(grid, viscosity=0.01)
    calls = transforms_in_step(equation, IFRK4(), sw.initial_state(equation, IFRK4(), eddies(grid)))
    assert [c.batch for c in calls] == [2] * 8


def test_a_mean_vorticity_cannot_be_held_in_a_periodic_box(make_grid):
    grid = make_grid((8, 8), devices=2)
    equation = Vorticity(grid, drag=1.0)
    u_hat = equation.from_physical({"vorticity": 3 + sw.sample(lambda x, y: jnp.cos(x + 0 * y), grid)[None]})
    assert float(jnp.abs(equation.to_physical(u_hat)["vorticity"].mean())) < 1e-15


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"viscosity": -1.0}, "viscosity -1.0: zero or more is needed"),
        ({"hyper_order": 0}, "hyper_order 0: one or more is needed"),
        ({"beta": float("inf")}, "beta inf: a finite number is needed"),
    ],
    ids=lambda o: str(o),
)
def test_wrong_parameters_are_refused(make_grid, options, message):
    with pytest.raises(ValueError, match=message):
        Vorticity(make_grid((8, 8), devices=1), **options)
