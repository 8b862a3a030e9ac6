"""spectra.h5: shell spectra against time."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import jax
import numpy as np

from solver.cluster import is_first
from solver.config import ConfigError
from solver.diagnostics import shell_wavenumbers
from solver.equations.system import PeriodicSystem
from solver.io import Row, RunDirectory, SpectraFile, verify_data
from solver.outputs.base import Output, Run
from solver.outputs.figures import pyplot, save
from solver.steppers.base import State

_spectra = jax.jit(lambda equation, fields: equation.spectra(fields))


@dataclass(frozen=True)
class Spectra(Output):
    """The equation's shell spectra: half the mean square in each shell |k| ∈ [k − Δk/2, k + Δk/2).

    Rows go to a journal beside the file, which is brought up to date at every checkpoint and whenever the journal has
    grown to a quarter of it. One all-reduce of the shells for each spectrum.
    """

    name: ClassVar[str] = "spectra"

    def check(self, equation: PeriodicSystem) -> None:
        shells = shell_wavenumbers(equation.grid).shape
        fields = equation.field_shapes()
        for name, values in jax.eval_shape(lambda f: equation.spectra(f), fields).items():
            if values.shape != shells:
                raise ValueError(
                    f"{type(equation).__name__}: spectra() gives {name} of shape {list(values.shape)}; "
                    f"{list(shells)} is needed"
                )

    def programs(self, equation: PeriodicSystem, state: State) -> dict[str, Any]:
        return {"spectra": _spectra.trace(equation, state.field)}

    def resume(self, run: Run) -> None:
        file = SpectraFile(run.directory.spectra)
        if file.path.exists() and verify_data(file.path):
            raise ConfigError(f"{file.path}: damaged; move it away to continue without its rows")

    def write(self, run: Run, state: State) -> None:
        values = {name: np.asarray(v) for name, v in _spectra(run.equation, state.field).items()}
        if is_first():
            row = Row(int(state.step), float(state.t), values)
            with run.writer.while_waiting():
                SpectraFile(run.directory.spectra).append(row, shell_wavenumbers(run.equation.grid))

    def flush(self, run: Run) -> None:
        SpectraFile(run.directory.spectra).merge()

    @classmethod
    def drop_after(cls, directory: RunDirectory, step: int) -> None:
        SpectraFile(directory.spectra).drop_after(step)

    @classmethod
    def verify(cls, directory: RunDirectory) -> dict[Path, list[str]]:
        file = SpectraFile(directory.spectra)
        found = {file.path: verify_data(file.path)} if file.path.exists() else {}
        if file.journal.exists():
            found[file.journal] = [f"line {n}: its checksum does not match" for n in file.damaged_lines()]
        return found

    @classmethod
    def draw(cls, directory: RunDirectory, folder: Path) -> list[Path]:
        """One panel for each spectrum, at most nine times in it."""
        file = SpectraFile(directory.spectra)
        rows, k = file.rows(), file.shells()
        if not rows or k is None:
            return []
        plt = pyplot()
        names = list(rows[-1].spectra)
        figure, axes = plt.subplots(1, len(names), figsize=(5 * len(names), 4), squeeze=False, layout="constrained")
        for axis, name in zip(axes.flat, names, strict=True):
            for row in rows[:: max(1, len(rows) // 8)]:
                values = row.spectra[name]
                # round-off alone fills the highest shells of a smooth field
                seen = (k > 0) & (values > 1e-20 * values.max())
                colour = plt.cm.viridis(row.t / max(rows[-1].t, 1e-300))
                axis.loglog(k[seen], values[seen], ".-", ms=4, lw=1, color=colour, label=f"t = {row.t:.3g}")
            axis.set(title=f"{name} per shell", xlabel="k")
            axis.legend(fontsize=7)
        return save(figure, folder / "spectra.png")
