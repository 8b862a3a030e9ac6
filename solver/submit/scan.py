"""Scans: keys of the run file with several values each. Every combination is a run in its own directory."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
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
        """An override `key=value` for each value."""
        return [f"{self.key}={value}" for value in self.values]


@dataclass(frozen=True)
class Scans:
    """The product of scans: a run for each combination of their values; the last scan varies fastest.

    Raises:
        ConfigError: a key is scanned twice.
    """

    scans: tuple[Scan, ...]

    def __post_init__(self) -> None:
        keys = [scan.key for scan in self.scans]
        twice = next((key for key in keys if keys.count(key) > 1), None)
        if twice is not None:
            raise ConfigError(f"--scan {twice}: given twice; all of its values go into one, {twice}=v1,v2,…")

    @property
    def runs(self) -> list[tuple[str, ...]]:
        """The overrides of each run: one for each scan."""
        return list(itertools.product(*(scan.overrides for scan in self.scans)))

    def directories(self, base: str) -> list[str]:
        """A directory below `base` for each run, named after its keys and values.

        Raises:
            ConfigError: two runs have the same name.
        """
        names = [re.sub(r"[^\w.+=-]+", "_", "_".join(run)).strip("_") for run in self.runs]
        for name in names:
            if names.count(name) > 1:
                raise ConfigError(f"--scan: two runs would write to {PurePosixPath(base) / name}")
        return [str(PurePosixPath(base) / name) for name in names]


def read_scans(written: Sequence[str]) -> Scans | None:
    """All `--scan` of a command line; None if there are none.

    Raises:
        ConfigError: see `read_scan` and `Scans`.
    """
    return Scans(tuple(read_scan(text) for text in written)) if written else None


def read_scan(written: str) -> Scan:
    """Parse `section.key=v1,v2,…`. Commas inside brackets, braces or quotes belong to a value.

    Raises:
        ConfigError: there is no key or no value, or the key is the directory.
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
