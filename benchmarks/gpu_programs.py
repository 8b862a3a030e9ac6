"""What a run's programs hold and move on GPUs that are not here: the table in gpu_programs.md, and the recorded numbers
that `slabwave check --target` takes where JAX's plug-in for the GPU is not installed.

    pip install -e '.[cuda12]'        # no GPU and no driver is needed
    python benchmarks/gpu_programs.py --steps > steps.md
    python benchmarks/gpu_programs.py --record solver/plan/recorded.json > rows.md

The first compiles steps of Navier–Stokes by IFRK4, of one size and without the budget. The second compiles every case
of runs/ on 1, 4, 8 and 64 H200 (eight to a host) with many points on each; and with few, where a GPU takes all fields
at once, which is recorded but not printed.
"""

from __future__ import annotations

import argparse
import json
import math
import os
from pathlib import Path

os.environ["JAX_PLATFORMS"] = "cpu"
RUNS = Path(__file__).parents[1] / "runs"
DEVICES = (1, 4, 8, 64)
MANY = {1: 4096, 2: 4096, 3: 256}  # sides, by dimensions; twice as many on 64 devices
FEW = {2: {1: 512, 4: 1024, 8: 1024, 64: 4096}, 3: {1: 64, 4: 128, 8: 128, 64: 256}}
STEPS = (  # side, precision, slabs, pencils
    (512, "float32", 1, 1), (512, "float64", 1, 1), (512, "float32", 2, 1), (512, "float32", 4, 1),
    (512, "float32", 8, 1), (512, "float64", 8, 1), (512, "float32", 2, 4), (512, "float32", 16, 1),
    (512, "float32", 64, 1), (512, "float32", 8, 8), (2048, "float32", 64, 1), (4096, "float32", 512, 1),
    (4096, "float32", 64, 8), (8192, "float32", 4096, 1), (8192, "float32", 512, 8),
)  # fmt: skip


def row(file: Path, devices: int, overrides: list[str], *, steps_alone: bool = False) -> dict:
    """Words per point of a case."""
    import jax

    from solver import assemble
    from solver.fft import has_few_points
    from solver.plan import Target

    jax.config.update("jax_enable_x64", True)
    config = assemble.read_run_file(str(file), overrides)
    target = Target.of("h200", devices)
    run = assemble.target_assembly(config, target)
    parts = assemble.target_programs(run, target, steps_alone=steps_alone)
    steps = parts[0].program
    unit = math.prod(run.grid.layout.points) / devices * run.grid.dtype.itemsize
    time = target.timeline(steps)
    return {
        "case": file.stem, **vars(assemble.kind_of(config)), "precision": config.grid.precision, "devices": devices,
        "side": config.grid.shape[0], "few": has_few_points(run.grid.layout),
        "moved": steps.moved / unit, "around": steps.copied_and_scaled / unit,
        "kernels": len(steps.work), "exchanges": len(steps.exchanges), "covered": time.covered, "placed": time.placed,
        "held": {part.name: part.held / unit for part in parts},
        "needed": {part.name: part.with_workspace / unit for part in parts},
    }  # fmt: skip


def steps() -> None:
    """Rows of steps of Navier–Stokes."""
    for side, precision, slabs, pencils in STEPS:
        devices, split = slabs * pencils, f"{slabs} slabs" if pencils == 1 else f"{slabs} × {pencils} pencils"
        overrides = [f"grid.shape={[side] * 3}", f"grid.precision='{precision}'", "equation.energy_budget=false"]
        overrides += [f"devices.mesh=[{slabs},{pencils}]", "devices.decomposition='pencil'"] if pencils > 1 else []
        found = row(RUNS / "taylor_green.toml", devices, overrides, steps_alone=True)
        where = f"{split} on {devices // 8} hosts" if devices > 8 else split if devices > 1 else "1"
        shares = [f"{found[key]:.0%}" if devices > 1 else "–" for key in ("covered", "placed")]
        print(
            f"| {side}³ | {precision} | {where} | {found['moved']:.1f} | {found['around']:.0f} | "
            f"{found['held']['steps']:.1f} | {found['kernels']} | {found['exchanges']} | {' | '.join(shares)} |",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", action="store_true", help="steps of Navier–Stokes alone")
    parser.add_argument("--record", type=Path, help="JSON file to write")
    parser.add_argument("--cases", nargs="*", help="names of run files; all by default")
    options = parser.parse_args()
    if options.steps:
        steps()
        return
    rows = []
    for file in sorted(RUNS.glob("*.toml")):
        if options.cases and file.stem not in options.cases:
            continue
        for devices in DEVICES:
            dimensions = _dimensions(file)
            if dimensions == 1 and devices > 1:
                continue
            if dimensions > 1:
                rows.append(row(file, devices, [f"grid.shape={[FEW[dimensions][devices]] * dimensions}"]))
            side = MANY[dimensions] * (2 if devices == 64 else 1)
            found = row(file, devices, [f"grid.shape={[side] * dimensions}"])
            rows.append(found)
            held = ", ".join(f"{name} {words:.1f}" for name, words in found["held"].items())
            print(
                f"| {found['case']} | {devices} | {found['moved']:.0f} + {found['around']:.0f} | {found['kernels']} | "
                f"{found['exchanges']} | {found['covered']:.0%} | {held} |",
                flush=True,
            )
    if options.record:
        options.record.write_text(json.dumps({"jax": _version(), "rows": rows}, indent=0) + "\n")


def _dimensions(file: Path) -> int:
    import tomllib

    return len(tomllib.loads(file.read_text())["grid"]["shape"])


def _version() -> str:
    import jax

    return jax.__version__


if __name__ == "__main__":
    main()
