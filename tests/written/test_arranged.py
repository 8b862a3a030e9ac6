"""Terms on their sides: the mass matrix, right-hand sides, constraints; and the projection that follows from them."""

import numpy as np
import pytest
from evaluation import Box, by_plan, directly, symbol_values

from solver.written import WrittenError, read_system, unicode
from solver.written.arranged import arranged
from solver.written.linear import linear_part
from solver.written.plan import plan_as_written
from solver.written.tree import Entry, Name


def test_terms_move_to_their_sides():
    lines = ["dt(b) - nu*lap(b) + 2*b = -b**3", "lap(p) + b = b*b"]
    apart, box = arranged(read_system(lines, {"b": "scalar"}, {"p": "scalar"}), 1), Box((9,), (2.0,))
    dynamic, constraint = (linear_part(rows, {"b", "p"}) for rows in (apart.right, apart.constraints))
    assert [unicode(part.rest[row]) for part, row in ((dynamic, (0, ())), (constraint, (1, ())))] == ["−b³", "−b b"]
    [symbol] = dynamic.symbols.values()
    np.testing.assert_allclose(symbol_values(symbol, {"nu": 0.1}, box), -0.1 * box.k2 - 2)
    values = {scalar.name: symbol_values(symbol, {}, box) for (_, scalar), symbol in constraint.symbols.items()}
    np.testing.assert_allclose(values["p"], -box.k2)
    assert values["b"] == 1


@pytest.mark.parametrize(
    ("left", "mass"),
    [
        ("dt(lap(b) - b)", lambda k2: -k2 - 1),
        ("lap(dt(b)) - 3*dt(b)/2", lambda k2: -k2 - 1.5),
        ("-dt(b)", lambda k2: -1),
    ],
)
def test_the_mass_matrix(left, mass):
    box = Box((8, 9), (2.0, 3.0))
    apart = arranged(read_system([f"{left} = b"], {"b": "scalar"}), 2)
    [symbol] = apart.mass.values()
    np.testing.assert_allclose(symbol_values(symbol, {}, box) * np.ones(box.shape), mass(box.k2) * np.ones(box.shape))


def test_a_rate_that_each_mode_cannot_be_solved_for_is_refused():
    with pytest.raises(WrittenError, match="each mode cannot be solved by itself"):
        arranged(read_system(["x*dt(b) = b"], {"b": "scalar"}), 1)


@pytest.mark.parametrize("dimensions", [2, 3])
def test_the_pressure_is_eliminated_by_the_leray_projection(dimensions):
    """N without its gradient part, from nothing but the symbols of pressure and divergence."""
    lines = ["dt(u) - nu*lap(u) + grad(p) = -u@grad(u)", "div(u) = 0"]
    system = read_system(lines, {"u": "vector"}, {"p": "scalar"})
    apart, box = arranged(system, dimensions), Box((7, 9, 5)[:dimensions], (2.0, 3.0, 5.0)[:dimensions])
    values = {"nu": 0.1, "u": np.random.default_rng(5).normal(size=(dimensions, *box.shape))}
    dynamic, constraint = linear_part(apart.right, {"u", "p"}), linear_part(apart.constraints, {"u", "p"})
    gradient = [symbol_values(dynamic.symbols[(0, (i,)), Name("p")], values, box) for i in range(dimensions)]
    divergence = [symbol_values(constraint.symbols[(1, ()), Entry("u", (i,))], values, box) for i in range(dimensions)]
    rows = by_plan(plan_as_written(dynamic.rest, {"u", "p"}), values, box)
    change = np.stack([box.modes(rows[0, (i,)]) for i in range(dimensions)])
    both = sum(c * g for c, g in zip(divergence, gradient, strict=True))
    pressure = -sum(c * f for c, f in zip(divergence, change, strict=True)) / np.where(both == 0, 1, both)
    projected = change + np.stack([g * pressure for g in gradient])
    np.testing.assert_allclose(sum(k * n for k, n in zip(box.k, projected, strict=True)), 0, atol=1e-12)
    text = read_system(["dt(u) = -u@grad(u)"], {"u": "vector"}).lines[0].right
    whole = box.modes(directly(text, values, box))
    longitudinal = sum(k * n for k, n in zip(box.k, whole, strict=True)) / np.where(box.k2 > 0, box.k2, 1)
    np.testing.assert_allclose(projected, whole - np.stack(box.k) * longitudinal, atol=1e-12)
