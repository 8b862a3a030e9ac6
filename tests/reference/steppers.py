"""The steppers, from their tableaus: u_t = L u + N(u, t), L a matrix for each mode.

`advance(problem, u, t, dt, number, past)` takes one step; `past` is what a multistep method remembers. What is stepped
is a pair: coefficients `(component, *modes)`, and integrals that belong to no mode, for which L is zero.
"""

from __future__ import annotations

from fractions import Fraction as F
from functools import lru_cache

import numpy as np
from scipy.linalg import expm


class Linear:
    """Functions of L dt, for each mode.

    Args:
        matrix: L `(component, component, *modes)`.
    """

    def __init__(self, matrix):
        self.matrix = np.moveaxis(matrix, (0, 1), (-2, -1))
        size = self.matrix.shape[-1]
        off = self.matrix * (1 - np.eye(size))
        self.diagonal = np.einsum("...ii->...i", self.matrix) if not off.any() else None

    def _on(self, operator, u):
        fields = np.moveaxis(u, 0, -1)
        after = operator * fields if self.diagonal is not None else np.einsum("...ij,...j->...i", operator, fields)
        return np.moveaxis(after, -1, 0)

    def apply(self, u):
        return self._on(self.matrix if self.diagonal is None else self.diagonal, u)

    def phi(self, order, dt):
        """φ_order(L dt) as a function of fields; φ₀ is the exponential."""
        if self.diagonal is not None:
            operator = phi_of_numbers(order, dt * self.diagonal)
        else:
            operator = phi_of_matrices(order, (dt * self.matrix + 0j).tobytes(), self.matrix.shape)
        return lambda u: self._on(operator, u)

    def solve(self, a, b):
        """(a − b L)⁻¹."""
        if self.diagonal is not None:
            operator = 1 / (a - b * self.diagonal)
        else:
            operator = np.linalg.inv(a * np.eye(self.matrix.shape[-1]) - b * self.matrix)
        return lambda u: self._on(operator, u)


def phi_of_numbers(order, z):
    """φ_k(z) = Σ z^j/(j + k)!, by the series for |z| < 1 and by φ_{k+1} = (φ_k − 1/k!)/z else."""
    small = np.where(np.abs(z) < 1, z, 0)
    series, term = np.zeros_like(z), np.ones_like(z) / float(np.prod(range(1, order + 1)) or 1)
    for j in range(25):
        series = series + term
        term = term * small / (j + 1 + order)
    large, found, factorial = np.where(np.abs(z) < 1, 1, z), np.exp(np.where(np.abs(z) < 1, 1, z)), 1.0
    for k in range(order):
        found, factorial = (found - 1 / factorial) / large, factorial * (k + 1)
    return np.where(np.abs(z) < 1, series, found)


@lru_cache(maxsize=64)
def phi_of_matrices(order, matrices, shape):
    """The same of matrices, as bytes: the corner of exp of [[z, 1, 0…], [0, 0, 1…], …]."""
    size = shape[-1]
    each, which = np.unique(np.frombuffer(matrices, complex).reshape(-1, size**2), axis=0, return_inverse=True)
    big = np.tile(np.eye((order + 1) * size, k=size, dtype=complex), (len(each), 1, 1))
    big[:, :size, :size] = each.reshape(-1, size, size)
    return expm(big)[:, :size, order * size :][which].reshape(shape)


class Pair:
    """Coefficients and integrals, added and multiplied together."""

    def __init__(self, fields, integrals):
        self.fields, self.integrals = fields, integrals

    def __add__(self, other):
        return Pair(self.fields + other.fields, self.integrals + other.integrals)

    def __rmul__(self, number):
        return Pair(number * self.fields, number * self.integrals)

    def by(self, operator, for_integrals):
        """An operator on the coefficients, and its number for L = 0 on the integrals."""
        return Pair(operator(self.fields), for_integrals * self.integrals)


FACTORIALS = (1, 1, 2, 6)


