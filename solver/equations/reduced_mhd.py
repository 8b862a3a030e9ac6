"""Reduced magnetohydrodynamics: flow and field across a strong mean field, in three dimensions."""

from __future__ import annotations

from typing import ClassVar

import equinox as eqx
import jax.numpy as jnp
from jax.typing import ArrayLike

from solver.dynamics.equation import Equation
from solver.written import Text


class ReducedMHD(Equation):
    """Reduced magnetohydrodynamics, periodic: a strong mean field B₀ along z, and what moves across it.

    Alfvén units: u = ẑ×∇φ and b = ẑ×∇ψ are velocities, ω and j their vorticity and current along z. Modes with
    k_x = k_y = 0 move nothing. Alfvén waves along B₀, ω = ±k_z B₀, and damping form one 2 × 2 matrix per mode, so that
    they are exact for any step with integrating-factor and exponential steppers; the planes z = constant are coupled by
    them alone. A right-hand side costs 4 inverse and 3 forward transforms in two exchanges. Ideal flow conserves the
    energy ½⟨|u|² + |b|²⟩ and the cross-helicity ⟨u·b⟩; where nothing varies along z it is two-dimensional
    magnetohydrodynamics.

    Good values: B₀ = 1 and fluctuations of order one in a box of 2π across and along, ν = η = 0.01 at 64³; where B₀ is
    large, lengths along z are measured in units of the distance that a wave runs in a time unit.

    Args:
        grid: three dimensions, real fields; x and y across the mean field.
        mean_field: B₀, along z [length/time].
        viscosity: ν ≥ 0, across the mean field [length²/time].
        resistivity: η ≥ 0, across the mean field [length²/time].
        hyperviscosity: ν_h ≥ 0, of both fields and in all directions [length^(2q)/time].
        hyper_order: q, one or more, static.

    Source: Strauss, Phys. Fluids 19 (1976) 134; Biskamp, Magnetohydrodynamic Turbulence (2003), section 2.5.
    """

    mean_field: ArrayLike = 1.0
    viscosity: ArrayLike = 0.0
    resistivity: ArrayLike = 0.0
    hyperviscosity: ArrayLike = 0.0
    hyper_order: int = eqx.field(static=True, default=2)

    name: ClassVar[str] = "reduced-mhd"
    text: ClassVar[Text] = Text(
        write=[
            "dt(vorticity) = -u@grad(vorticity) + b@grad(current) + cause(waves, mean_field*dz(current))"
            " + cause(viscosity, viscosity*lap(vorticity, x, y))"
            " + cause(hyperviscosity, hyper(vorticity, hyperviscosity, hyper_order))",
            "dt(flux) = -u@grad(flux) + cause(waves, mean_field*dz(phi))"
            " + cause(resistivity, resistivity*lap(flux, x, y))"
            " + cause(hyperviscosity, hyper(flux, hyperviscosity, hyper_order))",
        ],
        fields={"vorticity": "scalar", "flux": "scalar"},
        define={
            "phi": "inverse_lap(vorticity, x, y)",
            "current": "lap(flux, x, y)",
            "u": "cross(ez, grad(phi))",
            "b": "cross(ez, grad(flux))",
        },
        means={"vorticity": 0, "flux": 0},
        units={"vorticity": "1/time", "flux": "length^2/time"},
        energies={"kinetic_energy": "u@u/2", "magnetic_energy": "b@b/2"},
        series={
            "energy": "kinetic_energy + magnetic_energy",
            "cross_helicity": "u@b",
            "total_dissipation": "viscosity*vorticity**2 + resistivity*current**2"
            " - phi*hyper(vorticity, hyperviscosity, hyper_order) + current*hyper(flux, hyperviscosity, hyper_order)",
        },
        invariants={"energy": "(u@u + b@b)/2", "cross_helicity": "u@b"},
        vectors={"velocity": "u", "magnetic_field": "b"},
        limits={
            **dict.fromkeys(["viscosity", "resistivity", "hyperviscosity"], ">= 0"),
            "hyper_order": ">= 1",
        },
        symbols={"vorticity": "omega", "flux": "psi", "current": "j", "mean_field": "B_0", "viscosity": "nu",
                 "resistivity": "eta", "hyperviscosity": "nu_h", "hyper_order": "q"},
        aliased=True,
    )  # fmt: skip
    dimensions: ClassVar[tuple[int, ...]] = (3,)
    spectrum_laws: ClassVar[dict[int, float]] = {3: 5 / 3}

    def rate_of_linear(self) -> ArrayLike:
        """B₀/Δz of the Alfvén waves along the mean field."""
        return jnp.abs(jnp.asarray(self.mean_field, self.grid.dtype)) / self.grid.spacing[2]
