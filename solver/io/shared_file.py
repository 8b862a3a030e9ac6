"""A checkpoint in one file that all processes write, through parallel HDF5.

Some file systems limit the number of files, and some tools need one file. It needs h5py built with MPI, and one MPI
process for each JAX process. It is written in the main thread, since MPI is not started for several threads. Here HDF5
is not protected from failed writes (as in `hdf5.py`): if a process fails while the others close the file, they wait
until the watchdog ends the job.
"""

from __future__ import annotations

import atexit
import hashlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import h5py
import jax
import numpy as np

from solver.io.hdf5 import FORMAT

NAME = "shared.h5"
BLOCK = 2**26  # bytes that share a checksum; the processes check different blocks
REMEDY = (
    "build h5py with MPI (CC=mpicc HDF5_MPI=ON pip install --no-binary h5py h5py), or take layout = 'per-process', "
    "which every installation has"
)


def why_not() -> str | None:
    """The reason why this installation cannot write a shared file; None if it can. Does not start MPI."""
    if not h5py.get_config().mpi:
        return f"h5py was built without MPI here; {REMEDY}"
    try:
        import mpi4py  # noqa: F401
    except ImportError:
        return "mpi4py is not installed here; pip install '.[mpi]' in the checkout"
    return None


def communicator() -> Any:
    """The communicator of all MPI processes, which are JAX's. Starts MPI if necessary; it ends with the program.

    Raises:
        RuntimeError: MPI has ended already, or has another number of processes than JAX.
    """
    import mpi4py

    mpi4py.rc.initialize = mpi4py.rc.finalize = False
    from mpi4py import MPI

    if MPI.Is_finalized():
        raise RuntimeError("output.checkpoints.layout = 'shared': MPI was ended before the first checkpoint")
    if not MPI.Is_initialized():
        MPI.Init()
        atexit.register(MPI.Finalize)
    size = MPI.COMM_WORLD.Get_size()
    if size != jax.process_count():
        raise RuntimeError(
            f"output.checkpoints.layout = 'shared': MPI counts {size} processes, JAX {jax.process_count()}; start them "
            "with mpiexec, or with srun --mpi=pmix, or take layout = 'per-process'"
        )
    return MPI.COMM_WORLD


def write_arrays(folder: Path, shapes: Mapping[str, tuple[tuple[int, ...], str]], pieces: Iterator[Any]) -> None:
    """Write the file; collective.

    Args:
        folder: folder of the checkpoint.
        shapes: shape and type of each array, the same on every process.
        pieces: this process's parts: name, first index, values.
    """
    with h5py.File(folder / NAME, "w", driver="mpio", comm=communicator(), **FORMAT) as file:
        for name, (shape, dtype) in shapes.items():
            file.create_dataset(name, shape, dtype, fill_time="never")
        for name, start, values in pieces:
            block = tuple(slice(a, a + n) for a, n in zip(start, np.shape(values), strict=True))
            file[name][block] = values  # not a collective write, since a process may have nothing to write


def block_checksums(path: Path, part: int, parts: int) -> dict[int, str]:
    """SHA-256 of every `parts`-th block of a file, from number `part` on."""
    checksums, count = {}, -(-path.stat().st_size // BLOCK)
    with path.open("rb") as file:
        for number in range(part, count, parts):
            file.seek(number * BLOCK)
            checksums[number] = hashlib.sha256(file.read(BLOCK)).hexdigest()
    return checksums
