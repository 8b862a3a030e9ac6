"""The part that all equations share: named fields, their two forms, their devices, and their report to outputs.

An equation is an immutable pytree: its parameters are leaves, which can be differentiated, batched and changed without
compiling again; the grid is static. Every field is an array `(component, …)` under its name; a scalar has one.
"""

from __future__ import annotations

import dataclasses
import math
from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping
from types import FunctionType, MappingProxyType
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import NamedSharding, PartitionSpec
from jax.typing import ArrayLike
from jaxtyping import Array

from solver.discovery import ClassName
from solver.dynamics.companion import Companion, companions_at_start
from solver.dynamics.compiled import one_program
from solver.dynamics.report import Report
from solver.dynamics.start_changes import Shares
from solver.dynamics.summary import summary, summary_in_html
from solver.fft import Method, Transform
from solver.grid import Grid, Storage, moved
from solver.mesh import AnyMesh
from solver.operators import Fields
from solver.spaces import Space
from solver.spaces.field import Field, kinds_of
from solver.spaces.manifold import on_manifold


def _need_grid(given: Any) -> Grid:
    if not isinstance(given, Grid):
        raise TypeError(f"an equation on {given!r}: a grid is needed, such as solver.Grid((64, 64))")
    return given


class AnyEquation(eqx.Module):
    """Shared by `Equation` and `SplitEquation`; not subclassed directly by users.

    Class attributes:
        name: name in run files; the class's own name in small letters if it is not given.
        fields: name → `Field`, in the order in which they are stacked for transforms.
        dimensions: numbers of dimensions in space that make sense.
        units: units of each column of the series that do not follow from the units of the fields; if a class gives
            `series`, units of all its columns, in their order.
        spectrum_laws: p of the power law E(k) ∝ k^−p that is expected of energy spectra, by the number of dimensions;
            figures of spectra show k^p E(k) too.

    Args:
        grid: grid of the fields.
        method: method of the equation's transforms: engine, fields that share an exchange, and precision of the
            exchange. Unless this precision is below the precision of the grid, the method changes round-off only.
    """

    grid: Grid = eqx.field(static=True, converter=_need_grid)
    method: Method = eqx.field(default=Method(), static=True, kw_only=True)

    name: ClassVar[Any] = ClassName()
    fields: ClassVar[Mapping[str, Field]]
    dimensions: ClassVar[tuple[int, ...]] = (1, 2, 3)
    units: ClassVar[dict[str, str]] = {}
    spectrum_laws: ClassVar[Mapping[int, float]] = {}

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        for name in Report.__dataclass_fields__:
            if isinstance(vars(cls).get(name), FunctionType) and not hasattr(AnyEquation, name):
                raise TypeError(
                    f"equation {cls.__name__}: nobody asks for its method {name}(); what it reports is given in "
                    f"reported(self, report): return dataclasses.replace(report, {name}=…)"
                )

    def __check_init__(self) -> None:
        # runs after any `__init__`, a subclass's own too; the one attribute that is not left as it was given
        grid = self.with_points(self.grid)
        object.__setattr__(self, "grid", grid.as_real if self.is_real() else grid.as_complex)
        refuse_dimensions(self)
        if self.grid.walls is None:
            self.method.check(self.grid.layout, self.grid.mesh)

    @classmethod
    def with_points(cls, grid: Grid) -> Grid:
        """The grid with the points at which fields of this class are sampled; the points of a periodic box by default.

        Override it where a space of one's own has other points: return a subclass of `Grid` with other `coordinates`.
        """
        return grid

    def __str__(self) -> str:
        return summary(self)

    def _repr_html_(self) -> str:
        return summary_in_html(self)

    def __hash__(self) -> int:
        """`jax.jit` of a method hashes the equation; its forcings may be a dict."""
        modes = {id(leaf) for leaf in jax.tree.leaves(getattr(self, "between", None))}  # which follow from the rest
        leaves = [leaf for leaf in jax.tree.leaves(self) if id(leaf) not in modes]
        return hash((type(self), self.grid, self.method, *leaves))

    @classmethod
    def is_real(cls) -> bool:
        """True if any of its fields is real at the points: then `self.grid` is the grid of its real fields."""
        return any(field.real for field in kinds_of(cls))

    def on_mesh(self, mesh: AnyMesh) -> Any:
        """The same equation on other devices; `solver.hand_over` moves its states there.

        Parameters that are committed to devices, whole on each, are copied from device to device.

        Raises:
            ValueError: a mesh that cannot split the grid, or a parameter that is split over the devices, whose
                split on other devices is not known.
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

        return self._copied(grid, lambda equation: jax.tree_util.tree_map_with_path(move, equation))

    def on_grid(self, grid: Grid) -> Any:
        """The same equation on another grid of its box, without forcings, closure and bodies. Its parameters, which
        may be traced, are not checked again."""
        return self._copied(grid, lambda equation: jax.tree.map(lambda leaf: leaf, equation))

    def _copied(self, grid: Grid, copied: Callable[[Any], Any]) -> Any:
        """A copy on another grid; `copied` makes it but for its grid."""
        copy = copied(self)
        object.__setattr__(copy, "grid", grid)
        for name, given in vars(self).items():
            if isinstance(given, dict):  # JAX sorts the names; columns of files have the order that is given
                object.__setattr__(copy, name, {key: getattr(copy, name)[key] for key in given})
        return copy

    # ---- the fields and where they live ---------------------------------------------------------------------

    @abstractmethod
    def space(self, name: str) -> Space:
        """Space of a field: its storage in a state, its values at the points, and all that follows from them."""

    @property
    def spaces(self) -> dict[str, Space]:
        """The space of each field, by name."""
        return {name: self.space(name) for name in self.fields}

    @property
    def first_field(self) -> str:
        """The first of its real fields, or of its complex ones if it has no other: they live on `self.grid`."""
        return next((name for name, field in self.fields.items() if field.real), next(iter(self.fields)))

    @property
    def transform(self) -> Transform:
        """The Fourier transform between points and coefficients; of the real fields if there are both kinds.

        Raises:
            ValueError: fields that are no Fourier series; `equation.space(name)` has their transforms.
        """
        return self.space(self.first_field).fourier_transform

    @property
    def exchange_rounding(self) -> dict[str, Any] | None:
        """Precision of exchanges and number of devices, if results depend on them beyond round-off; else None."""
        return self.method.rounding(self.grid.complex_dtype.itemsize, self.grid.layout)

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
        ends = np.cumsum([len(self.space(name).component_names) for name in chosen])
        return dict(zip(chosen, jnp.split(stacked, ends[:-1]), strict=True))

    def fields_alone(self, entries: Mapping[str, Any]) -> dict[str, Any]:
        """The fields among the entries of a state, or among their changes."""
        return {name: entry for name, entry in entries.items() if name in self.fields}

    # ---- the fields' two forms ------------------------------------------------------------------------------

    @abstractmethod
    def field_storage(self) -> dict[str, Storage]:
        """Storage of each field in a state, by name: as modes or as values at the points."""

    def companion_storage(self) -> dict[str, Storage]:
        """Storage of each companion in a state, by name."""
        return {name: companion.storage(self) for name, companion in self.companions_by_name().items()}

    def field_shapes(self) -> dict[str, jax.ShapeDtypeStruct]:
        """Shape and dtype of each field as a state holds it, and of its companions, whose start is traced."""
        spaces = self.spaces
        fields = {
            name: spaces[name].coefficients if storage.holds == "modes" else spaces[name].values
            for name, storage in self.field_storage().items()
        }
        if not self.companions_by_name():
            return fields
        return {**fields, **jax.eval_shape(lambda fields: companions_at_start(self.at_time(math.nan), fields), fields)}

    @abstractmethod
    def start_from(self, u: Fields) -> tuple[Fields, Shares]:
        """Fields as a state holds them, from values at the points `(component, x, y, z)` by name.

        Returns:
            The fields, and the shares of their mean squares that are not kept (`start_changes.shares_removed`).
        """

    def unresolved(self) -> Shares:
        """Shares of the mean square of what its parameters give at the points that lie beyond the modes, by the field
        that it acts on; nothing by default. Products with these parts are not free of aliases."""
        return {}

    @one_program
    def from_physical(self, u: Fields) -> Fields:
        """Fields as a state holds them, from values at the points `(component, x, y, z)` by name."""
        return self.start_from(u)[0]

    @abstractmethod
    def to_physical(self, fields: Fields) -> Fields:
        """Values at the points, from the entries of a state."""

    @abstractmethod
    def coefficients(self, fields: Fields) -> Fields:
        """Fourier coefficients, from the entries of a state."""

    def constrain(self, fields: Fields) -> Fields:
        """A condition of the equation's own on the fields of a state, met after every step; no condition by default.

        The declared properties of fields (real, `solenoidal`, `zero_mean`) are kept without it.
        """
        return fields

    def to_manifold(self, fields: Fields) -> Fields:
        """Fields of a state put back onto their manifold. Not to be overridden: see `constrain`."""
        return on_manifold(self.constrain(fields), self.spaces)

    # ---- how it is stepped ----------------------------------------------------------------------------------

    def at_time(self, t: ArrayLike) -> Any:
        """This equation at time t, where conditions at its walls or its text between walls hold t; else itself.

        What looks at whole fields needs it there: values at the points, columns, the report. What takes a time of its
        own, such as `nonlinear`, and steps do not.

        Args:
            t: time of the fields; NaN where shapes alone are wanted.
        """
        return self

    @abstractmethod
    def forcings(self) -> dict[str, Any]:
        """Forcings by field name; empty for an equation that has no place for them."""

    @abstractmethod
    def companions_by_name(self) -> dict[str, Companion]:
        """Companions of the fields, by name; the energy budget, which nothing reads, is not among them."""

    @abstractmethod
    def at_step(self, forcing: Mapping[str, Any] = MappingProxyType({}), key: Any = (), step: ArrayLike = 0) -> Any:
        """This equation as steppers take it during one step.

        Args:
            forcing: state of each of its forcings in this step, by field name.
            key: random key of the run, where points move at random.
            step: number of the step.
        """

    @abstractmethod
    def prepared(self) -> Any:
        """This equation with the arrays that many evaluations share, made once; called where steps begin."""

    @abstractmethod
    def rate(self, fields: Fields) -> Array:
        """Inverse time [1/time] such that the CFL number is dt · rate."""

    @property
    @abstractmethod
    def why_no_rate(self) -> str:
        """Reason why `rate` has no meaning, so that steps are fixed or chosen by a tolerance; empty if it has one."""

    def error_scales(self, sizes: Fields) -> Fields:
        """The size of each field that its errors are relative to, by name, where a tolerance controls the steps.

        Override it where one field drives another that may start at zero, whose own size then says little. No
        communication.

        Args:
            sizes: root mean square of each field over the box, of its own units.
        """
        return sizes

    @abstractmethod
    def check(self) -> None:
        """Trace the dynamics on shapes alone; touches no device. Raises ValueError where they do not fit the fields."""

    # ---- what is reported of it -----------------------------------------------------------------------------

    @property
    @abstractmethod
    def report(self) -> Report:
        """The functions that outputs call, made from its fields or its text, as `reported` changes them."""

    def reported(self, report: Report) -> Report:
        """Its report, from the given one, which is made of its fields or its text: `dataclasses.replace(report, …)`.

        Override it to report otherwise, or more; by default it is the given one. A subclass of an equation of the
        library starts from `super().reported(report)`.
        """
        return report

    @one_program
    def series(self, fields: Fields, dt: ArrayLike) -> dict[str, Array]:
        """Row of series.csv: numbers by column, `cfl` among them, in the order of their units."""
        report = self.report
        columns = report.columns(fields)
        if not self.why_no_rate:
            columns = {**columns, "cfl": dt * self.rate(fields)}
        units = report.units()
        if missing := [name for name in units if name not in columns]:
            raise ValueError(f"{self.name}: units names the column {missing[0]!r}, which columns() does not give")
        return {name: columns[name] for name in units}

    @one_program
    def spectra(self, fields: Fields) -> dict[str, Array]:
        """Shell spectra by name, each on `diagnostics.shell_wavenumbers(grid)`; by default ½|û|² of each field."""
        return self.report.spectra(fields)

    @one_program
    def snapshot(self, fields: Fields) -> dict[str, Array]:
        """Real values at the points by name: scalars `(x, y, z)`, vectors `(component, x, y, z)`.

        By default every field; of a wavefunction its real and imaginary part.
        """
        return self.report.snapshot(fields)

    @one_program
    def conserved(self, fields: Fields) -> dict[str, Array]:
        """Quantities that the equation conserves; series.csv has their drift since the start. None by default."""
        return self.report.conserved(fields)


def refuse_dimensions(equation: AnyEquation, why: str = "") -> None:
    """Refuse a grid of a number of dimensions in which the equation makes no sense.

    Args:
        equation: equation with its grid.
        why: reason why it makes no sense there, if it is known.
    """
    if equation.grid.dimensions not in equation.dimensions:
        known = " or ".join(map(str, equation.dimensions))
        raise ValueError(
            f"{equation.name} in {equation.grid.dimensions} dimensions: {known} are known{why and f'; {why}'}"
        )
