"""The dynamics of an equation, in the two forms that steppers take.

`Equation` is u_t = L u + N(u, t), held as coefficients: integrating-factor, exponential and implicit steppers take it.
`SplitEquation` is i ψ_t = (T + V) ψ, held at the points: a splitting stepper takes it.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike
from jaxtyping import Array

from solver.equations.budget import BUDGET, Budget, columns, rates_of_sums
from solver.equations.changes import Changes
from solver.equations.companion import Companion, check_companions, named_companions, together
from solver.equations.driven import Driven
from solver.equations.energy_budget import EnergyBudget
from solver.equations.kicks import with_work_of_kicks
from solver.equations.reporting import Reporting
from solver.equations.start_changes import Shares, shares_removed
from solver.equations.system import PeriodicSystem, compiled
from solver.fft import max_over_points
from solver.grid import Grid, Storage
from solver.operators import Fields, LinearOperator, Rotation
from solver.spaces import FourierSpace, NotInSpace, Space
from solver.spaces.field import Field
from solver.written import Text


class Equation(Reporting):
    """u_t = L u + N(u, t) on coefficients. Subclass this for an equation of your own.

    A subclass gives `name`, `fields`, `linear`, `nonlinear` and `rate`; the rest has defaults. Its parameters are
    annotated attributes, as in a dataclass. One that has a `text` (`sw.Text`) needs nothing else: all is derived from
    that, parameters too; see `Written`.

    Class attributes:
        keeps_constraints: whether `nonlinear` itself is free of divergence and of zero mean where a field is declared
            so. If not, it is made so wherever steppers use it. False again in a subclass with another N.

    Args:
        forcing: a `Forcing` from `solver.forcing` for an equation of one field, or a dict of them by field name. Their
            states and random numbers are the loop's: they lie in the run's `State` and its checkpoints.
        energy_budget: whether a run integrates what changes the equation's energies. Costs a sum over the modes per
            evaluation of N, an all-reduce per step, and the memory of one more field.
        bodies: a body or sponge of `solver.bodies`, or a dict of them by name, which draw the velocity towards theirs.
        companions: a dict of `Companion`s by name, which a run moves beside the fields.
    """

    keeps_constraints: ClassVar[bool] = False
    of_a_text: ClassVar[type[Equation]]  # `Written`, whose module needs this one

    forcing: Any = eqx.field(default=None, kw_only=True)
    energy_budget: bool = eqx.field(default=True, static=True, kw_only=True)
    bodies: Any = eqx.field(default=None, kw_only=True)
    companions: Any = eqx.field(default=None, kw_only=True)
    shift: Any = eqx.field(default=None, kw_only=True, init=False, repr=False)  # of the points, during one evaluation

    def __init_subclass__(cls, **options: Any) -> None:
        if isinstance(vars(cls).get("text"), Text) and Equation.of_a_text not in cls.__mro__:
            cls.__bases__ = (*(base for base in cls.__bases__ if base is not Equation), Equation.of_a_text)
            cls.__init_subclass__(**options)
            return
        super().__init_subclass__(**options)
        if "nonlinear" in vars(cls) and "keeps_constraints" not in vars(cls):
            cls.keeps_constraints = False  # what a parent's N keeps, another N need not

    def __check_init__(self) -> None:
        object.__setattr__(self, "shift", None)  # an entry of the pytree, which `Driven.on_moved_points` fills
        self._check_bodies()
        for space in self.spaces.values() if self.grid.layout.shifts_phase else ():
            if not space.moves_points:
                raise ValueError(f"dealias {self.grid.dealias!r}: field {space.name} is of {space}, which cannot shift")
        for name in together({BUDGET: EnergyBudget()}, self.beside()):
            if name in self.fields:
                raise ValueError(f"a field named {name!r}: another name is needed, that one is taken")
        for name, forcing in self.forcings().items():
            if name not in self.fields:
                raise ValueError(f"forcing of {name!r}: {self.name} has the fields {', '.join(self.fields)}")
            if self.fields[name].rank not in forcing.ranks:
                raise ValueError(
                    f"forcing {forcing.name} of {name}: it drives fields of rank {', '.join(forcing.ranks)}"
                )
            try:
                _ = self.space(name).fourier
            except NotInSpace as error:
                raise ValueError(f"forcing {forcing.name}: {error}") from None
            forcing.check(self, name)

    def _check_bodies(self) -> None:
        """Refuse bodies that have no place here: an equation of a text takes them where it says `penalise`."""
        if self.bodies is not None:
            raise ValueError(f"{self.name}: it has no velocity that bodies could act on")

    def forcings(self) -> dict[str, Any]:
        """Forcings by field name."""
        if self.forcing is None:
            return {}
        if isinstance(self.forcing, Mapping):
            return dict(self.forcing)
        if len(self.fields) > 1:
            raise ValueError(
                f"one forcing for {self.name}: a dict by field name is needed, of {', '.join(self.fields)}"
            )
        return {next(iter(self.fields)): self.forcing}

    def beside(self) -> dict[str, Companion]:
        return together(self.own_companions(), named_companions(self.companions))

    def own_companions(self) -> Mapping[str, Companion]:
        """Companions by name that the equation has whatever it is given, of its parameters; none by default."""
        return {}

    @abstractmethod
    def linear(self) -> LinearOperator:
        """L: a `Diagonal` or `Matrix` operator on the fields [1/time]."""

    @abstractmethod
    def nonlinear(self, fields: Fields, t: ArrayLike) -> Fields:
        """Coefficients of N(u, t) [u/time], zero in the padding (what `transform.forward` returns is)."""

    def change_and_rate(self, fields: Fields, t: ArrayLike) -> tuple[Fields, Array]:
        """N(u, t) and the rate of one state, as step control by a CFL number asks for them.

        An equation of a text has both from the same transforms; not to be overridden.
        """
        return self.nonlinear(fields, t), self.rate(fields)

    def energies(self, fields: Fields) -> dict[str, Array]:
        """Quadratic quantities whose budget the run keeps, by column of the series.

        By default ½⟨|u|²⟩ of each field, and none with a series of the equation's own.
        """
        whole = lambda name: self.counted(name, fields[name], 0.5)  # noqa: E731
        return {column: 0.5 * self.space(name).mean_square(whole(name)) for column, name in self._budgeted()}

    def budget(self, fields: Fields, changes: Changes) -> Budget:
        """Rates of change of each of the `energies`, by cause; their sum is its time derivative [energy/time].

        By default ⟨u · change⟩ for the linear part, the rest, and the forcing. The run integrates the rates with the
        fields; series.csv has the integrals since its start. All-reduces only.
        """
        causes = {"linear": changes.linear, "nonlinear": changes.nonlinear, "forcing": changes.forcing}
        power = lambda name, change: self.space(name).product(self.counted(name, fields[name]), change[name])  # noqa: E731
        budget = {
            column: {cause: power(name, change) for cause, change in causes.items() if name in change}
            for column, name in self._budgeted()
        }
        return rates_of_sums(budget, changes, self.grid.dtype)

    def _budgeted(self) -> list[tuple[str, str]]:
        """Column and field of each energy that has a budget."""
        return [] if self.units else list(zip(self.energy_names(), self.fields, strict=True))

    def budget_columns(self) -> tuple[str, ...]:
        if not self.energy_budget:
            return ()
        shapes = self.fields_alone(self.field_shapes())
        causes = {"linear": shapes, "nonlinear": shapes, "forcing": {name: shapes[name] for name in self.forcings()}}
        return tuple(_budget_rates.shapes(self, shapes, causes))

    def at_step(self, forcing: Mapping[str, Any] = MappingProxyType({}), key: Any = (), step: ArrayLike = 0) -> Driven:
        return Driven(self, dict(forcing), key, step)

    def space(self, name: str) -> Space:
        return FourierSpace(name, self.fields[name], self.grid, self.method, self.shift)

    def field_storage(self) -> dict[str, Storage]:
        return {name: space.storage for name, space in self.spaces.items()}

    def start_from(self, u: Fields) -> tuple[Fields, Shares]:
        sampled = self._each_kind(lambda space, values: space.exact.forward(values), u)
        return self.to_manifold(sampled), shares_removed(u, sampled, self.spaces)

    def to_physical(self, fields: Fields) -> Fields:
        return self._each_kind(lambda space, u_hat: space.exact.inverse(u_hat), fields)

    def coefficients(self, fields: Fields) -> Fields:
        return self.fields_alone(fields)

    def check(self) -> None:
        """Trace the dynamics on shapes alone; touches no device.

        Raises:
            ValueError: a linear part of the wrong size, or a right-hand side of other names, shapes or dtypes; a
                companion that does not fit itself.
        """
        given = self.field_shapes()
        fields = self.fields_alone(given)
        linear = jax.eval_shape(lambda: self.linear())
        if not isinstance(linear, LinearOperator):
            raise ValueError(f"{_who(self)}: linear() gives {type(linear).__name__}; a Diagonal or Matrix is needed")
        try:
            linear.check({name: field.shape for name, field in fields.items()})
        except ValueError as error:
            raise ValueError(f"{_who(self)}: {error}") from None
        t = jax.ShapeDtypeStruct((), self.grid.dtype)
        at_start = lambda: self.at_step({}, jax.random.key(0), 0).on_moved_points(0)  # noqa: E731
        change = jax.eval_shape(lambda fields, t: at_start().nonlinear(fields, t), given, t)
        wanted = {n: (s.shape, s.dtype) for n, s in fields.items()}
        if not isinstance(change, Mapping) or {n: (v.shape, v.dtype) for n, v in change.items()} != wanted:
            raise ValueError(f"{_who(self)}: nonlinear() gives {_outline(change)}; {_outline(fields)} is needed")
        rate = jax.eval_shape(lambda fields: self.rate(fields), given)
        if rate.shape != ():
            raise ValueError(f"{_who(self)}: rate() gives shape {list(rate.shape)}; one number [1/time] is needed")
        check_companions(self)


class SplitEquation(Reporting):
    """i ψ_t = (T + V) ψ with T diagonal in k and V diagonal in x, held at the points; one field, `wavefunction`.

    Every mode is kept: truncation would lose mass.

    Raises:
        ValueError: a grid that drops modes.
    """

    fields: ClassVar[Mapping[str, Field]] = {"wavefunction": Field("wavefunction", "density^(1/2)")}

    def __check_init__(self) -> None:
        if self.grid.dealias != "none":
            raise ValueError(f"dealias {self.grid.dealias!r} would lose mass; {self.name} needs dealias 'none'")

    @abstractmethod
    def potential(self, psi: Array) -> Array:
        """V at the points [1/time], from |ψ|²: a kick leaves it unchanged."""

    @abstractmethod
    def drift(self, psi: Array, dt: ArrayLike) -> Array:
        """exp(−i T dt) ψ."""

    def kick(self, psi: Array, potential: Array, dt: ArrayLike) -> Array:
        """exp(−i V dt) ψ."""
        return Rotation.by(-dt * potential).apply(psi)

    def field_storage(self) -> dict[str, Storage]:
        return dict.fromkeys(self.fields, Storage("points"))

    def start_from(self, u: Fields) -> tuple[Fields, Shares]:
        return {name: values.astype(self.grid.complex_dtype) for name, values in u.items()}, {}

    def to_physical(self, fields: Fields) -> Fields:
        return fields

    def coefficients(self, fields: Fields) -> Fields:
        return {name: self.transform.forward(psi) for name, psi in fields.items()}


def advection_rate(velocity: Array, grid: Grid) -> Array:
    """max over points of Σ_i |u_i|/Δx_i [1/time]; dt times this is the CFL number. One all-reduce."""
    return max_over_points(crossings(velocity, np.asarray(grid.spacing, grid.dtype)))


def crossings(velocity: Array | Sequence[Array], spacing: Array | np.ndarray) -> Array:
    """Σ_i |u_i|/Δx_i at each point [1/time]: for `largest` of `Transform.pointwise`, with Δx as its parameters."""
    return sum(jnp.abs(u) / dx for u, dx in zip(velocity, spacing, strict=True))


def _who(equation: PeriodicSystem) -> str:
    return f"equation {equation.name} ({type(equation).__name__})"


def _outline(fields: Any) -> str:
    if not isinstance(fields, Mapping):
        return type(fields).__name__
    return ", ".join(f"{name} {value.dtype}{list(value.shape)}" for name, value in fields.items()) or "no field"


@compiled
def _budget_rates(equation: Any, fields: Fields, causes: dict[str, Fields]) -> dict[str, Array]:
    """Rates of the integrals that a run keeps, by column."""
    return columns(
        with_work_of_kicks(
            equation, equation.budget(fields, Changes(causes["linear"], causes["nonlinear"], causes["forcing"]))
        )
    )
