"""The stored index of our own classes tells what the classes say of themselves."""

from dataclasses import replace

import pytest

from solver.assemble.classes import built_in, entry_of
from solver.assemble.index import FILE, KINDS, indexed
from solver.assemble.make_index import index_text
from solver.config.parameters import table_model


def test_it_is_what_the_classes_say():
    current = FILE.read_text(encoding="utf-8") == index_text()
    assert current, "the index is of other classes: make it anew by python -m solver.assemble.make_index"


@pytest.mark.parametrize("kind", KINDS)
def test_an_entry_read_from_it_is_that_of_the_class(kind):
    """With types, defaults and fields as the class has them, and the class itself when it is asked for."""
    for name, cls in built_in(kind).items():
        stored, made = indexed(kind)[name], entry_of(name, cls)
        assert stored.cls is cls
        assert replace(stored, parameters={}) == replace(made, parameters={})
        assert _rules(stored) == _rules(made)


def _rules(entry):
    """Types as pydantic reads them, types in words, defaults and descriptions."""
    schema = table_model(entry.name, entry.parameters, named=True).model_json_schema()
    return schema, {
        key: (str(parameter), parameter.default, parameter.description) for key, parameter in entry.parameters.items()
    }


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_listed_are_whole_sentences(kind):
    assert [entry.summary for entry in indexed(kind).values() if not entry.summary.endswith(".")] == []


@pytest.mark.parametrize("kind", KINDS)
def test_keys_of_a_run_file_are_described_in_its_own_words(kind):
    descriptions = [
        parameter.description for entry in indexed(kind).values() for parameter in entry.parameters.values()
    ]
    assert [text for text in descriptions if "static" in text or "if None" in text] == []
