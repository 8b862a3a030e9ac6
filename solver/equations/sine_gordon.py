"""The sine-Gordon equation in one, two and three dimensions."""

from __future__ import annotations

from typing import ClassVar

from jax.typing import ArrayLike

from solver.dynamics.equation import Equation
from solver.written import Text


class SineGordon(Equation):
    """The sine-Gordon equation, on a periodic box.

    Held as φ and π = φ_t. Small waves, ω² = c²k² + m², are the linear part, one matrix per mode, exact for any step
    with integrating-factor and exponential steppers; m²(φ − sin φ) costs one inverse transform and one forward per
    right-hand side. A sine has all harmonics: some aliasing remains whatever the rule, so the field must be resolved
    (its spectrum falling over several decades). In one dimension kinks and breathers pass through each other.
    Conserves the energy ⟨½π² + ½c²|∇φ|² + m²(1 − cos φ)⟩.

    Good values: c = m = 1 in a box of 40 or more with points 0.2 apart; steps of 0.02 to 0.1 with `etdrk4`. φ must be
    periodic: as many kinks as antikinks.

    Args:
        grid: one to three dimensions, real fields.
        wave_speed: c > 0 [length/time].
        mass: m > 0 [1/time].

    Source: Ablowitz, Kaup, Newell & Segur, Phys. Rev. Lett. 30 (1973) 1262; Scott, Chu & McLaughlin, Proc. IEEE 61
    (1973) 1443.
    """

    wave_speed: ArrayLike = 1.0
    mass: ArrayLike = 1.0

    name: ClassVar[str] = "sine-gordon"
    text: ClassVar[Text] = Text(
        write=["dt(phi) = rate_of_phi", "dt(rate_of_phi) = wave_speed**2*lap(phi) - mass**2*phi + mass**2*excess"],
        fields={"phi": "scalar", "rate_of_phi": "scalar"},
        define={"excess": "explicit(phi) - sin(phi)"},
        units={"phi": "1", "rate_of_phi": "1/time"},
        energies={},
        series={
            "energy": "rate_of_phi**2/2 + wave_speed**2*grad(phi)@grad(phi)/2 + mass**2*(1 - cos(phi))",
            "mean_square": "phi**2",
            "max_phi": "max(abs(phi))",
        },
        conserved=["energy"],
        rate="mass",
        limits={"wave_speed": "> 0", "mass": "> 0"},
        symbols={"rate_of_phi": "pi_", "wave_speed": "c", "mass": "m", "excess": "s"},
    )
