"""Products of a text at the two walls, where the conditions of fields give them.

⟨mode · ∂P/∂z⟩ = −⟨∂mode/∂z · P⟩ + [mode · P]/H needs P at a wall that does not give the field its value. A product with
a velocity across the walls is 0 there. A product a ∂b/∂z is a times the slope that the wall gives b, so that exactly
this flux passes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import jax.numpy as jnp
from jaxtyping import Array

from solver.dynamics.varying_walls import walls_at_time
from solver.walls.conditions import AtSlope, AtValue, value_of, varies_along
from solver.written.closures import is_of_closure
from solver.written.elimination import named
from solver.written.plan import Plan
from solver.written.tree import Call, Derivative, Negative, Node, Number, Product, Quotient, Slot, Sum

Ends: TypeAlias = tuple[Array | None, Array | None]  # at the lower and at the upper wall `(…, 1)`; None if 0


class Flux(NamedTuple):
    """A term of a product at a wall: a number times a field there, times the slope that the wall gives another one.

    Args:
        number: number before it.
        of: scalar that is linear in the fields.
        slope: scalar of the field whose slope is given.
    """

    number: complex
    of: Node
    slope: Node


class ProductsAtWalls:
    """Values at the walls of the products of a plan.

    Args:
        equation: supplies the conditions of its fields.
        plan: the plan.
        upward: components of velocities across the walls.
        scalars: scalars of the fields.
        unknowns: scalars of the unknowns with conditions at walls.
    """

    def __init__(
        self, equation: Any, plan: Plan[Any], upward: set[Node], scalars: set[Node], unknowns: set[Node]
    ) -> None:
        self.equation, self.plan, self.upward = equation, plan, upward
        self.scalars, self.unknowns = scalars | unknowns, unknowns

    def fluxes(self, node: Node, gives_values: Sequence[bool]) -> list[dict[Slot, list[Flux]]] | None:
        """The products in an expression at the lower and at the upper wall.

        Args:
            node: expression, linear in products.
            gives_values: for each wall, True if the changes that it is tested with are 0 there.

        Returns:
            For each wall the terms of each product that is not 0; None where they are not known.
        """
        slots = [part for part in node.slots if part.holds == "product"]
        if not slots or any(part in self.scalars for part in node.walk()) or self._is_differentiated(node):
            return None
        if all(gives_values):
            return [{}, {}]
        if node.calls("mean"):  # one across the walls does not vanish there where its product does
            return None
        return self._at_both(slots, gives_values)

    def _at_both(self, slots: Sequence[Slot], gives_values: Sequence[bool]) -> list[dict[Slot, list[Flux]]] | None:
        found: list[dict[Slot, list[Flux]]] = []
        for wall, given in enumerate(gives_values):
            each = {} if given else {slot: self._terms(self.plan.products[slot.number], wall) for slot in slots}
            if None in each.values():
                return None
            found.append({slot: terms for slot, terms in each.items() if terms})
        return found

    def _is_differentiated(self, node: Node) -> bool:
        """True if an expression holds derivatives of products across the walls."""
        across = self.equation.grid.dimensions - 1
        return any(
            (isinstance(part, Derivative) and part.axis == across)
            or (isinstance(part, Call) and part.function == "lap")
            for part in node.walk()
            if part.slots
        )

    def _terms(self, product: Node, wall: int) -> list[Flux] | None:
        match product:
            case Sum(terms):
                each = [self._terms(term, wall) for term in terms]
                return None if None in each else [flux for part in each for flux in part]  # type: ignore[union-attr]
            case Negative(of):
                inner = self._terms(of, wall)
                return None if inner is None else [flux._replace(number=-flux.number) for flux in inner]
        if _is_subgrid(product) or _has_factor(product, lambda slot: self._is_zero(self.plan.held(slot), wall)):
            return []  # a subgrid stress or flux is 0: walls give all that passes them
        number, slots = _factors(product)
        if number is None or len(slots) != 2:
            return None
        for one, other in (slots, slots[::-1]):
            slope, of = self.plan.inner[one.number], self.plan.inner[other.number]
            if self._is_given(slope, wall) and not of.slots:
                return [Flux(number, of, slope.of)]  # type: ignore[attr-defined]
        return None

    def _is_zero(self, node: Node, wall: int) -> bool:
        """True if an inner field is 0 at a wall: a velocity across it, and the derivative along it of an unknown, such
        as a stream function, whose value there is the same everywhere."""
        match node:
            case Sum(terms):
                return all(self._is_zero(term, wall) for term in terms)
            case Negative(of):
                return self._is_zero(of, wall)
            case Derivative(of, axis) if axis < self.equation.grid.dimensions - 1:
                return self._is_uniform(of, wall)
        return node in self.upward

    def _is_uniform(self, node: Node, wall: int) -> bool:
        if isinstance(node, Derivative) and node.axis < self.equation.grid.dimensions - 1:
            return self._is_uniform(node.of, wall)
        if node not in self.unknowns:
            return False
        given = tuple(self.equation.walls[named(node)])[wall]
        return isinstance(given, AtValue) and not varies_along(given.value)

    def _is_given(self, node: Node, wall: int) -> bool:
        """True if a wall gives a scalar its value, which is the slope of a field."""
        match node:
            case Derivative(of, axis) if axis == self.equation.grid.dimensions - 1 and of in self.scalars:
                given = tuple(self.equation.walls[named(of)])[wall]
                return isinstance(given, AtSlope) and not varies_along(given.slope)
        return False

    def values(self, node: Node, fluxes: Sequence[Mapping[Slot, Sequence[Flux]]], rows: Any) -> Ends:
        """Values of an expression of products at the walls, from rows that hold the fields. No communication."""
        lower, upper = (self._value(node, of_wall, wall, rows) for wall, of_wall in enumerate(fluxes))
        return lower, upper

    def _value(self, node: Node, fluxes: Mapping[Slot, Sequence[Flux]], wall: int, rows: Any) -> Array | None:
        if not fluxes:
            return None
        zero = jnp.zeros(rows.space.modes.spectral_shape, rows.space.grid.complex_dtype)
        made = {slot.number: zero for slot in node.slots}
        for slot, terms in fluxes.items():
            made[slot.number] = zero.at[..., :1].set(sum(self._flux(term, wall, rows) for term in terms))
        return rows.with_products(made).on_all_modes(node)[..., :1]

    def _flux(self, flux: Flux, wall: int, rows: Any) -> Array:
        slope = value_of(tuple(walls_at_time(self.equation, named(flux.slope)))[wall].right)
        return flux.number.real * jnp.asarray(slope) * rows.space.at_wall(rows.on_all_modes(flux.of), wall)


def _is_subgrid(product: Node) -> bool:
    """True if a product is a subgrid stress or flux."""
    return any(isinstance(part, Call) and is_of_closure(part.function) for part in product.walk())


def _factors(product: Node) -> tuple[complex | None, list[Slot]]:
    """The number and the slots of a product of these alone; None in place of the number where there are others."""
    match product:
        case Number(value):
            return value, []
        case Slot():
            return complex(1), [product]
        case Product(left, right):
            (a, of_left), (b, of_right) = _factors(left), _factors(right)
            return None if a is None or b is None else a * b, [*of_left, *of_right]
    return None, []


def _has_factor(node: Node, is_zero: Callable[[Slot], bool]) -> bool:
    """True if an expression is 0 where its slots are that `is_zero` names."""
    match node:
        case Slot():
            return is_zero(node)
        case Sum(terms):
            return all(_has_factor(term, is_zero) for term in terms)
        case Negative(of) | Quotient(of, _):
            return _has_factor(of, is_zero)
        case Product(left, right):
            return _has_factor(left, is_zero) or _has_factor(right, is_zero)
    return False
