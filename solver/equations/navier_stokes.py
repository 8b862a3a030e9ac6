"""Incompressible Navier–Stokes in two and three dimensions."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import cache
from typing import Any, ClassVar

import equinox as eqx
from jax.typing import ArrayLike
from jaxtyping import Array

from solver.diagnostics import effective_viscosity, smallest_eddies, weighted_mean_square
from solver.dynamics.checks import need
from solver.dynamics.equation import Equation
from solver.dynamics.report import Report, too_small
from solver.dynamics.report_between_walls import gradients_between_walls
from solver.operators import Fields
from solver.spaces.field import Field, MoreFields
from solver.written import Text
from solver.written.variants import with_closure

COLUMNS = ("energy", "enstrophy", "helicity", "dissipation", "max_divergence", "kmax_eta", "cfl")


def _nested(gradients: Iterable[Iterable[Any]]) -> tuple[tuple[Any, ...], ...]:
    return tuple(tuple(gradient) for gradient in gradients)


@cache
def _text(scalars: tuple[str, ...] = (), has_gradients: bool = False) -> Text:
    """The equations with these passive scalars, whose parameters are numbered."""
    lines = [
        "dt(velocity) = -velocity@grad(velocity) - grad(pressure) + closure(velocity)"
        " + cause(viscosity, viscosity*lap(velocity) + hyper(velocity, hyperviscosity, hyper_order))"
        " - cause(drag, drag*velocity) + cause(body, penalise(velocity))"
    ]
    energies = {"energy": "velocity@velocity/2", **{f"{name}_variance": f"{name}*{name}" for name in scalars}}
    parameters = dict.fromkeys(["viscosity", "drag", "hyperviscosity", "hyper_order"], "scalar")
    symbols = {"velocity": "u", "pressure": "p", "viscosity": "nu", "drag": "mu", "hyperviscosity": "nu_h",
               "hyper_order": "q"}  # fmt: skip
    for i, name in enumerate(scalars):
        gradient = f" - cause(gradient, explicit(gradient_{i}@velocity))" if has_gradients else ""
        slope = f"grad({name}) + gradient_{i}" if has_gradients else f"grad({name})"
        lines.append(
            f"dt({name}) = -velocity@grad({name}) + closure(velocity, {slope})"
            f" + cause(diffusion, diffusivity_{i}*lap({name})){gradient}"
            f" + cause(body, penalise({name}, diffusivity_{i}))"
        )
        parameters |= {f"diffusivity_{i}": "scalar"} | ({f"gradient_{i}": "vector"} if has_gradients else {})
        symbols |= {f"diffusivity_{i}": "kappa", f"gradient_{i}": "G"}
    return Text(
        write=[*lines, "div(velocity) = 0"],
        fields={"velocity": "vector", **dict.fromkeys(scalars, "scalar")},
        unknowns={"pressure": "scalar"},
        parameters=parameters,
        energies=energies,
        series={
            "enstrophy": "-(velocity@div(grad(velocity)) + div(velocity)**2)/2",
            "dissipation": "-velocity@(viscosity*lap(velocity) + hyper(velocity, hyperviscosity, hyper_order))",
            "max_divergence": "max(abs(div(velocity)))",
        },
        invariants={**energies, "helicity": "velocity@curl(velocity)", "enstrophy": "curl(velocity)**2/2"},
        limits={
            **dict.fromkeys(["viscosity", "drag", "hyperviscosity"], ">= 0"),
            "hyper_order": ">= 1",
        },
        symbols=symbols,
        aliased=True,
    )


class NavierStokes(Equation):
    """Incompressible Navier–Stokes on a periodic box; c are passive scalars.

    The momentum flux u_i u_j enters without its trace, which only changes the pressure: in 3-D five products
    instead of six, so that a right-hand side costs 3 inverse and 5 forward transforms of real fields in two
    exchanges (2 and 2 in 2-D). With two-thirds dealiasing every retained mode is free of aliasing.

    Linear drag, −μu, and hyperviscosity, −ν_h(−∇²)^q u, may be used with viscosity, or instead; `dissipation` ε counts
    hyperviscosity too, and the smallest eddies of `kmax_eta` belong to the viscosity ε/⟨|∇u|²⟩.

    For a flow whose smallest eddies are not resolved a closure (`closure=`, docs/closures.md) adds the divergence of a
    subgrid stress to u_t, and of a subgrid flux to each scalar. It is part of N; its loss of energy is the column
    `subgrid_dissipation`, and, integrated, `energy_from_closure`.

    Of a passive scalar, κ is the diffusivity and G the constant gradient of the mean. Each scalar costs one inverse
    and three forward transforms more (2 in 2-D), in the same two exchanges.

    Args:
        grid: two or three dimensions, real fields.
        viscosity: kinematic viscosity ν ≥ 0 [length²/time].
        scalars: names of passive scalars; each is a field of its own.
        diffusivities: κ ≥ 0 of each [length²/time].
        mean_gradients: G of each, one number for each direction [1/length]; none if empty.
        drag: μ ≥ 0 [1/time]; none if None.
        hyperviscosity: ν_h ≥ 0 [length^(2q)/time]; none if None.
        hyper_order: q, one or more, static.

    Source: Basdevant, J. Comput. Phys. 50 (1983) 209 (fewer transforms); Canuto et al. (2007).
    """

    viscosity: ArrayLike
    scalars: tuple[str, ...] = eqx.field(default=(), static=True, converter=tuple)
    diffusivities: tuple[ArrayLike, ...] = eqx.field(default=(), converter=tuple)
    mean_gradients: tuple[tuple[ArrayLike, ...], ...] = eqx.field(default=(), converter=_nested)
    drag: ArrayLike | None = None
    hyperviscosity: ArrayLike | None = None
    hyper_order: int = eqx.field(static=True, default=2)

    name: ClassVar[str] = "navier-stokes"
    fields: ClassVar[Any] = MoreFields(
        {"velocity": Field("vector", "length/time", solenoidal=True)}, by="scalars", each=Field()
    )
    keeps_constraints: ClassVar[bool] = True
    columns_between_walls: ClassVar[tuple[str, ...]] = ("enstrophy", "dissipation")
    dimensions: ClassVar[tuple[int, ...]] = (2, 3)
    spectrum_laws: ClassVar[dict[int, float]] = {2: 3.0, 3: 5 / 3}
    units: ClassVar[dict[str, str]] = {"kmax_eta": "1"}

    def __check_init__(self) -> None:
        need(self, "diffusivities", "diffusivities", "zero or more", least=0)
        need(self, "mean_gradients", "mean_gradients", "finite numbers")
        count, d = len(self.scalars), self.grid.dimensions
        taken = {"velocity", "pressure", *COLUMNS}
        if len(set(self.scalars)) < count or taken & set(self.scalars) or "" in self.scalars:
            raise ValueError(
                f"scalars {self.scalars}: names are needed that differ, none of {', '.join(sorted(taken))}"
            )
        if len(self.diffusivities) != count:
            raise ValueError(f"diffusivities {self.diffusivities}: {count} are needed, one for each scalar")
        if self.mean_gradients and [len(gradient) for gradient in self.mean_gradients] != [d] * count:
            raise ValueError(
                f"mean_gradients {self.mean_gradients}: {d} numbers are needed for each of {count} scalars"
            )

    @property
    def text(self) -> Text:  # type: ignore[override]
        """The equations, with the equations of the passive scalars."""
        return _text(self.scalars, bool(self.mean_gradients))

    @classmethod
    def texts(cls, dimensions: int) -> list[Text]:
        flows = [(0, False), (1, False), (1, True), (2, False), (2, True)]
        named = [_text(tuple(f"scalar_{i}" for i in range(count)), gradients) for count, gradients in flows]
        closed = [with_closure(_text(), of, dimensions) for of in ("strain", "gradient")]
        closed.append(with_closure(_text(("c",), has_gradients=True), "strain", dimensions))
        return [*closed, *named, _text(("c",), has_gradients=True)]

    def numbers(self) -> dict[str, Any]:
        gradients = {f"gradient_{i}": gradient for i, gradient in enumerate(self.mean_gradients)}
        diffusivities = {f"diffusivity_{i}": diffusivity for i, diffusivity in enumerate(self.diffusivities)}
        own = {name: getattr(self, name) for name in ("viscosity", "drag", "hyperviscosity", "hyper_order")}
        given = {name: value for name, value in own.items() if value is not None}
        return {**given, **diffusivities, **gradients}

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
