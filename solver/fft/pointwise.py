"""Functions of fields at points: their arguments, and whether they act point by point, read off their trace.

`Transform.pointwise` passes fields through the cache a few planes at a time, so a function that looks beyond one point
(a maximum, a mean, a roll) would see a part of them and be silently wrong. The function is traced once on a grid of
unusual sides, which no other axis has: every array in the trace that depends on points carries their sides, and every
operation must keep those of all its operands, each as one whole axis.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array

from solver.fft.stages import AnyArray
from solver.static import opened

UNUSUAL_SIDES = (37, 41, 43, 47, 53, 59, 61, 67)  # of the grid that functions are traced on
AT_EACH_POINT = """
abs acos acosh add add_any and asin asinh atan atan2 atanh bessel_i0e bessel_i1e cbrt ceil clamp complex conj
convert_element_type copy copy_p cos cosh digamma div eq erf erf_inv erfc exp exp2 expm1 floor ge gt imag integer_pow
is_finite le le_to lgamma log log1p logistic lt lt_to max min mul ne neg nextafter not or pow real rem round rsqrt
select_n sign sin sinh sqrt square stop_gradient sub tan tanh xor
"""
# one of these that went along the points would lose or change a side, which is refused by itself
ALONG_COMPONENTS = """
argmax argmin broadcast_in_dim concatenate dot_general dynamic_slice expand_dims gather reduce_and reduce_max reduce_min
reduce_or reduce_prod reduce_sum reshape slice split squeeze stack transpose unstack
"""
SAFE = frozenset((AT_EACH_POINT + ALONG_COMPONENTS).split())


@dataclass(frozen=True)
class PointFunction:
    """A user's function as a function of arrays only: all fields stacked, then parameters, then arrays over points.

    Args:
        fn: `fn(u)`, `fn(u, parameters)`, `fn(u, at_points)` or `fn(u, parameters, at_points)`.
        dimensions: of space.
        fields: names, and the axes of each before those in space; None if u is one array.
        parameters, at_points: structure of each of these arguments; None where `fn` has no such argument.
        code: of the user's own that `fn` runs: programs are kept for it, too.
    """

    fn: Callable[..., Any]
    dimensions: int
    fields: tuple[tuple[str, tuple[int, ...]], ...] | None = None
    parameters: Any = None
    at_points: Any = None
    code: tuple[Any, ...] = ()

    @property
    def name(self) -> str:
        """Name of the user's function."""
        return getattr(self.fn, "__name__", repr(self.fn))

    def __call__(self, u: Array, *operands: Array) -> Array:
        """All results stacked along one axis; a result that is one array as it is."""
        return stack(self.results(u, *operands), self.dimensions)

    def results(self, u: Array, *operands: Array) -> Any:
        """What the user's function returns."""
        arguments: list[Any] = [u]
        if self.fields is not None:
            parts = unstack(u, [leading for _, leading in self.fields], self.dimensions)
            arguments = [{name: part for (name, _), part in zip(self.fields, parts, strict=True)}]
        rest = operands
        for structure in (self.parameters, self.at_points):
            if structure is not None:
                arguments.append(opened(jax.tree.unflatten(structure, rest[: structure.num_leaves])))
                rest = rest[structure.num_leaves :]
        return self.fn(*arguments)


def stack(tree: Any, dimensions: int) -> Array:
    """The arrays `(…, x, y, z)` of a tree, all leading axes after one another along one; a bare array as it is."""
    if jax.tree_util.treedef_is_leaf(jax.tree.structure(tree)):
        return tree
    flat = [v.reshape(-1, *v.shape[v.ndim - dimensions :]) for v in jax.tree.leaves(tree)]
    return flat[0] if len(flat) == 1 else jnp.concatenate(flat)


def unstack(stacked: Array, leading: Sequence[tuple[int, ...]], dimensions: int) -> list[Array]:
    """Arrays with these leading axes, from the one that `stack` made of them."""
    ends = [0]
    for shape in leading:
        ends.append(ends[-1] + math.prod(shape))
    space = stacked.shape[stacked.ndim - dimensions :]
    return [stacked[a:b].reshape(*s, *space) for a, b, s in zip(ends, ends[1:], leading, strict=False)]


