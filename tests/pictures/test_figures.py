"""Figures: nothing overlaps, the shapes and colours are those of the data, every kind of record is drawn."""

import shutil
import sys
from dataclasses import replace

import numpy as np
import pytest
from made_runs import record
from measured_figures import at_points, hidden_by_legends, outside, overlaps

import solver as sw
from solver.cli.main import main
from solver.io import list_snapshots
from solver.pictures import (
    Panel,
    Recorded,
    View,
    colours_of,
    ensemble_figure,
    frequencies_figure,
    hovmoeller_figure,
    records_figure,
    series_figure,
    slices_figure,
    spectra_figure,
)
from solver.pictures.drawn_slices import draw_slices, draw_snapshots, panels_of, plane_of
from solver.pictures.interpolation import Side
from solver.pictures.panels import chosen_times
from solver.pictures.style import unit
from solver.pictures.ticks import few_ticks

pytest.importorskip("matplotlib", reason="matplotlib is not installed")

T = np.linspace(0, 123.4, 40)
K = np.arange(90.0)
LOOKS = [View(), View(dark=True)]


def readable(figure):
    assert figure is not None
    assert overlaps(figure) == []
    assert outside(figure) == []
    assert hidden_by_legends(figure) == []
    return figure


def titles(figure):
    return [axis.get_title(loc="left") for axis in figure.axes if axis.get_title(loc="left")]


# ---- series -----------------------------------------------------------------------------------------------------


def series(scale=1.0):
    grow = np.linspace(1, 2, len(T))
    return {
        "step": np.arange(len(T)),
        "t": T,
        "dt": np.full(len(T), 0.01),
        "energy": scale * grow,
        "enstrophy": np.full(len(T), 3.0),
        "round_off": 1 + 1e-15 * np.arange(len(T)),
        "energy_from_viscosity": -scale * (grow - 1),
        "energy_from_forcing": 2 * scale * (grow - 1),
        "mass_drift": -1e-15 * np.arange(len(T)),
        "max_divergence": 1e-14 * grow,
    }


@pytest.mark.slow
@pytest.mark.parametrize("scale", [1e-7, 1.0, 123456.0])
def test_series_without_constant_columns(scale):
    figure = readable(series_figure(series(scale), {"energy": "length^2/time^2"}, View()))
    assert titles(figure) == ["energy", "energy budget", "zero in a perfect run"]
    labels = [line.get_label() for line in figure.axes[1].lines]
    assert labels == ["viscosity", "forcing", "sum", "gain"]
    np.testing.assert_allclose(figure.axes[1].lines[2].get_ydata(), figure.axes[1].lines[3].get_ydata())
    assert figure.axes[0].get_ylabel() == "length²/time²"
    assert figure.axes[2].get_yscale() == "log"


def test_what_hardly_changes_is_drawn_as_the_difference_from_the_start():
    columns = {"t": T, "energy": 0.5107801 + 1e-9 * np.sin(T), "mass": 1 + 0.1 * np.sin(T)}
    figure = readable(series_figure(columns, {"energy": "length^2/time^2"}, View()))
    assert [title.replace("\n", " ") for title in titles(figure)] == [
        "energy: difference from the start, 0.51078", "mass"
    ]  # fmt: skip
    np.testing.assert_allclose(figure.axes[0].lines[0].get_ydata(), 1e-9 * np.sin(T), atol=1e-15)
    np.testing.assert_allclose(figure.axes[1].lines[0].get_ydata(), columns["mass"])


