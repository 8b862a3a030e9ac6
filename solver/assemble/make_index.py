"""Makes index.json anew from our own classes: `python -m solver.assemble.make_index`."""

from __future__ import annotations

import json

from solver.assemble.classes import built_in, entry_of
from solver.assemble.index import FILE, KINDS, to_json


def index_text() -> str:
    """The text of index.json, made from the classes."""
    index = {kind: {name: to_json(entry_of(name, cls)) for name, cls in built_in(kind).items()} for kind in KINDS}
    return json.dumps(index, indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    FILE.write_text(index_text(), encoding="utf-8")
