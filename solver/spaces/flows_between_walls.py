"""Velocities without divergence between two walls, as Stokes modes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from jaxtyping import Array

from solver.grid import Grid
from solver.mesh import split_axes
from solver.spaces.polynomials import FieldBetweenWalls, PolynomialSpace, integral, integral_transposed, times
from solver.spaces.space import SOLENOIDAL
from solver.static import is_zero
from solver.walls.conditions import Rigid, Walls, rate_of, value_of
from solver.walls.modes import (
    SLOPE,
    VALUE,
    lifting,
    lifting_with_mean,
    parts_by_symmetry,
    scalar_modes,
    stokes_modes,
)


class StokesModes(eqx.Module):
    """Stokes modes of each horizontal wavenumber of a grid.

    Args:
        poloidal: for each part by symmetry Z `([ky,] |kx|, polynomial, mode)`, split over the devices as the modes are.
        toroidal: `(polynomial, mode)`, and of the mean flow.
        rates: eigenvalue of each stored mode `(component, …, n)` [1/length²]; 0 without a mode.
        lifting: polynomials `(3, wall)` of a unit velocity of each wall; `(3, 3)` where the mean velocity is kept, the
            last of a unit mean.
        mean_flow: `(polynomial, mode)` of the second component of a mean flow whose mean is kept; else None.
    """

    poloidal: tuple[Any, ...]
    toroidal: Any
    rates: Any
    lifting: Any
    mean_flow: Any

    @classmethod
    def on(cls, grid: Grid, walls: Walls) -> StokesModes:
        rigid = isinstance(walls.lower, Rigid), isinstance(walls.upper, Rigid)
        return _stokes_modes(grid, rigid, walls.mean is not None)

    def bytes_on_one(self, devices: int) -> int:
        """Bytes on each of so many devices, which share the matrices and the eigenvalues."""
        split = sum(v.size * v.dtype.itemsize for v in (*self.poloidal, self.rates)) // devices
        small = (self.toroidal, self.lifting, self.mean_flow)
        return int(split + sum(v.nbytes for v in small if v is not None))


@lru_cache(maxsize=8)
def _stokes_modes(grid: Grid, rigid: tuple[bool, bool], keeps_mean: bool) -> StokesModes:
    made = _Made(grid, rigid, keeps_mean)
    poloidal = (_split(grid, (*made.half, size, size), 0, made.poloidal(i)) for i, size in enumerate(made.parts.sizes))
    rates = _split(grid, (grid.dimensions - 1, *made.k.shape, made.count), 1, made.rates)
    at_walls = [(1.0, 0.0) if one else (0.0, 1.0) for one in rigid]
    lifted = (lifting_with_mean if keeps_mean else lifting)(*at_walls)
    cast = lambda v: np.asarray(v, grid.dtype)  # noqa: E731
    second = cast(made.mean_flow()[1]) if keeps_mean and grid.dimensions == 3 else None
    return StokesModes(tuple(poloidal), cast(made.toroidal), rates, cast(lifted), second)


class _Made:
    """Stokes modes of the wavenumbers that the devices of this process hold, each made once.

    They are made for a part of the split axis at a time: of ky, in two dimensions of kx.
    """

    def __init__(self, grid: Grid, rigid: tuple[bool, bool], keeps_mean: bool) -> None:
        assert grid.horizontal is not None
        self.keeps_mean, self.dtype = keeps_mean, grid.dtype
        self.count, self.height, self.rigid = grid.layout.retained[-1], 0.5 * float(grid.lengths[-1]), rigid  # type: ignore[index]
        self.of_scalars = scalar_modes(self.count, *(VALUE if one else SLOPE for one in rigid))
        self.parts, self.dimensions = _Parts(self.count, rigid), grid.dimensions
        wavenumbers = (np.asarray(k, float) ** 2 for k in grid.horizontal.wavenumbers())
        self.k = np.broadcast_to(np.sqrt(sum(wavenumbers)), grid.horizontal.spectral_shape)
        self.kept = np.broadcast_to(grid.horizontal.mode_weights() > 0, self.k.shape)
        self.half = self.k.shape if grid.dimensions == 2 else (len(self.k), (self.k.shape[-1] + 1) // 2)  # |kx|
        self.known: dict[float, list[tuple[np.ndarray, np.ndarray]]] = {}
        if not keeps_mean:  # else the modes of κ = 0, which have no mean
            self.known[0.0] = self.parts.mean_flow(*self.of_scalars)

    @property
    def toroidal(self) -> np.ndarray:
        """Modes of scalars `(polynomial, mode)`, empty where there are fewer."""
        return np.pad(self.of_scalars[1], [(0, 0), (0, self.count - self.of_scalars[1].shape[1])])

    def mean_flow(self) -> tuple[np.ndarray, np.ndarray]:
        """Eigenvalues `(n,)` and modes `(polynomial, n)` of a mean flow, ordered by parts; 0 without a mode."""
        rates, modes = np.zeros(self.count), np.zeros((self.count, self.count))
        for rows, first, (squares, z) in zip(self.parts.rows, self.parts.offsets, self._modes(0.0), strict=True):
            columns = slice(first, first + len(squares))
            rates[columns], modes[rows, columns] = squares, z
        return rates, modes

    def poloidal(self, part: int) -> Callable[[Any], np.ndarray]:
        """The function of a part of the split axis that gives Z of one part by symmetry."""
        return lambda rows: self._poloidal(part, rows)

    def _poloidal(self, part: int, rows: Any) -> np.ndarray:
        size = self.parts.sizes[part]
        made = np.zeros((len(self.k[rows]), *self.half[1:], size, size), self.dtype)
        for at, kappa in self._wavenumbers(rows):
            z = self._modes(kappa)[part][1]
            made[(*at, slice(None), slice(0, z.shape[1]))] = z
        return made

    def rates(self, rows: Any) -> np.ndarray:
        """Eigenvalues of a part of the split axis `(component, …, n)`."""
        k, kept = self.k[rows], self.kept[rows]
        made = np.zeros((self.dimensions - 1, *k.shape, self.count))
        for at, kappa in self._wavenumbers(rows):
            for first, (squares, _) in zip(self.parts.offsets, self._modes(kappa), strict=True):
                for place in {at, (*at[:-1], -at[-1] % k.shape[-1])} if self.dimensions == 3 else {at}:
                    made[(0, *place, slice(first, first + len(squares)))] = squares / self.height**2
        if self.dimensions == 3:
            own = self.of_scalars[0] / self.height**2
            made[1, ..., : len(own)] = np.where(kept[..., None], own, 0)
            if self.keeps_mean:
                made[1, kept & (k == 0)] = self.mean_flow()[0] / self.height**2
        holds = made > 0
        if not any(self.rigid):  # a flow that is the same from wall to wall is a mode
            holds[0, ..., 0] |= kept & (k == 0) & (not self.keeps_mean)
            holds[1:, ..., 0] |= kept & ((k > 0) | (not self.keeps_mean))
        return np.where(holds, made + (k**2)[..., None], 0)

    def _wavenumbers(self, rows: Any) -> Iterator[tuple[Any, float]]:
        """The places of the stored |kx| and ky of a part, and κ."""
        k, kept = (values[rows][..., : self.half[-1]] for values in (self.k, self.kept))
        for at in zip(*np.nonzero(kept), strict=True):
            yield at, float(np.round(k[at] * self.height, 12))

    def _modes(self, kappa: float) -> list[tuple[np.ndarray, np.ndarray]]:
        if kappa not in self.known:
            self.known[kappa] = stokes_modes(self.count, kappa, self.rigid)
        return self.known[kappa]


class _Parts:
    """The order of the modes of a velocity along n: even Z first, then odd Z, where walls are alike."""

    def __init__(self, count: int, rigid: tuple[bool, bool]) -> None:
        self.count, self.is_symmetric = count, rigid[0] == rigid[1]
        self.rows = [rows for rows, _ in parts_by_symmetry(count, rigid)]
        self.sizes = [(count + 1) // 2, count // 2] if self.is_symmetric else [count]
        self.offsets = [0, self.sizes[0]][: len(self.sizes)]

    def mean_flow(self, rates: np.ndarray, modes: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
        """Modes of scalars, which the mean flow has, in these parts."""
        if not self.is_symmetric:
            return [(rates, modes)]
        is_odd = np.abs(modes[1::2]).max(axis=0) > np.abs(modes[::2]).max(axis=0)
        return [(rates[~is_odd], modes[::2][:, ~is_odd]), (rates[is_odd], modes[1::2][:, is_odd])]


def _split(grid: Grid, shape: tuple[int, ...], lead: int, part: Callable[[Any], np.ndarray]) -> Any:
    """An array whose axis after `lead` others is split as the first of modes is, ky, in two dimensions kx.

    Each process makes the parts of its own devices.

    Where no devices are known nothing is made: zeros that take no memory have its shape.
    """
    if not isinstance(grid.mesh, Mesh):
        return np.broadcast_to(np.zeros((), grid.dtype), shape)
    spec = PartitionSpec(*[None] * lead, split_axes(grid.mesh)[0])
    with jax.ensure_compile_time_eval():
        return jax.make_array_from_callback(
            shape, NamedSharding(grid.mesh, spec), lambda index: part(index[lead]).astype(grid.dtype, copy=False)
        )


class StokesSpace(FieldBetweenWalls):
    """A velocity without divergence that does not cross the walls, rigid or free of stress, at rest or moving.

    u_h = i k̂ Z a + ẑ×i k̂ T b, w = κ∫Z a: poloidal coefficients a, and in three dimensions toroidal ones b; the mean
    flow takes their places where k = 0. Each mode has no divergence and meets the conditions, and viscosity is a number
    for each: there is no pressure anywhere. The numbers of a state are `(1 or 2, …, n)`. Where a force keeps the mean
    velocity, the modes of the mean flow have no mean, and the lifting, a parabola, has it: the force acts on no mode.
    """

    def __str__(self) -> str:
        return "Stokes modes between walls"

    @property
    def stored_components(self) -> int:
        return self.grid.dimensions - 1

    def without_lifting(self, u_hat: Array) -> Array:
        along = self._from_poloidal(u_hat[0])
        upward = integral(self._kappa() * along)
        x, *others = self._directions()
        if not others:
            return jnp.stack([x * along, upward])
        [y], around = others, times(self.own.toroidal, u_hat[1])
        if self.own.mean_flow is not None:
            around = jnp.where(self.along_squared() == 0, times(self.own.mean_flow, u_hat[1]), around)
        return jnp.stack([x * along - y * around, y * along + x * around, upward])

    def tested(self, c: Array) -> Array:
        x, *others = map(jnp.conj, self._directions())
        upward = self._kappa() * integral_transposed(c[-1])
        if not others:
            return self._to_poloidal(x * c[0] + upward)[None]
        [y] = others
        across = x * c[1] - y * c[0]
        around = times(self.own.toroidal.T, across)
        if self.own.mean_flow is not None:
            around = jnp.where(self.along_squared() == 0, times(self.own.mean_flow.T, across), around)
        return jnp.stack([self._to_poloidal(x * c[0] + y * c[1] + upward), jnp.where(self._is_stored(), around, 0)])

    @property
    def lifting(self) -> Array | None:
        return self._lifted([[value_of(v) for v in velocity] for velocity in self._velocities()])

    @property
    def rate_of_lifting(self) -> Array | None:
        rates = [[rate_of(v) for v in velocity] for velocity in self._velocities()]
        return None if all(is_zero(rate) for velocity in rates for rate in velocity) else self._lifted(rates)

    def _velocities(self) -> list[Sequence[Any]]:
        """Velocities of the walls, and the mean velocity where it is kept; `()` of walls at rest."""
        velocities = [getattr(side, "velocity", ()) for side in self.walls]
        return velocities + ([] if self.walls.mean is None else [self.walls.mean])

    def _lifted(self, velocities: Sequence[Sequence[Any]]) -> Array | None:
        if not any(velocities):
            return None
        made = []
        for i in range(self.grid.dimensions - 1):
            rights = [jnp.asarray(v[i] if v else 0.0, self.grid.dtype) for v in velocities]
            made.append(jnp.asarray(self.own.lifting) @ jnp.stack(rights))
        flat = jnp.stack([*made, jnp.zeros_like(made[0])])
        return jnp.pad(flat, [(0, 0), (0, self.modes.spectral_shape[-1] - flat.shape[1])])

    def gives_values(self) -> list[bool]:
        return [isinstance(side, Rigid) for side in self.walls]

    def missed_at_walls(self, u: Array) -> Array:
        along = self.grid.dimensions - 1
        is_given = [[isinstance(side, Rigid)] * along + [True] for side in self.walls]
        return self.mean_square_at_walls(self.with_lifting(self.polynomials_of(u), -1), is_given)

    def laplacian(self) -> Array:
        """−(k² + q²) of each stored number, `(component, …, n)`, and 0 without a mode."""
        return -jnp.asarray(self.own.rates)

    def holds(self) -> Array:
        rates = jnp.asarray(self.own.rates)
        if any(isinstance(side, Rigid) for side in self.walls) or self.walls.mean is not None:
            return rates > 0
        return (rates > 0) | self._is_uniform()

    def _is_uniform(self) -> Array:
        return PolynomialSpace.mean_modes(self)

    def product(self, a_hat: Array, b_hat: Array, weight: Any = 1) -> Any:
        if jnp.ndim(weight) > self.grid.dimensions:
            return super().product(weight * a_hat, b_hat)
        return super().product(a_hat, b_hat, weight)

    def as_declared(self, u_hat: Array, what: str) -> Array:
        return u_hat if what == SOLENOIDAL else super().as_declared(u_hat, what)

    # ---- by wavenumber ------------------------------------------------------------------------------------------

    def _kappa(self) -> Array:
        """κ = kH/2."""
        return jnp.sqrt(self.along_squared()) * (0.5 * self.height)

    def _directions(self) -> list[Array]:
        """i k̂ for each direction along the walls; (1, 0) where k = 0."""
        k = jnp.sqrt(self.along_squared())
        size, is_mean = jnp.where(k == 0, 1, k), k == 0
        turned = [jax.lax.complex(jnp.zeros_like(size), jnp.asarray(own) / size) for own in self.wavenumbers()]
        return [jnp.where(is_mean, float(i == 0), v) for i, v in enumerate(turned)]

    def _from_poloidal(self, a: Array) -> Array:
        columns, sizes = self._columns(a), [z.shape[-1] for z in self.own.poloidal]
        parts, first = [], 0
        for z, size in zip(self.own.poloidal, sizes, strict=True):
            parts.append(jnp.matmul(jnp.asarray(z), columns[..., first : first + size, :]))
            first += size
        if len(parts) == 1:
            return self._as_modes(parts[0], a.shape)
        even, odd = parts
        odd = jnp.pad(odd, [(0, 0)] * (odd.ndim - 2) + [(0, even.shape[-2] - odd.shape[-2]), (0, 0)])
        both = jnp.stack([even, odd], axis=-2)
        both = both.reshape(*even.shape[:-2], 2 * even.shape[-2], even.shape[-1])
        return self._as_modes(both[..., : a.shape[-1], :], a.shape)

    def _to_poloidal(self, c: Array) -> Array:
        columns = jnp.swapaxes(self._columns(c), -1, -2)  # whose products are twice as fast on a CPU
        each = [columns] if len(self.own.poloidal) == 1 else [columns[..., 0::2], columns[..., 1::2]]
        parts = [jnp.matmul(own, jnp.asarray(z)) for z, own in zip(self.own.poloidal, each, strict=True)]
        return self._as_modes(jnp.swapaxes(jnp.concatenate(parts, axis=-1), -1, -2), c.shape)

    def _columns(self, a: Array) -> Array:
        """Complex `(…, kx, n)` as real `(…, |kx|, n, column)`: kx and −kx share a matrix."""
        if self.grid.dimensions == 2:
            return jnp.stack([a.real, a.imag], axis=-1)
        count = (a.shape[-2] + 1) // 2
        positive = a[..., :count, :]
        negative = jnp.concatenate([a[..., :1, :], a[..., : count - 1 : -1, :]], axis=-2)
        return jnp.stack([positive.real, positive.imag, negative.real, negative.imag], axis=-1)

    def _as_modes(self, columns: Array, shape: tuple[int, ...]) -> Array:
        positive = jax.lax.complex(columns[..., 0], columns[..., 1])
        if self.grid.dimensions == 2:
            return positive
        negative = jax.lax.complex(columns[..., 2], columns[..., 3])
        return jnp.concatenate([positive, negative[..., :0:-1, :]], axis=-2)
