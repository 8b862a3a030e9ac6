"""A state stays where its fields belong: real, free of divergence, of zero mean as they declare, whatever moves it."""

from dataclasses import replace
from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from test_same_bits import PAIRS, build

import solver as sw
from solver.dynamics.any_equation import AnyEquation
from solver.loop import BlowUp
from solver.spaces.field import Field
from solver.spaces.manifold import distances


class Gain(sw.forcing.Forcing):
    """Adds to every mode what grows by e in a fifth of a time unit, whether transforms see the mode or not."""

    ranks = ("vector", "scalar", "symmetric tensor")

    def force(self, state, u_hat, space):
        return 5.0 * u_hat


def planted(state, equation):
    """The state, and anything of a millionth of its size added to every mode that is kept."""
    field = {}
    for i, (name, u_hat) in enumerate(state.field.items()):
        noise = jax.random.normal(jax.random.key(i), u_hat.shape, u_hat.dtype)
        size = jnp.maximum(jnp.sqrt(jnp.mean(jnp.abs(u_hat) ** 2)), 1e-3)
        field[name] = u_hat + 1e-6 * size * noise * equation.space(name).fourier.is_kept()
    return state.replace(field=field)


def how_far(state, equation):
    parts_by_field = distances(state.field, equation.spaces)
    return max((float(v) for parts in parts_by_field.values() for v in parts.values()), default=0.0)


def driven(equation):
    """The same equation, every real field of it under `Gain`."""
    return replace(equation, forcing={name: Gain() for name, field in equation.fields.items() if field.real})


# one of each kind, with an equation that has a real field: what all end on is the same code
REAL = ["ifrk4", "sbdf3"]


@pytest.mark.slow
@pytest.mark.parametrize("stepper", REAL)
def test_what_leaves_the_manifold_is_gone_after_three_steps(tmp_path, stepper):
    """The forcing amplifies whatever it finds."""
    run = build(tmp_path, PAIRS[stepper], stepper)
    equation = driven(run.equation)
    state = planted(sw.initial_state(equation, run.stepper, run.initial_fields(), seed=0), equation)
    assert how_far(state, equation) > 1e-8
    after = sw.integrate(equation, run.stepper, state, step=1e-3, steps=3)
    assert how_far(after, equation) < 1e-15


FORCINGS = [
    sw.forcing.ConstantPower(power=0.1, low=1.0, high=2.0),
    sw.forcing.FrozenShells(low=1.0, high=1.0),
    sw.forcing.OrnsteinUhlenbeck(rms=0.3),
    sw.forcing.Kolmogorov(amplitude=0.3, wavenumber=2),
    Gain(),
]


@pytest.mark.slow
@pytest.mark.parametrize("forcing", FORCINGS, ids=lambda forcing: forcing.name)
def test_every_forcing_in_pencils(make_grid, forcing):
    grid = make_grid((12, 12, 12), mesh_shape=(2, 2))
    flow, stepper = sw.equations.NavierStokes(grid, viscosity=0.02, forcing=forcing), sw.steppers.IFRK2()
    state = planted(sw.initial_state(flow, stepper, sw.initial.TaylorGreen()(grid), seed=0), flow)
    assert how_far(state, flow) > 1e-8
    assert how_far(sw.integrate(flow, stepper, state, step=1e-2, steps=3), flow) < 1e-15


@pytest.mark.slow
@pytest.mark.parametrize(
    ("forcing", "precision"),
    [(sw.forcing.ConstantPower(power=0.1), "float64"), (sw.forcing.FrozenShells(), "float32")],
    ids=["constant power", "frozen shells in single precision"],
)
def test_sums_over_modes_are_means_over_points_in_a_long_run(make_grid, forcing, precision):
    """Some 60 turnover times; without the constraint half of the sum is seen by no transform long before."""
    grid = make_grid((16, 16), devices=1, precision=precision)
    flow, stepper = sw.equations.NavierStokes(grid, viscosity=0.03, forcing=forcing), sw.steppers.IFRK3()
    start = sw.initial.RandomPhase(energy=0.5, peak=2.0)(grid, flow.fields["velocity"], jax.random.key(3))
    *_, state = sw.evolve(flow, stepper, sw.initial_state(flow, stepper, start), end=200.0, step=0.05)
    u_hat, at_points = state.field["velocity"], flow.to_physical(state.field)["velocity"].astype(float)
    allowed = {"float64": 1e-12, "float32": 1e-6}[precision]
    square = jnp.mean(jnp.sum(at_points**2, axis=0))
    np.testing.assert_allclose(sw.diagnostics.mean_square(u_hat, grid), square, rtol=allowed)
    assert how_far(state, flow) < allowed


class Unprojected(sw.Equation):
    """u_t = −∇·(u u) + ν∇²u with a velocity that is declared to be free of divergence, and a pressure left to that."""

    viscosity: float = 0.01
    wrong: float = 0.0

    fields = {"velocity": Field("vector", solenoidal=True)}  # noqa: RUF012

    def linear(self):
        return sw.Diagonal({"velocity": -self.viscosity * self.grid.k_squared()})

    def nonlinear(self, fields, t):
        u = self.transform.inverse(fields["velocity"])
        flux = [[self.transform.forward(a * b) for b in u] for a in u]
        change = -jnp.stack([sw.operators.divergence(jnp.stack(row), self.grid) for row in flux])
        return {"velocity": change + self.wrong * 1j * fields["velocity"]}

    def rate(self, fields):
        return jnp.max(jnp.abs(self.transform.inverse(fields["velocity"])))


