"""Functions of the user's that multiply modes: `symbol(name, f)`."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import refused_in_one_line

import solver as sw
from solver.written import WrittenError


def speed(k):
    """√(tanh k/k) of long waves on water of depth 1."""
    return jnp.where(k == 0, 1.0, jnp.sqrt(jnp.tanh(k) / jnp.where(k == 0, 1.0, k)))


WHITHAM = "dt(u) = -symbol(speed, dx(u)) - 1.5*u*dx(u)"


def made(function, text=WHITHAM, **more):
    return sw.write(text, {"u": "scalar"}, functions={"speed": function}, **more)


def start(equation, values):
    return sw.initial_state(equation, sw.steppers.ETDRK4(), {"u": jnp.asarray(values)[None]})


@pytest.mark.thorough  # tests/reference/test_texts.py sees the same
@pytest.mark.slow
def test_small_waves_travel_at_whitham_s_speed(make_grid):
    grid, n, small = make_grid((32,), devices=1, lengths=7.0), 3, 1e-9
    equation, x = made(speed)(grid), np.asarray(grid.coordinates()[0])
    wave = lambda t: small * np.cos(n * k * x - np.sqrt(n * k * np.tanh(n * k)) * t)  # noqa: E731
    k = 2 * np.pi / 7.0
    after = sw.integrate(equation, sw.steppers.ETDRK4(), start(equation, wave(0.0)), step=0.5, steps=40)
    np.testing.assert_allclose(equation.to_physical(after.field)["u"][0], wave(20.0), rtol=0, atol=1e-6 * small)


@pytest.mark.slow
def test_a_symbol_that_is_a_parameter_of_the_equation_has_a_gradient(make_grid):
    Damped = sw.write("dt(u) = -symbol(net, u)", {"u": "scalar"}, functions=["net"])
    grid = make_grid((16,), devices=1)
    values, size = jnp.sin(2 * grid.coordinates()[0]), jnp.asarray(0.1)

    def left(size):
        equation = Damped(grid, net=jax.tree_util.Partial(lambda size, k: size * k**2, size))
        after = sw.integrate(equation, sw.steppers.ETDRK4(), start(equation, values), step=0.1, steps=2)
        return jnp.sum(after.field["u"].real ** 2 + after.field["u"].imag ** 2)

    value, slope = jax.value_and_grad(left)(size)
    np.testing.assert_allclose([value, slope], [np.exp(-0.16) / 4, -1.6 * np.exp(-0.16) / 4], rtol=1e-12)


def test_what_a_symbol_does_to_an_energy_is_told_by_its_kind():
    """One of |k| is even, so that it changes no energy behind dx; of one of kx and ky nothing is known."""
    causes = lambda made, grid: set(made(grid).derived.energies["energy"].causes)  # noqa: E731
    linear = lambda made, d: made(sw.Grid((8,) * d, mesh=sw.device_mesh([0]))).derived.energies["energy"].linear  # noqa: E731
    assert linear(made(speed), 1) is None
    assert linear(made(speed, "dt(u) = -symbol(speed, u)"), 1) is not None
    assert linear(made(lambda kx, ky: 1j * kx, "dt(u) = -symbol(speed, u)"), 2) is not None
    damped = made(speed, "dt(u) = cause(damping, -symbol(speed, u))")
    assert causes(damped, sw.Grid((8,), mesh=sw.device_mesh([0]))) == {"damping"}


def test_the_text_is_shown_and_printed_as_it_is_read():
    text = made(speed, "dt(u) = -2*symbol(speed, u + dx(u))*u").text
    assert text.table["write"] == ["dt(u) = -2*symbol(speed, u + dx(u))*u"]
    assert text.formula() == "u_t = −(2 speed(∇) (u + ∂x u)) u"


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda k: jnp.sqrt(jnp.tanh(k) / k), r"symbol\(speed, …\) is not finite at k = 0: a number for each mode"),
        (lambda k: 1 / (k > 1.5), "is not finite at k = 0"),
        (lambda k: 1j * k, "has values at −k that are not the conjugates of those at k: it makes 2.0e"),
        (np.tanh, r"symbol\(speed, …\): .*; a function of arrays, in jax.numpy, is needed"),
        (lambda k: 1.0 if k > 2 else 2.0, r"symbol\(speed, …\): .*; a function of arrays, in jax.numpy, is needed"),
        (lambda k: jnp.ones(3), r"gives float64\[3\] of wavenumbers \(11,\): one number for each mode is needed"),
        (lambda k: k > 1, r"gives bool\[11\] of wavenumbers"),
    ],
)
def test_a_function_that_is_no_symbol_is_refused(make_grid, function, message):
    equation = made(function)(make_grid((32,), devices=1))
    with refused_in_one_line(message):
        start(equation, jnp.zeros(32))


@pytest.mark.parametrize(
    ("function", "text", "message"),
    [
        (speed, "dt(u) = symbol(sped, u)", r"of a function that the text does not have; did you mean 'speed'\?"),
        (speed, "dt(u) = symbol(u, speed)", "of a function that the text does not have; known are speed"),
        (speed, "dt(u) = symbol(speed)", r"symbol with 1 arguments: symbol\(name, f\)"),
        (lambda kx, ky, kz, kw: kx, "dt(u) = symbol(speed, u)", r"takes 4 arguments: one, \|k\|, or 3, kx, ky, kz,"),
    ],
)
def test_a_text_that_names_no_symbol_is_refused(function, text, message):
    with pytest.raises(WrittenError, match=message):
        made(function, text)


def test_components_need_as_many_dimensions(make_grid):
    with pytest.raises(ValueError, match=r"2 are known; speed takes 2 arguments: one, \|k\| is needed"):
        made(lambda kx, ky: kx)(make_grid((16,), devices=1))


def test_between_walls_it_has_no_meaning(make_grid):
    with refused_in_one_line("between walls: a function of the wavenumber has no meaning there"):
        walls = {"u": sw.walls.Value(lower=0.0, upper=0.0)}
        made(speed, "dt(u) = lap(u) + symbol(speed, u)")(make_grid((8, 8), devices=1, walls="y"), walls=walls)


def test_outside_of_l_no_rate_is_read_off(make_grid):
    equation = made(speed, "dt(u) = -symbol(speed, u)*dx(u)")(make_grid((16,), devices=1))
    assert "a symbol of your own acts outside L" in equation.why_no_rate
