"""Whether a function of fields acts point by point, read off its trace.

`Transform.pointwise` passes fields through the cache a few planes at a time, so a function that looks beyond one point
(a maximum, a mean, a roll) would see a part of them and be silently wrong. The function is traced once on a grid of
unusual sides; every operation on an array with these sides must keep each point by itself.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

import jax
from jaxtyping import Array

SIDES = (37, 41, 43)  # of the grid that the function is traced on: no other axis has such a length
AT_EACH_POINT = """
abs acos acosh add add_any and asin asinh atan atan2 atanh bessel_i0e bessel_i1e cbrt ceil clamp complex conj
convert_element_type copy copy_p cos cosh digamma div eq erf erf_inv erfc exp exp2 expm1 floor ge gt imag integer_pow
is_finite le lgamma log log1p logistic lt max min mul ne neg nextafter not or pow real rem round rsqrt select_n sign sin
sinh sqrt square stop_gradient sub tan tanh xor
"""
# one of these that touched the points would change their number, which is refused by itself
ALONG_COMPONENTS = """
broadcast_in_dim concatenate dynamic_slice expand_dims reduce_and reduce_max reduce_min reduce_or reduce_prod reduce_sum
reshape slice split squeeze stack
"""
SAFE = frozenset((AT_EACH_POINT + ALONG_COMPONENTS).split())


@functools.lru_cache(maxsize=256)
def check_pointwise(fn: Callable[[Array], Array], leading: tuple[int, ...], dimensions: int, dtype: Any) -> None:
    """Refuse a function that is not pointwise.

    Args:
        fn: of fields `(*leading, x, y, z)`.
        leading: axes before those in space.
        dimensions: of space.
        dtype: of the fields.

    Raises:
        ValueError: the message names the operation that mixes points or depends on their position.
    """
    sides = SIDES[:dimensions]
    name = getattr(fn, "__name__", repr(fn))
    try:
        traced = jax.make_jaxpr(fn)(jax.ShapeDtypeStruct((*leading, *sides), dtype))
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"{name} is not pointwise: it works on fields of some shapes only ({' '.join(str(error).split())[:120]}); "
            "a function of the values at each point is needed"
        ) from error
    for constant in traced.jaxpr.constvars:
        raise ValueError(
            f"{name} holds a constant array of shape {list(constant.aval.shape)}, which a partitioned operation cannot "
            "take along; write its entries as numbers"
        )
    for operation in _mixing(traced.jaxpr, sides):
        raise ValueError(
            f"{name} is not pointwise: its operation {operation} mixes points, or depends on where they lie; "
            "use forward(fn(inverse(u_hat))) for such a function"
        )


def _mixing(jaxpr: Any, sides: tuple[int, ...]) -> Iterator[str]:
    """Names of operations that do not keep every point by itself."""
    d = len(sides)
    is_field = lambda v: tuple(v.aval.shape[len(v.aval.shape) - d :]) == sides  # noqa: E731
    touches = lambda v: bool(set(v.aval.shape) & set(sides))  # noqa: E731
    for equation in jaxpr.eqns:
        inner = list(_inner(equation))
        if inner:
            for body in inner:
                yield from _mixing(body, sides)
            continue
        touched = [v for v in (*equation.invars, *equation.outvars) if touches(v)]
        if not touched:
            continue
        misplaced = any(not is_field(v) for v in touched) or not all(map(is_field, equation.outvars))
        if misplaced or not _keeps_points(equation, d, any(map(is_field, equation.invars))):
            yield equation.primitive.name


def _keeps_points(equation: Any, d: int, from_field: bool) -> bool:
    name, parameters = equation.primitive.name, equation.params
    if name == "broadcast_in_dim":  # of a number, or of a field to more components
        ndim = len(parameters["shape"])
        kept = tuple(parameters["broadcast_dimensions"])[-d:] == tuple(range(ndim - d, ndim))
        return kept if from_field else not set(equation.invars[0].aval.shape) - {1}
    if name == "transpose":
        order = parameters["permutation"]
        return tuple(order[len(order) - d :]) == tuple(range(len(order) - d, len(order)))
    if name == "gather":
        ndim = equation.invars[0].aval.ndim
        return all(axis < ndim - d for axis in parameters["dimension_numbers"].start_index_map)
    return name in SAFE and from_field


def _inner(equation: Any) -> Iterator[Any]:
    """Programs that an operation calls."""
    for parameter in equation.params.values():
        for entry in parameter if isinstance(parameter, tuple | list) else (parameter,):
            inner = getattr(entry, "jaxpr", entry)
            if hasattr(inner, "eqns"):
                yield inner
