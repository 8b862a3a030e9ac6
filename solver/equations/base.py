"""What every equation offers: named fields, their two forms, what is reported about them, and its own dynamics.

`Equation` is u_t = L u + N(u, t), held as coefficients: integrating-factor, exponential and implicit steppers take it.
`SplitEquation` is i ψ_t = (T + V) ψ, held at the points: a splitting stepper takes it. An equation is an immutable
pytree: its parameters are leaves, which can be differentiated, batched and changed without compiling again; the grid
is static. Every field is an array `(component, …)` under its name; a scalar has one component.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike
from jaxtyping import Array

from solver.diagnostics import mean_product, mean_square, shell_spectrum
from solver.discovery import ClassName
from solver.equations.budget import BUDGET, Budget, Changes, columns
from solver.equations.driven import Driven
from solver.equations.field import Field
from solver.fft import Method, Transform
from solver.grid import Grid
from solver.operators import Fields, LinearOperator


class PeriodicSystem(eqx.Module):
    """Shared by all equations; not subclassed directly by users.

    Class attributes:
        name: in run files; the class's own name in small letters if it is not given.
        fields: name → `Field`, in the order in which they are stacked for transforms.
        dimensions: numbers of dimensions in space that make sense.
        units: of each series column, in the order of `series`; derived from the fields for the default series.

    Args:
        grid: where the fields live.
        method: how the equation's transforms are carried out: engine, fields per exchange. Changes round-off only.
    """

    grid: Grid = eqx.field(static=True)
    method: Method = eqx.field(default=Method(), static=True, kw_only=True)

    name: ClassVar[Any] = ClassName()
    fields: ClassVar[Mapping[str, Field]]
    dimensions: ClassVar[tuple[int, ...]] = (1, 2, 3)
    units: ClassVar[dict[str, str]] = {}

    def __check_init__(self) -> None:
        # runs after any `__init__`, a subclass's own too; the one attribute that is not left as it was given
        object.__setattr__(self, "grid", self.grid.as_real if self.is_real() else self.grid.as_complex)
        if self.grid.dimensions not in self.dimensions:
            known = " or ".join(map(str, self.dimensions))
            raise ValueError(f"{self.name} in {self.grid.dimensions} dimensions: {known} are known")
        self.method.check(self.grid.layout, self.grid.mesh)

    def __hash__(self) -> int:
        """`jax.jit` of a method hashes the equation; its forcings may be a dict."""
        return hash((type(self), self.grid, self.method, *jax.tree.leaves(self)))

    @classmethod
    def is_real(cls) -> bool:
        """Whether any of its fields is real at the points: then `self.grid` is that of its real fields."""
        return any(field.real for field in cls.fields.values())

    def grid_of(self, name: str) -> Grid:
        """The grid with the wavenumbers and spectral shape of a field: real or complex."""
        return self.grid.as_real if self.fields[name].real else self.grid.as_complex

    def forcings(self) -> dict[str, Any]:
        """Forcings by field name; none for an equation that has no place for them."""
        return {}

    def start_forcing(self, key: Any, fields: Fields) -> dict[str, Any]:
        """State of each forcing at the start of a run from these fields.

        Raises:
            ValueError: a random forcing without a key.
        """
        return {
            name: forcing.start_from(fields[name], self.grid_of(name), _forcing_key(forcing, key, i, 0))
            for i, (name, forcing) in enumerate(self.forcings().items())
        }

    def advance_forcing(self, states: dict[str, Any], key: Any, step: ArrayLike, dt: ArrayLike) -> dict[str, Any]:
        """State of each forcing for step number `step`, which begins now."""
        return {
            name: forcing.advance(states[name], _forcing_key(forcing, key, i, step + 1), dt)
            for i, (name, forcing) in enumerate(self.forcings().items())
        }

    def at_step(self, forcing: Mapping[str, Any] = MappingProxyType({}), key: Any = (), step: ArrayLike = 0) -> Any:
        """This equation as steppers take it during one step.

        Args:
            forcing: state of each of its forcings in this step, by field name.
            key: random key of the run, where points move at random.
            step: number of the step.
        """
        return self

    @property
    def transform(self) -> Transform:
        """Between points and coefficients of this equation's fields (of its real ones, if there are both kinds)."""
        return Transform(self.grid, self.method)

    def transform_of(self, name: str) -> Transform:
        """Between points and coefficients of one field."""
        return Transform(self.grid_of(name), self.method)

    def _of_one_kind(self, fields: Fields) -> list[Fields]:
        """The real fields and the complex ones: what one transform can take."""
        kinds = ({n: u for n, u in fields.items() if self.fields[n].real is real} for real in (True, False))
        return [kind for kind in kinds if kind]

    def _each_kind(self, transform: Callable[[str, Array], Array], fields: Fields) -> Fields:
        """Fields in the equation's order, those of one kind passed through one call as one array."""
        done: Fields = {}
        for kind in self._of_one_kind({name: fields[name] for name in self.fields}):
            done |= self.split(transform(next(iter(kind)), self.join(kind)), kind)
        return {name: done[name] for name in self.fields}

    def component_names(self, name: str) -> tuple[str, ...]:
        """Names of a field's components, as snapshots call them."""
        return self.fields[name].component_names(name, self.grid.dimensions)

    def physical_shapes(self) -> dict[str, tuple[int, ...]]:
        """Shape of each field at the points."""
        return {name: (len(self.component_names(name)), *self.grid.physical_shape) for name in self.fields}

    def values_at_points(self) -> dict[str, jax.ShapeDtypeStruct]:
        """Shape and dtype of each field at the points."""
        shapes = self.physical_shapes()
        return {name: jax.ShapeDtypeStruct(shapes[name], self.grid_of(name).physical_dtype) for name in shapes}

    def join(self, fields: Fields) -> Array:
        """Fields as one array, components after one another in the equation's order: they share one exchange."""
        if len(fields) == 1:
            return next(iter(fields.values()))
        return jnp.concatenate([fields[name] for name in self.fields if name in fields])

    def split(self, stacked: Array, names: Iterable[str] | None = None) -> Fields:
        """Inverse of `join`, of all fields or of those named."""
        chosen = list(self.fields) if names is None else [name for name in self.fields if name in set(names)]
        ends = np.cumsum([len(self.component_names(name)) for name in chosen])
        return dict(zip(chosen, jnp.split(stacked, ends[:-1]), strict=True))

    # ---- the fields' two forms ------------------------------------------------------------------------------

    @abstractmethod
    def field_shapes(self) -> dict[str, jax.ShapeDtypeStruct]:
        """Shape and dtype of each field as a state holds it: what `from_physical` returns. Traces nothing."""

    @abstractmethod
    def from_physical(self, u: Fields) -> Fields:
        """What a state holds, from values at the points `(component, x, y, z)` by name."""

    @abstractmethod
    def to_physical(self, fields: Fields) -> Fields:
        """Values at the points, from what a state holds."""

    @abstractmethod
    def coefficients(self, fields: Fields) -> Fields:
        """Fourier coefficients, from what a state holds."""

    # ---- what is reported -----------------------------------------------------------------------------------

    def series_units(self) -> dict[str, str]:
        """Units of each column of `series`, in their order."""
        if self.units:
            return dict(self.units)
        names = {name: f"({field.units})^2" for name, field in zip(self._energies(), self.fields.values(), strict=True)}
        return {**names, "cfl": "1"}

    def series(self, fields: Fields, dt: ArrayLike) -> dict[str, Array]:
        """One row of series.csv: scalars by column name. By default ½⟨|u|²⟩ of each field, and the CFL number."""
        hats = self.coefficients(fields)
        energies = {
            column: 0.5 * mean_square(hats[name], self.grid_of(name))
            for column, name in zip(self._energies(), self.fields, strict=True)
        }
        return {**energies, "cfl": dt * self.rate(fields)}

    def spectra(self, fields: Fields) -> dict[str, Array]:
        """Shell spectra by name, each on `diagnostics.shell_wavenumbers(grid)`."""
        hats = self.coefficients(fields)
        return {
            column: shell_spectrum(hats[name], self.grid_of(name))
            for column, name in zip(self._energies(), self.fields, strict=True)
        }

    def _energies(self) -> list[str]:
        return ["energy"] if len(self.fields) == 1 else [f"{name}_energy" for name in self.fields]

    def snapshot(self, fields: Fields) -> dict[str, Array]:
        """Real values at the points by name: scalars `(x, y, z)`, vectors `(component, x, y, z)`.

        By default every field; of a wavefunction its real and imaginary part.
        """
        found: dict[str, Array] = {}
        for name, u in self.to_physical(fields).items():
            values = u[0] if len(u) == 1 else u
            if self.fields[name].real:
                found[name] = values
            else:
                found |= {f"{name}_real": values.real, f"{name}_imag": values.imag}
        return found

    def snapshot_units(self) -> dict[str, str]:
        """Units of each entry of `snapshot`, as far as they are known."""
        parts = {True: ("",), False: ("_real", "_imag")}
        return {f"{name}{part}": field.units for name, field in self.fields.items() for part in parts[field.real]}

    def conserved(self, fields: Fields) -> dict[str, Array]:
        """Quantities that the equation conserves; series.csv has their drift since the start."""
        return {}

    def energies(self, fields: Fields) -> dict[str, Array]:
        """Quadratic quantities whose budget the run keeps; none by default."""
        return {}

    def budget_columns(self) -> tuple[str, ...]:
        """Names of the integrals that the run keeps for the budget of `energies`."""
        return ()

    def warnings(self, row: dict[str, float]) -> list[str]:
        """What a row of the series says should worry the user."""
        return []

    @abstractmethod
    def rate(self, fields: Fields) -> Array:
        """Inverse time [1/time] such that the CFL number is dt · rate."""

    def check(self) -> None:
        """Trace the dynamics on shapes alone; touches no device. Raises ValueError where they do not fit the fields."""
        return


