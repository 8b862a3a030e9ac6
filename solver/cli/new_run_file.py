"""A commented run file for an equation, made from what the equation says of itself and from a case, if it has one."""

from __future__ import annotations

import json
import math
import textwrap
import tomllib
from collections.abc import Mapping
from typing import Any

from solver.assemble.registry import Registry
from solver.config import REQUIRED, Entry, Parameter
from solver.config.toml import cases

SPLIT = "solver.dynamics.split_equation.SplitEquation"
OUTPUTS: dict[str, dict[str, Any]] = {
    "series": {"every_steps": 10},
    "spectra": {"every_time": 0.5},
    "snapshots": {"every_time": 0.5},
    "checkpoints": {"every_steps": 200, "keep": 3},
}


def new_run_file(entry: Entry, name: str) -> str:
    """A commented run file for an equation: every parameter with its description, and the values of a case if any."""
    registry, (case, table) = Registry(), _case_of(entry)
    comment = f"  # values of the case {case}" if case else ""
    d = max(entry.dimensions)
    grid = {"shape": [64] * d, "lengths": ["2 pi"] * d, **table.get("grid", {})}
    time = {"stepper": "strang" if SPLIT in entry.classes else "ifrk4", **table.get("time", {"step": 0.01, "end": 1.0})}
    lines = [
        f'title = "{name}"',
        f'reference = "{_source(entry.text)}"',
        "",
        f"[grid]{comment}",
        *_lines(grid),
        "",
        *(f"# {line}".rstrip() for line in _summary(entry)),
        "[equation]",
        f'name = "{name}"',
        *_parameter_lines(entry.parameters, table.get("equation", {})),
    ]
    for field, conditions in table.get("walls", {}).items():
        lines += ["", f"[walls.{field}]", *_lines(conditions)]
    usual = "conduction" if "walls" in grid else "random-phase"
    fields = entry.fields_with(table.get("equation", {}), {})
    for field, declared in fields.items():
        fit = [other for other in registry.initials_of(declared.rank) if other != "file"]
        start = _of_field(table.get("initial", {}), field) or {"name": usual}
        about = f"  # {field}, a {declared.rank} [{declared.units}], starts from {', '.join(fit)}"
        lines += _named_lines(registry, "initial", fields, field, start, about)
        forced = _of_field(table.get("forcing", {}), field)
        lines += _named_lines(registry, "forcing", fields, field, forced, "") if forced else []
    lines += [
        "",
        f"[time]  # steppers that take this equation: {', '.join(registry.steppers_of(entry))}",
        *_lines(time),
        "# one of step, cfl (such as 0.5) and tolerance (such as 1e-6)",
        "",
        "[output]",
        f'directory = "output/{name.rpartition(":")[2]}"',
        *_lines({key: value for key, value in table.get("output", OUTPUTS).items() if key != "directory"}),
    ]
    return "\n".join(lines) + "\n"


def _case_of(entry: Entry) -> tuple[str, dict[str, Any]]:
    """The simplest case: nothing that acts, no walls, particles or scalars, few points; empty if there is no case."""
    tables = {case: tomllib.loads(path.read_text(encoding="utf-8")) for case, path in cases().items()}
    fit = [case for case, table in tables.items() if table["equation"]["name"] == entry.name]

    def effort(case: str) -> tuple[bool, bool, int, int]:
        table = tables[case]
        acted_on = bool({"forcing", "closure", "body", "sponge"} & table.keys())
        count = len(entry.fields_with(table["equation"], {}))
        has_more = "walls" in table["grid"] or bool({"particles", "scalars"} & table.keys())
        return has_more, acted_on, count, math.prod(table["grid"]["shape"])

    chosen = min(fit, key=effort, default="")
    return chosen, tables.get(chosen, {})


def _of_field(section: dict[str, Any], field: str) -> dict[str, Any] | None:
    """A field's table in `[section]` or `[section.FIELD]`."""
    return section if "name" in section else section.get(field)


def _named_lines(
    registry: Registry, section: str, fields: Mapping[str, Any], field: str, table: dict[str, Any], about: str
) -> list[str]:
    path = section if len(fields) == 1 else f"{section}.{field}"
    parameters = registry.find(section, table["name"]).parameters
    return ["", f"[{path}]{about}", f'name = "{table["name"]}"', *_parameter_lines(parameters, table)]


def _lines(table: dict[str, Any]) -> list[str]:
    return [f"{key} = {_toml(value)}" for key, value in table.items()]


def _source(text: str) -> str:
    _, marker, source = text.partition("Source: ")
    return " ".join(source.split()).replace('"', "'") if marker else ""


def _summary(entry: Entry) -> list[str]:
    """The first paragraph of the docstring, the formula a line each, and good values."""
    first, *others = entry.text.split("\n\n")
    good = [p for p in others if p.startswith("Good values")]
    wrapped = [textwrap.wrap(" ".join(p.split()), 100) for p in (first, *good)]
    formula = [f"    {line}" for line in entry.formula.split("\n") if line]
    return [*wrapped[0], *formula, *(line for lines in wrapped[1:] for line in lines)]


def _parameter_lines(parameters: Mapping[str, Parameter], given: Mapping[str, Any]) -> list[str]:
    lines = []
    for key, parameter in parameters.items():
        comment = f"  # {parameter.description}" if parameter.description else ""
        value = given.get(key, parameter.default)
        if value is REQUIRED:
            lines.append(f"{key} = {_example(parameter)}{comment}")
        else:
            shown = _toml(value)
            lines.append(f"{'# ' if shown is None else ''}{key} = {shown or '…'}{comment}")
    return lines


def _example(parameter: Parameter) -> str:
    """A value for a parameter without a default, which the user is to replace."""
    return "1e-2" if str(parameter) == "a number" else "1" if str(parameter) == "an integer" else "[]"


def _toml(value: Any) -> str | None:
    if value is None:
        return None
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, Mapping):
        return f"{{ {', '.join(f'{key} = {_toml(inner)}' for key, inner in value.items())} }}" if value else "{}"
    return f"[{', '.join(str(_toml(entry)) for entry in value)}]" if isinstance(value, list | tuple) else str(value)
