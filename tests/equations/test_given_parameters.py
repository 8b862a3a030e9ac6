"""Parameters of a text that are fields of values at the points, or functions with arrays, such as networks."""

import pickle
import re

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import refused_in_one_line

import solver as sw
from solver.steppers import IFRK4

pytestmark = pytest.mark.slow


class Closure(eqx.Module):
    """A cubic with coefficients that are learned, and a word that is static."""

    weights: jax.Array
    sign: str = "plus"

    def __call__(self, u):
        return {"plus": 1, "minus": -1}[self.sign] * (self.weights[0] * u + self.weights[1] * u**3)


LEARNED = sw.write("dt(u) = nu*lap(u) + learned(u)", fields={"u": "scalar"}, functions=["learned"])
CHANNEL = sw.write(
    ["dt(h) = -div(h*u)", "dt(u) = -grad(h + b) - r*u"], fields={"h": "scalar", "u": "vector"}, at_points=["b", "r"]
)


def last(equation, state, name="u"):
    return sw.rollout(equation, IFRK4(), state, step=0.05, steps=4, every=4)[1][name][-1]


def test_values_at_the_points_multiply_there(make_grid):
    """u_t = −c(x) u at each point by itself, and h_t = −b_x of a topography: both exact solutions."""
    grid = make_grid((12,), 1, dealias="none")
    [x] = grid.coordinates()
    c = 1 + 0.5 * jnp.cos(x)
    decay = sw.write("dt(u) = -c*u", fields={"u": "scalar"}, at_points=["c"])(grid, c=c)
    state = sw.initial_state(decay, IFRK4(), jnp.sin(x))
    np.testing.assert_allclose(last(decay, state)[0], np.sin(x) * np.exp(-0.2 * c), atol=1e-7)
    slope = sw.write("dt(h) = -dx(b)", fields={"h": "scalar"}, at_points=["b"])(grid, b=jnp.sin(2 * x))
    state = sw.initial_state(slope, IFRK4(), jnp.zeros(12))
    np.testing.assert_allclose(last(slope, state, "h")[0], -0.4 * np.cos(2 * x), atol=1e-14)


def channel(grid, b, r):
    u = jnp.asarray(np.random.default_rng(2).normal(size=(3, 9, 12)))
    equation = CHANNEL(grid, b=b, r=r)
    return equation, sw.initial_state(equation, IFRK4(), {"h": 3 + 0.1 * u[0], "u": 0.1 * u[1:]})


@pytest.mark.parametrize("devices", [1, 4])
def test_gradients_of_values_at_the_points_against_differences(make_grid, devices):
    """Of a topography, and of a coefficient that depends on x alone; the same on all numbers of devices."""
    grid = make_grid((9, 12), devices)
    draws = np.random.default_rng(4)
    at = {"b": jnp.asarray(draws.normal(size=(9, 12))), "r": jnp.asarray(draws.uniform(size=(9, 1)))}
    towards = jax.tree.map(lambda v: jnp.asarray(draws.normal(size=v.shape)), at)

    @jax.jit
    def loss(given):
        equation, state = channel(grid, **given)
        return jnp.sum(last(equation, state) ** 3)

    h, moved = 1e-4, lambda s: jax.tree.map(lambda v, d: v + s * d, at, towards)
    slopes = jax.grad(loss)(at)
    slope = sum(jnp.sum(slopes[name] * towards[name]) for name in at)
    difference = (8 * (loss(moved(h)) - loss(moved(-h))) - loss(moved(2 * h)) + loss(moved(-2 * h))) / (12 * h)
    assert float(slope) == pytest.approx(float(difference), rel=1e-7)
    if devices > 1:
        alone, state = channel(make_grid((9, 12), 1), **at)
        assert float(loss(at)) == pytest.approx(float(jnp.sum(last(alone, state) ** 3)), rel=1e-12)


@pytest.mark.parametrize("devices", [1, 4])
def test_gradients_of_a_function_with_arrays_against_differences(make_grid, devices):
    grid = make_grid((9, 12), devices)
    u = jnp.asarray(np.random.default_rng(5).normal(size=(9, 12)))

    @jax.jit
    def loss(weights):
        equation = LEARNED(grid, 0.1, learned=Closure(weights, "minus"))
        return jnp.sum(last(equation, sw.initial_state(equation, IFRK4(), u)) ** 4)

    at, h = jnp.asarray([0.3, 0.5]), 1e-4
    difference = [(loss(at + h * e) - loss(at - h * e)) / (2 * h) for e in jnp.eye(2)]
    np.testing.assert_allclose(jax.grad(loss)(at), difference, rtol=1e-6)
    several = jax.vmap(loss)(jnp.stack([at, 2 * at]))
    np.testing.assert_allclose(several, [loss(at), loss(2 * at)], rtol=1e-12)


