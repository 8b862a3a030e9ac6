"""Pictures of fields in three dimensions: surfaces of equal value in the box, drawn without a screen by pyvista."""

from __future__ import annotations

import os
from collections.abc import Sequence
from ctypes.util import find_library
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from solver.io import BODIES, Snapshot
from solver.pictures.colours import colours_of
from solver.pictures.drawn_slices import panels_of, uncut_plane
from solver.pictures.interpolation import fourier_series, is_rough
from solver.pictures.slices import Panel
from solver.pictures.style import INK, PAPER, View, in_words, with_unit

SHARES = (0.10, 0.03, 0.006)  # fractions of the points inside each surface
SOLID, GREY = "solid", (0.55, 0.55, 0.55)
SIZE = (1200, 1050)  # pixels
LETTERS = 22  # pixels
FEW = 96  # points of an axis, on which surfaces have visible corners
OF_Q = "speed"  # colours the surface of Q


@dataclass(frozen=True)
class Volume:
    """A scalar in a periodic box.

    Args:
        name: name of the field.
        values: `(x, y, z)`.
        units: units of the values.
    """

    name: str
    values: np.ndarray
    units: str = ""

    @property
    def symbol(self) -> str:
        """Its name in a picture."""
        return {"q_criterion": "Q"}.get(self.name, in_words(self.name))


def volume_picture(
    volume: Volume, lengths: Sequence[float], target: Path, view: View, title: str = "",
    colouring: Volume | None = None, solid: np.ndarray | None = None,
) -> None:  # fmt: skip
    """Draw the surfaces that enclose the highest values of a field, with these values in words.

    Args:
        volume: the field.
        lengths: lengths of the box.
        target: a .png file; an existing one is replaced.
        view: decides whether the page is light or dark.
        title: begins the words, such as the time.
        colouring: the quantity that colours one surface; without it three nested surfaces are drawn.
        solid: χ of the bodies in the flow, whose surface, χ = ½, is drawn too.

    Raises:
        ModuleNotFoundError: pyvista, or a library that it draws with, is not installed.
        ValueError: the field is the same everywhere.
    """
    pyvista = _pyvista()
    name, values = volume.name, volume.values
    if not np.ptp(values) > 0:
        raise ValueError(f"volume {name!r}: the field is {values.flat[0]:g} everywhere; there is no surface to draw")
    box = _box(pyvista, lengths, name, values)
    ink = INK[view.dark]
    plotter = pyvista.Plotter(off_screen=True, window_size=SIZE, lighting="light kit")
    plotter.set_background(PAPER[view.dark])
    plotter.enable_anti_aliasing("ssaa")
    levels = levels_of(values, SHARES if colouring is None else SHARES[1:2])
    if colouring is None:
        _nested(plotter, box, name, values, levels, view)
    else:
        other = with_unit(colouring.symbol, colouring.units).replace(" [", "\n[")
        box[other] = _closed(colouring.values)
        colours = colours_of(colouring.name, [colouring.values], dark=view.dark)
        bar = {"color": ink, "vertical": True, "position_x": 0.86, "position_y": 0.6, "height": 0.33, "n_labels": 3}
        plotter.add_mesh(
            box.contour(levels, scalars=name), scalars=other, cmap=colours.name, clim=(colours.low, colours.high),
            smooth_shading=True, specular=0.3, scalar_bar_args={**bar, "fmt": "%.2g", "title_font_size": LETTERS},
        )  # fmt: skip
    if solid is not None:
        bodies = _box(pyvista, lengths, SOLID, solid).contour([0.5], scalars=SOLID)
        if bodies.n_points:
            plotter.add_mesh(bodies, color=GREY, smooth_shading=True, specular=0.3)
    plotter.add_mesh(box.outline(), color=ink, line_width=1.5)
    plotter.add_text(words_of(volume, levels, title), position=(0.02, 0.93), viewport=True, font_size=14, color=ink)
    plotter.add_axes(color=ink, line_width=3, viewport=(0, 0, 0.16, 0.16))
    plotter.camera_position = "iso"
    plotter.camera.zoom(0.95)
    plotter.screenshot(str(target))
    plotter.close()


def _box(pyvista: Any, lengths: Sequence[float], name: str, values: np.ndarray) -> Any:
    """Values of a periodic box as pyvista takes them."""
    box = pyvista.ImageData(dimensions=[n + 1 for n in values.shape])
    box.spacing = [length / n for length, n in zip(lengths, values.shape, strict=True)]
    box[name] = _closed(values)
    return box


