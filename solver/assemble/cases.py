"""The run files that come with the package, and new ones made from an equation's own description."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import Any

import solver
from solver.assemble.registry import Registry
from solver.config import REQUIRED, Entry, Parameter

SPLIT = "solver.equations.base.SplitEquation"


def cases() -> dict[str, Path]:
    """Run files by name, from the installed package or from `runs/` of a checkout."""
    package = Path(solver.__file__).parent
    folder = next(f for f in (package / "cases", package.parent / "runs") if f.is_dir())
    return {path.stem.replace("_", "-"): path for path in sorted(folder.glob("*.toml"))}


def new_run_file(entry: Entry, name: str) -> str:
    """A commented run file for an equation: every parameter with its description, fields at rest or the like."""
    registry = Registry()
    dimensions = max(entry.dimensions)
    lines = [
        f'title = "{name}"',
        f'reference = "{_source(entry.text)}"',
        "",
        "[grid]",
        f"shape = {[64] * dimensions}",
        f"lengths = {['2 pi'] * dimensions}".replace("'", '"'),
        "",
        *(f"# {line}".rstrip() for line in _summary(entry.text)),
        "[equation]",
        f'name = "{name}"',
        *_parameter_lines(entry.parameters),
    ]
    for field, declared in entry.fields.items():
        section = "initial" if len(entry.fields) == 1 else f"initial.{field}"
        fit = [other for other in registry.initials_of(declared.rank) if other != "file"]
        chosen = "random-phase" if "random-phase" in fit else fit[0]
        lines += ["", f"[{section}]  # {field}, a {declared.rank} [{declared.units}], starts from {', '.join(fit)}"]
        lines += [f'name = "{chosen}"', *_parameter_lines(registry.find("initial", chosen).parameters)]
    stepper = "strang" if SPLIT in entry.classes else "ifrk4"
    lines += [
        "",
        f"[time]  # steppers that take this equation: {', '.join(registry.steppers_of(entry))}",
        f'stepper = "{stepper}"',
        "step = 0.01    # or cfl = 0.5, or tolerance = 1e-6",
        "end = 1.0",
        "",
        "[output]",
        f'directory = "output/{name.rpartition(":")[2]}"',
        "series = { every_steps = 10 }",
        "spectra = { every_time = 0.5 }",
        "snapshots = { every_time = 0.5 }",
        "checkpoints = { every_steps = 200, keep = 3 }",
    ]
    return "\n".join(lines) + "\n"


def _source(text: str) -> str:
    _, marker, source = text.partition("Source: ")
    return " ".join(source.split()).replace('"', "'") if marker else ""


def _summary(text: str) -> list[str]:
    paragraphs = text.split("\n\n")
    good = [p for p in paragraphs[1:] if p.startswith("Good values")]
    return [line for p in [paragraphs[0], *good] for line in textwrap.wrap(" ".join(p.split()), 100)]


def _parameter_lines(parameters: dict[str, Parameter] | Any) -> list[str]:
    lines = []
    for key, parameter in parameters.items():
        told = f"  # {parameter.description}" if parameter.description else ""
        if parameter.default is REQUIRED:
            lines.append(f"{key} = {_example(parameter)}{told}")
        else:
            shown = _toml(parameter.default)
            lines.append(f"{'# ' if shown is None else ''}{key} = {shown or '…'}{told}")
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
        return f'"{value}"'
    return str(list(value)) if isinstance(value, tuple) else str(value)
