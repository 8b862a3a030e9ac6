"""Makes docs/gallery.md: a picture of every equation that has a case in runs/, and the command that it comes from.

    python docs/make_gallery.py                       every equation; some minutes on two cores
    python docs/make_gallery.py mhd burgers           these only, and the page
    python docs/make_gallery.py --page                the page only

A new equation with a case needs no entry here. Its case is run as it stands (in one dimension with many snapshots) and
its first field is drawn; the tables below say where a shorter run or another field is better.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import time
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from solver.assemble import Registry
from solver.config.cases import cases
from solver.io import variables_in
from solver.pictures import pyplot

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "gallery.md"
PICTURES = ROOT / "docs" / "images" / "gallery"
LARGEST = 150_000  # bytes of a picture
INSTANTS = 120  # snapshots of a run in one dimension

CASE = {"navier-stokes": "kelvin-helmholtz"}  # where an equation has several; its first one otherwise
SHORTER = {
    "gray-scott": ["grid.shape=[192,192]", "time.end=5000"],
    "isothermal-flow": ["grid.shape=[48,48,48]", "time.end=10.0"],
    "kuramoto-sivashinsky": ["grid.shape=[192,192]", "time.end=60.0"],
    "schroedinger-poisson": ["grid.shape=[48,48,48]", "time.end=20.0"],
}
FIELD = {
    "boussinesq": "buoyancy",
    "complex-ginzburg-landau": "modulus",
    "gray-scott": "v",
    "hall-mhd": "magnetic_field",
    "mhd": "magnetic_field",
    "navier-stokes": "dye",
    "schroedinger-poisson": "density",
    "shallow-water": "height",
}
CUT = {"boussinesq": 1}  # axis across a plane in three dimensions; the last one otherwise

HEAD = """# Gallery

Each picture is of the last state of a run that takes less than a minute on two cores, made by the command beside it
(`python docs/make_gallery.py`). In three dimensions it is a plane through the middle of the box, in one dimension the
whole run, time upwards. Of a vector field the curl out of the plane is drawn. Coarse planes are drawn on four times as
many points, from their Fourier series.
"""


@dataclass(frozen=True)
class Entry:
    """One equation of the page.

    Args:
        equation: its name.
        case: name of its run file.
        path: the run file.
        table: what is in it.
    """

    equation: str
    case: str
    path: Path
    table: dict[str, Any]

    @property
    def words(self) -> list[str]:
        """Arguments of `slabwave` that make the picture's run."""
        overrides = [*SHORTER.get(self.equation, [])]
        if len(self.table["grid"]["shape"]) == 1:
            overrides.append(f"output.snapshots.every_time={float(self.table['time']['end']) / INSTANTS:.4g}")
        return ["run", f"runs/{self.path.name}", *overrides, f"output.directory={self.directory}"]

    @property
    def directory(self) -> str:
        """Where that run writes, from the root of the repository."""
        return f"output/gallery/{self.equation}"

    @property
    def picture(self) -> Path:
        """Path of the picture."""
        return PICTURES / f"{self.equation}.png"


def entries() -> dict[str, Entry]:
    """Every equation that has a case, by name."""
    found: dict[str, Entry] = {}
    for case, path in cases().items():
        table = tomllib.loads(path.read_text(encoding="utf-8"))
        name = table["equation"]["name"]
        if CASE.get(name, case) == case and name not in found:
            found[name] = Entry(name, case, path, table)
    return dict(sorted(found.items()))


# ---- the page ---------------------------------------------------------------------------------------------------


def page() -> str:
    """Text of docs/gallery.md."""
    return "\n".join([HEAD, *(_section(entry) for entry in entries().values())])


def _section(entry: Entry) -> str:
    described = Registry().find("equation", entry.equation)
    formula = described.formula or described.text.split("\n\n")[0]
    parameters = ", ".join(f"`{key} = {value}`" for key, value in entry.table["equation"].items() if key != "name")
    lines = [
        f"## {entry.equation}\n",
        f"```\n{formula}\n```\n",
        f"![{entry.table['title']}]({entry.picture.relative_to(PAGE.parent).as_posix()})\n",
        f"{entry.table['title']}: [runs/{entry.path.name}](../runs/{entry.path.name}).",
        f"{parameters or 'No parameters'}. Source: {entry.table['reference']}.\n",
        f"```\nslabwave {' '.join(entry.words)}\n```\n",
    ]
    return "\n".join(lines)


# ---- the pictures -----------------------------------------------------------------------------------------------


def make(entry: Entry) -> None:
    """Run the case and draw its picture."""
    shutil.rmtree(ROOT / entry.directory, ignore_errors=True)
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    began = time.monotonic()
    subprocess.run([sys.executable, "-m", "solver", *entry.words], cwd=ROOT, env=environment, check=True)
    paths = sorted((ROOT / entry.directory / "snapshots").glob("step-*.h5"))
    PICTURES.mkdir(parents=True, exist_ok=True)
    for dpi in (100, 80, 60, 45):
        _draw(entry, paths, dpi)
        if entry.picture.stat().st_size < LARGEST:
            break
    print(f"{entry.equation}: {time.monotonic() - began:.0f} s, {entry.picture.stat().st_size // 1000} kB", flush=True)


