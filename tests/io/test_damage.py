"""Cut files and flipped bits are found, in checkpoints, snapshots and spectra."""

import json
import os

import jax.numpy as jnp
import numpy as np
import pytest

import solver as sw
from solver.grid import Storage
from solver.io import Axis, Column, RecordsLayout, Row, Variable, own_rows, verify, verify_data, write_snapshot

CUTS, FLIPS = 20, 100


@pytest.fixture(scope="module")
def grid():
    return sw.Grid((8, 6, 4), mesh=sw.device_mesh([0, 1]))


@pytest.fixture(scope="module")
def folder(tmp_path_factory, grid):
    """A snapshot, spectra and a checkpoint."""
    folder = tmp_path_factory.mktemp("whole")
    u = np.random.default_rng(0).normal(size=(3, *grid.shape))
    field = sw.from_global(u, grid)
    variables = {"velocity": Variable(field, "length/time", ("x", "y", "z")), "p": Variable(field[0], "1")}
    write_snapshot(folder / "snapshot.h5", variables, grid, 3, 0.25, {"title": "a box", "equation": "none"})
    spectra = own_rows(folder / "spectra.h5")
    layout = RecordsLayout({"k": Axis(np.arange(5.0))}, {"velocity": Column(("k",)), "p": Column(("k",))})
    for step in range(4):
        spectra.append(Row(step, 0.1 * step, {"velocity": np.exp(-np.arange(5.0)), "p": np.ones(5)}), layout)
    spectra.flush()
    state = sw.State(
        field={"velocity": field}, t=jnp.float64(0.25), dt=jnp.float64(0.01), step=np.int64(3),
        storage=(("field/velocity", Storage("points")),),
    )  # fmt: skip
    sw.io.save_checkpoint(folder, state, grid, "title = 'x'")
    return folder


@pytest.mark.parametrize("name", ["snapshot.h5", "spectra.h5"])
def test_any_change_is_found(folder, tmp_path, name):
    whole = (folder / name).read_bytes()
    assert verify_data(folder / name) == []
    harmed, rng = tmp_path / name, np.random.default_rng(1)
    for size in rng.integers(1, len(whole), CUTS):
        harmed.write_bytes(whole[:size])
        assert verify_data(harmed), f"cut to {size} of {len(whole)} bytes"
    for bit in rng.integers(0, 8 * len(whole), FLIPS):
        data = bytearray(whole)
        data[bit // 8] ^= 1 << (bit % 8)
        harmed.write_bytes(bytes(data))
        assert verify_data(harmed), f"bit {bit}"


def test_any_change_of_a_checkpoint_is_found(folder, tmp_path):
    whole = folder / "step-00000003"
    assert verify(whole) == []
    files = sorted(path.name for path in whole.iterdir())
    assert files == ["manifest.json", "process-00000.h5"]
    rng = np.random.default_rng(2)
    for case in range(CUTS + FLIPS):
        copy = tmp_path / str(case)
        copy.mkdir()
        for name in files:
            (copy / name).write_bytes((whole / name).read_bytes())
        victim = copy / files[case % 2]
        size = victim.stat().st_size
        if case < CUTS:
            os.truncate(victim, rng.integers(0, size))
        else:
            data, bit = bytearray(victim.read_bytes()), rng.integers(0, 8 * size)
            data[bit // 8] ^= 1 << (bit % 8)
            victim.write_bytes(bytes(data))
        if victim.name == "manifest.json" and _same_json(victim, whole / victim.name):
            continue  # a space became another one: no value changed
        assert verify(copy), f"case {case}: {victim.name}"


def _same_json(a, b):
    try:
        return json.loads(a.read_text()) == json.loads(b.read_text())
    except (ValueError, UnicodeDecodeError):
        return False
