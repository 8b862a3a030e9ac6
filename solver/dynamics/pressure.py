"""The pressure of a velocity without divergence: the solution of an elliptic equation, from an equation's text."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import jax.numpy as jnp
from jaxtyping import Array

from solver.dynamics.between_walls import EvaluationBetweenWalls
from solver.dynamics.evaluation import Evaluation, without_missing
from solver.dynamics.in_modes import OneMode
from solver.dynamics.subgrid import text_with_closure
from solver.dynamics.symbol_value import multiplied_out
from solver.operators import Fields
from solver.spaces import FourierSpace, Space
from solver.spaces.field import Field
from solver.spaces.scalars_between_walls import ScalarModes, ScalarSpace
from solver.walls import Slope
from solver.written.between_walls import plan_word_by_word
from solver.written.components import plus
from solver.written.derivation import without_unknowns
from solver.written.elimination import Reduced, named
from solver.written.plan import Plan, plan_as_written
from solver.written.tree import Node

PRESSURE, SLOPES = "pressure", Slope()


def pressure_of(equation: Any) -> Pressure | None:
    """The pressure of the equation's first vector without divergence; None if its text does not give one.

    One unknown acts on this vector, and nothing in the text depends on time or is complex. There is neither body nor
    sponge, and no field that is called pressure.
    """
    text = equation.whole_text
    if text.is_mixed or equation.grid.dimensions == 1 or equation.obstacles is not None:
        return None
    if any(PRESSURE in (name, *space.component_names) for name, space in equation.spaces.items()):
        return None
    text = without_missing(equation, text_with_closure(equation).plain)
    reduced = without_unknowns(text, equation.grid.dimensions)
    name = next((name for name, field in equation.fields.items() if field.solenoidal), "")
    unknown = _unknown(reduced, name)
    if unknown is None:
        return None
    if not equation.grid.walls:
        is_known = isinstance(equation.space(name), FourierSpace)
        return PressureInBox(equation, name, reduced, unknown) if is_known else None
    plan = plan_word_by_word(text, equation.grid.dimensions)
    return None if plan is None else PressureBetweenWalls(equation, name, reduced, unknown, plan)


def _unknown(reduced: Reduced, name: str) -> Node | None:
    """The unknown that keeps a vector free of divergence; None if there is not one alone, or the text has t."""
    if any("t" in node.names for node in (*reduced.right.values(), *reduced.linear.values())):
        return None
    acting = {tuple(of) for scalar, of in reduced.pushes.items() if named(scalar) == name}
    [only] = acting if len(acting) == 1 else [()]
    return only[0] if len(only) == 1 else None


@dataclass(frozen=True)
class Pressure:
    """p of ∂u/∂t = R − ∇p, where R are all other terms of the text: it solves ∇²p = ∇·R. Its mean over the box is 0.

    R is taken word by word, since a plan of few transforms leaves out gradients of products. A force of `forcing` is
    not in it: the forces of the library are free of divergence, or uniform. Costs an evaluation of N as written.
    Coefficients are split over the devices as the fields are.

    Args:
        equation: equation of a text.
        name: name of the vector u.
        reduced: the text's system without its unknowns.
        unknown: p in the text.
    """

    equation: Any
    name: str
    reduced: Reduced
    unknown: Node

    @property
    def field(self) -> Field:
        """Its declaration; it is divided by the density."""
        return Field("scalar", "length^2/time^2" if self.equation.fields[self.name].units == "length/time" else "")

    @property
    def space(self) -> Space:
        """The space of its coefficients."""
        raise NotImplementedError

    def coefficients(self, fields: Fields) -> Array:
        """Its coefficients `(1, …)` from the fields of a state."""
        raise NotImplementedError

    def at_points(self, fields: Fields) -> Array:
        """Its values at the points, `(x, y, z)`."""
        return self.space.inverse(self.coefficients(fields))[0]


@dataclass(frozen=True)
class PressureInBox(Pressure):
    """The pressure in a periodic box: a division by |k|², exact for the modes that the grid keeps."""

    @property
    def space(self) -> Space:
        return replace(self.equation.space(self.name), name=PRESSURE, field=self.field)  # type: ignore[no-any-return]

    def coefficients(self, fields: Fields) -> Array:
        reduced = self.reduced
        plan, linear = plan_as_written(reduced.rest, reduced.system.fields), reduced.linear_rows()
        rows, _ = Evaluation(self.equation).carried_out(plan, fields, 0.0)
        rates = reduced.without_mass({row: plus((linear[row], node)) for row, node in plan.rows.items()})
        return rows.on_all_modes(reduced.multipliers(rates)[self.unknown])[None]


@dataclass(frozen=True)
class PressureBetweenWalls(Pressure):
    """The pressure between walls, in Legendre–Galerkin form: ⟨∇p · ∇q⟩ = ⟨R · ∇q⟩ for all polynomials q.

    ∂u/∂t has no divergence and does not cross the walls, so that it is orthogonal to each ∇q. The condition of Neumann
    at the walls, ∂p/∂z = R_z, which is the momentum equation there, follows from the form (a natural condition). In the
    eigenfunctions of −∂²/∂z² among the polynomials the solution is a division by k² + λ. Its error falls faster than
    any power of the number of polynomials, as the error of ν∇²u does.

    Args:
        plan: the text word by word.

    Source: Canuto, Hussaini, Quarteroni & Zang, Spectral Methods: Fundamentals in Single Domains (2006), chapter 4.
    """

    plan: Plan[Node]

    @property
    def space(self) -> ScalarSpace:
        space = self.equation.space(self.name)
        return ScalarSpace(
            PRESSURE, self.field, space.grid, space.method,
            polynomials=space.polynomials, walls=SLOPES, own=ScalarModes.on(space.grid.as_real, SLOPES),
        )  # fmt: skip

    def coefficients(self, fields: Fields) -> Array:
        space = self.space
        *along, upward = EvaluationBetweenWalls(self.equation).right_of(self.plan, fields, self.name)
        slopes = (1j * jnp.asarray(k) * part for k, part in zip(space.wavenumbers(), along, strict=True))
        divergence = sum(slopes, start=space.across_weakly(upward))
        return space.inverse_laplacian() * space.tested(divergence[None]) / self._factor

    @property
    def _factor(self) -> Any:
        """c of −c ∇p in the text."""
        x = next(scalar for scalar in self.reduced.scalars if named(scalar) == self.name)
        one = OneMode(self.equation.all_numbers, [1.0] * self.equation.grid.dimensions)
        return jnp.real(1j * multiplied_out(one.value(self.reduced.pushes[x][self.unknown])))
