"""The state that steppers move, and what every stepper offers."""

from __future__ import annotations

import difflib
import inspect
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike
from jaxtyping import Array

from solver.discovery import ClassName, modules
from solver.equations.base import Equation
from solver.equations.budget import BUDGET, with_budget
from solver.equations.system import PeriodicSystem, compiled
from solver.grid import Box, Storage
from solver.operators import Fields, LinearOperator
from solver.steppers.storage import HOST, Declared, declare, split_arrays


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class State:
    """Everything a run needs to go on: a pytree, and exactly what a checkpoint holds.

    Args:
        field: what the equation evolves, by name: coefficients, or values at the points for a `SplitEquation`.
        history: what the stepper carries from step to step.
        conserved: the conserved quantities at the start, against which drift is measured.
        energies: the equation's energies at the start.
        budget: integrals since the start of what changes them, by column of the series.
        key: random key of the run.
        forcing: state of each forcing, by field name.
        statistics: what outputs sum up over time, by the name of the output.
        t: time; `t = t_reference + (step - step_reference) · dt` where the step is fixed.
        dt: size of the last full step; 0 at the start of a run.
        taken: size of the last step, which may have been shortened to meet a time; 0 where there was none.
        step: number of steps done.
        t_reference, step_reference: where the counting of times began.
        control: what the step control remembers, by the name of its class: dicts of numbers.
        rejected: number of steps that the step control made the run take again.
        box: the grid that the fields belong to, without its devices; static, so part of the pytree's structure. None
            for a state made by hand, whose grid nobody checks.
        storage: which of its arrays are modes and which are points, by path (`field/velocity`); all others are numbers
            on the host. Static. None for a state made by hand, which no checkpoint can be made of.
    """

    field: Any
    history: Any = ()
    conserved: dict[str, Any] = field(default_factory=dict)
    energies: dict[str, Any] = field(default_factory=dict)
    budget: dict[str, Any] = field(default_factory=dict)
    key: Any = ()
    forcing: Any = ()
    statistics: dict[str, Any] = field(default_factory=dict)
    t: Any = 0.0
    dt: Any = 0.0
    taken: Any = 0.0
    step: Any = 0
    t_reference: Any = 0.0
    step_reference: Any = 0
    control: dict[str, Any] = field(default_factory=dict)
    rejected: Any = 0
    box: Box | None = field(default=None, metadata={"static": True})
    storage: Declared | None = field(default=None, metadata={"static": True})

    def replace(self, **changes: Any) -> State:
        """A copy with some entries changed."""
        return replace(self, **changes)

    def storage_by_path(self) -> dict[str, Storage]:
        """Which of its arrays are modes and which are points, by path; all others are numbers on the host.

        Raises:
            ValueError: a state made by hand, which does not say it.
        """
        if self.storage is None:
            raise ValueError(
                "a state made by hand does not say which of its arrays are modes and which are points: one from "
                "initial_state, evolve, integrate or load_checkpoint is needed"
            )
        return dict(self.storage)

    def with_statistics(self, sums: Mapping[str, Any], declared: Mapping[str, Mapping[str, Storage]]) -> State:
        """A copy with these sums of outputs, by the name of the output.

        Args:
            sums: arrays and numbers.
            declared: what `storage.declare` found of each output's sums.
        """
        if self.storage is None:
            return replace(self, statistics=dict(sums))
        others = {name: how for name, how in self.storage if not name.startswith("statistics/")}
        storage = split_arrays(others, *(declared[name] for name in sums))
        return replace(self, statistics=dict(sums), storage=storage)


class Prepared(eqx.Module):
    """The coefficients that `Stepper.coefficients` has made for one size of step."""

    dt: ArrayLike
    values: Any

    def of(self, dt: ArrayLike) -> Any:
        """The prepared values, for a step of size dt.

        Raises:
            ValueError: both sizes are known, not traced, and differ.
        """
        if not any(isinstance(size, jax.core.Tracer) for size in (dt, self.dt)) and np.any(
            np.asarray(dt, self.dt.dtype) != np.asarray(self.dt)
        ):
            raise ValueError(f"coefficients of dt = {self.dt} for a step of dt = {dt}: the same dt is needed in both")
        return self.values


