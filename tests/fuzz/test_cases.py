"""The smallest run file of each fault that was found by invention, and the trial that saw it."""

import pytest

from fuzz.trials import TRIALS

SHORT = {"stepper": "etdrk2", "step": 0.003, "end": 0.018}
OUTPUT = {"series": {"every_steps": 1}, "snapshots": {"every_steps": 6}}
CASES = {
    # the second program counted a component off the diagonal once
    "length of a symmetric tensor": ("reference", {
        "grid": {"shape": [14, 8], "lengths": [2.5, 2.5]}, "equation": {"name": "oldroyd-b", "relaxation_time": 0.3},
        "initial": {"velocity": {"name": "noise"}, "stress": {"name": "random-phase", "energy": 0.2, "peak": 7.5}},
        "time": SHORT, "devices": {"use": [0]}, "random": {"seed": 1},
        "output": {**OUTPUT, "spectra": {"every_steps": 6}, "domain-length": {"every_steps": 3}},
    }, "same"),
    # a complex field has more modes to split than the real one that its grid was first made for
    "complex field on as many devices as it has planes": ("reference", {
        "grid": {"shape": [8, 10], "dealias": "three-halves"},
        "equation": {"name": "written", "fields": {"q": "wavefunction"}, "write": ["dt(q) = nu*lap(q)"],
                     "parameters": {"nu": 0.05}},
        "initial": {"name": "noise"}, "time": SHORT, "devices": {"use": [0, 1, 2, 3, 4, 5, 6, 7]}, "output": OUTPUT,
    }, "same"),
    # the inverse of a matrix was of double precision
    "a matrix for each mode, implicitly in single precision": ("reference", {
        "grid": {"shape": [8], "precision": "float32"},
        "equation": {"name": "written", "fields": {"q": "scalar", "r": "scalar"},
                     "write": ["dt(q) = lap(q) - dx(r)", "dt(r) = lap(r) - dx(q)"]},
        "initial": {"q": {"name": "noise", "amplitude": 0.3}, "r": {"name": "noise", "amplitude": 0.3}},
        "time": {**SHORT, "stepper": "cnab2"}, "devices": {"use": [0]}, "output": OUTPUT,
    }, "same"),
    # of the images of a soliton five were added up, however many lie within its width
    "a soliton wider than the box": ("reference", {
        "grid": {"shape": [8], "lengths": 1.0, "precision": "float32"},
        "equation": {"name": "modified-korteweg-de-vries"}, "initial": {"name": "mkdv-solitons"},
        "time": SHORT, "devices": {"use": [0]}, "output": OUTPUT,
    }, "same"),
    # the fields of a checkpoint, which are filtered, went through the filter once more
    "a branch under the smooth rule": ("branch", {
        "grid": {"shape": [14], "dealias": "smooth"}, "equation": {"name": "fisher-kpp"},
        "initial": {"name": "random-phase", "energy": 0.2, "peak": 3.0}, "time": {**SHORT, "stepper": "etdrk4"},
        "devices": {"use": [0]}, "random": {"seed": 1},
        "forcing": {"name": "white-noise", "power": 0.2, "low": 0.0, "high": 2.0}, "output": OUTPUT,
    }, "a branch"),
    # of wider ones too few images are added up, and they are no solitons
    "solitons as wide as the box": ("reference", {
        "grid": {"shape": [13], "lengths": 1.0}, "equation": {"name": "korteweg-de-vries"},
        "initial": {"name": "kdv-solitons", "speeds": [2.0, 0.5]},
        "time": SHORT, "devices": {"use": [0]}, "output": OUTPUT,
    }, "refused"),
    # what a mode at the Nyquist wavenumber is between the points depended on the axis that is halved
    "places and distances between the points, with Nyquist modes": ("reference", {
        "grid": {"shape": [6, 7], "dealias": "none", "lengths": [3.0, 5.0]}, "equation": {"name": "fisher-kpp"},
        "initial": {"name": "noise", "amplitude": 0.3}, "time": SHORT, "devices": {"use": [0]},
        "output": {**OUTPUT, "points": {"at": [[0.7, 0.4]]}, "structure-functions": {}},
    }, "same"),
    # between fields without divergence L was a trace, which counts one direction too many where no derivative is
    "modes that no derivative sees, in a flow whose linear terms couple its components": ("reference", {
        "grid": {"shape": [7, 8], "dealias": "none"},
        "equation": {"name": "written", "fields": {"u": "vector"}, "unknowns": {"p": "scalar"},
                     "write": ["dt(u) = nu*lap(u) - grad(p) + a*grad(div(u))", "div(u) = 0"],
                     "parameters": {"nu": 0.5, "a": 0.3}},
        "initial": {"name": "noise", "amplitude": 0.3}, "time": SHORT, "devices": {"use": [0]}, "output": OUTPUT,
    }, "same"),
    # the square of a forced wavenumber was no number, which ended `check` with the error of Python
    "a forced band beyond all modes": ("reference", {
        "grid": {"shape": [8, 8]}, "equation": {"name": "fisher-kpp"}, "initial": {"name": "noise"},
        "forcing": {"name": "constant-power", "power": 0.5, "low": 1e200, "high": 1e201},
        "time": SHORT, "devices": {"use": [0]}, "output": OUTPUT,
    }, "refused"),
    # the devices that analyse had the bodies in the order of their names, the file's first line as they are given
    "bodies out of alphabetical order, with groups of devices": ("reference", {
        "grid": {"shape": [12, 12], "lengths": [9.0, 9.0]},
        "equation": {"name": "navier-stokes", "viscosity": 0.3}, "initial": {"name": "noise", "amplitude": 0.3},
        "time": SHORT, "devices": {"groups": {"step": 2, "analyse": 1}},
        "body": {name: {"shape": "cylinder", "centre": [1.29, y], "radius": 1.8, "eta": 0.2, "velocity": [0.2, 1.0]}
                 for name, y in (("disc", 2.14), ("b", 6.64))},
        "output": OUTPUT,
    }, "same"),
    # a plan that saves transforms differentiated products which are not 0 at the walls
    "products that are not 0 at the walls": ("reference", {
        "grid": {"shape": [5, 8], "walls": "y", "lengths": [3.0, 1.5]},
        "equation": {"name": "oldroyd-b", "viscosity": 0.05, "polymer_viscosity": 0.5, "relaxation_time": 1.0,
                     "stress_diffusivity": 0.02},
        "walls": {"stress": {"lower": {"slope": 0.5}, "upper": {"slope": 0.0}}},
        "initial": {"velocity": {"name": "file", "path": "random 1 0.1"},
                    "stress": {"name": "file", "path": "random 2 0.1"}},
        "time": SHORT, "devices": {"use": [0]}, "output": OUTPUT,
    }, "same"),
    # the resolution of a front in a periodic box was asked for
    "allen-cahn between walls": ("reference", {
        "grid": {"shape": [8], "walls": "x", "lengths": 1.0}, "equation": {"name": "allen-cahn", "wall_width": 0.02},
        "walls": {"u": {"lower": {"slope": 1.0}, "upper": {"robin": [0.2, 4.0, 0.0]}}},
        "initial": {"name": "file", "path": "random 1 0.1"}, "time": SHORT, "devices": {"use": [0]}, "output": OUTPUT,
    }, "same"),
    # a start from a file kept the other fields' starts from being traced, and run refused what check had not
    "a start that a layer does not have, next to one from a file": ("reference", {
        "grid": {"shape": [8], "walls": "x", "lengths": 1.0}, "equation": {"name": "gray-scott"},
        "walls": {name: {"lower": {"slope": 0.0}, "upper": {"slope": 0.0}} for name in "uv"},
        "initial": {"u": {"name": "random-phase"}, "v": {"name": "file", "path": "random 1 0.1"}},
        "time": SHORT, "devices": {"use": [0]}, "output": OUTPUT,
    }, "refused"),
    # a field with several components had no profile at rest, and noise of a scalar asked for a Fourier transform
    "noise, and a tensor at rest": ("reference", {
        "grid": {"shape": [5, 8], "walls": "y", "lengths": [3.0, 1.5]},
        "equation": {"name": "written", "fields": {"s": "symmetric tensor", "c": "scalar"},
                     "write": ["dt(s) = lap(s) - c*s", "dt(c) = lap(c)"]},
        "walls": {"s": {"lower": {"value": 1.0}, "upper": {"slope": 0.0}},
                  "c": {"lower": {"slope": 0.0}, "upper": {"robin": [1.0, 1.0, 0.0]}}},
        "initial": {"c": {"name": "noise"}}, "time": SHORT, "devices": {"use": [0]}, "output": OUTPUT,
    }, "same"),
    # another run as the start of several fields was no start between walls
    "a branch between walls": ("branch", {
        "grid": {"shape": [8], "walls": "x", "lengths": 1.0}, "equation": {"name": "gray-scott"},
        "walls": {name: {"lower": {"slope": 0.0}, "upper": {"slope": 0.0}} for name in "uv"},
        "time": SHORT, "devices": {"use": [0]}, "output": OUTPUT,
    }, "a branch"),
    # the places of points between walls, in the folder of mean fields, were taken for a file of means
    "mean fields between walls": ("resume", {
        "grid": {"shape": [8, 8], "walls": "y", "lengths": 1.0}, "equation": {"name": "fisher-kpp"},
        "walls": {"u": {"lower": {"value": "1 + sin(9*t)"}, "upper": {"slope": 0.0}}},
        "time": {**SHORT, "stepper": "krogstad4"}, "devices": {"use": [0]},
        "output": {**OUTPUT, "statistics": {"sample_steps": 1, "fields": ["u"], "of": []}},
    }, "same bits"),
    # means over time had the wall of the last state, and devices that analyse a wall of no time
    "walls that move, means over time, and groups of devices": ("reference", {
        "grid": {"shape": [6, 8], "walls": "y", "lengths": 1.0}, "equation": {"name": "fisher-kpp"},
        "walls": {"u": {"lower": {"value": "1 + sin(30*t)"}, "upper": {"slope": "cos(2*pi*x - 30*t)"}}},
        "time": {**SHORT, "stepper": "krogstad4"}, "devices": {"groups": {"step": 1, "analyse": 1}},
        "output": {**OUTPUT, "statistics": {"sample_steps": 1, "fields": ["u"], "of": []}},
    }, "same"),
    # the acceleration was asked for where no state of the forcing was known
    "accelerations at particles under a force that follows the flow": ("resume", {
        "grid": {"shape": [8, 8]}, "equation": {"name": "navier-stokes", "viscosity": 0.1},
        "initial": {"name": "noise"}, "time": {**SHORT, "stepper": "ifrk4"}, "devices": {"use": [0, 1]},
        "forcing": {"name": "frozen-shells", "low": 1.0, "return_time": 0.3, "high": 1.5},
        "particles": {"b": {"kind": "inertial", "start": "lattice", "count": 4, "order": 4, "response_time": 0.1}},
        "output": {**OUTPUT, "particles": {"every_steps": 2, "record": ["acceleration"]}},
    }, "same bits"),
}  # fmt: skip

# tests of particles see it, too
THOROUGH = {"accelerations at particles under a force that follows the flow"}


@pytest.mark.every_case
@pytest.mark.slow
@pytest.mark.parametrize("case", [pytest.param(n, marks=[pytest.mark.thorough] * (n in THOROUGH)) for n in CASES])
def test_what_invention_found(case, tmp_path):
    trial, table, result = CASES[case]
    assert TRIALS[trial](table, tmp_path) == result
