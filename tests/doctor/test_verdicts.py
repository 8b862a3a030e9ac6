"""Verdicts from given facts: what is well, what is not, and that each line names what was found and what to do."""

import ctypes
import json
from types import SimpleNamespace

import pytest

from solver.config import ConfigError
from solver.doctor import binding, disk, exchange, host, launch, libraries, memory, read_report, shared
from solver.doctor.job import Check, counted, listed


def two_hosts(first, **second):
    """Facts of process 0 on n1 and of process 1 on n2, which differ in `second`."""
    return [{"process": 0, "host": "n1", **first}, {"process": 1, "host": "n2", **first, **second}]


def only(lines, name):
    (line,) = [line for line in lines if line.name == name]
    return line


def test_a_line():
    assert str(Check("memory", "FAIL", "none")) == "FAIL  memory      none"
    assert listed(f"n{i}" for i in range(7)) == "n0, n1, n2, n3 and 3 more"
    assert [counted(1, "host"), counted(2, "process", "processes")] == ["1 host", "2 processes"]


# ---- launcher ---------------------------------------------------------------------------------------------------

STARTED = {
    "by": "slurm", "started": 2, "coordinator": "n1:20001", "mismatches": [], "platform": "gpu",
    "kinds": ["NVIDIA A100"], "devices": 4,
}  # fmt: skip


def test_launch():
    lines = launch.judge(two_hosts(STARTED))
    assert [line.verdict for line in lines] == ["ok", "ok"]
    assert lines[0].text == "2 processes by slurm on 2 hosts (n1, n2); they meet at n1:20001"
    assert lines[1].text == "8 of platform gpu (NVIDIA A100), 4 on each host"


def test_what_was_allocated_and_is_not_used_fails_once():
    idle = "Slurm allocated 4 GPUs on n1, but its 1 process uses 1"
    lines = [line for line in launch.judge(two_hosts({**STARTED, "mismatches": [idle]})) if line.verdict == "FAIL"]
    assert [line.text for line in lines] == [idle]


def test_uneven_hosts():
    assert only(launch.judge(two_hosts(STARTED, devices=3)), "devices").verdict == "warn"
    three = [*two_hosts(STARTED), {"process": 2, "host": "n2", **STARTED}]
    assert "1 on n1, 2 on n2" in only(launch.judge(three), "launch").text
    assert only(launch.judge(three), "launch").verdict == "warn"
    kinds = only(launch.judge(two_hosts(STARTED, kinds=["NVIDIA H100"])), "devices")
    assert (kinds.verdict, "slowest kind" in kinds.text) == ("warn", True)
    assert only(launch.judge(two_hosts(STARTED, platform="cpu")), "devices").verdict == "FAIL"


# ---- binding ----------------------------------------------------------------------------------------------------


def bound(process, cores, devices=1, platform="cpu", hardware=None):
    devices = [{"id": i, "hardware": hardware} for i in range(devices)]
    return {"process": process, "host": "n1", "platform": platform, "cores": cores, "devices": devices}


def cores(*processes):
    return only(binding.judge(processes), "cores")


def test_cores_of_their_own():
    line = cores(bound(0, [0, 1, 2, 3], 4), bound(1, [4, 5, 6, 8], 4))
    assert line.verdict == "ok"
    assert line.text == "n1: 0-3 (4 virtual devices), 4-6,8 (4 virtual devices)"


def test_overlapping_cores():
    line = cores(bound(0, [0, 1, 2, 3]), bound(1, [3, 4, 5]))
    assert line.verdict == "warn"
    assert "n1: processes 0 and 1 share cores 3; bind each" in line.text
    same = cores(bound(0, [0, 1]), bound(1, [0, 1]))
    assert "its 2 processes are all bound to the same cores 0-1" in same.text


def test_too_few_cores():
    line = cores(bound(0, [0, 1], 4))
    assert (line.verdict, "4 virtual devices on 2 cores" in line.text) == ("warn", True)
    line = cores(bound(0, [0], platform="gpu"), bound(1, [1], platform="gpu"))
    assert (line.verdict, "--cpus-per-task" in line.text) == ("warn", True)


