"""Values of a field at positions that are split over the devices by number, wherever they lie.

Each position goes to the device that holds the points around it, is interpolated there in the order of cells, and its
value comes home: two all-to-all exchanges in each of a number of rounds of fixed capacity. A crowd takes more rounds,
and none is lost. The points that a device lacks at the end of its part come from the next ones, by collective-permute.
A value is computed by one device, by one sequence of operations: its bits do not depend on the devices.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import PartitionSpec
from jaxtyping import Array

from solver.fft import Method, Transform, inverse_local
from solver.grid import Grid
from solver.mesh import MEMBER, split_axes
from solver.particles.exact_sum import SCOPE, sum_of_modes
from solver.particles.splines import (
    MANY,
    UNROLL,
    UNROLL_FEW,
    Across,
    Around,
    axes_of,
    halves,
    interpolated,
    prefilter,
    whole_of,
)
from solver.spaces.field import Field
from solver.spaces.polynomials import Polynomials, PolynomialSpace, times


@dataclass(frozen=True)
class _Part:
    """A device's part of the points of a grid, and how it is interpolated.

    Args:
        axes: splines of each direction.
        own: points of a part along each direction, padding included.
        names: mesh axes of the directions that are split, in their order.
        sizes: number of parts along these.
        unroll: terms of the sum in one turn of a loop.
    """

    axes: tuple[Around | Across, ...]
    own: tuple[int, ...]
    names: tuple[str, ...]
    sizes: tuple[int, ...]
    unroll: int

    @property
    def order(self) -> int:
        """Order of the splines."""
        return self.axes[0].order

    @property
    def periodic(self) -> list[bool]:
        """True for each periodic direction that a device holds whole."""
        whole = [axis >= len(self.names) or self.sizes[axis] == 1 for axis in range(len(self.axes))]
        return [is_whole and isinstance(own, Around) for is_whole, own in zip(whole, self.axes, strict=True)]

    @property
    def devices(self) -> int:
        return math.prod(self.sizes)

    def first(self, cells: Array) -> Array:
        """First points of positions `(direction, position)` in units of each direction's splines."""
        return jnp.stack([own.first(x) for own, x in zip(self.axes, cells, strict=True)])

    def owner(self, first: Array) -> Array:
        """Number of the device that holds the first points `(direction, position)`."""
        owner = jnp.zeros_like(first[0])
        for axis, size in enumerate(self.sizes):
            owner = owner * size + first[axis] // self.own[axis]
        return owner

    def inside(self, first: Array) -> Array:
        """First points counted from the begin of the part that holds them."""
        return jnp.stack(
            [first[axis] if axis >= len(self.names) else first[axis] % self.own[axis] for axis in range(len(self.axes))]
        )

    def cell(self, first: Array) -> Array:
        """A number by which positions in the same part are brought into the order of their cells."""
        cell = jnp.zeros_like(first[0])
        for axis, place in enumerate(self.inside(first)):
            cell = cell * self.own[axis] + place
        return cell


def flow_at(
    coefficients: Array,
    positions: Array,
    transform: Transform | PolynomialSpace,
    *,
    order: int | Literal["spectral"],
    slopes: bool = False,
    single: bool = False,
) -> Array:
    """A field at the positions, by B-splines whose coefficients are computed here, or by its series. Differentiable.

    Args:
        coefficients: coefficients of the field `(component, *grid.spectral_shape)`, between walls of polynomials.
        positions: positions in the box `(direction, particle)` [length], split over the devices by particle; a number
            of particles that the devices divide. They may lie outside of the box by any number of its lengths; beyond
            a wall the values at the wall are taken.
        transform: transform of the field, of a grid for real fields; between walls the space of its polynomials.
        order: order of the spline, 4, 6 or 8; or `spectral` for the sum over all modes (`solver.particles.exact_sum`).
        slopes: True for the gradient, too.
        single: True if transform and sums are in single precision, and values rounded to it.

    Returns:
        `(component, particle)`; with slopes `(1 + directions, component, particle)`: values, then ∂/∂x, ∂/∂y, ∂/∂z.
        Split as the positions are. One batched inverse transform; in each round all-to-all of the positions and of the
        values; collective-permute of m − 1 planes.
    """
    if order == "spectral":
        return sum_of_modes(coefficients, positions, transform.grid, slopes=slopes, single=single)
    grid = replace(transform.grid, precision="float32") if single else transform.grid
    filtered = (coefficients * _filter_along(transform.grid, order)).astype(grid.complex_dtype)
    make = _splines_between_walls if grid.walls else _splines
    c, to_points = make(filtered, grid, transform.method, order)
    return interpolated_on(grid, c, positions, order, slopes=slopes, to_points=to_points)


