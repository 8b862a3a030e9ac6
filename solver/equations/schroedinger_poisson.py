"""The Schrödinger–Poisson system: fuzzy dark matter, self-gravitating condensates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike
from jaxtyping import Array, Complex, Float

from solver.diagnostics import shell_spectrum, weighted_mean_square
from solver.equations.base import SplitEquation
from solver.fft import Transform
from solver.operators import solve_poisson


@dataclass(frozen=True)
class SchroedingerPoisson(SplitEquation):
    """i ψ_t = −½∇²ψ + V ψ, ∇²V = g (|ψ|² − ⟨|ψ|²⟩), on a periodic box; lengths and times in units of ħ/m = 1.

    Conserves the mass ⟨|ψ|²⟩ and the energy ½⟨|∇ψ|²⟩ + ½⟨V|ψ|²⟩ (box averages). All modes are kept. A step of
    the splitting costs one complex transform each way and, for the potential, one real transform each way.

    Args:
        grid: one to three dimensions, complex fields, dealias `none`.
        coupling: g ≥ 0 [length²·time⁻²/density]; 4πG for gravity, 0 for free particles.

    Raises:
        ValueError: negative coupling, or a grid that drops modes.

    Source: Widrow & Kaiser, Astrophys. J. 416 (1993) L71; Schive, Chiueh & Broadhurst, Nature Phys. 10 (2014) 496.
    """

    coupling: float = 1.0

    name: ClassVar[str] = "schroedinger-poisson"
    units: ClassVar[dict[str, str]] = {
        "mass": "density",
        "energy": "density*length^2/time^2",
        "kinetic_energy": "density*length^2/time^2",
        "potential_energy": "density*length^2/time^2",
        "max_density": "density",
        "cfl": "1",
    }

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.coupling >= 0:
            raise ValueError(f"coupling {self.coupling}: zero (free) or more (attractive) is needed")
        if self.grid.dealias != "none":
            raise ValueError(f"dealias {self.grid.dealias!r} would lose mass; {self.name} needs dealias 'none'")

    @property
    def component_names(self) -> tuple[str, ...]:
        return ("psi",)

    def potential(self, psi: Complex[Array, "1 ..."]) -> Float[Array, "1 ..."]:
        """V at the points, zero on average. One real transform each way."""
        if self.coupling == 0:
            return jnp.zeros_like(psi.real)
        to_real = Transform(self.grid.as_real)
        density_hat = to_real.forward(_density(psi))
        return to_real.inverse(self.coupling * solve_poisson(density_hat, self.grid.as_real))

    def drift(self, psi: Complex[Array, "1 ..."], dt: ArrayLike) -> Complex[Array, "1 ..."]:
        """exp(i dt ∇²/2) ψ, exactly. One complex transform each way."""
        phase = jnp.exp(-0.5j * dt * self.grid.k_squared())
        return self.transform.inverse(phase * self.transform.forward(psi))

    def rate(self, field: Array) -> Array:
        """Largest phase turned per unit time, by kinetic energy or potential, over π: CFL 1 is half a turn."""
        k2 = sum(float(np.max(k * k)) for k in self.grid.wavenumbers())
        return jnp.maximum(0.5 * k2, jnp.max(jnp.abs(self.potential(field)))) / jnp.pi

    def conserved(self, field: Array) -> dict[str, Array]:
        kinetic, potential = self._energies(field)
        return {"mass": jnp.mean(_density(field)), "energy": kinetic + potential}

    def series(self, field: Array, dt: ArrayLike) -> dict[str, Array]:
        kinetic, potential = self._energies(field)
        return {
            "mass": jnp.mean(_density(field)),
            "energy": kinetic + potential,
            "kinetic_energy": kinetic,
            "potential_energy": potential,
            "max_density": jnp.max(_density(field)),
            "cfl": dt * self.rate(field),
        }

    def spectra(self, field: Array) -> dict[str, Array]:
        """Half the mass in each shell of ψ, and half the mean square of the density's fluctuations."""
        density_hat = Transform(self.grid.as_real).forward(_density(field))
        return {
            "wavefunction": shell_spectrum(self.transform.forward(field), self.grid),
            "density": shell_spectrum(density_hat, self.grid.as_real),
        }

    def snapshot(self, field: Array) -> dict[str, Array]:
        psi = field[0]
        return {"psi_real": psi.real, "psi_imag": psi.imag, "density": _density(psi)}

    def _energies(self, psi: Array) -> tuple[Array, Array]:
        """½⟨|∇ψ|²⟩ and ½⟨V|ψ|²⟩."""
        psi_hat = self.transform.forward(psi)
        kinetic = 0.5 * weighted_mean_square(psi_hat, self.grid.k_squared(), self.grid)
        return kinetic, 0.5 * jnp.mean(self.potential(psi) * _density(psi))


def _density(psi: Array) -> Array:
    return psi.real**2 + psi.imag**2
