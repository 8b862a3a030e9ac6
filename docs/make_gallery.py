"""Makes docs/gallery.md: a picture of every equation that has a case in runs/, and the command that it comes from.

    python docs/make_gallery.py                       every equation; some minutes on two cores
    python docs/make_gallery.py mhd burgers           these only, and the page
    python docs/make_gallery.py --drawn mhd           draws what was run before once more
    python docs/make_gallery.py --page                the page only

A new equation with a case needs no entry here. Its case is run as it stands (in one dimension with many snapshots) and
its first field is drawn, of a vector the curl, of a wavefunction the modulus; the tables below say where a shorter run
or another field is better.
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

from PIL import Image

from solver.assemble import Registry
from solver.config.toml import cases
from solver.io import list_snapshots, read_snapshot
from solver.pictures import View
from solver.pictures.drawn_slices import figure_against_time, figure_of
from solver.pictures.style import style

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "gallery.md"
PICTURES = ROOT / "docs" / "images" / "gallery"
LARGEST = 150_000  # bytes of a picture
INSTANTS = 120  # snapshots of a run in one dimension

CASE = {
    "gross-pitaevskii": "vortex-dipole",
    "navier-stokes": "kelvin-helmholtz",
    "rayleigh-benard": "rayleigh-benard",
    "vorticity": "two-dimensional-turbulence",
}  # where an equation has several; its first one otherwise
MORE = {
    "age-of-water": ("age", None),
    "barotropic-channel": ("q", None),
    "channel": ("velocity", "x"),
    "convection-3d": ("temperature", None),
    "couette": ("velocity", "x"),
    "inclined-layer": ("T", None),
    "internal-heating": ("T", None),
    "kadomtsev-petviashvili": ("u", None),
    "magnetoconvection": ("T", None),
    "oscillating-walls": ("u", "x"),
    "salt-fingers": ("S", None),
    "sloshing-condensate": ("density", None),
    "stirred-condensate": ("density", None),
}  # further cases of such an equation, and cases that write their equations: field and component of the picture
SHORTER = {
    "gray-scott": ["grid.shape=[192,192]", "time.end=5000"],
    "isothermal-flow": ["grid.shape=[48,48,48]", "time.end=10.0"],
    "kuramoto-sivashinsky": ["grid.shape=[192,192]", "time.end=60.0"],
    "schroedinger-poisson": ["grid.shape=[48,48,48]", "time.end=20.0"],
}
FIELD = {
    "boussinesq": "buoyancy",
    "coupled-gross-pitaevskii": "density_psi_1",
    "gray-scott": "v",
    "hall-mhd": "current",
    "mhd": "current",
    "navier-stokes": "dye",
    "rayleigh-benard": "temperature",
    "schroedinger-poisson": "density",
    "shallow-water": "height",
}

HEAD = """# Gallery

Each picture is of the last state of a run that takes less than a minute on two cores, a few of them some minutes. It is
made by the commands below it (`python docs/make_gallery.py`). In three dimensions it is a plane, in one dimension the
whole run, time upwards.
"""


@dataclass(frozen=True)
class Entry:
    """A picture of the page.

    Args:
        name: heading: the equation's name, or the name of a further case.
        equation: name of the equation.
        path: the run file.
        table: the values of the case.
    """

    name: str
    equation: str
    path: Path
    table: dict[str, Any]

    @property
    def words(self) -> list[str]:
        """Arguments of `slabwave` that make the picture's run."""
        overrides = [*SHORTER.get(self.name, [])]
        if len(self.table["grid"]["shape"]) == 1:
            overrides.append(f"output.snapshots.every_time={float(self.table['time']['end']) / INSTANTS:.4g}")
        return ["run", f"runs/{self.path.name}", *overrides, f"output.directory={self.directory}"]

    @property
    def directory(self) -> str:
        """Directory of that run, from the root of the repository."""
        return f"output/gallery/{self.name}"

    @property
    def view(self) -> View:
        """The quantity that is drawn."""
        if self.name in MORE:
            field, component = MORE[self.name]
            return View(field=field, component=component)
        return self._view_of_first_field()

    def _view_of_first_field(self) -> View:
        fields = Registry().find("equation", self.equation).fields_with(self.table["equation"], {})
        name, field = next(iter(fields.items()))
        dimensions = len(self.table["grid"]["shape"])
        if field.rank == "wavefunction":
            name = "modulus"
        elif field.rank == "vector" and dimensions > 1:
            name = "vorticity" if name == "velocity" else f"curl_{name}"
        name = FIELD.get(self.name, name)
        return View(
            field=name,
            component="z" if dimensions == 3 and name in ("vorticity", "current") and name not in fields else None,
        )

    @property
    def drawing(self) -> list[str]:
        """Arguments of `slabwave` that draw it."""
        component = ["--component", self.view.component] if self.view.component else []
        return ["plot", self.directory, "--field", str(self.view.field), *component]

    @property
    def picture(self) -> Path:
        """Path of the picture."""
        return PICTURES / f"{self.name}.png"


