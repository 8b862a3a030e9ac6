"""Equations between walls beside the second program: fields after five steps, columns of the series."""

import jax
import numpy as np
import pytest
import tomli_w

import solver as sw
from reference.comparison import assert_the_same
from solver.assemble.build import Assembly
from solver.assemble.devices import device_meshes
from solver.assemble.registry import Registry
from solver.config import load

VALUES = {"lower": {"value": 1.0}, "upper": {"value": -0.5}}
SLOPES = {"lower": {"slope": 0.4}, "upper": {"slope": 0.0}}
STILL, HELD = {s: {"slope": 0.0} for s in ("lower", "upper")}, {s: {"value": 0.0} for s in ("lower", "upper")}
ROBIN = {"lower": {"robin": [1.0, -0.5, 2.0]}, "upper": {"robin": [0.3, 0.6, 0.1]}}
MIXED = {"lower": {"robin": [1.0, -0.5, 2.0]}, "upper": {"value": 0.2}}
FREE, ONE_MOVES = {"lower": "free-slip", "upper": "free-slip"}, {"lower": {"moving": 0.4}, "upper": "free-slip"}
TEXT = [
    "dt(u) = nu*lap(u) - u@grad(u) - grad(p) + 0.5*b*up + cause(wave, grad(b*b)/3)",
    "dt(b) = cause(spread, nu*lap(b)) - div(b*u) + sin(x)*b + explicit(dy(b)) + b*dy(b) + 0.1*t - u.up",
    "div(u) = 0", "b(bottom) = 0.5", "dy(b)(top) = -1",
]  # fmt: skip
SWINGS = {"lower": {"moving": "cos(3*t)"}, "upper": {"moving": ["viscosity*exp(t) - 0.5"]}}
VARY = {"lower": {"robin": [1.0, -0.5, "2 + cos(2*pi*x/3 + t)"]}, "upper": {"slope": "sin(2*pi*x/3)*t - 1"}}
TIMED = [
    "dt(c) = nu*lap(c) - div(c*grad(q)) - a*c", "dt(q) = cause(spread, lap(q)) + c*c", "dx(c)(bottom) = sin(t)",
    "c(top) = 0.5 + a*t**2", "dx(q)(bottom) = -a*exp(-t)",
]  # fmt: skip
CHANNEL = [
    "dt(q) = -div(perp(psi)*q) - cause(planet, a*dx(psi)) + cause(spread, nu*lap(q)) - dy(chi)*q",
    "dt(m) = q*psi + nu*lap(m) - explicit(dy(psi))", "lap(psi) - 2*psi + chi = q + sin(x)*cos(t)",
    "lap(chi) - chi = m*q", "psi(bottom) = cos(2*t)", "dy(chi)(bottom) = a", "m(bottom) = 0.2", "m(top) = t",
]  # fmt: skip
# equation, conditions, points, lengths, stepper, number of devices, uniform force by field
ROWS = {
    "rayleigh-benard": ({"rayleigh": 1e4, "prandtl": 0.7}, {"temperature": VALUES}, [8, 11], [2.0, 1.0], "krogstad4"),
    "rayleigh-benard, turned": (
        {"rayleigh": 1e4, "rotation": 0.7},
        {"temperature": MIXED, "velocity": {"lower": {"moving": [0.5, -1.0]}, "upper": "free-slip"}},
        [7, 6, 9], [2.0, 3.0, 1.0], "etdrk5s4", 2,
    ),
    "navier-stokes": (
        {"viscosity": 0.05, "drag": 0.2, "scalars": {"c": {"diffusivity": 0.03, "mean_gradient": [0.3, 1.0]}}},
        {"velocity": SWINGS, "c": VARY},
        [9, 8], [3.0, 1.5], "imexrk3", 1, {"velocity": [0.5, 0.0], "c": [0.4]},
    ),
    "boussinesq": (
        {"viscosity": 0.05, "diffusivity": 0.03, "buoyancy_frequency": 1.5},
        {"buoyancy": SLOPES, "velocity": ONE_MOVES},
        [8, 9], [3.0, 1.5], "sbdf3",
    ),
    "mhd": (
        {"viscosity": 0.05, "resistivity": 0.03, "mean_field": [0.3, 0.2]},
        {"magnetic_field": FREE, "velocity": {"lower": {"moving": 0.4}}}, [8, 9], [3.0, 1.5], "sbdf2",
    ),
    "oldroyd-b": (
        {"viscosity": 0.05, "polymer_viscosity": 0.5, "relaxation_time": 1.0, "stress_diffusivity": 0.02},
        {"stress": MIXED, "velocity": ONE_MOVES}, [8, 9], [3.0, 1.5], "etdrk2",
    ),
    "allen-cahn": ({"wall_width": 0.2}, {"u": VALUES}, [12], [1.5], "etdrk4"),
    "fisher-kpp": ({}, {"u": MIXED}, [9], [1.5], "etdrk3"),
    "gray-scott": ({}, {"u": VALUES, "v": SLOPES}, [8], [1.5], "imexrk2"),
    "brusselator": ({}, {"u": MIXED, "v": SLOPES}, [11], [1.5], "cnab2"),
    "keller-segel, slopes": ({}, {"cells": SLOPES, "signal": SLOPES}, [5, 4, 9], [3.0, 2.0, 1.5], "krogstad4"),
    "keller-segel, one mixture": ({}, {"cells": SLOPES, "signal": MIXED}, [7, 9], [3.0, 1.5], "etdrk2"),
    "written": (
        {"write": TEXT, "fields": {"u": "vector", "b": "scalar"}, "unknowns": {"p": "scalar"},
         "parameters": {"nu": 0.05}},
        {"u": FREE}, [7, 10], [2.0, 1.0], "krogstad4",
    ),
    "written, walls in time": (
        {"write": TIMED, "fields": {"c": "scalar", "q": "scalar"}, "parameters": {"nu": 0.05, "a": 0.3}},
        {"q": {"upper": {"robin": [1.0, 0.5, "cos(a*t)"]}}}, [12], [1.5], "etdrk5s4",
    ),
    "written, stream functions": (
        {"write": CHANNEL, "fields": {"q": "scalar", "m": "scalar"}, "unknowns": {"psi": "scalar", "chi": "scalar"},
         "parameters": {"nu": 0.05, "a": 0.3}},
        {"q": SLOPES, "psi": {"upper": {"value": 0.4}}, "chi": {"upper": {"robin": [0.3, 0.6, 0.1]}}},
        [8, 11], [2.0, 1.0], "krogstad4",
    ),
    "two-layer-quasi-geostrophic": (
        {"deformation_wavenumber": 4.0, "shear": 0.5, "beta": 1.5},
        {**dict.fromkeys(("upper_pv", "lower_pv"), STILL), **dict.fromkeys(("psi_1", "psi_2"), HELD)},
        [9, 10], [3.0, 1.0], "etdrk4", 2,
    ),
    "written, without values": (
        {"write": ["dt(b) = lap(b)/9 - b*dx(b) - b**3"], "fields": {"b": "scalar"}},
        {"b": ROBIN}, [10], [1.5], "etdrk4",
    ),
}  # fmt: skip


