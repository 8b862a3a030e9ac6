"""The phase-field crystal equation, in one, two and three dimensions."""

from __future__ import annotations

from typing import ClassVar

from jax.typing import ArrayLike

from solver.dynamics.equation import Equation
from solver.written import Text


class PhaseFieldCrystal(Equation):
    """The phase-field crystal equation, on a periodic box: a density that freezes, on the scale of its atoms.

    ψ is a density in units in which a crystal has the wavenumber q₀. Small waves on a uniform ψ̄ grow at the rate
    k²(ε − 3ψ̄² − (q₀² − k²)²). The mean ⟨ψ⟩ is conserved, and the free energy ⟨½w² − ½εψ² + ¼ψ⁴⟩, w = (q₀² + ∇²)ψ,
    falls. The linear part is stiff, up to k_max⁶: take an exponential or implicit stepper. The rest costs one inverse
    transform and one forward per right-hand side. It is cubic: two-thirds dealiasing leaves a little aliasing
    (`one-half` none), so the crystal must be resolved (k_max above 4 q₀).

    Good values: ε = 0.25, ψ̄ = −0.285, q₀ = 1 (a hexagonal crystal of atoms 4π/√3 apart) with 8 points to an atom;
    steps of 0.5 with `etdrk4`.

    Args:
        grid: one to three dimensions, real fields.
        undercooling: ε [1].
        pattern_wavenumber: q₀ > 0 [1/length].

    Source: Elder, Katakowski, Haataja & Grant, Phys. Rev. Lett. 88 (2002) 245701; Elder & Grant, Phys. Rev. E 70 (2004)
    051605.
    """

    undercooling: ArrayLike = 0.25
    pattern_wavenumber: ArrayLike = 1.0

    name: ClassVar[str] = "phase-field-crystal"
    text: ClassVar[Text] = Text(
        write="dt(psi) = lap(pattern_wavenumber**2*mismatch + lap(mismatch) - undercooling*psi + psi**3)",
        fields={"psi": "scalar"},
        define={"mismatch": "pattern_wavenumber**2*psi + lap(psi)"},
        energies={},
        series={
            "mean_psi": "psi",
            "max_psi": "max(psi)",
            "free_energy": "mismatch**2/2 - undercooling*psi**2/2 + psi**4/4",
        },
        conserved=["mean_psi"],
        rate="3*pattern_wavenumber**2*psi**2",
        limits={"pattern_wavenumber": "> 0"},
        symbols={"undercooling": "epsilon", "pattern_wavenumber": "q_0", "mismatch": "w"},
    )
