"""Gauges along an axis, `mean(w, x) = 0`: whether the equations hold where an unknown is left out."""

from __future__ import annotations

from solver.written.elimination import Reduced, named
from solver.written.linear import coefficient
from solver.written.plan import Planner
from solver.written.symbols import random_modes, vanishes
from solver.written.tree import Node, Slot
from solver.written.vocabulary import COORDINATES


def refuse_unmet(reduced: Reduced) -> None:
    """Refuse an equation that says something of fields where a gauge leaves out the modes of its unknown.

    On these modes it reads 0 = its other terms. Each of them must vanish there by itself, or be of a field that has no
    such modes, since its mean along the axis is zero.

    Raises:
        WrittenError: one does not. The message names the field and the axis.
    """
    system = reduced.system
    for unknown, (row, numerator) in reduced.gauged.items():
        axes = system.gauges[named(unknown)]
        modes, along = random_modes(reduced.dimensions, constant_along=axes), "xyz"[axes[0]]
        terms = Planner(system.fields).in_modes(numerator)
        mean_free = {name for name, axis in system.means.items() if COORDINATES[axis] in axes}
        for part in _moving(terms, reduced):
            if isinstance(part, Slot):
                what, how = "a product", f"- mean(…, {along}) takes it away"
            else:
                what, how = repr(named(part)), f"means = {{ {named(part)} = {along!r} }} keeps it zero"
                if named(part) in mean_free:
                    continue
            if not vanishes(coefficient(terms, part), modes):
                raise system.lines[row[0]].left.place.error(
                    f"where mean({named(unknown)}, {along}) = 0 leaves out modes, this says that the mean of {what} "
                    f"along {along} vanishes: {how}"
                )


def _moving(terms: Node, reduced: Reduced) -> list[Node]:
    """The scalars of fields and the products in an expression of the modes."""
    return list(dict.fromkeys(part for part in terms.walk() if isinstance(part, Slot) or part in reduced.scalars))
