"""Dynamics of an equation of a text for steppers: L, N and the rate, derived from it."""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from functools import partial, reduce
from types import MappingProxyType
from typing import Any

import jax.numpy as jnp
from jax.typing import ArrayLike
from jaxtyping import Array

from solver.dynamics.acting_bodies import at_motion, rate_of_bodies
from solver.dynamics.at_points import SPACING, AtPoints
from solver.dynamics.evaluation import Evaluation, without_missing
from solver.dynamics.in_modes import GridModes, OneMode
from solver.dynamics.report import Damping
from solver.dynamics.subgrid import acts_on_modes, rate_of_damping, with_damping
from solver.dynamics.symbol_value import multiplied_out
from solver.fft import max_over_points
from solver.operators import Diagonal, Fields, LinearOperator, Matrix, Separate
from solver.spaces.space import ZERO_MEAN
from solver.written.components import ONE, ZERO, plus
from solver.written.elimination import named
from solver.written.matrices import Linear
from solver.written.rates import Rate
from solver.written.tree import Entry, Node, Quotient, Solved, Sum
from solver.written.viscosity import viscosity_of

AXIS, SLANT = (1.0, 0.0, 0.0), (1.0, 2.0, 3.0)  # wavenumbers: of ν alone; at which no symbol but zero vanishes


class TextDynamics:
    """L, N and the rate of an equation of a text.

    Args:
        equation: equation of a text.
    """

    on_grid: Evaluation

    def __init__(self, equation: Any) -> None:
        self.equation, self.on_grid = equation, Evaluation(equation)

    # ---- the linear part ----------------------------------------------------------------------------------------

    def linear(self) -> LinearOperator:
        """L on this grid."""
        return self.operator(self.on_grid.derived.linear)

    def operator(self, linear: Linear, numbers: Mapping[str, Any] = MappingProxyType({})) -> LinearOperator:
        """A linear operator on this grid; one for each kind of spaces.

        Args:
            linear: operator of the text.
            numbers: numbers in it that are no parameters, by name.
        """
        kinds = [tuple(names) for _, names in self.on_grid.kinds if names]
        if len(kinds) == 1:
            return self._operator_on(tuple(self.equation.fields), linear, numbers)
        scalars = self.on_grid.derived.reduced.scalars
        parts = [{pair: s for pair, s in linear.between(scalars).items() if named(pair[0]) in names} for names in kinds]
        coupled = ["nothing" if all(row == column for row, column in part) else "components" for part in parts]
        own = (Linear(*pair) for pair in zip(parts, coupled, strict=True))
        return Separate(tuple(self._operator_on(*pair, numbers) for pair in zip(kinds, own, strict=True)))

    def _operator_on(self, names: tuple[str, ...], linear: Linear, numbers: Mapping[str, Any]) -> LinearOperator:
        """A linear operator on fields of one kind."""
        modes = self.on_grid.modes(0.0, self.on_grid.kind_by_name[names[0]]).with_numbers(numbers)
        shape = modes.space.modes.spectral_shape
        if linear.couples == "nothing":
            return Diagonal({name: self._diagonal(name, linear, modes) for name in names})
        scalars = [scalar for name in names for scalar in self.on_grid.scalars(name)]
        keys: Sequence[Any] = names if linear.couples == "fields" else scalars
        entry = lambda pair: jnp.asarray(multiplied_out(modes.value(linear.symbols.get(pair, ZERO))))  # noqa: E731
        rows = [jnp.stack([jnp.broadcast_to(entry((row, column)), shape) for column in keys]) for row in keys]
        return Matrix(jnp.stack(rows), names, "fields" if linear.couples == "fields" else "components")

    def _diagonal(self, name: str, linear: Linear, modes: GridModes) -> Array:
        """The entries of a field, one for all components where they are the same."""
        symbols = [linear.symbols.get((scalar, scalar), ZERO) for scalar in self.on_grid.scalars(name)]
        values = {symbol: multiplied_out(modes.value(symbol)) for symbol in symbols}
        dtype = self.equation.grid.dtype
        entries = [jnp.asarray(v, None if jnp.iscomplexobj(v) else dtype) for v in map(values.get, symbols)]
        if len(values) == 1:
            return entries[0]
        return jnp.stack([jnp.broadcast_to(entry, modes.space.modes.spectral_shape) for entry in entries])

    def unsolved_modes(self) -> dict[str, Array]:
        """By unknown, number of stored modes (not the mean) that its equation does not give; see `UnsolvedModes`."""
        counted = {}
        for scalar, node in self.on_grid.derived.reduced.diagnosed.items():
            modes = self.on_grid.modes(0.0, self.on_grid.kind_of(node))
            if divisors := _divisors(node):
                counted[named(scalar)] = _count(modes, divisors)
        return counted

    def divisors_of_rates(self) -> dict[str, list[Sum]]:
        """By field, sums by which its rate of change is divided: the operators inside `dt(…)`."""
        reduced = self.on_grid.derived.reduced
        solved = reduced.without_mass(dict.fromkeys(reduced.rest, ONE))
        found = {named(scalar): _divisors(node) for scalar, node in solved.items()}
        return {name: divisors for name, divisors in found.items() if divisors}

    def unsolved_rates(self) -> dict[str, Array]:
        """By field, number of stored modes (not the mean) whose rate of change no equation gives."""
        kinds = self.on_grid.kind_by_name
        divisors = self.divisors_of_rates()
        return {name: _count(self.on_grid.modes(0.0, kinds[name]), of) for name, of in divisors.items()}

    # ---- N and the rate -----------------------------------------------------------------------------------------

    def nonlinear(self, fields: Fields, t: ArrayLike) -> Fields:
        """N(u, t)."""
        return self._evaluated(fields, t, None)[0]

    def change_and_rate(self, fields: Fields, t: ArrayLike) -> tuple[Fields, Array] | None:
        """N(u, t) and the rate from the same transforms; None if the rate does not come from numbers at the points."""
        largest = self._largest
        if largest is None:
            return None
        changes, found = self._evaluated(fields, t, largest)
        return changes, found + self._rate_elsewhere(fields)

    def rate(self, fields: Fields) -> Array:
        """Read off the text: the largest speed across a grid cell, or the largest rate of reaction.

        It is 0 where the text does not tell it; `why_no_rate` then says why.
        """
        function, on_grid, grid = self._largest, self.on_grid, self.equation.grid
        if function is None:
            return jnp.asarray(self._rate_elsewhere(fields), grid.dtype)
        values = on_grid.at_points(function.inner, on_grid.derived.plan, on_grid.rows(fields))
        numbers, places = (
            on_grid.numbers(on_grid.modes(0.0), function, rows=on_grid.rows(fields)),
            on_grid.places(function),
        )
        [largest] = function.made(values, numbers, places, grid.physical_shape)
        return max_over_points(largest.astype(grid.dtype)) + self._rate_elsewhere(fields)

    def _rate_elsewhere(self, fields: Fields) -> ArrayLike:
        """The part of the rate that does not come from numbers at the points, a closure on each mode among it."""
        own = self._further_rate()
        return own + rate_of_damping(self.equation, fields) if acts_on_modes(self.equation) else own

    def _further_rate(self) -> ArrayLike:
        """The part of the rate that does not depend on the fields."""
        return self.equation.rate_of_linear() + rate_of_bodies(self.equation, self.on_grid)

    @property
    def _largest(self) -> AtPoints | None:
        """Quantity whose largest value is the rate, from the inner fields of the plan; None if there is nothing."""
        found, plan = self.equation.rate_at_points(), self.on_grid.derived.plan
        if not isinstance(found, Rate) or not plan.products:
            return None
        across = lambda axis, speed: Quotient(speed, Entry(SPACING, (axis,)))  # noqa: E731
        parts = [found.reaction, *(across(*pair) for pair in enumerate(found.speeds or ()))]
        [(inner, _)] = plan.levels()
        node = plus(part for part in parts if part is not None)
        if node == ZERO:
            return None
        return AtPoints.of_text(self.on_grid.text, [node], inner, is_one_number=True)

    def _evaluated(self, fields: Fields, t: ArrayLike, largest: AtPoints | None) -> tuple[Fields, Any]:
        """N(u, t), and the largest of a number at the points."""
        equation, derived = self.equation, self.on_grid.derived
        placed = Evaluation(at_motion(equation, fields, t))
        rows, found = placed.carried_out(derived.plan, fields, t, largest)
        changes = with_damping(equation, fields, self.on_grid.by_field(rows, derived.changes))
        mean_free = [name for name, field in equation.fields.items() if field.zero_mean]
        changes |= {name: equation.space(name).as_declared(changes[name], ZERO_MEAN) for name in mean_free}
        return changes, found


