"""One small ensemble with a data set for all tests of this folder."""

import json

import pytest
from written_runs import members, written

from solver.cli.main import main

RUN = members(
    """
series = false
[output.well]
every_time = 0.05
fields = ["velocity", "vorticity"]
members_per_file = 3
dataset = "turbulence"
""",
    ensemble="""members = 5""",
    grid="""shape = [16, 12]
lengths = ["2 pi", 3.0]""",
    equation="drag = 0.1",
    end=0.1,
    devices=[0, 1],
)


@pytest.fixture(scope="session")
def run_file(tmp_path_factory):
    return written(tmp_path_factory.mktemp("well"), RUN)


@pytest.fixture(scope="session")
def ensemble(run_file):
    """The directory of the ensemble, finished."""
    folder = run_file.parent / "whole"
    assert main(["run", str(run_file), f"output.directory={folder}"]) == 0
    return folder


@pytest.fixture(scope="session")
def data_set(ensemble):
    return ensemble / "turbulence"


@pytest.fixture(scope="session")
def manifest(data_set):
    return json.loads((data_set / "manifest.json").read_text())
