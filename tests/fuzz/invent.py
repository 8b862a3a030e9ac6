"""Run files drawn at random, over what the schema allows and the reference knows."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
from hypothesis import strategies as st
from reference import library
from reference.runs import SPLIT, start_of, system_of
from reference.splitting import STEPS
from reference.steppers import EMBEDDED

from fuzz.acting import SIGNED, forcings, obstacles, particles
from fuzz.layers import walled_files
from fuzz.outputs import outputs
from fuzz.running import RANDOM, disturbance
from fuzz.starts import reach, sides, starts
from fuzz.turns import COUPLED, EXACT, Turn

ONE_D = {"korteweg-de-vries", "modified-korteweg-de-vries"}
TWO_D = {
    "hasegawa-mima", "hasegawa-wakatani", "vorticity", "two-layer-quasi-geostrophic", "surface-quasi-geostrophic",
    "multi-layer-quasi-geostrophic", "active-nematic", "shallow-water",
}  # fmt: skip
FLOWS = {"navier-stokes", "boussinesq", "mhd", "oldroyd-b", "fene-p"}  # in two and three dimensions
WAVES = {"nonlinear-schroedinger", "coupled-gross-pitaevskii"}  # texts that splittings take, undamped and unforced
SIDES = {1: (8, 40), 2: (6, 18), 3: (5, 10)}
# whose products the library forms otherwise than their text says: the same where no product is aliased
OTHER_FORMS = {
    "boussinesq", "burgers", "hall-mhd", "hasegawa-mima", "hasegawa-wakatani", "mhd", "reduced-mhd", "shallow-water",
    "surface-quasi-geostrophic", "two-layer-quasi-geostrophic", "multi-layer-quasi-geostrophic", "vorticity",
}  # fmt: skip
OF_ANY_SIGN = {
    "beta", "shear", "density_gradient", "rotation", "nonlinearity", "dispersion", "linear_dispersion", "coupling",
    "nonlinear_dispersion", "quadratic", "undercooling", "mean_field", "sensitivity", "activity", "alignment",
    "disorder", "steepening",
}  # fmt: skip
POSITIVE = st.sampled_from([0.02, 0.1, 0.3, 1.0, 20.0])  # the last makes steps long against decay and waves
FAST = st.sampled_from([-40.0, -0.3, 0.0, 1.0, 40.0])
OF_WAVES = {"rotation", "beta", "buoyancy_frequency"}
EXACT_IN_L = ("etdrk2", "etdrk3", "etdrk4", "ifrk2", "ifrk3", "ifrk4", "lsrk3")  # under white noise
COUPLING = {*OF_WAVES, "mean_field"}  # without which fields are not coupled by L


@st.composite
def grids(draw: Any, dimensions: int, name: str, rule: str) -> dict[str, Any]:
    low, high = SIDES[dimensions]
    rule = "none" if name in SPLIT else rule
    rule = draw(st.sampled_from(EXACT)) if name in OTHER_FORMS and rule not in EXACT else rule
    side = st.integers(low, high)
    shape = [draw(side) for _ in range(dimensions)]
    if dimensions > 1 and draw(st.integers(0, 7)) == 7:  # a box in which nothing depends on one direction
        shape[draw(st.integers(0, dimensions - 1))] = 1
    lengths = draw(st.one_of(st.just("2 pi"), st.lists(st.sampled_from([1.0, 2.5, "2 pi", 9.0, "3 pi"]),
                                                       min_size=dimensions, max_size=dimensions)))  # fmt: skip
    grid = {"shape": shape, "lengths": lengths, "dealias": rule}
    return grid | ({"precision": "float32"} if draw(st.integers(0, 5)) == 5 else {})


@st.composite
def devices(draw: Any, mesh: str, grid: dict[str, Any]) -> dict[str, Any]:
    """`[devices]` of a kind, of no more devices than the grid can use."""
    shape, kept = grid["shape"], reach(grid)
    many = [n for n in (2, 3, 4, 8) if n <= min(shape[0], kept + 1 if len(shape) == 2 else 2 * kept)]
    if mesh == "one" or len(shape) == 1 or not many:
        return {"use": [0]}
    if mesh == "groups":
        return {"groups": {"step": draw(st.sampled_from([n for n in many if n < 8])), "analyse": 1}}
    if mesh == "pencils" and len(shape) == 3:
        count = 2 * draw(st.sampled_from([n for n in many if n in (2, 4)]))
        found: dict[str, Any] = {"use": list(range(count)), "decomposition": "pencil", "mesh": [count // 2, 2]}
    else:
        found = {"use": list(range(draw(st.sampled_from(many))))}
    kinds = ["shard_map", "float32", "chunks", *(["jaxdecomp"] if len(shape) == 3 else [])]
    kind = draw(st.sampled_from(["plain"] * 5 + kinds))
    if kind in ("shard_map", "jaxdecomp"):
        found["engine"] = kind
    elif kind == "float32":
        found["exchange_precision"] = kind
    elif kind == "chunks":
        found |= {"fields_per_exchange": draw(st.sampled_from([1, 2]))}
    return found


def equations(turn: Turn) -> Any:
    """Section, dimensions, and rank of each field."""
    if turn.equation == "written":
        return texts(turn)
    return split_equations(turn) if turn.equation in SPLIT else library_equations(turn)


@st.composite
def library_equations(draw: Any, turn: Turn) -> tuple[dict[str, Any], int, dict[str, str]]:
    name = turn.equation
    dimensions = draw(dimensions_of(name, turn))
    section: dict[str, Any] = {"name": name}
    needed = {
        "navier-stokes": ["viscosity"], "boussinesq": ["viscosity", "diffusivity"], "mhd": ["viscosity", "resistivity"],
        "hall-mhd": ["viscosity", "resistivity", "ion_inertial_length"], "burgers": ["viscosity"],
        "advection-diffusion": ["diffusivity"], "two-layer-quasi-geostrophic": ["deformation_wavenumber"],
    }  # fmt: skip
    for key in needed.get(name, ()):
        section[key] = draw(POSITIVE)
    section |= draw(further_parts(name, dimensions))
    entry = library.BUILT[name](section, dimensions) if name in library.BUILT else library.TABLE[name]
    for key, default in entry["defaults"].items():
        if draw(st.booleans()) or (name in COUPLED and key in COUPLING):
            section[key] = draw(_like(key, default, dimensions))
    if name == "advection-diffusion":
        _add_wind(draw, section, dimensions)
    if name == "boussinesq" and dimensions == 2:
        section.pop("rotation", None)
    entry = library.BUILT[name](section, dimensions) if name in library.BUILT else library.TABLE[name]
    return section, dimensions, dict(entry["fields"])


@st.composite
def further_parts(draw: Any, name: str, dimensions: int) -> dict[str, Any]:
    """Layers, and whatever else of an equation is left out where it is not given."""
    if name == "multi-layer-quasi-geostrophic":
        return draw(layers())
    optional: dict[str, Any] = {}
    if name == "vorticity":
        optional = {"mean_velocity": [draw(SIGNED), draw(SIGNED)], "deformation_radius": draw(POSITIVE),
                    "topography": draw(st.sampled_from(HILLS))}  # fmt: skip
    return {key: value for key, value in optional.items() if draw(st.booleans())}


SOURCES = ["1", "0.3*t", "0.5*sin(x)", "-0.4*dye"]
CARRYING = {*FLOWS, *OTHER_FORMS, "active-nematic"} - {"burgers"}


@st.composite
def scalars_of(draw: Any, section: dict[str, Any], dimensions: int) -> dict[str, Any]:
    """`[scalars.dye]`, or nothing."""
    if section["name"] not in CARRYING or draw(st.integers(0, 3)):
        return {}
    layers = {"two-layer-quasi-geostrophic": ["upper", "lower"]}.get(section["name"], section.get("layers"))
    optional = {
        "diffusivity": draw(POSITIVE), "mean_gradient": [draw(SIGNED) for _ in range(dimensions)],
        "source": draw(st.sampled_from(SOURCES)), "decay": draw(POSITIVE),
        **({"field": f"{draw(st.sampled_from(layers))}_velocity"} if layers else {}),
    }  # fmt: skip
    return {"dye": {key: value for key, value in optional.items() if draw(st.booleans())}}


HILLS = ["0.5*cos(2*pi*x/9)", "sin(2*pi*x/9)*sin(2*pi*y/9)", "0.3"]  # with the box's lengths in the place of 9


@st.composite
def layers(draw: Any) -> dict[str, Any]:
    """Layers of a quasi-geostrophic flow and their stratification."""
    names = draw(st.sampled_from([["a", "b"], ["upper", "middle", "lower"]]))
    some = lambda count: [draw(st.sampled_from([0.2, 0.5, 1.0])) for _ in range(count)]  # noqa: E731
    section = {"layers": names, "thicknesses": some(len(names)), "reduced_gravities": some(len(names) - 1)}
    optional = {
        "mean_flows": [draw(SIGNED) for _ in names], "surface_gravity": 1.5,
        "coriolis": draw(st.sampled_from([-1.0, 2.0])), "topography": draw(st.sampled_from(HILLS)),
    }  # fmt: skip
    return section | {key: value for key, value in optional.items() if draw(st.booleans())}


@st.composite
def split_equations(draw: Any, turn: Turn) -> tuple[dict[str, Any], int, dict[str, str]]:
    name, dimensions = turn.equation, draw(dimensions_of(turn.equation, turn))
    section: dict[str, Any] = {"name": name, "coupling": draw(POSITIVE)}
    if draw(st.booleans()):
        section["hbar_over_mass"] = draw(POSITIVE)
    if name == "gross-pitaevskii":
        section["chemical_potential"] = draw(SIGNED)
        if draw(st.booleans()):
            section["trap"] = [draw(POSITIVE) for _ in range(dimensions)]
    return section, dimensions, {"wavefunction": "wavefunction"}


def dimensions_of(name: str, turn: Turn) -> Any:
    if name in ONE_D:
        return st.just(1)
    if name in TWO_D:
        return st.just(2)
    if name in ("hall-mhd", "reduced-mhd") or turn.forcing == "abc" or turn.mesh == "pencils":
        return st.just(3)
    return st.sampled_from([2, 3] if name in FLOWS else [1, 2, 2, 3])


def _like(key: str, default: Any, dimensions: int) -> Any:
    if key == "modified":
        return st.booleans()
    if key == "sign":
        return st.sampled_from([1, -1])
    if key == "longest":
        return st.sampled_from([3.0, 10.0])
    if key == "hyper_order":
        return st.integers(1, 3)
    if key.startswith("hyper"):
        return st.sampled_from([0.0, 1e-4, 1e-3])
    if isinstance(default, list):
        return st.lists(SIGNED, min_size=dimensions, max_size=dimensions)
    if key in OF_WAVES:
        return FAST.map(abs) if key == "buoyancy_frequency" else FAST
    return SIGNED if key in OF_ANY_SIGN else POSITIVE


def _add_wind(draw: Any, section: dict[str, Any], dimensions: int) -> None:
    if draw(st.booleans()):
        section["velocity"] = [draw(SIGNED) for _ in range(dimensions)]
    if dimensions > 1 and draw(st.booleans()):
        section["cell_speed"] = draw(POSITIVE)


# ---- texts ----------------------------------------------------------------------------------------------------------

IN_TIME = st.sampled_from(["sin(5*t)*{}", "(1 - 2*t**2)*{}", "exp(-3*t)*{}/2", "ramp(0.5, -1, 0.002, 0.01)*{}"])
UNKNOWNS = [  # the last two are solved together
    ["lap(w) - w = {0}"], ["lap(w) = {0}"], ["w - a*lap(w) = {0}*{0}"], ["w = dx({0})"], ["lap(w) - w = {0}*cos(t)"],
    ["3*w - lap(w) + dx(v) = {0}*{0}", "4*v - lap(v) + dx(w) = {0}"], ["w - v = {0}", "w - lap(v) = dx({0})"],
]  # fmt: skip
# of a field without means along x, which a gauge on a plane of modes goes with
OF_PLANES = ["dx(w) = dy(dy({0})) + a*{0}", "mean(w, x) = 0"]
SYMBOLS = {"long": "fuzz.symbols:long", "tilted": "fuzz.symbols:tilted"}
PARAMETERS = {"a": [0.3], "nu": [0.05, 0.05, 5.0], "k": [-1.2]}


@st.composite
def texts(draw: Any, turn: Turn) -> tuple[dict[str, Any], int, dict[str, str]]:
    """A written equation: one to three fields, perhaps unknowns, a definition, a constraint."""
    dimensions = draw(dimensions_of("written", turn))
    ranks = ["scalar", "scalar", "wavefunction"] + (["vector"] if dimensions > 1 else [])
    fields = {name: draw(st.sampled_from(ranks)) for name in draw(st.sampled_from(["q", "qm", "qms"]))}
    section: dict[str, Any] = {"name": "written", "fields": fields}
    names = dict(fields)
    real = [n for n, rank in fields.items() if rank == "scalar"]
    lines, section["unknowns"] = [], {}
    if real and draw(st.booleans()):
        of_planes = [OF_PLANES] if dimensions > 1 else []
        unknown = [line.format(real[0]) for line in draw(st.sampled_from(UNKNOWNS + UNKNOWNS[-2:] + of_planes))]
        is_of_planes = OF_PLANES[1] in unknown
        section["unknowns"] = dict.fromkeys("w" if is_of_planes else "wv"[: len(unknown)], "scalar")
        section |= {"means": {real[0]: "x"}} if is_of_planes else {}
        names |= section["unknowns"]
        lines += unknown
    solenoidal = [n for n, rank in fields.items() if rank == "vector"][:1]
    for name, rank in fields.items():
        terms = [draw(terms_of(rank, name, names, dimensions)) for _ in range(draw(st.integers(1, 3)))]
        terms += [draw(IN_TIME).format(name)] if draw(st.booleans()) else []
        terms += [f"0.5*{unknown}" for unknown in section["unknowns"] if [name] == real[:1]]
        pressure = " - grad(p)" if name in solenoidal else ""
        damping = f"cause(viscosity, nu*lap({name}))"
        lines.append(f"dt({name}) = {damping}{pressure} + " + " + ".join(terms))
    if solenoidal and draw(st.booleans()):
        section["unknowns"]["p"] = "scalar"
        lines.append(f"div({solenoidal[0]}) = 0")
    else:
        lines = [line.replace(" - grad(p)", "") for line in lines]
    if solenoidal and dimensions > 1 and draw(st.integers(0, 3)) == 3:
        lines = [line + f" + penalise({solenoidal[0]})" if line.startswith(f"dt({solenoidal[0]})") else line
                 for line in lines]  # fmt: skip
    section["write"] = lines
    if draw(st.booleans()) and len(real) > 0:
        section["series"] = {
            "own": draw(st.sampled_from(["mean({0}**2)", "max({0})", "abs({0})", "{0}**3"])).format(real[0])
        }
    if draw(st.integers(0, 3)) == 3:
        section["plan"] = "as written"
    text = " ".join(lines)
    section["parameters"] = {n: draw(st.sampled_from(v)) for n, v in PARAMETERS.items() if _stands_in(n, text)}
    if functions := {n: path for n, path in SYMBOLS.items() if f"symbol({n}," in text}:
        section["functions"] = functions
    return section, dimensions, fields


def _stands_in(name: str, text: str) -> bool:
    return re.search(rf"(?<![A-Za-z_0-9]){name}(?![A-Za-z_0-9])", text) is not None


def terms_of(rank: str, name: str, names: dict[str, str], dimensions: int) -> Any:
    """Terms of a rank, of all the fields and unknowns there are."""
    scalars = [n for n, r in names.items() if r == "scalar"]
    waves = [n for n, r in names.items() if r == "wavefunction"]
    vectors = [n for n, r in names.items() if r == "vector"]
    axis = st.sampled_from("xyz"[:dimensions])
    real = st.sampled_from([*scalars, *(f"abs({w})**2" for w in waves), *(f"{v}@{v}" for v in vectors),
                            *(f"div({v})" for v in vectors)] or ["1"])  # fmt: skip
    coefficient = st.sampled_from(["a*", "-", "0.5*", "k*", "sin(x)*", "cos(2*t)*", "a**2*"])
    if rank == "scalar":
        shapes = [
            st.builds(lambda f: f, real), st.builds(lambda f, g: f"{f}*({g})", real, real),
            st.builds(lambda f, x: f"d{x}({f})", real, axis),
            st.builds(lambda f, g, x: f"({f})*d{x}({g})", real, real, axis),
            st.builds(lambda f: f"({f})**2", real), st.builds(lambda f: f"tanh({f})", real),
            st.builds(lambda f: f"inverse_lap({f})", real), st.builds(lambda f: f"mean({f})", real),
            st.builds(lambda f: f"explicit(lap({f}))/50", real),
            st.builds(lambda f, g: f"where({f} < 0.1, {g}, 1)", real, real),
            st.builds(lambda f: f"helmholtz({f}, 2)", real), st.builds(lambda f, x: f"mean({f}, {x})", real, axis),
            st.builds(lambda f: f"symbol(long, {f})", real),
        ]  # fmt: skip
        shapes += [st.builds(lambda w: f"real({w})", st.sampled_from(waves))] if waves else []
        shapes += [st.builds(lambda f: f"symbol(tilted, {f})", real)] if dimensions == 2 else []
        shapes += [st.builds(lambda v, f: f"{v}@grad({f})", st.sampled_from(vectors), real)] if vectors else []
    elif rank == "wavefunction":
        wave = st.sampled_from(waves)
        shapes = [
            st.builds(lambda w: f"1j*lap({w})", wave), st.builds(lambda w: f"1j*abs({w})**2*{w}", wave),
            st.builds(lambda w, f: f"1j*({f})*{w}", wave, real), st.builds(lambda w: f"(1 - 0.5j)*{w}", wave),
            st.builds(lambda w: f"conj({w})", wave), st.builds(lambda w, x: f"d{x}({w})", wave, axis),
        ]  # fmt: skip
    else:
        vector = st.sampled_from(vectors)
        shapes = [
            st.builds(lambda v, u: f"{v}@grad({u})", vector, vector), st.builds(lambda f: f"grad({f})", real),
            st.builds(lambda v, f: f"({f})*{v}", vector, real), st.builds(lambda v: f"{v}", vector),
            st.builds(lambda f: f"({f})*ex", real), st.builds(lambda v: f"grad(div({v}))/50", vector),
        ]  # fmt: skip
        if dimensions == 3:
            shapes += [st.builds(lambda v, u: f"cross({v}, curl({u}))", vector, vector),
                       st.builds(lambda v: f"cross(ez, {v})", vector)]  # fmt: skip
    return st.builds(lambda c, f: f"{c}({f})" if c != "-" else f"-({f})", coefficient, st.one_of(shapes))


# ---- whole run files ------------------------------------------------------------------------------------------------


@st.composite
def times(draw: Any, section: dict[str, Any], stepper: str, *, is_random: bool) -> dict[str, Any]:
    """`[time]`: steps of one size, or chosen by a CFL number or a tolerance, a CFL number alone under random forces."""
    count = draw(st.integers(2, 6))
    step = draw(st.sampled_from([0.01, 0.003, 0.02]))
    time = {"stepper": stepper, "end": round(count * step, 9)}
    controls = ["step", "step", *(["cfl"] if section["name"] != "written" or draw(st.integers(0, 7)) == 7 else [])]
    controls += ["tolerance"] if stepper in EMBEDDED and not is_random else []
    control = draw(st.sampled_from(controls))
    if control == "step":
        return {**time, "step": step}
    number = draw(st.sampled_from({"cfl": [0.02, 0.1, 0.3], "tolerance": [1e-7, 1e-6, 1e-4]}[control]))
    limit = {"max_step": draw(st.sampled_from([0.7, 2.0])) * step} if control == "cfl" or draw(st.booleans()) else {}
    return {**time, control: number, **limit}


PLACE = re.compile(r"(?<![.\w])[xyz]\b")  # in a text; such texts have no points that move


@st.composite
def run_files(draw: Any, turn: Turn) -> dict[str, Any]:
    """The table of a run file that has what a turn says."""
    if turn.walls:
        return draw(walled_files(turn))
    section, dimensions, fields = draw(equations(turn))
    holds_places = PLACE.search(" ".join(section.get("write", ())))
    rule = draw(st.sampled_from(EXACT)) if holds_places and turn.rule.startswith("phase") else turn.rule
    scalars = draw(scalars_of(section, dimensions))
    fields |= dict.fromkeys(scalars, "scalar")
    splits = section["name"] in WAVES and "damping" not in section and draw(st.booleans())
    rule = "none" if splits else draw(st.sampled_from(EXACT)) if scalars else rule
    grid = draw(grids(dimensions, section["name"], rule))
    if turn.forcing == "abc":
        grid["lengths"] = "2 pi"
    if section.get("topography"):  # which the grid is to resolve
        for axis, length in zip("xy", sides(grid), strict=True):
            section["topography"] = section["topography"].replace(f"{axis}/9", f"{axis}/{length!r}")
    forced = {} if splits else draw(forcings(fields, grid, turn.forcing))
    names = {force["name"] for force in forced.values()}
    stepper = draw(st.sampled_from(EXACT_IN_L)) if "white-noise" in names else turn.stepper
    stepper = draw(st.sampled_from(sorted(STEPS))) if splits or section["name"] in SPLIT else stepper
    table = {
        "grid": grid,
        "equation": section,
        "scalars": scalars,
        "initial": {name: draw(starts(section, rank, grid)) for name, rank in fields.items()},
        "time": draw(times(section, stepper, is_random=not names.isdisjoint(RANDOM))),
        "devices": draw(devices(turn.mesh, grid)),
        "random": {"seed": draw(st.integers(0, 3))},
    }
    if forced:
        table["forcing"] = forced if len(fields) > 1 else next(iter(forced.values()))
    table |= draw(obstacles(section, fields, grid))
    if section["name"] == "navier-stokes" and draw(st.booleans()):
        numbers = {"constant": st.sampled_from([0.0, 0.17, 1.0]), "turbulent_schmidt": st.sampled_from([0.3, 2.0])}
        drawn = {key: draw(number) for key, number in numbers.items() if draw(st.booleans())}
        table["closure"] = {"name": "smagorinsky", **drawn}
    if len(fields) == 1:
        table["initial"] = next(iter(table["initial"].values()))
    if not is_calm(table):
        table["time"] = {"stepper": table["time"]["stepper"], "step": 2e-4, "end": 8e-4}
    carried = draw(particles(section, grid))
    table |= {"particles": carried["particles"]} if carried else {}
    return table | {"output": draw(outputs(section, fields, grid, table["time"])) | carried.get("output", {})}


def is_calm(table: dict[str, Any]) -> bool:
    """Whether a run like it stays among the numbers, and what is disturbed stays small; by the second program."""
    noise = np.random.default_rng(0)
    try:
        with np.errstate(all="ignore"):
            system = system_of(table)
            start = {name: _noise(noise, rank, table["grid"]["shape"]) for name, rank in system.fields.items()}
            return disturbance(table, start_of(table, start)) is not None
    except AssertionError:  # steps become too short
        return False
    except Exception:  # a trial will say so
        return True


def _noise(noise: np.random.Generator, rank: str, shape: list[int]) -> np.ndarray:
    values = 0.3 * noise.standard_normal((len(shape) if rank == "vector" else 1, *shape))
    return values + 0j if rank == "wavefunction" else values
