"""The JSON schema of run files, with which editors complete and check them."""

from __future__ import annotations

from typing import Any

from solver.config.entry import Entry, Schema
from solver.config.parameters import table_model
from solver.config.runfile import SETTINGS
from solver.config.sections import Heading, ScalarSection, WallsSection, WrittenEquation

FROM_ELSEWHERE = {
    "type": "object",
    "description": "a class of your own, as 'file.py:Class' or 'package.module:Class', with its parameters",
    "properties": {"name": {"type": "string", "pattern": ":"}},
    "required": ["name"],
}


WALLED = {"properties": {"grid": {"required": ["walls"]}}}  # where fields without a start are at rest


def json_schema(schema: Schema) -> dict[str, Any]:
    """JSON schema (draft 2020-12) of a run file, with every registered class of each kind."""
    kinds = {kind: [schema.find(kind, name) for name in schema.names(kind)] for kind in ("equation", "initial")}
    kinds |= {
        kind: [schema.find(kind, name) for name in schema.names(kind)]
        for kind in ("forcing", "closure", "body", "particles", "output")
    }
    definitions = {
        kind: {"anyOf": [*(_table(entry, named=True) for entry in entries), FROM_ELSEWHERE]}
        for kind, entries in kinds.items()
    }
    definitions["equation"]["anyOf"].append(_written())
    stepper = {"examples": list(schema.names("stepper"))}
    tables = {name: section.model_json_schema() for name, section in SETTINGS.items()}
    below: dict[str, Any] = {}  # what the tables refer to stands at the top
    for table in tables.values():
        below |= table.pop("$defs", {})
    of_field = WallsSection.model_json_schema()
    walls = {"type": "object", "description": "conditions at walls, by field", "additionalProperties": of_field}
    scalar = {**ScalarSection.model_json_schema(), "description": "a passive scalar that the flow carries"}
    scalars = {"type": "object", "description": "passive scalars by name", "additionalProperties": scalar}
    tables["time"]["properties"]["stepper"] |= stepper
    tables["grid"]["required"] = ["shape"]
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Slabwave run file",
        "type": "object",
        "additionalProperties": False,
        "required": ["grid", "equation", "time"],
        "properties": {
            **Heading.model_json_schema()["properties"],
            **tables,
            "equation": {"$ref": "#/$defs/equation"},
            "scalars": scalars,
            "walls": walls,
            "closure": {"$ref": "#/$defs/closure"},
            "initial": {"type": "object"},
            "forcing": {"type": "object"},
            **_obstacles(kinds["body"]),
            "particles": _particles(kinds["particles"]),
            "output": _outputs(kinds["output"]),
        },
        "allOf": [{"anyOf": [{"required": ["initial"]}, WALLED]}, *map(_fields_of, kinds["equation"])],
        "$defs": {**below, **{kind: definitions[kind] for kind in ("equation", "closure", "initial", "forcing")}},
    }


def _table(entry: Entry, *, named: bool) -> dict[str, Any]:
    table_schema = table_model(entry.name, entry.parameters, named=named).model_json_schema()
    return {**table_schema, "description": entry.summary or entry.name}


def _written() -> dict[str, Any]:
    """An equation that is given as text."""
    table = WrittenEquation.model_json_schema()
    table["properties"] = {"name": {"const": "written"}, **table["properties"]}
    return {**table, "required": ["name", *table["required"]], "description": "an equation as text: docs/writing.md"}


def _fields_of(equation: Entry) -> dict[str, Any]:
    """`[initial]` and `[forcing]` for an equation of one field, `[initial.FIELD]` and `[forcing.FIELD]` for several.

    Passive scalars, whose names the schema does not know, are fields too: with them it says nothing.
    """
    named_start, of_all = {"required": ["name"]}, dict[str, Any]()
    named: dict[str, Any] = {kind: {"$ref": f"#/$defs/{kind}"} for kind in ("initial", "forcing")}
    if equation.fields_by:  # the parameters decide whether there is one field or several
        named = {k: {"anyOf": [ref, {"type": "object", "additionalProperties": ref}]} for k, ref in named.items()}
    elif len(equation.fields) > 1:
        by_field = {
            kind: {"type": "object", "additionalProperties": False, "properties": dict.fromkeys(equation.fields, ref)}
            for kind, ref in named.items()
        }
        alike = {"anyOf": [by_field["initial"], named["initial"]]}
        named = {**by_field, "initial": alike}
        of_all = {"properties": {"initial": {"anyOf": [{"required": list(equation.fields)}, named_start]}}}
    this = {
        "properties": {"equation": {"properties": {"name": {"const": equation.name}}}},
        "not": {"required": ["scalars"]},
    }
    then = {"properties": named, **({"anyOf": [of_all, WALLED]} if of_all else {})}
    return {"if": this, "then": then}


def _obstacles(entries: list[Entry]) -> dict[str, Any]:
    """`[body]` with a key `shape`, and `[sponge]`: one table, or several by name."""
    tables = {entry.name: _table(entry, named=False) for entry in entries}
    own = {**FROM_ELSEWHERE, "properties": {"shape": {"type": "string", "pattern": ":"}}, "required": ["shape"]}
    sponge = tables.pop("sponge")
    for name, table in tables.items():
        table["properties"] = {"shape": {"const": name}, **table["properties"]}
        table["required"] = ["shape", *table.get("required", ())]
    of_one = {"body": {"anyOf": [*tables.values(), own]}, "sponge": sponge}
    several = lambda one: {"type": "object", "minProperties": 1, "additionalProperties": one}  # noqa: E731
    return {name: {"anyOf": [one, several(one)]} for name, one in of_one.items()}


def _particles(entries: list[Entry]) -> dict[str, Any]:
    """`[particles.NAME]`, by name, with a key `kind`."""
    tables = {entry.name: _table(entry, named=False) for entry in entries}
    for name, table in tables.items():
        table["properties"] = {"kind": {"const": name}, **table["properties"]}
        table["required"] = [*([] if name == "tracer" else ["kind"]), *table.get("required", ())]
    own = {"type": "object", "properties": {"kind": {"type": "string", "pattern": ":"}}, "required": ["kind"]}
    of_one = {"anyOf": [*tables.values(), own]}
    return {"type": "object", "description": "particles by name", "additionalProperties": of_one}


def _outputs(outputs: list[Entry]) -> dict[str, Any]:
    tables = {entry.name: {"anyOf": [_table(entry, named=False), {"const": False}]} for entry in outputs}
    return {
        "type": "object",
        "description": "where a run writes, and what and when",
        "properties": {"directory": {"type": "string"}, **tables},
        "additionalProperties": {"type": "object"},
    }
