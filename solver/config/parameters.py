"""Parameters of a class as keys of a run file: their types, defaults and descriptions."""

from __future__ import annotations

import dataclasses
import inspect
import os
import re
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import Field, create_model

from solver.config.messages import describe
from solver.config.sections import Section

REQUIRED = dataclasses.MISSING
PLAIN = (int, float, str, bool)
FROM_THE_RUN = (
    "grid",
    "forcing",
    "closure",
    "bodies",
    "particles",
    "companions",
    "places",
    "method",
    "walls",
    "scalars",
)  # attributes that no key of their section decides
STATIC = re.compile(r"[,;] static(?=[.,;:]|$)")
ARGUMENT = re.compile(r"(\w+(?:, \w+)*): (.*)")


@dataclass(frozen=True)
class Parameter:
    """A key of a run file: its type, its default (`REQUIRED` without one), and its description."""

    type: Any
    default: Any = REQUIRED
    description: str = ""

    def __str__(self) -> str:
        return describe(self.type)


def parameters_of(cls: type, leave_out: Sequence[str] = ()) -> dict[str, Parameter]:
    """The parameters of a dataclass (an `equinox.Module` is one) that a run file may set: its fields.

    A parameter that may be any number or array in Python is a number in a run file.
    """
    hints = typing.get_type_hints(cls)
    descriptions = argument_descriptions(cls)
    parameters = {}
    for field in dataclasses.fields(cls):
        if field.name in leave_out or not field.init:
            continue
        default = field.default_factory() if field.default_factory is not REQUIRED else field.default
        description = for_run_files(descriptions.get(field.name, ""))
        parameters[field.name] = Parameter(in_run_file(hints[field.name]), default, description)
    return parameters


def in_run_file(hint: Any) -> Any:
    """The part of a Python annotation that TOML can hold."""
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
    """True if `hint` is an array class of JAX or NumPy; neither is imported here."""
    return str(getattr(hint, "__name__", "")).rpartition(".")[2] in ("Array", "ndarray", "TypedNdArray")


def _union(options: Sequence[Any]) -> Any:
    """A union of types. An array counts as a list if the union has a list type, otherwise as a number; functions, which
    a run file names, are left out."""
    options = [option for option in options if typing.get_origin(option) is not Callable]
    inner = list(dict.fromkeys(float if _is_array(option) else in_run_file(option) for option in options))
    takes_arrays = any(_is_array(option) for option in options)
    has_list = any(typing.get_origin(option) is typing.Annotated for option in inner)
    if takes_arrays:
        inner = [option for option in inner if option not in PLAIN or option is str]
        inner += [] if has_list else [float]
    union = inner[0]
    for option in inner[1:]:
        union = union | option
    return union


def argument_descriptions(cls: type) -> dict[str, str]:
    """The description of each parameter in the `Args` of a docstring, including inherited parameters."""
    descriptions: dict[str, str] = {}
    for base in reversed(cls.__mro__[:-1]):
        descriptions.update(_arguments(inspect.cleandoc(base.__doc__ or "")))
    return descriptions


def for_run_files(description: str) -> str:
    """A description without the words `static` and `None`, which mean nothing in a run file."""
    return re.sub(r"\bif None\b", "if not given", STATIC.sub("", description))


def _arguments(text: str) -> dict[str, str]:
    _, marker, rest = text.partition("Args:\n")
    descriptions: dict[str, str] = {}
    names: list[str] = []
    for line in rest.splitlines() if marker else []:
        if line and not line.startswith("    "):
            break
        match = ARGUMENT.fullmatch(line.strip())
        if match and not line.startswith("     "):
            names = match[1].split(", ")
            descriptions.update(dict.fromkeys(names, match[2]))
        else:
            descriptions.update({name: f"{descriptions[name]} {line.strip()}".strip() for name in names})
    return descriptions


def table_model(name: str, parameters: Mapping[str, Parameter], *, named: bool) -> type[Section]:
    """A pydantic model of a table with these parameters, and with a key `name` if `named`."""
    fields: dict[str, Any] = {"name": (typing.Literal[name], ...)} if named else {}
    for key, parameter in parameters.items():
        default = ... if parameter.default is REQUIRED else parameter.default
        fields[key] = (parameter.type, Field(default, description=parameter.description or None))
    return create_model(name, __base__=Section, **fields)
