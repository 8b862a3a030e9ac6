"""Pytrees that hold more than arrays: what is no array becomes part of their structure, and so static under `jit`.

An equation may hold a network, whose activation is a function, a word or a flag. `sealed` makes it a pytree of arrays
alone, which every transformation of JAX takes; `opened` gives it back as it was. Two of them with other functions,
words, whole numbers or flags are other structures, for which programs are compiled anew; another floating-point number
is another value of the same.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from types import CellType, CodeType, FunctionType
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


# ---- code that may change while Python runs --------------------------------------------------------------------


def own_code(tree: Any) -> tuple[CodeType, ...]:
    """Code of the user's own that the modules and functions in a tree run, as far as names lead to it.

    In a notebook a function is changed by running its cell again, while the class that calls it stays the same object.
    Programs are kept by this code, too, so that they are not those of the function before. Two functions of equal text
    have equal code. Followed are methods of classes, global names, closures and defaults; not what is reached through
    attributes of other objects.
    """
    codes: dict[int, CodeType] = {}
    for module in jax.tree.leaves(tree, is_leaf=_is_code_holder):
        _follow(type(module) if isinstance(module, eqx.Module) else module, codes)
        if isinstance(module, eqx.Module):
            for value in vars(module).values():
                codes |= {id(code): code for code in own_code(value)}
    return tuple(codes.values())


def _is_code_holder(value: Any) -> bool:
    return isinstance(value, eqx.Module | FunctionType | functools.partial)


def _follow(value: Any, codes: dict[int, CodeType]) -> None:
    """Adds the code of a class or function, and of what it names, to `codes`, where it is kept by its id."""
    if isinstance(value, type):
        for cls in value.__mro__:
            for member in () if _is_of_a_library(cls) else vars(cls).values():
                _follow(_unwrapped(member), codes)
    elif isinstance(value, functools.partial):
        _follow(value.func, codes)
    elif isinstance(value, FunctionType) and not _is_of_a_library(value) and id(value.__code__) not in codes:
        codes[id(value.__code__)] = value.__code__
        for other in [*_named(value), *map(_contents, value.__closure__ or ()), *(value.__defaults__ or ())]:
            if isinstance(other, type | FunctionType | functools.partial):
                _follow(other, codes)


def _named(function: FunctionType) -> list[Any]:
    """The objects that global names in a function, and in the functions within it, stand for."""
    codes, names = [function.__code__], set()
    while codes:
        code = codes.pop()
        names |= set(code.co_names)
        codes += [constant for constant in code.co_consts if isinstance(constant, CodeType)]
    return [function.__globals__[name] for name in sorted(names) if name in function.__globals__]


def _contents(cell: CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # it is empty as yet
        return None


def _unwrapped(member: Any) -> Any:
    """The function behind a method, a property or a wrapper."""
    if isinstance(member, property):
        member = member.fget
    for name in ("__func__", "method", "__wrapped__"):
        member = getattr(member, name, member)
    return member


def _is_of_a_library(value: Any) -> bool:
    return _is_library((getattr(value, "__module__", None) or "builtins").partition(".")[0])


@functools.cache
def _is_library(package: str) -> bool:
    """Whether a package is Slabwave's, Python's own or an installed one: its code does not change while it is used."""
    if package == "__main__":  # a notebook, or a program that pytest and others start from where they are installed
        return False
    if package == "solver" or package in sys.stdlib_module_names:
        return True
    return "site-packages" in (getattr(sys.modules.get(package), "__file__", None) or "")


class Program:
    """`jax.jit` of a function of modules and arrays, in which modules may hold more than arrays.

    Programs are kept for the code of the user's own classes, too: see `own_code`.

    Args:
        fn: of positional arguments. Those that are modules (equations, steppers) are sealed on the way in.
        prepare: applied to each module before it is sealed.
        options: of `jax.jit`.
    """

    def __init__(self, fn: Callable[..., Any], prepare: Callable[[Any], Any] = lambda module: module, **options: Any):
        @functools.wraps(fn)
        def run(*arguments: Any) -> Any:
            given = arguments[:-1]  # the last is the code, for which the program is kept
            return fn(*(opened(v) if isinstance(v, eqx.Module) else v for v in given))

        self._jit = jax.jit(run, **options)
        self._prepare = prepare

    def sealed(self, *arguments: Any) -> tuple[Any, ...]:
        """Arguments as the compiled program takes them."""
        modules = [v for v in arguments if isinstance(v, eqx.Module)]
        code = Held(tuple(code for module in modules for code in own_code(module)))
        return (*(sealed(self._prepare(v)) if isinstance(v, eqx.Module) else v for v in arguments), code)

    def __call__(self, *arguments: Any) -> Any:
        return self._jit(*self.sealed(*arguments))

    def trace(self, *arguments: Any) -> Any:
        """As `jax.jit(fn).trace`."""
        return self._jit.trace(*self.sealed(*arguments))

    def shapes(self, *arguments: Any) -> Any:
        """As `jax.eval_shape(fn, …)`, traced once for modules that differ in numbers alone."""
        return self.trace(*arguments).out_info

    def lower(self, *arguments: Any) -> Any:
        """As `jax.jit(fn).lower`; what it compiles to takes `sealed` arguments."""
        return self._jit.lower(*self.sealed(*arguments))

    def _cache_size(self) -> int:
        """Number of programs that were compiled, as `jax.jit(fn)._cache_size`."""
        return self._jit._cache_size()
