"""Describe a name of a run file: formula, parameters with units and defaults, source. Without a name: all keys."""

from __future__ import annotations

import argparse
from pathlib import Path

from solver.assemble.index import KINDS
from solver.assemble.registry import Registry
from solver.cli.reference import OF_TEXT, TABLES, pages, section, table
from solver.config import REQUIRED, WRITTEN, ConfigError, Entry, Parameter, WrittenEquation, nearest
from solver.config.toml import cases


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """`[NAME] [--pages FOLDER]`."""
    parser.add_argument("name", nargs="?", help="as in a run file: navier-stokes, ifrk4, …, or my_equations.py:Waves")
    parser.add_argument("--pages", type=Path, metavar="FOLDER", help="write all keys as pages of Markdown into it")


def run(options: argparse.Namespace) -> int:
    """Print the description of every class of this name."""
    registry, name = Registry(), options.name
    if options.pages is not None:
        write_pages(registry, options.pages)
        return 0
    if name is None:
        print("\n".join(pages(registry).values()), end="")
        return 0
    if name == WRITTEN:
        print(section(OF_TEXT, WrittenEquation), end="")
        return 0
    tables = {title.partition(".")[0]: title for title in TABLES}
    if name in tables:
        print(table(tables[name]), end="")
        return 0
    entries = {kind: registry.find(kind, name) for kind in _kinds(registry, name)}
    case = cases().get(name)
    if not entries and case is None:
        known = [*tables, *(n for kind in KINDS for n in registry.names(kind)), *cases()]
        raise ConfigError(f"{name!r}: unknown name{nearest(name, set(known))}")
    blocks = [_text(kind, entry) for kind, entry in entries.items()]
    if case is not None:
        blocks.append(f"case {name}: slabwave new {name} prints this run file\n\n{case.read_text(encoding='utf-8')}")
    print("\n\n".join(block.rstrip() for block in blocks))
    return 0


def write_pages(registry: Registry, folder: Path) -> None:
    """Write the page of settings and the page of each kind of names."""
    for name, text in pages(registry).items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def _kinds(registry: Registry, name: str) -> list[str]:
    """Kinds that have this name; for a class in a user's file or module, its kind."""
    if ":" not in name:
        return [kind for kind in KINDS if name in registry.names(kind)]
    errors = []
    for kind in KINDS:
        try:
            registry.find(kind, name)
        except ConfigError as error:
            errors.append(error)
        else:
            return [kind]
    raise ConfigError(f"{name}: {errors[0]}")


def _text(kind: str, entry: Entry) -> str:
    lines = [f"{kind} {entry.name}  ({entry.place})", ""]
    if entry.source is not None:
        lines[0] = f"{kind} {entry.name}  ({entry.source.path})"
    lines += [entry.description, ""]
    if kind == "equation":
        lines += ["fields:", *(f"  {n}: a {f.rank} [{f.units}]" for n, f in entry.fields.items()), ""]
    if entry.parameters:
        lines += ["keys of a run file:", *(f"  {key}: {_key(p)}" for key, p in entry.parameters.items())]
    return "\n".join(lines)


def _key(parameter: Parameter) -> str:
    default = "needed" if parameter.default is REQUIRED else f"default {parameter.default}"
    default = "not needed" if parameter.default is None else default
    description = f"; {parameter.description}" if parameter.description else ""
    return f"{parameter}, {default}{description}"
