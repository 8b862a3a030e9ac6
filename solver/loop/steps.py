"""Steps as one compiled call, `advance`, for every equation, stepper and control.

Coefficients that a stepper computes from the size of a step are stored while that size stays.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array

from solver.diagnostics.mode_sums import summed
from solver.dynamics.any_equation import AnyEquation
from solver.dynamics.compiled import compiled
from solver.dynamics.driven import Driven
from solver.dynamics.forcings import advance_forcings, longest_step
from solver.loop.controls import Attempt, StepControl
from solver.loop.schedule import TOLERANCE
from solver.loop.sums import Pair, apart, begin_step, device_shapes, end_step, plus
from solver.operators import Fields, Matrix
from solver.spaces.space import ZERO_MEAN
from solver.steppers.state import State
from solver.steppers.stepper import Stepper

MOST_REFUSALS = 100  # of one step, before the solution counts as blown up
FLOOR = 1e-6  # of the largest field, in numbers: a field counts as at least as large


class StepLimits(eqx.Module):
    """Limits of one call of `advance`.

    Args:
        steps: the most steps that count.
        target: time that is not crossed; a pair (`loop.sums`). Not looked at where all steps are equal.
    """

    steps: Any
    target: Pair


def advance_state(equation: Any, stepper: Any, control: Any, state: State, limits: StepLimits) -> tuple[State, Array]:
    """A state on the device (`loop.sums.device_state`) some steps later, and True if it is finite.

    The number of steps is an argument of the compiled program, so where a call ends changes neither the program nor the
    bits of the result.
    """
    equation = equation.prepared()
    if control.size is not None:
        state = _equal_steps(equation, stepper, control.size, state, limits.steps)
        return state, all_finite(state.field)
    state, is_finite = _chosen_steps(equation, stepper, control, state, limits)
    return state, is_finite & all_finite(state.field)


advance = compiled(advance_state)
advance_donating = compiled(advance_state, donate_argnums=3)


def begin_control(equation: AnyEquation, control: StepControl, state: State) -> State:
    """A state with the memory of this control: from its start, if another control moved the state before.

    Raises:
        TypeError: a control of your own whose memory is not numbers by name.
    """
    name = type(control).__name__
    memory = state.control.get(name)
    if memory is None:
        memory = control.start(equation, state)
        _check_memory(name, memory)
    return state.replace(control={name: memory} if memory else {})


def _check_memory(name: str, memory: Any) -> None:
    for key, value in memory.items() if isinstance(memory, dict) else [("start()", memory)]:
        if isinstance(memory, dict) and isinstance(value, dict):
            _check_memory(name, value)
        elif not isinstance(memory, dict) or not isinstance(key, str) or "/" in key or jnp.shape(value) != ():
            raise TypeError(f"step control {name} remembers {key} = {value!r}: a dict of numbers by name is needed")


def trace_advance(equation: AnyEquation, stepper: Stepper, state: State, control: StepControl) -> Any:
    """Trace the program that `evolve` will run, for `.lower().compile()`. The state may hold shapes alone."""
    memory = jax.eval_shape(lambda state: begin_control(equation, control, state).control, state)
    on_device = device_shapes(state).replace(control=memory)
    return advance_donating.trace(equation, stepper, control, on_device, StepLimits(state.step, on_device.t))


def _equal_steps(equation: Any, stepper: Any, size: Any, state: State, steps: Any) -> State:
    """Steps of one size; times are counted from `t_reference` in units of it."""
    dt = jnp.asarray(size, equation.grid.dtype)
    at_step = lambda forcing, i: equation.at_step(forcing, state.key, state.step + i)  # noqa: E731
    coefficients = stepper.coefficients(at_step(state.forcing, 0), dt)
    counted = state.step - state.step_reference

    def body(i: Array, carry: tuple[Fields, Any, Any]) -> Any:
        fields, history, forcing = carry
        t = state.t_reference + (counted + i) * dt
        forcing = advance_forcings(equation, forcing, state.key, state.step + i, dt)
        fields, sums = begin_step(fields)
        fields, history = stepper.step(at_step(forcing, i), fields, history, t.astype(dt.dtype), dt, coefficients)
        return *end_step(stepper, fields, history, sums), forcing

    carry = (state.field, state.history, state.forcing)
    fields, history, forcing = jax.lax.fori_loop(0, steps, body, carry)
    return state.replace(field=fields, history=history, forcing=forcing, step=state.step + steps)


class _Carry(eqx.Module):
    """Values that change from one attempt at a step to the next.

    Args:
        state: state at the start of the step.
        refused: number of times in a row that this step was refused.
        is_step: True if the last attempt was a valid step.
        stored: the stepper's coefficients of the last size (`step_coefficients`).
    """

    state: State
    refused: Array
    is_step: Array
    stored: Any


def _chosen_steps(equation: Any, stepper: Any, control: Any, state: State, limits: StepLimits) -> tuple[State, Array]:
    first, target = state.step, jax.tree.map(jnp.asarray, limits.target)

    def continues(carry: _Carry) -> Array:
        left = (carry.state.step - first < limits.steps) & (apart(target, carry.state.t) > 0)
        return left & carry.is_step & (carry.refused < MOST_REFUSALS)

    def body(carry: _Carry) -> _Carry:
        after, accepted, is_step, stored = controlled_step(
            equation, stepper, control, carry.state, target, carry.stored
        )
        refused = carry.refused if accepted is True else jnp.where(accepted, 0, carry.refused + 1)
        return _Carry(after, refused, is_step, stored)

    driven = equation.at_step(state.forcing, state.key, state.step)
    stored = unset_coefficients(stepper, driven, jnp.asarray(0, equation.grid.dtype))
    state = jax.tree.map(jnp.asarray, state)
    carry = jax.lax.while_loop(continues, body, _Carry(state, jnp.asarray(0), jnp.asarray(True), stored))
    return carry.state, carry.is_step & (carry.refused < MOST_REFUSALS)


def controlled_step(
    equation: Any, stepper: Any, control: Any, state: State, target: Pair, stored: Any
) -> tuple[State, Any, Array, Any]:
    """Attempt a step whose size the control chooses.

    Args:
        state: state on the device.
        target: time that is not crossed.
        stored: coefficients from the attempt before, or from `unset_coefficients`.

    Returns:
        The state after the step, or as it was if the step was refused; True if the step was accepted (also where it
        cannot be refused); True if it was a valid step, finite and long enough to change t; and `stored` for the next.
    """
    fields, t, name = state.field, state.t[0].astype(equation.grid.dtype), type(control).__name__
    memory = state.control.get(name, {})
    begun, sums = begin_step(fields)
    known, rate = (), None
    if control.needs_rate:
        known, rate = equation.at_step(state.forcing, state.key, state.step).first_and_rate(begun, t)
    proposed = control.propose(memory, rate).astype(state.dt.dtype)
    if control.size is None and (longest := longest_step(equation)) is not math.inf:
        proposed = jnp.minimum(proposed, longest).astype(state.dt.dtype)
    dt, later, shortened, is_step = towards(target, state.t, proposed)
    short = dt.astype(equation.grid.dtype)
    forcing = advance_forcings(equation, state.forcing, state.key, state.step, short)
    driven = equation.at_step(forcing, state.key, state.step).with_first_evaluation(known)
    coefficients, stored = coefficients_for(stepper, driven, short, stored)
    given = (driven, begun, state.history, t, short, coefficients)
    error = None
    if control.needs_error:
        after, history, difference = stepper.step_with_error(*given)
        moments = equation.at_time(t), equation.at_time(t + short)
        error = relative_error(difference, fields, after, moments, of_fluctuations=control.leaves_out_means)
    else:
        after, history = stepper.step(*given)
    after, history = end_step(stepper, after, history, sums)
    attempt = Attempt(proposed, dt, shortened, error, stepper.error_order)
    accepted, remembered = control.judge(memory, attempt)
    moved = state.replace(
        field=after, history=history, forcing=forcing, t=later, dt=attempt.full, taken=dt, step=state.step + 1
    )  # fmt: skip
    if accepted is not True:
        moved = jax.tree.map(lambda new, old: _select(accepted, new, old), moved, state)
        moved = moved.replace(rejected=state.rejected + ~accepted)
    like = lambda new, old: jnp.asarray(new).astype(jnp.asarray(old).dtype)  # noqa: E731
    remembered = {name: jax.tree.map(like, remembered, memory)} if memory else {}
    return moved.replace(control=remembered), accepted, is_step, stored


def _select(accepted: Array, new: Any, old: Any) -> Any:
    return new if new is old else jnp.where(accepted, new, old)


def towards(target: Pair, t: Pair, proposed: Any) -> tuple[Any, Pair, Any, Any]:
    """A step of the proposed size, or the one that meets the target.

    Returns:
        Its size; the time after it; True if that time is the target; True if the step is valid: finite, and long
        enough to change t.
    """
    left = apart(target, t)
    last = proposed * (1 + max(TOLERANCE, 4 * float(jnp.finfo(proposed.dtype).eps))) >= left
    dt = jnp.where(last, left, proposed)
    later = jax.tree.map(lambda end, after: jnp.where(last, end, after), target, plus(t, dt))
    return dt, later, last, jnp.isfinite(dt) & (apart(later, t) > 0)


def relative_error(
    error: Fields, before: Fields, after: Fields, equations: tuple[Any, Any], *, of_fluctuations: bool = False
) -> Array:
    """Largest over the fields of ‖e‖/S. One all-reduce, or two where real and complex fields are mixed.

    ‖·‖ is the root mean square over the box, of the fields with what conditions at walls add. S is ‖u‖ before or after
    the step, whichever is larger, or its value from the equation's `error_scales`, and at least a millionth of the
    largest S: without such a floor a field that starts at zero and grows as t² has an error as large as itself after
    any step, however short. Passive scalars, which may be large numbers, count in their own floor alone.

    Args:
        error: e, the difference to an embedded method, by field.
        before, after: the fields before and after the step.
        equations: the equation at the times of `before` and `after`.
        of_fluctuations: True if S is the size of a field without its mean, at least a millionth of its size with it.

    Source: Hairer, Nørsett & Wanner, Solving Ordinary Differential Equations I (1993), II.4; the floor is the Atol of
    their equation 4.10, sc = Atol + max(|y₀|, |y₁|) Rtol.
    """
    equation, _ = equations
    names = list(equation.fields_alone(error))
    squares_of_error = [equation.space(name).product(error[name], error[name]) for name in names]
    moments = list(zip(equations, (before, after), strict=True))
    whole = [own.space(name).whole_product(u[name]) for own, u in moments for name in names]
    varying = _without_means(equation, (before, after), names) if of_fluctuations else []
    squares = summed([*squares_of_error, *whole, *varying], equation.grid.dtype)
    # the derivative of a root at 0 is none
    norms = iter([jnp.where(square == 0, 0, jnp.sqrt(jnp.where(square == 0, 1, square))) for square in squares])
    of_error, of_before, of_after = ({name: next(norms) for name in names} for _ in range(3))
    largest = {name: jnp.maximum(of_before[name], of_after[name]) for name in names}
    if of_fluctuations:
        of_before, of_after = ({name: next(norms) for name in names} for _ in range(2))
        varies = {name: jnp.maximum(of_before[name], of_after[name]) for name in names}
        largest = {name: jnp.maximum(varies[name], FLOOR * largest[name]) for name in names}
    scales = equation.error_scales(largest)
    carried = {scalar.name for scalar in getattr(equation, "scalars", ())}
    least = FLOOR * jnp.max(jnp.stack([scales[name] for name in names if name not in carried]))
    of_carried = FLOOR * jnp.max(jnp.stack([scales[name] for name in names])) if carried else least
    sizes = {name: jnp.maximum(scales[name], of_carried if name in carried else least) for name in names}
    return jnp.max(jnp.stack([of_error[name] / jnp.where(sizes[name] > 0, sizes[name], 1) for name in names]))


def _without_means(equation: Any, moments: Sequence[Fields], names: Sequence[str]) -> list[Any]:
    """Mean squares of fields without their means, as `relative_error` has them of whole fields."""
    spaces = equation.spaces
    varying = [(spaces[name], spaces[name].as_declared(u[name], ZERO_MEAN)) for u in moments for name in names]
    return [space.product(u_hat, u_hat) for space, u_hat in varying]


def all_finite(fields: Fields) -> Array:
    """True if every number of every field is finite."""
    return jnp.all(jnp.stack([jnp.all(jnp.isfinite(field)) for field in fields.values()]))


def unset_coefficients(stepper: Any, driven: Any, dt: Array) -> Any:
    """At the start of a chunk: arrays that belong to no size; `()` where storing them is not worth it.

    They are filled in the chunk, by the same code as all others, so that where a chunk ends changes no bit.
    """
    linear = driven.linear() if isinstance(driven, Driven) else None
    operator = getattr(linear, "operator", None)
    if not isinstance(operator, Matrix):
        return ()
    shapes = jax.eval_shape(lambda dt: stepper.coefficients(driven, dt), dt)  # numbers that are 0 stay 0
    if not jax.tree.leaves(shapes):
        return ()
    modes = jnp.real(operator.entries[0, 0])  # split over the devices as the coefficients will be
    empty = lambda leaf: _like(leaf, modes)  # noqa: E731
    return jnp.full_like(dt, jnp.nan), jax.tree.map(empty, shapes)


def coefficients_for(stepper: Any, driven: Any, dt: Array, stored: Any) -> tuple[Any, Any]:
    """The stepper's coefficients for this size, and the arrays to store.

    Storing them is worth the memory where the linear part couples fields: φ-functions of one small matrix per mode cost
    several times as much as the rest of a step. A number per mode is computed again at each step: that costs less than
    to read it.
    """
    if not stored:
        return stepper.coefficients(driven, dt), stored
    size, known = stored
    coefficients = jax.lax.cond(dt == size, lambda: known, lambda: stepper.coefficients(driven, dt))
    return coefficients, (dt, coefficients)


def _like(leaf: Any, modes: Array) -> Array:
    """Zeros of a shape, made of an array of modes where the shape is one of them."""
    if leaf.shape[leaf.ndim - modes.ndim :] != modes.shape:
        return jnp.zeros(leaf.shape, leaf.dtype)
    return jnp.broadcast_to(0 * modes, leaf.shape).astype(leaf.dtype)
