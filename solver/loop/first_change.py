"""Whether what a user's own class adds to the fields is of their kind, seen once before the first step."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
from jaxtyping import Array

from solver.diagnostics import mean_square
from solver.equations.base import Equation
from solver.equations.beside import fields_alone
from solver.equations.manifold import distances, on_manifold
from solver.equations.system import PeriodicSystem, compiled
from solver.steppers.state import State

# shares of N, and of what the fields change at their own rate: beyond both it is no round-off
TOLERATED = {"float64": (1e-6, 1e-9), "float32": (1e-3, 1e-5)}


def check_first_change(equation: PeriodicSystem, state: State) -> None:
    """Refuse an own equation or forcing whose N is not what its fields are declared to be.

    The step would drop that part of N (`Stepper.step`), and the run would solve another equation than the one written
    down. Classes of Slabwave itself are tested, and not looked at. One evaluation of N.

    Raises:
        ValueError: names the field and what is wrong with its N.
    """
    if not isinstance(equation, Equation) or not _is_own(equation):
        return
    of_change, of_field = (float(limit) for limit in TOLERATED[equation.grid.precision])
    t = jnp.asarray(state.t, equation.grid.dtype)
    for name, parts in _parts(equation, state.field, t, state.forcing, state.key, state.step).items():
        for what, (share, beside_field) in parts.items():
            if share > of_change and beside_field > of_field:
                raise ValueError(
                    f"{type(equation).__name__}: {float(share):.1e} of what nonlinear() and forcings add to {name} is "
                    f"{what}; coefficients of a field that is declared so are needed, as transform.forward() and "
                    "operators.project_solenoidal() give them"
                )


@compiled
def _parts(equation: Any, fields: Any, t: Array, forcing: Any, key: Any, step: Any) -> Any:
    """Field → what is wrong → that part of its N, over ‖N‖ and over rate · ‖u‖."""
    # a state that is not on it is put back by the first step
    fields = {**fields, **on_manifold(fields_alone(fields), equation.fields, equation.grid)}
    driven = equation.at_step(forcing, key, step)
    change = driven.nonlinear(fields, t)
    kicked = driven.kicked(fields, driven.prepare_kicks(jnp.ones_like(t)))
    change = {name: n + (kicked[name] - fields[name]) for name, n in change.items()}
    rate = equation.rate(fields)
    shares = {}
    for name, parts in distances(fields_alone(change), equation.fields, equation.grid).items():
        grid = equation.grid_of(name)
        parts = {**parts, "of modes that the grid does not keep": _outside(change[name], grid)}
        norm = jnp.sqrt(mean_square(change[name], grid))
        own = rate * jnp.sqrt(mean_square(fields[name], grid))
        beside = norm / jnp.where(own > 0, own, 1)
        shares[name] = {what: (share, share * jnp.where(own > 0, beside, jnp.inf)) for what, share in parts.items()}
    return shares


def _outside(u_hat: Array, grid: Any) -> Array:
    """‖the modes that are not kept, and the padding‖/‖the others‖."""
    square = jnp.sum(jnp.abs(u_hat) ** 2, axis=0)
    kept = jnp.sum(jnp.where(grid.is_kept(), square, 0))
    return jnp.sqrt(jnp.sum(jnp.where(grid.is_kept(), 0, square)) / jnp.where(kept > 0, kept, 1))


def _is_own(equation: Equation) -> bool:
    """Whether the equation or one of its forcings is a class of the user's."""
    classes = [type(equation), *(type(forcing) for forcing in equation.forcings().values())]
    return any(not cls.__module__.startswith("solver.") for cls in classes)
