"""A run on GPUs that are not here: what its programs hold and move there, and how long they take. A prediction.

The time of a program is predicted kernel by kernel, with the exchanges that overlap them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from solver.plan.of_run import Part
from solver.plan.program import Program
from solver.plan.rates import Rates, published
from solver.plan.timing import Timeline, on_one_host

if TYPE_CHECKING:
    from solver.doctor import Report
from solver.plan.program import COLLECTIVES, Kernel
from solver.plan.timing import REAL, exchange_time, fft_passes, pass_time

POOL = 0.92  # part of a GPU's memory that slurm/gpu.sbatch gives to JAX; NCCL's buffers lie in the rest


@dataclass(frozen=True)
class Target:
    """Devices of one kind, evenly spread over hosts.

    Args:
        rates: rates of the machine, with as many devices to a host as are used.
        xla: description of a device for XLA's compiler.
        devices, hosts: number of devices and hosts that are used.
    """

    rates: Rates
    xla: Mapping[str, Any]
    devices: int
    hosts: int

    @classmethod
    def of(cls, name: str, devices: int, hosts: int | None = None, measured: Report | None = None) -> Target:
        """A published device, or a file like those in solver/plan/targets; `measured` replaces its bandwidths.

        Raises:
            ValueError: no such target, or devices that hosts do not divide; the message says what would do.
        """
        rates = Rates.of(name)
        if measured is not None:
            rates = Rates.measured(measured, rates)
        if hosts is None:
            hosts = math.ceil(devices / rates.gpus_per_host)
        if hosts < 1 or devices % hosts:
            fit = ", ".join(str(n) for n in range(1, devices + 1) if devices % n == 0)
            raise ValueError(f"{devices} devices on {hosts} hosts: hosts have equally many each; --hosts can be {fit}")
        return cls(replace(rates, gpus_per_host=devices // hosts), published(name)["xla"], devices, hosts)

    @property
    def memory(self) -> int:
        """Bytes that programs may hold on one device."""
        return int(POOL * self.rates.memory_bytes)

    def fits(self, part: Part) -> bool:
        """True if a device can hold a program, with the allowance for cuFFT."""
        return part.with_workspace <= self.memory

    def timeline(self, program: Program) -> Timeline:
        """The timeline of a step of a program on this target."""
        return timeline(program, self.rates, self.devices)

    def bytes_sent(self, program: Program) -> tuple[int, int]:
        """Bytes that one device sends per step to others of its host, and to other hosts."""
        near = far = 0.0
        for exchange in program.exchanges:
            members = exchange.members or self.devices
            close = on_one_host(self.rates.gpus_per_host, members, exchange.stride, self.devices)
            near += exchange.written * (close - 1) / members
            far += exchange.written * (members - close) / members
        return round(near), round(far)


def largest(parts: Sequence[Part]) -> Part:
    """The program that holds the most memory, its allowance for cuFFT included."""
    return max(parts, key=lambda part: part.with_workspace)


def timeline(program: Program, rates: Rates, devices: int) -> Timeline:
    """A step of a program on one device: kernels one after the other, and exchanges, one at a time, at the same time.

    Kernels that XLA orders between the start of an exchange and the wait for it run while it is under way. That an
    exchange slows them is left out.
    """
    now = free = work = exchanging = waiting = while_exchanging = 0.0
    ends: dict[str, float] = {}
    for kernel in program.kernels:
        if kernel.waits_for:
            end = ends.pop(kernel.waits_for, now)
            waiting += max(0.0, end - now)
            now = max(now, end)
        elif kernel.kind in COLLECTIVES:
            took = exchange_time(rates, kernel.written, kernel.members or devices, kernel.stride, devices)
            free = max(now, free) + took
            exchanging += took
            ends[kernel.name] = free
            if not _is_asynchronous(kernel):
                waiting += free - now
                now = ends.pop(kernel.name)
        else:
            took = kernel_time(kernel, rates)
            work += took
            now += took
            while_exchanging += took if ends else 0.0
    return Timeline(work, exchanging, waiting, while_exchanging)


def kernel_time(kernel: Kernel, rates: Rates) -> float:
    """Seconds of a kernel that is bound by memory; an inverse FFT with those that copy and scale for it."""
    size = (kernel.read + kernel.written) / 2
    if not kernel.lengths:
        return pass_time(rates, size)
    with_inverse = sum(pass_time(rates, each) for each in kernel.with_inverse.values())
    return passes_of(kernel) * pass_time(rates, size) + with_inverse


def passes_of(kernel: Kernel) -> float:
    """Passes over memory of an FFT; more of real lines whose length is no power of two."""
    itemsize = max(8, round(max(kernel.read, kernel.written) / max(1, kernel.elements)))
    passes = sum(fft_passes(length, itemsize) for length in kernel.lengths)
    last = kernel.lengths[-1]
    return passes + REAL - 1 if kernel.real and last & (last - 1) else passes


def _is_asynchronous(kernel: Kernel) -> bool:
    return "-start" in kernel.name
