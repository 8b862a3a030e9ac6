"""Scans: keys of the run file with several values each, swept by the ensemble that the job array carries out."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from solver.config import ConfigError, as_toml


@dataclass(frozen=True)
class Scan:
    """A key and its values, as they are written in TOML."""

    key: str
    values: tuple[str, ...]

    @property
    def override(self) -> str:
        """The override that makes an ensemble sweep the key."""
        return f'ensemble.sweep."{self.key}"=[{", ".join(map(as_toml, self.values))}]'


def read_scans(written: Sequence[str]) -> tuple[Scan, ...]:
    """All `--scan` of a command line. Every value goes with every other; the last scan varies fastest.

    Raises:
        ConfigError: see `read_scan`; a key is scanned twice.
    """
    scans = tuple(read_scan(text) for text in written)
    keys = [scan.key for scan in scans]
    twice = next((key for key in keys if keys.count(key) > 1), None)
    if twice is not None:
        raise ConfigError(f"--scan {twice}: given twice; all of its values go into one, {twice}=v1,v2,…")
    return scans


def read_scan(written: str) -> Scan:
    """Parse `section.key=v1,v2,…`. Commas inside brackets, braces or quotes belong to a value.

    Raises:
        ConfigError: there is no key or no value.
    """
    key, sign, text = written.partition("=")
    values = tuple(_split(text))
    if not sign or not re.fullmatch(r"[\w-]+(\.[\w-]+)+", key) or not all(values):
        raise ConfigError(f"--scan {written}: section.key=value,value,… is needed")
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
