"""Run files between two walls, drawn at random: conditions, starts, texts, what is refused there now and then."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

from fuzz.acting import SIGNED
from fuzz.running import disturbance
from fuzz.starts import sides, starts
from fuzz.turns import WALLED, Turn
from fuzz.wall_starts import given_start

VISCOUS = st.sampled_from([0.02, 0.1, 0.3])
NUMBER = st.sampled_from([0.0, 1.0, -0.5, 2.0])
TIMED = st.sampled_from(["cos(3*t)", "0.5 + t", "-exp(-t)", "2*sin(9*t) - 1"])
GIVEN = st.one_of(NUMBER, NUMBER, TIMED)  # at a wall
SOLENOIDAL = ("velocity", "magnetic_field", "u")
SIDES = {1: (8, 24), 2: (5, 12), 3: (4, 8)}
REFUSED = ("spectra", "domain-length", "transfer", "zonal-means", "correlations", "pdfs")  # outputs
SECTIONS: dict[str, tuple[dict[str, Any], dict[str, Any], dict[str, str]]] = {  # what is needed, what may be, fields
    "rayleigh-benard": (
        {"rayleigh": st.sampled_from([1e3, 1e4, 1e5])},
        {"prandtl": st.sampled_from([0.3, 7.0]), "rotation": SIGNED}, {"velocity": "vector", "temperature": "scalar"},
    ),
    "navier-stokes": ({"viscosity": VISCOUS}, {"drag": VISCOUS}, {"velocity": "vector"}),
    "boussinesq": (
        {"viscosity": VISCOUS, "diffusivity": VISCOUS},
        {"buoyancy_frequency": st.sampled_from([0.0, 1.0, 20.0]), "rotation": SIGNED},
        {"velocity": "vector", "buoyancy": "scalar"},
    ),
    "mhd": (
        {"viscosity": VISCOUS, "resistivity": VISCOUS}, {"mean_field": SIGNED},
        {"velocity": "vector", "magnetic_field": "vector"},
    ),
    "oldroyd-b": (
        {"viscosity": VISCOUS, "polymer_viscosity": VISCOUS, "relaxation_time": VISCOUS, "stress_diffusivity": VISCOUS},
        {}, {"velocity": "vector", "stress": "symmetric tensor"},
    ),
    "allen-cahn": ({"wall_width": VISCOUS}, {}, {"u": "scalar"}),
    "fisher-kpp": ({}, {"diffusivity": VISCOUS, "growth": VISCOUS}, {"u": "scalar"}),
    "gray-scott": ({}, {"feed": VISCOUS}, {"u": "scalar", "v": "scalar"}),
    "brusselator": ({}, {"diffusivity_u": VISCOUS}, {"u": "scalar", "v": "scalar"}),
    "keller-segel": ({"diffusivity": VISCOUS}, {"sensitivity": SIGNED}, {"cells": "scalar", "signal": "scalar"}),
}  # fmt: skip
assert {*SECTIONS, "written"} == set(WALLED)
PARAMETERS = {"a": 0.3, "nu": 0.05, "k": -1.2}
CLOSURES = [{"name": "dynamic-smagorinsky", "average": "planes"}, {"name": "wale"}, {"name": "wale", "constant": 0.1}]


@st.composite
def walled_files(draw: Any, turn: Turn) -> dict[str, Any]:
    """The table of a run file between walls."""
    name = turn.equation
    flows = name in ("rayleigh-benard", "navier-stokes", "boussinesq", "mhd")
    dimensions = draw(st.sampled_from([2, 2, 3] if flows else [2] if name == "oldroyd-b" else [1, 2, 2, 3]))
    grid = draw(grids(dimensions, name))
    section, fields = draw(texts(dimensions) if name == "written" else of_library(name, dimensions))
    solenoidal = [one for one in fields if one in SOLENOIDAL and fields[one] == "vector"]
    if name == "written" and not any("div(u)" in line for line in section["write"]):
        solenoidal = []
    solved = [one for one in section.get("unknowns", {}) if one != "p"]
    walls = {one: draw(conditions(one in solenoidal, one, grid)) for one in (*fields, *solved)}
    if draw(st.booleans()):  # which coupled unknowns need
        walls |= {one: {side: {"value": draw(GIVEN)} for side in ("lower", "upper")} for one in solved}
    if any(walls["velocity"].get(side) == walls["magnetic_field"][side] == "free-slip" for side in _sides(section)):
        section["mean_field"][-1] = 0.0  # across such walls it is refused
    scalars = section.pop("scalars", {})
    table = {
        "grid": grid, "equation": section, "scalars": scalars,
        "walls": {one: both for one, both in walls.items() if both},
        "initial": {one: draw(started(one, rank, fields, grid)) for one, rank in fields.items()},
        "time": draw(times(_stepper(turn.stepper) if draw(st.integers(0, 4)) else turn.stepper)),
        "devices": draw(devices(turn.mesh, grid)),
        "random": {"seed": draw(st.integers(0, 3))},
    }  # fmt: skip
    if name == "written" and draw(st.integers(0, 3)) == 3:
        _into_the_text(table, solenoidal, grid)
    table["initial"] = {one: start for one, start in table["initial"].items() if start}
    if draw(st.integers(0, 2)) == 2:
        table["forcing"] = draw(forces(fields, dimensions))
    for key in ("initial", "forcing"):
        if not table.get(key):
            table.pop(key, None)
        elif len(fields) == 1:
            table[key] = next(iter(table[key].values()))
    table = _calmed(table)
    if name in ("navier-stokes", "boussinesq") and draw(st.integers(0, 2)) == 2:
        table["closure"] = draw(st.sampled_from(CLOSURES[: 3 if dimensions == 3 else 1]))
    return table | {"output": draw(outputs(fields, grid, table["time"]))}


def _sides(section: dict[str, Any]) -> tuple[str, ...]:
    """The walls at which a mean field may cross a slip of both fields."""
    return ("lower", "upper") if "mean_field" in section else ()


def _stepper(name: str) -> str:
    """The stepper of a turn, or another in place of integrating factors, which are refused."""
    return "krogstad4" if name.startswith(("ifrk", "lsrk")) else name


@st.composite
def grids(draw: Any, dimensions: int, name: str) -> dict[str, Any]:
    low, high = SIDES[dimensions]
    shape = [draw(st.integers(low, high)) for _ in range(dimensions - 1)] + [draw(st.integers(8, 16 - dimensions))]
    if dimensions == 1:
        shape = [draw(st.integers(8, 24))]
    lengths = [draw(st.sampled_from([1.0, 2.5, "2 pi", 0.7])) for _ in shape]
    if name == "rayleigh-benard":
        lengths[-1] = 1.0
    grid = {"shape": shape, "lengths": lengths, "walls": "xyz"[dimensions - 1], "dealias": "two-thirds"}
    return grid | ({"precision": "float32"} if draw(st.integers(0, 7)) == 7 else {})


@st.composite
def devices(draw: Any, mesh: str, grid: dict[str, Any]) -> dict[str, Any]:
    """One device, groups, or slabs where there is more than one axis; seldom what is refused."""
    shape = grid["shape"]
    axis = len(shape) - 2  # whose modes are split
    most = min(shape[0], (shape[axis] - 1) // 3 + 1) if axis >= 0 else 2 if draw(st.integers(0, 19)) == 19 else 1
    many = [n for n in (2, 3, 4) if n <= most]
    if mesh == "groups" and len(shape) > 1:
        return {"groups": {"step": draw(st.sampled_from([1, *(n for n in many if n < 4)])), "analyse": 1}}
    if mesh == "one" or not many:
        return {"use": [0]}
    found: dict[str, Any] = {"use": list(range(draw(st.sampled_from(many))))}
    kind = draw(st.sampled_from(["plain"] * 3 + ["shard_map", "float32", "chunks"]))
    if kind == "chunks":
        return found | {"fields_per_exchange": draw(st.sampled_from([1, 2]))}
    return found | {"shard_map": {"engine": kind}, "float32": {"exchange_precision": kind}}.get(kind, {})


@st.composite
def of_library(draw: Any, name: str, dimensions: int) -> tuple[dict[str, Any], dict[str, str]]:
    needed, perhaps, fields = SECTIONS[name]
    section = {"name": name} | {key: draw(one) for key, one in needed.items()}
    section |= {key: draw(one) for key, one in perhaps.items() if draw(st.booleans())}
    if "mean_field" in section:
        section["mean_field"] = [section["mean_field"], *[0.3] * (dimensions - 1)]
    if dimensions == 2:
        section.pop("rotation", None)
    if name != "navier-stokes" or draw(st.booleans()):
        return section, fields
    section["scalars"] = {"c": {"diffusivity": draw(VISCOUS)}}
    if draw(st.booleans()):
        section["scalars"]["c"]["mean_gradient"] = [draw(SIGNED) for _ in range(dimensions)]
    return section, {**fields, "c": "scalar"}


@st.composite
def conditions(draw: Any, is_solenoidal: bool, name: str, grid: dict[str, Any]) -> dict[str, Any]:
    """`[walls.FIELD]`; nothing for the velocity now and then."""
    along = len(grid["shape"]) - 1
    if name == "velocity" and draw(st.integers(0, 3)) == 3:
        return {}
    if is_solenoidal:
        moving = {"moving": [draw(GIVEN) for _ in range(along)]}
        one = st.sampled_from(["no-slip", "no-slip", "free-slip", *([moving] if name != "magnetic_field" else [])])
        return {"lower": draw(one), "upper": draw(one)}
    wrong = draw(st.integers(0, 29)) == 29
    number = st.one_of(GIVEN, st.just(f"cos(2*pi*x/{grid['lengths'][0]} - t)")) if _waves(grid) else GIVEN
    found = {}
    for side, outward in (("lower", -1), ("upper", 1)):
        b = outward * draw(st.sampled_from([0.3, 1.0, 4.0])) * (-1 if wrong else 1)
        found[side] = draw(st.sampled_from([
            {"value": draw(number)}, {"slope": draw(number)},
            {"robin": [draw(st.sampled_from([1.0, 0.2])), b, draw(number)]},
        ]))  # fmt: skip
    return found


def _waves(grid: dict[str, Any]) -> bool:
    """True if conditions may vary along x."""
    return len(grid["shape"]) > 1 and isinstance(grid["lengths"][0], float)


def _into_the_text(table: dict[str, Any], solenoidal: list[str], grid: dict[str, Any]) -> None:
    """Write conditions as lines of the text, where lines can say them."""
    for name in [*table["walls"]]:
        if name in solenoidal:
            continue
        for side, place in (("lower", "bottom"), ("upper", "top")):
            [(word, number)] = table["walls"][name][side].items()
            if word != "robin":
                of = name if word == "value" else f"d{grid['walls']}({name})"
                table["equation"]["write"].append(f"{of}({place}) = {number}")
                del table["walls"][name][side]
        if not table["walls"][name]:
            del table["walls"][name]


@st.composite
def started(draw: Any, name: str, rank: str, fields: dict[str, str], grid: dict[str, Any]) -> dict[str, Any]:
    """`[initial.FIELD]`: mostly a random field that meets its conditions, from a file that `wall_starts` makes."""
    kind = draw(st.sampled_from(["file"] * 6 + ["none", "conduction", "noise", "any"]))
    if kind == "file":
        return {"name": "file", "path": f"random {draw(st.integers(0, 3))} {draw(st.sampled_from([0.1, 0.3]))}"}
    if kind == "none":
        return {}
    if kind == "any":
        return draw(starts({"name": "written"}, rank, grid))
    return {"name": "conduction"} | ({"amplitude": 0.2} if kind == "noise" and rank == "scalar" else {})


@st.composite
def times(draw: Any, stepper: str) -> dict[str, Any]:
    count, step = draw(st.integers(2, 6)), draw(st.sampled_from([0.01, 0.003, 0.02]))
    time = {"stepper": stepper, "end": round(count * step, 9)}
    if draw(st.integers(0, 2)):
        return {**time, "step": step}
    return {
        **time,
        "cfl": draw(st.sampled_from([0.02, 0.1, 0.3])),
        "max_step": draw(st.sampled_from([0.7, 2.0])) * step,
    }


@st.composite
def forces(draw: Any, fields: dict[str, str], dimensions: int) -> dict[str, Any]:
    """A uniform force on one field; seldom one that is refused."""
    name = draw(st.sampled_from([one for one, rank in fields.items() if rank in ("scalar", "vector")]))
    count = dimensions if fields[name] == "vector" else 1
    found: dict[str, Any] = {"name": "uniform", "acceleration": [draw(SIGNED) for _ in range(count)]}
    if draw(st.integers(0, 19)) == 19:
        found = {"name": "kolmogorov", "amplitude": 1.0, "wavenumber": 1}
    return {name: found}


# ---- texts ----------------------------------------------------------------------------------------------------------


@st.composite
def texts(draw: Any, dimensions: int) -> tuple[dict[str, Any], dict[str, str]]:
    """A text of one or two scalars, and perhaps a vector, without divergence or not."""
    fields = dict.fromkeys(draw(st.sampled_from(["q", "qm"])), "scalar")
    lines, unknowns = [], {}
    if dimensions > 1 and draw(st.booleans()):
        fields["u"] = "vector"
    solved = draw(st.sampled_from(["", "", "psi", "psi chi"])).split()
    known = fields | dict.fromkeys(solved, "scalar")
    for name, rank in fields.items():
        terms = [draw(_terms(rank, known, dimensions)) for _ in range(draw(st.integers(1, 3)))]
        if solved:
            terms += [draw(_of_unknown(solved, dimensions)) if rank == "scalar" else f"grad({solved[0]})"]
        lines.append(f"dt({name}) = cause(spread, nu*lap({name})) + " + " + ".join(terms))
    if "u" in fields and draw(st.integers(0, 2)):
        unknowns["p"] = "scalar"
        lines = [line + " - grad(p)" if line.startswith("dt(u)") else line for line in lines] + ["div(u) = 0"]
    for one, other in zip(solved, solved[::-1], strict=True):
        coupled = draw(st.sampled_from([f" + 3*{other}", ""])) if one != other else ""
        source = draw(st.sampled_from(["q", "q", "q*q", "q + sin(x)*t", "2*dx(q)", "0.5"]))
        lines.append(f"lap({one}) - 4*{one}{coupled} = {source}")
        unknowns[one] = "scalar"
    section: dict[str, Any] = {"name": "written", "fields": fields, "unknowns": unknowns, "write": lines}
    if solved and draw(st.booleans()):
        section["energies"] = {"energy": "grad(psi)@grad(psi)/2 + psi**2", "enstrophy": "q**2/2"}
    text = " ".join(lines)
    section["parameters"] = {one: value for one, value in PARAMETERS.items() if one == "nu" or f"{one}*" in text}
    if draw(st.booleans()):
        section["series"] = {"own": draw(st.sampled_from(["mean(q**2)", "max(q)", "q**3", "grad(q)@grad(q)"]))}
    if draw(st.integers(0, 3)) == 3:
        section["plan"] = "as written"
    return section, fields


def _terms(rank: str, fields: dict[str, str], dimensions: int) -> Any:
    scalars = [name for name, of in fields.items() if of == "scalar"]
    s, axis = st.sampled_from(scalars), st.sampled_from("xyz"[:dimensions])
    scalar = [
        st.builds("{}".format, s), st.builds("{}*{}".format, s, s), st.builds("{}**3".format, s),
        st.builds("d{}({})".format, axis, s), st.builds("{}*d{}({})".format, s, axis, s),
        st.builds("d{}({}*{})".format, axis, s, s), st.builds("tanh({})".format, s),
        st.builds("lap({})/9".format, s), st.builds("where({} < 0.2, {}, 1)".format, s, s),
        st.builds("explicit({})".format, s), st.builds("cause(own, {})".format, s), st.just("1"),
        st.builds("d{0}({1})*d{0}({1})".format, axis, s), st.builds("cause(way, d{}({}))".format, axis, s),
    ]  # fmt: skip
    if "u" in fields:
        scalar += [
            st.builds("u@grad({})".format, s), st.builds("div({}*u)".format, s), st.just("u@u"), st.just("u.up"),
            st.builds("{}*u.up".format, s), st.just("div(u)"),
        ]  # fmt: skip
    vector = [
        st.just("u@grad(u)"), st.just("u"), st.builds("{}*u".format, s), st.builds("{}*up".format, s),
        st.builds("grad({})".format, s), st.builds("grad({0}*{0})/3".format, s), st.just("div(outer(u, u))"),
        *([st.just("cross(ez, u)"), st.just("cross(u, curl(u))")] if dimensions == 3 else []),
    ]  # fmt: skip
    factor = st.sampled_from(["a*", "-", "0.5*", "k*", "sin(x)*", "cos(2*t)*", "a**2*"])
    shapes = st.one_of(scalar if rank == "scalar" else vector)
    return st.builds(lambda c, f: f"{c}({f})" if c != "-" else f"-({f})", factor, shapes)


@st.composite
def _of_unknown(draw: Any, solved: list[str], dimensions: int) -> str:
    """A term with an unknown that has conditions at the walls."""
    one, axis = draw(st.sampled_from(solved)), draw(st.sampled_from("xyz"[:dimensions]))
    terms = [f"cause(planet, 2*d{axis}({one}))", f"{one}*q", f"d{axis}({one})*d{axis}(q)", f"explicit({one})"]
    if dimensions == 2:
        terms += [f"div(perp({one})*q)", f"perp({one})@grad(q)"]
    return draw(st.sampled_from(terms))


# ---- what is written out --------------------------------------------------------------------------------------------


@st.composite
def outputs(draw: Any, fields: dict[str, str], grid: dict[str, Any], time: dict[str, Any]) -> dict[str, Any]:
    """`[output]`: series at every step, snapshots, and some that exist between walls; seldom one that does not."""
    lengths, end = sides(grid), time["end"]
    schedule = st.sampled_from([{"every_steps": 1}, {"every_steps": 2}, {}, {"every_time": round(end / 3, 6)}])
    whole: dict[str, Any] = {"series": {"every_steps": 1}, "snapshots": draw(schedule) | {"every_time": end}}
    place = st.tuples(*(st.sampled_from([0.0, 0.3, 0.5, 0.9, 1.0]).map(lambda s, h=h: s * h) for h in lengths)).map(
        list
    )
    if draw(st.booleans()):
        whole["points"] = draw(schedule) | {"at": [draw(place), [0.123 * side for side in lengths]]}
    if draw(st.booleans()):
        whole["extremes"] = draw(schedule)
    axis = draw(st.integers(0, len(lengths) - 1))
    if draw(st.booleans()):
        at = f"{'xyz'[axis]} = {draw(st.sampled_from([0.0, 0.31, 0.77])) * lengths[axis]!r}"
        whole["slices"] = draw(schedule) | {"at": [at], "precision": "grid"}
    if draw(st.booleans()):
        of = draw(st.sampled_from([[], ["points"], ["extremes"]]))
        of = [name for name in of if name in whole]
        real = [name for name, rank in fields.items() if rank in ("scalar", "vector")]
        whole["statistics"] = draw(schedule) | {"sample_steps": draw(st.sampled_from([1, 2])), "fields": real, "of": of}
    if draw(st.integers(0, 19)) == 19:
        whole[draw(st.sampled_from(REFUSED))] = {}
    return whole


def _calmed(table: dict[str, Any]) -> dict[str, Any]:
    """The table, with short steps where a disturbance would grow."""
    try:
        with np.errstate(all="ignore"):
            is_calm = disturbance(table, given_start(table)) is not None
    except AssertionError:
        is_calm = False
    except Exception:  # a trial will say so
        is_calm = True
    return table if is_calm else {**table, "time": {"stepper": table["time"]["stepper"], "step": 2e-4, "end": 8e-4}}
