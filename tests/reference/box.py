"""A periodic box: points, wavenumbers, which modes are kept, and transforms of whole complex arrays."""

from functools import reduce

import numpy as np


class Box:
    """Points and modes of a run's `[grid]`.

    Coefficients û of u(x) = Σ û exp(i k·x) are complex arrays of the shape of the points, in the order of NumPy's FFT.

    Args:
        shape: points along each axis; modes with `three-halves`.
        lengths: of the sides.
        dealias: the rule.
    """

    def __init__(self, shape, lengths, dealias):
        self.rule, self.dimensions = dealias, len(shape)
        self.lengths = np.array(lengths, float)
        self.given = tuple(shape)
        self.points = tuple(3 * n // 2 for n in shape) if dealias == "three-halves" else tuple(shape)
        self.shift = np.zeros(self.dimensions)  # of the points, in spacings
        numbers = [np.rint(np.fft.fftfreq(n) * n) for n in self.points]
        self.n = np.meshgrid(*numbers, indexing="ij")
        self.k_full = [2 * np.pi / length * n for length, n in zip(self.lengths, self.n, strict=True)]
        self.k = [
            np.where(2 * np.abs(n) == size, 0, k) for n, size, k in zip(self.n, self.points, self.k_full, strict=True)
        ]
        self.k2 = sum(k * k for k in self.k_full)
        self.kept = self._kept()
        self.damping = self._damping()
        sides = [np.arange(n) / n * length for n, length in zip(self.points, self.lengths, strict=True)]
        self.x = np.meshgrid(*sides, indexing="ij")
        self.mean_mode = reduce(np.logical_and, [n == 0 for n in self.n])

    @property
    def highest(self):
        """Largest wavenumber along each axis that is kept."""
        return np.array([np.max(np.abs(k[self.kept])) for k in self.k_full])

    def _kept(self):
        share = [np.abs(n) / size for n, size in zip(self.n, self.given, strict=True)]
        if self.rule == "none":
            return np.ones(self.points, bool)
        if self.rule.startswith("phase-shift"):
            return sum(s * s for s in share) < 2 / 9 - 1e-12
        limit = {"two-thirds": 1 / 3, "three-halves": 1 / 2, "one-half": 1 / 4, "smooth": 1 / 2}[self.rule]
        return reduce(np.logical_and, [s < limit - 1e-12 for s in share])

    def _damping(self):
        if self.rule != "smooth":
            return 1.0
        relative = [2 * np.abs(n) / size for n, size in zip(self.n, self.given, strict=True)]
        return np.exp(-36 * sum(r**36 for r in relative))

    @property
    def turned(self):
        """exp(i k·s) of the shift of the points."""
        return np.exp(1j * sum(k * s * h for k, s, h in zip(self.k_full, self.shift, self.spacing, strict=True)))

    def at_points(self, coefficients):
        return np.fft.ifftn(coefficients * self.turned if self.shift.any() else coefficients) * np.prod(self.points)

    def mean(self, values):
        return np.mean(np.real(values))

    @property
    def spacing(self):
        return self.lengths / np.array(self.points)

    def modes(self, values):
        """Coefficients of values at the (shifted) points, of the modes that are kept."""
        found = np.fft.fftn(np.broadcast_to(values, self.points)) / np.prod(self.points)
        return np.where(self.kept, (found / self.turned if self.shift.any() else found) * self.damping, 0)

    def start(self, values):
        """Coefficients of values that hold kept modes alone: as `modes`, undamped and at points at rest."""
        return np.where(self.kept, np.fft.fftn(np.broadcast_to(values, self.points)) / np.prod(self.points), 0)

    def shells(self):
        """Centres of shells |k| ∈ [k − Δk/2, k + Δk/2), Δk the largest 2π/L with waves, and the shell of each mode."""
        shortest = min((length for n, length in zip(self.points, self.lengths, strict=True) if n > 1), default=1)
        relative = [n * (shortest / length) for n, length in zip(self.n, self.lengths, strict=True)]
        number = np.floor(np.sqrt(sum(r * r for r in relative)) + 0.5 + 1e-9).astype(int)
        return np.arange(number[self.kept].max() + 1) * 2 * np.pi / shortest, number
