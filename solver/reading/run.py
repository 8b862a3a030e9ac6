"""`open_run` opens a run's directory for analysis in Python."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

from solver.config import ConfigError, nearest, read_toml
from solver.io import SERIES, RunDirectory, list_snapshots, read_slices
from solver.reading.datasets import records_dataset, series_dataset, snapshots_dataset
from solver.reading.optional import needed
from solver.reading.outcome import RunStatus, refuse_ensemble, run_status

FIELDS = "fields"  # name of the mean fields among the statistics


def open_run(directory: str | Path) -> OpenRun:
    """Open a run's directory to read, whether the run is finished, under way, blown up or has written nothing yet.

    Args:
        directory: the run's directory.

    Returns:
        An object with the datasets. Each is read when it is first used; another `open_run` reads it again.

    Raises:
        ConfigError: there is no run in the directory, or an ensemble of them, or its run file cannot be read.
        ModuleNotFoundError: xarray is not installed.
    """
    opened = RunDirectory(Path(directory))
    if not opened.run_file.is_file():
        raise ConfigError(f"{directory} holds no run: {opened.run_file} does not exist")
    needed("xarray", "open_run", "analysis")
    refuse_ensemble(opened)
    return OpenRun(opened, read_toml(opened.run_file))


class OpenRun:
    """A run's files as xarray datasets.

    Attributes:
        config: the resolved run file, as tables.
        provenance: versions, devices and command lines; empty if they were not recorded.
        records: datasets of all NAME.h5 with arrays against time, by NAME.
        particles: datasets of all particles/NAME.h5, by NAME: `position` `(t, particle, direction)`, unwrapped, and
            what was recorded there.
        statistics: datasets of all statistics/NAME.h5, by NAME; `particles-NAME` has averages over the particles of a
            NAME, `fields` the mean fields, read lazily as snapshots.
    """

    def __init__(self, directory: RunDirectory, config: dict[str, Any]) -> None:
        self.directory = directory
        self.config = config
        self.records: Mapping[str, Any] = _Datasets(
            directory.store.names,
            lambda name: records_dataset(directory.store.rows(name)),
            f"{directory.path}: the run recorded no",
            lambda datasets: f"records in {directory.path}: {', '.join(datasets) or 'none'}",
        )
        tracks = directory.particles.name
        self.particles: Mapping[str, Any] = _Datasets(
            lambda: directory.store.names(tracks),
            lambda name: records_dataset(directory.store.rows(name, tracks)),
            f"{directory.path}: the run wrote no particles",
            lambda datasets: f"particles in {directory.path}: {', '.join(datasets) or 'none'}",
        )
        means = directory.statistics
        self.statistics: Mapping[str, Any] = _Datasets(
            lambda: [*directory.store.names(means.name), *([FIELDS] if list_snapshots(means) else [])],
            lambda name: (
                _mean_fields(means) if name == FIELDS else records_dataset(directory.store.rows(name, means.name))
            ),
            f"{directory.path}: the run has no statistics of",
            lambda datasets: f"statistics in {directory.path}: {', '.join(datasets) or 'none'}{_windows(datasets)}",
        )

    def __repr__(self) -> str:
        kept = f"{len(list_snapshots(self.directory.snapshots))} snapshots"
        return (
            f"<run {self.title or 'untitled'!r} in {self.directory.path}: {', '.join(['series', *self.records, kept])}>"
        )

    @property
    def title(self) -> str:
        """Title of the run; empty without a title."""
        return str(self.config.get("title", ""))

    @property
    def run_status(self) -> RunStatus:
        """Status of the run now, with its newest step and the warnings of its log."""
        return run_status(self.directory)

    @cached_property
    def provenance(self) -> dict[str, Any]:
        """Versions, devices and command line of the run's last start; empty if they cannot be read."""
        try:
            return dict(json.loads(self.directory.provenance.read_text(encoding="utf-8")))
        except (OSError, ValueError):
            return {}

    @cached_property
    def series(self) -> Any:
        """Dataset of the scalars against time t."""
        return series_dataset(self.directory.store.rows(SERIES))

    @property
    def spectra(self) -> Any:
        """Dataset of the shell spectra, `(t, k)`.

        Raises:
            ConfigError: the run recorded no spectra.
        """
        return self.records["spectra"]

    @cached_property
    def snapshots(self) -> Any:
        """Dataset of all snapshots along time t; values are read from the files when they are needed.

        If dask is installed, each field is an array of one chunk per file; otherwise it reads the values of an index.
        """
        return snapshots_dataset(list_snapshots(self.directory.snapshots))

    @cached_property
    def slices(self) -> Any:
        """Dataset of all slices along time t, with variables such as `velocity_z12`; read like `snapshots`.

        A part of an axis has a coordinate of its own, such as `x_3_5`; an axis that is dropped is an attribute, `z`.
        """
        return snapshots_dataset(list_snapshots(self.directory.slices), read_slices)


class _Datasets(Mapping[str, Any]):
    """Datasets by name; each is read when it is first used, and then kept."""

    def __init__(
        self,
        names: Callable[[], list[str]],
        read: Callable[[str], Any],
        missing: str,
        description: Callable[[Mapping[str, Any]], str],
    ) -> None:
        self._names, self._open, self._missing, self._description = names, read, missing, description
        self._read: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._read:
            known = self._names()
            if name not in known:
                raise ConfigError(f"{self._missing} {name!r}{nearest(name, known)}")
            self._read[name] = self._open(name)
        return self._read[name]

    def __repr__(self) -> str:
        return f"<{self._description(self)}>"

    def __contains__(self, name: object) -> bool:
        return name in self._names()

    def __iter__(self) -> Iterator[str]:
        return iter(self._names())

    def __len__(self) -> int:
        return len(self._names())


def _mean_fields(folder: Path) -> Any:
    return snapshots_dataset(list_snapshots(folder))


def _windows(statistics: Mapping[str, Any]) -> str:
    """Number, times and samples of the windows, which all statistics share; empty if they cannot be read."""
    try:
        first = next(iter(statistics.values()))
    except (StopIteration, OSError, ValueError):  # a damaged file is still named
        return ""
    if not (count := first.sizes["t"]):
        return ""
    since, t, samples = float(first["since"][0]), float(first["t"][-1]), int(first["samples"].sum())
    return f"; {count} window{'s'[: count > 1]} from t = {since:.6g} to {t:.6g} with {samples} samples"
