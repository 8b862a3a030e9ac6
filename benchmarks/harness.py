"""What the benchmarks share: programs run as processes of their own, in turn, for some rounds; medians; a table.

Each program is a command that prints, as its last line, a JSON object of milliseconds by name. Peers are installed
beside the project, never into it: `make peers` puts them into `.peers`; SLABWAVE_PEERS names another Python.
"""

from __future__ import annotations

import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[1]
PEERS = Path(os.environ.get("SLABWAVE_PEERS", ROOT / ".peers" / "bin" / "python"))
PEER_SCRIPTS = Path(__file__).parent / "peers"
TWO_DEVICES = {"XLA_FLAGS": "--xla_force_host_platform_device_count=2", "JAX_ENABLE_X64": "true"}


@dataclass
class Program:
    """One competitor.

    Args:
        name: in the table.
        command: without the arguments that say what to measure.
        needs: modules that its Python must have; for the message where it is missing.
    """

    name: str
    command: list[str]
    needs: Sequence[str] = ()
    environment: dict[str, str] = field(default_factory=dict)
    times: list[dict[str, float]] = field(default_factory=list)
    missing: str = ""

    def check(self) -> None:
        """Find out whether it can run here."""
        python = next((word for word in self.command if word.endswith("python") or word == sys.executable), "")
        if not Path(python).exists():
            self.missing = f"no {python}: make peers"
        elif self.command[0] == "mpirun" and shutil.which("mpirun") is None:
            self.missing = "no mpirun"
        else:
            probe = subprocess.run([python, "-c", f"import {', '.join(['sys', *self.needs])}"], capture_output=True)
            self.missing = f"needs {', '.join(self.needs)}" if probe.returncode else ""

    def run(self, arguments: Sequence[str]) -> None:
        """One measurement."""
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", **self.environment}
        done = subprocess.run(
            [*self.command, *arguments], capture_output=True, text=True, env=environment, cwd="/tmp", timeout=1200
        )
        if done.returncode:
            self.missing = f"failed: {(done.stderr.strip() or '?').splitlines()[-1][:120]}"
            return
        lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
        self.times.append(json.loads(lines[-1]))

    def median(self, key: str) -> float:
        """Over the rounds."""
        return statistics.median(t[key] for t in self.times)

    def spread(self, key: str) -> str:
        """Smallest and largest."""
        values = [t[key] for t in self.times]
        return f"{min(values):.4g}–{max(values):.4g}"


def two_ranks(script: str) -> list[str]:
    """A peer's script on two MPI ranks."""
    here = str(PEER_SCRIPTS / script)
    return ["mpirun", "--allow-run-as-root", "--oversubscribe", "-n", "2", "--bind-to", "none", str(PEERS), here]


def peer(script: str) -> list[str]:
    """A peer's script as one process."""
    return [str(PEERS), str(PEER_SCRIPTS / script)]


def alternate(programs: Sequence[Program], rounds: int, arguments: Sequence[str]) -> None:
    """Run them in turn, `rounds` times."""
    for program in programs:
        program.check()
    for number in range(rounds):
        for program in programs:
            if not program.missing:
                program.run(arguments)
                said = program.missing or program.times[-1]
                print(f"round {number + 1}/{rounds}  {program.name}: {said}", file=sys.stderr, flush=True)


def measured(call: object, repeats: int) -> float:
    """Median milliseconds of `call()`, after one that is not counted."""
    call()  # type: ignore[operator]
    times = []
    for _ in range(repeats):
        began = time.perf_counter()
        call()  # type: ignore[operator]
        times.append(1e3 * (time.perf_counter() - began))
    return statistics.median(times)


def machine() -> str:
    """Processor, cores, Python, versions."""
    import jax
    import jaxlib
    import numpy

    name = platform.processor()
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            name = line.partition(":")[2].strip()
    versions = f"jax {jax.__version__}, jaxlib {jaxlib.__version__}, numpy {numpy.__version__}"
    cores = len(os.sched_getaffinity(0))
    return f"{name}, {cores} cores; Python {platform.python_version()}, {versions}{_peer_versions()}"


def _peer_versions() -> str:
    if not PEERS.exists():
        return ""
    wanted = ["mpi4py-fft", "pyFFTW", "scipy", "fluidsim", "fluidfft", "exponax", "jax", "dedalus"]
    code = (
        "from importlib.metadata import version, PackageNotFoundError as E\n"
        f"for n in {wanted!r}:\n  try: print(n, version(n))\n  except E: pass"
    )
    found = subprocess.run([str(PEERS), "-c", code], capture_output=True, text=True).stdout.splitlines()
    return f"; peers: {', '.join(found)}" if found else ""


def columns(programs: Sequence[Program], keys: dict[str, str], base: tuple[str, str]) -> str:
    """A table of medians in ms (smallest–largest) and of ratios to `base`, a program's name and one of its keys."""
    reference = next((p for p in programs if p.name == base[0] and p.times), None)
    head = [f"{label}, ms | ratio" for label in keys.values()]
    lines = ["| program | " + " | ".join(head) + " |", "|---" * (1 + 2 * len(keys)) + "|"]
    for program in programs:
        cells = [program.name]
        for key in keys:
            if program.missing:
                cells += [program.missing, "–"]
            elif key not in program.times[0]:
                cells += ["–", "–"]
            else:
                ratio = "–" if reference is None else f"{program.median(key) / reference.median(key):.2f}"
                cells += [f"{program.median(key):.4g} ({program.spread(key)})", ratio]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"
