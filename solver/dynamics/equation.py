"""An equation u_t = L u + N(u, t), held as coefficients: integrating-factor, exponential and implicit steppers take it.

A splitting stepper takes it, too, if its fields are wavefunctions and N is a potential times each.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike
from jaxtyping import Array

from solver.bodies import Obstacles
from solver.bodies.body import Scene
from solver.bodies.obstacles import by_name
from solver.dynamics.acting_bodies import FreeBodies, with_bodies_at_rest
from solver.dynamics.any_equation import AnyEquation, refuse_dimensions
from solver.dynamics.between_walls import DynamicsBetweenWalls
from solver.dynamics.budget import BUDGET
from solver.dynamics.companion import MOTION, Companion, check_companions, named_companions, together
from solver.dynamics.compiled import one_program
from solver.dynamics.declared import declare
from solver.dynamics.derivation import derivation_of, texts_of
from solver.dynamics.driven import Driven
from solver.dynamics.energy_budget import EnergyBudget
from solver.dynamics.evaluation import without_missing
from solver.dynamics.fields_report import report_of_fields
from solver.dynamics.forcings import kicking
from solver.dynamics.linear_in_time import VaryingLinear, varying_linear
from solver.dynamics.passive_scalars import check_scalars, named_scalars
from solver.dynamics.report import Report
from solver.dynamics.report_between_walls import ReportBetweenWalls
from solver.dynamics.spaces_between_walls import checked_walls, modes_between_walls, space_between_walls
from solver.dynamics.splittable import Splittable, potential_of_text, why_not_alone, why_text_is_not_split
from solver.dynamics.start_changes import Shares, shares_removed
from solver.dynamics.subgrid import check_closure, report_with_closure, with_rate
from solver.dynamics.text_checks import check_bodies, check_text
from solver.dynamics.text_dynamics import TextDynamics, damping_of_text
from solver.dynamics.text_report import TextReport, report_of_text
from solver.dynamics.varying_walls import varies
from solver.grid import Grid, Storage
from solver.mesh import AnyMesh
from solver.operators import Fields, LinearOperator
from solver.spaces import FourierSpace, NotInSpace, Space, refuse_lacking
from solver.spaces.manifold import by_kind
from solver.written.derivation import Derivation
from solver.written.rates import Rate, Unseen
from solver.written.scalars import with_scalars
from solver.written.text import Text

BY_HAND = ("linear", "nonlinear")  # what a class without a text gives


class Equation(Splittable, AnyEquation):
    """u_t = L u + N(u, t) on coefficients. Subclass this for an equation of your own.

    A subclass gives a `text` (`sw.Text`), from which all else is derived, or `fields`, `linear` and `nonlinear`, and
    `rate` where steps are to keep a CFL number. Its parameters are annotated attributes, as in a dataclass; parameters
    of a text that the class does not declare are added. The terms of a text that hold a parameter that is None are left
    out, and so are columns that make sense in other numbers of dimensions alone. A text that depends on the equation is
    a property, and the class then gives `fields` and `dimensions` too. In a class with a text each of the three methods
    may be given instead.

    Class attributes:
        text: the equations, as `solver.written.text.Text`; None for an equation by hand.
        keeps_constraints: True if `nonlinear` itself is free of divergence and of zero mean where a field is declared
            so, as N of a text is. If False, it is made so wherever steppers use it. False again in a subclass with
            another N.
        columns_between_walls: columns that `reported` works out anew between walls, where ⟨u·∇²u⟩ of the text is not
            −⟨|∇u|²⟩.

    Args:
        forcing: a `Forcing` from `solver.forcing` for an equation of one field, or a dict of them by field name. Their
            states and random numbers are the loop's: they are in the run's `State` and its checkpoints.
        energy_budget: True if a run integrates the causes that change the equation's energies. Costs a sum over the
            modes per evaluation of N, an all-reduce per step, and the memory of one more field.
        closure: a closure of large-eddy simulation from `solver.closures`, for an equation whose text says `closure`.
        bodies: a body or sponge of `solver.bodies`, or a dict of them by name, which draw the velocity towards theirs.
        particles: a dict of `sw.particles.Tracers(…)` or other particles by name, which the flow carries.
        companions: a dict of `Companion`s by name, which a run moves together with the fields.
        scalars: a dict of `sw.PassiveScalar(…)` by name, which the flow carries, for an equation of a text.
        walls: between walls the conditions of each field by name (`sw.walls.NoSlip()`, `sw.walls.Value(lower=1)`, …); a
            velocity without divergence that is not named is at rest there.
    """

    text: ClassVar[Any] = None
    keeps_constraints: ClassVar[bool] = False
    columns_between_walls: ClassVar[tuple[str, ...]] = ()

    forcing: Any = eqx.field(default=None, kw_only=True)
    energy_budget: bool = eqx.field(default=True, static=True, kw_only=True)
    closure: Any = eqx.field(default=None, kw_only=True)
    bodies: Any = eqx.field(default=None, kw_only=True)
    particles: Any = eqx.field(default=None, kw_only=True)
    companions: Any = eqx.field(default=None, kw_only=True)
    scalars: Any = eqx.field(default=(), kw_only=True, converter=named_scalars)
    walls: Any = eqx.field(default=None, kw_only=True)
    between: Any = eqx.field(default=None, kw_only=True, init=False, repr=False)  # modes of each field between walls
    shift: Any = eqx.field(default=None, kw_only=True, init=False, repr=False)  # of the points, during one evaluation
    kept_of_bodies: Any = eqx.field(default=None, kw_only=True, init=False, repr=False)  # at rest, during a step
    time_at_walls: Any = eqx.field(default=None, kw_only=True, init=False, repr=False)  # where they or the text hold it

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        declare(cls, Equation)

    def __check_init__(self) -> None:
        for entry in ("shift", "kept_of_bodies", "time_at_walls"):  # which `Driven`, `prepared` and `at_time` fill
            object.__setattr__(self, entry, None)
        check_scalars(self)
        object.__setattr__(self, "walls", checked_walls(self))
        object.__setattr__(self, "between", modes_between_walls(self))
        check_closure(self)
        if self.text is not None:
            check_text(self)
        elif missing := [name for name in BY_HAND if getattr(type(self), name) is getattr(Equation, name)]:
            raise TypeError(
                f"{type(self).__name__} has no {' and no '.join(missing)}: linear and nonlinear are needed, or a text"
            )
        self._check_varying_walls()
        check_bodies(self)
        for space in self.spaces.values() if self.grid.layout.shifts_phase else ():
            if not space.moves_points:
                raise ValueError(f"dealias {self.grid.dealias!r}: field {space.name} is of {space}, which cannot shift")
        for name in together({BUDGET: EnergyBudget()}, self.companions_by_name()):
            if name in self.fields:
                raise ValueError(f"a field named {name!r}: another name is needed, that one is taken")
        self._refuse_equal_components()
        for companion in self.companions_by_name().values():
            companion.check(self.at_time(math.nan))
        self._check_forcings()
        refuse_dimensions(self, self._why_not_in(self.grid.dimensions))

    def _refuse_equal_components(self) -> None:
        """Refuse a field with the name of a component of a vector: one column of an output would be the other's."""
        names = [name for space in self.spaces.values() for name in space.component_names]
        vectors = [] if self.text is None else [name for name, _ in self.whole_text.vectors if name not in self.fields]
        names += [f"{name}_{axis}" for name in vectors for axis in "xyz"[: self.grid.dimensions]]
        for name in self.fields:
            if names.count(name) > 1:
                raise ValueError(f"a field named {name!r}: another name is needed, a component of a vector has it")

    def _check_varying_walls(self) -> None:
        """Refuse walls that vary where a class of the user's has an N or L that does not count with them."""
        own = [name for name in BY_HAND if getattr(type(self), name) is not getattr(Equation, name)]
        for name, walls in (self.walls or {}).items() if own else ():
            if varies(walls):
                raise ValueError(
                    f"walls.{name} of {type(self).__name__}: a number at each wall is needed, since its own "
                    f"{own[0]}() does not count with walls that vary"
                )

    def _check_forcings(self) -> None:
        for name, forcing in self.forcings().items():
            if name not in self.fields:
                raise ValueError(f"forcing of {name!r}: {self.name} has the fields {', '.join(self.fields)}")
            if self.fields[name].rank not in forcing.ranks:
                raise ValueError(
                    f"forcing {forcing.name} of {name}: it drives fields of rank {', '.join(forcing.ranks)}"
                )
            refuse_lacking([self.space(name)], forcing.needs, f"forcing {forcing.name}")
            try:
                forcing.check(self, name)
            except NotInSpace as error:
                raise ValueError(f"forcing {forcing.name}: {error}") from None

    def _why_not_in(self, dimensions: int) -> str:
        """Reason why its text makes no sense in so many dimensions of space; empty if no reason is known."""
        return self.text.system.why_not_in(dimensions) if isinstance(type(self).text, Text) else ""

    # ---- the mathematics ------------------------------------------------------------------------------------

    def linear(self) -> LinearOperator:
        """L: a `Diagonal` or `Matrix` operator on the fields [1/time]; by default derived from the text."""
        return self.dynamics.linear()

    @one_program
    def nonlinear(self, fields: Fields, t: ArrayLike) -> Fields:
        """Coefficients of N(u, t) [u/time], zero in the padding (as the result of `transform.forward` is).

        By default derived from the text.
        """
        return self.dynamics.nonlinear(fields, t)

    @property
    def varying_linear(self) -> VaryingLinear | None:
        """Λ(t), the linear terms of N whose coefficients depend on time, for methods that are exact in them.

        None without such terms, if their exponential is not known, or under a forcing that is white in time, whose
        variance over a step is known of L alone.
        """
        return varying_linear(self) if self._follows_its_text and not kicking(self) else None

    @property
    def _follows_its_text(self) -> bool:
        own = type(self)
        return own.text is not None and all(getattr(own, name) is getattr(Equation, name) for name in BY_HAND)

    @one_program
    def rate(self, fields: Fields) -> Array:
        """Inverse time [1/time] such that the CFL number is dt · rate; by default derived from the text.

        That is the largest speed across a grid cell, or the largest rate of reaction, read off the text; 0 where it
        does not tell one, or where there is no text: `why_no_rate` then says why.
        """
        if self.text is None:
            return jnp.zeros((), self.grid.dtype)
        return self.dynamics.rate(fields)

    def rate_of_linear(self) -> ArrayLike:
        """Rate to add to the rate of the text, for waves or reactions in L [1/time]: zero by default.

        L is exact for any step with integrating-factor and exponential steppers; others may need it.
        """
        return 0.0

    def rate_at_points(self) -> Rate | Unseen:
        """Quantity whose largest value is the rate, in inner fields of the plan: read off the text by default.

        Override it where the text does not tell it: the speeds then come from the transforms of the right-hand side.
        """
        return with_rate(self, self.derived.rate)

    @property
    def why_no_rate(self) -> str:
        if type(self).rate is Equation.rate and self.text is None:
            return "its class has no method rate"
        if type(self).rate is not Equation.rate or isinstance(found := self.rate_at_points(), Rate):
            return ""
        return f"its text tells no CFL number, since {found.reason}"

    def change_and_rate(self, fields: Fields, t: ArrayLike) -> tuple[Fields, Array]:
        """N(u, t) and the rate of one state, for step control by a CFL number.

        A text gives both from the same transforms, unless the class has its own. Not to be overridden.
        """
        own = type(self)
        if own.nonlinear is Equation.nonlinear and own.rate is Equation.rate:
            both = self.dynamics.change_and_rate(fields, t)
            if both is not None:
                return both
        return self.nonlinear(fields, t), self.rate(fields)

    def split_potential(self, psi: Array, t: ArrayLike = 0.0) -> Array:
        """V of i ψ_t = (T + V) ψ, T from `linear`, for splitting steppers; by default derived from the text.

        Raises:
            ValueError: the text has no potential.
        """
        return potential_of_text(self, psi, t)

    @property
    def why_not_split(self) -> str:
        own = type(self)
        if own.split_potential is not Equation.split_potential:
            return why_not_alone(self)
        return why_text_is_not_split(self) if self._follows_its_text else "its class gives no method split_potential"

    # ---- its text -------------------------------------------------------------------------------------------

    def numbers(self) -> dict[str, Any]:
        """The parameters of the class's text by name: attributes of the equation by default."""
        return {name: getattr(self, name) for name in self.parameters_in_text}

    @property
    def all_numbers(self) -> dict[str, Any]:
        """The numbers of the whole text by name, with the numbers of passive scalars."""
        return {**self.numbers(), **{name: value for scalar in self.scalars for name, value in scalar.numbers.items()}}

    @property
    def parameters_in_text(self) -> tuple[str, ...]:
        """Names of the parameters of the class's text that are not None."""
        return tuple(without_missing(self, self.text.plain).system.parameters)

    @property
    def whole_text(self) -> Text:
        """The text of the class with the lines of passive scalars, and with the unknowns that have conditions at
        walls."""
        text = with_scalars(self.text, tuple(scalar.in_text for scalar in self.scalars))
        return text.with_walled(self.walls) if isinstance(self.walls, Mapping) else text

    @property
    def plain_text(self) -> Text:
        """The whole text without the terms of parameters that are None, of bodies, and of a closure."""
        return without_missing(self, self.whole_text.plain)

    @property
    def derived(self) -> Derivation:
        """The derivation from the text for this grid's number of dimensions."""
        return self.dynamics.on_grid.derived

    @property
    def dynamics(self) -> TextDynamics:
        """L, N and the rate that follow from its text, in a periodic box or between walls."""
        return DynamicsBetweenWalls(self) if self.grid.walls else TextDynamics(self)

    @classmethod
    def texts(cls, dimensions: int) -> list[Text]:
        """The texts that equations of this class have in so many dimensions, of which the library keeps plans.

        The last text, which has the most terms, represents the class where its formula is shown.
        """
        return texts_of(cls)

    def derivation(self) -> list[tuple[str, str]]:
        """The derivation from the text, as headings and lines; empty for an equation by hand."""
        return [] if self.text is None else derivation_of(self)

    # ---- what acts on it, and what stands beside its fields -------------------------------------------------

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

    @property
    def obstacles(self) -> Obstacles | None:
        """Bodies and sponges with the data of box and fluid that they need; None if the equation has neither."""
        if self.bodies is None:
            return None
        damping = damping_of_text(self)
        viscosity = None if damping is None else damping.viscosity
        return Obstacles(by_name(self.bodies), Scene(viscosity, self.grid.spacing, self.grid.box.lengths))

    def on_bodies(self, fields: Fields, t: ArrayLike) -> dict[str, Array]:
        """Forces and torques on the bodies by column of the series, `NAME_force_x`; costs an evaluation of N."""
        bodies = self.report.bodies
        return {} if bodies is None else bodies.forces(fields, t)

    def companions_by_name(self) -> dict[str, Companion]:
        obstacles, given = (
            self.obstacles,
            together(self.own_companions(), named_companions("companions", self.companions)),
        )
        given = together(given, named_companions("particles", self.particles))
        return given if obstacles is None or not obstacles.free else together({MOTION: FreeBodies()}, given)

    def own_companions(self) -> Mapping[str, Companion]:
        """Companions by name that every equation of the class has, made of its parameters; empty by default."""
        return {}

    @property
    def report(self) -> Report:
        if self.text is not None:
            made = ReportBetweenWalls if self.grid.walls else TextReport
            has_own_n = type(self).nonlinear is not Equation.nonlinear
            return self.reported(report_with_closure(self, report_of_text(self, made, has_own_n=has_own_n)))
        return self.reported(report_of_fields(self, has_budget=True))

    def on_mesh(self, mesh: AnyMesh) -> Any:
        copy = super(Equation, self._without_modes()).on_mesh(mesh)
        object.__setattr__(copy, "between", modes_between_walls(copy))
        return copy

    def on_grid(self, grid: Grid) -> Any:
        copy = super(Equation, self._without_modes()).on_grid(grid)
        for name, entry in {
            "forcing": None,
            "closure": None,
            "bodies": None,
            "between": modes_between_walls(copy),
        }.items():
            object.__setattr__(copy, name, entry)
        return copy

    def _without_modes(self) -> Any:
        """The equation without the modes between walls, which belong to one grid."""
        return eqx.tree_at(lambda equation: equation.between, self, None, is_leaf=lambda leaf: leaf is None)

    # ---- as steppers take it --------------------------------------------------------------------------------

    def at_time(self, t: ArrayLike) -> Any:
        if self.walls is None or not (self._text_holds_time or any(walls.hold_time for walls in self.walls.values())):
            return self
        t = t if hasattr(t, "dtype") else np.float64(t)  # of one type, so that one program serves all times
        at = lambda e: eqx.tree_at(lambda e: e.time_at_walls, e, t, is_leaf=lambda leaf: leaf is None)  # noqa: E731
        return self._copied(self.grid, at)

    @property
    def _text_holds_time(self) -> bool:
        return self.text is not None and self.plain_text.holds_time

    def at_step(self, forcing: Mapping[str, Any] = MappingProxyType({}), key: Any = (), step: ArrayLike = 0) -> Driven:
        return Driven(self, dict(forcing), key, step)

    def prepared(self) -> Any:
        """This equation with the action of bodies at rest at all points, as steps use it: made once for all of them."""
        return with_bodies_at_rest(self)

    def space(self, name: str) -> Space:
        """Space of a field: its storage in a state, its values at the points, and all that follows from them.

        By default a Fourier series; override it for other functions of space.
        """
        if self.grid.walls:
            return space_between_walls(self, name)
        return FourierSpace(name, self.fields[name], self.grid, self.method, self.shift)

    def field_storage(self) -> dict[str, Storage]:
        return {name: space.storage for name, space in self.spaces.items()}

    def start_from(self, u: Fields) -> tuple[Fields, Shares]:
        sampled = self._each_kind(lambda space, values: space.exact.forward(values), u)
        removed, unresolved = shares_removed(u, sampled, self.spaces), self.unresolved()
        return self.to_manifold(sampled), {name: shares | unresolved.get(name, {}) for name, shares in removed.items()}

    @one_program
    def to_physical(self, fields: Fields) -> Fields:
        return self._each_kind(lambda space, u_hat: space.exact.inverse(u_hat), fields)

    def _each_kind(self, transform: Callable[[Space, Array], Array], fields: Fields) -> Fields:
        """Fields in the equation's order; fields of one kind pass through one call as one array."""
        done: Fields = {}
        for names in by_kind(self.spaces, self.fields):
            of_one = {name: fields[name] for name in names}
            done |= self.split(transform(self.space(names[0]), self.join(of_one)), names)
        return {name: done[name] for name in self.fields}

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
        rate = jax.eval_shape(lambda fields, t: self.at_time(t).rate(fields), given, t)
        if rate.shape != ():
            raise ValueError(f"{_who(self)}: rate() gives shape {list(rate.shape)}; one number [1/time] is needed")
        check_companions(self.at_time(math.nan))


def has_text(equation: AnyEquation) -> bool:
    """True for an equation of a text."""
    return isinstance(equation, Equation) and equation.text is not None


def _who(equation: AnyEquation) -> str:
    return f"equation {equation.name} ({type(equation).__name__})"


def _outline(fields: Any) -> str:
    if not isinstance(fields, Mapping):
        return type(fields).__name__
    return ", ".join(f"{name} {value.dtype}{list(value.shape)}" for name, value in fields.items()) or "no field"
