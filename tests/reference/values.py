"""What an expression of a text is worth: a number, a linear part, and the rest.

A `Value` is number + Σ symbol(k) · f̂ over fields, unknowns and time derivatives + coefficients + values at the points.
So what is linear with constant coefficients shows of itself, node by node, and everything else is taken as it stands:
products at the points, operators on coefficients.
"""

from __future__ import annotations

import numpy as np


class Unsolved(Exception):
    """Values at the points are asked of an unknown, or a time derivative, that is not solved for yet."""


class Value:
    """One number at each place.

    Args:
        of: where it stands: the box and the coefficients of the fields (`Place`).
        number: what is the same at all points: a constant, or if `timed` a function of time alone, which is a constant
            of this moment: what it multiplies is no part of L, but stays in the modes.
        linear: (cause, kind, name) → symbol, an array over the modes or a number; kind is `field`, `unknown` or `dt`,
            name that of a component.
        modes: coefficients of what else there is, or None.
        points: values at the points of what else there is, not yet truncated, or None.
        real: whether it is real.
    """

    def __init__(self, of, number=0, linear=None, modes=None, points=None, real=True, timed=False):
        self.of, self.number, self.linear, self.modes, self.points = of, number, linear or {}, modes, points
        self.timed = timed
        self.real = real and not np.iscomplex(number)

    @property
    def is_number(self):
        return not self.linear and self.modes is None and self.points is None

    def at_points(self):
        """Values at the points, as they are without truncation."""
        if self.is_number:
            return np.full(self.of.box.points, self.number)
        total = np.zeros(self.of.box.points, complex)
        for (_, kind, name), symbol in self.linear.items():
            if kind != "field":
                raise Unsolved(name)
            total = total + symbol * self.of.fields[name]
        if self.modes is not None:
            total = total + self.modes
        found = self.of.box.at_points(total) + self.number
        found = found if self.points is None else found + self.points
        return found.real if self.real else found

    def rest(self):
        """Coefficients of what is neither constant nor linear."""
        box = self.of.box
        total = np.zeros(box.points, complex) if self.modes is None else self.modes
        return total if self.points is None else total + box.modes(self.points)

    def coefficients(self):
        total = self.rest() + np.where(self.of.box.mean_mode, self.number, 0)
        for (_, kind, name), symbol in self.linear.items():
            if kind != "field":
                raise Unsolved(name)
            total = total + symbol * self.of.fields[name]
        return total

    def __add__(self, other):
        linear = dict(self.linear)
        for key, symbol in other.linear.items():
            linear[key] = linear[key] + symbol if key in linear else symbol
        both = lambda a, b: b if a is None else a if b is None else a + b  # noqa: E731
        return type(self)(
            self.of, self.number + other.number, linear, both(self.modes, other.modes),
            both(self.points, other.points), self.real and other.real, self.timed or other.timed)  # fmt: skip

    def __neg__(self):
        return self.scaled(-1)

    def __sub__(self, other):
        return self + -other

    def scaled(self, factor, timed=False):
        if timed and self.linear:
            constant = self.of.constant(self.number, self.timed)
            return (self.explicit().varying() + constant).scaled(factor, timed)
        times = lambda a: None if a is None else factor * a  # noqa: E731
        linear = {key: factor * symbol for key, symbol in self.linear.items()}
        real = self.real and not np.iscomplex(factor)
        return type(self)(self.of, factor * self.number, linear, times(self.modes), times(self.points), real,
                     self.timed or (timed and self.number != 0))  # fmt: skip

    def __mul__(self, other):
        if self.is_number:
            return other.scaled(self.number, self.timed)
        if other.is_number:
            return self.scaled(other.number, other.timed)
        if self.number or other.number:  # (a + f)(b + g) = a b + a g + b f + f g
            varying = self.varying() * other.varying()
            mixed = other.varying().scaled(self.number, self.timed) + self.varying().scaled(other.number, other.timed)
            return varying + mixed + self.of.constant(self.number * other.number, self.timed or other.timed)
        return self.of.seen(self.at_points() * other.at_points(), self.real and other.real)

    def varying(self):
        return type(self)(self.of, 0, self.linear, self.modes, self.points, self.real)

    def __truediv__(self, other):
        if other.is_number:
            return self.scaled(1 / other.number, other.timed)
        return self.of.seen(self.at_points() / other.at_points(), self.real and other.real)

    def __pow__(self, other):
        if self.is_number and other.is_number:
            return self.of.constant(self.number**other.number, self.timed or other.timed)
        if other.is_number and other.number in range(1, 9):
            return self * self ** self.of.constant(int(other.number) - 1) if other.number > 1 else self
        return self.of.seen(self.at_points() ** other.at_points(), self.real and other.real)

    def each(self, function, *others):
        """A function of numbers, at each point."""
        if all(value.is_number for value in (self, *others)):
            timed = any(value.timed for value in (self, *others))
            return self.of.constant(function(self.number, *(value.number for value in others)), timed)
        found = function(self.at_points(), *(value.at_points() for value in others))
        return self.of.seen(found, not np.iscomplexobj(found))

    def operated(self, symbol, real=True):
        """An operator that multiplies each mode by `symbol`."""
        linear = {key: symbol * old for key, old in self.linear.items()}
        rest = None if self.modes is None and self.points is None else symbol * self.rest()
        constant = np.ravel(np.broadcast_to(symbol, self.of.box.points))[0] * self.number
        number = constant.real if self.real and real else constant
        return type(self)(self.of, number, linear, rest, None, self.real and real, self.timed)

    def explicit(self):
        """The same as nothing but coefficients: no part of L."""
        varying = self.coefficients() - np.where(self.of.box.mean_mode, self.number, 0)
        return type(self)(self.of, self.number, {}, varying, None, self.real, self.timed)

    def named(self, cause):
        """The same with linear terms under a cause."""
        linear = {}
        for (old, kind, name), symbol in self.linear.items():
            key = (old or cause, kind, name)
            linear[key] = linear.get(key, 0) + symbol
        return type(self)(self.of, self.number, linear, self.modes, self.points, self.real, self.timed)


class Place:
    """The box, the coefficients of the fields by component, and the time, at which a text is evaluated."""

    def __init__(self, box, fields, t, kind=Value, frozen=False):
        self.box, self.fields, self.t, self.kind, self.frozen = box, fields, t, kind, frozen

    def constant(self, number, timed=False):
        return self.kind(self, number, timed=timed and not self.frozen)

    def seen(self, points, real):
        return self.kind(self, points=points, real=real)
