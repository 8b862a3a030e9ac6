"""The device mesh, and how arrays are split over it.

A slab decomposition has one mesh axis, `slab`. Physical arrays `(..., x, y, z)` are split along x and spectral
arrays `(..., ky, kz, kx)` along ky: in both, the split axis is the first of the axes in space. A pencil
decomposition has a second mesh axis, `pencil`, which splits the second of them: y, and kz. One rule places all. An
ensemble has one more in front, `member`: each of its parts holds other members, split over the devices of that part.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import jax
import numpy as np
from jax.sharding import AbstractMesh, AxisType, Mesh, NamedSharding, PartitionSpec
from jaxtyping import Array

SLAB = "slab"
PENCIL = "pencil"
MEMBER = "member"
AnyMesh: TypeAlias = Mesh | AbstractMesh  # an abstract mesh names no devices: enough to trace with


def device_mesh(
    use: Sequence[int] | None = None,
    *,
    devices: Sequence[jax.Device] | None = None,
    shape: Sequence[int] | None = None,
    members: int | None = None,
    axis_type: AxisType = AxisType.Auto,
) -> Mesh:
    """Mesh over all devices of the job or a subset: one axis, `slab`, or two, `slab` and `pencil`.

    With `members` there is an axis `member` in front, over which `solver.Ensemble` and `jax.vmap(…, spmd_axis_name=
    solver.MEMBER)` spread their members, so that 8 devices may run 4 members on 2 slabs each.

    Args:
        use: indices into the job's global device list; all of them if None.
        devices: the devices themselves, instead of `use`.
        shape: `(slabs, pencils in each)` of one member for a pencil decomposition; one axis if None.
        members: number of parts of the mesh that hold different members, 1 or more; without the axis if None.
        axis_type: Auto, or Explicit where shardings are to be part of the arrays' types.

    Returns:
        A mesh. Devices keep the order given, so neighbours in the list hold neighbouring parts.

    Raises:
        ValueError: an index out of range or named twice, a shape or a number of members that is not that many devices,
            or a process of the job left without a device (it could not take part in any computation).
    """
    if devices is None:
        everything = jax.devices()
        use = range(len(everything)) if use is None else use
        use = _checked_indices(use, len(everything))
        devices = [everything[i] for i in use]
    if not devices or not all(hasattr(device, "process_index") for device in devices):
        raise TypeError(f"devices={devices!r}: a list of JAX's devices is needed, such as jax.devices()[:2]")
    idle = set(range(jax.process_count())) - {d.process_index for d in devices}
    if idle:
        raise ValueError(
            f"devices {list(use) if use is not None else devices} leave processes {sorted(idle)} without a device; "
            f"name at least one device of each of the {jax.process_count()} processes, or start fewer processes"
        )
    if members is not None and (members < 1 or len(devices) % members):
        raise ValueError(f"members={members} on {len(devices)} devices: a number that divides them is needed")
    axes = {} if members is None else {MEMBER: members}
    return _mesh_of(devices, axes | mesh_axes(len(devices) // (members or 1), shape), axis_type)


def _mesh_of(devices: Sequence[jax.Device], axes: dict[str, int], axis_type: AxisType = AxisType.Auto) -> Mesh:
    return Mesh(np.array(devices).reshape(tuple(axes.values())), tuple(axes), axis_types=(axis_type,) * len(axes))


def device_groups(**sizes: int | Sequence[int]) -> dict[str, Mesh]:
    """Meshes by name, each over devices of its own: groups of devices that do different work at the same time.

    The first group has the first devices of the job, the second one those that follow, and so on. Programs on different
    groups run at the same time where nothing that one makes is needed by the other; `solver.hand_over` moves a state
    from one group to another.

    Args:
        sizes: for each group the number of devices (slabs), or `(slabs, pencils in each)`.

    Returns:
        A mesh as `device_mesh` makes it for each name, in the order given. Devices that no group takes stay idle. In a
        job of several processes each of them belongs to one group.

    Raises:
        ValueError: no group, a group without devices, more devices than the job has, or a process with devices of
            several groups or of no group: a program of one group might wait there for one of another.
    """
    shapes = {name: _group_shape(name, size) for name, size in sizes.items()}
    counts = [math.prod(shape) for shape in shapes.values()]
    described = ", ".join(f"{name} = {size}" for name, size in sizes.items()) or "none"
    if not shapes:
        raise ValueError(f"device groups {described}: at least one is needed, such as step=6")
    devices = jax.devices()
    if sum(counts) > len(devices):
        raise ValueError(f"device groups {described} need {sum(counts)} devices; there are {len(devices)}")
    firsts = [sum(counts[:i]) for i in range(len(counts))]
    of_group = {name: devices[first : first + n] for name, first, n in zip(shapes, firsts, counts, strict=True)}
    _check_processes(of_group, described)
    return {
        name: _mesh_of(of_group[name], mesh_axes(math.prod(shape), None if len(shape) == 1 else shape))
        for name, shape in shapes.items()
    }


def _check_processes(of_group: dict[str, list[jax.Device]], described: str) -> None:
    """Raises ValueError unless each of several processes has devices of one group."""
    if jax.process_count() == 1:
        return
    groups: dict[int, set[str]] = {process: set() for process in range(jax.process_count())}
    for name, devices in of_group.items():
        for device in devices:
            groups[device.process_index].add(name)
    wrong = [(process, sorted(names)) for process, names in groups.items() if len(names) != 1]
    if wrong:
        process, names = wrong[0]
        raise ValueError(
            f"device groups {described} in {len(groups)} processes: process {process} has devices of "
            f"{' and '.join(names) or 'no group'}; each process must have devices of one group"
        )


def _group_shape(name: str, size: int | Sequence[int]) -> tuple[int, ...]:
    """Sides of a group's mesh: one, or two for pencils."""
    sides = tuple(size) if isinstance(size, Sequence) and not isinstance(size, str) else (size,)
    whole = all(isinstance(n, int) and not isinstance(n, bool) and n > 0 for n in sides)
    if not whole or len(sides) not in (1, 2):
        raise ValueError(
            f"device group {name} = {size!r}: a positive number of devices is needed, or (slabs, pencils in each)"
        )
    return sides