@pytest.mark.parametrize(("after", "mean"), [(None, 7.5), (0.0, 5.0), (8.0, 9.0)])
def test_nusselt_numbers_have_a_running_mean(after, mean):
    """Of Nu = t it is (t + t₀)/2, with an error where there are times enough."""
    t = np.linspace(0, 10, 41 if after == 0 else 21)
    columns = {"t": t, "nusselt_flux": t, "energy": t}
    plain, nusselt = series_figure(columns, {}, View(after=after)).axes
    plain, nusselt = sorted((plain, nusselt), key=lambda axis: len(axis.lines))
    assert len(plain.lines) == 1
    line = nusselt.lines[1]
    np.testing.assert_allclose(line.get_ydata(), (line.get_xdata() + line.get_xdata()[0]) / 2)
    assert line.get_label().startswith(f"mean from t = {line.get_xdata()[0]:g}: {mean:g}")
    assert ("±" in line.get_label()) == (after == 0)


def test_rounding_beside_larger_columns_of_its_units_is_left_out():
    """A power of −2e-21 of what nothing forces; the growing energy of a weak seed stays."""
    noise = -2e-21 * (1 + np.sin(T))
    columns = {"t": T, "energy": 1 + np.sin(T), "seed": 1e-20 * np.exp(T / 40), "flux": noise}
    columns |= {"energy_from_viscosity": np.sin(T), "energy_from_forcing": noise}
    units = dict.fromkeys(["energy", "seed", "flux"], "length^2/time^2")
    figure = readable(series_figure(columns, units, View()))
    assert titles(figure) == ["energy", "seed", "energy budget"]
    assert [line.get_label() for line in figure.axes[2].lines] == ["viscosity", "gain"]


def test_few_errors_are_marked():
    """A drift in two rows only would be a panel without a line."""
    columns = {"t": T[:3], "energy_drift": np.array([0.0, 0.0, -1e-9])}
    (axis,) = readable(series_figure(columns, {}, View())).axes
    (line,) = axis.lines
    assert (line.get_marker(), line.get_label(), line.get_ydata().tolist()) == ("o", "|energy drift|", [1e-9])


@pytest.mark.parametrize(
    ("count", "most", "rows"),
    [
        (11, 6, [0, 2, 4, 6, 8, 10]),
        (6, 6, [0, 1, 2, 3, 4, 5]),
        (9, 6, [0, 2, 4, 6, 8]),
        (8, 4, [0, 2, 5, 7]),
        (5, 1, [4]),
    ],
)
def test_times_are_equally_spaced_where_they_can_be(count, most, rows):
    assert chosen_times(count, most) == rows


def test_nothing_to_draw():
    assert series_figure({name: values[:1] for name, values in series().items()}, {}, View()) is None
    assert series_figure({}, {}, View()) is None
    assert spectra_figure(K, np.empty(0), {"energy": np.empty((0, 90))}, View()) is None
    assert hovmoeller_figure(Side("x", K), T[:1], {"u": np.zeros((1, 90))}, {}, View()) is None


# ---- spectra ----------------------------------------------------------------------------------------------------


def test_a_compensated_power_law_is_flat():
    law = np.where(K > 0, np.maximum(K, 1) ** (-5 / 3), 0) * np.ones((len(T), 1))
    figure = readable(spectra_figure(K, T, {"energy": law}, View(), {"energy": 5 / 3}))
    assert titles(figure) == ["energy per shell", "$k^{5/3}$ × energy"]
    for line in figure.axes[1].lines:
        np.testing.assert_allclose(line.get_ydata()[1:], 1, rtol=1e-12)
    assert len(figure.axes[0].lines) == 6
    shown = figure.axes[0].lines[-1]
    np.testing.assert_allclose(shown.get_xdata()[np.isfinite(shown.get_ydata())], K[1:])
    assert [line.get_label() for line in figure.axes[0].lines][-1] == "t = 123"


@pytest.mark.slow
def test_only_spectra_with_a_power_law_are_compensated():
    spectra = {name: np.exp(-K) * np.ones((len(T), 1)) for name in ("energy", "enstrophy")}
    figure = readable(spectra_figure(K, T, spectra, View(), {"enstrophy": 1.0}))
    assert titles(figure) == ["energy per shell", "enstrophy per shell", "k × enstrophy"]


