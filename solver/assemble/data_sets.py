"""Checks that the members of an ensemble can make one data set, before a device is touched."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from solver.config import Config, ConfigError
from solver.config.ensemble import MOST_AGAIN, Draw
from solver.config.toml import keys_of
from solver.io import RunDirectory

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


def draws_to_check(config: Config) -> Iterator[tuple[str, Config]]:
    """Members as they would be if they blew up and were drawn again, where no bound of the draw holds for all.

    Only of a normal distribution: the smallest and the largest value among all that can be drawn.

    Yields:
        What the member has of its own, and its run file.
    """
    if config.ensemble is None or config.member is None or "well" not in config.outputs:
        return
    table, again = config.to_table(), range(1, MOST_AGAIN + 1)
    for key, draw in config.ensemble.draw.items():
        if isinstance(draw, Draw) and draw.normal is not None:
            drawn = [(n, config.ensemble.drawn_again({n: k})) for n in range(len(config.members)) for k in again]
            values = [of.values(n, table)[key] for n, of in drawn]
            for place in {values.index(min(values)), values.index(max(values))}:
                number, of = drawn[place]
                yield f"{key} = {values[place]!r}", config.member(of, number)


def refuse_data_set_of_one(config: Config, path: Path) -> None:
    """Raises ConfigError if a run file with `[output.well]` has no `[ensemble]`, and is not a member's run file."""
    begun = RunDirectory(path.parent)
    is_run = path.name == begun.run_file.name and begun.provenance.exists()
    if config.ensemble is None and "well" in config.outputs and not is_run:
        raise ConfigError("output.well: a data set is made of the members of an ensemble; [ensemble] is needed")
