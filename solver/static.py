"""Pytrees that hold more than arrays: other values become part of their structure, and so static under `jit`.

An equation may hold a network, whose activation is a function, a word or a flag. `sealed` makes it a pytree of arrays
alone, which every transformation of JAX takes; `opened` gives it back as it was. Two of them with other functions,
words, whole numbers or flags are other structures, for which programs are compiled anew; another floating-point number
is another value of the same.
"""

from __future__ import annotations

import dis
import functools
import hashlib
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from types import CellType, CodeType, FunctionType, ModuleType
from typing import Any

import equinox as eqx
import jax
import numpy as np
from jax.sharding import AbstractMesh, Mesh


def is_zero(number: Any) -> bool:
    """True of Python's number 0, which stays 0; an array or a tracer may become another number."""
    return isinstance(number, int | float) and number == 0


@jax.tree_util.register_static
class Static:
    """A value that is no array, as a pytree without leaves. Equal to another of the same type and value only."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Static) and type(other.value) is type(self.value) and bool(other.value == self.value)

    def __hash__(self) -> int:
        return hash((type(self.value), self.value))

    def __repr__(self) -> str:
        return f"Static({self.value!r})"


def is_array(value: Any) -> bool:
    """True if a leaf is an array, shapes of one included, or a floating-point or complex number."""
    if isinstance(value, np.ndarray | np.generic):
        return value.dtype.kind in "biufcV"
    return isinstance(value, jax.Array | jax.ShapeDtypeStruct | float | complex)


def sealed(tree: Any) -> Any:
    """The same pytree, each leaf that is no array in a `Static`.

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
        return Static(leaf)

    return jax.tree_util.tree_map_with_path(seal, tree)


def opened(tree: Any) -> Any:
    """Inverse of `sealed`."""
    held = lambda leaf: isinstance(leaf, Static)  # noqa: E731
    return jax.tree.map(lambda leaf: leaf.value if held(leaf) else leaf, tree, is_leaf=held)


# ---- the mesh of another program ---------------------------------------------------------------------------------


NO_MESH = Mesh(np.empty((), object), ())


def no_ambient_mesh() -> AbstractContextManager[Any]:
    """A context in which the mesh of `jax.set_mesh` does not count.

    It may belong to a user's other program. Arrays here say by themselves how they are split.
    """
    if jax.sharding.get_abstract_mesh().empty:
        return nullcontext()
    try:
        return jax.set_mesh(NO_MESH)
    except ValueError:  # while tracing, where the devices do not count
        return jax.sharding.use_abstract_mesh(AbstractMesh((), ()))


# ---- code and values that may change while Python runs ------------------------------------------------------------


def own_code(tree: Any) -> tuple[Any, ...]:
    """Code of the user's own that the modules and functions in a tree run, and the values that it reads by name.

    In a notebook a function is changed by running its cell again, while the class that calls it stays the same, and
    a global number may be set anew. Programs are kept by this code and these values, too, so that an old program is not
    used again. Two functions of equal text have equal code. Followed are methods and attributes of classes, global
    names, names in the user's own modules, closures, defaults, the functions of a text, and attributes of plain
    objects. Values are numbers, words, arrays, and lists, tuples, dicts and sets of them.
    """
    found = _Found()
    for leaf in jax.tree.leaves(tree, is_leaf=_is_code_holder):
        found.follow(type(leaf) if isinstance(leaf, eqx.Module) else leaf)
        if isinstance(leaf, eqx.Module):
            for value in vars(leaf).values():
                found.add(own_code(value))
    return found.everything()


class SameCode(functools.partial):  # so that `own_code` follows it
    """A function that equals another of the same code, closure and defaults: one program serves both.

    A lambda that is written in a loop is another object each time. Numbers and words in its closure are compared by
    value, functions by their code, everything else (arrays, values being traced) by identity.
    """

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SameCode) and _code_key(other.func) == _code_key(self.func)

    def __hash__(self) -> int:
        return hash(_code_key(self.func))


def _code_key(value: Any, depth: int = 0) -> Any:
    """A value to compare a function by, or an entry of its closure."""
    if isinstance(value, FunctionType) and depth < MOST_NESTED:
        parts = [*map(_contents, value.__closure__ or ()), *(value.__defaults__ or ())]
        parts += (value.__kwdefaults__ or {}).values()
        return value.__code__, id(value.__globals__), tuple(_code_key(part, depth + 1) for part in parts)
    if isinstance(value, bool | int | float | complex | str | bytes | None):
        return type(value), repr(value)
    return _Same(value)


def _is_code_holder(value: Any) -> bool:
    return isinstance(value, eqx.Module | FunctionType | functools.partial)


