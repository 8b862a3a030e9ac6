"""Functions of points on a block of planes of x: from the modes that arrived to the modes that are sent.

On a CPU one complex FFT takes a quarter less time than the two real ones that it can stand for (benchmarks/
navier_stokes.md). So planes 2j and 2j + 1 of x of a real field are the real and the imaginary part of a complex one,
and a function of points is called for each of the two parts. A pair depends neither on the blocks nor on the number of
fields: members of an ensemble have the same bits however many there are. Complex fields, grids that keep their Nyquist
modes, and devices with an odd number of planes transform their planes as they are.

All FFTs are forward ones, of conjugates: an inverse one takes a fifth longer, for its scaling.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
from jax import lax
from jaxtyping import Array

from solver.fft.loops import take
from solver.fft.slabs import Slabs
from solver.fft.stages import fft


@dataclass(frozen=True)
class BlockPoints(ABC):
    """A block of planes, at whose points functions are called.

    Starts and counts are of units: of planes of x, or of pairs of them.
    """

    slabs: Slabs
    unit = 1  # planes in a unit

    @abstractmethod
    def blank(self, fields: int, count: int) -> list[Array]:
        """Zeros that the loop over blocks carries along: where modes are written to, before they are transformed."""

    @abstractmethod
    def fields(
        self, received: Sequence[Array], start: Any, count: int, filled: list[Array]
    ) -> tuple[list[Array], list[Array]]:
        """Fields `(field, x, y, z)` on each part of the points, and `filled`, which began as `blank`.

        `received` are pieces of conjugates, as `Slabs.planes_of_modes` returns them.
        """

    def in_units(self, piece: Array) -> Array:
        """A piece `(field, x, ky, kz)` as `(field, unit, plane in it, ky, kz)`; where a unit is a plane, as it is."""
        return piece

    @abstractmethod
    def parts(self, v: Array, start: Any, count: int) -> list[Array]:
        """An array over the points of the device, on each part of the points."""

    @abstractmethod
    def first_planes(self, start: Any) -> list[Any]:
        """Number of the first plane of each part; those after it are `unit` apart."""

    @abstractmethod
    def put_modes(self, pieces: Sequence[Array], results: Sequence[Array], start: Any, factor: float) -> list[Array]:
        """The modes of fields `(field, x, y, z)` on each part, times `factor`, put into pieces of `in_units`."""

    def _planes(self, v: Array, start: Any, count: int) -> Array:
        axis = v.ndim - self.slabs.layout.dimensions
        return v if v.shape[axis] == 1 else take(v, start * self.unit, count * self.unit, axis)


def block_points(slabs: Slabs) -> BlockPoints:
    """How the points of these slabs are reached with the least work."""
    layout = slabs.layout
    if not slabs.in_cache or not layout.real or layout.dealias == "none" or slabs.planes % 2:
        return AsTheyAre(slabs)
    return PlanePairs(slabs) if layout.dimensions == 3 else LinePairs(slabs)


class AsTheyAre(BlockPoints):
    """All points together, by FFTs of the fields' own kind."""

    def blank(self, fields: int, count: int) -> list[Array]:
        return []

    def fields(
        self, received: Sequence[Array], start: Any, count: int, filled: list[Array]
    ) -> tuple[list[Array], list[Array]]:
        return [self.slabs.points_of_planes(received, start, count)], filled

    def parts(self, v: Array, start: Any, count: int) -> list[Array]:
        return [self._planes(v, start, count)]

    def first_planes(self, start: Any) -> list[Any]:
        return [start]

    def put_modes(self, pieces: Sequence[Array], results: Sequence[Array], start: Any, factor: float) -> list[Array]:
        return self.slabs.put_modes(pieces, results[0], start, factor)


class Pairs(BlockPoints):
    """Neighbouring planes a and b of real fields, as a + ib.

    With V = conj Û, the conjugates that arrive, one forward FFT gives a + ib of

        V_a(k) + i V_b(k)    and, at −k,    conj V_a(k) + i conj V_b(k),

    and where W are the modes of f_a + i f_b, those of f_a are (W(k) + conj W(−k))/2, of f_b (W(k) − conj W(−k))/2i.
    """

    unit = 2

    def in_units(self, piece: Array) -> Array:
        return piece.reshape(piece.shape[0], -1, 2, *piece.shape[2:])

    def blank(self, fields: int, count: int) -> list[Array]:
        return [jnp.zeros((fields, count, *self.slabs.plane_shape), self.slabs.dtype)]

    def fields(
        self, received: Sequence[Array], start: Any, count: int, filled: list[Array]
    ) -> tuple[list[Array], list[Array]]:
        pairs = [lax.dynamic_slice_in_dim(self.in_units(piece), start, count, 1) for piece in received]
        modes = self._fill(filled[0], pairs)
        u = fft(modes, self.slabs.layout.dimensions - 1)
        return [u.real, u.imag], [modes]

    @abstractmethod
    def _fill(self, modes: Array, pairs: Sequence[Array]) -> Array:
        """The modes of a + ib, from pieces `(field, pair, 2, ky, kz)` of V; zeros stay where no modes are kept."""

    def parts(self, v: Array, start: Any, count: int) -> list[Array]:
        v, axis = self._planes(v, start, count), v.ndim - self.slabs.layout.dimensions
        return [v, v] if v.shape[axis] == 1 else [lax.slice_in_dim(v, j, None, 2, axis) for j in (0, 1)]

    def first_planes(self, start: Any) -> list[Any]:
        return [2 * start, 2 * start + 1]

    def put_modes(self, pieces: Sequence[Array], results: Sequence[Array], start: Any, factor: float) -> list[Array]:
        modes = fft(lax.complex(*results), self.slabs.layout.dimensions - 1)
        filled = []
        for i, piece in enumerate(pieces):
            for w, v, ky, kz in self._kept(modes, i):  # W(k), and W(−k) before it is conjugated
                a = lax.complex(w.real + v.real, w.imag - v.imag) * (factor / 2)
                b = lax.complex(w.imag + v.imag, v.real - w.real) * (factor / 2)
                for j, part in enumerate((a, b)):
                    piece = lax.dynamic_update_slice(piece, part[:, :, None], (0, start, j, ky, kz))
            filled.append(self.slabs.clear_padding(piece, i, start, modes.shape[1]))
        return filled

    @abstractmethod
    def _kept(self, modes: Array, i: int) -> Iterator[tuple[Array, Array, int, int]]:
        """Parts of piece i: modes at k and at −k, `(field, pair, ky, kz)`, and their first ky and kz in the piece."""


