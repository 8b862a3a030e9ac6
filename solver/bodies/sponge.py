"""Sponges: layers in which a flow is drawn towards a given one."""

from __future__ import annotations

from typing import Any, ClassVar

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike
from jaxtyping import Array

from solver.bodies.body import AXES, Axis, Obstacle, Point, Scene, known, need, positive


class Sponge(Obstacle):
    """A layer with smooth edges across one axis in which the flow, and scalars, are drawn towards uniform ones.

    r = rate·½(tanh((s + w/2)/e) − tanh((s − w/2)/e)), s the distance from its middle along the axis. Inflow and outflow
    in a periodic box, or the end of waves.

    Args:
        position: position of its middle along the axis [length].
        width: w > 0, of the layer [length].
        rate: at its middle [1/time]. A flow of speed U is left with exp(−rate·w/U) of what disturbs it.
        target: velocity that the flow is drawn to [length/time], a number for each direction; zero if None.
        channel: width of a plane channel about the middle of the box along y [length], whose parabolic flow has the
            `target` as its mean; the target is the same everywhere if None.
        edge: e > 0, the length over which it sets in [length]; an eighth of the width if None.
        axis: across which it lies, static.
    """

    position: ArrayLike
    width: ArrayLike
    rate: ArrayLike
    target: tuple[ArrayLike, ...] | None = None
    channel: ArrayLike | None = None
    edge: ArrayLike | None = None
    axis: Axis = eqx.field(default="x", static=True)

    name: ClassVar[str] = "sponge"

    @property
    def is_at_rest(self) -> bool:
        return False  # it depends on one coordinate, and costs nothing to make

    def strength(self, at: Point, t: ArrayLike, scene: Scene) -> Array:
        place, half, edge = AXES.index(self.axis), self.width / 2, self._edge
        [s] = scene.wrapped([at[place] - self.position], [place])
        return self.rate * 0.5 * (jnp.tanh((s + half) / edge) - jnp.tanh((s - half) / edge))

    def towards(self, at: Point, t: ArrayLike, scene: Scene) -> list[Any]:
        if self.target is None:
            return [0.0] * scene.dimensions
        if self.channel is None:
            return list(self.target)
        across = 2 * (at[1] - scene.lengths[1] / 2) / self.channel
        return [1.5 * mean * jnp.maximum(1 - across**2, 0) for mean in self.target]

    def fastest(self, scene: Scene) -> ArrayLike:
        return self.rate

    @property
    def _edge(self) -> Any:
        return self.width / 8 if self.edge is None else self.edge

    def check(self, key: str, scene: Scene) -> list[Any]:
        d, found = scene.dimensions, list[Any]()
        self.check_values(key)
        if self.axis not in AXES[:d]:
            raise ValueError(f"{key}.axis {self.axis!r}: this grid has {', '.join(AXES[:d])}")
        place = AXES.index(self.axis)
        length, spacing = scene.lengths[place], scene.spacing[place]
        for name in ("width", "rate", "channel", "edge"):
            found += positive(f"{key}.{name}", getattr(self, name), "a positive number is needed")
        wide = known(self.width) + 4 * known(self._edge)
        found += need(
            f"{key}.width {self.width}: with its edges it is {wide:.4g} wide, in a box of {length:.4g}",
            lambda width, edge: width + 4 * edge <= length,
            self.width,
            self._edge,
        )
        if self.channel is not None:
            found += self._check_channel(key, scene)
        found += need(
            f"{key}.edge {known(self._edge):.4g}: a spacing of the points, {spacing:.4g}, or more is needed",
            lambda edge: edge >= spacing,
            self._edge,
        )
        if self.target is not None and np.shape(self.target) != (d,):
            raise ValueError(f"{key}.target {self.target}: {d} numbers are needed")
        return found

    def _check_channel(self, key: str, scene: Scene) -> list[Any]:
        if self.target is None:
            raise ValueError(f"{key}.channel {self.channel}: it needs target, the mean of its flow")
        high = scene.lengths[1]
        return need(
            f"{key}.channel {self.channel}: a width along y of {high:.4g} or less is needed, in a sponge across "
            "another axis",
            lambda channel: (channel <= high) & (self.axis != "y"),
            self.channel,
        )
