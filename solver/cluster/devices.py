"""JAX's settings for this process, made before any device is touched."""

from __future__ import annotations

import ctypes
import hashlib
import os
import platform
import sys
from collections.abc import Mapping, MutableMapping
from functools import cache
from pathlib import Path
from typing import Any

import jax

from solver.cluster.launch import Launch, LaunchError, bound_cores

THREADS_OF_FFTS = "xla_cpu_multi_thread_eigen"  # known to jaxlib 0.10.2, 0.11.0, 0.11.2 and 0.12.0
FORCED_BY_XLA = "--xla_force_host_platform_device_count"
WITHOUT_DOUBLE = {"tpu": "a TPU", "metal": "Metal"}


def forced_cpu_devices(environment: Mapping[str, str]) -> tuple[int, str] | None:
    """Number of CPU devices that the environment fixes, and the variable's name; it wins over the run file."""
    if environment.get("JAX_NUM_CPU_DEVICES"):
        return int(environment["JAX_NUM_CPU_DEVICES"]), "JAX_NUM_CPU_DEVICES"
    for flag in environment.get("XLA_FLAGS", "").split():
        if flag.startswith(FORCED_BY_XLA + "="):
            return int(flag.partition("=")[2]), "XLA_FLAGS"
    return None


def available_cores(environment: Mapping[str, str], launch: Launch) -> int:
    """Cores that this process may use, by its launcher or its Slurm task; else its share of those it is bound to."""
    if launch.cores is not None:
        return launch.cores
    if environment.get("SLURM_CPUS_PER_TASK"):
        return int(environment["SLURM_CPUS_PER_TASK"])
    return max(1, len(bound_cores()) // launch.local_processes)


def machine_memory() -> int | None:
    """Bytes of memory of this host; None if the system does not say."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return None


def set_up_jax(wanted: str, cpu_devices: int | None) -> bool:
    """Allow double precision, and set the platform and the number of virtual devices on the CPU.

    On the CPU FFTs have one thread each from now on (`one_thread_each`).

    Args:
        wanted: platform; `auto` leaves the choice to JAX.
        cpu_devices: None leaves what the environment fixes.

    Returns:
        False if this process has its devices already, so that their number cannot change.

    Raises:
        LaunchError: a GPU is requested and JAX has no plug-in for one.
    """
    jax.config.update("jax_enable_x64", True)
    if will_be_cpu(wanted):
        one_thread_each(os.environ)
    if wanted != "auto":
        jax.config.update("jax_platforms", gpu_platform() if wanted == "gpu" else wanted)
    if cpu_devices is not None:
        try:
            jax.config.update("jax_num_cpu_devices", cpu_devices)
        except RuntimeError:
            return False
    return True


def one_thread_each(environment: MutableMapping[str, str]) -> None:
    """Have XLA carry out each FFT on the CPU in one thread, unless XLA_FLAGS says otherwise. Before JAX has devices.

    With threads XLA decides by timing how many take part, DUCC transforms the lines that are left over of each thread's
    share one by one, and these are rounded otherwise: two runs of one file differed in their last bits (jaxlib 0.10.2,
    86 and 171 lines of 512 numbers; lines of 128 did not). Devices are the threads of a run.
    """
    given = environment.get("XLA_FLAGS", "")
    if THREADS_OF_FFTS not in given:
        environment["XLA_FLAGS"] = f"{given} --{THREADS_OF_FFTS}=false".strip()


def gpu_platform() -> str:
    """JAX's name of the kind of GPU that a plug-in is installed for: `cuda` or `rocm`.

    Raises:
        LaunchError: there is no such plug-in.
    """
    for kind in _plug_ins():
        if kind != "tpu":
            return kind
    raise LaunchError(
        "devices.platform = 'gpu': JAX has no plug-in for GPUs here; install one, pip install '.[cuda13]' in the "
        "checkout, or take platform 'auto' or 'cpu'"
    )


def refuse_double_precision(wanted: str, precision: str) -> None:
    """Refuse double precision on a platform without it. Touches no device.

    Raises:
        LaunchError: `precision` is `float64`, and the requested platform, or the one that JAX will choose, is a TPU or
            Metal.
    """
    fixed = jax.config.jax_platforms  # type: ignore[attr-defined]
    by_itself = "metal" if any(name.startswith("jax-metal") for name in _installed()) else ""
    platform = (wanted if wanted != "auto" else fixed or by_itself).split(",")[0].lower()
    if precision == "float64" and platform in WITHOUT_DOUBLE:
        raise LaunchError(
            f"grid.precision = 'float64': {WITHOUT_DOUBLE[platform]} has no double precision; "
            "set grid.precision=float32"
        )


def will_be_cpu(wanted: str) -> bool:
    """True if the platform will certainly be the CPU, by request or because there is no other. Touches no device."""
    fixed = jax.config.jax_platforms  # type: ignore[attr-defined]
    return "cpu" in (wanted, fixed) or (wanted == "auto" and not fixed and not _plug_ins())


def _plug_ins() -> list[str]:
    """Accelerators that JAX has plug-ins for here: `cuda`, `rocm`, `tpu`."""
    starts = {"cuda": "jax-cuda", "rocm": "jax-rocm", "tpu": "libtpu"}
    installed = _installed()
    return [kind for kind, start in starts.items() if any(name.startswith(start) for name in installed)]


def _installed() -> set[str]:
    """Names of installed distributions, read off folder names: importlib.metadata would open a file of each (20 ms)."""
    folders = [folder for path in sys.path if (folder := Path(path)).is_dir()]
    names = [entry.name for folder in folders for entry in folder.glob("*.dist-info")]
    return {name.partition("-")[0].lower().replace("_", "-") for name in names}


def keep_compiled_programs(environment: Mapping[str, str]) -> Path | None:
    """Let JAX keep compiled programs on disk, so that a job that is started again need not compile them again.

    The folder is `JAX_COMPILATION_CACHE_DIR` if that is set, else under `XDG_CACHE_HOME`, by default `~/.cache`. A
    program refers to one of our partitioned operations by the address of a Python function, which differs between
    processes, so JAX is set to ignore addresses when it compares programs. A number next to the address says what the
    function computes (`solver.fft.partitioning`). Programs made by other versions of the transforms, or for processors
    with other instructions, are kept in folders of their own.

    Returns:
        The folder; None if it cannot be made or written, so that programs are not kept.
    """
    chosen = environment.get("JAX_COMPILATION_CACHE_DIR")
    home = Path(environment.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    folder = (Path(chosen) if chosen else home / "slabwave") / f"programs-{_fingerprint()}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return None
    if not os.access(folder, os.W_OK):
        return None
    jax.config.update("jax_compilation_cache_dir", str(folder))
    jax.config.update("jax_remove_custom_partitioning_ptr_from_cache_key", True)
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.3)
    # otherwise programs that are read back warn about each of their source lines
    jax.config.update("jax_traceback_in_locations_limit", 0)
    _share_programs()
    return folder


@cache
def _share_programs() -> None:
    """Let all processes of a job on CPUs find what the first one has compiled, as they do on GPUs.

    JAX has the first process alone keep programs. On CPUs the key of a program names the process that compiled it, so
    that the others would compile at each start; with devices of several processes they run the same program. What else
    the key's part for devices holds, the instructions of the processor, is in the folder's name.
    """
    from jax._src import cache_key  # there is no public name

    add_devices = getattr(cache_key, "_hash_accelerator_config", None)
    if add_devices is None:  # a later JAX: each process compiles
        return

    def add_accelerators(digest: Any, devices: Any, *more: Any) -> None:
        if devices.flat[0].platform != "cpu":
            add_devices(digest, devices, *more)

    cache_key._hash_accelerator_config = add_accelerators


def _fingerprint() -> str:
    """Checksum of the sources of `solver.fft` and of this processor's instruction set."""
    digest = hashlib.sha256()
    for source in sorted((Path(__file__).parents[1] / "fft").glob("*.py")):
        digest.update(source.read_bytes())
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        lines = [platform.machine(), platform.processor()]
    digest.update(next((line for line in lines if line.startswith(("flags", "Features"))), lines[0]).encode())
    return digest.hexdigest()[:16]


def keep_freed_memory(*, all_sizes: bool = True) -> None:
    """Let the C library keep freed blocks and use them again.

    By default it returns them to the system and maps new ones, and the page faults cost more than the arithmetic on
    the blocks. Does nothing if the C library is not glibc.

    Args:
        all_sizes: False lets blocks above 32 MiB be returned to the system. In a run they are the scratch memory of
            a chunk, allocated once per chunk, and copies for output. Kept in one heap they would leave holes into
            which the next block does not fit: a run of 256³ grew to 31 words per point instead of 15.
    """
    M_TRIM_THRESHOLD, M_MMAP_THRESHOLD, M_MMAP_MAX, M_ARENA_MAX = -1, -3, -4, -8
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError):
        return
    if all_sizes:
        mallopt(M_MMAP_MAX, 0)
    else:
        mallopt(M_MMAP_THRESHOLD, 2**25)  # the most that glibc takes
    mallopt(M_ARENA_MAX, 1)  # one arena: those of threads hold no block above 64 MiB, and would map new memory
    mallopt(M_TRIM_THRESHOLD, 2**31 - 1)
