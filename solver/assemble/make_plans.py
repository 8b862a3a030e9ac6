"""Writes the plans of the library's own equations for `solver.written`: `python -m solver.assemble.make_plans`."""

from __future__ import annotations

import json
from collections.abc import Iterator

from solver.assemble.classes import built_in
from solver.dynamics.equation import Equation
from solver.written.elimination import Reduced, reduce_system
from solver.written.search import cheapest_plan
from solver.written.stored import FILE, key_of, numbered, plan_as_json, renamed
from solver.written.text import AS_WRITTEN, Text


def main() -> None:
    """Search the plans of all texts of the library, and write them."""
    plans = {key_of(reduced): plan_as_json(renamed(cheapest_plan(reduced), numbered(reduced))) for reduced in systems()}
    FILE.write_text(json.dumps(plans, separators=(",", ":"), sort_keys=True) + "\n", encoding="utf-8")


def systems() -> Iterator[Reduced]:
    """The library's texts, in each number of dimensions in which they are solved."""
    for text, dimensions in texts():
        yield reduce_system(text.system, dimensions)


def texts() -> Iterator[tuple[Text, int]]:
    """The library's texts whose plans are searched, and the numbers of dimensions."""
    for cls in built_in("equation").values():
        if issubclass(cls, Equation):
            found = [(text, d) for d in cls.dimensions for text in cls.texts(d)]
            yield from ((text, d) for text, d in found if text.plan != AS_WRITTEN)


if __name__ == "__main__":
    main()
