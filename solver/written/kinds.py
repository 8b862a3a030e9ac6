"""Kinds of expressions: scalar, vector or tensor, real or complex; checks that their parts fit together."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

from solver.written.tree import (
    Call,
    Comparison,
    Component,
    Contraction,
    Label,
    Name,
    Negative,
    Node,
    Number,
    Power,
    Product,
    Quotient,
    Sum,
)
from solver.written.vocabulary import (
    ALONG,
    CONSTANTS,
    COORDINATES,
    DIRECTIONS,
    EXTREMES,
    POINTWISE,
    UNIT_VECTORS,
    WORDS,
    nearest,
)

ORDERS = ("a scalar", "a vector", "a tensor")
RANKS = {
    "scalar": (0, False),
    "vector": (1, False),
    "tensor": (2, False),
    "symmetric tensor": (2, False, True),
    "wavefunction": (0, True),
}
OWN_CAUSES = ("linear", "nonlinear", "forcing")  # columns of budgets, of what has no cause in the text
SAME = ("lap", "inverse_lap", "dx", "dy", "dz", "conj", "dt", "mean")  # what they give is of the same kind


@dataclass(frozen=True)
class Kind:
    """The kind of an expression at each point.

    Args:
        order: number of indices: 0 of a scalar, 1 of a vector, 2 of a tensor.
        is_complex: True if its values may be complex.
        is_symmetric: True for the name of a symmetric tensor.
        is_guessed: True for the name of a parameter whose kind is not declared.
    """

    order: int = 0
    is_complex: bool = False
    is_symmetric: bool = False
    is_guessed: bool = False

    def __str__(self) -> str:
        what = ORDERS[self.order] if self.order < len(ORDERS) else f"a tensor of order {self.order}"
        return what.replace("a ", "a complex ", 1) if self.is_complex else what

    @classmethod
    def of_rank(cls, rank: str) -> Kind:
        """The kind of a field of a rank: a key of `RANKS`."""
        return cls(*RANKS[rank])  # type: ignore[arg-type]


SCALAR, VECTOR, GUESSED = Kind(0), Kind(1), Kind(0, is_guessed=True)


@dataclass(frozen=True)
class Rule:
    """The order of an operator's result, from the orders of its operands.

    Args:
        order: from the number of dimensions and the orders; None where they do not fit.
        needed: kind that the operands must have, for messages.
        in_space: True if the number of dimensions matters.
    """

    order: Callable[..., int | None]
    needed: str
    in_space: bool = False


RULES = {
    "grad": Rule(lambda d, of: of + 1 if of <= 2 else None, "a scalar, a vector or a tensor is"),
    "div": Rule(lambda d, of: of - 1 if of else None, "a vector or a tensor is"),
    "curl": Rule(lambda d, of: d - 2 if of == 1 < d else None, "a vector in two or three dimensions is", True),
    "perp": Rule(lambda d, of: 1 if of == 0 and d == 2 else None, "a scalar in two dimensions is", True),
    "dot": Rule(lambda d, a, b: a + b - 2 if a and b else None, "vectors or tensors are"),
    "cross": Rule(
        lambda d, a, b: d - 2 if a == b == 1 < d else None, "two vectors in two or three dimensions are", True
    ),
    "outer": Rule(lambda d, a, b: 2 if a == b == 1 else None, "two vectors are"),
    **dict.fromkeys(("trans", "sym"), Rule(lambda d, of: of if of == 2 else None, "a tensor is")),
    "trace": Rule(lambda d, of: 0 if of == 2 else None, "a tensor is"),
    **dict.fromkeys(("real", "imag"), Rule(lambda d, of: of, "")),
}


def _check_remark(node: Call) -> None:
    """Refuse a cause with a name that budgets give, and one inside of `explicit`, where it would not be seen."""
    name, of = node.arguments[0], node.arguments[-1]
    if node.function == "cause" and isinstance(name, Name) and name.name in OWN_CAUSES:
        raise node.place.error(f"cause({name.name}, …): a budget has this name for what nothing names")
    if node.function == "explicit" and (causes := of.calls("cause")):
        raise causes[0].place.error("cause inside explicit: cause(name, explicit(term)) is needed")


def kind_of(node: Node, names: Mapping[str, Kind], dimensions: int, functions: Collection[str] = ()) -> Kind:
    """The kind of an expression.

    Args:
        node: the expression.
        names: kinds of fields, unknowns, definitions and parameters.
        dimensions: number of dimensions of space, one to three.
        functions: names of the user's functions: each of scalars, and gives one.

    Raises:
        WrittenError: an unknown name, or parts that do not fit; the message shows the place.
    """
    return _Checker(names, dimensions, functions).kind(node)


class _Checker:
    def __init__(self, names: Mapping[str, Kind], dimensions: int, functions: Collection[str]) -> None:
        self.names, self.dimensions, self.functions = names, dimensions, functions

    def kind(self, node: Node) -> Kind:  # noqa: C901 (one case for each kind of node)
        match node:
            case Number(value):
                return Kind(0, value.imag != 0)
            case Name():
                return self.name(node)
            case Negative(of):
                return self.kind(of)
            case Sum(terms):
                return self.alike(terms, "added")
            case Product(left, right):
                return self.product(node, self.kind(left), self.kind(right))
            case Quotient(above, below):
                kinds = self.kind(above), self.scalar(below, "what divides")
                return Kind(kinds[0].order, any(kind.is_complex for kind in kinds))
            case Power():
                return self.power(node)
            case Contraction(left, right):
                return self.contraction(node, self.kind(left), self.kind(right))
            case Component():
                return self.component(node)
            case Call():
                return self.call(node)
        raise node.place.error("a comparison stands as the first argument of where alone")

    def name(self, node: Name) -> Kind:
        """The kind of a name, of the system's own or of a constant."""
        if node.name in self.names:
            return self.names[node.name]
        axis = COORDINATES.get(node.name, UNIT_VECTORS.get(node.name, 0))
        if node.name not in CONSTANTS:
            raise node.place.error(f"unknown name {node.name!r}{self._remedy(node.name)}")
        if axis >= self.dimensions:
            turned = "; cross(ez, u) is u.x*ey - u.y*ex there" if node.name == "ez" and self.dimensions == 2 else ""
            raise node.place.error(f"{node.name} in {self.dimensions} dimensions: there is no such axis{turned}")
        return VECTOR if node.name in UNIT_VECTORS else SCALAR

    def _remedy(self, name: str) -> str:
        """The end of a message about a name that nothing has."""
        if name in WORDS:
            return f": {WORDS[name].signature} is needed"
        if name[:1] == "d" and name[1:] in self.names:
            return f"; the derivative in time is dt({name[1:]})"
        return nearest(name, {*self.names, *CONSTANTS})

    def alike(self, nodes: tuple[Node, ...], what: str) -> Kind:
        """The one kind of several nodes; complex if one of them is."""
        kinds = [self.kind(node) for node in nodes]
        for node, kind in zip(nodes, kinds, strict=True):
            if kind.order != kinds[0].order:
                raise node.place.error(f"{kind} is {what} to {kinds[0]}: equal ranks are needed")
        return Kind(kinds[0].order, any(kind.is_complex for kind in kinds))

    def scalar(self, node: Node, what: str) -> Kind:
        kind = self.kind(node)
        if kind.order:
            raise node.place.error(f"{what} is {kind}: a scalar is needed")
        return kind

    def product(self, node: Node, left: Kind, right: Kind) -> Kind:
        """The kind of a product with `*`, of which at least one factor is a scalar."""
        if left.order and right.order:
            raise node.place.error(f"{left} times {right}: @, dot, cross or outer is needed")
        return Kind(left.order + right.order, left.is_complex or right.is_complex)

    def power(self, node: Power) -> Kind:
        """The kind of a power: the exponent is a real number, or a parameter or a constant without a place in space."""
        base, exponent = self.scalar(node.base, "what is raised to a power"), node.exponent
        inner = exponent.of if isinstance(exponent, Negative) else exponent
        plain = isinstance(inner, Number) or (isinstance(inner, Quotient) and all(map(_is_number, inner.children)))
        if not (plain or isinstance(inner, Name)):
            raise exponent.place.error("an exponent is a number or a parameter")
        if self.scalar(exponent, "an exponent").is_complex:
            raise exponent.place.error("an exponent is real")
        if isinstance(inner, Number) and abs(inner.value) > 64:
            raise exponent.place.error(f"an exponent of {inner.value.real:g}: 64 at most")
        return base

    def contraction(self, node: Contraction, left: Kind, right: Kind) -> Kind:
        order = left.order + right.order - 2
        if not left.order or not right.order:
            hint = self.hint(node.children)
            raise node.place.error(f"{left} @ {right}: vectors or tensors are needed; * multiplies scalars{hint}")
        return Kind(order, left.is_complex or right.is_complex)

    def hint(self, nodes: Sequence[Node]) -> str:
        """The end of a message: how a parameter among these, which counts as a scalar, is said to be a vector."""
        names = [node.name for node in nodes if isinstance(node, Name) and self.kind(node).is_guessed]
        return f'; parameters = {{"{names[0]}": "vector"}} says that {names[0]} is one' if names else ""

    def component(self, node: Component) -> Kind:
        kind = self.kind(node.of)
        if not kind.order:
            raise node.place.error(f".{node.direction} of a scalar: a vector or a tensor is needed")
        if node.direction != "up" and DIRECTIONS.index(node.direction) >= self.dimensions:
            raise node.place.error(f".{node.direction} in {self.dimensions} dimensions: there is no such axis")
        return Kind(kind.order - 1, kind.is_complex)

    # ---- operators and functions --------------------------------------------------------------------------------

    def call(self, node: Call) -> Kind:
        name, arguments = node.function, node.arguments
        if name in self.functions:
            kinds = [self.scalar(argument, f"an argument of {name}") for argument in arguments]
            return Kind(0, any(kind.is_complex for kind in kinds))
        if name in ("dx", "dy", "dz") and "xyz".index(name[1]) >= self.dimensions:
            raise node.place.error(f"{name} in {self.dimensions} dimensions: there is no such axis")
        if name in ALONG:
            self.axes(name, arguments[1:])
        if name in ("cause", "explicit"):
            _check_remark(node)
            return self.kind(arguments[-1])
        if name in ("integ", "penalise", "closure"):  # those of equations are read before
            raise node.place.error(f"{name} may be used in an equation alone, not in a definition or a column")
        if name in SAME:
            return self.kind(arguments[0])
        if name == "symbol":
            self.own_symbol(arguments[1])
            return self.kind(arguments[0])
        if name in ("fraclap", "helmholtz"):
            self.scalar(arguments[1], f"the second argument of {name}")
            return self.kind(arguments[0])
        if name in POINTWISE:
            return self.pointwise(node)
        return self.fitting(node)

    def own_symbol(self, label: Node) -> None:
        """Refuse a function of the wavenumber that takes neither |k| nor a component for each axis."""
        assert isinstance(label, Label)
        if label.arguments not in (1, self.dimensions):
            axes = ", ".join(f"k{axis}" for axis in "xyz"[: self.dimensions])
            several = f", or {self.dimensions}, {axes}," if self.dimensions > 1 else ""
            raise label.place.error(
                f"{label.function} takes {label.arguments} arguments: one, |k|{several} is needed in "
                f"{self.dimensions} dimensions"
            )

    def axes(self, function: str, nodes: tuple[Node, ...]) -> None:
        """The arguments of an operator that name axes: each once."""
        for i, node in enumerate(nodes):
            name = node.name if isinstance(node, Name) else ""
            if COORDINATES.get(name, 3) >= self.dimensions or node in nodes[:i]:
                known = ", ".join("xyz"[: self.dimensions])
                raise node.place.error(f"{function} along {name}: one of {known} is needed, each once")

    def pointwise(self, node: Call) -> Kind:
        """The kind of a function of numbers, applied at each point."""
        name, arguments = node.function, node.arguments
        if name == "where":
            condition, *values = arguments
            assert isinstance(condition, Comparison)
            for side in (condition.left, condition.right):
                if self.scalar(side, "what is compared").is_complex:
                    raise side.place.error("a complex scalar is compared: a real scalar is needed")
            return self.alike(tuple(values), "chosen with")
        kinds = [self.scalar(argument, f"an argument of {name}") for argument in arguments]
        is_complex = any(kind.is_complex for kind in kinds)
        if name in EXTREMES and len(arguments) == 1:
            raise node.place.error(f"{name}(f) over the box is for columns of the series alone: {name}(f, g) is needed")
        if name in EXTREMES and is_complex:
            raise node.place.error(f"{name} of complex numbers, which have no order")
        return Kind(0, is_complex and name != "abs")

    def fitting(self, node: Call) -> Kind:
        """The kind of an operator whose operands have to be of certain orders."""
        rule, kinds = RULES[node.function], list(map(self.kind, node.arguments))
        order = rule.order(self.dimensions, *(kind.order for kind in kinds))
        if order is None:
            orders = [kind.order for kind in kinds]
            fits = any(rule.order(d, *orders) is not None for d in (1, 2, 3))
            what = f"{' and '.join(map(str, kinds))}{f' in {self.dimensions} dimensions' if fits else ''}"
            turned = (
                "; a vector u turned by a right angle is u.x*ey - u.y*ex"
                if node.function == "perp" and orders == [1]
                else ""
            )
            hint = self.hint(node.arguments) or turned
            raise node.place.error(f"{node.function} of {what}: {rule.needed} needed{hint}")
        return Kind(order, any(kind.is_complex for kind in kinds) and node.function not in ("real", "imag"))


def _is_number(node: Node) -> bool:
    return isinstance(node, Number)


def same_kind(left: Node, right: Node, names: Mapping[str, Kind], dimensions: int,
              functions: Collection[str] = ()) -> Kind:  # fmt: skip
    """The kind of both sides of an equation; the number 0 fits any.

    Raises:
        WrittenError: sides of unequal rank.
    """
    kinds = [kind_of(side, names, dimensions, functions) for side in (left, right)]
    zero = [isinstance(side, Number) and not side.value for side in (left, right)]
    if kinds[0].order != kinds[1].order and not any(zero):
        raise right.place.error(f"{kinds[1]} on the right of an equation for {kinds[0]}: equal ranks are needed")
    return Kind(kinds[1].order if zero[0] else kinds[0].order, any(kind.is_complex for kind in kinds))
