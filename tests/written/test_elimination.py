"""Unknowns that are eliminated, against dense linear algebra mode by mode."""

import jax.numpy as jnp
import numpy as np
import pytest
from evaluation import Box, by_plan, on_constraints, random_values, symbol_values

import solver as sw
from solver.written import WrittenError, read_system
from solver.written.arranged import arranged
from solver.written.components import plus
from solver.written.derivation import in_dimensions
from solver.written.elimination import reduce_system
from solver.written.linear import linear_part
from solver.written.plan import plan_as_written
from solver.written.text import Text
from solver.written.tree import Entry

SHAPES = {1: (15,), 2: (9, 11), 3: (5, 7, 9)}
PARAMETERS = {"nu": 0.3, "n2": 1.7, "beta": 0.8, "kd": 1.3, "g": 0.4, "f": 2.0}
FLOW = "-u@grad(u) - grad(p) + nu*lap(u)"

# name: equations, fields, unknowns, dimensions
SYSTEMS = {
    "Navier–Stokes": ([f"dt(u) = {FLOW}", "div(u) = 0"], {"u": "vector"}, {"p": "scalar"}, (2, 3)),
    "rotating": (
        [f"dt(u) + f*cross(ez, u) = {FLOW} + b*up", "div(u) = 0", "dt(b) = -u@grad(b) - n2*u.up"],
        {"u": "vector", "b": "scalar"}, {"p": "scalar"}, (3,),
    ),
    "two pressures": (
        [f"dt(u) = {FLOW} + b@grad(b)", "dt(b) = b@grad(u) - u@grad(b) - grad(q)", "div(u) = 0", "div(b) = 0"],
        {"u": "vector", "b": "vector"}, {"p": "scalar", "q": "scalar"}, (2, 3),
    ),
    "mass": (["dt(lap(b) - b) = -perp(b)@grad(lap(b)) - beta*dy(b)"], {"b": "scalar"}, {}, (2,)),
    "coupled rates": (["dt(b) - 2*dt(c) = b*c", "dt(b + c) = c**2 - lap(b)"],
                      {"b": "scalar", "c": "scalar"}, {}, (1, 2)),
    "diagnosed": (["dt(q) = -perp(psi)@grad(q) - beta*dx(psi)", "lap(psi) = q"],
                  {"q": "scalar"}, {"psi": "scalar"}, (2,)),
    "two layers": (
        ["dt(q1) = -perp(a)@grad(q1)", "dt(q2) = -perp(c)@grad(q2) - beta*dx(c)",
         "lap(a) + kd**2/2*(c - a) = q1", "lap(c) + kd**2/2*(a - c) = q2"],
        {"q1": "scalar", "q2": "scalar"}, {"a": "scalar", "c": "scalar"}, (2,),
    ),
    "a product gives it": (["dt(b) = -v*b + nu*lap(b)", "lap(v) - g*v = b**2"],
                           {"b": "scalar"}, {"v": "scalar"}, (1, 2)),
    "a product with another unknown gives it": (["dt(b) = -v*b", "lap(v) - g*v = w*b + w", "2*w + b = b**2"],
                                                {"b": "scalar"}, {"v": "scalar", "w": "scalar"}, (1, 2)),
}  # fmt: skip
CASES = [(name, d) for name, (*_, dimensions) in SYSTEMS.items() for d in dimensions]


@pytest.mark.parametrize(("name", "dimensions"), CASES, ids=str)
def test_rates_and_unknowns_meet_the_equations_as_they_are_written(name, dimensions):
    """M ∂t u = F(u, p) and C(u, p) = 0 with what comes out, by substitution: nothing of elimination is used."""
    lines, fields, unknowns, _ = SYSTEMS[name]
    system, box = read_system(lines, fields, unknowns), Box(SHAPES[dimensions], (2.0, 3.0, 5.0)[:dimensions])
    apart, reduced = arranged(system, dimensions), reduce_system(system, dimensions)
    values = on_constraints(reduced, random_values(system, box, PARAMETERS, 7), box)
    of_fields = lambda rows: by_plan(plan_as_written(rows, fields), values, box)  # noqa: E731
    rates = of_fields(
        reduced.changes({row: plus((reduced.linear_rows()[row], reduced.rest[row])) for row in reduced.rest})
    )
    values |= {scalar.name: value.real for scalar, value in of_fields(reduced.diagnosed).items()}
    values |= {name: np.zeros(box.shape) for name in unknowns if name not in values}
    of_all = lambda rows: by_plan(plan_as_written(rows, {*fields, *unknowns}), values, box)  # noqa: E731
    for error in of_all(apart.constraints).values():
        np.testing.assert_allclose(error, error.mean(), atol=1e-10)  # the mean of an unknown is its gauge
    right, changed = of_all(apart.right), sum_of_mass(apart.mass, rates, values, box)
    gradients = linear_part(apart.right, {*fields, *unknowns}).symbols
    multipliers = list(
        dict.fromkeys(s for _, s in gradients if s not in reduced.scalars and s not in reduced.diagnosed)
    )
    missing = np.stack([box.modes(changed[row] - right[row]) for row in right], axis=-1)  # what these have to give
    matrix = np.zeros((*box.shape, len(right), len(multipliers)), complex)
    for i, row in enumerate(right):
        for j, p in enumerate(multipliers):
            matrix[..., i, j] = symbol_values(gradients[row, p], values, box) if (row, p) in gradients else 0
    given = np.einsum("...ij,...jk,...k->...i", matrix, np.linalg.pinv(matrix, rcond=1e-9), missing)
    np.testing.assert_allclose(given, missing, atol=1e-10)
    for row in {row for row, _ in reduced.constraints}:
        of_row = {s: symbol for (at, s), symbol in reduced.constraints.items() if at == row}
        kept = sum(symbol_values(symbol, values, box) * box.modes(rates[s]) for s, symbol in of_row.items())
        np.testing.assert_allclose(kept, 0, atol=1e-10)


