"""Checks of an equation of a text between walls. Touches no device."""

from __future__ import annotations

import re
from typing import Any

from solver.dynamics.at_points import constant
from solver.dynamics.evaluation import Evaluation
from solver.static import is_zero
from solver.written.between_walls import between_walls
from solver.written.components import ZERO
from solver.written.formula import unicode


def check_between_walls(equation: Any) -> None:
    """Refuse a text that is not known between walls, with the numbers that it has.

    Raises:
        ValueError: a power of the Laplacian, diffusion that is negative, or a vector without divergence in one
            dimension.
    """
    _leave_out_powers(equation)
    text = Evaluation(equation).text.plain
    linear, numbers = between_walls(text, equation.grid.dimensions).linear, equation.all_numbers
    for coefficient in linear.powers:
        value = constant(coefficient, numbers)
        if value is None or value != 0:
            raise ValueError(
                f"equation {equation.name}: (−∇²)^p times {unicode(coefficient)} between walls: 0 is needed, since "
                "diffusion, ∇², is known there alone"
            )
    for name in equation.fields:
        value = constant(linear.diffusion.get(name, ZERO), numbers)
        if value is not None and value < 0:
            raise ValueError(
                f"equation {equation.name}: diffusion {float(value):.4g} of {name}: zero or more is needed"
            )
        if value is not None and value == 0 and not equation.walls[name].are_natural:
            free = "free-slip" if equation.walls[name].of_velocity else "slope = 0.0"
            raise ValueError(
                f"equation {equation.name}: {name} does not diffuse, so that it cannot meet a condition at a wall: "
                f"{free} at both walls is needed, which sets nothing there"
            )
    _refuse_columns(equation)


def _refuse_columns(equation: Any) -> None:
    """Refuse columns of the library's texts that use ⟨u·∇²u⟩ = −⟨|∇u|²⟩, where given values at walls break it."""
    if equation.name == "written":
        return
    for column, text in equation.whole_text.series:
        for name, walls in equation.walls.items():
            holds = ("lap(" in text or "div(grad(" in text) and re.search(rf"\b{name}\b", text)
            if holds and walls.adds and column not in equation.columns_between_walls:
                raise ValueError(
                    f"equation {equation.name}: its column {column} is not known where walls give {name} other values "
                    "or slopes than 0; an equation as text, with columns of its own, can be solved"
                )


def _leave_out_powers(equation: Any) -> None:
    """Leave out powers of the Laplacian whose parameter is the number 0, as if it were None."""
    text = Evaluation(equation).text.plain
    for coefficient in between_walls(text, equation.grid.dimensions).linear.powers:
        for name in coefficient.names:
            if is_zero(getattr(equation, name, None)):
                object.__setattr__(equation, name, None)
