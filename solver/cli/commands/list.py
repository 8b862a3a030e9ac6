"""List the names that run files may use, by kind."""

from __future__ import annotations

import argparse
import tomllib

from solver.assemble.registry import Registry
from solver.config.toml import cases

KINDS = {
    "equations": "equation",
    "steppers": "stepper",
    "initial": "initial",
    "forcing": "forcing",
    "closures": "closure",
    "bodies": "body",
    "particles": "particles",
    "outputs": "output",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """`[KIND]`."""
    parser.add_argument("kind", nargs="?", choices=[*KINDS, "cases"], help="everything, if it is left out")


def run(options: argparse.Namespace) -> int:
    """Print a line for each name."""
    registry = Registry()
    for title, kind in KINDS.items():
        if options.kind in (None, title):
            _print(title, {name: registry.find(kind, name).summary for name in registry.names(kind)}, options.kind)
    if options.kind in (None, "cases"):
        return list_cases(options.kind)
    return 0


def list_cases(only: str | None = "cases") -> int:
    """Print a line for each run file that comes with the package; returns the exit code 0."""
    titles = {name: tomllib.loads(path.read_text(encoding="utf-8"))["title"] for name, path in cases().items()}
    _print("cases", titles, only)
    return 0


def _print(title: str, lines: dict[str, str], only: str | None) -> None:
    if only is None:
        print(f"{title}:")
    width = max(map(len, lines), default=0)
    for name, text in lines.items():
        print(f"{'' if only else '  '}{name:{width}}  {text}".rstrip())
