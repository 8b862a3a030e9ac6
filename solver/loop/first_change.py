"""Checks, once before the first step, that L and N of a user's own class keep the declared properties of fields."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array

from solver.dynamics.any_equation import AnyEquation
from solver.dynamics.compiled import compiled
from solver.dynamics.equation import Equation
from solver.grid import Modes
from solver.operators import random_key
from solver.spaces.manifold import distances, on_manifold
from solver.steppers.state import State

# shares of N, and of what the fields change at their own rate: beyond both it is no round-off
TOLERATED = {"float64": (1e-6, 1e-9), "float32": (1e-3, 1e-5)}


def check_first_change(equation: AnyEquation, state: State) -> None:
    """Refuse an own equation or forcing whose L or N breaks a declared property of its fields.

    The step would drop that part (`Stepper.step`), and the run would solve another equation than the one written down.
    L is applied to random fields, N to the state's fields and a tenth of random ones, which also excite the planes of
    modes that are their own mirror. Classes of Slabwave itself are tested, and not looked at. One evaluation of each.

    Raises:
        ValueError: names the field and the declared property that its L or N breaks.
    """
    if not isinstance(equation, Equation) or not _is_own(equation):
        return
    for name, share in _of_linear(equation).items():
        if share > TOLERATED[equation.grid.precision][0]:
            raise ValueError(
                f"{type(equation).__name__}: linear() makes {float(share):.1e} of a real {name} not real; symbols with "
                "L(−k) = conj L(k) are needed, as grid.derivative_wavenumbers() gives it"
            )
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


def check_once(equation: AnyEquation, state: State) -> None:
    """`check_first_change` for the first values of each kind of equation; while tracing, nothing.

    `integrate` and `rollout` are called again and again with other parameters, which the kind of equation (its class,
    its grid, everything static) does not contain.
    """
    leaves, kind = jax.tree.flatten(equation)
    if any(isinstance(leaf, jax.core.Tracer) for leaf in [*leaves, *jax.tree.leaves(state)]):
        return
    if kind not in _checked:
        check_first_change(equation, state)
        _checked[kind] = None


_checked: dict[Any, None] = {}  # kinds of equations that were found right


def _random(equation: Any) -> dict[str, Array]:
    """Fields of random modes, each of mean square one for each component and mode, as they are declared to be."""
    fields = {name: space.random(random_key(i)) for i, (name, space) in enumerate(equation.spaces.items())}
    return on_manifold(fields, equation.spaces)


@compiled
def _of_linear(equation: Any) -> dict[str, Array]:
    """Shares of L û that no real field has, by field, of random fields."""
    changed = equation.linear().apply(_random(equation))
    parts = distances(changed, equation.spaces)
    return {name: of_field["not real"] for name, of_field in parts.items()}


@compiled
def _parts(equation: Any, fields: Any, t: Array, forcing: Any, key: Any, step: Any) -> Any:
    """By field and by violated property, the size of the violating part of N over ‖N‖ and over rate · ‖u‖."""
    # a state that is not on it is put back by the first step
    kept = on_manifold(equation.fields_alone(fields), equation.spaces)
    for name, noise in _random(equation).items():
        space = equation.space(name)
        size = jnp.sqrt(space.mean_square(kept[name]) / space.mean_square(noise))
        kept[name] = kept[name] + 0.1 * size * noise
    fields = {**fields, **kept}
    driven = equation.at_step(forcing, key, step)
    change = driven.nonlinear(fields, t)
    kicked = driven.kicked(fields, driven.prepare_kicks(jnp.ones_like(t)), t)
    change = {name: n + (kicked[name] - fields[name]) for name, n in change.items()}
    rate = equation.at_time(t).rate(fields)
    shares = {}
    for name, parts in distances(equation.fields_alone(change), equation.spaces).items():
        space = equation.space(name)
        parts = {**parts, "of modes that the grid does not keep": _outside(change[name], space.modes)}
        norm = jnp.sqrt(space.mean_square(change[name]))
        own = rate * jnp.sqrt(space.mean_square(fields[name]))
        beside = norm / jnp.where(own > 0, own, 1)
        shares[name] = {what: (share, share * jnp.where(own > 0, beside, jnp.inf)) for what, share in parts.items()}
    return shares


def _outside(u_hat: Array, modes: Modes) -> Array:
    """‖the modes that are not kept, and the padding‖/‖the others‖."""
    square = jnp.sum(jnp.abs(u_hat) ** 2, axis=0)
    kept = jnp.sum(jnp.where(modes.is_kept(), square, 0))
    return jnp.sqrt(jnp.sum(jnp.where(modes.is_kept(), 0, square)) / jnp.where(kept > 0, kept, 1))


def _is_own(equation: Equation) -> bool:
    """True if the equation or one of its forcings is a class of the user's."""
    classes = [type(equation), *(type(forcing) for forcing in equation.forcings().values())]
    return any(not cls.__module__.startswith("solver.") for cls in classes)
