"""Coarsening, and the soliton of fuzzy dark matter."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np

from solver.equations import CahnHilliard, SchroedingerPoisson
from solver.grid import Grid
from solver.initial import Noise, Solitons
from solver.steppers import ETDRK2, Strang
from solver.validate.case import Case, Finding, mesh_for, series_of, states


@dataclass(frozen=True)
class Coarsening(Case):
    """Domains of a symmetric mixture grow as t^(1/3): the slope of domain_size over the last part of the run."""

    name: ClassVar[str] = "cahn-hilliard"
    about: ClassVar[str] = "coarsening of a mixture that separates"

    def run(self) -> list[Finding]:
        n, times = (256, np.geomspace(200, 2000, 12)) if self.quick else (1024, np.geomspace(500, 20000, 20))
        grid = Grid((n, n), lengths=float(n), mesh=mesh_for(n))
        mixture = CahnHilliard(grid, mobility=1.0, gradient_energy=1.0, energy_budget=False)
        start = Noise(background=0.0, amplitude=0.1)(grid, mixture.fields["c"], jax.random.key(3))
        sizes = []
        directory = self.directory("mixture")
        for state in states(mixture, ETDRK2(), start, [float(t) for t in times], step=0.25, directory=directory):
            sizes.append(series_of(mixture, state)["domain_size"])
        source = "Lifshitz & Slyozov, J. Phys. Chem. Solids 19 (1961) 35; Zhu et al., Phys. Rev. E 60 (1999) 3564"
        slope = float(np.polyfit(np.log(times), np.log(sizes), 1)[0])
        allowed = 0.05 if self.quick else 0.03
        return [Finding("exponent of the size of domains", slope, 1 / 3, allowed, source)]


@dataclass(frozen=True)
class FuzzySoliton(Case):
    """The fitted ground state keeps its profile, for a time in which it could have collapsed.

    The mean density that a periodic box takes away, and images, widen a soliton: the longer run is in 16 core radii.
    """

    name: ClassVar[str] = "fuzzy-dark-matter"
    about: ClassVar[str] = "the soliton of fuzzy dark matter keeps its profile"

    def run(self) -> list[Finding]:
        n, end, core_radius = (48, 20.0, 2.5) if self.quick else (80, 36.0, 1.5)
        grid = Grid((n, n, n), lengths=24.0, dealias="none", mesh=mesh_for(n))
        equation = SchroedingerPoisson(grid, coupling=1.0)
        start = Solitons((core_radius,), ((12.0, 12.0, 12.0),)).for_equation(equation, "wavefunction")
        psi = start(grid, equation.fields["wavefunction"], jax.random.key(0))
        density = lambda values: jnp.abs(values) ** 2  # noqa: E731
        times = [0.0, *np.linspace(end / 2, end, 41)]
        first, *later = states(
            equation, Strang(), psi, [float(t) for t in times], step=0.0032 * core_radius**2,
            directory=self.directory("soliton"),
        )  # fmt: skip
        start_density = np.asarray(density(first.field["wavefunction"][0]))
        mean = np.mean([np.asarray(density(s.field["wavefunction"][0])) for s in later], axis=0)
        along = mean[n // 2 :, n // 2, n // 2]
        r = np.arange(len(along)) * grid.spacing[0]
        core, radius = along[0], float(np.interp(-0.5 * along[0], -along, r))
        fitted = start_density.max() * core_radius**4
        source = "Schive, Chiueh & Broadhurst, Nature Phys. 10 (2014) 496 (a fit, within 5 % of the ground state)"
        return [
            Finding("ρ_c r_c⁴ of the mean density over that of the fit", core * radius**4 / fitted, 1.0, 0.1, source),
            Finding("ρ(2 r_c)/ρ_c", float(np.interp(2 * radius, r, along)) / core, 1.364**-8, 0.02, source),
            Finding("change of the mass", float(density(later[-1].field["wavefunction"][0]).sum()) /
                    start_density.sum() - 1, 0.0, 1e-10, "exact"),
        ]  # fmt: skip
