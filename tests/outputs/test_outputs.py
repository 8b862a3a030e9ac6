"""Outputs as objects: what they write, what they drop when a run continues, and `solver.run`."""

import json
import shutil
import tomllib
from dataclasses import replace

import h5py
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import read_checkpoint

import solver as sw
from solver.assemble.classes import built_in
from solver.cli.main import main
from solver.config import ConfigError
from solver.equations import NavierStokes
from solver.io import (
    Axis,
    Column,
    RecordsLayout,
    Row,
    list_checkpoints,
    load_checkpoint,
    own_rows,
    read_series,
    row_file,
)
from solver.outputs.output import Output
from solver.steppers.start import state_shapes

# ---- spectra.h5 -------------------------------------------------------------------------------------------------


SHELLS = RecordsLayout({"k": Axis(np.arange(20.0), "1/length")}, {"energy": Column(("k",))})


def journal(rows):
    return rows.path.with_name(f".{rows.path.name}.rows")


def rows(count, shells=20):
    return [Row(step, 0.1 * step, {"energy": np.arange(shells) + step}) for step in range(count)]


@pytest.mark.parametrize(
    ("make", "shape", "laws"),
    [
        (lambda grid: sw.equations.NavierStokes(grid, 0.1), (8, 8, 8), {"energy": 5 / 3, "helicity": 5 / 3}),
        (lambda grid: sw.equations.Vorticity(grid, 0.1), (8, 8), {"energy": 3.0, "enstrophy": 1.0}),
        (lambda grid: sw.equations.Burgers(grid, 0.1), (8,), {"energy": None}),
    ],
    ids=["3-D", "enstrophy", "none in 1-D"],
)
def test_a_spectrum_has_the_power_law_of_its_equation(make_grid, tmp_path, make, shape, laws):
    layout = sw.outputs.Spectra().layout(make(make_grid(shape, devices=1)))
    file = own_rows(tmp_path / "spectra.h5")
    file.append(Row(0, 0.0, {name: np.ones(layout.shape(name)) for name in layout.columns}), layout)
    for read in (layout, file.layout(), RecordsLayout.from_json(json.loads(json.dumps(layout.to_json())))):
        assert {name: column.power_law for name, column in read.columns.items()} == laws


def test_the_file_is_replaced_as_seldom_as_keeps_a_row_cheap(tmp_path, monkeypatch):
    replaced = []
    write = row_file.write_tables
    monkeypatch.setattr(row_file, "write_tables", lambda *args, **how: replaced.append(1) or write(*args, **how))
    monkeypatch.setattr(row_file, "SMALL", 4096)
    file = own_rows(tmp_path / "spectra.h5")
    for row in rows(2000):
        file.append(row, SHELLS)
    assert 4 < len(replaced) < 60
    assert [row.step for row in file.table().rows] == list(range(2000))
    file.flush()
    assert not journal(file).exists()
    with h5py.File(file.path) as data:
        assert data["energy"].shape == (2000, 20)
        assert data["energy"][1234, 3] == 1237
        np.testing.assert_array_equal(data["t"], 0.1 * np.arange(2000))


def test_rows_survive_a_kill_at_any_moment(tmp_path):
    file = own_rows(tmp_path / "spectra.h5")
    for row in rows(10):
        file.append(row, SHELLS)
    whole = journal(file).read_bytes()
    journal(file).write_bytes(whole[:-30])  # killed while it wrote the last row
    assert [row.step for row in file.table().rows] == list(range(9))
    assert not any(file.verify().values())
    file.flush()
    journal(file).write_bytes(whole)  # killed between the new file and the end of the journal
    assert [row.step for row in file.table().rows] == list(range(10))
    file.drop_after(4)
    assert [row.step for row in file.table().rows] == list(range(5))
    assert not journal(file).exists()


def test_a_changed_line_of_the_journal_is_found(tmp_path):
    file = own_rows(tmp_path / "spectra.h5")
    for row in rows(5):
        file.append(row, SHELLS)
    text = journal(file).read_text()
    journal(file).write_text(text.replace('"step": 2', '"step": 7'))
    assert file.verify()[journal(file)] == ["line 3: its checksum does not match"]
    assert [row.step for row in file.table().rows] == [0, 1, 3, 4]


# ---- a run from Python ------------------------------------------------------------------------------------------


