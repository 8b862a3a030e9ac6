"""What acts on a flow, drawn at random: forcings, bodies, sponges; and particles that it carries."""

from __future__ import annotations

import math
from typing import Any

from hypothesis import strategies as st

from fuzz.starts import reach, sides
from fuzz.turns import EXACT

SIGNED = st.sampled_from([-1.5, -0.3, 0.0, 0.2, 1.0])
WITH_BODIES = (
    "navier-stokes", "boussinesq", "mhd", "hall-mhd", "isothermal-flow", "oldroyd-b", "fene-p", "shallow-water",
)  # fmt: skip
CARRYING = ("navier-stokes", "boussinesq", "mhd", "vorticity", "isothermal-flow", "advection-diffusion")
ETA = st.sampled_from([0.1, 0.2])
ANGLE = st.sampled_from([-1.0, 0.4, 2.0])


@st.composite
def forcings(draw: Any, fields: dict[str, str], grid: dict[str, Any], wanted: str | None) -> dict[str, Any]:
    """Nothing, or the force on one field; of the name that is wanted, where one is."""
    dimensions, lowest = len(grid["shape"]), [2 * math.pi / side for side in sides(grid)]
    real = sorted(name for name, rank in fields.items() if rank in ("scalar", "vector"))
    if not real or (wanted is None and draw(st.booleans())):
        return {}
    name = draw(st.sampled_from(real)) if wanted is None else "velocity"
    power = {"name": "constant-power", "power": draw(st.sampled_from([0.1, 0.5])), "high": 1.5 * max(lowest)}
    power["low"] = draw(st.sampled_from([0.0, max(lowest)]))
    wave = {"name": "kolmogorov", "amplitude": draw(SIGNED), "wavenumber": draw(st.sampled_from([1, 2]))}
    wave |= {"variation": "x", "direction": "y"} if fields[name] == "vector" and draw(st.booleans()) else {}
    count = dimensions if fields[name] == "vector" else 1
    pull = {"name": "uniform", "acceleration": [draw(SIGNED) for _ in range(count)]}
    rate = {"name": "flow-rate", "velocity": [draw(SIGNED) for _ in range(count)], "relaxation": 0.5}
    random = {"name": "ornstein-uhlenbeck", "rms": 0.3, "correlation_time": 0.5, "largest": 1}
    noise = {"name": "white-noise", "power": 0.2, "low": 0.0, "high": 2.0 * max(lowest)}
    frozen = {"name": "frozen-shells", "low": max(lowest), "return_time": 0.3}
    whole = reach(grid) * min(lowest) / max(lowest) - 0.5  # shells, of which all modes are kept
    frozen["high"] = draw(st.sampled_from([1.0, 2.6] if whole > 2 else [1.0])) * max(lowest)
    waves = [wave] if dimensions > 1 else []
    if dimensions == 3 and fields[name] == "vector" and len(set(lowest)) == 1:
        waves.append({"name": "abc", "coefficients": [1.0, -0.5, 0.3], "wavenumber": 1})
    known = [power, *waves, pull, rate, random, noise, *([frozen] if wanted or whole >= 1 else [])]
    return {name: draw(st.sampled_from([one for one in known if wanted in (None, one["name"])]))}


@st.composite
def obstacles(draw: Any, section: dict[str, Any], fields: dict[str, str], grid: dict[str, Any]) -> dict[str, Any]:
    """`[body.NAME]` and `[sponge]`, or nothing."""
    lengths, viscous = sides(grid), section.get("viscosity", section.get("parameters", {}).get("nu", 0))
    takes = section["name"] in WITH_BODIES or "penalise(" in " ".join(section.get("write", []))
    # with bodies the library may form other products than without, which are the same where none is aliased
    rules = (*EXACT, "smooth", "none") if section["name"] == "written" else EXACT
    flat = len(lengths) == 1 or 1 in grid["shape"]  # where a body may lie outside of the only plane of points
    if not takes or grid["dealias"] not in rules or flat or draw(st.booleans()):
        return {}
    scalars = [name for name, rank in fields.items() if rank == "scalar" and section["name"] != "written"]
    names = draw(st.sampled_from([["disc"], ["disc", "b"]])) if viscous and draw(st.booleans()) else []
    found = {"body": {name: draw(bodies(lengths, scalars, i / 2)) for i, name in enumerate(names)}} if names else {}
    if not names or draw(st.booleans()):
        found["sponge"] = draw(sponges(lengths, scalars, [n for n in grid["shape"]]))
    return found


