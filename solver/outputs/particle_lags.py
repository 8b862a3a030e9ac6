"""Averages over particles by the time since a window of statistics began: displacement, velocity, pairs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from solver.dynamics.any_equation import AnyEquation
from solver.dynamics.compiled import compiled
from solver.grid import Storage
from solver.io import Axis, Column, RecordsLayout
from solver.mesh import placed
from solver.operators import Fields
from solver.outputs.window_sums import key_of
from solver.particles.flow import VELOCITY
from solver.particles.particles import POSITION, TURNS, particles_of
from solver.particles.quantities import are_particles, quantities_at

AXES = ("sample", "direction")
AVERAGES = {
    "mean_displacement": ("length", "mean displacement"),
    "mean_square_displacement": ("length^2", "mean square displacement"),
    "velocity_correlation": ("length^2/time^2", "mean product of the velocity with that at the begin of the window"),
    "velocity_structure_function": ("length^2/time^2", "mean square change of the velocity"),
}
OF_PAIRS = {
    "mean_square_separation": ("length^2", "mean square separation of the two particles of a pair"),
    "pair_dispersion": ("length^2", "mean square change of the separation of a pair"),
}


def layout_of_lags(equation: AnyEquation, name: str, lags: int) -> RecordsLayout:
    """Axes and columns of the averages over the particles of a name.

    Args:
        equation, name: equation, and name of its particles.
        lags: number of sampled states of a window, in addition to the state at its begin.
    """
    d = equation.grid.dimensions
    axes = {
        "sample": Axis(np.arange(lags + 1), long_name="number of the sampled state in its window"),
        "direction": Axis(np.arange(d), long_name=", ".join("xyz"[:d])),
    }
    given = AVERAGES | (OF_PAIRS if particles_of(equation)[name].start == "pairs" else {})
    averages = {key: Column(AXES, units, f"{text} since the window began") for key, (units, text) in given.items()}
    return RecordsLayout(axes, {"lag": Column(("sample",), "time", "time since the window began"), **averages})


def no_lags(equation: AnyEquation, name: str, layout: RecordsLayout) -> dict[str, Any]:
    """The averages before a window has begun: NaN, and zeros as the origin, from which displacements count."""
    averages = {key: np.full(layout.shape(key), np.nan) for key in layout.columns if key != "lag"}
    return {"origin": _zeros(equation, name), "lag": np.full(layout.shape("lag"), np.nan), "averages": averages}


def storage_of_lags(equation: AnyEquation, name: str) -> dict[str, Any]:
    """Storage of these: the origin is split by particle, the averages are numbers of the host."""
    host = Storage("host")
    return {"origin": particles_of(equation)[name].storage(equation), "lag": host, "averages": host}


def first_lags(equation: AnyEquation, name: str, sums: Mapping[str, Any], fields: Fields) -> dict[str, Any]:
    """The averages at the begin of the first window, where the particles are now. Collective."""
    return next_lags(equation, name, {**sums, "origin": _place(equation, name, fields)})


def next_lags(equation: AnyEquation, name: str, sums: Mapping[str, Any]) -> dict[str, Any]:
    """The averages at the begin of a window whose origin is known. Collective."""
    empty = {key: np.full(np.shape(values), np.nan) for key, values in sums["averages"].items()}
    fresh = {"origin": sums["origin"], "lag": np.full(np.shape(sums["lag"]), np.nan), "averages": empty}
    return _with(equation, name, fresh, sums["origin"], 0.0, 0)


def add_lags(
    equation: AnyEquation,
    name: str,
    sums: Mapping[str, Any],
    fields: Fields,
    lag: float,
    sample: int,
    *,
    closes: bool,
) -> dict[str, Any]:
    """The averages with a sampled state. Collective.

    Args:
        equation, name: equation, and name of its particles.
        sums: the averages so far.
        fields: entries of the state by name.
        lag: time since the window began.
        sample: number of the state in the window, from 1 on.
        closes: True if the window ends, and the next one begins here.
    """
    if sample >= len(sums["lag"]) and not closes:
        return dict(sums)
    place = _place(equation, name, fields)
    added = _with(equation, name, sums, place, lag, sample)
    return {**added, "origin": place} if closes else added


@dataclass(frozen=True)
class Lags:
    """Averages over the particles of some names, in the state by keys that depend on their axes and columns.

    Args:
        names: names of particles.
        count: number of sampled states of a window, in addition to the state at its begin.
    """

    names: tuple[str, ...]
    count: int

    def layouts(self, equation: AnyEquation) -> dict[str, RecordsLayout]:
        """Axes and columns by name."""
        return {name: layout_of_lags(equation, name, self.count) for name in self.names}

    def start(self, equation: AnyEquation) -> dict[str, Any]:
        """The averages before a window has begun."""
        return {
            key_of(name, layout): no_lags(equation, name, layout) for name, layout in self.layouts(equation).items()
        }

    def storage(self, equation: AnyEquation) -> dict[str, Any]:
        """Storage of the averages."""
        return {key: storage_of_lags(equation, name) for name, key in self._keys(equation).items()}

    def changed(self, equation: AnyEquation, sums: Mapping[str, Any], change: Any) -> dict[str, Any]:
        """The averages of each name, changed by a function of the equation, the name and these averages."""
        return {key: change(equation, name, sums[key]) for name, key in self._keys(equation).items()}

    def values(self, equation: AnyEquation, sums: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
        """The columns of a row, by name."""
        own = {name: sums[key] for name, key in self._keys(equation).items()}
        return {name: {"lag": np.asarray(each["lag"]), **each["averages"]} for name, each in own.items()}

    def programs(self, equation: AnyEquation, fields: Fields) -> dict[str, Any]:
        """The programs that find where particles are and how fast; `fields` may hold only shapes."""
        return {f"statistics of {name}": _place.trace(equation, name, fields) for name in self.names}

    def _keys(self, equation: AnyEquation) -> dict[str, str]:
        return {name: key_of(name, layout) for name, layout in self.layouts(equation).items()}


def _with(
    equation: AnyEquation, name: str, sums: Mapping[str, Any], place: Array, lag: float, sample: int
) -> dict[str, Any]:
    if sample >= len(sums["lag"]):
        return dict(sums)
    averages = {}
    for key, value in _averages(equation, name, sums["origin"], place).items():
        averages[key] = np.array(sums["averages"][key])
        averages[key][sample] = np.asarray(value, np.float64)
    lags = np.array(sums["lag"])
    lags[sample] = lag
    return {**sums, "lag": lags, "averages": averages}


def _place_of(equation: AnyEquation, name: str, fields: Fields) -> Array:
    """Positions, turns and velocities of the particles, as one array `(3 · direction, particle)`."""
    own = particles_of(equation)[name].array(equation.grid).split(fields[name])
    velocity = quantities_at(equation, name, (VELOCITY,), fields, None, 0.0)[VELOCITY]
    place = jnp.concatenate([own[POSITION], own[TURNS], velocity])
    return placed(place, particles_of(equation)[name].storage(equation).sharding(2, equation.grid))


def _averages_of(equation: AnyEquation, name: str, origin: Array, place: Array) -> Mapping[str, Array]:
    """The columns of `AVERAGES` and `OF_PAIRS` `(direction,)`, the same on every device."""
    particles, d = particles_of(equation)[name], equation.grid.dimensions
    lengths = jnp.asarray(equation.grid.box.lengths, place.dtype)[:, None]
    seen = are_particles(equation, name)
    change = place - origin
    moved = change[:d] + change[d : 2 * d] * lengths
    before, now = origin[2 * d :], place[2 * d :]
    mean = lambda v: jnp.sum(jnp.where(seen, v, 0), axis=-1) / particles.number()  # noqa: E731
    averages = {
        "mean_displacement": mean(moved),
        "mean_square_displacement": mean(moved**2),
        "velocity_correlation": mean(before * now),
        "velocity_structure_function": mean(change[2 * d :] ** 2),
    }
    if particles.start != "pairs":
        return averages
    # of the second particle of each pair: minus the first, which the device may not have
    second = seen & (jnp.arange(len(seen)) % 2 == 1)
    half = lambda v: 2 * jnp.sum(jnp.where(second, v, 0), axis=-1) / particles.number()  # noqa: E731
    apart = lambda v: v - jnp.roll(v, 1, axis=-1)  # noqa: E731
    separation = apart(place[:d]) + apart(place[d : 2 * d]) * lengths
    averages["mean_square_separation"] = half(separation**2)
    averages["pair_dispersion"] = half(apart(moved) ** 2)
    return averages


_place = compiled(_place_of, static_argnums=1)
_averages = compiled(_averages_of, static_argnums=1)


def _zeros(equation: AnyEquation, name: str) -> Array:
    """Zeros in the shape of the origin."""
    storage, grid = particles_of(equation)[name].storage(equation), equation.grid
    shape = (3 * grid.dimensions, *storage.axes(grid))
    return jax.jit(lambda: jnp.zeros(shape, grid.dtype), out_shardings=storage.sharding(2, grid))()
