"""Text → tree. Python's own parser reads the text, and what it may hold is listed here; nothing is ever evaluated."""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from solver.written.tree import (
    Call,
    Comparison,
    Component,
    Contraction,
    Label,
    Line,
    Name,
    Negative,
    Node,
    Number,
    Place,
    Power,
    Product,
    Quotient,
    Sum,
)
from solver.written.vocabulary import ALONG, DIRECTIONS, WORDS, Word, nearest

MOST_CHARACTERS = 4000
DEEPEST = 60  # brackets within each other
SIGNS = {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">="}
JOINED = {ast.Mult: Product, ast.Div: Quotient, ast.MatMult: Contraction}
EQUALS = re.compile(r"(?<![<>=!])=(?!=)")
NO_FUNCTIONS: Mapping[str, Word] = MappingProxyType({})


def read_line(text: Any, functions: Mapping[str, Word] = NO_FUNCTIONS) -> Line:
    """The tree of an equation, read from its text.

    Args:
        text: with one `=`.
        functions: the user's functions by name, in addition to the functions of the language.

    Raises:
        WrittenError: the message shows the place in the text, and names the form needed there.
    """
    text = _one_line(text)
    signs = [match.start() for match in EQUALS.finditer(text)]
    if not signs:
        raise Place(text, 0, len(text)).error("no = in an equation: one is needed")
    if len(signs) > 1:
        raise Place(text, signs[1], signs[1] + 1).error("a second = in an equation: one is needed")
    reader = _Reader(text, functions)
    return Line(reader.side(0, signs[0]), reader.side(signs[0] + 1, len(text)), text.strip())


def read_expression(text: Any, functions: Mapping[str, Word] = NO_FUNCTIONS) -> Node:
    """The tree of an expression, without `=`.

    Raises:
        WrittenError: as `read_line`.
    """
    text = _one_line(text)
    for match in EQUALS.finditer(text):
        raise Place(text, match.start(), match.end()).error("= in an expression: none is needed")
    return _Reader(text, functions).side(0, len(text))


def _one_line(text: Any) -> str:
    """The text without line breaks; raises WrittenError for other values, or too long or deep a text."""
    if not isinstance(text, str):
        raise Place(repr(text)[:80], 0, 0).error(f"{type(text).__name__} is no text: an equation in quotes is needed")
    text = re.sub(r"\s", " ", text).rstrip()
    if len(text) > MOST_CHARACTERS:
        raise Place(text[:60] + " …", 0, 60).error(f"{len(text)} characters: {MOST_CHARACTERS} at most are read")
    depth = 0
    for i, character in enumerate(text):
        depth += (character in "([{") - (character in ")]}")
        if depth > DEEPEST:
            raise Place(text, i, i + 1).error(f"more than {DEEPEST} brackets within each other")
    return text


