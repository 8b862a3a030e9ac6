"""The spaces of an equation's fields between walls, from their conditions."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import jax

from solver.dynamics.varying_walls import on_other_grid, parts_of, walls_at_time, with_numbers, with_varying
from solver.grid import Grid
from solver.spaces import Space
from solver.spaces.field import Field
from solver.spaces.flows_between_walls import StokesModes, StokesSpace
from solver.spaces.polynomials import FieldBetweenWalls, Polynomials, PolynomialSpace
from solver.spaces.scalars_between_walls import ScalarModes, ScalarSpace
from solver.walls import NoSlip, Value, Walls
from solver.walls.conditions import AtSlope, Rigid, walls_from
from solver.written.components import ZERO
from solver.written.parse import read_expression
from solver.written.tree import Node, WrittenError
from solver.written.wall_lines import WallLine, read_wall_lines, with_definitions


def checked_walls(equation: Any) -> dict[str, Walls] | None:
    """The conditions of every field, and of unknowns that have some, by name; None in a periodic box.

    A mean velocity that is kept follows from the forcing alone, so that a copy of an equation with another forcing has
    no other.

    Raises:
        ValueError: conditions without walls, of no field, of the wrong kind, or a field without any.
    """
    found = _checked(equation, equation.walls, () if equation.text is None else equation.whole_text.walls)
    if found is None:
        return None
    means = {name: forcing.mean_between_walls for name, forcing in equation.forcings().items() if name in found}
    return {name: replace(walls, mean=means.get(name)) for name, walls in found.items()}


def _checked(equation: Any, given: Any, lines: Iterable[WallLine]) -> dict[str, Walls] | None:
    """Conditions of the fields from those that are given and those that a text says; see `checked_walls`."""
    of_text = _of_text(equation, lines)
    if not equation.grid.walls:
        if given or of_text:
            named = ", ".join({**(given or {}), **of_text})
            raise ValueError(f"walls of {named} in a periodic box: grid.walls, the last direction, is needed")
        return None
    given = {} if given is None else given
    if not isinstance(given, Mapping):
        raise ValueError(f"walls = {given!r}: a dict of conditions by field name is needed")
    unknowns = unknowns_of(equation)
    known = {**equation.fields, **unknowns}
    if strange := [name for name in given if name not in known]:
        others = f" and the unknowns {', '.join(unknowns)}" if unknowns else ""
        raise ValueError(
            f"walls of {strange[0]!r}: {equation.name} has the fields {', '.join(equation.fields)}{others}"
        )
    both = {name: _together(name, given.get(name), of_text.get(name)) for name in known}
    return {
        name: _conditions(equation, name, field, both[name])
        for name, field in known.items()
        if name in equation.fields or both[name] is not None
    }


def unknowns_of(equation: Any) -> dict[str, Field]:
    """The unknowns of an equation's text as fields that may have conditions at walls, by name."""
    if equation.text is None:
        return {}
    text = equation.whole_text
    return {name: Field(rank) for name, rank in text.unknowns if rank != "wavefunction"}


def field_between_walls(equation: Any, name: str) -> Field:
    """The declaration of a field, or of an unknown with conditions at walls."""
    return equation.fields[name] if name in equation.fields else unknowns_of(equation)[name]


def _of_text(equation: Any, lines: Iterable[WallLine]) -> dict[str, dict[str, Any]]:
    """The conditions that a text says, as a run file would, by field and wall."""
    found: dict[str, dict[str, Any]] = {}
    grid = equation.grid
    for line in lines:
        if grid.walls and line.along not in ("", grid.walls, "z"):
            raise ValueError(f"{line.text}: {grid.walls} is needed, the direction across the walls")
        if grid.walls and line.height and not math.isclose(line.height, grid.lengths[-1], rel_tol=1e-9):
            raise ValueError(f"{line.text}: the walls are at 0 and {grid.lengths[-1]:g}, and not at {line.height:g}")
        if line.axis not in ("", grid.walls or line.axis, line.along):
            raise ValueError(f"{line.text}: the derivative d{equation.grid.walls}, across the walls, is needed")
        if line.side in found.setdefault(line.field, {}):
            raise ValueError(f"{line.text}: a second condition of {line.field} at this wall")
        solenoidal = field_between_walls(equation, line.field).solenoidal
        found[line.field][line.side] = _of_flow(equation, line) if solenoidal else _of_scalar(equation, line)
    return found


def _of_scalar(equation: Any, line: WallLine) -> dict[str, Node]:
    return {"slope" if line.axis else "value": _right(equation, line)}


def _of_flow(equation: Any, line: WallLine) -> Any:
    """The condition of a vector without divergence: 0, or the velocity of the wall along itself."""
    right = _right(equation, line)
    if right == ZERO:
        return "free-slip" if line.axis else "no-slip"
    if line.axis:
        raise ValueError(f"{line.text}: 0 is needed, a wall without stress")
    try:
        *along, across = parts_of(equation.plain_text, right, equation.grid.dimensions, order=1)
    except WrittenError as error:
        raise ValueError(f"{line.text}: {error}") from None
    if across != ZERO:
        raise ValueError(f"{line.text}: a wall moves along itself, and not along {equation.grid.walls}")
    return {"moving": along}


def _right(equation: Any, line: WallLine) -> Node:
    return read_expression(line.right, equation.whole_text.words)


def _together(name: str, given: Any, of_text: Any) -> Any:
    """The conditions of a field from both places.

    Raises:
        ValueError: two for one wall.
    """
    if not of_text or given is None:
        return of_text or given
    if not isinstance(given, Mapping) or any(given.get(side) is not None for side in of_text):
        raise ValueError(f"walls.{name}: the text has a condition of {name} at this wall, too; one is needed")
    return {**{side: value for side, value in given.items() if value is not None}, **of_text}


