"""The paths of files in a run's directory."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from solver.io.lock import read_lock

if TYPE_CHECKING:
    from solver.io.pack import Pack, PackLock
    from solver.io.row_store import RowStore


@dataclass(frozen=True)
class RunDirectory:
    """Paths of a run's files.

    Args:
        path: path of the directory.
        ensemble: the directory of the ensemble that the run is a member of, if it is carried out with the others.
        held: the lock of the files that it shares with other members, while this process writes them.
    """

    path: Path
    ensemble: Path | None = None
    held: PackLock | None = field(default=None, compare=False, repr=False)

    @cached_property
    def pack(self) -> Pack | None:
        """The files that the run shares with other members of its ensemble; None if all of its files are its own."""
        from solver.io.pack import pack_of

        return pack_of(self.path) if self.held is None else self.held.pack

    @cached_property
    def store(self) -> RowStore:
        """The rows of all outputs against time, in files of the run or in files that it shares."""
        from solver.io.row_store import OwnStore

        return OwnStore(self.path) if self.pack is None else self.pack.store(self.path)

    def read_holder(self) -> dict[str, Any]:
        """Holder of the directory, or of the files that it shares, and its status; empty if nothing is known."""
        return read_lock(self.path / ".lock") if self.pack is None else self.pack.read_holder(self.path)

    @property
    def stop_files(self) -> tuple[Path, ...]:
        """Files that ask the run to stop early: one of its own, and one of all members."""
        return tuple(folder / "stop" for folder in (self.path, self.ensemble) if folder is not None)

    @property
    def run_file(self) -> Path:
        """The resolved run file."""
        return self.path / "config.toml"

    @property
    def members(self) -> Path:
        """Path of members.csv of an ensemble: the values that each member has of its own."""
        return self.path / "members.csv"

    @property
    def jobs(self) -> Path:
        """Path of the folder of an ensemble's jobs, if several share it: for each its lock, log and provenance.json."""
        return self.path / "jobs"

    @property
    def provenance(self) -> Path:
        """Versions, devices, command lines."""
        return (self.path if self.pack is None else self.path.parent) / "provenance.json"

    @property
    def log(self) -> Path:
        """The log file."""
        return self.path / "log.txt" if self.pack is None else self.pack.log

    @property
    def series(self) -> Path:
        """The CSV file of scalars against time."""
        return self.path / "series.csv"

    def records(self, name: str) -> Path:
        """The HDF5 file of an output that records arrays against time, such as `spectra`."""
        return self.path / f"{name}.h5"

    @property
    def snapshots(self) -> Path:
        """Folder of the snapshots."""
        return self.path / "snapshots"

    @property
    def slices(self) -> Path:
        """Folder of the slices."""
        return self.path / "slices"

    @property
    def statistics(self) -> Path:
        """Folder of means and variances over time."""
        return self.path / "statistics"

    @property
    def particles(self) -> Path:
        """Folder of the tracks of particles."""
        return self.path / "particles"

    @property
    def checkpoints(self) -> Path:
        """Folder of the checkpoints."""
        return self.path / "checkpoints"
