"""`[ensemble]`: many runs of one run file, which differ in the values of some keys."""

from __future__ import annotations

import copy
import itertools
import math
import random
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from statistics import NormalDist
from typing import Annotated, Any, Literal

from pydantic import Field, PrivateAttr, model_validator

from solver.config.messages import ConfigError
from solver.config.sections import Section
from solver.config.toml import keys_of, set_key, value_at

MEMBER = "member"  # a draw that adds the number of the member to a whole number
MOST_AGAIN = 5  # how often a member of a data set that blows up is drawn again
AGAIN = 10**7  # what is added to the random seed of a member each time that it is drawn again
NOT_OF_MEMBERS = ("ensemble", "devices", "title", "reference")  # sections that all members share

Pair = Annotated[tuple[float, float], Field(strict=False), "a list of two numbers"]
Whole = Annotated[tuple[int, int], Field(strict=False), "a list of two integers"]
Together = Literal["auto"] | Annotated[int, Field(ge=1)]
Values = Annotated[tuple[Any, ...], Field(strict=False), "a list of values"]


class Draw(Section):
    """The distribution that a value is drawn from."""

    uniform: Pair | None = Field(None, description="between these two")
    log_uniform: Pair | None = Field(None, description="between these two, its logarithm uniformly")
    normal: Pair | None = Field(None, description="mean and standard deviation")
    integers: Whole | None = Field(None, description="from the first to the second, both included")
    choice: Values | None = Field(None, description="list of values to draw from")

    @model_validator(mode="after")
    def _check(self) -> Draw:
        given = list(self.to_table())
        if len(given) != 1:
            kinds = ", ".join(type(self).model_fields)
            raise ValueError(f"{', '.join(given) or 'no distribution'}: one of {kinds} is needed")
        for name in ("uniform", "log_uniform", "integers"):
            low, high = getattr(self, name) or (1, 1)
            if low > high:
                raise ValueError(f"{name} = {[low, high]}: the smaller number is needed first")
        if self.log_uniform is not None and self.log_uniform[0] <= 0:
            raise ValueError(f"log_uniform = {list(self.log_uniform)}: positive numbers are needed")
        if self.normal is not None and self.normal[1] <= 0:
            raise ValueError(f"normal = {list(self.normal)}: a positive standard deviation is needed")
        if self.choice is not None and not self.choice:
            raise ValueError("choice = []: one value or more is needed")
        return self

    def value(self, source: random.Random) -> Any:
        """A value; each takes as many random numbers as any other of the same distribution."""
        if self.uniform is not None:
            low, high = self.uniform
            return low + (high - low) * source.random()
        if self.log_uniform is not None:
            low, high = map(math.log, self.log_uniform)
            return min(max(math.exp(low + (high - low) * source.random()), self.log_uniform[0]), self.log_uniform[1])
        if self.normal is not None:
            return NormalDist(*self.normal).inv_cdf(source.random() or 0.5**54)
        if self.integers is not None:
            return source.randint(*self.integers)
        assert self.choice is not None
        return self.choice[int(source.random() * len(self.choice))]

    @property
    def ends(self) -> tuple[Any, ...]:
        """Values that bound what can be drawn; of a normal distribution none do."""
        return self.uniform or self.log_uniform or self.integers or self.choice or ()


@dataclass(frozen=True)
class Share:
    """The part of an ensemble that one job carries out.

    Args:
        job: number of the job, from 0.
        jobs: number of jobs that share the members.
    """

    job: int
    jobs: int

    def __str__(self) -> str:
        return f"job {self.job} of {self.jobs}"

    @property
    def folder(self) -> str:
        """Name of the folder with the job's own files."""
        return f"{self.job:04d}-of-{self.jobs:04d}"


