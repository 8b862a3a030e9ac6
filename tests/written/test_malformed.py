"""Texts that are no equations: each is refused in one line that says why, above the text with a caret."""

import jax.numpy as jnp
import numpy as np
import pytest

import solver as sw
from solver.written import WrittenError, read_system

FLOW = {"u": "vector", "b": "scalar"}
NAMES = {"nu": "scalar", "n2": "scalar", "velocity_scale": "scalar", "b0": "vector"}
REST = "dt(b) = lap(b)"


def refused(text, start, message, *, rest=(REST,), fields=FLOW, **more):
    """The caret stands under what starts with `start`."""
    with pytest.raises(WrittenError) as raised:
        read_system([text, *rest], fields, parameters=NAMES, **more)
    lines = str(raised.value).split("\n")
    assert message in lines[0]
    if start is None:
        assert len(lines) == 1
        return
    reason, shown, caret = lines
    at = len(caret) - len(caret.lstrip())
    assert shown[at:].startswith(start), f"{shown}\n{caret}"
    assert "\n" not in reason


@pytest.mark.parametrize(
    ("text", "start", "message"),
    [
        # what is no text of the language
        ("", "", "no = in an equation"),
        ("dt(u)", "dt(u)", "no = in an equation"),
        ("dt(u) = lap(u) = 0", "= 0", "a second ="),
        ("dt(u) =", "", "nothing is here"),
        ("= lap(u)", "", "nothing is here"),
        ("dt(u) = lap(u", "(u", "no expression"),
        ("dt(u) = lap(u))", ")", "no expression"),
        ("dt(u) = nu lap(u)", "lap(u)", "no expression"),
        ("dt(u) = 2u", "2u", "no expression"),
        ("dt(u) = 2u", "2u", "a product is written with *, as 2*u"),
        ("dt(u) = 2.5 u", "2.5 u", "a product is written with *, as 2.5*u"),
        ("dt(u) = 2(u)", "2(u)", "a product is written with *"),
        ("dt(u) = lap(u) + b^2*u", "^2", "^ is no power here: ** is needed"),
        ("d(u) = lap(u)", "d(u)", "no operator or function 'd'; did you mean 'dt'?"),
        ("dt(u) = perp(u)", "perp(u)", "perp of a vector: a scalar in two dimensions is needed; a vector u turned"),
        ("dt(u) = nu*", "", "no expression"),
        ("dt(u) = u == 0", "u == 0", "where alone"),
        ("dt(u) = [u]", "[u]", "no part of the language"),
        ("dt(u) = {1: u}", "{1", "no part of the language"),
        ("dt(u) = lambda: u", "lambda", "no part of the language"),
        ("dt(u) = u if nu else u", "u if", "no part of the language"),
        ("dt(u) = u[0]", "u[0]", "no part of the language"),
        ("dt(u) = u // 2", "u // 2", "no part of the language"),
        ("dt(u) = u % 2", "u % 2", "no part of the language"),
        ("dt(u) = ~u", "~u", "no part of the language"),
        ("dt(u) = not u", "not u", "no part of the language"),
        ("dt(u) = u and u", "u and", "no part of the language"),
        ("dt(u) = 'u'", "'u'", "is no number"),
        ("dt(u) = True*u", "True", "is no number"),
        ("dt(u) = None*u", "None", "is no number"),
        ("dt(u) = u" + "+u" * 3000, "dt(u)", "characters: 4000 at most"),
        ("dt(u) = " + "(" * 80 + "u" + ")" * 80, "(", "more than 60 brackets"),
        ("dt(u) = 1e999*u", "1e999", "too large"),
        ("dt(u) = " + "9" * 400 + "*u", "999", "too large"),
        # what would do something, if it were evaluated
        ("dt(u) = __import__('os').system('true')*u", "__import__('os').system", "only operators and functions"),
        ("dt(u) = u.__class__", "u.__class__", "no component .__class__"),
        ("dt(u) = (lambda: u)()", "(lambda", "only operators and functions"),
        ("dt(u) = eval(u)", "eval", "no operator or function 'eval'"),
        ("dt(u) = open(u)", "open", "no operator or function 'open'"),
        ("dt(u) = 9**9**9*u", "9**9*u", "an exponent is a number or a parameter"),
        ("dt(u) = (nu**999)*u", "999", "an exponent of 999: 64 at most"),
        ("dt(u) = ramp(1, 2)*u", "ramp(1, 2)", "ramp with 2 arguments: ramp(a, b, t0, t1)"),
        ("dt(b) = b*ramp(u, 1, 0, 1)", "u", "an argument of ramp is a vector: a scalar is needed"),
        # names
        ("dt(u) = -(1 + lap)**2*u", "lap", "unknown name 'lap': lap(f), or lap(f, x, y) along these axes is needed"),
        ("dt(u) = du/nu", "du", "unknown name 'du'; the derivative in time is dt(u)"),
        ("dt(u) = u(1 - u)", "u", "no operator or function 'u'; a product is written with *"),
        ("dt(u) = nux*lap(u)", "nux", "unknown name 'nux'; did you mean 'nu'?"),
        ("dt(u) = velocity_scal*u", "velocity_scal*", "did you mean 'velocity_scale'?"),
        ("dt(u) = nu*lapl(u)", "lapl", "no operator or function 'lapl'; did you mean 'lap'?"),
        ("dt(u) = nu*laplacian(u)", "laplacian", "no operator or function"),
        ("dt(u) = u.w*u", "u.w", "no component .w"),
        # calls
        ("dt(u) = lap()", "lap()", "lap with 0 arguments"),
        ("dt(u) = grad(u, u)", "grad(u, u)", "grad with 2 arguments"),
        ("dt(u) = lap(u, b0)", "b0", "lap along b0: one of x, y, z is needed, each once"),
        ("dt(u) = inverse_lap(u, x, x)", "x)", "inverse_lap along x: one of x, y, z is needed, each once"),
        ("dt(u) = lap(u, 2)", "lap(u, 2)", "lap(f) or lap(f, x) is needed, with a name"),
        ("dt(u) = hyper(u, nu)", "hyper(u, nu)", "hyper with 2 arguments: hyper(f, nu, p)"),
        ("dt(u) = lap(f=u)", "=u)", "a second ="),
        ("dt(u) = lap(**u)", "lap(**u)", "arguments by position"),
        ("dt(u) = lap(*u)", "lap(*u)", "arguments by position"),
        ("dt(u) = where(b, u, u)", "b, u", "one comparison"),
        ("dt(u) = where(0 < b < 1, u, u)", "0 < b < 1", "one comparison"),
        ("dt(u) = cause(lap(u), u)", "cause(", "with a name"),
        ("dt(u) = explicit(cause(drag, u))", "cause(drag, u)", "cause inside explicit"),
        ("dt(u) = u*mean(b, b*b)", "mean(b", "with a name"),
        ("dt(u) = u*mean(b, nu)", "nu)", "mean along nu"),
        # ranks
        ("dt(u) = lap(u) + b", "b", "a scalar is added to a vector"),
        ("dt(u) = u*u", "u*u", "a vector times a vector: @, dot, cross or outer"),
        ("dt(u) = b@u", "b@u", "a scalar @ a vector"),
        ("dt(u) = b/u", "u", "what divides is a vector"),
        ("dt(u) = u**2", "u**2", "what is raised to a power is a vector"),
        ("dt(u) = u*b.x", "b.x", ".x of a scalar"),
        ("dt(u) = div(b)*u", "div(b)", "div of a scalar"),
        ("dt(u) = curl(b)*u", "curl(b)", "curl of a scalar"),
        ("dt(u) = cross(u, b)", "cross(u, b)", "cross of a vector and a scalar"),
        ("dt(u) = grad(grad(grad(u)))@u", "grad(grad(grad(u)))", "grad of a tensor of order 3"),
        ("dt(u) = sin(u)", "u)", "an argument of sin is a vector"),
        ("dt(u) = lap(b)", "lap(b)", "a scalar on the right of an equation for a vector"),
        ("dt(u) = where(u < b, u, u)", "u < b", "what is compared is a vector"),
        ("dt(u) = helmholtz(u, b0)", "b0", "the second argument of helmholtz is a vector"),
        ("dt(u) = 1j*u", "1j", "complex, in the equation of the real field 'u'"),
        ("dt(u) = b**1j*u", "1j", "an exponent is real"),
        ("dt(u) = b**b0*u", "b0", "an exponent is a vector"),
        ("dt(u) = 2**b*u", "b", "a field as an exponent: a number or a parameter is needed"),
        ("dt(u) = nu**(-b)*u", "-b", "a field as an exponent"),
        # rates of change
        ("dt(u) = lap(u) + dt(u)", "dt(u)", "dt may be on the left"),
        ("lap(u) = dt(u)", "dt(u)", "dt may be on the left"),
        ("dt(dt(u)) = lap(u)", "dt(u)) =", "once, not within another dt"),
        ("dt(nu) = b", "dt(nu)", "dt of no field"),
        ("dt(b*b) = b", "dt(b*b)", "terms that are not linear belong on the right"),
        ("dt(b) = b*b", "dt(b)", "a second equation for 'b'"),
        ("div(u) = 0", None, "field 'u' has no equation"),
    ],
    ids=lambda value: None if value is None else value[:30] or "empty",
)
def test_a_text_that_is_no_equation_is_shown_with_a_caret(text, start, message):
    rest = ("dt(u) = lap(u)", REST) if text.startswith(("dt(b)", "dt(nu)")) else (REST,)
    rest = ("dt(u) = lap(u)",) if text.startswith("dt(b*b)") else rest
    refused(text, start, message, rest=rest)


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"fields": {"lap": "scalar"}}, "field 'lap': the name has a meaning of its own"),
        ({"fields": {"pi": "scalar"}}, "field 'pi': the name has a meaning of its own"),
        ({"fields": {"a b": "scalar"}}, "field 'a b': a name of letters"),
        ({"fields": {"__u": "scalar"}}, "field '__u': a name of letters"),
        ({"fields": {"lambda": "scalar"}}, "field 'lambda': a name of letters"),
        ({"fields": {"b": "scaler"}}, "field 'b' of rank 'scaler'; did you mean 'scalar'?"),
        ({"unknowns": {"u": "scalar"}}, "unknown 'u': the name means something else already"),
        ({"unknowns": {"p": "scalar"}}, "unknown 'p' is in no equation"),
        ({"define": {"nu": "u@u"}}, "parameter 'nu': the name means something else already"),
        ({"define": {"e": "f", "f": "g", "g": "e"}}, "the definition of 'e' needs itself: e → f → g → e"),
        ({"define": {"e": "dt(b)"}}, "dt may be on the left of an equation"),
        ({"define": {"e": "b = 0"}}, "= in an expression"),
        ({"define": {"e": "b + u"}}, "a vector is added to a scalar"),
    ],
    ids=str,
)
def test_names_that_cannot_be(more, message):
    given = {"fields": FLOW, **more}
    with pytest.raises(WrittenError) as raised:
        read_system(["dt(u) = lap(u)", REST], parameters=NAMES, **given)
    assert message in str(raised.value).split("\n")[0]


