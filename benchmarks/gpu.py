"""Checks on GPUs what was only compiled so far, and measures it: one page of Markdown.

    python benchmarks/gpu.py | tee gpu-page.md             # all sections, on the GPUs of this machine
    python benchmarks/gpu.py --platform cpu --sizes 16 24 --steps 2 --target h200    # the same code, on two CPU devices

Every section runs in processes of its own: one that fails, or that dies with its device, leaves a line and the others
go on. Sections: device, values, transforms, products, memory, kernels, passes, bandwidth, speed, checkpoint, start.
Every process drives all GPUs.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from importlib import metadata
from pathlib import Path
from tempfile import TemporaryDirectory, TemporaryFile, gettempdir
from types import SimpleNamespace
from typing import Any

from gpu_page import PRECISIONS, Options, attempt, head, in_time, reason, say, side

ROOT = Path(__file__).parents[1]
MEASURED = ("taylor-green", "mhd", "schroedinger-poisson")
MARKS = (
    "Published: 1.64 ns per point and step (jaxion, Schrödinger–Poisson, float64, one H100); 4.4 (a CUDA C++ code, "
    "Taylor–Green, float32, third-order Runge–Kutta, one A100)."
)
GIB = 2**30
GRACE = 60.0  # seconds after the limit that work under way may take


# ---- sections, each in a process of its own ------------------------------------------------------------------------


def device(options: Options) -> None:
    """What it runs on."""
    import jax

    devices = jax.devices()
    memory = (devices[0].memory_stats() or {}).get("bytes_limit")
    limit = f"{memory / GIB:.1f} GiB each for JAX" if memory else "memory not known"
    say(f"- {len(devices)} × {devices[0].device_kind} ({devices[0].platform}), {limit}")
    query = ["nvidia-smi", "--query-gpu=name,memory.total,driver_version,clocks.max.mem", "--format=csv,noheader"]
    try:
        found = subprocess.run(query, capture_output=True, text=True, timeout=30, check=True).stdout
        for line in found.strip().splitlines():
            say(f"- nvidia-smi: {line}")
    except (OSError, subprocess.SubprocessError) as error:
        say(f"- nvidia-smi: {reason(error)}")
    names = sorted({d.metadata["Name"] for d in metadata.distributions()})
    wanted = [name for name in names if name.lower().startswith(("jax", "nvidia-cufft", "nvidia-nccl", "numpy"))]
    say(f"- Python {sys.version.split()[0]}; " + ", ".join(f"{name} {metadata.version(name)}" for name in wanted))


def memory(options: Options) -> None:
    """Peak of one case, in a fresh process since the device's peak cannot be reset."""
    import jax
    from gpu_cases import CASES, Run, planned, target_of

    import solver as sw

    name, n, precision = options.case.split(":")
    case, local = CASES[name], jax.local_devices()[0]
    run = Run(case, int(n), precision, sw.device_mesh())
    before = (local.memory_stats() or {}).get("peak_bytes_in_use", 0)
    run.advance(2)
    peak = (local.memory_stats() or {}).get("peak_bytes_in_use", 0)
    steps, target = run.program(), target_of(options.target, len(jax.devices()))
    word = run.grid.dtype.itemsize * int(n) ** 3 / len(jax.devices())
    cells = [peak / word, steps.held / word, steps.workspace / word, (peak - steps.held) / word]
    note = "" if peak > before or not peak else " (the peak was before the steps: only a bound)"
    try:
        plan = "–" if target is None else f"{planned(case, int(n), precision, target).held / word:.2f}"
    except Exception as error:
        plan = reason(error)
    numbers = " | ".join(f"{cell:.2f}" for cell in cells) if peak else f"not told | {cells[1]:.2f} | {cells[2]:.2f} | –"
    say(f"| {case.name} | {n}³ | {precision} | {numbers}{note} | {plan} | {peak / GIB:.2f} |")


