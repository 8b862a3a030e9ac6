"""The equations, one file each, and what they share."""

from solver.equations.base import Equation, Field, PeriodicSystem, SplitEquation, advection_rate, require
from solver.equations.boussinesq import Boussinesq
from solver.equations.gray_scott import GrayScott
from solver.equations.kuramoto_sivashinsky import KuramotoSivashinsky
from solver.equations.mhd import MHD, Vector, magnetic_helicity
from solver.equations.navier_stokes import NavierStokes
from solver.equations.schroedinger_poisson import SchroedingerPoisson

__all__ = [
    "MHD",
    "Boussinesq",
    "Equation",
    "Field",
    "GrayScott",
    "KuramotoSivashinsky",
    "NavierStokes",
    "PeriodicSystem",
    "SchroedingerPoisson",
    "SplitEquation",
    "Vector",
    "advection_rate",
    "magnetic_helicity",
    "require",
]
