"""Slices, statistics and real files of records drawn and filmed: their values, bands, places, and no empty panels."""

import numpy as np
import pytest
from made_runs import record
from measured_figures import at_points, outside, overlaps

import solver as sw
from solver.cli.main import main
from solver.diagnostics import fit_soliton, soliton_profile
from solver.io import VARIANCE, list_snapshots, own_rows, read_slices
from solver.pictures import Recorded, View, records_figure
from solver.pictures.drawn_parts import chosen_parts, draw_parts, film_part
from solver.pictures.movie import frames

pytest.importorskip("matplotlib", reason="matplotlib is not installed")
Image = pytest.importorskip("PIL.Image", reason="Pillow is not installed")

K, R = np.arange(12.0), np.linspace(0, 3, 20)


def titles(figure):
    assert overlaps(figure) == outside(figure) == []
    return [axis.get_title(loc="left") for axis in figure.axes if axis.get_title(loc="left")]


def drawn(tmp_path, name, axes, columns, values, count=5):
    return records_figure(Recorded.read(record(tmp_path, name, axes, columns, values, count)), View())


def means(tmp_path, name, axes, columns, mean, variance, count=2):
    """A file of statistics with windows of 0.5."""
    both = {n + ending: about for n, about in columns.items() for ending in ("", VARIANCE)}

    def values(column, t):
        if column in ("since", "samples"):
            return np.float64(t if column == "since" else 4)
        return variance(column, t) if column.endswith(VARIANCE) else mean(column, t)

    described = {"since": ((), "time"), "samples": ((), ""), **both}
    return Recorded.read_means(record(tmp_path, name, axes, described, values, count))


@pytest.fixture
def figures(monkeypatch):
    """The figures that are saved, by their stems."""
    saved = {}
    for module in ("drawn_slices", "drawn_parts", "drawn_statistics"):
        keep = lambda figure, folder, stem, view: saved.update({stem: figure}) or []  # noqa: E731
        monkeypatch.setattr(f"solver.pictures.{module}.save", keep)
    return saved


# ---- slices -----------------------------------------------------------------------------------------------------


