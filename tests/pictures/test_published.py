"""Published profiles over those of a run."""

import numpy as np
import pytest

from solver.cli.main import main
from solver.io import Axis, Column, RecordsLayout, Row, RunDirectory
from solver.pictures import Recorded, View, records_figure
from solver.pictures.published import Published, read_published
from solver.pictures.style import new_figure, style
from solver.pictures.wall_panels import layer_panels
from solver.walls.legendre import gauss_points

pytest.importorskip("matplotlib")

NU, SPEED = 0.01, 0.5  # Re_τ = 50
Z = 1 + gauss_points(33)[0]
U = SPEED**2 / NU * (Z - Z**2 / 2)  # a parabola, whose shear at the walls is u_τ²/ν
W2, UW = Z**2 * (2 - Z) ** 2, (Z - 1) * Z * (2 - Z)  # ⟨w²⟩ and ⟨uw⟩


def columns(scale):
    """Columns of a plane flow, whose fluctuations grow with `scale`."""
    made = {
        "velocity_x": U, "velocity_z": 0 * Z, "velocity_x_slope": SPEED**2 / NU * (1 - Z), "velocity_z_slope": 0 * Z,
        "velocity_x_velocity_x": U**2 + 4 * scale * W2, "velocity_z_velocity_z": scale * W2,
        "velocity_x_velocity_z": scale * UW, "velocity_x_velocity_x_velocity_x": U**3,
        "velocity_z_velocity_z_velocity_z": 0 * Z, "velocity_transport": 0 * Z,
        "velocity_gradient_square": (SPEED**2 / NU * (1 - Z)) ** 2 + scale, "viscosity": np.float64(NU),
    }  # fmt: skip
    return {name: np.asarray(values, float) for name, values in made.items()}


@pytest.fixture
def rows(tmp_path):
    """Rows at t = 0 to 4, with scales from 0 to 4."""
    (tmp_path / "config.toml").write_text("")
    about = {name: Column(("z",) if values.ndim else (), "") for name, values in columns(0).items()}
    file = RunDirectory(tmp_path).store.rows("vertical-profiles")
    for t in range(5):
        file.append(Row(t, float(t), columns(float(t))), RecordsLayout({"z": Axis(Z, "length", "height")}, about))
    file.flush()
    return file


def panel(figure, title):
    (axis,) = [axis for axis in figure.axes if axis.get_title(loc="left").replace("\n", " ").startswith(title)]
    return axis


def marked(axis):
    """Places and values of the marks, without the entry of the legend."""
    (line,) = [line for line in axis.lines if line.get_marker() == "o" and len(line.get_xdata())]
    return np.stack(line.get_data())


def test_marks_lie_where_the_tables_have_them(rows):
    """In the run's units upright, and in wall units with the signs of the curves, of which both walls have one."""
    heights, distance = np.array([0.2, 0.5]), np.array([10.0, 25.0])
    of_run = Published("theirs", "z", heights, {"velocity_z_rms": np.array([1.0, 2.0])})
    mean, stress, lost = np.array([8.0, np.nan]), np.array([-0.5, -0.7]), np.array([0.2, 0.1])
    in_units = {"velocity_x": mean, "velocity_x_velocity_z": stress, "dissipation": lost}
    figure = records_figure(Recorded.read(rows), View(data=(of_run, Published("mine", "y+", distance, in_units))))
    np.testing.assert_array_equal(marked(panel(figure, "fluctuation (rms)")), [[1.0, 2.0], heights])
    units = {"velocity x": mean, "fluctuations (rms) and stress": -stress, "turbulent energy budget": -lost}
    for title, values in units.items():
        np.testing.assert_array_equal(marked(panel(figure, f"{title} in wall units")), [distance, values])
    lower, upper = panel(figure, "velocity x in wall units").lines[2:4]
    assert lower.get_label() == "lower wall, Re_τ = 50"
    for line in (lower, upper):
        np.testing.assert_allclose(line.get_ydata() * NU / line.get_xdata(), NU * (1 - line.get_xdata() / 100))
    of_stress = panel(figure, "fluctuations (rms) and stress in wall units").lines[4:6]
    for line in of_stress:
        z = line.get_xdata() * NU / SPEED
        np.testing.assert_allclose(line.get_ydata(), 3 * z * (1 - z) * (2 - z) / SPEED**2, atol=1e-12)


