"""The outline of bodies over images: where χ is ½, on planes alone, in films where a body has moved to."""

from dataclasses import replace

import numpy as np
import pytest
from measured_figures import at_points, outside, overlaps

import solver as sw
from solver.io import list_snapshots, read_slices, read_snapshot
from solver.pictures import View
from solver.pictures.drawn_parts import draw_parts
from solver.pictures.drawn_slices import draw_slices, figure_of
from solver.pictures.movie import frames
from solver.pictures.slices import OUTLINE

pytest.importorskip("matplotlib", reason="matplotlib is not installed")

CENTRE, SPEED, RADIUS = (2.0, 3.0), 2.0, 1.1


@pytest.fixture(scope="module")
def moving(tmp_path_factory):
    """A disc that moves along x, in a fluid at rest, at t = 0, 0.5 and 1."""
    folder = tmp_path_factory.mktemp("moving") / "run"
    grid = sw.Grid((48, 32), lengths=(9.0, 6.0), mesh=sw.device_mesh([0]))
    disc = sw.bodies.Cylinder(centre=CENTRE, radius=RADIUS, velocity=(SPEED, 0.0))
    flow, stepper = sw.equations.NavierStokes(grid, viscosity=0.1, bodies=disc), sw.steppers.ETDRK4()
    outputs = [
        sw.outputs.Snapshots(every_time=0.5),
        sw.outputs.Slices(every_time=0.5, at=("x = 1:4", "y = 3")),
    ]
    state = sw.initial_state(flow, stepper, sw.sample(lambda x, y: (0 * (x + y), 0 * (x + y)), grid))
    sw.run(flow, stepper, state, end=1.0, step=0.05, directory=folder, outputs=outputs)
    return folder


def outlines(figure):
    """Points of the outlines of each image, without those that close a line."""
    found = []
    for axis in figure.axes:
        lines = [lines for lines in axis.collections if lines.get_label() == OUTLINE] if axis.images else []
        assert len(lines) <= 1
        found += [np.concatenate([path.vertices for path in one.get_paths()]) for one in lines]
    return found


def with_only(snapshot, name):
    """A snapshot as if it held this quantity alone."""
    return replace(snapshot, variables={name: snapshot.variables[name]})


@pytest.mark.thorough
@pytest.mark.slow
@pytest.mark.parametrize("view", [View(), View(dark=True)], ids=["light", "dark"])
def test_the_outline_is_the_surface(moving, view):
    for path in list_snapshots(moving / "snapshots"):
        snapshot = read_snapshot(path)
        figure = figure_of(snapshot, view)
        assert overlaps(figure) == outside(figure) == []
        assert [axis.get_title(loc="left") for axis in figure.axes if axis.images] == ["velocity x", "velocity y"]
        assert len(outlines(figure)) == 2
        for points in outlines(figure):
            apart = np.hypot(points[:, 0] - CENTRE[0] - SPEED * snapshot.t, points[:, 1] - CENTRE[1])
            np.testing.assert_allclose(apart, RADIUS, atol=0.02)  # a tenth of a spacing
            assert np.ptp(points[:, 0]) == pytest.approx(2 * RADIUS, abs=0.03)
        without = figure_of(with_only(snapshot, "velocity"), view)
        assert outlines(without) == []
        limits = [[axis.axis() for axis in each.axes if axis.images] for each in (figure, without)]
        assert limits[0] == limits[1]


@pytest.mark.slow
def test_the_mask_is_a_panel_where_it_is_asked_for_or_alone(moving):
    snapshot = read_snapshot(list_snapshots(moving / "snapshots")[1])
    for figure in (figure_of(snapshot, View(field="bodies")), figure_of(with_only(snapshot, "bodies"), View())):
        (axis,) = figure.axes
        np.testing.assert_allclose(at_points(axis.images[0], (48, 32)), snapshot.values("bodies").T, atol=1e-12)


@pytest.mark.slow
def test_slices_have_it_on_planes_and_not_on_lines(moving, tmp_path, monkeypatch):
    figures = {}
    for module in ("drawn_slices", "drawn_parts"):
        keep = lambda figure, folder, stem, view: figures.update({stem: figure}) or []  # noqa: E731
        monkeypatch.setattr(f"solver.pictures.{module}.save", keep)
    draw_parts(list_snapshots(moving / "slices"), tmp_path, View())
    first = figures["slices-x6-21-step-00000000"]
    assert all(points[:, 0].max() == pytest.approx(CENTRE[0] + RADIUS, abs=0.02) for points in outlines(first))
    assert all(
        points[:, 0].min() == pytest.approx(1.125, abs=0.01) for points in outlines(first)
    )  # where the part ends
    titles = [axis.get_title(loc="left") for axis in figures["slices-y16"].axes]
    assert [title for title in titles if title] == ["velocity x", "velocity x", "velocity y", "velocity y"]
    line = read_slices(list_snapshots(moving / "slices")[0]).of_part("y16")
    draw_slices(line, tmp_path, View(), "line")
    assert len(figures["line"].axes) == 2
    assert not any(axis.collections for axis in figures["line"].axes)


@pytest.mark.slow
def test_a_film_has_it_where_the_body_is_then(moving, monkeypatch):
    seen = []
    made = figure_of

    def kept(*given):
        seen.append(made(*given))
        return seen[-1]

    monkeypatch.setattr("solver.pictures.movie.figure_of", kept)
    for number, _ in enumerate(frames(list_snapshots(moving / "snapshots"), View(), dpi=40)):
        assert len(outlines(seen[0])) == 2
        for points in outlines(seen[0]):
            middle = 0.5 * (points[:, 0].min() + points[:, 0].max())
            assert middle == pytest.approx(CENTRE[0] + SPEED * 0.5 * number, abs=0.02)
