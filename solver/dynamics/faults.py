"""Faults of a text that show at the modes of a grid, before the first step: symbols of the user's, and rates of change
that cannot be solved for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, TypeAlias

import jax

from solver.dynamics.compiled import compiled
from solver.dynamics.equation import has_text
from solver.dynamics.own_symbol import own_symbols
from solver.dynamics.text_dynamics import TextDynamics
from solver.mesh import device_mesh

SAME = {"float64": 1e-9, "float32": 1e-4}  # of the largest value
FEW = 32  # points along each side, with which `refuse_faults_of_few_modes` asks
Faults: TypeAlias = Mapping[str, Mapping[str, Any]]


def faults(equation: Any) -> Faults:
    """Faults of each symbol of the user's (`OwnSymbol.faults`), by name, and by field the number of modes whose rate of
    change no equation gives. An all-reduce each; nothing for an equation without a text."""
    if not has_text(equation) or equation.grid.walls:
        return {"symbols": {}, "rates": {}}
    symbols = {name: symbol.faults(equation.grid) for name, symbol in own_symbols(equation).items()}
    return {"symbols": symbols, "rates": TextDynamics(equation).unsolved_rates()}


def refuse_faults(equation: Any, found: Faults) -> None:
    """Refuse an equation with faults. Not while tracing.

    Raises:
        ValueError: it has one. The message names the symbol or the field.
    """
    if any(isinstance(leaf, jax.core.Tracer) for leaf in jax.tree.leaves(found)):
        return
    for name, (wrong, of_mean, distance) in found["symbols"].items():
        if int(wrong):
            where = "k = 0" if bool(of_mean) else f"{int(wrong)} of the modes"
            raise ValueError(f"symbol({name}, …) is not finite at {where}: a number for each mode is needed")
        if equation.is_real() and float(distance) > SAME[equation.grid.precision]:
            raise ValueError(
                f"symbol({name}, …) has values at −k that are not the conjugates of those at k: it makes "
                f"{float(distance):.1e} of a real field complex"
            )
    for name, count in found["rates"].items():
        if int(count):
            raise ValueError(
                f"dt(…) of {name}: the operator inside it vanishes for {int(count)} of the modes that this grid stores,"
                " whose rates of change no equation gives"
            )


_faults = compiled(faults)


def refuse_faults_of_few_modes(equation: Any) -> None:
    """The same on one device of this process and on at most 32 points along each side, for `slabwave check`."""
    if not has_text(equation) or equation.grid.walls:
        return
    if own_symbols(equation) or TextDynamics(equation).divisors_of_rates():
        shape = tuple(min(n, FEW) for n in equation.grid.shape)
        few_modes = equation.on_grid(replace(equation.grid, shape=shape, mesh=device_mesh([0])))
        refuse_faults(few_modes, _faults(few_modes))
