"""Predicted time of a compiled program, kernel by kernel, with the exchanges that overlap them."""

from __future__ import annotations

from solver.plan.program import COLLECTIVES, Kernel, Program
from solver.plan.rates import Rates
from solver.plan.timing import REAL, Timeline, exchange_time, fft_passes, pass_time


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
