"""Terms that hold t on grids in single precision, whose t is rounded."""

import warnings

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import solver as sw
from solver.cli.main import main

RK4 = sw.steppers.IFRK4()
PUSHED = sw.write("dt(q) = -q + cos(3*t)*exp(0*q)", {"q": "scalar"})
ALONE = sw.write("dt(q) = -q + q**2", {"q": "scalar"})


class Own(sw.Equation):
    """u_t = −u + cos(t) if it is driven, and else −u: its N takes t in any case."""

    driven: bool = False
    name = "own"
    fields = {"q": sw.Field()}  # noqa: RUF012

    def linear(self):
        return sw.Diagonal({"q": -jnp.ones(self.grid.spectral_shape, self.grid.dtype)})

    def nonlinear(self, fields, t):
        unused = jnp.cos(t)
        factor = jax.jit(lambda t, u: jnp.cos(t) * u if self.driven else u)(unused, fields["q"])
        return {"q": 0 * factor}

    def rate(self, fields):
        return jnp.zeros((), self.grid.dtype)


def start(make, t, precision="float32", **options):
    grid = sw.Grid((8,), precision=precision, mesh=sw.device_mesh([0]))
    equation = make(grid, **options)
    return equation, sw.initial_state(equation, RK4, jnp.zeros((1, 8), precision), t=t)


def lines_of(call):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call()
    return [str(warning.message) for warning in caught if issubclass(warning.category, sw.RoundedTime)]


CALLS = {
    "evolve": lambda equation, state, t: list(sw.evolve(equation, RK4, state, end=t + 0.2, step=0.1)),
    "integrate": lambda equation, state, t: sw.integrate(equation, RK4, state, step=0.1, steps=2),
    "integrate to an end": lambda equation, state, t: sw.integrate(
        equation, RK4, state, step=0.1, end=t + 0.2, max_steps=3
    ),
    "rollout": lambda equation, state, t: sw.rollout(equation, RK4, state, step=0.1, steps=2),
}


MEMBERS = {
    "evolve": lambda members, t: list(members.evolve(end=t + 0.2, step=0.1)),
    "integrate": lambda members, t: members.integrate(step=0.1, steps=2),
    "rollout": lambda members, t: members.rollout(step=0.1, steps=2),
}


@pytest.mark.slow
@pytest.mark.parametrize("call", MEMBERS)
def test_members_say_it_once(call):
    equation, state = start(PUSHED, 1e6)
    assert len(lines_of(lambda: MEMBERS[call](sw.Ensemble([equation] * 2, RK4, [state] * 2), 1e6))) == 1


@pytest.mark.parametrize("call", CALLS)
def test_t_that_is_rounded_by_a_share_of_a_step_is_said(call):
    """Float32 numbers at 1e6 are 1/16 apart."""
    assert np.spacing(np.float32(1e6)) == 1 / 16
    [line] = lines_of(lambda: CALLS[call](*start(PUSHED, 1e6), 1e6))
    assert "holds t, which is rounded to 0.0625 at t = 1e+06, in steps of 0.1" in line
    assert '"float64" is needed, or times that begin nearer to 0' in line


@pytest.mark.parametrize(
    ("make", "t", "precision", "options"),
    [
        (PUSHED, 0.0, "float32", {}),
        (PUSHED, 1e6, "float64", {}),
        (ALONE, 1e6, "float32", {}),
        (Own, 1e6, "float32", {}),
    ],
    ids=["early", "double", "no t", "t is given and not used"],
)
def test_nothing_is_said_of_a_time_that_is_exact_or_used_by_nothing(make, t, precision, options):
    equation, state = start(make, t, precision, **options)
    assert not lines_of(lambda: CALLS["evolve"](equation, state, t))


def test_an_equation_of_ones_own_and_a_chosen_step():
    equation, state = start(Own, 1e6, driven=True)
    assert len(lines_of(lambda: CALLS["evolve"](equation, state, 1e6))) == 1
    grid = sw.Grid((8,), precision="float32", mesh=sw.device_mesh([0]))
    equation, stepper = PUSHED(grid), sw.steppers.IFRK3()
    state = sw.initial_state(equation, stepper, jnp.zeros((1, 8), "float32"), t=1e6)
    run = lambda: next(sw.evolve(equation, stepper, state, end=1e6 + 0.2, tolerance=1e-3))  # noqa: E731
    assert len(lines_of(run)) == 1


def test_a_run_and_its_check_say_it_in_one_line(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "run.toml").write_text(
        'title = "a late time"\n[grid]\nshape = [8]\nlengths = ["2 pi"]\nprecision = "float32"\n'
        '[equation]\nname = "written"\nwrite = ["dt(q) = -q + cos(3*t)*exp(0*q)"]\n[equation.fields]\nq = "scalar"\n'
        '[initial]\nname = "uniform"\nvalue = 0.0\n'
        '[time]\nstepper = "ifrk4"\nstep = 0.1\nend = 1e6\n[output]\ndirectory = "out"\n[devices]\nuse = [0]\n'
    )
    assert main(["check", "run.toml"]) == 0
    said = "holds t, which is rounded to 0.0625 at t = 1e+06, in steps of 0.1"
    assert capsys.readouterr().out.count(said) == 1
    equation, state = start(PUSHED, 1e6)
    sw.run(equation, RK4, state, end=1e6 + 0.2, step=0.1, directory=tmp_path / "own")
    assert (tmp_path / "own/log.txt").read_text().count(said) == 1
