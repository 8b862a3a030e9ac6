"""Which member belongs to which part of a data set: training, validation or test.

The number of the member, the split and the ensemble's seed decide it, and nothing else: neither devices, nor how many
members there are, nor which of them blew up.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from functools import lru_cache

from solver.outputs.well import PARTS

LARGEST = 100  # members of a block, at most


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
