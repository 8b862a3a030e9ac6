"""The trial of what a run file stands for in Python: the functions of `solver` give what the run gave."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from reference import runs
from reference.control import NotKnown

import solver as sw
from fuzz.running import TOLERANCE, Fault, Table, carried_out, series, snapshot
from solver.assemble.build import Assembly
from solver.assemble.consistent import resolve
from solver.assemble.devices import device_meshes
from solver.assemble.registry import Registry
from solver.config import load

NOT_SMOOTH = ("where(", "abs(", "max(", "min(", "sign(")
REGISTRY = Registry()


class Given:
    """A run that has ended, and the same in Python.

    Args:
        table: the run file.
        folder: that holds it, as `run.toml`.
        into: the directory of the run.
    """

    def __init__(self, table: Table, folder: Path, into: Path) -> None:
        self.table = table
        config = resolve(load(folder / "run.toml", REGISTRY))
        self.assembly = Assembly(config, device_meshes(config)[0])
        self.equation, self.stepper = self.assembly.equation, self.assembly.stepper
        self.state = self.assembly.start()
        rows, system = series(into), runs.system_of(table)
        self.rows, self.end = rows, snapshot(into, int(rows[-1]["step"]), system)
        self.bound = 100 * TOLERANCE[table["grid"].get("precision", "float64")]

    @property
    def steps(self) -> int:
        return int(self.rows[-1]["step"])

    @property
    def is_even(self) -> bool:
        """Whether all steps are of one size, the last one too."""
        time = self.table["time"]
        return "step" in time and abs(self.steps * time["step"] - time["end"]) < 1e-9 * time["end"]

    def alone(self, fields: Any) -> Any:
        """Fields without what stands beside them."""
        return {name: fields[name] for name in self.equation.fields}

    def at_points(self, fields: Any, t: float | None = None) -> dict[str, np.ndarray]:
        """Values of fields at a time, by default that of the end."""
        equation = self.equation.at_time(float(self.rows[-1]["t"]) if t is None else t)
        return {name: np.asarray(u) for name, u in equation.to_physical(self.alone(fields)).items()}

    def compare(self, what: str, found: dict[str, np.ndarray]) -> None:
        """Raises Fault where fields at the points are not those of the run."""
        for name, wanted in self.end.items():
            size, error = np.abs(wanted).max(), np.abs(found[name] - wanted).max()
            if not error <= self.bound * size:
                raise Fault(f"{what}: field {name} differs from the run's by {error:.2e} of {size:.2e}")

    def advanced(self, state: Any) -> Any:
        """The state at the end, as a pure function."""
        time = self.table["time"]
        if self.is_even:
            return sw.integrate(self.equation, self.stepper, state, step=time["step"], steps=self.steps)
        control = {key: time[key] for key in ("step", "cfl", "tolerance", "max_step") if key in time}
        most = 2 * self.steps + 20
        return sw.integrate(self.equation, self.stepper, state, end=time["end"], max_steps=most, **control)


def evolved(given: Given) -> None:
    """`evolve` gives the fields of the run."""
    time = given.table["time"]
    control = {key: time[key] for key in ("step", "cfl", "tolerance", "max_step") if key in time}
    *_, last = sw.evolve(given.equation, given.stepper, given.state, end=time["end"], **control)
    if int(last.step) != given.steps or float(last.t) != given.rows[-1]["t"]:
        raise Fault(f"evolve ends at step {int(last.step)}, t = {float(last.t)!r}, the run at {given.rows[-1]}")
    given.compare("evolve", given.at_points(last.field))


def integrated(given: Given) -> None:
    """`integrate` gives the fields of the run, under `jit` too."""
    given.compare("integrate", given.at_points(given.advanced(given.state).field))
    under_jit = jax.jit(lambda fields: given.advanced(given.state.replace(field=fields)).field)
    given.compare("jit of integrate", given.at_points(under_jit(given.state.field)))


def rolled_out(given: Given) -> None:
    """The last of the states of `rollout` is that of the run, and the first is the start."""
    if not given.is_even:
        return
    step = given.table["time"]["step"]
    times, values = sw.rollout(given.equation, given.stepper, given.state, step=step, steps=given.steps)
    if len(times) != given.steps + 1:
        raise Fault(f"rollout has {len(times)} times of {given.steps} steps")
    given.compare("rollout", {name: np.asarray(u[-1]) for name, u in values.items()})
    for name, start in given.at_points(given.state.field, 0.0).items():
        if not np.allclose(values[name][0], start, atol=given.bound * np.abs(start).max()):
            raise Fault(f"rollout: the first state is not the start, in {name}")


def in_a_batch(given: Given) -> None:
    """Of two members under `vmap`, the one that starts as the run ends as it does."""
    if given.table["grid"]["dealias"] == "smooth":  # which damps a start, each time anew
        return
    begin = given.at_points(given.state.field, 0.0)
    starts = {name: jnp.stack([jnp.asarray(u), 0.5 * jnp.asarray(u)]) for name, u in begin.items()}

    def end_of(fields: Any) -> Any:
        seed = given.table["random"]["seed"]
        return given.advanced(sw.initial_state(given.equation, given.stepper, fields, seed=seed)).field

    both = jax.vmap(end_of)(starts)
    given.compare("vmap", given.at_points(jax.tree.map(lambda u: u[0], both)))


def differentiated(given: Given) -> None:
    """The derivative of the mean square at the end by the size of the start is that of differences."""
    text = json.dumps(given.table["equation"])
    if given.table["grid"].get("precision") == "float32" or any(word in text for word in NOT_SMOOTH):
        return
    if not given.is_even:
        return
    begin = {name: jnp.asarray(u) for name, u in given.at_points(given.state.field, 0.0).items()}

    def size(factor: Any) -> Any:
        fields = {name: factor * u for name, u in begin.items()}
        state = sw.initial_state(given.equation, given.stepper, fields, seed=given.table["random"]["seed"])
        end = given.alone(given.advanced(state).field)
        return sum(mean_square(given.equation, name, u) for name, u in end.items())

    call, h = jax.jit(size), 1e-4
    if not float(call(1.0)) < 1e12:  # a given power goes into modes that hold rounding alone
        return
    slope = float(jax.grad(size)(1.0))
    rough, fine = ((float(call(1 + d)) - float(call(1 - d))) / (2 * d) for d in (2 * h, h))
    wanted = (4 * fine - rough) / 3
    if not abs(slope - wanted) <= 1e-6 * max(abs(wanted), abs(float(call(1.0)))):
        raise Fault(f"the gradient of integrate is {slope:.10g}, differences give {wanted:.10g}")


def mean_square(equation: Any, name: str, u: Any) -> Any:
    """⟨|u|²⟩ of a field, which some steppers hold at the points."""
    if equation.field_storage()[name].holds == "points":
        return jnp.sum(jnp.abs(u) ** 2) / np.prod(equation.grid.physical_shape)
    return equation.space(name).mean_square(u)


DOORS: list[Callable[[Given], None]] = [evolved, integrated, rolled_out, in_a_batch, differentiated]


def same_in_python(table: Table, folder: Path) -> str:
    """One of the functions of `solver`, drawn, gives what the run gave."""
    end = table["time"]["end"]
    if any(section.get("every_time", end) < end for section in table["output"].values()):
        return "outputs shorten steps"
    into = carried_out(table, folder)
    if into is None:
        return "refused"
    door = Random(json.dumps(table)).choice(DOORS)
    try:
        door(Given(table, folder, into))
    except (Fault, NotKnown):
        raise
    except Exception as error:
        raise Fault(f"{door.__name__}: {type(error).__name__}: {str(error)[:300]}") from error
    return f"{door.__name__}"
