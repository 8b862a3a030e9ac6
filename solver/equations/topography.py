"""Topography of quasi-geostrophic flows: an expression of the place, or values at the points."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array

from solver.dynamics.at_points import AtPoints
from solver.dynamics.start_changes import shares_removed
from solver.mesh import placed
from solver.spaces import Space
from solver.written import WrittenError
from solver.written.parse import read_expression
from solver.written.tree import Call, Node
from solver.written.vocabulary import POINTWISE

NEEDED = "an expression of x, y and pi is needed, such as 'exp(-4*(x - pi)**2)'"


@jax.tree_util.register_static
@dataclass(frozen=True)
class Expression:
    """A topography as text, without leaves as a pytree."""

    text: str

    def __str__(self) -> str:
        return self.text


def checked_topography(given: Any) -> Any:
    """A topography as an equation holds it: an expression, values at the points, or None.

    Raises:
        ValueError: an expression that cannot be read, or holds more than functions of x, y and pi.
    """
    if isinstance(given, str) and (others := sorted(_others(given))):
        raise ValueError(f"topography {given!r} holds {others[0]}: {NEEDED}")
    return Expression(given) if isinstance(given, str) else given


def topography_in_text(topography: Any) -> dict[str, Any]:
    """Keys of a `Text` that make the name `topography` known in it: `define`, or `at_points`."""
    if topography is None:
        return {}
    if isinstance(topography, Expression):
        return {"define": (("topography", topography.text),)}
    return {"at_points": ("topography",)}


def unresolved_topography(topography: Any, space: Space) -> dict[str, Array]:
    """Share of the mean square of a topography that lies beyond the modes of a space, if there is a topography.

    A product with these modes depends on the form in which it is written. Communication: a transform, all-reduces.
    """
    if topography is None:
        return {}
    grid, name = space.grid, space.name
    if isinstance(topography, Expression):
        places = dict(zip("xy", grid.coordinates(), strict=True))
        (values,) = AtPoints((read_expression(topography.text),), ()).made({}, {}, places, grid.physical_shape)
    else:
        values = jnp.broadcast_to(jnp.asarray(topography, grid.dtype), grid.physical_shape)
    values = placed(values.astype(grid.dtype), grid.physical_sharding())[None]
    shares = shares_removed({name: values}, {name: space.exact.forward(values)}, {name: space})
    return {"topography": shares[name]["beyond"]}


def _others(expression: str) -> set[str]:
    """Names and functions in an expression that a topography may not hold."""
    try:
        parts: list[Node] = list(read_expression(expression).walk())
    except WrittenError as error:
        raise ValueError(f"topography {expression!r}: {str(error).splitlines()[0]}; {NEEDED}") from None
    called = {part.function for part in parts if isinstance(part, Call)}
    return (set().union(*(part.names for part in parts)) - {"x", "y", "pi"}) | (called - POINTWISE.keys())
