"""Shapes: how far a point is from the surface of each, also of one that a plain function gives."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike
from jaxtyping import Array

from solver.bodies.body import AXES, Axis, Body, Centred, Point, Scene, known, least, need, positive, root
from solver.bodies.free import Round, spins

MOST_TRIES = 1000  # for each of many bodies that look for a place


class Cylinder(Round):
    """A circular cylinder through the box along one axis; a disc in 2-D. d = |r| − R.

    Args:
        centre: a number for each direction [length]; that along the axis does not matter.
        radius: R > 0 [length].
        axis: along which it lies in 3-D, static.
    """

    radius: ArrayLike
    axis: Axis = eqx.field(default="z", static=True)

    name: ClassVar[str] = "cylinder"

    def __check_init__(self) -> None:
        self.need_positive("radius")

    def check(self, key: str, scene: Scene) -> list[Any]:
        found = super().check(key, scene)
        if scene.dimensions < 3:
            return found
        for name in ("rotation", "tilt"):
            given = (0.0, 0.0, 0.0) if getattr(self, name) is None else getattr(self, name)
            why = (
                f"{key}.{name} {list(map(known, given))}: a cylinder through the box turns about its axis alone, "
                f"{self.axis}"
            )
            others = [x for axis, x in zip(AXES, given, strict=True) if axis != self.axis]
            found += [flag for x in others for flag in need(why, lambda x: x == 0, x)]
        return found

    def distance(self, r: Point, t: ArrayLike) -> Array:
        across = [x for axis, x in zip(AXES, r, strict=False) if len(r) == 2 or axis != self.axis]
        return root(sum(x * x for x in across)) - self.radius

    def extent(self, dimensions: int) -> Sequence[Any]:
        along = [dimensions == 3 and axis == self.axis for axis in AXES[:dimensions]]
        return [math.inf if is_axis else self.radius for is_axis in along]

    def thinnest(self, dimensions: int) -> Any:
        return math.inf if self.inverted else 2 * self.radius

    def displaced(self, lengths: Sequence[float]) -> Any:
        return math.pi * self.radius**2 * self._length(lengths)

    def gyration(self, dimensions: int) -> Any:
        return self.radius**2 / 2

    def turns_about(self, dimensions: int) -> np.ndarray:
        return np.array([dimensions == 2 or axis == self.axis for axis in AXES[: spins(dimensions)]], float)

    def frontal_area(self, lengths: Sequence[float]) -> Any:
        if len(lengths) == 3 and self.axis == "x":
            return math.pi * self.radius**2
        return 2 * self.radius * self._length(lengths)

    def _length(self, lengths: Sequence[float]) -> float:
        """Length of the cylinder in a box of these lengths; 1 in two dimensions."""
        return lengths[AXES.index(self.axis)] if len(lengths) == 3 else 1.0


class Sphere(Round):
    """A sphere; a disc in 2-D. d = |r| − R.

    Args:
        centre: a number for each direction [length].
        radius: R > 0 [length].
    """

    radius: ArrayLike

    name: ClassVar[str] = "sphere"

    def __check_init__(self) -> None:
        self.need_positive("radius")

    def distance(self, r: Point, t: ArrayLike) -> Array:
        return root(sum(x * x for x in r)) - self.radius

    def extent(self, dimensions: int) -> Sequence[Any]:
        return [self.radius] * dimensions

    def thinnest(self, dimensions: int) -> Any:
        return math.inf if self.inverted else 2 * self.radius

    def displaced(self, lengths: Sequence[float]) -> Any:
        return (4 / 3 * self.radius if len(lengths) == 3 else 1) * math.pi * self.radius**2

    def gyration(self, dimensions: int) -> Any:
        return self.radius**2 * (2 / 5 if dimensions == 3 else 1 / 2)

    def frontal_area(self, lengths: Sequence[float]) -> Any:
        return math.pi * self.radius**2 if len(lengths) == 3 else 2 * self.radius


class Box(Centred):
    """A box with sharp edges, a rectangle in 2-D. The distance is exact.

    Args:
        centre: a number for each direction [length].
        sides: their lengths [length].
    """

    sides: tuple[ArrayLike, ...]

    name: ClassVar[str] = "box"

    def __check_init__(self) -> None:
        self.need_positive("sides")
        _as_many("sides", self.sides, self.centre)

    def distance(self, r: Point, t: ArrayLike) -> Array:
        beyond = [jnp.abs(x) - side / 2 for x, side in zip(r, self.sides, strict=True)]
        outside = root(sum(jnp.maximum(b, 0) ** 2 for b in beyond))
        inside = beyond[0]
        for b in beyond[1:]:
            inside = jnp.maximum(inside, b)
        return outside + jnp.minimum(inside, 0)

    def extent(self, dimensions: int) -> Sequence[Any]:
        return [side / 2 for side in self.sides]

    def thinnest(self, dimensions: int) -> Any:
        return math.inf if self.inverted else least(self.sides)

    def frontal_area(self, lengths: Sequence[float]) -> Any:
        return math.prod(self.sides[1:])


class Ellipsoid(Centred):
    """An ellipsoid; an ellipse in 2-D. d = k(k − 1)/|r/a²|, k = |r/a|: exact to first order at the surface.

    Args:
        centre: a number for each direction [length].
        semi_axes: a, a number for each direction [length].
    """

    semi_axes: tuple[ArrayLike, ...]

    name: ClassVar[str] = "ellipsoid"

    def __check_init__(self) -> None:
        self.need_positive("semi_axes")
        _as_many("semi_axes", self.semi_axes, self.centre)

    def distance(self, r: Point, t: ArrayLike) -> Array:
        size = root(sum((x / a) ** 2 for x, a in zip(r, self.semi_axes, strict=True)))
        slope = root(sum((x / a**2) ** 2 for x, a in zip(r, self.semi_axes, strict=True)))
        smallest = jnp.min(jnp.stack(list(map(jnp.asarray, self.semi_axes))))
        return jnp.where(slope > 0, size * (size - 1) / jnp.where(slope > 0, slope, 1), -smallest)

    def extent(self, dimensions: int) -> Sequence[Any]:
        return self.semi_axes

    def thinnest(self, dimensions: int) -> Any:
        return math.inf if self.inverted else 2 * least(self.semi_axes)

    def frontal_area(self, lengths: Sequence[float]) -> Any:
        across = self.semi_axes[1:]
        return 2 * across[0] if len(lengths) == 2 else math.pi * across[0] * across[1]


class Wall(Body):
    """A plane layer across the box: two plane walls, since the box is periodic. d = |r| − thickness/2 along one axis.

    Args:
        position: position of its middle along the axis [length].
        thickness: thickness of the layer [length].
        axis: across which it lies, static.
    """

    position: ArrayLike
    thickness: ArrayLike
    axis: Axis = eqx.field(default="y", static=True)

    name: ClassVar[str] = "wall"

    def __check_init__(self) -> None:
        self.need_positive("thickness")

    def distance(self, r: Point, t: ArrayLike) -> Array:
        return jnp.abs(r[AXES.index(self.axis)]) - self.thickness / 2

    def check(self, key: str, scene: Scene) -> list[Any]:
        found = super().check(key, scene)
        if self.rotation is not None or self.tilt is not None:
            raise ValueError(f"{key}: a wall crosses the whole box, and can neither turn nor be tilted")
        return found

    def origin(self, dimensions: int) -> Sequence[Any]:
        return [self.position if axis == self.axis else 0.0 for axis in AXES[:dimensions]]

    def extent(self, dimensions: int) -> Sequence[Any]:
        return [self.thickness / 2 if axis == self.axis else math.inf for axis in AXES[:dimensions]]

    def thinnest(self, dimensions: int) -> Any:
        return self.thickness


def _as_many(name: str, given: Sequence[Any], centre: Sequence[Any]) -> None:
    if len(given) != len(centre):
        raise ValueError(f"{name} {list(given)}: {len(centre)} numbers are needed, as many as the centre has")


class Cylinders(Body):
    """Circular cylinders through the box along one axis, at random places that do not overlap; discs in 2-D.

    Places are drawn one after another from a seed, each anew until it is far enough from those before: the same for any
    number of devices.

    Args:
        count: number of bodies, static.
        radius: R > 0 of each [length], static.
        gap: the smallest distance between two surfaces [length], static.
        seed: seed of the places, static.
        axis: along which they lie in 3-D, static.
    """

    count: int = eqx.field(static=True)
    radius: float = eqx.field(static=True)
    gap: float = eqx.field(static=True, default=0.0)
    seed: int = eqx.field(static=True, default=0)
    axis: Axis = eqx.field(default="z", static=True)

    name: ClassVar[str] = "cylinders"

    def __check_init__(self) -> None:
        positive("radius", self.radius)
        positive("count", self.count, "one or more are needed")
        if not self.gap >= 0:
            raise ValueError(f"gap {self.gap}: zero or more is needed")

    def from_surface(self, at: Point, t: ArrayLike, scene: Scene) -> Array:
        axes = self._across(scene.dimensions)
        nearest: Any = math.inf
        for centre in self.places(tuple(scene.lengths[axis] for axis in axes)):
            r = scene.wrapped([at[a] - c for a, c in zip(axes, centre, strict=True)], axes)
            nearest = jnp.minimum(nearest, root(sum(x * x for x in r)) - self.radius)
        return jnp.asarray(nearest)

    def places(self, lengths: tuple[float, ...]) -> tuple[tuple[float, ...], ...]:
        """The centres in a cross-section of these sides [length].

        Raises:
            ValueError: so many find no place.
        """
        return _places(self.count, 2 * self.radius + self.gap, self.seed, lengths)

    def distance(self, r: Point, t: ArrayLike) -> Array:
        raise NotImplementedError("of many bodies, which `from_surface` has")

    def origin(self, dimensions: int) -> Sequence[Any]:
        return [0.0] * dimensions

    def thinnest(self, dimensions: int) -> Any:
        return 2 * self.radius

    def check(self, key: str, scene: Scene) -> list[Any]:
        found = super().check(key, scene)
        if not self.is_at_rest:
            raise ValueError(f"{key}: many cylinders are at rest; no velocity or rotation is possible")
        try:
            self.places(tuple(scene.lengths[axis] for axis in self._across(scene.dimensions)))
        except ValueError as error:
            raise ValueError(f"{key}.{error}") from None
        return found

    def _across(self, dimensions: int) -> list[int]:
        return [i for i in range(dimensions) if dimensions == 2 or AXES[i] != self.axis]


@cache
def _places(count: int, apart: float, seed: int, lengths: tuple[float, ...]) -> tuple[tuple[float, ...], ...]:
    random, found = np.random.default_rng(seed), list[tuple[float, ...]]()
    sides = np.array(lengths)
    for _ in range(MOST_TRIES * count):
        tried = sides * random.random(len(sides))
        differences = np.array(found).reshape(-1, len(sides)) - tried
        nearest = differences - sides * np.round(differences / sides)
        if np.all(np.sum(nearest**2, axis=1) >= apart**2):
            found.append(tuple(tried.tolist()))
        if len(found) == count:
            return tuple(found)
    raise ValueError(
        f"count {count}: {len(found)} of them have found a place; fewer, smaller ones or a larger box are needed"
    )


@cache
def from_distance(function: Callable[..., Any]) -> type[Body]:
    """The class of bodies whose signed distance is f(x, y[, z], t), written with `jax.numpy`.

    The function takes coordinates about the centre, turned with the body, of the nearest periodic image [length], and
    the time; it gives one number for each point [length], positive in the fluid.
    """
    called = getattr(function, "__name__", "function")

    class Given(Centred):
        name: ClassVar[str] = called
        moves: ClassVar[bool] = True  # it may change with time

        def distance(self, r: Point, t: ArrayLike) -> Array:
            return jnp.asarray(function(*r, t))

        def check(self, key: str, scene: Scene) -> list[Any]:
            undecided = super().check(key, scene)
            axes = AXES[: scene.dimensions]
            try:
                inspect.signature(function).bind(*axes, "t")
            except TypeError:
                raise ValueError(
                    f"{key}: {called} is called with {', '.join(axes)} and t; it does not take them"
                ) from None
            number = jax.ShapeDtypeStruct((3,), jnp.float32)
            found = jax.eval_shape(lambda *at: jnp.asarray(function(*at)), *[number] * len(axes), number)
            if found.shape != (3,):
                raise ValueError(
                    f"{key}: {called} gives {list(found.shape)} at three points: one number each is needed"
                )
            return undecided

    Given.__name__ = Given.__qualname__ = called
    Given.__doc__ = inspect.getdoc(function) or f"The function {called}."
    return Given
