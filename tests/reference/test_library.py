"""Every equation of the library beside the second program: fields after five steps, columns of the series."""

import jax.numpy as jnp
import numpy as np
import pytest

import solver as sw
from reference import library, runs
from reference.comparison import assert_the_same
from solver.assemble.classes import built_in

DEVICES = {1: 1, 2: 2, 3: 4}
ONE_D, THREE_D = {"korteweg-de-vries", "modified-korteweg-de-vries"}, {"hall-mhd", "reduced-mhd"}
GIVEN = {
    "navier-stokes": {"viscosity": 0.02, "drag": 0.1},
    "navier-stokes of large eddies": {"viscosity": 0.01},
    "boussinesq": {"viscosity": 0.02, "diffusivity": 0.03, "buoyancy_frequency": 1.5},
    "mhd": {"viscosity": 0.02, "resistivity": 0.03, "mean_field": [0.3, 0.2]},
    "hall-mhd": {"viscosity": 0.02, "resistivity": 0.03, "ion_inertial_length": 0.2, "mean_field": [0.3, 0.2, -0.1]},
    "burgers": {"viscosity": 0.03},
    "advection-diffusion": {"diffusivity": 0.01, "velocity": [0.3, 0.2], "cell_speed": 0.7},
    "two-layer-quasi-geostrophic": {"deformation_wavenumber": 2.0, "shear": 0.5, "drag": 0.1, "beta": 0.3},
    "multi-layer-quasi-geostrophic": {
        "layers": ["a", "b", "c"], "thicknesses": [0.2, 0.5, 0.9], "reduced_gravities": [0.3, 0.7], "coriolis": -1.3,
        "surface_gravity": 2.0, "mean_flows": [0.6, 0.2, -0.1], "drag": 0.1, "beta": 0.3, "viscosity": 0.01,
        "hyperviscosity": 1e-4, "topography": "0.6*cos(x)*sin(2*pi*y/5) + 0.2*sin(x)",
    },
    "vorticity": {"viscosity": 0.02, "beta": 0.7, "drag": 0.1, "hyperviscosity": 1e-4},
    "vorticity over hills": {"viscosity": 0.02, "beta": 0.7, "mean_velocity": [0.4, -0.3], "deformation_radius": 0.8,
                             "topography": "0.6*cos(x)*sin(2*pi*y/5) + 0.2*sin(x)"},
    "hasegawa-wakatani": {"modified": True, "viscosity": 0.01, "diffusivity": 0.02},
    "hasegawa-mima": {"viscosity": 0.01, "density_gradient": 0.4},
    "nonlinear-schroedinger": {"coupling": -0.7, "damping": 0.1, "hbar_over_mass": 0.8},
    "nonlinear-schroedinger split": {"coupling": -0.7, "hbar_over_mass": 0.8},
    "coupled-gross-pitaevskii": {"coupling_11": 0.7, "coupling_22": -0.5, "coupling_12": 1.1, "hbar_over_mass_1": 0.9,
                                 "hbar_over_mass_2": 1.4},
    "coupled-gross-pitaevskii split": {"coupling_11": 0.7, "coupling_22": -0.5, "coupling_12": 1.1,
                                       "hbar_over_mass_1": 0.9, "hbar_over_mass_2": 1.4},
    "klein-gordon": {"coupling": 0.5},
    "gross-pitaevskii": {"coupling": 0.7, "trap": [0.3, 0.2], "chemical_potential": 0.4, "hbar_over_mass": 1.3},
    "schroedinger-poisson": {"coupling": 1.4, "hbar_over_mass": 0.6},
    "reduced-mhd": {"viscosity": 0.1, "resistivity": 0.2, "hyperviscosity": 1e-4},
    "surface-quasi-geostrophic": {"diffusivity": 0.1, "exponent": 0.6},
    "active-nematic": {"friction": 0.3, "disorder": 0.4, "activity": -1.2, "alignment": 1.3, "saturation": 1.5},
    "fene-p": {"longest": 6.0, "relaxation_time": 0.7, "stress_diffusivity": 0.02},
    "kuramoto-sivashinsky": {"antidiffusivity": 0.7, "hyperdiffusivity": 0.3, "steepening": -1.4, "damping": 0.2},
}  # fmt: skip
DYE = {"diffusivity": 0.03, "mean_gradient": [0.3, 1.0]}
MADE = {"diffusivity": 0.02, "decay": 0.7, "source": "0.3*dye + t*cos(x)"}
SCALARS = {
    "navier-stokes": {"c": DYE},
    "navier-stokes of large eddies": {"c": DYE},
    "vorticity over hills": {"dye": DYE, "made": MADE},
    "two-layer-quasi-geostrophic": {"dye": {**DYE, "field": "lower_velocity"}, "upper": {}},
    "reduced-mhd": {"age": {"source": "1", "mean_gradient": [0.1, 0.2, 0.3], "units": "time"}},
}
BETWEEN_WALLS = {"rayleigh-benard"}  # test_walls.py
AROUND_ONE = {"gray-scott", "brusselator", "keller-segel"}


