"""A run's directory, for commands that read it."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from solver.assemble.registry import Registry
from solver.config import ConfigError, read_toml
from solver.io import RunDirectory
from solver.reading import is_ensemble, refuse_ensemble


def open_run(path: str) -> RunDirectory:
    """The directory of one run, given by its path.

    Raises:
        ConfigError: there is no run in it, or an ensemble of runs.
    """
    directory = open_any(path)
    refuse_ensemble(directory)
    return directory


def open_any(path: str) -> RunDirectory:
    """The directory of a run or of an ensemble, given by its path.

    Raises:
        ConfigError: there is neither in it.
    """
    directory = RunDirectory(Path(path))
    if not directory.run_file.exists():
        raise ConfigError(f"{path} holds no run: {directory.run_file} does not exist")
    return directory


def file_to_write(given: str) -> Path:
    """The path of a file that `--output` names.

    Raises:
        ConfigError: it is a folder, or its folder does not exist.
    """
    path = Path(given)
    if path.is_dir():
        raise ConfigError(f"--output {given}: the name of a file is needed; this is a folder")
    if not path.parent.is_dir():
        raise ConfigError(
            f"--output {given}: there is no folder {path.parent}; the name of a file in a folder is needed"
        )
    return path


def runs_below(path: Path) -> list[RunDirectory]:
    """The runs in a directory, sorted by name; none if the directory is a run itself."""
    if not path.is_dir() or ((path / "config.toml").exists() and not is_ensemble(RunDirectory(path))):
        return []
    return [RunDirectory(folder) for folder in sorted(path.iterdir()) if (folder / "config.toml").exists()]


def runs_at(path: str) -> list[RunDirectory]:
    """The runs in a directory, or the one run that it is.

    Raises:
        ConfigError: no such directory is found.
    """
    return runs_below(Path(path)) or [open_run(path)]


def is_of_a_run(path: Path) -> bool:
    """True if a run file is the config.toml of a run's directory, which may come from someone else."""
    directory = RunDirectory(path.parent)
    others = (directory.provenance, directory.log, directory.series, directory.checkpoints)
    return path.name == directory.run_file.name and (directory.pack is not None or any(o.exists() for o in others))


def outputs_of(directory: RunDirectory) -> tuple[Any, ...]:
    """The kinds of output that may have written into a run's directory, including kinds from its own Python files.

    Imports the run's copies of these files, and nothing else that its run file names; prints both to stderr.

    Raises:
        ConfigError: its run file is not TOML.
    """
    registry, places = Registry(directory.path, copies_only=True), set()
    for kind, name in _named(read_toml(directory.run_file)):
        place = name.rpartition(":")[0]
        if not place or place in places:
            continue
        places.add(place)
        try:
            registry.find(kind, name)
            message = f"{directory.path / place} was imported: the run's own copy of its Python"
        except ConfigError as error:
            message = str(error)
        print(f"slabwave: {message}", file=sys.stderr)
    return tuple(registry.find("output", name).cls for name in registry.names("output"))


def _named(table: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Kind and name of each class that a resolved run file names."""
    for kind in ("equation", "closure", "initial", "forcing"):
        section = table.get(kind)
        for entry in [section, *(section.values() if isinstance(section, Mapping) else ())]:
            if isinstance(entry, Mapping) and isinstance(entry.get("name"), str):
                yield kind, entry["name"]
    time, output = table.get("time"), table.get("output")
    if isinstance(time, Mapping) and isinstance(time.get("stepper"), str):
        yield "stepper", time["stepper"]
    if isinstance(output, Mapping):
        yield from (("output", name) for name in output)
