"""Series, spectra, snapshots, fields read in, and whose directory it is."""

import os
import time

import h5py
import jax
import numpy as np
import pytest
import xarray

import solver as sw
from solver.io import (
    Column,
    DirectoryLock,
    RecordsLayout,
    Row,
    SeriesFile,
    TakenError,
    Variable,
    describe_field,
    read_lock,
    verify_data,
    write_snapshot,
)

UNITS = {"dt": "time", "energy": "length^2/time^2", "cfl": "1"}
SCALARS = RecordsLayout({}, {name: Column(units=unit) for name, unit in UNITS.items()})


def row(step):
    return Row(step, 0.1 * step, {"dt": np.asarray(0.1), "energy": np.asarray(1 / 3 + step), "cfl": np.asarray(1e-300)})


def test_series_reads_back_exactly(tmp_path):
    series = SeriesFile(tmp_path / "series.csv")
    series.append(row(0), SCALARS)
    series.append(row(3), SCALARS)
    lines = (tmp_path / "series.csv").read_text().splitlines()
    assert lines[0] == "# units: step [1], t [time], dt [time], energy [length^2/time^2], cfl [1]"
    assert lines[1] == "step,t,dt,energy,cfl"
    assert [float(v) for v in lines[3].split(",")] == [3, row(3).t, *row(3).values.values()]
    assert lines[3].startswith("3,")


def test_later_and_torn_rows_are_dropped(tmp_path):
    path = tmp_path / "series.csv"
    series = SeriesFile(path)
    for step in (0, 10, 20, 30, 40):
        series.append(row(step), SCALARS)
    whole = path.read_text()
    path.write_text(whole[:-9])  # the last row was being written when the process was killed
    series.drop_after(20)
    assert path.read_text() == whole[: whole.index("30,")]
    for step in (30, 40):
        series.append(row(step), SCALARS)
    assert path.read_text() == whole


def test_a_series_tells_its_columns_and_its_last_row(tmp_path):
    series = SeriesFile(tmp_path / "series.csv")
    assert (series.layout(), series.table(), series.last()) == (None, None, {})
    series.append(row(7), SCALARS)
    assert series.layout() == SCALARS
    assert series.table().units == {"step": "1", "t": "time", **UNITS}
    assert series.last() == {"step": 7, "t": row(7).t, **row(7).values}


@pytest.fixture
def snapshot(tmp_path, make_grid):
    grid = make_grid((16, 12, 8), devices=4, lengths=[1.0, 2.0, 3.0])
    u = sw.sample(lambda x, y, z: (x + 10 * y + 100 * z, x * y, y * z), grid)
    fields = {f"velocity_{a}": Variable(u[i], "length/time") for i, a in enumerate("xyz")}
    path = tmp_path / "step-00000007.h5"
    write_snapshot(path, fields, grid, 7, 0.25, {"title": "t"})
    return path, grid, u


def test_a_snapshot_opens_in_xarray(snapshot):
    path, _, u = snapshot
    with xarray.open_dataset(path, engine="h5netcdf") as data:
        assert data["velocity_x"].dims == ("x", "y", "z")
        np.testing.assert_array_equal(data["velocity_x"], u[0])
        np.testing.assert_allclose(data["y"], np.arange(12) / 6)
        assert float(data["time"]) == 0.25
        assert data.attrs["step"] == 7


def test_a_companion_for_paraview_links_to_data_that_is_there(snapshot):
    path, _, u = snapshot
    with h5py.File(path.with_suffix(".hdf")) as file:
        image = file["VTKHDF"]
        assert list(image["PointData"]) == ["velocity_x", "velocity_y", "velocity_z"]
        np.testing.assert_array_equal(image["PointData/velocity_y"], u[1])
        assert list(image.attrs["WholeExtent"]) == [0, 7, 0, 11, 0, 15], "the contiguous axis, z, comes first"
        np.testing.assert_allclose(image.attrs["Spacing"], [3 / 8, 2 / 12, 1 / 16])


def test_damage_in_a_snapshot_is_found(snapshot):
    path, _, _ = snapshot
    assert verify_data(path) == []
    with h5py.File(path) as file:
        offset = file["velocity_y"].id.get_chunk_info(3).byte_offset
    data = bytearray(path.read_bytes())
    data[offset + 11] ^= 1
    path.write_bytes(bytes(data))
    assert len(verify_data(path)) == 1


def test_variables_that_are_not_on_the_grid_or_complex_are_refused(snapshot):
    path, grid, u = snapshot
    before = path.read_bytes()
    for values, message in ((u, r"velocity has shape \[3, 16"), (1j * u[0], "velocity is complex")):
        with pytest.raises(ValueError, match=message):
            write_snapshot(path, {"velocity": Variable(values)}, grid, 7, 0.5, {})
    assert path.read_bytes() == before


