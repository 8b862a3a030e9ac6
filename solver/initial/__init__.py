"""Where a run starts: fields at the grid points, every device filling its own block."""

from solver.initial.flows import beltrami, orszag_tang, taylor_green
from solver.initial.random_phase import random_phase
from solver.initial.scalars import bump, uniform
from solver.initial.wavefunctions import CORE_RADIUS, gaussian, plane_wave, solitons

__all__ = [
    "CORE_RADIUS",
    "beltrami",
    "bump",
    "gaussian",
    "orszag_tang",
    "plane_wave",
    "random_phase",
    "solitons",
    "taylor_green",
    "uniform",
]
