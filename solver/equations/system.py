"""What all equations share: named fields, their two forms, and forcings.

An equation is an immutable pytree: its parameters are leaves, which can be differentiated, batched and changed without
compiling again; the grid is static. Every field is an array `(component, …)` under its name; a scalar has one.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import NamedSharding, PartitionSpec
from jax.typing import ArrayLike
from jaxtyping import Array

from solver.discovery import ClassName
from solver.equations.companion import Companion
from solver.equations.start_changes import Shares
from solver.fft import Method, Transform
from solver.grid import Grid, Storage, moved
from solver.mesh import AnyMesh
from solver.operators import Fields
from solver.spaces import FourierSpace, Space
from solver.spaces.field import Field
from solver.spaces.manifold import by_kind, on_manifold
from solver.static import Program


def _need_grid(given: Any) -> Grid:
    if not isinstance(given, Grid):
        raise TypeError(f"an equation on {given!r}: a grid is needed, such as solver.Grid((64, 64))")
    return given


class PeriodicSystem(eqx.Module):
    """Shared by all equations; not subclassed directly by users.

    Class attributes:
        name: in run files; the class's own name in small letters if it is not given.
        fields: name → `Field`, in the order in which they are stacked for transforms.
        dimensions: numbers of dimensions in space that make sense.

    Args:
        grid: where the fields live.
        method: how the equation's transforms are carried out: engine, what shares an exchange and in which precision.
            Unless that is below the grid's it changes round-off only.
    """

    grid: Grid = eqx.field(static=True, converter=_need_grid)
    method: Method = eqx.field(default=Method(), static=True, kw_only=True)

    name: ClassVar[Any] = ClassName()
    fields: ClassVar[Mapping[str, Field]]
    dimensions: ClassVar[tuple[int, ...]] = (1, 2, 3)

    @classmethod
    def why_not_in(cls, dimensions: int) -> str:
        """The end of a message: what makes no sense in so many dimensions of space, if that is known."""
        return ""

    def __check_init__(self) -> None:
        # runs after any `__init__`, a subclass's own too; the one attribute that is not left as it was given
        grid = self.with_points(self.grid)
        object.__setattr__(self, "grid", grid.as_real if self.is_real() else grid.as_complex)
        if self.grid.dimensions not in self.dimensions:
            known = " or ".join(map(str, self.dimensions))
            why = self.why_not_in(self.grid.dimensions)
            raise ValueError(f"{self.name} in {self.grid.dimensions} dimensions: {known} are known{why}")
        self.method.check(self.grid.layout, self.grid.mesh)

    @classmethod
    def with_points(cls, grid: Grid) -> Grid:
        """The grid with the points at which fields of this class are sampled; those of a periodic box by default.

        Override it where a space of one's own has other points: return a subclass of `Grid` with other `coordinates`.
        """
        return grid

    def __hash__(self) -> int:
        """`jax.jit` of a method hashes the equation; its forcings may be a dict."""
        return hash((type(self), self.grid, self.method, *jax.tree.leaves(self)))

    @classmethod
    def is_real(cls) -> bool:
        """Whether any of its fields is real at the points: then `self.grid` is that of its real fields."""
        return any(field.real for field in cls.fields.values())

    def on_mesh(self, mesh: AnyMesh) -> Any:
        """The same equation on other devices; `solver.hand_over` moves its states there.

        Parameters that are committed to devices, whole on each, are copied from device to device.

        Raises:
            ValueError: a mesh that cannot split the grid, or a parameter that is split over the devices: how it is to
                be split elsewhere is not known.
        """
        grid = dataclasses.replace(self.grid, mesh=mesh)
        self.method.check(grid.layout, mesh)
        everywhere = NamedSharding(mesh, PartitionSpec())

        def move(path: Any, leaf: Any) -> Any:
            if not isinstance(leaf, jax.Array) or isinstance(leaf, jax.core.Tracer) or not leaf.committed:
                return leaf
            if not leaf.sharding.is_fully_replicated:
                name = jax.tree_util.keystr(path).lstrip(".")
                raise ValueError(
                    f"{self.name}: parameter {name} is split over {len(leaf.devices())} devices; an equation that is "
                    "made on the other mesh is needed, with this parameter there"
                )
            return moved(leaf, leaf.shape, everywhere)

        copy = jax.tree_util.tree_map_with_path(move, self)
        object.__setattr__(copy, "grid", grid)
        for name, given in vars(self).items():
            if isinstance(given, dict):  # JAX sorts the names; columns of files have the order that is given
                object.__setattr__(copy, name, {key: getattr(copy, name)[key] for key in given})
        return copy

    def space(self, name: str) -> Space:
        """Where a field lives: how a state stores it, what it is at the points, and all that follows from that.

        By default a Fourier series; override it for other functions of space.
        """
        return FourierSpace(name, self.fields[name], self.grid, self.method)

    @property
    def spaces(self) -> dict[str, Space]:
        """The space of each field, by name."""
        return {name: self.space(name) for name in self.fields}

    def forcings(self) -> dict[str, Any]:
        """Forcings by field name; none for an equation that has no place for them."""
        return {}

    def start_forcing(self, key: Any, fields: Fields) -> dict[str, Any]:
        """State of each forcing at the start of a run from these fields.

        Raises:
            ValueError: a random forcing without a key.
        """
        return {
            name: forcing.start_from(fields[name], self.space(name).fourier, forcing_key(forcing, key, i, 0))
            for i, (name, forcing) in enumerate(self.forcings().items())
        }

    def advance_forcing(self, states: dict[str, Any], key: Any, step: ArrayLike, dt: ArrayLike) -> dict[str, Any]:
        """State of each forcing for step number `step`, which begins now."""
        return {
            name: forcing.advance(states[name], forcing_key(forcing, key, i, step + 1), dt, self.space(name).fourier)
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

    def fastest_decay(self) -> float:
        """The largest rate at which N makes the fields decay [1/time], of what is known: of bodies, else 0."""
        return 0.0

    def longest_step(self) -> Any:
        """The longest step with which its forcings act as they say [time]; infinite where any will do."""
        limits = [forcing.longest_step() for forcing in self.forcings().values()]
        finite = [limit for limit in limits if limit is not math.inf]
        return functools.reduce(jnp.minimum, finite) if finite else math.inf

    def prepared(self) -> Any:
        """This equation with what many evaluations of it have in common, made once; called where steps begin."""
        return self

    def starting(self, fields: Fields, t: ArrayLike) -> Any:
        """This equation for the step that starts from these fields at time t."""
        return self

    def first_and_rate(self, fields: Fields, t: ArrayLike) -> tuple[Any, Array]:
        """N at the start of a step, for `with_first_evaluation`, or `()` where it is not at hand; and the rate."""
        return (), self.rate(fields)

    def with_first_evaluation(self, first: Any) -> Any:
        """This equation with N at the start of a step, where step control has evaluated it already and it is of use."""
        return self

    def prepare_kicks(self, dt: ArrayLike) -> dict[str, Any]:
        """What its forcings that kick make of the size of a step alone, for `kicked`; empty where none does."""
        return {}

    def kicked(self, fields: Fields, prepared: Any) -> Fields:
        """Fields at the end of a step, after the kicks of its forcings."""
        return fields

    @property
    def transform(self) -> Transform:
        """The Fourier transform between points and coefficients; of the real fields if there are both kinds.

        Raises:
            ValueError: fields that are no Fourier series; `equation.space(name)` has their transforms.
        """
        return self.space(self.first_field).fourier_transform

    @property
    def first_field(self) -> str:
        """The first of its real fields, or of its complex ones if it has no other: they live on `self.grid`."""
        return next((name for name, field in self.fields.items() if field.real), next(iter(self.fields)))

    @property
    def exchange_rounding(self) -> dict[str, Any] | None:
        """Precision of exchanges and number of devices, if results depend on them beyond round-off; else None."""
        return self.method.rounding(self.grid.complex_dtype.itemsize, self.grid.layout)

    def _each_kind(self, transform: Callable[[Space, Array], Array], fields: Fields) -> Fields:
        """Fields in the equation's order, those of one kind passed through one call as one array."""
        done: Fields = {}
        for names in by_kind(self.spaces, self.fields):
            together = {name: fields[name] for name in names}
            done |= self.split(transform(self.space(names[0]), self.join(together)), names)
        return {name: done[name] for name in self.fields}

    def component_names(self, name: str) -> tuple[str, ...]:
        """Names of a field's components, as snapshots call them."""
        return self.fields[name].component_names(name, self.grid.dimensions)

    def counted(self, name: str, values: Array, power: float = 1) -> Array:
        """A field with each component times how often it stands among all, to a power; see `Field.counts`."""
        counts = self.fields[name].counts(self.grid.dimensions)
        if set(counts) == {1}:
            return values
        weights = np.asarray(counts, self.grid.dtype) ** power
        return values * weights.reshape(-1, *[1] * self.grid.dimensions)

    def physical_shapes(self) -> dict[str, tuple[int, ...]]:
        """Shape of each field at the points."""
        return {name: space.values.shape for name, space in self.spaces.items()}

    def values_at_points(self) -> dict[str, jax.ShapeDtypeStruct]:
        """Shape and dtype of each field at the points."""
        return {name: space.values for name, space in self.spaces.items()}

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
    def field_storage(self) -> dict[str, Storage]:
        """Whether a state holds the modes of a field or its values at the points, by name."""

    def field_shapes(self) -> dict[str, jax.ShapeDtypeStruct]:
        """Shape and dtype of each field as a state holds it, and of its companions, whose start is traced."""
        fields = {name: self._in_state(name, storage) for name, storage in self.field_storage().items()}
        return {**fields, **jax.eval_shape(self.beside_at_start, fields)} if self.beside() else fields

    def _in_state(self, name: str, storage: Storage) -> jax.ShapeDtypeStruct:
        """Shape and dtype of a field as a state holds it."""
        space = self.space(name)
        return space.coefficients if storage.holds == "modes" else space.values

    @abstractmethod
    def start_from(self, u: Fields) -> tuple[Fields, Shares]:
        """Fields as a state holds them, from values at the points `(component, x, y, z)` by name.

        Returns:
            The fields, and the shares of their mean squares that are not kept (`start_changes.shares_removed`).
        """

    def from_physical(self, u: Fields) -> Fields:
        """Fields as a state holds them, from values at the points `(component, x, y, z)` by name."""
        return self.start_from(u)[0]

    @abstractmethod
    def to_physical(self, fields: Fields) -> Fields:
        """Values at the points, from what a state holds."""

    @abstractmethod
    def coefficients(self, fields: Fields) -> Fields:
        """Fourier coefficients, from what a state holds."""

    def unsolved_modes(self) -> dict[str, Array]:
        """By unknown, how many stored modes other than the mean its equation does not give; see `UnsolvedModes`."""
        return {}

    # ---- what is moved beside the fields --------------------------------------------------------------------

    def beside(self) -> dict[str, Companion]:
        """Companions of the fields, by name; the energy budget, which nothing reads, is not among them."""
        return {}

    def beside_at_start(self, fields: Fields) -> dict[str, Array]:
        """The numbers of its companions at the start of a run from these fields, by name."""
        return {name: companion.start(self, fields) for name, companion in self.beside().items()}

    def fields_alone(self, entries: Mapping[str, Any]) -> dict[str, Any]:
        """The fields among the entries of a state, or of what changes them."""
        return {name: entry for name, entry in entries.items() if name in self.fields}

    # ---- the fields' manifold -------------------------------------------------------------------------------

    def constrain(self, fields: Fields) -> Fields:
        """A condition of the equation's own on what a state holds, met after every step; none by default.

        What the fields declare (real, `solenoidal`, `zero_mean`) is kept without it.
        """
        return fields

    def to_manifold(self, fields: Fields) -> Fields:
        """Fields of a state put back onto their manifold. Not to be overridden: see `constrain`."""
        return on_manifold(self.constrain(fields), self.spaces)

    @property
    def self_focusing(self) -> ArrayLike | None:
        """g of the term i g|ψ|²ψ in ψ_t = ½ i∇²ψ + …, positive where waves focus themselves; None without the term."""
        return None

    @property
    def self_gravity(self) -> ArrayLike | None:
        """g of ∇²V = g(|ψ|² − ⟨|ψ|²⟩) in i ψ_t = (−½∇² + V)ψ; None for an equation without such a potential."""
        return None

    @property
    def has_rate(self) -> bool:
        """Whether `rate` means anything: without one steps are fixed, or chosen by a tolerance."""
        return not self.why_no_rate

    @property
    def why_no_rate(self) -> str:
        """Why `rate` means nothing; empty where it does."""
        return ""

    @abstractmethod
    def rate(self, fields: Fields) -> Array:
        """Inverse time [1/time] such that the CFL number is dt · rate."""

    def error_scales(self, sizes: Fields) -> Fields:
        """The size of each field that its errors are relative to, by name, where a tolerance controls the steps.

        Override it where one field drives another that may start at zero, whose own size then says little. No
        communication.

        Args:
            sizes: root mean square of each field over the box, of its own units.
        """
        return sizes

    def check(self) -> None:
        """Trace the dynamics on shapes alone; touches no device. Raises ValueError where they do not fit the fields."""
        return


