"""The words of the language, without a system's own names: operators, functions, constants and directions."""

from __future__ import annotations

import difflib
import operator
from collections.abc import Iterable
from dataclasses import dataclass

DIRECTIONS = ("x", "y", "z", "up")
UNIT_VECTORS = {"ex": 0, "ey": 1, "ez": 2, "up": -1}  # along which axis
COORDINATES = {"x": 0, "y": 1, "z": 2}
CONSTANTS = {"pi", "t", *UNIT_VECTORS, *COORDINATES}


@dataclass(frozen=True)
class Word:
    """An operator or a function.

    Args:
        signature: the written form, for messages.
        least, most: numbers of arguments.
    """

    signature: str
    least: int = 1
    most: int = 1


DERIVATIVES = {
    "grad": Word("grad(f): ∂_i f"),
    "div": Word("div(u): ∂_i u_i"),
    "curl": Word("curl(u)"),
    "lap": Word("lap(f), or lap(f, x, y) along these axes", 1, 3),
    "dx": Word("dx(f)"),
    "dy": Word("dy(f)"),
    "dz": Word("dz(f)"),
    "inverse_lap": Word("inverse_lap(f): g with ∇²g = f, or inverse_lap(f, x, y)", 1, 3),
    "fraclap": Word("fraclap(f, s): (−∇²)^s f", 2, 2),
    "hyper": Word("hyper(f, nu, p): −ν(−∇²)^p f", 3, 3),
    "helmholtz": Word("helmholtz(f, a): g with (a − ∇²)g = f", 2, 2),
    "symbol": Word("symbol(name, f): each mode of f times name(|k|), or name(kx, ky), a function of your own", 2, 2),
}
ALGEBRA = {
    "perp": Word("perp(f): (−f_y, f_x)"),
    "dot": Word("dot(u, v)", 2, 2),
    "cross": Word("cross(u, v)", 2, 2),
    "outer": Word("outer(u, v)", 2, 2),
    "trans": Word("trans(T)"),
    "sym": Word("sym(T): (T + trans(T))/2"),
    "trace": Word("trace(T): T_ii"),
    "conj": Word("conj(f)"),
    "real": Word("real(f)"),
    "imag": Word("imag(f)"),
    "mean": Word("mean(f) or mean(f, x)", 1, 2),
}
POINTWISE = {
    **{name: Word(f"{name}(f)") for name in ("sin", "cos", "exp", "log", "sqrt", "tanh", "abs")},
    "where": Word("where(a < b, f, g)", 3, 3),
    "ramp": Word("ramp(a, b, t0, t1): a until the time t0, b from t1 on, and linear between", 4, 4),
    "min": Word("min(f, g)", 1, 2),
    "max": Word("max(f, g)", 1, 2),
}
COMPARED = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}
EXTREMES = ("min", "max")  # over the box, of one argument
MADE_REAL = ("abs", "real", "imag")  # whatever they are of
REMARKS = {
    "dt": Word("dt(f), on the left of an equation"),
    "explicit": Word("explicit(term)"),
    "penalise": Word(
        "penalise(u): what bodies and sponges do to a velocity; penalise(c, diffusivity) to a scalar", 1, 2
    ),
    "closure": Word(
        "closure(u): the divergence of a velocity's subgrid stress; closure(u, grad(c)) of a scalar's subgrid flux",
        1,
        2,
    ),
    "cause": Word("cause(name, term)", 2, 2),
    "integ": Word("integ(p), in a gauge: integ(p) = 0"),
    "lift": Word("lift(tau), of Dedalus: zero, since fields meet their conditions by themselves", 1, 2),
}
ALONG = ("mean", "lap", "inverse_lap")  # may name the axes that they act along
OPERATORS = ("lap", "inverse_lap", "fraclap", "helmholtz", "mean", "symbol")  # as derivatives, on each mode by itself
WORDS = {**DERIVATIVES, **ALGEBRA, **POINTWISE, **REMARKS}


def nearest(name: str, known: Iterable[str]) -> str:
    """The end of an error message: `; did you mean …?`, or the names that are known."""
    names = sorted(known)
    close = difflib.get_close_matches(name, names, n=1, cutoff=0.6)
    return f"; did you mean {close[0]!r}?" if close else f"; known are {', '.join(names) or 'none'}"
