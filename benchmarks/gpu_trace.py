"""Kernels in a trace beside those of the compiled program: sections `kernels` and `passes` of benchmarks/gpu.py."""

from __future__ import annotations

import gzip
import json
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import Any

import jax
import jax.numpy as jnp
from gpu_cases import CASES, Run, target_of
from gpu_page import PRECISIONS, Options, attempt, head, in_time, say, side

import solver as sw
from solver.doctor.memory import measure
from solver.plan.program import Kernel
from solver.plan.rates import STREAMING
from solver.plan.target import kernel_time, passes_of
from solver.plan.timing import fft_passes, pass_time

LENGTHS = (96, 128, 192, 256, 320, 384, 512, 576, 640, 768, 1024, 1152, 1536, 2048, 4096, 8192, 16384)
LONGEST_PLANE = 2048
PROFILED = (("taylor-green", "float32"), ("taylor-green", "float64"), ("schroedinger-poisson", "float64"))
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
        file = next(Path(folder).rglob("perfetto_trace.json.gz"), None) or next(Path(folder).rglob("*.json.gz"))
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
        on_stream = e["pid"] in gpus[:1] and threads.get((e["pid"], e["tid"]), "").lower().startswith("stream")
        if on_stream or (not gpus and operation and not operation.startswith("while")):
            found.append(Event(e["name"], operation, 1e-6 * e["dur"]))
    if not found:
        raise ValueError(f"no kernels in the trace; its threads are {sorted(set(threads.values()))}")
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
    passes = passes_of(kernel)
    others = [
        (kind, 1, 0.0 if rates is None else pass_time(rates, size), 2 * size)
        for kind, size in kernel.with_inverse.items()
    ]
    of_fft = seconds - sum(took for _, _, took, _ in others)
    return [("fft", len(kernel.lengths), of_fft, round(passes * moved)), *others]


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


def kernels(options: Options) -> None:
    """A profiled step beside the compiled one."""
    n, target = side(options), target_of(options.target, 1)
    mesh, rates = sw.device_mesh(devices=jax.devices()[:1]), None if target is None else target.rates
    for name, precision in (
        ("taylor-green", "float32"),
        ("taylor-green", "float64"),
        ("schroedinger-poisson", "float64"),
    ):
        if not in_time(options):
            return

        def rows(case=CASES[name], precision=precision) -> tuple[list[str], list[str], float, float]:
            run = Run(case, n, precision, mesh)
            run.advance(2)
            events, program = traced(lambda: run.advance(options.steps)), run.program()
            whole = sum(event.seconds for event in events) / options.steps
            predicted = 0.0 if target is None else target.timeline(program).total
            work = program.work
            return (
                by_class(events, work, rates, options.steps), by_operation(events, work, rates, options.steps, 25),
                whole, predicted,
            )  # fmt: skip

        found = attempt(f"{name} {precision}", rows)
        if found is None:
            continue
        classes, operations, whole, predicted = found
        say(f"**{CASES[name].name}, {n}³, {precision}, one device**: {1e3 * whole:.3f} ms of kernels per step,")
        say(f"predicted {1e3 * predicted:.3f} ms ({'no target' if rates is None else rates.name}).\n")
        say(head("class | kernels | predicted | µs | predicted | ratio | GB/s | of the peak"))
        say("\n".join(classes))
        say("\n" + head("operation | kernels | predicted | µs | predicted | ratio | on the device"))
        say("\n".join(operations) + "\n")


def passes(options: Options) -> None:
    """FFTs in one call: of planes, of real lines, of complex lines, and of complex lines of half the length."""
    device = jax.devices()[0]
    speed = measure(SimpleNamespace(process=0, host=""))["bandwidth"]  # type: ignore[arg-type]
    elements = 2**16 if device.platform == "cpu" else 2**25
    say(f"About {elements} complex numbers in all, or as many bytes. A pass reads and writes them once at")
    say(f"{speed / 1e9:.0f} GB/s; planes up to {LONGEST_PLANE} points a side.\n")
    of_each = " | ".join(f"{what}: kernels | passes" for what in ("real planes", "real lines", "lines", "half as long"))
    say(head(f"length | precision | rule | {of_each}"))
    for length in LENGTHS:
        for precision in PRECISIONS:
            if not in_time(options):
                return
            real, dtype = jnp.dtype(precision), jnp.complex64 if precision == "float32" else jnp.complex128

            def cells(length=length, real=real, dtype=dtype) -> list[str]:
                lines = elements // length
                planes = jnp.ones((max(1, 2 * lines // length), length, length), real)
                calls = [
                    (lambda u: jnp.fft.rfftn(u, axes=(-2, -1)), planes if length <= LONGEST_PLANE else None),
                    (jnp.fft.rfft, jnp.ones((2 * lines, length), real)),
                    (jnp.fft.fft, jnp.ones((lines, length), dtype)),
                    (jnp.fft.fft, jnp.ones((2 * lines, length // 2), dtype)),
                ]
                return ["– | –" if given is None else _kernels_and_passes(call, given, speed) for call, given in calls]

            found = attempt(f"{length} | {precision}", cells)
            if found is not None:
                size = jnp.dtype(dtype).itemsize
                say(f"| {length} | {precision} | {fft_passes(length, size)} | {' | '.join(found)} |")


def _kernels_and_passes(call: Callable[[Any], Any], given: Any, speed: float) -> str:
    events = [event for event in _events_of_one(call, given) if event.kind != "copy"]
    return f"{len(events)} | {sum(event.seconds for event in events) * speed / (2 * given.nbytes):.2f}"


def _events_of_one(call: Callable[[Any], Any], given: Any) -> list[Event]:
    """Kernels of one call that is compiled already."""
    compiled = jax.jit(call).lower(given).compile()
    jax.block_until_ready(compiled(given))
    return traced(lambda: jax.block_until_ready(compiled(given)))
