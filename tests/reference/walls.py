"""The equations of a text between two walls, tested with functions that meet the homogeneous conditions.

Decay and diffusion are L; everything else is N, taken as it stands at the points. A state holds coefficients of fields
without what their conditions add.
"""

from __future__ import annotations

import re

import numpy as np

from .control import NotKnown
from .layer import Tests
from .outputs import Record
from .steppers import phi_of_numbers
from .system import System, components
from .text import Expressions, array, each
from .values import Place, Unsolved, Value

_names = lambda text: set(re.findall(r"\w+", str(text)))  # noqa: E731


class Symbol:
    """A polynomial in ∂x, ∂y, ∂z: powers → number."""

    __array_ufunc__ = None

    def __init__(self, terms):
        self.terms = terms

    def __add__(self, other):
        keys = {**self.terms, **other.terms}
        return Symbol({key: self.terms.get(key, 0) + other.terms.get(key, 0) for key in keys})

    def __radd__(self, nothing):
        return self

    def __mul__(self, other):
        if not isinstance(other, Symbol):
            return Symbol({key: other * number for key, number in self.terms.items()})
        pairs = [(one, two) for one in self.terms for two in other.terms]
        each_of = [Symbol({tuple(np.add(a, b).tolist()): self.terms[a] * other.terms[b]}) for a, b in pairs]
        return sum(each_of, start=Symbol({}))

    __rmul__ = __mul__

    def on(self, layer, c):
        return sum(number * layer.derivative(c, key) for key, number in self.terms.items())


class Rest:
    """Coefficients of what is no part of L.

    Args:
        layer: the layer.
        parts: `fields`, linear in fields; `products`; `across`, products of which ∂/∂z belongs to it; and `ends`, what
            the values of these at the walls add to it, by the walls at which conditions give them.
    """

    __array_ufunc__ = None

    def __init__(self, layer, parts):
        self.layer, self.parts = layer, parts

    def __add__(self, other):
        keys = {**self.parts, **other.parts}
        return Rest(self.layer, {key: self.parts.get(key, 0) + other.parts.get(key, 0) for key in keys})

    def __rmul__(self, number):
        return Rest(self.layer, {key: number * c for key, c in self.parts.items()})

    def operated(self, symbol, ends):
        found = Rest(self.layer, {})
        for (*along, up), number in symbol.terms.items():
            for key, c in self.parts.items():
                if up and key != "fields" and (up > 1 or key != "products" or ends is None):
                    raise NotKnown("a second derivative of a product across the walls, or one of a function")
                left = up and key == "products"  # to the tests
                moved = self.layer.derivative(c, (*along, 0 if left else up))
                found += Rest(self.layer, {"across" if left else key: number * moved})
                if left:
                    at_ends = [self.layer.derivative(one, (*along, 0)) for one in ends.added(self.layer)]
                    found += Rest(self.layer, {("ends", ends.given): number * np.array(at_ends)})
        return found

    def values(self):
        if any(key not in ("fields", "products") for key in self.parts):
            raise NotKnown("a product of a derivative of a product")
        return sum((self.layer.at_points(c) for c in self.parts.values()), start=0.0)

    def tested(self, vanish):
        """⟨P_n · it⟩, the derivatives of products as −⟨product ∂P_n/∂z⟩ and what comes of the walls.

        Args:
            vanish: for each wall whether all tests are 0 there.
        """
        total = sum((c for key, c in self.parts.items() if key in ("fields", "products")), start=0.0)
        for key, c in self.parts.items():
            if key == "across":
                total = total + self.layer.weakly(c)
            elif isinstance(key, tuple):
                total = total + c[0 if np.all(np.logical_or(key[1], vanish)) else 1]
        return total


class Ends:
    """Values at the lower and at the upper wall, `(2, *along)` of points.

    Args:
        by_conditions: with slopes that walls give in the place of those that the fields have.
        own: as the fields have them.
        given: for each wall whether the first are what conditions give.
    """

    def __init__(self, by_conditions, own, given):
        self.by_conditions, self.own, self.given = np.real(by_conditions), np.real(own), tuple(given)

    def __add__(self, other):
        pairs = zip(self.given, other.given, strict=True)
        return Ends(self.by_conditions + other.by_conditions, self.own + other.own, [a and b for a, b in pairs])

    def __mul__(self, other):
        pairs = zip(self.given, other.given, strict=True)
        return Ends(self.by_conditions * other.by_conditions, self.own * other.own, [a or b for a, b in pairs])

    def scaled(self, number):
        return Ends(number * self.by_conditions, number * self.own, self.given)

    def added(self, layer):
        """What both add to ⟨P_n ∂/∂z⟩: [P_n · value]/H."""
        for below, above in (self.by_conditions, self.own):
            yield layer.through_walls(below, above)