class Stepper(eqx.Module):
    """One method: `state → state`, in three parts so that what depends on dt alone is computed once.

    A method gives `coefficients` and `advance`, and `start` if it carries something from step to step.

    Class attributes:
        name: in run files.
        order: of the error in dt.
        takes: the kind of equation that it can step.
        stable_for: linear parts without growth for which it is stable at any dt: `real`, `complex` (or imaginary).
        exact_linear: whether a step of any size is exact where N = 0.
        stages_held: fields that a step holds at once besides the state, for estimates of memory.
        error_order: order of the embedded method that estimates the error of a step; None if there is none.
    """

    name: ClassVar[Any] = ClassName()
    order: ClassVar[int]
    takes: ClassVar[Any] = Equation
    stable_for: ClassVar[frozenset[str]] = frozenset({"real", "complex"})
    exact_linear: ClassVar[bool] = False
    stages_held: ClassVar[int]
    error_order: ClassVar[int | None] = None

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if {"step", "step_with_error"} & vars(cls).keys():
            raise TypeError(
                f"stepper {cls.__name__} defines step or step_with_error: advance or advance_with_error is needed, "
                "since step also keeps fields real and free of divergence"
            )

    def check(self, equation: PeriodicSystem) -> None:
        """Refuse an equation that this method cannot step; touches no device.

        Raises:
            TypeError: an equation of another form, or a linear part for which the method is not stable; the message
                names the steppers that fit.
        """
        if not isinstance(equation, self.takes):
            form = next(cls for cls in type(equation).__mro__ if PeriodicSystem in cls.__bases__)
            raise TypeError(
                f"stepper {self.name} needs an equation of the form {self.takes.__name__}; "
                f"{type(equation).__name__} is a {form.__name__}: {', '.join(fitting(equation))} "
                "can step it"
            )
        spectrum = spectrum_of(equation)
        if spectrum is not None and spectrum not in self.stable_for:
            raise TypeError(
                f"stepper {self.name} is stable for linear parts that are {' or '.join(sorted(self.stable_for))}; that "
                f"of {equation.name} is {spectrum}: {', '.join(fitting(equation))} can step it"
            )

    def check_error_estimate(self) -> None:
        """Refuse step control by tolerance where the method cannot estimate its error.

        Raises:
            TypeError: the message names the steppers that can.
        """
        if self.error_order is None:
            modules("solver.steppers")
            fit = sorted({cls.name for cls in _concrete(Stepper) if cls.error_order is not None})
            raise TypeError(f"stepper {self.name} has no error estimate for a tolerance: {', '.join(fit)} have one")

    def start(self, equation: Any, fields: Fields) -> Any:
        """History at the start of a run."""
        return ()

    def history_storage(self, fields: Mapping[str, Storage]) -> Any:
        """How the arrays that `start` returns are stored: one `Storage`, or a tree of them of the same form.

        Args:
            fields: how each entry of the fields that `start` is given is stored.

        Returns:
            None in place of what is a number; by default nothing else is expected.
        """
        return None

    def counted_from(self, history: Any, origin: Fields) -> Any:
        """The same history with `origin` subtracted from its fields; a method whose history holds fields defines it.

        Sums in single precision are counted anew at each step, so that they lose nothing; the entries that `origin`
        names have no linear part and do not enter N.

        Raises:
            TypeError: a history that holds such an entry, of a stepper that does not say what it is.
        """
        named = {getattr(key, "key", None) for path, _ in jax.tree_util.tree_leaves_with_path(history) for key in path}
        if named & set(origin):
            raise TypeError(
                f"stepper {self.name} keeps fields from step to step: in 32 bits it needs a method counted_from"
            )
        return history

    @abstractmethod
    def coefficients(self, equation: Any, dt: ArrayLike) -> Any:
        """Arrays that depend on dt alone; computed once where the step is fixed, else where its size changes."""

    @abstractmethod
    def advance(
        self, equation: Any, fields: Fields, history: Any, t: ArrayLike, dt: ArrayLike, coefficients: Any
    ) -> Any:
        """The method itself: fields and history one step of size dt later. Called by `step` alone."""

    def advance_with_error(
        self, equation: Any, fields: Fields, history: Any, t: ArrayLike, dt: ArrayLike, coefficients: Any
    ) -> Any:
        """As `advance`, and the difference to the embedded method of order `error_order`, field by field."""
        raise NotImplementedError(f"{self.name} has no embedded method")

    def step(self, equation: Any, fields: Fields, history: Any, t: ArrayLike, dt: ArrayLike, coefficients: Any) -> Any:
        """Fields and history one step of size dt later, the fields as the equation declares them.

        Every step of every method ends here, so that no state leaves its manifold (`equations.manifold`).
        """
        equation = equation.starting(fields, t)
        fields, history = self.advance(equation, fields, history, t, dt, coefficients)
        return equation.to_manifold(fields), history

    def step_with_error(
        self, equation: Any, fields: Fields, history: Any, t: ArrayLike, dt: ArrayLike, coefficients: Any
    ) -> Any:
        """As `step`, with the error estimate of `advance_with_error` as a third value."""
        equation = equation.starting(fields, t)
        fields, history, error = self.advance_with_error(equation, fields, history, t, dt, coefficients)
        return equation.to_manifold(fields), history, error