@pytest.mark.thorough
@pytest.mark.slow
def test_k_max_is_marked_where_shells_lie_beyond_it():
    law = np.exp(-K / 9) * np.ones((3, 1))
    for k_max, expected in ((55.0, [55.0, 55.0]), (200.0, []), (None, [])):
        figure = readable(spectra_figure(K, T[:3], {"energy": law}, View(), {"energy": 5 / 3}, k_max))
        marks = [line.get_xdata()[0] for axis in figure.axes for line in axis.lines if line.get_label() == "_k_max"]
        assert marks == expected


def test_a_spectrum_of_both_signs_is_dashed_where_it_is_negative():
    helicity = np.where(K < 40, 1.0, -2.0) * np.exp(-K / 9) * np.ones((1, 1))
    figure = readable(spectra_figure(K, T[:1], {"helicity": helicity}, View(), {"helicity": 5 / 3}))
    assert [title.replace("\n", " ") for title in titles(figure)] == ["|helicity| per shell, dashed where negative"]
    above, below = figure.axes[0].lines
    assert (above.get_linestyle(), below.get_linestyle()) == ("-", "--")
    np.testing.assert_allclose(below.get_ydata()[40:], 2 * np.exp(-K[40:] / 9))
    assert np.isnan(below.get_ydata()[:40]).all()
    assert np.isnan(above.get_ydata()[40:]).all()
    both = {"helicity": 1e-16 * helicity, "energy": np.abs(helicity), "small": 1e-16 * np.abs(helicity)}
    assert titles(spectra_figure(K, T[:1], both, View())) == ["energy per shell", "small per shell"]


@pytest.mark.slow
@pytest.mark.parametrize("highest", [5, 12, 90, 3000])
def test_ticks_of_spectra_at_any_resolution(highest):
    k = np.arange(float(highest))
    values = np.exp(-k / highest * 60) * np.ones((3, 1))
    spectra = {"energy": values, "enstrophy": 1e8 * values}
    readable(spectra_figure(k, T[:3], spectra, View(), {"energy": 3.0, "enstrophy": 1.0}))


# ---- slices -----------------------------------------------------------------------------------------------------


def wave(nx, ny, length=2 * np.pi):
    x, y = length * np.arange(nx) / nx, length * ny / nx * np.arange(ny) / ny
    return [Side("x", x), Side("y", y)], np.sin(2 * np.pi * x / length)[:, None] * np.cos(y)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("shape", "length", "count"),
    [((16, 16), 2 * np.pi, 1), ((48, 8), 30.0, 3), ((8, 40), 1e-3, 5), ((9, 7), 1e5, 1)],
)
def test_slices_have_the_aspect_of_the_box(shape, length, count):
    sides, values = wave(*shape, length)
    panels = [Panel("velocity", str(i), 10.0 ** (4 * i - 6) * values, "length/time") for i in range(count)]
    figure = readable(slices_figure(panels, sides, "t = 1.234, z = 0.5", View(dark=count == 3)))
    drawn = [axis for axis in figure.axes if axis.images]
    assert len(drawn) == count
    for axis in drawn:
        box = axis.get_window_extent()
        assert box.height / box.width == pytest.approx(shape[1] / shape[0], rel=0.02)
        assert axis.get_xlabel() == "x"
        assert axis.get_xlim() == pytest.approx((0, length))
        for ticks, end in ((axis.get_xticks(), length), (axis.get_yticks(), length * shape[1] / shape[0])):
            shown = ticks[(ticks >= 0) & (ticks <= end * (1 + 1e-9))]
            assert (shown[0], shown[-1]) == pytest.approx((0, end))
            assert 3 <= len(shown) <= 6


@pytest.mark.parametrize(
    ("text", "shown"), [("(1)^2", ""), ("1", ""), ("length^2/time^-3", "length²/time⁻³"), ("a*b", "a·b")]
)
def test_units_are_printed_as_in_a_journal(text, shown):
    assert unit(text) == shown


