"""`run.slices` and `run.statistics`: the numbers of the files with their axes, places and windows."""

import h5py
import numpy as np
import pytest

import solver as sw
from solver.cli.main import main
from solver.config import ConfigError
from solver.io import list_snapshots, own_rows, read_slices

xarray = pytest.importorskip("xarray", reason="xarray is not installed")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "axes", "shape", "places"),
    [
        ("velocity_z1", ("x", "y", "component"), (12, 16, 3), {"z": np.pi / 4}),
        ("q_criterion_x6", ("y", "z"), (16, 8), {"x": np.pi}),
        ("q_criterion_y0_z1", ("x",), (12,), {"y": 0.0, "z": np.pi / 4}),
        ("velocity_x2_y1_z1", ("component",), (3,), {"x": np.pi / 3, "y": np.pi / 4, "z": np.pi / 4}),
        ("q_criterion_x2_y1_z1", (), (), {"x": np.pi / 3, "y": np.pi / 4, "z": np.pi / 4}),
        ("velocity_x0-3_y3-3", ("x_0_3", "y_3_3", "z", "component"), (4, 1, 8, 3), {}),
    ],
)
def test_every_part_has_its_axes_and_places(sliced, name, axes, shape, places):
    recorded = sw.open_run(sliced).slices[name]
    assert recorded.dims == ("t", *axes)
    assert recorded.shape == (4, *shape)
    assert {axis: recorded.attrs[axis] for axis in "xyz" if axis in recorded.attrs} == pytest.approx(places)
    for i, path in enumerate(list_snapshots(sliced / "slices")):
        with h5py.File(path) as file:
            np.testing.assert_array_equal(recorded[i], file[name])


def test_slices_have_times_and_positions_and_are_read_late(sliced, monkeypatch):
    read = []
    values = sw.io.Snapshot.values
    monkeypatch.setattr(
        sw.io.Snapshot, "values", lambda self, name, index=(): read.append(self.step) or values(self, name, index)
    )
    slices = sw.open_run(sliced).slices
    np.testing.assert_allclose(slices["t"], [0, 0.2, 0.4, 0.6])
    np.testing.assert_allclose(slices["x_0_3"], np.arange(4) * np.pi / 6)
    assert slices["q_criterion_z1"].attrs["units"] == "1/time^2"
    assert read == []
    assert np.isfinite(slices["velocity_z1"].sel(t=0.4, component="z").values).all()
    assert set(read) == {8}


def test_parts_go_by_the_ends_of_their_names(sliced):
    slices = read_slices(list_snapshots(sliced / "slices")[1])
    assert set(slices.parts()) == {"z1", "x6", "y0_z1", "x2_y1_z1", "x0-3_y3-3"}
    plane = slices.of_part("z1")
    assert list(plane.variables) == ["q_criterion", "velocity"]
    assert (list(plane.axes), plane.place) == (["x", "y"], "z = 0.785")
    np.testing.assert_array_equal(plane.values("velocity"), slices.values("velocity_z1"))
    assert list(slices.of_part("x0-3_y3-3").axes) == ["x", "y", "z"]
    with pytest.raises(ValueError, match="has no part 'z9'; it has "):
        slices.of_part("z9")


def test_a_name_that_ends_as_a_part_is_taken_apart_rightly(tmp_path):
    with h5py.File(tmp_path / "step-00000001.h5", "w") as file:
        file.attrs.update(step=1, time=0.5)
        file["x"] = np.arange(3.0)
        file["x"].make_scale("x")
        file["theta_x2_y0"] = np.arange(3.0)
        file["theta_x2_y0"].attrs["y"] = 0.0
        file["theta_x2_y0"].dims[0].attach_scale(file["x"])
    (part,) = (slices := read_slices(tmp_path / "step-00000001.h5")).parts()
    assert (part, list(slices.of_part(part).variables)) == ("y0", ["theta_x2"])


def test_statistics_by_the_names_of_their_files(sliced):
    statistics = sw.open_run(sliced).statistics
    assert list(statistics) == ["scales", "spectra", "fields"]
    rows = own_rows(sliced / "statistics" / "spectra.h5").table().rows
    spectra = statistics["spectra"]
    np.testing.assert_array_equal(spectra["energy"], [row.values["energy"] for row in rows])
    assert spectra["since"].values == pytest.approx([0, 0.3])
    assert spectra["t"].values == pytest.approx([0.3, 0.6])
    fields = statistics["fields"]
    assert fields["velocity_mean"].dims == ("t", "x", "y", "z", "component")
    assert fields["since"].values == pytest.approx([0, 0.3])
    assert fields["samples"].values.tolist() == [3, 3]
    for i, path in enumerate(list_snapshots(sliced / "statistics")):
        with h5py.File(path) as file:
            np.testing.assert_array_equal(fields["velocity_variance"][i], file["velocity_variance"])


