"""Incompressible Navier–Stokes in two and three dimensions."""

from __future__ import annotations

import math
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
from solver.written.components import times
from solver.written.parse import read_expression
from solver.written.rates import Rate, Unseen
from solver.written.tree import Call, Entry, Slot

COLUMNS = ("energy", "enstrophy", "helicity", "dissipation", "max_divergence", "kmax_eta", "cfl")


EDDIES = {
    "strain": "sym(grad(velocity))",
    "eddy_viscosity": "(smagorinsky*filter_width)**2*sqrt(2*trace(strain@strain))",
}


def _nested(gradients: Iterable[Iterable[Any]]) -> tuple[tuple[Any, ...], ...]:
    return tuple(tuple(gradient) for gradient in gradients)


@cache
def _text(scalars: tuple[str, ...] = (), has_gradients: bool = False, has_eddies: bool = False) -> Text:
    """The equations with these passive scalars, whose parameters are numbered, and with Smagorinsky's closure."""
    stress = " + div(2*eddy_viscosity*strain)" if has_eddies else ""
    lines = [
        f"dt(velocity) = -velocity@grad(velocity) - grad(pressure){stress}"
        " + cause(viscosity, viscosity*lap(velocity) + hyper(velocity, hyperviscosity, hyper_order))"
        " - cause(drag, drag*velocity) + cause(body, penalise(velocity))"
    ]
    energies = {"energy": "velocity@velocity/2", **{f"{name}_variance": f"{name}*{name}" for name in scalars}}
    parameters = dict.fromkeys(["viscosity", "drag", "hyperviscosity", "hyper_order"], "scalar")
    symbols = {"velocity": "u", "pressure": "p", "viscosity": "nu", "drag": "mu", "hyperviscosity": "nu_h",
               "hyper_order": "q"}  # fmt: skip
    for i, name in enumerate(scalars):
        gradient = f" - cause(gradient, explicit(gradient_{i}@velocity))" if has_gradients else ""
        slope = f"(grad({name}) + gradient_{i})" if has_gradients else f"grad({name})"
        mixing = f" + div(eddy_viscosity/turbulent_schmidt*{slope})" if has_eddies else ""
        lines.append(
            f"dt({name}) = -velocity@grad({name}){mixing} + cause(diffusion, diffusivity_{i}*lap({name})){gradient}"
            f" + cause(body, penalise({name}, diffusivity_{i}))"
        )
        parameters |= {f"diffusivity_{i}": "scalar"} | ({f"gradient_{i}": "vector"} if has_gradients else {})
        symbols |= {f"diffusivity_{i}": "kappa", f"gradient_{i}": "G"}
    if has_eddies:
        parameters |= dict.fromkeys(["smagorinsky", "filter_width"], "scalar")
        parameters |= {"turbulent_schmidt": "scalar"} if scalars else {}
        symbols |= {"smagorinsky": "C", "filter_width": "w", "turbulent_schmidt": "Sc", "strain": "S",
                    "eddy_viscosity": "nu_t"}  # fmt: skip
    return Text(
        write=[*lines, "div(velocity) = 0"],
        define=EDDIES if has_eddies else {},
        fields={"velocity": "vector", **dict.fromkeys(scalars, "scalar")},
        unknowns={"pressure": "scalar"},
        parameters=parameters,
        units={"subgrid_dissipation": "length^2/time^3"} if has_eddies else {},
        energies=energies,
        series={
            "enstrophy": "-(velocity@div(grad(velocity)) + div(velocity)**2)/2",
            "dissipation": "-velocity@(viscosity*lap(velocity) + hyper(velocity, hyperviscosity, hyper_order))",
            **({"subgrid_dissipation": "2*eddy_viscosity*trace(strain@strain)"} if has_eddies else {}),
            "max_divergence": "max(abs(div(velocity)))",
        },
        invariants={**energies, "helicity": "velocity@curl(velocity)", "enstrophy": "curl(velocity)**2/2"},
        limits={
            **dict.fromkeys(["viscosity", "drag", "hyperviscosity", *(["smagorinsky"] if has_eddies else [])], ">= 0"),
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

    Smagorinsky's closure adds ∇·(2 ν_t S), ν_t = (C w)² (2 S:S)^½ with the rate of strain S and the width w = π/k_max
    (the geometric mean over the axes), to a flow whose smallest eddies are not resolved, and ∇·(ν_t/Sc ∇c) to each
    scalar. It is part of N, formed at the points, and costs 6 inverse transforms more (3 in 2-D). Its loss of energy is
    the column `subgrid_dissipation`, 2⟨ν_t S:S⟩, and, integrated, `energy_from_nonlinear`; ν_t k² of the largest
    wavenumber counts in the CFL number. See docs/closures.md.

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
        smagorinsky: C ≥ 0 of Smagorinsky's eddy viscosity, for large-eddy simulation; none if None.
        turbulent_schmidt: Sc > 0, the eddy viscosity over the eddy diffusivity of passive scalars.

    Source: Basdevant, J. Comput. Phys. 50 (1983) 209 (fewer transforms); Canuto et al. (2007); Smagorinsky,
    Mon. Weather Rev. 91 (1963) 99; Lilly, Proc. IBM Sci. Comput. Symp. Environ. Sci. (1967) 195 (C = 0.17).
    """

    viscosity: ArrayLike
    scalars: tuple[str, ...] = eqx.field(default=(), static=True, converter=tuple)
    diffusivities: tuple[ArrayLike, ...] = eqx.field(default=(), converter=tuple)
    mean_gradients: tuple[tuple[ArrayLike, ...], ...] = eqx.field(default=(), converter=_nested)
    drag: ArrayLike | None = None
    hyperviscosity: ArrayLike | None = None
    hyper_order: int = eqx.field(static=True, default=2)
    smagorinsky: ArrayLike | None = None
    turbulent_schmidt: ArrayLike = 0.7

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
        need(self, "turbulent_schmidt", "turbulent_schmidt", "a positive number", above=0)
        if self.smagorinsky is not None and self.grid.walls:
            raise ValueError(f"smagorinsky {self.smagorinsky}: a periodic box is needed, it does not vanish at walls")
        if self.mean_gradients and [len(gradient) for gradient in self.mean_gradients] != [d] * count:
            raise ValueError(
                f"mean_gradients {self.mean_gradients}: {d} numbers are needed for each of {count} scalars"
            )

    @property
    def text(self) -> Text:  # type: ignore[override]
        """The equations, with the equations of the passive scalars."""
        return _text(self.scalars, bool(self.mean_gradients), self.smagorinsky is not None)

    @classmethod
    def texts(cls, dimensions: int) -> list[Text]:
        flows = [(0, False), (1, False), (1, True), (2, False), (2, True)]
        named = [_text(tuple(f"scalar_{i}" for i in range(count)), gradients) for count, gradients in flows]
        closed = [_text(scalars, slopes, has_eddies=True) for scalars, slopes in (((), False), (("c",), True))]
        return [*closed, *named, _text(("c",), has_gradients=True)]

    def numbers(self) -> dict[str, Any]:
        gradients = {f"gradient_{i}": gradient for i, gradient in enumerate(self.mean_gradients)}
        diffusivities = {f"diffusivity_{i}": diffusivity for i, diffusivity in enumerate(self.diffusivities)}
        own = {name: getattr(self, name) for name in ("viscosity", "drag", "hyperviscosity", "hyper_order")}
        eddies = {} if self.smagorinsky is None else {"smagorinsky": self.smagorinsky, "filter_width": self._width}
        eddies |= {"turbulent_schmidt": self.turbulent_schmidt} if eddies and self.scalars else {}
        given = {name: value for name, value in own.items() if value is not None}
        return {**given, **eddies, **diffusivities, **gradients}

    @property
    def _width(self) -> float:
        """w [length]: the geometric mean of π/k over the axes, k the largest retained wavenumber of each."""
        highest = [k * self.grid.layout.highest_mode(axis) for axis, k in enumerate(self.grid.fundamental)]
        return math.pi / math.prod(highest) ** (1 / len(highest))

    def rate_at_points(self) -> Rate | Unseen:
        """Return Σ_i |u_i|/Δx_i + ν_t k² where there is an eddy viscosity, which the text cannot tell."""
        if self.smagorinsky is None:
            return super().rate_at_points()
        plan = self.derived.plan
        at = lambda i: Slot("inner", plan.inner.index(Entry("velocity", (i,))))  # noqa: E731
        speeds = [Call("abs", (at(i),)) for i in range(self.grid.dimensions)]
        parts = (part for product in plan.products for part in product.walk())
        strain = next(part for part in parts if isinstance(part, Call) and part.function == "sqrt")
        largest = f"(smagorinsky*filter_width*{self.grid.k_corner!r})**2"
        largest += "*max(1, 1/turbulent_schmidt)" if self.scalars else ""
        return Rate(tuple(speeds), times(read_expression(largest), strain), {})

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
        if self.hyperviscosity or self.smagorinsky is not None:
            return []
        return too_small("k_max·η", kmax_eta, 1, "the smallest eddies are not resolved")
