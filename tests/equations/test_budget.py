"""The energy budget closes to the error of the stepper, and the exchanges between fields are those of theory."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import VELOCITY

import solver as sw
from solver import initial
from solver.dynamics.budget import imbalance
from solver.equations import MHD, Boussinesq, NavierStokes
from solver.forcing import ConstantPower, OrnsteinUhlenbeck
from solver.steppers import ETDRK4, IFRK2, IFRK4, LSRK3, SBDF2

pytestmark = pytest.mark.slow


def random_flow(grid, seed=0):
    return initial.RandomPhase(peak=2.0)(grid, VELOCITY, jax.random.key(seed))


def missing(equation, stepper, start, step, end=0.4, **control):
    """Imbalance of each energy, and the last state."""
    first = sw.initial_state(equation, stepper, start, seed=1)
    *_, state = sw.evolve(equation, stepper, first, end=end, **(control or {"step": step}))
    integrals = {name: float(value) for name, value in state.budget.items()}
    now = jax.jit(equation.report.energies)(state.field)
    return {e: imbalance(e, float(state.energies[e]), float(now[e]), integrals) for e in now}, state


@pytest.mark.parametrize("stepper", [IFRK2(), LSRK3(), ETDRK4(), SBDF2()], ids=lambda s: s.name)
def test_a_forced_flow_closes_to_the_order_of_its_stepper(make_grid, stepper):
    grid = make_grid((16, 12), devices=2)
    flow = NavierStokes(grid, viscosity=0.05, forcing=ConstantPower(0.7))
    start = random_flow(grid)
    coarse, fine = (missing(flow, stepper, start, step)[0]["energy"] for step in (0.04, 0.02))
    _, state = missing(flow, stepper, start, 0.02)
    assert abs(fine) < 1e-3
    assert abs(coarse / fine) > 0.7 * 2**stepper.order
    assert float(state.budget["energy_from_forcing"]) == pytest.approx(0.7 * 0.4, rel=1e-10)


@pytest.mark.thorough
@pytest.mark.parametrize(("rms", "correlation_time"), [(2.0, 0.5), (20.0, 0.02)], ids=["long memory", "short memory"])
def test_random_forcing_is_counted_as_it_acts(make_grid, rms, correlation_time):
    """On four devices: also where much of the acceleration is new at each step."""
    grid = make_grid((24, 24, 24), devices=4)
    flow = NavierStokes(grid, viscosity=0.02, forcing=OrnsteinUhlenbeck(rms, correlation_time))
    errors, state = missing(flow, IFRK4(), random_flow(grid), 0.01, end=0.2)
    assert abs(errors["energy"]) < 1e-8
    assert abs(float(state.budget["energy_from_forcing"])) > 1e-3
    assert float(state.budget["energy_from_viscosity"]) < -1e-3


@pytest.mark.thorough
def test_controlled_steps_and_other_devices_give_the_same_budget(make_grid):
    ends = []
    for devices in (1, 4):
        grid = make_grid((16, 16), devices=devices)
        errors, state = missing(NavierStokes(grid, 0.02), IFRK4(), random_flow(grid), 0, end=1.0, cfl=0.3)
        assert abs(errors["energy"]) < 1e-6
        ends.append(float(state.budget["energy_from_viscosity"]))
    assert ends[0] == pytest.approx(ends[1], rel=1e-12)


@pytest.mark.thorough
@pytest.mark.parametrize("mean_field", [None, (0.7, -0.2)], ids=["no mean field", "mean field"])
def test_flow_and_magnetic_field_exchange_what_the_other_gets(make_grid, mean_field):
    grid = make_grid((16, 12), devices=2)
    flow = MHD(grid, 0.02, 0.03, mean_field, forcing={"magnetic_field": ConstantPower(0.1)})
    start = {"velocity": random_flow(grid), "magnetic_field": random_flow(grid, 1)}
    errors, state = missing(flow, ETDRK4(), start, 0.01)
    assert max(map(abs, errors.values())) < 1e-7
    given, got = (float(state.budget[f"{which}_energy_from_exchange"]) for which in ("kinetic", "magnetic"))
    assert abs(given) > 1e-3
    assert given == pytest.approx(-got, rel=1e-5)
    assert float(state.budget["magnetic_energy_from_forcing"]) == pytest.approx(0.04, rel=1e-8)


@pytest.mark.thorough
def test_buoyancy_gives_what_the_stratification_takes(make_grid):
    grid = make_grid((12, 8, 12), devices=2)
    flow = Boussinesq(grid, 0.02, 0.01, buoyancy_frequency=1.5, rotation=0.5)
    b = initial.RandomPhase(peak=2.0)(grid, key=jax.random.key(1))
    errors, state = missing(flow, ETDRK4(), {"velocity": random_flow(grid), "buoyancy": b}, 0.02)
    assert max(map(abs, errors.values())) < 1e-6
    flux, taken = (
        float(state.budget[name]) for name in ("kinetic_energy_from_buoyancy", "potential_energy_from_stratification")
    )
    assert taken == pytest.approx(-flux, rel=1e-12)
    assert abs(flux) > 1e-4


@pytest.mark.parametrize("form", ["1j*A*conj(dx(A))", "-1j*conj(A)*dx(A)"])
def test_the_momentum_of_a_wave_decays_as_its_mass_does(make_grid, form):
    """Of one plane wave, exp(i n x), it is n times the mass; the damping is a cause with a name."""
    Wave = sw.write(
        "dt(A) = 1j*lap(A) - cause(loss, 0.3*A) - 1j*abs(A)**2*A",
        {"A": "wavefunction"},
        energies={"mass": "abs(A)**2", "momentum": form},
    )
    grid = make_grid((16,), devices=1, real=False)
    wave = jnp.exp(2j * grid.coordinates()[0])[None]
    errors, state = missing(Wave(grid), IFRK4(), wave, 0.01, end=0.5)
    assert max(map(abs, errors.values())) < 1e-8
    changes = {name: float(state.budget[f"{name}_from_loss"]) for name in ("mass", "momentum")}
    assert changes["mass"] == pytest.approx(np.exp(-0.3) - 1, rel=1e-7)
    assert changes["momentum"] == pytest.approx(2 * changes["mass"], rel=1e-10)


@pytest.mark.thorough
def test_aliased_products_show_in_the_budget(make_grid):
    """Two-thirds conserves energy in its products; without dealiasing they make and lose it."""
    open_by = {}
    for rule in ("two-thirds", "none"):
        grid = make_grid((16, 16), devices=2, dealias=rule)
        sharp = sw.sample(lambda x, y: (jnp.sin(5 * y) + jnp.sin(6 * x + 5 * y) * 5, -6 * jnp.sin(6 * x + 5 * y)), grid)
        open_by[rule] = abs(missing(NavierStokes(grid, 0.0), IFRK4(), sharp, 0.001, end=0.05)[0]["energy"])
    assert open_by["two-thirds"] < 1e-9
    assert open_by["none"] > 1e-5


class Decay(sw.Equation):
    """Every mode decays; the default series."""

    rate_of_decay: float = 1.0

    name = "decay"
    fields = {"u": sw.Field(units="m")}  # noqa: RUF012

    def linear(self):
        return sw.Diagonal({"u": -self.rate_of_decay * jnp.ones(self.grid.spectral_shape)})

    def nonlinear(self, fields, t):
        return {"u": 0.1 * fields["u"]}

    def rate(self, fields):
        return jnp.ones(())


def test_a_run_reports_its_budget_and_warns_when_it_does_not_close(make_grid, tmp_path):
    equation, stepper = Decay(make_grid((8,), devices=1)), IFRK2()
    u = jnp.cos(jnp.arange(8) * np.pi / 4)
    state = sw.initial_state(equation, stepper, u)
    for name, step in (("fine", 0.01), ("coarse", 0.5)):
        outputs = [sw.outputs.Series(every_steps=1)]
        sw.run(equation, stepper, state, end=1.0, step=step, directory=tmp_path / name, outputs=outputs)
        log = (tmp_path / name / "log.txt").read_text()
        assert log.count("the budget of energy misses") == (name == "coarse")
    rows = sw.io.read_series(tmp_path / "fine" / "series.csv")
    assert "energy_from_linear [(m)^2]" in (tmp_path / "fine" / "series.csv").read_text().splitlines()[0]
    balance = rows["energy"][0] + rows["energy_from_linear"] + rows["energy_from_nonlinear"]
    np.testing.assert_allclose(balance, rows["energy"], atol=1e-5)
    expected = rows["energy"][0] * np.exp(-1.8)  # E_t = −2 · 0.9 E, of which the linear part is 10/9
    assert rows["energy"][-1] == pytest.approx(expected, rel=1e-4)
    assert rows["energy_from_linear"][-1] == pytest.approx(10 / 9 * (expected - rows["energy"][0]), rel=1e-4)


def test_a_run_without_a_budget_has_none(make_grid, tmp_path):
    equation, stepper = Decay(make_grid((8,), devices=1), energy_budget=False), IFRK2()
    state = sw.initial_state(equation, stepper, jnp.cos(jnp.arange(8) * np.pi / 4))
    assert (state.budget, state.energies) == ({}, {})
    outputs = [sw.outputs.Series(every_steps=1)]
    sw.run(equation, stepper, state, end=0.1, step=0.01, directory=tmp_path / "plain", outputs=outputs)
    assert list(sw.io.read_series(tmp_path / "plain" / "series.csv")) == ["step", "t", "dt", "energy", "cfl"]
