"""`ConfigError` and its messages of one line: the key, the value given, and the value needed."""

from __future__ import annotations

import datetime
import difflib
import types
import typing
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pydantic import BaseModel, ValidationError

WORDS = {int: "an integer", float: "a number", str: "a string", bool: "true or false"}


class ConfigError(ValueError):
    """A wrong command line or run file, a missing input, an occupied directory: exit code 2.

    The message is one line that names the value given and the value needed.
    """


def nearest(name: str, known: Iterable[str]) -> str:
    """The end of an error message: `; did you mean …?` or `; known are …`."""
    names = sorted(known)
    close = difflib.get_close_matches(str(name), names, n=1, cutoff=0.6)
    close = close or difflib.get_close_matches(str(name).lower(), names, n=1, cutoff=0.6)
    return f"; did you mean {close[0]!r}?" if close else f"; known are {', '.join(names) or 'none'}"


def describe(hint: Any) -> str:
    """A type in words."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if hint in WORDS:
        return WORDS[hint]
    if origin is typing.Annotated:
        return next((note for note in arguments[1:] if isinstance(note, str)), describe(arguments[0]))
    if origin is typing.Literal:
        return " or ".join(repr(choice) for choice in arguments)
    if origin in (typing.Union, types.UnionType):
        return " or ".join(describe(option) for option in arguments if option is not type(None))
    return f"a list, each entry {describe(arguments[0])}" if origin is tuple else "a table"


def config_error(error: ValidationError, model: type[BaseModel], table: Any, path: str) -> ConfigError:
    """The first error of pydantic as one line.

    Args:
        error: the error that pydantic raised.
        model: the class that the table was read as.
        table: the table that was read.
        path: the table's own key, such as `equation`.
    """
    first = error.errors()[0]
    keys, hint, value = _place(first["loc"], model, table)
    key = _joined(path, keys)
    kind, context = first["type"], first.get("ctx", {})
    if kind == "extra_forbidden":
        return ConfigError(f"{key}: unknown key{nearest(keys[-1], _model(hint).model_fields)}")
    if kind == "missing":
        return ConfigError(f"{key} is missing: {describe(hint)} is needed")
    if kind == "value_error":
        text = str(context["error"])
        return ConfigError(text if isinstance(value, Mapping) else f"{key} = {_as_written(value)}: {text}")
    needed = _bound(kind, context) or describe(hint)
    close = nearest(value, _choices(hint)) if isinstance(value, str) else ""
    return ConfigError(f"{key} = {_as_written(value)}: {needed} is needed{close if 'did you' in close else ''}")


def _as_written(value: Any) -> str:
    """A value of a run file as text: dates and times as TOML has them, everything else as Python has it."""
    return value.isoformat() if isinstance(value, datetime.date | datetime.time) else repr(value)


def _place(location: Sequence[Any], model: type[BaseModel], table: Any) -> tuple[list[Any], Any, Any]:
    """Keys of pydantic's location, without its names for the parts of a union, and the type and value there."""
    keys: list[Any] = []
    hint: Any = model
    value = table
    for step in location:
        inner = _inside(hint, step)
        if inner is None and not (isinstance(value, Mapping) and step in value):
            continue
        hint = hint if inner is None else inner
        if isinstance(step, int) and not isinstance(value, list | tuple):  # one value that stands for a list of them
            continue
        keys.append(step)
        value = _item(value, step)
    return keys, hint, value


def _item(value: Any, key: Any) -> Any:
    try:
        return value[key]
    except (KeyError, IndexError, TypeError):
        return None


def _inside(hint: Any, key: Any) -> Any:
    """Type of the entry `key` of a type; None if it has no such entry."""
    if isinstance(hint, type) and issubclass(hint, BaseModel):
        field = hint.model_fields.get(key)
        return None if field is None else _with_notes(field)
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Annotated:
        return _inside(arguments[0], key)
    if origin in (typing.Union, types.UnionType):
        return next((entry for option in arguments if (entry := _inside(option, key)) is not None), None)
    if origin is dict:
        return arguments[1]
    return arguments[0] if origin is tuple and isinstance(key, int) else None


def _with_notes(field: Any) -> Any:
    """A field's type, annotated with the words that describe it, which pydantic keeps separately."""
    words = [note for note in field.metadata if isinstance(note, str)]
    return typing.Annotated[field.annotation, words[0]] if words else field.annotation


def _model(hint: Any) -> type[BaseModel]:
    if isinstance(hint, type) and issubclass(hint, BaseModel):
        return hint
    return next(_model(option) for option in typing.get_args(hint) if option is not type(None))


def _choices(hint: Any) -> list[str]:
    if typing.get_origin(hint) is typing.Literal:
        return [choice for choice in typing.get_args(hint) if isinstance(choice, str)]
    return [name for option in typing.get_args(hint) for name in _choices(option)]


def _bound(kind: str, context: Mapping[str, Any]) -> str:
    if kind == "greater_than" and context["gt"] == 0:
        return "a positive number"
    if kind == "greater_than_equal":
        return "zero or more" if context["ge"] == 0 else f"{context['ge']} or more"
    return f"a number below {context['lt']}" if kind == "less_than" else ""


def _joined(path: str, keys: Sequence[Any]) -> str:
    text = path
    for key in keys:
        text = f"{text}[{key}]" if isinstance(key, int) else f"{text}.{key}" if text else str(key)
    return text
