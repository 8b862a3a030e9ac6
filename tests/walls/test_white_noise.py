"""Forcing that is white in time between walls: its law after a step, budgets, restarts, devices."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import solver as sw
from solver import walls
from solver.dynamics.budget import imbalance
from solver.forcing import WhiteNoise
from solver.steppers import Krogstad4

pytestmark = pytest.mark.slow

POWER, LOW, HIGH = 1.5, 3.0, 14.0
EACH = {"low": LOW, "high": HIGH}
OF = {
    "a value and a slope": ("c", walls.Walls(walls.Value(1.0).lower, walls.Slope(upper=-0.3).upper)),
    "rigid and free": ("u", walls.Walls(walls.NoSlip().lower, walls.FreeSlip().upper)),
}


@pytest.mark.parametrize("dimensions", [2, pytest.param(3, marks=pytest.mark.thorough)])
@pytest.mark.parametrize("of", OF)
def test_variance_of_each_mode_after_one_step(make_grid, of, dimensions):
    """2P/M (1 − exp(2νλt))/(−2νλ) of M modes that are forced alike, whatever the walls give."""
    name, conditions = OF[of]
    shape, lengths = ((8, 13), (2.0, 1.0)) if dimensions == 2 else ((6, 5, 13), (2.0, 1.5, 1.0))
    grid, nu, dt = make_grid(shape, 1, lengths=lengths, walls="yz"[dimensions - 2]), 0.05, 0.3
    lines = {"c": ["dt(c) = nu*lap(c)"], "u": ["dt(u) = nu*lap(u) - grad(p)", "div(u) = 0"]}[name]
    text = sw.write(lines, {name: "vector" if name == "u" else "scalar"}, {"p": "scalar"} if name == "u" else {})
    noise = WhiteNoise(POWER, slope=dimensions - 1.0, **EACH)
    equation = text(grid, nu=nu, walls={name: conditions}, forcing=noise)
    rest = {name: jnp.zeros(equation.field_shapes()[name].shape, complex)}
    prepared, count = jax.jit(lambda: equation.at_step().prepare_kicks(dt))(), 1000
    kicked = lambda key: equation.at_step({name: ()}, key).kicked(rest, prepared, 0.0)[name]  # noqa: E731
    found = np.mean(np.abs(jax.jit(jax.vmap(kicked))(jax.random.split(jax.random.key(0), count))) ** 2, axis=0)
    rate = np.broadcast_to(np.asarray(equation.space(name).laplacian()), found.shape)
    forced = (rate < 0) & (np.sqrt(-rate) >= LOW) & (np.sqrt(-rate) <= HIGH)
    along = np.arange(found.shape[1]).reshape(-1, *[1] * (dimensions - 1))  # the halved direction: −k is not stored
    modes = np.sum(np.where(along == 0, 1, 2) * forced)
    expected = 2 * POWER / modes * (1 - np.exp(2 * nu * rate * dt)) / np.where(forced, -2 * nu * rate, 1)
    ratio = found[forced] / expected[forced]
    assert np.all(found[~forced] == 0)
    assert np.abs(ratio - 1).max() < 5 * np.sqrt(2 / count), "of each mode"
    assert abs(ratio.mean() - 1) < 4 / np.sqrt(count * ratio.size), "of all of them"


def convection(make_grid, devices):
    """Convection between walls that move, are warmed in time, and let a given flux pass."""
    grid = make_grid((12, 13), devices, lengths=(2.0, 1.0), walls="y")
    velocity = walls.Walls(walls.Moving("0.3*sin(2*t)").lower, walls.FreeSlip().upper)
    temperature = walls.Walls(walls.Value("1 + 0.1*cos(pi*x)*sin(3*t)").lower, walls.Slope(upper=-1.0).upper)
    noise = {"velocity": WhiteNoise(0.01, **EACH), "temperature": WhiteNoise(0.002, **EACH)}
    of = {"velocity": velocity, "temperature": temperature}
    flow = sw.equations.RayleighBenard(grid, 1e4, 1.0, walls=of, forcing=noise)
    z = np.broadcast_to(grid.coordinates()[-1], grid.physical_shape)
    start = {"velocity": jnp.zeros((2, *grid.physical_shape)), "temperature": 1 - jnp.asarray(z)[None]}
    return flow, sw.initial_state(flow, Krogstad4(), start, seed=1)


@pytest.mark.thorough
def test_budgets_close_and_a_continued_run_has_the_bits_on_any_number_of_devices(make_grid, tmp_path):
    ends = []
    for devices in (1, 2):
        flow, state = convection(make_grid, devices)
        *_, half = sw.evolve(flow, Krogstad4(), state, end=0.1, step=0.02)
        *_, last = sw.evolve(flow, Krogstad4(), half, end=0.2, step=0.02)
        ends.append(last)
        budget = {name: float(value) for name, value in last.budget.items()}
        energies = flow.at_time(last.t).report.energies(last.field)
        for name, first in state.energies.items():
            assert abs(imbalance(name, float(first), float(energies[name]), budget)) < 1e-6
            assert abs(budget[f"{name}_from_forcing"]) > 1e-4
    path = sw.io.save_checkpoint(tmp_path, half, flow.grid)
    *_, again = sw.evolve(flow, Krogstad4(), sw.io.load_checkpoint(path, flow, Krogstad4()), end=0.2, step=0.02)
    for name in flow.fields:
        np.testing.assert_array_equal(again.field[name], last.field[name])
        one, two = (np.asarray(end.field[name])[:, :4] for end in ends)  # without padding
        np.testing.assert_allclose(two, one, atol=1e-13)


def test_a_band_without_modes_is_refused(make_grid):
    """The first mode between rigid walls has |k| of about π/H, above the band of the defaults."""
    grid = make_grid((8, 13), 1, lengths=(2.0, 1.0), walls="y")
    with pytest.raises(ValueError, match=r"low 1\.0 and high 2\.0: no mode of velocity .* are 3\.142 to "):
        sw.equations.NavierStokes(grid, 0.1, forcing=WhiteNoise(0.1))
