"""Which members of an ensemble are stepped together by one program, and on how many parts of the mesh."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jax
from jax.sharding import Mesh

from solver.assemble.build import Assembly, abstract_assembly
from solver.assemble.devices import least_memory, mesh_shape
from solver.cluster import largest
from solver.config import Config, Share
from solver.loop import signature
from solver.mesh import device_mesh

# points of all members together beyond which a larger batch of a device is no faster: see docs/ensembles.md
POINTS_ON_GPU, POINTS_ON_CPU = 2**24, 2**18
MOST_TOGETHER, MOST_PACKED = 64, 1024  # by "auto": each has files open, unless they share them
SHARE_OF_MEMORY = 0.25  # of a device, for the fields that the members' steps hold at least


@dataclass(frozen=True)
class Batch:
    """Members that are carried out together, in the order of their places.

    Args:
        assemblies: the objects of each, on one mesh.
        size: places in the batch, the unused ones included; 1 for a run that is carried out alone.
        numbers: numbers of the members.
    """

    assemblies: tuple[Assembly, ...]
    size: int
    numbers: tuple[int, ...]


def batches(config: Config, mesh: Mesh, share: Share | None = None) -> list[Batch]:
    """The members of an ensemble in batches. The same on every process, and after a restart with the same devices.

    Members are of one kind where their equations, steppers and step controls differ in numbers alone. Batches of one
    kind are equally large, with places left over in the last one. If `ensemble.together` is a number, each of them
    holds so many members, whatever the devices, so that jobs with other devices divide the members in the same way.

    Args:
        config: config of the ensemble.
        mesh: mesh of the devices that step, all for one member.
        share: the part of the members that is carried out; all of them by default.
    """
    assert config.ensemble is not None
    devices = list(mesh.devices.flat)
    alone = {number: Assembly(config.members[number], mesh) for number in config.ensemble.numbers(share)}
    found: list[Batch] = []
    for kind in _kinds(alone):
        size = _size(config, len(kind), alone[kind[0]], devices)
        parts = _parts(config, size, len(devices))
        places = math.ceil(size / parts) * parts
        each = places if config.ensemble.together == "auto" else size
        runs = alone
        if places > 1:
            shared = device_mesh(devices=devices, shape=mesh_shape(config, len(devices) // parts), members=parts)
            runs = {n: Assembly(config.members[n], shared) for n in kind}
        for first in range(0, len(kind), each):
            numbers = tuple(kind[first : first + each])
            found.append(Batch(tuple(runs[n] for n in numbers), places, numbers))
    return sorted(found, key=lambda batch: batch.numbers)


def _kinds(alone: Mapping[int, Assembly]) -> list[list[int]]:
    """Numbers of the members of each kind."""
    kinds: list[tuple[Any, list[int]]] = []
    for number, run in alone.items():
        own = signature((run.equation, run.stepper, run.control))
        for known, numbers in kinds:
            if known == own:
                numbers.append(number)
                break
        else:
            kinds.append((own, [number]))
    return [numbers for _, numbers in kinds]


def planned_sizes(config: Config, devices: int, on_gpu: bool) -> list[int]:
    """Number of members of each kind that go together on so many devices. Touches no device, ignores memory."""
    members = {number: abstract_assembly(member, devices) for number, member in enumerate(config.members)}
    return [_chosen(config, len(kind), members[kind[0]], devices, on_gpu, None) for kind in _kinds(members)]


def _size(config: Config, count: int, member: Assembly, devices: Sequence[jax.Device]) -> int:
    return _chosen(config, count, member, len(devices), devices[0].platform == "gpu", _memory(devices))


def _chosen(config: Config, count: int, member: Assembly, devices: int, on_gpu: bool, memory: int | None) -> int:
    """Number of members of one kind that are carried out together."""
    assert config.ensemble is not None
    wanted = config.ensemble.together
    if wanted != "auto":
        return min(wanted, config.ensemble.count)
    if config.devices.groups is not None:
        return 1
    if config.devices.engine != "slabwave" or _fixed_mesh(config):
        return 1
    fitting = devices * (POINTS_ON_GPU if on_gpu else POINTS_ON_CPU) // math.prod(member.grid.shape)
    if memory is not None:
        fitting = min(fitting, int(SHARE_OF_MEMORY * memory) // least_memory(member.config))
    fitting = max(1, min(fitting, MOST_PACKED if config.ensemble.packed else MOST_TOGETHER))
    return math.ceil(count / math.ceil(count / fitting))


def _parts(config: Config, size: int, devices: int) -> int:
    """Parts of the mesh that hold different members: as many as there are members for, at most."""
    if _fixed_mesh(config) or config.devices.engine != "slabwave":
        return 1
    return max(parts for parts in range(1, size + 1) if devices % parts == 0)


def _fixed_mesh(config: Config) -> bool:
    return config.devices.mesh is not None


def _memory(devices: Sequence[jax.Device]) -> int | None:
    """Bytes of memory of all devices together, by the smallest that a process knows of; None where none does."""
    known = [device.memory_stats() or {} for device in devices if device.process_index == jax.process_index()]
    sizes = [stats["bytes_limit"] for stats in known if "bytes_limit" in stats]
    [most_negative] = largest([-float(min(sizes, default=math.inf))])
    return None if most_negative == -math.inf else int(-most_negative) * len(devices)
