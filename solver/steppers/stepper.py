"""`Stepper`, the base of all time-stepping methods."""

from __future__ import annotations

import inspect
import math
from abc import abstractmethod
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any, ClassVar

import equinox as eqx
import jax
import numpy as np
from jax.typing import ArrayLike

from solver.discovery import ClassName, modules
from solver.dynamics.acting_bodies import fastest_decay
from solver.dynamics.any_equation import AnyEquation
from solver.dynamics.budget import added_up, split_by_device
from solver.dynamics.equation import Equation
from solver.dynamics.forcings import kicking
from solver.grid import Storage
from solver.operators import Fields, LinearOperator


class Prepared(eqx.Module):
    """The coefficients that `Stepper.coefficients` has made for one size of step."""

    dt: ArrayLike
    values: Any
    kicks: Any = None  # of `Driven.prepare_kicks`; None where they are made for each step

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
    """A method `state → state` in three parts, so that values that depend on dt alone are computed once.

    A method gives `coefficients` and `advance`, and `start` if it carries something from step to step.

    Class attributes:
        name: in run files.
        order: order of the error in dt.
        takes: the kind of equation that it can step.
        stable_for: linear parts without growth for which it is stable at any dt: `real`, `complex` (or imaginary).
        exact_linear: True if a step of any size is exact where N = 0.
        exact_companions: True if it integrates the linear parts of companions exactly, too.
        stages_held: fields that a step holds at once besides the state, for estimates of memory.
        largest_decay: the largest dt times a rate of decay in N for which it is stable; infinite if it is not known.
        error_order: order of the embedded method that estimates the error of a step; None without one.
        for_walls: False if it loses its order between walls.
    """

    name: ClassVar[Any] = ClassName()
    order: ClassVar[int]
    takes: ClassVar[Any] = Equation
    stable_for: ClassVar[frozenset[str]] = frozenset({"real", "complex"})
    exact_linear: ClassVar[bool] = False
    exact_companions: ClassVar[bool] = False
    stages_held: ClassVar[int]
    largest_decay: ClassVar[float] = math.inf
    error_order: ClassVar[int | None] = None
    for_walls: ClassVar[bool] = True

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if {"step", "step_with_error"} & vars(cls).keys():
            raise TypeError(
                f"stepper {cls.__name__} defines step or step_with_error: advance or advance_with_error is needed, "
                "since step also keeps fields real and free of divergence"
            )

    def check(self, equation: AnyEquation) -> None:
        """Refuse an equation that this method cannot step; touches no device.

        Raises:
            TypeError: an equation of another form, a linear part for which the method is not stable, or a forcing that
                is white in time under a method that is not exact in the linear part; the message names the steppers
                that fit.
        """
        if not isinstance(equation, self.takes):
            form = next(cls for cls in type(equation).__mro__ if AnyEquation in cls.__bases__)
            raise TypeError(
                f"stepper {self.name} needs an equation of the form {self.takes.__name__}; "
                f"{type(equation).__name__} is a {form.__name__}: {', '.join(fitting(equation))} "
                "can step it"
            )
        if reason := self.why_not(equation):
            raise TypeError(f"stepper {self.name} with {equation.name}: {reason}; or {', '.join(fitting(equation))}")
        spectrum = spectrum_of(equation)
        if spectrum is not None and spectrum not in self.stable_for:
            raise TypeError(
                f"stepper {self.name} is stable for linear parts that are {' or '.join(sorted(self.stable_for))}; that "
                f"of {equation.name} is {spectrum}: {', '.join(fitting(equation))} can step it"
            )
        if equation.grid.walls and not self.for_walls:
            raise TypeError(
                f"stepper {self.name} between walls: products have other values and slopes there than the modes, so "
                "that its error falls slowly with the step and may grow with the number of points: "
                f"{', '.join(fitting(equation))} can step it"
            )
        jumping = _jumping(equation)
        if jumping and self.keeps_steps():
            raise TypeError(
                f"stepper {self.name} continues from earlier steps, which say nothing of {jumping[0]} that a wall or "
                f"body has turned back: {', '.join(fitting(equation))} can step it"
            )
        for name, forcing in kicking(equation).items():
            if not self.exact_linear:
                raise TypeError(
                    f"stepper {self.name} with forcing {forcing.name} of {name}, which is white in time: one that is "
                    f"exact in the linear part is needed, {', '.join(fitting(equation))}"
                )
            dt = jax.ShapeDtypeStruct((), equation.grid.dtype)
            jax.eval_shape(lambda dt: equation.at_step().prepare_kicks(dt), dt)  # refuses what it cannot be made of

    def check_step(self, equation: AnyEquation, dt: Any) -> None:
        """Refuse a step of fixed size with which what decays in N would grow, or that is too long for a forcing.

        Touches no device.

        Raises:
            ValueError: the message names the longest step that is possible.
        """
        if isinstance(dt, jax.core.Tracer):
            return
        for name, forcing in equation.forcings().items():
            longest = forcing.longest_step()
            if not isinstance(longest, jax.core.Tracer) and float(dt) > np.min(longest):
                raise ValueError(
                    f"step {float(dt):g} with forcing {forcing.name} of {name}: {np.min(longest):g} or less is needed"
                )
        fastest = fastest_decay(equation)
        if fastest * float(dt) > self.largest_decay:
            raise ValueError(
                f"step {float(dt):g} with {self.name}: bodies draw the flow to theirs within {1 / fastest:.4g}, for "
                f"which {self.largest_decay / fastest:.4g} or less is needed; a larger eta makes it longer"
            )
        self.check_longest_step(equation, dt)

    def check_longest_step(self, equation: AnyEquation, dt: Any) -> None:
        """Refuse steps with which a companion that decays would grow. Touches no device.

        Args:
            equation: equation that is stepped.
            dt: longest step that may be taken; infinite where none is known.

        Raises:
            ValueError: the message names the longest step that is possible.
        """
        for name, companion in equation.companions_by_name().items():
            is_linear = companion.linear(equation) is not None
            if is_linear and self.exact_companions:
                continue
            rate = companion.fastest_decay(equation)
            if rate > 0 and not isinstance(dt, jax.core.Tracer) and rate * float(dt) > self.largest_decay:
                steps = f"a step of {float(dt):g}" if np.isfinite(dt) else "steps of any length"
                raise ValueError(
                    f"{steps} with {name}, which decays within {1 / rate:.4g}: {self.largest_decay / rate:.4g} or "
                    "less is needed, as step or max_step" + (_takes_any_step(equation) if is_linear else "")
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

    @classmethod
    def why_not(cls, equation: Any) -> str:
        """Reason why it cannot step an equation of its kind, and the remedy; empty if it can."""
        return ""

    @classmethod
    def keeps_steps(cls) -> bool:
        """True for a multistep method, which continues from earlier steps."""
        return cls.start is not Stepper.start

    def start(self, equation: Any, fields: Fields) -> Any:
        """History at the start of a run."""
        return ()

    def history_storage(self, fields: Mapping[str, Storage]) -> Any:
        """Storage of the arrays that `start` returns: one `Storage`, or a tree of them of the same form.

        Args:
            fields: storage of each entry of the fields that `start` is given.

        Returns:
            None in place of a number; by default nothing else is expected.
        """
        return None

    def counted_from(self, history: Any, origin: Fields) -> Any:
        """The same history with `origin` subtracted from its fields; a method whose history holds fields defines it.

        Sums in single precision are counted anew at each step, so that they lose nothing; the entries that `origin`
        names have no linear part and do not enter N.

        Raises:
            TypeError: a history that holds such an entry, of a stepper that does not declare it.
        """
        paths = (path for path, _ in jax.tree_util.tree_leaves_with_path(history))
        named = {str(getattr(key, "key", "")) for path in paths for key in path}
        if named & set(origin):
            raise TypeError(
                f"stepper {self.name} keeps {', '.join(sorted(named & set(origin)))} from step to step: it needs a "
                "method counted_from"
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

        Every step of every method ends here, with the kicks of forcings that are white in time, and so that no state
        leaves its manifold (`spaces.manifold`).
        """
        return self._completed(self.advance, equation, fields, history, t, dt, coefficients)

    def step_with_error(
        self, equation: Any, fields: Fields, history: Any, t: ArrayLike, dt: ArrayLike, coefficients: Any
    ) -> Any:
        """As `step`, with the error estimate of `advance_with_error` as a third value."""
        return self._completed(self.advance_with_error, equation, fields, history, t, dt, coefficients)

    def _completed(
        self,
        method: Callable[..., Any],
        equation: Any,
        fields: Fields,
        history: Any,
        t: ArrayLike,
        dt: ArrayLike,
        coefficients: Any,
    ) -> Any:
        """The fields that a method gives, after the sum of the budget over devices, the kicks and the constraints.

        Where a companion is moved before or after the step, so is what the history holds of it.
        """
        fields, history = split_by_device((fields, history), equation.grid.layout.devices)
        start = fields
        fields = equation.before_step(fields, t, dt)
        kicked = {name: start[name] - y for name, y in fields.items() if y is not start[name]}
        history = self.counted_from(history, kicked) if kicked else history
        equation = equation.starting(fields, t)
        fields, history, *error = added_up(method(equation, fields, history, t, dt, coefficients))
        fields = equation.kicked(fields, _kicks_in(coefficients, equation, dt), t + dt)
        fields, moved = equation.after_step(fields, start, t, dt)
        return fields, self.counted_from(history, moved) if moved else history, *error


def _kicks_in(coefficients: Any, equation: Any, dt: ArrayLike) -> Any:
    """The values that kicking forcings prepared for the size of this step."""
    known = coefficients.kicks if isinstance(coefficients, Prepared) else None
    return equation.prepare_kicks(dt) if known is None else known


def fitting(equation: AnyEquation) -> list[str]:
    """Names of the steppers that can step an equation, your own classes included."""
    spectrum = spectrum_of(equation)
    stable = (cls for cls in fitting_classes(equation) if spectrum is None or spectrum in cls.stable_for)
    fit = (cls for cls in stable if cls.for_walls or not equation.grid.walls)
    fit = (cls for cls in fit if not (cls.keeps_steps() and _jumping(equation)))
    return sorted({cls.name for cls in fit if cls.exact_linear or not kicking(equation)})


def _jumping(equation: AnyEquation) -> list[str]:
    """Names of the companions that a step may turn back."""
    return [name for name, companion in equation.companions_by_name().items() if companion.jumps(equation)]


def _takes_any_step(equation: AnyEquation) -> str:
    """Advice to take a stepper that is exact in the linear parts of companions."""
    fit = set(fitting(equation))
    exact = sorted(cls.name for cls in fitting_classes(equation) if cls.exact_companions and cls.name in fit)
    return f"; {', '.join(exact)} take any step" if exact else ""


def fitting_classes(equation: AnyEquation) -> list[type[Stepper]]:
    """Steppers that take an equation of this form, stable or not."""
    modules("solver.steppers")  # imports them all, so that each is a known subclass
    return [cls for cls in _concrete(Stepper) if isinstance(equation, cls.takes) and not cls.why_not(equation)]


def spectrum_of(equation: AnyEquation) -> str | None:
    """Kind of the linear part's eigenvalues, such as "real"; None for a `SplitEquation` or a wrong linear part."""
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
