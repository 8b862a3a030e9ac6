"""Particles by command: files, restarts, other devices, members, and wrong input."""

import h5py
import numpy as np
import pytest
from written_runs import written

import solver as sw
from solver.cli.main import main
from solver.io import RecordsLayout, Snapshot, Table, list_snapshots, read_snapshot, write_particles_vtkhdf
from solver.pictures import View, particles as particle_figures
from solver.pictures.drawn_slices import figure_of
from solver.pictures.movie import frames

HEAD = """
[grid]
shape = [8, 12]
[equation]
name = "vorticity"
viscosity = 0.01
[initial]
name = "random-phase"
peak = 2.0
energy = 1.0
[time]
stepper = "sbdf2"
step = 0.05
end = 0.4
[devices]
use = [0]
[output]
directory = "run"
[output.particles]
every_steps = 2
record = ["velocity"]
"""
TRACERS = """
[particles.tracers]
count = 30
order = 4
"""
DROPS = """
[particles.drops]
kind = "inertial"
start = "lattice"
count = 16
order = 4
response_time = 0.2
gravity = [0.0, -1.0]
"""
DUST = """
[particles.dust]
kind = "brownian"
start = "pairs"
distance = 0.1
count = 10
order = 4
diffusivity = 0.01
"""
RUN = HEAD + DROPS + DUST


@pytest.fixture
def run_file(tmp_path):
    return written(tmp_path, RUN)


OWN = """
import numpy as np

def start(count, lengths, seed):
    return np.random.default_rng(seed).uniform(0, 0.5, (count, 2)) * lengths

def flat(count, lengths, seed):
    return np.zeros((count, 3))

def outside(count, lengths, seed):
    return np.full((count, 2), 7.0)

def unseeded(count, lengths, seed):
    return np.random.default_rng().uniform(0, 0.5, (count, 2))

def broken(count, lengths, seed):
    return np.full((count, 2), np.nan)

def failing(count, lengths, seed):
    return lengths[2]
"""


def tracks(folder):
    return sw.open_run(folder).particles


@pytest.mark.slow
def test_a_run_is_resumed_to_the_bit_drawn_and_read(run_file, tmp_path):
    whole, run = tmp_path / "whole", tmp_path / "run"
    words = [f"output.directory={whole}", "output.snapshots.every_steps=4"]
    assert main(["run", str(run_file), *words]) == 0
    assert main(["run", str(run_file), f"output.directory={run}", "time.end=0.2"]) == 0
    assert main(["resume", str(run), "time.end=0.4"]) == 0
    assert set(tracks(whole)) == {"drops", "dust"}
    for name, one in tracks(whole).items():
        again = tracks(run)[name].sel(t=one.t)
        assert all(np.array_equal(one[key], again[key]) for key in one), name
    assert set(tracks(whole)["dust"]) == {"position", "velocity"}
    assert set(tracks(whole)["drops"]) >= {"velocity", "fluid_velocity"}
    assert tracks(whole)["drops"].position.dims == ("t", "particle", "direction")
    assert list(tracks(whole)["drops"].direction.values) == ["x", "y"]
    assert main(["resume", str(run), "--branch", str(tmp_path / "branch"), "time.end=0.5", "devices.use=[0,1]"]) == 0
    for name, one in tracks(tmp_path / "branch").items():
        np.testing.assert_array_equal(one.position.isel(t=0), tracks(whole)[name].position.isel(t=-1))
    assert main(["verify", str(whole)]) == 0
    assert main(["plot", str(whole)]) == 0
    assert {path.name for path in (whole / "figures").glob("particles-*.png")} == {
        f"particles-{name}.png" for name in ("drops", "dust")
    }
    check_dots(whole)


