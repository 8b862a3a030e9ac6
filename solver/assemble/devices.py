"""Devices that a run may use, and the sides of their mesh: the one place that decides a decomposition."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace

import jax
from jax.sharding import AbstractMesh, AxisType, Mesh

from solver.config import Config, ConfigError
from solver.fft import Method
from solver.grid import Layout
from solver.mesh import device_groups, device_mesh, mesh_axes
from solver.outputs.at_points import Selection
from solver.spaces.field import fields_of


def preferred_device_count(config: Config, cores: int, processes: int = 1) -> int:
    """Number of devices per process, at most one per core, that can split the grids of the run and its outputs.

    It is 1 if no larger number can. Even shares are preferred.

    With `devices.groups` as many as the groups need, whatever the number of cores.

    Raises:
        ConfigError: groups of which several processes cannot each have devices of one.
    """
    if config.devices.groups is not None:
        return _devices_of_groups(config, processes)
    fitting = [n for n in range(1, cores + 1) if _fits(config, n * processes)]
    even = [n for n in fitting if _splits_evenly(config, n * processes)]
    return max(even or fitting, default=1)


def _devices_of_groups(config: Config, processes: int) -> int:
    """Devices per process with which every process has devices of one group, and none is left over."""
    groups = config.devices.groups
    assert groups is not None
    if processes == 1:
        return groups.total
    for each in range(1, groups.total + 1):
        if _one_group_each(config, each, processes):
            return each
    raise ConfigError(
        f"devices.groups = {groups} in {processes} processes: each process must have devices of one group, all of them "
        "as many; groups that such a number divides are needed, or another number of processes"
    )


def _one_group_each(config: Config, each: int, processes: int) -> bool:
    """True if every one of several processes with so many devices each has devices of one group."""
    groups = config.devices.groups
    return groups is None or (groups.step % each == 0 and -(-groups.total // each) == processes)


def refuse_packed_groups(config: Config, processes: int) -> None:
    """Raises ConfigError where several processes would write into the files that packed members share."""
    ensemble, groups = config.ensemble, config.devices.groups
    if processes > 1 and ensemble is not None and ensemble.packed and groups is not None:
        raise ConfigError(
            f"devices.groups = {groups} with ensemble.packed in {processes} processes: one process writes the files "
            "that members share; packed = false, one process with all devices, or a run file without groups is needed"
        )


def check_processes_of_groups(config: Config, each: int, processes: int) -> None:
    """Raises ConfigError unless every process, with so many devices each, has devices of one group of the run file."""
    refuse_packed_groups(config, processes)
    if processes > 1 and not _one_group_each(config, each, processes):
        raise ConfigError(
            f"devices.groups = {config.devices.groups} in {processes} processes of {each} devices each: every process "
            "must have devices of one group"
        )


def check_device_count(config: Config, devices: int) -> None:
    """Refuse a number of devices that cannot split the grid, or the grid of an output with fewer points.

    Raises:
        ConfigError: the message names numbers that can.
    """
    with _key_in_front("devices.mesh"):
        mesh_axes(devices, config.devices.mesh)
    with _key_in_front("grid.shape"):
        method_of(config).check(layout_of(config, devices), abstract_mesh(config, devices))
    _check_coarser(config, devices)


def _check_coarser(config: Config, devices: int) -> None:
    """Raises ConfigError where these devices cannot split the grid of an output that they carry out."""
    if config.devices.groups is not None:  # others carry outputs out, of a number that is known from the start
        return
    layout = layout_of(config, devices)
    for name, output in config.outputs.items():
        selection = getattr(output.make(), "selection", None)
        if isinstance(selection, Selection) and selection.coarsen > 1:
            with _key_in_front(f"output.{name}.coarsen = {selection.coarsen}"):
                layout.coarser(selection.coarsen)


def devices_that_step(config: Config, available: int) -> int:
    """Number of a job's devices that step: `devices.groups` or `devices.use` say, by default all of them.

    Raises:
        ConfigError: groups of more devices than there are.
    """
    groups = config.devices.groups
    if groups is None:
        return len(config.devices.use or range(available))
    if groups.total > available:
        raise ConfigError(f"devices.groups = {groups}: {groups.total} devices are needed; there are {available}")
    return groups.step


def check_groups(config: Config) -> None:
    """Check that the grid can be split over the devices that step, and over those that analyse.

    Raises:
        ConfigError: it cannot; members that are to be stepped together.
    """
    groups = config.devices.groups
    if groups is None:
        return
    if config.ensemble is not None and config.ensemble.together not in (1, "auto"):
        raise ConfigError(
            f"devices.groups = {groups} with ensemble.together = {config.ensemble.together}: members that leave "
            "their outputs to other devices go one after the other; together = 1 is needed"
        )
    with _key_in_front(f"devices.groups.step = {groups.step}"):
        layout_of(config, groups.step)
    with _key_in_front(f"devices.groups.analyse = {groups.analyse}"):
        replace(layout_of(config, 1), slabs=groups.analyse)


def device_meshes(config: Config) -> tuple[Mesh, Mesh | None]:
    """The mesh of the devices that step, and of those that analyse, if `devices.groups` is given. Touches devices.

    Raises:
        ConfigError: a mesh that is not possible with the devices of the job.
    """
    section = config.devices
    count = devices_that_step(config, len(jax.devices()))
    if section.groups is None:
        with _key_in_front("devices.use"):
            return device_mesh(section.use, shape=mesh_shape(config, count)), None
    with _key_in_front("devices.groups"):
        analyse = _analysis_shape(config) or section.groups.analyse
        made = device_groups(step=mesh_shape(config, count) or count, analyse=analyse)
    return made["step"], made["analyse"]


@contextmanager
def _key_in_front(key: str) -> Iterator[None]:
    """Make a ValueError of the block a ConfigError that begins with a key of the run file and its value."""
    try:
        yield
    except ValueError as error:
        raise ConfigError(f"{key}: {error}") from None


def _analysis_shape(config: Config) -> tuple[int, int] | None:
    """Sides of the mesh of the devices that analyse: slabs, however those that step split the grid."""
    groups, section = config.devices.groups, config.devices
    return (groups.analyse, 1) if groups is not None and section.engine == "jaxdecomp" else None


def method_of(config: Config) -> Method:
    """The transform method of `[devices]`: engine, fields per exchange, chunks, waves, precision of exchanges."""
    section = config.devices
    precision = section.exchange_precision
    return Method(section.engine, section.fields_per_exchange, section.chunks, section.waves, precision=precision)


def mesh_shape(config: Config, devices: int) -> tuple[int, int] | None:
    """Sides of the device mesh; None where it has one axis.

    Among pencils, sides that split the grid evenly are preferred, then those nearest to a square, then more slabs.

    Raises:
        ValueError: `devices.mesh` is not that many devices, or no two sides can split the grid.
    """
    section = config.devices
    if section.decomposition == "slab":
        return (devices, 1) if section.engine == "jaxdecomp" else None  # which expects two axes
    if section.mesh is not None:
        mesh_axes(devices, section.mesh)
        return section.mesh[0], section.mesh[1]
    whole = Layout(config.grid.shape, config.dealias, config.equation.cls.is_real(), walls=bool(config.grid.walls))
    sides = [(p, devices // p) for p in range(1, devices + 1) if devices % p == 0]
    sides = [(p, c) for p, c in sides if p <= whole.max_slabs and c <= whole.max_pencils]
    if not sides:
        raise ValueError(
            f"{devices} devices as pencils of the grid {list(whole.shape)}: a product of at most {whole.max_slabs} "
            f"slabs and at most {whole.max_pencils} pencils in each is needed"
        )
    uneven = lambda side: whole.points[0] % side[0] + whole.points[1] % side[1] > 0  # noqa: E731
    return min(sides, key=lambda side: (uneven(side), abs(side[0] - side[1]), -side[0]))


def abstract_mesh(config: Config, devices: int) -> AbstractMesh:
    """The run's mesh without devices: shapes only."""
    return _abstract(mesh_axes(devices, mesh_shape(config, devices)))