@st.composite
def sponges(draw: Any, lengths: list[float], scalars: list[str], shape: list[int]) -> dict[str, Any]:
    axis = draw(st.integers(0, len(lengths) - 1))
    edge = max(lengths[axis] / shape[axis], 0.1 * lengths[axis])
    found = {"position": draw(st.sampled_from([0.0, 0.4 * lengths[axis]])), "axis": "xyz"[axis], "rate": 5.0,
             "width": lengths[axis] - 4.01 * edge, "edge": edge}  # fmt: skip
    if draw(st.booleans()):
        found["target"] = [draw(SIGNED) for _ in lengths]
        if axis != 1 and draw(st.booleans()):
            found["channel"] = 0.8 * lengths[1]
    return found | (draw(fixed(scalars)) if scalars and draw(st.booleans()) else {})


def fixed(scalars: list[str]) -> Any:
    return st.builds(lambda name, value: {"fixed": [name], "values": [value]}, st.sampled_from(scalars), SIGNED)


@st.composite
def bodies(draw: Any, lengths: list[float], scalars: list[str], part: float) -> dict[str, Any]:
    """One body, in its own part of the box along y."""
    d, side = len(lengths), min(lengths)
    small = 0.2 * side
    # no point is half a box away, where the nearest image of a body that moves jumps
    centre = [
        draw(st.sampled_from([0.13717, 0.46329])) * lengths[0],
        (part + 0.23741) * lengths[1],
        0.46317 * lengths[-1],
    ][:d]
    found = draw(st.sampled_from([
        {"shape": "cylinder", "centre": centre, "radius": small},
        {"shape": "sphere", "centre": centre, "radius": small},
        {"shape": "box", "centre": centre, "sides": [1.5 * small, 2 * small, 1.8 * small][:d]},
        {"shape": "ellipsoid", "centre": centre, "semi_axes": [1.2 * small, small, 0.9 * small][:d]},
        {"shape": "wall", "position": centre[1], "thickness": 1.8 * small, "axis": "y"},
    ]))  # fmt: skip
    found = dict(found) | {"eta": draw(ETA)}
    if draw(st.booleans()):
        found["velocity"] = [draw(SIGNED) for _ in lengths]
    can_turn = found["shape"] in ("sphere", "box", "ellipsoid") or (found["shape"] == "cylinder" and d == 2)
    for key in ("rotation", "tilt") if can_turn else ():
        if draw(st.booleans()):
            found[key] = draw(ANGLE) if d == 2 else [draw(ANGLE) for _ in range(3)]
    if (found.keys() & {"velocity", "rotation"}) and draw(st.booleans()):
        found |= {"frequency": draw(st.sampled_from([0.5, 3.0])), "phase": draw(ANGLE), "rotation_phase": draw(ANGLE)}
    if scalars and draw(st.booleans()):
        found |= draw(st.one_of(fixed(scalars), st.just({"sealed": scalars[:1]})))
    return found


@st.composite
def particles(draw: Any, section: dict[str, Any], grid: dict[str, Any]) -> dict[str, Any]:
    """`[particles.NAME]` of one or two kinds with their output, or nothing."""
    if section["name"] not in CARRYING or draw(st.integers(0, 3)) != 3:
        return {}
    d = len(grid["shape"])
    kinds = [
        {"count": 7, "order": draw(st.sampled_from([4, 6, 8]))},
        {"kind": "inertial", "start": "lattice", "count": 2**d, "response_time": 0.1, "gravity": [draw(SIGNED)] * d},
        {
            "kind": "brownian",
            "start": "pairs",
            "distance": 0.1,
            "count": 4,
            "diffusivity": 0.01,
            "precision": "float32",
        },
        {"kind": "inertial", "count": 5, "response_time": 0.2, "density_ratio": 0.5, "release": 0.01},
    ]
    names = draw(st.lists(st.sampled_from(["b", "a", "dust"]), min_size=1, max_size=2, unique=True))
    record = draw(st.sampled_from([[], ["velocity"], ["acceleration", "gradient"]]))
    steps = draw(st.sampled_from([1, 2]))
    found = {name: draw(st.sampled_from(kinds)) for name in names}
    output: dict[str, Any] = {"particles": {"every_steps": steps, "record": record}}
    more = dict(
        draw(st.sampled_from([{}, {"particle-counts": {"every_steps": 1, "boxes": [3, 2]}}, {"particle-pdfs": {}}]))
    )
    if draw(st.booleans()):
        every = draw(st.sampled_from([{}, {"every_steps": 2}]))
        more["statistics"] = {**every, "of": [*more], "of_particles": names, "sample_steps": 1, "lags": 2}
    return {"particles": found, "output": output | more}
