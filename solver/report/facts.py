"""Facts about a run for a page: its files, its status in words, and the command that repeats it."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from solver.config import ConfigError, read_toml
from solver.io import SERIES, Rows, RunDirectory
from solver.pictures import Recorded
from solver.reading import RunStatus, run_status

WORDS = {
    "finished": "The run is finished",
    "running": "The run is under way",
    "stopped": "The run stopped before its end and can be continued",
    "blown up": "The solution blew up",
    "empty": "Nothing has been written yet",
}


@dataclass(frozen=True)
class Facts:
    """Facts that a page shows of a run.

    Args:
        directory: directory of the run.
        config: the resolved run file, as tables.
        provenance: content of provenance.json; empty if it was not recorded.
        status: status of the run.
        series, units: columns against time.
        records: contents of the files of records, by name.
        means: contents of the files of statistics, by name.
        unread: one line for each file that could not be read.
    """

    directory: RunDirectory
    config: Mapping[str, Any]
    provenance: Mapping[str, Any]
    status: RunStatus
    series: Mapping[str, np.ndarray]
    units: Mapping[str, str]
    records: Mapping[str, Recorded]
    unread: tuple[str, ...]
    means: Mapping[str, Recorded] = field(default_factory=dict)

    @property
    def title(self) -> str:
        """Title of the run, or the name of its equation."""
        return str(self.config.get("title") or f"{self.config['equation']['name']} run")


def read_facts(path: Path) -> Facts:
    """Read a run's directory. A damaged file becomes a line of `unread`.

    Raises:
        ConfigError: there is no run in the directory, or its run file cannot be read.
    """
    directory = RunDirectory(path)
    if not directory.run_file.is_file():
        raise ConfigError(f"{path} holds no run: {directory.run_file} does not exist")
    config = read_toml(directory.run_file)
    unread: list[str] = []
    records = _recorded(directory, "", Recorded.read, unread)
    means = _recorded(directory, "statistics", Recorded.read_means, unread)
    scalars = directory.store.rows(SERIES).table()
    return Facts(
        directory=directory,
        config=config,
        provenance=_provenance(directory),
        status=run_status(directory),
        series={} if scalars is None else scalars.columns,
        units={} if scalars is None else scalars.units,
        records=records,
        means=means,
        unread=tuple(unread),
    )


def _recorded(
    directory: RunDirectory, folder: str, read: Callable[[Rows], Recorded | None], unread: list[str]
) -> dict[str, Recorded]:
    """Contents of the files of records in a folder, by name. A file that cannot be read adds a line to `unread`."""
    contents = {}
    for name in directory.store.names(folder):
        try:
            recorded = read(directory.store.rows(name, folder))
        except (ValueError, OSError) as error:
            unread.append(" ".join(str(error).split()))
        else:
            if recorded is not None:
                contents[name] = recorded
    return contents


def _provenance(directory: RunDirectory) -> dict[str, Any]:
    try:
        return dict(json.loads(directory.provenance.read_text(encoding="utf-8")))
    except (OSError, ValueError):
        return {}


def flat(table: Mapping[str, Any], before: str = "") -> dict[str, str]:
    """The keys of a run file written with dots, such as `time.end`, and their values as text."""
    texts: dict[str, str] = {}
    for key, value in table.items():
        if isinstance(value, Mapping):
            texts |= flat(value, f"{before}{key}.")
        else:
            texts[f"{before}{key}"] = _value(value)
    return texts


def _value(value: Any) -> str:
    if isinstance(value, list):
        return f"[{', '.join(_value(entry) for entry in value)}]"
    return str(value).lower() if isinstance(value, bool) else str(value)


def ending(facts: Facts) -> str:
    """The status of the run in one sentence."""
    now = facts.status
    if now.status == "empty":
        return f"{WORDS['empty']}."
    share = f", {100 * now.t / now.end:.0f} % of the way to t = {now.end:g}" if now.status != "finished" else ""
    return f"{WORDS[now.status]}: step {now.step}, t = {now.t:.6g}{share}."


def commands(facts: Facts) -> str:
    """Shell commands that repeat the run: as it was started, and from the resolved run file."""
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
    """For each column that changes: first, last, least and largest value; mean and deviation of the later half."""
    rows = []
    for name, values in facts.series.items():
        seen = values[np.isfinite(values)]
        if name in ("step", "t") or len(seen) < 2 or not np.ptp(seen) > 0:
            continue
        later = seen[len(seen) // 2 :]
        with np.errstate(over="ignore"):  # the last rows before a blow-up
            numbers = (seen[0], seen[-1], seen.min(), seen.max(), later.mean(), later.std())
        rows.append([name, facts.units.get(name, ""), *(f"{value:.5g}" for value in numbers)])
    return rows
