"""Modes for which no equation gives an unknown of a text: resonances, such as |k| = 1 of `lap(w) + w = q`."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import jax
from jaxtyping import Array

from solver.dynamics.any_equation import AnyEquation
from solver.dynamics.equation import has_text
from solver.dynamics.text_dynamics import TextDynamics


class UnsolvedModes(UserWarning):
    """An unknown's equation, solved mode by mode, divides by zero for modes of this grid: they are left out.

    `warnings.simplefilter("ignore", sw.UnsolvedModes)` turns it off.
    """


def unsolved_modes(equation: AnyEquation) -> dict[str, Array]:
    """By unknown, the number of stored modes other than the mean that its equation does not give."""
    return TextDynamics(equation).unsolved_modes() if has_text(equation) else {}


def warn_of_unsolved_modes(equation: Any, counted: Mapping[str, Array]) -> None:
    """Warn, in the class `UnsolvedModes`, of each unknown that has some; nothing while tracing."""
    for name, count in counted.items():
        if not isinstance(count, jax.core.Tracer) and int(count):
            line = (
                f"unknown {name} of {equation.name}: what its equation divides by vanishes for {int(count)} of the "
                "modes that this grid stores; they are left out of it"
            )
            warnings.warn(line, UnsolvedModes, stacklevel=3)
