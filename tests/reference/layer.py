"""A layer between two walls: Gauss–Legendre points across it, polynomials, Fourier modes along the walls.

Coefficients are complex arrays `(*modes along the walls, polynomial)`, of polynomials P_n with the mean square one.
"""

from __future__ import annotations

from functools import reduce

import numpy as np
from numpy.polynomial import legendre
from scipy.linalg import eigh, null_space


class Layer:
    """Points and modes of a run's `[grid]` with walls; attributes as those of `Box`.

    Args:
        shape, lengths: of the whole, the last direction across the walls.
    """

    def __init__(self, shape, lengths):
        self.rule, self.dimensions, self.points = "two-thirds", len(shape), tuple(shape)
        self.lengths, self.height, self.along = np.array(lengths, float), float(lengths[-1]), tuple(shape[:-1])
        self.shift, self.axes = np.zeros(self.dimensions), tuple(range(-len(shape), -1))
        self.count = 2 * (shape[-1] + 1) // 3  # so that products of two, tested with a third, are summed exactly
        zeta, weights = legendre.leggauss(shape[-1])
        self.at, self.ends = self.polynomials(zeta), self.polynomials(np.array([-1.0, 1.0]))
        self.weights, self.slope = weights / 2, self._slope()
        numbers = [np.rint(np.fft.fftfreq(n) * n) for n in self.along]
        n = np.meshgrid(*numbers, indexing="ij") if numbers else []
        self.k = [2 * np.pi / length * one for length, one in zip(self.lengths, n, strict=False)]
        share = [np.abs(one) / size < 1 / 3 - 1e-12 for one, size in zip(n, self.along, strict=True)]
        self.kept = reduce(np.logical_and, share, np.ones(self.along, bool))
        self.uniform = reduce(np.logical_and, [one == 0 for one in n], np.ones(self.along, bool))[..., None]
        self.mean_mode = self.uniform & (np.arange(self.count) == 0)
        z = self.height * (1 + zeta) / 2
        sides = [np.arange(n) / n * length for n, length in zip(self.along, self.lengths, strict=False)]
        self.x = np.meshgrid(*sides, z, indexing="ij")
        across = np.pi * np.sqrt(z * (self.height - z)) / shape[-1]
        self.spacing = [length / n for n, length in zip(self.along, self.lengths, strict=False)] + [across]

    def polynomials(self, zeta):
        """Values `(place, n)`."""
        return legendre.legvander(zeta, self.count - 1) * np.sqrt(2 * np.arange(self.count) + 1)

    def _slope(self):
        """∂P_n/∂z = Σ_m D_mn P_m."""
        scale, made = np.sqrt(2 * np.arange(self.count) + 1), np.zeros((self.count, self.count))
        for n in range(1, self.count):
            own = legendre.legder(np.eye(self.count)[n])
            made[: len(own), n] = own * scale[n] / scale[: len(own)]
        return 2 / self.height * made

    def at_points(self, c):
        levels = c @ self.at.T
        return np.fft.ifftn(levels, axes=self.axes) * np.prod(self.along) if self.along else levels

    def modes(self, values):
        """Coefficients of values at the points, of the modes that are kept."""
        levels = np.broadcast_to(values, self.points) @ (self.at * self.weights[:, None])
        found = np.fft.fftn(levels, axes=self.axes) / np.prod(self.along) if self.along else levels
        return np.where(self.kept[..., None], found, 0)

    start = modes

    def mean(self, values):
        return np.mean(np.real(values) @ self.weights)

    def derivative(self, c, powers):
        """∂x^i ∂y^j ∂z^k of coefficients."""
        for k, power in zip(self.k, powers, strict=False):
            c = c * (1j * k[..., None]) ** power
        return c @ np.linalg.matrix_power(self.slope, powers[-1]).T

    def weakly(self, c):
        """⟨P_n ∂c/∂z⟩ without what comes of the walls: −⟨c ∂P_n/∂z⟩."""
        return -c @ self.slope

    def at_end(self, c, end):
        values = c @ end
        return np.fft.ifftn(values) * np.prod(self.along) if self.along else values

    def through_walls(self, below, above):
        """[P_n · value]/H of values at the points of the lower and of the upper wall."""
        spectra = [np.fft.fftn(one) / np.prod(self.along) if self.along else one for one in (below, above)]
        found = [np.where(self.kept, one, 0)[..., None] * end for one, end in zip(spectra, self.ends, strict=True)]
        return (found[1] - found[0]) / self.height

    def at_place(self, c, place):
        value = c @ self.polynomials(np.array([2 * place[-1] / self.height - 1]))[0]
        return np.sum(value * np.prod([np.exp(1j * k * x) for k, x in zip(self.k, place, strict=False)], axis=0))


