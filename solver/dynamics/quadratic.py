"""Quadratic forms Σ n⟨(l u)* (r u)⟩ of the fields of a text: their values, and their rates of change."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, TypeAlias

import jax.numpy as jnp
from jaxtyping import Array

from solver.diagnostics import co_spectrum
from solver.diagnostics.mode_sums import ModeSum, plus, summed
from solver.dynamics.evaluation import Evaluation
from solver.dynamics.in_modes import GridModes, Rows
from solver.dynamics.symbol_value import multiplied_out
from solver.operators import Fields
from solver.spaces import Space
from solver.written.components import ONE
from solver.written.elimination import named
from solver.written.energies import Square
from solver.written.formula import unicode
from solver.written.linear import coefficient
from solver.written.matrices import Linear
from solver.written.tree import Entry, Name, Node

Factor: TypeAlias = tuple[Node, Node, Node, Node]  # n, of l or r at the changed scalar, of C, of the other one


def value_of(on_grid: Evaluation, squares: Sequence[Square], rows: Rows) -> Array:
    """A quadratic form. One all-reduce."""
    return summed([products(on_grid, squares, rows, rows)], on_grid.grid.dtype)[0]


def products(on_grid: Evaluation, squares: Sequence[Square], left: Rows, right: Rows) -> ModeSum:
    """A quadratic form as a sum over modes, its two factors from two sets of fields."""
    total: ModeSum = {}
    others, equation = list(squares), on_grid.equation
    number = lambda square: jnp.real(multiplied_out(left.modes.value(square.number)))  # noqa: E731
    for name in equation.fields:
        scalars = on_grid.scalars(name)
        own = [square for square in others if square.left == square.right and square.left in scalars]
        if len(own) == len(scalars) and len({square.number for square in own}) == 1:
            both = equation.space(name).product(on_grid.field(name, left), on_grid.field(name, right))
            total = plus(total, both, number(own[0]))
            others = [square for square in others if square not in own]
    for square in others:
        space, *sides = _sides(square, left, right)
        total = plus(total, space.product(*sides), number(square))
    return total


def _sides(square: Square, left: Rows, right: Rows) -> tuple[Space, Array, Array]:
    """The space of both factors, and their coefficients.

    Raises:
        ValueError: their spaces differ.
    """
    rows, others = left.of(square.left), right.of(square.right)
    if rows.modes.space.kind != others.modes.space.kind:
        raise ValueError(
            f"({unicode(square.left)}) ({unicode(square.right)}) in a mean: fields of {rows.modes.space} and of "
            f"{others.modes.space}, whose modes differ; real(…) of one of them takes both through the points"
        )
    return rows.modes.space, rows.on_all_modes(square.left), others.on_all_modes(square.right)


def power(on_grid: Evaluation, squares: Sequence[Square], fields: Rows, change: Rows) -> ModeSum:
    """Rate of change of a quadratic form by a change of the fields."""
    twice = [square for square in squares if square.left == square.right]
    others = [square for square in squares if square.left != square.right]
    crossed = plus(products(on_grid, others, fields, change), products(on_grid, others, change, fields))
    return plus(crossed, products(on_grid, twice, fields, change), 2)


def holds(square: Square, names: Collection[str]) -> bool:
    """True if a term of a quadratic form holds any of these fields."""
    parts = [part for side in (square.left, square.right) for part in side.walk()]
    return any(isinstance(part, Name | Entry) and part.name in names for part in parts)


def caused(on_grid: Evaluation, squares: Sequence[Square], cause: Linear, fields: Rows) -> ModeSum:
    """Rate of change of a quadratic form n⟨(l u)* (r u)⟩ by a linear cause C.

    That is Σ Re(û_c* K_cb û_b) over pairs of scalars, K made of n, l, r and C. Components of a field whose weights
    are equal share theirs.
    """
    scalars = on_grid.derived.reduced.scalars
    alone: dict[tuple[Any, ...], list[Node]] = {}
    total: ModeSum = {}
    for (c, b), factors in _weights(squares, cause, scalars).items():
        if c == b:
            alone.setdefault((named(c), *factors), []).append(c)
            continue
        _sides(Square(ONE, c, b), fields, fields)
        rows = fields.of(c)
        weight = sum(_product(rows.modes, factor, is_turned) for factor, is_turned in factors)
        total = plus(total, rows.modes.space.product(rows.coefficients[c], weight * rows.coefficients[b]))
    for (name, *factors), held in alone.items():
        rows = fields.of(held[0])
        weight = jnp.real(sum(_product(rows.modes, factor, is_turned) for factor, is_turned in factors))
        is_whole = tuple(held) == on_grid.scalars(name)
        hats = on_grid.field(name, fields) if is_whole else jnp.stack([rows.coefficients[scalar] for scalar in held])
        total = plus(total, rows.modes.space.product(hats, hats, weight))
    return total


def _weights(
    squares: Sequence[Square], cause: Linear, scalars: Sequence[Node]
) -> dict[tuple[Node, Node], list[tuple[Factor, bool]]]:
    """The terms of each K_cb: n x_a* C_ac* y_b, with l and r as x and y and the other way round.

    Pairs are in the order of the scalars; a term that belongs to the pair in the other order is turned: its conjugate
    counts.
    """
    weights: dict[tuple[Node, Node], list[tuple[Factor, bool]]] = {}
    symbols = cause.between(scalars)
    for square in squares:
        sides = [{s: coefficient(side, s) for s in scalars if s in side.walk()} for side in (square.left, square.right)]
        for (a, c), rate in symbols.items():
            for x, y in (sides, sides[::-1]):
                for b, other in y.items() if a in x else ():
                    is_turned = scalars.index(c) > scalars.index(b)
                    pair = (b, c) if is_turned else (c, b)
                    weights.setdefault(pair, []).append(((square.number, x[a], rate, other), is_turned))
    return weights


def _product(modes: GridModes, factor: Factor, is_turned: bool) -> Any:
    """Term of a weight, at each mode."""
    number, left, rate, right = (multiplied_out(modes.value(symbol)) for symbol in factor)
    product = jnp.real(number) * jnp.conj(left * rate) * right
    return jnp.conj(product) if is_turned else product


def by_shell(squares: Sequence[Square], rows: Rows) -> Array:
    """A quadratic form, shell by shell."""
    parts = []
    for square in squares:
        space, left, right = _sides(square, rows, rows)
        number = jnp.real(multiplied_out(rows.modes.value(square.number)))
        parts.append(number * co_spectrum(left, right, space.fourier))
    return jnp.asarray(sum(parts))


def conjugate(on_grid: Evaluation, squares: Sequence[Square], rows: Rows) -> Fields:
    """The g of a quadratic form, of the fields that it holds; ⟨(l a)* (r b)⟩ has g = l* r b of a, and r* l a of b."""
    made: dict[Node, Array] = {}
    for square in squares:
        _sides(square, rows, rows)
        for own, other in ((square.left, square.right), (square.right, square.left)):
            for scalar in _held(on_grid, own):
                modes = rows.of(scalar).modes
                factor, number = (modes.value(symbol) for symbol in (coefficient(own, scalar), square.number))
                weight = jnp.conj(multiplied_out(factor)) * multiplied_out(number)
                made[scalar] = made.get(scalar, 0) + weight * rows.of(other).on_all_modes(other)
    equation = on_grid.equation
    names = [name for name in equation.fields if any(named(scalar) == name for scalar in made)]
    spectral = lambda name: equation.space(name).modes.spectral_shape  # noqa: E731
    zero = lambda name: jnp.zeros(spectral(name), equation.grid.complex_dtype)  # noqa: E731
    return {name: jnp.stack([made.get(s, zero(name)) for s in on_grid.scalars(name)]) for name in names}


def _held(on_grid: Evaluation, node: Node) -> list[Node]:
    """The scalars of the fields that an expression holds."""
    parts = set(node.walk())
    return [scalar for scalar in on_grid.derived.reduced.scalars if scalar in parts]
