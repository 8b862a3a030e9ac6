"""Ways to run one transform on global arrays: the same operation, the same result to round-off.

==============  =========================================================================================
engine          how
==============  =========================================================================================
`slabwave`      the local pipeline as a `custom_partitioning` operation; XLA sees one partitioned operation
`shard_map`     the same local pipeline in a manual region
`jaxdecomp`     the jaxdecomp library's complex transform, all modes exchanged, truncated afterwards
==============  =========================================================================================
"""

from __future__ import annotations

import hashlib
import importlib.util
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental.custom_partitioning import custom_partitioning
from jax.sharding import AbstractMesh, NamedSharding, PartitionSpec
from jaxtyping import Array

from solver.fft.blocked import forward_blocked, inverse_blocked, pointwise_blocked
from solver.fft.pipeline import forward_local, inverse_local, largest_here, largest_of_all
from solver.fft.stages import extend, fit, resize, truncate
from solver.fft.waves import pointwise_in_waves
from solver.grid.layout import Layout
from solver.mesh import (
    MEMBER,
    PENCIL,
    SLAB,
    AnyMesh,
    across_hosts,
    is_explicit,
    padded_sharding,
    split_axes,
    unpadded_sharding,
)

ENGINES = ("slabwave", "shard_map", "jaxdecomp")
SLABS_ACROSS_HOSTS, PENCILS_ACROSS_HOSTS = 2, 3  # waves: the fewest with which Navier–Stokes holds 10 words per point
FEW_POINTS = 2**19  # of a GPU: kernels of one field's take no longer than their launch, and fewer of them win


def has_few_points(layout: Layout) -> bool:
    """Whether a GPU of this layout would take longer to launch kernels of one field than to run them."""
    return math.prod(layout.padded_points) <= FEW_POINTS * layout.devices


