"""The contents of a data set: its files, the members of each file in their order, and the part of each member.

The number of the member, the split and the ensemble's seed decide its part, and nothing else: neither devices, nor how
many members there are, nor which of them blew up.
"""

from __future__ import annotations

import copy
import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

from solver.config import Config
from solver.config.ensemble import MOST_AGAIN
from solver.config.toml import keys_of
from solver.outputs.well import PARTS, Well

NOT_OF_DATA = ("title", "reference", "devices")  # sections of a run file that say nothing of the data
LARGEST = 100  # members of a block, at most
SHARED = ("equation", "scalars", "closure", "forcing")  # sections whose numbers every member has
LEFT_OUT = ("random.seed",)  # says nothing of the physics; the manifest has it


@dataclass(frozen=True)
class Trajectory:
    """A member in a data set.

    Args:
        number: number of the member.
        folder: its directory.
        part: `train`, `valid` or `test`.
        values: the values of the member that differ from the run file, by key.
        scalars: its numbers by name.
        attempts: number of times that it was drawn again.
    """

    number: int
    folder: Path
    part: str
    values: Mapping[str, Any]
    scalars: Mapping[str, float]
    attempts: int = 0


@dataclass(frozen=True)
class DataSet:
    """A data set that an ensemble makes.

    Args:
        name: name of the data set.
        folder: folder of the data set.
        well: the output that writes its states.
        end: time of the last state.
        seed: seed of the ensemble.
        table: table of the run file, without what says nothing of the data.
        constants: numbers that all members share.
        trajectories: the members that came to their ends, in the order of their numbers.
        left_out: names of members that blew up, and how often each was drawn again.
    """

    name: str
    folder: Path
    well: Well
    end: float
    seed: int | None
    table: Mapping[str, Any]
    constants: Mapping[str, float]
    trajectories: tuple[Trajectory, ...]
    left_out: Mapping[str, int] = field(default_factory=dict)

    @property
    def summary(self) -> str:
        """The folder, and how many members and times there are."""
        counts = [sum(each.part == part for each in self.trajectories) for part in PARTS]
        members = ", ".join(f"{count} for {part}" for part, count in zip(PARTS, counts, strict=True))
        assert self.well.every_time is not None
        return f"{self.folder}: {members}; {round(self.end / self.well.every_time) + 1} times of each"

    @cached_property
    def files(self) -> dict[str, list[Trajectory]]:
        """The members of each file, by its path in the data set's folder."""
        made = {}
        for part in PARTS:
            own, size = [each for each in self.trajectories if each.part == part], self.well.members_per_file
            for place, start in enumerate(range(0, len(own), size)):
                made[f"data/{part}/{self.name}-{part}-{place:04d}.hdf5"] = own[start : start + size]
        return made


def data_set_of(config: Config, directory: Path, blown_up: tuple[int, ...] = ()) -> DataSet:
    """The data set that an ensemble with `[output.well]` makes.

    Args:
        config: config of the ensemble.
        directory: directory of the ensemble.
        blown_up: numbers of members that are left out.
    """
    ensemble, well = config.ensemble, config.outputs["well"].make()
    assert ensemble is not None
    shared = config.to_table()
    values = [ensemble.values(number, shared) for number in range(len(config.members))]
    own, constants = scalars(values, shared)
    folders = [directory / Path(member.directory).name for member in config.members]
    trajectories = tuple(
        Trajectory(
            number, folders[number], part_of(number, well.split, ensemble.seed), values[number], own[number],
            ensemble.attempts.get(number, 0),
        )
        for number in range(len(folders)) if number not in blown_up
    )  # fmt: skip
    name = data_set_name(well, directory)
    left_out = {folders[number].name: ensemble.attempts.get(number, 0) for number in blown_up}
    table = _of_data(shared, name)
    return DataSet(
        name, directory / name, well, config.time.end, ensemble.seed, table, constants, trajectories, left_out
    )


def drawn_once_more(config: Config, blown_up: Sequence[int]) -> dict[int, int]:
    """The next attempt of each member that blew up and can be drawn again, since some of its values are drawn.

    Args:
        config: config of the ensemble.
        blown_up: numbers of members.
    """
    ensemble = config.ensemble
    assert ensemble is not None
    again = {number: ensemble.attempts.get(number, 0) + 1 for number in blown_up}
    table, other = config.to_table(), ensemble.drawn_again(again)
    return {
        number: attempt
        for number, attempt in again.items()
        if attempt <= MOST_AGAIN and other.values(number, table) != ensemble.values(number, table)
    }


