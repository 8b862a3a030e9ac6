"""Checkpoints: bits, devices, damage, and what a kill leaves behind."""

import json
import os
from pathlib import Path

import jax
import numpy as np
import pytest

import solver as sw
from solver import assemble
from solver.cluster import Agreement
from solver.config import load
from solver.io import (
    CheckpointError,
    DiskError,
    OtherFormat,
    keep_newest,
    list_checkpoints,
    newest_valid,
    other_formats,
    remove_leftovers,
    set_aside,
    verify,
)
from solver.io.manifest import FORMAT, digest
from solver.steppers.state import path_in_state

pytestmark = pytest.mark.slow

RUNS = Path(__file__).parents[2] / "runs"
SMALL = {
    "taylor_green": ["grid.shape=[24,16,20]", "grid.lengths=[6,6,4]", "time.step=0.01"],
    "fuzzy_dark_matter": ["grid.shape=[16,16,12]", "grid.lengths=[12,12,12]", "time.step=0.01"],
    "kuramoto_sivashinsky": ["grid.shape=[48,20]", "grid.lengths=[12,10]", "time.step=0.01"],
    "taylor_green_512": ["grid.shape=[24,16,20]", "grid.lengths=[6,6,4]"],
}


def build(case, devices):
    overrides = SMALL[case]
    config = assemble.resolve(load(RUNS / f"{case}.toml", assemble.schema(), overrides))
    return assemble.Assembly(config, sw.device_mesh(range(devices)))


def advance(run, state, steps):
    section = run.config.time
    pauses = [sw.Schedule(every_steps=int(state.step) + steps)]
    for now in sw.evolve(run.equation, run.stepper, state, end=1e3, step=section.step, cfl=section.cfl, pauses=pauses):
        if int(now.step) == int(state.step) + steps:
            return now
    raise AssertionError


def logical(run, state):
    """Every entry without padding, as NumPy."""

    storage = state.storage_by_path()

    def trim(path, x):
        if isinstance(x, jax.Array) and jax.dtypes.issubdtype(x.dtype, jax.dtypes.prng_key):
            return np.asarray(jax.random.key_data(x))
        how, x = storage.get(path_in_state(path)), np.asarray(x)
        return x if how is None else x[tuple(slice(0, n) for n in how.logical_shape(x.shape, run.grid))]

    return jax.tree_util.tree_map_with_path(trim, state)


def assert_same_bits(run, a, b):
    jax.tree.map(np.testing.assert_array_equal, logical(run, a), logical(run, b))


@pytest.mark.thorough
@pytest.mark.every_case
@pytest.mark.parametrize("case", ["fuzzy_dark_matter", "kuramoto_sivashinsky", "taylor_green_512"])
def test_forty_steps_equal_twenty_a_restart_and_twenty(tmp_path, case):
    run = build(case, 4)
    start = run.start()
    whole = advance(run, start, 40)
    half = advance(run, start, 20)
    path = sw.io.save_checkpoint(tmp_path, half, run.grid)
    again = build(case, 4)
    loaded = sw.io.load_checkpoint(path, again.equation, again.stepper)
    assert_same_bits(run, loaded, half)
    assert_same_bits(run, advance(again, loaded, 20), whole)


@pytest.mark.parametrize("case", ["taylor_green", "fuzzy_dark_matter", "kuramoto_sivashinsky"])
def test_a_checkpoint_loads_on_any_number_of_devices(tmp_path, case):
    run = build(case, 4)
    state = advance(run, run.start(), 2)
    path = sw.io.save_checkpoint(tmp_path, state, run.grid)
    for devices in (1, 2, 4):
        other = build(case, devices)
        loaded = sw.io.load_checkpoint(path, other.equation, other.stepper)
        assert len(next(iter(loaded.field.values())).sharding.device_set) == devices
        jax.tree.map(np.testing.assert_array_equal, logical(other, loaded), logical(run, state))


@pytest.mark.parametrize("case", ["taylor_green", "fuzzy_dark_matter"])
def test_pencils_to_slabs_that_do_not_divide(tmp_path, case):
    config = assemble.resolve(load(RUNS / f"{case}.toml", assemble.schema(), SMALL[case]))
    pencils = assemble.Assembly(config, sw.device_mesh(range(8), shape=(4, 2)))
    slabs = assemble.Assembly(config, sw.device_mesh(range(3)))
    state = advance(pencils, pencils.start(), 2)
    path = sw.io.save_checkpoint(tmp_path / "pencils", state, pencils.grid)
    loaded = sw.io.load_checkpoint(path, slabs.equation, slabs.stepper)
    back = sw.io.save_checkpoint(tmp_path / "slabs", advance(slabs, loaded, 0), slabs.grid)
    again = sw.io.load_checkpoint(back, pencils.equation, pencils.stepper)
    assert_same_bits(pencils, again, state)


def test_eight_devices_to_two(tmp_path):
    config = assemble.resolve(load(RUNS / "taylor_green.toml", assemble.schema(), ["grid.shape=[16,32,16]"]))
    eight = assemble.Assembly(config, sw.device_mesh())
    state = advance(eight, eight.start(), 2)
    assert eight.grid.spectral_shape[0] == 24
    path = sw.io.save_checkpoint(tmp_path, state, eight.grid)
    manifest = json.loads((path / "manifest.json").read_text())
    field = manifest["arrays"]["field/velocity"]
    assert field["shape"] == [3, 21, 6, 11]
    assert max(p["start"][1] + p["shape"][1] for p in field["pieces"]) == 21, "padding is never stored"
    two = assemble.Assembly(config, sw.device_mesh([0, 1]))
    loaded = sw.io.load_checkpoint(path, two.equation, two.stepper)
    np.testing.assert_array_equal(logical(two, loaded).field["velocity"], logical(eight, state).field["velocity"])


