"""The focusing and defocusing nonlinear Schrödinger equation, with damping, in one, two and three dimensions."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike
from jaxtyping import Array

from solver.diagnostics import mean_product, mean_square, shell_spectrum, weighted_mean_square
from solver.equations.base import Equation
from solver.equations.budget import Budget, Changes
from solver.equations.field import Field
from solver.equations.schroedinger import SNAPSHOT_UNITS, density, psi_and_density
from solver.equations.system import require
from solver.fft import max_over_points
from solver.operators import Diagonal, Fields


class NonlinearSchroedinger(Equation):
    """ψ_t = ½ i ∇²ψ + i g |ψ|²ψ − γ ψ, on a periodic box: envelopes of waves in optics, plasmas and deep water.

    Dispersion and damping are the linear part; the rest costs 1 inverse and 1 forward complex transform per right-hand
    side. The product is cubic: `dealias = "one-half"` keeps it free of aliasing, and then the mass ⟨|ψ|²⟩, the momentum
    ⟨Im ψ*∇ψ⟩ and the energy ½⟨|∇ψ|²⟩ − ½g⟨|ψ|⁴⟩ are conserved but for the error of the steps, without damping.
    `gross-pitaevskii` solves the undamped equation with −g, in a trap too, by a splitting that keeps the mass to
    round-off.

    Good values: g = 1 (focusing: bright solitons) or g = −1 (defocusing), ⟨|ψ|²⟩ of order one, and a box of 20 to 100
    healing lengths 1/(|g|⟨|ψ|²⟩)^½; steps of 0.01 with `etdrk4`.

    Args:
        grid: one to three dimensions, complex fields.
        coupling: g [1/(density·time)], positive where the wave focuses itself; in units in which ψ disperses as ½k².
        damping: γ ≥ 0 [1/time]; none if None, and then the series reports what is conserved.

    Source: Sulem & Sulem, The Nonlinear Schrödinger Equation (1999); Zakharov & Shabat, Sov. Phys. JETP 34 (1972) 62.
    """

    coupling: ArrayLike = 1.0
    damping: ArrayLike | None = None

    name: ClassVar[str] = "nonlinear-schroedinger"
    fields: ClassVar[dict[str, Field]] = {"wavefunction": Field("wavefunction", "density^(1/2)")}
    units: ClassVar[dict[str, str]] = {
        "mass": "density",
        "energy": "density*length^2/time^2",
        "kinetic_energy": "density*length^2/time^2",
        "max_density": "density",
        "cfl": "1",
    }

    def __check_init__(self) -> None:
        require("coupling", self.coupling, "a finite number")
        require("damping", self.damping, "zero or more", least=0)

    def linear(self) -> Diagonal:
        loss = 0.0 if self.damping is None else self.damping
        return Diagonal({"wavefunction": -0.5j * self.grid.k_squared() - loss})

    def nonlinear(self, fields: Fields, t: ArrayLike) -> Fields:
        """i g |ψ|²ψ."""
        cubic = self.transform.pointwise(_cubic, fields["wavefunction"])
        return {"wavefunction": 1j * self.coupling * cubic}

    def invariants(self, fields: Fields) -> dict[str, Fields]:
        """The mass ⟨|ψ|²⟩."""
        return {"mass": {"wavefunction": 2 * fields["wavefunction"]}}

    def virial_terms(self, fields: Fields) -> dict[str, tuple[float, Array]]:
        """Terms of the virial relation 2K + d E_int = 0, for an attractive interaction."""
        kinetic, interaction = self._energies_of(fields)
        return {"kinetic_energy": (2, kinetic), "interaction_energy": (self.grid.dimensions, interaction)}

    def energies(self, fields: Fields) -> dict[str, Array]:
        """The mass, if it is damped."""
        return {} if self.damping is None else {"mass": mean_square(fields["wavefunction"], self.grid)}

    def budget(self, fields: Fields, changes: Changes) -> Budget:
        """Changes of the mass by damping and forcing."""
        if self.damping is None:
            return {}
        forced = self.power_of_forcing(fields, changes, "wavefunction")
        lost = -2 * self.damping * mean_square(fields["wavefunction"], self.grid)
        return {"mass": {"damping": lost, **{cause: 2 * power for cause, power in forced.items()}}}

    def rate(self, fields: Fields) -> Array:
        """Largest phase turned per unit time by the nonlinearity, over π: CFL 1 is half a turn."""
        return max_over_points(jnp.abs(self.coupling) * self._density(fields)) / jnp.pi

    def conserved(self, fields: Fields) -> dict[str, Array]:
        """Mass, momentum and energy, if nothing is damped."""
        if self.damping is not None:
            return {}
        kinetic, interaction = self._energies_of(fields)
        mass = mean_square(fields["wavefunction"], self.grid)
        return {"mass": mass, **self._momentum(fields, lambda k: k), "energy": kinetic + interaction}

    def conserved_scales(self, fields: Fields) -> dict[str, Array]:
        """Momentum without the signs of k, and energy without those of its parts."""
        if self.damping is not None:
            return {}
        kinetic, interaction = self._energies_of(fields)
        return {**self._momentum(fields, np.abs), "energy": kinetic + jnp.abs(interaction)}

    def series(self, fields: Fields, dt: ArrayLike) -> dict[str, Array]:
        kinetic, interaction = self._energies_of(fields)
        return {
            "mass": mean_square(fields["wavefunction"], self.grid),
            "energy": kinetic + interaction,
            "kinetic_energy": kinetic,
            "max_density": jnp.max(self._density(fields)),
            "cfl": dt * self.rate(fields),
        }

    def spectra(self, fields: Fields) -> dict[str, Array]:
        """The spectrum of half the mass: half the mass in each shell."""
        return {"wavefunction": shell_spectrum(fields["wavefunction"], self.grid)}

    def snapshot(self, fields: Fields) -> dict[str, Array]:
        return psi_and_density(self.to_physical(fields))

    def snapshot_units(self) -> dict[str, str]:
        return dict(SNAPSHOT_UNITS)

    def _density(self, fields: Fields) -> Array:
        return density(self.transform.inverse(fields["wavefunction"]))

    def _momentum(self, fields: Fields, weight: Callable[[np.ndarray], np.ndarray]) -> dict[str, Array]:
        """Σ_k weight(k_i) |ψ̂|² for each direction."""
        psi_hat, k = fields["wavefunction"], self.grid.derivative_wavenumbers()
        return {
            f"momentum_{axis}": mean_product(psi_hat, weight(k[i]) * psi_hat, self.grid)
            for i, axis in enumerate("xyz"[: len(k)])
        }

    def _energies_of(self, fields: Fields) -> tuple[Array, Array]:
        """½⟨|∇ψ|²⟩ and −½g⟨|ψ|⁴⟩."""
        kinetic = 0.5 * weighted_mean_square(fields["wavefunction"], self.grid.k_squared(), self.grid)
        return kinetic, -0.5 * self.coupling * jnp.mean(self._density(fields) ** 2)


def _cubic(psi: Array) -> Array:
    """|ψ|²ψ."""
    return density(psi) * psi