class _Found:
    """Code and values that were found so far."""

    def __init__(self) -> None:
        self.codes: dict[int, CodeType] = {}
        self.values: list[Any] = []
        self._followed: dict[int, Any] = {}  # objects by id, held so that no other one takes it

    def everything(self) -> tuple[Any, ...]:
        return (*self.codes.values(), *self.values)

    def add(self, others: tuple[Any, ...]) -> None:
        """Add what was found elsewhere."""
        self.codes |= {id(code): code for code in others if isinstance(code, CodeType)}
        self.values += [value for value in others if not isinstance(value, CodeType)]

    def follow(self, value: Any) -> None:
        """Add the code of a class, a function or a plain object, and the code and the values that it names."""
        if id(value) in self._followed:
            return
        if isinstance(value, type):
            self._followed[id(value)] = value
            self._follow_class(value)
        elif isinstance(value, functools.partial):
            for part in _parts_of_partial(value):
                self._read(part)
        elif isinstance(value, FunctionType):
            if not _is_of_a_library(value) and id(value.__code__) not in self.codes:
                self.codes[id(value.__code__)] = value.__code__
                for other in [*_named(value), *map(_contents, value.__closure__ or ()), *(value.__defaults__ or ())]:
                    self._read(other)
        elif not is_array(value) and hasattr(value, "__dict__") and not _is_of_a_library(type(value)):
            self._followed[id(value)] = value
            self.follow(type(value))
            for name, attribute in sorted(vars(value).items()):
                self._read(attribute, name)

    def _follow_class(self, value: type) -> None:
        for cls in value.__mro__:
            for _, function in getattr(vars(cls).get("text"), "functions", None) or ():
                self._read(function)
            if _is_of_a_library(cls):
                continue
            for name, member in vars(cls).items():
                if not (name.startswith("__") and name.endswith("__")):
                    self._read(_unwrapped(member), name)

    def _read(self, value: Any, name: str = "") -> None:
        """Follow objects that hold code, and add values."""
        content = _content(value)
        if content is not None:
            self.values.append((name, content))
        for part in _parts_with_code(value):
            self.follow(part)


class _Same:
    """An array that cannot change: equal to itself only."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and other.value is self.value

    def __hash__(self) -> int:
        return id(self.value)


MOST_NESTED = 8  # containers in containers; what lies deeper is not looked at


def _content(value: Any, depth: int = 0) -> Any:
    """A number, a word, an array or a container of them as something to compare and to hash; None for others."""
    if isinstance(value, bool | int | float | complex | str | bytes | np.generic):
        return type(value), repr(value)  # so that NaN equals NaN, and -0.0 not 0.0
    if isinstance(value, np.ndarray) and value.dtype.kind in "biufcmMSU":
        return value.shape, value.dtype.str, hashlib.blake2b(np.ascontiguousarray(value).tobytes()).digest()
    if isinstance(value, jax.Array) and not isinstance(value, jax.core.Tracer):
        return _Same(value)
    if depth >= MOST_NESTED or not isinstance(value, list | tuple | dict | set | frozenset):
        return None
    if isinstance(value, dict):
        return dict, tuple((_content(k, depth + 1), _content(v, depth + 1)) for k, v in value.items())
    parts = [_content(part, depth + 1) for part in value]
    return type(value), frozenset(parts) if isinstance(value, set | frozenset) else tuple(parts)


def _parts_with_code(value: Any, depth: int = 0) -> list[Any]:
    """Classes and functions in a value, and plain objects of the user's own."""
    if isinstance(value, list | tuple | dict) and depth < MOST_NESTED:
        parts = value.values() if isinstance(value, dict) else value
        return [holder for part in parts for holder in _parts_with_code(part, depth + 1)]
    if isinstance(value, type | FunctionType | functools.partial):
        return [value]
    is_plain = hasattr(value, "__dict__") and not isinstance(value, ModuleType | eqx.Module)
    return [value] if is_plain and not _is_of_a_library(type(value)) else []


def _parts_of_partial(value: functools.partial[Any]) -> list[Any]:
    """The function and the arguments that it is given; without arrays where these are leaves of a pytree."""
    if isinstance(value, jax.tree_util.Partial):
        leaves = jax.tree.leaves((value.args, value.keywords))
        return [value.func, *(leaf for leaf in leaves if not is_array(leaf))]
    return [value.func, *value.args, *value.keywords.values()]


def _named(function: FunctionType) -> list[Any]:
    """The objects of the global names in a function, and in the functions within it.

    Of a module of the user's own these are the attributes that the function names.
    """
    names, attributes = _names_in(function.__code__)
    found = [function.__globals__[name] for name in names if name in function.__globals__]
    modules = [
        value for value in found if isinstance(value, ModuleType) and not _is_library(value.__name__.partition(".")[0])
    ]
    inside = [vars(module)[name] for module in modules for name in attributes if name in vars(module)]
    return [*(value for value in found if not isinstance(value, ModuleType)), *inside]


@functools.lru_cache(maxsize=4096)
def _names_in(code: CodeType) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Global names that code, and the code within it, reads, and names of attributes; each in order."""
    names: set[str] = set()
    attributes: set[str] = set()
    codes = [code]
    while codes:
        one = codes.pop()
        for step in dis.get_instructions(one):
            if step.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
                names.add(str(step.argval))
            elif step.opname in ("LOAD_ATTR", "LOAD_METHOD"):
                attributes.add(str(step.argval))
        codes += [constant for constant in one.co_consts if isinstance(constant, CodeType)]
    return tuple(sorted(names)), tuple(sorted(attributes))


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
    """True if a package is Slabwave's, Python's own or an installed one: its code does not change while it is used."""
    if package == "__main__":  # a notebook, or a program that pytest and others start from where they are installed
        return False
    if package == "solver" or package in sys.stdlib_module_names:
        return True
    return "site-packages" in (getattr(sys.modules.get(package), "__file__", None) or "")


class Program:
    """`jax.jit` of a function of modules and arrays, in which modules may hold more than arrays.

    Programs are kept for the code of the user's own classes, too: see `own_code`.

    Args:
        fn: function of positional arguments. Modules among them (equations, steppers) are sealed on the way in.
        prepare: applied to each module before it is sealed.
        options: options of `jax.jit`.
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
        code = Static(tuple(code for module in modules for code in own_code(module)))
        return (*(sealed(self._prepare(v)) if isinstance(v, eqx.Module) else v for v in arguments), code)

    def __call__(self, *arguments: Any) -> Any:
        with no_ambient_mesh():
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
