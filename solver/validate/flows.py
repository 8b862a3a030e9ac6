"""Turbulence in two dimensions and of conducting fluids, by what the equations conserve and dissipate exactly."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import jax
import jax.numpy as jnp

from solver.diagnostics import mean_product, mean_square
from solver.equations import MHD, NavierStokes, Vorticity
from solver.forcing import ConstantPower
from solver.grid import Grid
from solver.initial import OrszagTang, RandomPhase
from solver.steppers import IFRK4
from solver.validate.case import Case, Finding, mesh_for, series_of, states


@dataclass(frozen=True)
class DecayIn2D(Case):
    """Energy and enstrophy fall by what viscosity dissipates; without viscosity both are constant."""

    name: ClassVar[str] = "decay-2d"
    about: ClassVar[str] = "decaying turbulence in two dimensions: budgets of energy and enstrophy"

    def run(self) -> list[Finding]:
        n, end = (128, 2.0) if self.quick else (512, 10.0)
        grid = Grid((n, n), mesh=mesh_for(n))
        start = RandomPhase(energy=0.5, peak=6.0)
        exact = "exact for the truncated equations: Kraichnan, Phys. Fluids 10 (1967) 1417"
        findings = []
        ideal = Vorticity(grid)
        field = start(grid, ideal.fields["vorticity"], jax.random.key(1))
        reached = states(ideal, IFRK4(), field, [0.0, end / 4], step=0.25 / n, directory=self.directory("inviscid"))
        first, last = (series_of(ideal, state) for state in reached)
        for name in ("energy", "enstrophy"):
            drift = last[name] / first[name] - 1
            findings.append(Finding(f"change of {name} without viscosity, t = {end / 4:g}", drift, 0.0, 1e-8, exact))
        viscous = Vorticity(grid, viscosity=2e-3)
        [state] = states(viscous, IFRK4(), field, [end], step=0.25 / n, directory=self.directory("viscous"))
        lost = float(state.budget["energy_from_viscosity"])
        energy = series_of(viscous, state)["energy"]
        before = float(state.energies["energy"])
        findings.append(
            Finding("energy lost, over what viscosity took", (energy - before) / lost, 1.0, 1e-6, "exact: dE/dt = −2νZ")
        )
        return findings


@dataclass(frozen=True)
class OrszagTangVortex(Case):
    """Ideal invariants of the Orszag–Tang vortex, its energy at the start, and its budget with dissipation."""

    name: ClassVar[str] = "orszag-tang"
    about: ClassVar[str] = "the Orszag–Tang vortex: ideal invariants, and the budget of energy"

    def run(self) -> list[Finding]:
        n, end = (64, 0.5) if self.quick else (256, 1.0)
        grid = Grid((n, n), mesh=mesh_for(n))
        exact = "exact: Orszag & Tang, J. Fluid Mech. 90 (1979) 129"
        start = {"velocity": OrszagTang()(grid), "magnetic_field": OrszagTang(magnetic=True)(grid)}
        ideal = MHD(grid, viscosity=0.0, resistivity=0.0)
        first, last = states(ideal, IFRK4(), start, [0.0, end], step=0.2 / n, directory=self.directory("ideal"))
        before, after = _ideal(first.field, ideal), _ideal(last.field, ideal)
        findings = [Finding("energy at the start, ½⟨u² + b²⟩", before[0], 1.0, 1e-12, exact)]
        for name, a, b in zip(("energy", "cross helicity"), before, after, strict=True):
            findings.append(Finding(f"change of the {name} without dissipation, t = {end:g}", b - a, 0.0, 1e-8, exact))
        real = MHD(grid, viscosity=0.02, resistivity=0.02)
        [state] = states(real, IFRK4(), start, [end], step=0.2 / n, directory=self.directory("dissipative"))
        row = series_of(real, state)
        lost = sum(float(value) for value in state.budget.values())
        energies = sum(float(value) for value in state.energies.values())
        now = sum(row[name] for name in state.energies)
        findings.append(Finding("energy lost, over what is accounted for", (now - energies) / lost, 1.0, 1e-6, "exact"))
        return findings


def _ideal(fields: Any, equation: Any) -> tuple[float, float]:
    """Energy, and cross helicity ⟨u·b⟩: both are constant without dissipation."""
    u, b, grid = fields["velocity"], fields["magnetic_field"], equation.grid
    return (
        0.5 * float(mean_square(u, grid)) + 0.5 * float(mean_square(b, grid)),
        float(mean_product(u, b, grid)),
    )


@dataclass(frozen=True)
class ForcedTurbulence(Case):
    """A flow driven with constant power dissipates this power on average, and its energy budget is closed.

    A small flow runs for about 70 turnover times. In that time, divergence and parts of the modes that no real field
    has, which a forcing amplifies, would outgrow the flow if they were not removed.
    """

    name: ClassVar[str] = "forced-turbulence"
    about: ClassVar[str] = "turbulence driven with constant power: stationary, its budget closed"

    def run(self) -> list[Finding]:
        n, settled, end = (32, 20.0, 40.0) if self.quick else (128, 20.0, 60.0)
        viscosity, power = (0.02, 0.1) if self.quick else (0.004, 0.1)
        grid = Grid((n, n, n), mesh=mesh_for(n))
        flow = NavierStokes(grid, viscosity=viscosity, forcing=ConstantPower(power=power))
        start = RandomPhase(energy=0.5, peak=2.0)(grid, flow.fields["velocity"], jax.random.key(2))
        directory = self.directory("flow")
        early, late = states(flow, IFRK4(), start, [settled, end], seed=0, cfl=0.6, directory=directory)
        span = end - settled
        given, taken = (
            (float(late.budget[name]) - float(early.budget[name])) / span
            for name in ("energy_from_forcing", "energy_from_viscosity")
        )
        change = series_of(flow, late)["energy"] - series_of(flow, early)["energy"]
        return [
            *self._long_run(),
            Finding("power put in", given, power, 1e-3 * power, "the given power"),
            Finding("mean dissipation over the power", -taken / power, 1.0, 0.15, "a stationary state"),
            Finding("power in and out over the change of energy", (given + taken) * span - change, 0.0,
                    1e-4 * power * span, "exact"),
        ]  # fmt: skip

    def _long_run(self) -> list[Finding]:
        """⟨|u|²⟩ as a sum over modes and as a mean over points, and the largest divergence, at t = 350."""
        grid = Grid((16, 16, 16), mesh=mesh_for(16))
        forcing = ConstantPower(power=0.1, low=1.0, high=1.5)
        flow = NavierStokes(grid, viscosity=0.02, forcing=forcing, energy_budget=False)
        start = RandomPhase(energy=0.5, peak=2.0)(grid, flow.fields["velocity"], jax.random.key(2))
        [state] = states(flow, IFRK4(), start, [350.0], cfl=0.6, directory=self.directory("long"))
        by_modes = float(mean_square(state.field["velocity"], grid))
        at_points = float(jnp.mean(jnp.sum(flow.to_physical(state.field)["velocity"] ** 2, axis=0)))
        return [
            Finding("⟨|u|²⟩ by modes over that at points, t = 350", by_modes / at_points, 1.0, 1e-9, "exact: Parseval"),
            Finding("largest |∇·u|, t = 350", series_of(flow, state)["max_divergence"], 0.0, 1e-9, "exact"),
        ]
