"""Texts printed in one way: what is printed is read as the same tree, and texts that say the same are printed alike."""

import numpy as np
import pytest
from test_plan_as_written import SYSTEMS as PLAIN
from test_search import MIXED, SYSTEMS

from solver.assemble.make_plans import texts
from solver.config import changed_physics
from solver.written import Text, read_expression, read_line
from solver.written.canonical import canonical, canonical_table

LINES = sorted(
    {line for (lines, *_), _ in SYSTEMS.values() for line in lines}
    | {line for lines, *_ in MIXED.values() for line in lines}
    | {line for _, lines, _ in PLAIN.values() for line in lines}
    | {line for text, _ in texts() for line in text.write}
)
WORDS = {name: word for text, _ in texts() for name, word in text.words.items()}  # of closures


@pytest.mark.parametrize("line", LINES)
def test_what_is_printed_is_the_same_equation(line):
    printed = canonical(read_line(line, WORDS))
    assert read_line(printed, WORDS) == read_line(line, WORDS)
    assert canonical(read_line(printed, WORDS)) == printed


JOINED = [" + ", "-", "*", " / ", " @ ", "**", "+-", " - -"]
CALLS = ["lap({})", "cross( {} ,{})", "where({}<={}, {},{})", "fraclap({},  {})", "cause(drag, {})", "mean({}, x)"]
LEAVES = ["a", "u", "2", "2.0", "0.1", "3e-7", "1e300", "2j", ".5", "1e22"]


def random_text(rng, depth):
    if depth == 0 or rng.random() < 0.15:
        return str(rng.choice(LEAVES))
    if rng.random() < 0.25:
        call = str(rng.choice(CALLS))
        return call.format(*(random_text(rng, depth - 1) for _ in range(call.count("{}"))))
    left, right = random_text(rng, depth - 1), random_text(rng, depth - 1)
    text = left + str(rng.choice(JOINED)) + right
    form = rng.choice(["{}", "({})", "-({})", "( {}).up", "-{}", "+{}"])
    return str(form).format(text)


@pytest.mark.parametrize("seed", range(8))
def test_random_texts_are_read_again_as_the_same_tree(seed):
    rng = np.random.default_rng(seed)
    for _ in range(50):
        text = random_text(rng, 4)
        tree = read_expression(text)
        assert read_expression(canonical(tree)) == tree, text
        assert canonical(read_expression(f"( {text} )")) == canonical(tree)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("dt(u)=-u*dx(u)", "dt(u) = - u * dx( u )"),
        ("dt(u) = -(u*dx(u))", "dt(u) = (-u)*dx(u)"),
        ("dt(u) = a - b + c", "dt(u) = (a - b) + (+c)"),
        ("dt(u) = 2.0*u + 0.50*a", "dt(u) = 2*u + 5e-1*a"),
        ("dt(u) = a + -b", "dt(u) = a - b"),
        ("dt(u) = a*b**2", "dt(u) = a*(b**2)\n"),
    ],
)
def test_what_says_the_same_is_the_same_text(one, other):
    assert canonical(read_line(one)) == canonical(read_line(other))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("dt(u) = a - (b + c)", "dt(u) = a - b + c"),
        ("dt(u) = a/b*c", "dt(u) = a/(b*c)"),
        ("dt(u) = -a**2", "dt(u) = (-a)**2"),
        ("dt(u) = a**b**c", "dt(u) = (a**b)**c"),
        ("dt(u) = 0.1*u", "dt(u) = 0.10000000000000002*u"),
        ("dt(u) = a + b", "dt(u) = b + a"),
        ("dt(u) = u.up", "dt(u) = u.z"),
        ("dt(u) = 2*u", "dt(u) = 2j*u"),
    ],
)
def test_what_says_another_thing_is_another_text(one, other):
    assert canonical(read_line(one)) != canonical(read_line(other))


def table(line, **more):
    return {"grid": {"shape": [8]}, "equation": {"name": "written", "write": [line], **more}}


def test_the_physics_of_a_run_is_what_its_text_says():
    before = table("dt(u) = -u*dx(u) + v", define={"v": "nu*lap(u)"}, energies={"e": "u*u/2"})
    spaced = table("dt( u ) = -(u*dx(u)) + v", define={"v": "nu * lap(u)"}, energies={"e": "u * u / 2"})
    assert changed_physics(before, spaced) == []
    other = changed_physics(before, table("dt(u) = -2*u*dx(u) + v", define={"v": "mu*lap(u)"}, energies={"e": "u*u"}))
    assert [line.partition(":")[0] for line in other] == ["equation.define", "equation.energies", "equation.write"]
    assert "-u*dx(u) + v" in other[-1]


def test_the_table_of_a_text_is_printed_in_one_way():
    text = Text("dt(u) = - u * dx( u )+v", {"u": "scalar"}, define={"v": "nu*( lap(u) )"})
    assert text.table == {"write": ["dt(u) = -u*dx(u) + v"], "fields": {"u": "scalar"}, "define": {"v": "nu*lap(u)"}}


def test_functions_of_the_users_are_called_as_words_are():
    functions = {"growth": "model.py:growth"}
    before = table("dt(u)=growth( u,2 )+lap(u)", functions=functions)
    assert changed_physics(before, table("dt(u) = growth(u, 2) + lap(u)", functions=functions)) == []
    assert changed_physics(before, table("dt(u) = growth(u, 3) + lap(u)", functions=functions))


def test_what_is_no_text_is_compared_as_it_is():
    """config.toml of another version, or changed by hand."""
    assert canonical_table({"name": "written", "write": ["dt(u) = $"], "define": 3})["write"] == ["dt(u) = $"]
