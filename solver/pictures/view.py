"""Choices of a user for figures: field, plane, time and style."""

from __future__ import annotations

import math
from dataclasses import dataclass

PLANES = {"xy": "z", "xz": "y", "yz": "x"}  # plane → axis normal to it
FORMATS = ("png", "pdf", "svg")


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
    particles: bool = True
    dark: bool = False
    format: str = "png"

    def __post_init__(self) -> None:
        if self.plane is not None and self.plane not in PLANES:
            raise ValueError(f"plane {self.plane!r}: one of {', '.join(PLANES)} is needed")
        if self.format not in FORMATS:
            raise ValueError(f"format {self.format!r}: one of {', '.join(FORMATS)} is needed")
        for name in ("at", "time", "compensate"):
            value = getattr(self, name)
            if value is not None and not math.isfinite(value):
                raise ValueError(f"{name} {value}: a finite number is needed")

    @property
    def chooses_slices(self) -> bool:
        """True if it makes a choice that concerns only slices."""
        return any(value is not None for value in (self.field, self.component, self.plane, self.at, self.time))
