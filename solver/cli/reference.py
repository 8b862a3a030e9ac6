"""Pages of every key of a run file, made from the models and classes that read them: settings, then each kind."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Mapping

from solver.assemble.registry import Registry
from solver.config import REQUIRED, Entry, Parameter
from solver.config.runfile import SETTINGS
from solver.config.sections import ScalarSection, Section, WallsSection, WrittenEquation

Row = tuple[str, str, str, str]  # key, type, default, text

MAIN = "run_files.md"
FOLDER = "run_files"
OF_TEXT = '[equation] of name = "written"'
HEAD = """# Keys of a run file

A run file is TOML. `title` and `reference` come first, then the sections below. Every key can be set on the command
line as `section.key=value`. A class is named by its name, or as `"my_file.py:Class"` or `"package.module:Class"`.
`slabwave describe` prints these pages, `slabwave describe NAME` a part of one.

"""
TABLES: Mapping[str, type[Section]] = {**SETTINGS, "scalars.NAME": ScalarSection, "walls.FIELD": WallsSection}
KINDS: Mapping[str, tuple[str, str, str]] = {  # page: kind, section, first sentence
    "equations": ("equation", "[equation]", "`name` is one of the names below, each with its own keys."),
    "initial": (
        "initial",
        "[initial]",
        "`name` is one of the names below. An equation of several fields has a section `[initial.FIELD]` for each.",
    ),
    "forcing": (
        "forcing",
        "[forcing]",
        "`name` is one of the names below. An equation of several fields may have a `[forcing.FIELD]` for each.",
    ),
    "closures": (
        "closure",
        "[closure]",
        "`name` is one of the names below, for an equation whose text says `closure`.",
    ),
    "bodies": (
        "body",
        "[body]",
        "`shape` is one of the names below. Several bodies have a section `[body.NAME]` each; `sponge` is `[sponge]`.",
    ),
    "particles": (
        "particles",
        "[particles.NAME]",
        "`kind` is one of the names below, by default `tracer`; particles have a name of your choice.",
    ),
    "outputs": (
        "output",
        "[output.NAME]",
        "`output.directory` is the run's directory. `output.NAME = false` switches an output off.",
    ),
    "steppers": ("stepper", "time.stepper", "`time.stepper` is one of these names."),
}


def pages(registry: Registry) -> dict[str, str]:
    """Markdown of each page, by its path below docs/."""
    return {MAIN: _main_page(), **{f"{FOLDER}/{title}.md": kind_page(title, registry) for title in KINDS}}


def _main_page() -> str:
    settings = ", ".join(f"[`[{name}]`](#{name.replace('.', '').lower()})" for name in TABLES)
    kinds = ", ".join(f"[`{section}`]({FOLDER}/{title}.md)" for title, (_, section, _) in KINDS.items())
    head = f"{HEAD}Settings are on this page: {settings}.\n\nSections that name a class have a page each: {kinds}.\n"
    return "\n".join([head, *(table(name) for name in TABLES)])


def table(name: str) -> str:
    """The keys of a table of settings, of passive scalars or of walls, by its name in `TABLES`."""
    return section(f"[{name}]", TABLES[name])


def kind_page(title: str, registry: Registry) -> str:
    """The page of a kind of names: keys that most of them share, then each name with its other keys."""
    kind, name, sentence = KINDS[title]
    entries = [registry.find(kind, name) for name in registry.names(kind)]
    parts = [f"# {name}\n\n{sentence}\n"]
    if kind == "stepper":
        return parts[0] + "\n" + "".join(f"- `{entry.name}`: {entry.summary or entry.name}\n" for entry in entries)
    shared = _shared(entries)
    for lacking in dict.fromkeys(shared.values()):
        but = f" but {', '.join(f'`{name}`' for name in lacking)}" if lacking else ""
        parts.append(f"Keys of all{but}:\n\n{_table(row for row in shared if shared[row] == lacking)}")
    parts += [class_section(kind, entry, shared) for entry in entries]
    if kind == "equation":
        parts.append(section(OF_TEXT, WrittenEquation))
    return "\n".join(parts)


def _shared(entries: list[Entry]) -> dict[Row, tuple[str, ...]]:
    """Rows that more than half of the classes have, each with the names of the classes that lack it."""
    rows = {entry.name: _rows(entry) for entry in entries}
    counts = Counter(row for of_entry in rows.values() for row in of_entry)
    return {
        row: tuple(name for name in rows if row not in rows[name])
        for row, count in counts.items()
        if count > len(entries) / 2
    }


def section(title: str, model: type[Section]) -> str:
    """The keys of a table of settings."""
    schema = model.model_json_schema()["properties"]
    rows = [
        (key, _kinds(schema[key]), "needed" if field.is_required() else _shown(field.default), field.description or "")
        for key, field in model.model_fields.items()
    ]
    return f"## {title}\n\n{_table(rows)}"


def _kinds(schema: dict) -> str:
    """The values that a JSON schema allows, in words."""
    if "enum" in schema:
        return ", ".join(f"`{choice}`" for choice in schema["enum"])
    if "const" in schema:
        return f"`{schema['const']}`"
    if "anyOf" in schema:
        return " or ".join(kind for option in schema["anyOf"] if (kind := _kinds(option)) != "null")
    if schema.get("type") == "array":
        return f"list of {_kinds(schema['items'])}"
    return "table" if "$ref" in schema or schema["type"] == "object" else str(schema["type"])


def class_section(kind: str, entry: Entry, shared: Container[Row] = ()) -> str:
    """Describe a class and the keys that a run file gives it, in Markdown.

    Args:
        kind: kind of the class, such as `equation`.
        entry: the class.
        shared: rows that the page has above.
    """
    text = f"## {entry.name}\n\n{entry.sentence or entry.name}\n"
    text += f"\n```\n{entry.formula}\n```\n" if entry.formula else ""
    if kind == "equation" and len(entry.fields) > 1:
        text += f"\nFields: {', '.join(f'`{name}`' for name in entry.fields)}.\n"
    rows = [row for row in _rows(entry) if row not in shared]
    return f"{text}\n{_table(rows)}" if rows else text


def _rows(entry: Entry) -> list[Row]:
    """A row of a table for each key; keys that are needed come first."""
    keys = sorted(entry.parameters.items(), key=lambda item: item[1].default is not REQUIRED)
    return [(key, str(parameter), _default(parameter), parameter.description) for key, parameter in keys]


def _default(parameter: Parameter) -> str:
    return "needed" if parameter.default is REQUIRED else _shown(parameter.default)


def _shown(value: object) -> str:
    return "" if value is None or value in ((), {}) else f"`{value}`"


def _table(rows: Iterable[Row]) -> str:
    lines = ["| key | type | default | |", "|---|---|---|---|"]
    lines += [f"| `{key}` | {kind} | {default} | {cell(text)} |" for key, kind, default, text in rows]
    return "\n".join(lines) + "\n"


def cell(text: str) -> str:
    """Text as it is in a table of Markdown."""
    return text.replace("|", "\\|")