class Phi:
    """φ_k(w L dt) on pairs."""

    def __init__(self, linear, dt):
        self.linear, self.dt, self.kept = linear, dt, {}

    def __call__(self, order, share, pair):
        key = (order, share)
        if key not in self.kept:
            self.kept[key] = self.linear.phi(order, float(share) * self.dt)
        return pair.by(self.kept[key], 1 / FACTORIALS[order])


def later(problem, gap, t, dt):
    """exp ∫(L + Λ) dt on pairs over a share of a step, from t on: Λ by Gauss's quadrature with four nodes."""
    if not gap:
        return lambda pair: pair
    phi, size, of = problem.phi(dt), float(gap) * dt, problem.system.varying
    if not problem.system.is_timed:
        return lambda pair: phi(0, gap, pair)
    nodes = zip(*np.polynomial.legendre.leggauss(4), strict=True)
    mean = sum(w / 2 * of(t + (1 + x) / 2 * size) for x, w in nodes)
    return lambda pair: phi(0, gap, pair).by(lambda u: np.exp(size * mean) * u, 1.0)


def nonlinear(problem, u, t, number):
    """N without Λ(t) u."""
    n, system = problem.nonlinear(u, t, number), problem.system
    return n + Pair(-system.varying(t) * u.fields, 0 * n.integrals) if system.is_timed else n


def integrating_factor(nodes, weights):
    """Runge–Kutta whose stage i + 1 uses N of stage i alone, on exp(−L t) u."""

    def advance(problem, u, t, dt, past):
        total = base = stage = u
        for i, (c, b) in enumerate(zip(nodes, weights, strict=True)):
            n = nonlinear(problem, stage, t + float(c) * dt, i)
            after = nodes[i + 1] if i + 1 < len(nodes) else 1
            moved = later(problem, F(after) - F(c), t + float(c) * dt, dt)
            total = moved(total + (float(b) * dt) * n)
            if i + 1 < len(nodes):
                stage = moved(base + (float(after) * dt) * n)
                base = moved(base)
        return total, past

    return advance


def low_storage(nodes, keep, add):
    def advance(problem, u, t, dt, past):
        q = 0.0 * u
        for i, (c, a, b) in enumerate(zip(nodes, keep, add, strict=True)):
            q = dt * nonlinear(problem, u, t + float(c) * dt, i) + float(a) * q
            gap = F(nodes[i + 1] if i + 1 < len(nodes) else 1) - F(c)
            moved = later(problem, gap, t + float(c) * dt, dt)
            u, q = moved(u + float(b) * q), moved(q)
        return u, past

    return advance


def exponential(*rows):
    """Rows of (share of the step, {j: {k: weight of φ_k}}, stage it starts from, node); k with another share."""

    def advance(problem, u, t, dt, past):
        phi = problem.phi(dt)
        stages, known, node = [u], [], 0.0
        for over, terms, begin, at in rows:
            known.append(problem.nonlinear(stages[-1], t + node * dt, len(known)))
            value = phi(0, over, stages[begin])
            for j, weights in terms.items():
                for key, weight in weights.items():
                    order, share = key if isinstance(key, tuple) else (key, over)
                    value = value + (over * dt * weight) * phi(order, share, known[j])
            stages.append(value)
            node = at
        return stages[-1], past

    return advance


def additive(nodes, explicit, implicit, diagonal, weights, last=None):
    """(1 − γ dt L) U_i = u + dt Σ (a_ij N_j + ã_ij L U_j), u⁺ = u + dt Σ b_j (N_j + L U_j).

    `last` are weights of another method on the same stages, which is carried out then.
    """

    def advance(problem, u, t, dt, past):
        linear = problem.linear
        solve = linear.solve(1, float(diagonal) * dt)
        ns, ls = [], []
        for i, c in enumerate(nodes):
            stage = u
            for a, n in zip(explicit[i - 1] if i else (), ns, strict=False):
                stage = stage + (float(a) * dt) * n
            for a, m in zip(implicit[i - 1] if i else (), ls, strict=False):
                stage = stage + (float(a) * dt) * m
            stage = stage.by(solve, 1) if i else u
            ns.append(problem.nonlinear(stage, t + float(c) * dt, i))
            ls.append(stage.by(linear.apply, 0))
        for b, a, n in zip(weights, (*explicit[-1], 0), ns, strict=True):  # the last row of ã holds the weights of L
            stage = stage + (float(b - a) * dt) * n
        for b, other, n, m in zip(weights, last or weights, ns, ls, strict=True):
            stage = stage + (float(other - b) * dt) * (n + m)
        return stage, past

    return advance


