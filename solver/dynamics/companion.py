"""Numbers that a run moves together with the fields of its equation, such as places of bodies: one protocol for all."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.typing import ArrayLike
from jaxtyping import Array

from solver.dynamics.budget import Changes
from solver.grid import Storage
from solver.operators import Fields, LinearOperator

MOTION = "motion"  # the name of the companion that holds the bodies that the flow moves


class CompanionWarning(UserWarning):
    """A companion that its equation or grid makes less exact than it seems.

    `warnings.simplefilter("ignore", sw.CompanionWarning)` turns it off.
    """


def warn_of_companions(equation: Any) -> None:
    """Warn, in the class `CompanionWarning`, of what companions say of their equation."""
    for name, companion in equation.companions_by_name().items():
        for line in companion.warnings(equation):
            warnings.warn(f"{name}: {line}", CompanionWarning, stacklevel=3)


class Step(NamedTuple):
    """The step that a companion is in.

    Args:
        start: the companion's numbers where the step began.
        t: time there.
        dt: size of the step.
        key: random key of the run; `()` in a run without one.
        number: number of the step, 1 for the first one.
    """

    start: Array
    t: ArrayLike
    dt: ArrayLike
    key: Any
    number: ArrayLike


class Companion(eqx.Module):
    """Numbers y that a run moves together with the fields u of an equation: dy/dt = rates(y, u, u_t, t). Subclass this.

    A stepper moves y by its own method, as a field whose linear part is zero, and so to its order; an exponential one
    integrates the linear part that a companion declares exactly. The state holds y
    together with the fields, under the companion's name, whole on each device unless `storage` says otherwise; so do
    checkpoints, branches and ensembles. N may read it there. An error that a tolerance bounds does not count it.

    A subclass gives `initial` and `rates`; its parameters are annotated attributes, as in a dataclass, and leaves of
    the equation. Its methods are called while steps are traced: pure functions of arrays are needed.
    """

    @abstractmethod
    def initial(self, equation: Any, fields: Fields) -> Array:
        """y at the start of a run: real numbers of any shape.

        Args:
            equation: equation of this companion.
            fields: entry of a state for each field, by name.
        """

    @abstractmethod
    def rates(self, equation: Any, y: Array, fields: Fields, changes: Changes, t: ArrayLike) -> Array:
        """dy/dt, of the shape of y.

        Args:
            equation, y: as in `initial`.
            fields: coefficients by name, with the entries of all companions.
            changes: changes of the fields at this stage.
            t: time.
        """

    def after_kicks(self, equation: Any, y: Array, fields: Fields, kicks: Fields) -> Array:
        """y after forcings that are white in time have changed the fields, at the end of a step; by default as it was.

        Args:
            equation, y: as in `initial`.
            fields: fields before the kicks.
            kicks: changes by the kicks, of the fields that are kicked.
        """
        return y

    def check(self, equation: Any) -> None:
        """Refuse an equation to which this companion cannot belong. Called where an equation is made.

        Raises:
            ValueError: the message names the reason. By default nothing is refused.
        """
        return

    def warnings(self, equation: Any) -> list[str]:
        """Warnings at the start of a run about this companion of an equation, one line each; none by default."""
        return []

    def before_step(self, equation: Any, y: Array, step: Step) -> Array:
        """y with which each step begins, of the same shape, such as after a random kick; by default as it was."""
        return y

    def after_step(self, equation: Any, y: Array, step: Step) -> Array:
        """y after each step, of the same shape, such as places put back into the box; by default as it was.

        What a stepper keeps of earlier steps is moved by as much.
        """
        return y

    def storage(self, equation: Any) -> Storage:
        """Storage of y in a state: by default numbers that every device has whole."""
        return Storage("host")

    def jumps(self, equation: Any) -> bool:
        """True if `after_step` may turn velocities back, as walls and bodies do: multistep steppers are refused."""
        return False

    def linear(self, equation: Any) -> LinearOperator | None:
        """L of a part L y of `rates`, which exponential steppers integrate exactly; None, as by default, without one.

        Its methods receive y alone, under the companion's name. Other steppers do not see it. Touches no device.
        """
        return None

    def fastest_decay(self, equation: Any) -> float:
        """The largest rate at which `rates` makes y decay [1/time], as far as it is known, for the longest step."""
        return 0.0

    def series(self, equation: Any, y: Array, fields: Fields, t: ArrayLike) -> Mapping[str, Array]:
        """Its columns of series.csv, a number each, in the order of `units`; empty by default."""
        return {}

    def units(self, equation: Any) -> Mapping[str, str]:
        """Units of these columns, by name."""
        return {}

    def row_warnings(self, equation: Any, row: Mapping[str, float]) -> list[str]:
        """Warnings about a row of series.csv, one line each; none by default. A run shows each of them once."""
        return []


def named_companions(what: str, given: Any) -> Mapping[str, Companion]:
    """Companions in the order of their names, as an equation is given them. JAX brings dicts into this order.

    Args:
        what: name of the argument, for messages.
        given: the argument.

    Raises:
        TypeError: something else than a dict of them.
    """
    named = {} if given is None else given
    if not isinstance(named, Mapping) or not all(isinstance(one, Companion) for one in named.values()):
        such = "particles such as sw.particles.Tracers(count=1000)" if what == "particles" else "companions"
        raise TypeError(f"{what} = {given!r}: a dict by name is needed, of {such}, or of a class of your own")
    return dict(sorted(named.items()))


def together(one: Mapping[str, Companion], other: Mapping[str, Companion]) -> dict[str, Companion]:
    """All companions of both, by name.

    Raises:
        ValueError: a name that both have.
    """
    for name in one:
        if name in other:
            raise ValueError(f"a companion named {name!r}: another name is needed, that one is taken")
    return {**one, **other}


def companions_at_start(equation: Any, fields: Fields) -> dict[str, Array]:
    """The numbers of an equation's companions at the start of a run from these fields, by name."""
    return {name: companion.initial(equation, fields) for name, companion in equation.companions_by_name().items()}


