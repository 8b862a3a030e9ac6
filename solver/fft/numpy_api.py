"""Free functions with NumPy's names and arguments. They compute all modes, transposed and split over the devices."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import AbstractMesh, Mesh, NamedSharding
from jaxtyping import Array

from solver.fft import primitive
from solver.fft.lowering import refuse_inside_shard_map
from solver.fft.method import Method
from solver.fft.stages import AnyArray, as_dtype, check_shape, fit
from solver.grid import Layout
from solver.mesh import SLAB, device_mesh, is_explicit, mesh_parts

Values: TypeAlias = AnyArray | Sequence[Any]  # what NumPy makes an array of
Ints: TypeAlias = Sequence[int] | None
Norm: TypeAlias = str | None


def rfftn(
    a: Values,
    s: Ints = None,
    axes: Ints = None,
    norm: Norm = None,
    *,
    mesh: Mesh | None = None,
    engine: str = "slabwave",
) -> Array:
    """All modes of real fields, in the order (ky, kz, kx), which is not NumPy's; values as `numpy.fft.rfftn`.

    Wavenumbers in this order: `rfftfreq`. In NumPy's: `jnp.moveaxis(u_hat, -1, -3)` in three dimensions, -2 in two.

    Args:
        a: real fields `(..., x, y, z)` or `(..., x, y)`.
        s: points along the transformed axes, to which fields are cut or padded with zeros; the field's own if None.
        axes: one to three axes to transform, x first; the others are batched. If None, the last len(s) axes; without
            `s` all axes, at most the last three.
        norm: `backward` (default), `ortho` or `forward`, as in NumPy.
        mesh: from `solver.device_mesh`; if None, the mesh of an array that is split over a mesh of this kind with
            Explicit axes, else all devices.
        engine: as in `Transform`.

    Returns:
        `(batch..., ky, kz, kx)` with kz the half axis, or `(batch..., ky, kx)` with ky the half axis: NumPy's result
        with its axes moved. The result is split along ky. Where the devices do not divide ky it is, outside of `jit`,
        whole on each device (`Transform` keeps such spectra split, padded). One all-to-all.

    Raises:
        ValueError: axes or shapes that cannot be transformed or split, complex input, or an unknown norm.
    """
    return _transform(True, True, a, s, axes, norm, mesh, engine)


def irfftn(
    a: Values,
    s: Ints = None,
    axes: Ints = None,
    norm: Norm = None,
    *,
    mesh: Mesh | None = None,
    engine: str = "slabwave",
) -> Array:
    """Inverse of `rfftn`, from its order (ky, kz, kx), which is not NumPy's, to real fields `(batch..., x, y, z)`.

    Args:
        a: coefficients in the order of `rfftn`. Coefficients in the order of `numpy.fft.rfftn` are refused where their
            shape differs. For a square or a cube it does not differ, and the result would be wrong:
            `jnp.moveaxis(a, -3, -1)` reorders them (-2 in two dimensions).
        s: points of the field; if None, the last side is even, 2(kz − 1), as NumPy assumes.
        axes: the transformed axes, which must be the last ones. If None, the last len(s) axes; without `s` all axes, at
            most the last three.
        norm, mesh, engine: as in `rfftn`.
    """
    return _transform(False, True, a, s, axes, norm, mesh, engine)


def fftn(
    a: Values,
    s: Ints = None,
    axes: Ints = None,
    norm: Norm = None,
    *,
    mesh: Mesh | None = None,
    engine: str = "slabwave",
) -> Array:
    """All modes of complex fields, in the order (ky, kz, kx), which is not NumPy's; wavenumbers: `fftfreq`."""
    return _transform(True, False, a, s, axes, norm, mesh, engine)


def ifftn(
    a: Values,
    s: Ints = None,
    axes: Ints = None,
    norm: Norm = None,
    *,
    mesh: Mesh | None = None,
    engine: str = "slabwave",
) -> Array:
    """Inverse of `fftn`: from its order (ky, kz, kx), which is not NumPy's, to `(batch..., x, y, z)`. See `irfftn`."""
    return _transform(False, False, a, s, axes, norm, mesh, engine)


def _transform(
    is_forward: bool, real: bool, a: Values, s: Ints, axes: Ints, norm: Norm, mesh: Mesh | None, engine: str
) -> Array:
    """The transform behind the four functions with NumPy's names."""
    refuse_inside_shard_map()
    a = a if isinstance(a, jax.Array) else np.asarray(a)
    s = None if s is None else _whole_numbers(s)
    if is_forward and real and jnp.iscomplexobj(a):
        raise ValueError(f"rfftn of dtype {a.dtype}: real input is needed; fftn takes complex")
    a, points = _fields(a, s, axes) if is_forward else _coefficients(a, s, axes, real)
    if mesh is None:
        mesh = device_mesh([0]) if len(points) == 1 else _explicit_mesh_of(a) or device_mesh()
    if not isinstance(mesh, Mesh | AbstractMesh):
        raise TypeError(f"mesh={mesh!r}: a mesh from solver.device_mesh is needed")
    layout, method = Layout(points, "none", real, *mesh_parts(mesh)), Method(engine)
    method.check(layout, mesh)
    factor = _factor(norm, is_forward, math.prod(points))
    if not is_forward:
        _refuse_other_order(a.shape, layout)
        check_shape("coefficients", a.shape, layout.logical_spectral_shape)
    a = as_dtype(a, _dtype(a.dtype, is_complex=not (is_forward and real)))
    transform = primitive.forward if is_forward else primitive.inverse
    return transform(a, layout, mesh, method, factor, padded=False)