def problem(viscosity=0.05):
    grid = sw.Grid((16, 16, 16), mesh=sw.device_mesh(range(2)))
    flow = sw.equations.NavierStokes(grid, viscosity=viscosity)
    stepper = sw.steppers.IFRK2()
    return flow, stepper, sw.initial_state(flow, stepper, sw.initial.TaylorGreen()(grid), seed=0)


def outputs(**also):
    made = [
        sw.outputs.Series(every_steps=2),
        sw.outputs.Spectra(every_time=0.2),
        sw.outputs.Snapshots(every_steps=4),
        sw.outputs.Checkpoints(every_steps=3, keep=10),
    ]
    return {"outputs": made, "step": 0.05, "end": 0.5, **also}


@pytest.mark.slow
def test_the_directory_is_that_of_the_command(tmp_path):
    final = sw.run(*problem(), **outputs(), directory=tmp_path / "python", title="vortex")
    run_file = tmp_path / "run.toml"
    run_file.write_text(
        "title = 'vortex'\ngrid = { shape = [16, 16, 16] }\nequation = { name = 'navier-stokes', viscosity = 0.05 }\n"
        "initial = { name = 'taylor-green' }\ntime = { stepper = 'ifrk2', step = 0.05, end = 0.5 }\n"
        "devices = { use = [0, 1] }\noutput = { series = { every_steps = 2 }, spectra = { every_time = 0.2 }, "
        f"snapshots = {{ every_steps = 4 }}, checkpoints = {{ every_steps = 3, keep = 10 }}, "
        f"directory = '{tmp_path}/command' }}\n"
    )
    assert main(["run", str(run_file)]) == 0
    names = {path.relative_to(tmp_path / "command") for path in (tmp_path / "command").rglob("*")}
    assert {path.relative_to(tmp_path / "python") for path in (tmp_path / "python").rglob("*")} == names
    for name in ("python", "command"):
        assert float(final.t) == 0.5
        assert (tmp_path / name / "series.csv").read_text() == (tmp_path / "command" / "series.csv").read_text()
    newest = [list_checkpoints(tmp_path / name / "checkpoints")[-1] for name in ("python", "command")]
    python, command = (read_checkpoint(path)[0] for path in newest)
    assert python.keys() == command.keys()
    for name, values in python.items():
        np.testing.assert_array_equal(values, command[name])
    assert main(["verify", str(tmp_path / "python")]) == 0
    assert main(["info", str(tmp_path / "python")]) == 0


@pytest.mark.slow
def test_a_script_continues_its_run_and_no_other(tmp_path, capsys):
    folder = tmp_path / "run"
    whole = sw.run(*problem(), **outputs(), directory=tmp_path / "whole")
    sw.run(*problem(), **outputs(end=0.3), directory=folder)
    with pytest.raises(ConfigError, match=r"already holds a run .*resume=True"):
        sw.run(*problem(), **outputs(), directory=folder)
    with pytest.raises(ConfigError, match=r"other physics \(equation\.viscosity: 0\.05 → 0\.1\)"):
        sw.run(*problem(0.1), **outputs(), directory=folder, resume=True)
    with pytest.raises(ConfigError, match=r"stands at t = 0\.3"):
        sw.run(*problem(), **outputs(end=0.1), directory=folder, resume=True)
    final = sw.run(*problem(), **outputs(), directory=folder, resume=True)
    np.testing.assert_array_equal(np.asarray(final.field["velocity"]), np.asarray(whole.field["velocity"]))
    assert main(["resume", str(folder)]) == 2
    assert "a Python script made this run" in capsys.readouterr().err
    assert tomllib.loads((folder / "config.toml").read_text())["equation"]["viscosity"] == 0.05


@pytest.mark.thorough
@pytest.mark.slow
def test_a_script_continues_on_other_devices_and_refuses_nonsense(tmp_path):
    sw.run(*problem(), **outputs(end=0.2), directory=tmp_path / "run")
    grid = sw.Grid((16, 16, 16), mesh=sw.device_mesh(range(3)))
    flow = sw.equations.NavierStokes(grid, viscosity=0.05)
    state = sw.initial_state(flow, sw.steppers.IFRK2(), sw.initial.TaylorGreen()(grid), seed=0)
    final = sw.run(flow, sw.steppers.IFRK2(), state, **outputs(end=0.3), directory=tmp_path / "run", resume=True)
    assert float(final.t) == pytest.approx(0.3, rel=1e-12)
    before = (tmp_path / "run" / "config.toml").read_text()
    for wrong, message in (
        ({"end": float("nan")}, "end=nan: a finite time"),
        ({"step": None}, "one of them is needed"),
        ({"outputs": [sw.outputs.Series(every_steps=1), sw.outputs.Series(every_steps=2)]}, "two outputs of one kind"),
    ):
        with pytest.raises(ValueError, match=message):
            sw.run(*problem(), **outputs(**wrong), directory=tmp_path / "run", resume=True)
        with pytest.raises(ValueError, match=message):
            sw.run(*problem(), **outputs(**wrong), directory=tmp_path / "new")
    assert (tmp_path / "run" / "config.toml").read_text() == before
    assert not (tmp_path / "new").exists()


