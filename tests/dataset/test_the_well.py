"""The Well's own programs take a data set made here; `make well` installs them."""

import json
import subprocess
from pathlib import Path

import h5py
import numpy as np
import pytest

ROOT = Path(__file__).parents[2]
PYTHON = ROOT / ".well" / "bin" / "python"
SCRIPTS = ROOT / ".well" / "source" / "scripts"
READS = Path(__file__).parent / "the_well_reads.py"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not (ROOT / ".well" / "ready").exists(), reason="The Well's package is not in .well/: make well installs it"
    ),
]


@pytest.fixture(scope="module")
def found(data_set, tmp_path_factory):
    """What its loader found in each part, and the path of its statistics; its checker found nothing wrong."""
    stats = tmp_path_factory.mktemp("stats") / "stats.yaml"
    words = [str(PYTHON), str(READS), str(SCRIPTS), str(data_set), str(stats)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("/boundary_conditions passed!") == 5
    return json.loads(done.stdout.splitlines()[-1]), stats


def test_its_loader_reads_every_part(found, data_set, manifest):
    parts = [entry["part"] for entry in manifest["members"]]
    for part, read in found[0].items():
        assert read["samples"] == parts.count(part), "two states in and one out: one sample of three times"
        assert read["shapes"]["input_fields"] == [2, 16, 12, 3]
        assert read["fields"] == {"0": ["vorticity"], "1": ["velocity_x", "velocity_y"], "2": []}
        assert {"viscosity", "energy", "drag"} <= set(read["scalars"])
        assert read["boundaries"] == [[2.0, 2.0], [2.0, 2.0]], "periodic at both ends of both axes"
        own = [entry["values"]["equation.viscosity"] for entry in manifest["members"] if entry["part"] == part]
        np.testing.assert_allclose(read["viscosities"], sorted(own), rtol=1e-6)
    with h5py.File(data_set / "data/train/turbulence-train-0000.hdf5") as file:
        first = [file["t0_fields/vorticity"][0, 0, 5, 7], *file["t1_fields/velocity"][0, 0, 5, 7]]
    np.testing.assert_array_equal(found[0]["train"]["first"], np.float32(first))


def test_its_statistics_are_those_of_stats_yaml(found, data_set):
    assert found[1].read_text() == (data_set / "stats.yaml").read_text()


def test_fields_that_it_normalises_have_unit_deviation(found):
    """Over the times that can begin a sample, of which the file has two of three."""
    np.testing.assert_allclose(found[0]["train"]["deviations"], 1, atol=0.05)
