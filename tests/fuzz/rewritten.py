"""The same run file in other words: numbers for parameters, other names, other units."""

from __future__ import annotations

import json
import re
from pathlib import Path
from random import Random
from typing import Any

from reference import runs

from fuzz.against_reference import same_as_the_reference
from fuzz.running import Fault, Table, carried_out, compare_fields

AWKWARD = [
    "energy", "cfl", "step", "time", "speed", "density", "velocity", "vorticity", "k", "dissipation", "psi", "index",
    "component", "rejected", "helicity", "phase", "bodies", "x_max", "q_energy", "forcing", "nonlinear", "linear", "S",
    "E", "I", "lambda_", "since", "samples", "longitudinal", "r", "order", "count", "point", "mode", "budget", "motion",
    "field", "key", "history", "L", "N", "dt_", "t_", "imbalance", "drift", "own", "position", "velocity_x", "real_",
]  # fmt: skip


def _replaced(text: str, name: str, by: str) -> str:
    return re.sub(rf"(?<![\w.]){name}(?!\w)", by, text)


def parameters_are_numbers(table: Table, folder: Path) -> str:
    """A text with numbers in the place of its parameters gives the same fields."""
    section = table["equation"]
    if not section.get("parameters"):
        return "no parameters"
    into = carried_out(table, folder)
    if into is None:
        return "refused"
    lines = section["write"]
    for name, number in section["parameters"].items():
        lines = [_replaced(line, name, f"({number!r})") for line in lines]
    other = {**table, "equation": {**section, "write": lines, "parameters": {}}}
    place = folder / "numbers"
    place.mkdir()
    again = carried_out(other, place)
    if again is None:
        raise Fault("refused with numbers in the place of parameters")
    compare_fields(table, into, again, "with numbers in the place of parameters")
    return "the same"


def names_may_be_awkward(table: Table, folder: Path) -> str:
    """A text whose field has a name that means something elsewhere is refused in one line, or is the same run."""
    section = table["equation"]
    if section["name"] != "written":
        return "no text"
    random, old = Random(json.dumps(table)), next(iter(section["fields"]))
    new = random.choice([name for name in AWKWARD if name not in section["fields"]])
    changed: dict[str, Any] = json.loads(json.dumps(table))
    equation = changed["equation"]
    equation["write"] = [_replaced(line, old, new) for line in equation["write"]]
    if "series" in equation:
        equation["series"] = {n: _replaced(text, old, new) for n, text in equation["series"].items()}
    for holder in (
        equation["fields"],
        equation.get("means", {}),
        changed.get("forcing", {}),
        changed.get("walls", {}),
        changed.get("initial", {}),
    ):
        if "name" not in holder and old in holder:
            changed_holder = {new if n == old else n: value for n, value in holder.items()}
            holder.clear()
            holder.update(changed_holder)
    try:
        return f"{same_as_the_reference(changed, folder)}, renamed"
    except Fault as fault:
        raise Fault(f"field {old} called {new}: {fault}") from fault


# by equation: units of its parameters and of its fields, as powers of length and time
FLOW = {"viscosity": (2, -1), "drag": (0, -1)}
UNITS: dict[str, tuple[dict[str, tuple[int, int]], dict[str, tuple[int, int]]]] = {
    "navier-stokes": (FLOW, {"velocity": (1, -1), "c": (0, 0)}),
    "burgers": (FLOW, {"velocity": (1, -1)}),
    "boussinesq": (
        {**FLOW, "diffusivity": (2, -1), "buoyancy_frequency": (0, -1), "rotation": (0, -1)},
        {"velocity": (1, -1), "buoyancy": (1, -2)},
    ),
    "mhd": ({**FLOW, "resistivity": (2, -1), "mean_field": (1, -1)}, {"velocity": (1, -1), "magnetic_field": (1, -1)}),
    "vorticity": ({**FLOW, "beta": (-1, -1)}, {"vorticity": (0, -1)}),
    "two-layer-quasi-geostrophic": (
        {"deformation_wavenumber": (-1, 0), "shear": (1, -1), "beta": (-1, -1), "drag": (0, -1)},
        {"upper_pv": (0, -1), "lower_pv": (0, -1)},
    ),
    "shallow-water": (
        {"depth": (1, 0), "gravity": (1, -2), "rotation": (0, -1), "viscosity": (2, -1)},
        {"velocity": (1, -1), "height": (1, 0)},
    ),
    "fisher-kpp": ({"diffusivity": (2, -1), "growth": (0, -1)}, {"u": (0, 0)}),
    "klein-gordon": (
        {"wave_speed": (1, -1), "mass": (0, -1), "coupling": (0, -2)}, {"phi": (0, 0), "rate_of_phi": (0, -1)}
    ),
}  # fmt: skip
DEFAULTS = {
    "shallow-water": {"depth": 1.0, "gravity": 1.0, "rotation": 1.0}, "klein-gordon": {"wave_speed": 1.0, "mass": 1.0},
    "fisher-kpp": {"diffusivity": 1.0, "growth": 1.0},
}  # fmt: skip


