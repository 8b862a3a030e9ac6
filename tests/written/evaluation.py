"""Two ways to work out a right-hand side with NumPy's FFT: the text as it stands, and a plan of it."""

import numpy as np

from solver.written.components import written_out
from solver.written.symbols import Modes
from solver.written.tree import (
    Call,
    Comparison,
    Component,
    Contraction,
    Derivative,
    Entry,
    Name,
    Negative,
    Number,
    Power,
    Product,
    Quotient,
    Slot,
    Solved,
    Sum,
)

FUNCTIONS = {
    name: getattr(np, name)
    for name in ("sin", "cos", "exp", "log", "sqrt", "tanh", "abs", "where", "conj", "real", "imag")
} | {"min": np.minimum, "max": np.maximum, "explicit": lambda a: a}
SIGNS = {"<": np.less, "<=": np.less_equal, ">": np.greater, ">=": np.greater_equal}
AXES = {"x": 0, "y": 1, "z": 2, "up": -1}


def rows_of(system, dimensions):
    """The right-hand sides of a system without unknowns, by field and index."""
    return {
        (field, index): node
        for field in system.fields
        for index, node in written_out(system.equation_of(field).right, system.kinds, dimensions).entries.items()
    }


def random_values(system, box, parameters, seed):
    """Random fields at the points, and the parameters."""
    rng, values = np.random.default_rng(seed), dict(parameters)
    for field, rank in system.fields.items():
        shape = (box.d,) * {"vector": 1, "tensor": 2}.get(rank, 0) + box.shape
        values[field] = rng.normal(size=shape) + (1j * rng.normal(size=shape) if rank == "wavefunction" else 0)
    return values


