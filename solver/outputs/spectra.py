"""spectra.h5: shell spectra against time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import jax
from jaxtyping import Array

from solver.diagnostics import shell_wavenumbers
from solver.equations.system import PeriodicSystem
from solver.io import Axis, Column, Layout, RunDirectory
from solver.operators import Fields
from solver.outputs.figures import pyplot, save
from solver.outputs.records import Records


@dataclass(frozen=True)
class Spectra(Records):
    """The equation's shell spectra: half the mean square in each shell |k| ∈ [k − Δk/2, k + Δk/2).

    One all-reduce of the shells for each spectrum.
    """

    name: ClassVar[str] = "spectra"

    def layout(self, equation: PeriodicSystem) -> Layout:
        k = Axis(shell_wavenumbers(equation.grid), "1/length", "centre of the shell")
        names = jax.eval_shape(lambda fields: equation.spectra(fields), equation.field_shapes())
        about = {name: f"half the mean square of the {name} in each shell" for name in names}
        return Layout({"k": k}, {name: Column(("k",), long_name=text) for name, text in about.items()})

    def values(self, equation: PeriodicSystem, fields: Fields) -> Mapping[str, Array]:
        return equation.spectra(fields)

    @classmethod
    def draw(cls, directory: RunDirectory, folder: Path) -> list[Path]:
        """One panel for each spectrum, at most nine times in it."""
        file = cls.file(directory)
        rows, layout = file.rows(), file.layout()
        if not rows or layout is None:
            return []
        plt, k = pyplot(), layout.axes["k"].values
        names = list(rows[-1].values)
        figure, axes = plt.subplots(1, len(names), figsize=(5 * len(names), 4), squeeze=False, layout="constrained")
        for axis, name in zip(axes.flat, names, strict=True):
            for row in rows[:: max(1, len(rows) // 8)]:
                values = row.values[name]
                # round-off alone fills the highest shells of a smooth field
                seen = (k > 0) & (values > 1e-20 * values.max())
                colour = plt.cm.viridis(row.t / max(rows[-1].t, 1e-300))
                axis.loglog(k[seen], values[seen], ".-", ms=4, lw=1, color=colour, label=f"t = {row.t:.3g}")
            axis.set(title=f"{name} per shell", xlabel="k")
            axis.legend(fontsize=7)
        return save(figure, folder / "spectra.png")