@pytest.mark.slow
def test_figures_of_short_runs(tmp_path):
    for end in (0.0, 0.05):
        sw.run(
            *problem(), step=0.05, end=end, outputs=[sw.outputs.Series(every_steps=1)], directory=tmp_path / f"{end}"
        )
        assert main(["plot", str(tmp_path / f"{end}")]) == 0
    assert not (tmp_path / "0.0" / "figures" / "series.png").exists()
    assert (tmp_path / "0.05" / "figures" / "series.png").exists()


@pytest.mark.slow
def test_files_that_cannot_be_continued_are_refused_before_anything_is_dropped(tmp_path):
    folder = tmp_path / "run"
    sw.run(*problem(), **outputs(end=0.2), directory=folder)
    series = (folder / "series.csv").read_text()
    (folder / "series.csv").write_text("# units\nstep,t,dt,foo\n0,0,0,0\n")
    snapshots = sorted(path.name for path in (folder / "snapshots").iterdir())
    with pytest.raises(ConfigError, match="its columns are step,t,dt,foo"):
        sw.run(*problem(), **outputs(), directory=folder, resume=True)
    (folder / "series.csv").write_text(series)
    (folder / "spectra.h5").write_bytes(b"junk")
    with pytest.raises(ConfigError, match=r"spectra\.h5: damaged"):
        sw.run(*problem(), **outputs(), directory=folder, resume=True)
    assert sorted(path.name for path in (folder / "snapshots").iterdir()) == snapshots


@pytest.mark.slow
def test_rows_of_the_series_that_were_changed_or_removed_are_told(tmp_path, capsys):
    def run_until(end, resume=True):
        kinds = [sw.outputs.Series(every_steps=1)]
        sw.run(*problem(), step=0.05, end=end, outputs=kinds, directory=tmp_path, resume=resume)

    run_until(0.05, resume=False)
    series = tmp_path / "series.csv"
    series.write_text(series.read_text().replace("0.125,", "0.126,", 1))
    assert main(["verify", str(tmp_path)]) == 1
    assert "DAMAGED series.csv\n        line 3 is not as the run wrote it" in capsys.readouterr().out
    run_until(0.1)
    assert "warning: series.csv: line 3 is not as the run wrote it" in capsys.readouterr().out
    series.unlink()
    assert main(["verify", str(tmp_path)]) == 1
    run_until(0.15)
    assert "warning: series.csv: it is missing, and with it 3 rows of steps 0 to 2" in capsys.readouterr().out
    assert main(["verify", str(tmp_path)]) == 0
    series.write_text(series.read_text().replace("enstrophy", "vorticity"))
    with pytest.raises(
        ConfigError, match=r"its columns are step,t,dt,.*vorticity.*; this run writes step,t,dt,.*enstr"
    ):
        run_until(0.2)


@pytest.mark.slow
def test_what_lies_beyond_the_checkpoint_goes_in_every_output(tmp_path):
    """The run continues from an older checkpoint with another schedule: nothing of the first trajectory is left."""
    folder = tmp_path / "run"
    sw.run(*problem(), **outputs(), directory=folder)
    for path in list_checkpoints(folder / "checkpoints")[1:]:
        shutil.rmtree(path)
    other = [sw.outputs.Series(every_steps=1), sw.outputs.Snapshots(every_time=0.17)]  # spectra no longer
    sw.run(*problem(), **outputs(outputs=other, end=0.4), directory=folder, resume=True)
    steps = [int(path.stem[5:]) for path in sorted((folder / "snapshots").glob("*.h5"))]
    series = read_series(folder / "series.csv")
    times = dict(zip(series["step"].astype(int), series["t"], strict=True))
    assert steps[0] == 0
    for path in (folder / "snapshots").glob("*.h5"):
        with h5py.File(path) as file:
            assert float(file.attrs["time"]) == times[int(path.stem[5:])]
    assert {path.stem for path in (folder / "snapshots").glob("*.hdf")} == {f"step-{n:08d}" for n in steps}
    assert all(row.step <= 3 for row in own_rows(folder / "spectra.h5").table().rows)


