"""Checks of parameters; the message of a refusal names the parameter, its value and the needed kind of value."""

from __future__ import annotations

import math
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

NUMBERS = int | float | complex | np.ndarray | np.generic | jax.Array  # and arrays of them, traced ones too


def require(
    name: str, value: Any, needed: str, least: float = -math.inf, above: float = -math.inf, *, real: bool = True
) -> None:
    """Refuse a flag, a complex number (unless `real` is False), one not finite, below `least` or not above `above`.

    Of a value that is being traced it is only known whether it is complex: see `nothing_unless`.

    Raises:
        ValueError: the value is refused. The message names the parameter, the value and the needed kind of value.
    """
    for entry in jax.tree.leaves(value):
        if not isinstance(entry, NUMBERS):
            continue
        if jnp.issubdtype(jnp.result_type(entry), jnp.bool_):
            raise ValueError(f"{name} {_said(value)}: {needed} is needed, which is not a flag")
        if real and jnp.iscomplexobj(entry):
            raise ValueError(f"{name} {_said(value)}: {needed} is needed, which is not complex")
        if not isinstance(entry, jax.core.Tracer):
            numbers = np.asarray(entry)
            ordered = numbers.real if np.iscomplexobj(numbers) else numbers
            if not (np.all(np.isfinite(numbers)) and np.all((ordered >= least) & (ordered > above))):
                raise ValueError(f"{name} {_said(value)}: {needed} is needed")


def nothing_unless(value: Any, least: float = -math.inf, above: float = -math.inf) -> Any:
    """The value, but NaN where it is being traced and `require` would refuse it; nothing else changes.

    Under `jit` and other transformations nothing can be raised: results and their derivatives are not a number either.
    """

    def mark(entry: Any) -> Any:
        if not isinstance(entry, jax.core.Tracer) or not jnp.issubdtype(entry.dtype, jnp.inexact):
            return entry
        return _marked(entry, least, above)

    return jax.tree.map(mark, value)


@jax.jit  # one program, not one for each operation, where a gradient is taken without `jit`
def _marked(entry: Any, least: float, above: float) -> Any:
    ordered = jnp.real(entry)
    return jnp.where(jnp.isfinite(entry) & (ordered >= least) & (ordered > above), entry, jnp.nan)


def need(
    module: eqx.Module,
    attribute: str,
    name: str,
    needed: str,
    least: float = -math.inf,
    above: float = -math.inf,
    *,
    real: bool = True,
) -> None:
    """`require` of an attribute, for `__check_init__`; it is put through `nothing_unless`."""
    value = getattr(module, attribute)
    require(name, value, needed, least, above, real=real)
    object.__setattr__(module, attribute, nothing_unless(value, least, above))


def _said(value: Any) -> str:
    """A value in a message: an array of many numbers by its shape."""
    return f"of shape {list(np.shape(value))}" if hasattr(value, "shape") and np.size(value) > 9 else str(value)


def require_shape(name: str, value: Any, shape: tuple[int, ...]) -> None:
    """Refuse a parameter that has another shape; of nested tuples and lists as of arrays.

    Raises:
        ValueError: the shape differs. The message names the parameter, the value and the needed shape.
    """

    def shape_of(value: Any) -> tuple[int, ...] | None:
        if not isinstance(value, tuple | list):
            return None if isinstance(value, str) else tuple(np.shape(value))
        inner = {shape_of(entry) for entry in value}
        below = inner.pop() if len(inner) == 1 else None if inner else ()
        return None if below is None else (len(value), *below)

    if shape_of(value) != shape:
        needed = "one number is" if shape == () else f"{' × '.join(map(str, shape))} numbers are"
        raise ValueError(f"{name} {_said(value)}: {needed} needed")