def levels_of(values: np.ndarray, shares: Sequence[float]) -> list[float]:
    """The values that these fractions of the points exceed."""
    return [float(np.quantile(values, 1 - share)) for share in shares]


def words_of(volume: Volume, levels: Sequence[float], title: str) -> str:
    """The words of a picture: its title, and the values on its surfaces with their unit."""
    numbers = ", ".join(f"{level:.3g}" for level in levels)
    return ", ".join(part for part in (title, f"{with_unit(volume.symbol, volume.units)} = {numbers}") if part)


def _nested(plotter: Any, box: Any, name: str, values: np.ndarray, levels: Sequence[float], view: View) -> None:
    """Three surfaces, the outer ones translucent."""
    import matplotlib

    colours = matplotlib.colormaps[colours_of(name, [np.abs(values)], dark=view.dark).name]
    for level, opacity, place in zip(levels, (0.18, 0.35, 1.0), (0.35, 0.6, 0.8), strict=True):
        surface = box.contour([level], scalars=name)
        if surface.n_points:
            plotter.add_mesh(surface, color=colours(place)[:3], opacity=opacity, smooth_shading=True, specular=0.3)


def _closed(values: np.ndarray) -> np.ndarray:
    """Values with the first planes repeated at the far sides, in the order of VTK's points: x runs fastest."""
    return np.pad(values, [(0, 1)] * 3, mode="wrap").ravel(order="F")


def can_render() -> bool:
    """True if there is a screen, or a library that draws without one. Without both, VTK would end the program."""
    return bool(os.environ.get("DISPLAY")) or any(find_library(name) for name in ("EGL", "OSMesa"))


def _pyvista() -> Any:
    try:
        import pyvista
    except ImportError:
        raise ModuleNotFoundError(
            "a picture of a volume needs pyvista: pip install '.[volume]' in the checkout"
        ) from None
    if not can_render():
        raise ModuleNotFoundError("a picture of a volume needs a library to draw with: apt-get install libegl1")
    from vtkmodules.vtkCommonCore import vtkLogger

    vtkLogger.SetStderrVerbosity(vtkLogger.VERBOSITY_OFF)  # it would warn that there is no screen
    return pyvista


def draw_volume(snapshot: Snapshot, name: str, folder: Path, view: View) -> Path:
    """Write STEP-NAME.png into a folder that exists. Reads the whole field.

    Raises:
        ValueError: an unknown field, or a run in less than three dimensions.
    """
    volume = volume_of(snapshot, name)
    lengths = [float(points[1]) * len(points) if len(points) > 1 else 1.0 for points in snapshot.axes.values()]
    colouring = volume_of(snapshot, OF_Q) if volume.name == "q_criterion" else None
    target = folder / f"{snapshot.path.stem}-{name}.png"
    solid = volume_of(snapshot, BODIES).values if BODIES in snapshot.variables and name != BODIES else None
    volume_picture(volume, lengths, target, view, f"t = {snapshot.t:.4g}", colouring, solid)
    return target


def volume_of(snapshot: Snapshot, name: str) -> Volume:
    """A scalar in space: a field, the size of a vector, or one that is made of the fields; on finer points of few.

    Raises:
        ValueError: an unknown field, or a run in less than three dimensions.
    """
    if len(snapshot.axes) != 3:
        raise ValueError(f"volume {name!r}: a run in three dimensions is needed; this one has {len(snapshot.axes)}")
    panels = panels_of(snapshot, View(field=name), uncut_plane(snapshot))
    parts = [_on_finer_points(panel) for panel in panels]
    size = np.sqrt(np.sum(np.square(parts), axis=0)) if len(parts) > 1 else parts[0]
    return Volume(panels[0].name, size, panels[0].units)


def _on_finer_points(panel: Panel) -> np.ndarray:
    """Values on twice as many points along each axis, from the Fourier series, where there are few."""
    if max(panel.values.shape) > FEW or any(
        is_rough(values, range(values.ndim)) for values in panel.linear or (panel.values,)
    ):
        return panel.values
    finer = []
    for values in panel.linear or (panel.values,):
        for axis in range(values.ndim):
            values = fourier_series(values, axis, 2)
        finer.append(values)
    return panel.combine(*finer) if panel.combine else finer[0]