def bandwidth(options: Options) -> None:
    """Copies, and transforms in units of the time to copy the field."""
    import jax
    import jax.numpy as jnp
    from gpu_cases import target_of

    import solver as sw
    from solver.doctor.memory import measure
    from solver.plan import read_program

    speed = measure(SimpleNamespace(process=0, host=""))["bandwidth"]  # type: ignore[arg-type]
    target, mesh = target_of(options.target, 1), sw.device_mesh(devices=jax.devices()[:1])
    peak = f" = {0.82 * speed / target.rates.memory:.0%} of the published peak of {target.rates.name}" if target else ""
    say(f"b + c, all devices at once: {speed / 1e9:.0f} GB/s per device{peak}.")
    say("Below: one device, in units of the time to read and write the field.\n")
    say(head("field | side | precision | copy, ms | forward | predicted | inverse | predicted"))
    for n in options.sizes:
        for precision in PRECISIONS:
            for real, dealias in ((True, "none"), (True, "two-thirds"), (False, "none")):
                if not in_time(options):
                    return
                grid = sw.Grid((n, n, n), real=real, dealias=dealias, precision=precision, mesh=mesh)

                def cells(grid: Any = grid) -> tuple[float, list[str]]:
                    transform, found = sw.fft.Transform(grid), []
                    u = sw.sample(lambda x, y, z: jnp.cos(x + 2 * y + 3 * z), grid).astype(grid.physical_dtype)
                    copy = 2 * u.nbytes / speed
                    for operation in (transform.forward, transform.inverse):
                        compiled = jax.jit(operation).lower(u).compile()
                        found.append(f"{seconds_of(compiled, u) / copy:.2f}")
                        step = None if target is None else target.timeline(read_program(compiled)).total
                        found.append("–" if step is None else f"{step / copy:.2f}")
                        u = compiled(u)
                    return copy, found

                what = f"{'real' if real else 'complex'}, {dealias} | {n}³ | {precision}"
                result = attempt(what, cells)
                if result is not None:
                    say(f"| {what} | {1e3 * result[0]:.4f} | {' | '.join(result[1])} |")


def seconds_of(call: Callable[[Any], Any], given: Any, times: int = 10) -> float:
    """Of one call, the best of three rounds of many, all queued before the last is waited for."""
    import jax

    jax.block_until_ready(call(given))
    found = []
    for _ in range(3):
        began = time.perf_counter()
        for _ in range(times):
            result = call(given)
        jax.block_until_ready(result)
        found.append((time.perf_counter() - began) / times)
    return min(found)


def speed(options: Options) -> None:
    """Nanoseconds per point and step."""
    import jax
    from gpu_cases import CASES, Run, meshes, target_of

    say(head("case | side | precision | on | ms per step | ns per point and step | predicted | ratio"))
    full: set[tuple[str, str, str]] = set()
    rows = [(n, name, p, where) for n in options.sizes for name in MEASURED for p in PRECISIONS for where in meshes()]
    for n, name, precision, where in rows:
        if (name, precision, where) in full or not in_time(options):
            continue
        mesh, what = meshes()[where], f"{CASES[name].name} | {n}³ | {precision} | {where}"

        def measured(
            n: int = n, name: str = name, precision: str = precision, mesh: Any = mesh
        ) -> tuple[float, float | None]:
            run = Run(CASES[name], n, precision, mesh)
            target = target_of(options.target, run.grid.mesh.size)
            return run.seconds_per_step(options.steps), None if target is None else target.timeline(run.program()).total

        found = attempt(what, measured)
        if found is None:
            full.add((name, precision, where))
            continue
        seconds, predicted = found
        told = "– | –" if predicted is None else f"{1e9 * predicted / n**3:.3f} | {seconds / predicted:.2f}"
        say(f"| {what} | {1e3 * seconds:.3f} | {1e9 * seconds / n**3:.3f} | {told} |")
    jax.clear_caches()
    say(f"\n{MARKS}")


