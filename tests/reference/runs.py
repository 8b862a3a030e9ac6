"""A run: what a run file's table leads to."""

from __future__ import annotations

import contextlib
import pkgutil
import re

import numpy as np

from . import library
from .bodies import Bodies
from .box import Box
from .control import Control, NotKnown, next_time, rate_of
from .forcings import force
from .layer import Layer
from .library import STREAMS
from .outputs import Record
from .particles import Particles
from .splitting import OF_TEXTS, STEPS, Wavefunction
from .starts import Start
from .steppers import EMBEDDED, STEPPERS, Pair, Phi
from .system import System
from .walls import RecordBetween, Walled, conditions_of

NOT_NUMBERS = {
    "name", "scalars", "cell_periods", "energy_budget", "layers", "thicknesses", "reduced_gravities", "surface_gravity",
    "coriolis", "mean_flows", "topography", "mean_velocity", "deformation_radius"}  # fmt: skip
SOLENOIDAL = ("magnetic_field",)  # beside what lines of the text say
AT_WALL = re.compile(r"(?:(d[xyz])\((\w+)\)|(\w+))\((bottom|top)\) = (.*)")  # a condition as a line of a text
SQUARE_OF_SLOPES = re.compile(r"square\(grad\((\w+)\)\)")  # of all modes, also of those whose slope nobody knows
SPLIT = {"gross-pitaevskii", "schroedinger-poisson"}


def length(value):
    """A number, or a multiple of pi as `2 pi`."""
    if isinstance(value, str):
        return float(value.replace("pi", "").strip() or 1) * np.pi
    return float(value)


def with_closure(table):
    """The `[equation]` of a table, with the numbers of its `[closure]`, of which Smagorinsky's is known."""
    given, numbers = dict(table.get("closure", {})), {"constant": 0.17, "turbulent_schmidt": 0.7}
    if given.pop("name", "smagorinsky") != "smagorinsky" or ("closure" in table and table["grid"].get("walls")):
        raise NotKnown("closure")
    scalars = table.get("scalars", {})
    return {**table["equation"], **(numbers if "closure" in table else {}), **given, "scalars": scalars}


def system_of(table):
    grid, section = table["grid"], with_closure(table)
    shape, given, name, d = grid["shape"], grid.get("lengths", "2 pi"), section["name"], len(grid["shape"])
    lengths = [length(v) for v in (given if isinstance(given, list) else [given] * d)]
    if grid.get("walls"):
        return between_walls(table, section, Layer(shape, lengths))
    box = Box(shape, lengths, grid.get("dealias", "none" if name in SPLIT else "two-thirds"))
    box.epsilon = 2.0 ** (-23 if grid.get("precision") == "float32" else -52)
    if name in SPLIT:
        return Wavefunction(box, section)
    viscosity = section.get("viscosity", section.get("parameters", {}).get("nu"))
    bodies = Bodies(table, box, viscosity) if table.keys() & {"body", "sponge"} else None
    entry, numbers = entry_of(section, d)
    if name == "advection-diffusion" and section.get("cell_speed"):
        numbers |= dict(zip("ab", 2 * np.pi * section.get("cell_periods", 1) / np.array(lengths), strict=False))
    highest = [k for k in box.highest if k > 0] or [1.0]
    numbers["width"] = np.pi / np.prod(highest) ** (1 / len(highest))
    series = {name: SQUARE_OF_SLOPES.sub(r"(-\1@lap(\1))", text) for name, text in entry["series"].items()}
    return System(
        box, entry["lines"], entry["fields"], numbers, entry["unknowns"],
        entry["define"], functions_of(section), entry["energies"], series, entry["no_mean"], bodies)  # fmt: skip


def functions_of(section):
    """By name; those that a run file names as `module:name` are imported."""
    return {n: pkgutil.resolve_name(f) if isinstance(f, str) else f for n, f in section.get("functions", {}).items()}


