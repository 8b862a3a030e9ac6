"""Films: as many frames as snapshots, the same colours in all, one snapshot held at a time."""

import sys

import numpy as np
import pytest

import solver as sw
from solver.cli.main import main
from solver.io import list_snapshots
from solver.pictures import View, frame_rate
from solver.pictures.drawn_slices import common_colours
from solver.pictures.movie import frames

pytest.importorskip("matplotlib", reason="matplotlib is not installed")
Image = pytest.importorskip("PIL.Image", reason="Pillow is not installed")


def frames_of(path):
    with Image.open(path) as film:
        for number in range(film.n_frames):
            film.seek(number)
            yield np.asarray(film.convert("RGB"))


def test_a_gif_has_a_frame_for_each_snapshot(finished, tmp_path, capsys):
    target = tmp_path / "film.gif"
    words = ["--field", "velocity", "--component", "z", "--plane", "xz", "--fps", "4", "--output", str(target)]
    assert main(["movie", str(finished), *words]) == 0
    assert capsys.readouterr().out.strip() == str(target)
    shown = list(frames_of(target))
    assert len(shown) == 4
    with Image.open(target) as film:
        assert film.info["duration"] == 250
    assert len({frame.tobytes() for frame in shown}) == 4
    assert [path.name for path in tmp_path.iterdir()] == ["film.gif"]


@pytest.mark.parametrize(("count", "fps"), [(1, 1.0), (6, 1.5), (60, 15.0), (1000, 24.0)])
def test_a_film_lasts_some_seconds(count, fps):
    assert frame_rate(count) == fps


@pytest.mark.slow
def test_the_film_of_a_command_lasts_some_seconds(finished, tmp_path):
    assert main(["movie", str(finished), "--field", "vorticity", "--output", str(tmp_path / "film.gif")]) == 0
    with Image.open(tmp_path / "film.gif") as film:
        assert film.n_frames * film.info["duration"] == 4000


@pytest.mark.slow
def test_colours_do_not_change_from_frame_to_frame(finished):
    paths = list_snapshots(finished / "snapshots")
    view = View(field="velocity", component="z")
    colours = common_colours(map(sw.io.read_snapshot, paths), view)["velocity"]
    largest = max(np.abs(sw.io.read_snapshot(path).values("velocity")[:, :, 1, 2]).max() for path in paths)
    assert (colours.low, colours.high) == (-largest, largest)
    pictures = list(frames(paths, view, dpi=60))
    assert len({picture.shape for picture in pictures}) == 1
    for picture, again in zip(pictures, reversed(list(frames(paths[::-1], view, dpi=60))), strict=True):
        np.testing.assert_array_equal(picture, again)  # whichever comes first decides nothing
    differ = np.any(pictures[0] != pictures[-1], axis=-1)
    bar = slice(int(differ.shape[1] * 0.85), None)  # the colour bar with its numbers, on the right
    assert differ.any()
    assert np.ptp(pictures[0][:, bar].astype(int), axis=-1).max() > 100  # there are colours
    assert not differ[differ.shape[0] // 5 :, bar].any()


def test_frames_are_read_one_at_a_time(finished, monkeypatch):
    read = []
    monkeypatch.setattr("solver.pictures.movie.common_colours", lambda snapshots, view: None)
    values = sw.io.Snapshot.values
    monkeypatch.setattr(
        sw.io.Snapshot, "values", lambda self, name, index=(): read.append(self.step) or values(self, name, index)
    )
    film = frames(list_snapshots(finished / "snapshots"), View(), dpi=40)
    next(film)
    next(film)
    assert sorted(set(read)) == [0, 4]


@pytest.mark.slow
def test_an_mp4_has_them_too(finished, tmp_path):
    ffmpeg = pytest.importorskip("imageio_ffmpeg", reason="imageio-ffmpeg is not installed")
    target = tmp_path / "film.mp4"
    assert main(["movie", str(finished), "--fps", "5", "--output", str(target)]) == 0
    count, seconds = ffmpeg.count_frames_and_secs(str(target))
    assert count == 4
    assert seconds == pytest.approx(0.8, abs=0.05)


@pytest.mark.slow
def test_a_run_on_a_line_is_a_moving_curve(line, tmp_path):
    target = tmp_path / "film.gif"
    assert main(["movie", str(line), "--output", str(target), "--dark"]) == 0
    assert len({frame.tobytes() for frame in frames_of(target)}) == 7


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--output", "film.avi"], "film.avi: a name that ends in .mp4 or .gif is needed"),
        (["--fps", "0"], "fps 0: a number above 0, and at most 240, is needed"),
        (["--field", "pressure"], "field 'pressure': the snapshots have no such field"),
        (["--output", "no/such/folder/film.gif"], "there is no folder no/such/folder;"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_what_does_not_fit_is_one_line(finished, tmp_path, monkeypatch, capsys, words, message):
    monkeypatch.chdir(tmp_path)
    assert main(["movie", str(finished), *words]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_no_snapshots_no_film(empty, capsys):
    assert main(["movie", str(empty)]) == 2
    assert "the run has no snapshots; [output.snapshots] writes them" in capsys.readouterr().err
    assert not (empty / "figures").exists()


def test_without_ffmpeg_a_gif_is_made(finished, tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "imageio_ffmpeg", None)
    assert main(["movie", str(finished), "--output", str(tmp_path / "film.mp4")]) == 2
    assert "an mp4 needs imageio-ffmpeg: pip install '.[movie]' in the checkout" in capsys.readouterr().err
