"""Texts that are equations: what is read from them, and how they are printed."""

import pytest

from solver.written import Text, WrittenError, latex, read_expression, read_line, read_system, unicode
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
    assert [line for line in system.lines if not line.left.calls("dt")] == [system.lines[1]]


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
        ("lap(b, x, y)", (2, 3)),
        ("inverse_lap(b, z)", (3,)),
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
        ("dt(u) = -u@grad(u) - grad(p) + nu*lap(u)", "u_t = −u·∇u − ∇p + ν∇²u",
         r"\partial_t u = -u\cdot \nabla u - \nabla p + \nu \nabla^{2} u"),
        ("div(u) = 0", "∇·u = 0", r"\nabla\cdot u = 0"),
        ("dt(lap(b) - b) = dt(dye) - a*b", "∂t(∇²b − b) = ∂t dye − a b", None),
        ("dt(a) = a - (1 + 2j)*abs(a)**2*a", "a_t = a − (1 + 2i)|a|² a", None),
        ("dt(a) = 1j/2*lap(a) + 3/2*a", "a_t = ½ i∇²a + 3/2 a",
         r"\partial_t a = \frac{i}{2} \nabla^{2} a + \frac{3}{2} a"),
        ("dt(b) = a*(b - c)/(d*e)", "b_t = a (b − c)/(d e)", r"\partial_t b = \frac{a \left(b - c\right)}{d e}"),
        ("dt(b) = -(b + c)", "b_t = −(b + c)", None),
        ("dt(b) = a - (b - c)", "b_t = a − (b − c)", None),
        ("dt(b) = lap(b + c)/2", "b_t = ½∇²(b + c)", None),
        ("dt(b) = b**(-2) + b**a + b**(a + 1)", "b_t = b⁻² + b^a + b^(a + 1)", None),
        ("dt(b) = (a*b)**2", "b_t = (a b)²", None),
        ("dt(b) = lap(b)*c + (u@grad(b))*c + lap(b)/c", "b_t = (∇²b) c + (u·∇b) c + (∇²b)/c", None),
        ("dt(b) = lap(lap(lap(b))) - dx(dx(dx(b))) + dx(dy(b))", "b_t = ∇⁶b − ∂x³ b + ∂x ∂y b",
         r"\partial_t b = \nabla^{6} b - \partial_x^3 b + \partial_x \partial_y b"),
        ("dt(b) = -nu_h*fraclap(b, s) + fraclap(b, -1/2) + helmholtz(b, k_0**2)",
         "b_t = −ν_h (−∇²)^s b + (−∇²)^−½ b + (k₀² − ∇²)⁻¹ b",
         r"\partial_t b = -\nu_{h} \left(-\nabla^{2}\right)^{s} b + \left(-\nabla^{2}\right)^{-\frac{1}{2}} b"
         r" + \left(k_{0}^{2} - \nabla^{2}\right)^{-1} b"),
        ("dt(u) = f*cross(ez, u) + cross(curl(b), b) + b*up", "u_t = f ẑ×u + (∇×b)×b + b ẑ", None),
        ("dt(b) = cause(drag, -mu*b) + explicit(b)", "b_t = −μ b + b", None),
        ("dt(b) = b + cause(drag, -mu*b + c)", "b_t = b − μ b + c", None),
        ("dt(b) = mean(b*c) + mean(b, x)*trans(a)@u", "b_t = ⟨b c⟩ + (⟨b⟩_x aᵀ)·u", None),
        ("dt(b) = where(b < 0, b, c)", "b_t = where(b < 0, b, c)", None),
        ("dt(b) = conj(b)*u.up", "b_t = b^* u_z", None),
    ],
)  # fmt: skip
def test_formulas(text, plain, page):
    assert unicode(read_line(text)) == plain
    assert page is None or latex(read_line(text)) == page


def test_formulas_have_names_as_they_are_printed_and_squares_of_vectors():
    text = Text(
        ["dt(velocity) = -grad(b)*(velocity@velocity + w@w)", "dt(b) = grad(b)@grad(b)/2 + velocity@grad(b)"],
        {"velocity": "vector", "b": "scalar"}, define={"w": "curl(velocity)"}, symbols={"velocity": "u"},
    )  # fmt: skip
    assert text.formula().split("\n") == ["u_t = −(∇b) (|u|² + |w|²)", "b_t = ½|∇b|² + u·∇b", "w = ∇×u"]
    matrices = Text(["dt(s) = -s@s"], {"s": "tensor"})
    assert matrices.formula() == "s_t = −s·s"
