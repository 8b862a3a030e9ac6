"""The state that steppers move, and what every stepper offers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike
from jaxtyping import Array

from solver.equations.base import PeriodicSystem


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class State:
    """Everything a run needs to go on: a pytree, and exactly what a checkpoint holds.

    Args:
        field: what the equation evolves: coefficients, or values at the points for a `SplitEquation`.
        history: what the stepper carries from step to step.
        conserved: the conserved quantities at the start, against which drift is measured.
        key: random key of the run.
        forcing: state of a forcing.
        t: time; `t = t_reference + (step - step_reference) · dt` where the step is fixed.
        dt: size of the last full step; 0 at the start of a run.
        step: number of steps done.
        t_reference, step_reference: where the counting of times began.
    """

    field: Any
    history: Any = ()
    conserved: dict[str, Any] = field(default_factory=dict)
    key: Any = ()
    forcing: Any = ()
    t: Any = 0.0
    dt: Any = 0.0
    step: Any = 0
    t_reference: Any = 0.0
    step_reference: Any = 0

    def replace(self, **changes: Any) -> State:
        """A copy with some entries changed."""
        return replace(self, **changes)


@dataclass(frozen=True)
class Stepper(ABC):
    """One method: `state → state`, in three parts so that what depends on dt alone is computed once.

    Class attributes:
        name: in run files.
        order: of the error in dt.
        takes: the kind of equation it can step.
        stages_held: fields that a step holds at once besides the state, for estimates of memory.
    """

    name: ClassVar[str]
    order: ClassVar[int]
    takes: ClassVar[type]
    stages_held: ClassVar[int]

    def check(self, equation: PeriodicSystem) -> None:
        """Raises TypeError where the equation has not the form that this method needs."""
        if not isinstance(equation, self.takes):
            raise TypeError(f"stepper {self.name} steps a {self.takes.__name__}; {type(equation).__name__} is none")

    def start(self, equation: Any, field: Array) -> Any:
        """History at the start of a run."""
        return ()

    @abstractmethod
    def coefficients(self, equation: Any, dt: ArrayLike) -> Any:
        """Arrays that depend on dt alone; computed once where the step is fixed, at every step where it is not."""

    @abstractmethod
    def step(self, equation: Any, field: Array, history: Any, t: ArrayLike, dt: ArrayLike, coefficients: Any) -> Any:
        """Field and history one step of size dt later."""


def initial_state(
    equation: PeriodicSystem, stepper: Stepper, u: Array, *, t: float = 0.0, seed: int | None = None
) -> State:
    """State at the start of a run, from values at the points.

    Args:
        equation, stepper: what will evolve it.
        u: values `(component, x, y, z)`; one component may come without its axis.
        t: time of the field.
        seed: of the run's random key; none is kept if None.

    Raises:
        ValueError: a field of another shape, or a complex one where the equation is real.
    """
    stepper.check(equation)
    _check_field(u, equation)

    def make(u: Array) -> tuple[Array, Any, dict[str, Array]]:
        field = equation.from_physical(u.reshape(equation.field_shape))
        return field, stepper.start(equation, field), equation.conserved(field)

    field_, history, conserved = jax.jit(make)(u)
    key = () if seed is None else jax.random.key(seed)
    return State(field_, history, conserved, key, t=np.float64(t), t_reference=np.float64(t), **_counters())


def _counters() -> dict[str, Any]:
    return {"dt": np.float64(0), "step": np.int64(0), "step_reference": np.int64(0)}


def _check_field(u: Array, equation: PeriodicSystem) -> None:
    shape, needed = tuple(u.shape), equation.field_shape
    if shape != needed and (1, *shape) != needed:
        raise ValueError(f"initial field of shape {list(shape)}; {equation.name} on this grid needs {list(needed)}")
    if equation.real and jnp.iscomplexobj(u):
        raise ValueError(f"initial field of dtype {u.dtype}; {equation.name} needs a real one")
