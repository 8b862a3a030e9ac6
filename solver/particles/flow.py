"""The flow at the particles: velocity, gradient, acceleration, scalars; only those that are used are computed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array

from solver.diagnostics.gradients import vorticity
from solver.dynamics.budget import Changes
from solver.dynamics.spaces_between_walls import space_of_products
from solver.fft import Transform
from solver.operators import Fields, curl
from solver.particles.exchange import flow_at

VELOCITY, GRADIENT, ACCELERATION, VORTICITY = "velocity", "gradient", "acceleration", "vorticity"


class Flow:
    """The flow where the particles are.

    Args:
        given: values by name, or a function that gives them.
    """

    def __init__(self, given: Callable[[str], Array]) -> None:
        self._given = given

    @property
    def velocity(self) -> Array:
        """u `(direction, particle)` of the vector that carries the particles."""
        return self._given(VELOCITY)

    @property
    def gradient(self) -> Array:
        """∂u_i/∂x_j `(j, i, particle)`, the derivative of the spline."""
        return self._given(GRADIENT)

    @property
    def acceleration(self) -> Array:
        """Du/Dt = ∂u/∂t + u·∇u `(direction, particle)` of the fluid."""
        return self._given(ACCELERATION)

    @property
    def vorticity(self) -> Array:
        """∇×u `(component, particle)`; in two dimensions one number `(particle,)`."""
        return self._given(VORTICITY)

    def __getitem__(self, name: str) -> Array:
        """A field of the equation, or a vector made of its fields: `(component, particle)`, a scalar `(particle,)`."""
        return self._given(name)


def velocity_of(equation: Any, name: str | None, shapes: Mapping[str, Any]) -> str:
    """Name of the vector that carries particles. Touches no device.

    Raises:
        ValueError: the equation has no such vector, or none at all; its flow depends on the place; or a field has the
            name of another quantity at particles.
    """
    for taken in (GRADIENT, ACCELERATION):
        if taken in equation.fields:
            raise ValueError(
                f"particles in {equation.name} with a field {taken!r}: another name of the field is needed, since at "
                f"particles {taken} is the velocity's"
            )
    vectors: list[str] = []  # in their order, which JAX does not keep
    jax.eval_shape(lambda fields: vectors.extend(_flows_of(equation, fields)), shapes)
    if not vectors:
        raise ValueError(f"particles in {equation.name}: it has no velocity that carries them")
    if name is None:
        return vectors[0]
    if name not in vectors:
        raise ValueError(f"particles: field {name!r} of {equation.name}: the vectors are {', '.join(vectors)}")
    return name


def vectors_of(equation: Any, fields: Fields) -> dict[str, Array]:
    """Vectors `(component, *grid.spectral_shape)` by name, the velocity first, with a component for each direction.

    Between walls they are polynomials, as all that `FlowSource` holds.
    """
    d = equation.grid.dimensions
    vectors = [name for name, field in equation.fields.items() if field.rank == "vector"]
    own = {name: _series(equation, name, fields[name]) for name in vectors}
    return {name: v for name, v in {**equation.report.vectors(fields), **own}.items() if len(v) >= d}


def _flows_of(equation: Any, fields: Fields) -> dict[str, Array]:
    """`vectors_of` with the uniform flows that the equation keeps apart from its fields.

    Raises:
        ValueError: a flow of this kind depends on the place, or is a product of fields.
    """
    return {**vectors_of(equation, fields), **equation.report.flows(fields)}


def _series(equation: Any, name: str, u_hat: Array) -> Array:
    """Fourier coefficients of a field; between walls polynomials of each component."""
    return equation.space(name).series(u_hat) if equation.grid.walls else u_hat


@dataclass(frozen=True)
class FlowSource:
    """Fields from which the flow at particles is computed.

    Args:
        equation: equation of the fields.
        fields: coefficients by name.
        changes: changes of the fields at this moment; None where they are not known.
        carrier: name of the vector that carries the particles; the equation's velocity if None.
    """

    equation: Any
    fields: Fields
    changes: Changes | None
    carrier: str | None

    def asked_by(self, fn: Callable[[Any, Any], Any], particle: Mapping[str, Array]) -> set[str]:
        """Names of the quantities that a function of the flow and the particles uses. Nothing is computed."""
        asked: set[str] = set()
        x = particle["position"]

        def given(name: str) -> Array:
            asked.add(name)
            return jnp.zeros(self._shape(name, x.shape), x.dtype)

        jax.eval_shape(lambda particle: fn(Flow(given), particle), dict(particle))
        return asked

    def at(self, positions: Array, asked: set[str], order: Any, single: bool) -> Flow:
        """The quantities of the flow at the positions, from one batched inverse transform."""
        return Flow(self.values(positions, asked, order, single).__getitem__)

    def values(self, positions: Array, asked: set[str], order: Any, single: bool) -> dict[str, Array]:
        """Values by name; see `Flow` for their shapes."""
        if not asked:
            return {}
        d = len(positions)
        needed = {name: self._coefficients(name) for name in sorted(self._needed(asked))}
        slopes = bool(asked & {GRADIENT, ACCELERATION})
        batch = jnp.concatenate(list(needed.values()))
        between_walls = self.equation.grid.walls is not None
        transform = self._space if between_walls else Transform(self.equation.grid, self.equation.method)
        found = flow_at(batch, positions, transform, order=order, slopes=slopes, single=single)
        values, begin, gradient = {}, 0, None
        for name, hat in needed.items():
            part = found[..., begin : begin + len(hat), :]
            begin += len(hat)
            values[name] = part[0] if slopes else part
            if name == VELOCITY and slopes:
                gradient = part[1:, :d]
        if gradient is not None:
            values[GRADIENT] = gradient
        if ACCELERATION in asked:
            values[ACCELERATION] = values[ACCELERATION][:d] + jnp.einsum("jp,jip->ip", values[VELOCITY][:d], gradient)
        if VELOCITY in values:
            values[VELOCITY] = values[VELOCITY][:d]
        vectors = (VELOCITY, ACCELERATION, GRADIENT)
        return {name: v[0] if name not in vectors and len(v) == 1 else v for name, v in values.items()}

    def _needed(self, asked: set[str]) -> set[str]:
        """Names of the fields that have to be interpolated for these quantities."""
        of_velocity = {VELOCITY} if asked & {GRADIENT, ACCELERATION} else set()
        return (asked - {GRADIENT}) | of_velocity

    def _shape(self, name: str, positions: tuple[int, int]) -> tuple[int, ...]:
        d, count = positions
        if name == GRADIENT:
            return d, d, count
        hat = jax.eval_shape(lambda fields: self._with(fields)._coefficients(name), self.fields)
        components = d if name in (VELOCITY, ACCELERATION) else len(hat)
        return (count,) if components == 1 and name not in (VELOCITY, ACCELERATION) else (components, count)

    def _with(self, fields: Fields) -> FlowSource:
        return FlowSource(self.equation, fields, self.changes, self.carrier)

    def _coefficients(self, name: str) -> Array:
        """Coefficients of a field or of something made of the fields.

        Raises:
            ValueError: the equation has nothing of that name.
        """
        carrier = velocity_of(self.equation, self.carrier, self.fields)
        if name == VELOCITY:
            return _flows_of(self.equation, self.fields)[carrier]
        if name == ACCELERATION:
            return self._acceleration(carrier)
        if name in self.equation.fields:
            return _series(self.equation, name, self.fields[name])
        vectors = vectors_of(self.equation, self.fields)
        if name in vectors:
            return vectors[name]
        if name == VORTICITY:
            return self._curl(vectors[carrier])
        known = [*self.equation.fields, *vectors, GRADIENT, ACCELERATION, VORTICITY]
        raise ValueError(
            f"particles: {name!r} at the particles; {self.equation.name} has {', '.join(dict.fromkeys(known))}"
        )

    @property
    def _space(self) -> Any:
        """The space of all polynomials between walls."""
        return space_of_products(self.equation)

    def _curl(self, u: Array) -> Array:
        if self.equation.grid.walls:
            return vorticity(self._space.slopes_of(u))
        return curl(u, self.equation.grid)

    def _acceleration(self, carrier: str) -> Array:
        """∂u/∂t of the fields and of what conditions at walls add; u·∇u is added at the particles."""
        if self.changes is None:
            raise ValueError("particles: the acceleration of the fluid is not known at the start")
        own = self.equation.fields_alone(self.fields)
        change = {
            name: self.changes.linear[name] + self.changes.nonlinear[name] + self.changes.forcing.get(name, 0)
            for name in own
        }
        t = self.equation.time_at_walls
        given = own, None if t is None else jnp.asarray(t, self.equation.grid.dtype)

        def velocity(fields: Fields, t: Any) -> Array:
            equation = self.equation if t is None else self.equation.at_time(t)
            return _flows_of(equation, {**self.fields, **fields})[carrier]

        return jax.jvp(velocity, given, (change, None if t is None else jnp.ones_like(given[1])))[1]
