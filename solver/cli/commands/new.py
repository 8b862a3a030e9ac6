"""Print a commented run file, of an equation or of a case that comes with the package."""

from __future__ import annotations

import argparse

from solver.assemble.registry import Registry
from solver.cli.commands.list import list_cases
from solver.cli.new_run_file import new_run_file
from solver.config import ConfigError, nearest
from solver.config.toml import cases


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """`[NAME]`."""
    parser.add_argument("name", nargs="?", help="a case or an equation; without a name, the cases are listed")


def run(options: argparse.Namespace) -> int:
    """Print the run file."""
    registry, known = Registry(), cases()
    name = options.name
    if name is None:
        return list_cases()
    if name in known:
        print(known[name].read_text(encoding="utf-8"), end="")
        return 0
    if ":" not in name and name not in registry.names("equation"):
        raise ConfigError(f"{name!r}: unknown name{nearest(name, {*known, *registry.names('equation')})}")
    print(new_run_file(registry.find("equation", name), name), end="")
    return 0
