"""Files that a run file names by `path`: in the folder of the run file, or where the command runs."""

import numpy as np
import pytest

from solver.assemble import read_run_file
from solver.config import ConfigError

TEXT = """
grid = { shape = [8, 8] }
equation = { name = "allen-cahn" }
initial = { name = "file", path = "start.npy" }
time = { stepper = "etdrk2", step = 0.1, end = 0.2 }
output = { directory = "out" }
"""


@pytest.fixture
def run_file(tmp_path, monkeypatch):
    """A run file in a folder below the working directory."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "runs").mkdir()
    path = tmp_path / "runs" / "case.toml"
    path.write_text(TEXT)
    return path


def test_a_file_in_the_run_file_s_folder_comes_first_and_one_in_the_working_directory_next(run_file, tmp_path):
    path = lambda: read_run_file(run_file).initial["u"].parameters["path"]  # noqa: E731
    np.save(tmp_path / "start.npy", np.zeros((8, 8)))
    assert path() == "start.npy"
    np.save(tmp_path / "runs" / "start.npy", np.zeros((8, 8)))
    assert path() == str(tmp_path / "runs" / "start.npy")


def test_a_refusal_says_where_it_was_looked_for(run_file, tmp_path, monkeypatch):
    with pytest.raises(ConfigError, match=rf"initial.path: start.npy: .*; it was looked for in {tmp_path}/runs of the"):
        read_run_file(run_file)
    monkeypatch.chdir(tmp_path / "runs")
    with pytest.raises(ConfigError, match=rf"; it was looked for in {tmp_path}/runs$"):
        read_run_file(run_file)
