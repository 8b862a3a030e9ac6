"""Files that many members of an ensemble share, in a folder for some hundred members each.

ENSEMBLE/packed/members-0000-0255/ holds series.h5, a file for each other output that records arrays against time, the
log of all members, and a table of their status. One process writes into it at a time. If members are shared out among
jobs in another way than before, a new folder takes over their rows: of several folders with one member, the newest
counts.
"""

from __future__ import annotations

import csv
import io
import json
import re
import shutil
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from solver.config import member_name
from solver.io.files import make_folder, partial_path, publish, write_text
from solver.io.lock import BEAT_SECONDS, DirectoryLock, read_lock
from solver.io.row_store import SERIES, record_names
from solver.io.rows import Rows

if TYPE_CHECKING:
    from solver.io.row_file import RowFile


PACKED = "packed"  # folder in the ensemble's directory
INDEX = "members.json"
MEMBER = re.compile(r"member-(\d+)")
TEXTS = ("state", "message")  # entries of a member's status that are no numbers
STATUS = (*TEXTS, "step", "t", "end", "steps_per_second", "seconds_left")
BLOCK = 256  # members of a pack: all rows of one file are held in memory when it is rewritten


class Pack:
    """The files that some members share.

    Args:
        folder: folder of the files.

    Attributes:
        numbers: numbers of the members.
        generation: number of the version: if two packs have the same member, the pack with the larger generation
            counts.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        index = json.loads((folder / INDEX).read_text(encoding="utf-8"))
        self.numbers: list[int] = index["members"]
        self.generation: int = index["generation"]
        self._files: dict[str, RowFile] = {}

    @property
    def names(self) -> frozenset[str]:
        """Names of the members' directories."""
        return frozenset(map(member_name, self.numbers))

    @property
    def log(self) -> Path:
        """The log of all members; each line begins with the name of one."""
        return self.folder / "log.txt"

    @property
    def lock(self) -> Path:
        """The lock of the process that writes."""
        return self.folder / ".lock"

    @property
    def status(self) -> Path:
        """Status of each member, as CSV."""
        return self.folder / "status.csv"

    def read_statuses(self) -> dict[int, dict[str, Any]]:
        """Status of each member that has one, by number, without entries that are not known."""
        try:
            mark = self.status.stat()
        except OSError:
            return {}
        return _read_statuses(self.status, mark.st_mtime_ns, mark.st_size, mark.st_ino)

    def read_holder(self, member: Path) -> dict[str, Any]:
        """Holder of the files, and the status of a member, given by its directory; empty if nothing is known."""
        row = self.read_statuses().get(number_of(member) or 0)
        if row is None:
            return {}
        holder = read_lock(self.lock)
        return {**holder, **row, "released": holder.get("released", True) or row.get("state") != "running"}

    def write_statuses(self, rows: Mapping[int, Mapping[str, Any]]) -> None:
        """Replace the statuses of all members."""
        text = io.StringIO()
        writer = csv.DictWriter(text, ["member", *STATUS], lineterminator="\n", extrasaction="ignore")
        writer.writeheader()
        writer.writerows({"member": number, **row} for number, row in sorted(rows.items()))
        write_text(self.status, text.getvalue())

    def file(self, name: str, folder: str = "") -> RowFile:
        """The file of an output; the same object each time."""
        from solver.io.row_file import RowFile  # imports h5py, which is slow

        path = self.folder / folder / f"{name}.h5"
        return self._files.setdefault(str(path), RowFile(path, shared=True))

    def store(self, member: Path) -> PackStore:
        """The rows of a member, given by its directory."""
        number = number_of(member)
        assert number is not None
        return PackStore(self, number)

    @property
    def files(self) -> list[RowFile]:
        """The files of all outputs."""
        folders = ["", *(path.name for path in self.folder.iterdir() if path.is_dir())]
        return [self.file(name, folder) for folder in sorted(folders) for name in record_names(self.folder / folder)]

    def merge(self) -> None:
        """Bring all files up to date with their journals."""
        for file in self.files:
            file.merge()

    @property
    def damaged(self) -> list[Path]:
        """Files that are not as they were written, besides journals."""
        from solver.io.hdf5 import verify_data

        return [file.path for file in self.files if file.path.exists() and verify_data(file.path)]

    def verify(self) -> dict[Path, list[str]]:
        """Problems of each file, one line each."""
        return {path: problems for file in self.files for path, problems in file.verify().items()}


@dataclass(frozen=True)
class PackStore:
    """The rows of one member in the files of a pack.

    Args:
        pack: the files.
        number: number of the member.
    """

    pack: Pack
    number: int

    def rows(self, name: str, folder: str = "") -> Rows:
        """The rows of an output."""
        from solver.io.row_file import RowsInFile  # imports h5py, which is slow

        return RowsInFile(self.pack.file(name, folder), self.number)

    def names(self, folder: str = "") -> list[str]:
        """Names of the outputs of arrays that have rows."""
        return [name for name in record_names(self.pack.folder / folder) if name != SERIES]


def pack_of(member: Path) -> Pack | None:
    """The pack of a member, given by its directory; None if it has files of its own."""
    number = number_of(member)
    if number is None:
        return None
    return next((pack for pack in reversed(packs_in(member.parent)) if number in pack.numbers), None)


