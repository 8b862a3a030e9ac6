"""The members of an ensemble read back: what each has of its own, and the curves of all."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from solver.config import read_toml
from solver.io import SERIES, RunDirectory


@dataclass(frozen=True)
class MemberSeries:
    """The members of an ensemble that have rows in their series.

    Args:
        names: names of the members' directories.
        values: by key of the run file, the value of each member, as text.
        swept: the keys that are swept; the others are drawn.
        series: columns of each member, by name.
        units: units of the columns.
    """

    names: tuple[str, ...]
    values: dict[str, tuple[str, ...]]
    swept: tuple[str, ...]
    series: tuple[dict[str, np.ndarray], ...]
    units: dict[str, str]

    @property
    def groups(self) -> dict[str, list[int]]:
        """Positions of the members of each combination of swept values, by these values as text."""
        found: dict[str, list[int]] = {}
        for i in range(len(self.names)):
            label = ", ".join(f"{key} = {self.values[key][i]}" for key in self.swept)
            found.setdefault(label or f"{len(self.names)} members", []).append(i)
        return found

    @property
    def numeric(self) -> dict[str, np.ndarray]:
        """Values by key, of the keys all of whose values are numbers that are not all equal."""
        found = {}
        for key, texts in self.values.items():
            try:
                numbers = np.array([float(text) for text in texts])
            except ValueError:
                continue
            if len(numbers) and np.ptp(numbers) > 0:
                found[key] = numbers
        return found

    def band(self, members: list[int], column: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Times, mean and standard deviation of a column over some members, at the times of the first one of them.

        Members are interpolated linearly to these times, up to the end of the one that ends first.
        """
        having = [self.series[i] for i in members if column in self.series[i]]
        t = having[0]["t"]
        t = t[t <= min(own["t"][-1] for own in having) * (1 + 1e-12)]
        rows = np.stack([np.interp(t, own["t"], own[column]) for own in having])
        return t, np.mean(rows, axis=0), np.std(rows, axis=0)


def read_members(directory: RunDirectory) -> MemberSeries:
    """The members of an ensemble that have two rows or more in their series."""
    ensemble = read_toml(directory.run_file).get("ensemble", {})
    rows = member_rows(directory)
    runs = [RunDirectory(directory.path / row["member"]) for row in rows]
    known = [(row, run.store.rows(SERIES).table()) for row, run in zip(rows, runs, strict=True)]
    kept = [(row, table) for row, table in known if table is not None and len(table.t) > 1]
    keys = [key for key in (rows[0] if rows else {}) if key != "member"]
    return MemberSeries(
        names=tuple(row["member"] for row, _ in kept),
        values={key: tuple(row[key] for row, _ in kept) for key in keys},
        swept=tuple(ensemble.get("sweep", {})),
        series=tuple(series.columns for _, series in kept),
        units=kept[0][1].units if kept else {},
    )


def member_rows(directory: RunDirectory) -> list[Mapping[str, Any]]:
    """Name and values of each member of an ensemble, as text by key; empty before it was started."""
    if not directory.members.exists():
        return []
    with directory.members.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))
