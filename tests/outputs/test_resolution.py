"""A run says once where its grid does not resolve a field, and says nothing of noise that decays."""

import jax
import jax.numpy as jnp
import pytest

import solver as sw
from solver.outputs.health import tails, unresolved


def warnings(directory):
    return [line for line in (directory / "log.txt").read_text().splitlines() if "next to k_max" in line]


@pytest.mark.thorough
@pytest.mark.slow
def test_a_field_with_a_full_spectrum_is_told_once(tmp_path):
    grid = sw.Grid((24, 20), mesh=sw.device_mesh([0]))
    equation, stepper = sw.equations.Vorticity(grid, viscosity=1e-6), sw.steppers.IFRK2()
    state = sw.initial_state(equation, stepper, 0.1 * sw.initial.RandomPhase(peak=7.0)(grid, key=jax.random.key(0)))
    outputs = [sw.outputs.Series(every_steps=1)]
    sw.run(equation, stepper, state, end=0.05, step=0.01, directory=tmp_path, outputs=outputs)
    (warning,) = warnings(tmp_path)
    assert "spectrum of vorticity: the shells next to k_max = 6 hold" in warning


def test_noise_that_decays_is_no_lack_of_points(make_grid):
    grid = make_grid((32,), devices=1)
    equation = sw.equations.Burgers(grid, 0.1)
    noise = {"velocity": equation.transform.forward(jnp.eye(32)[:1])}  # a point: all modes alike
    assert float(tails(equation, noise)["velocity"]) == pytest.approx(1)
    assert not unresolved({"velocity": 0.2}, {"velocity": 0.9}, grid)
    assert not unresolved({"velocity": 0.2}, {"velocity": 0.001}, grid)  # seen in one row alone
    assert unresolved({"velocity": 0.2}, {"velocity": 0.21}, grid)
    for size, tail in ((1e-15, 0), (1e-9, 1)):  # rounding errors of a mean, and a disturbance that begins to grow
        disturbed = equation.transform.forward(1 + size * jnp.eye(32)[:1])
        assert float(tails(equation, {"velocity": disturbed})["velocity"]) == pytest.approx(tail, rel=1e-4)
    shock = sw.sample(lambda x: -jnp.tanh(4 * jnp.sin(x)), grid)
    assert float(tails(equation, {"velocity": equation.transform.forward(shock[None])})["velocity"]) < 0.01


@pytest.mark.slow
def test_where_single_precision_rounds_viscosity_away_a_run_names_it(tmp_path):
    """νk²Δt = 2.8e-8 changes no number of 24 bits: the energy stays, and a smaller step would change nothing."""
    grid = sw.Grid((8, 8), mesh=sw.device_mesh([0]), precision="float32")
    equation, stepper = sw.equations.NavierStokes(grid, viscosity=2.8e-5), sw.steppers.IFRK2()
    flow = sw.sample(lambda x, y: (jnp.sin(x) * jnp.cos(y), -jnp.cos(x) * jnp.sin(y)), grid)
    state = sw.initial_state(equation, stepper, flow)
    outputs = [sw.outputs.Series(every_time=10.0)]
    sw.run(equation, stepper, state, end=10.0, step=5e-4, directory=tmp_path, outputs=outputs)
    (warning,) = [line for line in (tmp_path / "log.txt").read_text().splitlines() if "the budget of energy" in line]
    assert 'or grid.precision = "float64"' in warning
