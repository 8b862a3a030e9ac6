"""Transforms bound to a grid, and free functions with NumPy's names."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh
from jaxtyping import Array

from solver.fft import primitive
from solver.fft.engines import Method
from solver.fft.pointwise import PointFunction, over_points, stack
from solver.fft.stages import AnyArray, fit
from solver.grid import Grid, Layout
from solver.mesh import device_mesh, even_sharding, mesh_parts


@dataclass(frozen=True)
class Transform:
    """Distributed Fourier transform on a grid: û(k) = (1/N) Σ_x u(x) exp(-i k·x), u(x) = Σ_k û(k) exp(i k·x).

    Only the modes that the grid retains are computed and exchanged. Any leading axes are batched: however many
    fields go in, one transform costs one all-to-all (two with pencils), and never an all-gather. Works under `jit`,
    `vmap`, `grad`, `jvp` and `lax` control flow, on global arrays over Auto or Explicit mesh axes; an input that lies
    otherwise is moved first. Sides that the devices do not divide are padded inside.

    Args:
        grid: supplies shapes, retained modes, real or complex fields, and the device mesh.
        engine: `slabwave`, `shard_map` or `jaxdecomp` (see `solver.fft.engines`); the grid's if None.
        fields: most fields that share an exchange; the grid's, which is a whole batch unless said otherwise, if None.
            Separate exchanges can overlap with transforms of other fields; one moves larger messages.
        chunks: parts that an exchange is cut into, one after the other (slabs in three dimensions): the program
            holds 1/chunks of what is sent and received, and sends as many more messages.
        backend: of jaxdecomp: `jax` or `cudecomp`.

    Raises:
        ValueError: an engine that cannot transform this grid; the message names what can.
    """

    grid: Grid
    engine: str | None = None
    fields: int | None = None
    chunks: int = 1
    backend: str = "jax"

    def __post_init__(self) -> None:
        self.method.check(self.grid.layout, self.grid.mesh)

    @cached_property
    def method(self) -> Method:
        """How it is carried out."""
        fields = self.grid.fields_per_exchange if self.fields is None else self.fields
        return Method(self.engine or self.grid.engine, self.chunks, fields, self.backend)

    def forward(self, u: AnyArray) -> Array:
        """Coefficients `(..., *grid.spectral_shape)` of fields `(..., *grid.physical_shape)`.

        Raises:
            ValueError: another shape, complex input on a grid for real fields, or a call inside a `shard_map`.
        """
        grid = self.grid
        primitive.refuse_inside_shard_map()
        _check_shape("a field", u.shape, grid.physical_shape)
        if grid.real and jnp.iscomplexobj(u):
            raise ValueError(f"a field of dtype {u.dtype} on a grid for real fields; make the grid with real=False")
        factor = 1 / math.prod(grid.physical_shape)
        return primitive.forward(_as(u, grid.physical_dtype), grid.layout, grid.mesh, self.method, factor)

    def inverse(self, u_hat: AnyArray) -> Array:
        """Fields `(..., *grid.physical_shape)` with coefficients `(..., *grid.spectral_shape)`.

        On a grid for real fields the imaginary part that modes on the plane k = 0 of the half axis would give is
        dropped, as `numpy.fft.irfftn` does.

        Raises:
            ValueError: another shape, or a call inside a `shard_map`.
        """
        grid = self.grid
        primitive.refuse_inside_shard_map()
        _check_shape("coefficients", u_hat.shape, grid.spectral_shape)
        return primitive.inverse(_as(u_hat, grid.complex_dtype), grid.layout, grid.mesh, self.method, 1.0)

    def pointwise(
        self,
        fn: Callable[..., Any],
        fields: AnyArray | Mapping[str, AnyArray],
        parameters: Any = None,
        at_points: Any = None,
    ) -> Any:
        """Coefficients of a function of the fields at each point: `forward(fn(inverse(fields)))`.

        Same result as the three calls, with one exchange each way for all fields together. On a CPU the fields pass
        through the cache a few planes at a time, and never exist as arrays. Differentiable and batched (`vmap`) over
        fields, parameters and arrays over points alike.

        ============================  =================================================================
        given                         `fn` is called as
        ============================  =================================================================
        fields                        `fn(u)`
        fields, parameters            `fn(u, parameters)`
        fields, at_points             `fn(u, at_points)`
        fields, parameters, at_points `fn(u, parameters, at_points)`
        ============================  =================================================================

        Args:
            fn: acts point by point: it sees a part of the points at a time, of u as of `at_points`. A function of a
                module, not a lambda, so that `jit` recognises it.
            fields: coefficients `(component, *grid.spectral_shape)`, with one component axis or none; or a dict of
                such arrays by name. u holds the values `(component, x, y, z)`, by the same names if it is a dict.
            parameters: any tree of numbers and small arrays, on which `fn` depends everywhere alike.
            at_points: any tree of arrays whose last axes broadcast against the points, `(…, x, y, z)`, each of these
                axes whole or of length 1: a vector of `grid.coordinates()`, a trap, a map. `fn` receives them with as
                many axes in space, to be combined with u by broadcasting.

        Floating-point parameters and arrays over points are taken in the grid's precision.

        Returns:
            Coefficients `(component, *grid.spectral_shape)` of what `fn` returns: one array or a dict by name, each
            of any number of components.

        Raises:
            ValueError: another shape; a function that mixes points or depends on where they lie (read off its trace),
                that holds arrays or traced values from outside, or that changes the dtype.
        """
        grid = self.grid
        parts, names = [fields], None
        if isinstance(fields, Mapping):
            if not fields:
                raise ValueError("a dict without fields; coefficients of one field at least are needed")
            parts = list(fields.values())
            names = tuple((name, tuple(v.shape[: v.ndim - grid.dimensions])) for name, v in fields.items())
        for part in parts:
            _check_shape("coefficients", part.shape, grid.spectral_shape)  # type: ignore[union-attr]
        u_hat = parts[0] if names is None else stack(parts, grid.dimensions)
        numbers, inputs = jax.tree.flatten(parameters)
        arrays, maps = jax.tree.flatten(at_points)
        given = lambda argument, structure: None if argument is None else structure  # noqa: E731
        function = PointFunction(fn, grid.dimensions, names, given(parameters, inputs), given(at_points, maps))
        arrays = [over_points(self._in_precision(v), grid.physical_shape) for v in arrays]
        numbers = [self._in_precision(v) for v in numbers]
        u_hat = _as(u_hat, grid.complex_dtype)
        return primitive.pointwise(function, u_hat, numbers, arrays, grid.layout, grid.mesh, self.method)

    def _in_precision(self, value: Any) -> AnyArray:
        """An array; floating-point and complex ones in the precision of the grid."""
        array = value if isinstance(value, jax.Array) else np.asarray(value)
        if jnp.issubdtype(array.dtype, jnp.complexfloating):
            return _as(array, self.grid.complex_dtype)
        return _as(array, self.grid.dtype) if jnp.issubdtype(array.dtype, jnp.floating) else array


def _check_shape(what: str, given: Sequence[int], needed: tuple[int, ...]) -> None:
    if tuple(given[max(0, len(given) - len(needed)) :]) != needed:
        raise ValueError(f"{what} of shape {list(given)} on a grid that needs the last axes to be {list(needed)}")


def _as(u: AnyArray, dtype: Any) -> AnyArray:
    """NumPy stays NumPy: it is not to pass through a single device."""
    return u if u.dtype == dtype else u.astype(dtype)


# ---- NumPy's names ----------------------------------------------------------------------------------------------


def rfftn(
    a: AnyArray,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: str | None = None,
    *,
    mesh: Mesh | None = None,
    engine: str = "slabwave",
) -> Array:
    """All modes of real fields, as `numpy.fft.rfftn`, in the transposed layout; split over the devices.

    Args:
        a: real fields `(..., x, y, z)` or `(..., x, y)`.
        s: points along the transformed axes; fields are cut or padded with zeros to it. The field's own if None.
        axes: one to three axes to transform, x first; others are batched. The last len(s), or all but at most three.
        norm: `backward` (default), `ortho` or `forward`, as in NumPy.
        mesh: from `solver.device_mesh`; all devices by default.
        engine: as in `Transform`.

    Returns:
        `(batch..., ky, kz, kx)` with kz the half axis, or `(batch..., ky, kx)` with ky the half axis: NumPy's result
        with its axes moved. Split along ky; where the devices do not divide ky, whole on each of them outside of
        `jit` (`Transform` keeps such spectra split, padded). One all-to-all.

    Raises:
        ValueError: axes or shapes that cannot be transformed or split, complex input, or an unknown norm.
    """
    if jnp.iscomplexobj(a):
        raise ValueError(f"rfftn of dtype {a.dtype}: real input is needed; fftn takes complex")
    u, points = _prepared(a, s, axes)
    return _free(True, True, u, points, norm, mesh, engine)


def irfftn(
    a: AnyArray,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: str | None = None,
    *,
    mesh: Mesh | None = None,
    engine: str = "slabwave",
) -> Array:
    """Inverse of `rfftn`, from its layout `(batch..., ky, kz, kx)` to real fields `(batch..., x, y, z)`.

    Args:
        a: coefficients, as `rfftn` returns them.
        s: points of the field; if None, an even last side 2(kz − 1), as NumPy assumes.
        axes: number of transformed axes only: they must be the last ones. The last len(s), or all but at most three.
        norm, mesh, engine: as in `rfftn`.
    """
    stored = _stored_shape(a, s, axes)
    if s is None:
        x, others = stored[-1], stored[:-1]
        s = (x, *others[:-1], 2 * (others[-1] - 1)) if others else (2 * (x - 1),)
    return _free(False, True, a, tuple(s), norm, mesh, engine)


def fftn(
    a: AnyArray,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: str | None = None,
    *,
    mesh: Mesh | None = None,
    engine: str = "slabwave",
) -> Array:
    """All modes of complex fields, as `numpy.fft.fftn`, in the layout `(batch..., ky, kz, kx)`. See `rfftn`."""
    u, points = _prepared(a, s, axes)
    return _free(True, False, u, points, norm, mesh, engine)


def ifftn(
    a: AnyArray,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: str | None = None,
    *,
    mesh: Mesh | None = None,
    engine: str = "slabwave",
) -> Array:
    """Inverse of `fftn`: from `(batch..., ky, kz, kx)` to `(batch..., x, y, z)`. See `irfftn`."""
    stored = _stored_shape(a, s, axes)
    s = (stored[-1], *stored[:-1]) if s is None else s
    return _free(False, False, a, tuple(s), norm, mesh, engine)


def _prepared(a: AnyArray, s: Sequence[int] | None, axes: Sequence[int] | None) -> tuple[AnyArray, tuple[int, ...]]:
    """Fields with the transformed axes last, cut or padded to `s`, and their shape."""
    chosen = _axes(a.ndim, s, axes)
    d = len(chosen)
    if chosen != tuple(range(a.ndim - d, a.ndim)):
        a = jnp.moveaxis(jnp.asarray(a), chosen, range(-d, 0))
    points = tuple(a.shape[a.ndim - d :]) if s is None else tuple(int(n) for n in s)
    return fit(a, points), points


def _axes(ndim: int, s: Sequence[int] | None, axes: Sequence[int] | None) -> tuple[int, ...]:
    if axes is None:
        count = min(ndim, 3) if s is None else len(s)
        axes = range(ndim - count, ndim)
    chosen = tuple(axis % ndim if -ndim <= axis < ndim else axis for axis in axes)
    good = 1 <= len(chosen) <= 3 and len(set(chosen)) == len(chosen) and all(0 <= axis < ndim for axis in chosen)
    if not good or (s is not None and len(s) != len(chosen)):
        raise ValueError(
            f"s={s}, axes={list(axes)} for an array of {ndim} axes: one to three distinct axes of it are needed, "
            "and as many lengths s"
        )
    return chosen


def _stored_shape(a: AnyArray, s: Sequence[int] | None, axes: Sequence[int] | None) -> tuple[int, ...]:
    chosen = _axes(a.ndim, s, axes)
    if chosen != tuple(range(a.ndim - len(chosen), a.ndim)):
        raise ValueError(
            f"axes={list(axes or ())}: the transformed axes of coefficients are the last, as rfftn has them"
        )
    return tuple(a.shape[a.ndim - len(chosen) :])


def _free(
    is_forward: bool, real: bool, a: AnyArray, points: tuple[int, ...], norm: str | None, mesh: Mesh | None, engine: str
) -> Array:
    primitive.refuse_inside_shard_map()
    mesh = device_mesh([0] if len(points) == 1 else None) if mesh is None else mesh
    layout = Layout(points, "none", real, *mesh_parts(mesh))
    method = Method(engine)
    method.check(layout, mesh)
    factor = _factor(norm, is_forward, math.prod(points))
    given = points if is_forward else layout.logical_spectral_shape
    _check_shape("a field" if is_forward else "coefficients", a.shape, given)
    dtype = a.dtype if jnp.issubdtype(a.dtype, jnp.inexact) else jnp.result_type(float)
    a = _as(a, dtype if is_forward and real else jnp.result_type(dtype, jnp.complex64))
    if isinstance(a, jax.core.Tracer):
        return _unpadded(a, is_forward, layout, mesh, method, factor)
    return _free_compiled(is_forward, layout, mesh, method, factor, a.ndim)(primitive.to_mesh(a, mesh))


def _unpadded(a: AnyArray, is_forward: bool, layout: Layout, mesh: Mesh, method: Method, factor: float) -> Array:
    """The transform between arrays without any padding."""
    if is_forward:
        return fit(primitive.forward(a, layout, mesh, method, factor), layout.logical_spectral_shape)
    return primitive.inverse(fit(a, layout.spectral_shape), layout, mesh, method, factor)


@functools.cache
def _free_compiled(
    is_forward: bool, layout: Layout, mesh: Mesh, method: Method, factor: float, ndim: int
) -> Callable[[AnyArray], Array]:
    """For calls outside of `jit`."""
    result = layout.logical_spectral_shape if is_forward else layout.points
    shape = (1,) * (ndim - layout.dimensions) + result
    run = lambda a: _unpadded(a, is_forward, layout, mesh, method, factor)  # noqa: E731
    return jax.jit(run, out_shardings=even_sharding(mesh, shape, layout.dimensions))


def _factor(norm: str | None, is_forward: bool, n: int) -> float:
    """NumPy's normalisation."""
    factors = {"backward": (1.0, 1 / n), "ortho": (1 / math.sqrt(n),) * 2, "forward": (1 / n, 1.0)}
    chosen = "backward" if norm is None else norm
    if chosen not in factors:
        raise ValueError(f"norm {norm!r}: backward, ortho or forward is needed")
    return factors[chosen][0 if is_forward else 1]
