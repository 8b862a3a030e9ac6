"""Steady forces, and those that follow the flow: coefficients `(component of a field, *modes)` of each evaluation."""

import numpy as np

from .control import NotKnown
from .starts import Start


def force(section, system, name, box):
    """The force of a `[forcing]` section on a field: a function of its coefficients and of what else changes them."""
    kind, parts = section["name"], len(set(system.parts[name].values()))
    x = [2 * np.pi * k / length for k, length in zip(box.x, box.lengths, strict=True)]
    amplitude = section.get("amplitude")
    if kind == "uniform":
        values = [np.full(box.points, a) for a in section["acceleration"]]
    elif kind == "kolmogorov":
        wave = amplitude * np.sin(section.get("wavenumber", 4) * x["xyz".index(section.get("variation", "y"))])
        along = "xyz".index(section.get("direction", "x")) if parts > 1 else 0
        values = [wave if i == along else 0 * wave for i in range(parts)]
    elif kind == "constant-power":
        return lambda fields, change: constant_power(section, fields, box)
    elif kind == "flow-rate":
        mean = lambda u: np.where(box.mean_mode, np.real(u), 0)  # noqa: E731
        wanted, time = np.array([mean(u) for u in section["velocity"]]), section.get("relaxation", 0.1)
        return lambda fields, change: (wanted - mean(fields)) / time - mean(change)
    elif kind == "frozen-shells":
        return frozen_shells(section, box)
    elif kind == "abc":
        values = Start(section, {}, box, parts).beltrami()
    elif kind == "taylor-green":
        n = section.get("wavenumber", 1)
        x, y, *z = (n * v for v in x)
        wave = amplitude * (np.cos(z[0]) if z else 1)
        values = [wave * np.sin(x) * np.cos(y), -wave * np.cos(x) * np.sin(y), *([0 * x] if z else [])]
    else:
        raise NotKnown(kind)
    steady = np.array([box.start(v) for v in values])
    return lambda fields, change: steady


def constant_power(section, fields, box):
    """P û/Σ|û|² on low ≤ |k| ≤ high, but for the mean."""
    k, low, high = np.sqrt(box.k2), section.get("low", 1.0) * (1 - 1e-6), section.get("high", 2.0) * (1 + 1e-6)
    band = (k >= low) & (k <= high) & (k > 0) & box.kept
    size = np.sum(np.abs(fields) ** 2 * band)
    return section["power"] * fields * band / size if size > 0 else 0 * fields


def frozen_shells(section, box):
    """û/(2E) (−T + (E₀ − E)/τ) in shells with low ≤ k ≤ high that hold more than rounding errors, E₀, at first."""
    centres, number = box.shells()
    low, high = section.get("low", 1.0) * (1 - 1e-9), section.get("high", 2.0) * (1 + 1e-9)
    shells, at_start = [i for i, k in enumerate(centres) if i and low <= k <= high], {}

    def force(fields, change):
        total, whole, tau = np.zeros_like(fields), np.sum(np.abs(fields) ** 2) / 2, section.get("return_time", 1.0)
        for i in shells:
            u, moved = fields * (number == i), np.sum(np.real(np.conj(fields) * change) * (number == i))
            energy = np.sum(np.abs(u) ** 2) / 2
            frozen = at_start.setdefault(i, energy if energy > (100 * box.epsilon) ** 2 * whole else 0.0)
            total = total + (u * ((frozen - energy) / tau - moved) / (2 * energy) if frozen * energy > 0 else 0)
        return total

    return force
