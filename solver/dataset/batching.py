"""Shuffled, normalised batches of the members of a data set, for training."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import NamedSharding, PartitionSpec
from jaxtyping import Array

from solver.dataset.streaming import Streamed

ROUNDING = 8  # units of the last digit of a field's largest component: a smaller deviation is rounding of transforms


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Statistics:
    """Mean and standard deviation of each component of each field, over members, times and points; a pytree.

    Args:
        mean: by field, `()`, of a vector `(D,)`, of a tensor `(D, D)`.
        std: the same; 1 where all values are equal but for rounding.
    """

    mean: dict[str, Array]
    std: dict[str, Array]

    @classmethod
    def of(cls, members: Iterable[Streamed]) -> Statistics:
        """Statistics of members. The variance divides by the number of values, as stats.yaml's does.

        Raises:
            ValueError: no members, or members with other times, fields or scalars than the first.
        """
        piles = _piles(list(members))
        dimensions = piles.dimensions
        moments = {name: _moments(pile, range(2 + dimensions)) for name, pile in piles.fields.items()}
        return cls({name: pair[0] for name, pair in moments.items()}, {name: pair[1] for name, pair in moments.items()})

    def normalised(self, fields: Mapping[str, Array]) -> dict[str, Array]:
        """Fields less their mean, over their standard deviation; components are the last axes."""
        return {name: (u - self.mean[name]) / self.std[name] for name, u in fields.items()}

    def restored(self, fields: Mapping[str, Array]) -> dict[str, Array]:
        """Inverse of `normalised`."""
        return {name: u * self.std[name] + self.mean[name] for name, u in fields.items()}


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Batch:
    """Windows of consecutive times of several members; a pytree.

    Args:
        fields: by name, `(batch, window, x, y[, z])`, of a vector `(…, D)`, of a tensor `(…, D, D)`; normalised.
        scalars: numbers of the members by name, `(batch,)`; as they are.
        times: times of the states, `(batch, window)`.
        members: numbers of the members, `(batch,)`.
    """

    fields: dict[str, Array]
    scalars: dict[str, Array]
    times: Array
    members: Array


def batches(
    members: Iterable[Streamed],
    size: int,
    *,
    window: int = 2,
    seed: int = 0,
    epochs: int = 1,
    statistics: Statistics | None = None,
) -> Iterator[Batch]:
    """Batches of windows of consecutive times, in an order that is shuffled anew in each epoch.

    All members are carried out first, and all their states are on the devices at once, so that each epoch has every
    window once. Windows overlap. Windows at the end of an epoch that do not fill a batch are left out.

    Args:
        members: from `stream`.
        size: number of windows in a batch.
        window: number of consecutive times in each.
        seed: seed of the order; the same gives the same batches on any number of devices.
        epochs: number of passes over all windows.
        statistics: mean and standard deviation that the fields are normalised with; of these members by default. For
            validation pass `Statistics.of(…)` of the training members.

    Returns:
        An iterator of batches, each split over the devices along x as the members are.

    Raises:
        ValueError: no members, members with other times, fields or scalars than the first, more times in a window than
            members have, or more windows in a batch than there are; at once, not at the first batch.
    """
    piles = _piles(list(members))
    starts = len(piles.times) - window + 1
    if not 1 <= window <= len(piles.times):
        raise ValueError(f"window={window} of members with {len(piles.times)} times: 1 to {len(piles.times)} is needed")
    count = len(piles.members) * starts
    if not 1 <= size <= count:
        raise ValueError(f"size={size} of {count} windows: 1 to {count} is needed")
    known = Statistics.of(piles.given) if statistics is None else statistics
    return _shuffled(piles, known, size, window, seed, epochs)


@dataclass(frozen=True)
class _Piles:
    """All members in one array for each field, `(member, time, x, y[, z], …)`."""

    given: list[Streamed]
    fields: dict[str, Array]
    scalars: dict[str, np.ndarray]
    times: np.ndarray
    members: np.ndarray
    dimensions: int


def _piles(members: list[Streamed]) -> _Piles:
    if not members:
        raise ValueError("batches of no members: one or more are needed, as stream gives them")
    first = members[0]
    _refuse_unlike(first, members)
    stack = lambda name: _stacked([member.fields[name] for member in members])  # noqa: E731
    return _Piles(
        members,
        {name: stack(name) for name in first.fields},
        {name: np.array([member.scalars[name] for member in members]) for name in first.scalars},
        first.times,
        np.array([member.number for member in members]),
        first.dimensions,
    )


def _refuse_unlike(first: Streamed, members: list[Streamed]) -> None:
    """Refuse members with other times, fields or scalars, such as members of two run files."""
    for each in members:
        if not _same_times(each.times, first.times):
            raise ValueError(
                f"member {each.number} has {_listed(each.times)}, member {first.number} {_listed(first.times)}: the "
                "same times are needed"
            )
        pairs = {"fields": (_shapes(each), _shapes(first)), "scalars": ([*each.scalars], [*first.scalars])}
        for what, (found, needed) in pairs.items():
            if found != needed:
                raise ValueError(
                    f"member {each.number} has the {what} {found}, member {first.number} {needed}: the same are needed"
                )


def _shapes(member: Streamed) -> dict[str, tuple[int, ...]]:
    return {name: u.shape for name, u in member.fields.items()}


def _same_times(times: np.ndarray, others: np.ndarray) -> bool:
    return times.shape == others.shape and np.allclose(times, others, rtol=1e-9, atol=1e-6 * np.ptp(others))


def _listed(times: np.ndarray) -> str:
    return f"{len(times)} times from t = {times[0]:g} to {times[-1]:g}"


def _stacked(arrays: list[Array]) -> Array:
    sharding = arrays[0].sharding
    split = NamedSharding(sharding.mesh, PartitionSpec(None, *sharding.spec))
    return jax.jit(jnp.stack, out_shardings=split)(arrays)


@partial(jax.jit, static_argnums=1)
def _moments(pile: Array, axes: range) -> tuple[Array, Array]:
    """Mean and standard deviation of each component; the first value is taken away before, so that equal values have no
    deviation by rounding of their mean."""
    first = pile[(0,) * len(axes)]
    apart = pile - first
    mean, std = first + jnp.mean(apart, tuple(axes)), jnp.std(apart, tuple(axes))
    largest = jnp.sqrt(jnp.max(mean**2 + std**2))
    return mean, jnp.where(std > ROUNDING * jnp.finfo(pile.dtype).eps * largest, std, 1)


def _shuffled(piles: _Piles, statistics: Statistics, size: int, window: int, seed: int, epochs: int) -> Iterator[Batch]:
    starts = len(piles.times) - window + 1
    split = {name: pile.sharding for name, pile in piles.fields.items()}  # a window takes the place of the time

    def take(fields: dict[str, Array], known: Statistics, which: Array, times: Array) -> dict[str, Array]:
        return known.normalised({name: pile[which[:, None], times] for name, pile in fields.items()})

    take = jax.jit(take, out_shardings=split)
    for epoch in range(epochs):
        order = np.random.default_rng([seed, epoch]).permutation(len(piles.members) * starts)
        for begin in range(0, len(order) - size + 1, size):
            which, first = np.divmod(order[begin : begin + size], starts)
            times = first[:, None] + np.arange(window)
            yield Batch(
                take(piles.fields, statistics, which, times),
                {name: jnp.asarray(values[which]) for name, values in piles.scalars.items()},
                jnp.asarray(piles.times[times]),
                jnp.asarray(piles.members[which]),
            )