def test_an_unknown_has_no_rate_of_change():
    with pytest.raises(WrittenError, match="dt of the unknown 'p'"):
        read_system(["dt(b) + dt(p) = lap(b)"], {"b": "scalar"}, {"p": "scalar"})


def test_what_is_no_text_is_refused():
    with pytest.raises(WrittenError, match="int is no text"):
        read_system([3], {"b": "scalar"})


def test_the_caret_counts_characters_where_python_counts_bytes():
    with pytest.raises(WrittenError) as raised:
        read_system(["dt(β) = ψ0*lap(β) + κκ"], {"β": "scalar"}, parameters={"ψ0": "scalar"})
    _, shown, caret = str(raised.value).split("\n")
    assert shown[caret.index("^") :] == "κκ"
    assert caret.count("^") == 2


@pytest.mark.parametrize("term", ["cross(w, u)", "w@grad(u)", "curl(w)*u"])
def test_a_parameter_of_which_nothing_is_said_is_no_vector(term):
    with pytest.raises(WrittenError, match=r'parameters = \{"w": "vector"\} says that w is one'):
        sw.write(f"dt(u) = {term}", {"u": "vector"})
    with pytest.raises(WrittenError) as raised:
        sw.write(f"dt(u) = {term}", {"u": "vector"}, parameters={"w": "scalar"})
    assert "says" not in str(raised.value)


