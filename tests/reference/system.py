"""The equations of a text: L for each mode, N of the fields, and what is reported of them.

All lines together are linear in time derivatives and unknowns, mode by mode:

    M dt(f) + U p + A f + rest = 0

Unknowns that lines without dt give are solved for first, so that products may hold them; what is left (a pressure and
its constraint) is solved together with the time derivatives. Singular systems, as that of a pressure's mean, get the
solution of least size: dense least squares for each mode.
"""

from __future__ import annotations

import ast
import itertools
import re

import numpy as np

from .steppers import Linear
from .text import Expressions
from .values import Place, Unsolved, Value

TIME = re.compile(r"\b(t|ramp)\b")
GAUGE = re.compile(r"(integ|mean)\(\w+(, *[xyz])?\) *= *0")  # what nothing determines is zero without them, too


def components(name, rank, d):
    """Names of components by index; those of a symmetric tensor occur twice."""
    match rank:
        case "vector":
            return {(i,): f"{name}.{i}" for i in range(d)}
        case "tensor":
            return {(i, j): f"{name}.{i}{j}" for i in range(d) for j in range(d)}
        case "symmetric tensor":
            return {(i, j): f"{name}.{min(i, j)}{max(i, j)}" for i in range(d) for j in range(d)}
    return {(): name}


