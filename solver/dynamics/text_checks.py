"""Checks of an equation of a text: parameters, spaces, bodies, growth without bound. Touches no device."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from solver.bodies.body import Obstacle
from solver.bodies.obstacles import ONLY
from solver.dynamics.any_equation import refuse_dimensions
from solver.dynamics.at_points import constant
from solver.dynamics.checks import NUMBERS, nothing_unless, require, require_shape
from solver.dynamics.checks_between_walls import check_between_walls
from solver.dynamics.evaluation import Evaluation
from solver.grid import Grid
from solver.spaces import NotInSpace
from solver.written.components import ONE, times
from solver.written.degrees import degree
from solver.written.derivation import linear_of, without_unknowns
from solver.written.elimination import named
from solver.written.formula import unicode
from solver.written.growth import fastest_growth
from solver.written.kinds import Kind
from solver.written.system import System
from solver.written.tree import Call, Entry, Name, Negative, Node, Power, Product, Quotient, Sum

LIMITS: dict[str, tuple[str, dict[str, float]]] = {
    ">= 0": ("zero or more", {"least": 0}),
    "> 0": ("a positive number", {"above": 0}),
    ">= 1": ("one or more", {"least": 1}),
    "": ("a finite number", {}),
}


def check_text(equation: Any) -> None:
    """Refuse parameters, spaces and growth that do not fit the text.

    A parameter that is traced and outside its limits is not a number from now on.

    Raises:
        ValueError: something does not fit. The message is one line that names the given and the needed.
    """
    on_grid = Evaluation(equation)
    limits, ranks = dict(on_grid.text.limits), on_grid.text.system.parameters  # refuses a text that cannot be read
    for name, value in equation.all_numbers.items():
        order = Kind.of_rank(ranks.get(name, "scalar")).order
        require_shape(name, value, (equation.grid.dimensions,) * order)
        words, options = LIMITS[limits.get(name, "")]
        require(name, value, words, real=_must_be_real(on_grid, name, value), **options)
        if getattr(equation, name, None) is value:
            object.__setattr__(equation, name, nothing_unless(value, **options))
    _check_at_points(equation)
    _require_finite(on_grid.text.system, equation.all_numbers)
    if equation.grid.walls:
        refuse_dimensions(equation, equation._why_not_in(equation.grid.dimensions))
        check_between_walls(equation)
        return
    require_powers(equation.grid, on_grid.text.system, equation.all_numbers)
    _check_spaces(equation)
    _refuse_unbounded_growth(equation, on_grid)


def _check_at_points(equation: Any) -> None:
    """Refuse functions that cannot be called, and values at the points of other shapes, complex or not finite ones."""
    for name in equation.whole_text.given_functions:
        if not callable(function := getattr(equation, name)):
            kind = type(function).__name__
            raise ValueError(f"{name} is of type {kind}: a function, or a pytree that can be called, is needed")
    shape = equation.grid.physical_shape
    for name in equation.whole_text.at_points:
        value = getattr(equation, name)
        given = jnp.shape(value)
        if len(given) > len(shape) or any(n not in (1, m) for n, m in zip(given[::-1], shape[::-1], strict=False)):
            raise ValueError(f"{name} of shape {list(given)}: values at the points are needed, {list(shape)}")
        require(name, value, "finite numbers at the points")


def _require_finite(system: System, numbers: Mapping[str, Any]) -> None:
    """Refuse constants of a text that are not finite numbers, as 1/a of a = 0; numbers that are being traced pass."""
    for part, value in (
        found for line in system.lines for side in (line.left, line.right) for found in _constants(side, numbers)
    ):
        if not np.all(np.isfinite(value)):
            names = sorted({name.name for name in part.walk() if isinstance(name, Name | Entry)} & numbers.keys())
            given = f" with {', '.join(f'{name} = {numbers[name]}' for name in names)}" if names else ""
            raise ValueError(f"{unicode(part)}{given} is {value}: a finite number is needed")


def _constants(node: Node, numbers: Mapping[str, Any]) -> Iterator[tuple[Node, np.ndarray]]:
    """The largest expressions of parameters alone, with their values, but of `where`, which may not choose them."""
    with np.errstate(all="ignore"):
        value = constant(node, numbers) if isinstance(node, Power | Quotient | Product | Call) else None
    if value is not None:
        yield node, value
    elif not (isinstance(node, Call) and node.function == "where"):
        divisor = [Quotient(ONE, node.below)] if isinstance(node, Quotient) and node.above != ONE else []
        for child in (*node.children, *divisor):
            yield from _constants(child, numbers)


def _must_be_real(on_grid: Evaluation, name: str, value: Any) -> bool:
    """True if a parameter must be real: real fields or reported quantities hold it as it is, and not inside `real`."""
    is_beside_real = any(field.real for field in on_grid.equation.fields.values())
    if not any(map(jnp.iscomplexobj, jax.tree.leaves(value))):
        return is_beside_real
    derived = on_grid.derived
    return name in derived.numbers_of_reports or (is_beside_real and name in derived.numbers_of_real)


def _check_spaces(equation: Any) -> None:
    """Refuse spaces that a text is not carried out in, and terms that couple fields of two spaces mode by mode."""
    for space in equation.spaces.values():
        if space.stored_components != len(space.component_names):
            raise ValueError(
                f"equation {equation.name}: fields of {space}: a text needs as many stored components as there are at "
                "the points"
            )
    on_grid = Evaluation(equation)
    if len(on_grid.kinds) == 1:
        return
    if sum(not space.field.real for space, _ in on_grid.kinds) > 1:
        raise ValueError(f"equation {equation.name}: complex fields of one kind of space are needed")
    _refuse_couplings(on_grid)


def _refuse_couplings(on_grid: Evaluation) -> None:
    """Refuse terms that take fields of two kinds of spaces mode by mode.

    Raises:
        ValueError: the message shows the fields, and says how the term is written.
    """
    derived, scalars = on_grid.derived, set(on_grid.derived.reduced.scalars)
    for node in map(derived.plan.without_slots, derived.plan.inner):
        on_grid.kind_of(node)
    outside = ((row, part) for row, change in derived.changes.items() for part in change.walk() if part in scalars)
    kinds = on_grid.kind_by_name
    for row, column in (*derived.linear.between(derived.reduced.scalars), *outside):
        if kinds[named(row)] != kinds[named(column)]:
            raise ValueError(
                f"equation {on_grid.equation.name}: {named(column)} in a linear term for {named(row)}: their spaces "
                f"differ; real({named(column)}) takes it through the points"
            )


def _refuse_unbounded_growth(equation: Any, on_grid: Evaluation) -> None:
    """Refuse an L that amplifies ever shorter waves ever faster; numbers that are being traced pass."""
    text, dimensions, numbers = on_grid.text.plain, equation.grid.dimensions, equation.all_numbers
    is_written_in_them = not equation.dimensions or dimensions in equation.dimensions  # else it is refused elsewhere
    if text.unbounded or not is_written_in_them or not all(map(_is_known, jax.tree.leaves(numbers))):
        return
    linear, reduced, shortest = linear_of(text, dimensions), without_unknowns(text, dimensions), equation.grid.k_max
    if any(symbol.calls("symbol") for symbol in linear.symbols.values()):  # is known at the modes of a grid alone
        return
    growth = fastest_growth(linear, reduced, numbers, shortest)
    if growth is not None:
        raise ValueError(
            f"equation {equation.name}: its linear part amplifies ever shorter waves ever faster: on this grid those "
            f"of |k| = {shortest:.4g} grow as exp({growth:.4g} t). Another sign is needed, or `unbounded` is true"
        )


def _is_known(value: Any) -> bool:
    """True if a value is a number or an array of numbers, and not traced."""
    return isinstance(value, NUMBERS) and not isinstance(value, jax.core.Tracer)


def check_bodies(equation: Any) -> None:
    """Refuse bodies that have no place in an equation: one of a text takes them where it says `penalise`."""
    if equation.bodies is None:
        return
    if equation.text is None:
        raise ValueError(f"{equation.name}: it has no velocity that bodies could act on")
    if not equation.whole_text.takes_bodies:
        raise ValueError(f"{equation.name}: its text says of no velocity, by penalise(…), that bodies act on it")
    if equation.grid.dimensions == 1:
        raise ValueError(f"{equation.name}: bodies in one dimension, where two or three are needed")
    try:
        _ = equation.space(equation.first_field).fourier
    except NotInSpace as error:
        raise ValueError(f"{equation.name}: bodies: {error}") from None
    obstacles = equation.obstacles
    checked = obstacles.checked("body")
    object.__setattr__(equation, "bodies", checked[ONLY] if isinstance(equation.bodies, Obstacle) else checked)
    for name, kind in sorted(obstacles.conditions):
        scalars = equation.whole_text.scalars_at_bodies
        if name not in scalars:
            raise ValueError(
                f"{kind} = {name!r} of a body or sponge: the scalars of {equation.name} on which they act: "
                f"{', '.join(scalars) or 'none'}"
            )
    for name, body in obstacles.free.items():
        if equation.whole_text.penalised not in equation.fields:
            raise ValueError(
                f"body.{name}.mass {body.mass}: {equation.name} moves no velocity by itself, from whose change the "
                "force on a free body could be told; without a mass it moves as it is told"
            )


# ---- damping --------------------------------------------------------------------------------------------------------


HOW = '; jax.config.update("jax_enable_x64", True), and a grid of precision float32 can'


def require_powers(grid: Grid, system: System, numbers: Mapping[str, Any]) -> None:
    """Refuse a ν_h (−∇²)^p in a text whose size ν_h K^(2p), K the largest |k|, the grid's precision cannot hold.

    Numbers that are being traced pass, and so do numbers that do not depend on parameters alone. Touches no device.

    Raises:
        ValueError: the size is out of range. The message names the coefficient, the power and the possible values.
    """
    fields = {*system.fields, *system.unknowns}
    sides = [side for line in system.lines for side in (line.left, line.right)]
    for coefficient, power in dict.fromkeys(found for side in sides for found in _powers(side, ONE, fields)):
        values = [constant(node, numbers) for node in (coefficient, power)]
        if all(value is not None for value in values):
            value, exponent = (float(np.max(np.abs(value))) for value in values)
            _require(grid, _said(coefficient, numbers), _said(power, numbers), value, exponent)


def _require(grid: Grid, coefficient: str, power: str, value: float, exponent: float) -> None:
    numbers = np.finfo(jnp.result_type(float))  # in which ν_h and K^(2p) are held
    logarithm = 2 * exponent * math.log(grid.k_corner)
    if abs(logarithm) > math.log(float(numbers.max)):
        raise ValueError(
            f"{power}: {numbers.dtype} cannot hold |k|^{2 * exponent:g} of the largest |k| = {grid.k_corner:.4g}"
            + (HOW if numbers.dtype == np.float32 else "")
        )
    possible = float(np.finfo(grid.dtype).max) * math.exp(-logarithm)
    if value > possible:
        raise ValueError(
            f"{coefficient} with {power}: at most {possible:.3g} is needed, or {grid.precision} cannot hold the "
            f"damping of the largest |k| = {grid.k_corner:.4g}"
        )
    if 0 < value < float(numbers.tiny):
        raise ValueError(f"{coefficient}: {numbers.dtype} cannot hold it" + HOW)


def _said(node: Node, numbers: Mapping[str, Any]) -> str:
    """A constant as an error message names it: a parameter with its value."""
    return f"{node.name} {numbers[node.name]}" if isinstance(node, Name) and node.name in numbers else unicode(node)


def _powers(node: Node, coefficient: Node, fields: set[str]) -> Iterator[tuple[Node, Node]]:
    """Each power of the Laplacian in an expression, and the constant in front of it."""
    is_constant = lambda part: degree(part, fields) == 0  # noqa: E731
    match node:
        case Call("fraclap", (_, power)) if is_constant(power):
            yield coefficient, power
        case Product(left, right) if is_constant(left) or is_constant(right):
            number, rest = (left, right) if is_constant(left) else (right, left)
            yield from _powers(rest, times(number, coefficient), fields)
        case Quotient(above, below) if is_constant(below):
            yield from _powers(above, Quotient(coefficient, below), fields)
        case Sum() | Negative() | Call("cause" | "explicit"):
            for child in node.children:
                yield from _powers(child, coefficient, fields)
        case _:
            for child in node.children:
                yield from _powers(child, ONE, fields)
