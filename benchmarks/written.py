"""Equations that are texts beside the ones that were written by hand before: time of a step, words held and moved.

The commit that had them by hand is unpacked into a folder; each of the two trees runs in a process of its own, and they
step in turn.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from harness import ROOT, machine

BY_HAND = "a37708a"  # the last commit that has all of them
CASES: dict[str, tuple[str, dict[str, Any], tuple[int, ...], int]] = {
    "Navier–Stokes 64³": ("NavierStokes", {"viscosity": 1e-2}, (64, 64, 64), 8),
    "Navier–Stokes 128³": ("NavierStokes", {"viscosity": 1e-2}, (128, 128, 128), 1),
    "MHD 64³": ("MHD", {"viscosity": 1e-2, "resistivity": 1e-2}, (64, 64, 64), 4),
    "MHD 128³": ("MHD", {"viscosity": 1e-2, "resistivity": 1e-2}, (128, 128, 128), 1),
    "Boussinesq 64³": (
        "Boussinesq", {"viscosity": 1e-2, "diffusivity": 1e-2, "buoyancy_frequency": 1.0}, (64, 64, 64), 3
    ),
    "vorticity 512²": ("Vorticity", {"viscosity": 1e-4}, (512, 512), 8),
    "surface QG 512²": ("SurfaceQuasiGeostrophic", {"diffusivity": 1e-4}, (512, 512), 6),
    "two layers 512²": (
        "TwoLayerQuasiGeostrophic", {"deformation_wavenumber": 8.0, "shear": 0.1, "hyperviscosity": 1e-8}, (512, 512), 4
    ),
    "Burgers 512²": ("Burgers", {"viscosity": 1e-2}, (512, 512), 6),
    "Kuramoto–Sivashinsky 512²": ("KuramotoSivashinsky", {}, (512, 512), 8),
    "Swift–Hohenberg 512²": ("SwiftHohenberg", {}, (512, 512), 10),
    "Allen–Cahn 64³": ("AllenCahn", {}, (64, 64, 64), 8),
    "nonlinear Schrödinger 512²": ("NonlinearSchroedinger", {}, (512, 512), 8),
    "Gray–Scott 512²": (
        "GrayScott", {"diffusivity_u": 2e-5, "diffusivity_v": 1e-5, "feed": 0.03, "kill": 0.06}, (512, 512), 8
    ),
}  # fmt: skip


class Worker:
    """One tree's process: compiles a case, and steps when it is told.

    Args:
        tree: the folder that holds the package.
        name: of the case.
        devices: virtual ones.
        fields: the file that it leaves its fields in after the first steps.
    """

    def __init__(self, tree: Path, name: str, devices: int, fields: Path) -> None:
        command = [sys.executable, __file__, "--work", name, str(fields), "--devices", str(devices)]
        environment = {**os.environ, "PYTHONPATH": str(tree)}
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, env=environment, cwd=tree)
        self.fields = fields
        self.words = self._answer()

    def _answer(self) -> Any:
        assert self.process.stdout is not None  # a pipe
        return json.loads(self.process.stdout.readline())

    def step(self) -> float:
        """Milliseconds of a step."""
        assert self.process.stdin is not None  # a pipe
        print("go", file=self.process.stdin, flush=True)
        return float(self._answer())

    def end(self) -> None:
        """Let it leave."""
        assert self.process.stdin is not None  # a pipe
        self.process.stdin.close()
        self.process.wait()


def work(name: str, fields: Path, devices: int) -> None:
    """What a worker does: the words of its program first, then a time for each line that it is given."""
    import jax

    jax.config.update("jax_num_cpu_devices", devices)
    jax.config.update("jax_enable_x64", True)
    import numpy as np

    import solver as sw
    from solver.cluster import keep_freed_memory
    from solver.loop import FixedStep, trace_advance

    keep_freed_memory()
    cls, parameters, shape, steps = CASES[name]
    grid, stepper = sw.Grid(shape, mesh=sw.device_mesh()), sw.steppers.IFRK4()
    equation = getattr(sw.equations, cls)(grid, **parameters)
    noise = np.random.default_rng(0)
    values = {}
    for field, value in equation.values_at_points().items():
        values[field] = (noise.normal(size=value.shape) * 1e-2).astype(value.dtype)
    state = sw.initial_state(equation, stepper, values)
    compiled = trace_advance(equation, stepper, state, FixedStep(1e-4)).lower().compile()
    word = 16 * int(np.prod(equation.grid.spectral_shape)) / devices
    held, moved = compiled.memory_analysis().temp_size_in_bytes, compiled.cost_analysis().get("bytes accessed", 0)

    def stepped() -> Any:
        return jax.block_until_ready(sw.integrate(equation, stepper, state, step=1e-4, steps=steps).field)

    np.savez(fields, **{field: np.asarray(value) for field, value in stepped().items()})
    print(json.dumps([held / word, moved / word]), flush=True)
    for _ in sys.stdin:
        began = time.perf_counter()
        stepped()
        print(1e3 * (time.perf_counter() - began) / steps, flush=True)


def case(name: str, trees: tuple[Path, Path], rounds: int, devices: int, folder: Path) -> str:
    """One line of the table."""
    import numpy as np

    workers = [Worker(tree, name, devices, folder / f"{i}.npz") for i, tree in enumerate(trees)]
    times: list[list[float]] = [[], []]
    for number in range(rounds):
        for which in (0, 1) if number % 2 else (1, 0):
            times[which].append(workers[which].step())
    for worker in workers:
        worker.end()
    one, other = (np.load(worker.fields) for worker in workers)
    apart = max(np.max(np.abs(one[n] - other[n])) / max(np.max(np.abs(one[n])), 1e-300) for n in one)
    hand, text = map(statistics.median, times)
    spread = " and ".join(f"{min(t):.4g}–{max(t):.4g}" for t in times)
    held, moved = (b / a for a, b in zip(*(worker.words for worker in workers), strict=True))
    return (
        f"| {name} | {hand:.4g} | {text:.4g} | {spread} | {text / hand:.3f} | {held:.3f} | {moved:.3f} | {apart:.0e} |"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--cases", nargs="*", default=list(CASES), help=f"of {', '.join(CASES)}")
    parser.add_argument("--devices", type=int, default=1, choices=(1, 2))
    parser.add_argument("--work", nargs=2, metavar=("CASE", "FILE"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.work:
        work(options.work[0], Path(options.work[1]), options.devices)
        return
    print(
        f"`python benchmarks/written.py --rounds {options.rounds} --devices {options.devices}` on "
        f"{time.strftime('%Y-%m-%d')}; {machine()}. ifrk4, fixed steps, float64, with the energy budget."
    )
    print("\n| | by hand, ms a step | as text, ms a step | smallest–largest | time | held | moved | values differ by |")
    print("|---|---|---|---|---|---|---|---|", flush=True)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        archive = subprocess.run(["git", "-C", str(ROOT), "archive", BY_HAND], capture_output=True, check=True).stdout
        (folder / "by_hand").mkdir()
        subprocess.run(["tar", "-x", "-C", str(folder / "by_hand")], input=archive, check=True)
        for name in options.cases:
            print(case(name, (folder / "by_hand", ROOT), options.rounds, options.devices, folder), flush=True)


if __name__ == "__main__":
    main()