def abstract_analysis_mesh(config: Config) -> AbstractMesh | None:
    """The mesh of the devices that analyse without devices; None if all of them step."""
    groups = config.devices.groups
    return None if groups is None else _abstract(mesh_axes(groups.analyse, _analysis_shape(config)))


def _abstract(axes: Mapping[str, int]) -> AbstractMesh:
    return AbstractMesh(tuple(axes.values()), tuple(axes), axis_types=(AxisType.Auto,) * len(axes))


def least_memory(config: Config) -> int:
    """Bytes that the fields of a step take on all devices together: less than what a run holds."""
    layout = layout_of(config, smallest_count(config))
    itemsize = 8 if config.grid.precision == "float32" else 16
    fields = fields_of(config.equation.cls, config.equation.parameters, config.units_of_scalars)
    components = sum(len(field.component_names(name, layout.dimensions)) for name, field in fields.items())
    return (1 + config.stepper.cls.stages_held) * components * itemsize * math.prod(layout.logical_spectral_shape)


def smallest_count(config: Config) -> int:
    """The least number of devices that step: the number in `devices.groups`, the product of `devices.mesh`, or one."""
    if config.devices.groups is not None:
        return config.devices.groups.step
    return math.prod(config.devices.mesh or (1,))


def _fits(config: Config, devices: int) -> bool:
    try:
        layout_of(config, devices)
        _check_coarser(config, devices)
    except ValueError:
        return False
    return True


def _splits_evenly(config: Config, devices: int) -> bool:
    layout = layout_of(config, devices)
    return layout.padded_points == layout.points


def layout_of(config: Config, devices: int) -> Layout:
    """The layout of the run's grid on so many devices. Raises ValueError where the grid cannot be split so."""
    real = config.equation.cls.is_real()
    parts = mesh_shape(config, devices) or (devices, 1)
    return Layout(config.grid.shape, config.dealias, real, *parts, walls=bool(config.grid.walls))