def over_points(array: AnyArray, points: Sequence[int]) -> AnyArray:
    """An array that broadcasts against the points, with one axis for each dimension in space at least.

    Raises:
        ValueError: it does not broadcast.
    """
    shape = (*(1,) * (len(points) - array.ndim), *array.shape)
    if any(n not in (1, side) for n, side in zip(shape[-len(points) :], points, strict=True)):
        raise ValueError(
            f"at_points holds an array of shape {list(array.shape)}; its last axes must be those of the points "
            f"{list(points)}, or of length 1"
        )
    return array.reshape(shape)


def on_sides(shape: Sequence[int], points: Sequence[int], sides: Sequence[int]) -> tuple[int, ...]:
    """Shape of an array over `points` on other sides: axes of length 1 in space stay."""
    lead = len(shape) - len(points)
    over = [1 if n == 1 else side for n, side in zip(shape[lead:], sides, strict=True)]
    return (*shape[:lead], *over)


Spec = tuple[tuple[int, ...], Any]  # shape and dtype


@functools.lru_cache(maxsize=256)
def check_pointwise(
    fn: PointFunction,
    points: tuple[int, ...],
    fields: Spec,
    parameters: tuple[Spec, ...] = (),
    at_points: tuple[Spec, ...] = (),
    returns: Any = None,
) -> Any:
    """Refuse a function that is not pointwise.

    Args:
        fn: the function.
        points: of the grid.
        fields, parameters, at_points: shapes and dtypes of its arguments; the first and the last are over `points`.
        returns: dtype that is needed of what it returns, that of the fields if None.

    Returns:
        The structure of its results, with the axes of each before those in space.

    Raises:
        ValueError: the message names the operation that mixes points or depends on their position, or says what the
            function may not hold or return.
    """
    d, dtype = len(points), fields[1] if returns is None else returns
    others = {n for shape, _ in (fields, *at_points) for n in shape[: len(shape) - d]}
    others |= {n for shape, _ in parameters for n in shape}
    unusual = tuple(n for n in UNUSUAL_SIDES if n not in others)
    sides = unusual[:d]

    def trace(sides: tuple[int, ...]) -> Any:
        over, fixed = ((on_sides(shape, points, sides), kind) for shape, kind in (fields, *at_points)), iter(parameters)
        arguments = [jax.ShapeDtypeStruct(*spec) for spec in (next(over), *fixed, *over)]
        return jax.make_jaxpr(fn.results, return_shape=True)(*arguments)

    try:
        traced, results = trace(sides)
        again, _ = trace(unusual[1 : d + 1])
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"{fn.name} is not pointwise: it fails on fields of other sides ({' '.join(str(error).split())[:160]}); "
            "a function of the values at each point is needed, which takes arrays over points through at_points"
        ) from error
    _refuse_constants(fn.name, traced.jaxpr)
    if list(_numbers(traced.jaxpr)) != list(_numbers(again.jaxpr)):
        raise ValueError(
            f"{fn.name} is not pointwise: it computes with the number of points, and sees a part of them at a time; "
            "pass that number through parameters"
        )
    for operation in _mixing(traced.jaxpr, frozenset(sides)):
        raise ValueError(
            f"{fn.name} is not pointwise: its operation {operation} mixes points, or depends on where they lie; "
            "pass coordinates through at_points, and use forward(fn(inverse(u_hat))) for a function that mixes points"
        )
    if not jax.tree.leaves(results):
        raise ValueError(f"{fn.name} returns no array; fields at the points are needed")
    for result in jax.tree.leaves(results):
        lead = result.shape[: max(0, result.ndim - d)]
        if result.shape[len(lead) :] != sides or set(lead) & set(sides) or result.dtype != dtype:
            space = dict(zip(sides, "xyz", strict=False))
            raise ValueError(
                f"{fn.name} turns {fields[1]} fields at the points into {result.dtype} of shape "
                f"({', '.join(str(space.get(n, n)) for n in result.shape)}); the same points and {dtype} are needed"
            )
    return jax.tree.map(lambda result: Leading(result.shape[: result.ndim - d]), results)


