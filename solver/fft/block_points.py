"""The points of a block of planes of x: the way to them from modes that arrived, and from them to modes to be sent.

On a CPU one complex FFT takes a quarter less time than the two real ones that it can replace (benchmarks/
navier_stokes.md). So planes 2j and 2j + 1 of x of a real field are the real and the imaginary part of a complex one,
and a function of points is called for each of the two halves. A pair depends neither on the blocks nor on the number of
fields: members of an ensemble have the same bits however many there are. Complex fields, devices with an odd number of
planes, and grids with an odd number in all transform each plane by itself.

Complex FFTs are forward ones, of conjugates: an inverse one takes a fifth longer, for its scaling.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import jax.numpy as jnp
from jax import lax
from jaxtyping import Array

from solver.fft.loops import length_with_least_overlap, put, take
from solver.fft.slabs import Slabs, kept_runs
from solver.fft.stages import fft


@dataclass(frozen=True)
class BlockPoints(ABC):
    """The points of a block of planes of x.

    Planes are taken one by one, or two at a time. Two planes are two halves of the points: functions are called for the
    planes 0, 2, 4, … and for 1, 3, 5, …. Starts and counts are numbers of groups, of one plane or of two.
    """

    slabs: Slabs
    group = 1  # planes in a group

    @abstractmethod
    def blank(self, fields: int, count: int) -> list[Array]:
        """Zeros that the loop over blocks carries along: where modes are put before they are transformed."""

    @abstractmethod
    def fields(
        self, received: Sequence[Array], start: Any, count: int, modes: list[Array]
    ) -> tuple[list[Array], list[Array]]:
        """Fields `(field, x, y, z)` on each half of the points, and `modes`, which began as `blank`.

        `received` are pieces of conjugates, as `Slabs.planes_of_modes` returns them.
        """

    def blocks(self, fields: int, planes: int) -> tuple[int, int]:
        """Number of groups in so many planes of so many fields, and of those that a block holds."""
        groups = planes // self.group
        blocks = min(self.slabs.plane_blocks(fields, planes), groups)
        return groups, length_with_least_overlap(groups, blocks)

    def grouped(self, v: Array) -> Array:
        """An array `(field, x, …)` as `(field, group, plane in it, …)`; where a group is one plane, as it is."""
        return v

    @abstractmethod
    def put_points(self, u: Array, halves: Sequence[Array], start: Any) -> Array:
        """Fields `(field, x, y, z)` on each half of the points put into all points, which are `grouped`."""

    def halves(self, v: Array, start: Any, count: int) -> list[Array]:
        """An array over the points of the device, on each half of the points."""
        axis = v.ndim - self.slabs.layout.dimensions
        if v.shape[axis] == 1:
            return [v] * self.group
        planes = take(v, start * self.group, count * self.group, axis)
        return [lax.slice_in_dim(planes, j, None, self.group, axis) for j in range(self.group)]

    def first_planes(self, start: Any) -> list[Any]:
        """Number of the first plane of each half; those after it are `group` apart."""
        return [self.group * start + j for j in range(self.group)]

    @abstractmethod
    def put_modes(self, pieces: Sequence[Array], halves: Sequence[Array], start: Any, factor: float) -> list[Array]:
        """The modes of fields `(field, x, y, z)` on each half, times `factor`, put into pieces that are `grouped`."""


def block_points(slabs: Slabs) -> BlockPoints:
    """Planes in pairs where they can be paired, else one by one.

    No plane of points is paired with one of padding, which may hold anything.
    """
    layout = slabs.layout
    if not slabs.in_cache or not layout.real or slabs.planes % 2 or layout.points[0] % 2:
        return SinglePlanes(slabs)
    return PlanePairs(slabs) if layout.dimensions == 3 else LinePairs(slabs)


class SinglePlanes(BlockPoints):
    """All points together, by FFTs of the fields' own kind."""

    def blank(self, fields: int, count: int) -> list[Array]:
        return []

    def fields(
        self, received: Sequence[Array], start: Any, count: int, modes: list[Array]
    ) -> tuple[list[Array], list[Array]]:
        return [self.slabs.points_of_planes(received, start, count)], modes

    def put_points(self, u: Array, halves: Sequence[Array], start: Any) -> Array:
        return put(u, halves[0], start, 1)

    def put_modes(self, pieces: Sequence[Array], halves: Sequence[Array], start: Any, factor: float) -> list[Array]:
        return self.slabs.put_modes(pieces, halves[0], start, factor)