class System:
    """A text in a box.

    Args:
        box: the box.
        lines, fields, unknowns, define, functions, energies, series: as in a run file.
        numbers: parameters by name: numbers or lists.
        no_mean: fields whose mean is zero: names, or the axis along which it is, by name.
    """

    def __init__(self, box, lines, fields, numbers, unknowns=(), define=(), functions=None, energies=None, series=None,
                 no_mean=(), bodies=None):  # fmt: skip
        self.box, self.fields, self.numbers = box, dict(fields), dict(numbers)
        self.lines = [line for line in lines if not GAUGE.fullmatch(line.strip())]
        self.unknowns, self.define, self.functions = dict(unknowns), dict(define), functions
        self.series, self.bodies = dict(series or {}), bodies
        self.no_mean = dict.fromkeys(no_mean, 0) | (no_mean if isinstance(no_mean, dict) else {})
        d = box.dimensions
        self.parts = {name: components(name, rank, d) for name, rank in self.fields.items()}
        self.parts_of_unknowns = {name: components(name, rank, d) for name, rank in self.unknowns.items()}
        self.names = [part for parts in self.parts.values() for part in dict.fromkeys(parts.values())]
        self.complex = {n for n, rank in self.fields.items() if rank == "wavefunction"}
        if energies is None:
            energies = {self._energy_name(n): f"{self._square(n)}/2" for n in self.fields}
        self.energies = dict(energies)
        self._inverses, self._rates = {}, {}
        self.L, self.causes = self._linear(0.0)
        timed = TIME.search(" ".join([*self.lines, *self.define.values()]))
        of = (self.operator, Linear(self._linear(0.4321, frozen=True)[0] - self.L)) if timed else ()
        self.is_timed = bool(of) and all(linear.diagonal is not None for linear in of)  # that N has a Λ(t)

    def _energy_name(self, name):
        return "energy" if len(self.fields) == 1 else f"{name}_energy"

    def _square(self, name):
        rank = self.fields[name]
        if rank == "wavefunction":
            return f"abs({name})**2"
        if rank == "scalar":
            return f"{name}**2"
        return f"({name}@{name})" if rank == "vector" else f"square({name})"

    def place(self, fields, t, frozen=False):
        return Place(self.box, dict(zip(self.names, fields, strict=True)), t, frozen=frozen)

    def expressions(self, place):
        """What evaluates texts at a place, with the unknowns that can be solved for."""
        names = dict(self.define)
        found = Expressions(place, names, self.functions, self.bodies)
        for name, number in self.numbers.items():
            names[name] = found.numbers(number)
        for kind, all_parts in (("field", self.parts), ("unknown", self.parts_of_unknowns)):
            for name, parts in all_parts.items():
                values = np.empty(tuple(i + 1 for i in max(parts)) if max(parts) else (), object)
                for index, part in parts.items():
                    real = name not in self.complex and self.unknowns.get(name) != "wavefunction"
                    values[index] = Value(place, 0, {(None, kind, part): 1.0}, real=real)
                names[name] = values
        self._solve(found)
        return found

    def _line(self, found, line):
        """Left side minus right side of a line, a Value for each component."""
        left, right = line.split("=")
        return np.ravel(_difference(found.value(left), found.value(right)))

    def _solve(self, found):
        """Replace unknowns by their solutions, as far as lines without dt give them."""
        open_lines = found.open_lines = [line for line in self.lines if "dt(" not in line]
        progress = True
        while progress and self.unknowns:
            progress = False
            for count in range(1, len(open_lines) + 1):
                for chosen in itertools.combinations(open_lines, count):
                    if self._solve_these(found, chosen):
                        open_lines = found.open_lines = [line for line in open_lines if line not in chosen]
                        progress = True
                        break
                if progress:
                    break

    def _solve_these(self, found, lines):
        try:
            rows = [value for line in lines for value in self._line(found, line)]
        except Unsolved:
            return False
        wanted = list(dict.fromkeys(name for row in rows for (_, kind, name) in row.linear if kind == "unknown"))
        names = {name for name, parts in self.parts_of_unknowns.items() if set(parts.values()) & set(wanted)}
        whole = {part for name in names for part in self.parts_of_unknowns[name].values()}
        if not wanted or len(rows) != len(wanted) or whole != set(wanted):
            return False
        inverse = self._inverse(lines, rows, [("unknown", name) for name in wanted])
        for name in names:
            values = found.names[name].copy()
            for index, part in self.parts_of_unknowns[name].items():
                values[index] = _applied(inverse[wanted.index(part)], rows, found.place)
            found.names[name] = values
        return True

    def _inverse(self, lines, rows, wanted):
        """−(matrix of the wanted)⁻¹ for each mode `(wanted, row, *modes)`, kept by lines."""
        if lines not in self._inverses:
            self._inverses[lines] = -_pseudo_inverse(_matrix(rows, wanted, self.box))
        return self._inverses[lines]

    def constrained(self, fields, solenoidal=()):
        """The nearest fields that the constraints allow, without means that they cannot have.

        Args:
            fields: coefficients.
            solenoidal: names of fields whose divergence stays zero without a line that says so.
        """
        found = self.expressions(self.place([np.zeros(self.box.points, complex)] * len(self.names), 0.0))
        lines = [*found.open_lines, *(f"div({n}) = 0" for n in solenoidal)]
        rows = [value for line in lines for value in self._line(found, line)]
        rows = [row for row in rows if row.linear and all(kind == "field" for _, kind, _n in row.linear)]
        if rows:
            matrix = _matrix(rows, [("field", name) for name in self.names], self.box)
            size = np.abs(matrix).max(axis=-1, keepdims=True)
            matrix = matrix / np.where(size > 0, size, 1)
            wrong = np.einsum("...rf,f...->...r", matrix, np.array(fields))
            fields = fields - np.einsum("...fr,...r->f...", np.linalg.pinv(matrix, rcond=1e-12), wrong)
        return self.without_means(fields)

    def change(self, fields, t, frozen=False):
        """Time derivatives of all components: Values, linear in the fields where they are; `frozen`: at any t."""
        place = self.place(fields, t, frozen)
        found = self.expressions(place)
        solved = {
            part
            for name, parts in self.parts_of_unknowns.items()
            for part in parts.values()
            if not any(kind == "unknown" for v in np.ravel(found.names[name]) for (_, kind, _n) in v.linear)
        }
        left = [part for parts in self.parts_of_unknowns.values() for part in parts.values() if part not in solved]
        rows, self._rows_of_dt = [], []
        for line in self.lines:
            values = self._line(found, line)
            if "dt(" not in line and not (line in found.open_lines and self._constrains(line, values, left)):
                continue  # an unknown is solved for by it
            values = self._independent(line, values)
            if "dt(" in line:
                self._rows_of_dt.extend(range(len(rows), len(rows) + len(values)))
            rows.extend(values if "dt(" in line else map(_derivative, values))
        wanted = [("dt", name) for name in self.names] + [("unknown", name) for name in left]
        inverse = self._inverse("all", rows, wanted)
        return [_applied(inverse[i], rows, place) for i in range(len(self.names))], found

    def _constrains(self, line, values, left):
        """Whether a line without dt constrains fields alone, as div(u) = 0 does."""
        kinds = {(kind, name) for v in values for (_, kind, name) in v.linear}
        return not any(kind == "unknown" for kind, _ in kinds) and bool(kinds) and bool(left)

    def _independent(self, line, values):
        d = self.box.dimensions
        if len(values) != d * d or not any(
            rank == "symmetric tensor" and f"dt({name})" in line.replace(" ", "") for name, rank in self.fields.items()
        ):
            return list(values)
        return [values[i * d + j] for i in range(d) for j in range(i, d)]

    def varying(self, t):
        """Λ(t) `(component, *modes)`, diagonal: what is linear in N by numbers that depend on time."""
        if t not in self._rates:
            matrix = self._linear(t, frozen=True)[0] - self.L
            self._rates[t] = np.array([matrix[i, i] for i in range(len(matrix))])
        return self._rates[t]

    def _linear(self, t, frozen=False):
        """L `(component, component, *modes)`, whole and by cause."""
        nothing = [np.zeros(self.box.points, complex)] * len(self.names)
        changes, _ = self.change(nothing, t, frozen)
        size = len(self.names)
        whole, causes = np.zeros((size, size, *self.box.points), complex), {}
        for i, value in enumerate(changes):
            for (cause, _, name), symbol in value.linear.items():
                symbol = np.where(self.box.kept, symbol, 0)
                whole[i, self.names.index(name)] += symbol
                of_cause = causes.setdefault(cause or "linear", np.zeros_like(whole))
                of_cause[i, self.names.index(name)] += symbol
        return whole, causes

    @property
    def operator(self):
        return Linear(self.L)

    def whole(self, fields):
        return fields

    motion = 0.0  # of what walls add to fields

    def at(self, t):
        """Take the conditions of a time, where there are walls."""

    def by_cause(self, cause, fields):
        """What a cause changes, and the part of it that is in N."""
        return np.einsum("ij...,j...->i...", self.causes[cause], fields), 0.0

    def rate_of_linear(self):
        """The rate of linear terms that are not of L."""
        return 0.0

    def nonlinear(self, fields, t):
        """N of coefficients `(component, *modes)`."""
        changes, _ = self.change(fields, t)
        found = np.array(
            [np.where(self.box.kept, v.rest() + np.where(self.box.mean_mode, v.number, 0), 0) for v in changes]
        )
        return self.without_means(found)

    def without_means(self, fields):
        fields = np.array(fields)
        for i, part in enumerate(self.names):
            axis = self.no_mean.get(part.split(".")[0])
            if axis is not None:
                fields[i] = np.where(self.box.n["xyz".index(axis)] == 0 if axis else self.box.mean_mode, 0, fields[i])
        return fields

    def energy(self, text, fields, ahead=0.0):
        self.ahead = ahead  # what conditions add to unknowns between walls is as it will be after this time
        [value] = np.ravel(self.expressions(self.place(fields, 0.0)).value(text))
        return self.box.mean(value.at_points())

    def mine(self, name):
        return [i for i, part in enumerate(self.names) if part.partition(".")[0] == name]

    def projected(self, name, force):
        """A force on one field as a change of all fields: what its equation and the constraints make of it."""
        given = np.zeros((len(self.names), *self.box.points), complex)
        given[self.mine(name)] = force
        weights = self._inverses["all"][: len(self.names)]
        return self.without_means(-np.einsum("ij...,j...->i...", weights[:, self._rows_of_dt], given))

    def rate_of_energy(self, text, fields, change, moves=False):
        """d/dt of the mean of a quadratic density where the fields change so, and conditions of unknowns if `moves`."""
        size, moved = np.abs(self.whole(fields)).max(), np.abs(change).max()
        if not moved > 1e-150 * size or not size:
            return 0.0
        scale = size / moved
        ahead, behind = (self.energy(text, fields + h * change, h * moves) for h in (scale, -scale))
        self.ahead = 0.0
        return (ahead - behind) / 2 / scale

    def spectra(self, fields):
        """The spectrum of each energy: what the modes of each shell hold of it."""
        centres, number = self.box.shells()
        return centres, {
            name: np.array([self.energy(text, np.where(number == i, fields, 0)) for i in range(len(centres))])
            for name, text in self.energies.items()
        }

    def columns(self, fields):
        found, columns = self.expressions(self.place(fields, 0.0)), {}
        for name, text in {**self.energies, **self.series}.items():
            columns[name] = Columns(found, columns).column(text)
        return columns