def test_statistics_print_as_their_names_windows_and_samples(sliced, empty):
    statistics = sw.open_run(sliced).statistics
    words = "scales, spectra, fields; 2 windows from t = 0 to 0.6 with 6 samples"
    assert repr(statistics) == f"<statistics in {sliced}: {words}>"
    assert repr(sw.open_run(empty).statistics) == f"<statistics in {empty}: none>"
    assert repr(sw.open_run(empty).records) == f"<records in {empty}: none>"


def test_what_is_missing_is_named(sliced, empty):
    statistics = sw.open_run(sliced).statistics
    with pytest.raises(ConfigError, match="has no statistics of 'spectrum'; did you mean 'spectra'"):
        statistics["spectrum"]
    assert "fields" in statistics
    assert "spectrum" not in statistics
    nothing = sw.open_run(empty)
    assert (nothing.slices.sizes["t"], list(nothing.statistics)) == (0, [])
    assert "spectra" not in nothing.records


@pytest.mark.parametrize("engine", ["h5netcdf", "netcdf4"])
def test_the_files_open_without_this_package(sliced, engine):
    pytest.importorskip({"netcdf4": "netCDF4"}.get(engine, engine), reason=f"{engine} is not installed")
    run = sw.open_run(sliced)
    with xarray.open_dataset(sliced / "slices" / "step-00000004.h5", engine=engine) as file:
        assert file["velocity_z1"].dims == ("x", "y", "component")
        assert file["q_criterion_x2_y1_z1"].dims == ()
        assert file["velocity_z1"].attrs["z"] == pytest.approx(np.pi / 4)
        np.testing.assert_array_equal(file["velocity_x0-3_y3-3"], run.slices["velocity_x0-3_y3-3"][1])
    with xarray.open_dataset(sliced / "statistics" / "spectra.h5", engine=engine) as file:
        np.testing.assert_array_equal(
            file["energy_variance_in_time"], run.statistics["spectra"]["energy_variance_in_time"]
        )
    with xarray.open_dataset(sliced / "statistics" / "step-00000012.h5", engine=engine) as file:
        np.testing.assert_array_equal(file["velocity_mean"], run.statistics["fields"]["velocity_mean"][1])


def test_no_link_out_of_a_file_of_slices_is_followed(sliced, tmp_path):
    folder = tmp_path / "step-00000000.h5"
    folder.write_bytes(list_snapshots(sliced / "slices")[0].read_bytes())
    with h5py.File(folder, "r+") as file:
        del file["velocity_z1"]
        file["velocity_z1"] = h5py.ExternalLink(str(list_snapshots(sliced / "slices")[1]), "velocity_z1")
    with pytest.raises(ValueError, match=r"lies behind a link \(external\)"):
        read_slices(folder)


@pytest.mark.slow
def test_parts_and_fields_may_change_when_a_run_is_resumed(tmp_path, capsys):
    """Each file keeps what was asked for at its time; readers and figures take what there is, and the log says it."""
    table = (
        '[grid]\nshape = [8, 8]\nlengths = ["2 pi", "2 pi"]\n[equation]\nname = "navier-stokes"\nviscosity = 0.1\n'
        '[initial]\nname = "taylor-green"\n[time]\nstepper = "ifrk2"\nstep = 0.1\nend = 0.2\n[devices]\nuse = [0]\n'
        f'[output]\ndirectory = "{tmp_path}/run"\nslices = {{ every_steps = 1, at = ["x = 0"] }}\n'
        'snapshots = { every_steps = 1, fields = ["velocity"] }\n'
    )
    (tmp_path / "run.toml").write_text(table)
    assert main(["run", str(tmp_path / "run.toml")]) == 0
    now = ["output.slices.at=['y = 0']", "output.snapshots.fields=['vorticity']", "time.end=0.4"]
    assert main(["resume", f"{tmp_path}/run", *now]) == 0
    run = sw.open_run(tmp_path / "run")
    for dataset, before, after in [
        (run.slices, "velocity_x0", "velocity_y0"),
        (run.snapshots, "velocity", "vorticity"),
    ]:
        assert np.isnan(dataset[before].values.reshape(5, -1)).all(axis=1).tolist() == [False] * 3 + [True] * 2
        assert np.isnan(dataset[after].values.reshape(5, -1)).all(axis=1).tolist() == [True] * 3 + [False] * 2
    log = (tmp_path / "run/log.txt").read_text()
    assert "changed since the last start: output.slices.at: ['x = 0'] → ['y = 0']" in log
    assert "changed since the last start: time.end: 0.2 → 0.4" in log
    assert main(["plot", f"{tmp_path}/run"]) == 0
    drawn = {path.name for path in (tmp_path / "run/figures").iterdir()}
    assert {"slices-x0.png", "slices-y0.png"} <= drawn, drawn
