"""Who started this process, read from the environment of each launcher."""

import os
import sys

import pytest

from solver.cluster import Launch, LaunchError, find_launch, mpi, slurm, tpu

ALONE = (None, None, None)

STEP = {
    "SLURM_JOB_ID": "77", "SLURM_STEP_ID": "0", "SLURM_STEP_NODELIST": "n[1-2]", "SLURM_STEP_NUM_TASKS": "4",
    "SLURM_PROCID": "3", "SLURM_LOCALID": "1", "SLURM_NODEID": "1", "SLURM_STEP_TASKS_PER_NODE": "2(x2)",
}  # fmt: skip


def test_alone():
    assert find_launch({}) == Launch("one process")


@pytest.fixture(autouse=True)
def no_scontrol(monkeypatch):
    monkeypatch.setattr(slurm, "node_names", slurm.node_names_by_hand)
    monkeypatch.setattr(slurm, "refuse_loopback", lambda host, others: None)


def test_slurm():
    launch = find_launch(STEP)
    assert launch == Launch("slurm", 4, 3, f"n1:{slurm.port(STEP)}", local_processes=2, local_process=1)
    assert find_launch({**STEP, "JAX_COORDINATOR_PORT": "1234"}).coordinator == "n1:1234"


def test_steps_do_not_share_a_port():
    steps = [{**STEP, "SLURM_STEP_ID": str(step)} for step in range(200)]
    assert len({slurm.port(step) for step in steps}) == 200, "steps of a job must not cross-connect"


def test_slurm_with_uneven_tasks():
    uneven = {**STEP, "SLURM_STEP_TASKS_PER_NODE": "3,1"}
    assert find_launch(uneven).local_processes == 1
    assert find_launch({**uneven, "SLURM_NODEID": "0"}).local_processes == 3


NODE_LISTS = {
    "n1": ["n1"],
    "n[1-3]": ["n1", "n2", "n3"],
    "n[01-02]-ib": ["n01-ib", "n02-ib"],
    "gpu[3,08-10],login1": ["gpu3", "gpu08", "gpu09", "gpu10", "login1"],
    "a,b": ["a", "b"],
    "r[1-2]c[03-04]": ["r1c03", "r1c04", "r2c03", "r2c04"],
}


@pytest.mark.parametrize("written", NODE_LISTS)
def test_node_lists(written):
    assert slurm.node_names_by_hand(written) == NODE_LISTS[written]


OPEN_MPI = {"OMPI_COMM_WORLD_SIZE": "4", "OMPI_COMM_WORLD_RANK": "2", "PMIX_RANK": "2"}
HYDRA = {"PMI_SIZE": "4", "PMI_RANK": "2", "MPI_LOCALNRANKS": "4", "MPI_LOCALRANKID": "2"}
BATCH = {"SLURM_JOB_ID": "77", "SLURM_NTASKS": "4"}
HELPERS = {**STEP, "SLURM_STEP_NUM_TASKS": "2", "SLURM_PROCID": "1"}  # mpiexec's own step: one helper per node
LAUNCHERS = {
    "mpirun of Open MPI": (OPEN_MPI, mpi.Started("Open MPI", 4, 2)),
    "mpiexec of MPICH": (HYDRA, mpi.Started("MPICH", 4, 2, 4, 2)),
    "a launcher with PMIx": ({"PMIX_RANK": "1"}, mpi.Started("PMIx", None, 1)),
    "mpirun inside sbatch": ({**OPEN_MPI, **BATCH}, mpi.Started("Open MPI", 4, 2)),
    "mpirun inside sbatch, another node": ({**OPEN_MPI, **HELPERS}, mpi.Started("Open MPI", 4, 2)),
    "mpiexec inside sbatch, by helpers of srun": ({**HYDRA, **HELPERS}, mpi.Started("MPICH", 4, 2, 4, 2)),
}


@pytest.mark.parametrize("case", LAUNCHERS)
def test_mpi_is_recognised(case, monkeypatch):
    environment, expected = LAUNCHERS[case]
    monkeypatch.setattr(mpi, "meet", lambda started, environment, keep: Launch(f"met: {started!r}"))
    assert find_launch(environment).by == f"met: {expected!r}"


@pytest.mark.parametrize("pmi", [{"PMI_SIZE": "4", "PMI_RANK": "3"}, {"PMIX_RANK": "3"}], ids=["PMI-2", "PMIx"])
def test_srun_with_pmi_stays_slurm(pmi):
    assert find_launch({**STEP, **pmi}).by == "slurm"


def test_one_process_of_mpiexec_is_one_process():
    assert find_launch({**OPEN_MPI, "OMPI_COMM_WORLD_SIZE": "1"}) == Launch("one process")
    assert find_launch({**HELPERS, **HYDRA, "PMI_SIZE": "1"}) == Launch("one process"), "the step is its helpers'"


