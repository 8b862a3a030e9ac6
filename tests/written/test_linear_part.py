"""The linear part: symbols for each mode, which together with the rest give the whole text."""

import numpy as np
import pytest
from evaluation import Box, by_plan, directly, random_values, rows_of, symbol_values
from test_plan_as_written import CASES, PARAMETERS, SHAPES, SYSTEMS

from solver.written import read_system, unicode
from solver.written.components import ONE, minus, times
from solver.written.linear import coefficient, linear_part
from solver.written.plan import plan_as_written
from solver.written.tree import Entry, Name, Quotient, Slot


def taken_apart(fields, lines, dimensions):
    system = read_system(lines, fields)
    return system, linear_part(rows_of(system, dimensions), fields)


@pytest.mark.parametrize(("name", "dimensions"), CASES, ids=str)
def test_symbols_and_the_rest_are_the_whole(name, dimensions):
    fields, lines, _ = SYSTEMS[name]
    system, part = taken_apart(fields, lines, dimensions)
    box = Box(SHAPES[dimensions], (2.0, 3.0, 5.0)[:dimensions])
    values = random_values(system, box, PARAMETERS, 4)
    rest = by_plan(plan_as_written(part.rest, fields), values, box)
    for field in fields:
        whole = np.broadcast_to(directly(system.equation_of(field).right, values, box), np.shape(values[field]))
        for row, nonlinear in rest.items():
            if row[0] == field:
                linear = np.zeros(box.shape, complex)
                for (acted_on, scalar), symbol in part.symbols.items():
                    if acted_on == row:
                        u = values[scalar.name][scalar.index] if isinstance(scalar, Entry) else values[scalar.name]
                        linear += box.points(symbol_values(symbol, values, box) * box.modes(u))
                np.testing.assert_allclose(linear + nonlinear, whole[row[1]], atol=1e-12 * np.abs(whole).max())


def is_real(symbol, dimensions):
    """Whether a symbol is real at every mode of a box."""
    box = Box(SHAPES[dimensions], (2.0, 3.0, 5.0)[:dimensions])
    return not np.any(np.imag(symbol_values(symbol, {"nu": 0.7}, box)))


def test_what_stands_inside_an_operator_with_what_is_not_linear():
    _, part = taken_apart({"c": "scalar"}, ["dt(c) = lap(c**3 - c - nu*lap(c))"], 2)
    assert list(part.symbols) == [(("c", ()), Name("c"))]
    assert is_real(part.symbols[("c", ()), Name("c")], 2)
    assert unicode(part.rest["c", ()]) == "∇²(c³)"


def test_fields_that_couple():
    _, part = taken_apart(*SYSTEMS["Boussinesq"][:2], 2)
    pairs = {(row, scalar) for row, scalar in part.symbols}
    u_x, u_y, b = Entry("u", (0,)), Entry("u", (1,)), Name("b")
    assert pairs == {(("u", (0,)), u_x), (("u", (1,)), u_y), (("u", (1,)), b), (("b", ()), u_y)}


@pytest.mark.parametrize(
    ("text", "real"),
    [("lap(b)", True), ("dx(dx(b)) - nu*b", True), ("dx(b)", False), ("dx(lap(b)) + b", False),
     ("1j*dx(b)", True), ("(1 + 2j)*b", False), ("fraclap(b, nu)/3 + inverse_lap(b)", True)],
)  # fmt: skip
def test_symbols_that_are_real(text, real):
    _, part = taken_apart({"b": "wavefunction"}, [f"dt(b) = {text}"], 1)
    [symbol] = part.symbols.values()
    assert is_real(symbol, 1) is real


@pytest.mark.parametrize(
    ("text", "reasons"),
    [
        ("lap(b) + explicit(nu*b)", ["explicit"]),
        ("x*dx(b) - b", ["its coefficient depends on the place"]),
        ("real(b) + 2*b", ["it does not act on each mode by itself"]),
        ("b*b + nu", []),
    ],
)
def test_why_a_term_of_degree_one_is_left_out(text, reasons):
    _, part = taken_apart({"b": "wavefunction"}, [f"dt(b) = {text}"], 2)
    assert [reason for _, reason in part.left_out] == reasons


def test_a_slope_of_what_is_divided_by_another_field():
    """∂(a/c)/∂a = 1/c and ∂(a/c)/∂c = −a/c²."""
    a, c = Name("a"), Name("c")
    assert coefficient(Quotient(a, c), a) == Quotient(ONE, c)
    assert coefficient(Quotient(a, c), c) == Quotient(minus(a), times(c, c))
    assert coefficient(Quotient(Slot("inner", 0), Slot("inner", 1)), Slot("inner", 0)) == Quotient(
        ONE, Slot("inner", 1)
    )
