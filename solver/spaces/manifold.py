"""Fields put back onto their manifold: real, free of divergence, without a mean, as each field declares.

Products at the points never see the part of the stored modes that no real field has, and no equation damps the
compressible part of a velocity that is only projected in N. So a forcing or a linear part that amplifies such a part
would let round-off grow without bound. Whatever is stepped is therefore put back after every step, from what the
fields declare, whichever equation, stepper and forcing moved it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import jax.numpy as jnp
from jaxtyping import Array

from solver.operators import Fields
from solver.spaces.space import SOLENOIDAL, ZERO_MEAN, Space

Spaces = Mapping[str, Space]  # by the name of a field

ASTRAY = {SOLENOIDAL: "not free of divergence", ZERO_MEAN: "not of zero mean"}


def by_kind(spaces: Spaces, names: Any) -> list[list[str]]:
    """Names of fields, in the order of the spaces, those together that one transform serves."""
    groups: dict[Any, list[str]] = {}
    for name, space in spaces.items():
        if name in names:
            groups.setdefault(space.kind, []).append(name)
    return list(groups.values())


def on_manifold(fields: Fields, spaces: Spaces) -> Fields:
    """The nearest fields that meet their declared constraints.

    Args:
        fields: coefficients by name.
        spaces: spaces of the fields, by name; further names are ignored.

    Returns:
        The same names, shapes and shardings. Communication: see `operators.hermitian`, once for all real fields.
    """
    kept = constrained(fields, spaces)
    for names in by_kind(spaces, fields):
        if spaces[names[0]].has_twins:
            kept |= spaces[names[0]].symmetric({name: kept[name] for name in names})
    return kept


def constrained(fields: Fields, spaces: Spaces) -> Fields:
    """Fields, or changes of them, free of divergence and of zero mean where it is declared. No communication."""
    return {name: spaces[name].constrained(u_hat) for name, u_hat in fields.items()}


def distances(fields: Fields, spaces: Spaces) -> dict[str, dict[str, Array]]:
    """Distance of each field from its declared constraints: field → constraint → ‖violating part‖/‖field‖.

    ‖·‖ is the root mean square. The square of the number for `not real` is the share by which a sum over modes exceeds
    the mean over the points (Parseval's theorem). All-reduces, and the exchange of `operators.hermitian`.
    """
    return {
        name: {what: _ratio(u_hat - near, u_hat, spaces[name]) for what, near in _nearest(u_hat, spaces[name]).items()}
        for name, u_hat in fields.items()
        if spaces[name].has_twins
    }


def _nearest(u_hat: Array, space: Space) -> dict[str, Array]:
    nearest = {"not real": space.symmetric(u_hat)}
    return nearest | {ASTRAY[what]: space.as_declared(u_hat, what) for what in space.declared}


def _ratio(part: Array, whole: Array, space: Space) -> Array:
    square = space.mean_square(whole)
    return jnp.sqrt(space.mean_square(part) / jnp.where(square > 0, square, 1))
