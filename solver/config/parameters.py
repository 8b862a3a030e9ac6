"""Parameters of a class as keys of a run file: their types, defaults and descriptions."""

from __future__ import annotations

import dataclasses
import inspect
import os
import re
import types
import typing
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import Field, create_model

from solver.config.messages import describe
from solver.config.sections import Section

REQUIRED = dataclasses.MISSING
PLAIN = (int, float, str, bool)
STATIC = re.compile(r"[,;] static(?=[.,;:]|$)")
ARGUMENT = re.compile(r"(\w+(?:, \w+)*): (.*)")


@dataclass(frozen=True)
class Parameter:
    """One key: its type in a run file, its default (`REQUIRED` if there is none), and what its docstring says."""

    type: Any
    default: Any = REQUIRED
    description: str = ""

    def __str__(self) -> str:
        return describe(self.type)


def parameters_of(cls: type, leave_out: Sequence[str] = ()) -> dict[str, Parameter]:
    """What a run file may set of a dataclass (an `equinox.Module` is one): its fields.

    What Python takes as any number or array is a number in a run file.
    """
    hints = typing.get_type_hints(cls)
    descriptions = argument_descriptions(cls)
    found = {}
    for field in dataclasses.fields(cls):
        if field.name in leave_out or not field.init:
            continue
        default = field.default_factory() if field.default_factory is not REQUIRED else field.default
        told = for_run_files(descriptions.get(field.name, ""))
        found[field.name] = Parameter(in_run_file(hints[field.name]), default, told)
    return found


def in_run_file(hint: Any) -> Any:
    """The type that TOML can hold of what a Python annotation allows."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if hint in PLAIN or hint is type(None) or origin is typing.Literal:
        return hint
    if origin in (typing.Union, types.UnionType):
        return _union(arguments)
    if origin in (tuple, list, Sequence):
        inner = in_run_file(arguments[0])
        return typing.Annotated[tuple[inner, ...], Field(strict=False)]  # type: ignore[valid-type]
    if hint in (tuple, list) or _is_array(hint):
        numbers = typing.Annotated[tuple[float, ...], Field(strict=False)]
        return numbers if hint in (tuple, list) else float | numbers  # type: ignore[operator]
    return str if isinstance(hint, type) and issubclass(hint, os.PathLike) else float


def _is_array(hint: Any) -> bool:
    """Whether it is a class of arrays, JAX's or NumPy's, which are not imported here."""
    return str(getattr(hint, "__name__", "")).rpartition(".")[2] in ("Array", "ndarray", "TypedNdArray")


def _union(options: Sequence[Any]) -> Any:
    """Arrays stand for a list where a list may stand, and else for a number."""
    inner = list(dict.fromkeys(float if _is_array(option) else in_run_file(option) for option in options))
    takes_arrays = any(_is_array(option) for option in options)
    has_list = any(typing.get_origin(option) is typing.Annotated for option in inner)
    if takes_arrays:
        inner = [option for option in inner if option not in PLAIN]
        inner += [] if has_list else [float]
    union = inner[0]
    for option in inner[1:]:
        union = union | option
    return union


def argument_descriptions(cls: type) -> dict[str, str]:
    """What the `Args` of a docstring say of each parameter, inherited ones included."""
    found: dict[str, str] = {}
    for base in reversed(cls.__mro__[:-1]):
        found.update(_arguments(inspect.cleandoc(base.__doc__ or "")))
    return found


def for_run_files(description: str) -> str:
    """A description without Python's words: nothing in a run file is static or None."""
    return re.sub(r"\bif None\b", "if not given", STATIC.sub("", description))


def _arguments(text: str) -> dict[str, str]:
    _, marker, rest = text.partition("Args:\n")
    found: dict[str, str] = {}
    names: list[str] = []
    for line in rest.splitlines() if marker else []:
        if line and not line.startswith("    "):
            break
        match = ARGUMENT.fullmatch(line.strip())
        if match and not line.startswith("     "):
            names = match[1].split(", ")
            found.update(dict.fromkeys(names, match[2]))
        else:
            found.update({name: f"{found[name]} {line.strip()}".strip() for name in names})
    return found


def table_model(name: str, parameters: Mapping[str, Parameter], *, named: bool) -> type[Section]:
    """A model of the table that sets these parameters, with a key `name` if `named`."""
    fields: dict[str, Any] = {"name": (typing.Literal[name], ...)} if named else {}
    for key, parameter in parameters.items():
        default = ... if parameter.default is REQUIRED else parameter.default
        fields[key] = (parameter.type, Field(default, description=parameter.description or None))
    return create_model(name, __base__=Section, **fields)
