"""Plans against the text, by plain FFTs: every dimension, odd and unequal sizes, aliasing included."""

import numpy as np
import pytest
from evaluation import Box, by_plan, directly, random_values, rows_of

from solver.written import read_system
from solver.written.plan import plan_as_written

SHAPES = {1: (15,), 2: (9, 12), 3: (6, 7, 8)}

# name: fields, right-hand sides, parameters, and transforms in each dimension
SYSTEMS = {
    "convection": ({"u": "vector"}, ["dt(u) = -u@grad(u)"], {2: (6, 2), 3: (12, 3)}),
    "flux": ({"u": "vector"}, ["dt(u) = -div(outer(u, u))"], {2: (2, 3), 3: (3, 6)}),
    "rotational": ({"u": "vector"}, ["dt(u) = cross(u, curl(u)) - grad(u@u)/2"], {3: (6, 4)}),
    "vorticity": ({"w": "scalar"}, ["dt(w) = -perp(inverse_lap(w))@grad(w) - beta*dx(inverse_lap(w))"], {2: (4, 1)}),
    "Boussinesq": (
        {"u": "vector", "b": "scalar"},
        ["dt(u) = -u@grad(u) + nu*lap(u) + b*up", "dt(b) = -u@grad(b) - n2*u.up"],
        {2: (8, 3), 3: (15, 4)},
    ),
    "Gray–Scott": ({"a": "scalar", "b": "scalar"}, ["dt(a) = nu*lap(a) - a*b**2 + n2*(1 - a)", "dt(b) = a*b**2 - b"],
                   {1: (2, 1), 2: (2, 1), 3: (2, 1)}),
    "Cahn–Hilliard": ({"c": "scalar"}, ["dt(c) = lap(c**3 - c - nu*lap(c))"], {1: (1, 1), 2: (1, 1), 3: (1, 1)}),
    "growth": ({"p": "scalar"}, ["dt(p) = (1 - p)*(-p)*(-(nu - p))*2"], {1: (1, 1), 2: (1, 1)}),
    "Ginzburg–Landau": ({"a": "wavefunction"}, ["dt(a) = a + (1 + 2j)*lap(a) - (1 - nu*1j)*abs(a)**2*a"],
                        {1: (1, 1), 2: (1, 1), 3: (1, 1)}),
    "conjugates": ({"a": "wavefunction"}, ["dt(a) = conj(a)*dx(a) - 1j*real(a*a)*a"], {1: (2, 1), 3: (2, 1)}),
    "functions": ({"p": "scalar"}, ["dt(p) = sin(p) + exp(-p*p)*tanh(nu*p) + where(p < dx(p), p, n2) + max(p, 0)"],
                  {1: (2, 1), 2: (2, 1)}),
    "places": ({"p": "scalar"}, ["dt(p) = x*dx(p) + sin(x)*nu + cos(pi*x)*p"], {1: (2, 1), 2: (2, 1)}),
    "two levels": ({"p": "scalar"}, ["dt(p) = p*inverse_lap(p**2) + dx(p*lap(dx(p)*p))"], {1: (4, 4), 2: (4, 4)}),
    "means": ({"u": "vector", "p": "scalar"}, ["dt(u) = mean(p, x)*u", "dt(p) = (p - mean(p))*mean(u.x*p)"],
              {1: (5, 3), 2: (6, 4)}),
    "nonlocal": ({"p": "scalar"}, ["dt(p) = fraclap(p, 0.5)*p + helmholtz(p*p, 2) - fraclap(p, nu)"], {2: (2, 2)}),
    "tensors": ({"u": "vector"}, ["dt(u) = div(sym(grad(u))*(u@u)) + trans(grad(u))@u + (u@grad(u)).x*ex"], None),
}  # fmt: skip
PARAMETERS = {"nu": 0.3, "n2": 1.7, "beta": 0.8}


def planned(name, dimensions):
    fields, lines, _ = SYSTEMS[name]
    system = read_system(lines, fields)
    return system, plan_as_written(rows_of(system, dimensions), fields)


CASES = [(name, d) for name, (_, _, counts) in SYSTEMS.items() for d in (counts or {2: (), 3: ()})]


@pytest.mark.parametrize(("name", "dimensions"), CASES, ids=str)
def test_a_plan_gives_what_stands_in_the_text(name, dimensions):
    box = Box(SHAPES[dimensions], (2.0, 3.0, 5.0)[:dimensions])
    system, plan = planned(name, dimensions)
    values = random_values(system, box, PARAMETERS, 3)
    computed = by_plan(plan, values, box)
    for field in system.fields:
        whole = np.broadcast_to(directly(system.equation_of(field).right, values, box), np.shape(values[field]))
        size = np.abs(whole).max()
        assert size > 0.1
        for (name_of_row, index), row in computed.items():
            if name_of_row == field:
                np.testing.assert_allclose(row, whole[index], atol=1e-12 * size)


@pytest.mark.parametrize(("name", "dimensions"), [case for case in CASES if SYSTEMS[case[0]][2]], ids=str)
def test_equal_scalars_are_transformed_once(name, dimensions):
    assert planned(name, dimensions)[1].transforms == SYSTEMS[name][2][dimensions]


def test_levels_follow_one_another():
    _, plan = planned("two levels", 1)
    levels = plan.levels()
    assert len(levels) == 2
    assert [len(inner) for inner, _ in levels] == [2, 3]  # one of them is needed in both
    assert [len(products) for _, products in levels] == [2, 2]
