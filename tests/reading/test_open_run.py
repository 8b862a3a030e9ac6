"""`sw.open_run`: what a run holds as xarray datasets, however it ended; nothing outside its files is read."""

import json
import re
import shutil
import subprocess
import sys

import h5py
import numpy as np
import pytest
from made_runs import record

import solver as sw
from solver.config import ConfigError
from solver.io import list_snapshots, read_series

pytest.importorskip("xarray", reason="xarray is not installed")


def test_series_have_units_and_steps(finished):
    series = sw.open_run(finished).series
    columns = read_series(finished / "series.csv")
    assert set(series) == set(columns) - {"t", "step"}
    np.testing.assert_array_equal(series["energy"], columns["energy"])
    np.testing.assert_array_equal(series["t"], columns["t"])
    assert series["step"].values.tolist() == list(range(13))
    assert series["energy"].attrs == {"units": "length^2/time^2", "long_name": "energy"}


def test_spectra_have_axes_with_units(finished):
    run = sw.open_run(finished)
    with h5py.File(finished / "spectra.h5") as file:
        np.testing.assert_array_equal(run.spectra["energy"], file["energy"])
    assert run.spectra["energy"].dims == ("t", "k")
    assert run.spectra["k"].attrs == {"units": "1/length", "long_name": "centre of the shell"}
    assert run.spectra["energy"].attrs == {
        "long_name": "energy in each shell: the sum of all shells is that of the series", "power_law": 5 / 3,
    }  # fmt: skip


@pytest.mark.parametrize("with_dask", [True, False])
def test_snapshots_are_read_where_they_are_asked_for(finished, monkeypatch, with_dask):
    if with_dask:
        pytest.importorskip("dask", reason="dask is not installed")
    monkeypatch.setattr("solver.reading.datasets.is_installed", lambda name: with_dask)
    read = []
    values = sw.io.Snapshot.values
    monkeypatch.setattr(
        sw.io.Snapshot, "values", lambda self, name, index=(): read.append(self.step) or values(self, name, index)
    )
    snapshots = sw.open_run(finished).snapshots
    velocity = snapshots["velocity"]
    assert velocity.dims == ("t", "x", "y", "z", "component")
    assert velocity.shape == (4, 12, 16, 8, 3)
    assert (velocity.chunks is not None) == with_dask
    assert not read
    part = velocity.sel(t=0.4, component="z").isel(x=slice(None, None, -2), y=3).values
    assert set(read) == {8}
    with h5py.File(finished / "snapshots" / "step-00000008.h5") as file:
        np.testing.assert_array_equal(part, file["velocity"][:, 3, :, 2][::-2])
    everything = velocity.values
    for i, path in enumerate(list_snapshots(finished / "snapshots")):
        with h5py.File(path) as file:
            np.testing.assert_array_equal(everything[i], file["velocity"])
    assert snapshots["step"].values.tolist() == [0, 4, 8, 12]
    assert velocity.attrs["units"] == "length/time"


def test_an_index_backwards_is_turned_round(finished, monkeypatch):
    monkeypatch.setattr("solver.reading.datasets.is_installed", lambda name: False)
    velocity = sw.open_run(finished).snapshots["velocity"]
    whole = velocity.values
    for index in ((1, slice(None, None, -1)), (slice(3, 0, -2), 2, slice(10, 2, -3)), (slice(None), 0, slice(0, 0))):
        np.testing.assert_array_equal(velocity[index].values, whole[index])


def test_a_record_of_any_name_is_there(finished, tmp_path):
    folder = tmp_path / "run"
    shutil.copytree(finished, folder)
    axes = {"order": ([1, 2], "1"), "r": ([0.5, 1.0, 1.5], "length")}
    columns = {"longitudinal": (("order", "r"), "length"), "count": ((), "1")}
    record(folder, "structure-functions", axes, columns, lambda name, t: np.full((2, 3), t) if "l" in name else t)
    run = sw.open_run(folder)
    assert list(run.records) == ["spectra", "structure-functions"]
    recorded = run.records["structure-functions"]
    assert recorded["longitudinal"].dims == ("t", "order", "r")
    np.testing.assert_array_equal(recorded["longitudinal"][:, 1, 2], 0.5 * np.arange(5))
    assert recorded["count"].dims == ("t",)
    with pytest.raises(ConfigError, match=r"recorded no 'spectrum'.*spectra"):
        run.records["spectrum"]