@pytest.mark.parametrize(
    ("term", "message"),
    [
        (
            "cross(ez, u)",
            r"2 dimensions: 3 are known; ez in 2 .* cross\(ez, u\) is u.x\*ey - u.y\*ex there\n.*\n +\^\^$",
        ),
        ("cross(u, up)", r"2 dimensions: 3 are known; a scalar is added to a vector.*\n.*\n +\^+$"),
    ],
)
def test_what_makes_no_sense_in_a_number_of_dimensions_is_shown(make_grid, term, message):
    equation = sw.write(f"dt(u) = lap(u) - {term}", {"u": "vector"})
    with pytest.raises(ValueError, match=message):
        equation(make_grid((8, 8), devices=1))


@pytest.mark.slow
def test_the_way_a_vector_turns_in_two_dimensions(make_grid):
    """u.x ey − u.y ex of (1, 2) is (−2, 1)."""
    turned = sw.write("dt(u) = a*(u.x*ey - u.y*ex)", {"u": "vector"})(make_grid((8, 8), devices=1), a=1.0)
    fields = turned.from_physical({"u": jnp.ones((2, 8, 8)) * jnp.array([1.0, 2.0])[:, None, None]})
    change = turned.to_physical(turned.linear().apply(fields))["u"]
    np.testing.assert_allclose(change[:, 0, 0], [-2, 1], atol=1e-14)