def test_mpi_without_mpi4py_is_one_line(monkeypatch):
    monkeypatch.setitem(sys.modules, "mpi4py", None)
    monkeypatch.delitem(sys.modules, "mpi4py.MPI", raising=False)
    with pytest.raises(LaunchError, match=r"Open MPI started 4 processes.*\.\[mpi\].*--coordinator HOST:PORT"):
        find_launch(OPEN_MPI)


POD = {"TPU_WORKER_HOSTNAMES": "t0,t1,t2,t3", "TPU_WORKER_ID": "3"}


def test_a_tpu_pod():
    assert find_launch(POD) == Launch("TPU pod", 4, 3)
    assert find_launch({**POD, "JOB_COMPLETION_INDEX": "3"}).by == "TPU pod"
    slices = {"MEGASCALE_NUM_SLICES": "2", "MEGASCALE_SLICE_ID": "1"}
    assert find_launch({**POD, **slices}) == Launch("TPU pod", 8, 7)
    assert find_launch({"TPU_WORKER_HOSTNAMES": "localhost", "TPU_WORKER_ID": "0"}) == Launch("one process")
    addresses = {"TPU_PROCESS_ADDRESSES": "t0:8471,t1:8471"}
    assert find_launch({**addresses, "TPU_WORKER_ID": "1"}) == Launch("TPU pod", 2, 1)


def test_a_tpu_pod_is_what_jax_finds(monkeypatch):
    """JAX's own reading of the same variables gives the same numbers."""
    from jax._src.clusters import GkeTpuCluster

    for name, value in {**POD, "MEGASCALE_NUM_SLICES": "2", "MEGASCALE_SLICE_ID": "1"}.items():
        monkeypatch.setenv(name, value)
    launch = tpu.find(os.environ)
    assert (launch.processes, launch.process) == (GkeTpuCluster.get_process_count(), GkeTpuCluster.get_process_id())


def test_a_tpu_pod_of_compute_engine():
    class Metadata:
        is_env_present = staticmethod(lambda: True)
        get_process_count = staticmethod(lambda: 4)
        get_process_id = staticmethod(lambda: 2)

    class OneHost(Metadata):
        get_process_count = staticmethod(lambda: 1)

    assert tpu._of_cluster(Metadata) == Launch("TPU pod", 4, 2)
    assert tpu._of_cluster(OneHost) is None


def test_explicit_address():
    assert find_launch({}, "h:1", 2, 1) == Launch("explicit address", 2, 1, "h:1")
    assert find_launch({}, "h:1", 1, 0).coordinator is None


def test_an_explicit_address_under_a_launcher():
    """The launcher still says which processes share a host, and so its GPUs."""
    by_mpi = {"OMPI_COMM_WORLD_LOCAL_SIZE": "2", "OMPI_COMM_WORLD_LOCAL_RANK": "1", **OPEN_MPI}
    assert find_launch(by_mpi, "h:1", 4, 2) == Launch("explicit address", 4, 2, "h:1", 2, 1)
    assert find_launch(HYDRA, "h:1", 4, 2) == Launch("explicit address", 4, 2, "h:1", 4, 2)
    assert find_launch(STEP, "h:1", 4, 3) == Launch("explicit address", 4, 3, "h:1", 2, 1)


REFUSED = {
    "half an address": ({}, ("h:1", None, None), "go together"),
    "no port": ({}, ("host", 2, 0), "HOST:PORT is needed"),
    "index too large": ({}, ("h:1", 2, 2), "--process 2 of --processes 2: 0 to 1"),
    "no processes": ({}, ("h:1", 0, 0), "--processes 0: 1 or more is needed"),
    "contradicts srun": (STEP, ("h:1", 2, 0), "--processes 2, but srun started 4"),
    "contradicts mpirun": ({"OMPI_COMM_WORLD_SIZE": "3"}, ("h:1", 2, 0), "Open MPI started 3"),
    "contradicts mpiexec": (HYDRA, ("h:1", 2, 0), "MPICH started 4"),
    "sbatch without srun": (BATCH, ALONE, "job 77 has 4 tasks, but this process was started without srun"),
    "pod without address": ({"JOB_COMPLETION_INDEX": "2"}, ALONE, "pod 2 of an Indexed Job of Kubernetes"),
    "task 0 elsewhere": ({**STEP, "SLURM_PROCID": "0", "SLURMD_NODENAME": "n2"}, ALONE, "task 0 runs on n2, but .* n1"),
    "no node": ({**STEP, "SLURM_STEP_NODELIST": ","}, ALONE, "node list ',' cannot be read"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_processes_that_could_not_meet_are_refused(case):
    environment, address, message = REFUSED[case]
    with pytest.raises(LaunchError, match=message):
        find_launch(environment, *address)