NAMES = sorted({*library.TABLE, *library.BUILT, *runs.SPLIT, *GIVEN} - BETWEEN_WALLS)
# others have their terms, too
THOROUGH = {
    "modified-korteweg-de-vries", "nonlinear-schroedinger split", "two-layer-quasi-geostrophic", "fisher-kpp",
    "brusselator", "vorticity", "swift-hohenberg",
}  # fmt: skip


@pytest.mark.every_case
@pytest.mark.slow
@pytest.mark.parametrize("case", [pytest.param(n, marks=[pytest.mark.thorough] * (n in THOROUGH)) for n in NAMES])
def test_fields_and_columns_are_those_of_the_second_program(case, make_grid):
    name, given, scalars = case.partition(" ")[0], GIVEN.get(case, {}), SCALARS.get(case, {})
    is_split = case.endswith(" split") or name in runs.SPLIT
    rule = {"dealias": "none"} if is_split else {}
    dimensions = 1 if name in ONE_D else 3 if name in THREE_D else 2
    shape = [[16], [16, 12], [9, 8, 10]][dimensions - 1]
    lengths = [2 * np.pi, 5.0, 4.0][:dimensions]
    table = {
        "grid": {"shape": shape, "lengths": lengths, **rule}, "equation": {"name": name, **given}, "scalars": scalars,
        "time": {"stepper": "yoshida4" if is_split else "ifrk4", "step": 0.01, "end": 0.05},
    }  # fmt: skip
    closure = {"constant": 0.4, "turbulent_schmidt": 0.5} if case.endswith(" of large eddies") else {}
    table |= {"closure": {"name": "smagorinsky", **closure}} if closure else {}
    closed = {"closure": sw.closures.Smagorinsky(**closure)} if closure else {}
    carried = {"scalars": {n: sw.PassiveScalar(**one) for n, one in scalars.items()}} if scalars else {}
    kind = built_in("equation")[name]
    grid = make_grid(tuple(shape), devices=DEVICES[dimensions], lengths=tuple(lengths), real=kind.is_real(), **rule)
    equation = kind(grid, **{k: tuple(v) if isinstance(v, list) else v for k, v in given.items()}, **closed, **carried)
    random = np.random.default_rng(0)
    start = {
        n: 0.5 * random.standard_normal(v.shape) + (name in AROUND_ONE)
        + (0.3j * random.standard_normal(v.shape) if jnp.iscomplexobj(v) else 0)
        for n, v in equation.values_at_points().items()
    }  # fmt: skip
    stepper = sw.steppers.Yoshida4() if is_split else sw.steppers.IFRK4()
    state = sw.initial_state(equation, stepper, {n: jnp.asarray(v) for n, v in start.items()})
    kept = {n: np.asarray(v) for n, v in equation.to_physical(state.field).items()}
    after = sw.integrate(equation, stepper, state, step=0.01, steps=5)
    found = {n: np.asarray(v) for n, v in equation.to_physical(after.field).items()}
    row = {n: float(v) for n, v in equation.series(after.field, 0.01).items()}

    assert_the_same(table, kept, found, row, of_fields=1e-13, rtol=1e-12, atol=1e-15)
