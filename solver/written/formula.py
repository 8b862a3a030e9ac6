"""An expression as people write it: in Unicode, for a terminal, and in LaTeX, for a page."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from solver.written.tree import (
    Call,
    Comparison,
    Component,
    Contraction,
    Derivative,
    Entry,
    Line,
    Name,
    Negative,
    Node,
    Number,
    Power,
    Product,
    Quotient,
    Slot,
    Solved,
    Sum,
)

GREEK = {
    "alpha": "α", "beta": "β", "gamma": "γ", "delta": "δ", "epsilon": "ε", "zeta": "ζ", "eta": "η", "theta": "θ",
    "kappa": "κ", "lambda_": "λ", "mu": "μ", "nu": "ν", "xi": "ξ", "pi": "π", "rho": "ρ", "sigma": "σ", "tau": "τ",
    "phi": "φ", "chi": "χ", "psi": "ψ", "omega": "ω",
}  # fmt: skip
RAISED = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")
ADDED, MULTIPLIED, RAISED_TO, WHOLE = 1, 2, 3, 4  # how tightly a part holds together


@dataclass(frozen=True)
class _Style:
    """How the parts are written."""

    name: Callable[[str], str]
    power: Callable[[str, str], str]
    quotient: Callable[[str, str], str]
    operators: dict[str, str]
    call: Callable[[str, str], str]
    brackets: tuple[str, str]
    dot: str
    minus: str
    component: Callable[[str, str], str]


def _plain_name(name: str) -> str:
    return GREEK.get(name, name)


def _latex_name(name: str) -> str:
    if name in GREEK:
        return "\\" + name.rstrip("_")
    return name if len(name) == 1 else rf"\mathrm{{{name}}}".replace("_", r"\_")


_UNICODE = _Style(
    name=_plain_name,
    power=lambda base, exponent: base + exponent.translate(RAISED) if exponent.isdigit() else f"{base}^{exponent}",
    quotient=lambda above, below: f"{above}/{below}",
    operators={"grad": "∇", "div": "∇·", "curl": "∇×", "lap": "∇²", "dx": "∂x ", "dy": "∂y ", "dz": "∂z ", "dt": "∂t ",
               "inverse_lap": "∇⁻²", "perp": "∇⊥"},
    call=lambda function, arguments: f"{function}({arguments})",
    brackets=("(", ")"),
    dot="·",
    minus="−",
    component=lambda whole, direction: f"{whole}_{direction}",
)  # fmt: skip
_LATEX = _Style(
    name=_latex_name,
    power=lambda base, exponent: f"{base}^{{{exponent}}}",
    quotient=lambda above, below: rf"\frac{{{above}}}{{{below}}}",
    operators={"grad": r"\nabla ", "div": r"\nabla\cdot ", "curl": r"\nabla\times ", "lap": r"\nabla^2 ",
               "dx": r"\partial_x ", "dy": r"\partial_y ", "dz": r"\partial_z ", "dt": r"\partial_t ",
               "inverse_lap": r"\nabla^{-2} ", "perp": r"\nabla^\perp "},
    call=lambda function, arguments: rf"\operatorname{{{function}}}\left({arguments}\right)",
    brackets=(r"\left(", r"\right)"),
    dot=r"\cdot ",
    minus="-",
    component=lambda whole, direction: f"{whole}_{{{direction}}}",
)  # fmt: skip


def unicode(node: Node | Line) -> str:
    """The expression, or the equation, in Unicode: `∂t u = −(u·∇)u − ∇p + ν ∇²u`."""
    return _Writer(_UNICODE).whole(node)


def latex(node: Node | Line) -> str:
    """The expression, or the equation, in LaTeX, without dollar signs."""
    return _Writer(_LATEX).whole(node)


class _Writer:
    def __init__(self, style: _Style) -> None:
        self.style = style

    def whole(self, node: Node | Line) -> str:
        """An equation or an expression."""
        if isinstance(node, Line):
            return f"{self.part(node.left)[0]} = {self.part(node.right)[0]}"
        return self.part(node)[0]

    def bound(self, node: Node, tightness: int) -> str:
        """A part, in brackets where it holds together less tightly than is needed."""
        text, own = self.part(node)
        before, behind = self.style.brackets
        return text if own >= tightness else f"{before}{text}{behind}"

    def part(self, node: Node) -> tuple[str, int]:  # noqa: C901 (one case for each kind of node)
        """A node, and how tightly it holds together."""
        style = self.style
        match node:
            case Number(value):
                return _number(value), WHOLE if value.imag == 0 and value.real >= 0 else ADDED
            case Name(name):
                return style.name(name), WHOLE
            case Sum(terms):
                return self.sum(terms), ADDED
            case Negative(of):
                return style.minus + self.bound(of, MULTIPLIED), ADDED
            case Product(Derivative() as left, right):
                return f"{self.bound(left, WHOLE)} {self.bound(right, MULTIPLIED)}", MULTIPLIED
            case Product(left, right):
                return f"{self.bound(left, MULTIPLIED)} {self.bound(right, MULTIPLIED)}", MULTIPLIED
            case Quotient(above, below):
                return style.quotient(self.bound(above, MULTIPLIED), self.bound(below, RAISED_TO)), MULTIPLIED
            case Power(base, exponent):
                return style.power(self.bound(base, WHOLE), self.bound(exponent, WHOLE)), RAISED_TO
            case Contraction(left, Call("grad", (of,))):
                advected = f"{self.bound(left, RAISED_TO)}{style.dot}{style.operators['grad'].strip()}"
                before, behind = style.brackets
                return f"{before}{advected}{behind}{self.bound(of, RAISED_TO)}", MULTIPLIED
            case Contraction(left, right):
                return f"{self.bound(left, RAISED_TO)}{style.dot}{self.bound(right, RAISED_TO)}", MULTIPLIED
            case Component(of, direction):
                return style.component(self.bound(of, WHOLE), direction), WHOLE
            case Comparison(left, sign, right):
                return f"{self.part(left)[0]} {sign} {self.part(right)[0]}", ADDED
            case Entry(name, index):
                return style.component(style.name(name), "".join("xyz"[i] for i in index)), WHOLE
            case Derivative(of, axis):
                return style.operators[f"d{'xyz'[axis]}"] + self.bound(of, WHOLE), RAISED_TO
            case Solved(of, by):
                divisor = self.part(by)[0]
                before, behind = style.brackets
                return f"{style.power(f'{before}{divisor}{behind}', '−1')} {self.bound(of, WHOLE)}", MULTIPLIED
            case Slot(holds, number):
                return style.component(holds[0], str(number)), WHOLE
            case Call():
                return self.call(node)
        raise TypeError(f"{type(node).__name__} is no part of an expression")

    def sum(self, terms: tuple[Node, ...]) -> str:
        """Terms with their signs between them."""
        text = self.bound(terms[0], ADDED)
        for term in terms[1:]:
            is_less = isinstance(term, Negative)
            sign, term = (self.style.minus, term.of) if isinstance(term, Negative) else ("+", term)
            text += f" {sign} {self.bound(term, MULTIPLIED if is_less else ADDED)}"
        return text

    def call(self, node: Call) -> tuple[str, int]:
        """An operator before what it acts on; remarks are left out; other functions with their arguments."""
        style, name, arguments = self.style, node.function, node.arguments
        if name == "cause":
            return self.part(arguments[1])
        if name == "explicit":
            return self.part(arguments[0])
        if name in style.operators:
            return style.operators[name] + self.bound(arguments[0], WHOLE), RAISED_TO
        if name == "abs":
            return f"|{self.part(arguments[0])[0]}|", WHOLE
        if name == "conj":
            return style.power(self.bound(arguments[0], WHOLE), "*"), RAISED_TO
        return style.call(name, ", ".join(self.part(argument)[0] for argument in arguments)), WHOLE


def _number(value: complex) -> str:
    if value.imag == 0:
        return f"{value.real:.12g}"
    imaginary = "i" if value.imag == 1 else f"{value.imag:.12g}i"
    return imaginary if value.real == 0 else f"{value.real:.12g} + {imaginary}"
