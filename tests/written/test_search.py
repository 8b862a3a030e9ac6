"""The plan with the fewest transforms: how many it has, and that it gives what stands in the text, by plain FFTs."""

import os
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from evaluation import Box, by_plan, on_constraints, random_values

from solver.written import read_system
from solver.written.agreement import agrees
from solver.written.components import minus, plus, times
from solver.written.dictionary import dictionary
from solver.written.elimination import reduce_system
from solver.written.parameters import lengths
from solver.written.plan import Plan, plan_as_written
from solver.written.samples import draw
from solver.written.search import cheapest_plan
from solver.written.tree import Call, Derivative, Entry, Name, Slot

SHAPES = {1: (15,), 2: (13, 12), 3: (7, 8, 9)}
LENGTHS = (2.0, 3.0, 5.0)
PARAMETERS = {
    name: 0.3 + 0.17 * i
    for i, name in enumerate(
        ["nu", "n2", "beta", "kd", "g", "f", "kappa", "eta", "di", "r", "m", "alpha", "eps", "k", "du", "dv", "chi"]
    )
}

VELOCITY, SCALAR, WAVE = {"u": "vector"}, {"u": "scalar"}, {"a": "wavefunction"}
FIELDS = {"u": "vector", "b": "vector"}
PRESSURE = {"p": "scalar"}
FLOW = "dt(u) = -u@grad(u) - grad(p) + nu*lap(u)"
BUOYANCY = "dt(b) = -u@grad(b) - n2*u.up + kappa*lap(b)"
FREE = ["div(u) = 0", "div(b) = 0"]


def flow(force):
    return [f"dt(u) = {force} - grad(p) + nu*lap(u)", "div(u) = 0"], VELOCITY, PRESSURE