@pytest.fixture
def saved(tmp_path):
    run = build("kuramoto_sivashinsky", 2)
    state = run.start()
    for step in (5, 10, 15):
        sw.io.save_checkpoint(tmp_path, state.replace(step=np.int64(step)), run.grid, "title = 'x'")
    return run, tmp_path


def damage_byte(path):
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(bytes(data))


def cut(path):
    os.truncate(path, path.stat().st_size - 100)


@pytest.mark.parametrize("name", ["manifest.json", "process-00000.h5"])
@pytest.mark.parametrize("harm", [damage_byte, cut, Path.unlink], ids=["bit flip", "cut short", "missing"])
def test_any_damage_is_found_and_the_previous_one_is_used(saved, name, harm):
    _, folder = saved
    harm(folder / "step-00000015" / name)
    assert len(verify(folder / "step-00000015")) == 1
    path, damaged = newest_valid(folder)
    assert path.name == "step-00000010"
    assert [p.name for p in damaged] == ["step-00000015"]
    assert set_aside(folder / "step-00000015").name == "step-00000015.damaged-0"
    assert [p.name for p in list_checkpoints(folder)] == ["step-00000005", "step-00000010"]


def write_as_format(path, number):
    """Change the format in a manifest, as a version before or after would have written it."""
    body = json.loads((path / "manifest.json").read_text())
    body = {**body, "format": number}
    del body["sha256"]
    (path / "manifest.json").write_text(json.dumps({**body, "sha256": digest(body)}))


@pytest.mark.parametrize("number", [FORMAT - 1, FORMAT + 1])
def test_a_checkpoint_of_another_format_is_refused_and_not_called_damaged(saved, number):
    """Neither are older ones taken in its place: the newest is whole, only another version reads it."""
    run, folder = saved
    newest = folder / "step-00000015"
    write_as_format(newest, number)
    message = rf"step-00000015: a checkpoint of format {number}; this version of Slabwave reads format {FORMAT}$"
    for read in (lambda: newest_valid(folder), lambda: sw.io.load_checkpoint(newest, run.equation, run.stepper)):
        with pytest.raises(OtherFormat, match=message):
            read()
    assert list(other_formats(folder)) == [newest]


def test_a_damaged_checkpoint_before_one_of_another_format(saved):
    _, folder = saved
    damage_byte(folder / "step-00000015" / "manifest.json")
    write_as_format(folder / "step-00000010", FORMAT - 1)
    with pytest.raises(OtherFormat, match="step-00000010"):
        newest_valid(folder)
    assert [path.name for path in other_formats(folder)] == ["step-00000010"]


def test_a_half_written_checkpoint_is_no_checkpoint(saved):
    run, folder = saved
    partial = folder / ".step-00000020.partial"
    partial.mkdir()
    (partial / "process-00000.h5").write_bytes(b"half")
    assert newest_valid(folder)[0].name == "step-00000015"
    remove_leftovers(folder)
    assert not partial.exists()
    state = run.start().replace(step=np.int64(20))
    assert sw.io.save_checkpoint(folder, state, run.grid).name == "step-00000020"


def test_a_checkpoint_is_never_overwritten(saved):
    run, folder = saved
    before = (folder / "step-00000010" / "manifest.json").read_bytes()
    with pytest.raises(FileExistsError, match="never overwritten"):
        sw.io.save_checkpoint(folder, run.start().replace(step=np.int64(10)), run.grid)
    assert (folder / "step-00000010" / "manifest.json").read_bytes() == before


def test_a_full_disk_leaves_nothing_under_the_name_and_the_others_alone(saved, monkeypatch):
    run, folder = saved

    def no_space(*arguments):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.pwrite", no_space)
    needs = r"process-00000.h5: No space left on device: \S+ KiB needed, \S+ \wiB free"
    with pytest.raises(DiskError, match=needs):
        sw.io.save_checkpoint(folder, run.start().replace(step=np.int64(20)), run.grid)
    assert newest_valid(folder)[0].name == "step-00000015"
    assert not list(folder.glob(".*"))


def test_older_ones_go_only_after_the_newest_is_verified(saved):
    _, folder = saved
    damage_byte(folder / "step-00000015" / "process-00000.h5")
    with pytest.raises(CheckpointError, match="older ones are kept"):
        keep_newest(folder, 1, Agreement("test"))
    assert len(list_checkpoints(folder)) == 3
    set_aside(folder / "step-00000015")
    keep_newest(folder, 1, Agreement("test"))
    assert [p.name for p in list_checkpoints(folder)] == ["step-00000010"]


def test_what_does_not_fit_is_named(saved):
    _, folder = saved
    other = build("taylor_green", 2)
    with pytest.raises(CheckpointError, match=r"'field/velocity' holds nothing; modes complex128\[3, .* is needed"):
        sw.io.load_checkpoint(folder / "step-00000010", other.equation, other.stepper)


def test_the_manifest_says_what_it_is(saved):
    run, folder = saved
    manifest = json.loads((folder / "step-00000010" / "manifest.json").read_text())
    assert manifest["step"] == 10
    assert manifest["run_file"] == "title = 'x'"
    assert set(manifest["values"]) >= {"t", "dt", "step", "key", "t_reference", "step_reference"}
    loaded = sw.io.load_checkpoint(folder / "step-00000010", run.equation, run.stepper)
    assert jax.random.key_data(loaded.key).tolist() == jax.random.key_data(jax.random.key(1)).tolist()