class Tests:
    """Functions that meet the homogeneous conditions of a field: eigenfunctions of diffusion among all polynomials.

    Args:
        layer: the layer.
        conditions: two dicts, for the lower and the upper wall: `value`, `slope`, `robin`, `rigid` or `free`, of
            numbers, or of texts of the time t, the place along the wall and `numbers`.
        count: number of components.
        solenoidal: whether they are vectors without divergence.
        numbers: parameters by name.
    """

    def __init__(self, layer, conditions, count, *, solenoidal, numbers):
        self.layer, self.conditions, self.count, self.solenoidal = layer, conditions, count, solenoidal
        self.numbers = {"cos": np.cos, "sin": np.sin, "exp": np.exp, "pi": np.pi, **numbers}
        self.numbers |= dict(zip("xyz", (x[..., 0] for x in layer.x[:-1]), strict=False))
        size = count * layer.count
        self.vectors, self.rates = np.zeros((*layer.along, size, size), complex), np.zeros((*layer.along, size))
        for at in map(tuple, np.argwhere(layer.kept)):
            k = [one[at] for one in layer.k]
            basis = null_space(self._constraints(k))
            matrix = np.kron(np.eye(count), self._stiffness() + np.sum(np.square(k)) * np.eye(layer.count))
            rates, turned = eigh(basis.conj().T @ matrix @ basis)
            self.vectors[at][:, : len(rates)], self.rates[at][: len(rates)] = basis @ turned, rates
        self.units = np.array([self._lifting(part) for part in range(count)])
        self.at(0.0)

    def at(self, t):
        """Take the conditions of a time: what they add to a field, and its rate of change, by a step along i."""
        parts = range(self.count)
        each = [[self.right(self._mixture(one, part)[2], t + 1e-30j) for one in self.conditions] for part in parts]
        self.lifting, self.motion = (self._added(one) for one in (np.real(each), np.imag(each) / 1e-30))

    def right(self, given, t):
        """A right-hand side at the points of a wall."""
        found = eval(given, {"__builtins__": {}}, {**self.numbers, "t": t}) if isinstance(given, str) else given
        return found + np.zeros(self.layer.along)

    def _added(self, rights):
        """Coefficients of the functions that have right-hand sides `(component, wall, *along)` of points."""
        axes, size = tuple(range(2, rights.ndim)), np.prod(self.layer.along)
        modes = np.where(self.layer.kept, np.fft.fftn(rights, axes=axes) / size, 0) if axes else rights
        return np.einsum("pnw,pw...->p...n", self.units, modes)

    def _stiffness(self):
        """⟨∂P_m/∂z ∂P_n/∂z⟩, and what T_z = −a/b T at a wall adds to it."""
        found = self.layer.slope.T @ self.layer.slope
        for condition, end, outward in zip(self.conditions, self.layer.ends, (-1, 1), strict=True):
            if "robin" in condition:
                a, b, _ = condition["robin"]
                found = found + outward * a / b / self.layer.height * np.outer(end, end)
        return found

    def _constraints(self, k):
        """Rows that a function's coefficients annul."""
        n, each = self.layer.count, np.eye(self.count)
        rows = [np.zeros((1, self.count * n))]
        for condition, end in zip(self.conditions, self.layer.ends, strict=True):
            is_given = "value" in condition or "rigid" in condition
            which = each if is_given else each[-1:] if self.solenoidal else each[:0]
            rows += [np.kron(one, end)[None] for one in which]
        if self.solenoidal:
            rows.append(self.layer.height * np.hstack([*(1j * one * np.eye(n) for one in k), self.layer.slope]))
        return np.vstack(rows)

    def _lifting(self, part):
        """Coefficients `(n, wall)` of the functions of lowest degree that meet a component's conditions, 1 at one wall
        and 0 at the other; without a mean, if that is not given."""
        a, b = np.transpose([self._mixture(condition, part)[:2] for condition in self.conditions])
        rows = a[:, None] * self.layer.ends + b[:, None] * (self.layer.ends @ self.layer.slope)
        used = slice(0, 2) if abs(np.linalg.det(rows[:, :2])) > 1e-12 * np.prod(np.abs(rows).max(1)) else slice(1, 3)
        found = np.zeros((self.layer.count, 2))
        found[used] = np.linalg.inv(rows[:, used])
        return found

    def _mixture(self, condition, part):
        """(a, b, c) of a u + b ∂u/∂z = c for one component."""
        [(word, given)] = condition.items()
        if word == "rigid":
            return 1.0, 0.0, [*given, *[0.0] * self.count][part]
        if word == "free":
            return (1.0, 0.0, 0.0) if part == self.count - 1 else (0.0, 1.0, 0.0)
        return given if word == "robin" else (float(word == "value"), float(word == "slope"), given)

    @property
    def vanish_at(self):
        """For each wall whether all of them are 0 there."""
        return ["value" in one or "rigid" in one for one in self.conditions]

    def on(self, function, c):
        """Σ vectors · function(rate) · (vectors* · c) of coefficients `(component, *modes, n)`."""
        flat = np.moveaxis(c, 0, -2).reshape(*self.layer.along, -1)
        inner = np.einsum("...ij,...i->...j", self.vectors.conj(), flat)
        found = np.einsum("...ij,...j->...i", self.vectors, function(self.rates) * inner)
        return np.moveaxis(found.reshape(*self.layer.along, self.count, -1), -2, 0)

    def lifted(self, c):
        """Coefficients with what the conditions add."""
        return c + self.lifting
