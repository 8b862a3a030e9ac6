"""Dissipation of an equation's velocity at small scales, from the damping in its report."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike
from jaxtyping import Array

from solver.diagnostics import dissipation_rate, gradient_tensor, weighted_mean_square
from solver.dynamics.any_equation import AnyEquation
from solver.dynamics.report import Damping


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
    """True if the loss of ½|u|² at small scales is known for an equation."""
    report = equation.report
    damping = report.damping()
    return report.dissipation is not None or (damping is not None and damping.is_all)


def further_dissipation(equation: AnyEquation, u_hat: Array) -> ArrayLike:
    """ε − ν⟨|∇u|²⟩ of a velocity [u²/time]: the loss of ½⟨|u|²⟩ at small scales by all terms but ν∇²u."""
    grid, report = equation.transform.grid, equation.report
    damping = report.damping() or Damping()
    if report.dissipation is not None:
        at_points = report.dissipation(gradient_tensor(u_hat, equation.transform))
        of_viscosity = (damping.viscosity or 0.0) * weighted_mean_square(u_hat, grid.k_squared(), grid)
        return jnp.mean(at_points) - of_viscosity
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