@pytest.mark.slow
def test_drift_is_relative_to_the_size_of_what_is_conserved(tmp_path):
    """The mean of sin 3x is zero up to round-off: its drift is round-off too, and that of 2 + sin 3x is its own."""
    grid = sw.Grid((32,))
    equation, stepper = sw.equations.KortewegDeVries(grid), sw.steppers.ETDRK4()
    for mean in (0.0, 2.0):
        state = sw.initial_state(equation, stepper, sw.sample(lambda x, m=mean: m + jnp.sin(3 * x), grid))
        assert (abs(float(state.conserved["mass"])) < 1e-15) == (mean == 0)
        moved = state.replace(conserved={**state.conserved, "mass": state.conserved["mass"] + 1e-6})
        folder = tmp_path / f"{mean}"
        sw.run(
            equation, stepper, moved, step=1e-4, end=1e-3, outputs=[sw.outputs.Series(every_steps=1)], directory=folder
        )
        drift = read_series(folder / "series.csv")["mass_drift"]
        np.testing.assert_allclose(drift, -1e-6 / (mean or 2 / np.pi), rtol=0.02)  # ⟨|sin|⟩ = 2/π, on 32 points


class Sized(sw.equations.KortewegDeVries):
    """Names the size of what is not conserved."""

    name = "sized"

    def reported(self, report):
        return replace(report, conserved_scales=lambda fields: {"mas": jnp.ones(())})


def test_sizes_of_what_is_not_conserved_are_refused():
    with pytest.raises(ValueError, match=r"Sized: conserved_scales\(\) has mas; of energy, mass, momentum they can be"):
        sw.outputs.Series().check(Sized(sw.Grid((32,))))


class Largest(Output):
    """The largest |u|."""

    name = "largest"

    def write(self, run, state):
        with (run.directory.path / "largest.txt").open("a") as file:
            file.write(f"{int(state.step)}\n")


@pytest.mark.slow
def test_an_output_of_ones_own_is_described(tmp_path):
    sw.run(*problem(), step=0.05, end=0.1, outputs=[Largest(every_steps=1)], directory=tmp_path / "run")
    assert (tmp_path / "run" / "largest.txt").read_text().split() == ["0", "1", "2"]
    table = tomllib.loads((tmp_path / "run" / "config.toml").read_text())
    assert table["output"]["largest"] == {"every_steps": 1}
    assert not (tmp_path / "run" / "series.csv").exists()


def test_what_a_spectrum_is_of(make_grid):
    """Each has the name and the meaning of the series that its shells add up to."""
    flow = make_grid((8, 8), devices=1)
    long_names = lambda equation: {  # noqa: E731
        name: column.long_name for name, column in sw.outputs.Spectra().layout(equation).columns.items()
    }
    waves = sw.equations.KortewegDeVries(make_grid((16,), devices=1))
    for equation, names in ((waves, ["momentum"]), (sw.equations.Vorticity(flow), ["energy", "enstrophy"])):
        expected = {name: f"{name} in each shell: the sum of all shells is that of the series" for name in names}
        assert long_names(equation) == expected


@pytest.mark.parametrize("made", [sw.outputs.Series, sw.outputs.Checkpoints])
def test_intervals_are_checked(made):
    with pytest.raises(ValueError, match="every_steps = 0: a positive number is needed"):
        made(every_steps=0)
    with pytest.raises(ValueError, match="keep = 0"):
        sw.outputs.Checkpoints(keep=0)


def test_series_can_be_switched_off(tmp_path):
    from solver import assemble
    from solver.config import load
    from solver.config.toml import cases

    config = load(cases()["taylor-green"], assemble.schema(), ["output.series=false"])
    assert "series" not in config.outputs
    (tmp_path / "config.toml").write_text(config.to_toml())
    assert load(tmp_path / "config.toml", assemble.schema()) == config


def test_a_state_needs_only_equation_and_stepper(tmp_path):
    flow, stepper, state = problem()
    path = sw.io.save_checkpoint(tmp_path, state, flow.grid)
    again = load_checkpoint(path, flow, stepper)
    np.testing.assert_array_equal(np.asarray(again.field["velocity"]), np.asarray(state.field["velocity"]))
    other = sw.equations.NavierStokes(sw.Grid((8, 8, 8), mesh=sw.device_mesh(range(2))), viscosity=1.0)
    with pytest.raises(sw.io.CheckpointError, match=r"'field/velocity' holds modes complex128\[3, 11, 6, 11\]"):
        load_checkpoint(path, other, stepper)