def test_fields_are_read_block_by_block(snapshot, make_grid, monkeypatch):
    path, _, u = snapshot
    grid = make_grid((16, 12, 8), devices=2)
    names = ["velocity_x", "velocity_y", "velocity_z"]
    sizes = []
    original = h5py.Dataset.__getitem__

    def spy(self, index):
        value = original(self, index)
        sizes.append(np.shape(value))
        return value

    monkeypatch.setattr(h5py.Dataset, "__getitem__", spy)
    field = sw.io.read_field(path, names, grid)
    assert set(sizes) == {(8, 12, 8)}
    np.testing.assert_array_equal(field, u)
    assert field.sharding == grid.physical_sharding(4)


def test_fields_in_one_data_set(tmp_path, make_grid):
    values = np.random.default_rng(0).normal(size=(2, 8, 6))
    with h5py.File(tmp_path / "u.h5", "w") as file:
        file["flow/u"] = values
        file["psi"] = values[0] + 1j * values[1]
    assert describe_field(tmp_path / "u.h5", ["flow/u"]) == ((2, 8, 6), False)
    np.testing.assert_array_equal(sw.io.read_field(tmp_path / "u.h5", "flow/u", make_grid((8, 6), devices=2)), values)
    complex_grid = make_grid((8, 6), devices=2, real=False)
    psi = sw.io.read_field(tmp_path / "u.h5", "psi", complex_grid)
    np.testing.assert_array_equal(psi[0], values[0] + 1j * values[1])
    with pytest.raises(ValueError, match="the field is complex"):
        sw.io.read_field(tmp_path / "u.h5", "psi", make_grid((8, 6), devices=2))
    with pytest.raises(ValueError, match=r"shape is \[2, 8, 6\]; this grid has \[8, 8\]"):
        sw.io.read_field(tmp_path / "u.h5", "flow/u", make_grid((8, 8), devices=2))
    with pytest.raises(ValueError, match=r"no data set 'v'; it has flow/u, psi"):
        describe_field(tmp_path / "u.h5", ["v"])
    with pytest.raises(ValueError, match="no such file"):
        describe_field(tmp_path / "w.h5", ["v"])
    (tmp_path / "text.h5").write_text("no")
    with pytest.raises(ValueError, match="not an HDF5 file"):
        describe_field(tmp_path / "text.h5", ["v"])


def test_a_directory_is_held_by_one(tmp_path):
    held = DirectoryLock(tmp_path, {})
    with pytest.raises(TakenError, match=rf"process {os.getpid()} on \S+ is writing this run"):
        DirectoryLock(tmp_path, {})
    held.update_status(step=7)
    held.release()
    assert read_lock(tmp_path / ".lock")["step"] == 7
    DirectoryLock(tmp_path, {}).release()


@pytest.fixture
def without_kernel_locks(monkeypatch):
    """As on a file system that does not pass them on, with a quick pulse."""

    def refuse(*arguments):
        raise OSError(38, "Function not implemented")

    monkeypatch.setattr("fcntl.flock", refuse)
    monkeypatch.setattr("solver.io.lock.BEAT_SECONDS", 0.1)
    monkeypatch.setattr("solver.io.lock.DEAD_SECONDS", 1.0)


def on_host(monkeypatch, name):
    monkeypatch.setattr("platform.node", lambda: name)


def test_a_live_run_on_another_host_is_seen_by_its_beats(tmp_path, monkeypatch, without_kernel_locks):
    on_host(monkeypatch, "n1")
    held = DirectoryLock(tmp_path, {"SLURM_JOB_ID": "7"})
    on_host(monkeypatch, "n2")
    with pytest.raises(TakenError, match="on n1, Slurm job 7 is writing this run"):
        DirectoryLock(tmp_path, {"SLURM_JOB_ID": "8"})
    assert not held.lost
    held.release()
    began = time.monotonic()
    DirectoryLock(tmp_path, {"SLURM_JOB_ID": "8"}).release()
    assert time.monotonic() - began < 0.9, "a run that left in order holds nobody up"


def test_a_second_step_of_a_job_and_a_neighbour_on_the_host_are_seen_too(tmp_path, monkeypatch, without_kernel_locks):
    on_host(monkeypatch, "n1")
    held = DirectoryLock(tmp_path, {"SLURM_JOB_ID": "7"})
    for host in ("n1", "n2"):
        on_host(monkeypatch, host)
        with pytest.raises(TakenError, match="on n1, Slurm job 7"):
            DirectoryLock(tmp_path, {"SLURM_JOB_ID": "7"})
    held.release()


