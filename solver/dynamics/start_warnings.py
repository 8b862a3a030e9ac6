"""Warnings at a start: forcings that have nothing to multiply, and modes for which no equation gives an unknown."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array

from solver.dynamics.equation import has_text
from solver.operators import Fields

ROUNDING = 100.0  # machine epsilons of the field: rounding errors are smaller


class IdleForcing(UserWarning):
    """A forcing that multiplies modes of its field starts from a field without energy in them, and puts in nothing.

    `warnings.simplefilter("ignore", sw.IdleForcing)` turns it off.
    """


def idle_forcings(equation: Any, fields: Fields) -> dict[str, Array]:
    """By forced field, True if the modes that its forcing multiplies hold no energy beyond rounding errors.

    Args:
        equation: equation with its forcings.
        fields: coefficients of the fields, by name.

    Returns:
        Entries of the forcings that multiply their field alone. One all-reduce for each.
    """
    found = {}
    for name, forcing in equation.forcings().items():
        space = equation.space(name)
        modes = forcing.multiplied_modes(space)
        if modes is not None:
            least = (ROUNDING * jnp.finfo(space.grid.dtype).eps) ** 2 * space.mean_square(fields[name])
            found[name] = space.mean_square(fields[name] * modes) <= least
    return found


def warn_of_idle_forcings(equation: Any, idle: Mapping[str, Array]) -> None:
    """Warn, in the class `IdleForcing`, of each forcing that has nothing to multiply; nothing while tracing."""
    for name, is_idle in idle.items():
        if not isinstance(is_idle, jax.core.Tracer) and bool(is_idle):
            line = (
                f"forcing.{name}: {equation.forcings()[name].name} multiplies modes of {name} that hold no energy at "
                "the start, so that it puts in nothing, or drives rounding errors alone; start from a field that has "
                "some there"
            )
            warnings.warn(line, IdleForcing, stacklevel=3)


class UnsolvedModes(UserWarning):
    """An unknown's equation, solved mode by mode, divides by zero for modes of this grid: they are left out.

    They are resonances, such as |k| = 1 of `lap(w) + w = q`.

    `warnings.simplefilter("ignore", sw.UnsolvedModes)` turns it off.
    """


def unsolved_modes(equation: Any) -> dict[str, Array]:
    """By unknown, the number of stored modes other than the mean that its equation does not give."""
    return equation.dynamics.unsolved_modes() if has_text(equation) else {}


def warn_of_unsolved_modes(equation: Any, counted: Mapping[str, Array]) -> None:
    """Warn, in the class `UnsolvedModes`, of each unknown that has some; nothing while tracing."""
    for name, count in counted.items():
        if not isinstance(count, jax.core.Tracer) and int(count):
            line = (
                f"unknown {name} of {equation.name}: what its equation divides by vanishes for {int(count)} of the "
                "modes that this grid stores; they are left out of it"
            )
            warnings.warn(line, UnsolvedModes, stacklevel=3)
