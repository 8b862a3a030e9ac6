"""The list of a run's checkpoints, and their manifests. Imports no JAX."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

FORMAT = 6
NAME = re.compile(r"step-(\d{8,})")
MANIFEST = "manifest.json"


class CheckpointError(RuntimeError):
    """A checkpoint cannot be written or read, or is damaged."""


class OtherFormat(CheckpointError):
    """A checkpoint of a format that this version does not read; nothing else is known to be wrong with it.

    Attributes:
        reason: the format that it has, and the format that is read.
    """

    def __init__(self, path: Path, found: Any) -> None:
        self.reason = f"format {found}; this version of Slabwave reads format {FORMAT}"
        super().__init__(f"{path}: a checkpoint of {self.reason}")


def list_checkpoints(folder: Path | str) -> list[Path]:
    """Complete checkpoints, oldest first; they are not verified."""
    folder = Path(folder)
    paths = [p for p in folder.iterdir() if NAME.fullmatch(p.name) and p.is_dir()] if folder.is_dir() else []
    return sorted(paths, key=step_of)


def step_of(path: Path) -> int:
    """The step in the name of a checkpoint or snapshot."""
    match = NAME.fullmatch(path.stem)
    assert match is not None
    return int(match[1])


def read_manifest(path: Path) -> dict[str, Any]:
    """Read a checkpoint's manifest.

    Raises:
        CheckpointError: it is missing, unreadable or changed.
        OtherFormat: it has a format that this version does not read.
    """
    try:
        body = json.loads((path / MANIFEST).read_text(encoding="utf-8"))
        claimed = body.pop("sha256")
    except (OSError, ValueError, KeyError, AttributeError) as error:
        raise CheckpointError(f"{path / MANIFEST}: {type(error).__name__}: {error}") from error
    if digest(body) != claimed:
        raise CheckpointError(f"{path / MANIFEST}: its checksum does not match")
    if body["format"] != FORMAT:
        raise OtherFormat(path, body["format"])
    return body


def other_formats(folder: Path | str) -> dict[Path, str]:
    """The checkpoints of a format that this version does not read, and which format that is."""
    reasons = {}
    for path in list_checkpoints(folder):
        try:
            read_manifest(path)
        except OtherFormat as error:
            reasons[path] = error.reason
        except CheckpointError:
            continue
    return reasons


def ailments_of(path: Path) -> list[str] | None:
    """Problems of the state of a checkpoint, one line each; None if its manifest cannot be read."""
    try:
        return list(read_manifest(path).get("ailments", []))
    except CheckpointError:
        return None


def newest_healthy(paths: Sequence[Path]) -> Path | None:
    """The last of these checkpoints whose state is healthy, as its run found when it wrote it; else None."""
    return next((path for path in reversed(paths) if ailments_of(path) == []), None)


def newest_time(folder: Path | str) -> float | None:
    """Time of the newest checkpoint whose manifest can be read; None if there is no such checkpoint."""
    for path in reversed(list_checkpoints(folder)):
        try:
            return float(read_manifest(path)["t"])
        except CheckpointError:
            continue
    return None


def digest(body: dict[str, Any]) -> str:
    """Checksum of a manifest, without the entry of the checksum itself."""
    return hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()
