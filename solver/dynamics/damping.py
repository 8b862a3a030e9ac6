"""Powers of the Laplacian in a text: the grid's precision must hold the damping of the largest wavenumber."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

import jax.numpy as jnp
import numpy as np

from solver.dynamics.at_points import constant
from solver.grid import Grid
from solver.written.components import ONE, times
from solver.written.degrees import degree
from solver.written.formula import unicode
from solver.written.system import System
from solver.written.tree import Call, Name, Negative, Node, Product, Quotient, Sum

HOW = '; jax.config.update("jax_enable_x64", True), and a grid of precision float32 can'


def require_powers(grid: Grid, system: System, numbers: Mapping[str, Any]) -> None:
    """Refuse a ν_h (−∇²)^p in a text whose size ν_h K^(2p), K the largest |k|, the grid's precision cannot hold.

    Numbers that are being traced pass, and so do numbers that do not depend on parameters alone. Touches no device.

    Raises:
        ValueError: the size is out of range. The message names the coefficient, the power and the possible values.
    """
    fields = {*system.fields, *system.unknowns}
    sides = [side for line in system.lines for side in (line.left, line.right)]
    for coefficient, power in dict.fromkeys(found for side in sides for found in _powers(side, ONE, fields)):
        values = [constant(node, numbers) for node in (coefficient, power)]
        if all(value is not None for value in values):
            value, exponent = (float(np.max(np.abs(value))) for value in values)
            _require(grid, _said(coefficient, numbers), _said(power, numbers), value, exponent)


def _require(grid: Grid, coefficient: str, power: str, value: float, exponent: float) -> None:
    numbers = np.finfo(jnp.result_type(float))  # in which ν_h and K^(2p) are held
    logarithm = 2 * exponent * math.log(grid.k_corner)
    if abs(logarithm) > math.log(float(numbers.max)):
        raise ValueError(
            f"{power}: {numbers.dtype} cannot hold |k|^{2 * exponent:g} of the largest |k| = {grid.k_corner:.4g}"
            + (HOW if numbers.dtype == np.float32 else "")
        )
    possible = float(np.finfo(grid.dtype).max) * math.exp(-logarithm)
    if value > possible:
        raise ValueError(
            f"{coefficient} with {power}: at most {possible:.3g} is needed, or {grid.precision} cannot hold the "
            f"damping of the largest |k| = {grid.k_corner:.4g}"
        )
    if 0 < value < float(numbers.tiny):
        raise ValueError(f"{coefficient}: {numbers.dtype} cannot hold it" + HOW)


def _said(node: Node, numbers: Mapping[str, Any]) -> str:
    """A constant as an error message names it: a parameter with its value."""
    return f"{node.name} {numbers[node.name]}" if isinstance(node, Name) and node.name in numbers else unicode(node)


def _powers(node: Node, coefficient: Node, fields: set[str]) -> Iterator[tuple[Node, Node]]:
    """Each power of the Laplacian in an expression, and the constant in front of it."""
    is_constant = lambda part: degree(part, fields) == 0  # noqa: E731
    match node:
        case Call("fraclap", (_, power)) if is_constant(power):
            yield coefficient, power
        case Product(left, right) if is_constant(left) or is_constant(right):
            number, rest = (left, right) if is_constant(left) else (right, left)
            yield from _powers(rest, times(number, coefficient), fields)
        case Quotient(above, below) if is_constant(below):
            yield from _powers(above, Quotient(coefficient, below), fields)
        case Sum() | Negative() | Call("cause" | "explicit"):
            for child in node.children:
                yield from _powers(child, coefficient, fields)
        case _:
            for child in node.children:
                yield from _powers(child, ONE, fields)