def _scaled_walls(both: dict[str, Any], unit: float, length: float, second: float) -> dict[str, Any]:
    """Conditions in other units of the field, of length and of time."""

    def times(by: float, given: Any) -> Any:
        if not isinstance(given, str):
            return by * given
        there = _replaced(_replaced(given, "t", f"(t/{second!r})"), "x", f"(x/{length!r})")
        return f"{by!r}*({there})"

    def scaled(word: str, given: Any) -> Any:
        if word == "robin":
            return [given[0], given[1] * length, times(unit, given[2])]
        by = unit / length if word == "slope" else unit
        return [times(by, one) for one in given] if isinstance(given, list) else times(by, given)

    return {
        side: one if isinstance(one, str) else {word: scaled(word, given) for word, given in one.items()}
        for side, one in both.items()
    }


def units_do_not_matter(table: Table, folder: Path) -> str:
    """In units of length and time from 1e-12 to 1e12 a run has the same fields, in these units."""
    section, time = table["equation"], table["time"]
    if section["name"] not in UNITS or "step" not in time or table.keys() & {"forcing", "body", "sponge", "particles"}:
        return "units unknown"
    if any(key.startswith("hyper") for key in section) or table.get("scalars"):
        return "units unknown"
    random = Random(json.dumps(table))
    length, second = (10.0 ** random.choice([-12, -6, -3, 3, 6, 12]) for _ in range(2))
    if table["grid"].get("precision") == "float32":
        length, second = (10.0 ** random.choice([-3, -1, 1, 3]) for _ in range(2))
    scale = lambda unit: length ** unit[0] * second ** unit[1]  # noqa: E731
    of_numbers, of_fields = UNITS[section["name"]]
    numbers = {**DEFAULTS.get(section["name"], {}), **{k: v for k, v in section.items() if k in of_numbers}}
    scaled = {k: [x * scale(of_numbers[k]) for x in v] if isinstance(v, list) else v * scale(of_numbers[k])
              for k, v in numbers.items()}  # fmt: skip
    noise = {name: {"name": "noise", "amplitude": 0.3} for name in of_fields}
    system = runs.system_of(table)
    noise = {name: start for name, start in noise.items() if name in system.fields}
    sides = [float(side) for side in system.box.lengths]
    found = []
    for number, (one, second_one) in enumerate([(1.0, 1.0), (length, second)]):
        sizes = {n: 0.3 * scale(of_fields[n]) ** number for n in noise}
        initial = {n: {**start, "amplitude": sizes[n]} for n, start in noise.items()}
        if "walls" in table:
            initial = {n: {"name": "file", "path": f"random 0 {size!r}"} for n, size in sizes.items()}
        step = time["step"] * second_one
        other = {
            **table, "equation": {**section, **(scaled if number else numbers)},
            "grid": {**table["grid"], "lengths": [side * one for side in sides]},
            "initial": initial if len(initial) > 1 else next(iter(initial.values())),
            "time": {**time, "step": step, "end": round(time["end"] / time["step"]) * step},
            "output": {"series": {"every_steps": 1}, "snapshots": {}},
        }  # fmt: skip
        if number and "walls" in table:
            other["walls"] = {
                n: _scaled_walls(both, scale(of_fields[n]), length, second) for n, both in table["walls"].items()
            }
        place = folder / str(number)
        place.mkdir()
        found.append(carried_out(other, place))
    if None in found:
        if found[0] != found[1]:
            raise Fault(f"refused in one of two units, length {length:g} and time {second:g}")
        return "refused"
    compare_fields(table, found[0], found[1], f"in units of length {length:g} and time {second:g}",
                   {name: scale(of_fields[name]) for name in system.fields})  # fmt: skip
    return "the same in other units"