def mesh_description(mesh: AnyMesh) -> tuple[Any, ...]:
    """A mesh by its layout: axes, their types, and where its devices are in JAX's list of a platform's devices."""
    layout = (tuple(mesh.shape.items()), tuple(axis.name for axis in mesh.axis_types))
    if not isinstance(mesh, Mesh):
        return *layout, "", ()
    platform = mesh.devices.flat[0].platform
    places = {device: i for i, device in enumerate(jax.devices(platform))}
    return *layout, platform, tuple(places[device] for device in mesh.devices.flat)


def mesh_from(axes: Sequence[tuple[str, int]], types: Sequence[str], platform: str, places: Sequence[int]) -> AnyMesh:
    """The mesh of a description, on the devices that are here: the same places, or the first ones if these are fewer.

    Raises:
        ValueError: fewer devices than the mesh has.
    """
    names, sizes = zip(*axes, strict=True)
    axis_types = tuple(AxisType[name] for name in types)
    if not places:
        return AbstractMesh(sizes, names, axis_types=axis_types)
    try:
        here = jax.devices(platform)
    except RuntimeError:  # none of that platform
        here = jax.devices()
    if len(places) > len(here):
        raise ValueError(
            f"a mesh of {dict(axes)} was stored on {len(places)} devices, and {len(here)} are here: as many are needed "
            f"(on a CPU JAX_NUM_CPU_DEVICES={len(places)} gives virtual ones), or a grid that is made for these"
        )
    places = places if max(places) < len(here) else range(len(places))
    return Mesh(np.array([here[i] for i in places]).reshape(sizes), names, axis_types=axis_types)


