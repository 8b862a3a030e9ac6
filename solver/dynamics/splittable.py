"""`Splittable`: what a splitting stepper needs of an equation i ψ_t = (T + V) ψ, and the same of a text."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.typing import ArrayLike
from jaxtyping import Array

from solver.dynamics.at_points import AtPoints
from solver.dynamics.energy_budget import budget_columns
from solver.dynamics.evaluation import Evaluation
from solver.dynamics.own_symbol import own_symbols
from solver.written.elimination import replaced
from solver.written.splitting import splitting
from solver.written.tree import Name, Node, Slot

ACTING = ("forcing", "bodies", "particles", "companions", "closure")


class Splittable(eqx.Module):
    """i ψ_t = (T + V) ψ of one wavefunction or several: T linear and unitary, V real, a function of |ψ|² at the points.

    Wavefunctions are stacked, `(field, *points)`, in the order of the equation's fields.
    """

    @abstractmethod
    def split_potential(self, psi: Array, t: ArrayLike = 0.0) -> Array:
        """V of each wavefunction at the points and at time t [1/time], a function of |ψ|², whatever the phases are."""

    @property
    @abstractmethod
    def why_not_split(self) -> str:
        """Reason why a splitting would not solve this equation, and the remedy; empty if it would."""


def potential_of_text(equation: Any, psi: Array, t: ArrayLike) -> Array:
    """V of each wavefunction of an equation of a text. No communication.

    Raises:
        ValueError: the text has no potential.
    """
    on_grid, names = Evaluation(equation), tuple(equation.fields)
    found = splitting(on_grid.text.plain, equation.grid.dimensions)
    if not found.potentials:
        raise ValueError(f"{equation.name} has no potential: {found.reason}")
    slots: dict[Node, Node] = {Name(name): Slot("inner", i) for i, name in enumerate(names)}
    function = AtPoints.of_text(on_grid.text, [replaced(found.potentials[n], slots) for n in names], range(len(names)))
    numbers, places = on_grid.numbers(on_grid.modes(t), function), on_grid.places(function)
    values: dict[Node, Array] = {Slot("inner", i): psi[i] for i in range(len(names))}
    made = function.made(values, numbers, places, equation.grid.physical_shape)
    return jnp.stack([jnp.real(value).astype(equation.grid.dtype) for value in made])


def why_text_is_not_split(equation: Any) -> str:
    """Reason why a splitting would not solve an equation of a text, or would leave out what acts on it."""
    if reason := splitting(equation.plain_text, equation.grid.dimensions).reason:
        return reason
    for name, value in equation.all_numbers.items():
        if any(map(jnp.iscomplexobj, jax.tree.leaves(value))):
            return f"the parameter {name} is complex; a real number is needed"
    for name, symbol in own_symbols(equation).items():
        if jnp.issubdtype(jax.eval_shape(lambda s=symbol: s.on(equation.grid)).dtype, jnp.complexfloating):
            return f"symbol({name}, …) is complex; a real function of the wavenumber is needed"
    return why_not_alone(equation)


def why_not_alone(equation: Any) -> str:
    """Reason why a splitting would lose mass on the grid of an equation, or leave out what acts on its fields."""
    if equation.grid.dealias != "none":
        return f"dealias {equation.grid.dealias!r} would lose mass; dealias 'none' is needed"
    if acting := [name for name in ACTING if getattr(equation, name)]:
        return f"{acting[0]} would not act; an equation without is needed"
    if without_mean := [name for name, field in equation.fields.items() if field.zero_mean]:
        return f"the mean of {without_mean[0]} would be lost; a field with a mean is needed"
    if columns := budget_columns(equation):
        return f"{columns[0]} would not be counted; energy_budget false is needed"
    return ""
