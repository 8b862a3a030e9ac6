"""Checks that an equation and a stepper can continue from a state; raises an error of one line otherwise."""

from __future__ import annotations

from typing import Any

import jax
from jax.sharding import Mesh

from solver.dynamics.any_equation import AnyEquation
from solver.dynamics.budget import shorn
from solver.dynamics.energy_budget import budget_columns
from solver.steppers.state import State
from solver.steppers.stepper import Stepper, fitting_classes


def check_kinds(equation: Any, stepper: Any, state: Any = None) -> None:
    """Refuse anything but an equation, a stepper and a state, each in its place; computes nothing.

    Raises:
        TypeError: the message names the value given and the value needed.
        ValueError: an equation in double precision, which JAX has been told not to compute in since.
    """
    _check_kind("equation", equation, AnyEquation, "an equation, such as solver.equations.Burgers(grid, 0.1),")
    _check_kind("stepper", stepper, Stepper, "a stepper, such as solver.steppers.IFRK4(),")
    if state is not None:
        _check_kind("state", state, State, "a State, as initial_state makes one,")
    if equation.grid.precision == "float64" and not jax.config.jax_enable_x64:  # type: ignore[attr-defined]
        raise ValueError(
            f"{equation.name} on a grid in float64, and jax_enable_x64 is switched off since the grid was made: "
            'jax.config.update("jax_enable_x64", True) is needed, or a grid in float32'
        )


def check_budget(equation: AnyEquation, state: State) -> None:
    """Refuse a state whose energy budget belongs to another equation; computes nothing.

    Raises:
        ValueError: the message names the entries of both.
    """
    columns = budget_columns(equation)
    keeps_none = not getattr(equation, "energy_budget", True)  # switched off, which any state allows
    if state.budget and not keeps_none and sorted(state.budget) != sorted(columns):
        raise ValueError(
            f"a state with the energy budget {', '.join(state.budget)}, in {equation.name} with "
            f"{', '.join(columns) or 'none'}: initial_state with this equation makes one"
        )


def _check_kind(place: str, given: Any, kind: type, needed: str) -> None:
    if isinstance(given, kind):
        return
    if isinstance(given, str):
        said = repr(given)
    elif isinstance(given, type):
        said = f"the class {given.__name__}, not an instance of it"
    else:
        said = f"of type {type(given).__name__}"
    raise TypeError(f"{place} is {said}: {needed} is needed")


def check_state(equation: AnyEquation, state: State) -> None:
    """Refuse a state of another grid, other fields, other devices or without what drives them; computes nothing.

    Raises:
        ValueError: the message names the state's origin and the one needed.
    """
    box = equation.grid.box
    if state.box is not None and state.box != box:
        raise ValueError(
            f"a state of {state.box}, in {equation.name} of {box}: initial_state with this equation makes one"
        )
    _check_fields(equation, state.field)
    forced, given = sorted(equation.forcings()), sorted(state.forcing or ())
    if forced != given:
        raise ValueError(
            f"a state with forcing of {', '.join(given) or 'nothing'}, in {equation.name} with forcing of "
            f"{', '.join(forced) or 'nothing'}: initial_state with this equation makes one"
        )


def _check_fields(equation: AnyEquation, fields: Any) -> None:
    needed = {name: shape.shape for name, shape in equation.field_shapes().items()}
    given = {name: tuple(value.shape) for name, value in fields.items()}
    outline = lambda shapes: ", ".join(f"{name} {list(shape)}" for name, shape in shapes.items())  # noqa: E731
    mesh = equation.grid.mesh
    split = f"on {dict(mesh.shape)}"
    for value in fields.values():
        if not _lies_on(value, mesh):
            raise ValueError(
                f"a state on {len(value.devices())} devices, in {equation.name} {split}: hand_over moves it, "
                "or initial_state makes one from values at the points"
            )
    if given != needed:
        raise ValueError(
            f"a state with the fields {outline(given)}; {equation.name} {split} needs {outline(needed)}: initial_state "
            "makes them from values at the points"
        )


def _lies_on(value: Any, mesh: Any) -> bool:
    """True if an array lies on a mesh's devices, or may be moved there: one being traced, or not committed."""
    fixed = isinstance(value, jax.Array) and not isinstance(value, jax.core.Tracer) and value.committed
    return not fixed or not isinstance(mesh, Mesh) or value.devices() == set(mesh.devices.flat)


def check_history(equation: AnyEquation, stepper: Stepper, history: Any) -> None:
    """Refuse what another stepper carries from step to step; computes nothing.

    Raises:
        ValueError: the message names the steppers whose history it is.
    """
    form = _form(shorn(history))
    if form == _history_of(stepper, equation):
        return
    owners = sorted(cls.name for cls in fitting_classes(equation) if _history_of(cls(), equation) == form)
    raise ValueError(
        f"a state of stepper {' or '.join(owners) or 'unknown'}, in stepper {stepper.name}, which carries something "
        f"else from step to step: initial_state with {stepper.name} makes one"
    )


def _history_of(stepper: Stepper, equation: AnyEquation) -> Any:
    return _form(jax.eval_shape(lambda fields: stepper.start(equation, fields), equation.field_shapes()))


def _form(history: Any) -> Any:
    leaves, structure = jax.tree.flatten(history)
    return structure, [(tuple(leaf.shape), str(leaf.dtype)) for leaf in leaves]