def test_a_function_with_arrays_in_a_text_is_a_default(make_grid, programs_compiled):
    grid, net = make_grid((8,), 1), Closure(jnp.asarray([0.3, 0.5]))
    cls = sw.write("dt(u) = nu*lap(u) + learned(u)", fields={"u": "scalar"}, functions={"learned": net})
    u = jnp.sin(grid.coordinates()[0])
    equation, same = cls(grid, 0.1), LEARNED(grid, 0.1, learned=net)
    state = sw.initial_state(same, IFRK4(), u)
    after = last(same, state)
    np.testing.assert_array_equal(last(equation, state), after)
    np.testing.assert_array_equal(last(pickle.loads(pickle.dumps(equation)), state), after)
    before = programs_compiled()
    other = last(LEARNED(grid, 0.1, learned=Closure(net.weights * 2)), state)
    assert programs_compiled() - before <= 1  # the factor
    np.testing.assert_array_equal(last(cls(grid, 0.1, learned=Closure(net.weights * 2)), state), other)
    assert float(jnp.abs(other - after).max()) > 0.01
    plain = last(LEARNED(grid, 0.1, learned=lambda u: 0.3 * u + 0.5 * u**3), state)
    np.testing.assert_allclose(plain, after, atol=1e-15)


class Convolution(eqx.Module):
    """A layer over all points of a periodic box, from two fields to two; `n` says which of the two is wanted."""

    layer: eqx.nn.Conv2d

    def __call__(self, u, v, n):
        return self.layer(jnp.stack([u, v]))[int(n)]


MIXING = sw.write(
    ["dt(u) = nu*lap(u) + f(u, u*v, 0)", "dt(v) = nu*lap(v) + f(u, u*v, 1) + g(u)"],
    fields={"u": "scalar", "v": "scalar"},
    functions=["f", "g"],
    of_whole_fields=["f"],
)


@pytest.mark.thorough
@pytest.mark.parametrize("devices", [1, 4])
def test_a_convolution_of_whole_fields(make_grid, devices):
    """Its values against a sum over neighbours, its gradient against a difference; a function of a point beside it."""
    grid = make_grid((9, 12), devices, dealias="none")
    layer = eqx.nn.Conv2d(2, 2, 3, padding="SAME", padding_mode="CIRCULAR", key=jax.random.key(1), dtype=jnp.float64)
    u, v = jnp.asarray(np.random.default_rng(5).normal(size=(2, 9, 12)))

    def equation_of(layer):
        return MIXING(grid, 0.1, f=Convolution(layer), g=lambda u: u**2)

    equation = equation_of(layer)
    state = sw.initial_state(equation, IFRK4(), {"u": u, "v": v})
    u, v = (np.asarray(equation.to_physical(state.field)[name][0]) for name in "uv")
    found = equation.to_physical(equation.nonlinear(state.field, 0.0))
    near = [np.roll(w, (1 - i, 1 - j), (0, 1)) for w in (u, u * v) for i in range(3) for j in range(3)]
    whole = np.einsum("on,nxy->oxy", layer.weight.reshape(2, 18), near) + np.asarray(layer.bias)
    space = equation.space("u")
    wanted = space.inverse(space.forward(whole + jnp.stack([0 * u, u**2])))
    np.testing.assert_allclose(jnp.concatenate([found["u"], found["v"]]), wanted, atol=1e-13)

    @jax.jit
    def loss(weight):
        return jnp.sum(last(equation_of(eqx.tree_at(lambda own: own.weight, layer, weight)), state) ** 2)

    towards, h = jnp.asarray(np.random.default_rng(6).normal(size=layer.weight.shape)), 1e-5
    difference = (loss(layer.weight + h * towards) - loss(layer.weight - h * towards)) / (2 * h)
    assert float(jnp.sum(jax.grad(loss)(layer.weight) * towards)) == pytest.approx(float(difference), rel=1e-7)