def checkpoint(options: Options) -> None:
    """Time to write a checkpoint and to read it back."""
    from gpu_cases import CASES, difference, small_state, unpadded

    import solver as sw
    from solver.io import load_checkpoint, save_checkpoint

    case, n = CASES["taylor-green"], side(options)
    grid = case.grid(n, "float64", sw.device_mesh())
    equation, stepper = case.equation(grid), case.stepper()
    state = small_state(equation, stepper)
    with TemporaryDirectory() as folder:
        began = time.perf_counter()
        path = save_checkpoint(folder, state, grid)
        written = time.perf_counter()
        loaded = load_checkpoint(path, equation, stepper)
        loaded.field["velocity"].block_until_ready()
        read, size = time.perf_counter(), sum(file.stat().st_size for file in path.iterdir())
    same = difference(*(unpadded(each.field["velocity"], grid) for each in (loaded, state))) == 0
    say(f"- {n}³ float64, {size / 1e6:.0f} MB in {gettempdir()}: written in {written - began:.2f} s, ")
    say(f"  read and verified in {read - written:.2f} s; {'the same bits' if same else '**other values**'}")


def start(options: Options) -> None:
    """A run of one step from the command line: with no compiled programs kept, and with them."""
    n = side(options)
    platform = "cpu" if options.platform == "cpu" else "auto"
    with TemporaryDirectory() as folder:
        file = Path(folder) / "run.toml"
        file.write_text(
            f"[grid]\nshape = {[n] * 3}\n[equation]\nname = 'navier-stokes'\nviscosity = 5e-3\n"
            "[initial]\nname = 'taylor-green'\n[time]\nstepper = 'ifrk4'\nstep = 0.001\nend = 0.001\n"
            f"[devices]\nplatform = '{platform}'\n[output]\ndirectory = '{folder}/first'\n"
        )
        environment = {**os.environ, "JAX_COMPILATION_CACHE_DIR": f"{folder}/programs", "PYTHONPATH": str(ROOT)}
        for name in ("cold", "warm"):
            command = [sys.executable, "-m", "solver", "run", str(file), f"output.directory={folder}/{name}"]
            began = time.perf_counter()
            done = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=folder)
            took = time.perf_counter() - began
            last = "" if done.returncode == 0 else f"; failed: {done.stderr.strip().splitlines()[-1][:160]}"
            say(f"- {name}: {took:.1f} s from the start of the process to its end, {n}³ float64, one step{last}")


# ---- the page ------------------------------------------------------------------------------------------------------

MEMORY = (
    "In words per point of one device: the peak that the device tells, what the compiled program is said to hold, what "
    "is allowed for cuFFT, and the peak less the program: what cuFFT's workspace really is, with what the allocator "
    "rounds up.\n\n"
) + head("case | side | precision | peak | program | allowed | peak − program | plan for the target | peak, GiB")
SECTIONS = {  # title, and where the function is
    "device": ("What it runs on", "gpu:device"),
    "values": ("Values against one CPU device", "gpu_values:values"),
    "transforms": ("Transforms against numpy.fft", "gpu_values:transforms"),
    "products": ("Products in one operation against numpy.fft", "gpu_values:products"),
    "memory": ("Memory", "gpu:memory"),
    "kernels": ("Kernels of a step", "gpu_trace:kernels"),
    "passes": ("Passes of FFTs over memory", "gpu_trace:passes"),
    "bandwidth": ("Bandwidth", "gpu:bandwidth"),
    "speed": ("Speed", "gpu:speed"),
    "checkpoint": ("Checkpoint", "gpu:checkpoint"),
    "start": ("Start-up", "gpu:start"),
}
# parts of the limit, 1 where none is named; what a section leaves over is shared by those after it
SHARES = {"values": 4, "transforms": 4, "memory": 5, "kernels": 4, "passes": 2, "bandwidth": 3, "speed": 10, "start": 2}
# within a CUDA graph kernels lose the names of their operations
FLAGS = dict.fromkeys(("kernels", "passes"), "--xla_gpu_enable_command_buffer=")


