"""A common lock of the members that share files; the table status.csv, in the same folder, has a member's status."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from solver.io.lock import BEAT_SECONDS, DirectoryLock
from solver.io.pack import Pack, number_of


class PackLock:
    """Locks the folder of a pack until `release`, and keeps its table of members up to date.

    Args:
        pack: the files that members share.
        environment: environment variables of this process; they identify a requeued job.

    Raises:
        TakenError: another run writes there.
    """

    def __init__(self, pack: Pack, environment: Mapping[str, str]) -> None:
        self.pack = pack
        self._lock = DirectoryLock(pack.folder, environment)
        self._rows: dict[int, dict[str, Any]] = {number: dict(row) for number, row in pack.read_statuses().items()}
        for row in self._rows.values():
            if row.get("state") == "running":
                row["state"] = ""  # the process that wrote it is dead
        self._written = 0.0

    @property
    def lost(self) -> bool:
        """True if another run took the folder because this one seemed dead."""
        return self._lock.lost

    def member(self, directory: Path) -> MemberLock:
        """The lock of one member, given by its directory; its state is `running` from now on."""
        number = number_of(directory) or 0
        self._rows[number] = {"state": "running"}
        return MemberLock(self, number)

    def row(self, number: int) -> dict[str, Any]:
        """Status of a member."""
        return self._rows[number]

    def write(self, *, at_once: bool = False) -> None:
        """Write the table, if it is a few seconds old."""
        if not at_once and time.monotonic() - self._written < BEAT_SECONDS:
            return
        self._written = time.monotonic()
        self.pack.write_statuses(self._rows)

    def release(self) -> None:
        """Write the table and unlock the folder."""
        try:
            if not self.lost:
                self.write(at_once=True)
        finally:
            self._lock.release()


class MemberLock:
    """The part of a pack's lock that one member uses, as a run alone uses the lock of its directory."""

    def __init__(self, lock: PackLock, number: int) -> None:
        self._lock, self._number = lock, number

    @property
    def lost(self) -> bool:
        """True if another run took the files; this one must not write any more."""
        return self._lock.lost

    @property
    def state(self) -> str:
        """The latest state given to `update_status`; `running` at first."""
        return str(self._lock.row(self._number)["state"])

    def update_status(self, **status: float | str) -> None:
        """Change entries of the status."""
        self._lock.row(self._number).update(status)
        self._lock.write(at_once=status.get("state") == "blown up")  # a kill may follow, and it is not tried again

    def release(self) -> None:
        """Nothing to do: the pack's lock is released when all members are over."""