def fitting(equation: PeriodicSystem) -> list[str]:
    """Names of the steppers that can step an equation, your own classes included."""
    spectrum = spectrum_of(equation)
    return sorted({cls.name for cls in fitting_classes(equation) if spectrum is None or spectrum in cls.stable_for})


def fitting_classes(equation: PeriodicSystem) -> list[type[Stepper]]:
    """Steppers that take an equation of this form, stable or not."""
    modules("solver.steppers")  # imports them all, so that each is a known subclass
    return [cls for cls in _concrete(Stepper) if isinstance(equation, cls.takes)]


def spectrum_of(equation: PeriodicSystem) -> str | None:
    """Where the eigenvalues of the linear part can lie; None for an equation that has none, or a wrong one."""
    if not isinstance(equation, Equation):
        return None
    linear = jax.eval_shape(lambda: equation.linear())
    return linear.spectrum if isinstance(linear, LinearOperator) else None  # `Equation.check` says what is wrong


def _concrete(cls: Any) -> list[Any]:
    below = [stepper for sub in cls.__subclasses__() for stepper in _concrete(sub)]
    return below if "name" not in cls.__dict__ or inspect.isabstract(cls) else [cls, *below]


# ---- sums of fields ---------------------------------------------------------------------------------------------


def axpy(a: ArrayLike, x: Fields, y: Fields) -> Fields:
    """y + a x, field by field."""
    return {name: y[name] + a * x[name] for name in y}


def fractions(*words: str) -> tuple[Fraction, ...]:
    """Numbers of a tableau as they are printed: "1/3"."""
    return tuple(Fraction(word) for word in words)


def scaled(dt: ArrayLike, weight: Fraction) -> ArrayLike:
    """dt · weight, without rounding the weight first."""
    times = dt if weight.numerator == 1 else dt * weight.numerator
    return times if weight.denominator == 1 else times / weight.denominator


# ---- the first state --------------------------------------------------------------------------------------------


def initial_state(
    equation: PeriodicSystem,
    stepper: Stepper,
    u: Array | Mapping[str, Array],
    *,
    t: float = 0.0,
    seed: int | None = None,
) -> State:
    """State at the start of a run, from values at the points.

    Args:
        equation, stepper: what will evolve it.
        u: values `(component, x, y, z)` by field name; the bare array where the equation has one field. One component
            may come without its axis.
        t: time of the fields.
        seed: of the run's random key; none is kept if None.

    Raises:
        TypeError: an equation that the stepper cannot step.
        ValueError: fields of other names or shapes, or complex ones where the equation is real; a linear part or a
            right-hand side that does not fit the fields; points that move at random, without a seed.
    """
    if equation.grid.dealias == "phase-shift-random" and seed is None:
        raise ValueError("dealias 'phase-shift-random' moves the points at random: initial_state needs a seed")
    values = _by_name(u, equation)
    key = () if seed is None else jax.random.key(seed)
    made = _start(equation, stepper, values)
    forcing = _start_forcing(equation, key, made["field"])
    storage = _declared(equation, stepper, made["history"], forcing)
    begin = {"t": np.float64(t), "t_reference": np.float64(t), **_counters()}
    return State(**made, key=key, forcing=forcing, box=equation.grid.box, storage=storage, **begin)


