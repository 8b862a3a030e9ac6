"""The Gross–Pitaevskii equation: dilute Bose–Einstein condensates, in a trap or without one."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike
from jaxtyping import Array, Complex, Float

from solver.diagnostics import shell_spectrum
from solver.dynamics.checks import need
from solver.dynamics.report import Report
from solver.equations.mean_field import Vector
from solver.equations.schroedinger import SchroedingerEquation, density
from solver.operators import Fields


class GrossPitaevskii(SchroedingerEquation):
    """The Gross–Pitaevskii equation of a dilute Bose–Einstein condensate, on a periodic box.

        i ψ_t = −½(ħ/m)∇²ψ + (½(m/ħ) Σ_i Ω_i² (x_i − L_i/2)² + g |ψ|² − μ) ψ

    The kinetic part is exact in k, trap and interaction are exact in x. A step of the splitting costs one complex
    transform each way. Conserves the mass ⟨|ψ|²⟩ to round-off and the energy ½(ħ/m)²⟨|∇ψ|²⟩ + ½Σ_i Ω_i²⟨x_i²|ψ|²⟩ +
    ½(ħ/m)g⟨|ψ|⁴⟩, per unit of mass and volume, to the order of the splitting; μ turns the phase of ψ alone. All modes
    are kept. The condensate must vanish before it reaches the sides, where the trap has a kink.

    By default ħ/m = 1. In SI units |ψ|² is a number of atoms per m³, ħ/m of ⁸⁷Rb is 7.307e-10 m²/s, g = 4π(ħ/m)a with
    the scattering length a, and μ is an energy over ħ; `grid.precision = "float64"`, since |ψ|⁴ is beyond single
    precision.

    Good values: g⟨|ψ|²⟩ = μ = 1 without a trap, where the healing length (ħ/(m gρ))^½ is 1 and needs two points or
    more, and the speed of sound (gρ ħ/m)^½ is 1; Ω = 1 with a box of 12 or more oscillator lengths (ħ/(mΩ))^½.

    Args:
        grid: one to three dimensions, complex fields, dealias `none`.
        coupling: g, repulsive if positive, attractive if negative [1/(density·time)].
        trap: Ω_i ≥ 0, the trap's frequency along each axis [1/time]; no trap if None.
        chemical_potential: μ [1/time].
        hbar_over_mass: ħ/m > 0 [length²/time].

    Raises:
        ValueError: a trap of another number of frequencies, or a grid that drops modes.

    Source: Pitaevskii & Stringari, Bose–Einstein Condensation (2003), chapter 5; Bao, Jaksch & Markowich, J. Comput.
    Phys. 187 (2003) 318 (the splitting).
    """

    coupling: ArrayLike = 1.0
    trap: Vector | None = None
    chemical_potential: ArrayLike = 0.0

    name: ClassVar[str] = "gross-pitaevskii"
    units: ClassVar[dict[str, str]] = {
        "mass": "density",
        "energy": "density*length^2/time^2",
        "kinetic_energy": "density*length^2/time^2",
        "trap_energy": "density*length^2/time^2",
        "interaction_energy": "density*length^2/time^2",
        "max_density": "density",
        "cfl": "1",
    }

    def __check_init__(self) -> None:
        need(self, "coupling", "coupling", "a finite number")
        need(self, "trap", "trap", "zero or more for each axis", least=0)
        need(self, "chemical_potential", "chemical_potential", "a finite number")
        if self.trap is not None and np.shape(self.trap) != (self.grid.dimensions,):
            raise ValueError(f"trap {self.trap}: {self.grid.dimensions} frequencies are needed, one per axis")

    def reported(self, report: Report) -> Report:
        own = {"self_focusing": -self.coupling, "chemical_potential": self.chemical_potential}
        return replace(super().reported(report), **own)

    def split_potential(self, psi: Complex[Array, "1 ..."], t: ArrayLike = 0.0) -> Float[Array, "1 ..."]:
        """Trap, interaction and −μ at the points. No communication."""
        return self._trap() + self.coupling * density(psi) - self.chemical_potential

    def _conserved(self, fields: Fields) -> dict[str, Array]:
        return {
            "mass": jnp.mean(density(fields["wavefunction"])),
            "energy": sum(self._energies_of(fields["wavefunction"]).values()),
        }

    def _columns(self, fields: Fields) -> dict[str, Array]:
        return {
            **self._conserved(fields),
            **self._energies_of(fields["wavefunction"]),
            "max_density": jnp.max(density(fields["wavefunction"])),
        }

    def _spectra(self, fields: Fields) -> dict[str, Array]:
        """The mass in each shell."""
        return {"mass": 2 * shell_spectrum(self.transform.forward(fields["wavefunction"]), self.grid)}

    def _virial(self, fields: Fields) -> dict[str, tuple[float, Array]]:
        """Terms of the virial relation 2K − 2E_trap + d E_int = 0.

        Source: Dalfovo, Giorgini, Pitaevskii & Stringari, Rev. Mod. Phys. 71 (1999) 463, section III.A.
        """
        energies = self._energies_of(fields["wavefunction"])
        weights = {"kinetic_energy": 2, "trap_energy": -2, "interaction_energy": self.grid.dimensions}
        return {name: (weight, energies[name]) for name, weight in weights.items()}

    def _trap(self) -> Array | float:
        """V at the points, as a sum of vectors that broadcasts."""
        if self.trap is None:
            return 0.0
        parts = zip(self.trap, self.grid.coordinates(), self.grid.lengths, strict=True)  # type: ignore[arg-type]
        return sum(0.5 * w**2 / self.hbar_over_mass * (jnp.asarray(x) - 0.5 * length) ** 2 for w, x, length in parts)

    def _energies_of(self, psi: Array) -> dict[str, Array]:
        rho = density(psi)
        return {
            "kinetic_energy": self._kinetic_energy(psi),
            "trap_energy": self.hbar_over_mass * jnp.mean(self._trap() * rho),
            "interaction_energy": 0.5 * self.hbar_over_mass * self.coupling * jnp.mean(rho * rho),
        }
