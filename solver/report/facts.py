"""What there is to say of a run in words: what was run, how it ended, and the command that does it again."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from solver.config import ConfigError, read_toml
from solver.io import RecordsFile, RunDirectory, read_series, read_units
from solver.pictures import Recorded
from solver.reading import Standing, standing
from solver.reading.run import recorded_names

WORDS = {
    "finished": "The run is finished",
    "running": "The run is under way",
    "stopped": "The run stopped before its end and can be continued",
    "blown up": "The solution blew up",
    "empty": "Nothing has been written yet",
}


@dataclass(frozen=True)
class Facts:
    """A run as a page tells of it.

    Args:
        directory: of the run.
        config: the resolved run file, as tables.
        provenance: empty if it was not recorded.
        standing: where the run stands.
        series, units: columns against time.
        records: what the files of records hold, by name.
        means: what the files of statistics hold, by name.
        unread: lines on files that could not be read.
    """

    directory: RunDirectory
    config: Mapping[str, Any]
    provenance: Mapping[str, Any]
    standing: Standing
    series: Mapping[str, np.ndarray]
    units: Mapping[str, str]
    records: Mapping[str, Recorded]
    unread: tuple[str, ...]
    means: Mapping[str, Recorded] = field(default_factory=dict)

    @property
    def title(self) -> str:
        """Of the run, or what it solves."""
        return str(self.config.get("title") or f"{self.config['equation']['name']} run")


def read_facts(path: Path) -> Facts:
    """Read a run's directory; a damaged file is named, the others are shown.

    Raises:
        ConfigError: there is no run in the directory, or its run file cannot be read.
    """
    directory = RunDirectory(path)
    if not directory.run_file.is_file():
        raise ConfigError(f"{path} holds no run: {directory.run_file} does not exist")
    config = read_toml(directory.run_file)
    unread: list[str] = []
    records = _recorded(path, Recorded.read, unread)
    means = _recorded(path / "statistics", Recorded.read_means, unread)
    there = directory.series.exists()
    return Facts(
        directory=directory,
        config=config,
        provenance=_provenance(directory),
        standing=standing(directory),
        series=read_series(directory.series) if there else {},
        units=read_units(directory.series) if there else {},
        records=records,
        means=means,
        unread=tuple(unread),
    )


def _recorded(folder: Path, read: Callable[[RecordsFile], Recorded | None], unread: list[str]) -> dict[str, Recorded]:
    """By name; a line to `unread` for each file that cannot be read."""
    found = {}
    for name in recorded_names(folder):
        try:
            recorded = read(RecordsFile(folder / f"{name}.h5"))
        except (ValueError, OSError) as error:
            unread.append(" ".join(str(error).split()))
        else:
            if recorded is not None:
                found[name] = recorded
    return found


def _provenance(directory: RunDirectory) -> dict[str, Any]:
    try:
        return dict(json.loads(directory.provenance.read_text(encoding="utf-8")))
    except (OSError, ValueError):
        return {}


def flat(table: Mapping[str, Any], before: str = "") -> dict[str, str]:
    """A run file's keys with dots, and their values as text."""
    found: dict[str, str] = {}
    for key, value in table.items():
        if isinstance(value, Mapping):
            found |= flat(value, f"{before}{key}.")
        else:
            found[f"{before}{key}"] = _value(value)
    return found


def _value(value: Any) -> str:
    if isinstance(value, list):
        return f"[{', '.join(_value(one) for one in value)}]"
    return str(value).lower() if isinstance(value, bool) else str(value)


def ending(facts: Facts) -> str:
    """How the run stands in one sentence."""
    where = facts.standing
    if where.how == "empty":
        return f"{WORDS['empty']}."
    share = f", {100 * where.t / where.end:.0f} % of the way to t = {where.end:g}" if where.how != "finished" else ""
    return f"{WORDS[where.how]}: step {where.step}, t = {where.t:.6g}{share}."


def commands(facts: Facts) -> str:
    """Lines for a shell that do the run again: as it was started, and from the resolved run file."""
    starts = [*facts.provenance.get("earlier", []), facts.provenance]
    given = [list(map(str, start.get("command", []))) for start in starts]
    words = given[0]
    if "script" in facts.config:
        return f"python {shlex.join(words or [str(facts.config['script'])])}"
    lines = []
    if words:
        lines += ["# as it was started", shlex.join(["slabwave", *words[1:]])]
    if given[-1] != words:
        lines += ["# as it was last continued", shlex.join(["slabwave", *given[-1][1:]])]
    run_file = shlex.quote(str(facts.directory.run_file))
    lines += ["# the same physics from its resolved run file, into a new directory"]
    lines += [f"slabwave run {run_file} output.directory={shlex.quote(f'{facts.directory.path}-again')}"]
    return "\n".join(lines)


def statistics(facts: Facts) -> list[list[str]]:
    """For each column that changes: first, last, least, largest value, mean and deviation of the later half."""
    rows = []
    for name, values in facts.series.items():
        seen = values[np.isfinite(values)]
        if name in ("step", "t") or len(seen) < 2 or not np.ptp(seen) > 0:
            continue
        later = seen[len(seen) // 2 :]
        with np.errstate(over="ignore"):  # the last rows before a blow-up
            told = (seen[0], seen[-1], seen.min(), seen.max(), later.mean(), later.std())
        rows.append([name, facts.units.get(name, ""), *(f"{value:.5g}" for value in told)])
    return rows
