"""Step controls, which choose the size of each step: `FixedStep`, `KeepCFL`, `MeetTolerance`, or a class of your own.

A control is an immutable pytree. Its memory from step to step is a dict of numbers, which the run's state carries
and checkpoints hold. The loop (`loop.steps`) evaluates the rate or the error if the control needs it, takes a size from
the control, shortens the step where a time is to be met, takes it, and lets the control judge it.

`step=`, `cfl=` and `tolerance=` are short words for the three (`step_control`).
"""

from __future__ import annotations

import dataclasses
import math
from abc import abstractmethod
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike
from jaxtyping import Array

from solver.dynamics.any_equation import AnyEquation
from solver.dynamics.checks import nothing_unless, require
from solver.dynamics.compiled import compiled
from solver.dynamics.equation import Equation
from solver.dynamics.forcings import kicking
from solver.loop.schedule import TOLERANCE
from solver.operators import Fields, root
from solver.static import is_array
from solver.steppers.state import State
from solver.steppers.stepper import Stepper

GROWTH = 1.5  # the most by which CFL control lengthens a step against the one before
SAFETY = 0.9  # of the step that would just meet the tolerance
LEAST_OF_ROUNDING = 0.1  # of what exchanges round to: with a smaller tolerance steps shrink without end
LEAST, MOST = 0.2, 2.0  # factors by which one step may differ from the one before under a tolerance

Numbers = dict[str, Any]  # what a control remembers from step to step
CORRECTIONS = 4
MOST_STEPS = 1e15  # more cannot be counted in double precision


def _double(value: Any) -> Any:
    """Python's numbers as NumPy's, so that one program serves both; others as they are."""
    is_number = isinstance(value, int | float | np.generic) and not isinstance(value, bool | np.bool_)
    return np.float64(value) if is_number else value


def _limit(max_step: Any) -> Any:
    """The longest step; infinite if it is not given.

    Raises:
        ValueError: one that is not positive.
    """
    max_step = _double(math.inf if max_step is None else max_step)
    if is_known(max_step) and (np.asarray(max_step).dtype == bool or not max_step > 0):
        raise ValueError(f"max_step={max_step}: a positive number is needed, beside cfl or tolerance")
    return nothing_unless(max_step, above=0) if isinstance(max_step, jax.core.Tracer) else max_step


def need_positive(name: str, value: Any) -> None:
    """Refuse a value that is not one positive number; a value being traced passes.

    Raises:
        TypeError, ValueError: the value is not one positive number. The message names the parameter.
    """
    if not (is_array(value) or isinstance(value, int)):
        raise TypeError(f"{name} is of type {type(value).__name__}: a positive number is needed")
    if jnp.ndim(value) != 0:
        raise ValueError(f"{name} of shape {list(jnp.shape(value))}: one number is needed; vmap takes several")
    require(name, value, "a positive number", above=0)


class Attempt(eqx.Module):
    """A step that was taken and is to be judged; numbers on the device.

    Args:
        proposed: the size that the control proposed [time]; may be infinite.
        dt: the size that was taken: shorter where a time was to be met.
        shortened: True if the step ends at such a time.
        error: relative error of the step (`loop.steps.relative_error`); None for a control without `needs_error`.
        error_order: order q of the embedded method behind it, whose error falls as dt^(q+1).
    """

    proposed: Array
    dt: Array
    shortened: Array
    error: Array | None = None
    error_order: int | None = eqx.field(default=None, static=True)

    @property
    def full(self) -> Array:
        """The size that was proposed, or that was taken where any would do: a field at rest allows any step."""
        return jnp.where(jnp.isfinite(self.proposed), self.proposed, self.dt)