class EnsembleSection(Section):
    """`[ensemble]`: the members, numbered from 0. Swept values change fastest from one member to the next.

    A draw depends on the key, the number of the member and the seed, so that more members leave the first ones alone.
    """

    members: int = Field(1, gt=0, description="number of members for each combination of swept values")
    draw: dict[str, Draw | Literal["member"]] = Field(
        {}, description="by key of the run file: a distribution, or 'member', which adds the member's number to the key"
    )
    sweep: dict[str, Values] = Field({}, description="by key of the run file: a list of values")
    combine: Literal["product", "zip"] = Field(
        "product", description="swept lists: every value with every other, or the first with the first and so on"
    )
    together: Together = Field(
        "auto", description="members stepped by one program: how many, or 'auto' for as many as are faster and fit"
    )
    packed: bool = Field(
        False, description="true if members share the log and the files of series and of other numbers against time"
    )
    seed: int | None = Field(None, ge=0, lt=2**63, description="seed of the draws; by default random.seed")
    _attempts: dict[int, int] = PrivateAttr(default_factory=dict)  # how often a member was drawn again, by its number

    @model_validator(mode="after")
    def _check_keys(self) -> EnsembleSection:
        for key in (*self.draw, *self.sweep):
            keys = keys_of(key)
            if len(keys) < 2 or keys[0] in NOT_OF_MEMBERS or keys == ("output", "directory"):
                raise ValueError(f"ensemble: {key!r}: a key of the run file is needed in which members may differ")
        twice = sorted(self.draw.keys() & self.sweep.keys())
        if twice:
            raise ValueError(f"ensemble: {twice[0]!r} is drawn and swept; one of the two is needed")
        for key, values in self.sweep.items():
            if not values or any(isinstance(value, dict) for value in values):
                raise ValueError(f"ensemble.sweep.{key!r} = {list(values)}: one value or more is needed, none a table")
        if self.members > 1 and not self.draw:
            raise ValueError(
                f"ensemble.members = {self.members}: nothing is drawn in which they differ, such as "
                "ensemble.draw = { 'random.seed' = 'member' }"
            )
        lengths = {key: len(values) for key, values in self.sweep.items()}
        if self.combine == "zip" and len(set(lengths.values())) > 1:
            said = ", ".join(f"{key!r} has {length}" for key, length in lengths.items())
            raise ValueError(f"ensemble.combine = 'zip': lists of one length are needed, and {said}")
        return self

    @cached_property
    def combinations(self) -> list[dict[str, Any]]:
        """The swept values of each combination; the last key changes fastest."""
        rows = (
            zip(*self.sweep.values(), strict=True) if self.combine == "zip" else itertools.product(*self.sweep.values())
        )
        return [dict(zip(self.sweep, row, strict=True)) for row in rows] or [{}]

    @property
    def count(self) -> int:
        """Number of members."""
        return self.members * len(self.combinations)

    @property
    def max_jobs(self) -> int:
        """Largest number of jobs that can share the members, with one batch or more for each."""
        return math.ceil(self.count / self._unit)

    def numbers(self, share: Share | None) -> range:
        """Members that a job carries out, which are neighbours; all of them without a share.

        If `together` is a number, a job has whole batches, which do not depend on the number of jobs.
        """
        if share is None:
            return range(self.count)
        first, last = (self.max_jobs * job // share.jobs * self._unit for job in (share.job, share.job + 1))
        return range(first, min(last, self.count))

    @property
    def _unit(self) -> int:
        """Number of members that stay in one job."""
        return 1 if self.together == "auto" else min(self.together, self.count)

    @property
    def attempts(self) -> Mapping[int, int]:
        """Number of times that each member was drawn again, by its index; members that were drawn once are left out."""
        return self._attempts

    def drawn_again(self, attempts: Mapping[int, int]) -> EnsembleSection:
        """The same ensemble where some members have other draws: the first again, the second again, and so on.

        Args:
            attempts: number of times that each of these members was drawn again, by its index.
        """
        again = self.model_copy()
        again._attempts = {**self._attempts, **attempts}
        return again

    def values(self, number: int, table: Mapping[str, Any]) -> dict[str, Any]:
        """The values of a member that differ from the run file, by key.

        Args:
            number: number of the member.
            table: the run file that all members share.

        Raises:
            ConfigError: `member` for a key that is no whole number.
        """
        swept = self.combinations[number % len(self.combinations)]
        drawn = {key: self._drawn(key, draw, number, table) for key, draw in self.draw.items()}
        return {**swept, **drawn}

    def _drawn(self, key: str, draw: Draw | str, number: int, table: Mapping[str, Any]) -> Any:
        attempt = self._attempts.get(number, 0)
        if isinstance(draw, Draw):
            return draw.value(random.Random(f"{self.seed} {number} {key}{f' again {attempt}' if attempt else ''}"))
        start = value_at(table, keys_of(key), 0 if key == "random.seed" else None)
        if not isinstance(start, int) or isinstance(start, bool):
            raise ConfigError(
                f"ensemble.draw.{key!r} = 'member': the run file needs a whole number there, to count from"
            )
        return start + number + (attempt * AGAIN if key == "random.seed" else 0)

    def refuse_overridden(self, given: Collection[tuple[str, ...]]) -> None:
        """Raises ConfigError if an override sets a key in which members differ, but for one to count from."""
        for key in (*self.draw, *self.sweep):
            if keys_of(key) in given and self.draw.get(key) != MEMBER:
                way = "drawn" if key in self.draw else "swept"
                raise ConfigError(f"{key}: an override gives all members one value, and it is {way}; one is needed")

    def bounds(self) -> Iterator[dict[str, Any]]:
        """Values of single keys that bound the values of the members, for checks."""
        for key, draw in self.draw.items():
            if isinstance(draw, Draw):
                drawn = [self._drawn(key, draw, number, {}) for number in range(self.count)] if draw.normal else []
                yield from ({key: end} for end in draw.ends or (min(drawn), max(drawn)))
        for key, values in self.sweep.items():
            yield from ({key: value} for value in values)


def member_name(number: int) -> str:
    """The name of a member's directory."""
    return f"member-{number:04d}"


def with_values(table: Mapping[str, Any], values: Mapping[str, Any]) -> tuple[dict[str, Any], set[tuple[str, ...]]]:
    """A run file with other values for some keys, and these keys, taken apart."""
    changed = copy.deepcopy(dict(table))
    return changed, {set_key(changed, keys_of(key), value, key) for key, value in values.items()}