def entry_of(section, d):
    """The entry of the library, or that a text is, with passive scalars; and its numbers."""
    name, lines = section["name"], section.get("write", [])
    if name == "written":
        entry = {"lines": [lines] if isinstance(lines, str) else list(lines), "define": {}, "unknowns": {},
                 "energies": None, "series": {}, "no_mean": section.get("means", {}), **section}  # fmt: skip
        given = section.get("parameters", {})
    elif name in library.TABLE or name in library.BUILT:
        entry = library.BUILT[name](section, d) if name in library.BUILT else library.TABLE[name]
        given = {k: int(v) if isinstance(v, bool) else v for k, v in section.items() if k not in NOT_NUMBERS}
    else:
        raise NotKnown(name)
    numbers = {**entry.get("defaults", {}), **given}
    return library.with_scalars(entry, section["scalars"], section, d) if section["scalars"] else entry, numbers


def between_walls(table, section, layer):
    entry, numbers = entry_of(section, layer.dimensions)
    at_walls = [AT_WALL.fullmatch(line) for line in entry["lines"]]
    walls = {name: dict(both) for name, both in table.get("walls", {}).items()}
    for slope, of, name, place, number in (match.groups() for match in at_walls if match):
        condition = {"slope" if slope else "value": number}
        walls.setdefault(of or name, {})["lower" if place == "bottom" else "upper"] = condition
    lines = [line for line, match in zip(entry["lines"], at_walls, strict=True) if not match]
    solenoidal = [name for name in entry["fields"] if f"div({name}) = 0" in entry["lines"] or name in SOLENOIDAL]
    return Walled(
        layer, conditions_of(walls, {**entry["fields"], **walls}, solenoidal), lines, entry["fields"], numbers,
        entry["unknowns"], entry["define"], functions_of(section), entry["energies"], entry["series"])  # fmt: skip


class Problem:
    """What a stepper sees: L, and N of a pair of coefficients and integrals, those of the budgets since the start."""

    def __init__(self, system, forces, carried):
        self.system, self.linear, self.step, self.kept = system, system.operator, 0, {}
        self.forces, self.carried = forces, carried  # and by name particles with the shape of their numbers
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
            moved = changes["nonlinear"] + self.linear.apply(fields)
            forced = system.projected(name, force_on(fields[mine], moved[mine]))
            changes["forcing"] = changes.get("forcing", 0) + forced
        whole = sum(changes.values())
        for cause in system.causes:
            changes[cause], others = system.by_cause(cause, fields)
            changes["nonlinear"] = changes["nonlinear"] - others
        moved = {**changes, "nonlinear": changes["nonlinear"] + system.motion}
        arguments = [(system.energies[e], fields, moved[c], c == "nonlinear") for e, c in self.budget]
        rates = [system.rate_of_energy(*one) for one in arguments]
        tracks, moved = self.tracks(pair), whole + self.linear.apply(fields) if self.carried else 0
        rates += [of.rates(tracks[name], fields, moved).ravel() for name, (of, _) in self.carried.items()]
        return Pair(whole, np.hstack([*rates, []]))

    def tracks(self, pair):
        ends = np.cumsum([len(self.budget), *(np.prod(shape) for _, shape in self.carried.values())])
        parts = np.split(pair.integrals, ends)[1:-1]
        return {name: part.reshape(self.carried[name][1]) for name, part in zip(self.carried, parts, strict=True)}


def fields_at_start(system, values, damped=()):
    """Coefficients of given values at the points by field name, without means that fields cannot have.

    Values are taken to hold kept modes alone, but for `damped` fields, which are transformed as all values are.
    """
    if isinstance(system, Walled):
        return system.fields_of(values)
    arrays = []
    for part in system.names:
        name, _, index = part.partition(".")
        of_field = values[name]
        modes = system.box.modes if name in damped else system.box.start
        arrays.append(modes(of_field[_position(system, name, index)] if index else of_field[0]))
    return system.without_means(arrays)


