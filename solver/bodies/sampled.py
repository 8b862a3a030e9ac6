"""A shape that is given at points: by distances from its surface, or as an image of the solid."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.ndimage import map_coordinates
from jax.typing import ArrayLike
from jaxtyping import Array

from solver.bodies.body import Centred, Point, Scene, known, need, root

FITS = 1e-6  # of a length
ACROSS_THE_EDGE = 32  # points of a periodic image on either side, whose distances are exact


class Sampled(Centred):
    """A shape by distances at points, linear in between. Every device holds all of them.

    The points are the middles of equal cells that fill a box about the centre. Beyond the box the distance continues to
    grow.

    Args:
        distances: signed distance from the surface at the points [length], positive in the fluid; `from_image` makes
            them.
        sides: sides of the box [length].
        periodic: True if the shape continues across the sides of the box, static.
    """

    distances: Any
    sides: tuple[ArrayLike, ...]
    periodic: bool = eqx.field(default=False, kw_only=True, static=True)

    def __check_init__(self) -> None:
        self.need_positive("sides")
        if not len(self.sides) == len(self.centre) == np.ndim(self.distances):
            raise ValueError(
                f"distances with {np.ndim(self.distances)} axes, {len(self.sides)} sides and a centre of "
                f"{len(self.centre)} numbers: as many of each are needed"
            )

    def distance(self, r: Point, t: ArrayLike) -> Array:
        at = jnp.broadcast_arrays(*map(jnp.asarray, r))
        counts = np.shape(self.distances)
        places = [(x / side + 0.5) * n - 0.5 for x, side, n in zip(at, self.sides, counts, strict=True)]
        values = jnp.asarray(self.distances, at[0].dtype)
        if self.periodic:
            return map_coordinates(values, places, order=1, mode="wrap")
        beyond = [jnp.maximum(jnp.abs(x) - side / 2, 0) for x, side in zip(at, self.sides, strict=True)]
        return map_coordinates(values, places, order=1, mode="nearest") + root(sum(b * b for b in beyond))

    def extent(self, dimensions: int) -> Sequence[Any]:
        return [side / 2 for side in self.sides]

    def check(self, key: str, scene: Scene) -> list[Any]:
        found = super().check(key, scene)
        if self.periodic:
            why = (
                f"{key}.periodic: a shape that continues across its sides, {list(map(known, self.sides))}, can "
                f"neither turn nor be tilted, and fills a box of {list(scene.lengths)} a whole number of times"
            )
            if self.rotation is not None or self.tilt is not None:
                raise ValueError(why)
            for length, side in zip(scene.lengths, self.sides, strict=True):
                found += need(why, lambda side: _fits(length / side), side)  # noqa: B023
        found += need(f"{key}: distances that are not finite", lambda d: abs(d) < math.inf, self.distances)
        given = self.distances if isinstance(self.distances, jax.core.Tracer) else np.asarray(self.distances)
        least, most = -known(-given), known(given)
        return found + need(
            f"{key}: distances from {least:g} to {most:g}: negative ones in the solid and positive ones in the fluid "
            "are needed; an image of 0 and 1 must be of whole numbers",
            lambda d: (d.min() < 0) & (d.max() > 0),
            self.distances,
        )


def _fits(count: Any) -> Any:
    """True if a count is a whole number, and not zero."""
    whole = count.round()
    return (abs(count - whole) <= FITS) & (whole >= 1)


def from_image(solid: Any, sides: Sequence[float], *, periodic: bool = False) -> np.ndarray:
    """Signed distances [length] from the surface between the solid and the other cells of an image, for `Sampled`.

    Args:
        solid: flags or whole numbers (x, y[, z]); not 0 in the solid.
        sides: sides of the box that the image fills [length].
        periodic: True if the image continues across the sides of the box.

    Raises:
        ValueError: an image without solid, or without fluid.
    """
    solid = np.asarray(solid) != 0
    if solid.all() or not solid.any():
        raise ValueError(f"an image {'without fluid' if solid.all() else 'without solid'}: both are needed")
    cell = [side / n for side, n in zip(sides, solid.shape, strict=True)]
    around = [min(n, ACROSS_THE_EDGE) for n in solid.shape]
    wide = np.pad(solid, [(n, n) for n in around], "wrap") if periodic else np.pad(solid, 1)
    cut = tuple(slice(n, -n) for n in (around if periodic else [1] * solid.ndim))
    from scipy.ndimage import distance_transform_edt  # takes as long to import as equinox, and few runs need it

    outside, inside = (distance_transform_edt(part, sampling=cell)[cut] for part in (~wide, wide))
    half = min(cell) / 2  # from the middle of a cell to its side
    return np.where(solid, half - inside, outside - half)
