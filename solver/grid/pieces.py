"""Moves an array onto other devices piece by piece, whatever the number and form of its parts here and there.

`jax.device_put` between meshes that cut an array in different places makes a copy of the whole array on the host
(jax 0.10.2), and is refused between devices of different processes. Here every device cuts its own part where parts of
the new mesh begin and end, each piece goes straight to the device that needs it, and is joined with others there.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import NamedSharding, Sharding, SingleDeviceSharding
from jaxtyping import Array

Index = tuple[int, ...]
Span = tuple[tuple[int, int], ...]  # first index and the one after the last, for each axis


@dataclass(frozen=True)
class Form:
    """The blocks of an array on its devices."""

    shape: Index
    sharding: Sharding

    def spans(self) -> dict[jax.Device, Span]:
        """The block of each device."""
        indices = self.sharding.devices_indices_map(self.shape)
        return {device: _span(index or (), self.shape) for device, index in indices.items()}

    @property
    def part(self) -> Index:
        """Shape of one device's part."""
        return tuple(self.sharding.shard_shape(self.shape))


@dataclass(frozen=True)
class Piece:
    """A piece of an array that one device sends to another.

    Args:
        source, target: the devices.
        start, stop: its first index, and the one after its last, in the source's part.
        place: its first index in the target's part.
    """

    source: jax.Device
    target: jax.Device
    start: Index
    stop: Index
    place: Index

    @property
    def shape(self) -> Index:
        """Its own shape."""
        return tuple(stop - start for start, stop in zip(self.start, self.stop, strict=True))

    def cut_from(self, part: Array) -> Array:
        """The piece, on the source's own device; the part itself where it is all of it."""
        return part if self.shape == part.shape else _cut(part, self.start, self.stop)


@lru_cache(maxsize=256)
def pieces(here: Form, there: Form) -> tuple[Piece, ...]:
    """Pieces sent from device to device, in the order of the new devices; the same list in every process.

    Where a part has copies on several devices, all of them send. Where an axis is longer there than here, nothing is
    sent for the rest; where it is shorter, the rest is left out.
    """
    holders: dict[Span, list[jax.Device]] = {}
    for device, span in here.spans().items():
        holders.setdefault(span, []).append(device)
    return tuple(
        piece
        for number, (target, span) in enumerate(there.spans().items())
        for piece in _pieces_for(target, span, holders, number)
    )


def _pieces_for(
    target: jax.Device, span: Span, holders: Mapping[Span, list[jax.Device]], number: int
) -> Iterator[Piece]:
    for part, sources in holders.items():
        common = tuple((max(a, c), min(b, d)) for (a, b), (c, d) in zip(part, span, strict=True))
        if any(low >= high for low, high in common):
            continue
        yield Piece(
            source=sources[number % len(sources)],
            target=target,
            start=tuple(low - first for (low, _), (first, _) in zip(common, part, strict=True)),
            stop=tuple(high - first for (_, high), (first, _) in zip(common, part, strict=True)),
            place=tuple(low - first for (low, _), (first, _) in zip(common, span, strict=True)),
        )


def joined(received: Iterable[tuple[Piece, Array]], there: Form, dtype: np.dtype) -> Array:
    """The array of the pieces that the devices of this process received, with zeros where nothing was sent."""
    by_target: dict[jax.Device, list[tuple[Piece, Array]]] = {}
    for piece, values in received:
        by_target.setdefault(piece.target, []).append((piece, values))
    own = [device for device in there.spans() if device.process_index == jax.process_index()]
    parts = [_part(by_target.get(device, []), device, there.part, dtype) for device in own]
    return jax.make_array_from_single_device_arrays(there.shape, there.sharding, parts)


def moved(array: Array, shape: Sequence[int], sharding: NamedSharding) -> Array:
    """The same array on the devices of another sharding, with as much padding as is needed there.

    Args:
        array: on any devices of this process.
        shape: the result's shape. Where an axis is longer than in `array`, zeros follow; where it is shorter, the rest
            is left out.
        sharding: sharding of the result.

    Returns:
        An array of its own, which stays whole when the buffers of `array` are used again. Communication: each piece
        goes from one device to one other. The copies are enqueued, so that the call does not wait for them.

    Raises:
        ValueError: devices of other processes.
    """
    if not (array.is_fully_addressable and sharding.is_fully_addressable):
        raise ValueError(
            f"an array of shape {list(array.shape)} cannot move between devices of different processes by hand_over: "
            "send_state and receive_state move states between them"
        )
    there = Form(tuple(shape), sharding)
    parts = parts_here(array)
    sent = pieces(Form(array.shape, array.sharding), there)
    received = (
        (piece, jax.device_put(piece.cut_from(parts[piece.source]), piece.target, may_alias=False)) for piece in sent
    )
    return joined(received, there, array.dtype)


def parts_here(array: Array) -> dict[jax.Device, Array]:
    """The part of an array on each device of this process."""
    return {shard.device: shard.data for shard in array.addressable_shards}


def _span(index: Sequence[slice], shape: Sequence[int]) -> Span:
    return tuple(s.indices(n)[:2] for s, n in zip(index, shape, strict=True))


def _part(received: list[tuple[Piece, Array]], device: jax.Device, shape: Index, dtype: np.dtype) -> Array:
    """A device's part of an array."""
    if len(received) == 1 and received[0][0].shape == shape:
        return received[0][1]
    if not received:
        return jax.jit(lambda: jnp.zeros(shape, dtype), out_shardings=SingleDeviceSharding(device))()
    return _join([values for _, values in received], tuple(piece.place for piece, _ in received), shape)


def _cut_out(values: Array, start: Index, stop: Index) -> Array:
    return jax.lax.slice(values, start, stop)


def _put_together(pieces: list[Array], places: tuple[Index, ...], shape: Index) -> Array:
    whole = jnp.zeros(shape, pieces[0].dtype)
    for values, place in zip(pieces, places, strict=True):
        whole = jax.lax.dynamic_update_slice(whole, values, place)
    return whole


_cut = jax.jit(_cut_out, static_argnums=(1, 2))
_join = jax.jit(_put_together, static_argnums=(1, 2))