def start_of(table, given):
    """Values at the points by field name at the start; those that random numbers or files make are as given."""
    system, initial = system_of(table), table.get("initial", {})
    sections = {next(iter(system.fields)): initial} if "name" in initial else initial
    if isinstance(system, Walled):
        return starts_between_walls(system, table, sections, given)
    made = {}
    for name, one in sections.items():
        values = Start(one, table["equation"], system.box, len(given[name])).values()
        made[name] = given[name] if values is None else values
    if isinstance(system, Wavefunction):
        return made
    damped = {n for n in made if made[n] is not given[n]}
    fields = system.constrained(fields_at_start(system, made, damped), [n for n in SOLENOIDAL if n in system.fields])
    return values_at_points(system, fields)


def starts_between_walls(system, table, sections, given):
    """The same between walls, where fields without a start have the profile of their conditions."""
    made, at_rest = {}, system.values_of(system.nothing)
    for name in system.fields:
        one = sections.get(name, {"name": "conduction"})
        if one["name"] == "conduction":
            made[name] = given[name] if one.get("amplitude") else at_rest[name]
        else:
            values = Start(one, table["equation"], system.box, len(given[name])).values()
            made[name] = given[name] if values is None else values
    return system.values_of(system.fields_of(made))


def _position(system, name, index):
    """Which stored component of a field has this index."""
    return list(dict.fromkeys(system.parts[name].values())).index(f"{name}.{index}")


def values_at_points(system, fields):
    """Values `(component, *points)` by field name."""
    if isinstance(system, Walled):
        return system.values_of(fields)
    found = {}
    for name in system.fields:
        parts = [i for i, part in enumerate(system.names) if part.partition(".")[0] == name]
        values = np.array([system.box.at_points(fields[i]) for i in parts])
        found[name] = values if name in system.complex else values.real
    return found


class Course:
    """States of a run: times, sizes of the last whole step, coefficients (of splittings: values), integrals."""

    def __init__(self, system, problem, first, section, first_size):
        self.system, self.problem, self.section = system, problem, section
        self.times, self.sizes, self.states, self.past = [0.0], [first_size], [first], None

    def add(self, *state):
        for known, new in zip((self.times, self.sizes, self.states), state, strict=True):
            known.append(new)

    def state(self, number):
        """A state, and the system at its time."""
        if self.problem is not None:
            self.system.at(self.times[number])
        return self.states[number]

    def values(self, number):
        state = self.state(number)
        if self.problem is None:
            return {"wavefunction": state[None]}
        return values_at_points(self.system, state.fields)

    def rate(self, state):
        return self.system.rate(state) if self.problem is None else rate_of(self.section, self.system, state.fields)

    def columns(self, number):
        state, found = self.state(number), {}
        with contextlib.suppress(NotKnown):
            found["cfl"] = self.sizes[number] * self.rate(state)
        if self.problem is None:
            return found | self.system.columns(state)
        for (energy, cause), value in zip(self.problem.budget, state.integrals, strict=False):
            closed = cause == "nonlinear" and "constant" in self.section and self.system.bodies is None
            found[f"{energy}_from_{'closure' if closed else cause}"] = value
        return found | self.system.columns(state.fields) | self._of_bodies(state.fields, self.times[number])

    def _of_bodies(self, fields, t):
        """Forces on the bodies in a flow, without what forcings do."""
        system = self.system
        if system.bodies is None:
            return {}
        name = next(name for name, rank in system.fields.items() if rank == "vector")
        mine = [i for i, part in enumerate(system.names) if part.partition(".")[0] == name]
        change = self.problem.linear.apply(fields) + system.nonlinear(fields, t)
        at_points = lambda parts: np.array([system.box.at_points(part).real for part in parts])  # noqa: E731
        return system.bodies.columns(at_points(fields[mine]), at_points(change[mine]), t)

    def spectra(self, number):
        state = self.states[number]
        return self.system.spectra(state if self.problem is None else state.fields)

    def record(self, name, section, number):
        """Columns of `[output.NAME]` after a step."""
        nonlinear = lambda fields: self.system.nonlinear(fields, self.times[number])  # noqa: E731
        if isinstance(self.system, Walled):
            whole = self.system.whole(self.state(number).fields)
            return RecordBetween(self.system, whole, section, None, {}).columns(name)
        streams = STREAMS.get(self.section["name"], {})
        return Record(self.system, self.states[number].fields, section, nonlinear, streams).columns(name)


