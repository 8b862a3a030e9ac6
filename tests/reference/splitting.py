"""Schrödinger equations by operator splitting: potential at the points, kinetic energy in the modes, each exactly."""

import numpy as np

from .steppers import Pair, later, nonlinear

W = 1 / (2 - 2 ** (1 / 3))
STEPS = {"strang": (1.0,), "yoshida4": (W, 1 - 2 * W, W)}


def of_text(parts):
    """The steps drift, kick, drift of a text of wavefunctions: V is what N is a multiple of the wavefunctions by."""

    def advance(problem, u, t, dt, past):
        box = problem.system.box
        for part in parts:
            u, middle = later(problem, part / 2, t, dt)(u), t + part * dt / 2
            n = nonlinear(problem, u, middle, 0).fields
            psi, change = (np.array([box.at_points(one) for one in each]) for each in (u.fields, n))
            square = np.abs(psi) ** 2
            v = np.real(1j * change * np.conj(psi)) / np.where(square > 0, square, 1)
            psi = psi * np.exp(-1j * part * dt * v)
            u, t = Pair(np.array([box.modes(one) for one in psi]), u.integrals), t + part * dt
            u = later(problem, part / 2, middle, dt)(u)
        return u, past

    return advance


OF_TEXTS = {name: of_text(parts) for name, parts in STEPS.items()}


class Wavefunction:
    """i ψ_t = −½α∇²ψ + V ψ, V = ½ Σ Ω_i² (x_i − L_i/2)²/α + g|ψ|² − μ, or α∇²V = g (|ψ|² − its mean), α = ħ/m.

    Steps are kick, drift, kick.

    Args:
        box: all modes are kept.
        section: `[equation]`.
    """

    def __init__(self, box, section):
        self.box, self.section, self.complex = box, section, {"wavefunction"}
        self.fields = {"wavefunction": "wavefunction"}
        self.coupling, self.gravitates = section.get("coupling", 1.0), section["name"] == "schroedinger-poisson"
        self.scale = section.get("hbar_over_mass", 1.0)
        trap = section.get("trap") or [0.0] * box.dimensions
        sides = zip(trap, box.x, box.lengths, strict=True)
        self.trap = sum(0.5 / self.scale * omega**2 * (x - length / 2) ** 2 for omega, x, length in sides)

    def potential(self, psi):
        density = np.abs(psi) ** 2
        if not self.gravitates:
            return self.trap + self.coupling * density - self.section.get("chemical_potential", 0.0)
        k2 = np.where(self.box.k2 > 0, self.box.k2, 1)
        v = np.where(self.box.k2 > 0, -self.coupling / self.scale * self.box.modes(density) / k2, 0)
        return self.box.at_points(v).real

    def step(self, psi, dt, stepper):
        for fraction in STEPS[stepper]:
            psi = self.drifted(self.kicked(psi, fraction * dt / 2), fraction * dt)
            psi = self.kicked(psi, fraction * dt / 2)
        return psi

    def kicked(self, psi, dt):
        return psi * np.exp(-1j * dt * self.potential(psi))

    def drifted(self, psi, dt):
        return self.box.at_points(np.exp(-0.5j * self.scale * dt * self.box.k2) * self.box.modes(psi))

    def columns(self, psi):
        density = np.abs(psi) ** 2
        kinetic = 0.5 * self.scale**2 * np.sum(self.box.k2 * np.abs(self.box.modes(psi)) ** 2)
        if self.gravitates:
            own = {"potential_energy": 0.5 * self.scale * np.mean(self.potential(psi) * density)}
        else:
            own = {"trap_energy": self.scale * np.mean(self.trap * density)}
            own["interaction_energy"] = 0.5 * self.scale * self.coupling * np.mean(density**2)
        return {
            "mass": np.mean(density), "max_density": np.max(density), "kinetic_energy": kinetic, **own,
            "energy": kinetic + sum(own.values())}  # fmt: skip

    def spectra(self, psi):
        centres, number = self.box.shells()
        density = np.abs(self.box.modes(psi)) ** 2
        return centres, {"mass": np.array([np.sum(density[number == i]) for i in range(len(centres))])}

    def rate(self, psi):
        """The fastest phase, of kinetic energy or potential, over π."""
        return max(0.5 * self.scale * np.max(self.box.k2), np.max(np.abs(self.potential(psi)))) / np.pi