@pytest.mark.parametrize(("delta", "drawn"), [(0.05, True), (0.3, False)])
def test_boundary_layers_of_scalars_are_enlarged(delta, drawn):
    """Of T = exp(−z/δ) − exp(−(2 − z)/δ) between walls at 0 and 2: 1 − exp(−ζ) over ζ = z/δ at both."""
    z = 1 + gauss_points(97)[0]
    lower, upper = np.exp(-z / delta), np.exp(-(2 - z) / delta)
    recorded = Recorded("x", np.zeros(1), RecordsLayout({"z": Axis(z)}, {"dye": Column(("z",))}), {})
    column = {"dye": lower - upper, "dye_slope": -(lower + upper) / delta}
    panels = layer_panels(recorded, column, {"dye_rms": 0.3 * z * (2 - z)}, ["dye"], "now")
    assert bool(panels) == drawn
    for make in panels:
        with style(View()):
            figure, (axis, *_) = new_figure(1, 1, (3.0, 3.0), View())
            make(figure, axis, View())
        assert axis.lines[0].get_label() == "mean, lower wall, δ = 0.05"
        for mean, rms in (axis.lines[:2], axis.lines[2:4]):
            at = mean.get_xdata()
            np.testing.assert_allclose(mean.get_ydata(), 1 - np.exp(-at), atol=1e-8)
            np.testing.assert_allclose(rms.get_ydata(), 0.3 * at * delta * (2 - at * delta), atol=1e-8)


@pytest.mark.parametrize(("after", "scale", "title"), [
    (None, 3.0, "mean of later half"), (2.0, 3.0, "t = 2 – 4"), (0.0, 2.0, "t = 0 – 4"), (4.0, 4.0, "t = 4 – 4"),
])  # fmt: skip
def test_rows_are_averaged_from_a_time_on(rows, after, scale, title):
    axis = panel(records_figure(Recorded.read(rows), View(after=after)), f"fluctuation (rms), {title}")
    np.testing.assert_allclose(axis.lines[1].get_xdata(), np.sqrt(scale * W2), rtol=1e-10)


GOOD = "# theirs\ny+, velocity_x\n\n1, 1.0\n5,\n"


def test_a_table_has_gaps_and_comments(tmp_path):
    (tmp_path / "theirs.csv").write_text(GOOD)
    (tmp_path / "theirs.dat").write_text("% theirs\n z  velocity_x\n 1 1e0\n 5 nan\n")
    for name, height in (("theirs.csv", "y+"), ("theirs.dat", "z")):
        table = read_published(tmp_path / name)
        assert (table.label, table.height, list(table.columns)) == ("theirs", height, ["velocity_x"])
        np.testing.assert_array_equal(table.places, [1, 5])
        np.testing.assert_array_equal(table.columns["velocity_x"], [1, np.nan])


WRONG = {
    "": ", line 1: names of columns are needed, the height (y, z or y+) and then profiles",
    "1 2\n3 4\n": ", line 1: names of columns are needed, the height (y, z or y+) and then profiles",
    "z velocity_x\n": ": no rows below the names of the columns",
    "z velocity_x velocity_x\n1 2 3\n": ", line 1, column 'velocity_x': each column needs a name of its own",
    "# a\nz velocity_x\n1 2\n1 2 3\n": ", line 4: 3 columns; 2 are needed, z, velocity_x",
    "z velocity_x\n1 9,5\n": ", line 2, column velocity_x: '9,5' is not a number",
    "z,velocity_x\n,2\n": ", line 2, column z: nothing; a finite number is needed",
    "z velocity_x\n0.1 inf\n": ", line 2, column velocity_x: inf; a finite number is needed",
    "y velocity_x\n1 2\n": ", column y: the heights are called z or y+",
    "z velocity_x\n3 2\n": ", column z: 3 to 3; the walls are at 0 and 2",
    "z velocity_x_rsm\n1 2\n": ", column velocity_x_rsm: not a profile of the run; did you mean 'velocity_x_rms'?",
    "y+ temperature\n1 2\n": ", column temperature: not a profile of the run; known are dissipation, ",
}


@pytest.mark.parametrize("text", WRONG)
@pytest.mark.parametrize("command", ["plot", pytest.param("report", marks=pytest.mark.thorough)])
def test_wrong_tables_are_refused_in_one_line(rows, tmp_path, capsys, command, text):
    table, target = tmp_path / "mine.csv", tmp_path / "made"
    table.write_text(text)
    assert main([command, str(tmp_path), "--data", str(table), "--output", str(target)]) == 2
    assert f"{table}{WRONG[text]}" in (error := capsys.readouterr().err)
    assert error.count("\n") == 1
    assert not target.exists()


@pytest.mark.parametrize(("words", "message"), [
    (["--after", "9"], "after 9: no window or row of vertical-profiles begins later than t = 4"),
    (["--data", "nowhere.csv"], "nowhere.csv: No such file or directory"),
    (["--after", "1", "--field", "velocity"], "--data and --after are for profiles"),
])  # fmt: skip
def test_choices_that_do_not_fit_are_refused_in_one_line(rows, tmp_path, capsys, words, message):
    assert main(["plot", str(tmp_path), *words]) == 2
    assert message in (error := capsys.readouterr().err)
    assert error.count("\n") == 1


def test_a_run_without_profiles_says_so(tmp_path, capsys):
    (tmp_path / "config.toml").write_text("")
    (tmp_path / "theirs.csv").write_text(GOOD)
    assert main(["plot", str(tmp_path), "--data", str(tmp_path / "theirs.csv")]) == 2
    assert "the run has no vertical profiles, over which --data draws" in capsys.readouterr().err