def sum_of_mass(mass, rates, values, box):
    """M times the rates, at the points."""
    rows = {}
    for (row, scalar), symbol in mass.items():
        part = box.points(symbol_values(symbol, values, box) * box.modes(rates[scalar]))
        rows[row] = rows.get(row, 0) + part
    return rows


def test_a_constant_in_a_constraint_has_no_derivative():
    reduced = reduce_system(
        read_system(["dt(u) = -u@grad(u) - grad(p)", "div(u + 3*ex) = 0"], {"u": "vector"}, {"p": "scalar"}), 2
    )
    assert reduced.constraints == reduce_system(read_system(*SYSTEMS["Navier–Stokes"][:3]), 2).constraints


def test_a_pressure_that_is_left_is_none():
    reduced = reduce_system(read_system(*SYSTEMS["Navier–Stokes"][:3]), 3)
    assert not reduced.diagnosed
    assert set(reduced.scalars) == {Entry("u", (i,)) for i in range(3)}


@pytest.mark.parametrize(
    ("lines", "fields", "unknowns", "message"),
    [
        (["dt(b) = -p*b", "dx(b) = 0"], {"b": "scalar"}, {"p": "scalar"}, "'p' is in a product"),
        (["dt(b) = b*c", "dt(c) = c", "0 = b*c"], {"b": "scalar", "c": "scalar"}, {}, "not linear in the fields"),
        (["dt(b) = b*c - p", "dt(c) = c"], {"b": "scalar", "c": "scalar"}, {"p": "scalar"}, "nothing determines"),
        (["dt(b) = v", "dx(v) = b"], {"b": "scalar"}, {"v": "scalar"}, "constant along x"),
        (["dt(b) = w", "(2 + sin(x))*w = b"], {"b": "scalar"}, {"w": "scalar"}, "'w' needs itself, in a function or"),
        (["dt(b) = w", "(2 + t)*w - lap(w) = b"], {"b": "scalar"}, {"w": "scalar"}, "'w' needs itself, in a function"),
        (["dt(b) = w", "w = v*b", "v = w*b"], {"b": "scalar"}, {"v": "scalar", "w": "scalar"}, "needs itself"),
        (["dt(b) + dt(c) = b", "dt(2*b + 2*c) = c"], {"b": "scalar", "c": "scalar"}, {}, "cannot be solved for"),
    ],
)  # fmt: skip
def test_what_cannot_be_solved_is_refused(lines, fields, unknowns, message):
    with pytest.raises(WrittenError, match=message):
        reduce_system(read_system(lines, fields, unknowns), 2)


@pytest.mark.parametrize(
    ("lines", "fields", "message"),
    [
        (["dt(u) = -u@grad(u)", "div(u) = 0"], {"u": "vector"}, "the right-hand sides break this constraint"),
        (["dt(u) = -u@grad(u) - grad(p)", "dt(b) = curl(cross(u, b)) + (u@u)**3*b", "div(u) = 0", "div(b) = 0"],
         {"u": "vector", "b": "vector"}, "the right-hand sides break this constraint"),
        (["dt(u) = -u@grad(u) - grad(p)", "dt(b) = curl(cross(u, b)) + 1e-8*grad(u@b)", "div(u) = 0", "div(b) = 0"],
         {"u": "vector", "b": "vector"}, "the right-hand sides break this constraint"),
        (["dt(a) = lap(a)", "dt(b) = lap(b)", "dx(a) + dy(b) = 0"], {"a": "scalar", "b": "scalar"}, "and no other"),
        (["dt(a) = lap(a) + a*dx(a)", "dt(u) = lap(u) + sin(a)*ex", "div(u) = 0"], {"a": "scalar", "u": "vector"},
         "the right-hand sides break this constraint"),
    ],
)  # fmt: skip
def test_constraints_that_would_not_be_kept(lines, fields, message):
    text = Text(lines, fields, {"p": "scalar"} if "grad(p)" in lines[0] else {})
    with pytest.raises(WrittenError, match=message):
        in_dimensions(text, 3 if "b" in fields and fields["b"] == "vector" else 2)


