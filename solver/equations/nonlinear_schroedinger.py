"""The focusing and defocusing nonlinear Schrödinger equation, with damping, in one, two and three dimensions."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import ClassVar

import equinox as eqx
from jax.typing import ArrayLike
from jaxtyping import Array

from solver.dynamics.checks import need
from solver.dynamics.equation import Equation
from solver.dynamics.report import Report
from solver.equations.schroedinger import SNAPSHOT_UNITS, psi_and_density
from solver.spaces.field import Field
from solver.written import Text


@cache
def _text(dimensions: int, is_damped: bool) -> Text:
    """The equation, with or without damping; mass, momentum and energy are conserved without."""
    psi = "wavefunction"
    momentum = {f"momentum_{axis}": f"imag(conj({psi})*d{axis}({psi}))" for axis in "xyz"[:dimensions]}
    return Text(
        write=f"dt({psi}) = 1j/2*hbar_over_mass*lap({psi}) + 1j*coupling*abs({psi})**2*{psi}"
        + (f" - cause(damping, damping*{psi})" if is_damped else ""),
        fields={psi: "wavefunction"},
        energies={"mass": f"abs({psi})**2"} if is_damped else {},
        series={
            **({} if is_damped else {"mass": f"abs({psi})**2"}),
            "kinetic_energy": f"-hbar_over_mass**2*real(conj({psi})*lap({psi}))/2",
            "interaction_energy": f"-hbar_over_mass*coupling*abs({psi})**4/2",
            "energy": "kinetic_energy + interaction_energy",
            "max_density": f"max(abs({psi})**2)",
        },
        invariants={"mass": f"abs({psi})**2"},
        conserved={} if is_damped else {"mass": "mass", **momentum, "energy": "energy"},
        units=dict.fromkeys(["kinetic_energy", "interaction_energy", "energy"], "density*length^2/time^2"),
        rate=f"abs(coupling)*abs({psi})**2/pi",
        symbols={psi: "psi", "coupling": "g", "damping": "gamma", "hbar_over_mass": "alpha"},
    )


class NonlinearSchroedinger(Equation):
    """The nonlinear Schrödinger equation, on a periodic box: envelopes of waves in optics, plasmas and deep water.

    Dispersion and damping are the linear part; the rest costs 1 inverse and 1 forward complex transform per right-hand
    side. The product is cubic: `dealias = "one-half"` keeps it free of aliasing, and then the mass ⟨|ψ|²⟩, the momentum
    ⟨Im ψ*∇ψ⟩ and the energy ½(ħ/m)²⟨|∇ψ|²⟩ − ½(ħ/m)g⟨|ψ|⁴⟩ are conserved but for the error of the steps, without
    damping. `strang` and `yoshida4` solve it without damping, with dealias `none`: they keep the mass to round-off and
    cost one transform each way for each Strang step. `gross-pitaevskii` is the equation with −g, in a trap too.

    Good values: g = 1 (focusing: bright solitons) or g = −1 (defocusing), ⟨|ψ|²⟩ of order one, and a box of 20 to 100
    healing lengths (ħ/(m|g|⟨|ψ|²⟩))^½; steps of 0.01 with `etdrk4`.

    Args:
        grid: one to three dimensions, complex fields.
        coupling: g [1/(density·time)], positive where the wave focuses itself.
        damping: γ ≥ 0 [1/time]; if None there is no damping, and the series reports conserved quantities.
        hbar_over_mass: α = ħ/m > 0, the dispersion, of waves that turn with ½αk² [length²/time].

    Source: Sulem & Sulem, The Nonlinear Schrödinger Equation (1999); Zakharov & Shabat, Sov. Phys. JETP 34 (1972) 62.
    """

    coupling: ArrayLike = 1.0
    damping: ArrayLike | None = None
    hbar_over_mass: ArrayLike = eqx.field(default=1.0, kw_only=True)

    name: ClassVar[str] = "nonlinear-schroedinger"
    fields: ClassVar[dict[str, Field]] = {"wavefunction": Field("wavefunction", "density^(1/2)")}

    def __check_init__(self) -> None:
        need(self, "damping", "damping", "zero or more", least=0)
        need(self, "hbar_over_mass", "hbar_over_mass", "a positive number", above=0)

    @property
    def text(self) -> Text:  # type: ignore[override]
        """The equation, with damping if there is any."""
        return _text(self.grid.dimensions, self.damping is not None)

    @classmethod
    def texts(cls, dimensions: int) -> list[Text]:
        return [_text(dimensions, is_damped) for is_damped in (False, True)]

    def reported(self, report: Report) -> Report:
        return replace(
            report,
            snapshot=lambda fields: psi_and_density(self.to_physical(fields)),
            snapshot_units=lambda: dict(SNAPSHOT_UNITS),
            virial=lambda fields: self._virial(report.columns(fields)),
            hbar_over_mass=self.hbar_over_mass,
            self_focusing=self.coupling,
        )

    def _virial(self, columns: dict[str, Array]) -> dict[str, tuple[float, Array]]:
        """Terms of the virial relation 2K + d E_int = 0, for an attractive interaction."""
        weights = {"kinetic_energy": 2, "interaction_energy": self.grid.dimensions}
        return {name: (weight, columns[name]) for name, weight in weights.items()}