class StepControl(eqx.Module):
    """Shared by all controls. Subclass it for one of your own; its parameters are annotated attributes.

    Class attributes:
        needs_rate: True if `propose` needs the equation's rate at the start of the step, which costs one evaluation.
        needs_error: True if `judge` needs an error; then the stepper must have an embedded method.
    """

    needs_rate: ClassVar[bool] = False
    needs_error: ClassVar[bool] = False

    def check(self, stepper: Stepper) -> None:
        """Refuse a stepper that cannot give what this control needs.

        Raises:
            TypeError: the message names the steppers that can.
        """
        if self.needs_error:
            stepper.check_error_estimate()

    def check_rate(self, equation: AnyEquation) -> None:
        """Refuse an equation whose steps this control cannot choose: without the rate that it needs, or under a random
        forcing where it needs an error. Embedded methods do not see noise that is white in time. A step that is refused
        for its random numbers, and taken again with them, makes large numbers rarer than they should be.

        Raises:
            ValueError: the message names the controls that can choose its steps.
        """
        for name, forcing in equation.forcings().items() if self.needs_error else ():
            if forcing.random:
                why = (
                    "which is white in time: the error estimate of a step does not see it"
                    if forcing.kicks
                    else "which is random: steps that are taken again would favour small random numbers"
                )
                raise ValueError(
                    f"a tolerance with forcing {forcing.name} of {name}, {why}; a fixed step or a CFL number is needed"
                )
        if self.needs_rate and equation.why_no_rate:
            raise ValueError(f"{equation.name}: {equation.why_no_rate}; a fixed step or a tolerance is needed")

    def check_step(self, stepper: Stepper, equation: AnyEquation) -> None:
        """Refuse steps of one size that are too long for the decay in N, or for a forcing.

        Raises:
            ValueError: the message names the longest step that is possible.
        """
        if self.size is not None:
            stepper.check_step(equation, self.size)
        else:
            stepper.check_longest_step(equation, getattr(self, "max_step", math.inf))

    @property
    def size(self) -> Any:
        """The size of every step where all are equal, and None where each is chosen."""
        return None

    @property
    def leaves_out_means(self) -> bool:
        """True if the error that `judge` sees is relative to the fields without their means."""
        return False

    def start(self, equation: AnyEquation, state: State) -> Numbers:
        """Memory of the control before the first step: numbers by name, also in nested dicts."""
        return {}

    @abstractmethod
    def propose(self, memory: Numbers, rate: Array | None) -> Array:
        """Size of the next step [time]; infinite where any would do.

        Args:
            memory: memory returned by `start`, or by the last `judge`.
            rate: the equation's rate [1/time] where `needs_rate`, else None.
        """

    def judge(self, memory: Numbers, attempt: Attempt) -> tuple[Any, Numbers]:
        """Accept or refuse a step (True, or a flag on the device), and return the new memory. Accepts by default."""
        return True, memory

    def time_keys(self) -> dict[str, Any]:
        """Its keys in the table `time` of a run file; a control of your own is named there by its class."""
        parameters = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        return {"control": type(self).__name__, **parameters}

    def __str__(self) -> str:
        """The settings of the control as in run files, such as `cfl = 0.5`."""
        number = lambda value: f"{value:g}" if isinstance(value, float) else str(value)  # noqa: E731
        return ", ".join(f"{key} = {number(value)}" for key, value in self.time_keys().items())


class FixedStep(StepControl):
    """All steps of one size; the last before a time that is to be met is shortened.

    Args:
        dt: size of a step [time].

    Raises:
        ValueError: a size that is not positive and finite.
    """

    dt: ArrayLike = eqx.field(converter=_double)

    def __check_init__(self) -> None:
        need_positive("step", self.dt)
        object.__setattr__(self, "dt", nothing_unless(self.dt, above=0))

    @property
    def size(self) -> Any:
        return self.dt

    def propose(self, memory: Numbers, rate: Array | None) -> Array:
        return jnp.asarray(self.dt)

    def time_keys(self) -> dict[str, Any]:
        return {"step": self.dt}


class KeepCFL(StepControl):
    """Steps of dt = number/rate, each at most 1.5 times the one before and at most `max_step`.

    The first step of a run is short against the time in which the fields change (`first_step`), so that a flow
    near rest is not crossed in one step.

    Args:
        number: CFL number dt · `equation.rate`.
        max_step: the longest step [time].

    Raises:
        ValueError: one that is not positive.
    """

    number: ArrayLike = eqx.field(converter=_double)
    max_step: ArrayLike = eqx.field(default=math.inf, converter=_limit)

    needs_rate: ClassVar[bool] = True

    def __check_init__(self) -> None:
        need_positive("cfl", self.number)
        object.__setattr__(self, "number", nothing_unless(self.number, above=0))

    def start(self, equation: AnyEquation, state: State) -> Numbers:
        first = first_step(equation, state, self.number) if isinstance(equation, Equation) else jnp.inf
        return {"longest": jnp.where(state.dt > 0, GROWTH * state.dt, first)}

    def propose(self, memory: Numbers, rate: Array | None) -> Array:
        assert rate is not None
        longest = memory["longest"]
        rests = rate == 0  # where the derivative of number/rate would be none
        by_rate = jnp.asarray(self.number, longest.dtype) / jnp.where(rests, 1, rate).astype(longest.dtype)
        dt = jnp.minimum(jnp.where(rests, jnp.inf, by_rate), self.max_step)
        return jnp.minimum(dt, longest)

    def judge(self, memory: Numbers, attempt: Attempt) -> tuple[Any, Numbers]:
        return True, {"longest": GROWTH * attempt.full}

    def time_keys(self) -> dict[str, Any]:
        return {"cfl": self.number, **_limit_key(self.max_step)}


