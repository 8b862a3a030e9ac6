"""Programs of equations: all parts that are not arrays are static, and numbers have the precision of the grid."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from solver.dynamics.any_equation import AnyEquation
from solver.static import Program


def compiled(fn: Callable[..., Any], **options: Any) -> Program:
    """`jax.jit` of a function of equations, steppers and arrays: all parts that are not arrays are static, and the
    numbers of an equation are in the precision of its grid. `options` are the options of `jax.jit`."""
    return Program(fn, in_precision, **options)


def in_precision(module: Any) -> Any:
    """An equation whose floating-point and complex arrays have the precision of its grid; another module as it is.

    Python's own numbers stay as they are: they take the precision of the arrays that they meet.
    """
    if not isinstance(module, AnyEquation):
        return module
    grid = module.grid

    def cast(leaf: Any) -> Any:
        if not isinstance(leaf, np.ndarray | np.generic | jax.Array | jax.ShapeDtypeStruct):
            return leaf
        for kind, dtype in ((jnp.complexfloating, grid.complex_dtype), (jnp.floating, grid.dtype)):
            if jnp.issubdtype(leaf.dtype, kind) and leaf.dtype != dtype:
                return jax.ShapeDtypeStruct(leaf.shape, dtype) if not hasattr(leaf, "astype") else leaf.astype(dtype)
        return leaf

    return jax.tree.map(cast, module)
