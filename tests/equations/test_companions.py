"""A companion from outside, tracers in a flow: order, restarts, branches, ensembles, devices, wrong input."""

import textwrap
import tomllib
from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import read_checkpoint, refused_in_one_line
from scipy.integrate import solve_ivp
from written_runs import written

import solver as sw
from solver.cli.main import main
from solver.io import read_series

COUNT, NU = 100, 0.5
STARTS = np.random.default_rng(0).uniform(0, 2 * np.pi, (COUNT, 2))
FILE = textwrap.dedent('''
    import jax.numpy as jnp
    import numpy as np

    import solver as sw


    class Tracers(sw.Companion):
        """Places that a(t) (sin x cos y, -cos x sin y) carries, a the amplitude of the field's first mode along y."""

        def initial(self, equation, fields):
            return jnp.asarray(np.random.default_rng(0).uniform(0, 2 * np.pi, (100, 2)))

        def rates(self, equation, y, fields, changes, t):
            a = 2 * fields["u"][0, 1, 0].real
            return a * jnp.stack([jnp.sin(y[:, 0]) * jnp.cos(y[:, 1]), -jnp.cos(y[:, 0]) * jnp.sin(y[:, 1])], axis=1)

        def series(self, equation, y, fields, t):
            return {"spread": jnp.std(y), "mean_x": jnp.mean(y[:, 0])}

        def units(self, equation):
            return {"spread": "length", "mean_x": "length"}


    class Carrying(sw.Equation):
        """A field that decays, and tracers."""

        text = sw.Text(write=["dt(u) = nu*lap(u)"], fields={"u": "scalar"})
        nu = 0.5

        def own_companions(self):
            return {"tracers": Tracers()}
''')
NAMES: dict = {}
exec(compile(FILE, "carrying.py", "exec"), NAMES)
Tracers, Carrying = NAMES["Tracers"], NAMES["Carrying"]


def begun(stepper, mesh=None, equation=Carrying, precision="float64", **parameters):
    grid = sw.Grid((12, 12), mesh=mesh or sw.device_mesh([0]), precision=precision)
    flow = equation(grid, **parameters)
    return flow, sw.initial_state(flow, stepper, sw.sample(lambda x, y: jnp.cos(y) + 0 * x, grid))


def places(state):
    return np.asarray(state.field["tracers"])


def exact(end):
    """By SciPy: the amplitude of the flow falls off as exp(−ν t)."""

    def rates(t, y):
        x, y = y.reshape(COUNT, 2).T
        return np.exp(-NU * t) * np.stack([np.sin(x) * np.cos(y), -np.cos(x) * np.sin(y)], axis=1).ravel()

    return solve_ivp(rates, (0, end), STARTS.ravel(), rtol=1e-12, atol=1e-12).y[:, -1].reshape(COUNT, 2)


# ---- in Python ------------------------------------------------------------------------------------------------------


@pytest.mark.every_case
@pytest.mark.slow
@pytest.mark.parametrize(("name", "order"), [("IFRK4", 4), ("ETDRK4", 4), ("SBDF2", 2)])
def test_tracers_are_moved_to_the_order_of_the_stepper(name, order):
    stepper = getattr(sw.steppers, name)()
    flow, state = begun(stepper)
    wanted = exact(1.0)
    errors = [np.abs(places(sw.integrate(flow, stepper, state, step=1 / n, steps=n)) - wanted).max() for n in (10, 20)]
    assert errors[1] < 1e-2
    assert np.log2(errors[0] / errors[1]) == pytest.approx(order, abs=0.35)


@pytest.mark.slow
def test_they_are_on_several_devices_what_they_are_on_one():
    stepper = sw.steppers.ETDRK4()
    found = []
    for devices in ([0], [0, 1, 2, 3]):
        flow, state = begun(stepper, sw.device_mesh(devices))
        *_, state = sw.evolve(flow, stepper, state, step=0.05, end=0.5)
        found.append(places(state))
        assert state.field["tracers"].sharding.is_fully_replicated
    np.testing.assert_allclose(found[1], found[0], rtol=0, atol=1e-13)
    np.testing.assert_allclose(found[0], exact(0.5), rtol=0, atol=1e-6)


