"""What this process computes on: GPUs, virtual devices, precision, addresses; decided before JAX touches a device."""

import re
import socket
import subprocess
import sys
from types import SimpleNamespace

import pytest

from solver.cluster import Launch, LaunchError, devices, refuse_double_precision
from solver.cluster.addresses import free_port, listening_address, own_address, refuse_loopback
from solver.cluster.devices import available_cores, forced_cpu_devices
from solver.cluster.gpus import installed_gpus, refuse_idle_gpus, visible_gpu_ids
from solver.cluster.mpi import own_cores


def ids(environment, local, index, **options):
    return visible_gpu_ids(environment, Launch("slurm", 8, 0, "h:1", local, index), **options)


@pytest.mark.parametrize("name", ["CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES"])
def test_gpus_are_chosen_from_what_is_visible(name):
    def see(visible):
        return {name: visible, "SLURM_GPUS_ON_NODE": "4"}

    assert ids(see("0,1,2,3"), 1, 0) is None  # one process per node takes them all
    assert ids(see("2"), 4, 2) is None  # --gpus-per-task: each sees its own
    assert ids(see("0,1,2,3"), 4, 2) == [2]
    assert ids(see("0,1,2,3"), 2, 1) == [2, 3]
    with pytest.raises(LaunchError, match="3 processes on a node see 4 GPUs"):
        ids(see("0,1,2,3"), 3, 0)


def test_gpus_hidden_twice_are_hidden():
    assert ids({"ROCR_VISIBLE_DEVICES": "0,1,2,3", "HIP_VISIBLE_DEVICES": "0,1"}, 2, 1) == [1]


def test_without_a_variable_the_installed_gpus_are_shared(tmp_path):
    """mpiexec hides no GPU: each process takes its part of those that the driver shows."""
    assert ids({}, 2, 1, system=tmp_path) is None
    for number in range(4):
        (tmp_path / "proc/driver/nvidia/gpus" / f"0000:0{number}:00.0").mkdir(parents=True)
    assert ids({}, 2, 1, system=tmp_path) == [2, 3]
    assert ids({}, 4, 3, system=tmp_path) == [3]


def test_installed_gpus_of_amd(tmp_path):
    for number, gpu_id in enumerate(("0", "52831", "4711")):  # node 0 is the CPU
        node = tmp_path / f"sys/class/kfd/kfd/topology/nodes/{number}"
        node.mkdir(parents=True)
        (node / "gpu_id").write_text(gpu_id + "\n")
    assert installed_gpus(tmp_path) == 2


STEP = {"SLURM_GPUS_ON_NODE": "4", "SLURMD_NODENAME": "n1"}
NODE = Launch("slurm", 2, 0, "n1:1")


def of(platform, count):
    return [SimpleNamespace(platform=platform)] * count


def test_gpus_that_no_process_uses_are_refused():
    with pytest.raises(LaunchError, match=r"Slurm allocated 4 GPUs on n1, but its 1 process uses 1; .*per-node=4"):
        refuse_idle_gpus(STEP, NODE, of("gpu", 1), chosen=True)
    with pytest.raises(LaunchError, match="4 GPUs on n1, but its 2 processes use 2"):
        refuse_idle_gpus(STEP, Launch("slurm", 4, 0, "n1:1", 2), of("gpu", 1), chosen=True)
    refuse_idle_gpus(STEP, NODE, of("gpu", 4), chosen=True)
    refuse_idle_gpus(STEP, Launch("slurm", 8, 0, "n1:1", 4), of("gpu", 1), chosen=True)
    refuse_idle_gpus({}, NODE, of("gpu", 1), chosen=False)


def test_the_cpu_beside_allocated_gpus_must_be_asked_for():
    with pytest.raises(LaunchError, match="4 GPUs on n1, but JAX finds none and would compute on the CPU"):
        refuse_idle_gpus(STEP, NODE, of("cpu", 8), chosen=False)
    refuse_idle_gpus(STEP, NODE, of("cpu", 8), chosen=True)


def test_device_counts_fixed_outside():
    assert forced_cpu_devices({}) is None
    assert forced_cpu_devices({"JAX_NUM_CPU_DEVICES": "3"}) == (3, "JAX_NUM_CPU_DEVICES")
    flags = {"XLA_FLAGS": "--xla_a=1 --xla_force_host_platform_device_count=5"}
    assert forced_cpu_devices(flags) == (5, "XLA_FLAGS")
    assert available_cores({"SLURM_CPUS_PER_TASK": "6"}, Launch("slurm", 2)) == 6
    assert available_cores({}, Launch("slurm", 1000, 0, "h:1", 1000, 0)) == 1
    assert available_cores({"SLURM_CPUS_PER_TASK": "6"}, Launch("MPICH", 2, cores=3)) == 3


def test_processes_share_the_cores_that_they_are_bound_to():
    assert own_cores([{0, 1, 2, 3}, {0, 1, 2, 3}], 1) == 2  # not bound
    assert own_cores([{0, 1, 2, 3}, {4, 5, 6, 7}], 1) == 4  # a socket each
    assert own_cores([{0}, {0}, {1}], 0) == 1


