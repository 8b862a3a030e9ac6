"""Run files that tests of several rooms write."""


def written(folder, text, **others):
    """The path of `run.toml` in a folder, with this text, and beside it other files by their stems, in Python."""
    for stem, lines in others.items():
        (folder / f"{stem}.py").write_text(lines)
    path = folder / "run.toml"
    path.write_text(text)
    return path


def convection(shape, rayleigh, amplitude, rest, prandtl=1.0):
    """Rayleigh–Bénard convection in a plane, from conduction with a disturbance; `rest` are the other tables."""
    return f"""
[grid]
shape = {shape}
lengths = [2.0, 1.0]
walls = "y"
[equation]
name = "rayleigh-benard"
rayleigh = {rayleigh}
prandtl = {prandtl}
[walls.temperature]
lower = {{ value = 1.0 }}
upper = {{ value = 0.0 }}
[initial.temperature]
name = "conduction"
amplitude = {amplitude}
{rest}"""


def members(rest, *, ensemble, grid, end, devices, equation=""):
    """An ensemble of vortices: two of each drawn viscosity, with half the energy and all of it."""
    return f"""
title = "many"
[ensemble]
{ensemble}
draw = {{ "equation.viscosity" = {{ log_uniform = [1e-3, 1e-2] }}, "random.seed" = "member" }}
sweep = {{ "initial.energy" = [0.5, 1.0] }}
[grid]
{grid}
[equation]
name = "vorticity"
{equation}
[initial]
name = "random-phase"
peak = 2.0
[time]
stepper = "ifrk2"
step = 0.01
end = {end}
[devices]
use = {devices}
[output]
{rest}"""
