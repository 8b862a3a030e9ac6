"""A run's directory, for commands that look into one."""

from __future__ import annotations

from pathlib import Path

from solver.assemble.registry import Registry, known_outputs
from solver.config import ConfigError, parse, read_toml
from solver.io import RunDirectory
from solver.outputs.base import Output


def open_run(path: str) -> RunDirectory:
    """The directory of a run.

    Raises:
        ConfigError: there is no run in it.
    """
    directory = RunDirectory(Path(path))
    if not directory.run_file.exists():
        raise ConfigError(f"{path} holds no run: {directory.run_file} does not exist")
    return directory


def outputs_of(directory: RunDirectory) -> tuple[type[Output], ...]:
    """The kinds of output that may have written into it; without the run's own where its files cannot be imported.

    Raises:
        ConfigError: its run file is not TOML.
    """
    table = read_toml(directory.run_file)
    try:
        return parse(table, Registry(directory.path)).known_outputs
    except ConfigError:
        return known_outputs()
