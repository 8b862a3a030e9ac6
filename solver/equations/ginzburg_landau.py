"""The complex Ginzburg–Landau equation, in one, two and three dimensions."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

import jax.numpy as jnp
from jax.typing import ArrayLike
from jaxtyping import Array

from solver.dynamics.equation import Equation
from solver.dynamics.report import Report
from solver.operators import Fields
from solver.written import Text


class ComplexGinzburgLandau(Equation):
    """The complex Ginzburg–Landau equation, on a periodic box.

    A is the complex amplitude of waves just above the onset of an oscillation; lengths and times are in units in which
    its growth rate and diffusivity are 1. Growth, diffusion and dispersion are the linear part, complex; the rest costs
    one inverse and one forward complex transform per right-hand side. It is cubic: two-thirds dealiasing leaves a
    little aliasing (`one-half` none), so the cores of spirals must be resolved (about 1 wide). Plane waves √(1 − q²)
    exp(i(qx − ωt)) have ω = β + (α − β)q²; all of them are unstable where 1 + αβ < 0 (Benjamin and Feir).

    Good values: α = 0, β = 1.5 (spiral waves); α = 2, β = −1 (turbulence of defects), in a box of 100 with points 0.5
    apart; steps of 0.05 with `etdrk4`.

    Args:
        grid: one to three dimensions, complex fields.
        linear_dispersion: α [1].
        nonlinear_dispersion: β [1].

    Source: Aranson & Kramer, Rev. Mod. Phys. 74 (2002) 99.
    """

    linear_dispersion: ArrayLike = 0.0
    nonlinear_dispersion: ArrayLike = 1.5

    name: ClassVar[str] = "complex-ginzburg-landau"
    text: ClassVar[Text] = Text(
        write="dt(amplitude) = amplitude + (1 + 1j*linear_dispersion)*lap(amplitude)"
        " - (1 + 1j*nonlinear_dispersion)*abs(amplitude)**2*amplitude",
        fields={"amplitude": "wavefunction"},
        energies={},
        series={
            "mean_square": "abs(amplitude)**2",
            "min_modulus": "min(abs(amplitude))",
            "max_modulus": "max(abs(amplitude))",
        },
        invariants={"mean_square": "abs(amplitude)**2"},
        rate="abs(amplitude)**2*sqrt(1 + nonlinear_dispersion**2)",
        symbols={"amplitude": "A", "linear_dispersion": "alpha", "nonlinear_dispersion": "beta"},
    )

    def reported(self, report: Report) -> Report:
        return replace(
            report,
            snapshot=lambda fields: {**report.snapshot(fields), "modulus": self._modulus(fields)},
            snapshot_units=lambda: {**report.snapshot_units(), "modulus": "1"},
        )

    def _modulus(self, fields: Fields) -> Array:
        """Real and imaginary part, and the modulus, which is 0 in the core of a spiral."""
        return jnp.abs(self.transform.inverse(fields["amplitude"])[0])