def test_a_gpu_that_two_processes_use():
    both = [bound(i, [2 * i, 2 * i + 1], platform="gpu", hardware="GPU-a") for i in range(2)]
    line = only(binding.judge(both), "gpus")
    assert (line.verdict, "processes 0, 1 use the same GPU-a of n1" in line.text) == ("FAIL", True)
    both[1]["host"] = "n2"
    assert only(binding.judge(both), "gpus").verdict == "ok"
    unknown = bound(0, [0, 1], platform="gpu")
    assert only(binding.judge([unknown]), "gpus").verdict == "warn"


def test_what_the_driver_calls_a_gpu():
    """Stand-ins for the libraries of the two drivers, which are not here."""

    class Cuda:
        @staticmethod
        def cuDeviceGet(handle, number):
            handle._obj.value = 10 + number
            return 0

        @staticmethod
        def cuDeviceGetUuid_v2(uuid, handle):
            uuid._obj[0] = handle.value
            return 0

    class Hip:
        @staticmethod
        def hipDeviceGetPCIBusId(text, size, number):
            text.value = f"0000:c{number}:00.0".encode()
            return 0

    def load(**known):
        def find(name):
            if name.split(".")[0] not in known:
                raise OSError(name)
            return known[name.split(".")[0]]

        return find

    gpu = SimpleNamespace(platform="gpu", local_hardware_id=3)
    assert binding.hardware_name(gpu, load(libcuda=Cuda)) == "GPU-0d" + 15 * "00"
    assert binding.hardware_name(gpu, load(libamdhip64=Hip)) == "0000:c3:00.0"
    assert binding.hardware_name(gpu, load()) is None
    assert binding.hardware_name(SimpleNamespace(platform="cpu"), load(libcuda=Cuda)) is None


# ---- libraries --------------------------------------------------------------------------------------------------

NCCL = {
    "platform": "gpu", "kind": "NVIDIA A100", "loaded": {"nccl": "/lib/libnccl.so.2"}, "version": "2.27.3",
    "collectives": "gloo", "infiniband": [], "environment": {},
}  # fmt: skip


def transport(everyone):
    return only(libraries.judge(everyone), "transport")


def test_nccl_over_sockets_between_hosts():
    line = transport(two_hosts(NCCL))
    assert (line.verdict, "NCCL 2.27.3 goes over sockets between hosts" in line.text) == ("warn", True)
    assert transport(two_hosts(NCCL)[:1]).verdict == "ok", "within a host nothing goes over the network"


def test_nccl_over_a_network():
    plug_in = {**NCCL["loaded"], "nccl-net-ofi": "/x/libnccl-net-ofi.so.0", "fabric": "/x/libfabric.so.1"}
    line = transport(two_hosts({**NCCL, "loaded": plug_in}))
    assert (line.verdict, line.text) == ("ok", "NCCL 2.27.3 over libnccl-net-ofi.so.0 and libfabric")
    verbs = {**NCCL, "loaded": {**NCCL["loaded"], "ibverbs": "/x"}, "infiniband": ["mlx5_0"]}
    assert transport(two_hosts(verbs)).text.endswith("over InfiniBand verbs (mlx5_0)")
    assert transport(two_hosts({**verbs, "environment": {"NCCL_IB_DISABLE": "1"}})).verdict == "warn"
    gh200 = {**NCCL, "loaded": plug_in, "kind": "NVIDIA GH200 480GB"}
    assert "NCCL_LL128_C2C=0" in transport(two_hosts(gh200)).text
    assert transport(two_hosts({**gh200, "environment": {"NCCL_LL128_C2C": "0"}})).verdict == "ok"


def test_the_transport_of_cpus():
    cpu = {**NCCL, "platform": "cpu", "loaded": {"mpi": "/lib/libmpi.so.40"}}
    assert transport(two_hosts(cpu)).text.startswith("gloo of jaxlib"), "MPI only served to meet"
    assert transport(two_hosts({**cpu, "collectives": "mpi"})).text == "MPI, /lib/libmpi.so.40"
    assert transport(two_hosts(cpu)[:1]).text.startswith("within one process")


