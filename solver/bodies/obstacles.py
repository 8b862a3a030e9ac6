"""All obstacles of an equation as functions at the points: how strongly they act, and towards what."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from itertools import combinations
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.typing import ArrayLike
from jaxtyping import Array

from solver.bodies.body import Body, Obstacle, Point, Scene, need, nothing_unless
from solver.bodies.free import Round, free_bodies
from solver.bodies.sponge import Sponge
from solver.static import is_zero

ONLY = "body"  # name of an obstacle that is given without one


class Obstacles(eqx.Module):
    """Obstacles of an equation, in the order of their names, and their surroundings.

    Args:
        named: the obstacles by name.
        scene: the box and the fluid around the bodies.
    """

    named: dict[str, Obstacle]
    scene: Scene

    @property
    def are_at_rest(self) -> bool:
        """True if every body and sponge is at rest: then all draw the velocity towards zero."""
        return all(obstacle.is_at_rest for obstacle in self.named.values())

    @property
    def move(self) -> bool:
        """True if any body moves. A sponge never moves; it depends on one coordinate alone."""
        return not all(body.is_at_rest for body in self.bodies.values())

    @property
    def scalars_are_at_rest(self) -> bool:
        """True if the term that acts on scalars does not depend on time."""
        acting = [o for o in self.named.values() if o.fixed or getattr(o, "sealed", ())]
        return all(o.is_at_rest or type(o) is Sponge for o in acting)

    @property
    def bodies(self) -> dict[str, Body]:
        """Those whose forces are of interest."""
        return {name: body for name, body in self.named.items() if isinstance(body, Body)}

    @property
    def free(self) -> dict[str, Round]:
        """Those that the flow moves."""
        return free_bodies(self.named)

    def motion_at_start(self) -> Array:
        """The motion of the free bodies, one after the other in the order of their names."""
        return jnp.concatenate([body.motion_at_start(self.scene.dimensions) for body in self.free.values()])

    def at_motion(self, motion: Array, t: ArrayLike | None = None) -> dict[str, Obstacle]:
        """All obstacles by name, the free bodies where they are at time t; `motion` as `motion_at_start` has it."""
        free = self.free
        each = zip(free, motion.reshape(len(free), -1), strict=True)
        return {**self.named, **{name: free[name].at_motion(own, t) for name, own in each}}

    def at_rest(self, at: Point) -> Array | float:
        """Σ r of the obstacles at rest [1/time], which is computed once and kept."""
        return sum((o.strength(at, 0.0, self.scene) for o in self.named.values() if o.is_at_rest), start=0.0)

    def moving(self, at: Point, t: ArrayLike) -> tuple[Array | float, list[Array | float]]:
        """Σ r of the others [1/time]; Σ r u_s along each axis [length/time²]."""
        total: Array | float = 0.0
        sources: list[Array | float] = [0.0] * self.scene.dimensions
        for obstacle in self.named.values():
            if not obstacle.is_at_rest:
                strength, target = obstacle.strength(at, t, self.scene), obstacle.towards(at, t, self.scene)
                total = total + strength
                sources = [s if is_zero(u) else s + strength * u for s, u in zip(sources, target, strict=True)]
        return total, sources

    @property
    def conditions(self) -> frozenset[tuple[str, str]]:
        """Scalar, and `fixed` or `sealed`, of each effect on a scalar."""
        fixed = {(name, "fixed") for obstacle in self.named.values() for name in obstacle.fixed}
        return frozenset(fixed | {(name, "sealed") for body in self.bodies.values() for name in body.sealed})

    def fixing(self, scalar: str, at: Point, t: ArrayLike) -> tuple[Array | float, Array | float]:
        """Σ r of the bodies and sponges in which a scalar has a value [1/time], and Σ r times the value."""
        strength: Array | float = 0.0
        source: Array | float = 0.0
        for obstacle in self.named.values():
            if scalar in obstacle.fixed:
                r = obstacle.strength(at, t, self.scene)
                strength, source = strength + r, source + r * obstacle.values[obstacle.fixed.index(scalar)]
        return strength, source

    def sealing(self, scalar: str, at: Point, t: ArrayLike) -> list[Array | float]:
        """Σ ∇ψ/ψ along each axis of the bodies whose surface a scalar does not pass [1/length]."""
        slopes: list[Array | float] = [0.0] * self.scene.dimensions
        for body in self.bodies.values():
            if scalar in body.sealed:
                slopes = [s + g for s, g in zip(slopes, body.slope_of_fluid(at, t, self.scene), strict=True)]
        return slopes

    def fastest(self) -> Array:
        """The largest rate anywhere, where they do not overlap [1/time]."""
        return jnp.max(jnp.stack([jnp.asarray(o.fastest(self.scene)) for o in self.named.values()]))

    def mask(self, at: Point, t: ArrayLike) -> Array:
        """The largest χ of the bodies, of which there is one or more: 1 in a solid, 0 in the fluid."""
        masks = [body.mask(at, t, self.scene) for body in self.bodies.values()]
        return reduce(jnp.maximum, masks)

    def checked(self, key: str) -> dict[str, Obstacle]:
        """Refuse obstacles that the box cannot hold, and bodies that overlap and move apart.

        Args:
            key: key of the section in a run file.

        Returns:
            The obstacles by name; numbers of an obstacle are NaN where traced numbers would be refused.

        Raises:
            ValueError: one line.
        """
        undecided: dict[str, list[Any]] = {}
        for name, obstacle in self.named.items():
            kind = key if isinstance(obstacle, Body) else "sponge"
            alone = name == ONLY if isinstance(obstacle, Body) else name == "sponge"
            undecided[name] = obstacle.check(kind if alone else f"{kind}.{name}", self.scene) or []
        for (name, a), (other, b) in combinations(self.bodies.items(), 2):
            if not (a.is_at_rest and b.is_at_rest) and not _same_motion(a, b):
                why = (
                    f"{key}.{name} and {key}.{other} overlap and do not move alike: inside both the flow would follow "
                    "neither; bodies that stand apart are needed"
                )
                undecided[name] += _need_apart(why, a, b, self.scene)
        return {name: _nothing_unless(undecided[name], obstacle) for name, obstacle in self.named.items()}


def _nothing_unless(conditions: Sequence[Any], obstacle: Obstacle) -> Obstacle:
    """An obstacle whose traced numbers, or all if no number is traced, are NaN where a traced condition fails."""
    if not conditions:
        return obstacle
    holds = reduce(jnp.logical_and, conditions)
    is_traced = lambda leaf: isinstance(leaf, jax.core.Tracer)  # noqa: E731
    every = not any(map(is_traced, jax.tree.leaves(obstacle)))
    marked: Obstacle = jax.tree.map(
        lambda leaf: nothing_unless(holds, leaf) if every or is_traced(leaf) else leaf, obstacle
    )
    return marked


def by_name(given: Any) -> dict[str, Obstacle]:
    """Obstacles in the order of their names, of one or of a mapping. JAX brings dicts into this order.

    Raises:
        TypeError: something else.
    """
    named = {ONLY: given} if isinstance(given, Obstacle) else given
    if not isinstance(named, Mapping) or not all(isinstance(value, Obstacle) for value in named.values()):
        raise TypeError(f"bodies {given!r}: one of solver.bodies is needed, or a dict of them by name")
    return dict(sorted(named.items()))


def _need_apart(why: str, a: Body, b: Body, scene: Scene) -> list[Any]:
    """`need` that two bodies do not overlap at the start, by the boxes that hold them."""
    numbers: list[Any] = [body.extent(scene.dimensions) for body in (a, b)]
    if None in numbers or any(body.inverted or body.tilt is not None for body in (a, b)):
        return []
    numbers += [body.origin(scene.dimensions) for body in (a, b)]

    def are_apart(*given: Any) -> Any:
        apart = False
        each = [given[i :: scene.dimensions] for i in range(scene.dimensions)]
        for length, (first, second, at, other) in zip(scene.lengths, each, strict=True):
            away = abs(at - other) % length
            apart |= (away >= first + second) & (length - away >= first + second)
        return apart

    return need(why, are_apart, *(number for axes in numbers for number in axes))


def _same_motion(a: Body, b: Body) -> bool:
    motions: list[Sequence[Any]] = [[body.velocity, body.frequency, body.phase] for body in (a, b)]
    turns = a.rotation is not None or b.rotation is not None or a.moves or b.moves
    return bool(eqx.tree_equal(*motions)) and not turns and not free_bodies({"a": a, "b": b})
