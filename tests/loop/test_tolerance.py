"""Steps chosen by an error estimate: the error follows the tolerance, rejected steps are counted, restarts agree."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import solver as sw
from solver import assemble
from solver.assemble.registry import Registry
from solver.config import ConfigError
from solver.config.toml import cases
from solver.equations import NavierStokes
from solver.forcing import Forcing
from solver.grid import Storage
from solver.loop.steps import relative_error

pytestmark = pytest.mark.slow

STEPPERS = [Registry().find("stepper", name).cls() for name in Registry().names("stepper")]
WITH_ESTIMATE = [stepper for stepper in STEPPERS if stepper.error_order is not None]


class Pulse(sw.Equation):
    """u_t = −k² u/100 + a short pulse at t = 1: one time scale far below the rest."""

    name = "pulse"
    fields = {"u": sw.Field()}  # noqa: RUF012

    def linear(self):
        return sw.Diagonal({"u": -0.01 * self.grid.k_squared()})

    def nonlinear(self, fields, t):
        push = jnp.exp(-(((t - 1) / 0.02) ** 2)) / (0.02 * np.sqrt(np.pi))
        return {"u": push * fields["u"]}

    def rate(self, fields):
        return jnp.ones(())

    def end(self, u):
        """Exactly, at t = 2, of a wave with k = 1."""
        return u * np.exp(-0.02 + 1)


def advanced(equation, stepper, state, end, tolerance, **options):
    *_, last = sw.evolve(equation, stepper, state, end=end, tolerance=tolerance, **options)
    return last


@pytest.mark.parametrize("stepper", WITH_ESTIMATE, ids=lambda s: s.name)
def test_the_error_follows_the_tolerance(make_grid, stepper):
    grid = make_grid((8,), devices=1)
    equation = Pulse(grid)
    u = sw.sample(lambda x: jnp.cos(x), grid)
    errors, steps = [], []
    for tolerance in (1e-4, 1e-7):
        last = advanced(equation, stepper, sw.initial_state(equation, stepper, u), 2.0, tolerance, max_step=0.1)
        assert float(last.t) == 2.0
        errors.append(float(jnp.abs(equation.to_physical(last.field)["u"][0] - equation.end(u)).max()))
        steps.append(int(last.step))
        assert int(last.rejected) > 0, "a pulse that comes unannounced makes a step be taken again"
    assert errors[0] < 100 * 1e-4
    assert errors[1] < 100 * 1e-7 * np.e
    # steps grow as tolerance^(−1/(q + 1)) where they are short
    assert 1.2 < steps[1] / steps[0] < 1.5 * 1e3 ** (1 / (stepper.error_order + 1))


def test_a_fixed_step_as_long_as_the_mean_one_misses_the_pulse(make_grid):
    """What the control is for."""
    stepper = sw.steppers.IFRK3()
    equation = Pulse(make_grid((8,), devices=1))
    u = sw.sample(lambda x: jnp.cos(x), equation.grid)
    start = sw.initial_state(equation, stepper, u)
    last = advanced(equation, stepper, start, 2.0, 1e-4, max_step=0.1)
    *_, fixed = sw.evolve(equation, stepper, start, end=2.0, step=2.0 / (int(last.step) + int(last.rejected)))
    miss = lambda state: float(jnp.abs(equation.to_physical(state.field)["u"][0] - equation.end(u)).max())  # noqa: E731
    assert miss(fixed) > 10 * miss(last)


def test_times_to_be_met_close_together_cost_few_steps(make_grid):
    """A step of almost nothing between two of them does not make those after it short."""
    stepper, flow = sw.steppers.IFRK3(), NavierStokes(make_grid((16, 16), devices=1), 0.02)
    u = sw.initial.RandomPhase(peak=3.0)(flow.grid, flow.fields["velocity"], jax.random.key(0))
    start, taken = sw.initial_state(flow, stepper, u), []
    for times in ((0.25,), (0.25, 0.2500001)):
        last = advanced(flow, stepper, start, 2.0, 1e-4, pauses=[sw.Schedule(every_time=t) for t in times])
        taken.append(int(last.step) + int(last.rejected))
    assert taken[1] <= taken[0] + 8 + 2, "seven steps of almost nothing, and hardly more of the others"


class Chain(Pulse):
    """a = cos t drives b, which drives c, in units in which c stays small; nothing says how large it will be."""

    name = "chain"
    fields = {name: sw.Field() for name in "abc"}  # noqa: RUF012

    def linear(self):
        return sw.Diagonal({name: jnp.zeros(self.grid.spectral_shape) for name in "abc"})

    def nonlinear(self, fields, t):
        return {"a": -jnp.tan(t) * fields["a"], "b": fields["a"], "c": 1e-3 * fields["b"]}


class ScaledChain(Chain):
    """The same, which says how large b and c will be."""

    name = "scaled-chain"

    def error_scales(self, sizes):
        return {"a": sizes["a"], "b": sizes["a"], "c": 1e-3 * sizes["a"]}


@pytest.mark.parametrize(("cls", "most"), [(Chain, 800), (ScaledChain, 120)])
def test_a_field_may_start_at_zero_and_grow_as_the_square_of_time(make_grid, cls, most):
    """c = (1 − cos t)/1000. Relative to itself its error is as large at any step, and no step was short enough."""
    equation = cls(make_grid((4,), devices=1))
    ones = jnp.ones((1, 4))
    start = sw.initial_state(equation, sw.steppers.IFRK2(), {"a": ones, "b": 0 * ones, "c": 0 * ones})
    last = advanced(equation, sw.steppers.IFRK2(), start, 1.0, 1e-4)
    assert int(last.step) < most
    assert int(last.rejected) < 20
    assert float(last.field["c"][0, 0].real) == pytest.approx(1e-3 * (1 - np.cos(1.0)), rel=1e-3)


def test_buoyancy_that_starts_at_zero_counts_as_much_as_velocity(make_grid):
    """A Taylor–Green vortex without buoyancy took 4081 steps for 34: b grows as t² from rest."""
    equation = sw.equations.Boussinesq(make_grid((4, 4, 4), devices=1), 0.02, 0.02, 2.0)
    scales = equation.error_scales({"velocity": jnp.asarray(0.5), "buoyancy": jnp.zeros(())})
    assert {name: float(value) for name, value in scales.items()} == {"velocity": 0.5, "buoyancy": 1.0}


def test_coefficients_that_are_kept_are_as_real_as_a_mean_field_of_zero_leaves_them(make_grid):
    """Without a mean field L couples nothing, and is real; with an array of zero it is complex."""
    grid, stepper = make_grid((6, 6, 6), devices=1), sw.steppers.IFRK2()
    start = {name: sw.sample(lambda x, y, z: jnp.sin(x) * jnp.cos(y + z), grid)[None] for name in ("vorticity", "flux")}
    ends = []
    for mean_field in (0.0, jnp.asarray(0.0)):
        equation = sw.equations.ReducedMHD(grid, mean_field=mean_field, viscosity=0.1)
        state = sw.initial_state(equation, stepper, start)
        ends.append(list(sw.evolve(equation, stepper, state, end=0.1, tolerance=1e-4, max_step=0.02))[-1])
    for name in start:
        np.testing.assert_allclose(ends[0].field[name], ends[1].field[name], atol=1e-14)


@pytest.mark.parametrize("age", [1.0, 1e9])
def test_a_passive_scalar_of_large_numbers_counts_for_itself_alone(make_grid, age):
    """In units in which an age is 1e9 the floor of the vorticity was a millionth of that; a small one has a floor."""
    grid = make_grid((12, 12), devices=1)
    flow = sw.equations.Vorticity(grid, 0.1, scalars={"age": sw.PassiveScalar(0.1)})
    eddies = sw.sample(lambda x, y: jnp.cos(2 * x) * jnp.sin(y) + jnp.sin(x + 3 * y), grid)
    fields = flow.from_physical({"vorticity": eddies[None], "age": jnp.full((1, *grid.shape), age)})
    wrong = {"vorticity": 1e-3 * fields["vorticity"], "age": 0 * fields["age"]}
    assert float(relative_error(wrong, fields, fields, (flow, flow))) == pytest.approx(1e-3)
    small = {**fields, "age": 1e-9 / age * fields["age"]}
    wrong = {"vorticity": 0 * fields["vorticity"], "age": small["age"]}
    assert float(relative_error(wrong, small, small, (flow, flow))) == pytest.approx(1e-3 / np.sqrt(0.75))


class Switched(Forcing):
    """Nothing until t = 0.2, growth from then on: steps are refused where it begins."""

    def start(self, space, key):
        return jnp.zeros((), space.grid.dtype)

    def state_storage(self, field):
        return Storage("host")

    def advance(self, state, key, dt, space):
        return state + dt

    def force(self, state, u_hat, space, change=None):
        return jnp.where(state > 0.2, 5.0, 0.0) * u_hat


def forced(make_grid, devices=2):
    grid = make_grid((16, 12), devices=devices)
    return NavierStokes(grid, 0.02, forcing=Switched())


def test_restarts_chunks_and_devices_take_the_same_steps(make_grid, tmp_path):
    stepper, pauses = sw.steppers.IFRK4(), [sw.Schedule(every_time=0.125)]
    ends = []
    for devices, chunk in ((2, 1000), (2, 3), (1, 1000)):
        flow = forced(make_grid, devices)
        start = sw.initial_state(flow, stepper, sw.initial.TaylorGreen()(flow.grid), seed=2)
        ends.append(advanced(flow, stepper, start, 0.5, 1e-6, pauses=pauses, chunk=chunk))
    whole, chunked, alone = ends
    assert int(whole.rejected) > 0
    jax.tree.map(np.testing.assert_array_equal, whole.replace(key=()), chunked.replace(key=()))
    assert (int(alone.step), int(alone.rejected)) == (int(whole.step), int(whole.rejected))
    assert float(alone.dt) == pytest.approx(float(whole.dt), rel=1e-6)
    flow = forced(make_grid)
    start = sw.initial_state(flow, stepper, sw.initial.TaylorGreen()(flow.grid), seed=2)
    path = sw.io.save_checkpoint(tmp_path, advanced(flow, stepper, start, 0.25, 1e-6, pauses=pauses), flow.grid)
    again = advanced(flow, stepper, sw.io.load_checkpoint(path, flow, stepper), 0.5, 1e-6, pauses=pauses)
    jax.tree.map(np.testing.assert_array_equal, again.replace(key=()), whole.replace(key=()))


def test_the_series_counts_rejected_steps(make_grid, tmp_path):
    stepper, equation = sw.steppers.IFRK3(), Pulse(make_grid((8,), devices=1))
    start = sw.initial_state(equation, stepper, sw.sample(lambda x: jnp.cos(x), equation.grid))
    last = sw.run(
        equation, stepper, start, end=2.0, tolerance=1e-5, max_step=0.1, directory=tmp_path / "run",
        outputs=[sw.outputs.Series(every_steps=1)],
    )  # fmt: skip
    rows = sw.io.read_series(tmp_path / "run" / "series.csv")
    assert rows["rejected"][-1] == int(last.rejected) > 0
    assert len(rows["step"]) == int(last.step) + 1
    assert np.all(np.diff(rows["rejected"]) >= 0)
    # the first row at which a step was rejected is about the pulse
    assert 0.5 < rows["t"][np.argmax(rows["rejected"] > rows["rejected"][1])] < 1.1


def test_a_stepper_without_an_estimate_is_refused(make_grid, tmp_path):
    flow = forced(make_grid)
    for stepper in (sw.steppers.LSRK3(), sw.steppers.ETDRK4()):
        start = sw.initial_state(flow, stepper, sw.initial.TaylorGreen()(flow.grid), seed=2)
        with pytest.raises(TypeError, match=rf"{stepper.name} has no error estimate.*ifrk2, ifrk3, ifrk4"):
            advanced(flow, stepper, start, 1.0, 1e-6)
    path = cases()["taylor-green"]
    with pytest.raises(ConfigError, match=r"time.tolerance = 1e-05: stepper lsrk3 has no error estimate"):
        assemble.read_run_file(path, ["time.tolerance=1e-5", "time.stepper=lsrk3", f"output.directory={tmp_path}"])
    with pytest.raises(ValueError, match=r"step=0.1, cfl=None, tolerance=1e-05: one of them is needed"):
        list(sw.evolve(flow, stepper, start, end=1.0, step=0.1, tolerance=1e-5))


def test_random_forcing_is_refused(make_grid):
    """Steps refused for large random numbers, and taken again, would make them rarer: ⟨g²⟩ was 0.957 for 1."""
    forcing = sw.forcing.OrnsteinUhlenbeck(1.0)
    flow, stepper = NavierStokes(make_grid((16, 12), devices=2), 0.02, forcing=forcing), sw.steppers.IFRK3()
    start = sw.initial_state(flow, stepper, sw.initial.TaylorGreen()(flow.grid), seed=2)
    with pytest.raises(ValueError, match=f"a tolerance with forcing {forcing.name} of velocity, which is"):
        advanced(flow, stepper, start, 1.0, 1e-4)