def _filter_along(grid: Grid, order: int) -> Array:
    """The filter of the periodic directions."""
    if not grid.walls:
        return prefilter(grid, order)
    return jnp.ones((), grid.dtype) if grid.horizontal is None else prefilter(grid.horizontal, order)[..., None]


@dataclass(frozen=True)
class _ToPoints:
    """Coefficients of splines at a device's points, made where they are used: between calls all devices would have all
    points, where the devices do not divide them.

    Args:
        grid: the periodic directions.
        precision: precision of the exchange.
        across: True if the first axis of the modes counts splines from wall to wall.
    """

    grid: Grid
    precision: str
    across: bool = False

    @property
    def spec(self) -> PartitionSpec:
        """Split of the modes."""
        return self.grid.spectral_sharding(self.grid.dimensions + 1 + self.across).spec

    def __call__(self, c_hat: Array) -> Array:
        """Coefficients `(component, *points)`."""
        c = inverse_local(c_hat, self.grid.layout, split_axes(self.grid.mesh), 1.0, self.precision)
        return jnp.moveaxis(c, 0, -1) if self.across else c


def _splines(filtered: Array, grid: Grid, method: Method, order: int) -> tuple[Array, _ToPoints | None]:
    """Coefficients of the splines in a periodic box; or modes of them, and the function for their points."""
    if grid.layout.padded_points == grid.layout.points:
        return Transform(grid, method).inverse(filtered), None
    return filtered, _ToPoints(grid, method.precision)


def _splines_between_walls(c: Array, grid: Grid, method: Method, order: int) -> tuple[Array, _ToPoints | None]:
    """The same of polynomials `(component, …, n)`: a matrix makes coefficients of splines from wall to wall of them."""
    points, count = grid.shape[-1], c.shape[-1]
    matrix = halves(points, order, count).astype(grid.dtype)
    if grid.layout.padded_points == grid.layout.points:
        space = PolynomialSpace("splines", Field(), grid, method, polynomials=Polynomials.on(grid))
        return space.at_points(c, matrix), None
    assert grid.horizontal is not None
    to_points = _ToPoints(grid.horizontal, method.precision, across=True)
    return jnp.moveaxis(times(whole_of(matrix, points, count), c), -1, 0), to_points