class Equation(PeriodicSystem):
    """u_t = L u + N(u, t) on coefficients. Subclass this for an equation of your own.

    A subclass gives `name`, `fields`, `linear`, `nonlinear` and `rate`; the rest has defaults. Its parameters are
    annotated attributes, as in a dataclass.

    Class attributes:
        budgeted: series column → field, for the columns ½⟨|u|²⟩ whose budget the run keeps; by default all of the
            default series, and none of a series of the equation's own.

    Args:
        forcing: a `Forcing` from `solver.forcing` for an equation of one field, or a dict of them by field name. Their
            states and random numbers are the loop's: they lie in the run's `State` and its checkpoints.
        energy_budget: whether a run integrates what changes the equation's energies. Costs a sum over the modes per
            evaluation of N, and the memory of one more field.
    """

    budgeted: ClassVar[Mapping[str, str] | None] = None

    forcing: Any = eqx.field(default=None, kw_only=True)
    energy_budget: bool = eqx.field(default=True, static=True, kw_only=True)
    shift: Any = eqx.field(default=None, kw_only=True, init=False, repr=False)  # of the points, during one evaluation

    def __check_init__(self) -> None:
        if BUDGET in self.fields:
            raise ValueError(f"a field named {BUDGET!r}: another name is needed, that one is taken")
        for name, forcing in self.forcings().items():
            if name not in self.fields:
                raise ValueError(f"forcing of {name!r}: {self.name} has the fields {', '.join(self.fields)}")
            if self.fields[name].rank not in forcing.ranks:
                raise ValueError(
                    f"forcing {forcing.name} of {name}: it drives fields of rank {', '.join(forcing.ranks)}"
                )
            forcing.check(self, name)

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

    @abstractmethod
    def linear(self) -> LinearOperator:
        """L: a `Diagonal` or `Matrix` operator on the fields [1/time]."""

    @abstractmethod
    def nonlinear(self, fields: Fields, t: ArrayLike) -> Fields:
        """Coefficients of N(u, t) [u/time], zero in the padding (what `transform.forward` returns is)."""

    def energies(self, fields: Fields) -> dict[str, Array]:
        """Quadratic quantities whose budget the run keeps, by column of the series: ½⟨|u|²⟩ by default."""
        return {column: 0.5 * mean_square(fields[name], self.grid_of(name)) for column, name in self._budgeted()}

    def budget(self, fields: Fields, changes: Changes) -> Budget:
        """What changes each of the `energies`, by cause: rates whose sum is its time derivative [energy/time].

        By default ⟨u · change⟩ for the linear part, the rest, and the forcing. The run integrates the rates with the
        fields; series.csv has the integrals since its start. All-reduces only.
        """
        return {
            column: {
                "linear": self.power(fields, changes.linear, name),
                "nonlinear": self.power(fields, changes.nonlinear, name),
                **self.power_of_forcing(fields, changes, name),
            }
            for column, name in self._budgeted()
        }

    def power(self, fields: Fields, change: Fields, name: str) -> Array:
        """⟨u · change⟩ of one field: what a change [u/time] adds to ½⟨|u|²⟩ per time."""
        return mean_product(fields[name], change[name], self.grid_of(name))

    def power_of_forcing(self, fields: Fields, changes: Changes, name: str) -> dict[str, Array]:
        """The entry `forcing` of a field's budget, if it is forced."""
        return {"forcing": self.power(fields, changes.forcing, name)} if name in changes.forcing else {}

    def _budgeted(self) -> list[tuple[str, str]]:
        """Column and field of each energy that has a budget."""
        if self.budgeted is not None:
            return list(self.budgeted.items())
        return [] if self.units else list(zip(self._energies(), self.fields, strict=True))

    def budget_columns(self) -> tuple[str, ...]:
        if not self.energy_budget:
            return ()
        shapes = self.field_shapes()
        causes = {"linear": shapes, "nonlinear": shapes, "forcing": {name: shapes[name] for name in self.forcings()}}
        rates = lambda fields, causes: columns(self.budget(fields, Changes(**causes)))  # noqa: E731
        return tuple(jax.eval_shape(rates, shapes, causes))

    def at_step(self, forcing: Mapping[str, Any] = MappingProxyType({}), key: Any = (), step: ArrayLike = 0) -> Driven:
        return Driven(self, dict(forcing), key, step)

    @property
    def transform(self) -> Transform:
        return Transform(self.grid, self.method, self.shift)

    def transform_of(self, name: str) -> Transform:
        return Transform(self.grid_of(name), self.method, self.shift)

    def constrain(self, fields: Fields) -> Fields:
        """Applied after every step: removes what round-off must not be allowed to build up."""
        return fields

    def field_shapes(self) -> dict[str, jax.ShapeDtypeStruct]:
        return {
            name: jax.ShapeDtypeStruct((shape[0], *self.grid_of(name).spectral_shape), self.grid.complex_dtype)
            for name, shape in self.physical_shapes().items()
        }

    def from_physical(self, u: Fields) -> Fields:
        return self._each_kind(lambda name, values: self.transform_of(name).forward(values), u)

    def to_physical(self, fields: Fields) -> Fields:
        return self._each_kind(lambda name, u_hat: self.transform_of(name).inverse(u_hat), fields)

    def coefficients(self, fields: Fields) -> Fields:
        return fields

    def check(self) -> None:
        """Trace the dynamics on shapes alone; touches no device.

        Raises:
            ValueError: a linear part of the wrong size, or a right-hand side of other names, shapes or dtypes.
        """
        given = self.field_shapes()
        linear = jax.eval_shape(type(self).linear, self)
        if not isinstance(linear, LinearOperator):
            raise ValueError(f"{_who(self)}: linear() gives {type(linear).__name__}; a Diagonal or Matrix is needed")
        try:
            linear.check({name: field.shape for name, field in given.items()})
        except ValueError as error:
            raise ValueError(f"{_who(self)}: {error}") from None
        t = jax.ShapeDtypeStruct((), self.grid.dtype)
        at_start = lambda: self.at_step({}, jax.random.key(0), 0).on_moved_points(0)  # noqa: E731
        found = jax.eval_shape(lambda fields, t: at_start().nonlinear(fields, t), given, t)
        wanted = {n: (s.shape, s.dtype) for n, s in given.items()}
        if not isinstance(found, Mapping) or {n: (v.shape, v.dtype) for n, v in found.items()} != wanted:
            raise ValueError(f"{_who(self)}: nonlinear() gives {_outline(found)}; {_outline(given)} is needed")
        rate = jax.eval_shape(lambda fields: self.rate(fields), given)
        if rate.shape != ():
            raise ValueError(f"{_who(self)}: rate() gives shape {list(rate.shape)}; one number [1/time] is needed")