def _conditions(equation: Any, name: str, field: Field, given: Any) -> Walls:
    if not field.real:
        raise ValueError(f"field {name} between walls: a real field is needed, and it is a wavefunction")
    if field.solenoidal and equation.grid.dimensions == 1:
        raise ValueError(f"field {name} between walls in one dimension: a vector without divergence needs two or three")
    if given is None:
        if name != next((n for n, one in equation.fields.items() if one.solenoidal), None):
            such = "'free-slip'" if field.solenoidal else "{ value = 1.0 } or { slope = 0.0 }"
            raise ValueError(
                f"field {name} has no condition at the walls: walls.{name} is needed, lower and upper, such as {such}"
            )
        return NoSlip()
    if field.solenoidal and isinstance(given, Mapping):
        given = {"lower": given.get("lower", "no-slip"), "upper": given.get("upper", "no-slip"), **given}
    walls = walls_from(given, f"walls.{name}")
    if field.mean_axes:
        raise ValueError(f"field {name}: between walls a mean along {field.zero_mean} that is zero cannot be kept")
    if field.zero_mean and not all(isinstance(side, AtSlope) for side in walls):
        raise ValueError(f"walls.{name}: slopes at both walls are needed for a field that is declared without a mean")
    if walls.of_velocity and not field.solenoidal:
        if field.rank == "vector" and all(isinstance(side, Rigid) and not side.velocity for side in walls):
            return Value()
        raise ValueError(f"walls.{name}: a value, a slope or robin is needed; it is no vector without divergence")
    _refuse_others(walls, name, field, equation.grid.dimensions - 1)
    return with_varying(equation, name, walls)


def _refuse_others(walls: Walls, name: str, field: Field, directions: int) -> None:
    if field.solenoidal and not walls.of_velocity:
        raise ValueError(f"walls.{name}: no-slip, free-slip or moving is needed for a vector without divergence")
    for side in walls:
        if isinstance(side, Rigid) and len(side.velocity) not in (0, directions):
            given = list(side.velocity)
            raise ValueError(f"walls.{name}: moving = {given}: {directions} number(s) along the wall are needed")


def modes_between_walls(equation: Any) -> dict[str, Any] | None:
    """The modes of each field and of unknowns, by name, whose arrays are arguments of compiled programs.

    None in a periodic box.
    """
    if not equation.grid.walls:
        return None
    fields = {name: field_between_walls(equation, name) for name in equation.walls}
    return {name: _modes(field, equation.grid, equation.walls[name]) for name, field in fields.items()}


def _modes(field: Field, grid: Grid, walls: Walls) -> StokesModes | ScalarModes:
    kind = StokesModes if field.solenoidal else ScalarModes
    return kind.on(grid.as_real, walls)


def _constant(leaf: Any) -> Any:
    """A leaf that nothing is differentiated with respect to. Touches no device where nothing is traced."""
    return jax.lax.stop_gradient(leaf) if isinstance(leaf, jax.core.Tracer) else leaf


def space_between_walls(equation: Any, name: str) -> Space:
    """The space of a field or of an unknown with conditions, under the conditions of the time that the equation has."""
    field = field_between_walls(equation, name)
    kind = StokesSpace if field.solenoidal else ScalarSpace
    modes = jax.tree.map(_constant, equation.between[name])
    return kind(
        name, field, equation.grid, equation.method,
        polynomials=Polynomials.on(equation.grid), walls=walls_at_time(equation, name), own=modes,
    )  # fmt: skip


def with_conditions(space: FieldBetweenWalls, grid: Grid, walls: Walls) -> FieldBetweenWalls:
    """The space of the same field on another grid of the box, or under other conditions."""
    made, walls = _modes(space.field, grid, walls), on_other_grid(walls, grid)
    return replace(space, grid=grid, walls=walls, own=made, polynomials=Polynomials.on(grid))


def walls_of_run(table: Mapping[str, Any], equation: Any, field: str, name: str, t: float) -> Walls:
    """The conditions that another run has at a time for a field, from its run file.

    Args:
        table: the run file of that run.
        equation: the equation of this run.
        field, name: name of the field here, and there.
        t: time of the field there.

    Raises:
        ValueError: the run file has no conditions of the field.
    """
    section, forced = table["equation"], table.get("forcing", {})
    define = section.get("define", {})
    lines = [line for line in read_wall_lines(section.get("write", ()), define) if line.field == name]
    of_text = _of_text(equation, [line.of_field(field, define) for line in lines])
    given = _with_defined(table.get("walls", {}).get(name), define)
    walls = _conditions(equation, field, equation.fields[field], _together(field, given, of_text.get(field)))
    of = forced if "name" in forced else forced.get(name, {})
    mean = tuple(of["velocity"][:-1]) if of.get("name") == "flow-rate" else None
    own = {**equation.walls, field: replace(walls, mean=mean)}
    return walls_at_time(with_numbers(equation, section.get("parameters", section), own).at_time(t), field)


def _with_defined(given: Any, define: Mapping[str, str]) -> Any:
    """Conditions of a run file, with its definitions written out in their texts."""
    match given:
        case Mapping():
            return {key: _with_defined(value, define) for key, value in given.items()}
        case list():
            return [_with_defined(value, define) for value in given]
        case str() if given not in ("no-slip", "free-slip"):
            return with_definitions(given, define)
    return given


def space_of_products(equation: Any) -> PolynomialSpace:
    """The space of products and derivatives of the fields: polynomials without a condition at the walls."""
    grid = equation.grid
    return PolynomialSpace("products", Field(), grid, equation.method, polynomials=Polynomials.on(grid))
