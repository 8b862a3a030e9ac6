"""Facts about an equation's text: its derivation, its table in a run file, the plan that is kept."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from solver.dynamics.evaluation import Evaluation
from solver.written.between_walls import between_walls
from solver.written.report import kept_means, report
from solver.written.text import Text
from solver.written.variants import without_parameters


def derivation_of(equation: Any) -> list[tuple[str, str]]:
    """The derivation from the text of an equation, as headings and lines."""
    dimensions, obstacles = equation.grid.dimensions, equation.obstacles
    derived = replace(equation.derived, rate=equation.rate_at_points())  # of the plan that is carried out
    lines = report(Evaluation(equation).text, derived, dimensions)
    if equation.grid.walls:
        return between_walls_in_words(equation, lines)
    if obstacles is None:
        return lines
    lines.append(("bodies", "obstacle_strength is Σ χ/η, obstacle_source Σ (χ/η) u_s; 1/η adds to the rate"))
    if obstacles.free:
        names, more = ", ".join(sorted(obstacles.free)), 2 * dimensions
        lines.append(("bodies", f"the flow moves {names}: {more} inverse transforms more for each right-hand side"))
    return lines


def between_walls_in_words(equation: Any, lines: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """The derivation with the linear part between walls, and the conditions there."""
    linear = between_walls(Evaluation(equation).text.plain, equation.grid.dimensions).linear
    kinds = {"diffusion": linear.diffusion, "decay or growth": linear.decay}
    held = ", ".join(f"{kind} of {' and '.join(of)}" for kind, of in kinds.items() if of)
    own = [("linear", f"L holds {held}: a number for each mode; other linear terms are evaluated with N")]
    own += [("walls", f"{name}: {walls.in_words}") for name, walls in equation.walls.items()]
    at = [heading for heading, _ in lines].index("linear")
    return [*lines[:at], *own, *lines[at + 1 :]]


def means_along_axes(equation: Any) -> list[str]:
    """Lines on the means along an axis that are zero in an equation of a text: of its fields and of its unknowns."""
    return [] if getattr(equation, "text", None) is None else kept_means(Evaluation(equation).text)


def text_table(equation: Any) -> dict[str, Any]:
    """The keys of `[equation]` that give the text of an equation's class; nothing where it depends on the equation."""
    return Evaluation(equation).text.table if isinstance(type(equation).text, Text) else {}


def plan_to_keep(equation: Any) -> str:
    """The plan that was searched for an equation's text, as its run keeps it; empty if no plan was searched for."""
    on_grid = Evaluation(equation)
    return on_grid.derived.plan_to_keep if on_grid.text.plan != "as written" else ""


def texts_of(cls: Any) -> list[Text]:
    """The text of a class, without the terms of parameters that may be None, and with them."""
    if not isinstance(cls.text, Text):
        return []
    optional = frozenset(name for name in cls.text.system.parameters if getattr(cls, name, 0) is None)
    return [without_parameters(cls.text, optional), cls.text] if optional else [cls.text]