# name: (equations, fields, unknowns), and transforms in each dimension
SYSTEMS = {
    "convective": (flow("-u@grad(u)"), {2: (2, 2), 3: (3, 5)}),
    "rotational": (flow("cross(u, curl(u))"), {3: (3, 5)}),
    "flux": (flow("-div(outer(u, u))"), {2: (2, 2), 3: (3, 5)}),
    "scalar": (
        ([FLOW, "div(u) = 0", "dt(c) = -u@grad(c) + kappa*lap(c)"], {"u": "vector", "c": "scalar"}, PRESSURE),
        {2: (3, 4), 3: (4, 8)},
    ),
    "Boussinesq": (
        ([FLOW + " + b*up", "div(u) = 0", BUOYANCY], {"u": "vector", "b": "scalar"}, PRESSURE),
        {2: (3, 4), 3: (4, 8)},
    ),
    "rotating": (
        ([FLOW + " + b*up - f*cross(ez, u)", "div(u) = 0", BUOYANCY], {"u": "vector", "b": "scalar"}, PRESSURE),
        {3: (4, 8)},
    ),
    "MHD": (
        ([FLOW + " + cross(curl(b), b)", "dt(b) = curl(cross(u, b)) + eta*lap(b)", *FREE], FIELDS, PRESSURE),
        {3: (6, 8)},
    ),
    "MHD, advective": (
        ([FLOW + " + b@grad(b)", "dt(b) = b@grad(u) - u@grad(b) + eta*lap(b)", *FREE], FIELDS, PRESSURE),
        {2: (4, 3), 3: (6, 8)},
    ),
    "Hall MHD": (
        ([FLOW + " + cross(curl(b), b)", "dt(b) = curl(cross(u - di*curl(b), b)) + eta*lap(b)", *FREE],
         FIELDS, PRESSURE),
        {3: (9, 8)},
    ),
    "reduced MHD": (
        (["dt(q) = -perp(a)@grad(q) + perp(c)@grad(lap(c))", "dt(c) = -perp(a)@grad(c)", "lap(a) = q"],
         {"q": "scalar", "c": "scalar"}, {"a": "scalar"}),
        {2: (4, 3)},
    ),
    "reduced MHD, currents": (
        (["dt(q) = -perp(inverse_lap(q))@grad(q) + perp(inverse_lap(j))@grad(j)",
          "dt(j) = -lap(perp(inverse_lap(q))@grad(inverse_lap(j)))"], {"q": "scalar", "j": "scalar"}),
        {2: (4, 3)},
    ),
    "vorticity": ((["dt(q) = -perp(inverse_lap(q))@grad(q) - beta*dx(inverse_lap(q))"], {"q": "scalar"}), {2: (2, 2)}),
    "surface QG": ((["dt(c) = -perp(fraclap(c, -1/2))@grad(c)"], {"c": "scalar"}), {2: (3, 2)}),
    "two layers": (
        (["dt(q1) = -perp(a)@grad(q1)", "dt(q2) = -perp(c)@grad(q2) - beta*dx(c)",
          "lap(a) + kd**2/2*(c - a) = q1", "lap(c) + kd**2/2*(a - c) = q2"],
         {"q1": "scalar", "q2": "scalar"}, {"a": "scalar", "c": "scalar"}),
        {2: (4, 5)},
    ),
    "six species": (
        ([FLOW, "div(u) = 0", *(f"dt(c{i}) = -u@grad(c{i}) + c{i}*c{(i + 1) % 6} + kappa*lap(c{i})" for i in range(6))],
         {"u": "vector", **{f"c{i}": "scalar" for i in range(6)}}, PRESSURE),
        {2: (8, 20)},
    ),
    "electrons": ((["dt(b) = -di*curl(cross(curl(b), b)) + eta*lap(b)", "div(b) = 0"], {"b": "vector"}), {3: (3, 5)}),
    "Camassa–Holm": ((["dt(q) = -2*q*dx(a) - a*dx(q)", "a - eps*lap(a) = q"], {"q": "scalar"}, {"a": "scalar"}),
                     {1: (2, 2)}),
    "Hasegawa–Mima": ((["dt(lap(u) - u) = -perp(u)@grad(lap(u)) - beta*dy(u)"], SCALAR), {2: (2, 2)}),
    "Hasegawa–Wakatani": (
        (["dt(q) = -perp(a)@grad(q) + alpha*(a - n)", "dt(n) = -perp(a)@grad(n) + alpha*(a - n) - g*dy(a)",
          "lap(a) = q"], {"q": "scalar", "n": "scalar"}, {"a": "scalar"}),
        {2: (3, 4)},
    ),
    "Burgers": ((["dt(u) = -u@grad(u) + nu*lap(u)"], VELOCITY), {1: (1, 1), 2: (3, 3), 3: (6, 4)}),
    "compression": ((["dt(u) = u@grad(u) - div(outer(u, u))"], VELOCITY), {2: (3, 2)}),
    "Kuramoto–Sivashinsky": (
        (["dt(u) = -lap(u) - lap(lap(u)) - grad(u)@grad(u)/2"], SCALAR),
        {1: (1, 1), 2: (2, 1), 3: (3, 1)},
    ),
    "KdV": ((["dt(u) = -6*u*dx(u) - dx(dx(dx(u)))"], SCALAR), {1: (1, 1)}),
    "modified KdV": ((["dt(u) = -2*g*dx(u**3) - dx(dx(dx(u)))"], SCALAR), {1: (1, 1)}),
    "Swift–Hohenberg": (
        (["dt(u) = r*u - u - 2*lap(u) - lap(lap(u)) + g*u**2 - u**3"], SCALAR),
        {1: (1, 1), 2: (1, 1), 3: (1, 1)},
    ),
    "Cahn–Hilliard": ((["dt(u) = m*lap(u**3 - u - kappa*lap(u))"], SCALAR), {1: (1, 1), 2: (1, 1), 3: (1, 1)}),
    "Allen–Cahn": ((["dt(u) = eps**2*lap(u) + u - u**3"], SCALAR), {2: (1, 1)}),
    "Ginzburg–Landau": ((["dt(a) = a + (1 + 1j*r)*lap(a) - (1 + 1j*beta)*abs(a)**2*a"], WAVE), {2: (1, 1)}),
    "Schrödinger": ((["dt(a) = 1j/2*lap(a) + 1j*g*abs(a)**2*a"], WAVE), {2: (1, 1)}),
    "Gray–Scott": (
        (["dt(u) = du*lap(u) - u*v**2 + f*(1 - u)", "dt(v) = dv*lap(v) + u*v**2 - (f + k)*v"],
         {"u": "scalar", "v": "scalar"}),
        {2: (2, 1)},
    ),
    "shallow water": (
        (["dt(u) = -u@grad(u) - g*grad(h)", "dt(h) = -div(h*u)"], {"u": "vector", "h": "scalar"}),
        {2: (4, 5)},
    ),
}  # fmt: skip
CASES = [(name, d) for name, (_, counts) in SYSTEMS.items() for d in counts]
PLANS = {}