class PlanePairs(Pairs):
    """Pairs of planes in three dimensions, where k = (ky, kz).

    Of the modes kz = 0 that part counts which belongs to real fields, as in every transform to real values.
    """

    def _fill(self, modes: Array, pairs: Sequence[Array]) -> Array:
        runs = [
            (y, piece[:, :, :, ky : ky + rows])
            for i, piece in enumerate(pairs)
            for y, ky, rows in self.slabs.ky_runs(i)
        ]
        for y, run in runs:
            modes = _put(modes, _add_times_i(run), y, 0)
        for y, run in runs:
            mirrored = _add_times_i(jnp.conj(run))
            for first, length, at in _mirror(y, run.shape[-2], modes.shape[-2]):
                part = jnp.flip(mirrored[:, :, first : first + length], (-2, -1))
                modes = _put(modes, part[..., :-1], at, modes.shape[-1] - part.shape[-1] + 1)
                column = (modes[:, :, at : at + length, :1] + part[..., -1:]) * 0.5
                modes = _put(modes, column, at, 0)
        return modes

    def _kept(self, modes: Array, i: int) -> Iterator[tuple[Array, Array, int, int]]:
        ny, nz = self.slabs.plane_shape
        for y, ky, rows in self.slabs.ky_runs(i):
            for first, length, at in _mirror(y, rows, ny):
                for z, columns, at_z in _mirror(0, self.slabs.Kz, nz):
                    w = modes[:, :, y + first : y + first + length, z : z + columns]
                    v = jnp.flip(modes[:, :, at : at + length, at_z : at_z + columns], (2, 3))
                    yield w, v, ky + first, z


class LinePairs(Pairs):
    """Pairs of lines in two dimensions, where k = ky ≥ 0. Imaginary parts of the modes ky = 0 count as zero."""

    def _fill(self, modes: Array, pairs: Sequence[Array]) -> Array:
        for i, piece in enumerate(pairs):
            for y, ky, rows in self.slabs.ky_runs(i):
                for first, length, at in _mirror(y, rows, modes.shape[-1]):
                    run = piece[:, :, :, ky + first : ky + first + length, 0]
                    if at == 0:
                        modes = _put(modes, lax.complex(run[:, :, 0].real, run[:, :, 1].real), 0)
                    else:
                        modes = _put(modes, _add_times_i(run), y + first)
                        modes = _put(modes, jnp.flip(_add_times_i(jnp.conj(run)), -1), at)
        return modes

    def _kept(self, modes: Array, i: int) -> Iterator[tuple[Array, Array, int, int]]:
        for y, ky, rows in self.slabs.ky_runs(i):
            for first, length, at in _mirror(y, rows, modes.shape[-1]):
                w = modes[..., y + first : y + first + length, None]
                yield w, jnp.flip(modes[..., at : at + length, None], -2), ky + first, 0


def _add_times_i(pairs: Array) -> Array:
    """a + ib, where axis 2 holds a and b."""
    a, b = pairs[:, :, 0], pairs[:, :, 1]
    return lax.complex(a.real - b.imag, a.imag + b.real)


def _mirror(first: int, length: int, n: int) -> list[tuple[int, int, int]]:
    """Where −k stand in an FFT of n points, for modes k from number `first` on; k = 0 is a part by itself.

    Returns:
        For each part its begin among the modes, their number, and where the mirrored ones begin, in reversed order.
    """
    if first > 0:
        return [(0, length, n - first - length + 1)]
    return [(0, 1, 0), *([(1, length - 1, n - length + 1)] if length > 1 else [])]


def _put(u: Array, part: Array, *last: int) -> Array:
    """u with a part of its last axes replaced, from the indices `last` on."""
    return lax.dynamic_update_slice(u, part, (*(0,) * (u.ndim - len(last)), *last))
