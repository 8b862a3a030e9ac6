"""The Klein–Gordon equation with a cubic force, in one, two and three dimensions."""

from __future__ import annotations

from typing import ClassVar

from jax.typing import ArrayLike

from solver.dynamics.equation import Equation
from solver.written import Text


class KleinGordon(Equation):
    """The Klein–Gordon equation with a cubic force, on a periodic box.

    Held as φ and π = φ_t. Waves are one matrix per mode, so that ω² = c²k² + m² is exact for any step with
    integrating-factor and exponential steppers; λφ³ costs one inverse transform and one forward per right-hand side. It
    is cubic: two-thirds dealiasing leaves a little aliasing (`one-half` none), so the field must be resolved (its
    spectrum falling over several decades). Conserves the energy ⟨½π² + ½c²|∇φ|² + ½m²φ² + ¼λφ⁴⟩.

    Good values: c = m = 1, λ = 0 (free waves) to 1, φ of order 1 in a box of 20 to 100; steps of 0.1 with `ifrk4`. For
    λ < 0 a large field grows without bound.

    Args:
        grid: one to three dimensions, real fields.
        wave_speed: c ≥ 0 [length/time].
        mass: m ≥ 0 [1/time].
        coupling: λ [1/(time²·φ²)].

    Source: Strauss & Vazquez, J. Comput. Phys. 28 (1978) 271.
    """

    wave_speed: ArrayLike = 1.0
    mass: ArrayLike = 1.0
    coupling: ArrayLike = 0.0

    name: ClassVar[str] = "klein-gordon"
    text: ClassVar[Text] = Text(
        write=["dt(phi) = rate_of_phi", "dt(rate_of_phi) = wave_speed**2*lap(phi) - mass**2*phi - coupling*phi**3"],
        fields={"phi": "scalar", "rate_of_phi": "scalar"},
        units={"phi": "phi", "rate_of_phi": "phi/time"},
        energies={},
        series={
            "energy": "rate_of_phi**2/2 + wave_speed**2*grad(phi)@grad(phi)/2 + mass**2*phi**2/2 + coupling*phi**4/4",
            "mean_square": "phi**2",
            "max_phi": "max(abs(phi))",
        },
        conserved=["energy"],
        rate="sqrt(mass**2 + 3*abs(coupling)*phi**2)",
        limits={"wave_speed": ">= 0", "mass": ">= 0"},
        symbols={"rate_of_phi": "pi_", "wave_speed": "c", "mass": "m", "coupling": "lambda_"},
    )