def two_step(weights):
    """(a_new u⁺ + a_now u + a_old u⁻)/dt = b_now N + b_old N⁻ + L (g_new u⁺ + g_now u); ω = 0 at the start."""

    def advance(problem, u, t, dt, past):
        ratio = 0.0 if past is None or dt / past[2] > 16 else dt / past[2]
        a, b, g = weights(ratio)
        now = problem.nonlinear(u, t, 0)
        right = (dt * b[0]) * now + (-a[1]) * u + (dt * g[1]) * u.by(problem.linear.apply, 0)
        if past is not None:
            right = right + (dt * b[1]) * past[1] + (-a[2]) * past[0]
        after = right.by(problem.linear.solve(a[0], dt * g[0]), 1 / a[0])
        if past is not None and is_short(dt, past):
            return after, (*past[:2], past[2] + dt, past[3])
        return after, (u, now, dt, dt)

    return advance


def sbdf3(problem, u, t, dt, past):
    """Three backward steps of any sizes; of `imexrk2` without two before, or where steps grow too fast."""
    now, (last, before) = problem.nonlinear(u, t, 0), past or (None, None)
    if before is None or dt > 2 * last[2] or dt > 4 * before[2]:
        after, _ = STEPPERS["imexrk2"](problem, u, t, dt, None)
    else:
        times = np.array([0, -dt, -dt - last[2], -dt - last[2] - before[2]]) / dt
        a = np.linalg.solve(np.vander(times, increasing=True).T, [0, 1, 0, 0])  # the slope at 0
        b = np.linalg.solve(np.vander(times[1:], increasing=True).T, [1, 0, 0])  # the value there
        right = (dt * b[0]) * now + (dt * b[1]) * last[1] + (dt * b[2]) * before[1]
        right = right + -a[1] * u + -a[2] * last[0] + -a[3] * before[0]
        after = right.by(problem.linear.solve(a[0], dt), 1 / a[0])
    stays = last is not None and is_short(dt, last)
    return after, ((*last[:2], last[2] + dt, last[3]), before) if stays else ((u, now, dt, dt), last)


def is_short(dt, entry):
    """Whether a step leaves an entry of the history (u, N, how long ago, step there) where it is."""
    return dt < 0.75 * entry[3] and entry[2] + dt < 3 * entry[3]


G = 1 - 0.5**0.5
KC = F("1767732205903/4055673282236")
KC_B = (F("1471266399579/7840856788654"), F("-4482444167858/7529755066697"), F("11266239266428/11593286722821"))
KC3 = (
    (0, F("1767732205903/2027836641118"), F(3, 5), 1),
    ((F("1767732205903/2027836641118"),),
     (F("5535828885825/10492691773637"), F("788022342437/10882634858940")),
     (F("6485989280629/16251701735622"), F("-4246266847089/9704473918619"), F("10755448449292/10357097424841"))),
    ((KC,), (F("2746238789719/10658868560708"), F("-640167445237/6845629431997")), KC_B),
    KC,
    (*KC_B, KC))  # fmt: skip
