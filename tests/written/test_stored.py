"""Plans that are kept: those of the library are what a search finds, by any names, and come back from JSON."""

import json
from functools import cache

import pytest

from solver.assemble.make_plans import texts
from solver.written.elimination import reduce_system
from solver.written.search import cheapest_plan
from solver.written.stored import (
    FILE,
    KNOWN,
    keep_to,
    key_of,
    known_plan,
    numbered,
    plan_as_json,
    plan_from_json,
    renamed,
    text_to_keep,
)
from solver.written.system import read_system
from solver.written.tree import WrittenError

STORED = json.loads(FILE.read_text())


@cache
def library():
    """Reduced systems of the library by key: made in the test, since collecting the tests would take seconds longer."""
    return {key_of(reduced): reduced for reduced in (reduce_system(text.system, d) for text, d in texts())}


def burgers(u="u", nu="nu"):
    return reduce_system(read_system([f"dt({u}) = -{u}*dx({u}) + {nu}*lap({u})"], {u: "scalar"}), 1)


def test_every_text_of_the_library_has_a_plan():
    assert STORED.keys() == library().keys(), "python -m solver.assemble.make_plans writes them"


@pytest.mark.slow
@pytest.mark.parametrize("key", sorted(STORED))
def test_the_librarys_plans_are_what_a_search_finds(key):
    reduced = library()[key]
    found = renamed(cheapest_plan(reduced), numbered(reduced))
    assert plan_from_json(STORED[key]) == found
    assert plan_from_json(json.loads(json.dumps(plan_as_json(found)))) == found


def test_names_do_not_matter():
    assert key_of(burgers()) == key_of(burgers("velocity", "a"))
    plan = known_plan(burgers("velocity", "a"), cheapest_plan)
    assert plan == cheapest_plan(burgers("velocity", "a"))


def test_what_is_kept_is_used_and_not_searched_again():
    reduced = burgers()
    found = known_plan(reduced, cheapest_plan)
    assert known_plan(reduced, lambda reduced: pytest.fail("searched again")) == found
    text = text_to_keep(reduced)
    other = json.loads(text)
    other["products"][0] = ["Product", other["products"][0], ["Number", {"real": 2.0, "imag": 0.0}]]
    try:
        assert keep_to(json.dumps(other))
        assert known_plan(reduced, cheapest_plan) != found
        assert keep_to(text)
        assert known_plan(reduced, cheapest_plan) == found
        assert not keep_to(text)
    finally:
        KNOWN.pop(key_of(reduced))


@pytest.mark.parametrize(
    "text", ["", "{}", '{"of": "x"}', '{"of": "x", "inner": [["Nothing"]], "products": [], "rows": []}']
)
def test_what_is_no_plan(text):
    with pytest.raises(WrittenError, match="cannot be read"):
        keep_to(text)