def packs_in(ensemble: Path) -> list[Pack]:
    """The packs of an ensemble, the oldest first."""
    folder = ensemble / PACKED
    if not folder.is_dir():
        return []
    packs = [Pack(path) for path in sorted(folder.glob("[!.]*")) if (path / INDEX).exists()]
    return sorted(packs, key=lambda pack: pack.generation)


def packs_for(ensemble: Path, numbers: Iterable[int]) -> dict[int, Pack]:
    """The packs into which this process writes the rows of some members, by number; first process only.

    Args:
        ensemble: directory of the ensemble.
        numbers: numbers of all members that this process carries out, now or later; no other process may write their
            rows meanwhile.
    """
    blocks: dict[int, list[int]] = {}
    for number in sorted(numbers):
        blocks.setdefault(number // BLOCK, []).append(number)
    made = [_pack_with(ensemble, block) for block in blocks.values()]
    _remove_superseded(ensemble)
    return {number: pack for pack in made for number in pack.numbers}


def _pack_with(ensemble: Path, numbers: Sequence[int]) -> Pack:
    """The pack of exactly these members; a new pack takes over their rows from earlier ones."""
    packs = packs_in(ensemble)
    holds = {number: pack for pack in packs for number in pack.numbers}  # the newest
    before = {number: holds[number] for number in numbers if number in holds}
    if len(before) == len(numbers) and len({id(pack) for pack in before.values()}) == 1:
        [pack] = {id(pack): pack for pack in before.values()}.values()
        if pack.numbers == list(numbers):
            return pack
    generation = 1 + max((pack.generation for pack in packs), default=0)
    name = f"members-{numbers[0]:04d}-{numbers[-1]:04d}"
    folder = ensemble / PACKED / (name if not (ensemble / PACKED / name).exists() else f"{name}-{generation}")
    partial = partial_path(folder)
    shutil.rmtree(partial, ignore_errors=True)
    make_folder(partial)
    write_text(partial / INDEX, json.dumps({"generation": generation, "members": list(numbers)}))
    _take_over(Pack(partial), before)
    publish(partial, folder)
    return Pack(folder)


def _take_over(pack: Pack, before: dict[int, Pack]) -> None:
    """Copy rows, log lines and statuses of members from the packs that held them."""
    lines: list[str] = []
    statuses = {number: holder.read_statuses().get(number) for number, holder in before.items()}
    for other in {id(pack): pack for pack in before.values()}.values():
        own = [number for number, holder in before.items() if holder is other]
        for file in other.files:
            place = file.path.parent.relative_to(other.folder)
            make_folder(pack.folder / place)
            for number in own:
                for table in file.tables(number):
                    for row in table.rows:
                        pack.file(file.path.stem, str(place)).append(number, row, table.layout)
        logs = lines_by_member(other.log)
        lines += [line for number in own for line in logs.get(number, [])]
    pack.merge()
    pack.write_statuses({number: row for number, row in statuses.items() if row is not None})
    if lines:
        write_text(pack.log, "".join(f"{line}\n" for line in sorted(lines)))


def _remove_superseded(ensemble: Path) -> None:
    """Remove the packs whose members are all read from newer packs."""
    packs = packs_in(ensemble)
    used = {id(pack) for pack in {number: pack for pack in packs for number in pack.numbers}.values()}
    for pack in packs:
        if id(pack) not in used:
            shutil.rmtree(pack.folder, ignore_errors=True)


def number_of(member: Path) -> int | None:
    """The number of a member by the name of its directory; None for any other directory."""
    match = MEMBER.fullmatch(member.name)
    return int(match[1]) if match else None


@lru_cache(maxsize=16)
def _read_statuses(path: Path, *changed: int) -> dict[int, dict[str, Any]]:
    with path.open(encoding="utf-8", newline="") as file:
        return {int(row.pop("member")): _known(row) for row in csv.DictReader(file)}


def _known(row: dict[str, str]) -> dict[str, Any]:
    return {name: text if name in TEXTS else float(text) for name, text in row.items() if text}


# ---- log --------------------------------------------------------------------------------------------------------

LINE = re.compile(r"(\d{4}-\d\d-\d\d [\d:,]+ [DIWEC] )member-(\d+): (.*)")


def lines_by_member(log: Path) -> dict[int, list[str]]:
    """Lines of a log that begin with the name of a member, by its number."""
    try:
        mark = log.stat()
    except OSError:
        return {}
    return _lines_by_member(log, mark.st_mtime_ns, mark.st_size)


@lru_cache(maxsize=4)
def _lines_by_member(log: Path, *changed: int) -> dict[int, list[str]]:
    lines: dict[int, list[str]] = {}
    for match in map(LINE.match, log.read_text(encoding="utf-8", errors="replace").splitlines()):
        if match:
            lines.setdefault(int(match[2]), []).append(match[0])
    return lines


def log_of_run(directory: Any) -> list[str]:
    """Lines of a run's log, `RunDirectory`; of a member that shares its log, its own without its name."""
    pack = directory.pack
    if pack is not None:
        own = lines_by_member(pack.log).get(number_of(directory.path) or 0, [])
        return [LINE.sub(r"\1\3", line) for line in own]
    try:
        return list(directory.log.read_text(encoding="utf-8", errors="replace").splitlines())
    except OSError:
        return []


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
