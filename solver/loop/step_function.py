"""`step_function`: some steps as a function, of states or of values at the points."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, SupportsIndex, TypeVar, overload

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.typing import ArrayLike
from jaxtyping import Array

from solver.dynamics.any_equation import AnyEquation
from solver.dynamics.budget import shorn, split_budget, with_budget
from solver.dynamics.checks import nothing_unless
from solver.dynamics.compiled import compiled
from solver.loop.checkpointing import repeat
from solver.loop.controls import need_positive
from solver.loop.first_change import check_once
from solver.loop.pure_steps import one_step, whole, with_rates
from solver.particles.particles import particles_of
from solver.steppers.checks import check_kinds, check_state
from solver.steppers.start import initial_state
from solver.steppers.state import State
from solver.steppers.stepper import Stepper

Values = TypeVar("Values", Array, Mapping[str, Array])


class StepFunction(eqx.Module):
    """Some steps of one size, as a function: of a state, or of values at the points. `step_function` makes it.

    A pure function and a pytree, whose numbers (of the equation, of the stepper, the size of a step) are leaves: `jit`,
    `grad`, `jvp` and `vmap` pass through it, and `jax.lax.scan` takes it as it takes any step. It is compiled once for
    equal shapes, also outside of `jit`.

    Args:
        equation, stepper: as in `evolve`.
        step: size of each step [time].
        steps: number of steps in a call.
    """

    equation: AnyEquation
    stepper: Stepper
    step: ArrayLike
    steps: int = eqx.field(default=1, static=True)

    def start(self, u: Any, *, t: ArrayLike = 0.0, seed: int | None = None) -> State:
        """State at the start from values at the points: `initial_state`, without the integrals of an energy budget.

        Args:
            u, t, seed: as in `initial_state`.
        """
        state = initial_state(self.equation, self.stepper, u, t=t, seed=seed)
        return state.replace(history=shorn(state.history), budget={}, energies={})

    @overload
    def __call__(self, u: State) -> State: ...
    @overload
    def __call__(self, u: Values, *, t: ArrayLike = ...) -> Values: ...
    def __call__(self, u: Any, *, t: ArrayLike | None = None) -> Any:
        """The state, or the values at the points, after the steps.

        Args:
            u: a state, from `start`, `initial_state` or a checkpoint: its history and forcing are carried on, and its
                energy budget, if it has one, is integrated as in `evolve`. Or values `(component, x, y, z)` by field
                name, or the bare array where the equation has one field: then the stepper's history and the forcings
                start in each call as `initial_state` starts them, so that the first steps of a multistep method are
                of its starting method. One component may come without its axis.
            t: time of the values, 0 by default; a state has its own.

        Returns:
            The same kind as `u`, with the same names, shapes and dtypes. Values are of the equation's fields, so what
            the equation cannot have (modes beyond k_max, divergence, other values at walls than are given) is dropped,
            without a warning.

        Raises:
            ValueError: a state or values of another grid or equation; with values, a random forcing, which needs a
                seed, or companions other than particles, such as free bodies, which need a state.
        """
        if isinstance(u, State):
            if t is not None:
                raise ValueError(f"t={t} with a state: the state has its own time")
            check_kinds(self.equation, self.stepper, u)
            check_state(self.equation, u)
            check_once(self.equation, u)
            return _after(self, u)
        _refuse_lost_companions(self.equation)
        return _values_after(self, u, 0.0 if t is None else t)


def step_function(
    equation: AnyEquation, stepper: Stepper, step: ArrayLike, *, steps: SupportsIndex = 1
) -> StepFunction:
    """A function that takes states, or values at the points, one step further; see `StepFunction` for how to call it.

    `advance = step_function(flow, stepper, 0.01)` is `advance(u)` for an array or a dict of arrays at the points, and
    `advance(state)` for a state, with which a multistep method keeps its order:
    `jax.lax.scan(lambda state, _: (advance(state), None), advance.start(u), length=100)`.

    Args:
        equation, stepper: as in `evolve`.
        step: size of each step [time]; may be traced: then fields are not a number where it is not positive.
        steps: number of steps in a call, one or more.

    Returns:
        A `StepFunction`, a pytree.

    Raises:
        TypeError: an equation that the stepper cannot step.
        ValueError: a step that is not positive or too long for the stepper, or a number of steps that is not a whole
            number, one or more.
    """
    check_kinds(equation, stepper)
    count = whole(steps)
    if not count:
        raise ValueError(f"steps={steps} in each call: one or more are needed, a whole number")
    need_positive("step", step)
    stepper.check(equation)
    stepper.check_step(equation, step)
    return StepFunction(equation, stepper, nothing_unless(step, above=0), count)


def _refuse_lost_companions(equation: AnyEquation) -> None:
    """Refuse values where a companion may act on the fields: it would begin anew in each call."""
    lost = equation.companions_by_name().keys() - particles_of(equation).keys()
    if lost:
        raise ValueError(
            f"values at the points without {', '.join(sorted(lost))} of {equation.name}, which would begin anew in "
            "each call: a state is needed, as start(u) or initial_state gives it"
        )


def _state_after(call: StepFunction, state: State) -> State:
    """A state after the steps; every entry keeps its dtype, so that `jax.lax.scan` can carry it."""
    equation, stepper, step = call.equation.prepared(), call.stepper, jnp.asarray(call.step)
    fields = with_budget(state.field, state.budget) if state.budget else with_rates(state)
    advance = one_step(equation, stepper, state, step)
    fields, history, forcing = repeat(advance, (fields, state.history, state.forcing), 0, call.steps, "none")
    fields, budget = split_budget(fields, state.budget)
    # times are counted and not added up, from the first step of this size on
    is_first = jnp.asarray(state.dt) != step
    t_reference = jnp.where(is_first, state.t, state.t_reference)
    step_reference = jnp.where(is_first, state.step, state.step_reference)
    number = state.step + call.steps
    moved = state.replace(
        field=fields, history=history, forcing=forcing, budget=budget, t=t_reference + (number - step_reference) * step,
        dt=step, taken=step, step=number, t_reference=t_reference, step_reference=step_reference,
    )  # fmt: skip
    as_before = lambda new, old: new if new is old else jnp.asarray(new, jnp.result_type(old))  # noqa: E731
    return jax.tree.map(as_before, moved, state)


def _values_of_state_after(call: StepFunction, u: Any, t: Any) -> Any:
    after = _state_after(call, call.start(u, t=t))
    values = call.equation.at_time(after.t).to_physical(after.field)
    if isinstance(u, Mapping):
        return {name: values[name].reshape(u[name].shape) for name in u}
    [only] = values.values()
    return only.reshape(u.shape)


_after = compiled(_state_after)
_values_after = compiled(_values_of_state_after)
