"""Moves an array onto other devices piece by piece, whatever the number and form of its parts here and there.

`jax.device_put` between meshes that cut an array in different places makes a copy of the whole array on the host
(jax 0.10.2). Here every device cuts its own part where parts of the new mesh begin and end, each piece goes straight to
the device that needs it, and is joined with others there.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import NamedSharding, SingleDeviceSharding
from jaxtyping import Array

Span = tuple[tuple[int, int], ...]  # first index and the one after the last, for each axis


@dataclass(frozen=True)
class Piece:
    """A part of an array on its way from one device to another.

    Args:
        values: where they are now.
        place: first index of the piece in the part that it becomes a piece of.
    """

    values: Array
    place: tuple[int, ...]


def moved(array: Array, shape: Sequence[int], sharding: NamedSharding) -> Array:
    """The same array on the devices of another sharding, with as much padding as is needed there.

    Args:
        array: on any devices of this process.
        shape: of the result. Where an axis is longer than that of `array`, zeros follow; where it is shorter, the rest
            is left out.
        sharding: of the result.

    Returns:
        An array of its own, which stays whole when the buffers of `array` are used again. Communication: each piece
        goes from one device to one other. The copies are enqueued, so that the call does not wait for them.

    Raises:
        ValueError: devices of other processes.
    """
    if not (array.is_fully_addressable and sharding.is_fully_addressable):
        raise ValueError(f"an array of shape {list(array.shape)} cannot move between devices of different processes")
    here = _blocks(array)
    there = sharding.addressable_devices_indices_map(tuple(shape))
    parts = [
        _part(here, _span(index, shape), device, number, array.dtype)
        for number, (device, index) in enumerate(there.items())
    ]
    return jax.make_array_from_single_device_arrays(tuple(shape), sharding, parts)


def _blocks(array: Array) -> dict[Span, list[Array]]:
    """The parts of an array by the indices that they hold, each with all of its copies."""
    blocks: dict[Span, list[Array]] = {}
    for shard in array.addressable_shards:
        blocks.setdefault(_span(shard.index, array.shape), []).append(shard.data)
    return blocks


def _span(index: Sequence[slice], shape: Sequence[int]) -> Span:
    return tuple(s.indices(n)[:2] for s, n in zip(index, shape, strict=True))


def _part(here: dict[Span, list[Array]], span: Span, device: jax.Device, number: int, dtype: np.dtype) -> Array:
    """One device's part of the result; `number` chooses among the copies of a part, so that all of them send."""
    shape = tuple(high - low for low, high in span)
    pieces = [
        Piece(jax.device_put(piece.values, device, may_alias=False), piece.place)
        for piece in _cut_from(here, span, number)
    ]
    if len(pieces) == 1 and pieces[0].values.shape == shape:
        return pieces[0].values
    if not pieces:
        return jax.jit(lambda: jnp.zeros(shape, dtype), out_shardings=SingleDeviceSharding(device))()
    return _join([piece.values for piece in pieces], tuple(piece.place for piece in pieces), shape)


def _cut_from(here: dict[Span, list[Array]], span: Span, number: int) -> Iterator[Piece]:
    """What each part holds of a span, cut out on the part's own device."""
    for block, copies in here.items():
        common = tuple((max(a, c), min(b, d)) for (a, b), (c, d) in zip(block, span, strict=True))
        if any(low >= high for low, high in common):
            continue
        values = copies[number % len(copies)]
        start = tuple(low - first for (low, _), (first, _) in zip(common, block, strict=True))
        stop = tuple(high - first for (_, high), (first, _) in zip(common, block, strict=True))
        cut = values if not any(start) and stop == values.shape else _cut(values, start, stop)
        yield Piece(cut, tuple(low - first for (low, _), (first, _) in zip(common, span, strict=True)))


def _cut_out(values: Array, start: tuple[int, ...], stop: tuple[int, ...]) -> Array:
    return jax.lax.slice(values, start, stop)


def _put_together(pieces: list[Array], places: tuple[tuple[int, ...], ...], shape: tuple[int, ...]) -> Array:
    whole = jnp.zeros(shape, pieces[0].dtype)
    for values, place in zip(pieces, places, strict=True):
        whole = jax.lax.dynamic_update_slice(whole, values, place)
    return whole


_cut = jax.jit(_cut_out, static_argnums=(1, 2))
_join = jax.jit(_put_together, static_argnums=(1, 2))
