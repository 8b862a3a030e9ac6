"""One checkpoint file of all processes. The real thing needs h5py built with MPI; without it, it is refused."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import h5py
import numpy as np
import pytest
from helpers import last_of_each, read_checkpoint

from solver.cli.main import main
from solver.io import verify
from solver.io.shared_file import NAME, block_checksums, why_not

ROOT = Path(__file__).parents[2]
CASE = [str(ROOT / "runs" / "taylor_green.toml"), "grid.shape=[16,12,8]", "time.end=0.1", "output.checkpoints.keep=9"]


@pytest.mark.skipif(h5py.get_config().mpi, reason="h5py has MPI here")
def test_without_mpi_it_is_refused_before_anything_is_made(tmp_path, capsys):
    words = ["run", *CASE, f"output.directory={tmp_path}/run", "output.checkpoints.layout=shared"]
    assert main(words) == 2
    line = capsys.readouterr().err
    assert "output.checkpoints.layout = 'shared': h5py was built without MPI here" in line
    assert "layout = 'per-process'" in line
    assert not (tmp_path / "run").exists()


def test_blocks_cover_the_file(tmp_path, monkeypatch):
    monkeypatch.setattr("solver.io.shared_file.BLOCK", 10)
    (tmp_path / NAME).write_bytes(bytes(range(45)))
    parts = [block_checksums(tmp_path / NAME, part, 3) for part in range(3)]
    assert sorted(number for part in parts for number in part) == [0, 1, 2, 3, 4]
    changed = bytearray(range(45))
    changed[44] ^= 1
    (tmp_path / NAME).write_bytes(bytes(changed))
    assert block_checksums(tmp_path / NAME, 1, 3) != parts[1]
    assert block_checksums(tmp_path / NAME, 0, 3) == parts[0]


needs_mpi = pytest.mark.skipif(
    why_not() is not None or shutil.which("mpiexec") is None, reason=f"{why_not() or 'no mpiexec'}"
)


def run_by_mpi(processes, *words):
    more = ["--allow-run-as-root", "--oversubscribe"] if os.geteuid() == 0 else []
    clean = {k: v for k, v in os.environ.items() if k != "JAX_NUM_CPU_DEVICES"}
    command = ["mpiexec", *more, "-n", str(processes), sys.executable, "-m", "solver", *last_of_each(words)]
    environment = {**clean, "PYTHONPATH": str(ROOT)}
    return subprocess.run(command, capture_output=True, text=True, env=environment, timeout=200)


@needs_mpi
@pytest.mark.multiprocess
@pytest.mark.slow
def test_a_shared_file_holds_what_files_of_processes_hold(tmp_path):
    for layout in ("shared", "per-process"):
        words = [
            *CASE,
            "devices.virtual=2",
            f"output.checkpoints.layout={layout}",
            f"output.directory={tmp_path}/{layout}",
        ]
        done = run_by_mpi(2, "run", *words)
        assert done.returncode == 0, done.stderr
    last = "checkpoints/step-00000010"
    assert sorted(p.name for p in (tmp_path / "shared" / last).iterdir()) == ["manifest.json", NAME]
    (a, told_a), (b, told_b) = (read_checkpoint(tmp_path / layout / last) for layout in ("shared", "per-process"))
    assert a.keys() == b.keys()
    for name in a:
        np.testing.assert_array_equal(a[name], b[name])
    assert told_a["values"] == told_b["values"]
    assert verify(tmp_path / "shared" / last) == []
    words = [*CASE, "devices.virtual=1", "time.end=0.2", f"output.directory={tmp_path}/shared"]
    done = run_by_mpi(1, "run", *words, "--resume")
    assert done.returncode == 0, done.stderr
    assert "continuing from step-00000010" in done.stdout
    file = tmp_path / "shared" / last / NAME
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    file.write_bytes(bytes(data))
    assert len(verify(tmp_path / "shared" / last)) == 1
    assert json.loads((file.parent / "manifest.json").read_text())["files"].keys() == {NAME}
