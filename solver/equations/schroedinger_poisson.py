"""The Schrödinger–Poisson system: fuzzy dark matter, self-gravitating condensates."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

import jax.numpy as jnp
from jax.typing import ArrayLike
from jaxtyping import Array, Complex, Float

from solver.diagnostics import shell_spectrum
from solver.dynamics.checks import need
from solver.dynamics.report import Report
from solver.equations.schroedinger import SchroedingerEquation, density
from solver.fft import Transform
from solver.operators import Fields, solve_poisson


class SchroedingerPoisson(SchroedingerEquation):
    """A wavefunction in its own gravity, fuzzy dark matter, on a periodic box.

        i ψ_t = −½(ħ/m)∇²ψ + (m/ħ)Φ ψ
        ∇²Φ = g (|ψ|² − ⟨|ψ|²⟩)

    Conserves the mass ⟨|ψ|²⟩ and the energy ½(ħ/m)²⟨|∇ψ|²⟩ + ½⟨Φ|ψ|²⟩ (box averages). All modes are kept. A step of
    the splitting costs one complex transform each way and, for the potential, one real transform each way.

    Args:
        grid: one to three dimensions, complex fields, dealias `none`.
        coupling: g ≥ 0 [length²·time⁻²/density]; 4πG for gravity, 0 for free particles.
        hbar_over_mass: ħ/m > 0 [length²/time]; 1 by default.

    Raises:
        ValueError: negative coupling, or a grid that drops modes.

    Source: Widrow & Kaiser, Astrophys. J. 416 (1993) L71; Schive, Chiueh & Broadhurst, Nature Phys. 10 (2014) 496.
    """

    coupling: ArrayLike = 1.0

    name: ClassVar[str] = "schroedinger-poisson"
    units: ClassVar[dict[str, str]] = {
        "mass": "density",
        "energy": "density*length^2/time^2",
        "kinetic_energy": "density*length^2/time^2",
        "potential_energy": "density*length^2/time^2",
        "max_density": "density",
        "cfl": "1",
    }

    def __check_init__(self) -> None:
        need(self, "coupling", "coupling", "zero (free) or more (attractive)", least=0)

    def reported(self, report: Report) -> Report:
        return replace(super().reported(report), self_gravity=self.coupling)

    def split_potential(self, psi: Complex[Array, "1 ..."], t: ArrayLike = 0.0) -> Float[Array, "1 ..."]:
        """(m/ħ)Φ at the points, zero on average. One real transform each way."""
        density_hat = self._of_density.forward(density(psi))
        strength = self.coupling / self.hbar_over_mass
        return self._of_density.inverse(strength * solve_poisson(density_hat, self.grid.as_real))

    def _conserved(self, fields: Fields) -> dict[str, Array]:
        kinetic, potential = self._energies_of(fields["wavefunction"])
        return {"mass": jnp.mean(density(fields["wavefunction"])), "energy": kinetic + potential}

    def _columns(self, fields: Fields) -> dict[str, Array]:
        kinetic, potential = self._energies_of(fields["wavefunction"])
        return {
            "mass": jnp.mean(density(fields["wavefunction"])),
            "energy": kinetic + potential,
            "kinetic_energy": kinetic,
            "potential_energy": potential,
            "max_density": jnp.max(density(fields["wavefunction"])),
        }

    def _spectra(self, fields: Fields) -> dict[str, Array]:
        """Spectra of the mass, and of half the mean square of the density's fluctuations."""
        density_hat = self._of_density.forward(density(fields["wavefunction"]))
        return {
            "mass": 2 * shell_spectrum(self.transform.forward(fields["wavefunction"]), self.grid),
            "density": shell_spectrum(density_hat, self.grid.as_real),
        }

    def _virial(self, fields: Fields) -> dict[str, tuple[float, Array]]:
        """Terms of the virial relation 2K + (d − 2) W = 0, W the energy of self-gravity; none in 2-D: W has no scale.

        Source: Hui, Ostriker, Tremaine & Witten, Phys. Rev. D 95 (2017) 043541, section II.
        """
        if self.grid.dimensions == 2:
            return {}
        kinetic, potential = self._energies_of(fields["wavefunction"])
        return {"kinetic_energy": (2, kinetic), "potential_energy": (self.grid.dimensions - 2, potential)}

    @property
    def _of_density(self) -> Transform:
        """The transform between points and coefficients of real fields."""
        return Transform(self.grid.as_real, self.method)

    def _energies_of(self, psi: Array) -> tuple[Array, Array]:
        """½(ħ/m)²⟨|∇ψ|²⟩ and ½⟨Φ|ψ|²⟩."""
        return self._kinetic_energy(psi), 0.5 * self.hbar_over_mass * jnp.mean(self.split_potential(psi) * density(psi))
