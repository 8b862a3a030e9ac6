"""Parts of the given values that the start of a run removes: modes beyond k_max, means, divergent parts."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike
from jaxtyping import Array

from solver.operators import Fields
from solver.spaces import Space

SHARE = {np.dtype("float64"): 1e-6, np.dtype("float32"): 1e-5}  # of the mean square; less is not said

Shares = dict[str, dict[str, Array]]  # field → what is removed → its share of ⟨|u|²⟩


class ChangedStart(UserWarning):
    """An initial field, or a condition along a wall, holds what the equation or the grid cannot, and is changed.

    `warnings.simplefilter("ignore", sw.ChangedStart)` turns it off.
    """


def shares_removed(values: Fields, sampled: Fields, spaces: Mapping[str, Space]) -> Shares:
    """Shares of the mean square of each field that the start of a run removes.

    Args:
        values: values at the points `(component, x, y, z)` by name, of any sharding.
        sampled: coefficients of their transform, before means and divergent parts are removed.
        spaces: spaces of the fields, by name.

    Returns:
        By field: `beyond` the modes that are kept, and `zero_mean` and `solenoidal` where the field is declared to be
        so; between walls `walls`, the mean square by which given values at them are missed, and `along_walls`, the
        share of what conditions give along them beyond the modes; numbers from 0 to 1. Communication: all-reduces.
    """
    return {name: _shares(u, sampled[name], spaces[name]) for name, u in values.items()}


def _shares(u: ArrayLike, u_hat: Array, space: Space) -> dict[str, Array]:
    points = jnp.sum(space.mean(jnp.abs(u) ** 2))
    whole = jnp.where(points > 0, points, 1)
    stored = space.whole_square(u_hat)
    removed = {"beyond": points - stored}
    for what in space.declared:
        removed[what] = stored - space.whole_square(space.as_declared(u_hat, what))
    missed = space.missed_at_walls(jnp.asarray(u))
    if missed is not None:
        removed["walls"] = missed
    shares = {what: jnp.clip(part / whole, 0, 1) for what, part in removed.items()}
    lost = space.lost_along_walls()
    return shares if lost is None else {**shares, "along_walls": lost}


def in_words(shares: Mapping[str, Mapping[str, Any]], spaces: Mapping[str, Space]) -> list[str]:
    """A line for each part that is removed from a field at the start; no line for a part as small as round-off."""
    initial = "initial field {}: {:.3g} % of its mean square "
    texts = {
        "beyond": initial + "lies beyond {} and is dropped",
        "solenoidal": initial + "is divergent and is projected away",
        "zero_mean": initial + "is its mean{}, which this field cannot have and which is removed",
        "topography": "topography below {}: {:.3g} % of its mean square lies beyond {}, where its products with the "
        "flow are not exact: more points are needed, or a smoother one, periodic in this box",
        "along_walls": "walls.{}: {:.3g} % of the mean square of a condition along the wall, or of its rate of change, "
        "lies beyond the modes and is dropped: more points are needed, or a smoother condition",
    }
    along = lambda axis: f" along {axis}" if isinstance(axis, str) else ""  # noqa: E731
    of = lambda what, space: space.limit if what in ("beyond", "topography") else along(space.field.zero_mean)  # noqa: E731
    return [
        texts[what].format(name, 100 * float(share), of(what, spaces[name]))
        for name, parts in shares.items()
        for what, share in parts.items()
        if what in texts and float(share) > SHARE[spaces[name].grid.dtype]
    ]


def warn_of_changes(shares: Shares, spaces: Mapping[str, Space]) -> None:
    """Warn, in the class `ChangedStart`, of the parts removed from the initial fields; nothing while tracing.

    Raises:
        ValueError: an initial field that does not have the values that are given at the walls.
    """
    if any(isinstance(share, jax.core.Tracer) for parts in shares.values() for share in parts.values()):
        return
    for name, parts in shares.items():
        if float(parts.get("walls", 0)) > SHARE[spaces[name].grid.dtype]:
            raise ValueError(
                f"initial field {name} does not have the values that walls.{name} gives: its mean square is "
                f"{float(parts['walls']):.3g} of its own away at the walls; the initial field conduction has them"
            )
    for line in in_words(shares, spaces):
        warnings.warn(line, ChangedStart, stacklevel=3)
