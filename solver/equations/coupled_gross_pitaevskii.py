"""Two condensates that interact with each other, in one, two and three dimensions."""

from __future__ import annotations

from functools import cache
from typing import ClassVar

import equinox as eqx
from jax.typing import ArrayLike

from solver.dynamics.checks import need
from solver.dynamics.equation import Equation
from solver.spaces.field import Field
from solver.written import Text

ENERGIES = ("kinetic_energy", "interaction_energy", "energy")


@cache
def _text(dimensions: int) -> Text:
    """Both equations; each mass, the momentum and the energy are conserved."""
    density = {i: f"abs(psi_{i})**2" for i in (1, 2)}
    momentum = {
        f"momentum_{axis}": " + ".join(f"imag(conj(psi_{i})*d{axis}(psi_{i}))" for i in (1, 2))
        for axis in "xyz"[:dimensions]
    }
    return Text(
        write=tuple(
            f"dt(psi_{i}) = 1j/2*hbar_over_mass_{i}*lap(psi_{i})"
            f" - 1j*(coupling_{i}{i}*{density[i]} + coupling_12*{density[3 - i]})*psi_{i}"
            for i in (1, 2)
        ),
        fields={"psi_1": "wavefunction", "psi_2": "wavefunction"},
        energies={},
        series={
            "mass_1": density[1],
            "mass_2": density[2],
            "kinetic_energy": " - ".join(
                ["", *(f"hbar_over_mass_{i}/2*real(conj(psi_{i})*lap(psi_{i}))" for i in (1, 2))]
            ),
            "interaction_energy": "coupling_11/2*abs(psi_1)**4 + coupling_22/2*abs(psi_2)**4"
            f" + coupling_12*{density[1]}*{density[2]}",
            "energy": "kinetic_energy + interaction_energy",
            "overlap": f"{density[1]}*{density[2]}",
            "max_density_1": f"max({density[1]})",
            "max_density_2": f"max({density[2]})",
        },
        invariants={"mass_1": density[1], "mass_2": density[2]},
        conserved={"mass_1": "mass_1", "mass_2": "mass_2", **momentum, "energy": "energy"},
        units=dict.fromkeys(ENERGIES, "density/time"),
        rate=f"(abs(coupling_11)*{density[1]} + abs(coupling_22)*{density[2]}"
        f" + abs(coupling_12)*({density[1]} + {density[2]}))/pi",
        symbols={
            **{f"coupling_{pair}": f"g_{pair}" for pair in ("11", "22", "12")},
            **{f"hbar_over_mass_{i}": f"alpha_{i}" for i in (1, 2)},
        },
    )


class CoupledGrossPitaevskii(Equation):
    """Two condensates, or two polarisations of light, that act on each other through their densities; a periodic box.

    Conserves ⟨|ψ_1|²⟩, ⟨|ψ_2|²⟩, the momentum ⟨Im Σψ*∇ψ⟩ and the energy over ħ, ½Σα_i⟨|∇ψ_i|²⟩ + ½g_11⟨|ψ_1|⁴⟩ +
    ½g_22⟨|ψ_2|⁴⟩ + g_12⟨|ψ_1|²|ψ_2|²⟩, but for the error of the steps. Dispersion is the linear part; the rest costs 2
    inverse and 2 forward complex transforms per right-hand side. Products are cubic: `dealias = "one-half"` leaves no
    aliasing. A uniform mixture of two repulsive condensates separates where g_12² > g_11 g_22: waves with ω² < 0 of the
    matrix ε_i² δ_ij + 2ε_i ρ_i g_ij, ε_i = ½α_i k². With g_11 = g_22 = g_12 < 0 and α_1 = α_2 it is Manakov's equation,
    whose solitons are solitons of one condensate times a constant vector of length one. There is no trap. `strang` and
    `yoshida4` solve it with dealias `none`, keep each ⟨|ψ_i|²⟩ to round-off, and cost one exchange each way for each
    Strang step.

    CFL 1 is a step in which the interaction turns a phase by half a turn, or less.

    Good values: g_11 = g_22 = 1, g_12 = 1.2 (phases separate) or 0.8 (they mix), densities of order one, a box of 50 to
    100 healing lengths; steps of 0.04 with `etdrk4`.

    Args:
        grid: one to three dimensions, complex fields.
        coupling_11, coupling_22, coupling_12: g_ij, repulsive if positive [1/(density·time)].
        hbar_over_mass_1, hbar_over_mass_2: α_i = ħ/m_i > 0 [length²/time].

    Source: Pitaevskii & Stringari, Bose–Einstein Condensation (2003), chapter 12; Manakov, Sov.
    Phys. JETP 38 (1974) 248.
    """

    coupling_11: ArrayLike = 1.0
    coupling_22: ArrayLike = 1.0
    coupling_12: ArrayLike = 0.8
    hbar_over_mass_1: ArrayLike = eqx.field(default=1.0, kw_only=True)
    hbar_over_mass_2: ArrayLike = eqx.field(default=1.0, kw_only=True)

    name: ClassVar[str] = "coupled-gross-pitaevskii"
    fields: ClassVar[dict[str, Field]] = {f"psi_{i}": Field("wavefunction", "density^(1/2)") for i in (1, 2)}

    def __check_init__(self) -> None:
        for i in (1, 2):
            need(self, f"hbar_over_mass_{i}", f"hbar_over_mass_{i}", "a positive number", above=0)

    @property
    def text(self) -> Text:  # type: ignore[override]
        """Both equations for this number of dimensions."""
        return _text(self.grid.dimensions)

    @classmethod
    def texts(cls, dimensions: int) -> list[Text]:
        return [_text(dimensions)]
