"""An equation during one step, as steppers take it: under its forcings, on moving points, with its energy budget."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.typing import ArrayLike
from jaxtyping import Array

from solver.dynamics.acting_bodies import at_motion
from solver.dynamics.budget import BUDGET, Changes, without_budget
from solver.dynamics.companion import Companion, Step
from solver.dynamics.energy_budget import EnergyBudget
from solver.dynamics.forcings import forcing_key, kicks, prepared_kicks
from solver.grid import Grid
from solver.operators import Fields, LinearOperator, uniform
from solver.spaces.manifold import constrained
from solver.static import Program

SHIFT_KEY = 2**31 - 2  # beside that of the forcings


class Driven(eqx.Module):
    """An `Equation` during one step, with all that a stepper needs of it.

    Fields may have entries in addition to the equation's fields: its companions (`equations.companion`), and `budget`,
    a companion too, the integrals over time of the causes that change the energies. To most methods they have no linear
    part: they are integrated as N of the fields is. Exponential methods take the linear parts that companions declare.

    Args:
        equation: the equation that is solved.
        forcing: state of each forcing in this step, by field name.
        key: random key of the run, for points that move at random.
        step: number of the step.
        start: fields and time at which the step starts; `()` outside of a step.
        first: N there without the forcings, where step control has evaluated it already; `()` where it has not.
    """

    equation: Any
    forcing: dict[str, Any]
    key: Any
    step: ArrayLike
    start: Any = ()
    first: Any = ()

    @property
    def grid(self) -> Grid:
        """Grid of the equation."""
        return self.equation.grid

    def linear(self) -> LinearOperator:
        """The equation's L, and 0 for entries that are not fields."""
        return WithNumbers(self.equation.linear(), 0.0, tuple(self.equation.fields))

    def linear_with_companions(self) -> LinearOperator:
        """The equation's L and the linear parts of its companions, for methods that are exact in both."""
        return WithNumbers(self.equation.linear(), 0.0, tuple(self.equation.fields), self._linear_parts())

    def varying_linear(self) -> InTime | None:
        """Λ(t), the linear terms of N that depend on time, for methods that are exact in them; None without any."""
        varying = self.equation.varying_linear
        return None if varying is None else InTime(varying, tuple(self.equation.fields))

    def without_linear_parts(self, change: Fields, fields: Fields) -> Fields:
        """N as those methods take it: without the linear parts of companions, which `nonlinear` includes.

        Args:
            change: N as `nonlinear` gives it.
            fields: fields and companions of that evaluation.
        """
        parts = {name: part for name, part in self._linear_parts().items() if name in change}
        own = {name: change[name] - part.apply({name: fields[name]})[name] for name, part in parts.items()}
        return {**change, **own}

    def _linear_parts(self) -> dict[str, LinearOperator]:
        found = {name: one.linear(self.equation) for name, one in self.equation.companions_by_name().items()}
        return {name: part for name, part in found.items() if part is not None}

    def starting(self, fields: Fields, t: ArrayLike) -> Driven:
        """The same equation, for the step that starts from these fields at time t."""
        return dataclasses.replace(self, start=(fields, t))

    def with_first_evaluation(self, first: Any) -> Driven:
        """The same equation with N at the start of the step, as `first_and_rate` gives it; `()` if N is not known."""
        return dataclasses.replace(self, first=first)

    def first_and_rate(self, fields: Fields, t: ArrayLike) -> tuple[Any, Array]:
        """N at the start of a step without the forcings, and the rate from the same transforms.

        `with_first_evaluation` takes that N.

        Where the points move N is left out, `()`: the rate is that on the points at rest.
        """
        own = without_budget(fields)
        if self.grid.layout.shifts_phase:
            return (), self.equation.rate(own)
        nonlinear, rate = self.equation.at_time(t).change_and_rate(own, t)
        return self._constrained(nonlinear), rate

    def first_nonlinear(self) -> Fields:
        """N(u, t) and the forcings at the start of the step: its evaluation number 0, which may be known already."""
        fields, t = self.start
        return self._with_forces(fields, self.first, t) if self.first else self.nonlinear(fields, t, 0)

    def nonlinear(self, fields: Fields, t: ArrayLike, evaluation: int = 0) -> Fields:
        """N(u, t) and the forcings, and the budget's rates if `fields` has a budget.

        Args:
            fields, t: fields and time of the evaluation.
            evaluation: number of evaluations that this step has had before: the points move from one to the next.
        """
        at_rest = dataclasses.replace(self, start=(), first=())  # the same for all evaluations
        return evaluated(at_rest, self.on_moved_points(evaluation), fields, jnp.asarray(t, self.grid.dtype))

    def _with_forces(self, fields: Fields, nonlinear: Fields, t: ArrayLike) -> Fields:
        """N and the forcings together, and the rates of companions and of the budget."""
        own, equation = without_budget(fields), self.equation.at_time(t)
        forces = self._forces(own, nonlinear)
        total = {name: n + forces[name] if name in forces else n for name, n in nonlinear.items()}
        companions = self._companions_among(fields)
        if not companions:
            return total
        linear = self.equation.linear().apply(self.equation.fields_alone(own))
        changes = Changes(linear, nonlinear, forces, BUDGET in fields and fields[BUDGET].ndim > 1)
        for name, companion in companions.items():
            y = fields[name]
            total[name] = companion.rates(equation, y, own, changes, t).astype(y.dtype)
        return total

    def changes(self, fields: Fields, t: ArrayLike) -> Changes:
        """Changes of the fields at a moment: linear, nonlinear and by forcings. Costs an evaluation of N."""
        own = without_budget(fields)
        nonlinear = self._constrained(self.equation.nonlinear(own, t))
        linear = self.equation.linear().apply(self.equation.fields_alone(own))
        return Changes(linear, nonlinear, self._forces(own, nonlinear))

    def _companions_among(self, fields: Fields) -> dict[str, Companion]:
        """The companions, the budget included, that have an entry among these fields."""
        known = {**self.equation.companions_by_name(), BUDGET: EnergyBudget()}
        return {name: companion for name, companion in known.items() if name in fields}

    def _forces(self, own: Fields, nonlinear: Fields) -> Fields:
        """Term of each forcing in u_t; a forcing with `needs_change` receives the other terms of its field's u_t."""
        forces, forcings = {}, self.equation.forcings()
        needed = any(f.needs_change for f in forcings.values())
        linear = self.equation.linear().apply(self.equation.fields_alone(own)) if needed else {}
        for name, forcing in forcings.items():
            change = (linear[name] + nonlinear[name],) if forcing.needs_change else ()
            forces[name] = forcing.force(self.forcing[name], own[name], self.equation.space(name), *change)
        return constrained(forces, self.equation.spaces)

    def _constrained(self, nonlinear: Fields) -> Fields:
        """N that meets the constraints of its fields.

        A stage that is not free of divergence would cost a method its order.
        """
        if self.equation.keeps_constraints:
            return nonlinear
        return constrained(nonlinear, self.equation.spaces)

    def prepare_kicks(self, dt: ArrayLike) -> dict[str, Any]:
        """Preparation of each forcing that kicks, from the size of a step alone, by field name; empty if none kicks."""
        return prepared_kicks(self.equation, dt)

    def kicked(self, fields: Fields, prepared: Any, t: ArrayLike) -> Fields:
        """Fields at the end of a step, after the kicks of their forcings, and so their companions.

        Args:
            fields: fields after the step, with or without a budget.
            prepared: result of `prepare_kicks`, for the size of this step.
            t: time of these fields.
        """
        if not prepared:
            return fields
        own, forcings = without_budget(fields), self.equation.forcings()
        keys = {
            name: forcing_key(forcing, self.key, i, self.step + 1) for i, (name, forcing) in enumerate(forcings.items())
        }
        added = kicks(self.equation, own, self.forcing, prepared, keys)
        after = {**fields, **{name: own[name] + kick for name, kick in added.items()}}
        for name, companion in self._companions_among(fields).items():
            after[name] = companion.after_kicks(self.equation.at_time(t), fields[name], own, added)
        return after

    def before_step(self, fields: Fields, t: ArrayLike, dt: ArrayLike) -> Fields:
        """Fields and companions with which a step of size dt begins at time t."""
        return {**fields, **self._companions_at("before_step", fields, fields, t, dt)}

    def after_step(self, fields: Fields, start: Fields, t: ArrayLike, dt: ArrayLike) -> tuple[Fields, Fields]:
        """Fields on their manifold and companions after a step, and how far `after_step` has moved companions back.

        Args:
            fields: fields as the step left them.
            start: fields where the step began, at time t.
            t, dt: as in `before_step`.
        """
        done = self._companions_at("after_step", fields, start, t, dt)
        after = {**fields, **done, **self.equation.to_manifold(self.equation.fields_alone(fields))}
        return after, {name: fields[name] - y for name, y in done.items()}

    def _companions_at(
        self, method: str, fields: Fields, start: Fields, t: ArrayLike, dt: ArrayLike
    ) -> dict[str, Array]:
        """The companions that have this method of their own, as it changes them, by the bodies where these are."""
        changed, later = {}, t if method == "before_step" else t + dt
        equation = at_motion(self.equation.at_time(later), fields, later)
        for name, companion in self._companions_among(fields).items():
            if getattr(type(companion), method) is not getattr(Companion, method):
                step = Step(start[name], t, dt, self.key, self.step + 1)
                changed[name] = getattr(companion, method)(equation, fields[name], step)
        return changed

    def rate(self, fields: Fields) -> Array:
        """As `equation.rate`, which is not given the budget."""
        return self.equation.rate(without_budget(fields))

    def on_moved_points(self, evaluation: int) -> Any:
        """The equation with its points moved by half a spacing from the points of the evaluation before.

        Source: Rogallo, NASA TM 81315 (1981), for the random shift and the one half a spacing further.
        """
        layout = self.grid.layout
        if not layout.shifts_phase:
            return self.equation
        shift = jnp.full(layout.dimensions, 0.5 * ((self.step + evaluation) % 2), self.grid.dtype)
        if self.grid.dealias == "phase-shift-random":
            key = jax.random.fold_in(jax.random.fold_in(self.key, SHIFT_KEY), self.step)
            shift = shift + uniform(key, shift.shape, shift.dtype)
        return eqx.tree_at(lambda equation: equation.shift, self.equation, shift, is_leaf=lambda leaf: leaf is None)


