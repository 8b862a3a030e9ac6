"""Expressions of Python, and lines of Dedalus, are the same equations as text."""

import pytest

from solver.written import Text, WrittenError, read_system
from solver.written.derivation import in_dimensions
from solver.written.expressions import cause, cross, curl, div, dt, explicit, grad, lap, outer, symbols
from solver.written.parse import read_line

u, b, p, nu, ez = symbols("u b p nu ez")


@pytest.mark.parametrize(
    ("line", "text"),
    [
        (dt(u) == -u @ grad(u) - grad(p) + nu * lap(u), "dt(u) = -u@grad(u) - grad(p) + nu*lap(u)"),
        (div(u) == 0, "div(u) = 0"),
        (dt(u) == 2 * cross(ez, u) / 3 - div(outer(u, u)), "dt(u) = 2*cross(ez, u)/3 - div(outer(u, u))"),
        (dt(b) == 1 - (b - 1) ** 2 * b + 2.5 / nu - u.up, "dt(b) = 1 - (b - 1)**2*b + 2.5/nu - u.up"),
        (dt(b) == cause("drag", -nu * b) - explicit(curl(u).z), "dt(b) = cause(drag, -nu*b) - explicit(curl(u).z)"),
    ],
)
def test_an_expression_is_its_text(line, text):
    one, other = read_line(line), read_line(text)
    assert str(one.right).replace("place", "") == str(other.right)
    assert one == other


def test_what_is_no_part_of_an_equation():
    with pytest.raises(TypeError, match="list in an equation"):
        u * [1]
    with pytest.raises(AttributeError, match=r"no component \.w"):
        _ = u.w


# Dedalus, examples/ivp_2d_shear_flow/shear_flow.py (commit 0c21382829a8, where dot(u, grad(u)) is written, and later)
# and examples/ivp_1d_kdv_burgers/kdv_burgers.py (commit 18c0cdf79b01)
SHEAR_FLOW = [
    "dt(u) + grad(p) - nu*lap(u) = - u@grad(u)",
    "dt(s) - D*lap(s) = - u@grad(s)",
    "div(u) + tau_p = 0",
    "integ(p) = 0",
]
KDV_BURGERS = ["dt(u) - a*dx(dx(u)) - b*dx(dx(dx(u))) = - u*dx(u)"]


@pytest.mark.parametrize("dot", ["u@grad({})", "dot(u,grad({}))"])
def test_tau_terms_and_gauges_are_absorbed(dot):
    lines = [line.replace("u@grad(u)", dot.format("u")).replace("u@grad(s)", dot.format("s")) for line in SHEAR_FLOW]
    with_gauge = Text(lines, {"u": "vector", "s": "scalar"}, {"p": "scalar", "tau_p": "scalar"})
    without = Text([*SHEAR_FLOW[:2], "div(u) = 0"], {"u": "vector", "s": "scalar"}, {"p": "scalar"})
    one, other = in_dimensions(with_gauge, 2), in_dimensions(without, 2)
    assert (one.changes, one.linear, one.plan) == (other.changes, other.linear, other.plan)


@pytest.mark.parametrize(
    ("lines", "define", "unknowns"),
    [
        (["dt(q) = -perp(chi)@grad(q)", "lap(chi) = psi", "lap(psi) = q"], {}, ("chi", "psi")),
        (["dt(q) = -v@grad(q)", "lap(chi) = q", "lap(phi) = q"], {"v": "perp(chi) + grad(phi)"}, ("chi", "phi")),
        (["dt(q) = -perp(chi)@grad(q)", "lap(chi) = w", "w = q*q + q"], {}, ("chi", "w")),
        (["dt(q) = -perp(chi)@grad(q)", "lap(chi) = q", "w = q*q"], {}, ("chi", "w")),
    ],
    ids=lambda value: value[-1] if isinstance(value, list) else None,
)
def test_a_gauge_makes_no_constant_of_an_unknown_with_an_equation(lines, define, unknowns):
    ranks = dict.fromkeys(unknowns, "scalar")
    one, other = (
        in_dimensions(Text(of, {"q": "scalar"}, ranks, define), 2) for of in ([*lines, "integ(chi) = 0"], lines)
    )
    assert (one.changes, one.linear, one.plan) == (other.changes, other.linear, other.plan)
    assert one.reduced.diagnosed == other.reduced.diagnosed


def test_the_other_example_is_read():
    derived = in_dimensions(Text(KDV_BURGERS, {"u": "scalar"}), 1)
    assert derived.reduced.system.parameters.keys() == {"a", "b"}
    assert len(derived.linear.symbols) == 1


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ([*SHEAR_FLOW[:2], "div(u) + tau_p + tau_q = 0", "integ(p) = 0"], "one gauge is needed for each"),
        ([*SHEAR_FLOW[:2], "div(u) = integ(p)"], "integ may be used in the gauge"),
    ],
)
def test_gauges_that_are_none(lines, message):
    with pytest.raises(WrittenError, match=message):
        read_system(lines, {"u": "vector", "s": "scalar"}, {"p": "scalar", "tau_p": "scalar", "tau_q": "scalar"})