@dataclass(frozen=True)
class Method:
    """How a transform is to be carried out. Every method gives the same result to round-off.

    Args:
        engine: one of `ENGINES`.
        fields: most fields that share an exchange, `all` for a whole batch, or `auto`: one on GPUs with more than
            `FEW_POINTS` each, where an exchange runs beside the transforms of other fields and less is held; all
            elsewhere, and in waves.
        chunks: number of parts that the exchange is cut into, one after the other (slabs in three dimensions): the
            program holds 1/chunks of what is sent and received, and sends as many more messages.
        waves: of planes of x in which fields go through a function of points, the exchanges of one beside the work of
            the other; `auto`: on GPUs of several hosts with more than `FEW_POINTS` each two of slabs and three of
            pencils, one elsewhere. A mesh with Explicit axes takes one.
        backend: of jaxdecomp: `jax`, or `cudecomp` where that library was built with it.
    """

    engine: str = "slabwave"
    fields: int | Literal["auto", "all"] = "auto"
    chunks: int = 1
    waves: int | Literal["auto"] = "auto"
    backend: str = "jax"

    def most_fields(self, layout: Layout, gpu: bool) -> int | None:
        """Most fields that share an exchange of a transform, on GPUs or not; None for a whole batch."""
        if self.fields == "auto":
            return 1 if gpu and not has_few_points(layout) else None
        return None if self.fields == "all" else self.fields

    def waves_on(self, layout: Layout, across: bool) -> int:
        """Number of waves of a function of points, on GPUs of several hosts or not.

        One where nothing is exchanged, or exchanges are cut in another way.
        """
        if layout.devices == 1 or self.chunks > 1 or self.engine == "jaxdecomp":
            return 1
        if self.waves == "auto":
            several = PENCILS_ACROSS_HOSTS if layout.pencils > 1 else SLABS_ACROSS_HOSTS
            wanted = several if across and not has_few_points(layout) else 1
        else:
            wanted = self.waves
        return min(wanted, layout.padded_points[0] // layout.slabs)

    def for_export(self) -> Method:
        """This method for a program that `jax.export` writes down: a `custom_partitioning` operation is an address in
        this process, and the same local pipeline in a manual region is not."""
        return replace(self, engine="shard_map") if self.engine == "slabwave" else self

    def check(self, layout: Layout, mesh: AnyMesh) -> None:
        """Raises ValueError where this method cannot transform this layout on this mesh; the message names what can."""
        if self.engine not in ENGINES:
            raise ValueError(f"engine {self.engine!r}: {', '.join(ENGINES)} are there")
        known = self.fields in ("auto", "all") or (isinstance(self.fields, int) and self.fields > 0)
        known = known and (self.waves == "auto" or (isinstance(self.waves, int) and self.waves > 0))
        if self.chunks < 1 or not known:
            raise ValueError(
                f"chunks={self.chunks}, fields={self.fields!r}, waves={self.waves!r}: one or more are needed, or "
                "'auto' or 'all' fields, or 'auto' waves"
            )
        if self.waves not in ("auto", 1) and (self.chunks > 1 or self.engine == "jaxdecomp"):
            raise ValueError(
                f"waves={self.waves} with chunks={self.chunks}, engine {self.engine!r}: exchanges are cut in one way, "
                "waves=1 or chunks=1 is needed, and for waves the engine slabwave or shard_map"
            )
        if self.chunks > 1 and (self.engine == "jaxdecomp" or layout.dimensions != 3 or layout.pencils > 1):
            raise ValueError(
                f"chunks={self.chunks}: exchanges are cut for slabs in three dimensions, by the engines slabwave and "
                "shard_map; elsewhere chunks=1 is needed"
            )
        if MEMBER in mesh.shape and self.engine != "slabwave":
            raise ValueError(f"engine {self.engine!r} on a mesh with an axis 'member': ensembles need 'slabwave'")
        if self.engine == "jaxdecomp":
            _check_jaxdecomp(layout, mesh, self.backend)


def _check_jaxdecomp(layout: Layout, mesh: AnyMesh, backend: str) -> None:
    if importlib.util.find_spec("jaxdecomp") is None:
        raise ValueError("engine 'jaxdecomp' needs the package: pip install jaxdecomp")
    if backend not in ("jax", "cudecomp"):
        raise ValueError(f"backend {backend!r} of jaxdecomp: jax or cudecomp is needed")
    if layout.dimensions != 3:
        raise ValueError(f"engine 'jaxdecomp' on the grid {list(layout.shape)}: it transforms three dimensions only")
    if PENCIL not in mesh.shape:
        raise ValueError(
            f"engine 'jaxdecomp' on a mesh with one axis: it expects two; device_mesh(shape=({layout.slabs}, 1)) "
            "gives the same slabs"
        )
    if is_explicit(mesh):
        raise ValueError("engine 'jaxdecomp' on a mesh with Explicit axes: it needs Auto ones")
    x, y, z = layout.points
    uneven = [n for n in ((x, z) if layout.pencils == 1 else (x, y)) if n % layout.slabs]
    uneven += [n for n in (y, z) if n % layout.pencils]
    if uneven:
        raise ValueError(
            f"engine 'jaxdecomp' on {layout.slabs} × {layout.pencils} devices and {list(layout.points)} points: "
            f"it must divide {uneven}; the engine 'slabwave' pads"
        )


def transform_operation(
    is_forward: bool,
    layout: Layout,
    mesh: AnyMesh,
    method: Method,
    factor: float,
    given: Sequence[jax.ShapeDtypeStruct],
    on_cpu: bool,
) -> Callable[[Array], Array]:
    """The transform as a function of global arrays `(…, *layout.padded_points)` or `(…, *layout.spectral_shape)`."""
    if method.engine == "jaxdecomp":
        transform = partial(_jaxdecomp, is_forward=is_forward, layout=layout, mesh=mesh, backend=method.backend)
        return lambda u: transform(u) * (factor * math.prod(layout.points) if is_forward else factor)
    if in_blocks(layout, method, on_cpu):
        blocked = forward_blocked if is_forward else inverse_blocked
        local = partial(blocked, layout=layout, factor=factor, chunks=method.chunks, in_cache=on_cpu)
    else:
        local = partial(forward_local if is_forward else inverse_local, layout=layout, factor=factor)
    ndim = len(given[0].shape)
    split = lambda on: [padded_sharding(on, ndim, layout.dimensions)]  # noqa: E731
    content = repr(("transform", is_forward, layout, method, factor, on_cpu))
    alone = lambda u, axis_name: [local(u, axis_name=axis_name)]  # noqa: E731
    run = _partitioned(alone, layout, mesh, method, split, [ndim], [ndim], [True], content)
    return lambda u: run(u)[0]


def pointwise_operation(
    fn: Callable[..., Array],
    parameters: int,
    layout: Layout,
    mesh: AnyMesh,
    method: Method,
    given: Sequence[jax.ShapeDtypeStruct],
    on_cpu: bool,
    largest: Callable[..., Array] | None,
) -> Callable[..., list[Array]]:
    """Coefficients of `fn(u, *operands)`, as a function of the global coefficients of u and of the operands; then the
    largest value over the points of `largest(u, *operands)`, if that is given.

    The first operands, as many as `parameters` says, are whole on every device; the others are arrays over the padded
    points, split as fields are. `given` has the shape of each.
    """
    d = layout.dimensions
    u_hat, operands, waves = given[0], given[1:], method.waves_on(layout, across_hosts(mesh))

    def local(u_hat: Array, *operands: Array, axis_name: Any) -> list[Array]:
        fixed, over_points = operands[:parameters], operands[parameters:]
        if waves > 1:
            fields = method.fields if isinstance(method.fields, int) else None
            in_waves = partial(pointwise_in_waves, waves=waves, fields=fields, batch=_batch_axes(fn))
            return in_waves(u_hat, fn, layout, axis_name, fixed, over_points, largest)
        if in_blocks(layout, method, on_cpu):
            return pointwise_blocked(u_hat, fn, layout, axis_name, fixed, over_points, largest)
        u = inverse_local(u_hat, layout, axis_name)
        f_hat = forward_local(fn(u, *operands), layout, axis_name)
        if largest is None:
            return [f_hat]
        return [f_hat, largest_of_all(largest_here(largest(u, *operands), layout, axis_name), layout, axis_name)]

    def split(on: AnyMesh) -> list[NamedSharding]:
        whole = [NamedSharding(on, PartitionSpec())] * parameters
        over_points = [unpadded_sharding(on, v.shape, d) for v in operands[parameters:]]
        return [padded_sharding(on, len(u_hat.shape), d), *whole, *over_points]

    points = jax.ShapeDtypeStruct(
        (*u_hat.shape[: len(u_hat.shape) - d], *layout.padded_points),
        jnp.zeros(0, u_hat.dtype).real.dtype if layout.real else u_hat.dtype,
    )
    traced, result = jax.make_jaxpr(fn, return_shape=True)(points, *operands)
    results, beside = [len(result.shape)], None
    if largest is not None:
        beside, of_points = jax.make_jaxpr(largest, return_shape=True)(points, *operands)
        results.append(len(of_points.shape) - d)
    content = repr(("pointwise", str(traced), str(beside), parameters, layout, method, waves, on_cpu))
    batched = [at is not None for at in getattr(fn, "axes", (0, *[None] * len(operands)))]
    axes = [len(v.shape) for v in given]
    return _partitioned(local, layout, mesh, method, split, axes, results, batched, content)


def _batch_axes(fn: Any) -> tuple[int, int]:
    """How many axes `vmap` has put in front of the fields that a function takes, and of those that it returns."""
    given = returned = 0
    while hasattr(fn, "axes"):
        given, returned, fn = given + (fn.axes[0] is not None), returned + 1, fn.fn
    return given, returned


def in_blocks(layout: Layout, method: Method, on_cpu: bool) -> bool:
    """Blocks on a CPU, whose cache they fit, or where the exchange is cut; whole arrays elsewhere."""
    return layout.dimensions > 1 and layout.pencils == 1 and (on_cpu or method.chunks > 1)


def _partitioned(
    local: Callable[..., list[Array]],
    layout: Layout,
    mesh: AnyMesh,
    method: Method,
    split: Callable[[AnyMesh], list[NamedSharding]],
    operand_axes: Sequence[int],
    result_axes: Sequence[int],
    batched: Sequence[bool],
    content: str,
) -> Callable[..., list[Array]]:
    """What one device does, as an operation on global arrays.

    `split` says how each operand lies on a mesh. Operands and results have these numbers of axes. The first result is
    split as all coefficients and fields are; others, which have no axes in space, are the same on every device.
    `batched` says which operands begin with the axis of a batch, and lie where the members of an ensemble are.
    `content` says what the operation computes: two that differ in anything but shapes differ in it.
    """
    d = layout.dimensions
    if layout.devices == 1 and MEMBER not in mesh.shape:
        return lambda *operands: local(*operands, axis_name=None)
    whole = len(result_axes) - 1  # results beside the coefficients or fields

    def results_on(on: AnyMesh) -> list[NamedSharding]:
        return [padded_sharding(on, result_axes[0], d)] + [NamedSharding(on, PartitionSpec())] * whole

    axes = split_axes(mesh) if layout.devices > 1 else None
    on_block = lambda *operands: local(*operands, axis_name=axes)  # noqa: E731
    if method.engine == "shard_map":
        specs = tuple(sharding.spec for sharding in split(mesh))
        # where axes are Explicit this runs within `auto_axes`, whose mesh is in force
        within = None if is_explicit(mesh) else mesh
        out_specs = [sharding.spec for sharding in results_on(mesh)]
        return jax.shard_map(on_block, mesh=within, in_specs=specs, out_specs=out_specs, check_vma=False)
    # A program holds a partitioned operation as its name, shapes and an address; what it computes is not written into
    # it. Kept programs, which are compared without the address, would be taken for one another: the last operand,
    # which nothing reads, is a number that stands for the content.
    operation = custom_partitioning(lambda *operands: local(*operands[:-1], axis_name=None))
    mark = np.int32(int.from_bytes(hashlib.sha256(content.encode()).digest()[:4], "little", signed=True))

    def alone(*operands: Array) -> list[Array]:
        # traced while XLA partitions, where a mesh that the caller has put in force means nothing
        with jax.sharding.use_abstract_mesh(AbstractMesh((), ())):
            return on_block(*operands[:-1])

    axes_of_batch = (operand_axes[0] - d - 1, result_axes[0] - d - 1, *result_axes[1:])
    of_ensemble = MEMBER in mesh.shape and min(axes_of_batch) >= 1

    def place(on: Any, given: Any) -> tuple[list[NamedSharding], tuple[NamedSharding, ...]]:
        """Where results and operands lie: as one field does, members where those of the first operand are."""
        results, operands = results_on(on), split(on)
        if of_ensemble and _first_axis(given[0]) == MEMBER:
            results = [_of_members(result) for result in results]
            operands = [_of_members(v) if has else v for v, has in zip(operands, batched, strict=True)]
        return results, (*operands, NamedSharding(on, PartitionSpec()))

    def partition(on: Any, operands: Any, result: Any) -> Any:
        return on, alone, *place(on, operands)

    operation.def_partition(
        partition=partition,
        infer_sharding_from_operands=lambda on, operands, result: place(on, operands)[0],
        sharding_rule=_rule([*operand_axes, 0], result_axes, (*batched, False) if of_ensemble else ()),
    )
    return lambda *operands: operation(*operands, mark)


def _rule(operand_axes: Sequence[int], result_axes: Sequence[int], batched: Sequence[bool]) -> str:
    """Shardy's rule: no output axis follows from an input axis, the callback places all of them; but for members.

    `batched` says which operands begin with an axis of members; empty where there are none.
    """
    axes = [[f"v{n}_{i}" for i in range(ndim)] for n, ndim in enumerate((*operand_axes, *result_axes))]
    inputs, outputs = axes[: len(operand_axes)], axes[len(operand_axes) :]
    first = [names for names, has in zip(inputs, batched, strict=True) if has] if batched else []
    for names in (*first, *outputs) if first else ():
        names[0] = "members"
    written = lambda side: ", ".join(" ".join(names) for names in side)  # noqa: E731
    return f"{written(inputs)} -> {written(outputs)}"


def _first_axis(operand: Any) -> Any:
    """Name of the mesh axis that splits an operand's first axis."""
    spec = operand.sharding.spec
    name = spec[0] if len(spec) else None
    return name[0] if isinstance(name, tuple) and len(name) == 1 else name


def _of_members(sharding: NamedSharding) -> NamedSharding:
    return NamedSharding(sharding.mesh, PartitionSpec(MEMBER, *sharding.spec[1:]))


# ---- jaxdecomp --------------------------------------------------------------------------------------------------


def _jaxdecomp(u: Array, *, is_forward: bool, layout: Layout, mesh: AnyMesh, backend: str) -> Array:
    """jaxdecomp's transform of all modes, which leaves (y, z, x) as ours does; one field after the other."""
    import jaxdecomp  # importing it configures its library: only where it is asked for

    pin = lambda v: jax.lax.with_sharding_constraint(v, padded_sharding(mesh, v.ndim, 3))  # noqa: E731
    pin_modes = lambda v: jax.lax.with_sharding_constraint(v, jax.NamedSharding(mesh, _its_modes(layout)))  # noqa: E731
    fields = u.reshape(-1, *u.shape[-3:])
    if is_forward:
        given = [pin(v.astype(jnp.result_type(u.dtype, jnp.complex64))) for v in fields]
        modes = [pin_modes(jaxdecomp.fft.pfft3d(v, norm="forward", backend=backend)) for v in given]
        kept = jnp.stack([_retained(m, layout) for m in modes])
        return kept.reshape(*u.shape[:-3], *kept.shape[1:])
    full = [pin_modes(_all_modes(v, layout)) for v in fields]
    points = jnp.stack([pin(jaxdecomp.fft.pifft3d(v, norm="forward", backend=backend)) for v in full])
    points = points.real if layout.real else points
    return points.reshape(*u.shape[:-3], *points.shape[1:])


def _its_modes(layout: Layout) -> jax.P:
    """How jaxdecomp leaves the modes (y, z, x): of slabs it splits z, where we split y."""
    if layout.pencils == 1:
        return jax.P(PENCIL, SLAB)
    return jax.P(SLAB, PENCIL) if layout.slabs > 1 else jax.P(None, PENCIL, SLAB)


def _retained(modes: Array, layout: Layout) -> Array:
    """From all modes (y, z, x) those that the layout keeps, with its padding."""
    if layout.real:
        modes = modes[:, : layout.points[2] // 2 + 1]
    for at, axis in zip((-3, -2, -1), layout.order, strict=True):
        modes = truncate(modes, layout, axis, at)
    return fit(modes, layout.spectral_shape)


def _all_modes(u_hat: Array, layout: Layout) -> Array:
    """All modes of a complex transform whose real part is the field: a mode that stands for two counts twice."""
    u_hat = fit(u_hat, layout.logical_spectral_shape)
    if layout.real:
        weights = layout.half_axis_weights().astype(u_hat.real.dtype)
        u_hat = u_hat * weights[:, None]
    for at, axis in zip((-3, -2, -1), layout.order, strict=True):
        u_hat = extend(u_hat, layout, axis, at)
    return resize(u_hat, -2, layout.points[2])