def data_set_name(well: Well, directory: Path) -> str:
    """The name of a data set: by default the name of the ensemble's directory."""
    return well.dataset or directory.resolve().name


def _of_data(table: Mapping[str, Any], name: str) -> dict[str, Any]:
    """A run file without what says nothing of the data."""
    kept = {key: copy.deepcopy(value) for key, value in table.items() if key not in NOT_OF_DATA}
    kept["output"] = {"well": {**kept["output"]["well"], "dataset": name}}
    return kept


def part_of(number: int, split: Sequence[float], seed: int | None) -> str:
    """The part that a member belongs to.

    Members are taken in blocks, the smallest that the split divides into whole numbers: of 10 for 0.8, 0.1, 0.1. Each
    block is shuffled with the seed; the first member of all is always for training.

    Args:
        number: number of the member.
        split: parts for training, validation and test, which sum to 1.
        seed: seed of the ensemble.
    """
    counts = _counts(tuple(split))
    block, place = divmod(number, sum(counts))
    return _block(counts, seed, block)[place]


@lru_cache(maxsize=256)
def _block(counts: tuple[int, ...], seed: int | None, block: int) -> tuple[str, ...]:
    """The parts of a block's members."""
    parts = [part for part, count in zip(PARTS, counts, strict=True) for _ in range(count)]
    random.Random(f"{seed} split {block}").shuffle(parts)
    if block == 0:
        training = parts.index(PARTS[0])
        parts[0], parts[training] = parts[training], parts[0]
    return tuple(parts)


@lru_cache(maxsize=16)
def _counts(split: tuple[float, ...]) -> tuple[int, ...]:
    """Number of members of a block in each part."""
    for size in range(1, LARGEST + 1):
        counts = [round(size * part) for part in split]
        exact = all(abs(size * part - count) < 1e-4 for part, count in zip(split, counts, strict=True))
        if exact and sum(counts) == size:
            return tuple(counts)
    counts = [int(LARGEST * part) for part in split]
    rest = sorted(range(len(split)), key=lambda i: counts[i] - LARGEST * split[i])  # the largest remainders first
    for i in rest[: LARGEST - sum(counts)]:
        counts[i] += 1
    return tuple(counts)


def scalars(values: Sequence[Mapping[str, Any]], table: Mapping[str, Any]) -> tuple[list[dict[str, float]], dict]:
    """The numbers of each member, and those that all members share, by their names.

    A name is the last word of its key, `viscosity` for `equation.viscosity`; the whole key, joined by underscores,
    where two keys end alike. The numbers of a list are counted: `mean_field_0`, `mean_field_1`. Words have no place;
    a truth value has one, as 0 or 1, where members differ in it.

    Args:
        values: the values of each member that differ from the run file, by key.
        table: table of the run file that members share.
    """
    own = sorted(values[0].keys() - set(LEFT_OUT))  # a run file that was written again has another order
    varied = {keys_of(key) for key in own}
    flat = {key: value for key, value in _flat(table, SHARED) if not isinstance(value, bool)}
    shared = {key: value for key, value in flat.items() if keys_of(key) not in varied}
    names = _names([*own, *shared])
    members = [{n: x for key in own for n, x in _numbers(names[key], row[key])} for row in values]
    everywhere = set(members[0]).intersection(*members)  # a choice may hold words beside numbers
    constant = {n: x for key, value in shared.items() for n, x in _numbers(names[key], value)}
    shown = [{name: x for name, x in row.items() if name in everywhere} for row in members]
    return shown, dict(sorted(constant.items()))


def _names(keys: Sequence[str]) -> dict[str, str]:
    """A name for each key."""
    last = Counter(keys_of(key)[-1] for key in keys)
    return {key: keys_of(key)[-1] if last[keys_of(key)[-1]] == 1 else "_".join(keys_of(key)) for key in keys}


def _numbers(name: str, value: Any) -> Iterator[tuple[str, float]]:
    """A number, or the numbers of a list, by name; nothing of a word."""
    if isinstance(value, int | float):
        yield name, float(value)
    elif isinstance(value, list | tuple):
        for place, each in enumerate(value):
            yield from _numbers(f"{name}_{place}", each)


def _flat(table: Mapping[str, Any], sections: Sequence[str]) -> Iterator[tuple[str, Any]]:
    """The keys of sections in full, with their values."""
    for key in sections:
        value = table.get(key)
        if isinstance(value, Mapping):
            for inner, entry in _flat(value, list(value)):
                yield f"{key}.{inner}", entry
        elif value is not None:
            yield key, value