class Columns:
    """A column: the mean of a density, or numbers made of means, maxima and minima."""

    def __init__(self, expressions, known):
        self.expressions, self.known = expressions, known

    def column(self, text):
        tree = ast.parse(text.strip(), mode="eval").body
        if not self._has_fields(tree):
            return self._number(tree)
        [value] = np.ravel(self.expressions.node(tree))
        return self.expressions.box.mean(value.at_points())

    def _has_fields(self, node):
        """Whether a field stands outside of mean, max and min over the box: then all of it is a density."""
        if isinstance(node, ast.Call) and node.func.id in ("mean", "max", "min") and len(node.args) == 1:
            return False
        if isinstance(node, ast.Name) and node.id in self.expressions.names:
            value = self.expressions.node(node)
            return not all(v.is_number for v in np.ravel(value))
        return any(self._has_fields(child) for child in ast.iter_child_nodes(node))

    def _number(self, node):
        over = {"mean": self.expressions.box.mean, "max": np.max, "min": np.min}
        if isinstance(node, ast.Call) and node.func.id in over and len(node.args) == 1:
            [value] = np.ravel(self.expressions.node(node.args[0]))
            return over[node.func.id](np.real(value.at_points()))
        if isinstance(node, ast.Name) and node.id in self.known:
            return self.known[node.id]
        if isinstance(node, ast.BinOp):
            left, right = self._number(node.left), self._number(node.right)
            known = {ast.Add: np.add, ast.Sub: np.subtract, ast.Mult: np.multiply, ast.Div: np.divide,
                     ast.Pow: np.power}  # fmt: skip
            return known[type(node.op)](left, right)
        if isinstance(node, ast.UnaryOp):
            return -self._number(node.operand)
        if isinstance(node, ast.Call):
            function = {"sqrt": np.sqrt, "abs": np.abs, "log": np.log, "exp": np.exp}[node.func.id]
            return function(*map(self._number, node.args))
        return np.ravel(self.expressions.node(node))[0].number


