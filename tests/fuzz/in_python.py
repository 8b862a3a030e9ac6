"""The same run in Python: stepped by pure functions, compiled, batched and differentiated."""

from __future__ import annotations

from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
from reference import runs

import solver as sw
from fuzz.running import TOLERANCE, Fault, Table, carried_out, series, snapshot
from solver.assemble.build import Assembly
from solver.assemble.run_files import schema
from solver.config import load


def python_gives_the_same(table: Table, folder: Path) -> str:
    """`integrate`, `rollout`, `evolve`, `jit` and `vmap` give the fields of the run; a gradient is that of differences.

    Of runs with steps of one size on one device.
    """
    if "step" not in table["time"] or table["grid"]["dealias"] == "smooth":  # which damps a start, each time anew
        return "not comparable"
    table = {**table, "devices": {"use": [0]}, "output": {"series": {"every_steps": 1}, "snapshots": {}}}
    into = carried_out(table, folder)
    if into is None:
        return "refused"
    steps, system = int(series(into)[-1]["step"]), runs.system_of(table)
    start, end = (snapshot(into, step, system) for step in (0, steps))
    run = Assembly(load(folder / "run.toml", schema()), sw.device_mesh([0]))
    equation, stepper, step = run.equation, run.stepper, table["time"]["step"]
    kinds = equation.values_at_points()
    values = {name: jnp.asarray(u, kinds[name].dtype).reshape(kinds[name].shape) for name, u in start.items()}
    seed = 0 if table["grid"]["dealias"] == "phase-shift-random" else None

    def moved(factor, equation=equation):
        state = sw.initial_state(equation, stepper, {n: factor * u for n, u in values.items()}, seed=seed)
        return equation.to_physical(sw.integrate(equation, stepper, state, step=step, steps=steps).field)

    state = sw.initial_state(equation, stepper, values, seed=seed)
    *_, last = sw.evolve(equation, stepper, state, step=step, end=table["time"]["end"])
    trajectory = sw.rollout(equation, stepper, state, step=step, steps=steps)[1]
    half = jnp.asarray([1.0, 0.5], run.grid.dtype)
    batch = jax.vmap(moved)(half)
    compiled, of_half = jax.jit(moved)(half[0]), jax.jit(moved)(half[1])
    found = {
        "evolve": (equation.to_physical(last.field), end), "rollout": ({n: v[-1] for n, v in trajectory.items()}, end),
        "jit": (compiled, end), "vmap": ({n: v[0] for n, v in batch.items()}, end), "integrate": (moved(half[0]), end),
        "vmap of half": ({n: v[1] for n, v in batch.items()}, of_half),
    }  # fmt: skip
    bound = 100 * TOLERANCE[table["grid"].get("precision", "float64")]
    for what, (fields, wanted) in found.items():
        for name, u in fields.items():
            other = np.asarray(wanted[name])
            error, size = np.abs(np.asarray(u).reshape(other.shape) - other).max(), np.abs(other).max()
            if not error <= bound * (size + np.abs(start[name]).max()):
                raise Fault(f"{what}: field {name} differs by {error:.2e} of {size:.2e}")
    return _gradient(table, moved, half)


def _gradient(table: Table, moved, half) -> str:
    if table["grid"].get("precision") == "float32" or "where(" in str(table["equation"]):
        return "the same in Python"
    total = jax.jit(lambda factor: sum(jnp.mean(jnp.abs(u) ** 2) for u in moved(factor).values()))
    slope, h = float(jax.grad(total)(half[0])), 1e-4
    ahead, behind = (float(total(half[0] + sign * h)) for sign in (1, -1))
    differences = (ahead - behind) / (2 * h)
    if not abs(slope - differences) <= 1e-5 * (abs(slope) + abs(ahead)):
        raise Fault(f"gradient {slope:.9g}, differences {differences:.9g}")
    return "the same in Python"
