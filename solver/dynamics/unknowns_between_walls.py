"""Unknowns with conditions at walls, from the fields: A ψ = S u + R, solved in the modes of each unknown.

With ψ = ψ' + G, where the conditions add G, each mode of ψ' has ⟨mode · (S u + R − A G)⟩ divided by A there: a number,
or a small matrix of the unknowns that are coupled. That is the Galerkin solution, with the accuracy of the polynomials.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import jax.numpy as jnp
from jaxtyping import Array

from solver.dynamics.in_modes import GridModes
from solver.dynamics.symbol_value import SymbolValue, multiplied_out
from solver.operators.linear import inverse_of_matrices
from solver.spaces.scalars_between_walls import ScalarSpace
from solver.written.between_walls import Solve
from solver.written.components import ONE, ZERO, plus
from solver.written.elimination import named
from solver.written.symbols import VANISHES, applied
from solver.written.tree import Node, Solved, Sum
from solver.written.walled import is_across

VALUES, RATES, NOTHING = "values", "rates", "nothing"  # of what conditions add: itself, its rate of change, nothing


class ModesOfUnknown(GridModes):
    """Symbols on the modes of an unknown, where a derivative across the walls is ±i√λ: even powers of it are numbers.

    Args:
        space: space of the unknown.
        numbers: the parameters, by name.
    """

    space: ScalarSpace

    def derivative(self, axis: int) -> SymbolValue:
        if axis == self.space.grid.dimensions - 1:
            return SymbolValue(jnp.sqrt(jnp.asarray(self.space.own.rates)), True)
        return super().derivative(axis)


def space_of_unknown(equation: Any, unknown: Node) -> ScalarSpace:
    """The space of an unknown, of one of its scalars."""
    space = equation.space(named(unknown))
    assert isinstance(space, ScalarSpace)
    return space


def with_unknowns(on_grid: Any, rows: Any, lifted: str = VALUES) -> Any:
    """Rows of the fields with the polynomials of the unknowns.

    Args:
        on_grid: an `EvaluationBetweenWalls`.
        rows: polynomials of the fields, or of a change of the fields where the conditions add less than `VALUES`.
        lifted: part of the unknowns that their conditions give, one of `VALUES`, `RATES` and `NOTHING`.
    """
    for solve in on_grid.between.solves:
        rows = rows.with_scalars(*_solution(on_grid, solve, rows, lifted))
    return rows


def _solution(on_grid: Any, solve: Solve, rows: Any, lifted: str) -> tuple[dict[Node, Array], dict[Node, Array]]:
    """Polynomials of the unknowns of one group, and their modes where their conditions add nothing."""
    group = solve.group
    spaces = [space_of_unknown(on_grid.equation, unknown) for unknown in group.unknowns]
    added = {unknown: _lifting(space, lifted) for unknown, space in zip(group.unknowns, spaces, strict=True)}
    lifting = rows.of_scalars({unknown: c for unknown, c in added.items() if c is not None})
    right = rows
    if lifted == VALUES and solve.plan.products:
        right, _ = on_grid.products(solve.plan, rows, None)
    tested = []
    for row, space in zip(group.rows, spaces, strict=True):
        alike, others = _by_modes(on_grid.equation, rows, group.linear_rows[row], space)
        node = plus((others, solve.plan.rows[row] if lifted == VALUES else ZERO))
        held = [u for u, c in added.items() if c is not None and (row, u) in group.matrix]
        projected = jnp.zeros(space.modes.spectral_shape, space.modes.complex_dtype)
        if held or node != ZERO:
            own = lifting.on_all_modes(plus(applied(group.matrix[row, unknown], unknown) for unknown in held))
            projected = space.tested(on_grid.to_be_tested(right, node, solve.plan, space) - own)
        tested.append(sum((_number(on_grid, space, s) * rows.in_modes[of] for of, s in alike.items()), start=projected))
    solved = dict(zip(group.unknowns, _divided(on_grid, group, spaces, tested), strict=True))
    whole = {u: space.without_lifting(solved[u]) for u, space in zip(group.unknowns, spaces, strict=True)}
    whole = {unknown: c if added[unknown] is None else c + added[unknown] for unknown, c in whole.items()}
    return whole, {unknown: a for unknown, a in solved.items() if added[unknown] is None}


def _by_modes(
    equation: Any, rows: Any, linear: Mapping[Node, Node], space: ScalarSpace
) -> tuple[dict[Node, Node], Node]:
    """Linear terms of a right-hand side: symbols of scalars whose modes are the unknown's, and all other terms.

    The first need no polynomials: ⟨mode · f⟩ is the coefficient of f, where a symbol is a number for each mode.
    """
    alike = {
        scalar: symbol
        for scalar, symbol in linear.items()
        if scalar in rows.in_modes
        and not is_across(symbol, equation.grid.dimensions)
        and equation.space(named(scalar)).own_conditions == space.own_conditions
    }
    return alike, plus(applied(symbol, scalar) for scalar, symbol in linear.items() if scalar not in alike)


def _number(on_grid: Any, space: ScalarSpace, symbol: Node) -> Any:
    """The value of a symbol on the modes of an unknown."""
    return multiplied_out(ModesOfUnknown(space, on_grid.modes(0.0).numbers).value(symbol))


def _lifting(space: ScalarSpace, lifted: str) -> Array | None:
    """Polynomials of what the conditions add to a scalar of an unknown, or of its rate of change; None without any."""
    if lifted == NOTHING:
        return None
    made = space.lifting if lifted == VALUES else space.rate_of_lifting
    if made is None:
        return None
    whole = jnp.broadcast_to(space.over_modes(made), (len(made), *space.modes.spectral_shape))
    return whole[0].astype(space.coefficients.dtype)  # alike for all components


def _divided(on_grid: Any, group: Any, spaces: list[ScalarSpace], tested: list[Array]) -> list[Array]:
    """Coefficients of the modes of each unknown: A⁻¹ of the right-hand sides, mode by mode. No communication."""
    modes = ModesOfUnknown(spaces[0], on_grid.modes(0.0).numbers)
    if len(tested) == 1:
        [symbol] = group.matrix.values()
        return [multiplied_out(modes.value(Solved(ONE, symbol))) * tested[0]]
    inverse = inverse_on_modes(modes, group)
    return [sum(inverse[i, j] * tested[j] for j in range(len(tested))) for i in range(len(tested))]  # type: ignore[misc]


def inverse_on_modes(modes: ModesOfUnknown, group: Any) -> Array:
    """A⁻¹ `(unknown, row, …)` on the modes of a group's unknowns, which have conditions of one kind; 0 elsewhere."""
    space = modes.space
    shape, is_mode = space.modes.spectral_shape, space.holds()
    entry = lambda row, u: multiplied_out(modes.value(group.matrix.get((row, u), ZERO)))  # noqa: E731
    matrix = [[jnp.broadcast_to(entry(row, u), shape) for u in group.unknowns] for row in group.rows]
    whole = jnp.stack([jnp.stack(row) for row in matrix])
    unit = jnp.eye(len(whole), dtype=whole.dtype).reshape(*whole.shape[:2], *[1] * len(shape))
    return jnp.where(is_mode, inverse_of_matrices(jnp.where(is_mode, whole, unit)), 0)


