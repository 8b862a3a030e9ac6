"""Operators on coefficients: derivatives, projection, elliptic solves, and the linear part of an equation."""

from solver.operators.derivatives import (
    components as components,
    curl as curl,
    divergence as divergence,
    gradient as gradient,
    project_solenoidal as project_solenoidal,
    solve_biharmonic as solve_biharmonic,
    solve_helmholtz as solve_helmholtz,
    solve_poisson as solve_poisson,
)
from solver.operators.draws import (
    GENERATOR as GENERATOR,
    normal as normal,
    random_key as random_key,
    uniform as uniform,
)
from solver.operators.linear import (
    Diagonal as Diagonal,
    Fields as Fields,
    LinearOperator as LinearOperator,
    Matrix as Matrix,
    Rotation as Rotation,
    Separate as Separate,
)
from solver.operators.noise import (
    AddedNoise as AddedNoise,
    added_noise as added_noise,
    reached_by as reached_by,
)
from solver.operators.phi import phi_functions as phi_functions, phi_matrices as phi_matrices
from solver.operators.random_modes import random_modes as random_modes
from solver.operators.roots import root as root
from solver.operators.symmetry import hermitian as hermitian
from solver.operators.wave_vortex import need_waves as need_waves, split_waves as split_waves