def check_dots(folder):
    """Particles over the field, at the time of each snapshot, and in each frame of a film."""
    paths = list_snapshots(folder / "snapshots")
    figure = figure_of(read_snapshot(paths[-1]), View())
    for name, one in tracks(folder).items():
        (line,) = (line for line in figure.axes[0].lines if line.get_label() == name)
        x = one.position.isel(t=-1).values % (2 * np.pi)
        np.testing.assert_allclose(np.transpose(line.get_data()), x, rtol=0, atol=1e-12)
    assert not figure_of(read_snapshot(paths[-1]), View(particles=False)).axes[0].lines
    shown, hidden = (list(frames(paths[::2], View(particles=given))) for given in (True, False))
    dots = [np.any(a != b, axis=2) for a, b in zip(shown, hidden, strict=True)]
    assert len(dots) == 2
    assert (dots[0] != dots[1]).any()


def test_particles_near_a_plane_are_drawn_in_three_dimensions(monkeypatch, tmp_path):
    """Within a spacing of it, through the sides of the box; none of another step, and none over mean fields."""
    axes = {name: np.arange(8) * (2.0 / 8) for name in "xyz"}
    x = np.array([[0.1, 0.2, 2.1], [-0.1, 0.3, 0.24], [0.5, 0.4, 0.26], [0.6, 0.5, 1.8]])
    monkeypatch.setattr(particle_figures, "_tracks", lambda folder: {"dust": (np.array([3, 5]), np.stack([x + 1, x]))})
    given = {"t": 0.0, "title": "", "axes": axes, "variables": {}}
    snapshot = Snapshot(tmp_path / "snapshots" / "step-00000005.h5", step=5, **given)
    found = particle_figures.dots_in(snapshot, ("x", "y"), 0.0)["dust"]
    np.testing.assert_allclose(found.T, [[0.1, 0.2], [1.9, 0.3], [0.6, 0.5]])
    assert particle_figures.dots_in(Snapshot(snapshot.path, step=4, **given), ("x", "y"), 0.0) == {}
    means = Snapshot(snapshot.path, step=5, window={"since": 0.0}, **given)
    assert particle_figures.dots_in(means, ("x", "y"), 0.0) == {}
    flat = Snapshot(snapshot.path, step=5, **{**given, "axes": {**axes, "z": np.zeros(1)}})
    assert particle_figures.dots_in(flat, ("x", "y"), 0.0)["dust"].shape == (2, 4)  # all are in a box of one plane


def test_between_walls_heights_are_drawn_and_written_as_they_are(monkeypatch, tmp_path):
    """The points are uneven there, and a particle at the upper wall is not at the lower one."""
    grid = sw.Grid((8, 9), lengths=(2.0, 1.0), walls="y", mesh=sw.device_mesh([0]))
    axes = {name: points.ravel() for name, points in zip("xy", grid.coordinates(), strict=True)}
    x = np.array([[0.5, 1.0], [2.1, 0.5], [-0.1, 0.0]])
    monkeypatch.setattr(particle_figures, "_tracks", lambda folder: {"dust": (np.array([5]), x[None])})
    given = {"t": 0.0, "title": "", "axes": axes, "variables": {}, "bounded": frozenset("y")}
    snapshot = Snapshot(tmp_path / "snapshots" / "step-00000005.h5", step=5, **given)
    expected = [[0.5, 1.0], [0.1, 0.5], [1.9, 0.0]]
    np.testing.assert_allclose(particle_figures.dots_in(snapshot, ("x", "y"), None)["dust"].T, expected)
    table = Table(RecordsLayout({}, {}), np.array([0]), np.array([5]), np.array([0.0]), {"position": x[None]})
    write_particles_vtkhdf(tmp_path / "dust.hdf", table, grid)
    with h5py.File(tmp_path / "dust.hdf") as file:
        np.testing.assert_allclose(file["VTKHDF/Points"][:, :2], expected, atol=1e-6)


