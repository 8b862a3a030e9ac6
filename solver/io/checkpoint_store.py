"""The checkpoints of a run: which of them are whole, and which may be deleted.

Nothing here reads arrays: a checkpoint is checked by its manifest, its files by their sizes and checksums.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from solver.cluster import LOGGER, Agreement, any_process, is_first, own_group
from solver.config.source import checksum
from solver.io.files import PARTIAL, partial_path
from solver.io.manifest import CheckpointError, OtherFormat, list_checkpoints, newest_healthy, read_manifest
from solver.io.shared_file import NAME as NAME_OF_SHARED, block_checksums


def verify(path: Path, part: int = 0, parts: int = 1) -> list[str]:
    """Problems of a checkpoint, one line each; empty if it is whole. Checks every `parts`-th file or block.

    Raises:
        OtherFormat: it has a format that this version does not read.
    """
    try:
        files = read_manifest(path)["files"]
    except OtherFormat:
        raise
    except CheckpointError as error:
        return [str(error)]
    problems = []
    for name in sorted(files) if NAME_OF_SHARED in files else sorted(files)[part::parts]:
        file, claimed = path / name, files[name]
        if not file.is_file():
            problems.append(f"{file}: missing")
        elif file.stat().st_size != claimed["size"]:
            problems.append(f"{file}: {file.stat().st_size} bytes instead of {claimed['size']}")
        elif not _matches(file, claimed["sha256"], part, parts):
            problems.append(f"{file}: its checksum does not match")
    return problems


def _matches(file: Path, claimed: str | list[str], part: int, parts: int) -> bool:
    if isinstance(claimed, str):
        return checksum(file) == claimed
    return all(claimed[number] == computed for number, computed in block_checksums(file, part, parts).items())


def verify_together(path: Path) -> list[str]:
    """`verify`, in which each process checks its share; all processes agree whether there are problems. Collective."""
    with Agreement("verify").together():
        problems = verify(path, own_group().place, own_group().size)
    if any_process(bool(problems)):
        return problems or [f"{path}: another process found its files damaged"]
    return []


def newest_valid(folder: Path | str) -> tuple[Path | None, dict[Path, list[str]]]:
    """The newest checkpoint that is whole, and the problems of the newer ones, which are damaged.

    Collective: each process checks its share of the files.

    Raises:
        OtherFormat: the newest one that is not damaged has a format that this version does not read.
    """
    damaged: dict[Path, list[str]] = {}
    for path in reversed(_listed_by_first(folder, Agreement("newest"))):
        problems = verify_together(path)
        if not problems:
            return path, damaged
        damaged[path] = problems
    return None, damaged


def set_aside(path: Path) -> Path:
    """Rename a damaged checkpoint, which is kept. First process only."""
    number = 0
    while (aside := path.with_name(f"{path.name}.damaged-{number}")).exists():
        number += 1
    os.replace(path, aside)
    return aside


def remove_leftovers(folder: Path) -> None:
    """Delete the partial files and folders of an interrupted run. First process only."""
    for path in folder.glob(f".*{PARTIAL}"):
        shutil.rmtree(path, ignore_errors=True) if path.is_dir() else path.unlink()


def keep_newest(
    folder: Path, keep: int, agreement: Agreement, is_permanent: Callable[[dict[str, Any]], bool] | None = None
) -> None:
    """Delete all but the newest `keep` checkpoints and the newest healthy one. Collective.

    The newest is read back first, and found whole.

    Args:
        folder: folder of the checkpoints.
        keep: number of checkpoints to keep.
        agreement: for agreement between the processes.
        is_permanent: function of a manifest; True if its checkpoint must never be deleted.
    """
    paths = _listed_by_first(folder, agreement)
    if len(paths) <= keep:
        return
    with agreement.together():
        problems = verify(paths[-1], own_group().place, own_group().size)
        if problems:
            raise CheckpointError(f"{paths[-1]} was written damaged; older ones are kept: {'; '.join(problems)}")
    with agreement.together():
        healthy = newest_healthy(paths) if is_first() else None
        for path in paths[:-keep] if is_first() else ():
            if path == healthy:
                continue
            if is_permanent is None or not _must_stay(path, is_permanent):
                _delete(path)


def _listed_by_first(folder: Path | str, agreement: Agreement) -> list[Path]:
    """The checkpoints that the first process lists; lists of other processes may be out of date."""
    names = agreement.tell(json.dumps([path.name for path in list_checkpoints(folder)]))
    return [Path(folder) / name for name in json.loads(names)]


def _must_stay(path: Path, is_permanent: Callable[[dict[str, Any]], bool]) -> bool:
    try:
        return is_permanent(read_manifest(path))
    except CheckpointError:
        return True  # without a manifest it may be one that must be kept


def _delete(path: Path) -> None:
    """Delete a checkpoint; log a failure, which must not end the run."""
    hidden = partial_path(path)
    try:
        os.replace(path, hidden)  # first, so that half a checkpoint never has a valid name
        shutil.rmtree(hidden)
    except OSError as error:
        LOGGER.warning("%s could not be deleted: %s", path, error)
