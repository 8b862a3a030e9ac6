"""What is told of our own classes without importing them: names, formulas, parameters. Imports no JAX.

It lies in index.json beside this file, made from the classes by `python -m solver.assemble.make_index`; a test compares
the two.
"""

from __future__ import annotations

import importlib
import json
from collections.abc import Mapping
from functools import cache, partial
from pathlib import Path
from typing import Any

from solver.assemble.type_words import as_json, from_json
from solver.config import REQUIRED, Declared, Entry, Parameter

FILE = Path(__file__).parent / "index.json"
KINDS = ("equation", "stepper", "initial", "forcing", "output")


@cache
def indexed(kind: str) -> Mapping[str, Entry]:
    """Our own classes of a kind, by name."""
    return {name: _entry(name, told) for name, told in _read()[kind].items()}


@cache
def _read() -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = json.loads(FILE.read_text(encoding="utf-8"))
    return found


def to_json(entry: Entry) -> dict[str, Any]:
    """What the index says of a class, without what is left at its default."""
    told = {
        "place": entry.place,
        "text": entry.text,
        "parameters": {key: _parameter(parameter) for key, parameter in entry.parameters.items()},
        "fields": {name: list(declared) for name, declared in entry.fields.items()},
        "fields_by": entry.fields_by,
        "further": list(entry.further or ()),
        "dealias": entry.dealias,
        "dimensions": list(entry.dimensions),
        "ranks": list(entry.ranks),
        "classes": list(entry.classes),
        "takes": entry.takes,
    }
    return {key: value for key, value in told.items() if value}


def _parameter(parameter: Parameter) -> dict[str, Any]:
    told = {"type": as_json(parameter.type)}
    if parameter.default is not REQUIRED:
        told["default"] = parameter.default
    return {**told, "description": parameter.description}


def _entry(name: str, told: dict[str, Any]) -> Entry:
    return Entry(
        name=name,
        load=partial(_load, told["place"]),
        place=told["place"],
        text=told["text"],
        parameters={
            key: Parameter(from_json(one["type"]), _default(one), one["description"])
            for key, one in told.get("parameters", {}).items()
        },
        fields={field: Declared(*declared) for field, declared in told.get("fields", {}).items()},
        fields_by=told.get("fields_by", ""),
        further=Declared(*told["further"]) if "further" in told else None,
        dealias=told["dealias"],
        dimensions=tuple(told.get("dimensions", ())),
        ranks=tuple(told.get("ranks", ())),
        classes=tuple(told.get("classes", ())),
        takes=told.get("takes", ""),
    )


def _default(parameter: dict[str, Any]) -> Any:
    return _tuples(parameter["default"]) if "default" in parameter else REQUIRED


def _tuples(value: Any) -> Any:
    return tuple(_tuples(one) for one in value) if isinstance(value, list) else value


def _load(place: str) -> Any:
    module, _, name = place.rpartition(".")
    return getattr(importlib.import_module(module), name)
