"""Real launches by mpiexec of Open MPI and MPICH: two processes, two virtual devices each."""

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from helpers import last_of_each, read_checkpoint

sys.path.insert(0, str(Path(__file__).parent))

from mpi_launchers import BOTH, MPICH, OPEN_MPI, ROOT

CASE = [
    str(ROOT / "runs" / "allen_cahn.toml"), "grid.shape=[16,12]", "grid.lengths=[6,6]", "time.step=0.01",
    "output.snapshots=false", "output.spectra=false", "output.series={every_steps=1}",
]  # fmt: skip
FOREVER = ["time.end=1e6", "output.checkpoints={every_steps=10,keep=2}"]

pytestmark = [
    pytest.mark.multiprocess,
    pytest.mark.slow,
    *(pytest.mark.skipif(mpi.what_is_missing() is not None, reason=f"no MPI: {mpi.what_is_missing()}") for mpi in BOTH),
]
each = pytest.mark.parametrize("mpi", BOTH, ids=lambda mpi: mpi.name)


def run(*words, directory, devices=2):
    return ["run", *last_of_each([*CASE, f"devices.virtual={devices}", f"output.directory={directory}", *words])]


def finish(started, timeout=120):
    """Exit code, and all that was printed."""
    try:
        output, errors = started.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        started.kill()
        raise
    return started.returncode, output + errors


def processes_of(directory):
    """Ids of the processes of a run, by rank."""
    process_ids = {}
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            words = (entry / "cmdline").read_bytes().split(b"\0")
            variables = dict(v.split(b"=", 1) for v in (entry / "environ").read_bytes().split(b"\0") if b"=" in v)
        except OSError:
            continue
        rank = variables.get(b"OMPI_COMM_WORLD_RANK", variables.get(b"PMI_RANK"))
        if f"output.directory={directory}".encode() in words and rank is not None:
            process_ids[int(rank)] = int(entry.name)
    return process_ids


def wait_for_checkpoint(started, directory):
    deadline = time.monotonic() + 120
    while not list((directory / "checkpoints").glob("step-*/manifest.json")):
        assert started.poll() is None, started.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.02)


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    """The same run in one process on one device."""
    directory = tmp_path_factory.mktemp("alone") / "run"
    command = [sys.executable, "-m", "solver", *run("time.end=0.2", directory=directory, devices=1)]
    assert subprocess.run(command, env=MPICH.environment(), timeout=120).returncode == 0
    return read_checkpoint(directory / "checkpoints" / "step-00000020")[0]


@each
def test_two_processes_compute_what_one_does(mpi, alone, tmp_path):
    code, output = finish(mpi.start(*run("time.end=0.2", directory=tmp_path / "run")))
    assert code == 0, output
    by = {OPEN_MPI: "Open MPI", MPICH: "MPICH"}[mpi]
    assert re.search(rf"joining: 2 processes by {by} at 127.0.0.1:\d+", output)
    assert "devices: 4 in use of 4" in output
    assert output.count("finished: step 20") == 1
    checkpoint = tmp_path / "run" / "checkpoints" / "step-00000020"
    assert {p.name for p in checkpoint.glob("process-*.h5")} == {"process-00000.h5", "process-00001.h5"}
    both = read_checkpoint(checkpoint)[0]
    name = next(name for name in both if name.startswith("field/"))
    np.testing.assert_allclose(both[name], alone[name], rtol=0, atol=1e-13 * np.abs(alone[name]).max())


PLACE = """
import os
from solver.cluster import find_launch
print("PLACE", find_launch(os.environ), flush=True)
"""


@each
def test_each_process_knows_its_place(mpi):
    """Also that MPI ends in order: what comes after needs it no more."""
    code, output = finish(mpi.start(processes=3, python=("-c", PLACE)))
    assert code == 0, output
    places = re.findall(
        r"processes=(\d), process=(\d), coordinator='(\S+)', local_processes=3, local_process=(\d)", output
    )
    assert sorted(process for _, process, _, _ in places) == ["0", "1", "2"], output
    assert {(count, process == local) for count, process, _, local in places} == {("3", True)}
    assert len({coordinator for _, _, coordinator, _ in places}) == 1


@each
def test_a_signal_stops_all_and_a_killed_process_ends_all(mpi, tmp_path):
    directory = tmp_path / "run"
    started = mpi.start(*run(*FOREVER, directory=directory))
    wait_for_checkpoint(started, directory)
    started.send_signal(getattr(signal, mpi.stop))
    code, output = finish(started, timeout=60)
    assert code == 75, output
    log = (directory / "log.txt").read_text()  # a launcher that is stopped may drop the last lines of the output
    step = int(re.search(rf"stopped early by {mpi.stop} at step (\d+)", log)[1])
    assert (directory / "checkpoints" / f"step-{step:08d}" / "manifest.json").exists()

    started = mpi.start(*run(*FOREVER, "output.checkpoints={every_steps=50,keep=9}", "--resume", directory=directory))
    deadline = time.monotonic() + 120
    while not any(int(p.name[5:]) > step for p in (directory / "checkpoints").glob("step-*")):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    began = time.monotonic()
    victims = processes_of(directory)
    assert sorted(victims) == [0, 1]
    os.kill(victims[1], signal.SIGKILL)
    code, output = finish(started, timeout=60)
    assert time.monotonic() - began < 45, "the others must not wait for the dead one"
    assert code not in (0, 2, 3, 75), output
    assert not processes_of(directory)


FAULT = """
import jax
import solver.io.checkpoint_writing as checkpoints
original = checkpoints._write_own_file
def failing(*arguments):
    if jax.process_index() == 1:
        raise RuntimeError("the disk of process 1 is on fire")
    return original(*arguments)
checkpoints._write_own_file = failing
from solver.cli.main import entry
entry()
"""


@each
def test_an_error_in_one_process_ends_all_with_its_code_and_message(mpi, tmp_path):
    started = mpi.start(*run(*FOREVER, directory=tmp_path / "run"), python=("-c", FAULT))
    code, output = finish(started)
    assert code == 1
    assert output.count("slabwave: error: RuntimeError: the disk of process 1 is on fire") == 1
    assert not list((tmp_path / "run" / "checkpoints").glob("step-*"))


@each
def test_wrong_input_is_code_2(mpi, tmp_path):
    code, output = finish(mpi.start(*run("time.stop=1", directory=tmp_path / "run")))
    assert code == 2
    assert "time.stop: unknown key" in output
    assert not (tmp_path / "run").exists()


MISMATCHES = {
    "mpi4py with Open MPI under MPICH's mpiexec": (
        MPICH, OPEN_MPI, r"MPICH started 2 processes, but mpi4py \(Open MPI v5[^)]*\) sees 1: it was built for another",
    ),
    "mpi4py with MPICH under Open MPI's mpiexec": (
        OPEN_MPI, MPICH, r"Open MPI started 2 processes, but mpi4py uses MPICH",
    ),
    "no MPI library": (
        MPICH, None, "MPICH started 2 processes, but mpi4py cannot load an MPI library",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", MISMATCHES)
def test_an_mpi_that_is_not_the_launchers_is_refused(case, tmp_path):
    launcher, library, message = MISMATCHES[case]
    env = library.environment() if library else {**launcher.environment(), "MPI4PY_LIBMPI": "/none/libmpi.so"}
    code, output = finish(launcher.start(*run(directory=tmp_path / "run"), env=env))
    assert code == 2, output
    assert re.search(message, output), output
    assert not (tmp_path / "run").exists()
