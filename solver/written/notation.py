"""Printed forms of names, numbers and operators: in Unicode, for a terminal, and in LaTeX, for a page."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

GREEK = {
    "alpha": "α", "beta": "β", "gamma": "γ", "delta": "δ", "epsilon": "ε", "zeta": "ζ", "eta": "η", "theta": "θ",
    "kappa": "κ", "lambda_": "λ", "mu": "μ", "nu": "ν", "xi": "ξ", "pi": "π", "rho": "ρ", "sigma": "σ", "tau": "τ",
    "phi": "φ", "chi": "χ", "psi": "ψ", "omega": "ω", "Gamma": "Γ", "Delta": "Δ", "Theta": "Θ", "Lambda": "Λ",
    "Sigma": "Σ", "Phi": "Φ", "Psi": "Ψ", "Omega": "Ω",
}  # fmt: skip
RAISED = str.maketrans("0123456789-−", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁻")
LOWERED = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")
SHORT = re.compile(r"−?[\w.½]+")  # needs no brackets in an exponent
CLOSE = re.compile(r"(.*[ )½])?([^\W\d_]?[⁰-⁹²³¹]*|[½)])")  # stands close before an operator: one letter, or a bracket


@dataclass(frozen=True)
class Notation:
    """Printed forms of the parts of a formula: signs, and functions of parts that are printed already."""

    name: Callable[[str], str]
    power: Callable[[str, str, bool], str]  # of a base and an exponent, and whether the exponent holds together
    product: Callable[[str, str], str]
    quotient: Callable[[str, str], str] | None  # None if a stroke stands between its parts
    half: str  # before what is halved; empty if halves are quotients
    operators: Mapping[str, str]
    repeated: Callable[[str, int], str]  # an operator that is applied so many times
    rate: Callable[[str], str] | None  # of a name; None if dt is an operator as others
    call: Callable[[str, str], str]
    brackets: tuple[str, str]
    absolute: tuple[str, str]
    mean: tuple[str, str]
    component: Callable[[str, str], str]
    dot: str
    cross: str
    outer: str
    minus: str
    transposed: str
    units: Mapping[str, str]


def number(value: complex) -> str:
    """A number, in either notation."""
    if value.imag == 0:
        return f"{value.real:.12g}"
    imaginary = "i" if value.imag == 1 else f"{value.imag:.12g}i"
    return imaginary if value.real == 0 else f"{value.real:.12g} + {imaginary}"


# ---- Unicode --------------------------------------------------------------------------------------------------------


def _plain_name(name: str) -> str:
    """Greek letters, and numbers behind `_` as subscripts: `ν_h`, `b₀`."""
    stem, _, index = name.partition("_") if name not in GREEK else (name, "", "")
    stem = GREEK.get(stem, stem)
    return stem + index.translate(LOWERED) if index.isdigit() else f"{stem}_{index}" if index else stem


def _plain_power(base: str, exponent: str, holds: bool) -> str:
    if exponent.lstrip("−").isdigit():
        return base + exponent.translate(RAISED)
    return f"{base}^{exponent}" if holds or SHORT.fullmatch(exponent) else f"{base}^({exponent})"


def _plain_product(left: str, right: str) -> str:
    """Factors side by side: operators close to a single letter, other factors with a space."""
    return left + right if right[0] in "∇|⟨" and CLOSE.fullmatch(left) else f"{left} {right}"


def _plain_rate(name: str) -> str:
    return f"{name}_t" if len(name) == 1 else f"∂t {name}"


def _plain_repeated(name: str, times: int) -> str:
    if name in ("lap", "inverse_lap"):
        return "∇" + str(2 * times if name == "lap" else -2 * times).translate(RAISED)
    return f"∂{name[1]}{str(times).translate(RAISED) if times > 1 else ''} "


UNICODE = Notation(
    name=_plain_name,
    power=_plain_power,
    product=_plain_product,
    quotient=None,
    half="½",
    operators={"grad": "∇", "div": "∇·", "curl": "∇×", "perp": "∇⊥", "dt": "∂t "},
    repeated=_plain_repeated,
    rate=_plain_rate,
    call=lambda function, arguments: f"{function}({arguments})",
    brackets=("(", ")"),
    absolute=("|", "|"),
    mean=("⟨", "⟩"),
    component=lambda whole, direction: f"{whole}_{direction}",
    dot="·",
    cross="×",
    outer="⊗",
    minus="−",
    transposed="ᵀ",
    units={"ex": "x̂", "ey": "ŷ", "ez": "ẑ", "up": "ẑ"},
)


# ---- LaTeX ----------------------------------------------------------------------------------------------------------


def _latex_name(name: str) -> str:
    if name in GREEK:
        return "\\" + name.rstrip("_")
    stem, _, index = name.partition("_")
    if index:
        return rf"{_latex_name(stem)}_{{{_latex_word(index)}}}"
    return _latex_word(name)


def _latex_word(word: str) -> str:
    return word if len(word) == 1 or word.isdigit() else r"\mathrm{" + word.replace("_", r"\_") + "}"


def _latex_repeated(name: str, times: int) -> str:
    if name in ("lap", "inverse_lap"):
        return rf"\nabla^{{{2 * times if name == 'lap' else -2 * times}}} "
    return rf"\partial_{name[1]}{f'^{times}' if times > 1 else ''} "


LATEX = Notation(
    name=_latex_name,
    power=lambda base, exponent, holds: f"{base}^{{{exponent}}}",
    product=lambda left, right: f"{left} {right}",
    quotient=lambda above, below: rf"\frac{{{above}}}{{{below}}}",
    half="",
    operators={"grad": r"\nabla ", "div": r"\nabla\cdot ", "curl": r"\nabla\times ", "perp": r"\nabla^\perp ",
               "dt": r"\partial_t "},
    repeated=_latex_repeated,
    rate=None,
    call=lambda function, arguments: rf"\operatorname{{{function}}}\left({arguments}\right)",
    brackets=(r"\left(", r"\right)"),
    absolute=(r"\left|", r"\right|"),
    mean=(r"\left\langle ", r"\right\rangle"),
    component=lambda whole, direction: f"{whole}_{{{direction}}}",
    dot=r"\cdot ",
    cross=r"\times ",
    outer=r"\otimes ",
    minus="-",
    transposed=r"^{\mathsf T}",
    units={"ex": r"\hat x", "ey": r"\hat y", "ez": r"\hat z", "up": r"\hat z"},
)  # fmt: skip