class Between(Value):
    """As `Value`; symbols are polynomials in derivatives, coefficients a `Rest`."""

    products_at_walls = None  # `Ends` of what is known at the points alone

    def ends(self):
        """Values at the walls; None where they are not known."""
        shape = (2, *self.of.box.along)
        if self.modes is not None or (self.points is not None and self.products_at_walls is None):
            return None
        found = Ends(np.full(shape, self.number), np.full(shape, self.number), [not self.number] * 2)
        found = found if self.points is None else found + self.products_at_walls
        for (_, _, name), symbol in self.linear.items():
            for powers, number in symbol.terms.items():
                found = found + self.of.at_walls(name, powers).scaled(number)
        return found

    def with_ends(self, ends):
        self.products_at_walls = ends
        return self

    def at_points(self):
        if self.is_number:
            return np.full(self.of.box.points, self.number)
        if any(kind != "field" for _, kind, _ in self.linear):
            raise Unsolved
        found = self.of.box.at_points(self.of_fields()) if self.linear else 0.0
        found = found if self.modes is None else found + self.modes.values()
        found = found + self.number + (0.0 if self.points is None else self.points)
        return np.real(found)

    def of_fields(self):
        return sum(symbol.on(self.of.box, self.of.fields[name]) for (_, _, name), symbol in self.linear.items())

    def rest(self):
        box, total = self.of.box, self.modes or Rest(self.of.box, {})
        return total if self.points is None else total + Rest(box, {"products": box.modes(self.points)})

    def coefficients(self):
        return sum(self.rest().parts.values(), start=self.of_fields() + np.where(self.of.box.mean_mode, self.number, 0))

    def __add__(self, other):
        held = [one.products_at_walls for one in (self, other) if one.points is not None]
        return super().__add__(other).with_ends(None if None in held or not held else sum(held[1:], start=held[0]))

    def scaled(self, factor, timed=False):
        own = self.products_at_walls
        return super().scaled(factor, timed).with_ends(None if own is None else own.scaled(factor))

    def varying(self):
        return super().varying().with_ends(self.products_at_walls)

    def named(self, cause):
        return super().named(cause).with_ends(self.products_at_walls)

    def __mul__(self, other):
        found = super().__mul__(other)
        if found.linear or found.is_number or self.number or other.number:  # put together of others
            return found
        one, two = self.ends(), other.ends()
        return found.with_ends(None if one is None or two is None else one * two)

    def operated(self, symbol, real=True):
        linear = {key: symbol * old for key, old in self.linear.items()}
        constant = symbol.terms.get((0,) * self.of.box.dimensions, 0.0)
        is_held = self.modes is not None or self.points is not None
        rest = self.rest().operated(symbol, self.products_at_walls) if is_held else None
        return Between(self.of, constant * self.number, linear, rest, None, True, self.timed)

    def explicit(self):
        rest = self.rest() + Rest(self.of.box, {"fields": self.of_fields()} if self.linear else {})
        return Between(self.of, self.number, {}, rest if rest.parts else None, None, True, self.timed)


class ExpressionsBetween(Expressions):
    """As `Expressions`, by derivatives."""

    def symbol(self, *axes):
        return Symbol({tuple(sum(a == i for a in axes) for i in range(self.d)): 1.0})

    def along(self, of, axis):
        return each(lambda a: a.operated(self.symbol(axis)), of)

    def _lap(self, of, *along):
        symbol = sum((self.symbol(a, a) for a in self.axes(along)), start=Symbol({}))
        return each(lambda a: a.operated(symbol), self.node(of))

    def _hyper(self, of, nu, power):
        if self.node(nu)[()].number:
            raise NotKnown("powers of the Laplacian between walls")
        return each(lambda a: self.place.constant(0.0), self.node(of))

    def _not_known(self, *arguments):
        raise NotKnown("an operator between walls")

    _mean = _inverse_lap = _helmholtz = _fraclap = _not_known

    def at_wall(self, of, end):
        profile = np.real(self.node(of)[()].coefficients()[(0,) * (self.d - 1)])
        return array(self.place.constant(float(profile @ end)))

    def _bottom(self, of):
        return self.at_wall(of, self.box.ends[0])

    def _top(self, of):
        return self.at_wall(of, self.box.ends[1])