def table_of(name):
    given, walls, shape, lengths, stepper, *more = ROWS[name]
    section = {key: value for key, value in given.items() if key != "scalars"}
    devices, force = [*more, *[1, {}][len(more) :]]
    return {
        "grid": {"shape": shape, "lengths": lengths, "walls": "xyz"[len(shape) - 1]},
        "equation": {"name": name.partition(",")[0], **section}, "walls": walls,
        "scalars": given.get("scalars", {}),
        "time": {"stepper": stepper, "step": 0.01, "end": 0.05}, "devices": {"use": list(range(devices))},
        **({"forcing": {n: {"name": "uniform", "acceleration": a} for n, a in force.items()}} if force else {}),
    }  # fmt: skip


def assembled(table, tmp_path):
    (tmp_path / "run.toml").write_bytes(tomli_w.dumps(table).encode())
    config = load(tmp_path / "run.toml", Registry())
    return Assembly(config, device_meshes(config)[0])


# other rows have their terms and conditions, too
THOROUGH = (
    "rayleigh-benard", "navier-stokes", "boussinesq", "oldroyd-b", "allen-cahn", "fisher-kpp", "brusselator",
    "keller-segel, slopes", "keller-segel, one mixture", "two-layer-quasi-geostrophic",
)  # fmt: skip


@pytest.mark.every_case
@pytest.mark.slow
@pytest.mark.parametrize("name", [pytest.param(n, marks=[pytest.mark.thorough] * (n in THOROUGH)) for n in ROWS])
def test_fields_and_columns_between_walls_are_those_of_the_second_program(name, tmp_path):
    table = table_of(name)
    assembly = assembled(table, tmp_path)
    equation, state = assembly.equation, assembly.start()
    noise = {n: 0.1 * space.random(jax.random.key(i)) for i, (n, space) in enumerate(equation.spaces.items())}
    fields = equation.to_manifold({n: state.field[n] + change for n, change in noise.items()})
    kept = {n: np.asarray(v) for n, v in equation.at_time(0.0).to_physical(fields).items()}
    after = sw.integrate(equation, assembly.stepper, state.replace(field={**state.field, **fields}), step=0.01, steps=5)
    alone, equation = {n: after.field[n] for n in equation.fields}, equation.at_time(after.t)
    found = {n: np.asarray(v) for n, v in equation.to_physical(alone).items()}
    row = {n: float(v) for n, v in equation.series(alone, 0.01).items()}

    assert_the_same(table, kept, found, row, of_fields=1e-12, rtol=1e-11, atol=1e-14)
