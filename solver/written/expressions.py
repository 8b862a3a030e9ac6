"""Equations from Python expressions: `dt(u) == -u @ grad(u)` is the same as the text "dt(u) = -u@grad(u)"."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from solver.written.vocabulary import DIRECTIONS, WORDS


def _infix(sign: str, reflected: bool = False) -> Callable[[Any, Any], Any]:
    def join(own: Any, other: Any) -> Any:
        left, right = (other, own) if reflected else (own, other)
        return Expression(f"{_bound(left)} {sign} {_bound(right)}")

    return join


class Expression:
    """A part of an equation and its text; operators join expressions and numbers.

    Args:
        text: as in an equation.
    """

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text

    __str__ = __repr__
    __hash__ = None  # type: ignore[assignment]  # `==` makes an equation

    def __getattr__(self, direction: str) -> Expression:
        if direction not in DIRECTIONS:
            raise AttributeError(f"no component .{direction}: {', '.join(DIRECTIONS)} are there")
        return Expression(f"{_bound(self)}.{direction}")

    def __neg__(self) -> Expression:
        return Expression(f"-{_bound(self)}")

    def __eq__(self, other: object) -> Any:
        """An equation, as `write` takes it."""
        return f"{self.text} = {_text(other)}"

    __add__, __radd__ = _infix("+"), _infix("+", reflected=True)
    __sub__, __rsub__ = _infix("-"), _infix("-", reflected=True)
    __mul__, __rmul__ = _infix("*"), _infix("*", reflected=True)
    __truediv__, __rtruediv__ = _infix("/"), _infix("/", reflected=True)
    __matmul__, __pow__ = _infix("@"), _infix("**")


def symbols(names: str) -> Any:
    """Names as expressions: `u, p = symbols("u p")`; one alone is no tuple."""
    found = tuple(Expression(name) for name in names.replace(",", " ").split())
    return found[0] if len(found) == 1 else found


def _text(part: Any) -> str:
    if isinstance(part, Expression | str | int | float | complex):
        return str(part)
    raise TypeError(f"{type(part).__name__} in an equation: expressions and numbers are needed")


def _bound(part: Any) -> str:
    text = _text(part)
    return text if text.isidentifier() else f"({text})"


def _operator(name: str) -> Callable[..., Expression]:
    def apply(*arguments: Any) -> Expression:
        return Expression(f"{name}({', '.join(map(_text, arguments))})")

    apply.__name__ = apply.__qualname__ = name
    apply.__doc__ = f"`{WORDS[name].signature}` in an equation."
    return apply


dt, grad, div, curl, lap = map(_operator, ("dt", "grad", "div", "curl", "lap"))
dx, dy, dz, perp, cross = map(_operator, ("dx", "dy", "dz", "perp", "cross"))
inverse_lap, fraclap, helmholtz, hyper = map(_operator, ("inverse_lap", "fraclap", "helmholtz", "hyper"))
outer, trans = map(_operator, ("outer", "trans"))
mean, cause, closure, explicit, penalise = map(_operator, ("mean", "cause", "closure", "explicit", "penalise"))
