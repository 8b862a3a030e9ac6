"""`Initial`: values at the grid points, every device filling its own block; also from a plain function."""

from __future__ import annotations

import inspect
import math
from abc import abstractmethod
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from solver.discovery import ClassName
from solver.dynamics.any_equation import AnyEquation
from solver.grid import Grid, sample
from solver.spaces import FOURIER
from solver.spaces.field import RANKS, Field
from solver.static import no_ambient_mesh


class Initial(eqx.Module):
    """A kind of initial field. Subclass it for a field of your own; its parameters are annotated attributes.

    A subclass gives `name`, `ranks` and `values`. Its numbers are leaves, which can be differentiated and batched;
    whole numbers of periods, and whatever decides shapes, are static.

    Class attributes:
        name: in run files.
        ranks: ranks of the fields that it can make: "scalar", "vector", "wavefunction". The first is the default.
        dimensions: numbers of dimensions in space in which it exists.
        periodic: True if it needs Fourier modes, and so a box without walls.
        traceable: True if `values` can be traced without devices; values read from files cannot.
    """

    name: ClassVar[Any] = ClassName()
    ranks: ClassVar[tuple[str, ...]]
    dimensions: ClassVar[tuple[int, ...]] = (1, 2, 3)
    periodic: ClassVar[bool] = False
    traceable: ClassVar[bool] = True

    def check(self, equation: AnyEquation, field: str) -> None:
        """Refuse, before the run starts, a field that it cannot be made for. Touches no device.

        Raises:
            ValueError: the message starts with the parameter and names the value needed.
        """
        self._refuse_walls(equation.grid)

    def _refuse_walls(self, grid: Grid) -> None:
        if self.periodic and grid.walls:
            raise ValueError(
                f"name = {self.name!r} between walls in {grid.walls}: {FOURIER} are needed; conduction is known there"
            )

    def notes(self, grid: Grid) -> list[str]:
        """Lines for the log on what this grid changes of the parameters, such as a velocity that was rounded."""
        return []

    def __call__(self, grid: Grid, field: Any = None, key: Array | None = None) -> Array:
        """Values at the points.

        Args:
            grid: supplies the points.
            field: rank, number of components and solenoidality of the result; a field of the first of `ranks` if
                None.
            key: from `jax.random.key`, for random fields; others ignore it.

        Returns:
            `(component, *grid.physical_shape)`, real, or complex for a wavefunction; each device fills its own block.

        Raises:
            TypeError: a key, or anything else, in the place of the field.
            ValueError: a field of a rank, or a grid of a dimension, in which this initial field does not exist;
                parameters that do not fit the grid.
        """
        field = Field(self.ranks[0]) if field is None else field
        if not isinstance(field, Field):
            given = type(field).__name__
            raise TypeError(f"{self.name}(grid, field, key): field is of type {given}; a Field, or key=…")
        if field.rank not in self.ranks:
            raise ValueError(f"{self.name} for a {field.rank}: it makes fields of rank {' or '.join(self.ranks)}")
        if grid.dimensions not in self.dimensions:
            known = " or ".join(map(str, self.dimensions))
            raise ValueError(f"{self.name} on a grid of {grid.dimensions} dimensions; it is a field in {known}")
        self._refuse_walls(grid)
        with no_ambient_mesh():
            try:
                return self.values(grid.as_real if field.real else grid.as_complex, field, key)
            except ValueError as error:
                if grid.walls and not str(error).startswith(str(self.name)):  # of the grid, which knows no name
                    raise ValueError(f"{self.name}: {error}") from error
                raise

    @abstractmethod
    def values(self, grid: Grid, field: Field, key: Array | None) -> Array:
        """The values that a call returns; `field` and `grid` have passed its checks."""

    def for_equation(self, equation: Any, field: str) -> Initial:
        """This initial field with what was left open filled in from the equation and the field that it is for."""
        return self


