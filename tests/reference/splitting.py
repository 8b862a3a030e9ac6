"""Schrödinger equations by operator splitting: potential at the points, kinetic energy in the modes, each exactly."""

import numpy as np

W = 1 / (2 - 2 ** (1 / 3))
STEPS = {"strang": (1.0,), "yoshida4": (W, 1 - 2 * W, W)}


class Wavefunction:
    """i ψ_t = −½α∇²ψ + V ψ, V = ½ Σ Ω_i² (x_i − L_i/2)²/α + g|ψ|² − μ, or α∇²V = g (|ψ|² − its mean), α = ħ/m.

    Steps are kick, drift, kick; of `nonlinear-schroedinger`, whose g has the other sign, drift, kick, drift.

    Args:
        box: all modes are kept.
        section: `[equation]`.
    """

    def __init__(self, box, section):
        self.box, self.section, self.complex = box, section, {"wavefunction"}
        self.fields = {"wavefunction": "wavefunction"}
        self.coupling, self.gravitates = section.get("coupling", 1.0), section["name"] == "schroedinger-poisson"
        self.scale = section.get("hbar_over_mass", 1.0)
        self.drifts_first = section["name"] == "nonlinear-schroedinger"
        self.coupling *= -1 if self.drifts_first else 1
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
            outer, inner = (self.drifted, self.kicked) if self.drifts_first else (self.kicked, self.drifted)
            psi = outer(inner(outer(psi, fraction * dt / 2), fraction * dt), fraction * dt / 2)
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
            "energy": kinetic + sum(own.values()),
        }  # fmt: skip

    def spectra(self, psi):
        centres, number = self.box.shells()
        density = np.abs(self.box.modes(psi)) ** 2
        return centres, {"mass": np.array([np.sum(density[number == i]) for i in range(len(centres))])}

    def rate(self, psi):
        """The fastest phase, of kinetic energy or potential, over π."""
        if self.drifts_first:
            return np.max(np.abs(self.potential(psi))) / np.pi
        return max(0.5 * self.scale * np.max(self.box.k2), np.max(np.abs(self.potential(psi)))) / np.pi
