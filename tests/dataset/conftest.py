"""One small ensemble with a data set for all tests of this folder."""

import json

import pytest

from solver.cli.main import main

RUN = """
title = "many"
[ensemble]
members = 5
draw = { "equation.viscosity" = { log_uniform = [1e-3, 1e-2] }, "random.seed" = "member" }
sweep = { "initial.energy" = [0.5, 1.0] }
[grid]
shape = [16, 12]
lengths = ["2 pi", 3.0]
[equation]
name = "vorticity"
drag = 0.1
[initial]
name = "random-phase"
peak = 2.0
[time]
stepper = "ifrk2"
step = 0.01
end = 0.1
[devices]
use = [0, 1]
[output]
series = false
[output.well]
every_time = 0.05
fields = ["velocity", "vorticity"]
members_per_file = 3
dataset = "turbulence"
"""


@pytest.fixture(scope="session")
def run_file(tmp_path_factory):
    path = tmp_path_factory.mktemp("well") / "many.toml"
    path.write_text(RUN)
    return path


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