# ---- snapshots --------------------------------------------------------------------------------------------------


def snapshot(tmp_path, grid, equation, **fields):
    stepper = sw.steppers.IFRK2()
    state = sw.initial_state(equation, stepper, fields)
    sw.run(equation, stepper, state, step=0.1, end=0.0, outputs=[sw.outputs.Snapshots()], directory=tmp_path / "run")
    return tmp_path / "run" / "snapshots" / "step-00000000.h5"


@pytest.fixture
def stratified(tmp_path):
    grid = sw.Grid((8, 6, 4), lengths=(8.0, 6.0, 4.0), mesh=sw.device_mesh(range(2)), dealias="none")
    flow = sw.equations.Boussinesq(grid, viscosity=0.0, diffusivity=0.0)
    u = sw.sample(lambda x, y, z: (0 * x, jnp.sin(jnp.pi * x / 4) + 0 * y, jnp.cos(jnp.pi * x / 4) + 0 * z), grid)
    b = sw.sample(lambda x, y, z: jnp.cos(jnp.pi * z / 2) + 0 * x + 0 * y, grid)
    path = snapshot(tmp_path, grid, flow, velocity=u, buoyancy=b)
    return path, np.asarray(u), np.asarray(b)


@pytest.mark.slow
def test_a_vector_is_one_labelled_data_set_with_units(stratified):
    xarray = pytest.importorskip("xarray")
    path, u, b = stratified
    with xarray.open_dataset(path, engine="h5netcdf") as data:
        assert data["velocity"].dims == ("x", "y", "z", "component")
        assert list(data["component"].values) == ["x", "y", "z"]
        assert data["velocity"].attrs["units"] == "length/time"
        assert data["buoyancy"].attrs["units"] == "length/time^2"
        np.testing.assert_allclose(data["velocity"].sel(component="z"), u[2], atol=1e-14)
        np.testing.assert_allclose(data["buoyancy"], b, atol=1e-14)


@pytest.mark.slow
def test_a_vector_is_read_back_from_a_snapshot(stratified):
    path, u, _ = stratified
    grid = sw.Grid((8, 6, 4), lengths=(8.0, 6.0, 4.0), mesh=sw.device_mesh(range(4)), dealias="none")
    np.testing.assert_allclose(np.asarray(sw.io.read_field(path, "velocity", grid)), u, atol=1e-14)


@pytest.mark.slow
@pytest.mark.parametrize("dimensions", [2, 3])
def test_paraview_sees_x_as_x_and_a_vector(tmp_path, dimensions):
    vtk = pytest.importorskip("vtk", reason="vtk, ParaView's reader, is not installed")
    from vtk.util.numpy_support import vtk_to_numpy

    shape = (8, 6, 4)[:dimensions]
    grid = sw.Grid(shape, lengths=tuple(map(float, shape)), mesh=sw.device_mesh(range(2)), dealias="none")
    flow = sw.equations.NavierStokes(grid, viscosity=0.0)
    u = sw.initial.RandomPhase(peak=2.0)(grid, flow.fields["velocity"], jax.random.key(1))
    path = snapshot(tmp_path, grid, flow, velocity=u).with_suffix(".hdf")
    reader = vtk.vtkHDFReader()
    reader.SetFileName(str(path))
    reader.Update()
    image = reader.GetOutput()
    values = vtk_to_numpy(image.GetPointData().GetArray("velocity"))
    assert values.shape[1] == dimensions
    u = np.asarray(u)
    for number in range(0, image.GetNumberOfPoints(), 7):
        point = tuple(round(c) for c in image.GetPoint(number)[:dimensions])
        np.testing.assert_allclose(values[number], u[(slice(None), *point)], atol=1e-12)


@pytest.mark.slow
def test_programs_of_every_output_can_be_traced_for_a_plan(make_grid):
    """From shapes alone, as `slabwave check --target` does for devices that are not here."""
    flow, stepper = NavierStokes(make_grid((12, 10, 8), devices=2), viscosity=0.1), sw.steppers.IFRK2()
    state = state_shapes(flow, stepper, with_key=False)
    needed = {
        "modes": {"modes": ((1, 0, 0),)},
        "points": {"at": ((0.0, 0.0, 0.0),)},
        "statistics": {"fields": ("velocity",)},
    }
    with_programs = set()
    for name, cls in built_in("output").items():
        output = cls(**needed.get(name, {}))
        if _suits(output, flow):
            traced = output.programs(flow, state)
            assert all(hasattr(program, "lower") for program in traced.values()), name
            with_programs |= {name} if traced else set()
    assert {"series", "spectra", "snapshots", "statistics", "transfer"} <= with_programs