def _draw(entry: Entry, paths: list[Path], dpi: int) -> None:
    label, values, (first, second), t = _through_time(entry, paths) if _is_line(paths) else _plane(entry, paths[-1])
    largest = float(np.abs(values).max()) or 1.0
    colours = (
        {"cmap": "RdBu_r", "vmin": -largest}
        if values.min() < -0.02 * largest
        else {"cmap": "magma", "vmin": values.min()}
    )
    figure, axis = pyplot().subplots(figsize=(5.2, 4.2), layout="constrained")
    box = [0, first[1], 0, second[1]]
    image = axis.imshow(values.T, origin="lower", extent=box, aspect="auto", vmax=largest, **colours)
    if second[0] != "t":
        axis.set_aspect("equal")
    figure.colorbar(image, ax=axis, shrink=0.85)
    axis.set(xlabel=first[0], ylabel=second[0], title=f"{label}{t}")
    figure.savefig(entry.picture, dpi=dpi)
    pyplot().close(figure)


def _is_line(paths: list[Path]) -> bool:
    with h5py.File(paths[0]) as file:
        return "y" not in file


def _through_time(entry: Entry, paths: list[Path]) -> Any:
    """Values `(x, t)` of a run in one dimension."""
    rows = []
    for path in paths:
        with h5py.File(path) as file:
            label, values = _field(entry, file)
            rows.append(values.reshape(len(file["x"])))
            length, t = _length(file, "x"), float(file.attrs["time"])
    return label, np.stack(rows, axis=1), (("x", length), ("t", t)), ""


def _plane(entry: Entry, path: Path) -> Any:
    """Values on a plane of a snapshot; of a vector its curl out of the plane."""
    with h5py.File(path) as file:
        label, values = _field(entry, file)
        names = [name for name in "xyz" if name in file]
        sides = {name: _length(file, name) for name in names}
        t = float(file.attrs["time"])
    if len(names) == 3:
        cut = CUT.get(entry.equation, 2)
        values = np.take(values, values.shape[cut] // 2, axis=cut)
        del names[cut]
    (a, b), (i, j) = names, ("xyz".index(name) for name in names)
    if values.ndim > 2:
        label = f"curl of {label}"
        values = _slope(values[..., j], 0, sides[a]) - _slope(values[..., i], 1, sides[b])
    return label, _refined(_refined(values, 0), 1), ((a, sides[a]), (b, sides[b])), f", t = {t:.4g}"


def _field(entry: Entry, file: h5py.File) -> tuple[str, np.ndarray]:
    """Label and values of what is drawn: `(x, …)`, a vector `(x, …, component)`."""
    there = variables_in(file)
    fields = Registry().find("equation", entry.equation).fields
    name = FIELD.get(entry.equation) or next((n for n in fields if n in there), there[0])
    if name not in there or f"{name[:-5]}_imag" in there:
        name = next(n for n in there if n.endswith("_real"))[:-5]
        return f"|{name}|", np.hypot(file[f"{name}_real"][:], file[f"{name}_imag"][:])
    return name.replace("_", " "), file[name][:]


def _length(file: h5py.File, axis: str) -> float:
    return float(file[axis][1]) * len(file[axis])


def _slope(values: np.ndarray, axis: int, length: float) -> np.ndarray:
    """Derivative along an axis of periodic values."""
    n = values.shape[axis]
    k = 2j * np.pi / length * np.fft.rfftfreq(n, 1 / n)
    if n % 2 == 0:
        k[-1] = 0
    shape = [-1 if a == axis else 1 for a in range(values.ndim)]
    return np.fft.irfft(k.reshape(shape) * np.fft.rfft(values, axis=axis), n, axis=axis)


def _refined(values: np.ndarray, axis: int) -> np.ndarray:
    """The same Fourier series on four times as many points along an axis, where it has less than 100."""
    n = values.shape[axis]
    return values if n >= 100 else np.fft.irfft(4 * np.fft.rfft(values, axis=axis), 4 * n, axis=axis)


def main() -> None:
    """Make the pictures of the equations named, of all if none is, and the page."""
    known = entries()
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("equations", nargs="*", metavar="EQUATION", help=f"of {', '.join(known)}")
    parser.add_argument("--page", action="store_true", help="write the page only")
    options = parser.parse_args()
    unknown = sorted(set(options.equations) - set(known))
    if unknown:
        parser.error(f"{', '.join(unknown)}: no case in runs/; there are {', '.join(known)}")
    for name in [] if options.page else options.equations or known:
        make(known[name])
    PAGE.write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