def test_x_runs_across_and_y_upwards():
    sides, _ = wave(4, 6)
    values = np.arange(24.0).reshape(4, 6)
    figure = slices_figure([Panel("u", "", values)], sides, "", View())
    image = figure.axes[0].images[0]
    np.testing.assert_array_equal(at_points(image, (4, 6)), values.T)
    assert image.origin == "lower"


def test_a_colour_map_for_each_quantity():
    signed, positive = np.linspace(-1, 3, 50), np.linspace(0, 3, 50)
    velocity = colours_of("velocity", [signed, 0.1 * signed])
    assert (velocity.low, velocity.high, velocity.name) == (-3, 3, "RdBu_r")
    assert colours_of("vorticity", [signed]).name == "PuOr_r"
    assert colours_of("vorticity", [signed], dark=True).name != "PuOr_r"
    density = colours_of("density", [positive])
    assert (density.low, density.high, density.name, density.extend) == (0, 3, "magma", "neither")
    phase = colours_of("phase", [positive])
    assert (phase.low, phase.high, phase.name) == (-np.pi, np.pi, "twilight")
    assert colours_of("u", [positive + 100]).low == 100
    spiky = colours_of("density", [np.append(np.linspace(0, 1, 10_000), 50.0)])
    assert spiky.high == pytest.approx(1, rel=0.01)
    assert spiky.extend == "max"
    undershot = colours_of("c", [np.linspace(-0.3, 25, 99)])
    assert (undershot.low, undershot.high, undershot.name) == (0, 25, "viridis")
    assert colours_of("velocity", [np.linspace(-0.3, 25, 99)]).name == "RdBu_r"
    assert colours_of("c", [np.linspace(-3, 25, 99)]).name == "RdBu_r"
    below = colours_of("potential", [-positive])
    assert (below.low, below.high, below.name) == (-3, 0, "viridis_r")
    for odd in (np.zeros(5), np.full(5, np.nan), np.full(5, -2.0), np.empty(0)):
        colours = colours_of("u", [odd])
        assert colours.low < colours.high


# ---- records ----------------------------------------------------------------------------------------------------

R = np.linspace(0.1, 3, 20)
X = np.linspace(-6, 6, 41)
RECORDS = {
    "transfer": (
        {"k": (K, "1/length")},
        {f"{a}_energy_{b}": (("k",), "length^2/time^3") for a in ("kinetic", "magnetic") for b in ("transfer", "flux")},
        lambda name, t: np.sin(K / 9) * (3 if "kinetic" in name else -1),
        ["transfer T(k), t = 2", "flux Π(k), t = 2"],
    ),
    "pdfs": (
        {"deviation": (X, "1"), "log10_of_mean": (R, "1")},
        {"velocity_x": (("deviation",), "1"), "dissipation": (("log10_of_mean",), "1")},
        lambda name, t: np.exp(-np.abs(X)) if name == "velocity_x" else np.exp(-R),
        ["dissipation", "velocity x"],
    ),
    "structure-functions": (
        {"order": (np.arange(1, 7), "1"), "r": (R, "length")},
        {name: (("order", "r"), "") for name in ("longitudinal", "transverse")},
        lambda name, t: R ** (np.arange(1, 7)[:, None] / 3),
        ["longitudinal, t = 2", "transverse, t = 2"],
    ),
    "correlations": ({"r": (R, "length")}, {"f": (("r",), "1")}, lambda name, t: np.cos(R + t), ["f"]),
    "profile": (
        {"r": (R, "length")}, {"density": (("r",), "density")}, lambda name, t: (1 + R**2) ** -8.0, ["density"],
    ),
    "zonal-means": (
        {"y": (R, "length")}, {"zonal_velocity": (("y",), "length/time")}, lambda name, t: np.sin(R + t),
        ["zonal velocity"],
    ),
    "waves": (
        {"k": (K, "1/length"), "omega": (R, "1/time")}, {"power": (("k", "omega"), "")},
        lambda name, t: np.exp(-((K[:, None] - 9 * R) ** 2)), ["power, t = 2"],
    ),
    "mine": (
        {"rank": (np.arange(4), "")}, {"size": (("rank",), "length"), "count": ((), "1")},
        lambda name, t: np.arange(4) + t if name == "size" else np.float64(t), ["size", "count"],
    ),
}  # fmt: skip