class Pairs(BlockPoints):
    """Neighbouring planes a and b of real fields, as a + ib.

    With V = conj Û, the conjugates that arrive, one forward FFT gives a + ib of

        V_a(k) + i V_b(k)    and, at −k,    conj V_a(k) + i conj V_b(k),

    and zeros at all other k. Where W are the modes of f_a + i f_b, the modes of f_a are (W(k) + conj W(−k))/2, of f_b
    (W(k) − conj W(−k))/2i.
    """

    group = 2

    def grouped(self, v: Array) -> Array:
        return v.reshape(v.shape[0], -1, 2, *v.shape[2:])

    def blank(self, fields: int, count: int) -> list[Array]:
        return [jnp.zeros((fields, count, *self.slabs.plane_shape), self.slabs.dtype)]

    def fields(
        self, received: Sequence[Array], start: Any, count: int, modes: list[Array]
    ) -> tuple[list[Array], list[Array]]:
        pieces = [lax.dynamic_slice_in_dim(self.grouped(piece), start, count, 1) for piece in received]
        pieces = [jnp.concatenate(pieces, -2)] if self._joins else pieces
        runs = [
            (y, piece[:, :, :, ky : ky + rows])
            for piece, runs in zip(pieces, self._runs, strict=True)
            for y, ky, rows in runs
        ]
        filled = self._fill(modes[0], runs)
        u = fft(filled, self.slabs.layout.dimensions - 1)
        return [u.real, u.imag], [filled]

    @property
    def _joins(self) -> bool:
        """True if pieces pass through one array: a copy, but as few operations to compile as with two of them."""
        return self.slabs.parts > 2

    @property
    def _runs(self) -> list[list[tuple[int, int, int]]]:
        """The runs of ky in each piece, as `Slabs.ky_runs`; or in the one array that they pass through."""
        if self._joins:
            return [kept_runs(self.slabs.layout, 1)]
        return [list(self.slabs.ky_runs(i)) for i in range(self.slabs.parts)]

    @abstractmethod
    def _fill(self, modes: Array, runs: Sequence[tuple[int, Array]]) -> Array:
        """The modes of a + ib, from runs of V: first ky in the FFT, and the run, `(field, pair, 2, ky, kz)`."""

    def put_points(self, u: Array, halves: Sequence[Array], start: Any) -> Array:
        for j, half in enumerate(halves):
            u = lax.dynamic_update_slice(u, half[:, :, None], (0, start, j, *(0 for _ in self.slabs.plane_shape)))
        return u

    def put_modes(self, pieces: Sequence[Array], halves: Sequence[Array], start: Any, factor: float) -> list[Array]:
        slabs, modes = self.slabs, fft(lax.complex(*halves), self.slabs.layout.dimensions - 1)
        fields, count = modes.shape[:2]
        if self._joins:
            whole = jnp.zeros((fields, count, 2, slabs.layout.retained[1], slabs.Kz), slabs.dtype)
            whole = self._put_runs(whole, modes, self._runs[0], 0, factor / 2)
            filled = [
                lax.dynamic_update_slice(
                    piece, whole[..., i * slabs.rows : (i + 1) * slabs.rows, :], (0, start, 0, 0, 0)
                )
                for i, piece in enumerate(pieces)
            ]
        else:
            filled = [
                self._put_runs(piece, modes, runs, start, factor / 2)
                for piece, runs in zip(pieces, self._runs, strict=True)
            ]
        return [slabs.clear_padding(piece, i, start, count) for i, piece in enumerate(filled)]

    def _put_runs(
        self, piece: Array, modes: Array, runs: Sequence[tuple[int, int, int]], start: Any, half: float
    ) -> Array:
        for w, v, ky, kz in self._kept(modes, runs):  # W(k), and W(−k) before it is conjugated
            a = lax.complex(w.real + v.real, w.imag - v.imag) * half
            b = lax.complex(w.imag + v.imag, v.real - w.real) * half
            piece = lax.dynamic_update_slice(piece, jnp.stack([a, b], 2), (0, start, 0, ky, kz))
        return piece

    @abstractmethod
    def _kept(self, modes: Array, runs: Sequence[tuple[int, int, int]]) -> Iterator[tuple[Array, Array, int, int]]:
        """Parts of a piece of these runs: modes at k and at −k, `(field, pair, ky, kz)`, and their ky and kz in it."""


