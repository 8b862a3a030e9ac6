"""Profiles near walls: in wall units, with the law of the wall, and the boundary layers of scalars, enlarged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from solver.pictures.panels import MakePanel
from solver.pictures.published import WALL_UNITS, Published, draw_marks, refuse_unknown
from solver.pictures.recorded import Recorded
from solver.pictures.style import View, in_words, legend_below
from solver.pictures.ticks import few_ticks
from solver.reading.fluctuations import SLOPE, VISCOSITY, WALLS, at_heights, at_walls
from solver.walls.legendre import height_of

KARMAN, INTERCEPT = 0.41, 5.2  # of the law of the wall
LEAST_REYNOLDS = 30  # Re_τ from which a flow may have it
THIN, ENLARGED = 10, 5.0  # boundary layers in the height, at least, and thicknesses that are drawn
DASHES = ("-", "--")  # of the lower and the upper wall
TERMS = ("production", "transport", "pressure_transport", "viscous_diffusion", "dissipation", "rest")


@dataclass(frozen=True)
class WallUnits:
    """Points from one wall up to the middle, and the units of this wall.

    Args:
        side: lower or upper.
        near: indices of the points.
        distance: their distances from the wall [ν/u_τ].
        speed: u_τ.
        shear: sign of ∂U/∂z at the wall.
        velocity: mean velocity of the wall.
    """

    side: str
    near: np.ndarray
    distance: np.ndarray
    speed: float
    shear: float
    velocity: float


def wall_panels(
    recorded: Recorded, column: Mapping[str, np.ndarray], terms: Mapping[str, np.ndarray], w: str, when: str, view: View
) -> list[MakePanel]:
    """Panels in wall units, from each wall up to the middle: mean velocity, fluctuations with the stress, the budget.

    Empty in a periodic box, without a viscosity, and where Re_τ is below 30 at a wall, so that there is no law of the
    wall.

    Args:
        recorded: a file of vertical profiles.
        column: its columns as means over time.
        terms: covariances and r.m.s. values of them, and the budget of the turbulent energy, losses negative.
        w: name of the velocity across the walls; empty without a velocity.
        when: the times, in words.
        view: has published profiles.

    Raises:
        ValueError: a published profile in wall units that the run does not have.

    Source: Pope, Turbulent Flows (2000), section 7.1.4.
    """
    data = [table for table in view.data if table.in_wall_units]
    along = f"{w.rpartition('_')[0]}_x"
    walls = _walls(recorded, column, along) if w else []
    if not walls:
        if data:
            raise ValueError(f"{data[0].source}: wall units need walls, a viscosity, Re_τ ≥ {LEAST_REYNOLDS}")
        return []
    nu, stress = float(recorded.values[VISCOSITY][-1]), f"{along}_{w}"
    rms = [f"{name}_rms" for name in (along, f"{along[:-1]}y", w)]
    made = {
        "mean": {along: [np.abs(column[along] - wall.velocity) / wall.speed for wall in walls]},
        "fluctuations": {name: [terms[name] / wall.speed for wall in walls] for name in rms if name in terms},
        "budget": {name: [terms[name] * nu / wall.speed**4 for wall in walls] for name in TERMS if name in terms},
    }
    made["fluctuations"][stress] = [-wall.shear * terms[stress] / wall.speed**2 for wall in walls]
    refuse_unknown(data, WALL_UNITS, None, {name for curves in made.values() for name in curves})
    titles = {"fluctuations": "fluctuations (rms) and stress", "budget": "turbulent energy budget"}
    titles["mean"] = in_words(along)
    panel = lambda kind: _panel(walls, made[kind], f"{titles[kind]} in wall units, {when}", data, stress)  # noqa: E731
    return [_with_law(walls, panel("mean")), panel("fluctuations"), *([panel("budget")] if made["budget"] else [])]


def layer_panels(
    recorded: Recorded,
    column: Mapping[str, np.ndarray],
    terms: Mapping[str, np.ndarray],
    names: Sequence[str],
    when: str,
) -> list[MakePanel]:
    """The boundary layers of scalars between walls, enlarged: |T − T(wall)| and T_rms up to five thicknesses from it.

    With D = |T(wall) − T(H/2)| the thickness is δ = D/|∂T/∂z| at the wall, and values are over D. Empty for a scalar
    with a layer thicker than H/10.

    Args:
        recorded: a file of vertical profiles.
        column: its columns as means over time.
        terms: r.m.s. values of them.
        names: names of the scalars.
        when: the times, in words.
    """
    made = []
    for name in names:
        z = recorded.axis(recorded.axes_of(name)[0])
        height = height_of(z)
        if height is None:
            continue
        ends, slopes = at_walls(column[name], z), np.abs(at_walls(column[f"{name}{SLOPE}"], z))
        apart = np.abs(ends - at_heights(column[name], z, np.array([0.5 * height]))[0])
        if np.all(apart > 0) and np.all(THIN * apart < slopes * height):
            pair = column[name], terms[f"{name}_rms"]
            layers = [
                (side * height, *numbers) for side, *numbers in zip((0, 1), ends, apart, apart / slopes, strict=True)
            ]
            made.append(_layers(f"boundary layers of {in_words(name)}, {when}", pair, z, layers))
    return made


def _layers(title: str, of: tuple[np.ndarray, np.ndarray], z: np.ndarray, layers: list[tuple[float, ...]]) -> MakePanel:
    """Mean and r.m.s. values near walls, which are given by place, value, difference to the middle and thickness."""

    def make(figure: Any, axis: Any, view: View) -> None:
        distance = np.linspace(0, ENLARGED, 200)
        for (place, at_wall, apart, thickness), side, dash in zip(layers, WALLS, DASHES, strict=True):
            heights = np.abs(place - thickness * distance)
            mean, rms = (at_heights(profile, z, heights) for profile in of)
            axis.plot(
                distance,
                np.abs(mean - at_wall) / apart,
                dash,
                color="C0",
                label=f"mean, {side} wall, δ = {thickness:.3g}",
            )
            axis.plot(distance, rms / apart, dash, color="C1", label="rms" if dash == DASHES[0] else "_")
        axis.plot([0, 1], [0, 1], ":", lw=0.8, color="0.5")
        axis.set(title=title, xlabel="distance from the wall / δ", ylabel="over |T(H/2) − T(wall)|")
        axis.grid(True)
        few_ticks(axis)
        legend_below(axis)

    return make


def _walls(recorded: Recorded, column: Mapping[str, np.ndarray], along: str) -> list[WallUnits]:
    """Both walls; none where there is no law of the wall."""
    z = recorded.axis(recorded.axes_of(along)[0]) if f"{along}{SLOPE}" in column else np.empty(0)
    if not z.size or VISCOSITY not in recorded.values or height_of(z) is None:
        return []
    nu, half = float(recorded.values[VISCOSITY][-1]), 0.5 * float(z[0] + z[-1])
    slopes, velocities = at_walls(column[f"{along}{SLOPE}"], z), at_walls(column[along], z)
    speeds = np.sqrt(nu * np.abs(slopes))
    if min(speeds) * half < LEAST_REYNOLDS * nu:
        return []
    made = []
    for i, distance in enumerate((z, 2 * half - z)):
        near = np.flatnonzero(distance <= half * (1 + 1e-9))
        units = float(speeds[i]), float(np.sign(slopes[i])), float(velocities[i])
        made.append(WallUnits(WALLS[i], near, distance[near] * speeds[i] / nu, *units))
    return made


def _panel(
    walls: list[WallUnits],
    curves: Mapping[str, list[np.ndarray]],
    title: str,
    data: Sequence[Published],
    stress: str,
) -> MakePanel:
    """Curves of the lower wall, dashed ones of the upper wall, and marks of published profiles."""

    def make(figure: Any, axis: Any, view: View) -> None:
        colours = {}
        for number, (name, of_walls) in enumerate(curves.items()):
            colours[name] = f"C{number}"
            label = f"−{in_words(name)}" if name == stress else in_words(name.removesuffix("_rms"))
            for wall, values, dash in zip(walls, of_walls, DASHES, strict=True):
                side = label if len(curves) > 1 else f"{wall.side} wall, Re_τ = {max(wall.distance):.3g}"
                shown = "_" if len(curves) > 1 and wall is not walls[0] else side
                axis.plot(wall.distance, values[wall.near], dash, color=colours[name], lw=1.2, label=shown)
        draw_marks(axis, data, colours, negative=stress)
        axis.set(title=title, xlabel="y⁺")
        if axis.get_xscale() == "linear":
            axis.set_xlim(0, None)
        axis.grid(True)
        few_ticks(axis)
        legend_below(axis)

    return make


def _with_law(walls: list[WallUnits], panel: MakePanel) -> MakePanel:
    """The panel of the mean, logarithmic, with the law of the wall."""

    def make(figure: Any, axis: Any, view: View) -> None:
        reach = np.geomspace(0.5, max(max(wall.distance) for wall in walls), 200)
        axis.semilogx(reach[reach < 12], reach[reach < 12], "--", lw=0.8, color="0.5", label="U⁺ = y⁺")
        law = np.log(reach) / KARMAN + INTERCEPT
        axis.semilogx(reach[reach > 5], law[reach > 5], ":", lw=0.8, color="0.5", label="ln(y⁺)/0.41 + 5.2")
        panel(figure, axis, view)
        axis.set(ylabel="U⁺")
        axis.set_xlim(0.5 * reach[0], None)

    return make
