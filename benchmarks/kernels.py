"""Where the time of a step goes on CPU devices: the kernels of one compiled step by kind, as JAX's profiler timed them.

python benchmarks/kernels.py 3 64              dimensions, points along an axis
python benchmarks/kernels.py 2 512 --steps 20 --budget
"""

from __future__ import annotations

import argparse
import re
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

from navier_stokes import DEVICES, stepping

IN_TRANSFORM = "tmp_xla_computation"  # how XLA names what a partitioned operation is made of
KINDS = {
    "FFTs": lambda name, where: name.startswith("fft"),
    "exchange": lambda name, where: name.startswith("all-to-all"),
    "sums of the budget": lambda name, where: "reduce" in name,
    "products at the points": lambda name, where: IN_TRANSFORM in where and name.startswith("concatenate_complex"),
    "copies in the transforms: zeros, order, pieces": lambda name, where: IN_TRANSFORM in where,
    "stages": lambda name, where: True,
}


def profiled(dimensions: int, n: int, steps: int, budget: bool) -> tuple[float, Counter[str]]:
    """Milliseconds of a step by the clock, and of its kernels by kind, both by device."""
    state, program, advance = stepping((n,) * dimensions, dimensions == 2, energy_budget=budget)
    import jax

    text = program().as_text()
    state = advance(state, steps)
    with tempfile.TemporaryDirectory() as folder:
        with jax.profiler.trace(folder):
            advance(state, steps)
        events = _events(jax.profiler.ProfileData.from_file(str(next(Path(folder).rglob("*.xplane.pb")))))
    per_step = 1 / (steps * DEVICES)
    where = dict(re.findall(r"%([\w.-]+) = .*?metadata=\{op_name=\"([^\"]*)\"", text))
    loops = re.compile(r"(while|call|conditional)[.\d]*$")
    kinds: Counter[str] = Counter()
    for name, milliseconds in events:
        if name in where and not loops.match(name):
            kind = next(kind for kind, belongs in KINDS.items() if belongs(name, where[name]))
            kinds[kind] += milliseconds * per_step
    clock = sum(ms for name, ms in events if name.startswith("ThunkExecutor::Execute (wait")) * per_step
    return clock, kinds


def _events(profile: Any) -> list[tuple[str, float]]:
    lines = (line for plane in profile.planes for line in plane.lines)
    return [(event.name, event.duration_ns / 1e6) for line in lines for event in line.events]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("dimensions", type=int, choices=(2, 3))
    parser.add_argument("points", type=int)
    parser.add_argument("--steps", type=int, default=10)
    parser.add_argument("--budget", action="store_true", help="integrate the energy budget, as runs do")
    options = parser.parse_args()
    clock, kinds = profiled(options.dimensions, options.points, options.steps, options.budget)
    print(f"| kind | ms of {clock:.2f} | part |\n|---|---|---|")
    for kind in KINDS:
        print(f"| {kind} | {kinds[kind]:.2f} | {kinds[kind] / clock:.0%} |")
    rest = clock - sum(kinds.values())
    print(f"| between kernels, and waiting | {rest:.2f} | {rest / clock:.0%} |")
