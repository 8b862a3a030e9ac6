"""Predicted times of transforms and steps on GPUs, from published or measured rates. Never a measurement.

Work is counted in passes: a kernel that streams its data reads and writes every byte once. An exchange is bound by the
part that leaves the host, or by the part that stays on it; each message to another device costs time of its own.
`benchmarks/reach.md` compares these formulas with published timings.

Two constants are fitted to those timings, STREAMING (in `rates`) and MESSAGE, and one is chosen from what hardware
offers, LINE. PROTOCOL (in `rates`) is published, LAUNCH is assumed, SHARED and REAL are measured. Left out: other jobs
in the network, FFT arithmetic, kernels slowed by an exchange at the same time, time of the host.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from solver.plan.rates import Rates

if TYPE_CHECKING:
    from solver.grid import Layout
    from solver.plan.program import Program

MESSAGE = 1.0e-6  # s, fitted: what each message of an exchange costs beside its bytes
LINE = 128  # bytes, chosen of 32, 64 and 128: fetched for each number that a kernel reads with a large stride
LAUNCH = 5.0e-6  # s, assumed: the shortest time of a kernel; launches are queued while earlier kernels run
SHARED = 128 * 1024  # bytes, measured on an H100: a line that cuFFT reads and writes once (benchmarks/gpu.md)
REAL = 1.7  # passes, measured there, 0.9 to 2.3: of real FFTs whose length is no power of two


def pass_time(rates: Rates, size: float) -> float:
    """Seconds in which one kernel reads and writes `size` bytes."""
    return max(LAUNCH, 2 * size / rates.memory)


def strided_pass_time(rates: Rates, size: float, itemsize: int) -> float:
    """Seconds of a kernel that writes in order but reads numbers of `itemsize` bytes far apart, each in its own line.

    XLA compiles transpositions to such kernels where it does not go through shared memory.
    """
    return max(LAUNCH, size * (1 + max(1.0, LINE / itemsize)) / rates.memory)


def fft_passes(length: int, itemsize: int) -> int:
    """Passes over memory of a batch of one-dimensional FFTs (`itemsize`: a complex number).

    A line that fits the shared memory of a processor is read and written once: up to 16384 points in complex64 and 8192
    in complex128. A longer line takes two passes. cuFFT publishes no such table; an H100 did so (benchmarks/gpu.md).
    """
    return 1 if length * itemsize <= SHARED else 2


def exchange_time(rates: Rates, size: float, members: int, stride: int = 1, devices: int | None = None) -> float:
    """Seconds of an all-to-all in which each of `members` devices holds `size` bytes, its part to itself included.

    What stays on the host and what leaves it travel at the same time; the slower one counts. With n whole hosts the
    part (n − 1)/n leaves (github.com/NVIDIA/nccl-tests issue 130). Zero for one member.

    Args:
        rates: rates of the machine.
        size: bytes.
        members: devices that exchange with each other.
        stride: between their numbers; devices are numbered host by host.
        devices: devices of all groups that exchange at the same time; members · stride if None.
    """
    if members == 1:
        return 0.0
    near = on_one_host(rates.gpus_per_host, members, stride, devices or members * stride)
    bytes_time = max((near - 1) / rates.link, (members - near) / rates.network) * size / members
    return LAUNCH + (members - 1) * MESSAGE + bytes_time


def on_one_host(per_host: int, members: int, stride: int, devices: int) -> int:
    """Members of a group of an exchange that share a host, in the group that a host's end cuts worst."""
    if devices <= per_host:
        return members
    if members * stride <= per_host:
        return members if per_host % (members * stride) == 0 else 1
    return max(1, per_host // stride)


def transform_time(
    rates: Rates,
    shape: tuple[int, ...],
    itemsize: int,
    *,
    slabs: int = 1,
    pencils: int = 1,
    real: bool = False,
    passes: float | None = None,
    strided: int = 0,
    sent: int | None = None,
) -> float:
    """Seconds of one distributed transform of all modes, nothing overlapped.

    Args:
        rates: rates of the machine.
        shape: points per axis.
        itemsize: bytes of a complex number.
        slabs: parts of the first axis.
        pencils: parts of the second; neighbouring devices hold them.
        real: transforms a real field, half as many bytes.
        passes: number of passes over memory in addition to the FFTs; two per exchange if None, one to pack and one to
            unpack.
        strided: passes more that read with a large stride.
        sent: bytes of a complex number where it is sent; `itemsize` if None.
    """
    size = math.prod(shape) * itemsize / (2 if real else 1) / (slabs * pencils)
    if passes is None:
        passes = 2 * ((slabs > 1) + (pencils > 1))
    work = sum(fft_passes(n, itemsize) for n in shape) + passes
    on_wire = size if sent is None else size * sent / itemsize
    exchanges = exchange_time(rates, on_wire, slabs, pencils)
    exchanges += exchange_time(rates, on_wire, pencils, 1, slabs * pencils)
    return work * pass_time(rates, size) + strided * strided_pass_time(rates, size, itemsize) + exchanges


@dataclass(frozen=True)
class Timeline:
    """Seconds of one step of a program.

    Args:
        work: time of its kernels.
        exchanging: time of its collectives, each from its start.
        waiting: in which no kernel can run until an exchange has ended.
        while_exchanging: part of `work` that is done while an exchange is under way.
    """

    work: float
    exchanging: float
    waiting: float
    while_exchanging: float

    @property
    def total(self) -> float:
        """Work and waiting [s]."""
        return self.work + self.waiting

    @property
    def covered(self) -> float:
        """Part of the exchanges' time in which kernels run; 1 where there is no exchange."""
        return 1 - self.waiting / self.exchanging if self.exchanging else 1.0

    @property
    def placed(self) -> float:
        """Part of the work that is placed between the start of an exchange and the wait for it."""
        return self.while_exchanging / self.work if self.work else 0.0


@dataclass(frozen=True)
class StepWork:
    """Work of a program in one step, counted on the compiled program or assumed.

    Args:
        words: real numbers per point that kernels read and write, one pass per axis of an FFT, exchanges left out.
        fft_words: the words among them that FFTs read and write.
        kernels: number of kernels.
        transforms: number of transforms of one component.
        exchanges: number of all-to-alls of slabs; each exchanges transforms/exchanges components.
        hidden: part of the work that can run while an exchange is under way.
        sent: bytes of a complex number where it is sent; None for as many as in memory.
    """

    words: float
    fft_words: float
    kernels: int
    transforms: int
    exchanges: int
    hidden: float = 0.0
    sent: int | None = None


def step_work(
    program: Program, points: float, itemsize: int, transforms: int, time: Timeline, sent: int | None = None
) -> StepWork:
    """Work of a compiled program in one step, as the model takes it (`points`: on one device)."""
    ffts = sum((k.read + k.written) * len(k.lengths) for k in program.work if k.lengths)
    return StepWork(
        words=(program.moved + program.copied_and_scaled) / points / itemsize,
        fft_words=ffts / points / itemsize,
        kernels=len(program.work),
        transforms=transforms,
        exchanges=max(1, len(program.exchanges)),
        hidden=time.placed,
        sent=sent,
    )


@dataclass(frozen=True)
class StepTime:
    """Seconds that a step is predicted to take on `slabs` × `pencils` devices, and its parts."""

    slabs: int
    pencils: int
    work: float
    exchange: float
    hidden: float

    @property
    def total(self) -> float:
        """Work and exchanges less their overlap [s]."""
        return self.work + self.exchange - self.hidden

    def times(self, factor: float) -> StepTime:
        """The same split, with all seconds multiplied."""
        return replace(self, work=factor * self.work, exchange=factor * self.exchange, hidden=factor * self.hidden)

    def __str__(self) -> str:
        return f"{self.slabs} × {self.pencils}: {1e3 * self.total:.3g} ms a step, {1e3 * self.exchange:.3g} exchanging"


def step_time(rates: Rates, layout: Layout, step: StepWork, itemsize: int) -> StepTime:
    """Predicted time of a step on a layout's devices, work and exchanges overlapped as far as the step can.

    With pencils there is a second exchange per transform, and one pass before and one after it: assumed, not read off
    a program. FFTs of long lines take their second pass here.

    Args:
        rates: rates of the machine.
        layout: grid, retained modes, slabs and pencils.
        step: work of the program in one step.
        itemsize: bytes of a real number.
    """
    points = math.prod(layout.padded_points) / layout.devices
    second = sum(fft_passes(n, 2 * itemsize) - 1 for n in layout.points) / layout.dimensions
    sizes = _exchanged(layout, step.sent or 2 * itemsize)
    bytes_moved = (step.words + second * step.fft_words) * points * itemsize
    bytes_moved += 4 * step.transforms * _exchanged(layout, 2 * itemsize)[1]
    kernels = step.kernels + (2 * step.exchanges if layout.pencils > 1 else 0)
    work = max(kernels * LAUNCH, bytes_moved / rates.memory)
    fields = step.transforms / step.exchanges
    groups = ((layout.slabs, layout.pencils), (layout.pencils, 1))
    exchange = step.exchanges * sum(
        exchange_time(rates, fields * size, members, stride, layout.devices)
        for size, (members, stride) in zip(sizes, groups, strict=True)
    )
    return StepTime(layout.slabs, layout.pencils, work, exchange, min(step.hidden * work, exchange))


def _exchanged(layout: Layout, itemsize: int) -> tuple[float, float]:
    """Bytes of one component that one device holds in the exchange of slabs, and of pencils; 0 without one.

    A part (members − 1)/members of these bytes is sent: `Layout.exchange_bytes` counts what all devices together send.
    """
    x, y = layout.padded_points[0], layout.padded_points[1] if layout.dimensions > 1 else 1
    others = layout.spectral_shape[:-1]
    slabs = itemsize * x * math.prod(others) / layout.devices if layout.slabs > 1 else 0.0
    pencils = itemsize * x * y * math.prod(others[1:]) / layout.devices if layout.pencils > 1 else 0.0
    return slabs, pencils


@dataclass(frozen=True)
class Choice:
    """The fastest way to split a grid in slabs, and in pencils, of those that are possible."""

    slabs: StepTime | None
    pencils: StepTime | None
    basis: str

    @property
    def best(self) -> StepTime:
        """The faster of slabs and pencils."""
        return min((time for time in (self.slabs, self.pencils) if time), key=lambda time: time.total)

    def __str__(self) -> str:
        ways = [f"{name} {time}" for name, time in (("slabs", self.slabs), ("pencils", self.pencils)) if time]
        return f"{'; '.join(ways)} (predicted: {self.basis})"


def better_split(
    rates: Rates, layout: Layout, step: StepWork, itemsize: int, devices: int | None = None, known: float | None = None
) -> Choice:
    """Slabs or pencils, and how many of each, for a number of devices; by default the layout's own.

    `known` is what the layout's own split takes [s], predicted from its compiled program: the others are then as much
    faster or slower than that as the model says.

    Raises:
        ValueError: the grid cannot be split over that many devices.
    """
    devices = layout.devices if devices is None else devices
    factor = 1.0 if known is None else known / step_time(rates, layout, step, itemsize).total
    times = [step_time(rates, each, step, itemsize).times(factor) for each in _splits(layout, devices)]
    if not times:
        most = layout.max_slabs * layout.max_pencils
        raise ValueError(f"{devices} devices for the grid {list(layout.shape)}, which can use up to {most}")
    slabs = next((time for time in times if time.pencils == 1), None)
    pencils = min((time for time in times if time.pencils > 1), key=lambda time: time.total, default=None)
    return Choice(slabs, pencils, f"{rates.name}, {rates.gpus_per_host} to a host; {rates.basis}")


def _splits(layout: Layout, devices: int) -> Iterator[Layout]:
    for pencils in range(1, min(devices, layout.max_pencils) + 1):
        if devices % pencils == 0 and devices // pencils <= layout.max_slabs:
            yield replace(layout, slabs=devices // pencils, pencils=pencils)
