"""stats.yaml: mean, standard deviation and root mean square of each field of the training members, and of its changes.

Defined as by The Well's scripts/compute_statistics.py: over all trajectories, times and points, of each component by
itself; the changes are those from one time to the next. Variances divide by the number of values. One field of one time
is held at a time, and the one before.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import h5py
import numpy as np

from solver.io import read_hdf5

KINDS = ("mean", "std", "rms")


@dataclass(frozen=True)
class Moments:
    """Number, mean, and sum of squares about the mean, of each component.

    Two sets of values are put together as by Chan, Golub & LeVeque (1983), which loses no digits to the mean.
    """

    count: int
    mean: np.ndarray
    squares: np.ndarray

    @classmethod
    def of(cls, values: np.ndarray, order: int) -> Moments:
        """Statistics of values whose last `order` axes are components."""
        axes = tuple(range(values.ndim - order))
        mean = values.mean(axes)
        return cls(int(np.prod(values.shape[: len(axes)])), mean, ((values - mean) ** 2).sum(axes))

    def __add__(self, other: Moments) -> Moments:
        count = self.count + other.count
        between = other.mean - self.mean
        mean = self.mean + between * (other.count / count)
        squares = self.squares + other.squares + between**2 * (self.count * other.count / count)
        return Moments(count, mean, squares)

    def statistics(self) -> dict[str, np.ndarray]:
        """The values that stats.yaml has of them."""
        variance = self.squares / self.count
        return {"mean": self.mean, "std": np.sqrt(variance), "rms": np.sqrt(variance + self.mean**2)}


def stats_text(paths: Sequence[Path]) -> str:
    """The text of stats.yaml for the files of the training members.

    Raises:
        ValueError: a file is no HDF5 file.
    """
    values: dict[str, Moments] = {}
    changes: dict[str, Moments] = {}
    for path in paths:
        with read_hdf5(path) as file:
            for order in range(3):
                group = file[f"t{order}_fields"]
                for name in group.attrs["field_names"]:
                    _add(group[name], name, order, values, changes)
    table: dict[str, dict[str, np.ndarray]] = {}
    for ending, moments in (("", values), ("_delta", changes)):
        of_each = {name: each.statistics() for name, each in moments.items()}
        table |= {f"{kind}{ending}": {name: each[kind] for name, each in of_each.items()} for kind in KINDS}
    return "".join(_lines(table))


def _add(data: h5py.Dataset, name: str, order: int, values: dict[str, Moments], changes: dict[str, Moments]) -> None:
    """Add a field of one file to the moments of its values and of its changes."""
    for trajectory in range(data.shape[0]):
        before = None
        for time in range(data.shape[1]):
            now = data[trajectory, time].astype(np.float64)
            _put(values, name, Moments.of(now, order))
            if before is not None:
                _put(changes, name, Moments.of(now - before, order))
            before = now


def _put(moments: dict[str, Moments], name: str, more: Moments) -> None:
    moments[name] = moments[name] + more if name in moments else more


def _lines(table: Mapping[str, Mapping[str, np.ndarray]]) -> Iterator[str]:
    """YAML as PyYAML writes it: names sorted, five digits, lists in lines of their own."""
    for kind in sorted(table):
        yield f"{kind}:\n"
        for name in sorted(table[kind]):
            value = table[kind][name]
            yield f"  {name}: {value:.4E}\n" if value.ndim == 0 else f"  {name}:\n"
            for row in value if value.ndim else ():
                yield from (f"  {line}\n" for line in _items(row))


def _items(row: np.ndarray) -> list[str]:
    """An entry of a list: a number, or the numbers of a row."""
    if row.ndim == 0:
        return [f"- {row:.4E}"]
    inner = [line for each in row for line in _items(each)]
    return [f"{'- ' if place == 0 else '  '}{line}" for place, line in enumerate(inner)]
