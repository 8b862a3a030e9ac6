"""A function that a table gives."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike
from jaxtyping import Array

Numbers: TypeAlias = ArrayLike | Sequence[float]


def _numbers(given: Numbers) -> Numbers:
    """Numbers on the host, which no device sees before they are used; those being traced as they are."""
    return given if isinstance(given, jax.Array) else np.asarray(given, float)


class Table(eqx.Module):
    """A function of one number given at points, for texts: `functions={"scale": Table(times, scales)}`, `scale(t)`.

    Cubic between two points, with the slopes of the parabolas through three neighbours, so that it has a continuous
    derivative; exact for parabolas. Beyond the first and the last point it is not a number. The values are leaves.

    Args:
        at: two or more points, increasing.
        values: as many values.

    Raises:
        ValueError: other numbers of points and values, or points that do not increase.
    """

    at: Numbers = eqx.field(converter=_numbers)
    values: Numbers = eqx.field(converter=_numbers)

    def __check_init__(self) -> None:
        shapes = np.shape(self.at), np.shape(self.values)
        if shapes[0] != shapes[1] or len(shapes[0]) != 1 or shapes[0][0] < 2:
            raise ValueError(f"a table of {shapes[0]} points and {shapes[1]} values: as many of both, two or more")
        if not isinstance(self.at, jax.core.Tracer) and not np.all(np.diff(np.asarray(self.at)) > 0):
            raise ValueError("a table whose points do not increase: each must be larger than the one before")

    def __call__(self, x: ArrayLike) -> Array:
        x = jnp.asarray(x)
        at, values = (jnp.asarray(a, jnp.result_type(x.dtype, float)) for a in (self.at, self.values))
        h, rise = jnp.diff(at), jnp.diff(values) / jnp.diff(at)
        i = jnp.clip(jnp.searchsorted(at, x, side="right", method="compare_all") - 1, 0, len(h) - 1)
        slope, s = _slopes(h, rise), (x - at[i]) / h[i]
        ends = (1 + 2 * s) * (1 - s) ** 2 * values[i] + s**2 * (3 - 2 * s) * values[i + 1]
        slopes = s * (1 - s) ** 2 * slope[i] - s**2 * (1 - s) * slope[i + 1]
        return jnp.where((x >= at[0]) & (x <= at[-1]), ends + h[i] * slopes, jnp.nan)


def _slopes(h: Array, rise: Array) -> Array:
    """At each point the slope of the parabola through it and its neighbours; of two points, of the line."""
    if len(h) == 1:
        return jnp.concatenate([rise, rise])
    inside = (h[1:] * rise[:-1] + h[:-1] * rise[1:]) / (h[1:] + h[:-1])
    ends = [2 * rise[:1] - inside[:1], 2 * rise[-1:] - inside[-1:]]
    return jnp.concatenate([ends[0], inside, ends[1]])
