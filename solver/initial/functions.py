"""An initial field made from a plain function of the coordinates."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import cache
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
from jaxtyping import Array

from solver.dynamics.any_equation import AnyEquation
from solver.grid import Grid, sample
from solver.initial.initial import Initial, component_count
from solver.spaces.field import RANKS, Field


@cache
def from_function(function: Callable[..., Any]) -> type[Initial]:
    """The class of initial fields f(x, y, z) of a function that is written with `jax.numpy`.

    The function takes one array for each axis of the grid [length], which broadcast against each other, and returns
    one array, or a tuple with one for each component of the field.
    """
    called = getattr(function, "__name__", "function")

    class Given(Initial):
        name: ClassVar[str] = called
        ranks: ClassVar[tuple[str, ...]] = RANKS

        def check(self, equation: AnyEquation, field: str) -> None:
            try:
                jax.eval_shape(lambda: self(equation.space(field).points, equation.fields[field]))
            except ValueError as error:
                raise ValueError(f"name: {' '.join(str(error).split())}") from error
            except Exception as error:
                said = " ".join(f"{type(error).__name__}: {error}".split())
                raise ValueError(f"name: {called} cannot be evaluated: {said}") from error

        def values(self, grid: Grid, field: Field, key: Array | None) -> Array:
            _need_arguments(function, called, grid)

            def components(*points: Array) -> tuple[Array, ...]:
                return _components(function(*points), called, field, grid)

            components.__name__ = called
            return sample(components, grid)

    Given.__name__ = Given.__qualname__ = called
    Given.__doc__ = inspect.getdoc(function) or f"The function {called}."
    return Given


def _need_arguments(function: Callable[..., Any], called: str, grid: Grid) -> None:
    axes = "xyz"[: grid.dimensions]
    try:
        inspect.signature(function).bind(*axes)
    except TypeError:
        raise ValueError(f"{called}{inspect.signature(function)}: a function of {', '.join(axes)} is needed") from None


def _components(values: Any, called: str, field: Field, grid: Grid) -> tuple[Array, ...]:
    """The values that a function has returned, as one array for each component of the field."""
    if not isinstance(values, tuple | list):
        values = jnp.asarray(values)
        values = tuple(values) if values.ndim > grid.dimensions else (values,)
    parts, needed = tuple(map(jnp.asarray, values)), component_count(field, grid)
    if len(parts) != needed:
        raise ValueError(f"{called} gives components: {len(parts)}; needed for this {field.rank}: {needed}")
    if field.real and any(map(jnp.iscomplexobj, parts)):
        raise ValueError(f"{called} gives complex values: real ones are needed for a {field.rank}")
    return parts