def interpolated_on(
    grid: Grid,
    c: Array,
    positions: Array,
    order: int,
    *,
    slopes: bool = False,
    to_points: _ToPoints | None = None,
) -> Array:
    """Values of a spline at the positions.

    Args:
        grid: grid of the spline.
        c: its coefficients `(component, *points)`, between walls with two more than there are points; or modes of them,
            with `to_points`.
        positions, order, slopes: as in `flow_at`.
        to_points: function that makes the coefficients of a device's points from its modes.
    """
    spec = grid.physical_sharding(c.ndim).spec if to_points is None else to_points.spec
    layout, names = grid.layout, split_axes(grid.mesh, grid.dimensions)
    sizes, axes = tuple(grid.mesh.shape[name] for name in names), axes_of(grid, order)
    own = tuple(axis.splines + n - m for axis, n, m in zip(axes, layout.padded_points, layout.points, strict=True))
    own = tuple(n // p for n, p in zip(own, layout.parts, strict=True))
    unroll = UNROLL if positions.shape[1] >= MANY else UNROLL_FEW
    part = _Part(axes, own, tuple(names), sizes, unroll)
    units = tuple(length / axis.unit for length, axis in zip(grid.box.lengths, axes, strict=True))
    by_number = PartitionSpec(None, tuple(names)) if names else PartitionSpec()
    out = PartitionSpec(*[None] * (2 if slopes else 1), *by_number[1:])

    def local(c: Array, x: Array) -> Array:
        cells = x / jnp.asarray(units, x.dtype)[:, None]
        values = _on_devices(part, c if to_points is None else to_points(c), cells, slopes)
        if not slopes:
            return values.astype(x.dtype)
        per_length = jnp.asarray([1.0, *(1 / h for h in units)], values.dtype)
        return (values * per_length[:, None, None]).astype(x.dtype)

    # on a mesh with an axis of members JAX does not see that values are the same for all of them
    check = MEMBER not in grid.mesh.shape
    mapped = jax.shard_map(local, mesh=grid.mesh, in_specs=(spec, by_number), out_specs=out, check_vma=check)
    with jax.named_scope(SCOPE):
        return mapped(c, positions)


def _on_devices(part: _Part, c: Array, cells: Array, slopes: bool) -> Array:
    first = part.first(cells)
    if part.devices == 1:
        order = _sorted_by(part.cell(first), math.prod(part.own))
        values = interpolated(
            c, first[:, order], cells[:, order], part.axes, part.periodic, slopes=slopes, unroll=part.unroll
        )
        return jnp.zeros_like(values).at[..., order].set(values, unique_indices=True)
    for axis in range(len(part.names)):
        c = _with_next_planes(part, c, axis)
    return _by_requests(part, slopes, c, cells)


# ---- exchange ---------------------------------------------------------------------------------------------------


FEW = 1024  # so few that all of them may ask the same device in one round


def capacity(particles: int, devices: int) -> int:
    """Positions that a pair of devices exchanges in a round: as of an even spread, and four deviations more.

    All that a device has where they are few.
    """
    mean, most = particles / devices**2, particles / devices
    return max(1, math.ceil(most if particles <= FEW else min(mean + 4 * math.sqrt(mean) + 4, most)))


@dataclass(frozen=True)
class _Asked:
    """Which positions a device sends to which.

    Args:
        order: numbers of the positions, in the order of the devices that hold their points, and of cells.
        count: number of positions for each device.
        begin: place in `order` of the first one for each device.
        slots: positions that a pair of devices exchanges in a round.
        rounds: number of rounds, the same on all devices.
    """

    order: Array
    count: Array
    begin: Array
    slots: int
    rounds: Array

    @classmethod
    def of(cls, part: _Part, cells: Array) -> _Asked:
        first = part.first(cells)
        slots = capacity(cells.shape[1] * part.devices, part.devices)
        owner = part.owner(first)
        order = _sorted_by(owner * math.prod(part.own) + part.cell(first), part.devices * math.prod(part.own))
        asked = jnp.zeros(part.devices, jnp.int32).at[owner].add(1)
        rounds = lax.pmax((jnp.max(asked) + slots - 1) // slots, part.names)
        return cls(order, asked, jnp.cumsum(asked) - asked, slots, rounds)


@partial(jax.custom_vjp, nondiff_argnums=(0, 1))
def _by_requests(part: _Part, slopes: bool, c: Array, cells: Array) -> Array:
    """Values at the positions, in as many rounds as the fullest pair of devices needs.

    The first round stands outside of the loop of the others: on a CPU XLA does not order exchanges in a loop or a
    branch and independent ones outside of it (seen with jaxlib 0.10.2), and devices that begin with different ones wait
    for each other for ever, where they have fewer threads than exchanges. Positions that are spread evenly need one
    round, and so do few positions, without a loop. The loop has a derivative of its own, since a number of turns that
    is not known has no reverse mode.
    """
    asked = _Asked.of(part, cells)
    kinds = (1 + len(cells), len(c)) if slopes else (len(c),)
    nothing = jnp.zeros((*kinds, cells.shape[1]), c.dtype) + _zeros(cells[0]).astype(c.dtype)
    turn = lambda r, out: _round(part, slopes, asked, c, cells, r, out)  # noqa: E731
    return _further(asked, turn, turn(jnp.int32(0), nothing))


def _forward(part: _Part, slopes: bool, c: Array, cells: Array) -> tuple[Array, tuple[Array, Array]]:
    return _by_requests(part, slopes, c, cells), (c, cells)


def _backward(part: _Part, slopes: bool, kept: tuple[Array, Array], change: Array) -> tuple[Array, Array]:
    """The rounds once more; each position is in one of them."""
    c, cells = kept
    asked = _Asked.of(part, cells)

    def add(r: Array, sums: tuple[Array, Array]) -> tuple[Array, Array]:
        one = lambda c, cells: _round(part, slopes, asked, c, cells, r, _zeros(change))  # noqa: E731
        return jax.tree.map(jnp.add, sums, jax.vjp(one, c, cells)[1](change))

    return _further(asked, add, add(jnp.int32(0), (_zeros(c), _zeros(cells))))


_by_requests.defvjp(_forward, _backward)


def _further(asked: _Asked, turn: Callable[[Array, Any], Any], first: Any) -> Any:
    """The first round's result, after further rounds where they can be needed."""
    one_is_enough = asked.slots >= len(asked.order)
    return first if one_is_enough else lax.fori_loop(1, asked.rounds, turn, first)


def _zeros(values: Array) -> Array:
    """Zeros that JAX takes to differ between devices where the values do, as a loop that adds to them needs."""
    return jnp.where(values == values, 0, 0).astype(values.dtype)


def _round(part: _Part, slopes: bool, asked: _Asked, c: Array, cells: Array, r: Array, out: Array) -> Array:
    """`out` with the values of one round: positions go out, are interpolated, and their values come home."""
    d, count = cells.shape
    slot = r * asked.slots + jnp.arange(asked.slots, dtype=jnp.int32)
    valid = slot < asked.count[:, None]  # (device, slot)
    pick = jnp.where(valid, asked.order[jnp.minimum(asked.begin[:, None] + slot, count - 1)], count)
    sent = jnp.where(valid, cells.at[:, pick].get(mode="clip"), 0)
    received = lax.all_to_all(sent, part.names, 1, 1, tiled=True)
    wanted = lax.all_to_all(valid, part.names, 0, 0, tiled=True)
    received = jnp.where(wanted, received, _middle_of(part, cells.dtype)[:, None, None]).reshape(d, -1)
    start = part.inside(part.first(received))
    values = interpolated(c, start, received, part.axes, part.periodic, slopes=slopes, unroll=part.unroll)
    values = values.reshape(*out.shape[:-1], part.devices, asked.slots)
    home = lax.all_to_all(values, part.names, values.ndim - 2, values.ndim - 2, tiled=True)
    return out.at[..., pick].set(home, mode="drop")


def _middle_of(part: _Part, dtype: np.dtype) -> Array:
    """A position in the middle of this device's part, for slots that no position takes."""
    middle = [n // 2 if isinstance(axis, Around) else 0.5 for n, axis in zip(part.own, part.axes, strict=True)]
    origin = [lax.axis_index(name) * n for name, n in zip(part.names, part.own, strict=False)]
    return jnp.stack(
        [jnp.asarray(m + (origin[axis] if axis < len(origin) else 0), dtype) for axis, m in enumerate(middle)]
    )


def _sorted_by(key: Array, largest: int) -> Array:
    """Stable order of whole numbers from 0 to `largest`. Of one operand, which XLA sorts faster than of two."""
    bits = max(1, (len(key) - 1).bit_length())
    if largest.bit_length() + bits <= 31:
        packed = jnp.sort((key << bits) | jnp.arange(len(key), dtype=jnp.int32))
    elif jax.config.jax_enable_x64:
        packed = jnp.sort((key.astype(jnp.int64) << bits) | jnp.arange(len(key), dtype=jnp.int64))
    else:
        return lax.sort((key, jnp.arange(len(key), dtype=jnp.int32)), num_keys=1)[1]
    return (packed & ((1 << bits) - 1)).astype(jnp.int32)


# ---- points of the next devices ---------------------------------------------------------------------------------


def _with_next_planes(part: _Part, c: Array, axis: int) -> Array:
    """c with the m − 1 planes more at its end that its positions read, of the next device or of several next ones."""
    size, own, extra = part.sizes[axis], part.own[axis], part.order - 1
    if size == 1:
        return c
    source, index, held = _sources(part.axes[axis].points, size, own, extra)
    me, array_axis = lax.axis_index(part.names[axis]), axis + 1
    sent = lax.slice_in_dim(c, 0, min(own, extra), axis=array_axis)
    planes = None
    for hop in sorted(set(np.unique((source - np.arange(size)[:, None]) % size))):
        moved = sent
        if hop:
            moved = lax.ppermute(sent, part.names[axis], [((i + hop) % size, i) for i in range(size)])
        moved = jnp.take(moved, jnp.asarray(index)[me], axis=array_axis)
        is_from = jnp.asarray((source - np.arange(size)[:, None]) % size == hop)[me]
        is_from = is_from.reshape([-1 if i == array_axis else 1 for i in range(c.ndim)])
        planes = jnp.where(is_from, moved, 0 if planes is None else planes)
    if (held == own).all():
        return jnp.concatenate([c, planes], array_axis)
    longer = jnp.concatenate([c, jnp.zeros_like(planes)], array_axis)
    return lax.dynamic_update_slice_in_dim(longer, planes, jnp.asarray(held)[me], array_axis)


def _sources(points: int, size: int, own: int, extra: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """For each device and plane that it lacks: the device that has it, and its number there; points of each device."""
    held = np.clip(points - own * np.arange(size), 0, own).astype(np.int32)
    begin = np.minimum(own * np.arange(size) + held, points)  # those without points end where the last ones do
    planes = (begin[:, None] + np.arange(extra)) % points
    return planes // own, (planes % own).astype(np.int32), held
