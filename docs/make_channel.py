"""Draws docs/images/channel.png: the turbulent channel of `slabwave validate channel` with the published profiles.

slabwave validate channel --output DIR
python docs/make_channel.py DIR/channel/full/turbulence/fine
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from solver.pictures import View
from solver.pictures.style import PAGE, pyplot, style
from solver.validate.turbulent_channel import SETTLED, SHEAR, STRESSES, TABLE, in_wall_units, profiles, table_of_rms

PICTURE = Path(__file__).parent / "images" / "channel.png"
NAMES = ("u rms", "v rms", "w rms")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("directory", type=Path, help="a run of the channel on fine points")
    parser.add_argument("--after", type=float, default=SETTLED, help="time from which windows are averaged")
    options = parser.parse_args()
    draw(in_wall_units(profiles(options.directory, options.after)))


def draw(flow: dict[str, np.ndarray]) -> None:
    """Two panels: the mean velocity, and fluctuations with the stress; dots are the table's."""
    half = flow["height"] <= 1
    distance, known = flow["distance"][half], table_of_rms()
    with style(View()):
        figure, (mean, others) = pyplot().subplots(1, 2, figsize=(PAGE, 2.8), layout="constrained")
        mean.semilogx(distance, flow["velocity_x"][half], label=f"here, Re_τ = {float(flow['friction']):.1f}")
        mean.semilogx(TABLE[:, 0], TABLE[:, 1], "o", ms=3, mfc="none", color="0.4", label="Moser, Kim & Mansour, 178.1")
        mean.set(xlabel="y⁺", title="mean velocity, U⁺", xlim=(1, 200), ylim=(0, 20))
        curves = [np.sqrt(flow[name][half]) for name in STRESSES[:3]]
        for name, curve, dots in zip((*NAMES, "−⟨u'w'⟩"), [*curves, -flow[SHEAR][half]], known.T[2:], strict=True):
            (line,) = others.plot(distance, curve, label=name)
            others.plot(TABLE[:, 0], dots, "o", ms=3, mfc="none", color=line.get_color())
        others.set(xlabel="y⁺", title="fluctuations and stress, over u_τ and u_τ²", xlim=(0, 180), ylim=(0, 3))
        for axis in (mean, others):
            axis.grid(True)
            axis.legend()
        figure.savefig(PICTURE, dpi=150)


if __name__ == "__main__":
    main()