class MeetTolerance(StepControl):
    """Steps whose relative error, by an embedded method of order q, is at most the tolerance.

    A step with a larger error is taken again. The next is 0.9 (tolerance/error)^(1/(q+1)) times as long, at least 0.2
    and at most 2; after a step that was shortened to meet a time, at least as long as that one should have been.

    Args:
        tolerance: the largest relative error of a step.
        max_step: the longest step [time].
        of_fluctuations: True if errors are relative to the fields without their means, where a large mean says nothing.

    Raises:
        ValueError: one that is not positive.

    Source: Hairer, Nørsett & Wanner, Solving Ordinary Differential Equations I (1993), II.4.
    """

    tolerance: ArrayLike = eqx.field(converter=_double)
    max_step: ArrayLike = eqx.field(default=math.inf, converter=_limit)
    of_fluctuations: bool = eqx.field(default=False, static=True)

    needs_error: ClassVar[bool] = True

    def __check_init__(self) -> None:
        need_positive("tolerance", self.tolerance)
        object.__setattr__(self, "tolerance", nothing_unless(self.tolerance, above=0))

    def check_rate(self, equation: AnyEquation) -> None:
        """As every control, and refuse exchanges that round to more than the tolerance, and means between walls."""
        super().check_rate(equation)
        if self.of_fluctuations and equation.grid.walls:
            raise ValueError("of_fluctuations between walls: a periodic box is needed, where a mean is one mode")
        if equation.exchange_rounding is None or isinstance(self.tolerance, jax.core.Tracer):
            return
        asked, least = float(self.tolerance), LEAST_OF_ROUNDING * equation.method.sent_epsilon
        if asked < least:
            raise ValueError(
                f"tolerance {asked:g} with exchanges in {equation.method.precision}, whose rounding the error estimate "
                f"sees: {least:.1g} or more is needed, or exchanges in the grid's precision"
            )

    @property
    def leaves_out_means(self) -> bool:
        return self.of_fluctuations

    def start(self, equation: AnyEquation, state: State) -> Numbers:
        return {"next": first_step(equation, state, 1.0)}

    def propose(self, memory: Numbers, rate: Array | None) -> Array:
        return jnp.minimum(memory["next"], self.max_step)

    def judge(self, memory: Numbers, attempt: Attempt) -> tuple[Any, Numbers]:
        assert attempt.error is not None
        assert attempt.error_order is not None
        dt, ratio = attempt.dt, attempt.error.astype(attempt.dt.dtype) / self.tolerance
        accepted = ratio <= 1  # not a number is not accepted
        factor = jnp.where(ratio > 0, ratio, 1e-30) ** (-1 / (attempt.error_order + 1))
        following = dt * jnp.where(jnp.isfinite(ratio), jnp.clip(SAFETY * factor, LEAST, MOST), LEAST)
        # a step shortened to meet a time says nothing against the longer one, which is refused if it is too long
        as_before = jnp.maximum(following, attempt.full)
        return accepted, {"next": jnp.where(accepted & attempt.shortened, as_before, following)}

    def time_keys(self) -> dict[str, Any]:
        of_fluctuations = {"of_fluctuations": True} if self.of_fluctuations else {}
        return {"tolerance": self.tolerance, **of_fluctuations, **_limit_key(self.max_step)}


def _limit_key(max_step: Any) -> dict[str, Any]:
    return {"max_step": max_step} if max_step != math.inf else {}


def is_known(value: Any) -> bool:
    """True if a value is known: given, and neither traced nor a shape."""
    return not isinstance(value, jax.core.Tracer | jax.ShapeDtypeStruct | str | None)


def first_step(equation: AnyEquation, state: State, cfl: Any) -> Array:
    """A hundredth of the time ‖u‖/‖u_t‖ in which the fields change; from rest, the time in which the acceleration
    alone would reach a tenth of the CFL number; infinite where nothing changes. Where forcings kick, at most the time
    in which the kicks alone would reach that.

    Source: Hairer, Nørsett & Wanner, Solving Ordinary Differential Equations I (1993), II.4, for the hundredth.
    """
    return _first_step(equation, state.field, state.forcing, state.key, state.step, state.t, cfl)


