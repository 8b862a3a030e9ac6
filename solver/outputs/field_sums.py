"""Mean and variance over time of fields at every point: the mean as coefficients, the variance at the points."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array

from solver.dynamics.any_equation import AnyEquation
from solver.dynamics.compiled import compiled
from solver.grid import Storage
from solver.operators import Fields


def _sums(equation: AnyEquation, names: Iterable[str]) -> dict[str, Any]:
    """Sums of zero: the mean in the form of the field (coefficients or points), squares at the points."""
    held, points = equation.field_shapes(), equation.physical_shapes()
    return {
        name: {
            "mean": jnp.zeros(held[name].shape, held[name].dtype),
            "squares": jnp.zeros(points[name], equation.grid.dtype),
        }
        for name in names
    }


def storage_of_sums(equation: AnyEquation, names: Iterable[str]) -> dict[str, dict[str, Storage]]:
    """Storage of the sums of fields: the mean is stored as the field is, squares at the points."""
    held = equation.field_storage()
    return {name: {"mean": held[name], "squares": Storage("points")} for name in names}


def shapes_of_sums(equation: AnyEquation, names: tuple[str, ...]) -> dict[str, Any]:
    """Shapes and shardings of the sums of fields; computes nothing."""
    shapes = jax.eval_shape(lambda: _sums(equation, names))
    place = lambda storage, leaf: jax.ShapeDtypeStruct(  # noqa: E731
        leaf.shape, leaf.dtype, sharding=storage.sharding(len(leaf.shape), equation.grid)
    )
    return jax.tree.map(place, storage_of_sums(equation, names), shapes)


def no_sums(equation: AnyEquation, names: tuple[str, ...]) -> dict[str, Any]:
    """The sums at the start of a window: zeros."""
    shapes = shapes_of_sums(equation, names)
    return jax.tree.map(lambda leaf: _zeros(leaf.shape, str(leaf.dtype), leaf.sharding)(), shapes)


@cache
def _zeros(shape: tuple[int, ...], dtype: str, sharding: Any) -> Callable[[], Array]:
    """A function that makes zeros with this sharding; compiled once, not for each window."""
    return jax.jit(lambda: jnp.zeros(shape, dtype), out_shardings=sharding)


@compiled
def add_fields(equation: AnyEquation, sums: Any, fields: Fields, weight: Array, total: Array) -> Any:
    """Add a state with a weight to the sums; `total` includes this weight. One inverse transform of each field."""
    weight, total = (jnp.asarray(value, equation.grid.dtype) for value in (weight, total))
    added = {}
    for name, now in fields.items():
        mean = sums[name]["mean"]
        deviation = equation.space(name).inverse_of_change(now - mean)
        squares = add_to_squares(sums[name]["squares"], deviation, weight, total)
        added[name] = {"mean": add_to_mean(mean, now, weight, total), "squares": squares}
    return added


@compiled
def means_and_variances(equation: AnyEquation, sums: Any, total: Array) -> dict[str, Array]:
    """`FIELD_mean` and `FIELD_variance` at the points. One inverse transform of each field."""
    moments = {}
    for name, parts in sums.items():
        moments[f"{name}_mean"] = equation.space(name).inverse(parts["mean"])
        moments[f"{name}_variance"] = parts["squares"] / jnp.asarray(total, equation.grid.dtype)
    return moments


def units_of(equation: AnyEquation, name: str) -> str:
    """Units of an entry of `means_and_variances`."""
    field, _, which = name.rpartition("_")
    units = equation.fields[field].units
    return units if which == "mean" or not units else f"({units})^2"


def add_to_mean(mean: Any, value: Any, weight: Any, total: Any) -> Any:
    """Add a value to a mean: mean + (weight/total)(value − mean).

    Args:
        mean: mean of the earlier values, of any type that can be added and scaled.
        value: the new value.
        weight: weight of the new value.
        total: weight of all values, including the new one.

    Source: West, Comm. ACM 22 (1979) 532.
    """
    return mean + (weight / total) * (value - mean)


def add_to_squares(squares: Any, deviation: Any, weight: Any, total: Any) -> Any:
    """Add a value to Σ weight (value − mean)², without the cancellation of ⟨q²⟩ − ⟨q⟩².

    Args:
        squares: the sum of the earlier values.
        deviation: the new value minus the mean of the earlier values.
        weight, total: as in `add_to_mean`. Divide the sum by `total` for the variance.

    Source: West, Comm. ACM 22 (1979) 532.
    """
    return squares + weight * (1 - weight / total) * deviation**2