@pytest.mark.thorough
@pytest.mark.slow
def test_paraview_reads_the_particles_of_every_time(run_file, tmp_path):
    """In the box, where the flow is; a run that is resumed writes what one that was not has."""
    vtk = pytest.importorskip("vtk", reason="vtk, ParaView's reader, is not installed")
    from vtk.util.numpy_support import vtk_to_numpy

    run_file.write_text(HEAD + DROPS.replace("-1.0", "-20.0"))
    words = [f"output.directory={tmp_path / 'run'}", "output.particles.paraview=true", "time.end=0.2"]
    assert main(["run", str(run_file), *words]) == 0
    assert main(["resume", str(tmp_path / "run"), "time.end=0.4"]) == 0
    one = tracks(tmp_path / "run")["drops"]
    assert np.abs(one.position - np.pi).max() > np.pi  # some have left the box
    vtk.vtkObject.GlobalWarningDisplayOff()
    reader = vtk.vtkHDFReader()
    reader.SetFileName(str(tmp_path / "run" / "particles" / "drops.hdf"))
    reader.UpdateInformation()
    assert reader.GetNumberOfSteps() == len(one.t) == 5
    for step in range(5):
        reader.SetStep(step)
        reader.Update()
        points = reader.GetOutput()
        assert points.GetNumberOfCells() == points.GetNumberOfPoints() == 16
        assert reader.GetTimeValue() == one.t[step]
        at = vtk_to_numpy(points.GetPoints().GetData())
        x = one.position.values[step] % (2 * np.pi)
        np.testing.assert_allclose(at, np.column_stack([x, np.zeros(16)]), atol=1e-6)
        for name in ("velocity", "fluid_velocity"):
            values = vtk_to_numpy(points.GetPointData().GetArray(name))
            np.testing.assert_allclose(values[:, :2], one[name][step], atol=1e-6)
            assert values.shape == (16, 3)
        np.testing.assert_array_equal(vtk_to_numpy(points.GetPointData().GetArray("number")), np.arange(16))


@pytest.mark.thorough
@pytest.mark.slow
def test_what_is_recorded_is_the_flow_at_the_particles(run_file, tmp_path):
    """Velocities are the rates of the positions, to the order of central differences; so is the acceleration theirs."""
    whole = tmp_path / "whole"
    run_file.write_text(HEAD.replace('["velocity"]', '["velocity", "acceleration", "vorticity"]') + TRACERS)
    words = [f"output.directory={whole}", "output.particles.every_steps=1", "time.step=0.01", "time.end=0.04"]
    words += ["forcing.name='frozen-shells'", "forcing.low=1.0", "forcing.high=1.5", "forcing.return_time=0.1"]
    assert main(["run", str(run_file), "time.stepper='ifrk4'", "particles.tracers.order=8", *words]) == 0
    one = tracks(whole)["tracers"]
    x, u, a = (one[name].values for name in ("position", "velocity", "acceleration"))
    np.testing.assert_allclose((x[4] - x[2]) / 0.02, u[3], rtol=0, atol=2e-3 * np.abs(u).max())
    np.testing.assert_allclose((u[4] - u[2]) / 0.02, a[3], rtol=0, atol=2e-2 * np.abs(a).max())
    assert np.ptp(one.vorticity.values, axis=1).min() > 0.5


@pytest.mark.thorough
@pytest.mark.slow
def test_members_have_what_each_has_alone(run_file, tmp_path):
    """Stepped together, each on a device of its own."""
    drops = DROPS + '[output.statistics]\nof = ["particle-counts"]\nof_particles = ["drops"]\nsample_steps = 2\n'
    text = HEAD + drops + '[ensemble]\nsweep = { "particles.drops.response_time" = [0.2, 0.5] }\n'
    run_file.write_text(text.replace("use = [0]", "use = [0, 1]"))
    assert main(["run", str(run_file), f"output.directory={tmp_path / 'many'}"]) == 0
    (tmp_path / "one.toml").write_text(HEAD + drops)
    words = [str(tmp_path / "one.toml"), f"output.directory={tmp_path / 'one'}", "particles.drops.response_time=0.5"]
    assert main(["run", *words]) == 0
    alone, member = (tracks(tmp_path / place)["drops"] for place in ("one", "many/member-0001"))
    np.testing.assert_allclose(alone.position, member.position, rtol=0, atol=1e-12)
    alone, member = (sw.open_run(tmp_path / place).statistics for place in ("one", "many/member-0001"))
    assert set(alone) == set(member) == {"particle-counts", "particles-drops"}
    for name, one in alone.items():
        for key in one:
            np.testing.assert_allclose(member[name][key], one[key], rtol=0, atol=1e-11, err_msg=key)


