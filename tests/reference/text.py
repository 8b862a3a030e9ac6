"""Expressions of a text, evaluated node by node by the grammar of docs/writing.md.

What an expression is worth is a NumPy array of objects, `Value` each: of shape () for a scalar, (d,) for a vector,
(d, d) for a tensor.
"""

import ast
import operator

import numpy as np

from .values import Value

ELEMENTWISE = {"sin": np.sin, "cos": np.cos, "exp": np.exp, "log": np.log, "sqrt": np.sqrt, "tanh": np.tanh,
               "abs": np.abs}  # fmt: skip
COMPARE = {ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt, ast.GtE: operator.ge,
           ast.Eq: operator.eq, ast.NotEq: operator.ne}  # fmt: skip
AXES = {"x": 0, "y": 1, "z": 2}


def array(values):
    """An array of objects of whatever shape nested lists of Values and arrays of them have."""
    if isinstance(values, np.ndarray):
        return values
    if isinstance(values, Value):
        found = np.empty((), object)
        found[()] = values
        return found
    parts = [array(v) for v in values]
    found = np.empty((len(parts), *parts[0].shape), object)
    for i, part in enumerate(parts):
        found[i] = part if part.ndim else part[()]
    return found


def each(function, *arrays):
    """A function of Values at each place of arrays that broadcast."""
    shape = np.broadcast_shapes(*(a.shape for a in arrays))
    found = np.empty(shape, object)
    spread = [np.broadcast_to(a, shape) for a in arrays]
    for index in np.ndindex(shape):
        found[index] = function(*(a[index] for a in spread))
    return found


