"""From TOML values to typed ones, by the annotations of dataclasses and functions."""

from __future__ import annotations

import dataclasses
import difflib
import math
import re
import types
import typing
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from solver.config.errors import ConfigError

REQUIRED = dataclasses.MISSING
LENGTH_IN_PI = re.compile(r"\s*([-+]?[0-9.]+(?:[eE][-+]?[0-9]+)?)?\s*\*?\s*pi\s*")
NAMES = {int: "an integer", float: "a number", str: "a string", bool: "true or false"}


@dataclass(frozen=True)
class Length:
    """A length as written in a run file: a number, or a multiple of π in words."""

    written: float | str

    @property
    def value(self) -> float:
        """As a number."""
        if not isinstance(self.written, str):
            return float(self.written)
        match = LENGTH_IN_PI.fullmatch(self.written)
        if match is None:
            raise ConfigError(f"{self.written!r} is not a length; needed is a number or a multiple of pi as '2 pi'")
        return float(match[1] or 1) * math.pi


@dataclass(frozen=True)
class Parameter:
    """One key: its type, as an annotation, and its default (`REQUIRED` if there is none)."""

    type: Any
    default: Any = REQUIRED


def parameters_of(cls: type) -> dict[str, Parameter]:
    """The keys that a section's dataclass stands for."""
    hints = typing.get_type_hints(cls)
    found = {}
    for field in dataclasses.fields(cls):
        default = field.default_factory() if field.default_factory is not REQUIRED else field.default
        found[field.name] = Parameter(hints[field.name], default)
    return found


def read_table(table: Any, parameters: Mapping[str, Parameter], path: str) -> dict[str, Any]:
    """Values of all `parameters`, checked; refuses keys that are none of them.

    Raises:
        ConfigError: an unknown key (the nearest known one is named), a missing one, or a wrong type.
    """
    if not isinstance(table, Mapping):
        raise ConfigError(f"{path} = {table!r}: a table is needed")
    for key in table:
        if key not in parameters:
            raise ConfigError(f"{_join(path, key)}: unknown key{nearest(key, parameters)}")
    values = {}
    for key, parameter in parameters.items():
        if key in table:
            values[key] = convert(table[key], parameter.type, _join(path, key))
        elif parameter.default is REQUIRED:
            raise ConfigError(f"{_join(path, key)} is missing: {describe(parameter.type)} is needed")
        else:
            values[key] = parameter.default
    return values


def nearest(name: str, known: Iterable[str]) -> str:
    """`; did you mean …?` or `; known are …`, to end an error line with."""
    names = sorted(known)
    close = difflib.get_close_matches(str(name), names, n=1, cutoff=0.6)
    return f"; did you mean {close[0]!r}?" if close else f"; known are {', '.join(names) or 'none'}"


def convert(value: Any, hint: Any, path: str) -> Any:
    """`value` as the type that `hint` names; integers serve as floats.

    Raises:
        ConfigError: it is of another type.
    """
    for accepts, make in CONVERSIONS:
        if accepts(hint):
            return make(value, hint, path)
    return _scalar(value, hint, path)


def describe(hint: Any) -> str:
    """A type in words."""
    if hint in NAMES:
        return NAMES[hint]
    if typing.get_origin(hint) is typing.Literal:
        return " or ".join(repr(c) for c in typing.get_args(hint))
    if _is_union(hint):
        return " or ".join(describe(a) for a in typing.get_args(hint) if a is not type(None))
    if _is_sequence(hint):
        return f"a list, each entry {describe(typing.get_args(hint)[0])}"
    return "a length" if hint is Length else "a table"


def _is_union(hint: Any) -> bool:
    return typing.get_origin(hint) in (typing.Union, types.UnionType)


def _is_sequence(hint: Any) -> bool:
    return typing.get_origin(hint) in (tuple, list, Sequence)


def _wrong(value: Any, hint: Any, path: str) -> ConfigError:
    return ConfigError(f"{path} = {value!r}: {describe(hint)} is needed")


def _scalar(value: Any, hint: Any, path: str) -> Any:
    if hint is float and type(value) is int:
        value = float(value)
    if type(value) is not hint or (hint is float and not math.isfinite(value)):
        raise _wrong(value, hint, path)
    return value


def _literal(value: Any, hint: Any, path: str) -> Any:
    choices = typing.get_args(hint)
    if value not in choices or type(value) not in {type(c) for c in choices}:
        close = nearest(value, [c for c in choices if isinstance(c, str)]) if isinstance(value, str) else ""
        raise ConfigError(f"{path} = {value!r}: {describe(hint)} is needed{close if 'did you' in close else ''}")
    return value


def _union(value: Any, hint: Any, path: str) -> Any:
    options = [option for option in typing.get_args(hint) if option is not type(None)]
    if len(options) == 1:
        return convert(value, options[0], path)
    for option in options:
        try:
            return convert(value, option, path)
        except ConfigError as error:
            if "did you mean" in str(error):
                raise
    raise _wrong(value, hint, path)


def _sequence(value: Any, hint: Any, path: str) -> tuple[Any, ...]:
    if not isinstance(value, list | tuple):
        raise _wrong(value, hint, path)
    entry = typing.get_args(hint)[0]
    return tuple(convert(v, entry, f"{path}[{i}]") for i, v in enumerate(value))


def _length(value: Any, hint: Any, path: str) -> Length:
    if type(value) not in (int, float, str):
        raise _wrong(value, hint, path)
    length = Length(value)
    try:
        positive = length.value > 0 and math.isfinite(length.value)
    except ConfigError as error:
        raise ConfigError(f"{path} = {error}") from None
    if not positive:
        raise ConfigError(f"{path} = {value!r}: a positive length is needed")
    return length


def _nested(value: Any, hint: Any, path: str) -> Any:
    return hint(**read_table(value, parameters_of(hint), path))


def _join(path: str, key: str) -> str:
    return f"{path}.{key}" if path else str(key)


CONVERSIONS: list[tuple[Callable[[Any], bool], Callable[[Any, Any, str], Any]]] = [
    (_is_union, _union),
    (_is_sequence, _sequence),
    (lambda hint: typing.get_origin(hint) is typing.Literal, _literal),
    (lambda hint: hint is Length, _length),
    (dataclasses.is_dataclass, _nested),
]
