"""Plans that were found before, by the key of their system: plans of the library, and plans of a run.

A plan is a fact of a run: a search on another processor may round otherwise and find another one of equal cost, with
which the same numbers would not come out. So what was found once is used again.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from solver.written import tree
from solver.written.arranged import Row
from solver.written.elimination import Reduced, replaced
from solver.written.plan import Plan
from solver.written.tree import Entry, Name, Node, WrittenError

FILE = Path(__file__).parent / "plans.json"
KNOWN: dict[str, Plan[Row]] = {}  # of this process: those of a run that goes on, and those that were found


def text_to_keep(reduced: Reduced) -> str:
    """The plan of a system that was found for it, as a text that a run can keep; empty for one of the library's own."""
    known = key_of(reduced)
    if known in _library() or known not in KNOWN:
        return ""
    return json.dumps({"of": known, **plan_as_json(KNOWN[known])})


def keep_to(text: str) -> bool:
    """Use the plan of such a text from now on; returns whether another one was known before.

    Raises:
        WrittenError: it is no such text.
    """
    try:
        written = json.loads(text)
        known, plan = str(written["of"]), plan_from_json(written)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise WrittenError(f"the plan that the run keeps cannot be read: {error}") from None
    differs = KNOWN.get(known) not in (None, plan)
    KNOWN[known] = plan
    return differs


def known_plan(reduced: Reduced, search: Callable[[Reduced], Plan[Row]]) -> Plan[Row]:
    """The plan of a system: one that is known, or else the one that a search finds, which is known from then on."""
    known = key_of(reduced)
    names = numbered(reduced)
    if known not in KNOWN and known in _library():
        KNOWN[known] = plan_from_json(_library()[known])
    if known not in KNOWN:
        KNOWN[known] = renamed(search(reduced), names)
    return renamed(KNOWN[known], {number: name for name, number in names.items()})


def key_of(reduced: Reduced) -> str:
    """The key of a plan without its names: two systems that differ in names alone have the same."""
    names = numbered(reduced)
    again = lambda nodes: {key: renamed_node(node, names) for key, node in nodes.items()}  # noqa: E731
    symbols = lambda of: {(row, renamed_node(s, names)): renamed_node(v, names) for (row, s), v in of.items()}  # noqa: E731
    whole = (
        reduced.dimensions,
        again(reduced.rest),
        symbols(reduced.mass),
        symbols(reduced.gradients),
        symbols(reduced.constraints),
    )
    return hashlib.sha256(repr(whole).encode()).hexdigest()[:24]


def numbered(reduced: Reduced) -> dict[str, str]:
    """Names of the system and their stand-ins: the kind, and the number among names of this kind."""
    system = reduced.system
    kinds = {"field": system.fields, "unknown": system.unknowns, "parameter": system.parameters}
    return {name: f"{kind} {i}" for kind, names in kinds.items() for i, name in enumerate(names)}


def renamed(plan: Plan[Row], names: Mapping[str, str]) -> Plan[Row]:
    again = lambda node: renamed_node(node, names)  # noqa: E731
    return Plan(
        tuple(map(again, plan.inner)),
        tuple(map(again, plan.products)),
        {row: again(node) for row, node in plan.rows.items()},
    )


def renamed_node(node: Node, names: Mapping[str, str]) -> Node:
    """An expression with other names, its sums and products in the order of these."""
    parts = [part for part in node.walk() if isinstance(part, Name | Entry) and part.name in names]
    return replaced(node, {part: dataclasses.replace(part, name=names[part.name]) for part in parts})


# ---- as JSON --------------------------------------------------------------------------------------------------------


def plan_as_json(plan: Plan[Row]) -> dict[str, Any]:
    return {
        "inner": [node_as_json(node) for node in plan.inner],
        "products": [node_as_json(node) for node in plan.products],
        "rows": [[line, list(index), node_as_json(node)] for (line, index), node in plan.rows.items()],
    }


def plan_from_json(written: Mapping[str, Any]) -> Plan[Row]:
    """Inverse of `plan_as_json`."""
    return Plan(
        tuple(map(node_from_json, written["inner"])),
        tuple(map(node_from_json, written["products"])),
        {(line, tuple(index)): node_from_json(node) for line, index, node in written["rows"]},
    )


def node_as_json(value: Any) -> Any:
    """An expression in the form of JSON: a list of the class's name and its values."""
    if isinstance(value, Node):
        names = [field.name for field in dataclasses.fields(value) if field.name != "place"]
        return [type(value).__name__, *(node_as_json(getattr(value, name)) for name in names)]
    if isinstance(value, complex):
        return {"real": value.real, "imag": value.imag}
    return {"all": [node_as_json(part) for part in value]} if isinstance(value, tuple) else value


def node_from_json(written: Any) -> Any:
    """Inverse of `node_as_json`."""
    if isinstance(written, list):
        return getattr(tree, written[0])(*map(node_from_json, written[1:]))
    if isinstance(written, dict):
        if "all" in written:
            return tuple(map(node_from_json, written["all"]))
        return complex(written["real"], written["imag"])
    return written


@cache
def _library() -> dict[str, Any]:
    plans: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8")) if FILE.exists() else {}
    return plans
