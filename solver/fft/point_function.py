"""A user's function of fields at the points, as a function of arrays only, and what of it one operation computes."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array

from solver.fft.stages import AnyArray
from solver.static import opened


@dataclass(frozen=True)
class PointFunction:
    """A user's function as a function of arrays only: all fields stacked, then parameters, then arrays over points.

    Args:
        fn: `fn(u)`, `fn(u, parameters)`, `fn(u, at_points)` or `fn(u, parameters, at_points)`.
        dimensions: number of dimensions of space.
        fields: names, and the axes of each before those in space; None if u is one array.
        parameters, at_points: structure of each of these arguments; None where `fn` has no such argument.
        code: the user's own code that `fn` runs: two functions with other code have programs of their own.
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
        """All results stacked along one axis; a result that is one bare array is returned as it is."""
        return stack(self.results(u, *operands), self.dimensions)

    def results(self, u: Array, *operands: Array) -> Any:
        """Evaluate the user's function."""
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


@dataclass(frozen=True)
class BatchedFunction:
    """A function of arrays under `vmap`.

    Args:
        fn: the function without the batch.
        axes: for each argument 0 if its first axis is the batch, None if it has no such axis.
    """

    fn: Callable[..., Array]
    axes: tuple[int | None, ...]

    def __call__(self, *operands: Array) -> Array:
        return jax.vmap(self.fn, self.axes)(*operands)


@dataclass(frozen=True)
class FieldFunctions:
    """Functions of fields u at the points that one operation computes.

    Args:
        fn: `fn(u, *operands)` gives the fields whose coefficients are wanted.
        largest: `largest(u, *operands)` gives a number at each point, of which the largest is wanted; None for none.
        parameters: number of operands that are whole on every device. They come first; the other operands are arrays
            over the points, split as fields are.
    """

    fn: Callable[..., Array]
    largest: Callable[..., Array] | None = None
    parameters: int = 0

    def split(self, operands: Sequence[Any]) -> tuple[Sequence[Any], Sequence[Any]]:
        """The operands that are whole on every device, and those over the points."""
        return operands[: self.parameters], operands[self.parameters :]

    def on_batch(self, axes: Sequence[int | None]) -> FieldFunctions:
        """The functions under `vmap`; `axes` has the batch axis of u and of each operand, None without such an axis."""
        first = tuple(None if axis is None else 0 for axis in axes)
        largest = None if self.largest is None else BatchedFunction(self.largest, first)
        return replace(self, fn=BatchedFunction(self.fn, first), largest=largest)

    def has_batch(self, operands: int) -> list[bool]:
        """True if u, and each of so many operands, begins with the axis of a batch; u counts as one that does."""
        axes = self.fn.axes if isinstance(self.fn, BatchedFunction) else (0, *[None] * operands)
        return [axis is not None for axis in axes]

    @property
    def batch_axes(self) -> tuple[int, int]:
        """Number of axes that `vmap` has put in front of u, and in front of what `fn` returns."""
        of_u = of_result = 0
        fn = self.fn
        while isinstance(fn, BatchedFunction):
            of_u, of_result, fn = of_u + (fn.axes[0] is not None), of_result + 1, fn.fn
        return of_u, of_result


def stack(tree: Any, dimensions: int) -> Array:
    """The arrays `(…, x, y, z)` of a tree joined to one array: their leading axes are merged to one axis.

    A tree that is a bare array is returned as it is.
    """
    if jax.tree_util.treedef_is_leaf(jax.tree.structure(tree)):
        return tree
    flat = [v.reshape(-1, *v.shape[v.ndim - dimensions :]) for v in jax.tree.leaves(tree)]
    return flat[0] if len(flat) == 1 else jnp.concatenate(flat)


def unstack(stacked: Array, leading: Sequence[tuple[int, ...]], dimensions: int) -> list[Array]:
    """The arrays that `stack` joined into one; `leading` has the leading axes of each."""
    bounds = [0]
    for shape in leading:
        bounds.append(bounds[-1] + math.prod(shape))
    space = stacked.shape[stacked.ndim - dimensions :]
    return [
        stacked[start:stop].reshape(*shape, *space)
        for start, stop, shape in zip(bounds, bounds[1:], leading, strict=False)
    ]


def over_points(array: AnyArray, points: Sequence[int]) -> AnyArray:
    """The array with leading axes of length 1 added, so that it has an axis for each dimension of space.

    Raises:
        ValueError: the array does not broadcast against the points.
    """
    shape = (*(1,) * (len(points) - array.ndim), *array.shape)
    if any(n not in (1, side) for n, side in zip(shape[-len(points) :], points, strict=True)):
        raise ValueError(
            f"at_points holds an array of shape {list(array.shape)}; its last axes must be the axes of the points "
            f"{list(points)}, or of length 1"
        )
    return array.reshape(shape)


def on_sides(shape: Sequence[int], points: Sequence[int], sides: Sequence[int]) -> tuple[int, ...]:
    """Shape of an array over `points` on a grid with other sides; axes of length 1 in space keep that length."""
    lead = len(shape) - len(points)
    space = [1 if n == 1 else side for n, side in zip(shape[lead:], sides, strict=True)]
    return (*shape[:lead], *space)