class Box:
    """A periodic box with its wavenumbers; those of Nyquist are zero in derivatives."""

    def __init__(self, shape, lengths):
        self.shape, self.d = shape, len(shape)
        self.x = np.meshgrid(
            *(np.arange(n) * length / n for n, length in zip(shape, lengths, strict=True)), indexing="ij"
        )
        k = [np.fft.fftfreq(n, length / n) * 2 * np.pi for n, length in zip(shape, lengths, strict=True)]
        for n, along in zip(shape, k, strict=True):
            if n % 2 == 0:
                along[n // 2] = 0
        self.k = np.meshgrid(*k, indexing="ij")
        self.k2 = sum(q * q for q in self.k)

    def space(self, u):
        return tuple(range(np.ndim(u) - self.d, np.ndim(u)))

    def modes(self, u):
        u = np.broadcast_to(u, np.shape(u)[: max(0, np.ndim(u) - self.d)] + self.shape)
        return np.fft.fftn(u, axes=self.space(u), norm="forward")

    def points(self, modes):
        return np.fft.ifftn(modes, axes=self.space(modes), norm="forward")

    def multiplier(self, name, *arguments):
        """What an operator multiplies each mode by."""
        if name == "mean":
            index = np.meshgrid(*(np.arange(n) for n in self.shape), indexing="ij")
            kept = [i for i, axis in zip(index, "xyz", strict=False) if not arguments or axis in arguments]
            return np.all([i == 0 for i in kept], axis=0)
        k2 = self.k2
        nonzero = np.where(k2 > 0, k2, 1)
        return {
            "lap": lambda: -k2,
            "inverse_lap": lambda: np.where(k2 > 0, -1 / nonzero, 0),
            "fraclap": lambda s: np.where(k2 > 0, nonzero**s, 0),
            "helmholtz": lambda a: 1 / (a + k2),
        }[name](*arguments)


def directly(node, values, box):  # noqa: C901 (one case for each kind of node)
    """The values of an expression at the points `(index…, x, y, z)`, node by node as the text stands."""
    of = lambda part: directly(part, values, box)  # noqa: E731
    d = box.d
    match node:
        case Number(value):
            return np.asarray(value)
        case Name(name):
            if name in values:
                return np.asarray(values[name])
            if name in ("ex", "ey", "ez", "up"):
                unit = np.zeros((d, *[1] * d))
                unit[{"ex": 0, "ey": 1, "ez": 2, "up": -1}[name]] = 1
                return unit
            return np.asarray(np.pi) if name == "pi" else box.x[AXES[name]]
        case Sum(terms):
            return sum(of(term) for term in terms)
        case Negative(part):
            return -of(part)
        case Product(left, right):
            return times(of(left), of(right), d)
        case Quotient(above, below):
            return of(above) / of(below)
        case Power(base, exponent):
            return of(base) ** of(exponent)
        case Contraction(left, right):
            return contracted(of(left), of(right), d)
        case Component(part, direction):
            return of(part)[AXES[direction]]
        case Comparison(left, sign, right):
            return SIGNS[sign](of(left), of(right))
        case Call(function, arguments):
            return called(function, arguments, of, box)
    raise TypeError(node)


def times(a, b, d):
    """Scalar and anything: indices stand in front."""
    if np.ndim(a) > d and np.ndim(b) > d:
        raise TypeError("two vectors")
    return a * b


def contracted(a, b, d):
    p, q = a.ndim - d, b.ndim - d
    letters = "abcdefg"
    left, right = letters[:p], letters[p - 1 : p - 1 + q]
    out = left[:-1] + right[1:]
    shape = np.broadcast_shapes(a.shape[p:], b.shape[q:])
    a, b = np.broadcast_to(a, a.shape[:p] + shape), np.broadcast_to(b, b.shape[:q] + shape)
    return np.einsum(f"{left}...,{right}...->{out}...", a, b)


def called(function, arguments, of, box):  # noqa: C901 (one case for each function)
    d = box.d
    if function == "cause":
        return of(arguments[1])
    if function in FUNCTIONS:
        return FUNCTIONS[function](*map(of, arguments))
    slopes = lambda u: np.stack([box.points(1j * k * box.modes(u)) for k in box.k])  # noqa: E731
    if function in ("dx", "dy", "dz"):
        return slopes(of(arguments[0]))["xyz".index(function[1])]
    if function == "grad":
        return slopes(of(arguments[0]))
    if function == "div":
        return np.einsum("aa...->...", slopes(of(arguments[0])))
    if function == "curl":
        s = slopes(of(arguments[0]))
        return s[0, 1] - s[1, 0] if d == 2 else np.stack([s[i - 2, i - 1] - s[i - 1, i - 2] for i in range(3)])
    if function == "perp":
        s = slopes(of(arguments[0]))
        return np.stack([-s[1], s[0]])
    if function == "dot":
        return contracted(of(arguments[0]), of(arguments[1]), d)
    if function == "cross":
        a, b = (np.broadcast_to(v, (d, *box.shape)) for v in map(of, arguments))
        return a[0] * b[1] - a[1] * b[0] if d == 2 else np.cross(a, b, axis=0)
    if function == "outer":
        a, b = (np.broadcast_to(v, (d, *box.shape)) for v in map(of, arguments))
        return np.einsum("a...,b...->ab...", a, b)
    if function in ("trans", "sym"):
        tensor = of(arguments[0])
        other = np.swapaxes(tensor, 0, 1)
        return other if function == "trans" else (tensor + other) / 2
    others = [part.name if function == "mean" else of(part) for part in arguments[1:]]
    return box.points(box.multiplier(function, *others) * box.modes(of(arguments[0])))


def by_plan(plan, values, box):
    """The rows of a plan at the points, with exactly as many transforms as it says."""
    work = _Work(plan, values, box)
    rows = {row: box.points(np.broadcast_to(work.term(node), box.shape)) for row, node in plan.rows.items()}
    assert (work.inverse, work.forward) == plan.transforms
    return rows


class _Work:
    """A plan that is carried out."""

    def __init__(self, plan, values, box):
        self.values, self.box, self.done = values, box, {}
        self.modes = {name: box.modes(value) for name, value in values.items() if np.ndim(value) >= box.d}
        self.inverse = self.forward = 0
        for inner, products in plan.levels():
            for i in inner:
                if Slot("inner", i) in self.done:  # for a level before
                    continue
                self.done[Slot("inner", i)] = box.points(self.term(plan.inner[i]))
                self.inverse += 1
            for i in products:
                self.done[Slot("product", i)] = box.modes(self.at_points(plan.products[i]))
                self.forward += 1

    def is_constant(self, node):
        names = (part.name for part in node.walk() if isinstance(part, Name | Entry))
        return not any(isinstance(part, Slot) for part in node.walk()) and not {*names} & self.modes.keys()

    def term(self, node):
        """One term of a row: a constant is that of the mean mode."""
        return self.at_points(node) * self.box.multiplier("mean") if self.is_constant(node) else self.in_modes(node)

    def factor(self, node):
        return self.at_points(node) if self.is_constant(node) else self.in_modes(node)

    def in_modes(self, node):  # noqa: C901 (one case for each kind of node)
        match node:
            case Slot():
                return self.done[node]
            case Entry(name, index):
                return self.modes[name][index]
            case Name(name):
                return self.modes[name]
            case Sum(terms):
                return sum(map(self.term, terms))
            case Negative(of):
                return -self.in_modes(of)
            case Product(left, right):
                return self.factor(left) * self.factor(right)
            case Quotient(above, below):
                return self.in_modes(above) / self.at_points(below)
            case Derivative(of, axis):
                return 1j * self.box.k[axis] * self.in_modes(of)
            case Call("cause" | "explicit", arguments):
                return self.term(arguments[-1])
            case Solved(of, by):
                return BoxModes(self.box, self.values).value(Solved(Number(1), by)) * self.in_modes(of)
            case Call(name, (of, *others)):
                given = [part.name if name == "mean" else self.at_points(part) for part in others]
                return self.box.multiplier(name, *given) * self.in_modes(of)
        raise TypeError(node)

    def at_points(self, node):  # noqa: C901 (one case for each kind of node)
        match node:
            case Number(value):
                return value
            case Name(name):
                return self.values[name] if name in self.values else directly(node, self.values, self.box)
            case Slot():
                return self.done[node]
            case Sum(terms):
                return sum(map(self.at_points, terms))
            case Negative(of):
                return -self.at_points(of)
            case Product(left, right):
                return self.at_points(left) * self.at_points(right)
            case Quotient(above, below):
                return self.at_points(above) / self.at_points(below)
            case Power(base, exponent):
                return self.at_points(base) ** self.at_points(exponent)
            case Comparison(left, sign, right):
                return SIGNS[sign](self.at_points(left), self.at_points(right))
            case Call("cause", (_, term)):
                return self.at_points(term)
            case Call(function, arguments):
                return FUNCTIONS[function](*map(self.at_points, arguments))
        raise TypeError(node)


class BoxModes(Modes):
    """The modes of a box, for symbols."""

    def __init__(self, box, values):
        self.box, self.values = box, values

    def derivative(self, axis):
        return 1j * self.box.k[axis]

    def laplacian(self):
        return -self.box.k2

    def inverse_laplacian(self):
        return self.box.multiplier("inverse_lap")

    def fractional(self, power):
        return self.box.multiplier("fraclap", power)

    def mean(self, axes):
        return self.box.multiplier("mean", *("xyz"[axis] for axis in axes))

    def own(self, label):
        raise NotImplementedError(label)

    def number(self, name, index):
        return self.values[name][index] if index else self.values[name]

    def compared(self, left, sign, right):
        return SIGNS[sign](left, right)

    def function(self, name, *arguments):
        return FUNCTIONS[name](*arguments)

    def divided(self, above, below, size):
        vanishes = np.abs(below) <= 1e-10 * size
        return np.where(vanishes, 0, above / np.where(vanishes, 1, below))


def symbol_values(symbol, values, box):
    """What a symbol is at each mode."""
    return BoxModes(box, values).value(symbol)


def on_constraints(less, values, box):
    """Random fields, projected onto the constraints."""
    for row in {row for row, _ in less.constraints}:
        symbols = {s: symbol_values(c, values, box) for (at, s), c in less.constraints.items() if at == row}
        size = sum(abs(c) ** 2 for c in symbols.values())
        [name] = {scalar.name for scalar in symbols}
        hats = box.modes(values[name])
        both = sum(c * hats[scalar.index] for scalar, c in symbols.items()) / np.where(size > 0, size, 1)
        for scalar, c in symbols.items():
            hats[scalar.index] -= np.conj(c) * both
        values[name] = box.points(hats).real
    return values