class Expressions:
    """Evaluates expressions at a place.

    Args:
        place: box, fields, time.
        names: what names stand for: arrays of Values, or texts of definitions.
        functions: the user's functions of numbers at a point.
        bodies: what `penalise(…)` does (`bodies.Bodies`); nothing by default.
    """

    def __init__(self, place, names, functions=None, bodies=None):
        self.place, self.names, self.functions, self.bodies = place, names, functions or {}, bodies
        self.box, self.d = place.box, place.box.dimensions

    def value(self, text):
        return self.node(ast.parse(text.strip(), mode="eval").body)

    def node(self, node):
        return getattr(self, type(node).__name__)(node)

    def Constant(self, node):
        return array(self.place.constant(node.value))

    def Name(self, node):
        name = node.id
        if name in self.names:
            found = self.names[name]
            return self.value(found) if isinstance(found, str) else found
        if name == "pi":
            return array(self.place.constant(np.pi))
        if name == "t":
            return array(self.place.constant(float(self.place.t), timed=True))
        if name in AXES:
            spacing = self.box.lengths / np.array(self.box.points)
            axis = AXES[name]
            return array(self.place.seen(self.box.x[axis] + self.box.shift[axis] * spacing[axis], True))
        if name in ("ex", "ey", "ez", "up"):
            along = self.d - 1 if name == "up" else "xyz".index(name[1])
            return self.numbers(np.eye(max(self.d, along + 1))[along])
        raise KeyError(name)

    def numbers(self, values):
        values = np.asarray(values)
        found = np.empty(values.shape, object)
        for index in np.ndindex(values.shape):
            found[index] = self.place.constant(values[index].item())
        return found

    def Attribute(self, node):
        vector = self.node(node.value)
        return array(vector[-1 if node.attr == "up" else AXES[node.attr], ...])

    def UnaryOp(self, node):
        of = self.node(node.operand)
        return each(lambda a: -a, of) if isinstance(node.op, ast.USub) else of

    def BinOp(self, node):
        left, right = self.node(node.left), self.node(node.right)
        match node.op:
            case ast.Add():
                return each(lambda a, b: a + b, left, right)
            case ast.Sub():
                return each(lambda a, b: a - b, left, right)
            case ast.Mult():
                return each(lambda a, b: a * b, left, right)
            case ast.Div():
                return each(lambda a, b: a / b, left, right)
            case ast.Pow():
                return each(lambda a, b: a**b, left, right)
            case ast.MatMult():
                return self.contracted(left, right)
        raise TypeError(node.op)

    def contracted(self, left, right):
        terms = [
            each(lambda a, b: a * b, left[..., i].reshape(left.shape[:-1] + (1,) * (right.ndim - 1)), right[i, ...])
            for i in range(left.shape[-1])
        ]
        return self.sum(terms)

    def sum(self, terms):
        total = terms[0]
        for term in terms[1:]:
            total = each(lambda a, b: a + b, total, term)
        return total

    def Call(self, node):
        name, arguments = node.func.id, node.args
        if name in self.functions:
            values = [self.node(a)[()] for a in arguments]
            return array(values[0].each(self.functions[name], *values[1:]))
        if name in ("dx", "dy", "dz"):
            return self.along(self.node(arguments[0]), AXES[name[1]])
        if name == "cause":
            return each(lambda a: a.named(arguments[0].id), self.node(arguments[1]))
        if name == "where":
            return self.chosen(*arguments)
        if name in ELEMENTWISE:
            return each(lambda a: a.each(ELEMENTWISE[name]), self.node(arguments[0]))
        return getattr(self, f"_{name}")(*arguments)

    def chosen(self, condition, yes, no):
        sides = [self.node(side)[()] for side in (condition.left, condition.comparators[0])]
        holds = sides[0].each(COMPARE[type(condition.ops[0])], sides[1])
        if holds.is_number and not holds.timed:
            return self.node(yes if holds.number else no)
        pick = lambda a, b: holds.each(np.where, a, b)  # noqa: E731
        return each(pick, self.node(yes), self.node(no))

    def _max(self, a, b):
        return array(self.node(a)[()].each(np.maximum, self.node(b)[()]))

    def _min(self, a, b):
        return array(self.node(a)[()].each(np.minimum, self.node(b)[()]))

    def _conj(self, of):
        return each(lambda a: a if a.real else a.each(np.conj), self.node(of))

    def _real(self, of):
        return each(lambda a: a if a.real else a.each(np.real), self.node(of))

    def _imag(self, of):
        return each(lambda a: self.place.constant(0) if a.real else a.each(np.imag), self.node(of))

    def _explicit(self, of):
        return each(lambda a: a.explicit(), self.node(of))

    def axes(self, nodes):
        return [AXES[n.id] for n in nodes] or list(range(self.d))

    def _mean(self, of, *along):
        symbol = np.all([self.box.n[a] == 0 for a in self.axes(along)], axis=0).astype(float)
        return each(lambda a: a.operated(symbol), self.node(of))

    def along(self, of, axis):
        return each(lambda a: a.operated(1j * self.box.k[axis]), of)

    def _ramp(self, *arguments):
        a, b, start, end = (self.node(n)[()].number for n in arguments)
        share = np.clip((self.place.t - start) / (end - start), 0, 1)
        return array(self.place.constant(a + (b - a) * share, timed=True))

    def _symbol(self, name, of):
        function = self.functions[name.id]
        symbol = function(*(self.box.k if function.__code__.co_argcount > 1 else [np.sqrt(self.box.k2)]))
        return each(lambda a: a.operated(symbol), self.node(of))

    def _grad(self, of):
        """∂_i f: the derivative's index first."""
        of = self.node(of)
        return array([self.along(of, axis) for axis in range(self.d)])

    def _div(self, of):
        of = self.node(of)
        return self.sum([self.along(array(of[axis, ...]), axis) for axis in range(self.d)])

    def _curl(self, of):
        of = self.node(of)
        d = lambda axis, part: self.along(array(of[part, ...]), axis)[()]  # noqa: E731
        if self.d == 2:
            return array(d(0, 1) - d(1, 0))
        return array([d(1, 2) - d(2, 1), d(2, 0) - d(0, 2), d(0, 1) - d(1, 0)])

    def _perp(self, of):
        of = self.node(of)
        return array([-self.along(of, 1)[()], self.along(of, 0)[()]])

    def squares(self, along):
        """|k|², with the Nyquist modes of a whole Laplacian and without them along named axes."""
        return sum(self.box.k[a] ** 2 for a in self.axes(along)) if along else self.box.k2

    def _lap(self, of, *along):
        return each(lambda a: a.operated(-self.squares(along)), self.node(of))

    def _inverse_lap(self, of, *along):
        squares = self.squares(along)
        symbol = np.where(squares > 0, -1 / np.where(squares > 0, squares, 1), 0)
        return each(lambda a: a.operated(symbol), self.node(of))

    def _fraclap(self, of, power):
        s = self.node(power)[()].number
        symbol = np.where(self.box.k2 > 0, np.where(self.box.k2 > 0, self.box.k2, 1) ** s, 1.0 if s == 0 else 0.0)
        return each(lambda a: a.operated(symbol), self.node(of))

    def _hyper(self, of, nu, power):
        nu, power = self.node(nu)[()].number, self.node(power)[()].number
        return each(lambda a: a.operated(-nu * self.box.k2**power), self.node(of))

    def _helmholtz(self, of, a):
        symbol = 1 / (self.node(a)[()].number + self.box.k2)
        return each(lambda v: v.operated(symbol), self.node(of))

    def _dot(self, a, b):
        return self.contracted(self.node(a), self.node(b))

    def _square(self, of):
        return array(self.sum([array(part * part) for part in np.ravel(self.node(of))]))

    def _cross(self, a, b):
        a, b = self.node(a), self.node(b)
        if a.shape == (2,):
            return array(a[0] * b[1] - a[1] * b[0])
        return array([a[i - 2] * b[i - 1] - a[i - 1] * b[i - 2] for i in range(3)])

    def _outer(self, a, b):
        a, b = self.node(a), self.node(b)
        return array([[p * q for q in b] for p in a])

    def _trans(self, of):
        return self.node(of).T

    def _trace(self, of):
        return array(self.sum([array(part) for part in np.diag(self.node(of))]))

    def _sym(self, of):
        of = self.node(of)
        return each(lambda a, b: (a + b).scaled(0.5), of, of.T)

    def _dt(self, of):
        def later(value):
            return type(value)(self.place, 0, {(c, "dt", name): s for (c, _, name), s in value.linear.items()})

        return each(later, self.node(of))

    def _penalise(self, of, *others):
        of = self.node(of)
        if self.bodies is None:
            return each(lambda a: self.place.constant(0), of)
        return self.bodies.penalise(of, *map(self.node, others))