ONE_ROW = RECORDS.keys() - {"structure-functions", "mine"}


def drawn(tmp_path, name, view, count=5):
    axes, columns, values, _ = RECORDS[name]
    return records_figure(Recorded.read(record(tmp_path, name, axes, columns, values, count)), view)


@pytest.mark.slow
@pytest.mark.parametrize("name", RECORDS)
def test_every_file_of_records_is_drawn(tmp_path, name):
    view = LOOKS[sorted(RECORDS).index(name) % 2]  # light or dark
    assert titles(readable(drawn(tmp_path, name, view))) == RECORDS[name][3]


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["structure-functions", "mine", *(pytest.param(n, marks=pytest.mark.thorough) for n in sorted(ONE_ROW))]
)
def test_one_row_is_enough(tmp_path, name):
    readable(drawn(tmp_path, name, View(), count=1))


def test_fluxes_of_energies_are_summed(tmp_path):
    flux = drawn(tmp_path, "transfer", View()).axes[1]
    total = next(line for line in flux.lines if line.get_label() == "sum of energies")
    np.testing.assert_allclose(total.get_ydata(), 2 * np.sin(K[1:] / 9))
    assert flux.get_xscale() == "log"


def test_a_density_of_deviations_is_beside_a_gaussian(tmp_path):
    other, panel = drawn(tmp_path, "pdfs", View()).axes
    gaussian = next(line for line in panel.lines if line.get_label() == "Gaussian")
    assert np.trapezoid(gaussian.get_ydata(), X) == pytest.approx(1, abs=1e-6)
    assert panel.get_yscale() == other.get_yscale() == "log"
    assert "Gaussian" not in [line.get_label() for line in other.lines]


def test_scales_follow_the_axes(tmp_path):
    scales = lambda name: [(a.get_xscale(), a.get_yscale()) for a in drawn(tmp_path, name, View()).axes]  # noqa: E731
    assert scales("structure-functions") == [("log", "log")] * 2
    assert scales("profile") == [("log", "log")]
    assert scales("correlations") == scales("mine")[:1] == [("linear", "linear")]


def test_structure_functions_say_where_they_are_negative(tmp_path):
    r = np.geomspace(0.1, 3, 20)
    curves = np.stack([r**2, np.where(r < 1, -r, 0.5 * r**1.2), np.sin(9 * r)])
    axes = {"order": (np.array([2, 3, 5]), "1"), "r": (r, "length")}
    columns = {"longitudinal": (("order", "r"), "")}
    figure = readable(records_figure(Recorded.read(record(tmp_path, "sf", axes, columns, lambda *_: curves)), View()))
    shown = {line.get_label(): line for line in figure.axes[0].lines}
    negative = shown["p = 3, negative"]
    assert negative.get_linestyle() == "--"
    np.testing.assert_allclose(negative.get_ydata()[r < 1], r[r < 1])
    assert np.isnan(negative.get_ydata()[r >= 1]).all()
    guides = [line for line in figure.axes[0].lines if line.get_linestyle() == ":"]
    assert len(guides) == 1  # not of r² with slope 2/3, nor of the noise of order 5
    x, y = guides[0].get_data()
    np.testing.assert_allclose(np.diff(np.log(y)) / np.diff(np.log(x)), 1.0)
    assert x[-1] < 1.1


