"""Incompressible Hall magnetohydrodynamics in three dimensions."""

from __future__ import annotations

from typing import ClassVar

import equinox as eqx
from jax.typing import ArrayLike

from solver.dynamics.equation import Equation
from solver.equations.mean_field import Vector, alfven_rate, require_mean_field
from solver.written import Text
from solver.written.components import plus, times
from solver.written.parse import read_expression
from solver.written.rates import Rate
from solver.written.tree import Call, Entry, Slot


class HallMHD(Equation):
    """Incompressible Hall magnetohydrodynamics, periodic.

    Alfvén units: b and B₀ are velocities. The field is frozen into the electrons, which move with
    u − d_i ∇×b; d_i = 0 is magnetohydrodynamics. A constant mean field B₀ couples all six components by one complex
    matrix per mode, so that circularly polarised waves, ω = k·B₀ (√(1 + (d_i k/2)²) ± d_i k/2), whistlers (+) and ion
    cyclotron waves (−), are exact for any step with integrating-factor and exponential steppers. A right-hand side
    costs 9 inverse and 8 forward transforms in two exchanges. Ideal flow conserves the energy ½⟨|u|² + |b|²⟩ and,
    without mean field, the magnetic helicity ⟨a·b⟩ and the ion helicity ⟨(a + d_i u)·(b + d_i ∇×u)⟩, with b = ∇×a.
    Hyperviscosity, −ν_h(−∇²)^p u and −η_h(−∇²)^p b, may be used with viscosity and resistivity, or instead.

    The CFL number is the largest of Σ_i (|u_i| + c |b_i| + |B₀_i|)/Δx_i times the step, c = √(1 + (d_i k/2)²) + d_i k/2
    at the largest k retained: the flow, and whistlers along b. Where d_i k is large, steps fall as Δx². Whistlers along
    B₀ are exact and do not count, its Alfvén waves do, as in `mhd`.

    Good values: the Orszag–Tang vortex at 48³, ν = η = 0.03, d_i = 0.2; steps of CFL 0.7 with `ifrk4`.

    Args:
        grid: three dimensions, real fields.
        viscosity: ν ≥ 0 [length²/time].
        resistivity: η ≥ 0 [length²/time].
        ion_inertial_length: d_i ≥ 0 [length].
        mean_field: B₀, three numbers [length/time]; none if None.
        hyperviscosity: ν_h ≥ 0 [length^(2q)/time]; series and budget count it as viscosity.
        hyperresistivity: η_h ≥ 0 [length^(2q)/time]; series and budget count it as resistivity.
        hyper_order: q, one or more, static.

    Source: Galtier, J. Plasma Phys. 72 (2006) 721; Mininni, Gómez & Mahajan, Astrophys. J. 619 (2005) 1019.
    """

    viscosity: ArrayLike
    resistivity: ArrayLike
    ion_inertial_length: ArrayLike
    mean_field: Vector | None = None
    hyperviscosity: ArrayLike = 0.0
    hyperresistivity: ArrayLike = 0.0
    hyper_order: int = eqx.field(static=True, default=2)

    name: ClassVar[str] = "hall-mhd"
    text: ClassVar[Text] = Text(
        write=[
            "dt(velocity) = -velocity@grad(velocity) + (mean_field + magnetic_field)@grad(magnetic_field)"
            " - grad(pressure)"
            " + cause(viscosity, viscosity*lap(velocity) + hyper(velocity, hyperviscosity, hyper_order))"
            " + cause(body, penalise(velocity))",
            "dt(magnetic_field) = curl(cross(velocity - ion_inertial_length*curl(magnetic_field),"
            " mean_field + magnetic_field))"
            " + cause(resistivity, resistivity*lap(magnetic_field)"
            " + hyper(magnetic_field, hyperresistivity, hyper_order))",
            "div(velocity) = 0",
            "div(magnetic_field) = 0",
        ],
        fields={"velocity": "vector", "magnetic_field": "vector"},
        unknowns={"pressure": "scalar"},
        define={
            "potential": "-inverse_lap(curl(magnetic_field))",
            "ion_potential": "potential + ion_inertial_length*velocity",
            "ion_vorticity": "magnetic_field + ion_inertial_length*curl(velocity)",
        },
        parameters={
            "mean_field": "vector",
            **dict.fromkeys(["viscosity", "resistivity", "ion_inertial_length"], "scalar"),
            **dict.fromkeys(["hyperviscosity", "hyperresistivity", "hyper_order"], "scalar"),
        },
        units={"velocity": "length/time", "magnetic_field": "length/time"},
        energies={"energy": "(velocity@velocity + magnetic_field@magnetic_field)/2"},
        series={
            "kinetic_energy": "velocity@velocity/2",
            "magnetic_energy": "magnetic_field@magnetic_field/2",
            "cross_helicity": "velocity@magnetic_field",
            "magnetic_helicity": "potential@magnetic_field",
            "ion_helicity": "ion_potential@ion_vorticity",
            "total_dissipation": "-velocity@(viscosity*lap(velocity) + hyper(velocity, hyperviscosity, hyper_order))"
            " - magnetic_field@(resistivity*lap(magnetic_field)"
            " + hyper(magnetic_field, hyperresistivity, hyper_order))",
        },
        invariants={
            "energy": "(velocity@velocity + magnetic_field@magnetic_field)/2",
            "magnetic_helicity": "potential@magnetic_field",
            "ion_helicity": "ion_potential@ion_vorticity",
        },
        spectra=["kinetic_energy", "magnetic_energy"],
        limits={
            **dict.fromkeys(["viscosity", "resistivity", "ion_inertial_length"], ">= 0"),
            **dict.fromkeys(["hyperviscosity", "hyperresistivity"], ">= 0"),
            "hyper_order": ">= 1",
        },
        symbols={"velocity": "u", "magnetic_field": "b", "mean_field": "B_0", "ion_inertial_length": "d_i",
                 "pressure": "p", "potential": "a", "viscosity": "nu", "resistivity": "eta", "hyperviscosity": "nu_h",
                 "hyperresistivity": "eta_h", "hyper_order": "q"},
        aliased=True,
    )  # fmt: skip
    dimensions: ClassVar[tuple[int, ...]] = (3,)
    spectrum_laws: ClassVar[dict[int, float]] = {3: 5 / 3}

    def __check_init__(self) -> None:
        require_mean_field(self.mean_field, self.grid)

    def rate_at_points(self) -> Rate:
        """Σ_i (|u_i| + c |b_i|)/Δx_i, which the text cannot tell: the Hall term acts on a wavenumber k as k²."""
        half = f"ion_inertial_length*{self.grid.k_corner!r}/2"
        fastest = read_expression(f"sqrt(1 + ({half})**2) + {half}")
        inner = self.derived.plan.inner
        at = lambda field, i: Call("abs", (Slot("inner", inner.index(Entry(field, (i,)))),))  # noqa: E731
        speeds = [plus((at("velocity", i), times(fastest, at("magnetic_field", i)))) for i in range(3)]
        return Rate(tuple(speeds), None, {})

    def rate_of_linear(self) -> ArrayLike:
        """The growth and frequency of Alfvén waves along the mean field."""
        return alfven_rate(self.mean_field, self.grid)