@pytest.mark.thorough
@pytest.mark.slow
def test_a_function_of_the_users_gives_the_start(run_file, tmp_path):
    """It is copied into the run's directory, from which the run goes on; by number on any devices."""
    (tmp_path / "own.py").write_text(OWN)
    run_file.write_text(HEAD + TRACERS.replace("count = 30", 'count = 31\nstart = "own.py:start"\nseed = 3'))
    run, devices = tmp_path / "run", tmp_path / "devices"
    assert main(["run", str(run_file), f"output.directory={run}", "time.end=0.1"]) == 0
    assert main(["run", str(run_file), f"output.directory={devices}", "time.end=0.1", "devices.use=[0,1,2]"]) == 0
    expected = np.random.default_rng(3).uniform(0, 0.5, (31, 2)) * 2 * np.pi
    for folder in (run, devices):
        np.testing.assert_array_equal(tracks(folder)["tracers"].position.isel(t=0), expected)
    (tmp_path / "own.py").unlink()
    assert main(["resume", str(run), "time.end=0.2"]) == 0
    assert tracks(run)["tracers"].sizes["t"] == 3
    copy = next(run.glob("own-*.py"))
    assert f'start = "{copy.name}:start"' in (run / "config.toml").read_text()


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("flat", "start flat(count, lengths, seed) gives an array of shape [16, 3]; [16, 2] is needed"),
        ("outside", "16 of 16 positions are outside of the box 6.28319 × 6.28319, the first is number 0 at (7, 7)"),
        ("unseeded", "gives other positions when it is called again; its random numbers need the seed"),
        ("broken", "gives positions that are not finite; finite ones are needed"),
        ("failing", "start failing(count, lengths, seed) fails: IndexError: tuple index out of range"),
        ("missing", "no function missing"),
    ],
)
def test_a_wrong_start_of_the_users_is_one_line(run_file, tmp_path, capsys, name, message):
    (tmp_path / "own.py").write_text(OWN)
    run_file.write_text(HEAD + DROPS.replace('"lattice"', f'"own.py:{name}"'))
    assert main(["check", str(run_file)]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["particles.dust.colour=1"], "particles.dust.colour: unknown key"),
        (["particles.x=3"], "particles.x = 3: a table [particles.NAME] is needed"),
        (["particles.dust.kind='swimmer'"], "particles.dust.kind = 'swimmer': unknown"),
        (["output.particles.record=['salt']"], "output particles, of drops: particles: 'salt' at the particles"),
        (["particles.drops.start='unform'"], "start = 'unform'; one of uniform, lattice, pairs, file is needed"),
        (["particles.drops.response_time=-1.0"], "response_time = -1.0; a positive time is needed"),
        (["particles.drops.response_time=0.01"], "decays within 0.01"),
    ],
)
def test_wrong_input_is_one_line(run_file, capsys, words, message):
    assert main(["check", str(run_file), *words]) == 2
    assert message in capsys.readouterr().err


def test_an_output_of_particles_needs_some(run_file, capsys):
    run_file.write_text(RUN.replace("[particles.", "[particle."))
    assert main(["check", str(run_file)]) == 2
    assert "particle: unknown key; did you mean 'particles'?" in capsys.readouterr().err
