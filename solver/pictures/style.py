"""A user's choices for figures, and the style of all: sizes of a journal's page, colours for colour-blind readers."""

from __future__ import annotations

import math
import re
import textwrap
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

COLUMN = 3.4  # inches: one column of a journal; two are 7.1
PAGE = 7.1
LETTER = 0.075  # inches: the mean width of a letter of a title
SMALL_LETTER = 0.05  # inches: that of a legend
LINE = 0.14  # inches: a line of a legend
BELOW = 27  # points: from the lower edge of a panel to its legend
# Okabe and Ito's colours without the yellow, which is invisible on white
CYCLE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#7F7F7F")
ON_DARK = ("#56B4E9", "#FF8C42", "#2FC49A", "#E29AC4", "#8FA8FF", "#F0C000", "#A8A8A8")
INK = {False: "#1a1a1a", True: "#e8e8e8"}
PAPER = {False: "#ffffff", True: "#14171a"}
SPELLED = {
    **{name: name.capitalize() for name in ("kolmogorov", "reynolds", "taylor", "rossby", "froude")},
    "alfven": "Alfvén", "cfl": "CFL", "kmax": "k_max", "eta": "η",
}  # fmt: skip
SUPERSCRIPTS = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")
PLANES = {"xy": "z", "xz": "y", "yz": "x"}  # plane → axis normal to it
FORMATS = ("png", "pdf", "svg")


def pyplot() -> Any:
    """matplotlib's pyplot, set to draw into files.

    Raises:
        ModuleNotFoundError: matplotlib is not installed; the message gives the command that installs it.
    """
    try:
        import matplotlib
    except ImportError:
        raise ModuleNotFoundError("figures need matplotlib: pip install '.[plot]' in the checkout") from None
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    return plt


@contextmanager
def style(view: View) -> Iterator[None]:
    """Draw in this style during the context."""
    ink, paper = INK[view.dark], PAPER[view.dark]
    pyplot()
    import matplotlib
    from cycler import cycler

    lines = {key: ink for key in ("text.color", "axes.edgecolor", "axes.labelcolor", "xtick.color", "ytick.color")}
    papers = {key: paper for key in ("figure.facecolor", "axes.facecolor", "savefig.facecolor", "legend.facecolor")}
    settings = {
        "font.size": 8,
        "axes.titlesize": 8.5,
        "axes.labelsize": 8,
        "xtick.labelsize": 7,
        "ytick.labelsize": 7,
        "legend.fontsize": 6.5,
        "legend.frameon": False,
        "legend.handlelength": 1.4,
        "lines.linewidth": 1.2,
        "axes.linewidth": 0.6,
        "axes.titlelocation": "left",
        "axes.formatter.limits": (-3, 4),
        "axes.formatter.use_mathtext": True,
        "axes.formatter.useoffset": False,
        "axes.prop_cycle": cycler(color=ON_DARK if view.dark else CYCLE),
        "grid.color": ink,
        "grid.alpha": 0.14,
        "grid.linewidth": 0.5,
        "image.interpolation": "nearest",
        "pdf.fonttype": 42,  # letters that can be searched and edited
        "svg.fonttype": "none",
        **{f"{axis}tick.{size}.width": 0.6 for axis in "xy" for size in ("major", "minor")},
        **{f"{axis}tick.direction": "in" for axis in "xy"},
    }
    with matplotlib.rc_context({**settings, **lines, **papers}):
        yield


def new_figure(down: int, across: int, panel: tuple[float, float], view: View) -> tuple[Any, list[Any]]:
    """A figure of panels with a size in inches, and the panels, row by row."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(panel[0] * across, panel[1] * down), layout="constrained")
    panels = figure.subplots(down, across, squeeze=False)
    return figure, list(panels.flat)


def grid_of(count: int, across: int = 3) -> tuple[int, int]:
    """Rows and columns for a number of panels: as few rows as the width of a page allows, equally filled."""
    down = -(-count // across)
    return down, -(-count // down)


def hide_rest(panels: Sequence[Any], used: int) -> None:
    """Remove the panels that were not used."""
    for axis in panels[used:]:
        axis.remove()


def wrap_title(axis: Any, width: float) -> None:
    """Break a panel's title into lines that fit the width of the panel [inches]."""
    title = axis.get_title(loc="left")
    most = max(12, int(width / LETTER))
    if len(title) > most and "$" not in title:
        kept = title.replace(" = ", "\xa0=\xa0")  # no line ends within "t = 1"
        axis.set_title(textwrap.fill(kept, most).replace("\xa0", " "))