def mesh_axes(devices: int, shape: Sequence[int] | None) -> dict[str, int]:
    """Names and sizes of the mesh's axes.

    Raises:
        ValueError: a shape that is not two sides, or whose product is not the number of devices.
    """
    if shape is None:
        return {SLAB: devices}
    if not isinstance(shape, Sequence) or isinstance(shape, str):
        raise TypeError(f"mesh {shape!r} for {devices} devices: a list of two sides is needed")
    if len(shape) != 2 or min(shape) < 1 or math.prod(shape) != devices:
        fit = ", ".join(str([p, devices // p]) for p in range(1, devices + 1) if devices % p == 0)
        raise ValueError(f"mesh {list(shape)} for {devices} devices: two sides are needed, such as {fit}")
    return {SLAB: shape[0], PENCIL: shape[1]}


def _checked_indices(use: Sequence[int], available: int) -> list[int]:
    """The indices as numbers; raises TypeError or ValueError where they are not distinct ones of the job's devices."""
    try:
        use = [operator.index(i) for i in use]
    except TypeError:
        raise TypeError(f"devices {use!r} were chosen: a list of indices is needed, such as [0, 1]") from None
    wrong = [i for i in use if not 0 <= i < available]
    if wrong or len(set(use)) != len(use) or not len(use):
        raise ValueError(
            f"devices {list(use)} were chosen; name distinct indices from 0 to {available - 1}, "
            f"since the job has {available} devices"
        )
    return use


def mesh_parts(mesh: AnyMesh) -> tuple[int, int]:
    """Number of slabs that the mesh makes, and of pencils in each.

    Raises:
        ValueError: the mesh has no axis named `slab`, or one that is neither `slab` nor `pencil`.
    """
    others = [name for name, size in mesh.shape.items() if name not in (MEMBER, SLAB, PENCIL) and size > 1]
    if SLAB not in mesh.shape or others:
        raise ValueError(
            f"mesh axes are {dict(mesh.shape)}; a slab decomposition needs one axis, named {SLAB!r}, "
            f"a pencil decomposition also one named {PENCIL!r}, an ensemble also one named {MEMBER!r} "
            "(solver.device_mesh makes them)"
        )
    return mesh.shape[SLAB], mesh.shape.get(PENCIL, 1)


def split_axes(mesh: AnyMesh, dimensions: int = 3) -> tuple[str, ...]:
    """Names of the mesh axes that split arrays of so many axes in space, in the order of the axes they split."""
    return ((SLAB, PENCIL) if PENCIL in mesh.shape else (SLAB,))[:dimensions]


def is_explicit(mesh: AnyMesh) -> bool:
    """True if shardings over this mesh are part of the arrays' types."""
    return AxisType.Explicit in mesh.axis_types


def on_gpu(mesh: AnyMesh) -> bool:
    """True if the mesh has GPU devices; False for an abstract mesh."""
    return isinstance(mesh, Mesh) and mesh.devices.flat[0].platform == "gpu"


def across_hosts(mesh: AnyMesh) -> bool:
    """True if some GPUs of a mesh, or of one member's part of it, reach each other by a network only.

    JAX numbers the groups of GPUs that share fast links, alike on all processes.
    """
    if not on_gpu(mesh):
        return False
    at = mesh.axis_names.index(MEMBER) if MEMBER in mesh.axis_names else None
    members = [mesh.devices] if at is None else np.moveaxis(mesh.devices, at, 0)
    return any(len({_group_of(device) for device in part.flat}) > 1 for part in members)


def _group_of(device: Any) -> int:
    """Number of a device's group; one for all where JAX does not tell."""
    return next((getattr(device, name) for name in ("partition_index", "slice_index") if hasattr(device, name)), 0)


def over_auto_axes(run: Callable[..., Array], mesh: AnyMesh, result: NamedSharding) -> Callable[..., Array]:
    """The function `run` with shardings left to the compiler: on a mesh with Explicit axes within `auto_axes` of JAX.

    Within it constraints are given as a `PartitionSpec`, since another mesh is in force there (`constrained`).

    Args:
        run: function of arrays that returns one array.
        mesh: over which they are split.
        result: sharding of the result, part of its type where axes are Explicit.
    """
    if not is_explicit(mesh) or _in_auto_region():
        return run
    return jax.sharding.auto_axes(run, axes=mesh.axis_names, out_sharding=result)


def constrained(u: Array, sharding: NamedSharding) -> Array:
    """`u` pinned to a sharding; on a mesh with Explicit axes only within `over_auto_axes`."""
    return jax.lax.with_sharding_constraint(u, sharding.spec if is_explicit(sharding.mesh) else sharding)


def placed(u: Any, sharding: NamedSharding) -> Array:
    """An array that is being traced, or a number, with this sharding; also on a mesh with Explicit axes."""
    return over_auto_axes(lambda v: constrained(v, sharding), sharding.mesh, sharding)(u)


def whole_on_each(value: Any, sharding: NamedSharding) -> Array:
    """Numbers of the host, of which every process has all, as an array of this sharding. No communication."""
    return jax.make_array_from_callback(np.shape(value), sharding, lambda index: value[index])


def _in_auto_region() -> bool:
    """True if the mesh in force has no Explicit axis: within `auto_axes` shardings are no longer part of types."""
    context = jax.sharding.get_abstract_mesh()
    return not context.empty and AxisType.Explicit not in context.axis_types


def padded_sharding(mesh: AnyMesh, ndim: int, dimensions: int) -> NamedSharding:
    """Sharding of an array whose last `dimensions` axes are in space: the first is split, with pencils the second too.

    Leading axes (components, batches) are whole on every device.
    """
    return NamedSharding(mesh, PartitionSpec(*[None] * (ndim - dimensions), *split_axes(mesh, dimensions)))


def unpadded_sharding(mesh: AnyMesh, shape: Sequence[int], dimensions: int) -> NamedSharding:
    """`padded_sharding` as far as the mesh divides the shape: JAX gives arrays at rest parts of one size only.

    An axis that the devices do not divide stays whole, with a copy on each of them.
    """
    split = padded_sharding(mesh, len(shape), dimensions)
    parts = [
        name if name is not None and n % mesh.shape[name] == 0 else None
        for name, n in zip(split.spec, shape, strict=False)
    ]
    return NamedSharding(mesh, PartitionSpec(*parts))


def show_sharding(array: jax.Array) -> str:
    """A few lines saying which device holds which part of `array`; for reading, works on any number of processes."""
    if not isinstance(array, jax.Array):
        raise TypeError(f"show_sharding of a {type(array).__name__}: an array of JAX is needed")
    lines = [f"{array.dtype}{list(array.shape)}  {array.sharding}"]
    for device, index in sorted(array.sharding.devices_indices_map(array.shape).items(), key=lambda p: p[0].id):
        lines.append(f"  {device}: {_slices(index, array.shape)}")
    return "\n".join(lines)


def _slices(index: tuple[Any, ...], shape: tuple[int, ...]) -> str:
    spans = [s.indices(n) for s, n in zip(index, shape, strict=True)]
    return "[" + ", ".join(f"{a}:{b}" for a, b, _ in spans) + "]"
