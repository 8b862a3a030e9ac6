"""Means and variances over a window of time: of records, on the host, and of fields at every point."""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from solver.dynamics.any_equation import AnyEquation
from solver.dynamics.compiled import compiled
from solver.grid import Storage
from solver.io import VARIANCE, Column, RecordsLayout
from solver.operators import Fields
from solver.outputs.records import Records, layout_of, records_of
from solver.steppers.state import State


def key_of(name: str, layout: RecordsLayout) -> str:
    """Key of an output's sums in the state. It depends on axes and columns, so that other ones start new sums."""
    return f"{name}-{zlib.crc32(json.dumps(layout.of_rows(), sort_keys=True).encode()):08x}"


@dataclass(frozen=True)
class RecordSums:
    """Mean and variance over a window of the records of outputs, on the host, in double precision.

    Args:
        sources: the outputs, by name.
    """

    sources: Mapping[str, Records]

    def layouts(self, equation: AnyEquation) -> dict[str, RecordsLayout]:
        """Axes and columns of means and variances, by name."""
        return {name: _of_means(layout_of(source, equation)) for name, source in self.sources.items()}

    def start(self, equation: AnyEquation) -> dict[str, Any]:
        """The sums at the start of a window: zeros."""
        layouts = {name: layout_of(source, equation) for name, source in self.sources.items()}
        zeros = lambda layout, column: {part: np.zeros(layout.shape(column)) for part in ("mean", "squares")}  # noqa: E731
        return {
            key_of(name, layout): {column: zeros(layout, column) for column in layout.columns}
            for name, layout in layouts.items()
        }

    def storage(self, equation: AnyEquation) -> dict[str, Storage]:
        """Storage of the sums: numbers of the host."""
        return {key_of(name, layout_of(source, equation)): Storage("host") for name, source in self.sources.items()}

    def add(
        self, equation: AnyEquation, state: State, sums: Mapping[str, Any], weight: Any, total: Any
    ) -> dict[str, Any]:
        """The sums with the records of a state; `total` includes its weight. Collective."""
        added = {}
        for name, source in self.sources.items():
            key, before = _sums_of(name, sums)
            added[key] = {
                column: {
                    "mean": add_to_mean(before[column]["mean"], value, weight, total),
                    "squares": add_to_squares(before[column]["squares"], value - before[column]["mean"], weight, total),
                }
                for column, value in records_of(source, equation, state).items()
            }
        return added

    def values(self, sums: Mapping[str, Any], weight: Any) -> dict[str, dict[str, np.ndarray]]:
        """The columns of a row, by name; `weight` is the length of the window."""
        rows: dict[str, dict[str, np.ndarray]] = {}
        for name in self.sources:
            row = rows[name] = {}
            for column, parts in _sums_of(name, sums)[1].items():
                row[column] = np.asarray(parts["mean"])
                row[column + VARIANCE] = np.asarray(parts["squares"]) / weight
        return rows


def _sums_of(name: str, sums: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """Key and sums of an output."""
    return next((key, own) for key, own in sums.items() if key.rpartition("-")[0] == name)


def _of_means(layout: RecordsLayout) -> RecordsLayout:
    columns = {}
    for name, column in layout.columns.items():
        long_name = f"mean over time of: {column.long_name or name}"
        columns[name] = Column(column.axes, column.units, long_name, column.power_law)
        square = f"({column.units})^2" if column.units else ""
        columns[name + VARIANCE] = Column(column.axes, square, f"variance in time of: {column.long_name or name}")
    return RecordsLayout(layout.axes, columns)


def _sums(equation: AnyEquation, names: Iterable[str]) -> dict[str, Any]:
    """Sums of zero: the mean in the form of the field (coefficients or points), squares at the points.

    Where conditions at walls depend on time, coefficients do not say what these add: means are at the points, too.
    """
    held, points, dtype = equation.field_shapes(), equation.physical_shapes(), equation.grid.dtype
    mean = lambda name: points[name] if _is_at_points(equation, name) else held[name].shape  # noqa: E731
    of = lambda name: dtype if _is_at_points(equation, name) else held[name].dtype  # noqa: E731
    return {
        name: {"mean": jnp.zeros(mean(name), of(name)), "squares": jnp.zeros(points[name], dtype)} for name in names
    }


def _is_at_points(equation: AnyEquation, name: str) -> bool:
    """True for a mean that is held at the points, whatever holds the field."""
    walls = getattr(equation, "walls", None)
    return walls is not None and walls[name].hold_time


def storage_of_sums(equation: AnyEquation, names: Iterable[str]) -> dict[str, dict[str, Storage]]:
    """Storage of the sums of fields: the mean is stored as the field is, or at the points; squares at the points."""
    held, points = equation.field_storage(), Storage("points")
    mean = {name: points if _is_at_points(equation, name) else held[name] for name in names}
    return {name: {"mean": mean[name], "squares": points} for name in names}


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
        mean, space = sums[name]["mean"], equation.space(name)
        if _is_at_points(equation, name):
            now = space.inverse(now)
            deviation = now - mean
        else:
            deviation = space.inverse_of_change(now - mean)
        squares = add_to_squares(sums[name]["squares"], deviation, weight, total)
        added[name] = {"mean": add_to_mean(mean, now, weight, total), "squares": squares}
    return added


@compiled
def means_and_variances(equation: AnyEquation, sums: Any, total: Array) -> dict[str, Array]:
    """`FIELD_mean` and `FIELD_variance` at the points. One inverse transform of each field."""
    moments = {}
    for name, parts in sums.items():
        at_points = _is_at_points(equation, name)
        moments[f"{name}_mean"] = parts["mean"] if at_points else equation.space(name).inverse(parts["mean"])
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
