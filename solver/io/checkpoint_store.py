"""The checkpoints of a run: which are whole, which may go.

Nothing here reads arrays; a checkpoint is judged by its manifest, and its files by their sizes and checksums.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax

from solver.cluster import LOGGER, Agreement, any_process, is_first
from solver.io.files import PARTIAL, checksum, partial_path
from solver.io.manifest import CheckpointError, list_checkpoints, read_manifest
from solver.io.shared_file import NAME as NAME_OF_SHARED
from solver.io.shared_file import block_checksums


def verify(path: Path, part: int = 0, parts: int = 1) -> list[str]:
    """What is wrong with a checkpoint, as lines; empty if nothing. Of its files or their blocks, every `parts`-th."""
    try:
        files = read_manifest(path)["files"]
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
    return all(claimed[number] == found for number, found in block_checksums(file, part, parts).items())


def verify_together(path: Path) -> list[str]:
    """As `verify`, each process its share; the same verdict on all of them. Collective."""
    problems = verify(path, jax.process_index(), jax.process_count())
    if any_process(bool(problems)):
        return problems or [f"{path}: another process found its files damaged"]
    return []


def newest_valid(folder: Path | str) -> tuple[Path | None, dict[Path, list[str]]]:
    """The newest checkpoint that is whole, and the newer ones that are not, with what is wrong with them.

    Collective: each process checks its share of the files.
    """
    damaged: dict[Path, list[str]] = {}
    for path in reversed(_listed_by_first(folder, Agreement("newest"))):
        problems = verify_together(path)
        if not problems:
            return path, damaged
        damaged[path] = problems
    return None, damaged


def set_aside(path: Path) -> Path:
    """Rename a damaged checkpoint out of the way; it is kept. First process only."""
    number = 0
    while (aside := path.with_name(f"{path.name}.damaged-{number}")).exists():
        number += 1
    os.replace(path, aside)
    return aside


def remove_leftovers(folder: Path) -> None:
    """Delete what an interrupted writing left beside. First process only."""
    for path in folder.glob(f".*{PARTIAL}"):
        shutil.rmtree(path, ignore_errors=True) if path.is_dir() else path.unlink()


def keep_newest(
    folder: Path, keep: int, agreement: Agreement, for_good: Callable[[dict[str, Any]], bool] | None = None
) -> None:
    """Delete all but the newest `keep`, once the newest of all has been read back and found whole. Collective.

    Args:
        folder: of the checkpoints.
        keep: how many.
        agreement: of the processes.
        for_good: whether the checkpoint with a manifest is to stay in any case.
    """
    paths = _listed_by_first(folder, agreement)
    if len(paths) <= keep:
        return
    with agreement.together():
        problems = verify(paths[-1], jax.process_index(), jax.process_count())
        if problems:
            raise CheckpointError(f"{paths[-1]} was written damaged; older ones are kept: {'; '.join(problems)}")
    with agreement.together():
        for path in paths[:-keep] if is_first() else ():
            if for_good is None or not _stays(path, for_good):
                _delete(path)


def _listed_by_first(folder: Path | str, agreement: Agreement) -> list[Path]:
    """Checkpoints that the first process sees: what another one sees may be older."""
    names = agreement.tell(json.dumps([path.name for path in list_checkpoints(folder)]))
    return [Path(folder) / name for name in json.loads(names)]


def _stays(path: Path, for_good: Callable[[dict[str, Any]], bool]) -> bool:
    try:
        return for_good(read_manifest(path))
    except CheckpointError:
        return True  # it may be one of those, and nobody can tell now


def _delete(path: Path) -> None:
    """A checkpoint that will not go is no reason to end a run."""
    doomed = partial_path(path)
    try:
        os.replace(path, doomed)  # out of sight first: never half a checkpoint under a valid name
        shutil.rmtree(doomed)
    except OSError as error:
        LOGGER.warning("%s could not be deleted: %s", path, error)