STEPPERS = {
    "ifrk2": integrating_factor((0, 1), (F(1, 2), F(1, 2))),
    "ifrk3": integrating_factor((0, F(1, 3), F(2, 3)), (F(1, 4), 0, F(3, 4))),
    "ifrk4": integrating_factor((0, F(1, 2), F(1, 2), 1), (F(1, 6), F(1, 3), F(1, 3), F(1, 6))),
    "lsrk3": low_storage((0, F(1, 3), F(3, 4)), (0, F(-5, 9), F(-153, 128)), (F(1, 3), F(15, 16), F(8, 15))),
    "etdrk2": exponential((1, {0: {1: 1}}, 0, 1), (1, {0: {1: 1, 2: -1}, 1: {2: 1}}, 0, 1)),
    "etdrk3": exponential(
        (0.5, {0: {1: 1}}, 0, 0.5),
        (1, {0: {1: -1}, 1: {1: 2}}, 0, 1),
        (1, {0: {1: 1, 2: -3, 3: 4}, 1: {2: 4, 3: -8}, 2: {2: -1, 3: 4}}, 0, 1),
    ),
    "etdrk4": exponential(
        (0.5, {0: {1: 1}}, 0, 0.5),
        (0.5, {1: {1: 1}}, 0, 0.5),
        (0.5, {0: {1: -1}, 2: {1: 2}}, 1, 1),
        (1, {0: {1: 1, 2: -3, 3: 4}, 1: {2: 2, 3: -4}, 2: {2: 2, 3: -4}, 3: {2: -1, 3: 4}}, 0, 1),
    ),
    "krogstad4": exponential(
        (0.5, {0: {1: 1}}, 0, 0.5),
        (0.5, {0: {1: 1, 2: -2}, 1: {2: 2}}, 0, 0.5),
        (1, {0: {1: 1, 2: -2}, 2: {2: 2}}, 0, 1),
        (1, {0: {1: 1, 2: -3, 3: 4}, 1: {2: 2, 3: -4}, 2: {2: 2, 3: -4}, 3: {2: -1, 3: 4}}, 0, 1),
    ),
    "etdrk5s4": exponential(  # Hochbruck and Ostermann (2005), equation 5.19
        (0.5, {0: {1: 1}}, 0, 0.5),
        (0.5, {0: {1: 1, 2: -2}, 1: {2: 2}}, 0, 0.5),
        (1, {0: {1: 1, 2: -2}, 1: {2: 1}, 2: {2: 1}}, 0, 1),
        (
            0.5,
            {
                0: {1: 1, 2: -1.5, 3: 1, (3, 1): 2, (2, 1): -0.5},
                3: {2: -0.5, 3: 1, (3, 1): 2, (2, 1): -0.5},
                **{j: {2: 1, 3: -1, (3, 1): -2, (2, 1): 0.5} for j in (1, 2)},
            },
            0,
            0.5,
        ),
        (1, {0: {1: 1, 2: -3, 3: 4}, 3: {2: -1, 3: 4}, 4: {2: 4, 3: -8}}, 0, 1),
    ),
    "imexrk2": additive(
        (0, G, 1), ((G,), (1 - 1 / (2 * G), 1 / (2 * G))), ((0,), (0, 1 - G)), G, (1 - 1 / (2 * G), 1 / (2 * G), 0)
    ),
    "imexrk3": additive(*KC3),
    "cnab2": two_step(lambda w: ((1, -1, 0), (1 + w / 2, -w / 2), (0.5, 0.5))),
    "sbdf2": two_step(lambda w: (((1 + 2 * w) / (1 + w), -(1 + w), w * w / (1 + w)), (1 + w, -w), (1, 0))),
    "sbdf3": sbdf3,
}
EMBEDDED = {  # on the same stages, of which the difference is the error of a step
    "ifrk2": integrating_factor((0, 1), (1, 0)),
    "ifrk3": integrating_factor((0, F(1, 3), F(2, 3)), (0, F(1, 2), F(1, 2))),
    "ifrk4": integrating_factor((0, F(1, 2), F(1, 2), 1), (0, F(1, 2), F(1, 2), 0)),
    "imexrk3": additive(*KC3, last=(
        F("2756255671327/12835298489170"), F("-10771552573575/22201958757719"), F("9247589265047/10645013368117"),
        F("2193209047091/5459859503100"),
    ))}  # fmt: skip
