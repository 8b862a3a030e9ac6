"""A run's directory, for commands that look into one."""

from __future__ import annotations

from pathlib import Path

from solver.assemble.registry import Registry
from solver.config import ConfigError, read_toml
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


def outputs_of(directory: RunDirectory) -> list[type[Output]]:
    """The kinds of output that the run's own files define; those that cannot be imported here are left out."""
    table = read_toml(directory.run_file)
    registry = Registry(directory.path)
    names = [table.get("equation", {}).get("name", ""), *table.get("output", {})]
    for kind, name in zip(["equation", *["output"] * len(names)], names, strict=False):
        if ":" in name:
            try:
                registry.find(kind, name)
            except ConfigError:
                continue
    return [registry.find("output", name).cls for name in registry.names("output")]