@pytest.mark.thorough
@pytest.mark.slow
def test_each_part_is_drawn_as_what_it_is(sliced, tmp_path, figures):
    paths = list_snapshots(sliced / "slices")
    draw_parts(paths, tmp_path, View())
    steps = [f"step-{n:08d}" for n in (0, 4, 8, 12)]
    planes = {f"slices-{part}-{step}" for part in ("z1", "x6", "x0-3_y3-3") for step in steps}
    assert set(figures) == planes | {"slices-y0_z1", "slices-x2_y1_z1"}
    plane = figures["slices-x6-step-00000008"]
    assert [title.replace("\n", " ") for title in titles(plane)] == [
        "q criterion",
        "velocity x",
        "velocity y",
        "velocity z",
    ]
    assert plane._suptitle.get_text() == "t = 0.4, x = 3.14"
    axis = plane.axes[2]
    expected = read_slices(paths[2]).values("velocity_x6")[..., 1]
    np.testing.assert_allclose(at_points(axis.images[0], expected.shape), expected.T, atol=1e-6)
    assert (axis.get_xlabel(), axis.get_ylabel()) == ("y", "z")
    box = axis.get_window_extent()
    assert box.height / box.width == pytest.approx(0.5, rel=0.02)  # 2π along z, 4π along y
    line = figures["slices-y0_z1"]
    rows = [read_slices(path).values("q_criterion_y0_z1") for path in paths]
    shown = line.axes[0].collections[0].get_array()
    np.testing.assert_allclose(shown[:, :: (shown.shape[1] - 1) // 12][:, :-1], rows, atol=1e-6)
    point = figures["slices-x2_y1_z1"]
    values = [read_slices(path).values("velocity_x2_y1_z1")[2] for path in paths]
    np.testing.assert_allclose(point.axes[-1].lines[0].get_ydata(), values)
    assert point._suptitle.get_text() == "x = 1.05, y = 0.785, z = 0.785"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("view", "parts"),
    [
        (View(plane="xy"), ["z1"]),
        (View(plane="yz", at=3.3), ["x6"]),
        (View(at=0.5), ["z1"]),
        (View(field="velocity"), ["x0-3_y3-3", "x2_y1_z1", "x6", "y0_z1", "z1"]),
    ],
    ids=str,
)
def test_a_view_chooses_parts(sliced, view, parts):
    assert chosen_parts(read_slices(list_snapshots(sliced / "slices")[0]), view) == parts


@pytest.mark.every_case
@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--field", "vorticity"], "field 'vorticity': the slices have no such field"),
        (["--plane", "xz"], "plane 'xz': the slices lack it; they have x0-3_y3-3"),
        (["--plane", "xy", "--at", "5"], "at 5: no slice lies there; there are some at z = 0.785398"),
        (["--time", "0.31"], "time 0.31: the slices have no such time; they have t = 0, 0.2, 0.4, 0.6"),
        (["--component", "w"], "component 'w': one of x, y, z is needed"),
    ],
    ids=lambda value: value[-1] if isinstance(value, list) else "",
)
def test_what_slices_do_not_have_is_one_line(sliced, tmp_path, capsys, monkeypatch, words, message):
    monkeypatch.setattr("solver.outputs.statistics.draw_mean_fields", lambda paths, folder, view: [])
    assert main(["plot", str(sliced), "--output", str(tmp_path), *words]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_the_whole_run_and_a_choice_are_drawn(sliced, tmp_path, capsys):
    assert (
        main(["plot", str(sliced), "--output", str(tmp_path / "one"), "--field", "q_criterion", "--time", "0.4"]) == 0
    )
    names = {path.name for path in (tmp_path / "one").iterdir()}
    assert "slices-z1-step-00000008.png" in names
    assert not [name for name in names if "statistics" in name or "00000004" in name]
    assert (
        main(["plot", str(sliced), "--output", str(tmp_path / "mean"), "--field", "velocity_mean", "--time", "0.6"])
        == 0
    )
    assert [path.name for path in (tmp_path / "mean").iterdir()] == ["statistics-step-00000012.png"]


# ---- films ------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_film_of_a_plane(sliced, finished, tmp_path, capsys):
    target = tmp_path / "film.gif"
    words = ["--field", "velocity", "--component", "z", "--output", str(target)]
    assert main(["movie", str(sliced), "--plane", "yz", *words]) == 0
    with Image.open(target) as film:
        assert film.n_frames == 4
        shown = np.asarray(film.convert("RGB"))
    part = film_part(read_slices(list_snapshots(sliced / "slices")[0]), View(plane="yz"))
    assert part == "x6"
    read = lambda path: read_slices(path).of_part("x6")  # noqa: E731
    view = View(field="velocity", component="z", plane="yz")
    assert next(frames(list_snapshots(sliced / "slices"), view, read=read)).shape == shown.shape
    assert main(["movie", str(finished), "--slices", "--output", str(target)]) == 2
    assert "the run has no slices; [output.slices] writes them" in capsys.readouterr().err
    assert main(["movie", str(sliced), "--plane", "xz", "--output", str(target)]) == 2
    assert "plane 'xz': the slices lack it" in capsys.readouterr().err


# ---- statistics -------------------------------------------------------------------------------------------------


def test_means_have_bands_of_a_standard_deviation(tmp_path):
    columns = {"profile": (("s",), "length"), "size": ((), "length")}
    recorded = means(
        tmp_path, "mine", {"s": (R, "")}, columns,
        lambda name, t: R + t if name == "profile" else 2 + t, lambda name, t: R**2 if "profile" in name else 0.25,
    )  # fmt: skip
    figure = records_figure(recorded, View(), "means")
    assert titles(figure) == ["profile", "size"]
    curves, windows = figure.axes
    assert [line.get_label() for line in curves.lines] == ["t = 0 – 0", "t = 0.5 – 0.5"]
    (band,) = curves.collections
    corners = band.get_paths()[0].vertices
    for edge in (R + 0.5 + R, R + 0.5 - R):
        for point in zip(R, edge, strict=True):
            assert np.min(np.hypot(*(corners - point).T)) < 1e-12
    assert len(windows.collections) == len(windows.lines) == 2
    low, high = (
        windows.collections[1].get_paths()[0].vertices[:, 1].min(),
        windows.collections[1].get_paths()[0].vertices[:, 1].max(),
    )
    assert (low, high) == pytest.approx((2.0, 3.0))


def test_numbers_of_one_window_are_a_table(tmp_path):
    """A bar of one value in a panel of its own shows less than its number."""
    columns = {name: ((), "length^2/time^2") for name in ("energy", "flux")}
    value = lambda name, t: np.float64(-0.25 if name == "flux" else 0.5)  # noqa: E731
    recorded = means(tmp_path, "mine", {}, columns, value, lambda *_: np.float64(0.01), count=1)
    (axis,) = (figure := records_figure(recorded, View())).axes
    words = [text.get_text() for text in axis.texts]
    assert words == ["energy", "0.5 ± 0.1", "length²/time²", "flux", "−0.25 ± 0.1", "length²/time²"]
    assert titles(figure) == recorded.times
    assert overlaps(figure) == outside(figure) == []
    many = {f"quantity_{i}_with_a_long_name": ((), "length^2/time^2") for i in range(30)}
    recorded = means(tmp_path, "many", {}, many, lambda *_: np.float64(1e-5), lambda *_: np.float64(1), count=1)
    figure = records_figure(recorded, View())
    assert [len(axis.texts) // 3 for axis in figure.axes] == [14, 14, 2]
    assert overlaps(figure) == outside(figure) == []


def test_a_band_below_zero_ends_at_the_edge_of_a_logarithmic_axis(tmp_path):
    spectrum = np.exp(-K)
    recorded = means(
        tmp_path, "spectra", {"k": (K, "")}, {"energy": (("k",), "")}, lambda *_: spectrum, lambda *_: spectrum**2 * 4
    )
    (axis,) = records_figure(recorded, View()).axes
    (band,) = axis.collections
    heights = band.get_paths()[0].vertices[:, 1]
    assert axis.get_yscale() == "log"
    assert heights.min() == pytest.approx(axis.get_ylim()[0])
    assert heights.max() == pytest.approx(3 * spectrum[1])


def test_a_file_that_has_no_windows_is_refused(tmp_path):
    file = record(tmp_path, "spectra", {"k": (K, "")}, {"energy": (("k",), "")}, lambda *_: K)
    with pytest.raises(
        ValueError, match=r"spectra.h5: not a file of statistics; columns since, X and X_variance_in_time"
    ):
        Recorded.read_means(file)


@pytest.mark.slow
def test_statistics_of_a_run(sliced, tmp_path, figures):
    sw.outputs.Statistics.draw(sw.io.RunDirectory(sliced), tmp_path, View())
    assert set(figures) == {"statistics-scales", "statistics-spectra"} | {f"statistics-step-{n:08d}" for n in (6, 12)}
    rows = own_rows(sliced / "statistics" / "spectra.h5").table().rows
    axis, compensated = figures["statistics-spectra"].axes
    first, last = ([line for line in panel.lines if line.get_label()[0] != "_"] for panel in (axis, compensated))
    assert [line.get_label() for line in first] == ["t = 0 – 0.3", "t = 0.3 – 0.6"]
    k = first[-1].get_xdata()
    np.testing.assert_allclose(last[-1].get_ydata(), k ** (5 / 3) * first[-1].get_ydata(), rtol=1e-12)
    seen, shown = rows[1].values["energy"][1:], first[-1].get_ydata()
    np.testing.assert_allclose(shown[np.isfinite(shown)], seen[seen > 1e-20 * seen.max()])
    (k_max,) = {line.get_xdata()[0] for line in [*axis.lines, *compensated.lines] if line.get_label() == "_k_max"}
    assert k_max == 2.0  # of 8 points on 2π, two thirds of whose modes are kept
    assert figures["statistics-step-00000012"]._suptitle.get_text() == "t = 0.3 – 0.6, z = 0.785"
    assert titles(figures["statistics-step-00000012"])[0].split() == ["velocity", "mean", "x"]


# ---- what real outputs record ------------------------------------------------------------------------------------


def test_moments_beside_a_density_are_no_densities(tmp_path):
    beside = {f"{q}_{m}": ((), "") for q in "uv" for m in ("mean", "std", "skewness", "flatness", "outside")}
    columns = {"u": (("deviation",), "1"), "v": (("deviation",), "1"), **beside}
    x = np.linspace(-5, 5, 21)
    figure = drawn(tmp_path, "pdfs", {"deviation": (x, "1")}, columns, lambda n, t: np.exp(-(x**2)) if n in "uv" else t)
    assert titles(figure) == ["u", "v", "flatness", "skewness"]
    assert [line.get_label() for line in figure.axes[2].lines] == ["u", "v"]
    assert figure.axes[2].get_yscale() == "linear"


def test_extremes_share_panels_and_places_come_last(tmp_path):
    columns = {f"speed_{which}{end}": ((), "") for which in ("max", "min") for end in ("", "_x", "_y")}
    figure = drawn(tmp_path, "extremes", {}, columns, lambda name, t: np.float64(t + len(name)))
    assert titles(figure) == ["speed", "place of speed max", "place of speed min"]
    assert [line.get_label() for line in figure.axes[0].lines] == ["max", "min"]


def test_points_and_modes_are_curves_against_time(sliced):
    recorded = Recorded.read(own_rows(sliced / "points.h5"))
    figure = records_figure(recorded, View())
    assert titles(figure) == ["velocity x", "velocity y", "velocity z"]
    first, second = figure.axes[2].lines
    assert (first.get_label(), second.get_label()) == ("(0.1, 0.2, 0.3)", "(1, 2, 3)")
    np.testing.assert_array_equal(second.get_xdata(), recorded.t)
    np.testing.assert_array_equal(second.get_ydata(), recorded.values["velocity_z"][:, 1])


def test_no_panel_is_empty(tmp_path):
    columns = {name: (("k",), "") for name in ("energy", "nothing", "round_off", "alone")} | {"same": ((), "")}
    shapes = {"energy": np.exp(-K), "nothing": 0 * K, "round_off": 1e-17 * np.cos(K), "alone": 1.0 * (K == 3)}
    figure = drawn(tmp_path, "mine", {"k": (K, "")}, columns, lambda name, t: shapes.get(name, np.float64(1)))
    assert titles(figure) == ["alone", "energy"]
    points = [line for line in figure.axes[0].lines if line.get_marker() == "o"]  # a line of one point is not seen
    assert [line.get_xdata().tolist() for line in points] == [[3.0]] * 5


@pytest.mark.parametrize("core", [0.8, 1.3])
def test_the_drawn_soliton_is_that_of_the_fit(tmp_path, core):
    r = np.linspace(0, 6, 40)
    density = soliton_profile(r, 2.0, core) + 0.02 * np.cos(3 * r) ** 2
    axes, columns = {"r": (r, "length")}, {"density": (("r",), "density"), "count": (("r",), "1")}
    figure = drawn(tmp_path, "profile", axes, columns, lambda name, t: density if name == "density" else 1 + r)
    assert titles(figure) == ["density"]
    central, radius = fit_soliton(r, density)
    line = figure.axes[0].lines[-1]
    assert line.get_label() == f"soliton, $r_c$ = {radius:.3g}"
    np.testing.assert_allclose(line.get_ydata(), soliton_profile(line.get_xdata(), central, radius), rtol=1e-12)


@pytest.mark.slow
def test_long_titles_are_broken(tmp_path):
    names = [f"magnetic_field_{a}_magnetic_field_{b}_imaginary" for a in "xyz" for b in "xyz"]
    figure = drawn(tmp_path, "cospectra", {"k": (K, "")}, {n: (("k",), "") for n in names}, lambda *_: np.cos(K))
    assert all("\n" in title for title in titles(figure))