def entries() -> dict[str, Entry]:
    """Every equation that has a case, and further cases, by name."""
    found: dict[str, Entry] = {}
    for case, path in cases().items():
        table = tomllib.loads(path.read_text(encoding="utf-8"))
        equation = table["equation"]["name"]
        if case in MORE:
            found[case] = Entry(case, equation, path, table)
        elif CASE.get(equation, case) == case and equation not in found:
            found[equation] = Entry(equation, equation, path, table)
    return dict(sorted(found.items(), key=lambda item: (item[1].equation, item[0] != item[1].equation, item[0])))


# ---- the page ---------------------------------------------------------------------------------------------------


def page() -> str:
    """Text of docs/gallery.md."""
    return "\n".join([HEAD, *(_section(entry) for entry in entries().values())])


def _section(entry: Entry) -> str:
    numbers = {key: value for key, value in entry.table["equation"].items() if key != "name"}
    formula = None if entry.name in MORE else _formula(entry.equation)
    if entry.equation == "written":
        formula, numbers = "\n".join(numbers["write"]), numbers.get("parameters", {})
    tables = {f"scalars.{name}": keys for name, keys in entry.table.get("scalars", {}).items()}
    numbers |= {f"{name}.{key}": value for name, keys in tables.items() for key, value in keys.items()}
    parameters = ", ".join(f"`{key} = {value}`" for key, value in numbers.items())
    lines = [
        f"## {entry.name}\n",
        *([f"```\n{formula}\n```\n"] if formula else []),
        f"![{entry.table['title']}]({entry.picture.relative_to(PAGE.parent).as_posix()})\n",
        f"{entry.table['title']}: [runs/{entry.path.name}](../runs/{entry.path.name}).",
        f"{parameters or 'No parameters'}. Source: {entry.table['reference']}.\n",
        f"```\nslabwave {' '.join(entry.words)}\nslabwave {' '.join(entry.drawing)}\n```\n",
    ]
    return "\n".join(lines)


def _formula(equation: str) -> str:
    """Formula of an equation of the library, or the first paragraph of its description."""
    described = Registry().find("equation", equation)
    return str(described.formula or described.text.split("\n\n")[0])


# ---- the pictures -----------------------------------------------------------------------------------------------


def make(entry: Entry, *, drawn: bool) -> None:
    """Run the case, unless that was done before, and draw its picture."""
    began = time.monotonic()
    if not drawn:
        shutil.rmtree(ROOT / entry.directory, ignore_errors=True)
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        subprocess.run([sys.executable, "-m", "solver", *entry.words], cwd=ROOT, env=environment, check=True)
    snapshots = [read_snapshot(path) for path in list_snapshots(ROOT / entry.directory / "snapshots")]
    PICTURES.mkdir(parents=True, exist_ok=True)
    line = len(snapshots[0].axes) == 1
    figure = figure_against_time(snapshots, entry.view) if line else figure_of(snapshots[-1], entry.view)
    for dpi in (110, 90, 75, 60):
        with style(entry.view):
            figure.savefig(entry.picture, dpi=dpi)
        with Image.open(entry.picture) as picture:
            few = picture.convert("RGB").quantize(256, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
        few.save(entry.picture, optimize=True)
        if entry.picture.stat().st_size < LARGEST:
            break
    print(f"{entry.name}: {time.monotonic() - began:.0f} s, {entry.picture.stat().st_size // 1000} kB", flush=True)


def main() -> None:
    """Make the pictures of the equations named, of all if none is, and the page."""
    known = entries()
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("equations", nargs="*", metavar="EQUATION", help=f"of {', '.join(known)}")
    parser.add_argument("--drawn", action="store_true", help="run nothing: draw the runs that are there")
    parser.add_argument("--page", action="store_true", help="write the page only")
    options = parser.parse_args()
    unknown = sorted(set(options.equations) - set(known))
    if unknown:
        parser.error(f"{', '.join(unknown)}: no case in runs/; there are {', '.join(known)}")
    for name in [] if options.page else options.equations or known:
        make(known[name], drawn=options.drawn)
    PAGE.write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