def _divisors(node: Node) -> list[Sum]:
    """The sums that an expression is divided by, mode by mode: they may vanish for some modes."""
    found = {part.by for part in node.walk() if isinstance(part, Solved) and isinstance(part.by, Sum)}
    return sorted(found, key=repr)


def _count(modes: GridModes, divisors: Sequence[Sum]) -> Array:
    """Number of stored modes for which one of these vanishes."""
    return jnp.sum(reduce(operator.or_, map(modes.vanishing, divisors)))


def damping_of_text(equation: Any) -> Damping | None:
    """Damping of the small scales of the velocity by L, found from its symbols and not from the names of parameters."""
    dimensions, numbers = equation.grid.dimensions, equation.all_numbers
    found = viscosity_of(without_missing(equation, equation.whole_text.plain), dimensions)
    if found is None:
        return None
    one = OneMode(numbers, AXIS[:dimensions])
    viscosity = None if found.kinematic is None else -multiplied_out(one.value(found.kinematic))
    if all(symbol == ZERO for symbol in found.further):
        return Damping(viscosity, is_all=not found.couples)
    slant = OneMode(numbers, SLANT[:dimensions])
    size = lambda: sum(abs(multiplied_out(slant.value(symbol))) for symbol in found.further)  # noqa: E731
    return Damping(viscosity, partial(_rates, equation, found.further), size, not found.couples)


def _rates(equation: Any, symbols: Sequence[Node]) -> list[Array]:
    """Rate at which each symbol damps each mode [1/time]; 0 where it does not damp."""
    modes = Evaluation(equation).modes(0.0)
    return [jnp.maximum(-jnp.real(multiplied_out(modes.value(symbol))), 0.0) for symbol in symbols]
