"""Open MPI and MPICH as their wheels hold them, each in a folder of its own under .mpi/, which `make test` fills."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Mpi:
    """One of them.

    Args:
        name: of its wheel and folder.
        soname: file name of its MPI library.
        options: that its launcher needs here: few cores, and tests that run as root.
        stop: the signal that its launcher hands on to the processes; Open MPI's ends them at once on SIGTERM.
    """

    name: str
    soname: str
    options: tuple[str, ...]
    stop: str

    @property
    def folder(self) -> Path:
        return ROOT / ".mpi" / self.name

    @property
    def mpiexec(self) -> Path:
        return self.folder / "bin" / "mpiexec"

    def what_is_missing(self) -> str | None:
        """Why it cannot start anything here; None if it can."""
        if not (self.folder / "lib" / self.soname).exists():
            return f"no {self.name} in {self.folder} (make .mpi/ready)"
        return None if importlib.util.find_spec("mpi4py") else "mpi4py is not installed"

    def environment(self) -> dict[str, str]:
        """For processes that use its library."""
        left_out = ("JAX_NUM_CPU_DEVICES", "PMI", "OMPI_")
        clean = {k: v for k, v in os.environ.items() if not k.startswith(left_out)}
        library = self.folder / "lib"
        return {
            **clean,
            "PYTHONPATH": str(ROOT),
            "PATH": f"{self.mpiexec.parent}:{os.environ['PATH']}",
            "LD_LIBRARY_PATH": str(library),
            "MPI4PY_LIBMPI": str(library / self.soname),
        }

    def start(
        self, *words: str, processes: int = 2, python: tuple[str, ...] = ("-m", "solver"), env: dict | None = None
    ) -> subprocess.Popen:
        """`mpiexec -n processes python -m solver words`."""
        return subprocess.Popen(
            [str(self.mpiexec), *self.options, "-n", str(processes), sys.executable, *python, *words],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env or self.environment(),
        )  # fmt: skip


OPEN_MPI = Mpi("openmpi", "libmpi.so.40", ("--allow-run-as-root", "--oversubscribe", "--bind-to", "none"), "SIGUSR1")
MPICH = Mpi("mpich", "libmpi.so.12", (), "SIGTERM")
BOTH = (OPEN_MPI, MPICH)
