"""Velocities, gradients and projections by NumPy, on whole complex transforms: what closures are compared with."""

import jax
import jax.numpy as jnp
import numpy as np


def noisy(equation, seed=3):
    """Coefficients of random values at the points."""
    random = np.random.default_rng(seed)
    values = {name: random.standard_normal(v.shape) for name, v in equation.values_at_points().items()}
    return equation.from_physical({name: jnp.asarray(v, equation.grid.dtype) for name, v in values.items()})


class Box:
    """Wavenumbers of a grid with the two-thirds rule."""

    def __init__(self, grid):
        self.shape, self.lengths, self.d = grid.shape, np.array(grid.lengths), grid.dimensions
        spacing = self.lengths / self.shape
        self.k = np.meshgrid(
            *(2 * np.pi * np.fft.fftfreq(*of) for of in zip(self.shape, spacing, strict=True)), indexing="ij"
        )
        self.highest = 2 * np.pi * np.array([(n - 1) // 3 for n in self.shape]) / self.lengths
        self.kept = self.within(1.0)
        self.k2 = sum(a * a for a in self.k)
        self.width = np.pi / np.prod(self.highest) ** (1 / self.d)

    def within(self, share):
        """True for the modes within a share of the highest of each axis."""
        return np.all([abs(a) <= share * h * (1 + 1e-9) for a, h in zip(self.k, self.highest, strict=True)], axis=0)

    def derivative(self, f, axis):
        return np.fft.ifftn(1j * self.k[axis] * np.fft.fftn(f)).real

    def gradient(self, u):
        """∂u_i/∂x_j `(i, j, …)`."""
        return np.array([[self.derivative(part, j) for j in range(self.d)] for part in u])

    def divergence(self, tensor):
        """P ∇·τ at the points, of retained modes."""
        hats = np.array([np.fft.fftn(part) for row in tensor for part in row]).reshape(self.d, self.d, *self.shape)
        push = np.einsum("j...,ij...->i...", 1j * np.array(self.k), hats) * self.kept
        k2 = np.where(self.k2 > 0, self.k2, 1)
        push = push - np.array(self.k) * np.sum(np.array(self.k) * push, axis=0) / k2
        return np.array([np.fft.ifftn(part).real for part in push])

    def pressure(self, tensor):
        """p of ∇²p = ∇·∇·τ at the points, of retained modes."""
        hats = np.array([np.fft.fftn(part) for row in tensor for part in row]).reshape(self.d, self.d, *self.shape)
        twice = np.einsum("i...,j...,ij...->...", self.k, self.k, hats) * self.kept
        return np.fft.ifftn(twice / np.where(self.k2 > 0, self.k2, 1)).real

    def truncated(self, f, kept=None):
        return np.fft.ifftn(np.fft.fftn(f) * (self.kept if kept is None else kept)).real


def strain_of(gradient):
    return (gradient + gradient.swapaxes(0, 1)) / 2


def change_by_closure(closed, plain, fields):
    """What the closure adds to N, at the points, by field."""

    @jax.jit
    def change(fields):
        with_closure, without = closed.nonlinear(fields, 0.0), plain.nonlinear(fields, 0.0)
        return closed.to_physical({name: with_closure[name] - without[name] for name in fields})

    return {name: np.asarray(values) for name, values in change(fields).items()}


def rates_and_budget(equation, fields):
    """Rate of change of the energy by N, the causes of its budget, and the row of the series, at one moment."""

    @jax.jit
    def made(fields):
        changes = equation.at_step({}, jax.random.key(0), 0).changes(fields, 0.0)
        _, rates = jax.jvp(equation.report.energies, (fields,), (changes.nonlinear,))
        return rates["energy"], equation.report.budget(fields, changes)["energy"], equation.series(fields, 0.1)

    rate, causes, row = made(fields)
    return float(rate), {name: float(v) for name, v in causes.items()}, {name: float(v) for name, v in row.items()}
