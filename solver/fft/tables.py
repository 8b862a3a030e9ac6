"""Tables of numbers within programs.

JAX makes an array that a function closes over an input of its program, and `custom_partitioning` takes no function with
such inputs. A table is an operation without operands, which holds its numbers itself.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.core import Primitive
from jax.interpreters import mlir
from jaxtyping import Array

_table = Primitive("table")


def table(numbers: np.ndarray) -> Array:
    """The numbers as an array of the program that is traced."""
    return _table.bind(content=numbers.tobytes(), shape=numbers.shape, dtype=numbers.dtype)


def _numbers(content: bytes, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    return np.frombuffer(content, dtype).reshape(shape)


def _lower(context: Any, **numbers: Any) -> Any:
    return [mlir.ir_constant(_numbers(**numbers))]


_table.def_impl(lambda **numbers: jnp.asarray(_numbers(**numbers)))
_table.def_abstract_eval(lambda content, shape, dtype: jax.core.ShapedArray(shape, dtype))
mlir.register_lowering(_table, _lower)
