"""Kernels of a profiled step, beside those of the compiled program: for benchmarks/gpu.py."""

from __future__ import annotations

import gzip
import json
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import jax

from solver.plan.program import Kernel
from solver.plan.rates import STREAMING
from solver.plan.schedule import kernel_time
from solver.plan.timing import fft_passes, pass_time

CLASSES = ("fft", "scaling", "transposition", "copy", "exchange", "fusion")


@dataclass(frozen=True)
class Event:
    """A kernel on the device.

    Args:
        name: of the kernel on the stream.
        operation: of the program, that it belongs to; empty where the trace does not say.
        seconds: that it took.
    """

    name: str
    operation: str
    seconds: float

    @property
    def kind(self) -> str:
        """One of CLASSES. The pass that scales an inverse FFT is a kernel of cuBLAS within the FFT's operation."""
        name, operation = self.name.lower(), self.operation.lower()
        if "nccl" in name:
            return "exchange"
        if "scal" in name and "scalar" not in name:
            return "scaling"
        if "memcpy" in name or "memset" in name:
            return "copy"
        if "fft" in name or operation.startswith("fft"):
            return "fft"
        return "transposition" if "transpose" in f"{name} {operation}" else "fusion"


def traced(call: Callable[[], None]) -> list[Event]:
    """Kernels of the first device while `call` runs."""
    options = jax.profiler.ProfileOptions()
    options.python_tracer_level = 0
    with TemporaryDirectory() as folder:
        jax.profiler.start_trace(folder, create_perfetto_trace=True, profiler_options=options)
        try:
            call()
        finally:
            jax.profiler.stop_trace()
        file = next(Path(folder).rglob("perfetto_trace.json.gz"))
        with gzip.open(file) as text:
            return events_of(json.load(text)["traceEvents"])


def events_of(entries: Sequence[dict[str, Any]]) -> list[Event]:
    """From the entries of a trace: the GPU's streams, or on a CPU what is named as an operation of a program."""
    processes = {e["pid"]: e["args"]["name"] for e in entries if e.get("name") == "process_name"}
    threads = {(e["pid"], e.get("tid")): e["args"]["name"] for e in entries if e.get("name") == "thread_name"}
    gpus = sorted(pid for pid, name in processes.items() if "GPU" in name)
    found = []
    for e in entries:
        if e.get("ph") != "X":
            continue
        operation = e.get("args", {}).get("hlo_op", "")
        on_stream = e["pid"] in gpus[:1] and threads.get((e["pid"], e["tid"]), "").startswith("Stream")
        if on_stream or (not gpus and operation and not operation.startswith("while")):
            found.append(Event(e["name"], operation, 1e-6 * e["dur"]))
    return found


def kind_of(kernel: Kernel) -> str:
    """The class of a program's kernel."""
    if kernel.lengths:
        return "fft"
    if "transpose" in kernel.name or kernel.kind == "transpose":
        return "transposition"
    return "copy" if kernel.kind == "copy" else "fusion"


def by_class(events: Sequence[Event], kernels: Sequence[Kernel], rates: Any, steps: int) -> list[str]:
    """Rows: class, kernels and time per step as measured and as predicted, and bytes per second."""
    counts: dict[str, list[float]] = {kind: [0.0] * 5 for kind in CLASSES}
    for event in events:
        row = counts[event.kind]
        row[0], row[1] = row[0] + 1 / steps, row[1] + event.seconds / steps
    for kernel in kernels:
        for kind, number, seconds, moved in expected(kernel, rates):
            row = counts[kind]
            row[2], row[3], row[4] = row[2] + number, row[3] + seconds, row[4] + moved
    rows = []
    for kind, (number, seconds, passes, predicted, moved) in counts.items():
        if number or passes:
            ratio = f"{seconds / predicted:.2f}" if predicted else "–"
            speed = f"{moved / seconds / 1e9:.0f}" if seconds else "–"
            part = f"{STREAMING * moved / seconds / rates.memory:.0%}" if seconds and rates is not None else "–"
            rows.append(
                f"| {kind} | {number:.1f} | {passes:.0f} | {1e6 * seconds:.1f} | {1e6 * predicted:.1f} | {ratio} | "
                f"{speed} | {part} |"
            )
    return rows


def expected(kernel: Kernel, rates: Any) -> list[tuple[str, int, float, int]]:
    """Class, number of kernels, seconds and bytes of what a program's kernel is predicted to be on the device."""
    moved = kernel.read + kernel.written
    seconds = 0.0 if rates is None else kernel_time(kernel, rates)
    if not kernel.lengths:
        return [(kind_of(kernel), 1, seconds, moved)]
    passes = fft_passes_of(kernel)
    if not kernel.inverse:
        return [("fft", passes, seconds, passes * moved)]
    scaling = 0.0 if rates is None else pass_time(rates, kernel.written)
    return [("fft", passes, seconds - scaling, passes * moved), ("scaling", 1, scaling, 2 * kernel.written)]


def fft_passes_of(kernel: Kernel) -> int:
    """Passes over memory by the rule of `solver.plan.timing.fft_passes`."""
    itemsize = max(8, round(max(kernel.read, kernel.written) / max(1, kernel.elements)))
    return sum(fft_passes(length, itemsize) for length in kernel.lengths)


def by_operation(events: Sequence[Event], kernels: Sequence[Kernel], rates: Any, steps: int, most: int) -> list[str]:
    """Rows of the operations that take longest: kernels per call, time per step, predicted time."""
    grouped: dict[str, list[Event]] = defaultdict(list)
    for event in events:
        grouped[event.operation or event.name].append(event)
    known = {kernel.name.lstrip("%"): kernel for kernel in kernels}
    rows = []
    for name, group in sorted(grouped.items(), key=lambda item: -sum(e.seconds for e in item[1]))[:most]:
        seconds = sum(e.seconds for e in group) / steps
        kernel = known.get(name)
        predicted = kernel_time(kernel, rates) if kernel is not None and rates is not None else 0.0
        passes = "–" if kernel is None else str(sum(number for _, number, _, _ in expected(kernel, rates)))
        ratio = f"{seconds / predicted:.2f}" if predicted else "–"
        lengths = f" {list(kernel.lengths)}{' inverse' if kernel.inverse else ''}" if kernel and kernel.lengths else ""
        device_names = ", ".join(sorted({e.name[:48] for e in group})[:3])
        rows.append(
            f"| {name}{lengths} | {len(group) / steps:.1f} | {passes} | {1e6 * seconds:.1f} | {1e6 * predicted:.1f} | "
            f"{ratio} | {device_names} |"
        )
    return rows
