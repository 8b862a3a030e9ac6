"""An expression as people write it: in Unicode, for a terminal, and in LaTeX, for a page."""

from __future__ import annotations

from solver.written.notation import LATEX, UNICODE, Notation, number
from solver.written.tree import (
    Call,
    Comparison,
    Component,
    Contraction,
    Derivative,
    Entry,
    Label,
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

ADDED, MULTIPLIED, RAISED_TO, WHOLE = 1, 2, 3, 4  # how tightly a part holds together
REPEATED = ("lap", "inverse_lap", "dx", "dy", "dz")  # twice, they are printed as a power; others may stand before them
OPEN = (*REPEATED, "grad", "div", "curl", "perp", "cross", "outer", "dot", "fraclap", "helmholtz", "symbol")
REMARKS = {"cause": 1, "explicit": 0}  # and the argument that is printed


def unicode(node: Node | Line) -> str:
    """The expression, or the equation, in Unicode: `u_t = −u·∇u − ∇p + ν∇²u`."""
    return _Writer(UNICODE).whole(node)


def latex(node: Node | Line) -> str:
    """The expression, or the equation, in LaTeX, without dollar signs."""
    return _Writer(LATEX).whole(node)


class _Writer:
    def __init__(self, notation: Notation) -> None:
        self.notation = notation

    def whole(self, node: Node | Line) -> str:
        if isinstance(node, Line):
            return f"{self.text(node.left)} = {self.text(node.right)}"
        return self.text(node)

    def text(self, node: Node) -> str:
        """A part without brackets around it."""
        return self.part(node)[0]

    def bound(self, node: Node, tightness: int) -> str:
        """A part, in brackets where it holds together less tightly than is needed."""
        text, own = self.part(node)
        return text if own >= tightness else text.join(self.notation.brackets)

    def part(self, node: Node) -> tuple[str, int]:  # noqa: C901 (one case for each kind of node)
        """A node, and how tightly it holds together."""
        notation, node = self.notation, _without_remark(node)
        match node:
            case Number(value):
                is_whole = value.real >= 0 if value.imag == 0 else value.real == 0
                return number(value).replace("-", notation.minus), WHOLE if is_whole else ADDED
            case Name(name):
                return notation.units.get(name) or notation.name(name), WHOLE
            case Sum(terms):
                return self.sum(terms), ADDED
            case Negative(of):
                return notation.minus + self.bound(of, MULTIPLIED), ADDED
            case Product(left, right):
                return notation.product(self.closed(left, MULTIPLIED), self.bound(right, MULTIPLIED)), MULTIPLIED
            case Quotient(above, below):
                return self.quotient(above, below), MULTIPLIED
            case Power(base, exponent):
                return self.power(self.bound(base, WHOLE), exponent), RAISED_TO
            case Contraction(left, right):
                return self.infix(left, notation.dot, right), MULTIPLIED
            case Component(of, direction):
                return notation.component(self.bound(of, WHOLE), "z" if direction == "up" else direction), WHOLE
            case Comparison(left, sign, right):
                return f"{self.text(left)} {sign} {self.text(right)}", ADDED
            case Entry(name, index):
                return notation.component(notation.name(name), "".join("xyz"[i] for i in index)), WHOLE
            case Derivative(of, axis):
                return self.operator(f"d{'xyz'[axis]}", of), RAISED_TO
            case Solved(of, by):
                inverse = self.power(self.text(by).join(notation.brackets), Number(-1))
                return notation.product(inverse, self.bound(of, WHOLE)), MULTIPLIED
            case Slot(holds, slot):
                return notation.component(holds[0], str(slot)), WHOLE
            case Call():
                return self.call(node)
        raise TypeError(f"{type(node).__name__} is no part of an expression")

    def sum(self, terms: tuple[Node, ...]) -> str:
        """Terms with their signs between them."""
        notation, text = self.notation, self.bound(terms[0], ADDED)
        for term in map(_without_remark, terms[1:]):
            is_less = isinstance(term, Negative)
            added = self.bound(term.of, MULTIPLIED) if isinstance(term, Negative) else self.bound(term, ADDED)
            if not is_less and added.startswith(notation.minus):
                is_less, added = True, added.removeprefix(notation.minus)
            text += f" {notation.minus if is_less else '+'} {added}"
        return text

    def quotient(self, above: Node, below: Node) -> str:
        """A fraction; halves have ½ before them."""
        notation = self.notation
        if notation.quotient is not None:
            return notation.quotient(self.text(above), self.text(below))
        if below == Number(2) and notation.half:
            if above == Number(1):
                return notation.half
            if not isinstance(above, Number) or above.value.imag:
                return notation.product(notation.half, self.bound(above, MULTIPLIED))
        return f"{self.closed(above, MULTIPLIED)}/{self.bound(below, RAISED_TO)}"

    def power(self, base: str, exponent: Node) -> str:
        """A power; the exponent holds together if it is not a sum, a product or a quotient."""
        text, tightness = self.part(exponent)
        return self.notation.power(base, text, tightness == WHOLE)

    def closed(self, node: Node, tightness: int) -> str:
        """A left factor, in brackets where an operator in it would act on what follows, too."""
        text, own = self.part(node)
        return text.join(self.notation.brackets) if own < tightness or _is_open(node) else text

    def infix(self, left: Node, sign: str, right: Node) -> str:
        """Two vectors with a sign between them; one with such a sign of its own in brackets."""
        own = ("curl", "div", "cross", "outer")
        texts = [
            self.bound(side, WHOLE if isinstance(side, Call) and side.function in own else RAISED_TO)
            for side in map(_without_remark, (left, right))
        ]
        return sign.join(texts)

    def call(self, node: Call) -> tuple[str, int]:
        """An operator before what it acts on, or a function with its arguments."""
        notation, name, arguments = self.notation, node.function, node.arguments
        if name in ("lap", "inverse_lap") and arguments[1:]:
            axes = "".join(map(self.text, arguments[1:]))
            laplacian = notation.component(notation.repeated(name, 1).rstrip(), axes)
            return notation.product(laplacian, self.bound(arguments[0], WHOLE)), RAISED_TO
        if name in REPEATED or name in notation.operators:
            return self.operator(name, arguments[0]), WHOLE if name == "dt" else RAISED_TO
        if name in ("cross", "outer", "dot"):
            sign = {"cross": notation.cross, "outer": notation.outer, "dot": notation.dot}[name]
            return self.infix(arguments[0], sign, arguments[1]), MULTIPLIED
        if name in ("fraclap", "helmholtz"):
            return self.of_laplacian(node), RAISED_TO
        if name == "symbol":
            return self.own_symbol(node), RAISED_TO
        if name == "abs":
            return self.text(arguments[0]).join(notation.absolute), WHOLE
        if name == "mean":
            whole = self.text(arguments[0]).join(notation.mean)
            return notation.component(whole, self.text(arguments[1])) if arguments[1:] else whole, WHOLE
        if name == "conj":
            return notation.power(self.bound(arguments[0], WHOLE), "*", True), RAISED_TO
        if name == "trans":
            return self.bound(arguments[0], WHOLE) + notation.transposed, RAISED_TO
        return notation.call(name, ", ".join(map(self.text, node.written))), WHOLE

    def operator(self, name: str, operand: Node) -> str:
        """An operator before its operand; the same one several times as a power."""
        notation, operand, times = self.notation, _as_call(operand), 1
        while name in REPEATED and isinstance(operand, Call) and operand.function == name:
            operand, times = _as_call(operand.arguments[0]), times + 1
        if name == "dt" and isinstance(operand, Name) and notation.rate is not None:
            return notation.rate(notation.name(operand.name))
        before = notation.repeated(name, times) if name in REPEATED else notation.operators[name]
        if operand == Number(1):  # a symbol: what acts on each mode
            return before.rstrip()
        follows = isinstance(operand, Call) and operand.function in REPEATED
        behind = self.bound(operand, RAISED_TO if follows else WHOLE)
        return (before.rstrip() if behind.startswith("(") else before) + behind

    def own_symbol(self, node: Call) -> str:
        """A function of the user's of the wavenumber before what it acts on: `depth(∇) f`."""
        of, label = node.arguments
        assert isinstance(label, Label)
        notation = self.notation
        written = notation.name(label.function) + notation.operators["grad"].rstrip().join(notation.brackets)
        return written if of == Number(1) else f"{written} {self.bound(of, WHOLE)}"

    def of_laplacian(self, node: Call) -> str:
        """(−∇²)^s f, or (a − ∇²)⁻¹ f."""
        notation, (of, argument) = self.notation, node.arguments
        laplacian = f"{notation.minus}{notation.repeated('lap', 1).rstrip()}"
        if node.function == "fraclap":
            operator = self.power(laplacian.join(notation.brackets), argument)
        else:
            shifted = f"{self.text(argument)} {notation.minus} {notation.repeated('lap', 1).rstrip()}"
            operator = self.power(shifted.join(notation.brackets), Number(-1))
        return f"{operator} {self.bound(of, WHOLE)}"


def _without_remark(node: Node) -> Node:
    """The expression inside a remark."""
    while isinstance(node, Call) and node.function in REMARKS:
        node = node.arguments[REMARKS[node.function]]
    return node


def _as_call(node: Node) -> Node:
    """A node without its remark; a derivative that was written out, as it is in a text."""
    node = _without_remark(node)
    return Call(f"d{'xyz'[node.axis]}", (node.of,)) if isinstance(node, Derivative) else node


def _is_open(node: Node) -> bool:
    """True if an expression ends with what an operator acts on, or with a vector of a product of two."""
    match _without_remark(node):
        case Product(_, right):
            return _is_open(right)
        case Call(function):
            return function in OPEN
        case Derivative() | Contraction() | Solved():
            return True
    return False
