"""A body made from a plain function of the coordinates and time."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import cache
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
from jax.typing import ArrayLike
from jaxtyping import Array

from solver.bodies.body import AXES, Body, Centred, Point, Scene


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
