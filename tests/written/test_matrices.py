"""The linear operator in its plainest form, against the text's own linear terms under a dense projection."""

import numpy as np
import pytest

from solver.written import Text, WrittenError, read_system
from solver.written.derivation import in_dimensions
from solver.written.elimination import reduce_system
from solver.written.matrices import linear_operator, matrices, matrix
from solver.written.symbols import random_modes

FLOW = "-u@grad(u) - grad(p) + nu*lap(u)"
PRESSURE = {"p": "scalar"}

# name: equations, fields, unknowns, parameters, dimensions, what the linear operator couples
SYSTEMS = {
    "flow": ([f"dt(u) = {FLOW}", "div(u) = 0"], {"u": "vector"}, PRESSURE, None, 3, "nothing"),
    "flow in a plane": ([f"dt(u) = {FLOW}", "div(u) = 0"], {"u": "vector"}, PRESSURE, None, 2, "nothing"),
    "stratified": (
        [f"dt(u) + f*cross(ez, u) = {FLOW} + b*up", "div(u) = 0", "dt(b) = -u@grad(b) - n2*u.up + kappa*lap(b)"],
        {"u": "vector", "b": "scalar"}, PRESSURE, None, 3, "components",
    ),
    "magnetised": (
        [f"dt(u) = {FLOW} + (b0 + b)@grad(b)", "dt(b) = curl(cross(u, b0 + b)) + kappa*lap(b)",
         "div(u) = 0", "div(b) = 0"],
        {"u": "vector", "b": "vector"}, PRESSURE, {"nu": "scalar", "kappa": "scalar", "b0": "vector"}, 3, "fields",
    ),
    "unequal viscosities": (
        [f"dt(u) = {FLOW} + kappa*dz(dz(u.x))*ex", "div(u) = 0"], {"u": "vector"}, PRESSURE, None, 3, "components",
    ),
    "mass": (["dt(lap(b) - b) = -beta*dy(b)"], {"b": "scalar"}, {}, None, 2, "nothing"),
    "waves": (["dt(b) = c", "dt(c) = lap(b)"], {"b": "scalar", "c": "scalar"}, {}, None, 1, "components"),
}  # fmt: skip


@pytest.mark.parametrize("name", SYSTEMS)
def test_the_plainest_form_is_the_projected_text(name):
    lines, fields, unknowns, parameters, dimensions, couples = SYSTEMS[name]
    reduced = reduce_system(read_system(lines, fields, unknowns, parameters=parameters), dimensions)
    modes = random_modes(dimensions, count=20, seed=3)
    at, found = matrices(reduced, modes), linear_operator(reduced)
    assert found.couples == couples
    whole = at.changes @ matrix(reduced.linear, list(reduced.rest), reduced.scalars, modes) @ at.projector
    symbols = found.symbols
    if couples == "fields":
        pairs = [(s, r) for s in reduced.scalars for r in reduced.scalars if s.index == r.index]
        symbols = {(s, r): symbols[s.name, r.name] for s, r in pairs if (s.name, r.name) in symbols}
    plainest = matrix(symbols, reduced.scalars, reduced.scalars, modes)
    np.testing.assert_allclose(plainest @ at.projector, whole, atol=1e-12)
    assert np.abs(whole).max() > 0.1


def test_a_constraint_without_a_multiplier_is_refused():
    with pytest.raises(WrittenError, match="break a constraint"):
        linear_operator(reduce_system(read_system(["dt(u) = ez*u.x", "div(u) = 0"], {"u": "vector"}), 3))


def derived(write, fields, dimensions, **others):
    return in_dimensions(Text(write=write, fields=fields, **others), dimensions, aliases=False)


@pytest.mark.parametrize("number", ["1e-12", "1e12"])
@pytest.mark.parametrize(
    ("write", "fields", "unknowns", "dimensions"),
    [
        (["dt(u) = {c}*v", "dt(v) = -{c}*u"], {"u": "scalar", "v": "scalar"}, {}, 1),
        (["dt(u) = 3*lap(u) + {c}*v", "dt(v) = lap(v)"], {"u": "scalar", "v": "scalar"}, {}, 1),
        (["dt(u) = -grad(p) - {c}*cross(ez, u)", "div(u) = 0"], {"u": "vector"}, {"p": "scalar"}, 3),
        (["dt(u) = {c}*lap(u) - grad(p)", "div(u) = 0"], {"u": "vector"}, {"p": "scalar"}, 2),
        (
            ["dt(E) = {c}*curl(B)", "dt(B) = -curl(E)", "div(E) = 0", "div(B) = 0"],
            {"E": "vector", "B": "vector"},
            {},
            3,
        ),
    ],
    ids=["oscillation", "weak beside strong", "rotation", "viscosity", "Maxwell"],
)
def test_the_linear_part_is_the_same_whatever_its_units(number, write, fields, unknowns, dimensions):
    plain = derived([line.format(c="1") for line in write], fields, dimensions, unknowns=unknowns)
    other = derived([line.format(c=number) for line in write], fields, dimensions, unknowns=unknowns)
    assert other.linear.couples == plain.linear.couples
    assert other.linear.symbols.keys() == plain.linear.symbols.keys()
    assert other.plan.transforms == plain.plan.transforms


def test_a_plan_gives_products_that_are_small_beside_those_of_another_equation():
    write = ["dt(u) = 1e-10*u*dx(u)", "dt(v) = 1e10*u*dx(v) - 1e10*v*dx(u)"]
    rows = derived(write, {"u": "scalar", "v": "scalar"}, 1).plan.rows
    assert rows[0, ()].slots
