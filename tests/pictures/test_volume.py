"""Pictures of volumes: Q against its formula, surfaces where the field is, and one line for what does not fit."""

import sys

import numpy as np
import pytest

import solver as sw
from solver.cli.main import main
from solver.pictures import View
from solver.pictures.drawn_slices import Plane, panels_of
from solver.pictures.volume import Volume, can_render, levels_of, volume_of, volume_picture, words_of


def points(shape, lengths):
    return np.meshgrid(*(l * np.arange(n) / n for n, l in zip(shape, lengths, strict=True)), indexing="ij")


def test_fields_and_sizes_on_finer_points(finished):
    snapshot = sw.io.read_snapshot(finished / "snapshots" / "step-00000012.h5")
    velocity = snapshot.values("velocity")
    size = volume_of(snapshot, "velocity")
    assert size.units == "length/time"
    np.testing.assert_allclose(size.values[::2, ::2, ::2], np.linalg.norm(velocity, axis=-1), atol=1e-12)
    q = volume_of(snapshot, "q")
    assert abs(q.values.mean()) < 1e-12 < q.values.max()  # ⟨Q⟩ = 0 in a periodic box
    assert q.symbol == "Q"
    for k in range(0, 8, 3):  # its planes, cut from the same file
        (plane,) = panels_of(snapshot, View(field="q"), Plane(("x", "y"), (slice(None), slice(None), k), ""))
        np.testing.assert_allclose(q.values[::2, ::2, 2 * k], plane.values, atol=1e-12)


def test_the_words_name_time_value_and_unit():
    values = np.arange(1000.0).reshape(10, 10, 10)
    assert levels_of(values, (0.1, 0.5)) == pytest.approx([899.1, 499.5])
    words = words_of(Volume("q_criterion", values, "1/time^2"), levels_of(values, (0.1,)), "t = 3")
    assert words == "t = 3, Q [1/time²] = 899"


@pytest.fixture
def image():
    """The library that reads pictures, where there is one and volumes can be drawn."""
    pytest.importorskip("pyvista", reason="pyvista is not installed")
    if not can_render():
        pytest.skip("no library to draw with: apt-get install libegl1")
    return pytest.importorskip("PIL.Image", reason="Pillow is not installed")


@pytest.mark.slow
@pytest.mark.parametrize("dark", [False, True])
def test_a_ball_is_drawn_where_it_is(tmp_path, dark, image):
    x, y, z = points((24, 24, 24), (1.0, 1.0, 1.0))
    ball = np.exp(-20 * ((x - 0.5) ** 2 + (y - 0.5) ** 2 + (z - 0.5) ** 2))
    volume_picture(Volume("density", ball), (1.0, 1.0, 1.0), tmp_path / "ball.png", View(dark=dark))
    with image.open(tmp_path / "ball.png") as file:
        pixels = np.asarray(file.convert("RGB")).astype(int)
    coloured = np.ptp(pixels, axis=-1) > 40
    rows, _ = np.nonzero(coloured[:, : int(0.85 * coloured.shape[1])])
    assert 2000 < len(rows) < 0.2 * coloured.size
    assert rows.mean() == pytest.approx(pixels.shape[0] / 2, rel=0.15)
    assert rows.std() < 0.12 * pixels.shape[0]  # in the middle, not around it
    assert (pixels[5, 5].mean() < 60) == dark


@pytest.mark.slow
def test_bodies_are_drawn_in_grey(tmp_path, image):
    """A large one beside the ball covers part of the page in grey, and the ball stays."""
    x, y, z = points((24, 24, 24), (1.0, 1.0, 1.0))
    ball = np.exp(-20 * ((x - 0.5) ** 2 + (y - 0.5) ** 2 + (z - 0.75) ** 2))
    chi = 1 / (1 + np.exp(40 * (np.sqrt((x - 0.5) ** 2 + (y - 0.5) ** 2 + (z - 0.25) ** 2) - 0.2)))
    grey, coloured = [], []
    for solid in (None, chi):
        volume_picture(Volume("density", ball), (1.0, 1.0, 1.0), tmp_path / "both.png", View(), solid=solid)
        with image.open(tmp_path / "both.png") as file:
            pixels = np.asarray(file.convert("RGB")).astype(int)[:, : int(0.85 * 1200)]
        brightness, colour = pixels.mean(axis=-1), np.ptp(pixels, axis=-1)
        grey.append(np.sum((colour < 16) & (brightness > 60) & (brightness < 230)))
        coloured.append(np.sum(colour > 40))
    assert grey[1] > grey[0] + 20_000
    assert coloured[1] > 0.6 * coloured[0] > 0


@pytest.mark.parametrize(
    ("kind", "name", "message"),
    [
        ("finished", "pressure", "field 'pressure': the snapshots have no such field"),
        ("line", "u", "volume 'u': a run in three dimensions is needed; this one has 1"),
        ("empty", "velocity", "the run has no snapshots to draw velocity of"),
    ],
)
def test_what_does_not_fit_is_one_line(request, tmp_path, capsys, kind, name, message):
    folder = request.getfixturevalue(kind)
    assert main(["plot", str(folder), "--volume", name, "--output", str(tmp_path / "figures")]) == 2
    assert message in capsys.readouterr().err


def test_without_pyvista_a_line_says_so(finished, tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "pyvista", None)
    assert main(["plot", str(finished), "--volume", "q", "--output", str(tmp_path)]) == 2
    assert "needs pyvista: pip install '.[volume]' in the checkout" in capsys.readouterr().err
