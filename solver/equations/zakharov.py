"""The Zakharov equations of Langmuir turbulence, in one, two and three dimensions."""

from __future__ import annotations

from typing import ClassVar

from solver.dynamics.equation import Equation
from solver.written import Text


class Zakharov(Equation):
    """The Zakharov equations of plasma waves that push ions aside, on a periodic box.

    E is the complex envelope of the electric field of Langmuir waves, n the change of the density of ions, ν = n_t, all
    in the usual units without parameters. Dispersion and sound are the linear part, exact for any step with
    integrating-factor and exponential steppers. Conserves the mass ⟨|E|²⟩ and, where nobody forces, the energy ⟨|∇E|² +
    n|E|² + ½n² + ½|V|²⟩, ν = −∇·V. One soliton is E = A sech(aξ) exp(i(vx/2 + (a² − v²/4)t)), n = −|E|²/(1 − v²),
    ξ = x − vt, A² = 2a²(1 − v²).

    CFL 1 is a step in which the phase of E turns by one, or waves push out as much.

    Good values: E of order one in a box of 40 with points 0.2 apart; steps of 0.005 with `etdrk4`.

    Args:
        grid: one to three dimensions.

    Source: Zakharov, Sov. Phys. JETP 35 (1972) 908; Gibbons, Thornhill, Wardrop & ter Haar, J. Plasma Phys. 17 (1977)
    153.
    """

    name: ClassVar[str] = "zakharov"
    text: ClassVar[Text] = Text(
        write=(
            "dt(envelope) = 1j*lap(envelope) - 1j*density*envelope",
            "dt(density) = rate_of_density",
            "dt(rate_of_density) = lap(density) + lap(abs(envelope)**2)",
        ),
        fields={"envelope": "wavefunction", "density": "scalar", "rate_of_density": "scalar"},
        means={"rate_of_density": 0},
        energies={},
        series={
            "mass": "abs(envelope)**2",
            "energy": "real(conj(grad(envelope))@grad(envelope)) + density*abs(envelope)**2 + density**2/2"
            " - rate_of_density*inverse_lap(rate_of_density)/2",
            "max_field": "max(abs(envelope))",
            "min_density": "min(density)",
        },
        conserved=["mass", "energy"],
        rate="abs(density) + abs(envelope)**2",
        symbols={"envelope": "E", "density": "n", "rate_of_density": "nu"},
    )
