"""Two-dimensional incompressible flow as vorticity: drag, the β-plane, hyperviscosity."""

from __future__ import annotations

from typing import ClassVar

import equinox as eqx
from jax.typing import ArrayLike

from solver.dynamics.equation import Equation
from solver.written import Text


class Vorticity(Equation):
    """Vorticity of two-dimensional incompressible flow on a β-plane, periodic.

    ∇⊥ψ is (−ψ_y, ψ_x). The mean of ω is zero, as it must be in a periodic box, and so is the mean of u. Viscosity,
    drag, hyperviscosity and β are the linear part: one complex number per mode, so that Rossby waves, σ = −β k_x/|k|²,
    are exact for any step with integrating-factor and exponential steppers. Advection is the curl of the momentum flux,
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
        " - cause(drag, drag*vorticity) + cause(hyperviscosity, hyper(vorticity, hyperviscosity, hyper_order))",
        fields={"vorticity": "scalar"},
        define={"psi": "inverse_lap(vorticity)", "u": "perp(psi)"},
        units={"vorticity": "1/time"},
        means={"vorticity": 0},
        energies={"energy": "-psi*vorticity/2", "enstrophy": "vorticity*vorticity/2"},
        series={"palinstrophy": "grad(vorticity)@grad(vorticity)/2"},
        vectors={"velocity": "u"},
        limits={"viscosity": ">= 0", "drag": ">= 0", "hyperviscosity": ">= 0", "hyper_order": ">= 1"},
        symbols={"vorticity": "omega", "viscosity": "nu", "drag": "mu", "hyperviscosity": "nu_h", "hyper_order": "p"},
        aliased=True,
    )
    spectrum_laws: ClassVar[dict[int, float]] = {2: 3.0}
