"""Snapshots in the programs that are not ours: ParaView's reader, h5netcdf, netCDF4."""

import json
import shutil

import h5py
import numpy as np
import pytest

import solver as sw
from solver.io import list_snapshots, series_path, update_series

POINT = (5, 9, 2)  # x, y, z


def test_the_series_lists_what_there_is_with_its_times(finished):
    listed = json.loads(series_path(finished / "snapshots").read_text())
    assert listed["file-series-version"] == "1.0"
    names = [path.with_suffix(".hdf").name for path in list_snapshots(finished / "snapshots")]
    assert [entry["name"] for entry in listed["files"]] == names
    np.testing.assert_allclose([entry["time"] for entry in listed["files"]], [0, 0.2, 0.4, 0.6], rtol=1e-12)


def test_the_series_follows_when_snapshots_go(finished, tmp_path):
    folder = tmp_path / "run"
    shutil.copytree(finished, folder)
    directory = sw.io.RunDirectory(folder)
    series = series_path(directory.snapshots)
    steps = lambda: [int(entry["name"][5:13]) for entry in json.loads(series.read_text())["files"]]  # noqa: E731
    series.write_text("{ half")
    update_series(directory.snapshots)
    assert steps() == [0, 4, 8, 12]
    sw.outputs.Snapshots.drop_after(directory, 4)
    assert steps() == [0, 4]
    sw.outputs.Snapshots.drop_after(directory, -1)
    assert not series.exists()


@pytest.mark.slow
def test_paraview_reads_every_file_of_the_series(finished):
    vtk = pytest.importorskip("vtk", reason="vtk, ParaView's reader, is not installed")
    from vtk.util.numpy_support import vtk_to_numpy

    folder = finished / "snapshots"
    seen = []
    vtk.vtkObject.GlobalWarningDisplayOff()
    for entry in json.loads(series_path(folder).read_text())["files"]:
        reader = vtk.vtkHDFReader()
        reader.SetFileName(str(folder / entry["name"]))
        reader.Update()
        assert reader.GetErrorCode() == 0
        image = reader.GetOutput()
        # nothing beside the points' data: ParaView 5.11 takes every other array for one of the grid, and fails
        assert image.GetFieldData().GetNumberOfArrays() == 0
        velocity = vtk_to_numpy(image.GetPointData().GetArray("velocity"))
        number = image.FindPoint([2 * np.pi * POINT[0] / 12, 4 * np.pi * POINT[1] / 16, 2 * np.pi * POINT[2] / 8])
        with h5py.File((folder / entry["name"]).with_suffix(".h5")) as file:
            np.testing.assert_allclose(velocity[number], file["velocity"][POINT], rtol=1e-12)
        seen.append(velocity[number].tolist())
    assert len(seen) == 4
    assert seen[0] != seen[3]


@pytest.mark.parametrize("engine", ["h5netcdf", "netcdf4"])
def test_readers_of_netcdf_see_names_axes_and_units(finished, engine):
    xarray = pytest.importorskip("xarray", reason="xarray is not installed")
    pytest.importorskip({"netcdf4": "netCDF4"}.get(engine, engine), reason=f"{engine} is not installed")
    path = finished / "snapshots" / "step-00000004.h5"
    with xarray.open_dataset(path, engine=engine) as data:
        assert data["velocity"].dims == ("x", "y", "z", "component")
        assert data["velocity"].attrs["units"] == "length/time"
        assert [str(label) for label in data["component"].values] == ["x", "y", "z"]
        assert float(data.attrs["time"]) == pytest.approx(0.2)
        with h5py.File(path) as file:
            np.testing.assert_array_equal(data["velocity"], file["velocity"])
        np.testing.assert_allclose(data["y"], 4 * np.pi / 16 * np.arange(16))


@pytest.mark.parametrize("engine", ["h5netcdf", "netcdf4"])
def test_readers_of_netcdf_see_spectra(finished, engine):
    xarray = pytest.importorskip("xarray", reason="xarray is not installed")
    pytest.importorskip({"netcdf4": "netCDF4"}.get(engine, engine), reason=f"{engine} is not installed")
    with xarray.open_dataset(finished / "spectra.h5", engine=engine) as data:
        assert data["energy"].dims == ("t", "k")
        assert data["k"].attrs["units"] == "1/length"