def compiled(fn: Callable[..., Any], **options: Any) -> Program:
    """`jax.jit` of a function of equations, steppers and arrays: what is no array in them is static, and the numbers of
    an equation are in the precision of its grid. `options` are those of `jax.jit`."""
    return Program(fn, in_precision, **options)


def in_precision(module: Any) -> Any:
    """An equation whose floating-point and complex arrays have the precision of its grid; another module as it is.

    Python's own numbers stay as they are: they take the precision of what they meet.
    """
    if not isinstance(module, PeriodicSystem):
        return module
    grid = module.grid

    def cast(leaf: Any) -> Any:
        if not isinstance(leaf, np.ndarray | np.generic | jax.Array | jax.ShapeDtypeStruct):
            return leaf
        for kind, dtype in ((jnp.complexfloating, grid.complex_dtype), (jnp.floating, grid.dtype)):
            if jnp.issubdtype(leaf.dtype, kind) and leaf.dtype != dtype:
                return jax.ShapeDtypeStruct(leaf.shape, dtype) if not hasattr(leaf, "astype") else leaf.astype(dtype)
        return leaf

    return jax.tree.map(cast, module)


NUMBERS = int | float | complex | np.ndarray | np.generic | jax.Array  # and arrays of them, traced ones too


def require(
    name: str, value: Any, needed: str, least: float = -math.inf, above: float = -math.inf, *, real: bool = True
) -> None:
    """Refuse a flag, a complex number (unless `real` is False), one not finite, below `least` or not above `above`.

    Of a value that is being traced it is only known whether it is complex: see `nothing_unless`.

    Raises:
        ValueError: the message names the parameter, the value and what is needed.
    """
    for entry in jax.tree.leaves(value):
        if not isinstance(entry, NUMBERS):
            continue
        if jnp.issubdtype(jnp.result_type(entry), jnp.bool_):
            raise ValueError(f"{name} {_said(value)}: {needed} is needed, which is not a flag")
        if real and jnp.iscomplexobj(entry):
            raise ValueError(f"{name} {_said(value)}: {needed} is needed, which is not complex")
        if not isinstance(entry, jax.core.Tracer):
            numbers = np.asarray(entry)
            ordered = numbers.real if np.iscomplexobj(numbers) else numbers
            if not (np.all(np.isfinite(numbers)) and np.all((ordered >= least) & (ordered > above))):
                raise ValueError(f"{name} {_said(value)}: {needed} is needed")


