"""The members of an ensemble, batch after batch, each in a directory of its own below the ensemble's."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

from jax.sharding import Mesh

from solver import assemble
from solver.cli.member_outputs import OutputGroup
from solver.cli.one_run import blew_up_under, came_to_its_end, one_of_several, run_one
from solver.cluster import LOGGER, Agreement, Watchdog, is_first, largest, log_of
from solver.config import Config, Share, read_toml
from solver.io import RunDirectory, RunLock, write_text, writing_threads
from solver.loop import BlowUp, Members
from solver.mesh import AnyMesh
from solver.reading import run_status
from solver.reading.ensemble import member_rows
from solver.simulation import (
    CommonFiles,
    SharedFiles,
    carry_out_together,
    locked_run_directory,
    refuse_earlier_end,
    refuse_other_physics,
    shared_directory,
    shared_files,
)
from solver.stop import StopRequest

WRITING_THREADS = 8  # of members that go on together: each has a few files open while it writes a checkpoint
OVER, BLOWN_UP = 1.0, 2.0  # what the first process tells the others of a member


def refuse_members(config: Config, directory: RunDirectory, share: Share | None = None) -> None:
    """Raises ConfigError if a member has other physics than the run in its directory, or an earlier end."""
    if config.ensemble is None:
        return
    for number, folder in members_begun(config, directory, share).items():
        member = config.members[number]
        refuse_other_physics(folder, read_toml(folder.run_file), member.to_table(), "the end and limits of [time]")
        refuse_earlier_end(folder, member.time.end)


def members_begun(config: Config, directory: RunDirectory, share: Share | None) -> dict[int, RunDirectory]:
    """The directories of those members of a share that were begun, by number."""
    assert config.ensemble is not None
    folders = member_directories(config, directory)
    return {number: folders[number] for number in config.ensemble.numbers(share) if folders[number].run_file.exists()}


def member_directories(config: Config, directory: RunDirectory) -> list[RunDirectory]:
    """The directories of all members, whether they were begun or not."""
    names = [Path(member.directory).name for member in config.members]
    return [RunDirectory(directory.path / name, directory.path) for name in names]


def run_members(
    assembly: assemble.Assembly,
    directory: RunDirectory,
    stop: StopRequest,
    lines: Sequence[str],
    output_group: OutputGroup,
    *,
    continues: bool,
    share: Share | None = None,
) -> bool:
    """Carry out each member that is not over, batch after batch. Collective.

    A member that blows up keeps its last good checkpoint, and the others continue.

    Args:
        assembly: the objects of the first member; all are on its devices.
        directory: directory of the ensemble.
        stop: requests an early stop.
        lines: for the head of its log; the first one marks the start of each member's.
        output_group: the processes that carry out the members' outputs, if other processes do.
        continues: True if an existing ensemble may be continued.
        share: the part of the members that this job carries out while others carry out the rest; all by default.

    Returns:
        Whether all members of the job came to their ends.

    Raises:
        BlowUp: after all others, if some blew up.
    """
    config, ensemble = assembly.config, assembly.config.ensemble
    assert ensemble is not None
    assert isinstance(assembly.mesh, Mesh)
    folders = member_directories(config, directory)
    table = config.to_table()
    values = [ensemble.values(number, table) for number in range(len(folders))]
    with _held(assembly, directory, folders, values, continues, share) as lock:
        for line in lines:
            LOGGER.info(line)
        batches = assemble.batches(config, assembly.mesh, share)
        numbers = [number for batch in batches for number in batch.numbers]
        with shared_files(directory, numbers if ensemble.packed else ()) as files:
            run = _Run(
                assembly.analyse, directory, folders, files, values, stop, lines[:1], output_group, ensemble.attempts,
                continues,
            )  # fmt: skip
            for batch in batches:
                if not run.carry_out(batch):
                    if share is None:
                        _remove_stop_file(directory)
                    if lock is not None:
                        lock.update_status(state="stopped")
                    return False
        if run.blown_up:
            names = ", ".join(folders[number].path.name for number in sorted(run.blown_up))
            of = f"{len(ensemble.numbers(share))} members{f' of {share}' if share else ''}"
            raise BlowUp(
                f"{directory.path}: {len(run.blown_up)} of {of} blew up ({names}); the others came to their ends"
            )
    return True


@contextmanager
def _held(
    assembly: assemble.Assembly,
    directory: RunDirectory,
    folders: Sequence[RunDirectory],
    values: Sequence[Mapping[str, Any]],
    continues: bool,
    share: Share | None,
) -> Iterator[RunLock | None]:
    """Hold the ensemble's directory, or the folder of a job that shares it, with the ensemble's own files written."""
    config, devices = assembly.config, list(assembly.mesh.devices.flat)
    names = [folder.path.name for folder in folders]
    if share is not None:
        assert config.ensemble is not None
        own = [names[number] for number in config.ensemble.numbers(share)]
        files = CommonFiles(config.to_toml(), _table(names, values), own, config.sources)
        does = own[0] if len(own) == 1 else f"{own[0]} to {own[-1]}"
        with shared_directory(directory, share, files, devices, does) as lock:
            yield lock
        return
    with locked_run_directory(
        directory, config.to_toml(), devices, config.known_outputs, config.sources, continues=continues
    ) as lock:
        with Agreement("members").together():
            if is_first():
                write_text(directory.members, _table(names, values, _begun_before(directory, names)))
        yield lock


class _Run:
    """An ensemble as one call of the command starts it.

    Args:
        analyse: mesh of other devices that carry out the members' outputs, if there are any.
        directory, folders: directory of the ensemble, and folder of each member.
        files: that members share.
        values: values of each member.
        stop, lines, output_group, continues: as of `run_members`.
        attempts: number of times that members were drawn again.

    Attributes:
        blown_up: numbers of the members that blew up, in this start or before.
    """

    def __init__(
        self,
        analyse: AnyMesh | None,
        directory: RunDirectory,
        folders: Sequence[RunDirectory],
        files: SharedFiles,
        values: Sequence[Mapping[str, Any]],
        stop: StopRequest,
        lines: Sequence[str],
        output_group: OutputGroup,
        attempts: Mapping[int, int],
        continues: bool,
    ) -> None:
        self.analyse = analyse
        self.directory, self.folders, self.files, self.values = directory, folders, files, values
        self.stop, self.lines, self.continues = stop, lines, continues
        self.output_group, self.attempts = output_group, attempts
        self.blown_up: set[int] = set()

    def carry_out(self, batch: assemble.Batch) -> bool:
        """Carry out the members of a batch that are not over; whether none of them was stopped early."""
        with self.files.held({number: self.folders[number] for number in batch.numbers}) as folders:
            return self._carry_out(batch, folders)

    def _carry_out(self, batch: assemble.Batch, folders: Mapping[int, RunDirectory]) -> bool:
        runs = {n: self._own(run, n) for n, run in zip(batch.numbers, batch.assemblies, strict=True)}
        before = {number: _before(run.config, folders[number]) for number, run in runs.items()}
        self.blown_up |= {number for number, how in before.items() if how == BLOWN_UP}
        left = [number for number in batch.numbers if not before[number]]
        for number in left:
            values = ", ".join(f"{key} = {_word(value)}" for key, value in self.values[number].items())
            name, of = folders[number].path.name, len(self.folders)
            LOGGER.info("%s, %d of %d: %s", name, number + 1, of, values or "as the others")
        if not left:
            return True
        if batch.size > 1:
            return self._together(batch, runs, {number: folders[number] for number in left})
        [number] = left
        self.output_group.begins(number, self.attempts.get(number, 0))
        try:
            with log_of(folders[number].path.name) if self.files.shared else nullcontext():
                return run_one(runs[number], folders[number], self.stop, self.lines, continues=self.continues)
        except BlowUp:
            self.blown_up.add(number)
            return True

    def _together(
        self, batch: assemble.Batch, runs: Mapping[int, assemble.Assembly], left: Mapping[int, RunDirectory]
    ) -> bool:
        LOGGER.info("%d of %d places of a batch, stepped by one program", len(left), batch.size)
        place_of = {number: place for place, number in enumerate(batch.numbers)}
        members = Members([(run.equation, run.stepper, run.control) for run in runs.values()], batch.size)
        with (
            Watchdog(runs[min(left)].limits.stall, self.directory.log) as watchdog,
            writing_threads(min(WRITING_THREADS, len(left))) as threads,
        ):
            begun = {
                place_of[number]: one_of_several(
                    runs[number], folder, self.stop, self.lines, continues=self.continues,
                    watchdog=watchdog, companions=len(left) - 1,
                    thread=threads[place_of[number] % len(threads)],
                )
                for number, folder in left.items()
            }  # fmt: skip
            names = {place_of[number]: folder.path.name for number, folder in left.items()}
            endings = carry_out_together(begun, members, names)
        self.blown_up |= {batch.numbers[place] for place, end in endings.items() if isinstance(end, BlowUp)}
        return all(endings.values())

    def _own(self, assembly: assemble.Assembly, number: int) -> assemble.Assembly:
        """The objects of a member, which writes into its own directory."""
        config = replace(assembly.config, directory=str(self.folders[number].path))
        return assemble.Assembly(config, assembly.mesh, self.analyse)


def _before(config: Config, directory: RunDirectory) -> float:
    """True if a member is over already: finished, or blown up under the same run file. The first process decides."""
    there = 0.0
    if is_first() and directory.run_file.exists():
        now = run_status(directory)
        if blew_up_under(now, directory, config):
            there = BLOWN_UP
        elif came_to_its_end(now, config):
            there = OVER
    [agreed] = largest([there])
    return agreed


def _remove_stop_file(directory: RunDirectory) -> None:
    """Remove the file that asked all members to stop."""
    if is_first():
        for file in directory.stop_files:
            file.unlink(missing_ok=True)


def _table(names: Sequence[str], values: Sequence[Mapping[str, Any]], others: Sequence[Sequence[str]] = ()) -> str:
    """The members and their values, as CSV; `others` are further lines."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["member", *values[0]])
    writer.writerows([name, *map(_word, row.values())] for name, row in zip(names, values, strict=True))
    writer.writerows(others)
    return text.getvalue()


def _begun_before(directory: RunDirectory, names: Sequence[str]) -> list[list[str]]:
    """Lines of members that were begun in an earlier start with more of them: their runs are there still."""
    rows = [row for row in member_rows(directory) if row["member"] not in names]
    return [list(row.values()) for row in rows if RunDirectory(directory.path / row["member"]).run_file.exists()]


def _word(value: Any) -> str:
    """A value as it is in a run file, a text without quotes."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