def test_a_gpu_without_a_plug_in_is_one_line(monkeypatch):
    monkeypatch.setattr(devices, "_installed", set)
    with pytest.raises(LaunchError, match=r"devices.platform = 'gpu': JAX has no plug-in for GPUs here"):
        devices.gpu_platform()


def test_a_plug_in_is_found_by_the_name_of_its_folder(monkeypatch, tmp_path):
    (tmp_path / "jax_cuda13_plugin-0.10.2.dist-info").mkdir()
    monkeypatch.syspath_prepend(tmp_path)
    assert devices.gpu_platform() == "cuda"


def test_double_precision_where_there_is_none(monkeypatch):
    refuse_double_precision("cpu", "float64")
    refuse_double_precision("auto", "float64")
    refuse_double_precision("tpu", "float32")
    with pytest.raises(LaunchError, match=r"grid.precision = 'float64': a TPU has no .* set grid.precision=float32"):
        refuse_double_precision("tpu", "float64")
    for chosen, name in (("tpu,cpu", "a TPU"), ("METAL", "Metal")):
        monkeypatch.setattr(devices, "jax", SimpleNamespace(config=SimpleNamespace(jax_platforms=chosen)))
        with pytest.raises(LaunchError, match=name):
            refuse_double_precision("auto", "float64")
        refuse_double_precision("cpu", "float64")
    monkeypatch.setattr(devices, "jax", SimpleNamespace(config=SimpleNamespace(jax_platforms=None)))
    monkeypatch.setattr(devices, "_installed", lambda: {"jax-metal"})
    with pytest.raises(LaunchError, match="Metal"):
        refuse_double_precision("auto", "float64")


def names(table):
    """Stands for `socket.getaddrinfo`."""

    def resolve(host, port, **options):
        if host not in table:
            raise socket.gaierror(f"no such host: {host}")
        return [(socket.AF_INET, socket.SOCK_DGRAM, 0, "", (table[host], port))]

    return resolve


def test_a_coordinator_on_loopback_is_refused():
    with pytest.raises(LaunchError, match=r"n1, whose name is 127.0.1.1 here, .* while n2 is 10.0.0.2; give n1 its"):
        refuse_loopback("n1", ["n2"], names({"n1": "127.0.1.1", "n2": "10.0.0.2"}))
    refuse_loopback("n1", ["n2"], names({"n1": "127.0.0.1", "n2": "127.0.0.1"}))  # one machine that plays both
    refuse_loopback("n1", ["n2"], names({"n1": "10.0.0.1", "n2": "10.0.0.2"}))
    refuse_loopback("n1", ["n2"], names({"n1": "127.0.1.1"}))
    refuse_loopback("n1", ["n2"], names({}))  # JAX says so better


def test_the_address_that_others_reach():
    assert own_address([]) == "127.0.0.1"
    assert own_address(["gone", "n2"], names({"n2": "127.0.0.1"})) == "127.0.0.1"
    assert own_address(["gone"], names({})) == socket.gethostname()


def test_a_free_port_can_be_listened_on():
    with socket.socket() as s:
        s.bind(("", free_port()))


def test_a_process_that_leaves_on_purpose_is_not_killed_by_its_launcher():
    code = (
        "import os, signal, sys\nfrom solver.stop import StopRequest\n"
        "with StopRequest() as stop:\n    stop.shield()\nos.kill(os.getpid(), signal.SIGTERM)\nsys.exit(75)"
    )
    assert subprocess.run([sys.executable, "-c", code]).returncode == 75


def test_the_first_process_listens_at_its_own_address_alone():
    resolve = names({"n1": "127.0.0.1", "service": "192.0.2.7"})  # the latter is nobody's: RFC 5737
    assert listening_address("n1:1234", resolve) == "127.0.0.1:1234"
    assert listening_address("service:1234", resolve) is None
    assert listening_address("gone:1234", resolve) is None


def test_a_job_on_one_host_cannot_be_reached_from_another():
    code = (
        "import sys, jax; jax.config.update('jax_platforms', 'cpu')\n"
        "from solver.cluster.join import _place\nfrom solver.cluster.launch import Launch\n"
        "port = int(sys.argv[1])\n"
        "place = _place(Launch('explicit address', 1, 0, f'127.0.0.1:{port}'))\n"
        "jax.distributed.initialize(**place)\n"
        "rows = [l.split() for p in ('tcp', 'tcp6') for l in open(f'/proc/net/{p}').readlines()[1:]]\n"
        "print([r[1] for r in rows if r[3] == '0A' and int(r[1].split(':')[1], 16) == port])\n"
    )
    port = free_port()
    done = subprocess.run([sys.executable, "-c", code, str(port)], capture_output=True, text=True, timeout=60)
    # one row, of ::ffff:127.0.0.1
    assert re.fullmatch(rf"\['\w*0100007F:{port:04X}'\]", done.stdout.strip()), done.stdout + done.stderr