def test_a_soliton_is_fitted_where_it_can_be(tmp_path, monkeypatch):
    monkeypatch.setattr("solver.diagnostics.fit_soliton", lambda r, density: (1.0, 0.3017), raising=False)
    lines = drawn(tmp_path, "profile", View()).axes[0].lines
    assert lines[-1].get_label() == "soliton, $r_c$ = 0.302"
    np.testing.assert_allclose(lines[-1].get_ydata(), lines[-2].get_ydata()[: len(lines[-1].get_ydata())], rtol=0.01)


EVEN = 0.25 * np.arange(32)


def modes(tmp_path, t, count):
    """Records of waves exp(−i ω_j t), ω_j = j π/4, of so many modes."""
    phase = lambda t: np.exp(-0.25j * np.pi * np.arange(count) * t)  # noqa: E731
    columns = {f"u_{part}": (("mode",), "length") for part in ("real", "imaginary")}
    values = lambda name, now: phase(now).real if name == "u_real" else phase(now).imag  # noqa: E731
    folder = tmp_path / f"{count}-{t[-1]}"
    folder.mkdir()
    return Recorded.read(record(folder, "modes", {"mode": (np.arange(count), "")}, columns, values, times=t))


@pytest.mark.parametrize("view", LOOKS, ids=["light", "dark"])
def test_modes_have_frequencies(tmp_path, view):
    """The last time, which is off the others, is left out."""
    figure = readable(frequencies_figure(modes(tmp_path, np.append(EVEN, 7.9), 3), view))
    (axis,) = figure.axes
    assert titles(figure) == ["S(ω) of u [(length)²]"]
    for j, line in enumerate(axis.lines):
        omega, power = line.get_data()
        assert len(omega) == 32
        assert omega[np.nanargmax(power)] == pytest.approx(0.25 * np.pi * j)
    low, high = axis.get_xlim()
    assert high == -low < 6  # of 12.6: no mode has more


def test_many_modes_are_an_image_and_few_times_are_none(tmp_path):
    figure = readable(frequencies_figure(modes(tmp_path, EVEN, 12), View()))
    (image,) = figure.axes[0].collections
    shown = image.get_array()
    assert shown.shape == (12, 32)
    np.testing.assert_array_equal(np.argmax(shown, axis=1)[:4], 16 + np.arange(4))
    assert frequencies_figure(modes(tmp_path, EVEN[:15], 2), View()) is None
    assert frequencies_figure(modes(tmp_path, EVEN**2, 2), View()) is None


