"""Equations that are texts beside the ones that were written by hand before: time of a step, words held and moved.

The hand-written ones are read from the project's history. Both are compiled in one process and stepped in turn.
"""

from __future__ import annotations

import argparse
import importlib.util
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from harness import ROOT, machine

BY_HAND = "a37708a"  # the last commit that has them
FILES = ("navier_stokes", "vorticity", "boussinesq", "mhd", "kuramoto_sivashinsky", "gray_scott")
DIFFUSIVE = {"diffusivity_u": 2e-5, "diffusivity_v": 1e-5, "feed": 0.03, "kill": 0.06}
CASES: dict[str, tuple[str, str, dict[str, float], tuple[int, ...], int]] = {
    "Navier–Stokes 64³": ("navier_stokes", "NavierStokes", {"viscosity": 1e-2}, (64, 64, 64), 8),
    "Navier–Stokes 128³": ("navier_stokes", "NavierStokes", {"viscosity": 1e-2}, (128, 128, 128), 1),
    "MHD 64³": ("mhd", "MHD", {"viscosity": 1e-2, "resistivity": 1e-2}, (64, 64, 64), 4),
    "MHD 128³": ("mhd", "MHD", {"viscosity": 1e-2, "resistivity": 1e-2}, (128, 128, 128), 1),
    "Boussinesq 64³": (
        "boussinesq", "Boussinesq", {"viscosity": 1e-2, "diffusivity": 1e-2, "buoyancy_frequency": 1.0}, (64, 64, 64), 3
    ),
    "vorticity 512²": ("vorticity", "Vorticity", {"viscosity": 1e-4}, (512, 512), 8),
    "Kuramoto–Sivashinsky 512²": ("kuramoto_sivashinsky", "KuramotoSivashinsky", {}, (512, 512), 8),
    "Gray–Scott 512²": ("gray_scott", "GrayScott", DIFFUSIVE, (512, 512), 8),
}  # fmt: skip


def by_hand(folder: Path) -> dict[str, Any]:
    """The modules of the hand-written equations; those that import from one another do so here."""
    modules = {}
    for name in FILES:
        shown = ["git", "-C", str(ROOT), "show", f"{BY_HAND}:solver/equations/{name}.py"]
        source = subprocess.run(shown, capture_output=True, text=True, check=True).stdout
        source = source.replace("from solver.equations.navier_stokes import", "from by_hand_navier_stokes import")
        path = folder / f"by_hand_{name}.py"
        path.write_text(source)
        spec = importlib.util.spec_from_file_location(path.stem, path)
        assert spec is not None  # a file that was just written
        assert spec.loader is not None
        module = sys.modules[path.stem] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        modules[name] = module
    return modules


def case(name: str, modules: dict[str, Any], rounds: int) -> str:
    """One line of the table."""
    import jax
    import numpy as np

    import solver as sw
    from solver.loop import FixedStep, trace_advance

    file, cls, parameters, shape, steps = CASES[name]
    grid, stepper = sw.Grid(shape, mesh=sw.device_mesh()), sw.steppers.IFRK4()
    equations = [getattr(where, cls)(grid, **parameters) for where in (modules[file], sw.equations)]
    values = {
        field: np.random.default_rng(0).normal(size=size) * 1e-2
        for field, size in equations[0].physical_shapes().items()
    }
    states = [sw.initial_state(equation, stepper, values) for equation in equations]
    held, moved = [], []
    for equation, state in zip(equations, states, strict=True):
        compiled = trace_advance(equation, stepper, state, FixedStep(1e-4)).lower().compile()
        word = grid.dtype.itemsize * 2 * int(np.prod(grid.spectral_shape)) / grid.mesh.size
        held.append(compiled.memory_analysis().temp_size_in_bytes / word)
        moved.append(compiled.cost_analysis().get("bytes accessed", 0) / word)
    times: list[list[float]] = [[], []]
    apart = 0.0
    for number in range(rounds + 1):
        order = (0, 1) if number % 2 else (1, 0)
        for which in order:
            began = time.perf_counter()
            last = sw.integrate(equations[which], stepper, states[which], step=1e-4, steps=steps)
            jax.block_until_ready(last.field)
            if number:
                times[which].append(1e3 * (time.perf_counter() - began) / steps)
            else:
                states[which] = last  # compiled and warm from here on
    fields = [state.field for state in states]
    apart = max(
        float(
            np.max(np.abs(np.asarray(fields[0][n]) - np.asarray(fields[1][n])))
            / np.max(np.abs(np.asarray(fields[0][n])))
        )
        for n in values
    )
    hand, text = map(statistics.median, times)
    spread = " and ".join(f"{min(t):.4g}–{max(t):.4g}" for t in times)
    ratios = f"{text / hand:.3f} | {held[1] / held[0]:.3f} | {moved[1] / moved[0]:.3f}"
    return f"| {name} | {hand:.4g} | {text:.4g} | {spread} | {ratios} | {apart:.0e} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--cases", nargs="*", default=list(CASES), help=f"of {', '.join(CASES)}")
    parser.add_argument("--devices", type=int, default=1, choices=(1, 2))
    options = parser.parse_args()
    from solver.cluster import keep_freed_memory

    keep_freed_memory()
    import jax

    jax.config.update("jax_num_cpu_devices", options.devices)
    jax.config.update("jax_enable_x64", True)
    print(
        f"`python benchmarks/written.py --rounds {options.rounds} --devices {options.devices}` on "
        f"{time.strftime('%Y-%m-%d')}; {machine()}. ifrk4, fixed steps, float64, with the energy budget."
    )
    print("\n| | by hand, ms a step | as text, ms a step | smallest–largest | time | held | moved | values differ by |")
    print("|---|---|---|---|---|---|---|---|", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        modules = by_hand(Path(folder))
        for name in options.cases:
            print(case(name, modules, options.rounds), flush=True)


if __name__ == "__main__":
    main()