class SplitEquation(PeriodicSystem):
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
        return psi * jnp.exp(-1j * dt * potential)

    def field_shapes(self) -> dict[str, jax.ShapeDtypeStruct]:
        shapes = self.physical_shapes()
        return {name: jax.ShapeDtypeStruct(shapes[name], self.grid.complex_dtype) for name in shapes}

    def from_physical(self, u: Fields) -> Fields:
        return {name: values.astype(self.grid.complex_dtype) for name, values in u.items()}

    def to_physical(self, fields: Fields) -> Fields:
        return fields

    def coefficients(self, fields: Fields) -> Fields:
        return {name: self.transform.forward(psi) for name, psi in fields.items()}


def advection_rate(velocity: Array, grid: Grid) -> Array:
    """max over points of Σ_i |u_i|/Δx_i [1/time]; dt times this is the CFL number. One all-reduce."""
    return jnp.max(sum(jnp.abs(u) / dx for u, dx in zip(velocity, grid.spacing, strict=True)))


def require(name: str, value: Any, needed: str, least: float = -math.inf, above: float = -math.inf) -> None:
    """Refuse a parameter that is not finite, below `least` or not above `above`; a value being traced passes.

    Raises:
        ValueError: the message names the parameter, the value and what is needed.
    """
    for entry in jax.tree.leaves(value):
        if isinstance(entry, int | float | np.ndarray | np.generic | jax.Array) and not isinstance(
            entry, jax.core.Tracer
        ):
            numbers = np.asarray(entry)
            if not (np.all(np.isfinite(numbers)) and np.all((numbers >= least) & (numbers > above))):
                raise ValueError(f"{name} {value}: {needed} is needed")


def _forcing_key(forcing: Any, key: Any, position: int, count: ArrayLike) -> Any:
    """A key for each forcing and step, from the run's; 0 counts the start, so that no step shares its numbers."""
    if not forcing.random:
        return ()
    if isinstance(key, tuple):
        raise ValueError(f"forcing {forcing.name} is random: initial_state needs a seed")
    return jax.random.fold_in(jax.random.fold_in(jax.random.fold_in(key, 2**31 - 1), position), count)


def _who(equation: PeriodicSystem) -> str:
    return f"equation {equation.name} ({type(equation).__name__})"


def _outline(fields: Any) -> str:
    if not isinstance(fields, Mapping):
        return type(fields).__name__
    return ", ".join(f"{name} {value.dtype}{list(value.shape)}" for name, value in fields.items()) or "no field"
