"""Two-dimensional incompressible flow as vorticity: drag, the β-plane, a mean flow, topography, hyperviscosity."""

from __future__ import annotations

from functools import cache
from typing import Any, ClassVar

import equinox as eqx
from jax.typing import ArrayLike

from solver.dynamics.checks import need, require_shape
from solver.dynamics.equation import Equation
from solver.dynamics.start_changes import Shares
from solver.equations.mean_field import Vector
from solver.equations.topography import checked_topography, topography_in_text, unresolved_topography
from solver.spaces.field import Field
from solver.written import Text


class Vorticity(Equation):
    """Vorticity of two-dimensional incompressible flow on a β-plane, periodic.

    ∇⊥ψ is (−ψ_y, ψ_x). The mean of ω is zero, as it must be in a periodic box, and so is the mean of u. Viscosity,
    drag, hyperviscosity and β are the linear part: one number per mode, complex with β, so that Rossby waves,
    σ = −β k_x/|k|², are exact for any step with integrating-factor and exponential steppers. Advection is the curl of
    the momentum flux, u·∇ω = (∂x² − ∂y²)(u v) + ∂x∂y(v² − u²) with u = (u, v): a right-hand side costs 2 inverse and 2
    forward transforms in two exchanges. Ideal flow conserves the energy ½⟨|u|²⟩ and the enstrophy ½⟨ω²⟩.

    These make it a barotropic or an equivalent-barotropic (1½-layer) quasi-geostrophic flow; none costs anything
    where it is not given:

    - a mean flow U = (U, V): ω moves with u + U. −U·∇ω is linear and exact, and a Rossby wave has
      σ = U·k − β k_x/|k|². The mean flow is not changed by drag or by the stress on topography.
    - a radius of deformation L_d: the field is the potential vorticity q = ∇²ψ − ψ/L_d². The energy is
      ½⟨|u|² + ψ²/L_d²⟩, the column `enstrophy` ½⟨q²⟩. The tilt of the interface under a mean flow adds
      (−V, U)/L_d² to the gradient (0, β) that waves feel.
    - topography η = f b/H: ω + η is advected. The energy is conserved without a mean flow, and the column
      `potential_enstrophy`, ½⟨(ω + η)²⟩; `enstrophy` alone is not. One inverse transform more.

    Good values: ν = 1e-3 for decay from |k| = 6 at 256²; in forced turbulence a hyperviscosity with p = 4 such that
    ν_h k_max^8 is a few times the r.m.s. vorticity, and μ = 0.01 to 0.1 per turnover, to stop the inverse cascade.

    Args:
        grid: two dimensions, real fields.
        viscosity: ν ≥ 0 [length²/time].
        beta: β, the gradient of the Coriolis parameter along y [1/(length·time)], of any sign.
        drag: μ ≥ 0 [1/time].
        hyperviscosity: ν_h ≥ 0 [length^(2p)/time].
        hyper_order: p, one or more, static.
        mean_velocity: U and V [length/time]; none if None.
        deformation_radius: L_d > 0 [length]; infinite if None.
        topography: η [1/time], an expression of x and y such as `"0.5*cos(2*x)*cos(y)"`, in Python also values at the
            points; none if None. It must be periodic, and the grid must resolve it: a start warns of the share that
            lies beyond the modes.

    Source: Basdevant, J. Comput. Phys. 50 (1983) 209 (fewer transforms); Vallis, Atmospheric and Oceanic Fluid Dynamics
    (2017), chapters 5, 6 and 12; Bretherton & Haidvogel, J. Fluid Mech. 78 (1976) 129 (topography).
    """

    viscosity: ArrayLike = 0.0
    beta: ArrayLike = 0.0
    drag: ArrayLike = 0.0
    hyperviscosity: ArrayLike = 0.0
    hyper_order: int = eqx.field(static=True, default=2)
    mean_velocity: Vector | None = None
    deformation_radius: ArrayLike | None = None
    topography: str | ArrayLike | None = eqx.field(default=None, converter=checked_topography)

    name: ClassVar[str] = "vorticity"
    fields: ClassVar[dict[str, Field]] = {"vorticity": Field(units="1/time", zero_mean=True)}
    dimensions: ClassVar[tuple[int, ...]] = (2,)
    spectrum_laws: ClassVar[dict[int, float]] = {2: 3.0}

    def __check_init__(self) -> None:
        if self.mean_velocity is not None:
            need(self, "mean_velocity", "mean_velocity", "finite numbers")
            require_shape("mean_velocity", self.mean_velocity, (2,))
        if self.deformation_radius is not None:
            need(self, "deformation_radius", "deformation_radius", "a positive number", above=0)

    @property
    def text(self) -> Text:  # type: ignore[override]
        """The equation with its mean flow, radius of deformation and topography, where they are given."""
        topography = tuple(topography_in_text(self.topography).items())
        return _text(self.mean_velocity is not None, self.deformation_radius is not None, topography)

    def unresolved(self) -> Shares:
        return {"vorticity": unresolved_topography(self.topography, self.space("vorticity"))}

    @classmethod
    def texts(cls, dimensions: int) -> list[Text]:
        further = [_text(wind, radius) for radius in (False, True) for wind in (False, True)]
        return [*further[1:], further[0]]


