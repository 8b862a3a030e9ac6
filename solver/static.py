"""Pytrees that hold more than arrays: what is no array becomes part of their structure, and so static under `jit`.

An equation may hold a network, whose activation is a function, a word or a flag. `sealed` makes it a pytree of arrays
alone, which every transformation of JAX takes; `opened` gives it back as it was. Two of them with other functions,
words, whole numbers or flags are other structures, for which programs are compiled anew; another floating-point number
is another value of the same.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import numpy as np


@jax.tree_util.register_static
class Held:
    """A value that is no array, as a pytree without leaves. Equal to another of the same type and value only."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Held) and type(other.value) is type(self.value) and bool(other.value == self.value)

    def __hash__(self) -> int:
        return hash((type(self.value), self.value))

    def __repr__(self) -> str:
        return f"Held({self.value!r})"


def is_array(value: Any) -> bool:
    """Whether a leaf is an array, shapes of one included, or a floating-point or complex number."""
    if isinstance(value, np.ndarray | np.generic):
        return value.dtype.kind in "biufcV"
    return isinstance(value, jax.Array | jax.ShapeDtypeStruct | float | complex)


def sealed(tree: Any) -> Any:
    """The same pytree, each leaf that is no array in a `Held`.

    Raises:
        TypeError: a leaf that cannot be hashed, so that programs for it could not be kept.
    """

    def seal(path: Any, leaf: Any) -> Any:
        if is_array(leaf):
            return leaf
        try:
            hash(leaf)
        except TypeError:
            name, kind = jax.tree_util.keystr(path).lstrip("."), type(leaf).__name__
            raise TypeError(
                f"{name or 'a parameter'} is of type {kind}, neither an array nor hashable: an array, a number, a "
                "tuple, a pytree, or an object with a hash is needed"
            ) from None
        return Held(leaf)

    return jax.tree_util.tree_map_with_path(seal, tree)


def opened(tree: Any) -> Any:
    """Inverse of `sealed`."""
    held = lambda leaf: isinstance(leaf, Held)  # noqa: E731
    return jax.tree.map(lambda leaf: leaf.value if held(leaf) else leaf, tree, is_leaf=held)


class Program:
    """`jax.jit` of a function of modules and arrays, in which modules may hold more than arrays.

    Args:
        fn: of positional arguments. Those that are modules (equations, steppers) are sealed on the way in.
        prepare: applied to each module before it is sealed.
        options: of `jax.jit`.
    """

    def __init__(self, fn: Callable[..., Any], prepare: Callable[[Any], Any] = lambda module: module, **options: Any):
        @functools.wraps(fn)
        def run(*arguments: Any) -> Any:
            return fn(*(opened(v) if isinstance(v, eqx.Module) else v for v in arguments))

        self._jit = jax.jit(run, **options)
        self._prepare = prepare

    def sealed(self, *arguments: Any) -> tuple[Any, ...]:
        """Arguments as the compiled program takes them."""
        return tuple(sealed(self._prepare(v)) if isinstance(v, eqx.Module) else v for v in arguments)

    def __call__(self, *arguments: Any) -> Any:
        return self._jit(*self.sealed(*arguments))

    def trace(self, *arguments: Any) -> Any:
        """As `jax.jit(fn).trace`."""
        return self._jit.trace(*self.sealed(*arguments))

    def lower(self, *arguments: Any) -> Any:
        """As `jax.jit(fn).lower`; what it compiles to takes `sealed` arguments."""
        return self._jit.lower(*self.sealed(*arguments))

    def _cache_size(self) -> int:
        """Number of programs that were compiled, as `jax.jit(fn)._cache_size`."""
        return self._jit._cache_size()
