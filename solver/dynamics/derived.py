"""Quantities at the points that are made of an equation's fields: vorticity, Q, dissipation, density, phase.

The dissipation of a velocity at small scales follows from the damping in the equation's report.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike
from jaxtyping import Array

from solver.diagnostics import dissipation_rate, weighted_mean_square
from solver.diagnostics.gradients import gradient_tensor, q_criterion
from solver.dynamics.any_equation import AnyEquation
from solver.dynamics.between_walls import unknowns_at_points
from solver.dynamics.report import Damping
from solver.dynamics.spaces_between_walls import space_of_products
from solver.operators import Fields
from solver.spaces import Space
from solver.spaces.field import Field


def kinematic_viscosity(equation: AnyEquation) -> Any:
    """ν of an equation's velocity [length²/time], where L has −ν|k|² in all directions; None if it has not."""
    damping = equation.report.damping()
    return None if damping is None else damping.viscosity


def viscosity_of_dissipation(equation: AnyEquation) -> float | None:
    """ν where ν∇²u is all that damps the velocity, and ν a number: its dissipation is 2ν s_ij s_ij; else None."""
    report = equation.report
    damping = report.damping()
    if damping is None or not damping.is_all or damping.viscosity is None or report.dissipation is not None:
        return None
    if isinstance(damping.viscosity, jax.core.Tracer) or np.size(damping.viscosity) != 1 or np.any(damping.size()):
        return None
    return float(damping.viscosity)


def dissipates(equation: AnyEquation) -> bool:
    """True if the loss of ½|u|² at small scales is known for an equation; between walls, of ν∇²u alone."""
    report = equation.report
    damping = report.damping()
    if damping is None or not damping.is_all or (equation.grid.walls and damping.further is not None):
        return report.dissipation is not None
    return True


def further_dissipation(equation: AnyEquation, u_hat: Array) -> ArrayLike:
    """ε − ν⟨|∇u|²⟩ of a velocity [u²/time]: the loss of ½⟨|u|²⟩ at small scales by all terms but ν∇²u."""
    grid, report = equation.transform.grid, equation.report
    damping = report.damping() or Damping()
    if report.dissipation is not None:
        at_points = report.dissipation(gradient_tensor(u_hat, equation.transform))
        viscosity = 0.0 if damping.viscosity is None else damping.viscosity
        return jnp.mean(at_points) - viscosity * weighted_mean_square(u_hat, grid.k_squared(), grid)
    parts = zip(u_hat, damping.further(), strict=True) if damping.further else ()
    return sum((weighted_mean_square(part[None], rate, grid) for part, rate in parts), start=0.0)


def dissipation(equation: AnyEquation, u_hat: Array, tensor: Array) -> Array:
    """Loss of ½|u|² at small scales, at the points [u²/time]; its mean is ε, whatever damps.

    2ν s_ij s_ij of a solenoidal velocity, and ν|∇u|² of another; further terms of L, −r(k) û, add |w|² with ŵ = r^½ û,
    as ν_h|∇²u|² of −ν_h∇⁴u. A velocity that is no field follows from a stream function, so that it is solenoidal.

    Args:
        equation: equation that `dissipates`.
        u_hat: coefficients of its velocity.
        tensor: ∂u_i/∂x_j at the points `(j, i, x, y, z)`.
    """
    report = equation.report
    if report.dissipation is not None:
        return report.dissipation(tensor)
    damping, lost = report.damping() or Damping(), jnp.zeros_like(tensor[0, 0])
    if damping.viscosity is not None:
        solenoidal = "velocity" not in equation.fields or equation.fields["velocity"].solenoidal
        lost = dissipation_rate(tensor, damping.viscosity, solenoidal=solenoidal)
    if damping.further is None:
        return lost
    damped = jnp.stack([jnp.sqrt(rate) * part for rate, part in zip(damping.further(), u_hat, strict=True)])
    return lost + jnp.sum(equation.transform.inverse(damped) ** 2, axis=0)


def space_of_vector(equation: Any, name: str) -> Space:
    """Space of the coefficients of a vector of the report, which may be a field or made of fields."""
    if name in equation.fields:
        space: Space = equation.space(name)
        return space
    return space_of_products(equation) if equation.grid.walls else equation.space(equation.first_field)


