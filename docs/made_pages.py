"""Pages of the site that are made from the program: one for every equation, and all commands.

`mkdocs_hooks.py` adds them when the site is built, so that none of them can be out of date.
"""

from __future__ import annotations

import re
import sys
import textwrap
import tomllib
from collections.abc import Iterator
from pathlib import Path

from solver.assemble import Registry
from solver.cli.arguments import EPILOG, commands, help_of
from solver.cli.reference import cell, class_section
from solver.config import Entry
from solver.config.toml import cases

DOCS = Path(__file__).parent
PICTURES = "images/gallery"
NOT_SHOWN = {"Args", "Raises", "Returns", "Source"}  # sections of a docstring that stand elsewhere on the page
LIST_HEAD = """# Equations

Those that come along. Each page has the formula, the parameters of a run file, cases and a picture. An equation that is
not here is [written as text](../writing.md).

| name in a run file | |
|---|---|"""


def pages() -> Iterator[tuple[str, str]]:
    """Path below docs/ and Markdown of each page."""
    of_equations = _cases_by_equation()
    registry = Registry()
    entries = [registry.find("equation", name) for name in registry.names("equation")]
    yield "equations/index.md", _list_of(entries)
    for entry in entries:
        yield f"equations/{entry.name}.md", _page_of(entry, of_equations.get(entry.name, []))
    yield "commands.md", _commands()


def contents() -> list[str]:
    """Paths of the pages of equations, for the site's table of contents."""
    return [f"equations/{name}.md" for name in Registry().names("equation")]


# ---- equations --------------------------------------------------------------------------------------------------


def _cases_by_equation() -> dict[str, list[tuple[str, dict]]]:
    """Names and tables of the cases of each equation."""
    found: dict[str, list[tuple[str, dict]]] = {}
    for name, path in cases().items():
        table = tomllib.loads(path.read_text(encoding="utf-8"))
        found.setdefault(table["equation"]["name"], []).append((name, table))
    return found


def _list_of(entries: list[Entry]) -> str:
    rows = [f"| [{entry.name}]({entry.name}.md) | {cell(entry.sentence)} |" for entry in entries]
    return "\n".join([LIST_HEAD, *rows]) + "\n"


def _page_of(entry: Entry, known: list[tuple[str, dict]]) -> str:
    section, table, rows = class_section("equation", entry).removeprefix("## ").partition("\n| key")
    parts = [f"# {section}"]
    if (DOCS / PICTURES / f"{entry.name}.png").is_file():
        parts.append(
            f"![{entry.sentence}](../{PICTURES}/{entry.name}.png)\n\nHow it is made: [gallery](../gallery.md).\n"
        )
    parts.append("## The equation\n\n" + _prose(entry.text))
    parts.append(f"## Keys of `[equation]`\n{table}{rows}" if rows else "It has no parameters.\n")
    parts.append("## Cases\n\n" + ("\n".join(_case(*case) for case in known) or "None in `runs/`.") + "\n")
    parts.append(f"In Python it is `sw.equations.{entry.place.rpartition('.')[2]}`.\n")
    return "\n".join(parts)


def _case(name: str, table: dict) -> str:
    return f"- `slabwave new {name}`: {table['title']}. {table.get('reference', '')}".rstrip() + "."


def _prose(text: str) -> str:
    """A docstring's paragraphs, without first line, formula and sections of arguments; the source is last."""
    blocks = re.split(r"\n\s*\n", textwrap.dedent(text))
    source = [block for block in blocks if block.startswith("Source:")]
    prose = [b for b in blocks[1:] if not b.startswith("    ") and b.split(":")[0].strip() not in NOT_SHOWN]
    return "\n\n".join([*prose, *source]) + "\n"


# ---- commands ---------------------------------------------------------------------------------------------------


def _commands() -> str:
    parts = ["# Commands\n", "What `slabwave COMMAND --help` prints, made from the parser.\n", f"```\n{EPILOG}\n```\n"]
    parts += [f"## {name}\n\n```\n{help_of(name)}```\n" for name in commands()]
    return "\n".join(parts)


if __name__ == "__main__":
    sys.stdout.write("\n\n".join(f"<!-- {path} -->\n{text}" for path, text in pages()))