def test_nccl_that_differs():
    assert transport(two_hosts(NCCL, version="2.21.5")).verdict == "FAIL"
    lines = libraries.judge(two_hosts(NCCL, environment={"NCCL_PROTO": "Simple"}))
    assert only(lines, "variables").verdict == "warn"


def test_libraries_are_found_in_a_memory_map(tmp_path):
    maps = tmp_path / "maps"
    names = [
        "libnccl.so.2.27.3",
        "libnccl-net.so",
        "libnccl-net-ofi.so.0",
        "libfabric.so.1",
        "libc.so.6",
        "libmpi.so.40",
    ]
    maps.write_text("".join(f"7f00-7f01 r-xp 00000000 08:01 12   /opt/a b/{name}\n" for name in names) + "7f-8f rw-p\n")
    libraries_by_name = libraries.loaded(maps)
    assert set(libraries_by_name) == {"nccl", "nccl-net", "nccl-net-ofi", "fabric", "mpi"}
    assert libraries_by_name["nccl"] == "/opt/a b/libnccl.so.2.27.3"


@pytest.mark.parametrize(("code", "version"), [(22703, "2.27.3"), (2708, "2.7.8")])
def test_the_version_of_nccl(code, version):
    def answer(pointer):
        ctypes.cast(pointer, ctypes.POINTER(ctypes.c_int))[0] = code
        return 0

    assert libraries.nccl_version({"nccl": "x"}, lambda path: SimpleNamespace(ncclGetVersion=answer)) == version


# ---- exchange and memory ----------------------------------------------------------------------------------------


def rows(seconds, wrong=None):
    row = {"scope": "across_hosts", "devices": 4, "bytes": 2**20, "seconds": seconds, "wrong": wrong or {}}
    return {"platform": "gpu", "rows": [row]}


def test_the_slowest_process_counts_and_a_devices_own_part_does_not():
    (row,) = exchange.table([{"process": 0, "host": "n1", **rows(0.1)}, {"process": 1, "host": "n2", **rows(0.5)}])
    assert row["seconds"] == 0.5
    assert row["bandwidth"] == 0.75 * 2**20 / 0.5
    assert exchange.best([row], "across_hosts") == row["bandwidth"]
    assert exchange.best([row], "within_host") is None


def test_wrong_words_name_size_device_and_count():
    everyone = [{"process": 0, "host": "n1", **rows(0.1)}, {"process": 1, "host": "n2", **rows(0.5, {"5": 7})}]
    (line,) = exchange.judge(everyone)
    assert line.verdict == "FAIL"
    assert line.text.startswith(
        "1 MiB across hosts: 7 wrong words: 7 on device 5 (process 1 on n2); the transport damages"
    )
    assert "NCCL_PROTO=Simple" in line.text


def test_a_slow_memory():
    line = memory.judge(two_hosts({"bandwidth": 1e12}))[0]
    assert (line.verdict, line.text.startswith("1e+03 GB/s per device")) == ("ok", True)
    three = [*two_hosts({"bandwidth": 1e12}), {"process": 2, "host": "n3", "bandwidth": 4e11}]
    line = memory.judge(three)[0]
    assert (line.verdict, "400 GB/s of process 2 on n3" in line.text) == ("warn", True)


# ---- files ------------------------------------------------------------------------------------------------------

FILES = {
    "directory": "/scratch", "error": None, "written": 2**26, "write_seconds": 0.5, "read": 2**26, "read_seconds": 0.25,
    "lock": "held", "free_bytes": 2**40, "free_files": 10**6,
}  # fmt: skip


def test_disk():
    lines = disk.judge(two_hosts(FILES, write_seconds=1.0))
    assert [line.verdict for line in lines] == ["ok", "ok", "ok"]
    assert lines[0].text == "/scratch: 134 MB/s written to the disk, 537 MB/s read, by 2 at once (128 MiB)"


def test_what_the_disk_refuses():
    (line,) = disk.judge(two_hosts(FILES, error="Disk quota exceeded: /scratch/x"))
    assert line.verdict == "FAIL"
    assert line.text.startswith("/scratch: Disk quota exceeded: /scratch/x (process 1 on n2); give a directory")


