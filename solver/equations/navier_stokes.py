"""Incompressible Navier–Stokes in two and three dimensions."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

import equinox as eqx
from jax.typing import ArrayLike
from jaxtyping import Array

from solver.diagnostics import effective_viscosity, smallest_eddies, weighted_mean_square
from solver.dynamics.equation import Equation
from solver.dynamics.report import Report, too_small
from solver.dynamics.report_between_walls import gradients_between_walls
from solver.operators import Fields
from solver.written import Text
from solver.written.scalars import Carried, with_scalars
from solver.written.variants import with_closure

TEXT = Text(
    write=[
        "dt(velocity) = -velocity@grad(velocity) - grad(pressure) + closure(velocity)"
        " + cause(viscosity, viscosity*lap(velocity) + hyper(velocity, hyperviscosity, hyper_order))"
        " - cause(drag, drag*velocity) + cause(body, penalise(velocity))",
        "div(velocity) = 0",
    ],
    fields={"velocity": "vector"},
    unknowns={"pressure": "scalar"},
    parameters=dict.fromkeys(["viscosity", "drag", "hyperviscosity", "hyper_order"], "scalar"),
    energies={"energy": "velocity@velocity/2"},
    series={
        "enstrophy": "-(velocity@div(grad(velocity)) + div(velocity)**2)/2",
        "dissipation": "-velocity@(viscosity*lap(velocity) + hyper(velocity, hyperviscosity, hyper_order))",
        "max_divergence": "max(abs(div(velocity)))",
    },
    invariants={
        "energy": "velocity@velocity/2",
        "helicity": "velocity@curl(velocity)",
        "enstrophy": "curl(velocity)**2/2",
    },
    limits={**dict.fromkeys(["viscosity", "drag", "hyperviscosity"], ">= 0"), "hyper_order": ">= 1"},
    symbols={"velocity": "u", "pressure": "p", "viscosity": "nu", "drag": "mu", "hyperviscosity": "nu_h",
             "hyper_order": "q"},
    units={"velocity": "length/time"},
    aliased=True,
)  # fmt: skip
SCALARS = [(Carried("c", has_gradient=gradient), Carried("s", has_gradient=gradient)) for gradient in (False, True)]


class NavierStokes(Equation):
    """Incompressible Navier–Stokes on a periodic box.

    The momentum flux u_i u_j enters without its trace, which only changes the pressure: in 3-D five products
    instead of six, so that a right-hand side costs 3 inverse and 5 forward transforms of real fields in two
    exchanges (2 and 2 in 2-D). With two-thirds dealiasing every retained mode is free of aliasing.

    Linear drag, −μu, and hyperviscosity, −ν_h(−∇²)^q u, may be used with viscosity, or instead; `dissipation` ε counts
    hyperviscosity too, and the smallest eddies of `kmax_eta` belong to the viscosity ε/⟨|∇u|²⟩.

    For a flow whose smallest eddies are not resolved a closure (`closure=`, docs/closures.md) adds the divergence of a
    subgrid stress to u_t, and of a subgrid flux to each passive scalar. It is part of N; its loss of energy is the
    column `subgrid_dissipation`, and, integrated, `energy_from_closure`.

    Each passive scalar (docs/passive_scalars.md) costs one inverse and three forward transforms more (2 in 2-D), in the
    same two exchanges.

    Args:
        grid: two or three dimensions, real fields.
        viscosity: kinematic viscosity ν ≥ 0 [length²/time].
        drag: μ ≥ 0 [1/time]; none if None.
        hyperviscosity: ν_h ≥ 0 [length^(2q)/time]; none if None.
        hyper_order: q, one or more, static.

    Source: Basdevant, J. Comput. Phys. 50 (1983) 209 (fewer transforms); Canuto et al. (2007).
    """

    viscosity: ArrayLike
    drag: ArrayLike | None = None
    hyperviscosity: ArrayLike | None = None
    hyper_order: int = eqx.field(static=True, default=2)

    name: ClassVar[str] = "navier-stokes"
    text: ClassVar[Text] = TEXT
    keeps_constraints: ClassVar[bool] = True
    columns_between_walls: ClassVar[tuple[str, ...]] = ("enstrophy", "dissipation")
    dimensions: ClassVar[tuple[int, ...]] = (2, 3)
    spectrum_laws: ClassVar[dict[int, float]] = {2: 3.0, 3: 5 / 3}
    units: ClassVar[dict[str, str]] = {"kmax_eta": "1"}

    @classmethod
    def texts(cls, dimensions: int) -> list[Text]:
        carrying = [with_scalars(TEXT, pair[:count]) for count in (1, 2) for pair in SCALARS]
        closed = [with_closure(TEXT, of, dimensions) for of in ("strain", "gradient")]
        closed.append(with_closure(with_scalars(TEXT, SCALARS[1][:1]), "strain", dimensions))
        return [*closed, *carrying, TEXT]

    def reported(self, report: Report) -> Report:
        if self.grid.walls:  # where no shell of |k| is the last
            units = {name: unit for name, unit in report.units().items() if name != "kmax_eta"}
            return replace(
                report, units=lambda: units, columns=lambda fields: self._between_walls(report.columns(fields), fields)
            )
        return replace(
            report,
            columns=lambda fields: self._with_smallest_eddies(report.columns(fields), fields),
            warnings=lambda row: self._unresolved(row["kmax_eta"]),
        )

    def _between_walls(self, columns: dict[str, Array], fields: Fields) -> dict[str, Array]:
        """With the gradients themselves: the text's −⟨u·∇²u⟩ leaves out the work of moving walls."""
        gradients = gradients_between_walls(self, fields)
        return {**columns, "enstrophy": 0.5 * gradients, "dissipation": self.viscosity * gradients}

    def _with_smallest_eddies(self, columns: dict[str, Array], fields: Fields) -> dict[str, Array]:
        """With k_max η, η the smallest eddies."""
        u_hat, lost, viscosity = fields["velocity"], columns["dissipation"], self.viscosity
        if self.hyperviscosity is not None:
            gradients = weighted_mean_square(u_hat, self.grid.k_squared(), self.grid)
            viscosity = effective_viscosity(viscosity, lost - viscosity * gradients, gradients)
        return {**columns, "kmax_eta": self.grid.k_max * smallest_eddies(u_hat, viscosity, lost, self.grid)}

    def _unresolved(self, kmax_eta: float) -> list[str]:
        if self.hyperviscosity or self.closure is not None:
            return []
        return too_small("k_max·η", kmax_eta, 1, "the smallest eddies are not resolved")
