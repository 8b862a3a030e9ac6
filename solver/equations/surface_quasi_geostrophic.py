"""The surface quasi-geostrophic equation: buoyancy on the boundary of a rotating, stratified fluid."""

from __future__ import annotations

from typing import ClassVar

from jax.typing import ArrayLike

from solver.dynamics.equation import Equation
from solver.written import Text


class SurfaceQuasiGeostrophic(Equation):
    """Surface quasi-geostrophic flow, on a periodic box.

    θ, the buoyancy at the surface over the buoyancy frequency, is a velocity, and as large as u at every scale: fronts
    sharpen and roll up down to the smallest scales. Diffusion, of any power, is the linear part; the rest costs 3
    inverse and 2 forward transforms per right-hand side in two exchanges. Without diffusion the variance ½⟨θ²⟩ and the
    energy ½⟨ψθ⟩ are conserved.

    Good values: α = 1 (diffusion), ½ (Ekman friction, the critical case) or 4 (turbulence), κ such that κ k_max^(2α) is
    about k_max times the r.m.s. velocity: 1e-13 with α = 4 at 256² in a box of 2π for velocities of order one.

    Args:
        grid: two dimensions, real fields.
        diffusivity: κ ≥ 0 [length^(2α)/time].
        exponent: α > 0, need not be whole.

    Raises:
        ValueError: a diffusion κ|k|^(2α) that the grid's precision cannot hold.

    Source: Held, Pierrehumbert, Garner & Swanson, J. Fluid Mech. 282 (1995) 1; Constantin, Majda & Tabak, Nonlinearity
    7 (1994) 1495.
    """

    diffusivity: ArrayLike = 0.0
    exponent: ArrayLike = 1.0

    name: ClassVar[str] = "surface-quasi-geostrophic"
    text: ClassVar[Text] = Text(
        write="dt(buoyancy) = -u@grad(buoyancy) + cause(diffusion, hyper(buoyancy, diffusivity, exponent))",
        fields={"buoyancy": "scalar"},
        define={"psi": "fraclap(buoyancy, -1/2)", "u": "perp(psi)"},
        units={"buoyancy": "length/time"},
        energies={"variance": "buoyancy*buoyancy/2", "energy": "psi*buoyancy/2"},
        series={"max_slope": "sqrt(max(grad(buoyancy)@grad(buoyancy)))"},
        vectors={"velocity": "u"},
        limits={"diffusivity": ">= 0", "exponent": "> 0"},
        symbols={"buoyancy": "theta", "diffusivity": "kappa", "exponent": "alpha"},
        aliased=True,
    )
    spectrum_laws: ClassVar[dict[int, float]] = {2: 5 / 3}
