"""Names, formulas and parameters of the package's classes, known without importing them. Imports no JAX.

They are stored in index.json next to this file. `python -m solver.assemble.make_index` makes it from the classes, and
a test compares the two.
"""

from __future__ import annotations

import importlib
import json
import types
import typing
from collections.abc import Mapping
from functools import cache, partial
from pathlib import Path
from typing import Any

from pydantic import Field

from solver.config import REQUIRED, Declared, Entry, Parameter

FILE = Path(__file__).parent / "index.json"
KINDS = ("equation", "stepper", "initial", "forcing", "closure", "body", "particles", "output")
REGISTERED: dict[str, dict[str, type]] = {kind: {} for kind in KINDS}  # classes from Python, by `register`


@cache
def indexed(kind: str) -> Mapping[str, Entry]:
    """Entries of our own classes of a kind, by name."""
    return {name: _entry(name, entry) for name, entry in _read()[kind].items()}


@cache
def _read() -> dict[str, dict[str, Any]]:
    index: dict[str, dict[str, Any]] = json.loads(FILE.read_text(encoding="utf-8"))
    return index


def to_json(entry: Entry) -> dict[str, Any]:
    """The index's entry of a class: the values that are not empty."""
    values = {
        "place": entry.place,
        "text": entry.text,
        "formula": entry.formula,
        "parameters": {key: _parameter(parameter) for key, parameter in entry.parameters.items()},
        "fields": {name: list(declared) for name, declared in entry.fields.items()},
        "fields_by": entry.fields_by,
        "further": list(entry.further or ()),
        "dealias": entry.dealias,
        "dimensions": list(entry.dimensions),
        "ranks": list(entry.ranks),
        "classes": list(entry.classes),
        "takes": entry.takes,
        "unknowns": list(entry.unknowns),
    }
    return {key: value for key, value in values.items() if value}


def _parameter(parameter: Parameter) -> dict[str, Any]:
    values = {"type": as_json(parameter.type)}
    if parameter.default is not REQUIRED:
        values["default"] = parameter.default
    return {**values, "description": parameter.description}


def _entry(name: str, values: dict[str, Any]) -> Entry:
    return Entry(
        name=name,
        load=partial(_load, values["place"]),
        place=values["place"],
        text=values["text"],
        formula=values.get("formula", ""),
        parameters={
            key: Parameter(from_json(parameter["type"]), _default(parameter), parameter["description"])
            for key, parameter in values.get("parameters", {}).items()
        },
        fields={field: Declared(*declared) for field, declared in values.get("fields", {}).items()},
        fields_by=values.get("fields_by", ""),
        further=Declared(*values["further"]) if "further" in values else None,
        dealias=values["dealias"],
        dimensions=tuple(values.get("dimensions", ())),
        ranks=tuple(values.get("ranks", ())),
        classes=tuple(values.get("classes", ())),
        takes=values.get("takes", ""),
        unknowns=tuple(values.get("unknowns", ())),
    )


def _default(parameter: dict[str, Any]) -> Any:
    return _tuples(parameter["default"]) if "default" in parameter else REQUIRED


def _tuples(value: Any) -> Any:
    return tuple(_tuples(item) for item in value) if isinstance(value, list) else value


def _load(place: str) -> Any:
    module, _, name = place.rpartition(".")
    return getattr(importlib.import_module(module), name)


# ---- types of parameters --------------------------------------------------------------------------------------------


PLAIN: dict[str, Any] = {"int": int, "float": float, "str": str, "bool": bool, "none": type(None)}
WORDS = {kind: word for word, kind in PLAIN.items()}


def as_json(hint: Any) -> Any:
    """A type that `solver.config.in_run_file` makes: a word, `{"choices": …}`, `{"list": …}`, or a list of options."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Literal:
        return {"choices": list(arguments)}
    if origin in (typing.Union, types.UnionType):
        return [as_json(option) for option in arguments]
    if origin is typing.Annotated:
        return {"list": as_json(typing.get_args(arguments[0])[0])}
    return WORDS[hint]


def from_json(written: Any) -> Any:
    """The type that `as_json` has written."""
    if isinstance(written, str):
        return PLAIN[written]
    if isinstance(written, list):
        return typing.Union[tuple(from_json(option) for option in written)]  # noqa: UP007
    if "choices" in written:
        return typing.Literal[tuple(written["choices"])]
    return typing.Annotated[tuple[from_json(written["list"]), ...], Field(strict=False)]  # type: ignore[misc]