@compiled
def _first_step(equation: Any, fields: Fields, forcing: Any, key: Any, step: Any, t: Any, cfl: Any) -> Array:
    driven, equation = equation.at_step(forcing, key, step), equation.at_time(t)
    nonlinear = driven.nonlinear(fields, jnp.asarray(t, equation.grid.dtype))
    fields = equation.fields_alone(fields)
    moved = equation.linear().apply(fields)
    change = {name: moved[name] + nonlinear[name] for name in fields}
    size = sum(equation.space(name).whole_square(v) for name, v in fields.items())
    speed = sum(equation.space(name).mean_square(v) for name, v in change.items())
    moves = speed > 0
    # roots of what is positive: the derivative of a root at 0 is none
    usual = 0.01 * root(size) / root(jnp.where(moves, speed, 1))
    accelerated = equation.rate(change)
    from_rest = jnp.sqrt(0.1 * cfl / jnp.where(accelerated > 0, accelerated, 1))
    from_rest = jnp.where(accelerated > 0, from_rest, jnp.inf)
    first = jnp.where(size > 0, jnp.where(moves, usual, jnp.inf), from_rest)
    if not kicking(equation):
        return first
    return jnp.minimum(first, _kicked_from_rest(equation, driven, fields, t, 0.1 * cfl))


def _kicked_from_rest(equation: Any, driven: Any, fields: Fields, t: Any, cfl: Any) -> Array:
    """The time in which the kicks alone reach a CFL number.

    They grow as the root of the time, and later more slowly, so that a few corrections of a guess find it.
    """
    rest = {name: jnp.zeros_like(field) for name, field in fields.items()}
    dt = jnp.asarray(1, equation.grid.dtype)
    for _ in range(CORRECTIONS):
        number = dt * equation.rate(driven.kicked(rest, driven.prepare_kicks(dt), t))
        dt = dt * jnp.where(number > 0, (cfl / jnp.where(number > 0, number, 1)) ** (2 / 3), 1)
    return jnp.where(number > 0, dt, jnp.inf)


def step_control(
    control: Any = None,
    *,
    step: Any = None,
    cfl: Any = None,
    tolerance: Any = None,
    max_step: Any = None,
) -> StepControl:
    """The given control, or the control that the short words describe.

    Raises:
        ValueError: not exactly one of control, step, cfl and tolerance; one that is not positive; or `max_step` without
            cfl or tolerance.
        TypeError: `control` is not a `StepControl`.
    """
    short = {"step": step, "cfl": cfl, "tolerance": tolerance}
    given = [name for name, value in short.items() if value is not None]
    if control is not None:
        if not isinstance(control, StepControl):
            raise TypeError(f"control={control!r}: a StepControl is needed, such as KeepCFL(0.5)")
        if given or max_step is not None:
            beside = given[0] if given else "max_step"
            raise ValueError(f"control={control} beside {beside}={short.get(beside, max_step)}: one of them is needed")
        return control
    if len(given) != 1:
        listed = ", ".join(f"{name}={value}" for name, value in short.items())
        raise ValueError(f"{listed}: one of them is needed, a positive number")
    if step is not None:
        if max_step is not None:
            raise ValueError(f"max_step={max_step}: a positive number is needed, beside cfl or tolerance")
        return FixedStep(step)
    return KeepCFL(cfl, max_step) if cfl is not None else MeetTolerance(tolerance, max_step)


def check_step_control(
    equation: AnyEquation, stepper: Stepper, control: StepControl, end: Any, begun: Any = None
) -> None:
    """Refuse an equation, a stepper, a step control and an end that do not go together; touches no device.

    Args:
        begun: time of the state that is stepped, if there is one.

    Raises:
        TypeError: an equation that the stepper cannot step, or a control that it cannot serve.
        ValueError: a control or an end that makes no sense for them.
    """
    stepper.check(equation)
    control.check(stepper)
    control.check_rate(equation)
    control.check_step(stepper, equation)
    check_end(end, control, begun)


def check_end(end: Any, control: StepControl, begun: Any = None) -> None:
    """Refuse a time to stop at that is not finite, that no number of such steps can reach, or that is before the time
    at which the steps begin, if it is given; traced ones pass.

    Raises:
        ValueError: the end is not finite, too many steps away, or before the time at which the steps begin.
    """
    if isinstance(end, str):
        raise TypeError(f"end={end!r}: a finite time is needed")
    if not is_known(end):
        return
    if isinstance(end, bool) or not math.isfinite(end):
        raise ValueError(f"end={end}: a finite time is needed")
    if is_known(control.size) and abs(end) > MOST_STEPS * control.size:
        raise ValueError(f"step={control.size}: too small to reach end={end} in {MOST_STEPS:.0e} steps")
    if is_known(begun) and begun - end > TOLERANCE * abs(begun):
        raise ValueError(f"end={end}: the state stands at t = {float(begun):.6g}; this time or a later one is needed")