@pytest.mark.slow
def test_they_are_differentiated():
    """By ν, which they feel through the field alone."""
    stepper = sw.steppers.IFRK4()

    def mean(nu):
        flow, state = begun(stepper, nu=nu)
        return jnp.sum(sw.integrate(flow, stepper, state, step=0.1, steps=5).field["tracers"] ** 2)

    difference = (mean(NU + 1e-5) - mean(NU - 1e-5)) / 2e-5
    assert float(jax.grad(mean)(NU)) == pytest.approx(float(difference), rel=1e-7)


class Pump(sw.Companion):
    """y, of dy/dt = 1, which starts again at 0.35."""

    wrong: bool = eqx.field(default=False, static=True)

    def initial(self, equation, fields):
        return jnp.zeros(())

    def rates(self, equation, y, fields, changes, t):
        return jnp.ones(2 if self.wrong else ())

    def after_step(self, equation, y, step):
        return jnp.mod(y, 0.35)


class Unnamed(Pump):
    """With a column whose units it does not give."""

    def series(self, equation, y, fields, t):
        return {"y": y}


class Pumped(sw.Equation):
    """u_t = y u."""

    fields: ClassVar = {"u": sw.Field("scalar")}

    def linear(self):
        return sw.operators.Diagonal({"u": jnp.zeros(self.grid.spectral_shape)})

    def nonlinear(self, fields, t):
        return {"u": fields["pump"] * fields["u"]}

    def rate(self, fields):
        return jnp.zeros(())


@pytest.mark.slow
def test_they_act_on_the_fields_and_are_told_when_a_step_is_over():
    """u = exp(t²/2) up to where y is put back to zero, after 0.4."""
    stepper = sw.steppers.IFRK4()
    flow, state = begun(stepper, equation=Pumped, companions={"pump": Pump()})
    after = sw.integrate(flow, stepper, state, step=0.1, steps=8)
    assert float(after.field["pump"]) == pytest.approx(0.1, abs=1e-12)  # 0.4 → 0.05, 0.45 → 0.1
    exponent = 0.4**2 / 2 + (0.45**2 - 0.05**2) / 2
    growth = after.field["u"][0, 1, 0] / state.field["u"][0, 1, 0]
    assert float(growth.real) == pytest.approx(np.exp(exponent), rel=1e-7)


@pytest.mark.parametrize("control", [sw.KeepCFL(0.4, max_step=0.1), sw.MeetTolerance(1e-4)])
def test_steps_that_vary_move_them_too(control):
    """In single precision, beside an energy budget."""
    stepper = sw.steppers.IFRK3()
    flow, state = begun(stepper, precision="float32", equation=Advected, companions={"tracers": Tracers()})
    *_, state = sw.evolve(flow, stepper, state, control=control, end=0.5)
    np.testing.assert_allclose(places(state), exact(0.5), rtol=0, atol=3e-3)
    assert state.budget


Advected = sw.write(["dt(u) = 0.5*lap(u) - u*dx(u)"], {"u": "scalar"})


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"u": Pump()}, ValueError, "a field named 'u': another name is needed, that one is taken"),
        ({"budget": Pump()}, ValueError, "a companion named 'budget': another name is needed, that one is taken"),
        ({"tracers": Pump()}, ValueError, "a companion named 'tracers': another name is needed, that one is taken"),
        ([Pump()], TypeError, r"companions = \[.*\]: a dict by name is needed"),
        ({"pump": 1.0}, TypeError, r"companions = .*: a dict by name is needed"),
        ({"pump": Unnamed()}, ValueError, r"companion pump: series\(\) gives y; units\(\) names nothing"),
        ({"pump": Pump(wrong=True)}, ValueError, r"companion pump: rates\(\) gives the shape \[2\]; \[\]"),
    ],
)
def test_wrong_companions_are_refused_in_one_line(given, error, message):
    with refused_in_one_line(message, error):
        begun(sw.steppers.IFRK4(), companions=given)