@pytest.mark.parametrize("little", [{"free_bytes": 10**8}, {"free_files": 7}])
def test_little_room(little):
    assert only(disk.judge(two_hosts(FILES, **little)), "room").verdict == "warn"
    assert only(disk.judge(two_hosts({**FILES, "free_files": None})), "room").verdict == "ok"


def test_no_locks():
    line = only(disk.judge(two_hosts(FILES, lock="ignored")), "locks")
    assert (line.verdict, "flock: ignored on n2" in line.text) == ("warn", True)


SEEN = {"folder": "/home/programs-a", "sees_directory": True, "sees_programs": True}


def test_shared_folders():
    assert [line.verdict for line in shared.judge(two_hosts(SEEN))] == ["ok", "ok"]
    assert [line.name for line in shared.judge(two_hosts(SEEN)[:1])] == ["programs"]
    line = only(shared.judge(two_hosts(SEEN, sees_directory=False)), "shared")
    assert (line.verdict, "that n1 made is not seen on n2" in line.text) == ("FAIL", True)


def test_compiled_programs():
    line = only(shared.judge(two_hosts(SEEN, sees_programs=False)), "programs")
    assert (line.verdict, "is not seen on n2" in line.text) == ("warn", True)
    assert "JAX_COMPILATION_CACHE_DIR" in line.text
    line = only(shared.judge(two_hosts(SEEN, folder="/home/programs-b", sees_programs=False)), "programs")
    assert (line.verdict, "processors differ" in line.text) == ("warn", True)
    assert only(shared.judge(two_hosts({**SEEN, "folder": None})), "programs").verdict == "warn"


# ---- hosts ------------------------------------------------------------------------------------------------------

HOST = {
    "addresses": ["10.0.0.1"], "clock": [100.0, 101.0], "proxies": [], "open_files": 4096, "memory_limit": None,
    "locked_limit": None, "memory": 2**35, "platform": "gpu", "float64": True,
}  # fmt: skip


def test_hosts():
    lines = host.judge(two_hosts(HOST, clock=[100.2, 101.1]))
    assert {line.verdict for line in lines} == {"ok"}
    assert only(lines, "clocks").text == "within 0.1 s of that of n1"
    assert [line.name for line in host.judge(two_hosts(HOST)[:1])] == ["limits", "float64"]


def test_names_that_lead_to_loopback():
    line = only(host.judge(two_hosts(HOST, addresses=["127.0.1.1"])), "addresses")
    assert (line.verdict, line.text.startswith("n2: the host's own name is 127.0.1.1 there")) == ("FAIL", True)
    assert only(host.judge(two_hosts({**HOST, "addresses": ["127.0.0.1"]})), "addresses").verdict == "ok"
    assert only(host.judge(two_hosts(HOST, addresses=[])), "addresses").verdict == "FAIL"


def test_clocks_that_differ():
    line = only(host.judge(two_hosts(HOST, clock=[97.0, 97.5])), "clocks")
    assert (line.verdict, "n2 by -3.5 s" in line.text) == ("warn", True)


LOW = {"open_files": 256, "memory_limit": 2**35, "locked_limit": 65536}


@pytest.mark.parametrize("name", LOW)
def test_low_limits(name):
    line = only(host.judge(two_hosts(HOST, **{name: LOW[name]})), "limits")
    assert (line.verdict, line.text.startswith("n2: ")) == ("warn", True)


def test_proxies_and_precision():
    lines = host.judge(two_hosts(HOST, proxies=["https_proxy"], float64=False))
    assert only(lines, "proxies").text.startswith("https_proxy: dropped")
    assert only(lines, "float64").verdict == "warn"


# ---- the file ---------------------------------------------------------------------------------------------------


def test_a_file_that_is_no_report_is_one_line(tmp_path):
    with pytest.raises(ConfigError, match=r"none.json: No such file"):
        read_report(tmp_path / "none.json")
    path = tmp_path / "doctor.json"
    path.write_text(json.dumps({"format": 2}))
    with pytest.raises(ConfigError, match=r"doctor.json is no doctor.json of format 1: format: "):
        read_report(path)
