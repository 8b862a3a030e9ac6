"""What benchmarks/gpu.py runs: three equations on any device mesh, by the compiled program that `slabwave run` uses."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import solver as sw
from solver.grid import Fourier, Storage
from solver.loop import FixedStep, StepLimits, advance_donating, device_state, trace_advance
from solver.plan import Program, Target, compile_run, read_program, target_mesh
from solver.plan.of_run import place
from solver.steppers.start import state_shapes

DT = 1e-3
TARGETS = {"gh200": "gh200", "h200": "h200", "h100": "h100", "a100": "a100", "b200": "b200", "mi300x": "mi300x",
           "mi250x": "mi250x"}  # fmt: skip


@dataclass(frozen=True)
class Case:
    """An equation with its stepper and a start.

    Args:
        name: in the tables.
        equation, stepper: made for a grid.
        start: values at the points by field name, made on a grid.
        real: fields are real.
        dealias: rule of the grid.
    """

    name: str
    equation: Callable[[sw.Grid], Any]
    stepper: Callable[[], Any]
    start: Callable[[Any], dict[str, Any]]
    real: bool = True
    dealias: str = "two-thirds"

    def grid(self, n: int, precision: str, mesh: Any) -> sw.Grid:
        """n points per side."""
        return sw.Grid((n, n, n), dealias=self.dealias, precision=precision, real=self.real, mesh=mesh)


def _navier_stokes(grid: sw.Grid) -> Any:
    return sw.equations.NavierStokes(grid, viscosity=1e-2)


def _taylor_green(flow: Any) -> dict[str, Any]:
    return {"velocity": sw.initial.TaylorGreen()(flow.grid)}


def _random_phase(flow: Any) -> dict[str, Any]:
    start = sw.initial.RandomPhase()
    return {"velocity": start(flow.grid, flow.fields["velocity"], jax.random.key(1))}


def _orszag_tang(flow: Any) -> dict[str, Any]:
    velocity, magnetic = sw.initial.OrszagTang(), sw.initial.OrszagTang(amplitude=0.8, magnetic=True)
    return {"velocity": velocity(flow.grid), "magnetic_field": magnetic(flow.grid)}


def _waves(matter: Any) -> dict[str, Any]:
    wave = lambda x, y, z: 1 + 0.3 * jnp.cos(x) * jnp.sin(2 * y) + 0.2j * jnp.sin(y + z)  # noqa: E731
    return {next(iter(matter.fields)): sw.sample(wave, matter.grid)}


CASES = {
    "taylor-green": Case("Navier–Stokes, Taylor–Green, IFRK4", _navier_stokes, sw.steppers.IFRK4, _taylor_green),
    "random-phase": Case("Navier–Stokes, random-phase, IFRK4", _navier_stokes, sw.steppers.IFRK4, _random_phase),
    "mhd": Case(
        "MHD, Orszag–Tang, IFRK4",
        lambda grid: sw.equations.MHD(grid, viscosity=1e-2, resistivity=1e-2),
        sw.steppers.IFRK4,
        _orszag_tang,
    ),
    "schroedinger-poisson": Case(
        "Schrödinger–Poisson, Strang", sw.equations.SchroedingerPoisson, sw.steppers.Strang, _waves, False, "none"
    ),
}


class Run:
    """A case on devices, with its steps compiled.

    Args:
        case, n, precision, mesh: what is run and where.
        start: values at the points as NumPy arrays; if None, small coefficients that cost no memory to make.
    """

    def __init__(self, case: Case, n: int, precision: str, mesh: Any, start: dict[str, Any] | None = None) -> None:
        self.grid = case.grid(n, precision, mesh)
        self.equation, self.stepper = case.equation(self.grid), case.stepper()
        if start is None:
            self.state = small_state(self.equation, self.stepper)
        else:
            dtype = self.grid.physical_dtype
            fields = {name: sw.from_global(values.astype(dtype), self.grid) for name, values in start.items()}
            self.state = sw.initial_state(self.equation, self.stepper, fields)
        self.compiled = trace_advance(self.equation, self.stepper, self.state, control()).lower().compile()
        self.state = device_state(self.state)

    def advance(self, steps: int) -> None:
        """Take steps, and wait for them."""
        given = (self.equation, self.stepper, control(), self.state, StepLimits(np.int64(steps), self.state.t))
        self.state, finite = jax.block_until_ready(self.compiled(*advance_donating.sealed(*given)))
        if not bool(finite):
            raise FloatingPointError("the solution is not finite")

    def seconds_per_step(self, steps: int, chunks: int = 5) -> float:
        """Median over chunks of steps; the first chunk is dropped."""
        times = []
        for _ in range(chunks + 1):
            began = time.perf_counter()
            self.advance(steps)
            times.append((time.perf_counter() - began) / steps)
        return statistics.median(times[1:])

    def values(self) -> dict[str, np.ndarray]:
        """The fields as stored, without padding."""
        return {
            name: unpadded(self.state.field[name], self.equation.space(name).fourier) for name in self.equation.fields
        }

    def program(self) -> Program:
        """What the compiled steps do."""
        return read_program(self.compiled)


def control() -> FixedStep:
    """Steps of one size."""
    return FixedStep(DT)


def small_state(equation: Any, stepper: Any) -> Any:
    """A state whose arrays are small waves in their indices: made in place, without a transform.

    Where all modes add up the field is at most of order one, so that no step is too long at any size.
    """

    def fill(leaf: Any) -> Any:
        sharding = getattr(leaf, "sharding", None)
        if sharding is None:
            return np.zeros(leaf.shape, leaf.dtype)
        wave = lambda: 1 / leaf.size * jnp.cos(sum(a * 1.7 for a in _indices(leaf.shape)))  # noqa: E731
        return jax.jit(lambda: wave().astype(leaf.dtype), out_shardings=sharding)()

    return jax.tree.map(fill, place(state_shapes(equation, stepper, with_key=False), equation.grid))


def _indices(shape: tuple[int, ...]) -> list[Any]:
    return [jax.lax.broadcasted_iota(np.float32, shape, axis) for axis in range(len(shape))]


def unpadded(array: Any, grid: sw.Grid) -> np.ndarray:
    """Modes on the host, without padding."""
    shape = Storage("modes", Fourier(grid.real)).logical_shape(array.shape, grid)
    return sw.gather(array)[tuple(slice(n) for n in shape)]


def difference(found: np.ndarray, expected: np.ndarray) -> float:
    """Largest difference, relative to the largest value."""
    return float(np.max(np.abs(found - expected)) / np.max(np.abs(expected)))


def target_of(name: str | None, devices: int) -> Target | None:
    """The shipped target that is named, or nearest to the devices here."""
    kind = jax.devices()[0].device_kind.lower()
    found = name or next((target for word, target in TARGETS.items() if word in kind), None)
    return None if found is None else Target.of(found, devices)


def planned(case: Case, n: int, precision: str, target: Target) -> Program:
    """The same steps compiled for a target's description, as `slabwave check --target` does."""
    mesh = target_mesh(target.xla, {"slab": target.devices}, target.hosts)
    grid = case.grid(n, precision, mesh)
    equation, stepper = case.equation(grid), case.stepper()
    shapes = state_shapes(equation, stepper, with_key=False)
    return compile_run(equation, stepper, shapes, control(), (), None, target.xla)[0].program


def meshes() -> dict[str, Any]:
    """All devices, and one of them where there are more."""
    devices = jax.devices()
    found = {f"{len(devices)} devices" if len(devices) > 1 else "1 device": sw.device_mesh()}
    if len(devices) > 1:
        found["1 device"] = sw.device_mesh(devices=devices[:1])
    return found