def test_a_class_without_rates_is_refused():
    class Nothing(sw.Companion):
        def initial(self, equation, fields):
            return jnp.zeros(())

    with pytest.raises(TypeError, match=r"abstract method.*rates"):
        Nothing()


# ---- by command -----------------------------------------------------------------------------------------------------

RUN = """
[grid]
shape = [12, 12]
[equation]
name = "carrying.py:Carrying"
[initial]
name = "cosine"
modes = [0, 1]
[time]
stepper = "STEPPER"
step = 0.05
end = 0.4
[devices]
use = [0, 1]
[output]
directory = "unnamed"
series = { every_steps = 1 }
checkpoints = { every_steps = 4, keep = 10 }
"""


@pytest.fixture
def run_file(tmp_path):
    return written(tmp_path, RUN.replace("STEPPER", "etdrk4"), carrying=FILE)


def column(folder, name):
    return read_series(folder / "series.csv")[name]


def kept(folder, step=8):
    return np.array(read_checkpoint(folder / "checkpoints" / f"step-{step:08d}")[1]["values"]["field/tracers"]["value"])


@pytest.mark.slow
@pytest.mark.parametrize("stepper", ["etdrk4", "sbdf2"])
def test_a_run_keeps_them_resumes_them_to_the_bit_and_branches_from_them(run_file, tmp_path, stepper):
    whole, run, branch = tmp_path / "whole", tmp_path / "run", tmp_path / "branch"
    words = [str(run_file), f"time.stepper='{stepper}'"]
    assert main(["run", *words, f"output.directory={whole}"]) == 0
    assert main(["run", *words, f"output.directory={run}", "time.end=0.2"]) == 0
    assert main(["resume", str(run), "time.end=0.4"]) == 0
    assert (run / "series.csv").read_text() == (whole / "series.csv").read_text()
    np.testing.assert_array_equal(kept(run), kept(whole))
    np.testing.assert_allclose(kept(whole), exact(0.4), rtol=0, atol=1e-6 if stepper == "etdrk4" else 3e-3)
    assert "spread [length], mean_x [length]" in (whole / "series.csv").read_text().splitlines()[0]
    assert column(whole, "spread")[-1] == pytest.approx(np.std(kept(whole)), rel=1e-12)
    assert main(["resume", str(run), "--branch", str(branch), "equation.nu=0.0", "time.end=0.5"]) == 0
    assert column(branch, "mean_x")[0] == column(whole, "mean_x")[-1]
    assert column(branch, "mean_x")[-1] != column(whole, "mean_x")[-1]


@pytest.mark.thorough
@pytest.mark.slow
def test_each_member_of_an_ensemble_has_its_own(run_file, tmp_path):
    text = run_file.read_text() + '[ensemble]\nmembers = 2\ndraw = { "equation.nu" = { uniform = [0.1, 2.0] } }\n'
    run_file.write_text(text)
    into = tmp_path / "many"
    assert main(["run", str(run_file), f"output.directory={into}"]) == 0
    ends = [kept(into / f"member-{i:04d}") for i in range(2)]
    assert np.abs(ends[0] - ends[1]).max() > 1e-3
    for i in range(2):
        alone, member = tmp_path / f"alone-{i}", into / f"member-{i:04d}"
        nu = tomllib.loads((member / "config.toml").read_text())["equation"]["nu"]
        (tmp_path / "one.toml").write_text(RUN.replace("STEPPER", "etdrk4"))
        assert main(["run", str(tmp_path / "one.toml"), f"equation.nu={nu}", f"output.directory={alone}"]) == 0
        assert column(member, "mean_x")[-1] == pytest.approx(column(alone, "mean_x")[-1], rel=1e-12)
