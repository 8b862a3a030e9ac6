"""Checks on its trace that a function of fields acts point by point.

`Transform.pointwise` passes fields through the cache a few planes at a time, so a function that looks beyond one point
(a maximum, a mean, a roll) would see a part of them and be silently wrong. The function is traced once on a grid of
unusual sides, which no other axis has: every array in the trace that depends on points carries their sides, and every
operation must keep the points of all its operands, each as one whole axis.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import jax

from solver.fft.point_function import PointFunction, on_sides

UNUSUAL_SIDES = (1009, 1013, 1019, 1021, 1031, 1033, 1039, 1049)  # of the grid that functions are traced on
AT_EACH_POINT = """
abs acos acosh add add_any and asin asinh atan atan2 atanh bessel_i0e bessel_i1e cbrt ceil clamp complex conj
convert_element_type copy copy_p cos cosh digamma div eq erf erf_inv erfc exp exp2 expm1 floor ge gt imag integer_pow
is_finite le le_to lgamma log log1p logistic lt lt_to max min mul ne neg nextafter not or pow real rem round rsqrt
select_n sign sin sinh sqrt square stop_gradient sub tan tanh xor
"""
# these may go along components; along the points they would lose or change a side, which `_keeps_points` refuses
ALONG_COMPONENTS = """
argmax argmin broadcast_in_dim concatenate dot_general dynamic_slice expand_dims gather reduce_and reduce_max reduce_min
reduce_or reduce_prod reduce_sum reshape slice split squeeze stack transpose unstack
"""
SAFE = frozenset((AT_EACH_POINT + ALONG_COMPONENTS).split())

Spec = tuple[tuple[int, ...], Any]  # shape and dtype


@dataclass(frozen=True)
class Leading:
    """Shape of a result without its axes in space. A class, since JAX takes a bare tuple for a tree, not for a leaf."""

    shape: tuple[int, ...]


@functools.lru_cache(maxsize=256)
def check_pointwise(
    fn: PointFunction,
    points: tuple[int, ...],
    fields: Spec,
    parameters: tuple[Spec, ...] = (),
    at_points: tuple[Spec, ...] = (),
    returns: Any = None,
) -> Any:
    """Check that a function is pointwise.

    Args:
        fn: the function.
        points: number of points of the grid along each axis.
        fields, parameters, at_points: shapes and dtypes of its arguments; `fields` and `at_points` are over `points`.
        returns: dtype that its results must have; the fields' dtype if None.

    Returns:
        The structure of its results, with the axes of each before those in space.

    Raises:
        ValueError: the message names the operation that mixes points or depends on their position, or says what the
            function may not hold or return.
    """
    d, dtype = len(points), fields[1] if returns is None else returns
    other_axes = {n for shape, _ in (fields, *at_points) for n in shape[: len(shape) - d]}
    other_axes |= {n for shape, _ in parameters for n in shape}
    unusual_sides = tuple(n for n in UNUSUAL_SIDES if n not in other_axes)
    sides = unusual_sides[:d]

    def trace(sides: tuple[int, ...]) -> Any:
        of_fields = ((*fields[0][: len(fields[0]) - d], *sides), fields[1])  # sides of one point among them
        over_points = (of_fields, *((on_sides(shape, points, sides), kind) for shape, kind in at_points))
        u, *arrays = (jax.ShapeDtypeStruct(*spec) for spec in over_points)
        numbers = (jax.ShapeDtypeStruct(*spec) for spec in parameters)
        return jax.make_jaxpr(fn.results, return_shape=True)(u, *numbers, *arrays)

    try:
        traced, results = trace(sides)
        traced_on_others, _ = trace(unusual_sides[1 : d + 1])
    except (TypeError, ValueError) as error:
        how = "is not pointwise: it fails on fields of other sides"
        try:
            trace(points)
        except (TypeError, ValueError):
            how = "fails"
        raise ValueError(
            f"{fn.name} {how} ({' '.join(str(error).split())[:160]}); "
            "a function of the values at each point is needed, which takes arrays over points through at_points"
        ) from error
    _refuse_constants(fn.name, traced.jaxpr)
    if list(_numbers(traced.jaxpr)) != list(_numbers(traced_on_others.jaxpr)):
        raise ValueError(
            f"{fn.name} is not pointwise: it computes with the number of points, and sees a part of them at a time; "
            "pass that number through parameters"
        )
    for operation in _mixing(traced.jaxpr, frozenset(sides)):
        raise ValueError(
            f"{fn.name} is not pointwise: its operation {operation} mixes points, or depends on where they lie; "
            "pass coordinates through at_points; a function that mixes points is forward(fn(inverse(u_hat))), and one "
            "of a text belongs into of_whole_fields"
        )
    _check_results(fn.name, results, sides, fields[1], dtype)
    return jax.tree.map(lambda result: Leading(result.shape[: result.ndim - d]), results)


def _check_results(name: str, results: Any, sides: tuple[int, ...], fields_dtype: Any, dtype: Any) -> None:
    """Raises ValueError unless every result is an array `(…, *sides)` of this dtype."""
    if not jax.tree.leaves(results):
        raise ValueError(f"{name} returns no array; fields at the points are needed")
    for result in jax.tree.leaves(results):
        lead = result.shape[: max(0, result.ndim - len(sides))]
        if result.shape[len(lead) :] != sides or set(lead) & set(sides) or result.dtype != dtype:
            space = dict(zip(sides, "xyz", strict=False))
            raise ValueError(
                f"{name} turns {fields_dtype} fields at the points into {result.dtype} of shape "
                f"({', '.join(str(space.get(n, n)) for n in result.shape)}); the same points and {dtype} are needed"
            )


def _numbers(jaxpr: Any) -> Iterator[tuple[str, ...]]:
    """Name of each operation in a trace, and the numbers that are written into it, but not the shapes."""
    for equation in jaxpr.eqns:
        yield (str(equation.primitive), *(str(v.val) for v in equation.invars if hasattr(v, "val")))
        for inner in programs_called(equation):
            yield from _numbers(inner)


def _refuse_constants(name: str, jaxpr: Any) -> None:
    """Raises ValueError where a traced function holds arrays, or values being traced outside of it."""
    for constant in jaxpr.constvars:
        shape = constant.aval.shape
        description = f"an array of shape {list(shape)}" if shape else "a value that is an array or being traced"
        raise ValueError(
            f"{name} holds {description} from outside; pass a number or a small array through `parameters`, and an "
            "array over the points through `at_points`"
        )
    for equation in jaxpr.eqns:
        for inner in programs_called(equation):
            _refuse_constants(name, inner)


def _mixing(jaxpr: Any, sides: frozenset[int]) -> Iterator[str]:
    """Names of operations in which a point of the result depends on other points."""
    for equation in jaxpr.eqns:
        programs = list(programs_called(equation))
        for program in programs:
            yield from _mixing(program, sides)
        is_pointwise = _walks_components(equation, sides) if programs else _keeps_points(equation, sides)
        if not is_pointwise:
            yield equation.primitive.name


def _keeps_points(equation: Any, sides: frozenset[int]) -> bool:
    """True if results lie on the points of all operands, each side as one axis."""
    name, parameters = equation.primitive.name, equation.params
    input_sides = [side for v in equation.invars for side in v.aval.shape if side in sides]
    for v in equation.outvars:
        output_sides = [side for side in v.aval.shape if side in sides]
        broadcast = name == "broadcast_in_dim" and set(output_sides) >= set(input_sides)
        if len(set(output_sides)) < len(output_sides) or not (broadcast or set(output_sides) == set(input_sides)):
            return False
    if not input_sides and not any(side in sides for v in equation.outvars for side in v.aval.shape):
        return True
    if name == "reshape":
        return _before_sides(equation.invars[0].aval.shape, sides) == _before_sides(
            equation.outvars[0].aval.shape, sides
        )
    if name in ("rev", "sort"):
        moved_axes = parameters["dimensions"] if name == "rev" else [parameters["dimension"]]
        return not any(equation.invars[0].aval.shape[axis] in sides for axis in moved_axes)
    if name == "gather":
        indexed_axes = parameters["dimension_numbers"].start_index_map
        return not any(equation.invars[0].aval.shape[axis] in sides for axis in indexed_axes)
    return name in SAFE


def _before_sides(shape: Sequence[int], sides: frozenset[int]) -> dict[int, int]:
    """Number of elements in front of each side. A reshape that keeps these numbers moves no point."""
    return {n: math.prod(shape[:axis]) for axis, n in enumerate(shape) if n in sides}


def _walks_components(equation: Any, sides: frozenset[int]) -> bool:
    """True if a scan goes along components, not along the points; True for other operations that call programs."""
    if equation.primitive.name != "scan":
        return True
    body = next(programs_called(equation))
    pairs = (*zip(equation.invars, body.invars, strict=True), *zip(equation.outvars, body.outvars, strict=True))
    # an array that is scanned has one axis less in the body; JAX's own counts of such arrays differ between versions
    return not any(outer.aval.shape[0] in sides for outer, inner in pairs if outer.aval.shape != inner.aval.shape)


def programs_called(equation: Any) -> Iterator[Any]:
    """Programs that an operation calls: bodies of loops, branches, functions."""
    for parameter in equation.params.values():
        for entry in parameter if isinstance(parameter, tuple | list) else (parameter,):
            program = getattr(entry, "jaxpr", entry)
            if hasattr(program, "eqns"):
                yield program
