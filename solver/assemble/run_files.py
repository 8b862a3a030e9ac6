"""Reading a run file. Its keys are checked without JAX, as long as it names no class of a user's file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from solver.assemble.registry import Registry
from solver.config import Config, ConfigError, Schema, load


def schema(
    folder: Path | str = ".", *, copies_only: bool = False, prepare: Callable[[], object] = lambda: None
) -> Schema:
    """The classes that a run file in this folder may name, for `solver.config.load`; see `Registry`."""
    return Registry(Path(folder), copies_only, prepare)


def read_run_file(
    path: str | Path,
    overrides: Sequence[str] = (),
    *,
    continues: Callable[[Config], bool] = lambda config: False,
    copies_only: bool = False,
    prepare: Callable[[], object] = lambda: None,
) -> Config:
    """A run file with its overrides, checked; every error names the file.

    Args:
        path: the file.
        overrides: `section.key=value`.
        continues: True if the run that a run file means continues from a checkpoint: files that it started from may be
            gone then.
        copies_only: import no Python but the copies that the run in the file's folder made.
        prepare: called before anything imports JAX. Wrong keys are refused before it, parts that do not fit after it.

    Raises:
        ConfigError: see `config.load` and `resolve`.
    """
    path = Path(path)
    config = parse_run_file(path, overrides, copies_only=copies_only, prepare=prepare)
    prepare()
    from solver.assemble.consistent import refuse_data_set_of_one, resolve

    try:
        refuse_data_set_of_one(config, path)
        return resolve(config, from_start=not continues(config))
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}") from error


def parse_run_file(
    path: Path,
    overrides: Sequence[str] = (),
    *,
    copies_only: bool = False,
    prepare: Callable[[], object] = lambda: None,
) -> Config:
    """A run file with its overrides; its parts are not checked against each other.

    Raises:
        ConfigError: see `config.load`.
    """
    return load(path, schema(path.parent, copies_only=copies_only, prepare=prepare), overrides)