# ---- the command ------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_planes_are_cut_where_they_are_asked_for(finished):
    snapshot = sw.io.read_snapshot(finished / "snapshots" / "step-00000008.h5")
    whole = snapshot.values("velocity")
    for view, expected, words in (
        (View(), whole[:, :, 1], "z = 0.785"),
        (View(plane="xz", at=4 * np.pi / 16 * 5.3), whole[:, 5], "y = 3.93"),
        (View(plane="yz", at=0.0), whole[0], "x = 0"),
    ):
        plane = plane_of(snapshot, view)
        panels = panels_of(snapshot, view, plane)
        assert [panel.label for panel in panels] == ["x", "y", "z"]
        np.testing.assert_array_equal(np.stack([panel.values for panel in panels], axis=-1), expected)
        assert plane.label == words
    (panel,) = panels_of(snapshot, View(field="velocity", component="y"), plane_of(snapshot, View()))
    np.testing.assert_array_equal(panel.values, whole[:, :, 1, 1])


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--field", "velocty"], "field 'velocty': the snapshots have no such field; did you mean 'velocity'?"),
        (["--component", "w"], "component 'w': one of x, y, z is needed"),
        (["--field", "q_criterion", "--component", "x"], "component 'x' of a scalar, which has no components"),
        (["--plane", "xw"], "plane 'xw': one of xy, xz, yz is needed"),
        (["--at", "99"], "at 99: z from 0 to 6.28319 is needed"),
        (["--time", "0.31"], "time 0.31: the snapshots have no such time; they have t = 0, 0.2, 0.4, 0.6"),
        (["--time", "nan"], "time nan: a finite number is needed"),
        (["--format", "bmp"], "format 'bmp': one of png, pdf, svg is needed"),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else "",
)
def test_what_does_not_fit_is_one_line(finished, tmp_path, capsys, words, message):
    assert main(["plot", str(finished), "--output", str(tmp_path), *words]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_slices_alone_are_drawn_where_they_are_chosen(finished, line, empty, tmp_path, capsys):
    folder = tmp_path / "some" / "where"
    assert main(["plot", str(finished), "--output", str(folder), "--time", "0.4", "--format", "svg", "--dark"]) == 0
    assert [path.name for path in folder.iterdir()] == ["step-00000008.svg"]
    assert main(["plot", str(line), "--plane", "xz"]) == 2
    assert "plane 'xz': a run in three dimensions is needed; this one has 1" in capsys.readouterr().err
    assert main(["plot", str(empty), "--field", "velocity"]) == 2
    assert "has no snapshots" in capsys.readouterr().err
    assert not any((folder / "figures").exists() for folder in (line, empty))


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["finished", "line", "running", "blown_up", "empty"])
def test_every_run_is_drawn(request, kind, tmp_path, capsys):
    folder = tmp_path / "run"
    shutil.copytree(request.getfixturevalue(kind), folder)
    assert main(["plot", str(folder)]) == 0
    drawn = {path.name for path in (folder / "figures").glob("*")}
    some = {
        "finished": {"series.png", "spectra.png", "step-00000008.png"}, "line": {"series.png", "snapshots.png"},
        "running": {"series.png", "spectra.png"}, "blown_up": {"step-00000000.png"}, "empty": set(),
    }  # fmt: skip
    assert some[kind] <= drawn
    assert (drawn == set()) == (kind == "empty") == (not (folder / "figures").exists())
    assert (f"{folder}: nothing to draw yet" in capsys.readouterr().err) == (kind == "empty")


