"""A scan: one key of the run file with several values, each a run in a directory of its own."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import PurePosixPath

from solver.config import ConfigError


@dataclass(frozen=True)
class Scan:
    """A key and its values, as they are written in TOML."""

    key: str
    values: tuple[str, ...]

    @property
    def overrides(self) -> list[str]:
        """`key=value` of each run."""
        return [f"{self.key}={value}" for value in self.values]

    def directories(self, base: str) -> list[str]:
        """A directory below `base` for each run, named after key and value.

        Raises:
            ConfigError: two values give the same name.
        """
        names = [re.sub(r"[^\w.+=-]+", "_", override).strip("_") for override in self.overrides]
        for name in names:
            if names.count(name) > 1:
                raise ConfigError(f"--scan {self.key}: two runs would write to {PurePosixPath(base) / name}")
        return [str(PurePosixPath(base) / name) for name in names]


def read_scan(written: str) -> Scan:
    """`section.key=v1,v2,…`; commas within brackets, braces or quotes belong to a value.

    Raises:
        ConfigError: no key, no value, or the directory as key.
    """
    key, sign, text = written.partition("=")
    values = tuple(_split(text))
    if not sign or not re.fullmatch(r"[\w-]+(\.[\w-]+)+", key) or not all(values):
        raise ConfigError(f"--scan {written}: section.key=value,value,… is needed")
    if key == "output.directory":
        raise ConfigError(f"--scan {written}: each run has a directory of its own anyway; name another key")
    return Scan(key, values)


def _split(text: str) -> list[str]:
    parts, depth, quote = [""], 0, ""
    for character in text:
        if character == "," and not depth and not quote:
            parts.append("")
            continue
        if quote:
            quote = "" if character == quote else quote
        elif character in "\"'":
            quote = character
        depth += (character in "[{") - (character in "]}") if not quote else 0
        parts[-1] += character
    return [part.strip() for part in parts]
