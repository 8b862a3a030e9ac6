"""Every key of every run file with one wrong letter, and every value with every wrong type: refused in one line."""

import tomllib
from pathlib import Path

import pytest
import tomli_w

from solver import assemble
from solver.config import ConfigError

pytestmark = pytest.mark.slow
RUNS = sorted((Path(__file__).parents[2] / "runs").glob("*.toml"))
OTHERS = {"bool": True, "str": "qq", "list": [], "table": {}, "float": 1.5}
TRIED: set[tuple[tuple[str, ...], str]] = set()
EITHER = {"value", "tilt", "rotation", "lengths"}  # one number or several
FREE = ("body", "sponge", "particles", "scalars")  # sections whose tables have names of the author's
FITTING = {bool: {"bool"}, str: {"str"}, list: {"list"}, dict: {"table"}, float: {"float"}, int: {"float"}}


def places(table, above=()):
    """Keys of a table and of those in it, as paths."""
    for key, value in table.items():
        yield (*above, key)
        if isinstance(value, dict):
            yield from places(value, (*above, key))


def changed(table, place, change):
    """A copy of the table in which `change(inner table, key)` was made at a place."""
    copy = tomllib.loads(tomli_w.dumps(table))
    inner = copy
    for key in place[:-1]:
        inner = inner[key]
    change(inner, place[-1])
    return copy


def refusal(tmp_path, table):
    (tmp_path / "run.toml").write_text(tomli_w.dumps(table))
    with pytest.raises(ConfigError) as caught:
        assemble.parse_run_file(tmp_path / "run.toml")
    text, *shown = str(caught.value).splitlines()
    assert not shown or not shown[-1].strip(" ^"), "a line of a text with its place marked, and nothing else"
    assert len(shown) in (0, 2)
    return text


@pytest.mark.parametrize("path", RUNS, ids=lambda path: path.stem)
def test_a_key_with_one_wrong_letter(path, tmp_path):
    table = tomllib.loads(path.read_text())
    for number, place in enumerate(places(table)):
        if len(place) == 2 and place[0] in FREE and isinstance(table[place[0]][place[1]], dict):
            continue
        if place[:-1] in (("equation", "energies"), ("equation", "series")):  # names of the author's, too
            continue
        at = number % len(place[-1])
        letter = "k" if place[-1][at] == "q" else "q"
        wrong = f"{place[-1][:at]}{letter}{place[-1][at + 1 :]}"

        def rename(inner, key, wrong=wrong):
            inner[wrong] = inner.pop(key)

        text = refusal(tmp_path, changed(table, place, rename))
        assert wrong in text or place[-1] in text, text


@pytest.mark.parametrize("path", RUNS, ids=lambda path: path.stem)
def test_a_value_of_a_wrong_type(path, tmp_path):
    table = tomllib.loads(path.read_text())
    for place in places(table):
        value, named = table, ""
        for key in place:
            named, value = value.get("name", ""), value[key]
        if place[-1] != "name" and (place, named) in TRIED:
            continue  # the same parameter of the same object, in another file
        TRIED.add((place, named))
        for kind, other in OTHERS.items():
            if kind in FITTING[type(value)] or (kind in ("float", "list") and place[-1] in EITHER):
                continue
            if kind == "str" and place[0] == "walls" and place[-1] in ("value", "slope"):
                continue  # a text of time
            if kind == "list" and place[:2] == ("equation", "parameters"):
                continue  # a vector, which the text refuses with the place where it stands, in several lines

            def replace(inner, key, other=other):
                inner[key] = other

            text = refusal(tmp_path, changed(table, place, replace))
            assert place[-1] in text or place[0] in text, (place, kind, text)