def test_no_reader_finds_the_file_empty(tmp_path, monkeypatch):
    monkeypatch.setattr("solver.io.lock.BEAT_SECONDS", 0.0005)
    held = DirectoryLock(tmp_path, {})
    for _ in range(500):
        assert read_lock(tmp_path / ".lock")["host"]
    held.release()


def die(lock):
    """As by SIGKILL: no more beats, nothing released."""
    lock._over.set()
    lock._thread.join()
    os.close(lock._descriptor)


def test_hours_of_devices_count_all_starts(tmp_path):
    for _ in range(2):
        held = DirectoryLock(tmp_path, {})
        held.update_status(devices=3600, platform="gpu")
        time.sleep(0.1)
        held.release()
    DirectoryLock(tmp_path, {}).release()  # a start that has no devices
    status = read_lock(tmp_path / "status.json")
    assert 0.2 < status["device_hours"] < 2.0
    assert status["platform"] == "gpu"


def test_a_long_message_leaves_the_status_whole(tmp_path):
    held = DirectoryLock(tmp_path, {})
    held.update_status(message=10000 * "×")
    held.release()
    assert read_lock(tmp_path / "status.json")["message"] == 500 * "×"
    DirectoryLock(tmp_path, {}).release()
    assert "message" not in read_lock(tmp_path / "status.json")


def test_a_requeued_job_is_not_held_up_by_its_killed_self_and_another_a_little(
    tmp_path, monkeypatch, without_kernel_locks
):
    on_host(monkeypatch, "n1")
    die(DirectoryLock(tmp_path, {"SLURM_JOB_ID": "7"}))
    on_host(monkeypatch, "n2")
    began = time.monotonic()
    requeued = DirectoryLock(tmp_path, {"SLURM_JOB_ID": "7", "SLURM_RESTART_COUNT": "1"})
    assert time.monotonic() - began < 0.9
    die(requeued)
    on_host(monkeypatch, "n3")
    began = time.monotonic()
    other = DirectoryLock(tmp_path, {"SLURM_JOB_ID": "8"})
    assert 0.9 < time.monotonic() - began < 30
    other.release()


def test_a_run_that_was_thought_dead_learns_that_its_directory_is_taken(tmp_path, monkeypatch, without_kernel_locks):
    on_host(monkeypatch, "n1")
    first = DirectoryLock(tmp_path, {"SLURM_JOB_ID": "7"})
    second = DirectoryLock(tmp_path, {"SLURM_JOB_ID": "7", "SLURM_RESTART_COUNT": "1"})
    deadline = time.monotonic() + 5
    while not first.lost and time.monotonic() < deadline:
        time.sleep(0.05)
    assert first.lost
    assert not second.lost
    first.release()
    assert read_lock(tmp_path / ".lock")["released"] is False, "it must not release what is another's"
    second.release()


def test_random_numbers_do_not_depend_on_the_devices(make_grid):
    """The counter-based generator, split over devices, gives the bits of one device."""

    def draw(grid):
        fill = jax.jit(lambda k: jax.random.normal(k, grid.shape), out_shardings=grid.physical_sharding())
        return np.asarray(fill(jax.random.key(5)))

    np.testing.assert_array_equal(draw(make_grid((16, 12, 8), devices=4)), draw(make_grid((16, 12, 8), devices=1)))


def test_fields_in_files_of_numpy(tmp_path, make_grid):
    """The only array of a .npy file and of a .npz file, and arrays by name; what is no number is refused."""
    grid, u = make_grid((8, 6), devices=2), np.random.default_rng(0).standard_normal((2, 8, 6))
    np.save(tmp_path / "u.npy", u)
    np.savez(tmp_path / "one.npz", u=u)
    np.savez_compressed(tmp_path / "two.npz", a=u[0], b=u[1])
    np.save(tmp_path / "words.npy", np.array(["a"]))
    (tmp_path / "broken.npy").write_bytes(b"\x93NUMPY no")
    (tmp_path / "broken.npz").write_bytes(b"PK no")
    with h5py.File(tmp_path / "u.h5", "w") as file:
        file["u"] = u
    for name, datasets in [("u.npy", ()), ("one.npz", ()), ("one.npz", "u"), ("two.npz", ("a", "b")), ("u.h5", ())]:
        np.testing.assert_array_equal(sw.io.read_field(tmp_path / name, datasets, grid), u, err_msg=name)
    for name, datasets, message in [
        ("u.npy", "u", "one array, which has no name"),
        ("two.npz", "c", "no array 'c'; there are a, b"),
        ("two.npz", (), "holds a, b: say which"),
        ("words.npy", (), "numbers are needed"),
        ("broken.npy", (), "not a file of NumPy's"),
        ("broken.npz", (), "not a file of NumPy's"),
        ("none.npy", (), "no such file"),
    ]:
        with pytest.raises(ValueError, match=message):
            sw.io.read_field(tmp_path / name, datasets, grid)
