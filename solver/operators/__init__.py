"""Operators on coefficients: derivatives, projection, elliptic solves, and the linear part of an equation."""

from solver.operators.derivatives import (
    components,
    curl,
    divergence,
    gradient,
    project_solenoidal,
)
from solver.operators.elliptic import solve_biharmonic, solve_helmholtz, solve_poisson
from solver.operators.linear import Diagonal, Fields, LinearOperator, Matrix
from solver.operators.phi import phi_functions, phi_matrices
from solver.operators.rotation import Rotation
from solver.operators.symmetry import hermitian, random_modes

__all__ = [
    "Diagonal",
    "Fields",
    "LinearOperator",
    "Matrix",
    "Rotation",
    "components",
    "curl",
    "divergence",
    "gradient",
    "hermitian",
    "phi_functions",
    "phi_matrices",
    "project_solenoidal",
    "random_modes",
    "solve_biharmonic",
    "solve_helmholtz",
    "solve_poisson",
]
