"""Two-dimensional incompressible flow as vorticity: drag, the β-plane, hyperviscosity."""

from __future__ import annotations

from typing import ClassVar

import equinox as eqx
import jax.numpy as jnp
from jax.typing import ArrayLike
from jaxtyping import Array

from solver.diagnostics import shell_spectrum
from solver.equations.damping import require_damping
from solver.equations.system import require
from solver.equations.written import Written
from solver.grid import Grid
from solver.operators import Fields
from solver.written import Text


class Vorticity(Written):
    """Vorticity of two-dimensional incompressible flow on a β-plane, periodic.

    ∇⊥ψ is (−ψ_y, ψ_x). The mean of ω is zero, as it must be in a periodic box, and so is that of u. Viscosity, drag,
    hyperviscosity and β are the linear part: one complex number per mode, so that Rossby waves, σ = −β k_x/|k|², are
    exact for any step with integrating-factor and exponential steppers. Advection is the curl of the momentum flux,
    u·∇ω = (∂x² − ∂y²)(u v) + ∂x∂y(v² − u²) with u = (u, v): a right-hand side costs 2 inverse and 2 forward transforms
    in two exchanges. Ideal flow conserves the energy ½⟨|u|²⟩ and the enstrophy ½⟨ω²⟩.

    Good values: ν = 1e-3 for decay from |k| = 6 at 256²; in forced turbulence a hyperviscosity with p = 4 such that
    ν_h k_max^8 is a few times the r.m.s. vorticity, and μ = 0.01 to 0.1 per turnover, to stop the inverse cascade.

    Args:
        grid: two dimensions, real fields.
        viscosity: ν ≥ 0 [length²/time].
        beta: β, the gradient of the Coriolis parameter along y [1/(length·time)], of any sign.
        drag: μ ≥ 0 [1/time].
        hyperviscosity: ν_h ≥ 0 [length^(2p)/time].
        hyper_order: p, one or more, static.

    Source: Basdevant, J. Comput. Phys. 50 (1983) 209 (fewer transforms); Vallis, Atmospheric and Oceanic Fluid Dynamics
    (2017), chapters 6 and 12.
    """

    viscosity: ArrayLike = 0.0
    beta: ArrayLike = 0.0
    drag: ArrayLike = 0.0
    hyperviscosity: ArrayLike = 0.0
    hyper_order: int = eqx.field(static=True, default=2)

    name: ClassVar[str] = "vorticity"
    text: ClassVar[Text] = Text(
        write="dt(vorticity) = -u@grad(vorticity) - beta*u.y + cause(viscosity, viscosity*lap(vorticity))"
        " - cause(drag, drag*vorticity) - cause(hyperviscosity, hyperviscosity*fraclap(vorticity, hyper_order))",
        fields={"vorticity": "scalar"},
        define={"psi": "inverse_lap(vorticity)", "u": "perp(psi)"},
        units={"vorticity": "1/time"},
        means={"vorticity": 0},
        energies={"energy": "-psi*vorticity/2", "enstrophy": "vorticity*vorticity/2"},
        series={"palinstrophy": "grad(vorticity)@grad(vorticity)/2"},
        symbols={"vorticity": "omega", "viscosity": "nu", "drag": "mu", "hyperviscosity": "nu_h", "hyper_order": "p"},
        aliased=True,
    )
    spectrum_laws: ClassVar[dict[int, float]] = {2: 3.0}
    units: ClassVar[dict[str, str]] = {
        "energy": "length^2/time^2",
        "enstrophy": "1/time^2",
        "palinstrophy": "1/(length*time)^2",
        "cfl": "1",
    }

    def __check_init__(self) -> None:
        for name in ("viscosity", "drag"):
            require(name, getattr(self, name), "zero or more", least=0)
        require("beta", self.beta, "a finite number")
        require_damping(self.grid, self.hyper_order, hyperviscosity=self.hyperviscosity)

    def invariants(self, fields: Fields) -> dict[str, Fields]:
        """½⟨|u|²⟩ and ½⟨ω²⟩."""
        return {name: {"vorticity": weight * fields["vorticity"]} for name, weight in self._weights().items()}

    def vectors(self, fields: Fields) -> Fields:
        return {"velocity": self._velocity(fields)}

    def spectra(self, fields: Fields) -> dict[str, Array]:
        return {
            "energy": shell_spectrum(self._velocity(fields), self.grid),
            "enstrophy": shell_spectrum(fields["vorticity"], self.grid),
        }

    def _weights(self) -> dict[str, Array]:
        """Weight of |ω̂|² in twice each conserved quantity."""
        return {"energy": self.grid.inverse_k_squared(), "enstrophy": jnp.ones_like(self.grid.k_squared())}

    def _velocity(self, fields: Fields) -> Array:
        """Coefficients of (u, v)."""
        return stream_velocity(-fields["vorticity"][0] * self.grid.inverse_k_squared(), self.grid)


def stream_velocity(psi_hat: Array, grid: Grid) -> Array:
    """(−ψ_y, ψ_x) of a stream function, coefficients both."""
    kx, ky = grid.derivative_wavenumbers()
    turned = 1j * psi_hat
    return jnp.stack([-ky * turned, kx * turned])


def flux_curl(flux_hat: Array, grid: Grid) -> Array:
    """∇×(∇·(u u)) = (∂x² − ∂y²)(u v) + ∂x∂y(v² − u²) = u·∇ω, from what `trace_free_flux` gives: u² − v² and u v."""
    kx, ky = map(jnp.asarray, grid.derivative_wavenumbers())
    difference, product = flux_hat
    return kx * ky * difference - (kx * kx - ky * ky) * product