def _difference(left, right):
    shape = np.broadcast_shapes(left.shape, right.shape)
    if left.shape != right.shape and () in (left.shape, right.shape):  # 0 beside a vector
        left, right = np.broadcast_to(left, shape), np.broadcast_to(right, shape)
    found = np.empty(shape, object)
    for index in np.ndindex(shape):
        found[index] = left[index] - right[index]
    return found


def _derivative(constraint):
    """What a constraint on the fields says of their time derivatives."""
    return Value(constraint.of, 0, {(c, "dt", name): symbol for (c, _, name), symbol in constraint.linear.items()})


def _matrix(rows, wanted, box):
    matrix = np.zeros((*box.points, len(rows), len(wanted)), complex)
    for r, row in enumerate(rows):
        for (_, kind, name), symbol in row.linear.items():
            if (kind, name) in wanted:
                matrix[..., r, wanted.index((kind, name))] += symbol
    return matrix


def _pseudo_inverse(matrix):
    """(column, row, *modes), by least squares; rows and columns are brought to the same size first."""
    rows = np.abs(matrix).max(axis=-1, keepdims=True)
    rows = np.where(rows > 0, rows, 1)
    columns = (np.abs(matrix) / rows).max(axis=-2, keepdims=True)
    columns = np.where(columns > 0, columns, 1)
    inverse = np.linalg.pinv(matrix / rows / columns, rcond=1e-12)
    inverse = inverse / np.swapaxes(columns, -1, -2) / np.swapaxes(rows, -1, -2)
    return np.moveaxis(inverse, (-2, -1), (0, 1))


def _applied(weights, rows, place):
    """Σ weight(row) · (row without what is solved for): linear in the fields, and the rest."""
    total = Value(place, real=all(row.real for row in rows))
    for weight, row in zip(weights, rows, strict=True):
        known = {key: symbol for key, symbol in row.linear.items() if key[1] == "field"}
        mean = weight[(0,) * place.box.dimensions] * row.number
        rest = weight * row.rest() if row.modes is not None or row.points is not None else None
        total = total + Value(place, mean.real if row.real else mean, {k: weight * s for k, s in known.items()}, rest)
    return total
