"""An equation during one step, as steppers take it: under its forcings, on moving points, with its energy budget."""

from __future__ import annotations

import copy
import dataclasses
import math
from collections.abc import Mapping
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.typing import ArrayLike
from jaxtyping import Array

from solver.equations.budget import BUDGET, Changes, columns, stacked, without_budget
from solver.equations.manifold import constrained
from solver.grid import Grid
from solver.operators import Fields, LinearOperator

SHIFT_KEY = 2**31 - 2  # beside that of the forcings


class Driven(eqx.Module):
    """What a stepper needs of an `Equation`, during one step.

    Beside the equation's fields it takes an entry `budget` if there is one: the integrals over time of what changes
    the energies, which have no linear part. So whatever the method is, the budget is integrated as the fields are.

    Args:
        equation: what is solved.
        forcing: state of each forcing in this step, by field name.
        key: random key of the run, for points that move at random.
        step: number of the step.
        begun: fields and time for which the first N of this step is known, and that N.
    """

    equation: Any
    forcing: dict[str, Any]
    key: Any
    step: ArrayLike
    begun: Any = ()

    @property
    def grid(self) -> Grid:
        """Grid of the equation."""
        return self.equation.grid

    def linear(self) -> LinearOperator:
        """The equation's L, and 0 for the budget."""
        return WithBudget(self.equation.linear(), 0.0)

    def nonlinear(self, fields: Fields, t: ArrayLike, evaluation: int = 0) -> Fields:
        """N(u, t) and the forcings, and the budget's rates if `fields` has a budget.

        Args:
            fields, t: where it is evaluated.
            evaluation: how many evaluations this step has had before: the points move from one to the next.
        """
        own = without_budget(fields)
        nonlinear = self._known(own, t) if evaluation == 0 else None
        if nonlinear is None:
            nonlinear = self._constrained(self.on_moved_points(evaluation).nonlinear(own, t))
        forces = self._forces(own, nonlinear)
        total = {name: n + forces[name] if name in forces else n for name, n in nonlinear.items()}
        if BUDGET not in fields:
            return total
        changes = Changes(self.equation.linear().apply(own), nonlinear, forces)
        rates = columns(self.equation.budget(own, changes))
        return {**total, BUDGET: stacked(rates).astype(fields[BUDGET].dtype)}

    def _forces(self, own: Fields, nonlinear: Fields) -> Fields:
        """What each forcing adds; one that responds is told what changes its field without it."""
        forces, forcings = {}, self.equation.forcings()
        linear = self.equation.linear().apply(own) if any(f.responds for f in forcings.values()) else {}
        for name, forcing in forcings.items():
            state, grid = self.forcing[name], self.equation.grid_of(name)
            if forcing.responds:
                forces[name] = forcing.respond(state, own[name], linear[name] + nonlinear[name], grid)
            else:
                forces[name] = forcing.force(state, own[name], grid)
        return constrained(forces, self.equation.fields, self.grid)

    def _constrained(self, nonlinear: Fields) -> Fields:
        """N as the fields are declared to be: stages that are not free of divergence would cost a method its order."""
        if self.equation.keeps_constraints:
            return nonlinear
        return constrained(nonlinear, self.equation.fields, self.grid)

    def to_manifold(self, fields: Fields) -> Fields:
        """The equation's."""
        return {**fields, **self.equation.to_manifold(without_budget(fields))}

    def rate(self, fields: Fields) -> Array:
        """The equation's."""
        return self.equation.rate(without_budget(fields))

    def begin(self, fields: Fields, t: ArrayLike) -> tuple[Any, Array]:
        """What `knowing` takes, and the rate: the N that a stepper asks for first is formed from the same transforms.

        Not where the points move: the rate is that on the points at rest.
        """
        own, equation = without_budget(fields), self.equation
        if self.grid.layout.shifts_phase or not _is_up_to_date(type(equation)):
            return (), self.rate(fields)
        nonlinear, rate = equation.nonlinear_and_rate(own, t)
        return (own, t, self._constrained(nonlinear)), rate

    def knowing(self, begun: Any) -> Driven:
        """This, with the first N of the step known."""
        return dataclasses.replace(self, begun=begun)

    def _known(self, own: Fields, t: ArrayLike) -> Fields | None:
        """N, if it is known for just these arrays."""
        if not self.begun:
            return None
        fields, time, nonlinear = self.begun
        return nonlinear if t is time and all(own[name] is fields[name] for name in own) else None

    def on_moved_points(self, evaluation: int) -> Any:
        """The equation, its points half a spacing on from those of the evaluation before.

        Source: Rogallo, NASA TM 81315 (1981), for the random shift and the one half a spacing further.
        """
        layout = self.grid.layout
        if not layout.shifts_phase:
            return self.equation
        shift = jnp.full(layout.dimensions, 0.5 * ((self.step + evaluation) % 2), self.grid.dtype)
        if self.grid.dealias == "phase-shift-random":
            key = jax.random.fold_in(jax.random.fold_in(self.key, SHIFT_KEY), self.step)
            shift = shift + jax.random.uniform(key, shift.shape, shift.dtype)
        moved = copy.copy(self.equation)
        object.__setattr__(moved, "shift", shift)  # on a copy that nobody else has
        return moved


def _is_up_to_date(cls: type) -> bool:
    """Whether no subclass of the class that has `nonlinear_and_rate` has overridden `nonlinear` or `rate` alone."""
    place = lambda name: next(i for i, one in enumerate(cls.__mro__) if name in vars(one))  # noqa: E731
    return place("nonlinear_and_rate") <= min(place("nonlinear"), place("rate"))


class WithBudget(LinearOperator):
    """An operator on fields, and the number that stands in its place where L is 0, for the budget.

    Args:
        operator: L, or a function of it.
        at_zero: that function at L = 0.
    """

    operator: LinearOperator
    at_zero: ArrayLike

    def apply(self, fields: Fields) -> Fields:
        own = self.operator.apply(without_budget(fields))
        return {**own, BUDGET: self.at_zero * fields[BUDGET]} if BUDGET in fields else own

    def exp(self, t: ArrayLike) -> WithBudget:
        return WithBudget(self.operator.exp(t), 1.0)

    def phi(self, weights: Mapping[int, float], t: ArrayLike) -> WithBudget:
        return WithBudget(self.operator.phi(weights, t), sum(a / math.factorial(k) for k, a in weights.items()))

    def solve(self, a: ArrayLike, b: ArrayLike) -> WithBudget:
        return WithBudget(self.operator.solve(a, b), 1 / a)

    def check(self, shapes: Mapping[str, tuple[int, ...]]) -> None:
        self.operator.check(shapes)

    @property
    def spectrum(self) -> str:
        return self.operator.spectrum