def test_an_induction_that_keeps_its_constraint_is_taken():
    """∇×(u×b) keeps ∇·b = 0 without any unknown, in either form."""
    for right in ("curl(cross(u, b))", "b@grad(u) - u@grad(b)"):
        lines = [f"dt(b) = {right}", "dt(u) = lap(u) - grad(p)", "div(u) = 0", "div(b) = 0"]
        in_dimensions(Text(lines, {"b": "vector", "u": "vector"}, {"p": "scalar"}), 3)


@pytest.mark.parametrize("force", ["c**2*grad(c)", "(c**3 - c - lap(c))*grad(c)"])
def test_a_force_that_the_pressure_takes_up_breaks_nothing(force):
    """Of c²∇c = ∇(c³/3) the projection leaves round-off, whose divergence is as large as itself."""
    lines = [f"dt(u) = -u@grad(u) - grad(p) + {force}", "div(u) = 0", "dt(c) = -u@grad(c) + lap(c)"]
    in_dimensions(Text(lines, {"u": "vector", "c": "scalar"}, {"p": "scalar"}), 2)


BESIDE = [
    {"series": {"c": "mean(psi*q)"}},
    {"series": {"c": "max(psi)"}},
    {"series": {"c": "1 + max(v.x)"}},
    {"vectors": {"w": "perp(psi)"}},
    {"energies": {"e": "psi*q"}},
    {"series": {"c": "psi*q"}, "spectra": ["c"]},
    {"invariants": {"i": "psi**2"}},
    {"conserved": {"i": "psi**2"}},
    {"rate": "abs(psi)"},
]


def stirred(source, **beside):
    equations = ["dt(q) = -v@grad(q)", f"lap(psi) - psi = {source}"]
    return sw.write(equations, {"q": "scalar"}, unknowns={"psi": "scalar"}, define={"v": "perp(psi)"}, **beside)


@pytest.mark.parametrize("beside", BESIDE, ids=repr)
@pytest.mark.parametrize("source", ["q*cos(3*t)", "q + cos(t)"])
def test_an_unknown_that_holds_the_time_stands_in_equations_alone(make_grid, source, beside):
    """What is reported is not given t: at t = 1 a mean of it had the value of t = 0."""
    with pytest.raises(WrittenError, match="'psi' outside the equations: t is in the equation that gives it"):
        stirred(source, **beside)(make_grid((8, 8), devices=1)).derived  # noqa: B018
    stirred(source, energies={"e": "q**2"})(make_grid((8, 8), devices=1)).check()


@pytest.mark.parametrize("beside", BESIDE[1:], ids=repr)
@pytest.mark.parametrize("source", ["q*cos(x)", "q + cos(x)"])
def test_an_unknown_that_holds_a_place_is_refused_where_it_is_not_known(make_grid, source, beside):
    with pytest.raises(WrittenError, match=r"a place, such as x|an energy is quadratic"):
        stirred(source, **beside)(make_grid((8, 8), devices=1)).derived  # noqa: B018


@pytest.mark.slow
def test_the_mean_of_an_unknown_that_holds_a_place(make_grid):
    """q = 1 gives psi = −cos(x)/2: the mean of psi cos x is −1/4."""
    grid = make_grid((16, 12), devices=2)
    equation = stirred("q*cos(x)", series={"c": "mean(psi*cos(x)*q)"})(grid)
    fields = equation.from_physical({"q": jnp.ones((1, 16, 12))})
    np.testing.assert_allclose(equation.series(fields, 0.1)["c"], -0.25, atol=1e-14)


@pytest.mark.slow
def test_an_extreme_of_a_definition(make_grid):
    """psi = −sin(y)/2 of q = sin y: v.x = −∂y psi = cos(y)/2."""
    grid = make_grid((16, 16), devices=1)
    equation = stirred("q", series={"c": "1 + max(v.x)"})(grid)
    fields = equation.from_physical({"q": jnp.broadcast_to(jnp.sin(grid.coordinates()[1]), (1, 16, 16))})
    np.testing.assert_allclose(equation.series(fields, 0.1)["c"], 1.5, atol=1e-14)