def as_tuples(value: Any) -> Any:
    """Lists and arrays as tuples, nested ones too; anything else as it is. For parameters that are sequences."""
    if isinstance(value, list | tuple) or (isinstance(value, np.ndarray | jax.Array) and value.ndim > 0):
        return tuple(as_tuples(entry) for entry in value)
    return value


def bounded(x: Array) -> Array:
    """x, limited to where exp(x) and cosh(x) are numbers of its precision.

    Without it the tails of a soliton in a wide box are right, but their derivatives are not a number.
    """
    limit = 0.9 * math.log(float(jnp.finfo(x.dtype).max))
    return jnp.clip(x, -limit, limit)


def component_count(field: Field, grid: Grid) -> int:
    """Number of components of a field on a grid."""
    return len(field.component_names("", grid.dimensions))


def need_resolved(name: str, what: str, periods: float, grid: Grid, axes: Sequence[int]) -> None:
    """Raises ValueError unless the grid retains this many periods, a whole number, along all of these axes."""
    if periods != int(periods):
        raise ValueError(f"{name} with {what} {periods}: a whole number is needed")
    largest = min(grid.layout.highest_mode(axis) for axis in axes)
    if abs(periods) > largest:
        raise ValueError(f"{name} with {what} {periods}: this grid resolves at most {largest}")


def per_axis(name: str, given: Sequence[Any] | None, grid: Grid, default: Sequence[float]) -> list[Any]:
    """A number for each axis; raises ValueError where there are more or fewer."""
    values = list(default if given is None else given)
    if len(values) != grid.dimensions:
        raise ValueError(f"{name} {values}: {grid.dimensions} numbers are needed, one per axis")
    return values


@cache
def from_function(function: Callable[..., Any]) -> type[Initial]:
    """The class of initial fields f(x, y, z) of a function that is written with `jax.numpy`.

    The function takes one array for each axis of the grid [length], which broadcast against each other, and returns
    one array, or a tuple with one for each component of the field.
    """
    called = getattr(function, "__name__", "function")

    class Given(Initial):
        name: ClassVar[str] = called
        ranks: ClassVar[tuple[str, ...]] = RANKS

        def check(self, equation: AnyEquation, field: str) -> None:
            try:
                jax.eval_shape(lambda: self(equation.space(field).points, equation.fields[field]))
            except ValueError as error:
                raise ValueError(f"name: {' '.join(str(error).split())}") from error
            except Exception as error:
                said = " ".join(f"{type(error).__name__}: {error}".split())
                raise ValueError(f"name: {called} cannot be evaluated: {said}") from error

        def values(self, grid: Grid, field: Field, key: Array | None) -> Array:
            _need_arguments(function, called, grid)

            def components(*points: Array) -> tuple[Array, ...]:
                return _components(function(*points), called, field, grid)

            components.__name__ = called
            return sample(components, grid)

    Given.__name__ = Given.__qualname__ = called
    Given.__doc__ = inspect.getdoc(function) or f"The function {called}."
    return Given


def _need_arguments(function: Callable[..., Any], called: str, grid: Grid) -> None:
    axes = "xyz"[: grid.dimensions]
    try:
        inspect.signature(function).bind(*axes)
    except TypeError:
        raise ValueError(f"{called}{inspect.signature(function)}: a function of {', '.join(axes)} is needed") from None


def _components(values: Any, called: str, field: Field, grid: Grid) -> tuple[Array, ...]:
    """The values that a function has returned, as one array for each component of the field."""
    if not isinstance(values, tuple | list):
        values = jnp.asarray(values)
        values = tuple(values) if values.ndim > grid.dimensions else (values,)
    parts, needed = tuple(map(jnp.asarray, values)), component_count(field, grid)
    if len(parts) != needed:
        raise ValueError(f"{called} gives components: {len(parts)}; needed for this {field.rank}: {needed}")
    if field.real and any(map(jnp.iscomplexobj, parts)):
        raise ValueError(f"{called} gives complex values: real ones are needed for a {field.rank}")
    return parts
