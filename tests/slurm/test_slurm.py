"""The batch script on a real Slurm of two nodes."""

import os
import re
import signal
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from helpers import read_checkpoint

sys.path.insert(0, str(Path(__file__).parent))

from local_slurm import LocalSlurm, what_is_missing

ROOT = Path(__file__).parents[2]
SMALL = ["grid.shape=[24,16,20]", "output.series={every_steps=1}", "output.checkpoints={every_steps=10,keep=9}"]
ENDED = ("COMPLETED", "FAILED", "CANCELLED", "TIMEOUT", "NODE_FAIL")

pytestmark = [
    pytest.mark.slurm,
    pytest.mark.slow,
    pytest.mark.skipif(what_is_missing() is not None, reason=f"no Slurm: {what_is_missing()}"),
]


@pytest.fixture(scope="module")
def slurm():
    cluster = LocalSlurm(nodes=2, cpus=2)
    try:
        cluster.start()
        yield cluster
    finally:
        cluster.stop()


def submit(slurm, tmp_path, *overrides, nodes=2, options=()):
    """Through slurm/cpu.sbatch, with the Python that runs the tests."""
    scripts = Path(sys.executable).parent
    assert (scripts / "slabwave").exists(), "the package must be installed where the tests run"
    environment = f"--export=ALL,PATH={scripts}:{os.environ['PATH']}"
    return slurm.submit(
        environment, f"--nodes={nodes}", "--cpus-per-task=2", f"--output={tmp_path}/out.txt", *options,
        str(ROOT / "slurm" / "cpu.sbatch"), str(ROOT / "runs" / "taylor_green.toml"),
        f"output.directory={tmp_path}/run", *SMALL, *overrides, cwd=tmp_path,
    )  # fmt: skip


def test_a_run_on_two_nodes(slurm, tmp_path):
    job = submit(slurm, tmp_path, "time.end=0.2")
    ended = slurm.wait(job, ENDED)
    output = (tmp_path / "out.txt").read_text()
    assert (ended["JobState"], ended["ExitCode"]) == ("COMPLETED", "0:0"), output
    first = output[output.index("processes:") :].splitlines()
    assert re.match(r"processes: 2 by slurm at n1:\d+; this is 0 on n1", first[0])
    assert "devices: 4 in use of 4" in first[1]
    assert f"SLURM_JOB_ID={job}" in first[2]
    assert output.count("finished: step 20") == 1
    checkpoint = tmp_path / "run" / "checkpoints" / "step-00000020"
    assert {p.name for p in checkpoint.glob("process-*.h5")} == {"process-00000.h5", "process-00001.h5"}
    assert np.isfinite(read_checkpoint(checkpoint)[0]["field/velocity"]).all()


def test_a_killed_task_ends_the_job_and_the_same_line_continues_it_to_the_bit(slurm, tmp_path):
    (tmp_path / "whole").mkdir()
    whole = submit(slurm, tmp_path / "whole", "time.end=0.6")
    slurm.wait(whole, ENDED)
    job = submit(slurm, tmp_path, "time.end=0.6")
    checkpoints = tmp_path / "run" / "checkpoints"
    deadline = time.monotonic() + 120
    while not (checkpoints / "step-00000010").exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    victim = next(p for p in tasks(tmp_path / "run") if environment_of(p).get("SLURM_PROCID") == "1")
    os.kill(victim, signal.SIGKILL)
    began = time.monotonic()
    ended = slurm.wait(job, ENDED, timeout=60)
    assert time.monotonic() - began < 15, "the others must not wait for the dead one"
    assert ended["JobState"] != "COMPLETED"
    again = submit(slurm, tmp_path, "time.end=0.6")
    ended = slurm.wait(again, ENDED)
    output = (tmp_path / "out.txt").read_text()
    assert ended["JobState"] == "COMPLETED", output
    assert "continuing from step-000000" in output
    a, b = (
        read_checkpoint(folder / "run" / "checkpoints" / "step-00000060")[0]
        for folder in (tmp_path, tmp_path / "whole")
    )
    assert a.keys() == b.keys()
    for name in a:
        np.testing.assert_array_equal(a[name], b[name])
    series = [(folder / "run" / "series.csv").read_text() for folder in (tmp_path, tmp_path / "whole")]
    assert series[0] == series[1]


def test_a_signal_writes_a_checkpoint_and_requeues(slurm, tmp_path):
    job = submit(slurm, tmp_path, "time.end=1.5")
    deadline = time.monotonic() + 120
    while not (tmp_path / "run" / "checkpoints" / "step-00000010").exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    slurm.run("scancel", "--signal=USR1", job)
    ended = slurm.wait(job, ENDED)
    output = (tmp_path / "out.txt").read_text()
    assert ended["JobState"] == "COMPLETED", output
    assert ended["Restarts"] == "1"
    assert "stopped early by SIGUSR1" in output
    assert "continuing from step-" in output
    assert "finished: step 150" in output


def test_processes_without_srun_are_refused(slurm, tmp_path):
    slabwave = Path(sys.executable).parent / "slabwave"
    script = tmp_path / "alone.sh"
    script.write_text(f"#!/bin/bash\n{slabwave} run {ROOT}/runs/taylor_green.toml output.directory={tmp_path}/run\n")
    job = slurm.submit("--nodes=2", "--ntasks-per-node=1", f"--output={tmp_path}/out.txt", str(script), cwd=tmp_path)
    ended = slurm.wait(job, ENDED)
    assert ended["ExitCode"] == "2:0"
    assert "has 2 tasks, but this process was started without srun" in (tmp_path / "out.txt").read_text()
    assert not (tmp_path / "run").exists()


def tasks(directory):
    """Processes whose command line names this run's directory and is slabwave's own."""
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            words = (entry / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if f"output.directory={directory}".encode() in words and b"python" in words[0]:
            yield int(entry.name)


def environment_of(pid):
    pairs = Path(f"/proc/{pid}/environ").read_bytes().decode(errors="replace").split("\0")
    return dict(pair.split("=", 1) for pair in pairs if "=" in pair)
