"""The members of an ensemble, one after the other, each in a directory of its own below that of the ensemble."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from solver import assemble
from solver.cli.one_run import blew_up_under, run_one
from solver.cluster import LOGGER, Agreement, is_first, largest
from solver.config import Config, read_toml
from solver.io import RunDirectory, write_text
from solver.loop import BlowUp
from solver.reading import run_status
from solver.simulation import locked_run_directory, refuse_earlier_end, refuse_other_physics
from solver.stop import StopRequest

OVER, BLOWN_UP = 1.0, 2.0  # what the first process tells the others of a member


def refuse_members(config: Config, directory: RunDirectory) -> None:
    """Raises ConfigError if a member has other physics than the run in its directory, or an earlier end."""
    for member, folder in zip(config.members, member_directories(config, directory), strict=True):
        if folder.run_file.exists():
            now = member.to_table()
            refuse_other_physics(folder, read_toml(folder.run_file), now, "the end and limits of [time]")
            refuse_earlier_end(folder, member.time.end)


def member_directories(config: Config, directory: RunDirectory) -> list[RunDirectory]:
    """The directories of all members, whether they were begun or not."""
    names = [Path(member.directory).name for member in config.members]
    return [RunDirectory(directory.path / name, directory.path) for name in names]


def run_members(
    assembly: assemble.Assembly,
    directory: RunDirectory,
    stop: StopRequest,
    lines: Sequence[str],
    *,
    continues: bool,
) -> bool:
    """Carry out each member that is not over. Collective.

    A member that blows up keeps its last good checkpoint, and the others go on.

    Args:
        assembly: the objects of the first member; all are on its devices.
        directory: of the ensemble.
        stop: asks for an early stop.
        lines: for the head of its log; the first one marks the start of each member's.
        continues: whether an existing ensemble may be continued.

    Returns:
        Whether all members came to their ends.

    Raises:
        BlowUp: after all others, if some blew up.
    """
    config, ensemble = assembly.config, assembly.config.ensemble
    assert ensemble is not None
    devices, folders = list(assembly.mesh.devices.flat), member_directories(config, directory)
    shared = config.to_table()
    values = [ensemble.values(number, shared) for number in range(len(folders))]
    blown_up = []
    with locked_run_directory(
        directory, config.to_toml(), devices, config.known_outputs, config.sources, continues=continues
    ) as lock:
        for line in lines:
            LOGGER.info(line)
        with Agreement("members").together():
            if is_first():
                write_text(directory.members, _table([folder.path.name for folder in folders], values))
        for number, (member, folder) in enumerate(zip(config.members, folders, strict=True)):
            said = ", ".join(f"{key} = {_word(value)}" for key, value in values[number].items())
            own = replace(member, directory=str(folder.path))
            before = _before(own, folder)
            if before == BLOWN_UP:
                blown_up.append(folder.path.name)
            if before:
                continue
            LOGGER.info("%s, %d of %d: %s", folder.path.name, number + 1, len(folders), said or "as the others")
            try:
                if not run_one(assemble.Assembly(own, assembly.mesh), folder, stop, lines[:1], continues=continues):
                    _remove_stop_file(folder)
                    if lock is not None:
                        lock.update_status(state="stopped")
                    return False
            except BlowUp:
                blown_up.append(folder.path.name)
        if blown_up:
            raise BlowUp(
                f"{directory.path}: {len(blown_up)} of {len(folders)} members blew up ({', '.join(blown_up)}); the "
                "others came to their ends"
            )
    return True


def _before(config: Config, directory: RunDirectory) -> float:
    """Whether a member is over already: finished, or blown up under the same run file. The first process decides."""
    there = 0.0
    if is_first() and directory.run_file.exists():
        now = run_status(directory)
        if blew_up_under(now, directory, config):
            there = BLOWN_UP
        elif now.status == "finished" and now.t >= config.time.end * (1 - 1e-9):
            there = OVER
    [agreed] = largest([there])
    return agreed


def _remove_stop_file(directory: RunDirectory) -> None:
    """Remove the file that asked all members to stop."""
    if is_first():
        directory.stop_files[-1].unlink(missing_ok=True)


def _table(names: Sequence[str], values: Sequence[Mapping[str, Any]]) -> str:
    """The members and their values, as CSV."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["member", *values[0]])
    writer.writerows([name, *map(_word, row.values())] for name, row in zip(names, values, strict=True))
    return text.getvalue()


def _word(value: Any) -> str:
    """A value as it stands in a run file, a text without quotes."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
