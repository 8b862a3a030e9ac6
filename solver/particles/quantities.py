"""Quantities of particles by name, for statistics: what they hold themselves, or else the flow where they are."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import jax.numpy as jnp
from jax.typing import ArrayLike
from jaxtyping import Array, Bool

from solver.dynamics.budget import Changes
from solver.operators import Fields
from solver.particles.flow import ACCELERATION, VELOCITY, FlowSource
from solver.particles.particles import POSITION, particles_of


def quantities_at(
    equation: Any, name: str, wanted: Iterable[str], fields: Fields, changes: Changes | None, t: ArrayLike
) -> dict[str, Array]:
    """Quantities of the particles of a name.

    Args:
        equation, name: equation, and name of its particles.
        wanted: names of quantities: `velocity` is dx/dt without random jumps: the particles' own velocity if they hold
            one, else the velocity of the fluid; `acceleration` is its rate of change, the particles' own dv/dt or else
            Du/Dt of the fluid; other names are numbers that they hold, or quantities of the flow (`flow.Flow`).
        fields: entries of the state by name, with the particles.
        changes: changes of the fields at this moment, for the acceleration; None if it is not wanted.
        t: time.

    Returns:
        By name: vectors `(component, particle)`, scalars `(particle,)`, split over the devices by particle.

    Raises:
        ValueError: a name that neither the particles nor the flow have.
    """
    wanted, particles = tuple(wanted), particles_of(equation)[name]
    array = particles.array(equation.grid)
    own = array.split(fields[name])
    found = {key: own[key] for key in wanted if key in particles.holds}
    if ACCELERATION in wanted and ACCELERATION not in found and VELOCITY in particles.holds:
        if changes is None:
            raise ValueError("particles: their acceleration needs the changes of the fields")
        rates = particles.rates(equation, fields[name], fields, changes, t)
        found[ACCELERATION] = array.split(rates)[VELOCITY]
    others = {key for key in wanted if key not in found}
    source = FlowSource(equation, fields, changes, particles.field)
    flow = source.values(own[POSITION], others, particles.order, particles.precision == "float32")
    return {key: found[key] if key in found else flow[key] for key in wanted}


def are_particles(equation: Any, name: str) -> Bool[Array, " particle"]:
    """True for each particle of a name, False for padding up to a number that the devices divide."""
    particles = particles_of(equation)[name]
    return jnp.arange(particles.storage(equation).axes(equation.grid)[0]) < particles.number()
