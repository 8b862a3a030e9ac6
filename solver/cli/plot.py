"""`plot DIR`: PNG figures of a run's series, spectra and slices."""

from __future__ import annotations

import argparse
import csv
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from solver.config import ConfigError
from solver.io import RunDirectory

FIGURES = "figures"


def plot(options: argparse.Namespace) -> int:
    """Write DIR/figures/series.png, spectra.png and a slice of each snapshot's fields."""
    plt = _pyplot()
    directory = RunDirectory(Path(options.directory))
    if not directory.traces():
        raise ConfigError(f"{directory.path} holds no run")
    folder = directory.path / FIGURES
    folder.mkdir(exist_ok=True)
    written = []
    if directory.series.exists():
        written += _series(plt, directory.series, folder / "series.png")
    if directory.spectra.exists():
        written += _spectra(plt, directory.spectra, folder / "spectra.png")
    for snapshot in sorted(directory.snapshots.glob("step-*.h5")):
        written += _slice(plt, snapshot, folder / f"{snapshot.stem}.png")
    for path in written:
        print(path)
    return 0


def _pyplot() -> Any:
    try:
        import matplotlib
    except ImportError:
        raise ConfigError("plot needs matplotlib: pip install 'slabwave[plot]'") from None
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    return plt


def read_series(path: Path) -> dict[str, np.ndarray]:
    """Columns of series.csv by name."""
    with path.open(encoding="utf-8") as file:
        next(file)
        rows = list(csv.DictReader(file))
    return {name: np.array([float(row[name]) for row in rows]) for name in (rows[0] if rows else {})}


def _series(plt: Any, path: Path, target: Path) -> list[Path]:
    columns = read_series(path)
    names = [name for name in columns if name not in ("step", "t")]
    if not names:
        return []
    across = 3
    down = -(-len(names) // across)
    figure, axes = plt.subplots(down, across, figsize=(4 * across, 2.6 * down), squeeze=False, layout="constrained")
    for axis, name in zip(axes.flat, names, strict=False):
        axis.plot(columns["t"], columns[name], lw=1.2)
        axis.set(title=name.replace("_", " "), xlabel="t")
    for axis in list(axes.flat)[len(names) :]:
        axis.set_visible(False)
    return _save(plt, figure, target)


def _spectra(plt: Any, path: Path, target: Path) -> list[Path]:
    with h5py.File(path, "r") as file:
        k, t = file["k"][:], file["t"][:]
        spectra = {name: file[name][:] for name in file if name not in ("k", "t", "step")}
    figure, axes = plt.subplots(1, len(spectra), figsize=(5 * len(spectra), 4), squeeze=False, layout="constrained")
    for axis, (name, rows) in zip(axes.flat, spectra.items(), strict=True):
        for at, row in list(zip(t, rows, strict=True))[:: max(1, len(t) // 8)]:
            # round-off alone fills the highest shells of a smooth field
            seen = (k > 0) & (row > 1e-20 * rows.max())
            axis.loglog(k[seen], row[seen], color=plt.cm.viridis(at / max(t[-1], 1e-300)), label=f"t = {at:.3g}")
        axis.set(title=f"{name} per shell", xlabel="k")
        axis.legend(fontsize=7)
    return _save(plt, figure, target)


def _slice(plt: Any, path: Path, target: Path) -> list[Path]:
    with h5py.File(path, "r") as file:
        axes_there = [name for name in "xyz" if name in file]
        names = [name for name in file if name not in (*axes_there, "time")]
        t = float(file.attrs["time"])
        planes = {name: _plane(file[name]) for name in names}
        sides = [file[name][:] for name in axes_there]
    figure, axes = plt.subplots(1, len(names), figsize=(4.2 * len(names), 3.6), squeeze=False, layout="constrained")
    for axis, (name, plane) in zip(axes.flat, planes.items(), strict=True):
        if plane.ndim == 1:
            axis.plot(sides[0], plane, lw=1.2)
            axis.set(xlabel="x")
        else:
            _image(figure, axis, plane, sides)
        axis.set(title=f"{name.replace('_', ' ')}, t = {t:.3g}")
    return _save(plt, figure, target)


def _plane(data: h5py.Dataset) -> np.ndarray:
    """All of a field in one or two dimensions; in three a plane a quarter of the way up, since symmetric flows often
    vanish in the middle."""
    return data[..., data.shape[-1] // 4] if data.ndim == 3 else data[:]


def _image(figure: Any, axis: Any, plane: np.ndarray, sides: list[np.ndarray]) -> None:
    """Signed fields around white, densities from black."""
    largest = np.abs(plane).max() or 1.0
    colours = {"vmin": -largest, "cmap": "RdBu_r"} if plane.min() < 0 else {"vmin": 0, "cmap": "magma"}
    box = [0, sides[0][1] * len(sides[0]), 0, sides[1][1] * len(sides[1])]
    image = axis.imshow(plane.T, origin="lower", extent=box, vmax=largest, **colours)
    figure.colorbar(image, ax=axis, shrink=0.8)
    axis.set(xlabel="x", ylabel="y")


def _save(plt: Any, figure: Any, target: Path) -> list[Path]:
    figure.savefig(target, dpi=130)
    plt.close(figure)
    return [target]
