"""Parts that split Schrödinger equations share: ħ/m, kinetic part and report."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike
from jaxtyping import Array, Complex

from solver.diagnostics import weighted_mean_square
from solver.dynamics.checks import need
from solver.dynamics.report import Report
from solver.dynamics.split_equation import SplitEquation
from solver.fft import max_over_points
from solver.operators import Fields


class SchroedingerEquation(SplitEquation):
    """i ψ_t = −½(ħ/m)∇²ψ + V ψ: a subclass gives `split_potential` and its series; energies are per unit of mass."""

    hbar_over_mass: ArrayLike = eqx.field(default=1.0, kw_only=True)

    def __check_init__(self) -> None:
        need(self, "hbar_over_mass", "hbar_over_mass", "a positive number", above=0)

    def drift(self, psi: Complex[Array, "1 ..."], dt: ArrayLike) -> Complex[Array, "1 ..."]:
        """exp(½i (ħ/m) dt ∇²) ψ, exactly. One complex transform each way.

        Formed as ψ + F⁻¹ (exp(iθ) − 1) F ψ, with exp(iθ) − 1 = −2 sin²(θ/2) + i sin θ. There and back, the numbers in a
        transform are rounded in the same way at every step, so that ‖F⁻¹ F ψ‖ is (1 ± 1e-7) ‖ψ‖ in single precision;
        here only what a step adds is transformed.
        """
        angle = -0.5 * self.hbar_over_mass * dt * self.grid.k_squared()
        change = jax.lax.complex(-2 * jnp.sin(0.5 * angle) ** 2, jnp.sin(angle))
        return psi + self.transform.inverse(change * self.transform.forward(psi))

    def rate(self, fields: Fields) -> Array:
        """Largest phase turned per unit time, by kinetic energy or potential, over π: CFL 1 is half a turn."""
        k2 = sum(float(np.max(k * k)) for k in self.grid.wavenumbers())
        kinetic = 0.5 * self.hbar_over_mass * k2
        return jnp.maximum(kinetic, max_over_points(jnp.abs(self.split_potential(fields["wavefunction"])))) / jnp.pi

    def reported(self, report: Report) -> Report:
        return replace(
            report,
            columns=self._columns,
            spectra=self._spectra,
            spectra_of_fields={},
            conserved=self._conserved,
            virial=self._virial,
            snapshot=psi_and_density,
            hbar_over_mass=self.hbar_over_mass,
            snapshot_units=lambda: dict(SNAPSHOT_UNITS),
        )

    @abstractmethod
    def _columns(self, fields: Fields) -> dict[str, Array]:
        """The columns that `units` names, without `cfl`."""

    @abstractmethod
    def _spectra(self, fields: Fields) -> dict[str, Array]: ...

    @abstractmethod
    def _conserved(self, fields: Fields) -> dict[str, Array]: ...

    @abstractmethod
    def _virial(self, fields: Fields) -> dict[str, tuple[float, Array]]: ...

    def _kinetic_energy(self, psi: Array) -> Array:
        """½(ħ/m)²⟨|∇ψ|²⟩. One transform."""
        weight = 0.5 * self.hbar_over_mass**2
        return weight * weighted_mean_square(self.transform.forward(psi), self.grid.k_squared(), self.grid)


SNAPSHOT_UNITS = {"psi_real": "density^(1/2)", "psi_imag": "density^(1/2)", "density": "density"}


def psi_and_density(values: Fields) -> dict[str, Array]:
    """Real and imaginary part of ψ, and |ψ|², of a wavefunction at the points."""
    psi = values["wavefunction"][0]
    return {"psi_real": psi.real, "psi_imag": psi.imag, "density": density(psi)}


def density(psi: Array) -> Array:
    """|ψ|²."""
    return psi.real**2 + psi.imag**2
