"""Numbers of each mode that are real or imaginary by how they were made, so that i costs nothing until the end."""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from solver.static import is_zero


@dataclass(frozen=True)
class SymbolValue:
    """`value`, or i times it. Derivatives of real symbols alternate between the two, and stay real arrays.

    Args:
        value: an array or a number, itself real or complex.
        by_i: True if the value is multiplied by i.
        scale: further factor, which may be too large for the precision of arrays: a product multiplies it with the
            other factor first.
    """

    value: Any
    by_i: bool = False
    scale: Any = 1.0

    @classmethod
    def of(cls, given: Any) -> SymbolValue:
        """A number or an array as it is; a number that is imaginary as i times a real one."""
        if isinstance(given, SymbolValue):
            return given
        if isinstance(given, complex) and given.real == 0 and given.imag != 0:
            return cls(given.imag, True)
        return cls(given)

    @property
    def multiplied_out(self) -> Any:
        """The value with its i."""
        value = self.value if _is_one(self.scale) else self.scale * self.value
        return 1j * value if self.by_i else value

    def __add__(self, other: Any) -> SymbolValue:
        self, other = self.scaled(), SymbolValue.of(other).scaled()
        if is_zero(other.value):
            return self
        if is_zero(self.value):
            return other
        if self.by_i is other.by_i:
            return SymbolValue(self.value + other.value, self.by_i)
        return SymbolValue(self.multiplied_out + other.multiplied_out)

    __radd__ = __add__

    def __sub__(self, other: Any) -> SymbolValue:
        return self + -SymbolValue.of(other)

    def __rsub__(self, other: Any) -> SymbolValue:
        return -self + other

    def __neg__(self) -> SymbolValue:
        return SymbolValue(-self.value, self.by_i, self.scale)

    def __mul__(self, other: Any) -> SymbolValue:
        other = SymbolValue.of(other)
        if is_zero(self.value) or is_zero(other.value):  # a term without its parameter is no term
            return SymbolValue(0.0)
        if not (_is_one(self.scale) and _is_one(other.scale)):
            self, other = (self, other) if _is_one(self.scale) else (other, self)
            self, other = self.scaled() * SymbolValue(other.scale), SymbolValue(other.value, other.by_i)
        product = SymbolValue(self.value * other.value, self.by_i is not other.by_i)
        return -product if self.by_i and other.by_i else product

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> SymbolValue:
        self, other = self.scaled(), SymbolValue.of(other).scaled()
        quotient = SymbolValue(_as_arrays(operator.truediv, self.value, other.value), self.by_i is not other.by_i)
        return -quotient if other.by_i and not self.by_i else quotient

    def __rtruediv__(self, other: Any) -> SymbolValue:
        return SymbolValue.of(other) / self

    def __pow__(self, other: Any) -> SymbolValue:
        return SymbolValue(_as_arrays(operator.pow, self.multiplied_out, SymbolValue.of(other).multiplied_out))

    def __rpow__(self, other: Any) -> SymbolValue:
        return SymbolValue.of(other) ** self

    def __abs__(self) -> SymbolValue:
        return SymbolValue(abs(self.scaled().value))

    def scaled(self) -> SymbolValue:
        """The same with its scale multiplied in."""
        return self if _is_one(self.scale) else SymbolValue(self.scale * self.value, self.by_i)


def _as_arrays(operation: Callable[[Any, Any], Any], left: Any, right: Any) -> Any:
    """The operation; inf or nan, as of arrays, where numbers of Python raise an error: a `where` may leave it out."""
    try:
        return operation(left, right)
    except ArithmeticError:
        with np.errstate(all="ignore"):
            return operation(np.asarray(1.0 * left), np.asarray(1.0 * right)).item()


def _is_one(scale: Any) -> bool:
    return isinstance(scale, float) and scale == 1.0


def multiplied_out(value: Any) -> Any:
    """A symbol's values, with its factors multiplied in."""
    return value.multiplied_out if hasattr(value, "multiplied_out") else value
