"""Who started this process, read from the environment of each launcher."""

import subprocess
import sys

import pytest

from solver.cluster import devices
from solver.cluster.devices import available_cores, forced_cpu_devices
from solver.cluster.launcher import (
    Launch,
    LaunchError,
    _first_host_by_hand,
    find_launch,
    slurm_port,
    visible_gpu_ids,
)

STEP = {
    "SLURM_JOB_ID": "77", "SLURM_STEP_ID": "0", "SLURM_STEP_NODELIST": "n[1-2]", "SLURM_STEP_NUM_TASKS": "4",
    "SLURM_PROCID": "3", "SLURM_LOCALID": "1", "SLURM_NODEID": "1", "SLURM_STEP_TASKS_PER_NODE": "2(x2)",
}  # fmt: skip


def test_alone():
    assert find_launch({}) == Launch("one process")


def test_slurm(monkeypatch):
    monkeypatch.setattr("solver.cluster.launcher.first_host", _first_host_by_hand)
    launch = find_launch(STEP)
    assert launch == Launch("slurm", 4, 3, f"n1:{slurm_port(STEP)}", local_processes=2, local_process=1)
    assert find_launch({**STEP, "JAX_COORDINATOR_PORT": "1234"}).coordinator == "n1:1234"
    assert slurm_port(STEP) != slurm_port({**STEP, "SLURM_STEP_ID": "1"}), "steps of a job must not cross-connect"


def test_slurm_with_uneven_tasks(monkeypatch):
    monkeypatch.setattr("solver.cluster.launcher.first_host", _first_host_by_hand)
    uneven = {**STEP, "SLURM_STEP_TASKS_PER_NODE": "3,1"}
    assert find_launch(uneven).local_processes == 1
    assert find_launch({**uneven, "SLURM_NODEID": "0"}).local_processes == 3


@pytest.mark.parametrize(
    ("written", "first"),
    [("n1", "n1"), ("n[1-2]", "n1"), ("n[01-02]-ib", "n01-ib"), ("gpu[3,7-9],login1", "gpu3"), ("a,b", "a"),
     ("r[1-2]c[03-04]", "r1c03")],
)  # fmt: skip
def test_node_lists(written, first):
    assert _first_host_by_hand(written) == first


def test_explicit_address():
    assert find_launch({}, "h:1", 2, 1) == Launch("explicit address", 2, 1, "h:1")
    assert find_launch({}, "h:1", 1, 0).coordinator is None
    launcher = {"OMPI_COMM_WORLD_SIZE": "2", "OMPI_COMM_WORLD_RANK": "1"}
    assert find_launch(launcher, "h:1", 2, 1).process == 1


REFUSED = {
    "half an address": ({}, ("h:1", None, None), "go together"),
    "no port": ({}, ("host", 2, 0), "HOST:PORT is needed"),
    "index too large": ({}, ("h:1", 2, 2), "--process 2 of --processes 2: 0 to 1"),
    "contradicts srun": (STEP, ("h:1", 2, 0), "--processes 2, but srun started 4"),
    "contradicts mpirun": ({"OMPI_COMM_WORLD_SIZE": "3"}, ("h:1", 2, 0), "Open MPI started 3"),
    "mpirun alone": ({"OMPI_COMM_WORLD_SIZE": "3"}, (None,) * 3, "Open MPI started 3 processes, which would run alone"),
    "mpich alone": ({"PMI_SIZE": "2"}, (None,) * 3, "MPICH started 2 processes"),
    "sbatch without srun": ({"SLURM_JOB_ID": "7", "SLURM_NTASKS": "4"}, (None,) * 3, "started without srun"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_processes_that_could_not_meet_are_refused(case):
    environment, address, message = REFUSED[case]
    with pytest.raises(LaunchError, match=message):
        find_launch(environment, *address)


def test_gpus_are_chosen_from_what_is_visible():
    def ids(visible, local, index, on_node="4"):
        environment = {"CUDA_VISIBLE_DEVICES": visible, "SLURM_GPUS_ON_NODE": on_node}
        return visible_gpu_ids(environment, Launch("slurm", 8, 0, "h:1", local, index))

    assert ids("0,1,2,3", 1, 0) is None  # one process per node takes them all
    assert ids("2", 4, 2) is None  # --gpus-per-task: each sees its own
    assert ids("0,1,2,3", 4, 2) == [2]
    assert ids("0,1,2,3", 2, 1) == [2, 3]
    with pytest.raises(LaunchError, match="3 processes on a node see 4 GPUs"):
        ids("0,1,2,3", 3, 0)
    assert visible_gpu_ids({}, Launch("slurm", 8, 0, "h:1", 4, 1)) is None


def test_device_counts_fixed_outside():
    assert forced_cpu_devices({}) is None
    assert forced_cpu_devices({"JAX_NUM_CPU_DEVICES": "3"}) == (3, "JAX_NUM_CPU_DEVICES")
    flags = {"XLA_FLAGS": "--xla_a=1 --xla_force_host_platform_device_count=5"}
    assert forced_cpu_devices(flags) == (5, "XLA_FLAGS")
    assert available_cores({"SLURM_CPUS_PER_TASK": "6"}, Launch("slurm", 2)) == 6
    assert available_cores({}, Launch("slurm", 1000, 0, "h:1", 1000, 0)) == 1


def test_a_gpu_without_a_plug_in_is_one_line(monkeypatch):
    monkeypatch.setattr(devices.metadata, "distributions", list)
    with pytest.raises(LaunchError, match=r"devices.platform = 'gpu': JAX has no plug-in for GPUs here"):
        devices.gpu_platform()


def test_a_process_that_leaves_on_purpose_is_not_killed_by_its_launcher():
    code = (
        "import os, signal, sys\nfrom solver.stop import StopRequest\n"
        "with StopRequest() as stop:\n    stop.shield()\nos.kill(os.getpid(), signal.SIGTERM)\nsys.exit(75)"
    )
    assert subprocess.run([sys.executable, "-c", code]).returncode == 75