def nothing_unless(value: Any, least: float = -math.inf, above: float = -math.inf) -> Any:
    """The value, and not a number where one that is being traced is what `require` would refuse; nothing else changes.

    Under `jit` and other transformations nothing can be raised: results and their derivatives are not a number either.
    """

    def mark(entry: Any) -> Any:
        if not isinstance(entry, jax.core.Tracer) or not jnp.issubdtype(entry.dtype, jnp.inexact):
            return entry
        ordered = jnp.real(entry)
        return jnp.where(jnp.isfinite(entry) & (ordered >= least) & (ordered > above), entry, jnp.nan)

    return jax.tree.map(mark, value)


def need(
    module: eqx.Module,
    attribute: str,
    name: str,
    needed: str,
    least: float = -math.inf,
    above: float = -math.inf,
    *,
    real: bool = True,
) -> None:
    """`require` of an attribute, for `__check_init__`; it is put through `nothing_unless`."""
    value = getattr(module, attribute)
    require(name, value, needed, least, above, real=real)
    object.__setattr__(module, attribute, nothing_unless(value, least, above))


def _said(value: Any) -> str:
    """A value in a message: an array of many numbers by its shape."""
    return f"of shape {list(np.shape(value))}" if hasattr(value, "shape") and np.size(value) > 9 else str(value)


def require_shape(name: str, value: Any, shape: tuple[int, ...]) -> None:
    """Refuse a parameter that has another shape; of nested tuples and lists as of arrays.

    Raises:
        ValueError: the message names the parameter, the value and what is needed.
    """

    def shape_of(value: Any) -> tuple[int, ...] | None:
        if not isinstance(value, tuple | list):
            return None if isinstance(value, str) else tuple(np.shape(value))
        inner = {shape_of(entry) for entry in value}
        below = inner.pop() if len(inner) == 1 else None if inner else ()
        return None if below is None else (len(value), *below)

    if shape_of(value) != shape:
        needed = "one number is" if shape == () else f"{' × '.join(map(str, shape))} numbers are"
        raise ValueError(f"{name} {_said(value)}: {needed} needed")


def forcing_key(forcing: Any, key: Any, position: int, count: ArrayLike) -> Any:
    """A key for each forcing and step, from the run's; 0 counts the start, so that no step shares its numbers."""
    if not forcing.random:
        return ()
    if isinstance(key, tuple):
        raise ValueError(f"forcing {forcing.name} is random: initial_state needs a seed")
    return jax.random.fold_in(jax.random.fold_in(jax.random.fold_in(key, 2**31 - 1), position), count)
