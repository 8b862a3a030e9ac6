"""The device mesh, and how arrays are split over it.

A slab decomposition has one mesh axis, `slab`. Physical arrays `(..., x, y, z)` are split along x and spectral
arrays `(..., ky, kz, kx)` along ky: in both, the split axis is the first of the axes in space, so that one
rule places them all.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import jax
import numpy as np
from jax.sharding import AbstractMesh, AxisType, Mesh, NamedSharding, PartitionSpec

SLAB = "slab"
AnyMesh: TypeAlias = Mesh | AbstractMesh  # an abstract mesh names no devices: enough to trace with


def device_mesh(use: Sequence[int] | None = None, *, devices: Sequence[jax.Device] | None = None) -> Mesh:
    """One-axis mesh, named `slab`, over all devices of the job or a subset.

    Args:
        use: indices into the job's global device list; all of them if None.
        devices: the devices themselves, instead of `use`.

    Returns:
        A mesh with an Auto axis. Devices keep the order given, so neighbours in the list hold neighbouring slabs.

    Raises:
        ValueError: an index out of range or named twice, or a process of the job left without a device
            (it could not take part in any computation).
    """
    if devices is None:
        everything = jax.devices()
        use = range(len(everything)) if use is None else use
        _check_indices(use, len(everything))
        devices = [everything[i] for i in use]
    idle = set(range(jax.process_count())) - {d.process_index for d in devices}
    if idle:
        raise ValueError(
            f"devices {list(use) if use is not None else devices} leave processes {sorted(idle)} without a device; "
            f"name at least one device of each of the {jax.process_count()} processes, or start fewer processes"
        )
    return Mesh(np.array(devices), (SLAB,), axis_types=(AxisType.Auto,))


def _check_indices(use: Sequence[int], available: int) -> None:
    wrong = [i for i in use if not 0 <= i < available]
    if wrong or len(set(use)) != len(use) or not len(use):
        raise ValueError(
            f"devices {list(use)} were asked for; name distinct indices from 0 to {available - 1}, "
            f"since the job has {available} devices"
        )


def slab_count(mesh: AnyMesh) -> int:
    """Number of slabs that the mesh makes.

    Raises:
        ValueError: the mesh has no axis named `slab`, or another axis beside it with more than one device.
    """
    others = [f"{name}={size}" for name, size in mesh.shape.items() if name != SLAB and size > 1]
    if SLAB not in mesh.shape or others:
        raise ValueError(f"mesh axes are {dict(mesh.shape)}; a slab decomposition needs one axis, named {SLAB!r}")
    return mesh.shape[SLAB]


def slab_sharding(mesh: AnyMesh, ndim: int, dimensions: int) -> NamedSharding:
    """Sharding of an array whose last `dimensions` axes are in space: split along the first of those.

    Leading axes (components, batches) are whole on every device. In one dimension nothing is split.
    """
    leading = ndim - dimensions
    if dimensions == 1:
        return NamedSharding(mesh, PartitionSpec())
    return NamedSharding(mesh, PartitionSpec(*[None] * leading, SLAB))


def show_sharding(array: jax.Array) -> str:
    """A few lines saying which device holds which part of `array`; for reading, works on any number of processes."""
    lines = [f"{array.dtype}{list(array.shape)}  {array.sharding}"]
    for device, index in sorted(array.sharding.devices_indices_map(array.shape).items(), key=lambda p: p[0].id):
        lines.append(f"  {device}: {_slices(index, array.shape)}")
    return "\n".join(lines)


def _slices(index: tuple[Any, ...], shape: tuple[int, ...]) -> str:
    spans = [s.indices(n) for s, n in zip(index, shape, strict=True)]
    return "[" + ", ".join(f"{a}:{b}" for a, b, _ in spans) + "]"