def density_at_points(equation: AnyEquation, values: Fields) -> Array | None:
    """A density `(x, y, z)`, from values at the points: the equation's own, or else |ψ|² of the first wavefunction."""
    own = equation.report.density
    if own is not None:
        return own(values)
    for name, psi in values.items():
        if not equation.fields[name].real:
            return psi[0].real ** 2 + psi[0].imag ** 2
    return None


def name_apart(equation: AnyEquation, quantity: str, of: str) -> str:
    """The name of a quantity that is made of a vector or field, with that in front where another field is called so."""
    taken = {name for name in equation.fields if name != of}
    taken |= {component for space in equation.spaces.values() for component in space.component_names if component != of}
    return f"{of}_{quantity}" if quantity in taken else quantity


def density_name(equation: AnyEquation) -> str:
    """The name of the equation's density in files."""
    waves = [name for name, field in equation.fields.items() if not field.real]
    return name_apart(equation, "density", "own" if equation.report.density is not None or not waves else waves[0])


@dataclass(frozen=True)
class Derived:
    """A real quantity at the points.

    Args:
        make: function from the equation's fields to `(x, y, z)`, or `(component, x, y, z)`.
        units: units of its values.
    """

    make: Callable[[Fields], Array]
    units: str = ""


def derived_quantities(equation: Any) -> dict[str, Derived]:
    """Quantities made of the fields, by name: vorticity, Q and dissipation of the velocity, which may itself be made of
    them; its pressure; what a closure takes from it; the curl of any other vector; density and phase of a wavefunction.

    Source: Hunt, Wray & Moin, CTR Report S88 (1988) (Q).
    """
    quantities: dict[str, Derived] = {}
    vectors: list[str] = []  # noted while tracing: what `eval_shape` returns is sorted
    jax.eval_shape(lambda fields: vectors.extend(equation.report.vectors(fields)), equation.field_shapes())
    for name in vectors:
        if equation.grid.dimensions > 1:
            quantities |= _of_vector(equation, name)
    for name, field in equation.fields.items():
        if field.rank == "wavefunction":
            quantities |= _of_wavefunction(equation, name, field)
    quantities |= {name: Derived(make, units) for name, (make, units) in equation.report.at_points.items()}
    quantities |= {name: Derived(made, units) for name, (made, units) in unknowns_at_points(equation).items()}
    pressure = equation.report.velocity_pressure()
    if pressure is not None:
        quantities[pressure.space.name] = Derived(pressure.at_points, pressure.field.units)
    return {name: derived for name, derived in quantities.items() if name not in equation.fields}


def _of_vector(equation: Any, name: str) -> dict[str, Derived]:
    space = space_of_vector(equation, name)
    hats = lambda fields: equation.report.vectors(fields)[name]  # noqa: E731
    units = equation.fields[name].units if name in equation.fields else "length/time"
    rate = "1/time" if units == "length/time" else f"{units}/length"
    quantities = {name: Derived(lambda fields: space.inverse(hats(fields)), units)}
    rotation = Derived(lambda fields: _bare(space.curl(hats(fields))), rate)
    if name != "velocity":
        return {**quantities, f"curl_{name}": rotation}
    apart = lambda quantity: name_apart(equation, quantity, name)  # noqa: E731
    if "vorticity" not in equation.fields:
        quantities["vorticity"] = rotation
    if equation.grid.dimensions == 3:
        quantities[apart("q_criterion")] = Derived(lambda fields: q_criterion(space.gradient(hats(fields))), "1/time^2")
    if dissipates(equation):
        quantities[apart("dissipation")] = Derived(
            lambda fields: dissipation(equation, hats(fields), space.gradient(hats(fields))), "length^2/time^3"
        )
    return quantities


def _of_wavefunction(equation: Any, name: str, field: Field) -> dict[str, Derived]:
    psi = lambda fields: equation.to_physical(fields)[name][0]  # noqa: E731
    square = "density" if field.units == "density^(1/2)" else f"({field.units})^2"
    several = sum(not other.real for other in equation.fields.values()) > 1
    apart = lambda quantity: f"{name}_{quantity}" if several else name_apart(equation, quantity, name)  # noqa: E731
    return {
        apart("density"): Derived(lambda fields: psi(fields).real ** 2 + psi(fields).imag ** 2, square),
        apart("phase"): Derived(lambda fields: jnp.angle(psi(fields)), "rad"),
    }


def _bare(values: Array) -> Array:
    """A single component without its axis."""
    return values[0] if len(values) == 1 else values
