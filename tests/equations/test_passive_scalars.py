"""Scalars carried by a flow: exact cases, variance budget, and their way through run files."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import VELOCITY, advanced

import solver as sw
from solver import assemble, initial
from solver.config import ConfigError
from solver.dynamics.budget import imbalance
from solver.equations import NavierStokes
from solver.plan import transforms_in_step
from solver.steppers import ETDRK4, IFRK2

pytestmark = pytest.mark.slow


@pytest.mark.thorough
@pytest.mark.parametrize("shape", [(12, 8), (12, 8, 6)], ids=["2-D", "3-D"])
def test_a_scalar_in_a_shear_flow_against_the_exact_solution(make_grid, shape):
    """u = (0, cos x): a scalar with G along y and one without; c_t = κ c_xx − G cos x from rest is known."""
    grid = make_grid(shape, devices=2)
    d, k, v, g, end = grid.dimensions, 0.3, 0.1, 1.5, 0.8
    flow = NavierStokes(
        grid, v, scalars=("still", "dye"), diffusivities=(k, 0.2), mean_gradients=((0, g, 0)[:d], (0, 0, 0)[:d])
    )
    u = sw.sample(lambda *x: (0 * x[0], jnp.cos(x[0]), 0 * x[0])[:d], grid)
    zero, dye = jnp.zeros(grid.physical_shape), sw.sample(lambda *x: jnp.sin(x[0]), grid)
    state = advanced(flow, ETDRK4(), {"velocity": u, "still": zero, "dye": dye}, end, 0.02)
    computed = flow.to_physical(state.field)
    x = grid.coordinates()[0]
    still = -g * np.cos(x) * (np.exp(-v * end) - np.exp(-k * end)) / (k - v) + zero
    np.testing.assert_allclose(computed["still"][0], still, atol=1e-8)
    # along the shear nothing moves
    np.testing.assert_allclose(computed["dye"][0], np.exp(-0.2 * end) * dye, atol=1e-12)


@pytest.mark.thorough
def test_a_carried_scalar_against_its_own_advection(make_grid):
    """In a uniform wind a scalar moves with it; κ takes from each wave what it should."""
    grid = make_grid((16, 12), devices=3)
    flow = NavierStokes(grid, 0.01, scalars=["dye"], diffusivities=[0.05])
    wind = sw.sample(lambda x, y: (0.7 + 0 * x, -0.4 + 0 * x), grid)
    wave = lambda t: sw.sample(lambda x, y: jnp.cos(2 * (x - 0.7 * t) + 3 * (y + 0.4 * t)), grid)  # noqa: E731
    state = advanced(flow, ETDRK4(), {"velocity": wind, "dye": wave(0)}, 1.0, 0.01)
    expected = np.exp(-0.05 * 13) * wave(1.0)
    np.testing.assert_allclose(flow.to_physical(state.field)["dye"][0], expected, atol=1e-8)


@pytest.mark.thorough
def test_variance_closes_and_the_flow_is_what_it_is_without_scalars(make_grid):
    grid = make_grid((16, 12, 8), devices=4)
    u = initial.RandomPhase(peak=2.0)(grid, VELOCITY, jax.random.key(0))
    c = initial.RandomPhase(peak=2.0)(grid, key=jax.random.key(1))
    flow = NavierStokes(grid, 0.05, scalars=("a",), diffusivities=(0.02,), mean_gradients=((1.0, 0.0, 0.5),))
    state = advanced(flow, ETDRK4(), {"velocity": u, "a": c}, 0.2, 0.01)
    alone = advanced(NavierStokes(grid, 0.05), ETDRK4(), u, 0.2, 0.01)
    np.testing.assert_allclose(state.field["velocity"], alone.field["velocity"], atol=1e-15)
    now = jax.jit(flow.report.energies)(state.field)
    for name in ("energy", "a_variance"):
        missing = imbalance(name, float(state.energies[name]), float(now[name]), state.budget)
        assert abs(missing) < 1e-9
    assert abs(float(state.budget["a_variance_from_gradient"])) > 1e-4
    calls = transforms_in_step(flow, IFRK2(), sw.steppers.start.state_shapes(flow, IFRK2(), with_key=False))
    batches = sorted((call.forward, call.batch) for call in calls)
    assert batches == [(False, 4)] * 2 + [(True, 8)] * 2


def test_a_run_file_with_scalars(tmp_path):
    text = """
    [grid]
    shape = [8, 8]
    [equation]
    name = "navier-stokes"
    viscosity = 0.1
    scalars = ["dye"]
    diffusivities = [0.1]
    mean_gradients = [[1.0, 0.0]]
    [initial.velocity]
    name = "taylor-green"
    [initial.dye]
    name = "bump"
    [time]
    stepper = "ifrk2"
    step = 0.1
    end = 0.2
    """
    path = tmp_path / "scalars.toml"
    path.write_text(text)
    config = assemble.read_run_file(path, ["devices.virtual=1"])
    assert list(config.initial) == ["velocity", "dye"]
    assert config.to_table()["equation"]["mean_gradients"] == [[1.0, 0.0]]
    with pytest.raises(ConfigError, match=r"initial\.dye\.name is missing"):
        assemble.read_run_file(path, ["initial={ velocity = { name = 'taylor-green' } }"])
    with pytest.raises(ConfigError, match=r"diffusivities.*1 are needed, one for each scalar"):
        assemble.read_run_file(path, ["equation.diffusivities=[]"])
    with pytest.raises(ConfigError, match=r"scalars.*names are needed that differ"):
        assemble.read_run_file(path, ["equation.scalars=['dye', 'dye']", "equation.diffusivities=[1, 1]"])


def test_a_scalar_called_as_a_word_of_the_language_is_refused_at_once():
    grid = sw.Grid((8, 10), mesh=sw.device_mesh([0]))
    with pytest.raises(ValueError, match="field 'x': the name has a meaning of its own"):
        sw.equations.NavierStokes(grid, viscosity=0.1, scalars=("x",), diffusivities=(0.1,))