def test_a_run_under_way(running):
    run = sw.open_run(running)
    assert run.run_status.status == "running"
    assert (run.run_status.step, run.run_status.t) == (6, 0.3)
    assert run.series.sizes["t"] == 6  # of the seventh row half is written
    journal = running / ".spectra.h5.rows"
    assert journal.exists()
    assert run.spectra["step"].values.tolist() == [0, 2, 4, 6]
    assert run.provenance == {}


def test_runs_that_blew_up_or_have_not_begun(blown_up, empty, finished):
    blown = sw.open_run(blown_up)
    assert blown.run_status.status == "blown up"
    assert "blew up between step" in blown.run_status.message
    assert blown.series.sizes["t"] >= 1
    nothing = sw.open_run(empty)
    assert nothing.run_status.status == "empty"
    assert (nothing.series.sizes["t"], nothing.snapshots.sizes["t"], list(nothing.records)) == (0, 0, [])
    with pytest.raises(ConfigError, match="recorded no 'spectra'"):
        _ = nothing.spectra
    done = sw.open_run(finished)
    assert done.run_status.status == "finished"
    assert done.title == "A vortex"
    assert done.config["equation"]["viscosity"] == 0.05
    assert done.provenance["versions"]["jax"]


def test_a_run_that_was_left_is_stopped(running):
    lock = running / ".lock"
    holder = json.loads(lock.read_text())
    for left in ({"released": True}, {"time": holder["time"] - 3600}):
        lock.write_text(json.dumps({**holder, **left}))
        assert sw.open_run(running).run_status.status == "stopped"


def test_the_status_is_in_data_and_not_in_the_log(blown_up, finished, tmp_path):
    for folder, status, message in (
        (blown_up, "blown up", "the solution blew up "),
        (finished, "finished", "finished: "),
    ):
        copy = tmp_path / status
        shutil.copytree(folder, copy)
        (copy / "log.txt").unlink()
        now = sw.open_run(copy).run_status
        assert (now.status, now.warnings) == (status, ())
        assert now.message.startswith(message)
        assert now.platform == "cpu"
        assert 0 < now.device_hours < 1
        said = json.loads((copy / "status.json").read_text())
        assert (said["state"], said["message"], said["device_hours"]) == (status, now.message, now.device_hours)


def test_no_run_is_one_line(tmp_path):
    with pytest.raises(ConfigError, match=f"^{re.escape(str(tmp_path))} holds no run: .*config.toml does not exist$"):
        sw.open_run(tmp_path)


def test_a_missing_package_is_named(finished, monkeypatch):
    monkeypatch.setitem(sys.modules, "xarray", None)
    with pytest.raises(ModuleNotFoundError, match=r"needs xarray: pip install '.\[analysis\]' in the checkout"):
        sw.open_run(finished)


def linked(folder, name):
    """The data set `name` of the first snapshot or of spectra.h5 is a link to a file elsewhere."""
    path = folder / ("snapshots/step-00000000.h5" if name == "velocity" else "spectra.h5")
    secret = folder.parent / "secret.h5"
    shutil.copy(path, secret)
    with h5py.File(path, "r+") as file:
        del file[name]
        file[name] = h5py.ExternalLink(str(secret), name)


@pytest.mark.parametrize("name", ["energy", "k", "t", "velocity"])
def test_no_link_is_followed(finished, tmp_path, name):
    folder = tmp_path / "run"
    shutil.copytree(finished, folder)
    linked(folder, name)
    run = sw.open_run(folder)
    with pytest.raises(ValueError, match=r"lies behind a link \(external\)"):
        _ = run.snapshots if name == "velocity" else run.spectra


def test_snapshots_of_another_shape_are_refused(finished, tmp_path):
    folder = tmp_path / "run"
    shutil.copytree(finished, folder)
    with h5py.File(folder / "snapshots" / "step-00000004.h5", "r+") as file:
        del file["velocity"]
        file["velocity"] = np.zeros((12, 16, 4, 3))
    with pytest.raises(ValueError, match=r"step-00000004.h5: velocity has shape \[12, 16, 4, 3\]; \[12, 16, 8, 3\]"):
        _ = sw.open_run(folder).snapshots


def test_the_package_stays_light():
    code = (
        "import solver as sw, sys; sw.open_run; print({'xarray', 'dask', 'matplotlib', 'netCDF4'} & set(sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "set()\n"