class _Reader:
    """Reads one text; knows where each node of Python's tree is in it."""

    def __init__(self, text: str, functions: Mapping[str, Word]) -> None:
        self.text, self.words, self.functions = text, {**WORDS, **functions}, functions
        self.start = 0

    def side(self, start: int, stop: int) -> Node:
        """The expression that stands between two characters."""
        part = self.text[start:stop]
        self.part = part.strip()
        self.start = start + len(part) - len(part.lstrip())
        if not self.part:
            raise Place(self.text, start, stop).error("nothing is here: an expression is needed")
        if "^" in self.part:
            at = self.text.index("^", self.start)
            raise Place(self.text, at, at + 1).error("^ is no power here: ** is needed, as in u**2")
        try:
            tree = ast.parse(self.part, mode="eval")
            return self.node(tree.body)
        except SyntaxError as error:
            at = self.start + max(0, min(len(self.part), error.offset or 1) - 1)
            products = re.finditer(r"(?<![\w.])([\d.]+)\s*([A-Za-z_]\w*)", self.text)
            product = next((found for found in products if found.start() <= at <= found.start(2)), None)
            at = at if product is None else product.start()
            needed = f"; a product is written with *, as {product[1]}*{product[2]}" if product else ""
            raise Place(self.text, at, at + 1).error(f"no expression: {error.msg}{needed}") from None
        except (RecursionError, MemoryError, ValueError) as error:
            if isinstance(error, ValueError) and type(error) is not ValueError:
                raise
            message = "too long, too deep, or of characters that cannot be read"
            raise Place(self.text, start, stop).error(message) from None

    def place(self, node: ast.expr) -> Place:
        """Place of a node in the text; Python counts bytes."""
        encoded = self.part.encode()
        characters = lambda count: len(encoded[:count].decode(errors="ignore"))  # noqa: E731
        start, stop = characters(node.col_offset), characters(node.end_col_offset or node.col_offset)
        return Place(self.text, self.start + start, self.start + stop)

    def node(self, given: ast.expr) -> Node:  # noqa: C901 (one case for each kind of node)
        """A node of our own from one of Python's."""
        place = self.place(given)
        match given:
            case ast.Constant(value=value):
                return Number(self.number(value, place), place=place)
            case ast.Name(id=name):
                return Name(name, place=place)
            case ast.Attribute(value=of, attr=direction):
                if direction not in DIRECTIONS:
                    raise place.error(f"no component .{direction}: .x, .y, .z and .up are there")
                return Component(self.node(of), direction, place=place)
            case ast.UnaryOp(op=ast.USub(), operand=of):
                return Negative(self.node(of), place=place)
            case ast.UnaryOp(op=ast.UAdd(), operand=of):
                return self.node(of)
            case ast.BinOp(op=ast.Add() | ast.Sub()):
                return self.sum(given, place)
            case ast.BinOp(left=left, op=ast.Pow(), right=right):
                return Power(self.node(left), self.node(right), place=place)
            case ast.BinOp(left=left, op=operation, right=right) if type(operation) in JOINED:
                return self.joined(JOINED[type(operation)], self.node(left), self.node(right), place)
            case ast.Call():
                return self.call(given, place)
            case ast.Compare():
                raise place.error("a comparison stands as the first argument of where alone")
        raise place.error("this is no part of the language: + - * / ** @, calls, components and numbers are")

    def joined(self, kind: Any, left: Node, right: Node, place: Place) -> Node:
        """Two factors; signs of the first, which bind more tightly for Python, become signs of the whole."""
        if kind is Quotient and isinstance(right, Number) and right.value == 0:
            raise place.error("a division by zero")
        if isinstance(left, Negative):
            return Negative(self.joined(kind, left.of, right, place), place=place)
        return kind(left, right, place=place)  # type: ignore[no-any-return]

    def number(self, value: object, place: Place) -> complex:
        """A number that can be held."""
        if isinstance(value, bool) or not isinstance(value, int | float | complex):
            raise place.error(f"{value!r} is no number")
        try:
            number = complex(value)
        except OverflowError:
            number = complex(math.inf)
        if not math.isfinite(number.real) or not math.isfinite(number.imag):
            raise place.error("too large for a number")
        return number

    def sum(self, given: ast.BinOp, place: Place) -> Sum:
        """All terms of a sum, which Python nests from the left."""
        terms: list[Node] = []
        left: ast.expr = given
        while isinstance(left, ast.BinOp) and isinstance(left.op, ast.Add | ast.Sub):
            right = self.node(left.right)
            terms.append(right if isinstance(left.op, ast.Add) else Negative(right, place=right.place))
            left = left.left
            while isinstance(left, ast.UnaryOp) and isinstance(left.op, ast.UAdd):
                left = left.operand
        return Sum((self.node(left), *reversed(terms)), place=place)

    def call(self, given: ast.Call, place: Place) -> Node:
        """A call of a word by its name; raises WrittenError for an unknown word or other arguments."""
        if not isinstance(given.func, ast.Name):
            needed = "; a product is written with *" if isinstance(given.func, ast.Constant) else ""
            raise place.error(f"only operators and functions are called, by their names{needed}")
        name = given.func.id
        if name not in self.words:
            close = ["dt"] if name in ("d", "ddt", "d_dt", "Dt") else self.words
            known = nearest(name, close)
            remedy = known if "did you mean" in known else f"; a product is written with *{known}"
            raise self.place(given.func).error(f"no operator or function {name!r}{remedy}")
        word = self.words[name]
        if given.keywords or any(isinstance(argument, ast.Starred) for argument in given.args):
            raise place.error(f"{word.signature}: arguments by position are needed")
        if not word.least <= len(given.args) <= word.most:
            raise place.error(f"{name} with {len(given.args)} arguments: {word.signature} is needed")
        if name == "where":
            condition = self.comparison(given.args[0])
            return Call(name, (condition, *map(self.node, given.args[1:])), place=place)
        if name == "symbol":
            return Call(name, (self.node(given.args[1]), self.label(given.args[0])), place=place)
        arguments = tuple(map(self.node, given.args))
        if name == "ramp":
            return Call(name, (*arguments, Name("t", place=place)), place=place)
        if name == "hyper":
            of, number, power = arguments
            return Negative(Product(number, Call("fraclap", (of, power), place=place), place=place), place=place)
        named = {"cause": arguments[:1], **dict.fromkeys(ALONG, arguments[1:])}.get(name, ())
        if not all(isinstance(node, Name) for node in named):
            needed = "cause(name, term)" if name == "cause" else f"{name}(f) or {name}(f, x)"
            raise place.error(f"{needed} is needed, with a name")
        return Call(name, arguments, place=place)

    def label(self, given: ast.expr) -> Label:
        """The function of the wavenumber that `symbol` names."""
        place, name = self.place(given), given.id if isinstance(given, ast.Name) else ""
        if name not in self.functions:
            known = nearest(name, self.functions)
            raise place.error(f"symbol(name, f) of a function that the text does not have{known}")
        return Label(name, self.functions[name].least, place=place)

    def comparison(self, given: ast.expr) -> Comparison:
        place = self.place(given)
        match given:
            case ast.Compare(left=left, ops=[sign], comparators=[right]) if type(sign) in SIGNS:
                return Comparison(self.node(left), SIGNS[type(sign)], self.node(right), place=place)
        raise place.error("one comparison with <, <=, > or >= is needed as the first argument of where")