def check_companions(equation: Any) -> None:
    """Trace companions on shapes alone; touches no device.

    Raises:
        ValueError: a companion whose numbers are not real, or whose rates or numbers after a step have another shape.
    """
    for name, companion in equation.companions_by_name().items():
        _check(name, companion, equation)


def _check(name: str, companion: Companion, equation: Any) -> None:
    given, t = equation.field_shapes(), jax.ShapeDtypeStruct((), equation.grid.dtype)
    own, y = equation.fields_alone(given), given[name]
    if not jnp.issubdtype(y.dtype, jnp.floating):
        raise ValueError(f"companion {name}: initial() gives {y.dtype}{list(y.shape)}; real numbers are needed")
    rates = lambda y, u, du, t: companion.rates(equation, y, u, Changes(du, du, {}), t)  # noqa: E731
    key, number = jax.eval_shape(lambda: jax.random.key(0)), jax.ShapeDtypeStruct((), jnp.int32)
    made = {"rates": jax.eval_shape(rates, y, given, own, t)}
    for method in ("before_step", "after_step"):
        changed = lambda y, step, method=method: getattr(companion, method)(equation, y, step)  # noqa: E731
        made[method] = jax.eval_shape(changed, y, Step(y, t, t, key, number))
    for method, found in made.items():
        if getattr(found, "shape", None) != y.shape:
            raise ValueError(
                f"companion {name}: {method}() gives the shape {list(getattr(found, 'shape', ()))}; {list(y.shape)}, "
                "that of initial(), is needed"
            )
    columns = set(jax.eval_shape(lambda y, u, t: dict(companion.series(equation, y, u, t)), y, given, t))
    if columns != set(companion.units(equation)):
        raise ValueError(
            f"companion {name}: series() gives {', '.join(sorted(columns)) or 'nothing'}; units() names "
            f"{', '.join(sorted(companion.units(equation))) or 'nothing'}: the same columns are needed"
        )
