"""Checks of an equation of a text between walls. Touches no device."""

from __future__ import annotations

import re
from typing import Any

import jax
import numpy as np

from solver.dynamics.at_points import constant
from solver.dynamics.evaluation import Evaluation
from solver.dynamics.in_modes import OneMode
from solver.dynamics.symbol_value import multiplied_out
from solver.static import is_zero
from solver.walls.modes import SLOPE
from solver.written.between_walls import BetweenWalls, between_walls
from solver.written.components import ZERO
from solver.written.elimination import named
from solver.written.formula import unicode
from solver.written.symbols import VANISHES, applied
from solver.written.walled import Group


def check_between_walls(equation: Any) -> None:
    """Refuse a text that is not known between walls, with the numbers that it has.

    Raises:
        ValueError: a power of the Laplacian, diffusion that is negative, or a vector without divergence in one
            dimension.
    """
    _leave_out_powers(equation)
    text = Evaluation(equation).text.plain
    between, numbers = between_walls(text, equation.grid.dimensions), equation.all_numbers
    linear = between.linear
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
    for solve in between.solves:
        _check_unknowns(equation, text.system.without_mean, solve.group)
    _refuse_changes_of_means(equation, between)


def _check_unknowns(equation: Any, without_mean: frozenset[str], group: Group) -> None:
    """Refuse unknowns that are coupled under conditions of two kinds, and a mean that nothing gives."""
    names = list(dict.fromkeys(map(named, group.unknowns)))
    half = 0.5 * float(equation.grid.lengths[-1])
    kinds = {name: equation.walls[name].homogeneous(half) for name in names}
    for name in names[1:]:
        if kinds[name] != kinds[names[0]]:
            raise ValueError(
                f"equation {equation.name}: {names[0]} and {name} are solved for together: conditions of one kind are "
                f"needed, and walls.{names[0]} is {equation.walls[names[0]].in_words}, walls.{name} "
                f"{equation.walls[name].in_words}"
            )
    is_open = all(side == SLOPE for side in kinds[names[0]]) and _is_singular(equation, group)
    for name in names:
        if is_open and (name not in without_mean or len(group.unknowns) > 1):
            raise ValueError(
                f"equation {equation.name}: slopes at both walls leave the mean of {name} open: a value at one wall is "
                + ("needed" if len(group.unknowns) > 1 else f"needed, or a line mean({name}) = 0")
            )
        if not is_open and name in without_mean:
            raise ValueError(
                f"equation {equation.name}: mean({name}) = 0, where its equation and its walls give a mean"
            )


def _refuse_changes_of_means(equation: Any, between: BetweenWalls) -> None:
    """Refuse linear terms of unknowns by which a field gains a mean that is declared to be zero."""
    across = OneMode(equation.all_numbers, [*[0.0] * (equation.grid.dimensions - 1), 1.0])
    for (to, of), symbol in between.linear.symbols.items():
        name, value = named(to), multiplied_out(across.value(symbol))
        is_zero_mean = of in between.unknowns and equation.fields[name].zero_mean
        if is_zero_mean and not isinstance(value, jax.core.Tracer) and np.any(value != 0):
            raise ValueError(
                f"equation {equation.name}: {unicode(applied(symbol, of))} changes the mean of {name} between walls, "
                "which is declared to be zero; an equation as text without `means` can be solved"
            )


def _is_singular(equation: Any, group: Group) -> bool:
    """True if the equations of unknowns do not give their means over the box, whatever numbers are being traced."""
    random = np.random.default_rng(7)
    known = lambda leaf: random.uniform(0.5, 1.5, leaf.shape) if isinstance(leaf, jax.core.Tracer) else leaf  # noqa: E731
    one = OneMode(jax.tree.map(known, equation.all_numbers), [0.0] * equation.grid.dimensions)
    values = [
        [multiplied_out(one.value(group.matrix.get((row, u), ZERO))) for u in group.unknowns] for row in group.rows
    ]
    matrix = np.array(values, float)
    size = max(float(np.max(np.abs(matrix))), 1e-300)
    return bool(abs(np.linalg.det(matrix / size)) < VANISHES)


def _refuse_columns(equation: Any) -> None:
    """Refuse columns of the library's texts that use ⟨u·∇²u⟩ = −⟨|∇u|²⟩, where given values at walls break it."""
    if equation.name == "written":
        return
    for name in equation.whole_text.walled:
        if equation.walls[name].adds:
            raise ValueError(
                f"equation {equation.name}: walls.{name} gives other values or slopes than 0, with which its energies "
                "are not known; an equation as text, with energies of its own, can be solved"
            )
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
