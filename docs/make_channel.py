"""Draws docs/images/channel.png: the turbulent channel of `slabwave validate channel` with the published profiles.

slabwave validate channel --output DIR
python docs/make_channel.py DIR/channel/full/turbulence/fine
"""

from __future__ import annotations

import argparse
from pathlib import Path

from solver.io import RunDirectory
from solver.pictures import Recorded, View, save
from solver.pictures.plane_panels import PROFILES
from solver.pictures.published import Published
from solver.pictures.records import panels_figure, panels_of
from solver.validate.turbulent_channel import SETTLED, SHEAR, TABLE, table_of_rms

IMAGES = Path(__file__).parent / "images"
NAMES = ("velocity_x", *(f"velocity_{axis}_rms" for axis in "xyz"), SHEAR)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("directory", type=Path, help="a run of the channel on fine points")
    parser.add_argument("--after", type=float, default=SETTLED, help="time from which windows are averaged")
    options = parser.parse_args()
    columns = dict(zip(NAMES, table_of_rms().T[1:], strict=True))
    columns[SHEAR] = -columns[SHEAR]
    known = Published("Moser, Kim & Mansour, Re_τ = 178.1", "y+", TABLE[:, 0], columns)
    view = View(after=options.after, data=(known,))
    windows = Recorded.read_means(RunDirectory(options.directory).store.rows(PROFILES, "statistics"))
    save(panels_figure(panels_of(windows, view)[:2], view), IMAGES, "channel", view)


if __name__ == "__main__":
    main()
