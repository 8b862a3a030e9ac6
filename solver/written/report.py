"""Report of the derivation from a text, in words: linear terms, transforms, the rate of a CFL number."""

from __future__ import annotations

from collections.abc import Callable

from solver.written.arranged import Row
from solver.written.components import ZERO, written_out
from solver.written.degrees import degree
from solver.written.derivation import PLANNED, Derivation
from solver.written.elimination import Reduced, replaced
from solver.written.formula import unicode
from solver.written.in_time import linear_in_time
from solver.written.linear import IN_TIME, linear_part
from solver.written.parse import read_line
from solver.written.plan import Plan
from solver.written.rates import Unseen
from solver.written.system import insert
from solver.written.text import AS_WRITTEN, Text
from solver.written.tree import Line, Negative, Node, Sum

EXACT = f"{IN_TIME}; exact with ifrk2, ifrk3, ifrk4, lsrk3 and splittings, explicit with others"
COUPLED = {
    "nothing": "a number for each mode",
    "fields": "a matrix of the fields for each mode",
    "components": "a matrix of all components for each mode",
}


def report(text: Text, derived: Derivation, dimensions: int) -> list[tuple[str, str]]:
    """The derivation from a text for so many dimensions: headings and their texts, a line each."""
    inside, outside = _terms(text, derived.reduced)
    lines = [("equation", line) for line in text.formula().split("\n")]
    lines.append(("linear", f"L holds {', '.join(inside) or 'nothing'}: {COUPLED[derived.linear.couples]}"))
    lines += [("", f"not in L: {term}: {reason}") for term, reason in outside]
    lines += [("means", line) for line in kept_means(text)]
    printed = lambda node: unicode(text.shown(derived.plan.without_slots(node)))  # noqa: E731
    written = PLANNED[AS_WRITTEN](derived.reduced)
    lines += [("plan", line) for line in _plan(derived.plan, written, printed)]
    found = derived.rate
    if isinstance(found, Unseen):
        lines.append(("rate", f"no CFL number, since {found.reason}: steps are fixed, or a tolerance chooses them"))
    elif found.speeds is not None:
        speeds = map(printed, found.speeds)
        shown = (f"{speed} along {axis}" for speed, axis in zip(speeds, "xyz", strict=False))
        also = "" if found.reaction is None else f", and reactions {printed(found.reaction)}"
        lines.append(("rate", f"of a CFL number: speeds {', '.join(shown)}{also}"))
    elif found.reaction == ZERO:
        lines.append(("rate", "no step is too long for a CFL number: N changes with no field"))
    elif found.reaction is not None:
        lines.append(("rate", f"of a CFL number: reactions {printed(found.reaction)}"))
    return lines


def kept_means(text: Text) -> list[str]:
    """Lines on means along an axis that are zero: kept so, of fields, or given by no equation, of unknowns."""
    fields = [
        f"the mean of {name} along {axis} is zero at every place, and kept so" for name, axis in text.means if axis
    ]
    of_unknowns = ((name, "xyz"[axes[0]]) for name, axes in text.system.gauges.items())
    return fields + [f"the mean of {name} along {axis}, which no equation gives, is zero" for name, axis in of_unknowns]


def _plan(plan: Plan[Row], written: Plan[Row], printed: Callable[[Node], str]) -> list[str]:
    """The transforms of a plan, compared with the text's."""
    (inverse, forward), (more_inverse, more_forward) = plan.transforms, written.transforms
    beside = "as written" if plan == written else f"as written {more_inverse} and {more_forward}"
    lines = [f"{inverse} inverse and {forward} forward transforms for each right-hand side ({beside})"]
    if plan.inner:
        lines.append(f"to the points: {', '.join(map(printed, plan.inner))}")
        lines.append(f"and back: {', '.join(map(printed, plan.products))}")
    return lines


def _terms(text: Text, reduced: Reduced) -> tuple[list[str], list[tuple[str, str]]]:
    """The terms that L holds, and the other terms of degree one, each with the reason."""
    system, inside, outside = text.system, [], []
    exact = {IN_TIME: EXACT} if linear_in_time(text.plain, reduced.dimensions) else {}
    fields = set(reduced.system.fields)
    for line in (read_line(written, text.words) for written in text.write):
        for term in _of_line(line):
            components = written_out(insert(term, system.definitions), system.kinds, reduced.dimensions).entries
            part = linear_part({index: replaced(node, reduced.diagnosed) for index, node in components.items()}, fields)
            if part.left_out:
                reason = part.left_out[0][1]
                outside.append((unicode(text.shown(term)), exact.get(reason, reason)))
            elif part.symbols:
                in_part = any(degree(node, fields) for node in part.rest.values())
                inside.append(("the linear part of " if in_part else "") + unicode(text.shown(term)))
    return list(dict.fromkeys(inside)), list(dict.fromkeys(outside))


def _of_line(line: Line) -> list[Node]:
    """The terms of a line on the side of a rate of change, as they would be on the right."""
    sides = [(line.left, -1), (line.right, 1)]
    terms = [(term, sign) for side, sign in sides for term in (side.terms if isinstance(side, Sum) else (side,))]
    holds_rate = any(term.calls("dt") for term, _ in terms)
    others = [(term, sign) for term, sign in terms if not term.calls("dt")]
    return [term if sign > 0 else Negative(term) for term, sign in others] if holds_rate else []
