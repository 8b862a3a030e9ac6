"""The Hasegawa–Wakatani equations of resistive drift-wave turbulence at the edge of a magnetised plasma."""

from __future__ import annotations

from functools import cache
from typing import ClassVar

import equinox as eqx
from jax.typing import ArrayLike

from solver.dynamics.equation import Equation
from solver.spaces.field import Field
from solver.written import Text


@cache
def _text(modified: bool) -> Text:
    """The equations, with or without the coupling of zonal means."""
    coupled = "phi - density - mean(phi - density, y)" if modified else "phi - density"
    return Text(
        write=[
            f"dt(vorticity) = -v@grad(vorticity) + cause(coupling, adiabaticity*({coupled}))"
            " + cause(viscosity, viscosity*lap(vorticity) + hyper(vorticity, hyperviscosity, hyper_order))",
            "dt(density) = -v@grad(density) - cause(gradient, density_gradient*dy(phi))"
            f" + cause(coupling, adiabaticity*({coupled}))"
            " + cause(diffusivity, diffusivity*lap(density) + hyper(density, hyperdiffusivity, hyper_order))",
        ],
        fields={"vorticity": "scalar", "density": "scalar"},
        define={"phi": "inverse_lap(vorticity)", "v": "perp(phi)"},
        means={"vorticity": 0, "density": 0},
        energies={"energy": "(density**2 - phi*vorticity)/2", "potential_enstrophy": "(density - vorticity)**2/2"},
        series={
            "kinetic_energy": "v@v/2",
            "zonal_energy": "dx(mean(phi, y))**2/2",
            "particle_flux": "-density_gradient*density*dy(phi)",
            "resistive_dissipation": f"adiabaticity*({coupled})**2",
        },
        spectra=["kinetic_energy"],
        vectors={"velocity": "v"},
        limits={
            **dict.fromkeys(["adiabaticity", "viscosity", "diffusivity", "hyperviscosity", "hyperdiffusivity"], ">= 0"),
            "hyper_order": ">= 1",
        },
        symbols={"vorticity": "zeta", "density": "n", "adiabaticity": "alpha", "density_gradient": "kappa",
                 "viscosity": "nu", "diffusivity": "D", "hyperviscosity": "nu_h", "hyperdiffusivity": "D_h",
                 "hyper_order": "p"},
        aliased=True,
    )  # fmt: skip


class HasegawaWakatani(Equation):
    """The Hasegawa–Wakatani equations of resistive drift waves, on a periodic box.

    φ is the electrostatic potential, v = (−φ_y, φ_x) the drift, so that {φ, f} = v·∇f, and n the fluctuation of the
    density on a background that falls along x. Lengths are in units of the sound radius ρ_s, times, with κ = 1, of
    L_n/c_s, where L_n is the length over which the background falls. If `modified`, the means over y are left out of
    the coupling: α(φ̃ − ñ), as no current along the magnetic field can short-circuit them. Zonal flows then grow and
    quench the drift waves. Both fields have zero mean.

    Coupling, gradient and damping form one small matrix per mode, so that drift waves and their growth are exact for
    any step with integrating-factor and exponential steppers. A right-hand side costs 3 inverse and 4 forward
    transforms in two exchanges. Advection conserves the energy E = ½⟨|∇φ|² + n²⟩ and the potential enstrophy
    U = ½⟨(n − ζ)²⟩; the gradient feeds both by the particle flux Γ = −κ⟨n φ_y⟩, and the coupling takes
    α⟨(φ − n)²⟩ from E alone. Hyperviscosity, −ν_h(−∇²)^p ζ and −D_h(−∇²)^p n, may be used with viscosity and
    diffusion, or for them.

    Good values: κ = 1 and α = 1 (α ≪ 1: vortices that do not follow n; α ≫ 1: n follows φ) in a box of 40 with 128²
    points, ν_h = D_h = 1e-4 with p = 2; steps of CFL 0.5, at most 0.1, with `ifrk4`.

    Args:
        grid: two dimensions, real fields.
        adiabaticity: α ≥ 0, how fast electrons that move along the magnetic field make n follow φ [1/time].
        density_gradient: κ, of the background, of any sign [1/time].
        modified: True if means over y are left out of the coupling, static.
        viscosity: ν ≥ 0 of vorticity [length²/time].
        diffusivity: D ≥ 0 of density [length²/time].
        hyperviscosity: ν_h ≥ 0 of vorticity [length^(2p)/time]; the budget counts it as viscosity.
        hyperdiffusivity: D_h ≥ 0 of density [length^(2p)/time]; the budget counts it as diffusivity.
        hyper_order: p, one or more, static.

    Source: Hasegawa & Wakatani, Phys. Rev. Lett. 50 (1983) 682; Camargo, Biskamp & Scott, Phys. Plasmas 2 (1995) 48
    (budgets); Numata, Ball & Dewar, Phys. Plasmas 14 (2007) 102312 (the modified equations).
    """

    adiabaticity: ArrayLike = 1.0
    density_gradient: ArrayLike = 1.0
    modified: bool = eqx.field(static=True, default=False)
    viscosity: ArrayLike = 0.0
    diffusivity: ArrayLike = 0.0
    hyperviscosity: ArrayLike = 0.0
    hyperdiffusivity: ArrayLike = 0.0
    hyper_order: int = eqx.field(static=True, default=2)

    name: ClassVar[str] = "hasegawa-wakatani"
    fields: ClassVar[dict[str, Field]] = {"vorticity": Field(zero_mean=True), "density": Field(zero_mean=True)}
    dimensions: ClassVar[tuple[int, ...]] = (2,)

    @property
    def text(self) -> Text:  # type: ignore[override]
        """The equations, as they stand or modified."""
        return _text(self.modified)

    @classmethod
    def texts(cls, dimensions: int) -> list[Text]:
        return [_text(modified=False), _text(modified=True)]
