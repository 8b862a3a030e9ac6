"""The first state of a run, from values at the points."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike
from jaxtyping import Array

from solver.dynamics.any_equation import AnyEquation
from solver.dynamics.budget import BUDGET, with_budget
from solver.dynamics.companion import companions_at_start, warn_of_companions
from solver.dynamics.compiled import compiled
from solver.dynamics.energy_budget import budget_columns, kept_energies
from solver.dynamics.faults import faults, refuse_faults
from solver.dynamics.forcings import start_forcings
from solver.dynamics.start_changes import Shares, warn_of_changes
from solver.dynamics.start_warnings import idle_forcings, unsolved_modes, warn_of_idle_forcings, warn_of_unsolved_modes
from solver.grid import Storage
from solver.operators import Fields, random_key
from solver.steppers.checks import check_kinds
from solver.steppers.state import HOST, State, declare, place_as_declared, split_arrays
from solver.steppers.stepper import Stepper


def initial_state(
    equation: AnyEquation,
    stepper: Stepper,
    u: Array | Mapping[str, Array],
    *,
    t: ArrayLike = 0.0,
    seed: int | None = None,
) -> State:
    """State at the start of a run, from values at the points.

    Args:
        equation, stepper: evolve the state.
        u: values `(component, x, y, z)` by field name; the bare array where the equation has one field. One component
            may come without its axis.
        t: time of the fields; may be traced.
        seed: seed of the run's random key; None for a run without a key.

    Returns:
        Fields, history and states of forcings as coefficients or as values at the points, split over the devices as
        their `Storage` says; every other array whole on each device. Communication: the forward transform, and what
        the equation's sums need.

    Warns:
        ChangedStart: part of a field is dropped, since it lies beyond k_max, is a mean or a divergent part that the
            equation's field cannot have; its share of the mean square is named. Not while tracing.

        IdleForcing: a forcing that multiplies modes of its field finds no energy in them. Not while tracing.

        UnsolvedModes: the divisor in the equation of an unknown vanishes for some modes. Not while tracing.

        CompanionWarning: a companion is less exact than it seems, such as particles among waves that splines miss.

    Raises:
        TypeError: an equation that the stepper cannot step.
        ValueError: fields of other names or shapes, or complex ones where the equation is real; a linear part or a
            right-hand side that does not fit the fields; points that move at random, without a seed.
    """
    check_kinds(equation, stepper)
    if equation.grid.dealias == "phase-shift-random" and seed is None:
        raise ValueError("dealias 'phase-shift-random' moves the points at random: initial_state needs a seed")
    values = _by_name(u, equation)
    key = () if seed is None else random_key(seed)
    made, removed = _start(equation.at_time(t), stepper, values)
    warn_of_changes(removed, equation.spaces)
    forced, idle, unsolved, found = _start_forcing(equation, key, made["field"])
    refuse_faults(equation, found)
    warn_of_idle_forcings(equation, idle)
    warn_of_unsolved_modes(equation, unsolved)
    warn_of_companions(equation)
    storage = split_arrays(
        _field_storage(equation),
        _history_storage(equation, stepper, made["history"]),
        _forcing_storage(equation, forced["forcing"]),
    )
    time = t if isinstance(t, jax.core.Tracer) else np.float64(t)
    begin = {"t": time, "t_reference": time, **_counters()}
    return State(**made, **forced, box=equation.grid.box, storage=storage, **begin)


def _make_start(equation: Any, stepper: Any, values: Fields) -> tuple[dict[str, Any], Shares]:
    """The entries of a state that depend on its fields, and the shares of the given values that it does not keep.

    Equation and stepper are checked while this is traced: once.
    """
    stepper.check(equation)
    equation.check()
    columns, shapes = budget_columns(equation), equation.physical_shapes()
    fields, removed = equation.start_from({name: v.reshape(shapes[name]) for name, v in values.items()})
    fields |= companions_at_start(equation, fields)
    budget = {name: jnp.asarray(np.float64(0)) for name in columns}
    history = stepper.start(equation, with_budget(fields, budget))
    made = {
        "field": fields,
        "history": history,
        "conserved": equation.conserved(fields),
        "energies": kept_energies(equation, fields),
        "budget": budget,
    }
    declared = {**_field_storage(equation), **_history_storage(equation, stepper, history)}
    return place_as_declared(made, declared, equation.grid), removed


def _make_forcing(equation: Any, key: Any, fields: Fields) -> tuple[Any, ...]:
    """The states of the forcings at the start, and the key of the run; which forcings have nothing to multiply, how
    many modes of unknowns no equation gives, and faults of the text."""
    forcing = start_forcings(equation, key, fields)
    made = place_as_declared({"forcing": forcing, "key": key}, _forcing_storage(equation, forcing), equation.grid)
    return made, idle_forcings(equation, fields), unsolved_modes(equation), faults(equation)


_start = compiled(_make_start)
# the fields say on which devices a program with Explicit axes runs, even if no forcing reads them
_start_forcing = compiled(_make_forcing, keep_unused=True)


def _field_storage(equation: AnyEquation) -> dict[str, Storage]:
    """Storage of the fields and companions of a state, by path in the state."""
    named = {**equation.field_storage(), **equation.companion_storage()}
    return {f"field/{name}": storage for name, storage in named.items()}


def _history_storage(equation: AnyEquation, stepper: Stepper, history: Any) -> dict[str, Storage]:
    """Storage of each array of the stepper's history, as the stepper declares it, by path in the state."""
    fields = equation.field_storage()
    budget = {BUDGET: HOST} if budget_columns(equation) else {}
    entries = {**fields, **equation.companion_storage(), **budget}
    declared = stepper.history_storage(entries)
    return declare(f"stepper {stepper.name}", "history_storage", "history", history, declared, equation.grid)


