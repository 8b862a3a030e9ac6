"""A text as a class: what is read off it, its parameters, coordinates and time."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import refused_in_one_line

import solver as sw
from solver.dynamics.write import write
from solver.equations import NavierStokes, Vorticity


def test_what_has_no_divergence_or_no_mean_is_read_off_the_text():
    induction = ["div(b) = 0", "dt(b) = curl(cross(u, b)) + eta*lap(b)", "dt(u) = -u@grad(u) + nu*lap(u)"]
    fields = write(induction, {"u": "vector", "b": "vector"}).fields
    assert fields["b"] == sw.Field("vector", solenoidal=True)
    assert not fields["u"].solenoidal
    define = {"u": "perp(inverse_lap(w))"}
    assert write("dt(w) = -u@grad(w) + nu*lap(w)", {"w": "scalar"}, define=define, means={"w": 0}).fields["w"].zero_mean


def test_the_same_text_is_the_same_class():
    again = write("dt(u) = -u*dx(u) + nu*lap(u)", {"u": "scalar"})
    assert again is write("dt(u) = -u*dx(u) + nu*lap(u)", {"u": "scalar"})
    assert again is not write("dt(u) = -u*dx(u)/2 + nu*lap(u)", {"u": "scalar"})


class Dragged(sw.Equation):
    text = sw.Text(
        write=["dt(u) = -u@grad(u) - grad(p) + nu*lap(u) - drag*u", "div(u) = 0"],
        fields={"u": "vector"},
        unknowns={"p": "scalar"},
    )
    drag = 0.5


@pytest.mark.slow
def test_a_class_attribute_is_a_text_too():
    made = write(Dragged.text.write, dict(Dragged.text.fields), unknowns={"p": "scalar"})
    grid = sw.Grid((16, 16), mesh=sw.device_mesh([0]))
    own, same = Dragged(grid, nu=0.1), made(grid, nu=0.1, drag=0.5)
    fields = own.from_physical({"u": jnp.asarray(np.random.default_rng(3).normal(size=(2, 16, 16)))})
    np.testing.assert_array_equal(own.nonlinear(fields, 0.0)["u"], same.nonlinear(fields, 0.0)["u"])
    np.testing.assert_array_equal(own.linear().entries["u"], same.linear().entries["u"])
    assert jax.tree.leaves(own) == [0.1, 0.5]
    assert Dragged.__doc__ == made.__doc__


def test_a_parent_may_lie_between_a_text_and_equation():
    class Named(sw.Equation):
        nu: float
        name = "named"

    class Heat(Named):
        text = sw.Text(write="dt(u) = nu*lap(u) - drag*u", fields={"u": "scalar"})

    heat = Heat(sw.Grid((16,), mesh=sw.device_mesh([0])), nu=0.1, drag=2.0)
    assert heat.name == "named"
    np.testing.assert_allclose(heat.linear().entries["u"][:2], [-2.0, -2.1], rtol=1e-15)


def test_coordinates_and_time():
    """u_t = cos(t) sin(x) u_x + t, against the derivative at the points."""
    grid = sw.Grid((32,), mesh=sw.device_mesh([0]))
    equation = write("dt(u) = sin(x)*dx(u)*a + t", {"u": "scalar"})(grid, a=2.0)
    [x] = grid.coordinates()
    change = equation.nonlinear(equation.from_physical({"u": jnp.sin(2 * x)[None]}), 0.5)
    values = equation.transform.inverse(change["u"])[0]
    np.testing.assert_allclose(values, 4 * np.sin(x) * np.cos(2 * x) + 0.5, atol=1e-13)


def test_a_linear_term_that_depends_on_time_stays_out_of_the_linear_part():
    """u_t = cos(t) u_xx − u: the first is evaluated at each time, and the derivative of t itself is that of t."""
    grid = sw.Grid((16,), mesh=sw.device_mesh([0]))
    equation = write("dt(u) = cos(t)*lap(u) - u + lap(t*u)/2", {"u": "scalar"})(grid)
    [x] = grid.coordinates()
    fields = equation.from_physical({"u": jnp.sin(2 * x)[None]})
    assert dict(equation.linear().apply(fields)).keys() == {"u"}
    np.testing.assert_allclose(equation.linear().apply(fields)["u"], -fields["u"], atol=1e-14)
    change = equation.transform.inverse(equation.nonlinear(fields, 0.7)["u"])[0]
    np.testing.assert_allclose(change, -4 * (np.cos(0.7) + 0.35) * np.sin(2 * x), atol=1e-13)
    assert any("depends on time" in line for _, line in equation.derivation())


def test_a_speed_that_depends_on_time_tells_no_cfl_number():
    grid = sw.Grid((16,), mesh=sw.device_mesh([0]))
    assert "depend on time" in write("dt(u) = cos(t)*u*dx(u)", {"u": "scalar"})(grid).why_no_rate
    with pytest.raises(ValueError, match="t outside the equations"):
        write("dt(u) = lap(u)", {"u": "scalar"}, series={"a": "t*u"})(grid).check()


def test_a_name_that_equations_have_is_no_parameter():
    with pytest.raises(ValueError, match="'forcing'"):
        write("dt(u) = forcing*lap(u)", {"u": "scalar"})
    with pytest.raises(ValueError, match="'grid'"):
        write("dt(u) = grid*lap(u)", {"u": "scalar"})


# ---- rates ----------------------------------------------------------------------------------------------------------


WIND = write("dt(c) = kappa*lap(c) - U@grad(c)", {"c": "scalar"}, parameters={"kappa": "scalar", "U": "vector"})


@pytest.mark.parametrize(
    ("numbers", "message"),
    [
        ({"U": (1.0, 0.5, 3.0)}, r"U \(1.0, 0.5, 3.0\): 2 numbers are needed"),
        ({"U": (1.0,)}, r"U \(1.0,\): 2 numbers are needed"),
        ({"U": ()}, r"U \(\): 2 numbers are needed"),
        ({"U": 1.0}, "U 1.0: 2 numbers are needed"),
        ({"U": np.ones((2, 2))}, "(?s)U .*: 2 numbers are needed"),
        ({"kappa": (0.1, 0.2)}, r"kappa \(0.1, 0.2\): one number is needed"),
        ({"kappa": "0.1"}, "kappa 0.1: one number is needed"),
        ({"kappa": 0.1 + 0.2j}, r"kappa \(0.1\+0.2j\): a finite number is needed, which is not complex"),
        ({"U": (1j, 0.0)}, r"U \(1j, 0.0\): .* not complex"),
    ],
    ids=str,
)
def test_parameters_of_another_shape_or_kind_are_refused(make_grid, numbers, message):
    with pytest.raises(ValueError, match=message):
        WIND(make_grid((8, 8), devices=1), **{"kappa": 0.1, "U": (1.0, 0.5), **numbers})


@pytest.mark.parametrize("wind", [(1.0, 0.5), [1.0, 0.5], np.array([1.0, 0.5]), (jnp.asarray(1.0), 0.5)], ids=repr)
def test_vectors_may_be_given_as_any_sequence(make_grid, wind):
    assert WIND(make_grid((8, 8), devices=1), kappa=0.1, U=wind).grid.dimensions == 2


def test_complex_fields_may_have_complex_parameters(make_grid):
    damped = write("dt(psi) = 1j*s*lap(psi)", {"psi": "wavefunction"}, parameters={"s": "scalar"})
    grid = make_grid((8, 8), devices=1, real=False)
    assert np.isfinite(complex(damped(grid, s=0.5 - 0.1j).s))


def test_real_fields_may_take_the_parts_of_complex_parameters(make_grid):
    parts = write("dt(u) = real(a)*lap(u)", {"u": "scalar"}, parameters={"a": "scalar"})
    assert complex(parts(make_grid((8, 8), devices=1), a=1 + 1j).a) == 1 + 1j


def test_library_equations_refuse_complex_parameters(make_grid):
    for make in (lambda g: NavierStokes(g, 0.1 + 0.2j), lambda g: Vorticity(g, 0.1, beta=1j)):
        with pytest.raises(ValueError, match="which is not complex"):
            make(make_grid((8, 8), devices=1))


def test_a_method_that_nobody_asks_for_is_refused_with_the_one_that_is_asked():
    with refused_in_one_line(r"nobody asks for its method columns\(\); .* reported\(self, report\)", TypeError):

        class Counted(sw.Equation):
            text = sw.Text(["dt(u) = lap(u)"], fields={"u": "scalar"})

            def columns(self, fields):
                return {}