def _suits(output, equation):
    try:
        output.check(equation)
    except ValueError:
        return False
    return True


# ---- series.csv -------------------------------------------------------------------------------------------------


def named(column):
    """A written equation with one more column of the series."""
    text = sw.equations.write(
        "dt(c) = kappa*lap(c)", {"c": "scalar"}, series={column: "3 + c"}, conserved={"mass": "c"}
    )
    return lambda grid: text(grid, kappa=0.1)


class OwnColumns(NavierStokes):
    """Navier–Stokes with one more column."""

    column = "dt"

    def reported(self, report):
        before = super().reported(report)
        return replace(
            before,
            columns=lambda fields: {**before.columns(fields), self.column: jnp.zeros(())},
            units=lambda: {**before.units(), self.column: "1"},
        )


@pytest.mark.parametrize("column", ["step", "t", "dt", "rejected", "mass_drift"])
def test_columns_that_the_run_has_itself_are_refused(make_grid, column):
    with pytest.raises(ValueError, match=f"a column '{column}', as the run or its bodies may have"):
        sw.outputs.Series().check(named(column)(make_grid((8, 8), devices=1)))


@pytest.mark.parametrize("column", ["energy", "cfl"])
def test_a_text_has_each_column_once(make_grid, column):
    with pytest.raises(ValueError, match=f"there is a column '{column}' already"):
        named(column)(make_grid((8, 8), devices=1))


def test_columns_of_an_own_class_are_refused_as_well(make_grid):
    with pytest.raises(ValueError, match="a column 'dt', as the run or its bodies may have"):
        sw.outputs.Series().check(OwnColumns(make_grid((8, 8), devices=1), 0.1))


@pytest.mark.parametrize("name", ["a,b", "a/b", "a\nb", "", " a", 'a"b'])
def test_columns_that_files_would_take_apart_are_refused(make_grid, name):
    class Named(OwnColumns):
        column = name

    with pytest.raises(ValueError, match=r"has a column .*: a name without commas, slashes, quotes"):
        sw.outputs.Series().check(Named(make_grid((8, 8), devices=1), 0.1))


class OwnEnergies(NavierStokes):
    """Navier–Stokes with an energy whose name is no name in a file."""

    def spectra(self, fields):
        return {"a/b": super().spectra(fields)["energy"]}


def test_records_that_files_would_take_apart_are_refused(make_grid):
    with pytest.raises(ValueError, match=r"output spectra: .* has a column 'a/b.*': a name without commas, slashes"):
        sw.outputs.Spectra().check(OwnEnergies(make_grid((8, 8), devices=1), 0.1))


@pytest.mark.parametrize("name", ["step", "time"])
def test_a_field_called_as_an_axis_of_snapshots_is_refused(make_grid, name):
    equation = NavierStokes(make_grid((8, 8), devices=1), 0.1, scalars={name: sw.PassiveScalar(0.1)})
    with pytest.raises(ValueError, match=f"a quantity called '{name}', as an axis of the file is"):
        sw.outputs.Snapshots().check(equation)


@pytest.mark.slow
def test_rows_have_the_size_of_full_steps(tmp_path):
    """At cfl = 0.5 every row but the first has this CFL number, though steps are shortened to meet the rows' times."""
    grid = sw.Grid((16, 16), mesh=sw.device_mesh([0]))
    flow, stepper = sw.equations.NavierStokes(grid, viscosity=1e-6), sw.steppers.IFRK2()
    x = 2 * np.pi * np.arange(16) / 16
    state = sw.initial_state(
        flow, stepper, jnp.asarray(np.stack([np.sin(x)[None] + np.zeros((16, 1)), np.zeros((16, 16))]))
    )
    outputs = [sw.outputs.Series(every_time=0.31)]
    sw.run(flow, stepper, state, end=2.0, cfl=0.5, directory=tmp_path / "run", outputs=outputs)
    rows = sw.io.read_series(tmp_path / "run/series.csv")
    np.testing.assert_allclose(rows["cfl"][1:], 0.5, rtol=1e-4)
    np.testing.assert_allclose(rows["dt"][1:], 0.5 * 2 * np.pi / 16, rtol=1e-4)
