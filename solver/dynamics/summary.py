"""An equation in `print` and in a notebook: its lines, its numbers, what acts on it, and its grid."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from html import escape
from typing import Any

import jax
import numpy as np

from solver.written.formula import unicode
from solver.written.text import Text
from solver.written.tree import Name

ACTING = ("scalars", "forcing", "closure", "bodies", "particles", "companions", "walls")  # none of them a parameter
MOST_NUMBERS = 9  # of a parameter, in words
NOT_SHOWN = {*ACTING, "grid", "method", "energy_budget", "between", "shift", "kept_of_bodies"}


def summary(equation: Any) -> str:
    """Lines of an equation, its parameters, what acts on it, its grid; as plain text."""
    named = [f"{label} = {value}" for label, value in _parameters(equation)]
    acting = [f"{label}: {value}" for label, value in _acting(equation)]
    lines = [*_formula(equation), *([", ".join(named)] if named else []), *acting, f"on {equation.grid}"]
    return "\n  ".join([equation.name, *lines])


def summary_in_html(equation: Any) -> str:
    """The same as HTML, for notebooks."""
    rows = [*_parameters(equation), *_acting(equation), ("grid", str(equation.grid))]
    cells = "".join(
        f"<tr><th style='text-align:left'>{escape(label)}</th><td style='text-align:left'>{escape(value)}</td></tr>"
        for label, value in rows
    )
    formula = escape("\n".join(_formula(equation)))
    return f"<b>{escape(equation.name)}</b><pre>{formula}</pre><table>{cells}</table>"


def _text_of(equation: Any) -> Text | None:
    text = getattr(equation, "text", None)
    return text if isinstance(text, Text) else None


def _formula(equation: Any) -> list[str]:
    if _text_of(equation) is not None:
        return list(equation.plain_text.formula().splitlines())
    documented = (type(equation).__doc__ or "").strip().splitlines()
    return documented[:1]


def _parameters(equation: Any) -> list[tuple[str, str]]:
    """Names, with their symbols in the lines, and values of the parameters that are given."""
    text = _text_of(equation)
    symbols = {} if text is None else dict(text.symbols)
    found = []
    for field in dataclasses.fields(equation):
        value = getattr(equation, field.name)
        is_given = value is not None and not (isinstance(value, tuple) and not value)
        if field.name not in NOT_SHOWN and is_given:
            symbol = f" {unicode(Name(symbols[field.name]))}" if field.name in symbols else ""
            found.append((field.name + symbol, _said(value)))
    return found


def _acting(equation: Any) -> list[tuple[str, str]]:
    """Forcings, bodies, particles, companions and walls, with the field or the name of each."""
    found = []
    for kind in ACTING:
        given = getattr(equation, kind, None)
        if given is None:
            continue
        each = given.items() if isinstance(given, Mapping) else [("", given)]
        if isinstance(given, tuple):
            each = [(scalar.name, scalar) for scalar in given]
        found += [(f"{kind} {name}".strip(), _of_one_line(one)) for name, one in each]
    return found


def _of_one_line(value: Any) -> str:
    """A value by its class and by what was given, without defaults."""
    if not dataclasses.is_dataclass(value):
        return str(value)
    given = {field.name: getattr(value, field.name) for field in dataclasses.fields(value) if _is_given(value, field)}
    return f"{type(value).__name__}({', '.join(f'{name}={_said(one)}' for name, one in given.items())})"


def _is_given(value: Any, field: Any) -> bool:
    """True if an attribute that is printed differs from its default."""
    own = getattr(value, field.name)
    is_plain = own is None or isinstance(own, int | float | str | tuple)
    return field.repr and not (is_plain and own in (field.default, None, ()))


def _said(value: Any) -> str:
    """A number, a few numbers, or the shape of many; `?` where it is being traced."""
    if isinstance(value, jax.core.Tracer):
        return "?"
    if isinstance(value, str | bool) or callable(value):
        return str(value)
    if isinstance(value, list | tuple):
        return f"({', '.join(map(_said, value))})"
    if isinstance(value, np.ndarray | np.generic | jax.Array):
        if isinstance(value, jax.Array) and not value.is_fully_addressable:
            return f"array{list(value.shape)}"
        value = np.asarray(value)
        return (
            str(value.tolist())
            if value.ndim > 0 and value.size <= MOST_NUMBERS
            else (f"{value.item():.6g}" if value.ndim == 0 else f"array{list(value.shape)}")
        )
    return f"{value:.6g}" if isinstance(value, float | complex) else str(value)
