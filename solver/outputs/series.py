"""series.csv: scalars against time."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import jax
import numpy as np

from solver.cluster import LOGGER, is_first
from solver.equations.base import PeriodicSystem
from solver.io import RunDirectory, SeriesFile, drop_rows_after, read_columns, read_series
from solver.outputs.base import Output, Run
from solver.outputs.figures import pyplot, save
from solver.steppers.base import State

_series = jax.jit(lambda equation, fields, dt: equation.series(fields, dt))
_conserved = jax.jit(lambda equation, fields: equation.conserved(fields))


@dataclass(frozen=True)
class Series(Output):
    """One row of scalars: step, t, dt, the equation's `series`, and the drift of what it conserves.

    Drift is relative to the value at the start of the run (absolute where that is zero). The equation's warnings of
    a row go to the log, each kind once. All-reduces only.
    """

    name: ClassVar[str] = "series"

    def check(self, equation: PeriodicSystem) -> None:
        fields = equation.field_shapes()
        row = jax.eval_shape(lambda f: equation.series(f, np.float64(1)), fields)
        units = equation.series_units()
        if row.keys() != units.keys():
            raise ValueError(
                f"{type(equation).__name__}: series() has the columns {', '.join(row)}; units of "
                f"{', '.join(units)} are given"
            )
        conserved = jax.eval_shape(lambda f: equation.conserved(f), fields)
        for name, value in [*row.items(), *conserved.items()]:
            if value.shape != ():
                raise ValueError(f"{type(equation).__name__}: series() gives {name} of shape {list(value.shape)}")

    def begin(self, run: Run) -> None:
        _file(run, _traced_drifts(run.equation)).begin()

    def resume(self, run: Run) -> None:
        file = _file(run, _traced_drifts(run.equation))
        if file.path.exists() and read_columns(file.path):
            file.check()
        else:
            file.begin()

    def write(self, run: Run, state: State) -> None:
        row = {name: float(v) for name, v in _series(run.equation, state.field, np.float64(state.dt)).items()}
        conserved = _conserved(run.equation, state.field)
        for name, now in conserved.items():
            before = float(state.conserved[name])
            row[f"{name}_drift"] = (float(now) - before) / (abs(before) or 1.0)
        if is_first():
            _file(run, conserved).append({"step": int(state.step), "t": float(state.t), "dt": float(state.dt), **row})
        _warn(run, state, row)

    @classmethod
    def drop_after(cls, directory: RunDirectory, step: int) -> None:
        drop_rows_after(directory.series, step)

    @classmethod
    def draw(cls, directory: RunDirectory, folder: Path) -> list[Path]:
        """One panel for each column that is not constant."""
        if not directory.series.exists():
            return []
        curves = _curves(read_series(directory.series))
        if not curves:
            return []
        across = min(3, len(curves))
        down = -(-len(curves) // across)
        figure, axes = pyplot().subplots(
            down, across, figsize=(4 * across, 2.6 * down), squeeze=False, layout="constrained"
        )
        for axis, (name, (t, values)) in zip(axes.flat, curves.items(), strict=False):
            axis.plot(t, values, lw=1.2)
            axis.set(title=name.replace("_", " "), xlabel="t")
        for axis in list(axes.flat)[len(curves) :]:
            axis.set_visible(False)
        return save(figure, folder / "series.png")


def _curves(columns: dict[str, np.ndarray]) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """t and values of each column that is not constant; none where there are less than two rows."""
    if len(columns.get("t", ())) < 2:
        return {}
    t = columns["t"]
    curves = {name: (t, values) for name, values in columns.items() if name not in ("step", "t")}
    curves["dt"] = (t[1:], columns["dt"][1:])  # no step was taken before the first state
    return {name: curve for name, curve in curves.items() if np.ptp(curve[1]) > 0}


def _file(run: Run, drifts: Iterable[str]) -> SeriesFile:
    units = {**run.equation.series_units(), **{f"{name}_drift": "1" for name in drifts}}
    return SeriesFile(run.directory.series, units)


def _traced_drifts(equation: PeriodicSystem) -> list[str]:
    return list(jax.eval_shape(lambda fields: equation.conserved(fields), equation.field_shapes()))


def _warn(run: Run, state: State, row: dict[str, float]) -> None:
    for warning in run.equation.warnings(row):
        kind = warning.partition("=")[0]
        if kind not in run.warned:
            run.warned.add(kind)
            LOGGER.warning("step %d, t = %.6g: %s", int(state.step), float(state.t), warning)
