"""A run: what a run file's table leads to."""

from __future__ import annotations

import numpy as np

from . import library
from .box import Box
from .forcings import force
from .splitting import Wavefunction
from .steppers import STEPPERS, Linear, Pair, Phi
from .system import System

NOT_NUMBERS = {"name", "scalars", "diffusivities", "mean_gradients", "cell_periods", "energy_budget"}


SPLIT = {"gross-pitaevskii", "schroedinger-poisson"}


class NotKnown(Exception):
    """What this program does not know (yet)."""


def length(value):
    """A number, or a multiple of pi as `2 pi`."""
    if isinstance(value, str):
        return float(value.replace("pi", "").strip() or 1) * np.pi
    return float(value)


def system_of(table, bodies=None):
    """The box and the equations of a table."""
    grid, section = table["grid"], dict(table["equation"])
    shape = grid["shape"]
    lengths = grid.get("lengths", "2 pi")
    lengths = [length(v) for v in (lengths if isinstance(lengths, list) else [lengths] * len(shape))]
    name, d = section["name"], len(shape)
    box = Box(shape, lengths, grid.get("dealias", "none" if name in SPLIT else "two-thirds"))
    if name in SPLIT:
        return Wavefunction(box, section)
    if name == "written":
        lines = section["write"]
        return System(
            box, [lines] if isinstance(lines, str) else lines, section["fields"], section.get("parameters", {}),
            section.get("unknowns", {}), section.get("define", {}), section.get("functions"),
            section.get("energies"), section.get("series"), tuple(section.get("means", {})),
        )  # fmt: skip
    if name not in library.TABLE and name not in library.BUILT:
        raise NotKnown(name)
    entry = library.BUILT[name](section, d) if name in library.BUILT else library.TABLE[name]
    numbers = {**entry["defaults"], **{k: v for k, v in section.items() if k not in NOT_NUMBERS}}
    if name == "advection-diffusion" and section.get("cell_speed"):
        periods = section.get("cell_periods", 1)
        numbers |= {"a": 2 * np.pi * periods / lengths[0], "b": 2 * np.pi * periods / lengths[1]}
    return System(
        box, entry["lines"], entry["fields"], {k: complex_or(v) for k, v in numbers.items()}, entry["unknowns"],
        entry["define"], None, entry["energies"], entry["series"], entry["no_mean"],
    )  # fmt: skip


def complex_or(value):
    return int(value) if isinstance(value, bool) else value


class Problem:
    """What a stepper sees: L, and N of a pair of coefficients and integrals.

    The integrals are those of the budgets: what each cause has changed of each energy since the start.

    Args:
        system: the equations.
        forces: by field name, what gives a force (`forcings.force`).
    """

    def __init__(self, system, forces):
        self.system, self.linear, self.step, self.kept = system, Linear(system.L), 0, {}
        self.forces = forces
        self.alternates = system.box.rule == "phase-shift-alternating"
        causes = [*system.causes, "nonlinear", *(["forcing"] if forces else [])]
        self.budget = [(energy, cause) for energy in system.energies for cause in causes]

    def phi(self, dt):
        if dt not in self.kept:
            self.kept = {dt: Phi(self.linear, dt)}
        return self.kept[dt]

    def nonlinear(self, pair, t, evaluation):
        system, fields = self.system, pair.fields
        if self.alternates:
            system.box.shift = np.full(system.box.dimensions, 0.5 * ((self.step + evaluation) % 2))
        changes = {"nonlinear": system.nonlinear(fields, t)}
        system.box.shift = np.zeros(system.box.dimensions)
        for name, force_on in self.forces.items():
            mine = [i for i, part in enumerate(system.names) if part.partition(".")[0] == name]
            forced = system.projected(name, force_on(fields[mine]))
            changes["forcing"] = changes.get("forcing", 0) + forced
        whole = sum(changes.values())
        for cause, matrix in system.causes.items():
            changes[cause] = np.einsum("ij...,j...->i...", matrix, fields)
        rates = [system.rate_of_energy(system.energies[e], fields, changes[cause]) for e, cause in self.budget]
        return Pair(whole, np.array(rates))


def fields_at_start(system, values):
    """Coefficients of given values at the points by field name, without means that fields cannot have."""
    arrays = []
    for part in system.names:
        name, _, index = part.partition(".")
        of_field = values[name]
        arrays.append(system.box.start(of_field[_position(system, name, index)] if index else of_field[0]))
    return system.without_means(arrays)


def _position(system, name, index):
    """Which stored component of a field has this index."""
    return list(dict.fromkeys(system.parts[name].values())).index(f"{name}.{index}")


def values_at_points(system, fields):
    """Values `(component, *points)` by field name."""
    found = {}
    for name in system.fields:
        parts = [i for i, part in enumerate(system.names) if part.partition(".")[0] == name]
        values = np.array([system.box.at_points(fields[i]) for i in parts])
        found[name] = values if name in system.complex else values.real
    return found


def run(table, start, record=(), times=None):
    """Steps from given values at the points.

    Args:
        table: the run file.
        start: values `(component, *points)` by field name.
        record: numbers of steps at which columns are wanted.
        times: of all states, where steps are not of one size: how long they are is not this program's to choose.

    Returns:
        Values at the points at the end, the columns by step, and the spectra at the end.
    """
    system, time = system_of(table), table["time"]
    if times is None:
        times = np.arange(round(time["end"] / time["step"]) + 1) * time["step"]
        sizes = [time["step"]] * (len(times) - 1)
    else:
        sizes = np.diff(times)
    if isinstance(system, Wavefunction):
        return system.run(time["stepper"], sizes, start, record)
    if time["stepper"] not in STEPPERS:
        raise NotKnown(time["stepper"])
    problem = Problem(system, forces_of(table, system))
    pair = Pair(fields_at_start(system, start), np.zeros(len(problem.budget)))
    past, columns = None, {}
    for number, t in enumerate(times):
        if number in record:
            integrals = zip(problem.budget, pair.integrals, strict=True)
            budgets = {f"{energy}_from_{cause}": value for (energy, cause), value in integrals}
            columns[number] = {**system.columns(pair.fields), **budgets}
        problem.step = number
        if number < len(sizes):
            pair, past = STEPPERS[time["stepper"]](problem, pair, t, sizes[number], past)
    return values_at_points(system, pair.fields), columns, system.spectra(pair.fields)


def forces_of(table, system):
    """By field name, what gives its force."""
    section = table.get("forcing", {})
    if "name" in section:
        section = {next(iter(system.fields)): section}
    return {name: force(one, system, name, system.box) for name, one in section.items()}
