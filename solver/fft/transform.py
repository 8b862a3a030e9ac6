"""Transforms bound to a grid."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from solver.fft import primitive
from solver.fft.lowering import refuse_inside_shard_map
from solver.fft.method import Method
from solver.fft.point_function import PointFunction, over_points, stack
from solver.fft.pointwise_check import check_pointwise
from solver.fft.pointwise_primitive import pointwise
from solver.fft.stages import AnyArray, as_dtype, check_shape
from solver.grid import Grid
from solver.static import own_code, sealed


@dataclass(frozen=True)
class Transform:
    """Distributed Fourier transform on a grid: û(k) = (1/N) Σ_x u(x) exp(-i k·x), u(x) = Σ_k û(k) exp(i k·x).

    Only the modes that the grid retains are computed and exchanged. Any leading axes are batched. All fields share one
    all-to-all (two with pencils); on GPUs with many points each field has its own. There is never an all-gather.
    Works under `jit`, `vmap`, `grad`, `jvp` and `lax` control flow, on global arrays over Auto or Explicit mesh axes.
    An input with another sharding is moved first. Sides that the devices do not divide are padded inside.

    Args:
        grid: supplies shapes, retained modes, real or complex fields, and the device mesh.
        method: engine, fields per exchange, parts of an exchange, waves of planes.
        shift: displacement of the points, one number for each dimension in units of their spacing; None for no
            shift. Values are values at the shifted points; coefficients are the same as without a shift.

    With the rules `phase-shift-…` and `smooth`, coefficients that come from values are multiplied by
    `grid.mode_filter()`.

    Raises:
        ValueError: a method that cannot transform this grid; the message names what can.
    """

    grid: Grid
    method: Method = field(default=Method())
    shift: Array | None = None

    def __post_init__(self) -> None:
        if self.grid.walls:
            raise ValueError(
                "a Fourier transform between walls: equation.space(name) has the transforms of a field there"
            )
        self.method.check(self.grid.layout, self.grid.mesh)

    def forward(self, u: AnyArray) -> Array:
        """Coefficients `(..., *grid.spectral_shape)` of fields `(..., *grid.physical_shape)`.

        Raises:
            ValueError: another shape, complex input on a grid for real fields, or a call inside a `shard_map`.
        """
        grid = self.grid
        refuse_inside_shard_map()
        check_shape("a field", u.shape, grid.physical_shape)
        if grid.real and jnp.iscomplexobj(u):
            raise ValueError(f"a field of dtype {u.dtype} on a grid for real fields; make the grid with real=False")
        factor = 1 / math.prod(grid.physical_shape)
        u_hat = primitive.forward(as_dtype(u, grid.physical_dtype), grid.layout, grid.mesh, self.method, factor)
        return self._from_points(u_hat)

    def inverse(self, u_hat: AnyArray) -> Array:
        """Fields `(..., *grid.physical_shape)` with coefficients `(..., *grid.spectral_shape)`.

        On a grid for real fields the imaginary part that modes on the plane k = 0 of the half axis would give is
        dropped, as `numpy.fft.irfftn` does.

        Raises:
            ValueError: another shape, or a call inside a `shard_map`.
        """
        grid = self.grid
        refuse_inside_shard_map()
        check_shape("coefficients", u_hat.shape, grid.spectral_shape)
        u_hat = self._to_points(as_dtype(u_hat, grid.complex_dtype))
        return primitive.inverse(u_hat, grid.layout, grid.mesh, self.method, 1.0)

    def pointwise(
        self,
        fn: Callable[..., Any],
        fields: AnyArray | Mapping[str, AnyArray],
        parameters: Any = None,
        at_points: Any = None,
        largest: Callable[..., Any] | None = None,
    ) -> Any:
        """Coefficients of a function of the fields at each point: `forward(fn(inverse(fields)))`.

        The result is the same as of the three calls. On a CPU all fields share one exchange each way; they pass through
        the cache a few planes at a time and never exist as arrays. Across hosts of GPUs they pass in waves of planes
        (`Method.waves`). Differentiable and batched (`vmap`) over fields, parameters and arrays over points alike.

        `fn` is called with the arguments that are given, in this order: `fn(u)`, `fn(u, parameters)`,
        `fn(u, at_points)` or `fn(u, parameters, at_points)`.

        Args:
            fn: acts point by point; it is called with a part of the points at a time, of u and of `at_points`. A
                function of a module, not a lambda, so that `jit` recognises it.
            fields: coefficients `(component, *grid.spectral_shape)`, with one component axis or none; or a dict of
                such arrays by name. u holds the values `(component, x, y, z)`, by the same names if it is a dict.
            parameters: any tree of numbers, small arrays, and static values (a network with its activation, a word),
                the same at all points.
            at_points: any tree of arrays whose last axes broadcast against the points, `(…, x, y, z)`, each of these
                axes whole or of length 1: a vector of `grid.coordinates()`, a trap, a map. `fn` receives them with an
                axis for each dimension of space, to be combined with u by broadcasting.
            largest: a function of the same arguments that gives one real number for each point, such as a speed. The
                largest of these numbers is returned in addition to the coefficients; it costs no further transform.

        Floating-point parameters and arrays over points are taken in the grid's precision.

        Returns:
            Coefficients `(component, *grid.spectral_shape)` of what `fn` returns: one array or a dict by name, each
            of any number of components. With `largest` a pair of that and the largest number, on every device.

        Raises:
            ValueError: another shape; a function that mixes points or depends on where they lie (read off its trace),
                that holds arrays or traced values from outside, or that changes the dtype; a `largest` that gives
                anything but one real number for each point; arrays over points while the points are shifted.
        """
        grid = self.grid
        _refuse_method_with_parameters(fn)
        if at_points is not None:
            self.refuse_moved_points()
        u_hat, names = self._stacked(fields)
        numbers, parameters_structure = jax.tree.flatten(sealed(parameters))
        arrays, at_points_structure = jax.tree.flatten(at_points)
        function = PointFunction(
            fn,
            grid.dimensions,
            names,
            None if parameters is None else parameters_structure,
            None if at_points is None else at_points_structure,
            own_code(fn),
        )
        largest_function = None if largest is None else dataclasses.replace(function, fn=largest)
        arrays = [over_points(self._in_precision(v), grid.physical_shape) for v in arrays]
        numbers = [self._in_precision(v) for v in numbers]
        u_hat = self._to_points(as_dtype(u_hat, grid.complex_dtype))
        results = pointwise(function, u_hat, numbers, arrays, grid.layout, grid.mesh, self.method, largest_function)
        if largest is None:
            return jax.tree.map(self._from_points, results)
        return jax.tree.map(self._from_points, results[0]), results[1]

    def refuse_moved_points(self) -> None:
        """Refuse arrays over points, such as coordinates, while the points are shifted.

        Raises:
            ValueError: they are.
        """
        if self.shift is not None:
            raise ValueError(
                f"dealias {self.grid.dealias!r}: arrays over points cannot follow the points as they move; two-thirds, "
                "three-halves, one-half, smooth or none can serve this equation"
            )

    def check_function(
        self, fn: Callable[..., Any], parameters: Any, at_points: Any, components: tuple[int, ...] = ()
    ) -> None:
        """Check, as `pointwise` does, a function whose fields are transformed one by one.

        Args:
            fn: called as `fn(u, parameters, at_points)`, u an array over the points of the grid's dtype.
            parameters: as in `pointwise`.
            at_points: any tree of arrays over the points, fields among them; None if `fn` takes none.
            components: leading axes of u.

        Raises:
            ValueError: the function mixes points or depends on where they lie.
        """
        numbers, parameters_structure = jax.tree.flatten(sealed(parameters))
        arrays, at_points_structure = jax.tree.flatten(at_points)
        dimensions, points = self.grid.dimensions, self.grid.physical_shape
        over = None if at_points is None else at_points_structure
        function = PointFunction(fn, dimensions, None, parameters_structure, over, own_code(fn))
        given = ([self._in_precision(v) for v in numbers], [over_points(jnp.asarray(v), points) for v in arrays])
        specs = [tuple((v.shape, v.dtype) for v in each) for each in given]
        check_pointwise(function, points, ((*components, *points), self.grid.physical_dtype), *specs)

    def _stacked(
        self, fields: AnyArray | Mapping[str, AnyArray]
    ) -> tuple[AnyArray, tuple[tuple[str, tuple[int, ...]], ...] | None]:
        """Coefficients as one array; and the name and leading axes of each field, None if `fields` is one array.

        Raises:
            ValueError: no fields, or another shape.
        """
        grid = self.grid
        if not isinstance(fields, Mapping):
            check_shape("coefficients", fields.shape, grid.spectral_shape)
            return fields, None
        if not fields:
            raise ValueError("a dict without fields; coefficients of one field at least are needed")
        names = tuple((name, tuple(v.shape[: v.ndim - grid.dimensions])) for name, v in fields.items())
        for u_hat in fields.values():
            check_shape("coefficients", u_hat.shape, grid.spectral_shape)
        return stack(list(fields.values()), grid.dimensions), names

    def _to_points(self, u_hat: AnyArray) -> AnyArray:
        """Coefficients of the field moved by minus the shift: its values at the grid's points are those wanted."""
        return u_hat if self.shift is None else u_hat * self.grid.shift_phases(self.shift)

    def _from_points(self, u_hat: Array) -> Array:
        """Inverse of `_to_points`, of coefficients that come from values; also applies the mode filter."""
        mode_filter = self.grid.mode_filter()
        u_hat = u_hat if mode_filter is None else u_hat * mode_filter
        return u_hat if self.shift is None else u_hat * self.grid.shift_phases(-self.shift)

    def _in_precision(self, value: Any) -> AnyArray:
        """The value as an array; floating-point and complex numbers in the precision of the grid."""
        array = value if isinstance(value, jax.Array) else np.asarray(value)
        if jnp.issubdtype(array.dtype, jnp.complexfloating):
            return as_dtype(array, self.grid.complex_dtype)
        return as_dtype(array, self.grid.dtype) if jnp.issubdtype(array.dtype, jnp.floating) else array


def _refuse_method_with_parameters(fn: Callable[..., Any]) -> None:
    """Raises ValueError for a method of an object that holds arrays or numbers: a program would keep them."""
    if jax.tree.leaves(getattr(fn, "__self__", None)):
        holder = type(fn.__self__).__name__  # type: ignore[attr-defined]
        raise ValueError(
            f"{getattr(fn, '__name__', fn)} is a method of {holder}, and holds its parameters; a function of a "
            "module is needed, which gets them through `parameters`"
        )