def planned(name, dimensions):
    """A system and its plan, worked out once."""
    if (name, dimensions) not in PLANS:
        reduced = reduce_system(read_system(*SYSTEMS[name][0]), dimensions)
        PLANS[name, dimensions] = reduced, cheapest_plan(reduced)
    return PLANS[name, dimensions]


@pytest.fixture(autouse=True)
def _no_plan_has_to_be_replaced(monkeypatch):
    """What the search finds agrees with the text: the plan as written never hides a mistake of the search."""

    def agreed(reduced, plan):
        assert agrees(reduced, plan)
        return True

    monkeypatch.setattr("solver.written.search.agrees", agreed)


def differences(reduced, plan, seed=3, parameters=PARAMETERS):
    """How far the rates of change by a plan are from the text's, for random fields whose squares do not alias."""
    d = reduced.dimensions
    box = Box(SHAPES[d], LENGTHS[:d])
    indices = np.meshgrid(*(np.abs(np.fft.fftfreq(n, 1 / n)) for n in box.shape), indexing="ij")
    kept = np.all([index <= (n - 1) // 3 for index, n in zip(indices, box.shape, strict=True)], axis=0)
    values = {
        name: smooth(value, box, kept) for name, value in random_values(reduced.system, box, parameters, seed).items()
    }
    values = on_constraints(reduced, values, box)
    text = by_plan(plan_as_written(reduced.changes(reduced.rest), reduced.system.fields), values, box)
    changed = by_plan(Plan(plan.inner, plan.products, reduced.changes(plan.rows)), values, box)
    size = max(np.abs(value).max() for value in text.values())
    assert size > 0.01
    return max(np.abs(box.modes(changed[s] - text[s])[kept]).max() for s in text) / size


def smooth(value, box, kept):
    """The modes of a field that are kept; a parameter as it is."""
    if np.ndim(value) == 0:
        return value
    modes = box.points(box.modes(value + 0.5) * kept)
    return modes if np.iscomplexobj(value) else modes.real


@pytest.mark.slow
@pytest.mark.parametrize(("name", "dimensions"), CASES, ids=str)
def test_transforms_are_as_few_as_by_hand(name, dimensions):
    assert planned(name, dimensions)[1].transforms == SYSTEMS[name][1][dimensions]


@pytest.mark.parametrize(("name", "dimensions"), CASES, ids=str)
def test_a_plan_gives_what_stands_in_the_text(name, dimensions):
    assert differences(*planned(name, dimensions)) < 1e-11


def test_a_flow_is_planned_as_it_is_by_hand():
    """The flux of momentum without its trace, from the velocity alone."""
    _, plan = planned("convective", 3)
    assert plan.inner == tuple(Entry("u", (i,)) for i in range(3))
    x, y, z = (Slot("inner", i) for i in range(3))
    squares = [times(u, u) for u in (x, y, z)]
    diagonal = [plus((square, minus(squares[2]))) for square in squares[:2]]
    assert plan.products == (diagonal[0], times(x, y), times(x, z), diagonal[1], times(y, z))
    flux = [[(0, 0), (1, 1), (2, 2)], [(1, 0), (3, 1), (4, 2)], [(2, 0), (4, 1)]]
    rows = [plus(minus(Derivative(Slot("product", j), axis)) for j, axis in row) for row in flux]
    assert list(plan.rows.values()) == rows


def test_parameters_stand_outside_products_where_that_costs_nothing():
    reduced = reduce_system(read_system(["dt(u) = -6*g*u*dx(u) - dx(dx(dx(u)))"], SCALAR), 1)
    assert cheapest_plan(reduced).products == (times(Slot("inner", 0), Slot("inner", 0)),)
    assert Name("g") in planned("Swift–Hohenberg", 1)[1].products[0].walk()


# what no search treats, or only in part: fields, unknowns, equations, and most transforms
MIXED = {
    "functions": (["dt(u) = u*dx(u) + sin(u) + 1/(2 + u**2)"], SCALAR, {}, 1),
    "places": (["dt(u) = x*dx(u) - u*dx(u) + sin(x) + nu"], SCALAR, {}, 1),
    "two stages": (["dt(u) = u*inverse_lap(u**2) - u*dx(u)"], SCALAR, {}, 2),
    "a product gives it": (["dt(b) = -v*b + nu*lap(b) + b*dx(b)", "lap(v) - g*v = b**2"],
                           {"b": "scalar"}, {"v": "scalar"}, 2),
    "remarks": (["dt(u) = cause(advection, -u*dx(u)) - explicit(nu*u) + explicit(u*u)"], SCALAR, {}, 2),
    "means": (["dt(u) = mean(u)*u - mean(u*u) - u*dx(u)"], SCALAR, {}, 2),
    "conjugates": (["dt(a) = conj(a)*dx(a) - 1j*a*dx(a) + real(a*a)"], WAVE, {}, 1),
    "complex constants": (["dt(b) = b*c - 3j*dx(dx(b))*b + 2j*c*dx(b)", "dt(c) = b*c + (1 + 1j*g)*c*c"],
                          {"b": "wavefunction", "c": "wavefunction"}, {}, 1),
    "tensors": (["dt(s) = -s@s + trans(s)"], {"s": "tensor"}, {}, 2),
    "parts": (["dt(u) = -0.037*u*dx(u) + g*u**2 - g**2*u*lap(u) - u*v**2/r", "dt(v) = 2*dx(u*v) + (1 + 2*r)*u*dx(v)/3"],
              {"u": "scalar", "v": "scalar"}, {}, 1),
    "bounds": (["dt(u) = max(u, 0) - u*dx(u) + where(u < 1, u, u*u)"], SCALAR, {}, 1),
}  # fmt: skip


@pytest.mark.parametrize("name", MIXED)
def test_what_is_no_product_of_two_stays_as_written(name):
    lines, fields, unknowns, dimensions = MIXED[name]
    reduced = reduce_system(read_system(lines, fields, unknowns), dimensions)
    plan, written = cheapest_plan(reduced), plan_as_written(reduced.rest, fields)
    assert sum(plan.transforms) <= sum(written.transforms)
    assert differences(reduced, plan) < 1e-11


@pytest.mark.parametrize(("name", "dimensions"), [("Hall MHD", 3), ("Swift–Hohenberg", 2), ("electrons", 3)])
def test_parameters_may_be_zero(name, dimensions):
    reduced, plan = planned(name, dimensions)
    for zero in ("di", "g") if name != "electrons" else ("eta",):
        with np.errstate(all="raise"):
            assert differences(reduced, plan, parameters={**PARAMETERS, zero: 0.0}) < 1e-11


def test_too_large_a_problem_is_left_as_written(monkeypatch):
    monkeypatch.setattr("solver.written.ansatz.MOST_COLUMNS", 10)
    reduced = reduce_system(read_system(*SYSTEMS["convective"][0]), 2)
    assert cheapest_plan(reduced) == plan_as_written(reduced.rest, reduced.system.fields)


TERMS = ["{a}*{b}", "{a}*dx({b})", "dy({a}*{b})", "perp({a})@grad({b})", "lap({a}*{b})", "grad({a})@grad({b})",
         "{a}*lap({b})", "g*{a}*dy({b})", "inverse_lap({a}*dx({b}))", "dx({a})*inverse_lap(dy({b}))"]  # fmt: skip


def random_system(seed):
    """Two scalars, and in every other system a flow that carries them."""
    rng = np.random.default_rng(seed)
    names = ["b", "c", "u.x"] if seed % 2 else ["b", "c"]
    term = lambda: f"{rng.integers(-3, 4)}/2*" + str(rng.choice(TERMS)).format(a=rng.choice(names), b=rng.choice(names))  # noqa: E731
    lines = [f"dt({name}) = b*c + " + " + ".join(term() for _ in range(rng.integers(1, 4))) for name in ("b", "c")]
    fields = {"b": "scalar", "c": "scalar"}
    if not seed % 2:
        return lines, fields, {}
    return [*lines, f"dt(u) = -u@grad(u) - grad(p) + ({term()})*ex", "div(u) = 0"], fields | VELOCITY, PRESSURE


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
def test_random_products_never_need_more_transforms_than_the_text(seed):
    lines, fields, unknowns = random_system(seed)
    reduced = reduce_system(read_system(lines, fields, unknowns), 2)
    plan, written = cheapest_plan(reduced), plan_as_written(reduced.rest, fields)
    assert sum(plan.transforms) <= sum(written.transforms)
    assert differences(reduced, plan) < 1e-11


PRINTED = """
from test_search import SYSTEMS, MIXED, planned, random_system
from solver.written import read_system
from solver.written.dictionary import dictionary
from solver.written.elimination import reduce_system
from solver.written.samples import draw
from solver.written.search import cheapest_plan
for case in [("convective", 3), ("Burgers", 3), ("two layers", 2), ("shallow water", 2)]:
    print(planned(*case)[1])
print(cheapest_plan(reduce_system(read_system(*random_system(3)), 2)))
"""


@pytest.mark.thorough
@pytest.mark.slow
def test_plans_do_not_depend_on_the_order_of_sets():
    def printed(seed):
        environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(sys.path)}
        return subprocess.run([sys.executable, "-c", PRINTED], env=environment, check=True, capture_output=True).stdout

    assert len(first := printed("1")) > 1000
    assert first == printed("2")


def doubled(plan):
    """The plan with its last product doubled."""
    return replace(plan, products=(*plan.products[:-1], plus((plan.products[-1], plan.products[-1]))))


def derived(plan):
    """The plan with a derivative of its first inner field in place of it."""
    return replace(plan, inner=(Derivative(plan.inner[0], 0), *plan.inner[1:]))


def without_a_row(plan):
    """The plan with its first row in place of its last."""
    return replace(plan, rows=dict.fromkeys(plan.rows, next(iter(plan.rows.values()))))


@pytest.mark.parametrize("spoil", [doubled, derived, without_a_row])
@pytest.mark.parametrize("name", ["convective", "two layers", "shallow water", "Gray–Scott"])
def test_a_wrong_plan_is_found_out(name, spoil):
    reduced, plan = planned(name, 2)
    assert agrees(reduced, plan)
    assert not agrees(reduced, spoil(plan))


def test_a_plan_that_is_wrong_for_means_alone_is_found_out():
    reduced = reduce_system(read_system(["dt(u) = lap(inverse_lap(u))*dx(u)"], SCALAR), 1)
    plan = plan_as_written(reduced.rest, reduced.system.fields)
    inverse = Call("lap", (Call("inverse_lap", (Name("u"),)),))
    assert inverse in plan.inner
    assert agrees(reduced, plan)
    assert not agrees(
        reduced, replace(plan, inner=tuple(Name("u") if node == inverse else node for node in plan.inner))
    )


def test_a_plan_that_is_wrong_for_the_mean_of_a_product_is_found_out():
    reduced = reduce_system(read_system(["dt(u) = lap(inverse_lap(u*u))"], SCALAR), 1)
    plan = plan_as_written(reduced.rest, reduced.system.fields)
    assert agrees(reduced, plan)
    assert not agrees(reduced, replace(plan, rows=dict.fromkeys(plan.rows, Slot("product", 0))))


def test_orders_are_those_of_large_wavenumbers_whatever_stands_in_a_solution():
    layers = ["dt(q1) = q1", "dt(q2) = q2", "dt(q3) = q3",
              "lap(a) + g*(c - a) = q1", "lap(c) + g*(a - 2*c + e) = q2", "lap(e) + g*(c - e) = q3"]  # fmt: skip
    reduced = reduce_system(
        read_system(layers, dict.fromkeys(["q1", "q2", "q3"], "scalar"), dict.fromkeys("ace", "scalar")), 2
    )
    samples = draw(reduced, 60, 0)
    found = dictionary(reduced, (), list(reduced.diagnosed.values()), samples, {})
    assert [found.inner[i].order for i in found.given] == [-2.0] * 3


@pytest.mark.parametrize(
    ("name", "known"), [("two layers", {"kd": 1}), ("Camassa–Holm", {"eps": -2}), ("vorticity", {})]
)
def test_parameters_count_as_derivatives(name, known):
    reduced = reduce_system(read_system(*SYSTEMS[name][0]), max(SYSTEMS[name][1]))
    assert lengths(reduced.rest.values()) == {(parameter, ()): order for parameter, order in known.items()}


def test_a_plan_of_more_transforms_than_the_text_has_is_not_taken(monkeypatch):
    reduced = reduce_system(read_system(*SYSTEMS["convective"][0]), 2)
    written = plan_as_written(reduced.rest, reduced.system.fields)
    wasteful = replace(written, inner=(*written.inner, Call("lap", (written.inner[0],))))
    monkeypatch.setattr("solver.written.search._Planned.plans", lambda self: iter([wasteful]))
    assert cheapest_plan(reduced) == written


def test_the_plan_as_written_stands_in_for_one_that_does_not_agree(monkeypatch):
    monkeypatch.setattr("solver.written.search.agrees", lambda reduced, plan: False)
    reduced = reduce_system(read_system(*SYSTEMS["convective"][0]), 2)
    assert cheapest_plan(reduced) == plan_as_written(reduced.rest, reduced.system.fields)