class InTime:
    """Λ(t) on fields, and 0 on entries that are not fields.

    Args:
        varying: Λ(t) of the equation.
        names: names of the fields.
    """

    def __init__(self, varying: Any, names: tuple[str, ...]) -> None:
        self.varying, self.names = varying, names

    def taken_from(self, change: Fields, fields: Fields, t: ArrayLike) -> Fields:
        """N without Λ(t) of these fields."""
        own = self.varying.at(t).apply({name: fields[name] for name in self.names})
        return {name: n - own[name] if name in own else n for name, n in change.items()}

    def exp(self, t: ArrayLike, dt: ArrayLike) -> LinearOperator:
        """exp ∫Λ dt from t to t + dt."""
        return WithNumbers(self.varying.exp(t, dt), 1.0, self.names)


@Program
def evaluated(driven: Driven, moved: Any, fields: Fields, t: ArrayLike) -> Fields:
    """N of the equation on moved points, with forcings and budget. Traced once for all stages of a step."""
    nonlinear = moved.nonlinear(without_budget(fields), t)
    return driven._with_forces(fields, driven._constrained(nonlinear), t)


class WithNumbers(LinearOperator):
    """An operator on fields, and the number that replaces it where L is 0, for the entries that are not fields.

    Args:
        operator: L, or a function of it.
        at_zero: that function at L = 0.
        names: names of the fields.
        companions: L of companions that have one, or that function of it, by name.
    """

    operator: LinearOperator
    at_zero: ArrayLike
    names: tuple[str, ...] = eqx.field(static=True)
    companions: dict[str, LinearOperator] = eqx.field(default_factory=dict)

    def apply(self, fields: Fields) -> Fields:
        own = {name: field for name, field in fields.items() if name in self.names}
        numbers = {name: self._applied(name, y) for name, y in fields.items() if name not in self.names}
        return {**self.operator.apply(own), **numbers}

    def _applied(self, name: str, y: Array) -> Array:
        part = self.companions.get(name)
        return self.at_zero * y if part is None else part.apply({name: y})[name]

    def exp(self, t: ArrayLike) -> WithNumbers:
        return self._mapped(lambda part: part.exp(t), 1.0)

    def phi(self, weights: Mapping[int, float], t: ArrayLike) -> WithNumbers:
        at_zero = sum(a / math.factorial(k) for k, a in weights.items())
        return self._mapped(lambda part: part.phi(weights, t), at_zero)

    def solve(self, a: ArrayLike, b: ArrayLike) -> WithNumbers:
        return self._mapped(lambda part: part.solve(a, b), 1 / a)

    def check(self, shapes: Mapping[str, tuple[int, ...]]) -> None:
        self.operator.check(shapes)

    @property
    def spectrum(self) -> str:
        return self.operator.spectrum

    def _mapped(self, function: Callable[[LinearOperator], LinearOperator], at_zero: ArrayLike) -> WithNumbers:
        companions = {name: function(part) for name, part in self.companions.items()}
        return WithNumbers(function(self.operator), at_zero, self.names, companions)