def test_what_cannot_be_such_a_parameter_is_refused(make_grid):
    grid = make_grid((8,), 1)
    with refused_in_one_line("learned is of type float: a function, or a pytree that can be called, is needed"):
        LEARNED(grid, 0.1, learned=3.0)
    given = sw.write("dt(u) = -c*u", fields={"u": "scalar"}, at_points=["c"])
    with refused_in_one_line(r"c of shape \[9\]: values at the points are needed, \[8\]"):
        given(grid, c=jnp.ones(9))
    with refused_in_one_line("c .*finite numbers at the points is needed, which is not complex"):
        given(grid, c=1j * jnp.ones(8))
    with refused_in_one_line("at_points: 'u' is a field or a definition already"):
        sw.write("dt(u) = -u", fields={"u": "scalar"}, at_points=["u"])
    with refused_in_one_line("function 'learned' is a Closure, which holds arrays: functions = "):
        sw.Text("dt(u) = learned(u)", fields={"u": "scalar"}, functions={"learned": Closure(jnp.ones(2))})
    with refused_in_one_line("of_whole_fields of 'g'; known are f"):
        sw.write("dt(u) = f(u)", fields={"u": "scalar"}, functions=["f"], of_whole_fields=["g"])
    unsaid = sw.write("dt(u) = f(u)", fields={"u": "scalar"}, functions=["f"])
    with pytest.raises(ValueError, match=r"is not pointwise.* belongs into of_whole_fields"):
        unsaid(grid, f=lambda u: u[::-1]).nonlinear({"u": jnp.zeros((1, 3), complex)}, 0.0)
    said = sw.write("dt(u) = f(u)", fields={"u": "scalar"}, functions=["f"], of_whole_fields=["f"])
    with pytest.raises(ValueError, match=r"the function 'f' gives float64\[4\]: .* is needed, real \[8\]"):
        said(make_grid((8,), 1, dealias="none"), f=lambda u: u[::2]).nonlinear({"u": jnp.zeros((1, 5), complex)}, 0.0)
    moved = said(make_grid((8,), 1, dealias="phase-shift-alternating"), f=lambda u: u[::-1])
    with pytest.raises(ValueError, match="points"):
        sw.initial_state(moved, IFRK4(), jnp.ones(8))
    shifted = given(make_grid((8,), 1, dealias="phase-shift-alternating"), c=jnp.ones(8))
    with pytest.raises(ValueError, match="points"):
        sw.initial_state(shifted, IFRK4(), jnp.ones(8))


@pytest.mark.parametrize(
    ("term", "message"),
    [
        ("u/a", "1/a with a = 0.0 is inf: a finite number is needed"),
        ("lap(u)*a**(-2)", "a⁻² with a = 0.0 is inf: a finite number is needed"),
        ("big**2*dx(u)", "big² with big = 1e+200 is inf: a finite number is needed"),
        ("(1 + log(a))*u**2", "log(a) with a = 0.0 is -inf: a finite number is needed"),
        ("sqrt(a - 1)*x", "sqrt(a − 1) with a = 0.0 is nan: a finite number is needed"),
        ("where(a > 0, 1/a, 2)*u + where(big < 1, big**2, 1)*u", ""),
    ],
)
@pytest.mark.parametrize("walls", ["", "y"], ids=["periodic", "walls"])
def test_constants_that_overflow_are_refused(walls, term, message):
    """In a branch of `where` that is not chosen they pass."""
    conditions = ["u(bottom) = 0", "u(top) = 0"] if walls else []
    stated = sw.write([f"dt(u) = nu*lap(u) - {term} + 0*(a + big)", *conditions], fields={"u": "scalar"})
    grid = sw.Grid((6, 9), (1.0, 1.0), walls=walls or None, mesh=sw.device_mesh([0]))
    make = lambda: stated(grid, nu=1.0, a=0.0, big=1e200)  # noqa: E731
    if message:
        with refused_in_one_line(re.escape(message)):
            make()
        return
    stepper = sw.steppers.Krogstad4() if walls else sw.steppers.ETDRK2()
    y = grid.coordinates()[1]
    u = y * (1 - y) * jnp.ones((1, 6, 9))
    state = sw.integrate(equation := make(), stepper, sw.initial_state(equation, stepper, u), step=0.01, steps=2)
    assert bool(jnp.all(jnp.isfinite(state.field["u"])))