def test_without_matplotlib_a_line_says_so(finished, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert main(["plot", str(finished)]) == 2
    assert "figures need matplotlib: pip install '.[plot]' in the checkout" in capsys.readouterr().err


def test_all_times_have_the_same_colours(finished, tmp_path, monkeypatch):
    limits = []
    monkeypatch.setattr(
        "solver.pictures.drawn_slices.save",
        lambda figure, *_: limits.append({a.images[0].get_clim() for a in figure.axes if a.images}) or [],
    )
    draw_snapshots([sw.io.read_snapshot(path) for path in list_snapshots(finished / "snapshots")], tmp_path, View())
    assert len(limits) == 4
    largest = max(
        np.abs(sw.io.read_snapshot(path).values("velocity")[:, :, 1]).max()
        for path in list_snapshots(finished / "snapshots")
    )
    assert all(of_figure == {(-largest, largest)} for of_figure in limits)


def test_slices_are_written_as_files(finished, tmp_path):
    snapshot = sw.io.read_snapshot(finished / "snapshots" / "step-00000008.h5")
    (path,) = draw_slices(snapshot, tmp_path, View(format="pdf"))
    assert path.read_bytes().startswith(b"%PDF")


@pytest.mark.parametrize(
    ("low", "high"),
    [
        (1, 9.5),
        (2, 30),
        (0.9, 13),
        (0.15, 0.7),
        (3, 4),
        (6, 9),
        (11, 99),
        (2, 900),
        (1e-7, 8e-7),
        (2e-9, 9e-8),
        (1, 1e19),
    ],
)
def test_a_logarithmic_axis_has_three_numbers_at_least(low, high):
    from matplotlib.figure import Figure

    axis = Figure().subplots()
    axis.loglog([low, high], [low, high])
    axis.set_xlim(low, high)
    few_ticks(axis)
    shown = [tick for tick in axis.get_xticks() if low <= tick <= high]
    assert 3 <= len(shown) <= 7
    assert all(label.get_text() for label in axis.get_xticklabels())
    assert all(text == "" for text in (label.get_text() for label in axis.get_xticklabels(minor=True)))


def test_spectra_of_two_fields_on_two_axes_have_one_kind_of_scale(tmp_path):
    """The velocity fills few modes and spans decades, the buoyancy does not quite."""
    sides = {name: (np.arange(9.0), "1/length") for name in ("k_parallel", "k_perp")}
    k = np.hypot(*np.meshgrid(np.arange(9.0), np.arange(9.0)))
    fields = {"velocity": np.exp(-2 * k), "buoyancy": np.exp(-0.5 * k)}
    columns = {name: (("k_parallel", "k_perp"), "") for name in fields}
    file = record(tmp_path, "plane-spectra", sides, columns, lambda name, t: fields[name])
    figure = records_figure(Recorded.read(file), View())
    assert titles(figure) == ["buoyancy, t = 2", "velocity, t = 2"]
    assert [type(axis.collections[0].norm).__name__ for axis in figure.axes[:2]] == ["LogNorm"] * 2


def test_a_mean_spectrum_of_the_mean_alone_is_drawn(tmp_path):
    """Nothing of a uniform field shows on an axis of log k, where its mean over windows has no band either."""
    columns = {"height": (("k",), "")}
    file = record(tmp_path, "spectra", {"k": (np.arange(4.0), "1/length")}, columns, lambda name, t: np.eye(4)[0])
    recorded = Recorded.read(file)
    windows = replace(recorded, spread=recorded.values, since=recorded.t - 1)
    assert titles(records_figure(windows, View()))


def test_a_cross_spectrum_is_titled_by_what_it_is_and_quadrature_comes_last(tmp_path):
    grid = sw.Grid((8, 8, 8), mesh=sw.device_mesh([0]))
    flow = sw.equations.Boussinesq(grid, viscosity=0.1, diffusivity=0.1)
    pairs = (("velocity_z", "buoyancy"), ("velocity_x", "velocity_y"))
    layout = sw.outputs.Cospectra(every_steps=1, pairs=pairs).layout(flow)
    t, values = np.arange(2.0), {name: np.cos(layout.axes["k"].values) * np.ones((2, 1)) for name in layout.columns}
    figure = records_figure(Recorded("cospectra", t, layout, values), View())
    assert [title.replace("\n", " ") for title in titles(figure)] == [
        "flux of buoyancy along z (co-spectrum with velocity z)",
        "Reynolds stress of velocity x and velocity y",
        "quadrature spectrum of velocity z and buoyancy",
        "quadrature spectrum of velocity x and velocity y",
    ]
    readable(figure)


@pytest.mark.slow
def test_the_legend_of_an_ensemble_is_below_all_panels():
    band = (T, np.sin(T), 0.1 + 0 * T)
    bands = {name: {"viscosity = 0.1": band, "viscosity = 0.2": band} for name in ("energy", "enstrophy", "a", "b")}
    figure = readable(ensemble_figure(bands, {}, View()))
    (legend,) = figure.legends
    assert not any(axis.get_legend() for axis in figure.axes)
    assert legend.get_window_extent().y1 <= min(axis.get_tightbbox().y0 for axis in figure.axes)
    labels = [f"viscosity = {i}, amplitude = 0.125" for i in range(6)]
    readable(ensemble_figure({"energy": dict.fromkeys(labels, band)}, {}, View()))


def test_what_lies_along_the_box_is_a_diagram(tmp_path):
    (diagram, _) = drawn(tmp_path, "zonal-means", View()).axes
    assert (diagram.get_xlabel(), diagram.get_ylabel()) == ("y", "t")
    np.testing.assert_allclose(diagram.collections[0].get_array(), [np.sin(R + 0.5 * i) for i in range(5)])