# ---- rates and modes that nothing gives ------------------------------------------------------------------------------


def rates_through_unknowns(on_grid: Any) -> dict[tuple[Node, Node], Array]:
    """Largest rate at which linear terms of unknowns change one scalar of the fields by another [1/time], as waves.

    By the changed scalar and the other one: the largest of all modes of each unknown.
    """
    found: dict[tuple[Node, Node], Array] = {}
    responses = _responses(on_grid)
    for (to, of), symbol in on_grid.between.linear.symbols.items():
        if of in responses:
            modes = ModesOfUnknown(space_of_unknown(on_grid.equation, of), on_grid.modes(0.0).numbers)
            size = _size(modes, symbol)
            for scalar, response in responses[of].items():
                found[to, scalar] = found.get((to, scalar), 0.0) + jnp.max(size * response)
    return found


def _responses(on_grid: Any) -> dict[Node, dict[Node, Array]]:
    """Size of each unknown for a mode of size one of each scalar of the fields, on the modes of the unknown."""
    made: dict[Node, dict[Node, Array]] = {}
    for solve in on_grid.between.solves:
        group = solve.group
        modes = ModesOfUnknown(space_of_unknown(on_grid.equation, group.unknowns[0]), on_grid.modes(0.0).numbers)
        inverse = jnp.abs(inverse_on_modes(modes, group))
        right = [dict[Node, Any]() for _ in group.rows]
        for (row, scalar), symbol in group.linear.items():
            own = right[group.rows.index(row)]
            for field, response in made.get(scalar, {scalar: 1.0}).items():
                own[field] = own.get(field, 0.0) + _size(modes, symbol) * response
        for i, unknown in enumerate(group.unknowns):
            made[unknown] = {}
            for j, own in enumerate(right):
                for field, size in own.items():
                    made[unknown][field] = made[unknown].get(field, 0.0) + inverse[i, j] * size
    return made


def _size(modes: ModesOfUnknown, symbol: Node) -> Array:
    return jnp.abs(jnp.asarray(multiplied_out(modes.value(symbol))))


def unsolved_modes(on_grid: Any) -> dict[str, Array]:
    """By unknown, number of its modes that its equation does not give, but for a mean that a line says is zero."""
    counted = {}
    for solve in on_grid.between.solves:
        if len(solve.group.unknowns) == 1:
            [unknown], [symbol] = solve.group.unknowns, solve.group.matrix.values()
            space = space_of_unknown(on_grid.equation, unknown)
            modes = ModesOfUnknown(space, on_grid.modes(0.0).numbers)
            terms = [
                multiplied_out(modes.value(term)) for term in (symbol.terms if isinstance(symbol, Sum) else (symbol,))
            ]
            below, size = jnp.abs(jnp.asarray(sum(terms))), jnp.asarray(sum(map(jnp.abs, terms)))
            is_seen = space.holds() & (jnp.asarray(space.own.rates) + space.along_squared() > 0)
            counted[named(unknown)] = jnp.sum(is_seen & (below <= VANISHES * size))
    return counted
