"""The checksum of a file's contents: of bodies, checkpoints, outputs and data sets alike."""

from __future__ import annotations

import hashlib
from pathlib import Path

PART = 2**24  # bytes that are read at once


def checksum(path: Path, size: int | None = None) -> str:
    """SHA-256 of a file's bytes, or of its first `size` bytes."""
    digest, left = hashlib.sha256(), path.stat().st_size if size is None else size
    with path.open("rb") as file:
        while left > 0 and (part := file.read(min(left, PART))):
            digest.update(part)
            left -= len(part)
    return digest.hexdigest()
