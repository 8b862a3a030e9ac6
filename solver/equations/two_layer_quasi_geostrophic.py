"""Two layers of quasi-geostrophic flow under a mean shear: Phillips' model of baroclinic instability."""

from __future__ import annotations

from typing import ClassVar

import equinox as eqx
from jax.typing import ArrayLike

from solver.dynamics.equation import Equation
from solver.written import Text


class TwoLayerQuasiGeostrophic(Equation):
    """Two layers of quasi-geostrophic flow under a mean shear, on a periodic box.

    q_1 = ∇²ψ_1 + ½k_d²(ψ_2 − ψ_1) and q_2 = ∇²ψ_2 + ½k_d²(ψ_1 − ψ_2) are the potential vorticities of two layers of
    equal depth, which flow with +U (the upper one) and −U in the mean. Shear, β, drag and hyperviscosity form one
    complex 2 × 2 matrix per mode, so that waves and baroclinic growth are exact for any step with integrating-factor
    and exponential steppers; some modes with |k| < k_d grow if k_d² |U| > |β|. A right-hand side costs 4 inverse and 5
    forward transforms in two exchanges. Without shear, drag and hyperviscosity both potential enstrophies ½⟨q_i²⟩ are
    conserved, and the energy ¼⟨|∇ψ_1|² + |∇ψ_2|² + ½k_d²(ψ_1 − ψ_2)²⟩.

    Good values: U = 1, k_d = 8 in a box of 2π, β between 0 and k_d² U, r = 0.1 to 1 of U k_d; p = 4 with ν_h k_max^8 of
    the order of the r.m.s. q.

    Args:
        grid: two dimensions, real fields.
        deformation_wavenumber: k_d > 0 [1/length].
        shear: U, half the difference of the mean velocities [length/time], of any sign.
        beta: β, the gradient of the Coriolis parameter along y [1/(length·time)].
        drag: r ≥ 0, of the lower layer [1/time].
        hyperviscosity: ν_h ≥ 0 [length^(2p)/time].
        hyper_order: p, one or more, static.

    Source: Vallis, Atmospheric and Oceanic Fluid Dynamics (2017), sections 5.3 and 9.6; Flierl, Dyn. Atmos. Oceans 2
    (1978) 341.
    """

    deformation_wavenumber: ArrayLike
    shear: ArrayLike = 0.0
    beta: ArrayLike = 0.0
    drag: ArrayLike = 0.0
    hyperviscosity: ArrayLike = 0.0
    hyper_order: int = eqx.field(static=True, default=2)

    name: ClassVar[str] = "two-layer-quasi-geostrophic"
    text: ClassVar[Text] = Text(
        write=[
            "dt(upper_pv) = -u_1@grad(upper_pv) + cause(hyperviscosity, hyper(upper_pv, hyperviscosity, hyper_order))"
            " - cause(shear, shear*dx(upper_pv) + (beta + deformation_wavenumber**2*shear)*dx(psi_1))",
            "dt(lower_pv) = -u_2@grad(lower_pv) + cause(hyperviscosity, hyper(lower_pv, hyperviscosity, hyper_order))"
            " + cause(shear, shear*dx(lower_pv) - (beta - deformation_wavenumber**2*shear)*dx(psi_2))"
            " - cause(drag, drag*lap(psi_2))",
            "lap(psi_1) + deformation_wavenumber**2/2*(psi_2 - psi_1) = upper_pv",
            "lap(psi_2) + deformation_wavenumber**2/2*(psi_1 - psi_2) = lower_pv",
        ],
        fields={"upper_pv": "scalar", "lower_pv": "scalar"},
        unknowns={"psi_1": "scalar", "psi_2": "scalar"},
        define={"u_1": "perp(psi_1)", "u_2": "perp(psi_2)"},
        units={"upper_pv": "1/time", "lower_pv": "1/time"},
        means={"upper_pv": 0, "lower_pv": 0},
        energies={
            "energy": "-(psi_1*upper_pv + psi_2*lower_pv)/4",
        },
        series={
            "kinetic_energy": "(u_1@u_1 + u_2@u_2)/4",
            "available_energy": "deformation_wavenumber**2/8*(psi_1 - psi_2)**2",
            "upper_enstrophy": "upper_pv**2/2",
            "lower_enstrophy": "lower_pv**2/2",
        },
        invariants={
            "energy": "-(psi_1*upper_pv + psi_2*lower_pv)/4",
            "upper_enstrophy": "upper_pv**2/2",
            "lower_enstrophy": "lower_pv**2/2",
        },
        spectra=["kinetic_energy"],
        vectors={"upper_velocity": "u_1", "lower_velocity": "u_2"},
        flows={"upper_velocity": "u_1 + shear*ex", "lower_velocity": "u_2 - shear*ex"},
        limits={"deformation_wavenumber": "> 0", "drag": ">= 0", "hyperviscosity": ">= 0", "hyper_order": ">= 1"},
        symbols={"upper_pv": "q_1", "lower_pv": "q_2", "deformation_wavenumber": "k_d", "shear": "U", "drag": "r",
                 "hyperviscosity": "nu_h", "hyper_order": "p"},
        aliased=True,
    )  # fmt: skip
    spectrum_laws: ClassVar[dict[int, float]] = {2: 3.0}
