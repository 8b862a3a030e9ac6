"""Every key of a run file on one page, made from the models and classes that read them."""

from __future__ import annotations

from collections.abc import Iterable

from solver.assemble.registry import Registry
from solver.config import REQUIRED, Entry, Parameter
from solver.config.runfile import SETTINGS
from solver.config.sections import Section, WrittenEquation

TITLES = {
    "equation": "[equation]",
    "initial": "[initial], or [initial.FIELD] of several fields",
    "forcing": "[forcing], or [forcing.FIELD] of several fields",
    "body": "[body], or [body.NAME] of several bodies",
    "output": "[output.NAME]",
}
OF_TEXT = '[equation] of name = "written"'
HEAD = """# Keys of a run file

Made by `slabwave describe`. `title` and `reference` stand above the sections; every key can be set on the command line
as `section.key=value`. Where a class is named, `"my_file.py:Class"` and `"package.module:Class"` serve too.
"""


def reference(registry: Registry) -> str:
    """The page, in Markdown."""
    parts = [HEAD, *(section(f"[{name}]", model) for name, model in SETTINGS.items())]
    for kind, title in TITLES.items():
        parts.append(f"## {title}\n\n`name` is one of these, each with its own keys.\n")
        if kind == "body":
            parts[-1] = (
                f"## {title}\n\n`shape` is one of these, each with its own keys; `sponge` is the section `[sponge]`.\n"
            )
        if kind == "output":
            parts[-1] = f"## {title}\n\n`output.directory` is where the run writes; `NAME = false` switches one off.\n"
        parts += [class_section(kind, registry.find(kind, name)) for name in registry.names(kind)]
        parts += ["#" + section(OF_TEXT, WrittenEquation)] if kind == "equation" else []
    steppers = [registry.find("stepper", name) for name in registry.names("stepper")]
    parts.append("## time.stepper\n\n" + "".join(f"- `{s.name}`: {s.summary or s.name}\n" for s in steppers))
    return "\n".join(parts)


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


def class_section(kind: str, entry: Entry) -> str:
    """Describe a class and the keys that a run file gives it, in Markdown."""
    text = f"### {entry.name}\n\n{entry.sentence or entry.name}\n"
    text += f"\n```\n{entry.formula}\n```\n" if entry.formula else ""
    if kind == "equation" and len(entry.fields) > 1:
        text += f"\nFields: {', '.join(f'`{name}`' for name in entry.fields)}.\n"
    rows = [(key, str(parameter), _default(parameter), parameter.description) for key, parameter in _sorted(entry)]
    return f"{text}\n{_table(rows)}" if rows else text


def _sorted(entry: Entry) -> list[tuple[str, Parameter]]:
    """Parameters that are needed first."""
    return sorted(entry.parameters.items(), key=lambda item: item[1].default is not REQUIRED)


def _default(parameter: Parameter) -> str:
    return "needed" if parameter.default is REQUIRED else _shown(parameter.default)


def _shown(value: object) -> str:
    return "" if value is None or value in ((), {}) else f"`{value}`"


def _table(rows: Iterable[tuple[str, str, str, str]]) -> str:
    lines = ["| key | type | default | |", "|---|---|---|---|"]
    lines += [f"| `{key}` | {kind} | {default} | {cell(text)} |" for key, kind, default, text in rows]
    return "\n".join(lines) + "\n"


def cell(text: str) -> str:
    """Text as it stands in a table of Markdown."""
    return text.replace("|", "\\|")