def _forcing_storage(equation: AnyEquation, states: Mapping[str, Any]) -> dict[str, Storage]:
    """Storage of the states of the forcings, as each forcing declares it, by path in the state."""
    fields = equation.field_storage()
    declared: dict[str, Storage] = {}
    for name, forcing in equation.forcings().items():
        storage = forcing.state_storage(fields[name])
        owner, place = f"forcing {forcing.name}", f"forcing/{name}"
        declared |= declare(owner, "state_storage", place, states[name], storage, equation.grid)
    return declared


def state_shapes(equation: AnyEquation, stepper: Stepper, *, with_key: bool) -> State:
    """Shapes and dtypes of a state of this equation and stepper; computes nothing and touches no device."""
    seed = 0 if with_key else None
    return jax.eval_shape(lambda u: initial_state(equation, stepper, u, seed=seed), equation.values_at_points())


def _counters() -> dict[str, Any]:
    counts = {name: np.int64(0) for name in ("step", "step_reference", "rejected")}
    return {**{name: np.float64(0) for name in ("dt", "taken")}, **counts}


def _by_name(u: Any, equation: AnyEquation) -> Fields:
    """Values by field name, in the equation's order, each checked."""
    names = list(equation.fields)
    if not isinstance(u, Mapping):
        if len(names) > 1:
            raise ValueError(f"one array for the fields of {equation.name}: a dict of {', '.join(names)} is needed")
        u = {names[0]: u}
    for name in u:
        if name not in names:
            close = difflib.get_close_matches(str(name), names, n=1)
            raise ValueError(f"initial field {name!r}: {equation.name} has {', '.join(close or names)}")
    missing = [name for name in names if name not in u]
    if missing:
        raise ValueError(f"initial fields of {equation.name}: {', '.join(missing)} missing")
    for name, needed in equation.physical_shapes().items():
        _check_field(name, u[name], needed, equation)
    return {name: u[name] for name in names}


def _check_field(name: str, u: Any, needed: tuple[int, ...], equation: AnyEquation) -> None:
    if not hasattr(u, "shape"):
        raise ValueError(f"initial field {name} is of type {type(u).__name__}; an array {list(needed)} is needed")
    shape = tuple(u.shape)
    if shape != needed and (1, *shape) != needed:
        raise ValueError(
            f"initial field {name} of shape {list(shape)}; {equation.name} on this grid needs {list(needed)}"
        )
    if equation.fields[name].real and jnp.iscomplexobj(u):
        raise ValueError(f"initial field {name} of dtype {u.dtype}; {equation.name} needs a real one")