def save(figure: Any, folder: Path, stem: str, view: View) -> list[Path]:
    """Write a figure into a folder that exists."""
    target = folder / f"{stem}.{view.format}"
    with style(view):
        figure.savefig(target, dpi=180, metadata={"Date": None} if view.format == "svg" else None)
    return [target]


def legend_below(axis: Any, **options: Any) -> None:
    """Put a panel's legend below it, where it hides no curve. The letters of the x axis stand between.

    Args:
        axis: a panel of a figure with a layout that makes room for legends.
        options: options of matplotlib's `legend`.
    """
    from matplotlib.transforms import ScaledTranslation

    labels = axis.get_legend_handles_labels()[1]
    if not labels:
        return
    figure = axis.figure
    width = figure.get_figwidth() / axis.get_subplotspec().get_gridspec().ncols - 0.3
    below = axis.transAxes + ScaledTranslation(0, -BELOW / 72, figure.dpi_scale_trans)
    axis.legend(
        loc="upper center", bbox_to_anchor=(0.5, 0.0), bbox_transform=below, borderaxespad=0.0, borderpad=0.0,
        ncols=_columns(labels, width), columnspacing=0.9, labelspacing=0.3, **options,
    )  # fmt: skip


def legend_below_all(figure: Any, axis: Any) -> None:
    """Put the legend of one panel below all panels of a figure, which grows by the rows of the legend."""
    handles, labels = axis.get_legend_handles_labels()
    ncols = _columns(labels, figure.get_figwidth() - 0.3)
    figure.set_figheight(figure.get_figheight() + LINE * -(-len(labels) // ncols))
    figure.legend(handles, labels, loc="outside lower center", ncols=ncols, columnspacing=0.9)


def _columns(labels: Sequence[str], width: float) -> int:
    """As many columns of a legend as a width [inches] has room for."""
    entry = max(SMALL_LETTER * len(label.replace("$", "")) for label in labels) + 0.3
    return max(1, min(len(labels), int(width / entry)))


def in_words(name: str) -> str:
    """The name of a column or a field with spaces, names of persons and symbols as they are written."""
    return " ".join(SPELLED.get(word, word) for word in re.split("[ _-]", name))


def unit(text: str) -> str:
    """A unit with raised exponents; empty for a pure number."""
    if text in ("", "1") or re.fullmatch(r"\(1\)\^-?\d+", text):
        return ""
    text = text.replace("*", "·")
    return re.sub(r"\^(-?\d+)", lambda match: match[1].translate(SUPERSCRIPTS), text)


def with_unit(name: str, text: str) -> str:
    """A label of an axis: name and unit."""
    units = unit(text)
    return f"{name} [{units}]" if units else name


@dataclass(frozen=True)
class View:
    """Choices for the figures of one run.

    Args:
        field: name of a snapshot's field; all of them if None.
        component: label of a component; all of them if None.
        plane: `xy`, `xz` or `yz`, in three dimensions.
        at: position of the plane on the third axis [length]; a fifth of the axis if None, since symmetric flows often
            vanish in the middle.
        time: time of the snapshot; all snapshots if None.
        compensate: p of the compensated spectra k^p E(k); chosen by the equation if None.
        after: time from which windows and rows of vertical profiles are averaged, and Nusselt and Reynolds numbers;
            by default the last window, the later half of the rows, and half of the time.
        data: published profiles (`solver.pictures.published`), drawn with the run's vertical profiles.
        particles: True to draw particles over slices, where their positions were written at the step of the snapshot.
        dark: light lines on a dark page.
        format: `png`, `pdf` or `svg`.

    Raises:
        ValueError: an unknown plane or format, or a number that is not finite.
    """

    field: str | None = None
    component: str | None = None
    plane: str | None = None
    at: float | None = None
    time: float | None = None
    compensate: float | None = None
    after: float | None = None
    data: tuple[Any, ...] = ()
    particles: bool = True
    dark: bool = False
    format: str = "png"

    def __post_init__(self) -> None:
        if self.plane is not None and self.plane not in PLANES:
            raise ValueError(f"plane {self.plane!r}: one of {', '.join(PLANES)} is needed")
        if self.format not in FORMATS:
            raise ValueError(f"format {self.format!r}: one of {', '.join(FORMATS)} is needed")
        for name in ("at", "time", "compensate", "after"):
            value = getattr(self, name)
            if value is not None and not math.isfinite(value):
                raise ValueError(f"{name} {value}: a finite number is needed")

    @property
    def chooses_slices(self) -> bool:
        """True if it makes a choice that concerns only slices."""
        return any(value is not None for value in (self.field, self.component, self.plane, self.at, self.time))

    @property
    def chooses_profiles(self) -> bool:
        """True if it makes a choice that concerns profiles and means over time, not slices."""
        return bool(self.data) or self.after is not None