def _explicit_mesh_of(a: AnyArray) -> Any:
    """The mesh that the type of an array names, if its axes are Explicit ones of `solver.device_mesh`; else None."""
    sharding = jax.typeof(a).sharding if isinstance(a, jax.core.Tracer) else getattr(a, "sharding", None)
    mesh = sharding.mesh if isinstance(sharding, NamedSharding) else None
    return mesh if mesh is not None and SLAB in mesh.axis_names and is_explicit(mesh) else None


def _dtype(given: Any, *, is_complex: bool) -> np.dtype:
    """Dtype in which fields of this dtype are transformed: single precision, or the precision of a Python number."""
    if not (jnp.issubdtype(given, jnp.number) or jnp.issubdtype(given, jnp.bool_)):
        raise TypeError(f"values of dtype {given}: numbers are needed")
    is_single = jnp.issubdtype(given, jnp.inexact) and jnp.finfo(given).bits <= 32
    real = np.dtype(np.float32) if is_single else np.dtype(jnp.result_type(float))
    return np.result_type(real, np.complex64) if is_complex else real


def _refuse_other_order(shape: Sequence[int], layout: Layout) -> None:
    """Raises ValueError where coefficients have the shape of NumPy's order and not of (ky, kz, kx)."""
    needed, last_axes = layout.logical_spectral_shape, tuple(shape[len(shape) - layout.dimensions :])
    if last_axes == layout.retained != needed:
        raise ValueError(
            f"coefficients of shape {list(last_axes)} in NumPy's order (kx, ky, kz); here they are (ky, kz, kx), "
            f"{list(needed)}: jnp.moveaxis(a, {-layout.dimensions}, -1) reorders them"
        )


def _whole_numbers(s: Sequence[int]) -> tuple[int, ...]:
    """The lengths `s` as a tuple of ints; raises ValueError where one is not a whole number."""
    try:
        return tuple(operator.index(n) for n in s)
    except TypeError:
        raise ValueError(f"s={s}: a list of whole numbers is needed") from None


def _fields(a: AnyArray, s: tuple[int, ...] | None, axes: Ints) -> tuple[AnyArray, tuple[int, ...]]:
    """Fields with the transformed axes last, cut or padded to `s`; and the lengths of these axes."""
    axes = _axes(a.ndim, s, axes)
    d = len(axes)
    if axes != tuple(range(a.ndim - d, a.ndim)):
        a = jnp.moveaxis(jnp.asarray(a), axes, range(-d, 0))
    points = tuple(a.shape[a.ndim - d :]) if s is None else s
    return fit(a, points), points


def _coefficients(a: AnyArray, s: tuple[int, ...] | None, axes: Ints, real: bool) -> tuple[AnyArray, tuple[int, ...]]:
    """Coefficients, whose transformed axes must be the last; and the number of points along these axes."""
    transformed = _axes(a.ndim, s, axes)
    count = len(transformed)
    if transformed != tuple(range(a.ndim - count, a.ndim)):
        raise ValueError(
            f"axes={list(axes or ())}: the transformed axes of coefficients are the last, as rfftn has them"
        )
    *others, x = a.shape[a.ndim - count :]
    points = [x, *others]
    if real:
        points[-1] = 2 * (points[-1] - 1)
    return a, tuple(points) if s is None else s


def _axes(ndim: int, s: Sequence[int] | None, axes: Sequence[int] | None) -> tuple[int, ...]:
    """The transformed axes of an array of `ndim` axes, as numbers from 0; raises ValueError where they are invalid."""
    if axes is not None and not isinstance(axes, Sequence | np.ndarray):
        raise TypeError(f"axes={axes!r}: a list of whole numbers is needed, such as [{axes!r}]")
    if axes is None:
        count = min(ndim, 3) if s is None else len(s)
        axes = range(ndim - count, ndim)
    positive = tuple(axis % ndim if -ndim <= axis < ndim else axis for axis in axes)
    are_distinct = len(set(positive)) == len(positive) and all(0 <= axis < ndim for axis in positive)
    if not 1 <= len(positive) <= 3 or not are_distinct or (s is not None and len(s) != len(positive)):
        raise ValueError(
            f"s={s}, axes={list(axes)} for an array of {ndim} axes: one to three distinct axes of it are needed, "
            "and as many lengths s"
        )
    return positive


def _factor(norm: str | None, is_forward: bool, n: int) -> float:
    """The factor of the transform for NumPy's `norm`; n is the number of points."""
    factors = {"backward": (1.0, 1 / n), "ortho": (1 / math.sqrt(n),) * 2, "forward": (1 / n, 1.0)}
    name = "backward" if norm is None else norm
    if name not in factors:
        raise ValueError(f"norm {norm!r}: backward, ortho or forward is needed")
    return factors[name][0 if is_forward else 1]
