"""Solitons that pass through each other, against the exact solutions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import jax.numpy as jnp
import numpy as np

from solver.equations import KortewegDeVries, NonlinearSchroedinger
from solver.grid import Grid
from solver.mesh import device_mesh
from solver.steppers import ETDRK4
from solver.validate.case import Case, Finding, states


@dataclass(frozen=True)
class KdVCollision(Case):
    """Two solitons of u_t + 6 u u_x + u_xxx = 0 meet at t = 0; they are evolved from t = −2 to t = 2."""

    name: ClassVar[str] = "kdv-solitons"
    about: ClassVar[str] = "two solitons of the Korteweg–de Vries equation pass through each other"

    def run(self) -> list[Finding]:
        n, step = (384, 1e-3) if self.quick else (768, 2.5e-4)
        grid, numbers = Grid((n,), lengths=60.0, mesh=device_mesh([0])), (2.0, 1.2)
        x = np.arange(n) * grid.spacing[0] - 30
        start = jnp.asarray(_two_solitons(x, -2.0, numbers))[None]
        (last,) = states(KortewegDeVries(grid), ETDRK4(), start, [4.0], step=step)
        u = np.asarray(KortewegDeVries(grid).to_physical(last.field)["u"][0])
        exact = _two_solitons(x, 2.0, numbers)
        source = "exact: Hirota, Phys. Rev. Lett. 27 (1971) 1192"
        shift = float(x[u.argmax()])
        behind = float(np.log((numbers[0] + numbers[1]) / (numbers[0] - numbers[1])) / numbers[0])
        return [
            Finding("largest error of u at t = 2", float(np.abs(u - exact).max()), 0.0, 1e-6, source),
            Finding("height of the tall one", float(u.max()), float(exact.max()), 1e-6, source),
            Finding("its place", shift, numbers[0] ** 2 * 2.0 + behind, grid.spacing[0], source),
        ]


def _two_solitons(x: np.ndarray, t: float, k: tuple[float, float]) -> np.ndarray:
    """2 ∂²ₓ ln f with f = 1 + e^θ₁ + e^θ₂ + A e^(θ₁+θ₂), θ = k x − k³ t, A = ((k₁ − k₂)/(k₁ + k₂))².

    Phases are chosen so that the two solitons meet in the middle at t = 0.
    """
    a = ((k[0] - k[1]) / (k[0] + k[1])) ** 2
    log = 0.5 * np.log(a)
    e1, e2 = (np.exp(q * x - q**3 * t - log) for q in k)
    both = a * e1 * e2
    f = 1 + e1 + e2 + both
    first = (k[0] * e1 + k[1] * e2 + (k[0] + k[1]) * both) / f
    second = (k[0] ** 2 * e1 + k[1] ** 2 * e2 + (k[0] + k[1]) ** 2 * both) / f
    return 2 * (second - first**2)


@dataclass(frozen=True)
class NlsSolitonOnItsWay(Case):
    """ψ = a sech(a(x − v t)) exp(i(v x + ½(a² − v²) t)) of i ψ_t = −½ψ_xx − |ψ|²ψ, to t = 10."""

    name: ClassVar[str] = "nls-soliton"
    about: ClassVar[str] = "a bright soliton of the nonlinear Schrödinger equation travels and turns its phase"

    def run(self) -> list[Finding]:
        n, step, end = (384, 0.01, 10.0) if self.quick else (768, 0.0025, 40.0)
        grid = Grid((n,), lengths=16 * np.pi, dealias="one-half", real=False, mesh=device_mesh([0]))
        a, v = 1.0, 0.5  # a multiple of 2π/L = 1/8: periodic
        x = np.arange(n) * grid.spacing[0]
        exact = lambda t: _bright(x, t, a, v, 16 * np.pi)  # noqa: E731
        equation = NonlinearSchroedinger(grid, coupling=1.0)
        (last,) = states(equation, ETDRK4(), jnp.asarray(exact(0.0))[None], [end], step=step)
        psi = np.asarray(equation.to_physical(last.field)["wavefunction"][0])
        source = "exact: Zakharov & Shabat, Sov. Phys. JETP 34 (1972) 62"
        return [
            Finding(f"largest error of ψ at t = {end:g}", float(np.abs(psi - exact(end)).max()), 0.0, 1e-6, source),
            Finding("mass ∫|ψ|² dx", float((np.abs(psi) ** 2).sum() * grid.spacing[0]), 2 * a, 1e-8, source),
        ]


def _bright(x: np.ndarray, t: float, a: float, v: float, length: float) -> np.ndarray:
    s = np.mod(x - 0.5 * length - v * t + 0.5 * length, length) - 0.5 * length
    return a / np.cosh(a * s) * np.exp(1j * (v * x + 0.5 * (a**2 - v**2) * t))
