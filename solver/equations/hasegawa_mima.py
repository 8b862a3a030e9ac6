"""The Hasegawa–Mima equation of drift waves."""

from __future__ import annotations

from typing import ClassVar

import equinox as eqx
from jax.typing import ArrayLike

from solver.dynamics.equation import Equation
from solver.written import Text


class HasegawaMima(Equation):
    """The Hasegawa–Mima equation of drift waves with electrons that follow at once, on a periodic box.

    φ is the electrostatic potential, v = (−φ_y, φ_x) the drift, q = ∇²φ − φ the potential vorticity; lengths are in
    units of the sound radius. The limit of `hasegawa-wakatani` for strong coupling, and, with κ = −β, quasi-geostrophic
    flow of one layer. Gradient and damping are the linear part, so that drift waves ω = κ k_y/(1 + k²) are exact for
    any step with integrating-factor and exponential steppers. Advection conserves the energy ½⟨|∇φ|² + φ²⟩ and the
    potential enstrophy ½⟨q²⟩.

    Good values: κ = 1 in a box of 40 with 128² points, ν_h = 1e-4 with p = 2; steps of CFL 0.5 with `ifrk4`.

    Args:
        grid: two dimensions, real fields.
        density_gradient: κ, of the background, of any sign [1/time].
        viscosity: ν ≥ 0 [length²/time].
        hyperviscosity: ν_h ≥ 0 [length^(2p)/time].
        hyper_order: p, one or more, static.

    Source: Hasegawa & Mima, Phys. Fluids 21 (1978) 87.
    """

    density_gradient: ArrayLike = 1.0
    viscosity: ArrayLike = 0.0
    hyperviscosity: ArrayLike = 0.0
    hyper_order: int = eqx.field(static=True, default=2)

    name: ClassVar[str] = "hasegawa-mima"
    text: ClassVar[Text] = Text(
        write="dt(q) = -v@grad(q) + density_gradient*dy(phi) + cause(viscosity, viscosity*lap(q))"
        " + cause(hyperviscosity, hyper(q, hyperviscosity, hyper_order))",
        fields={"q": "scalar"},
        define={"phi": "-helmholtz(q, 1)", "v": "perp(phi)"},
        means={"q": 0},
        energies={"energy": "-phi*q/2", "potential_enstrophy": "q**2/2"},
        series={"kinetic_energy": "v@v/2", "zonal_energy": "dx(mean(phi, y))**2/2"},
        spectra=["kinetic_energy"],
        vectors={"velocity": "v"},
        limits={"viscosity": ">= 0", "hyperviscosity": ">= 0", "hyper_order": ">= 1"},
        symbols={"density_gradient": "kappa", "viscosity": "nu", "hyperviscosity": "nu_h", "hyper_order": "p"},
        aliased=True,
    )