class Walled(System):
    """A text between walls.

    Args:
        box: the layer.
        conditions: of each field, for the lower and the upper wall.
        others: as of `System`.
    """

    def __init__(self, box, conditions, lines, fields, numbers, unknowns, define, functions, energies, series):
        self.box, self.lines, self.fields, self.numbers = box, list(lines), dict(fields), dict(numbers)
        self.unknowns, self.define, self.functions = dict(unknowns), dict(define), functions
        self.series, self.complex, self.bodies = dict(series or {}), set(), None
        self.parts = {name: components(name, rank, box.dimensions) for name, rank in self.fields.items()}
        self.names = [part for parts in self.parts.values() for part in dict.fromkeys(parts.values())]
        of_all = {self._energy_name(n): f"{self._square(n)}/2" for n in self.fields}
        self.energies = dict(of_all if energies is None else energies)
        self.solenoidal = {name for name, both in conditions.items() if both[0].keys() & {"rigid", "free"}}
        self.upward = {f"{name}.{box.dimensions - 1}" for name in self.solenoidal}
        tests = lambda n, count: Tests(box, conditions[n], count, solenoidal=n in self.solenoidal, numbers=numbers)  # noqa: E731
        self.tests = {name: tests(name, len(self.mine(name))) for name in self.fields}
        self.solved = {name: tests(name, 1) for name in self.unknowns if name in conditions}
        self.of_solved = [one for one in self.lines if "dt(" not in one and self.solved.keys() & _names(one)]
        self.nothing, self.time, self.ahead = np.zeros((len(self.names), *box.along, box.count), complex), 0.0, 0.0
        self.rates, self.others = {}, {}  # by cause: (decay, diffusion) by field, and other linear terms by part
        self._linear()

    def place(self, fields, t):
        found = Place(self.box, dict(zip(self.names, self.whole(fields), strict=True)), t, Between)
        found.at_walls = lambda name, powers: self.at_walls(found.fields[name], name, powers)
        found.fields |= self._solution(found) if self.solved else {}
        return found

    def _solution(self, place):
        """Coefficients of unknowns with conditions: A ψ' = R − A G, A of ∇² and numbers, as one system of each k."""
        found, names, box, none = self.expressions(place), list(self.solved), self.box, (0,) * self.box.dimensions
        tests, (a, b), right = list(self.solved.values()), np.zeros((2, len(names), len(names))), []
        made = [one.lifting[0] + self.ahead * one.motion[0] + 0j for one in tests]
        for row, line in enumerate(self.of_solved):
            whole = found.value(line.split("=")[0])[()] + -found.value(line.split("=")[1])[()]
            known = {key: symbol for key, symbol in whole.linear.items() if key[1] == "field"}
            right.append(-Between(place, whole.number, known, whole.modes, whole.points).coefficients())
            for symbol, i in ((s, names.index(key[2])) for key, s in whole.linear.items() if key not in known):
                a[row, i], b[row, i] = (symbol.terms.get(key, 0.0) for key in ((*none[:-1], 2), none))
                left = symbol + -a[row, i] * self.lap + Symbol({none: -b[row, i]})
                if any(left.terms.values()) or (a[row, i] and row != i):
                    raise NotKnown("another operator on an unknown than its own Laplacian")
                right[row] = right[row] - symbol.on(box, made[i])
        for at in map(tuple, np.argwhere(box.kept)):
            v, own = [one.vectors[at] for one in tests], [a[i, i] * one.rates[at] for i, one in enumerate(tests)]
            matrix = np.block([[b[i, j] * p.conj().T @ q for j, q in enumerate(v)] for i, p in enumerate(v)])
            each = np.concatenate([p.conj().T @ right[i][at] for i, p in enumerate(v)])
            for i, c in enumerate(np.split(np.linalg.pinv(matrix - np.diag(np.ravel(own)), 1e-13) @ each, len(names))):
                made[i][at] += v[i] @ c
        return dict(zip(names, made, strict=True))

    def at_walls(self, c, name, powers):
        """A derivative of a component at the walls, as conditions give it, and as it is."""
        own = np.array([self.box.at_end(self.box.derivative(c, powers), end) for end in self.box.ends])
        by_conditions, given = own.copy(), [name in self.upward and not powers[-1]] * 2
        tests = {**self.tests, **self.solved}[name.partition(".")[0]]
        for wall, condition in enumerate(tests.conditions):
            slope = condition.get("slope") if powers[-1] == 1 and not any(powers[:-1]) else None
            if slope is not None and not set("xyz") & _names(slope):
                by_conditions[wall], given[wall] = tests.right(slope, self.time), True
            if name in self.solved and any(powers[:-1]) and not powers[-1] and "value" in condition:
                is_uniform = not set("xyz") & _names(condition["value"])
                by_conditions[wall], given[wall] = by_conditions[wall] * (not is_uniform), is_uniform
        return Ends(np.where(given[0], 0.0, by_conditions) if name in self.upward else by_conditions, own, given)

    def at(self, t):
        self.time = t
        for tests in (*self.tests.values(), *self.solved.values()):
            tests.at(t)

    @property
    def motion(self):
        """The rate of change of what conditions add."""
        return np.concatenate([tests.motion for tests in self.tests.values()])

    def whole(self, fields):
        return np.concatenate([self.tests[name].lifted(fields[self.mine(name)]) for name in self.fields])

    def expressions(self, place):
        names = dict(self.define)
        found = ExpressionsBetween(place, names, self.functions)
        names |= {name: found.numbers(number) for name, number in self.numbers.items()}
        for name, parts in self.parts.items():
            names[name] = np.empty(tuple(i + 1 for i in max(parts)) if max(parts) else (), object)
            for index, part in parts.items():
                names[name][index] = Between(place, 0, {(None, "field", part): found.symbol()})
        for name in self.unknowns:  # a pressure, whose gradient no test sees, or one that is solved for
            kind = "field" if name in place.fields else "unknown"
            names[name] = array(Between(place, 0, {(None, kind, name): found.symbol()}))
        return found

    def change(self, fields, t):
        """What changes each component: Values."""
        found, changes = self.expressions(self.place(fields, t)), {}
        for line in (line for line in self.lines if line not in self.of_solved):
            left, right = line.split("=")
            name = left.partition("(")[2].strip(" )")
            if left.strip().startswith("dt("):
                parts = self.parts[name]
                values = np.broadcast_to(found.value(right), [i + 1 for i in max(parts)])
                changes |= {part: values[index] for index, part in parts.items()}
            elif name not in self.solenoidal:
                raise NotKnown("unknowns between walls")
        return [changes[part] for part in self.names]

    def _linear(self):
        """Decay and diffusion of each field, and the other linear terms, by cause."""
        d = self.box.dimensions
        none, twice = (0,) * d, [tuple(2 * (a == i) for a in range(d)) for i in range(d)]
        self.lap = Symbol(dict.fromkeys(twice, 1.0))
        for part, value in zip(self.names, self.change(self.nothing, 0.0), strict=True):
            field = part.partition(".")[0]
            for (cause, kind, name), symbol in value.linear.items():
                if kind == "unknown" and field not in self.solenoidal:
                    raise NotKnown("an unknown that is no pressure")
                if name == part:
                    own = symbol.terms.get(none, 0.0), symbol.terms.get(twice[-1], 0.0)
                    if self.rates.setdefault(cause, {}).setdefault(field, own) != own:
                        raise NotKnown("diffusion that differs from component to component")
                    symbol = symbol + -own[1] * self.lap + Symbol({none: -own[0]})
                if kind == "field" and any(symbol.terms.values()):
                    self.others.setdefault(cause, []).append((part, name, symbol))

    def of_rates(self, fields, function, causes=None):
        """A function of decay and diffusion, of each field."""
        found = []
        for name in self.fields:
            each_of = [self.rates.get(c, {}).get(name, (0, 0)) for c in causes or self.rates]
            decay, diffusion = np.sum([(0.0, 0.0), *each_of], axis=0)
            of_rate = lambda rates, c=decay, nu=diffusion: function(c - nu * rates)  # noqa: E731
            found.append(self.tests[name].on(of_rate, fields[self.mine(name)]))
        return np.concatenate(found)

    @property
    def operator(self):
        return LinearBetween(self)

    def nearest(self, c):
        return np.concatenate([self.tests[name].on(np.ones_like, c[self.mine(name)]) for name in self.fields])

    def in_nonlinear(self, fields, causes):
        """The linear terms that N contains: those that are not of L, and L of what the conditions add."""
        whole, lifting, found = self.place(fields, self.time).fields, self.whole(self.nothing), 0 * self.nothing
        for cause in causes:
            for part, name, symbol in self.others.get(cause, ()):
                found[self.names.index(part)] += symbol.on(self.box, whole[name])
            for name, (decay, diffusion) in self.rates.get(cause, {}).items():
                for i in self.mine(name):
                    found[i] += decay * lifting[i] + diffusion * self.lap.on(self.box, lifting[i])
        return self.nearest(found)

    def nonlinear(self, fields, t):
        self.at(t)
        found = self.nothing - self.motion
        for i, (part, value) in enumerate(zip(self.names, self.change(fields, t), strict=True)):
            vanish = self.tests[part.partition(".")[0]].vanish_at
            found[i] += value.rest().tested(vanish) + np.where(self.box.mean_mode, value.number, 0)
        return self.nearest(found) + self.in_nonlinear(fields, {**self.rates, **self.others})

    @property
    def causes(self):
        named = [cause for cause in {**self.rates, **self.others} if cause]
        return [*named, *(["linear"] if None in self.rates else [])]

    def by_cause(self, cause, fields):
        if cause == "linear":  # what has no name
            return self.of_rates(fields, lambda rate: rate, [None]), 0.0
        others = self.in_nonlinear(fields, [cause])
        return self.of_rates(fields, lambda rate: rate, [cause]) + others, others

    def projected(self, name, force):
        found = np.zeros_like(self.nothing)
        found[self.mine(name)] = force
        return self.nearest(found)

    def fields_of(self, values):
        """Coefficients of values at the points, by field name."""
        c = np.concatenate([[self.box.modes(part) for part in values[name]] for name in self.fields])
        return self.nearest(c - self.whole(self.nothing))

    def values_of(self, fields):
        values = self.box.at_points(self.whole(fields)).real
        return {name: values[self.mine(name)] for name in self.fields}

    def rate_of_linear(self):
        """The largest eigenvalue of what linear terms outside of L couple, which must be 0 to be known."""
        size = np.zeros((len(self.names),) * 2)
        for part, name, _ in (term for terms in self.others.values() for term in terms):
            if name in self.solved:
                raise NotKnown("the rate of waves that an unknown carries")
            size[self.names.index(part), self.names.index(name)] = 1.0
        if np.linalg.matrix_power(size, len(size)).any():
            raise NotKnown("the rate of linear terms that are not of L")
        return 0.0


class LinearBetween:
    """Functions of L dt, as `Linear`."""

    def __init__(self, system):
        self.of_rates = system.of_rates

    def apply(self, u):
        return self.of_rates(u, lambda rate: rate)

    def phi(self, order, dt):
        return lambda u: self.of_rates(u, lambda rate: phi_of_numbers(order, dt * rate))

    def solve(self, a, b):
        return lambda u: self.of_rates(u, lambda rate: 1 / (a - b * rate))


class RecordBetween(Record):
    def points(self):
        at = self.section["at"]
        return {c: np.array([self.box.at_place(hat, place).real for place in at]) for c, hat in self.hats.items()}


def conditions_of(walls, fields, solenoidal):
    """The conditions of each field for the lower and the upper wall, from `[walls]`."""

    def one(name, side):
        given = walls.get(name, {}).get(side, "no-slip")
        if given == "no-slip":
            return {"rigid": []} if name in solenoidal else {"value": 0.0}
        if given == "free-slip":
            return {"free": None}
        moving = given.get("moving")
        return given if moving is None else {"rigid": moving if isinstance(moving, list) else [moving]}

    return {name: [one(name, side) for side in ("lower", "upper")] for name in fields}