class Pushed(sw.equations.NavierStokes):
    """A subclass of an equation that projects, with a further term that is a gradient."""

    def nonlinear(self, fields, t):
        slope = sw.operators.gradient(fields["velocity"][0], self.grid)
        return {"velocity": super().nonlinear(fields, t)["velocity"] + slope}


def flows(make_grid, **parameters):
    grid = make_grid((16, 12), devices=2)
    start = sw.initial.RandomPhase(energy=0.5, peak=2.0)(grid, Unprojected.fields["velocity"], jax.random.key(0))
    for flow in (Unprojected(grid, **parameters), Pushed(grid, 0.01), sw.equations.NavierStokes(grid, viscosity=0.01)):
        yield flow, sw.initial_state(flow, sw.steppers.IFRK4(), start)


@pytest.mark.thorough
@pytest.mark.slow
def test_an_equation_need_not_project_its_velocity(make_grid):
    """Stages are projected too: the result is that of Navier–Stokes, not of a method of first order."""
    ends = [sw.integrate(flow, sw.steppers.IFRK4(), start, step=0.02, steps=5) for flow, start in flows(make_grid)]
    for end in ends[:2]:
        np.testing.assert_allclose(end.field["velocity"], ends[2].field["velocity"], atol=1e-15)


@pytest.mark.slow
def test_a_term_that_no_real_field_has_is_refused_before_the_first_step(make_grid):
    (flow, start), *_ = flows(make_grid, wrong=0.5)
    with pytest.raises(ValueError, match=r"Unprojected: .* nonlinear\(\) and forcings add to velocity is not real"):
        next(sw.evolve(flow, sw.steppers.IFRK4(), start, end=1.0, step=0.01))


@pytest.mark.slow
def test_the_watch_warns_and_ends_a_run(make_grid, tmp_path, monkeypatch):
    """Where nothing put the state back, a row of the series would say so."""
    monkeypatch.setattr(AnyEquation, "to_manifold", lambda self, fields: fields)
    grid = make_grid((16, 12), devices=2)
    flow, stepper = sw.equations.NavierStokes(grid, viscosity=0.01), sw.steppers.IFRK2()
    start = sw.initial.RandomPhase(energy=0.5, peak=2.0)(grid, flow.fields["velocity"], jax.random.key(0))
    state = sw.initial_state(flow, stepper, start)

    def run(stray):
        u_hat = state.field["velocity"].at[:, 0, 1].add(stray)  # one mode of the plane k_y = 0, not its mirror image
        astray, series = state.replace(field={"velocity": u_hat}), [sw.outputs.Series(every_steps=1)]
        sw.run(flow, stepper, astray, end=0.02, step=0.02, directory=tmp_path / str(stray), outputs=series)

    run(1e-4)
    log = (tmp_path / "0.0001" / "log.txt").read_text()
    assert log.count("the part of velocity that is not real = ") == 1
    with pytest.raises(BlowUp, match=r"velocity is not free of divergence by .* at most 0.01 is allowed"):
        run(0.1)


def test_a_stepper_gives_advance_and_not_step():
    with pytest.raises(TypeError, match="stepper Mine defines step or step_with_error: advance"):
        type("Mine", (sw.steppers.IFRK2,), {"step": lambda self, *_: None})


class Turning(sw.Equation):
    """u_t = i s u, s the sign of the first wavenumber that is not zero, or 1 if `everywhere`: then no real field."""

    everywhere: bool = eqx.field(static=True, default=True)
    in_linear: bool = eqx.field(static=True, default=True)

    name = "turning"
    fields: ClassVar = {"u": sw.Field("scalar")}

    def symbol(self):
        kx, ky = (jnp.asarray(k) for k in self.grid.wavenumbers())
        sign = jnp.where(kx != 0, jnp.sign(kx), jnp.sign(ky))
        return 1j * (jnp.ones_like(kx + ky) if self.everywhere else sign)

    def linear(self):
        factor = self.symbol() if self.in_linear else 0 * self.symbol()
        return sw.Diagonal({"u": factor * self.grid.is_kept()})

    def nonlinear(self, fields, t):
        return {"u": (0 if self.in_linear else self.symbol()) * fields["u"]}

    def rate(self, fields):
        return jnp.asarray(1.0)


@pytest.mark.slow
@pytest.mark.parametrize("in_linear", [True, False], ids=["L", "N"])
@pytest.mark.parametrize("door", ["integrate", "rollout", "evolve"])
def test_a_symbol_that_no_real_field_has_is_refused_at_every_door(make_grid, door, in_linear):
    """cos y does not excite the planes of kx whose modes are their own mirror; random modes do."""
    grid, stepper = make_grid((16, 16), 2), sw.steppers.ETDRK2()
    values = jnp.broadcast_to(jnp.cos(2 * jnp.pi * jnp.arange(16) / 16), (1, 16, 16))

    def run(equation):
        state = sw.initial_state(equation, stepper, values)
        if door == "evolve":
            return list(sw.evolve(equation, stepper, state, end=0.2, step=0.1))
        how = {"every": 1} if door == "rollout" else {}
        return getattr(sw, door)(equation, stepper, state, step=0.1, steps=2, **how)

    with pytest.raises(ValueError, match=r"linear\(\) makes .* of a real u not real" if in_linear else "not real"):
        run(Turning(grid, in_linear=in_linear))
    run(Turning(grid, everywhere=False, in_linear=in_linear))