def _make_start(equation: Any, stepper: Any, values: Fields) -> dict[str, Any]:
    """The entries of a state that depend on its fields. Equation and stepper are checked while this is traced: once."""
    stepper.check(equation)
    equation.check()
    columns, shapes = equation.budget_columns(), equation.physical_shapes()
    fields = equation.from_physical({name: v.reshape(shapes[name]) for name, v in values.items()})
    budget = {name: jnp.asarray(np.float64(0)) for name in columns}
    return {
        "field": fields,
        "history": stepper.start(equation, with_budget(fields, budget)),
        "conserved": equation.conserved(fields),
        "energies": equation.energies(fields) if budget else {},
        "budget": budget,
    }


_start = compiled(_make_start)
_start_forcing = compiled(lambda equation, key, fields: equation.start_forcing(key, fields))


def _declared(equation: PeriodicSystem, stepper: Stepper, history: Any, forcing: Mapping[str, Any]) -> Declared:
    """How the arrays of a state are stored, as equation, stepper and forcings declare it."""
    grid, fields = equation.grid, equation.field_storage()
    entries = {**fields, BUDGET: HOST} if equation.budget_columns() else fields
    parts = [{f"field/{name}": how for name, how in fields.items()}]
    parts.append(
        declare(
            f"stepper {stepper.name}", "history_storage", "history", history, stepper.history_storage(entries), grid
        )
    )
    for name, driving in equation.forcings().items():
        declared = driving.state_storage(fields[name])
        parts.append(
            declare(f"forcing {driving.name}", "state_storage", f"forcing/{name}", forcing[name], declared, grid)
        )
    return split_arrays(*parts)


def state_shapes(equation: PeriodicSystem, stepper: Stepper, *, with_key: bool) -> State:
    """Shapes and dtypes of a state of this equation and stepper; computes nothing and touches no device."""
    seed = 0 if with_key else None
    return jax.eval_shape(lambda u: initial_state(equation, stepper, u, seed=seed), equation.values_at_points())


def _counters() -> dict[str, Any]:
    counts = {name: np.int64(0) for name in ("step", "step_reference", "rejected")}
    return {**{name: np.float64(0) for name in ("dt", "taken")}, **counts}


def _by_name(u: Any, equation: PeriodicSystem) -> Fields:
    """Values by field name, in the equation's order, each checked."""
    names = list(equation.fields)
    if not isinstance(u, Mapping):
        if len(names) > 1:
            raise ValueError(f"one array for the fields of {equation.name}: a dict of {', '.join(names)} is needed")
        u = {names[0]: u}
    for name in u:
        if name not in names:
            close = difflib.get_close_matches(str(name), names, n=1)
            raise ValueError(f"initial field {name!r}: {equation.name} has {', '.join(close or names)}")
    missing = [name for name in names if name not in u]
    if missing:
        raise ValueError(f"initial fields of {equation.name}: {', '.join(missing)} missing")
    for name, needed in equation.physical_shapes().items():
        _check_field(name, u[name], needed, equation)
    return {name: u[name] for name in names}


def _check_field(name: str, u: Any, needed: tuple[int, ...], equation: PeriodicSystem) -> None:
    if not hasattr(u, "shape"):
        raise ValueError(f"initial field {name} is of type {type(u).__name__}; an array {list(needed)} is needed")
    shape = tuple(u.shape)
    if shape != needed and (1, *shape) != needed:
        raise ValueError(
            f"initial field {name} of shape {list(shape)}; {equation.name} on this grid needs {list(needed)}"
        )
    if equation.fields[name].real and jnp.iscomplexobj(u):
        raise ValueError(f"initial field {name} of dtype {u.dtype}; {equation.name} needs a real one")
