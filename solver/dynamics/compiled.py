"""Programs of equations: all parts that are not arrays are static, and numbers have the precision of the grid."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
import numpy as np

from solver.grid import Grid
from solver.static import Program, Static, is_zero

Method = TypeVar("Method", bound=Callable[..., Any])


def compiled(fn: Callable[..., Any], **options: Any) -> Program:
    """`jax.jit` of a function of equations, steppers and arrays: all parts that are not arrays are static, and the
    numbers of an equation are in the precision of its grid. `options` are the options of `jax.jit`."""
    return Program(fn, as_argument, **options)


def compiled_for_members(fn: Callable[..., Any], **options: Any) -> Program:
    """`compiled` of a batch of members, whose bits do not depend on companions: no term is left out."""
    return Program(fn, in_precision, **options)


def one_program(method: Method) -> Method:
    """A method of an equation that is one compiled program where it is called with arrays, as in a notebook.

    Otherwise JAX would compile each of its operations by itself. Within a program, on tracers, it is called as it is.
    """

    def apart(equation: Any, *arguments: Any) -> Any:  # names and values, since programs sort names
        found = method(equation, *arguments)
        return (Static(tuple(found)), tuple(found.values())) if isinstance(found, dict) else (None, found)

    program, signature = compiled(apart), inspect.signature(method)

    @functools.wraps(method)
    def call(*positional: Any, **named: Any) -> Any:
        arguments = signature.bind(*positional, **named).args
        if any(isinstance(leaf, jax.core.Tracer) for leaf in jax.tree.leaves(arguments)):
            return method(*arguments)
        names, found = program(*arguments)
        return found if names is None else dict(zip(names.value, found, strict=True))

    return call  # type: ignore[return-value]


def as_argument(module: Any) -> Any:
    """A module for a program: in the precision of its grid, and a parameter of a text that is Python's 0.0 static.

    So a program leaves out the linear terms of that parameter, such as β of the β-plane, and the other terms may be
    real. It is compiled anew when the parameter becomes another number.
    """
    module = in_precision(module)
    if getattr(module, "text", None) is None:
        return module
    names = module.parameters_in_text
    if not any(is_zero(leaf) for leaf in jax.tree.leaves([getattr(module, name, None) for name in names])):
        return module

    def apart(path: Any, leaf: Any) -> Any:
        return Static(leaf) if getattr(path[0], "name", None) in names and is_zero(leaf) else leaf

    return jax.tree_util.tree_map_with_path(apart, module)


def in_precision(module: Any) -> Any:
    """An equation whose floating-point and complex arrays have the precision of its grid; another module as it is.

    Python's own numbers stay as they are: they take the precision of the arrays that they meet.
    """
    grid = getattr(module, "grid", None)
    if not isinstance(grid, Grid):
        return module

    def cast(leaf: Any) -> Any:
        if not isinstance(leaf, np.ndarray | np.generic | jax.Array | jax.ShapeDtypeStruct):
            return leaf
        for kind, dtype in ((jnp.complexfloating, grid.complex_dtype), (jnp.floating, grid.dtype)):
            if jnp.issubdtype(leaf.dtype, kind) and leaf.dtype != dtype:
                return jax.ShapeDtypeStruct(leaf.shape, dtype) if not hasattr(leaf, "astype") else leaf.astype(dtype)
        return leaf

    return jax.tree.map(cast, module)
