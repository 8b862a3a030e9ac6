"""The equations, one file each, and what they share."""

from solver.equations.base import Equation, PeriodicSystem, SplitEquation, advection_rate
from solver.equations.kuramoto_sivashinsky import KuramotoSivashinsky
from solver.equations.navier_stokes import NavierStokes
from solver.equations.schroedinger_poisson import SchroedingerPoisson

__all__ = [
    "Equation",
    "KuramotoSivashinsky",
    "NavierStokes",
    "PeriodicSystem",
    "SchroedingerPoisson",
    "SplitEquation",
    "advection_rate",
]