def run(table, start, times=None, places=()):
    """Steps from given values at the points, with particles from `places` `(particle, direction)` by name.

    `times` are time and size of the last whole step of all states, where this program does not know how long steps are.
    """
    system, time, own = system_of(table), table["time"], table["equation"]
    if time["stepper"] not in (*STEPPERS, *STEPS):
        raise NotKnown(time["stepper"])
    if isinstance(system, Wavefunction):
        problem, first = None, start["wavefunction"][0]
    else:
        fields = fields_at_start(system, start)
        velocity = STREAMS.get(own["name"], {}).get("velocity", "velocity"), own.get("mean_velocity") or 0.0
        of = {name: Particles(table["particles"][name], system, velocity) for name in places}
        numbers = {name: of[name].start(np.array(places[name]), fields) for name in of}
        problem = Problem(system, forces_of(table, system), {name: (of[name], numbers[name].shape) for name in of})
        budget = np.zeros(len(problem.budget))
        first = Pair(fields, np.hstack([budget, *(numbers[name].ravel() for name in of)]))
    course = Course(system, problem, first, with_closure(table), time.get("step", 0.0))
    if times is not None:
        for t, dt in times[1:]:
            course.add(t, dt, _stepped(course, time["stepper"], t - course.times[-1])[0])
        return course
    control = Control(time, course.rate, problem, first, scales_of(table["equation"]), table.get("scalars", ()))
    since, count = 0.0, 0  # of steps of one size
    while course.times[-1] < time["end"] * (1 - 1e-9):
        assert len(course.times) < 400, "steps become too short"
        t, state = course.times[-1], course.state(-1)
        target = next_time(table, t, course.sizes[-1])
        proposed = control.propose(state)
        shortened = proposed * (1 + 1e-9) >= target - t
        met = abs(target - t - proposed) <= 1e-9 * proposed
        dt = target - t if shortened and not met else proposed
        after, sizes = _stepped(course, time["stepper"], dt, with_error="tolerance" in time)
        if control.judge(proposed, dt, shortened, sizes):
            since, count = (target, 0) if shortened and not met else (since, count + 1)
            later = target if shortened else since + count * dt if "step" in time else t + dt
            course.add(later, proposed if np.isfinite(proposed) else dt, after)
    return course


def _stepped(course, stepper, dt, *, with_error=False):
    """The state after a step; and by field root mean squares of the error, of the field before and after."""
    system, problem, state, t = course.system, course.problem, course.states[-1], course.times[-1]
    if problem is None:
        return system.step(state, dt, stepper), None
    problem.step = len(course.times) - 1
    after, past = (STEPPERS | OF_TEXTS)[stepper](problem, state, t, dt, course.past)
    if not with_error:
        course.past = past
        return after, None
    other, _ = EMBEDDED[stepper](problem, state, t, dt, None)
    norm = lambda fields, mine: np.sqrt(np.sum(np.abs(fields[mine]) ** 2))  # noqa: E731
    whole = []
    for moment, fields in ((t, state.fields), (t + dt, after.fields)):
        system.at(moment)
        whole.append(system.whole(fields))
    three = (after.fields - other.fields, *whole)
    sizes = {}
    for name in system.fields:
        mine = [i for i, part in enumerate(system.names) if part.partition(".")[0] == name]
        sizes[name] = [norm(fields, mine) for fields in three]
    return after, sizes


def scales_of(section):
    """What errors of each field are relative to."""
    if section["name"] != "boussinesq":
        return lambda sizes: sizes
    n = section.get("buoyancy_frequency", 0.0)
    return lambda sizes: {**sizes, "buoyancy": max(sizes["buoyancy"], n * sizes["velocity"])}


def forces_of(table, system):
    section = table.get("forcing", {})
    if "name" in section:
        section = {next(iter(system.fields)): section}
    return {name: force(one, system, name, system.box) for name, one in section.items()}
