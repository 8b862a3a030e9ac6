"""An equation under its forcings, as steppers take it."""

from __future__ import annotations

from typing import Any

import equinox as eqx
from jax.typing import ArrayLike
from jaxtyping import Array

from solver.grid import Grid
from solver.operators import Fields, LinearOperator


class Driven(eqx.Module):
    """An equation with forcings in their states of one step; offers what a stepper needs of an `Equation`."""

    equation: Any
    states: dict[str, Any]

    @property
    def grid(self) -> Grid:
        """Grid of the equation."""
        return self.equation.grid

    def linear(self) -> LinearOperator:
        """The equation's L."""
        return self.equation.linear()

    def nonlinear(self, fields: Fields, t: ArrayLike) -> Fields:
        """N(u, t) and the forcings."""
        total = self.equation.nonlinear(fields, t)
        forces = {
            name: forcing.force(self.states[name], fields[name], self.equation.grid_of(name))
            for name, forcing in self.equation.forcings().items()
        }
        return {name: n + forces[name] if name in forces else n for name, n in total.items()}

    def constrain(self, fields: Fields) -> Fields:
        """The equation's."""
        return self.equation.constrain(fields)

    def rate(self, fields: Fields) -> Array:
        """The equation's."""
        return self.equation.rate(fields)
