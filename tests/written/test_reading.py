"""Texts that are equations: what is read from them, and how they are printed."""

import pytest

from solver.written import WrittenError, latex, read_expression, read_line, read_system, unicode
from solver.written.degrees import degree
from solver.written.tree import Call, Contraction, Name, Negative, Number, Product, Sum

BOUSSINESQ = {
    "write": [
        "dt(u) = -u@grad(u) - grad(p) + cause(viscosity, nu*lap(u)) + b*up",
        "div(u) = 0",
        "dt(b) = -u@grad(b) - n2*u.up + kappa*lap(b)",
    ],
    "fields": {"u": "vector", "b": "scalar"},
    "unknowns": {"p": "scalar"},
    "define": {"w": "curl(u)"},
}


def test_the_tree_of_a_line():
    line = read_line("dt(u) = -u@grad(u) + 2*nu*lap(u)")
    u, nu = Name("u"), Name("nu")
    assert line.left == Call("dt", (u,))
    advection = Negative(Contraction(u, Call("grad", (u,))))
    assert line.right == Sum((advection, Product(Product(Number(2), nu), Call("lap", (u,)))))


def test_equal_expressions_are_one_key_wherever_they_stand():
    assert len({read_expression("u@grad(b)"), read_expression("  u @ grad( b )")}) == 1
    assert read_expression("a - b - c") == Sum((Name("a"), Negative(Name("b")), Negative(Name("c"))))
    assert read_expression("a - (b - c)") != read_expression("a - b - c")


def test_a_system():
    system = read_system(**BOUSSINESQ)
    assert system.dimensions == (2, 3)  # curl needs a second direction
    assert list(system.parameters) == ["nu", "n2", "kappa"]
    assert system.equation_of("b") is system.lines[2]
    assert system.constraints == (system.lines[1],)


def test_names_that_nothing_declares_are_parameters_unless_these_are_given():
    assert list(read_system(["dt(b) = nu*lap(b) + cause(drag, -mu*b)"], {"b": "scalar"}).parameters) == ["nu", "mu"]
    with pytest.raises(WrittenError, match="unknown name 'mu'; known are b, ex"):
        read_system(["dt(b) = nu*lap(b) - mu*b"], {"b": "scalar"}, parameters={"nu": "scalar"})


def test_definitions_are_written_out():
    plain = read_system(["dt(b) = nu*lap(lap(b) - b) - b"], {"b": "scalar"})
    defined = read_system(["dt(b) = nu*lap(q) - b"], {"b": "scalar"}, define={"q": "g - b", "g": "lap(b)"})
    assert defined.lines == plain.lines


@pytest.mark.parametrize(
    ("text", "dimensions"),
    [
        ("lap(b)", (1, 2, 3)),
        ("dy(b)", (2, 3)),
        ("b*z", (3,)),
        ("b*cross(b*up, grad(b))", (2,)),
        ("b*perp(b).x", (2,)),
        ("curl(perp(b))", (2,)),
    ],
)
def test_the_dimensions_in_which_all_fits(text, dimensions):
    assert read_system([f"dt(b) = {text}"], {"b": "scalar"}).dimensions == dimensions


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("nu*lap(u) + b*up", 1),
        ("u@grad(u)", 2),
        ("b**3 - b", 3),
        ("(b + 1)**2", 2),
        ("b**0.5", float("inf")),
        ("b/(1 + nu)", 1),
        ("nu/b", float("inf")),
        ("sin(nu) * b", 1),
        ("sin(b)", float("inf")),
        ("mean(b, x) * b", 2),
        ("cause(b, nu*x)", 0),
        ("fraclap(b, nu)", 1),
        ("where(b < nu, b, b)", float("inf")),
        ("cross(u, curl(u))", 2),
    ],
)
def test_degrees(text, found):
    assert degree(read_expression(text), {"u", "b"}) == found


@pytest.mark.parametrize(
    ("text", "plain", "page"),
    [
        ("dt(u) = -u@grad(u) - grad(p) + nu*lap(u)", "∂t u = −(u·∇)u − ∇p + ν ∇²u",
         r"\partial_t u = -\left(u\cdot \nabla\right)u - \nabla p + \nu \nabla^2 u"),
        ("div(u) = 0", "∇·u = 0", r"\nabla\cdot u = 0"),
        ("dt(a) = a - (1 + 2j)*abs(a)**2*a", "∂t a = a − (1 + 2i) |a|² a", None),
        ("dt(b) = a*(b - c)/(d*e)", "∂t b = a (b − c)/(d e)", None),
        ("dt(b) = -(b + c)", "∂t b = −(b + c)", None),
        ("dt(b) = a - (b - c)", "∂t b = a − (b − c)", None),
        ("dt(b) = lap(b + c)", "∂t b = ∇²(b + c)", None),
        ("dt(b) = b**(-2)", "∂t b = b^(−2)", None),
        ("dt(b) = (a*b)**2", "∂t b = (a b)²", None),
        ("dt(b) = cause(drag, -mu*b) + explicit(b)", "∂t b = −μ b + b", None),
        ("dt(b) = where(b < 0, b, c)", "∂t b = where(b < 0, b, c)", None),
        ("dt(b) = conj(b)*u.up", "∂t b = b^* u_up", None),
    ],
)  # fmt: skip
def test_formulas(text, plain, page):
    assert unicode(read_line(text)) == plain
    assert page is None or latex(read_line(text)) == page