def page(options: Options) -> None:
    """All sections, one after the other."""
    say(f"# Slabwave on GPUs\n\n`python benchmarks/gpu.py {' '.join(sys.argv[1:])}`, {time.strftime('%Y-%m-%d')}.")
    end = options.deadline
    for i, name in enumerate(options.sections):
        say(f"\n## {SECTIONS[name][0]}\n")
        if name == "memory":
            say(MEMORY)
        left = sum(SHARES.get(other, 1) for other in options.sections[i:])
        options.deadline = time.time() + max(0.0, end - time.time()) * SHARES.get(name, 1) / left
        for case in _cases(name, options):
            if in_time(options):
                _in_child(name, case, options, end)
        if not in_time(options):
            say("\nThe time of this section was over: whatever is missing above was not started.")
    options.deadline = end
    say(f"\n{time.time() - options.deadline + options.limit:.0f} s in all.")


def _cases(section: str, options: Options) -> Iterator[str]:
    """What a section has a process for: memory one for each case, every other section one."""
    if section != "memory":
        yield ""
        return
    n = side(options)
    for name in MEASURED:
        for precision in PRECISIONS:
            yield f"{name}:{n}:{precision}"


def _in_child(section: str, case: str, options: Options, end: float) -> None:
    """Run a part in a process of its own, and say why it ended if it failed."""
    given = {**vars(options), "sections": [section], "case": case}
    flags = f"{os.environ.get('XLA_FLAGS', '')} {FLAGS.get(section, '')}".strip()
    path = f"{ROOT}:{os.environ.get('PYTHONPATH', '')}"
    defaults = {"XLA_PYTHON_CLIENT_MEM_FRACTION": "0.92", "TF_CPP_MIN_LOG_LEVEL": "2"}
    environment = {**defaults, **os.environ, "XLA_FLAGS": flags, "PYTHONPATH": path}
    command = [sys.executable, __file__, "--child", json.dumps(given)]
    with TemporaryFile("w+") as errors:
        process = subprocess.Popen(command, env=environment, stderr=errors)
        try:
            code = process.wait(max(30, end + GRACE - time.time()))
        except subprocess.TimeoutExpired:
            process.kill()
            code = process.wait()
        if code:
            errors.seek(0)
            lines = [line for line in errors.read().splitlines() if line.strip()] or ["no message"]
            ended = f"signal {signal.Signals(-code).name}" if code < 0 else f"code {code}"
            say(f"\n{section} {case} ended with {ended}: {lines[-1].strip()[:300]}")


def child(options: Options) -> None:
    """A part, in this process."""
    if options.sections[0] != "start":  # whose processes need the devices
        import jax

        jax.config.update("jax_enable_x64", True)
        if options.platform == "cpu":
            jax.config.update("jax_platforms", "cpu")
            jax.config.update("jax_num_cpu_devices", 2)
        elif options.platform == "gpu":
            jax.config.update("jax_platforms", "cuda,cpu")
        if options.platform == "gpu" and jax.devices()[0].platform != "gpu":
            raise SystemExit(f"--platform gpu: JAX has {jax.devices()[0].platform} devices only")
    module, _, function = SECTIONS[options.sections[0]][1].partition(":")
    getattr(importlib.import_module(module), function)(options)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=[128, 256, 512, 768, 1024], help="points per side")
    parser.add_argument("--steps", type=int, default=10, help="steps in a chunk that is timed")
    parser.add_argument("--platform", choices=("auto", "cpu", "gpu"), default="auto")
    parser.add_argument("--target", help="shipped target to predict for; by default the one nearest to the devices")
    parser.add_argument("--sections", nargs="+", choices=list(SECTIONS), default=list(SECTIONS))
    parser.add_argument("--limit", type=float, default=500.0, help="seconds after which no new work is started")
    options = parser.parse_args()
    options.sizes.sort()
    options.deadline = time.time() + options.limit
    page(options)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        child(Options(**json.loads(sys.argv[2])))
    else:
        main()