# where an expression of x and y, which has no units, would leave none to the columns
UNITS = {"energy": "length^2/time^2", "enstrophy": "1/time^2", "palinstrophy": "1/(length*time)^2",
         "potential_enstrophy": "1/time^2"}  # fmt: skip


@cache
def _text(has_wind: bool, has_radius: bool, topography: tuple[tuple[str, Any], ...] = ()) -> Text:
    """The equation with these parts; `topography` are keys of a text that define it."""
    keys, has_hills = dict(topography), bool(topography)
    wind = (
        " - cause(mean_flow, mean_velocity@grad(vorticity))"
        if has_wind and not has_radius
        else " - cause(mean_flow, mean_velocity@grad(vorticity)"
        " + (mean_velocity.x*u.y - mean_velocity.y*u.x)/deformation_radius**2)"
        if has_wind
        else ""
    )
    hills = " - div(topography*u)" if has_hills else ""
    hills += " - cause(topography, div(topography*mean_velocity))" if has_hills and has_wind else ""
    psi = "-helmholtz(vorticity, 1/deformation_radius**2)" if has_radius else "inverse_lap(vorticity)"
    energies = {"energy": "-psi*vorticity/2", "enstrophy": "vorticity*vorticity/2"}
    series = {"palinstrophy": "grad(vorticity)@grad(vorticity)/2"}
    return Text(
        write=f"dt(vorticity) = -u@grad(vorticity) - beta*u.y{wind}{hills}"
        " + cause(viscosity, viscosity*lap(vorticity)) - cause(drag, drag*vorticity)"
        " + cause(hyperviscosity, hyper(vorticity, hyperviscosity, hyper_order))",
        fields={"vorticity": "scalar"},
        parameters={
            **dict.fromkeys(["viscosity", "beta", "drag", "hyperviscosity", "hyper_order"], "scalar"),
            **({"mean_velocity": "vector"} if has_wind else {}),
            **({"deformation_radius": "scalar"} if has_radius else {}),
        },
        define={"psi": psi, "u": "perp(psi)", **dict(keys.get("define", ()))},
        at_points=keys.get("at_points", ()),
        units={"vorticity": "1/time", **(UNITS if has_hills else {})},
        means={"vorticity": 0},
        energies=energies,
        series=series | ({"potential_enstrophy": "(vorticity + topography)**2/2"} if has_hills else {}),
        vectors={"velocity": "u"},
        flows={"velocity": "u + mean_velocity"} if has_wind else {},
        limits={"viscosity": ">= 0", "drag": ">= 0", "hyperviscosity": ">= 0", "hyper_order": ">= 1"},
        symbols={"vorticity": "omega", "viscosity": "nu", "drag": "mu", "hyperviscosity": "nu_h", "hyper_order": "p",
                 "mean_velocity": "U", "deformation_radius": "L", "topography": "eta"},
        aliased=True,
    )  # fmt: skip
