"""Sums of many small numbers, each held as two numbers: the second keeps the part that the first rounds off.

Where JAX is limited to 32 bits, a time that grows by 8e-5 stops growing at 1000. On the device such sums are pairs of
numbers, `high` and `low`; on the host, in a `State` and in checkpoints, they are one number in double precision, which
holds the sum of the two exactly. In double precision `low` is zero and nothing is compensated.

Source: Knuth, The Art of Computer Programming, vol. 2 (1997), 4.2.2, theorem B (the error of a sum).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from solver.dynamics.any_equation import AnyEquation
from solver.dynamics.budget import BUDGET, split_budget, with_budget, without_budget
from solver.dynamics.split_equation import SplitEquation
from solver.operators import Fields
from solver.static import no_ambient_mesh
from solver.steppers.state import State
from solver.steppers.stepper import Stepper

Pair: TypeAlias = tuple[Any, Any]  # high, low

GRAIN = 2.0**-22  # of `high`: adding and subtracting it rounds `low` to 2^-45 of `high`, so that 53 bits hold both


def in_double() -> bool:
    """True if sums on the device are in double precision."""
    return jnp.result_type(float) == np.float64


def as_pair(value: Any) -> Pair:
    """A number in double precision, or an array of them, as the device holds it; JAX's own have no second part."""
    if isinstance(value, jax.Array):
        high = value.astype(jnp.result_type(float))
        return high, jnp.zeros_like(high)
    exact = np.asarray(value, np.float64)
    high = exact.astype(jnp.result_type(float))
    return high, (exact - high.astype(np.float64)).astype(high.dtype)


def as_number(pair: Pair) -> Any:
    """Inverse of `as_pair`, on the host."""
    high, low = (np.asarray(part, np.float64) for part in pair)
    return high + low


def plus(pair: Pair, increment: Array) -> Pair:
    """The pair and one more number."""
    high, low = pair
    if high.dtype == np.float64:
        return high + increment, low
    high, lost = _two_sum(high, increment)
    high, low = _two_sum(high, low + lost)
    return _two_sum(high, (low + GRAIN * high) - GRAIN * high)


def apart(pair: Pair, other: Pair) -> Array:
    """pair − other, to the precision of a single number."""
    return (pair[0] - other[0]) + (pair[1] - other[1])


def _two_sum(a: Array, b: Array) -> tuple[Array, Array]:
    """a + b rounded, and the part that was rounded off, exactly."""
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)


# ---- the energy budget ------------------------------------------------------------------------------------------


def with_sums(fields: Fields, budget: Mapping[str, Any]) -> Fields:
    """Fields together with the integrals of a budget, as chunks of steps carry them: `(high, low)` in 32 bits."""
    if in_double() or not budget:
        return with_budget(fields, budget)
    return {**fields, BUDGET: np.stack(as_pair([float(budget[name]) for name in sorted(budget)]))}


def split_sums(fields: Fields, like: Mapping[str, Any]) -> tuple[Fields, dict[str, Any]]:
    """Inverse of `with_sums`, with the names of the budget before."""
    if in_double() or not like:
        return split_budget(fields, like)
    return without_budget(fields), dict(zip(sorted(like), as_number(tuple(np.asarray(fields[BUDGET]))), strict=True))


def shapes_with_sums(fields: Any, budget: Mapping[str, Any]) -> Any:
    """Shapes of the result of `with_sums`; the fields keep their shardings."""
    count = (len(budget),) if in_double() else (2, len(budget))
    return {**fields, BUDGET: jax.ShapeDtypeStruct(count, jnp.result_type(float))} if budget else fields


def begin_step(fields: Fields) -> tuple[Fields, Any]:
    """Fields whose budget holds the change in this step alone, and the budget so far; without pairs nothing changes."""
    if BUDGET not in fields or fields[BUDGET].ndim == 1:
        return fields, None
    return {**fields, BUDGET: jnp.zeros_like(fields[BUDGET][0])}, fields[BUDGET]


def end_step(stepper: Stepper, fields: Fields, history: Any, before: Any) -> tuple[Fields, Any]:
    """Fields and history after a step, with the whole budget again."""
    if before is None:
        return fields, history
    added = fields[BUDGET]
    total = jnp.stack(plus((before[0], before[1]), added))
    return {**fields, BUDGET: total}, stepper.counted_from(history, {BUDGET: added})


# ---- states -----------------------------------------------------------------------------------------------------


def device_state(state: State) -> State:
    """The moving part of a state, as compiled calls take it: sums as pairs, no entries that only pauses set."""
    with no_ambient_mesh():
        return _moving(state, with_sums(state.field, state.budget), as_pair(state.t))


def device_shapes(state: State) -> State:
    """Shapes of the result of `device_state`; the fields keep their shardings."""
    number = jax.ShapeDtypeStruct((), jnp.result_type(float))
    return _moving(state, shapes_with_sums(state.field, state.budget), (number, number))


def _moving(state: State, fields: Any, t: Pair) -> State:
    return state.replace(field=fields, t=t, conserved={}, energies={}, budget={}, statistics={}, storage=None)


def host_state(moved: State, before: State, t: Any) -> State:
    """Inverse of `device_state`, with the entries of the state before that steps do not move, at time t.

    The sizes of steps are taken from the state before.
    """
    with no_ambient_mesh():
        fields, budget = split_sums(moved.field, before.budget)
    return before.replace(
        field=fields, history=moved.history, forcing=moved.forcing, key=moved.key, budget=budget, t=np.float64(t),
        step=np.int64(moved.step), rejected=np.int64(moved.rejected), control=jax.tree.map(on_host, moved.control),
    )  # fmt: skip


def on_host(number: Any) -> Any:
    """A number off the device, in double precision."""
    value = np.asarray(number)
    kinds = {"f": np.float64, "i": np.int64, "u": np.int64}
    return value.astype(kinds.get(value.dtype.kind, value.dtype))[()]


def traced(tree: Any) -> bool:
    """True if any leaf is being traced."""
    return any(isinstance(leaf, jax.core.Tracer) for leaf in jax.tree.leaves(tree))


def energy_of_all(equation: AnyEquation, fields: Fields) -> Array:
    """Half the mean square of all fields together, Σ ½⟨|f|²⟩; whatever the equation means by energy. All-reduces."""
    if isinstance(equation, SplitEquation):  # which keeps values at the points
        points = math.prod(equation.grid.physical_shape)
        return sum((0.5 * jnp.sum(jnp.abs(f) ** 2) / points for f in fields.values()), jnp.zeros(()))
    counted = {name: equation.space(name).counted(f, 0.5) for name, f in equation.fields_alone(fields).items()}
    squares = (0.5 * equation.space(name).whole_square(f) for name, f in counted.items())
    return sum(squares, jnp.zeros(()))
