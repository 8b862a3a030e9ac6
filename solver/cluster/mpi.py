"""Processes that mpiexec or mpirun started. They exchange an address through mpi4py, and use MPI for nothing else."""

from __future__ import annotations

import atexit
import socket
import sys
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from solver.cluster import slurm
from solver.cluster.addresses import free_port, own_address
from solver.cluster.launch import Launch, LaunchError, bound_cores

BY_ADDRESS = "give each --coordinator HOST:PORT --processes N --process I"


@dataclass(frozen=True)
class Started:
    """Contents of an MPI launcher's environment variables.

    Args:
        by: the launcher: `Open MPI`; `MPICH`, for all that start processes with Hydra; or `PMIx`, for others.
        processes: number of processes that the launcher started; None if it does not say.
        process: which one this is.
        local_processes: number of them on this host; 1 if the launcher does not say.
        local_process: which of those this is.
    """

    by: str
    processes: int | None
    process: int
    local_processes: int = 1
    local_process: int = 0

    def __str__(self) -> str:
        return f"{self.by} started {self.processes or 'several'} processes"


def started(environment: Mapping[str, str]) -> Started | None:
    """The values of an MPI launcher's variables; None if no MPI launcher started this process.

    `srun` sets PMI_… and PMIX_… too, but it is Slurm's. Open MPI's and MPICH's own launchers may run their helpers with
    srun, whose variables then count for the helpers, not for the processes they start.
    """
    if "OMPI_COMM_WORLD_SIZE" in environment:
        local = ("OMPI_COMM_WORLD_LOCAL_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK")
        return _started("Open MPI", environment, "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK", *local)
    by_hydra = "MPI_LOCALNRANKS" in environment
    if slurm.in_step(environment) and not by_hydra:
        return None
    if "PMI_SIZE" in environment:
        return _started("MPICH", environment, "PMI_SIZE", "PMI_RANK", "MPI_LOCALNRANKS", "MPI_LOCALRANKID")
    if "PMIX_RANK" in environment:
        return Started("PMIx", None, int(environment["PMIX_RANK"]))
    return None


def _started(by: str, environment: Mapping[str, str], size: str, rank: str, *local: str) -> Started:
    local_size, local_rank = local
    return Started(
        by,
        processes=int(environment[size]),
        process=int(environment.get(rank, 0)),
        local_processes=int(environment.get(local_size, 1)),
        local_process=int(environment.get(local_rank, 0)),
    )


def meet(launcher: Started, environment: Mapping[str, str], keep: bool = False) -> Launch:
    """Ask MPI for this process's place. The first process chooses address and port and sends them to the others.

    MPI is started only for this and ended again, so that it neither supervises the processes nor occupies the network
    while they compute. If the caller had started MPI, it is left running.

    Args:
        found: values of the launcher's variables.
        environment: environment of this process.
        keep: leave MPI running until the program ends, since something else is going to use it.

    Raises:
        LaunchError: no mpi4py, or one that was built for another MPI than the launcher's.
    """
    mpi = _mpi4py(launcher)
    _refuse_other_mpi(launcher, mpi)
    ours = not mpi.Is_initialized()
    if ours:
        mpi.Init()
    try:
        return _place(launcher, mpi, environment)
    finally:
        if ours and keep:
            atexit.register(mpi.Finalize)
        elif ours:
            mpi.Finalize()


def _mpi4py(launcher: Started) -> ModuleType:
    if "mpi4py.MPI" in sys.modules:
        return sys.modules["mpi4py.MPI"]
    try:
        import mpi4py
    except ImportError:
        raise LaunchError(
            f"{launcher}; to meet they need mpi4py (pip install '.[mpi]' in the checkout), or an address: {BY_ADDRESS}"
        ) from None
    mpi4py.rc.initialize = mpi4py.rc.finalize = False
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # mpi4py warns of another MPI's launcher, which is refused below
            from mpi4py import MPI
    except (ImportError, RuntimeError) as error:
        first = " ".join(str(error).split())[:200]
        raise LaunchError(
            f"{launcher}, but mpi4py cannot load an MPI library: {first}; name the launcher's own in "
            f"MPI4PY_LIBMPI, with its folder in LD_LIBRARY_PATH, or {BY_ADDRESS}"
        ) from None
    return MPI


def _refuse_other_mpi(launcher: Started, mpi: Any) -> None:
    """Called before MPI starts, since MPICH's library would end a process of Open MPI without a message of ours."""
    version = _version(mpi)
    if launcher.by == "Open MPI" and "Open MPI" not in version and "Spectrum MPI" not in version:
        raise LaunchError(f"{launcher}, but mpi4py uses {version}; {_remedy(launcher)}")


def _version(mpi: Any) -> str:
    return " ".join(mpi.Get_library_version().replace("\0", "").split(",")[0].split()[:4])


def _remedy(launcher: Started) -> str:
    return (
        f"build it for this launcher's MPI (pip install --no-binary=mpi4py --force-reinstall mpi4py), start the "
        f"processes with that MPI's own mpiexec, or {BY_ADDRESS}"
    )


def _place(launcher: Started, mpi: Any, environment: Mapping[str, str]) -> Launch:
    world = mpi.COMM_WORLD
    size, rank = world.Get_size(), world.Get_rank()
    if size != (launcher.processes or size) or rank != launcher.process:
        raise LaunchError(
            f"{launcher}, but mpi4py ({_version(mpi)}) sees {size}: it was built for another MPI, and each process "
            f"would run alone; {_remedy(launcher)}"
        )
    hosts = world.gather(socket.gethostname(), root=0)
    chosen = None
    if rank == 0:
        others = [host for host in dict.fromkeys(hosts) if host != hosts[0]]
        chosen = f"{own_address(others[:3])}:{environment.get('JAX_COORDINATOR_PORT') or free_port()}"
    coordinator = world.bcast(chosen, root=0)
    local = world.Split_type(mpi.COMM_TYPE_SHARED)
    here = local.Get_rank()
    cores = own_cores(local.allgather(bound_cores()), here)
    place = Launch(launcher.by, size, rank, coordinator, local.Get_size(), here, cores)
    local.Free()
    return place if size > 1 else Launch("one process")


def own_cores(bound: Sequence[set[int]], index: int) -> int:
    """Cores per process of a host, from the cores that each process is bound to; processes bound to a core share it."""
    sharing = sum(bool(bound[index] & other) for other in bound)
    return max(1, len(bound[index]) // sharing)
