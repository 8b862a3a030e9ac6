"""What is written in a pause: rows, spectra, snapshots, checkpoints."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import jax
import numpy as np

from solver.assemble import Assembly
from solver.cluster import LOGGER, is_first
from solver.diagnostics import shell_wavenumbers
from solver.io import (
    RunDirectory,
    Series,
    Spectra,
    keep_newest,
    list_checkpoints,
    save_checkpoint,
    snapshot_path,
    step_of,
    write_snapshot,
)
from solver.steppers import State


class Outputs:
    """Everything that a run writes about its states. Collective: every process calls, the first one writes text.

    Args:
        run: the run's objects.
        directory: where it writes.
        resumed_at: step of the checkpoint it continues from; None for a new run.
    """

    def __init__(self, run: Assembly, directory: RunDirectory, resumed_at: int | None) -> None:
        self.run, self.directory = run, directory
        self.schedules = {kind: run.schedule(kind) for kind in ("series", "spectra", "snapshots", "checkpoints")}
        equation = run.equation
        self._row = partial(jax.jit(type(equation).series), equation)
        self._conserved = partial(jax.jit(type(equation).conserved), equation)
        self._spectra_of = partial(jax.jit(type(equation).spectra), equation)
        self._snapshot_of = partial(jax.jit(type(equation).snapshot), equation)
        drifts = jax.eval_shape(lambda fields: equation.conserved(fields), run.state_shapes().field)
        units = {**equation.series_units(), **{f"{name}_drift": "1" for name in drifts}}
        self._series = Series(directory.series, units)
        self._spectra = Spectra(directory.spectra, shell_wavenumbers(run.grid))
        self._warned: set[str] = set()
        if is_first():
            self._open(resumed_at)

    def _open(self, resumed_at: int | None) -> None:
        if self.schedules["series"] is not None:
            self._series.begin() if resumed_at is None else self._series.resume(resumed_at)
        if self.schedules["spectra"] is not None and resumed_at is not None:
            self._spectra.resume(resumed_at)

    def write(self, state: State, *, start: bool, end: bool) -> None:
        """What is due at this state; at the start and the end everything but checkpoints, at the end those too."""
        due = {
            kind: schedule is not None and (end or (start and kind != "checkpoints") or schedule.due(state))
            for kind, schedule in self.schedules.items()
        }
        if due["series"]:
            self._write_row(state)
        if due["spectra"]:
            values = {k: np.asarray(v) for k, v in self._spectra_of(state.field).items()}
            if is_first():
                self._spectra.append(int(state.step), float(state.t), values)
        if due["snapshots"]:
            self._write_snapshot(state)
        if due["checkpoints"] and (end or int(state.step) > 0):
            self.checkpoint(state)

    def _write_row(self, state: State) -> None:
        values = {k: float(v) for k, v in self._row(state.field, np.float64(state.dt)).items()}
        for name, now in self._conserved(state.field).items():
            before = float(state.conserved[name])
            values[f"{name}_drift"] = (float(now) - before) / (abs(before) or 1.0)
        if is_first():
            self._series.append({"step": int(state.step), "t": float(state.t), "dt": float(state.dt), **values})
        self._warn(state, values)

    def _warn(self, state: State, values: dict[str, float]) -> None:
        for warning in self.run.equation.warnings(values):
            kind = warning.partition("=")[0]
            if kind not in self._warned:
                self._warned.add(kind)
                LOGGER.warning("step %d, t = %.6g: %s", int(state.step), float(state.t), warning)

    def _write_snapshot(self, state: State) -> None:
        path = snapshot_path(self.directory.snapshots, int(state.step))
        equation = self.run.equation
        attributes = {"title": self.run.config.title, "equation": equation.name}
        fields, grid = self._snapshot_of(state.field), self.run.grid
        units = equation.snapshot_units()
        write_snapshot(path, fields, grid, int(state.step), float(state.t), attributes, units)

    def checkpoint(self, state: State) -> Path:
        """Write a checkpoint, unless this step has one, and drop the oldest beyond `keep`."""
        existing = {step_of(path): path for path in list_checkpoints(self.directory.checkpoints)}
        if int(state.step) in existing:
            return existing[int(state.step)]
        path = save_checkpoint(self.directory.checkpoints, state, self.run.grid, self.run.config.to_toml())
        keep_newest(self.directory.checkpoints, self.run.config.output.checkpoints.keep)
        return path