def _numbers(jaxpr: Any) -> Iterator[tuple[str, ...]]:
    """Each operation with the numbers written into it, shapes left out."""
    for equation in jaxpr.eqns:
        yield (str(equation.primitive), *(str(v.val) for v in equation.invars if hasattr(v, "val")))
        for inner in programs_called(equation):
            yield from _numbers(inner)


@dataclass(frozen=True)
class Leading:
    """Axes of a result before those in space; a leaf of a tree, as a tuple would not be."""

    shape: tuple[int, ...]


def _refuse_constants(name: str, jaxpr: Any) -> None:
    """Raises ValueError where a traced function holds arrays, or values being traced outside of it."""
    for held in jaxpr.constvars:
        shape = held.aval.shape
        what = f"an array of shape {list(shape)}" if shape else "a value that is an array or being traced"
        raise ValueError(
            f"{name} holds {what} from outside; pass a number or a small array through `parameters`, and an array over "
            "the points through `at_points`"
        )
    for equation in jaxpr.eqns:
        for inner in programs_called(equation):
            _refuse_constants(name, inner)


def _mixing(jaxpr: Any, sides: frozenset[int]) -> Iterator[str]:
    """Names of operations that do not keep every point by itself."""
    for equation in jaxpr.eqns:
        inner = list(programs_called(equation))
        for body in inner:
            yield from _mixing(body, sides)
        keeps = _walks_components(equation, sides) if inner else _keeps_points(equation, sides)
        if not keeps:
            yield equation.primitive.name


def _keeps_points(equation: Any, sides: frozenset[int]) -> bool:
    """Whether results lie on the points of all operands, each side as one axis."""
    name, parameters = equation.primitive.name, equation.params
    given = [side for v in equation.invars for side in v.aval.shape if side in sides]
    for v in equation.outvars:
        found = [side for side in v.aval.shape if side in sides]
        grown = name == "broadcast_in_dim" and set(found) >= set(given)
        if len(set(found)) < len(found) or not (grown or set(found) == set(given)):
            return False
    if not given and not any(side in sides for v in equation.outvars for side in v.aval.shape):
        return True
    if name == "reshape":
        return _before_sides(equation.invars[0].aval.shape, sides) == _before_sides(
            equation.outvars[0].aval.shape, sides
        )
    if name in ("rev", "sort"):
        along = parameters["dimensions"] if name == "rev" else [parameters["dimension"]]
        return not any(equation.invars[0].aval.shape[axis] in sides for axis in along)
    if name == "gather":
        indexed = parameters["dimension_numbers"].start_index_map
        return not any(equation.invars[0].aval.shape[axis] in sides for axis in indexed)
    return name in SAFE


def _before_sides(shape: Sequence[int], sides: frozenset[int]) -> dict[int, int]:
    """How many numbers lie in front of each side: a reshaping that keeps this moves no point."""
    return {n: math.prod(shape[:axis]) for axis, n in enumerate(shape) if n in sides}


def _walks_components(equation: Any, sides: frozenset[int]) -> bool:
    """Whether an operation that calls programs does so once, or along components: a scan could go along the points."""
    if equation.primitive.name != "scan":
        return True
    inner = next(programs_called(equation))
    pairs = (*zip(equation.invars, inner.invars, strict=True), *zip(equation.outvars, inner.outvars, strict=True))
    # what it walks along has an axis more outside than inside; JAX's own counts of them differ between versions
    return not any(outer.aval.shape[0] in sides for outer, held in pairs if outer.aval.shape != held.aval.shape)


def programs_called(equation: Any) -> Iterator[Any]:
    """Programs that an operation calls."""
    for parameter in equation.params.values():
        for entry in parameter if isinstance(parameter, tuple | list) else (parameter,):
            inner = getattr(entry, "jaxpr", entry)
            if hasattr(inner, "eqns"):
                yield inner
