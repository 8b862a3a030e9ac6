"""Initial fields drawn at random, by the rank of the field, the box and the equation."""

from __future__ import annotations

import math
import operator
from typing import Any

from hypothesis import strategies as st

AROUND_ONE = ("gray-scott", "brusselator", "keller-segel")
SPEED = st.sampled_from([-1.0, 0.0, 0.7, 1.3])
SIZE = st.sampled_from([0.3, 0.8, 1.5])


def sides(grid: dict[str, Any]) -> list[float]:
    """Lengths of the box."""
    given = grid["lengths"] if isinstance(grid["lengths"], list) else [grid["lengths"]] * len(grid["shape"])
    return [float(v.split()[0]) * math.pi if isinstance(v, str) else v for v in given]


def reach(grid: dict[str, Any]) -> int:
    """Modes that are kept to each side of zero along the shortest axis."""
    shortest = min(grid["shape"])
    return {"two-thirds": (shortest - 1) // 3, "one-half": (shortest - 1) // 4}.get(grid["dealias"], shortest // 2)


@st.composite
def starts(draw: Any, equation: dict[str, Any], rank: str, grid: dict[str, Any]) -> dict[str, Any]:
    """`[initial]` of one field."""
    kind = equation["name"]
    if kind in AROUND_ONE:
        return {"name": "noise", "amplitude": 0.3, "background": 1.0}
    if kind == "gross-pitaevskii" and draw(st.integers(0, 2)) == 2:
        velocity = draw(st.sampled_from([{}, {"velocity": [0.7] * len(grid["shape"])}]))
        return {"name": "ground-state", "number": draw(st.sampled_from([0.5, 20.0])), **velocity}
    if draw(st.integers(0, 2)):
        random = {"name": "random-phase", "energy": 0.2, "peak": 6 * math.pi / min(sides(grid))}
        return draw(st.sampled_from([{"name": "noise", "amplitude": 0.3, "background": 0.0}, random]))
    lengths = sides(grid)
    made = {"scalar": scalars, "vector": vectors, "wavefunction": wavefunctions}.get(rank)
    if made is None:
        return {"name": "uniform", "value": draw(SPEED)}
    found = draw(st.one_of(made(kind, lengths)))
    return {key: value for key, value in found.items() if value is not None}


def place(lengths: list[float]) -> Any:
    return st.tuples(*(st.sampled_from([0.0, 0.3 * side, 0.5 * side, 0.9 * side]) for side in lengths)).map(list)


def places(lengths: list[float], count: int = 2) -> Any:
    return st.lists(place(lengths), min_size=count, max_size=count)


def section(name: str, **keys: Any) -> Any:
    """A section of these keys, each left out now and then; lists, which are of one length, together."""
    lists = {key: value for key, value in keys.items() if isinstance(value, list)}
    drawn = {key: value for key, value in keys.items() if key not in lists}
    drawn = {key: value if isinstance(value, st.SearchStrategy) else st.just(value) for key, value in drawn.items()}
    alone = st.fixed_dictionaries({"name": st.just(name)}, optional=drawn)
    return st.builds(operator.or_, alone, st.sampled_from([{}, lists]))


def waves(dimensions: int) -> Any:
    return st.lists(st.integers(-1, 1), min_size=1, max_size=dimensions)


def scalars(kind: str, lengths: list[float]) -> list[Any]:
    d, side = len(lengths), lengths[0]
    found = [
        section("uniform", value=SPEED),
        section("bump", background=SPEED, height=SPEED, width=SIZE, centres=places(lengths)),
        section("ball", inside=SPEED, outside=SPEED, radius=SIZE, width=SIZE, centre=place(lengths)),
        section("cosine", modes=waves(d), background=SPEED, amplitude=SPEED, phase=SPEED),
        section("breather", frequency=st.sampled_from([0.2, 0.9]), position=0.3 * side, mass=SIZE, wave_speed=SIZE),
        section("kink-pair", speed=st.sampled_from([-0.5, 0.8]), positions=[0.3 * side, 0.6 * side],
                rate=st.booleans(), mass=SIZE, wave_speed=SIZE),
    ]  # fmt: skip
    if kind != "modified-korteweg-de-vries":
        found.append(section("kdv-solitons", speeds=[2.0, 0.5], positions=[0.1 * side, 0.7 * side], dispersion=SIZE,
                             nonlinearity=st.sampled_from([-1.0, 2.0])))  # fmt: skip
    if kind != "korteweg-de-vries":
        found.append(section("mkdv-solitons", speeds=[2.0, 0.5], positions=[0.1 * side, 0.7 * side],
                             polarities=[1, -1]))  # fmt: skip
    if d > 1:
        found.append(section("kelvin-helmholtz", amplitude=SPEED, width=SIZE))
    return found


def vectors(kind: str, lengths: list[float]) -> list[Any]:
    d = len(lengths)
    found = [
        section("uniform", value=st.one_of(SPEED, st.lists(SPEED, min_size=d, max_size=d))),
        section("taylor-green", amplitude=SPEED),
        section("orszag-tang", amplitude=SPEED, magnetic=st.booleans()),
        section("kelvin-helmholtz", amplitude=SPEED, width=SIZE, perturbation=SIZE, waves=1, spanwise=SPEED),
    ]
    if d < 3:
        return found
    axes = st.lists(st.sampled_from([[1.0, 0.0, 0.0], [0.3, -1.0, 2.0]]), min_size=2, max_size=2)
    ring = {"centres": places(lengths), "axes": axes}
    return [
        *found,
        section("beltrami", coefficients=st.lists(SPEED, min_size=3, max_size=3)),
        section("vortex-ring", circulation=SPEED, radius=SIZE, core=SIZE),
        section("vortex-ring", circulation=SPEED, radius=SIZE, core=SIZE).flatmap(
            lambda found: st.fixed_dictionaries({key: st.just(value) for key, value in found.items()} | ring)
        ),
        section("vortex-tubes", circulation=SPEED, core=SIZE, separation=SIZE, perturbation=SIZE, inclination=SPEED),
    ]


def wavefunctions(kind: str, lengths: list[float]) -> list[Any]:
    d, side = len(lengths), lengths[0]
    speed = st.lists(SPEED, min_size=d, max_size=d)
    found = [
        section("plane-wave", modes=waves(d), amplitude=SPEED),
        section("gaussian", width=SIZE, centre=place(lengths), velocity=speed, amplitude=SPEED,
                hbar_over_mass=SIZE),
        section("nls-soliton", amplitudes=[1.0, 0.5], centres=[0.2 * side, 0.7 * side], velocities=[1.0, -2.0],
                coupling=SIZE),
    ]  # fmt: skip
    if d > 1:
        found.append(section("quantised-vortices", density=SIZE, healing_length=SIZE,
                             centres=places(lengths[:2]), signs=st.sampled_from([[1, -1], [-1, 1]])))  # fmt: skip
    if d == 3:
        found.append(section("solitons", core_radii=[1.0, 0.7], centres=places(lengths), coupling=SIZE,
                             velocities=st.lists(speed, min_size=2, max_size=2)))  # fmt: skip
    return found
