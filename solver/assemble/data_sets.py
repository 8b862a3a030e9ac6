"""Whether the members of an ensemble can make one data set, checked before a device is touched."""

from __future__ import annotations

import re
from pathlib import Path

from solver.config import Config, ConfigError, read_toml
from solver.config.toml import keys_of

MEMBER = re.compile(r"member-\d{4,}")
OF_ALL = (("time", "end"), ("output", "well"), ("grid",), ("equation", "name"), ("equation", "fields"))
FREE = (("grid", "precision"),)  # files are in single precision


def check_data_set(config: Config) -> None:
    """Raises ConfigError if members with `[output.well]` differ in what all members of a data set share."""
    if config.ensemble is None or "well" not in config.outputs:
        return
    for key in (*config.ensemble.draw, *config.ensemble.sweep):
        keys = keys_of(key)
        if any(keys[: len(of_all)] == of_all for of_all in OF_ALL) and keys not in FREE:
            raise ConfigError(
                f"output.well: members differ in {key!r}; the same times, points and fields in all members are needed, "
                "so one value"
            )


def refuse_data_set_of_one(config: Config, path: Path) -> None:
    """Raises ConfigError if a run file with `[output.well]` has no `[ensemble]`, and is no member's own."""
    if config.ensemble is None and "well" in config.outputs and not _is_members(path):
        raise ConfigError("output.well: a data set is made of the members of an ensemble; [ensemble] is needed")


def _is_members(path: Path) -> bool:
    """Whether a run file is that of a member's directory, which lies in that of its ensemble."""
    folder = path.resolve().parent
    ensemble = folder.parent / "config.toml"
    return bool(MEMBER.fullmatch(folder.name)) and ensemble.is_file() and "ensemble" in read_toml(ensemble)
