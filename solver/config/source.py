"""A user's file with classes, its copy in a run's directory, and the checksum that ends the copy's name."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, field
from pathlib import Path

from solver.config.messages import ConfigError

SHORT = 12  # digits of the checksum in the name of a copy
COPY = re.compile(rf"-([0-9a-f]{{{SHORT}}})\.py(?=:|$)")
PART = 2**24  # bytes that are read at once


@dataclass(frozen=True)
class Source:
    """A user's file as it was read.

    Args:
        path: path of the file.
        content: its bytes.
    """

    path: Path
    content: bytes = field(repr=False)

    @classmethod
    def read(cls, path: Path) -> Source:
        """Read the file.

        Raises:
            ConfigError: it cannot be read, or is a copy whose contents do not match the checksum in its name.
        """
        try:
            source = cls(path, path.read_bytes())
        except OSError as error:
            reason = "no such file" if isinstance(error, FileNotFoundError) else str(error)
            raise ConfigError(f"{path}: {reason}") from None
        copied = COPY.search(path.name)
        if copied is not None and copied[1] != source.checksum[:SHORT]:
            raise ConfigError(f"{path}: it was changed since it was copied here, which makes other physics of the run")
        return source

    @property
    def checksum(self) -> str:
        """SHA-256 of the contents."""
        return hashlib.sha256(self.content).hexdigest()

    @property
    def copy_name(self) -> str:
        """Name of its copy in a run's directory; a copy keeps its name."""
        return f"{original_name(self.path.name).removesuffix('.py')}-{self.checksum[:SHORT]}.py"


def is_copy(name: str) -> bool:
    """True if this is the name of a copy in a run's own directory: no folder, and a checksum at the end."""
    return Path(name).name == name and COPY.search(name) is not None


def original_name(name: str) -> str:
    """The name without the checksum of a copy: `waves-0123456789ab.py:Waves` gives `waves.py:Waves`."""
    return COPY.sub(".py", name)


def checksum(path: Path, size: int | None = None) -> str:
    """SHA-256 of a file's bytes, or of its first `size` bytes."""
    digest, left = hashlib.sha256(), path.stat().st_size if size is None else size
    with path.open("rb") as file:
        while left > 0 and (part := file.read(min(left, PART))):
            digest.update(part)
            left -= len(part)
    return digest.hexdigest()