class PlanePairs(Pairs):
    """Pairs of planes in three dimensions, where k = (ky, kz).

    Modes whose kz is −kz (0, and Nyquist's) become modes of a real field first: the mean of û(k) and conj û(−k).
    """

    def _fill(self, modes: Array, runs: Sequence[tuple[int, Array]]) -> Array:
        for y, run in runs:
            modes = _put(modes, _a_plus_ib(run), y, 0)
        for y, run in runs:
            mirrored = _a_plus_ib(jnp.conj(run))
            for first, length, at in _mirror(y, run.shape[-2], modes.shape[-2]):
                for z, columns, at_z in _mirror(0, run.shape[-1], modes.shape[-1]):
                    part = jnp.flip(mirrored[:, :, first : first + length, z : z + columns], (-2, -1))
                    if at_z == z:
                        part = (modes[:, :, at : at + length, z : z + 1] + part) * 0.5
                    modes = _put(modes, part, at, at_z)
        return modes

    def _kept(self, modes: Array, runs: Sequence[tuple[int, int, int]]) -> Iterator[tuple[Array, Array, int, int]]:
        ny, nz = self.slabs.plane_shape
        for y, ky, rows in runs:
            for first, length, at in _mirror(y, rows, ny):
                for z, columns, at_z in _mirror(0, self.slabs.Kz, nz):
                    w = modes[:, :, y + first : y + first + length, z : z + columns]
                    v = jnp.flip(modes[:, :, at : at + length, at_z : at_z + columns], (2, 3))
                    yield w, v, ky + first, z


class LinePairs(Pairs):
    """Pairs of lines in two dimensions, where k = ky ≥ 0. Where ky is −ky, imaginary parts count as zero."""

    def _fill(self, modes: Array, runs: Sequence[tuple[int, Array]]) -> Array:
        for y, run in runs:
            for first, length, at in _mirror(y, run.shape[-2], modes.shape[-1]):
                part = run[:, :, :, first : first + length, 0]
                if at == y + first:
                    modes = _put(modes, lax.complex(part[:, :, 0].real, part[:, :, 1].real), at)
                else:
                    modes = _put(modes, _a_plus_ib(part), y + first)
                    modes = _put(modes, jnp.flip(_a_plus_ib(jnp.conj(part)), -1), at)
        return modes

    def _kept(self, modes: Array, runs: Sequence[tuple[int, int, int]]) -> Iterator[tuple[Array, Array, int, int]]:
        for y, ky, rows in runs:
            for first, length, at in _mirror(y, rows, modes.shape[-1]):
                w = modes[..., y + first : y + first + length, None]
                yield w, jnp.flip(modes[..., at : at + length, None], -2), ky + first, 0


def _a_plus_ib(pairs: Array) -> Array:
    """a + ib, where axis 2 holds a and b."""
    a, b = pairs[:, :, 0], pairs[:, :, 1]
    return lax.complex(a.real - b.imag, a.imag + b.real)


def _mirror(first: int, length: int, n: int) -> list[tuple[int, int, int]]:
    """Positions of −k in an FFT of n points, for modes k from number `first` on. A mode that equals −k is a part alone.

    Returns:
        For each part the first of its modes, their number, and where the modes −k begin, in reversed order: of modes 0
        to 2 and n = 8 these are (0, 1, 0) and (1, 2, 6).
    """
    last = first + length
    alone = (1, n // 2, n // 2 + 1) if n % 2 == 0 else (1,)
    ends = sorted({first, last, *(k for k in alone if first < k < last)})
    return [(begin - first, end - begin, (n - end + 1) % n) for begin, end in pairwise(ends)]


def _put(u: Array, part: Array, *last: int) -> Array:
    """u with a part of its last axes replaced, from the indices `last` on."""
    return lax.dynamic_update_slice(u, part, (*(0,) * (u.ndim - len(last)), *last))
