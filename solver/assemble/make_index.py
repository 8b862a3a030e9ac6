"""Makes files anew from our own classes: `python -m solver.assemble.make_index`.

They are index.json, which answers from text, and a stub `__init__.pyi` for each room whose classes are found by name,
so that type checkers and editors know them.
"""

from __future__ import annotations

import ast
import json
from collections import defaultdict
from importlib import import_module
from pathlib import Path

from solver.assemble.classes import BASES, FOLDERS, built_in, entry_of
from solver.assemble.index import FILE, KINDS, to_json


def index_text() -> str:
    """The text of index.json, made from the classes."""
    index = {kind: {name: to_json(entry_of(name, cls)) for name, cls in built_in(kind).items()} for kind in KINDS}
    return json.dumps(index, indent=1, ensure_ascii=False) + "\n"


def stubs() -> dict[Path, str]:
    """The text of each room's stub, by its file."""
    return {_init_of(kind).with_suffix(".pyi"): _stub_text(kind) for kind in KINDS}


def _stub_text(kind: str) -> str:
    """Imports of all names that the room offers: its classes, and what its `__init__.py` imports for others."""
    names: dict[str, set[str]] = defaultdict(set)
    for node in ast.parse(_init_of(kind).read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ImportFrom):
            names[str(node.module)] |= {alias.name for alias in node.names if alias.asname == alias.name}
    for cls in built_in(kind).values():
        if cls.__module__.startswith(_package_of(kind)):
            names[cls.__module__].add(cls.__name__)
    lines = []
    for module, offered in sorted(names.items()):
        for name in sorted(offered):
            lines.append(f"from {module} import {name} as {name}\n")
    return "# made by solver.assemble.make_index\n" + "".join(lines)


def _init_of(kind: str) -> Path:
    return Path(str(import_module(_package_of(kind)).__file__))


def _package_of(kind: str) -> str:
    return FOLDERS.get(kind) or BASES[kind].__module__.rpartition(".")[0]


if __name__ == "__main__":
    FILE.write_text(index_text(), encoding="utf-8")
    for path, text in stubs().items():
        path.write_text(text, encoding="utf-8")
