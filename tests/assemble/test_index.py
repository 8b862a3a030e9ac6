"""The stored index of our own classes tells what the classes say of themselves."""

from dataclasses import replace

import pytest

import solver as sw
from solver.assemble.classes import built_in, entry_of
from solver.assemble.index import FILE, KINDS, indexed
from solver.assemble.make_index import index_text, stubs
from solver.config.parameters import table_model


def test_it_is_what_the_classes_say():
    current = FILE.read_text(encoding="utf-8") == index_text()
    assert current, "the index is of other classes: make it anew by python -m solver.assemble.make_index"


def test_type_checkers_know_every_class():
    for path, text in stubs().items():
        current = path.read_text(encoding="utf-8") == text
        assert current, f"{path} is of other classes: make it anew by python -m solver.assemble.make_index"


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


FORMULAS = {
    "navier-stokes": "u_t = −u·∇u − ∇p + ν∇²u − ν_h (−∇²)^q u − μ u, ∇·u = 0.",
    "mhd": "u_t = −u·∇u + b·∇b + B₀·∇b − ∇p + ν∇²u − ν_h (−∇²)^q u, "
    "b_t = b·∇u − u·∇b + B₀·∇u + η∇²b − η_h (−∇²)^q b, ∇·u = 0, ∇·b = 0.",
    "boussinesq": "u_t = −u·∇u − ∇p − f ẑ×u + b ẑ + ν∇²u − ν_h (−∇²)^q u, "
    "b_t = −u·∇b − N² u_z + κ∇²b − κ_h (−∇²)^q b, ∇·u = 0.",
    "vorticity": "ω_t = −u·∇ω − β u_y + ν∇²ω − μ ω − ν_h (−∇²)^p ω, ψ = ∇⁻²ω, u = ∇⊥ψ.",
    "gray-scott": "u_t = D_u ∇²u − u v² + F (1 − u), v_t = D_v ∇²v + u v² − (F + k) v.",
    "kuramoto-sivashinsky": "u_t = −a∇²u − b∇⁴u − ½ n|∇u|² − c u.",
}


@pytest.mark.parametrize("name", FORMULAS)
def test_the_formula_of_a_text_is_shown_beside_its_docstring(name):
    entry = indexed("equation")[name]
    assert entry.summary.endswith(": " + FORMULAS[name])
    assert "=" not in entry.sentence
    lines = [f"    {line}" for line in FORMULAS[name].rstrip(".").split(", ")]
    assert entry.description.split("\n\n")[1].split("\n") == lines


def test_a_class_whose_docstring_is_its_formula_shows_it_once():
    entry = entry_of("burgers", sw.write("dt(u) = -u*dx(u) + nu*lap(u)", {"u": "scalar"}))
    assert entry.summary == "u_t = −u ∂x u + ν∇²u"
    assert entry.description == "    u_t = −u ∂x u + ν∇²u"


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_listed_are_whole_sentences(kind):
    assert [entry.summary for entry in indexed(kind).values() if not entry.summary.endswith(".")] == []


@pytest.mark.parametrize("kind", KINDS)
def test_keys_of_a_run_file_are_described_in_its_own_words(kind):
    descriptions = [
        parameter.description for entry in indexed(kind).values() for parameter in entry.parameters.values()
    ]
    assert [text for text in descriptions if "static" in text or "if None" in text] == []
