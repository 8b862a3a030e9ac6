"""The checkpoints of a run: which there are, which are whole, which may go.

Nothing here reads arrays; a checkpoint is judged by its manifest, and its files by their sizes and checksums.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax

from solver.cluster import LOGGER, Agreement, any_process, is_first
from solver.io.files import PARTIAL, checksum, partial_path
from solver.io.shared_file import NAME as NAME_OF_SHARED
from solver.io.shared_file import block_checksums

FORMAT = 3
NAME = re.compile(r"step-(\d{8,})")
MANIFEST = "manifest.json"


class CheckpointError(RuntimeError):
    """A checkpoint that cannot be written, read, or believed."""


def list_checkpoints(folder: Path | str) -> list[Path]:
    """Complete checkpoints, oldest first; not checked."""
    folder = Path(folder)
    found = [p for p in folder.iterdir() if NAME.fullmatch(p.name) and p.is_dir()] if folder.is_dir() else []
    return sorted(found, key=step_of)


def step_of(path: Path) -> int:
    """Step in the name of a checkpoint, or of another file called after a step."""
    match = NAME.fullmatch(path.stem)
    assert match is not None
    return int(match[1])


def read_manifest(path: Path) -> dict[str, Any]:
    """A checkpoint's manifest.

    Raises:
        CheckpointError: missing, unreadable, altered, or of a format this version does not know.
    """
    try:
        body = json.loads((path / MANIFEST).read_text(encoding="utf-8"))
        claimed = body.pop("sha256")
    except (OSError, ValueError, KeyError, AttributeError) as error:
        raise CheckpointError(f"{path / MANIFEST}: {type(error).__name__}: {error}") from error
    if digest(body) != claimed:
        raise CheckpointError(f"{path / MANIFEST}: its checksum does not match")
    if body["format"] != FORMAT:
        raise CheckpointError(f"{path / MANIFEST}: format {body['format']}; this version reads {FORMAT}")
    return body


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


def newest_time(folder: Path | str) -> float | None:
    """Time of the newest checkpoint whose manifest can be read; None if there is none."""
    for path in reversed(list_checkpoints(folder)):
        try:
            return float(read_manifest(path)["t"])
        except CheckpointError:
            continue
    return None


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


def digest(body: dict[str, Any]) -> str:
    """Checksum of a manifest without its own."""
    return hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()
