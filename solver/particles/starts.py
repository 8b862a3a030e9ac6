"""Positions of particles at the start: drawn by number, on a lattice, in pairs, from a file, by a function."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from solver.grid import Grid
from solver.operators import normal, random_key, uniform
from solver.particles.reflection import bodies_of, in_bodies


def check_start(particles: Any, grid: Grid) -> None:
    """Check that particles can start in a box. Touches no device.

    Raises:
        ValueError: a number of particles that does not fit the kind of start, or positions of another dimension or
            outside of the box.
    """
    d, named = grid.dimensions, f"particles {particles.name}"
    if particles.count is None:
        _check_places(named, particles.places if particles.path is None else positions_in(particles.path), grid)
    elif callable(particles.start):
        positions_of(particles.start, particles.count, grid, particles.seed, named)
    elif particles.start == "lattice" and (n := _side(particles.count, d)) ** d != particles.count:
        raise ValueError(f"{named}: a lattice of {particles.count} in {d} dimensions; n^{d} are needed, such as {n**d}")
    elif particles.start == "pairs" and particles.count % 2:
        raise ValueError(f"{named}: pairs of {particles.count} particles; an even number is needed")
    elif particles.start == "pairs" and grid.walls and particles.distance > (half := grid.box.lengths[-1] / 2):
        raise ValueError(f"{named}: distance = {particles.distance:g} between walls; {half:g} or less is needed")


def _check_places(named: str, places: Any, grid: Grid) -> None:
    """Raises ValueError if a position is outside of the box; traced ones are taken back into it."""
    shape = tuple(np.shape(places))
    if len(shape) != 2 or shape[1] != grid.dimensions:
        raise ValueError(f"{named}: positions of shape {list(shape)}; rows of {grid.dimensions} numbers are needed")
    if isinstance(places, jax.core.Tracer):
        return
    given = np.asarray(places)
    is_end = ~np.array(grid.periodic) & (given == grid.box.lengths)  # a wall belongs to the box
    outside = np.flatnonzero(~((given >= 0) & ((given < grid.box.lengths) | is_end)).all(axis=1))
    if len(outside):
        where = ", ".join(f"{x:g}" for x in given[outside[0]])
        box = " × ".join(f"{length:g}" for length in grid.box.lengths)
        raise ValueError(
            f"{named}: {len(outside)} of {len(given)} positions are outside of the box {box}, the first is number "
            f"{outside[0]} at ({where})"
        )


def positions_at_start(particles: Any, equation: Any, length: int) -> Array:
    """Positions `(direction, length)`: of the particles, and zeros up to the length that the devices divide."""
    grid = equation.grid
    if particles.count is None:
        given = jnp.asarray(particles.places if particles.path is None else positions_in(particles.path), grid.dtype)
        return jnp.pad(given.T, [(0, 0), (0, length - len(given))])
    if callable(particles.start):
        given = positions_of(particles.start, particles.count, grid, particles.seed, f"particles {particles.name}")
        return jnp.pad(jnp.asarray(given.T, grid.dtype), [(0, 0), (0, length - len(given))])
    number = jnp.arange(length)
    x = DRAWN[particles.start](particles, equation, number)
    return jnp.where(number < particles.count, x, 0).astype(grid.dtype)


def _uniform(particles: Any, equation: Any, number: Array) -> Array:
    return _drawn(random_key(particles.seed), equation, len(number))


def _side(count: int, dimensions: int) -> int:
    """Number of points along each direction of a lattice of about as many points."""
    return max(1, round(count ** (1 / dimensions)))


def _lattice(particles: Any, equation: Any, number: Array) -> Array:
    grid, d = equation.grid, equation.grid.dimensions
    n = _side(particles.count, d)
    digits = [(number // n ** (d - 1 - axis)) % n for axis in range(d)]
    return jnp.stack([(digit + 0.5) * (length / n) for digit, length in zip(digits, grid.box.lengths, strict=True)])


def _pairs(particles: Any, equation: Any, number: Array) -> Array:
    grid, key = equation.grid, random_key(particles.seed)
    first = _drawn(key, equation, len(number))[:, number // 2]
    keys = [jax.random.fold_in(key, 100 + axis) for axis in range(grid.dimensions)]
    direction = jnp.stack([normal(k, (len(number),), grid.dtype) for k in keys])[:, number // 2]
    apart = particles.distance * direction / jnp.sqrt(jnp.sum(direction**2, axis=0))
    if grid.walls:  # a second one that would be beyond a wall is on the other side of the first
        end = first[-1] + apart[-1]
        apart = apart.at[-1].multiply(jnp.where((end < 0) | (end > grid.box.lengths[-1]), -1, 1))
    return first + apart * (number % 2)


DRAWN = {"uniform": _uniform, "lattice": _lattice, "pairs": _pairs}
STARTS = (*DRAWN, "file")
DRAWN_ANEW = 16  # times, after which one in 65 000 is left in bodies that take half of the box


def _drawn(key: Array, equation: Any, length: int) -> Array:
    """Anywhere in the fluid: positions in bodies are drawn anew, as often as is likely to suffice."""
    x = _anywhere(key, equation.grid, length)
    for again in range(DRAWN_ANEW if bodies_of(equation) else 0):
        other = _anywhere(jax.random.fold_in(key, 200 + again), equation.grid, length)
        x = jnp.where(in_bodies(x, equation, 0.0), other, x)
    return x


def _anywhere(key: Array, grid: Grid, length: int) -> Array:
    """Anywhere in the box: a direction at a time, so that a particle's numbers do not depend on how many there are."""
    keys = [jax.random.fold_in(key, axis) for axis in range(grid.dimensions)]
    return jnp.stack([uniform(k, (length,), grid.dtype) * side for k, side in zip(keys, grid.box.lengths, strict=True)])


def positions_of(start: Callable[..., Any], count: int, grid: Grid, seed: int, named: str = "particles") -> np.ndarray:
    """Positions `(particle, direction)` by a function of one's own, which every process calls, with NumPy.

        start(count, lengths, seed) -> array (count, direction) [length], 0 ≤ x < L in each direction

    Args:
        start: function of the number of particles, of the sides L of the box [length] as a tuple, and of the seed of
            the particles, from which it draws its random numbers, if any: `numpy.random.default_rng(seed)`. Called
            twice, it has to give the same numbers.
        count, grid, seed: its arguments.
        named: name of the particles, for messages.

    Raises:
        ValueError: the function fails, or its positions are of another shape, not finite, outside of the box, or others
            when it is called once more.
    """
    return _positions_of(start, count, grid, seed, named)


@lru_cache(maxsize=4)
def _positions_of(start: Callable[..., Any], count: int, grid: Grid, seed: int, named: str) -> np.ndarray:
    where = f"{named}: start {getattr(start, '__name__', start)}(count, lengths, seed)"
    lengths = tuple(float(length) for length in grid.box.lengths)
    try:
        given, again = (np.array(start(count, lengths, seed), np.float64) for _ in range(2))
    except Exception as error:
        raise ValueError(f"{where} fails: {type(error).__name__}: {' '.join(str(error).split())}") from error
    if given.shape != (count, grid.dimensions):
        raise ValueError(f"{where} gives an array of shape {list(given.shape)}; {[count, grid.dimensions]} is needed")
    if not np.isfinite(given).all():
        raise ValueError(f"{where} gives positions that are not finite; finite ones are needed")
    if not np.array_equal(given, again):
        raise ValueError(f"{where} gives other positions when it is called again; its random numbers need the seed")
    _check_places(where, given, grid)
    return given


def positions_in(path: str | Path) -> np.ndarray:
    """Positions `(particle, direction)` in a file.

    Raises:
        ValueError: no file, or one that holds no such rows.
    """
    path = Path(path)
    if not path.is_file():
        raise ValueError(f"particles: {path}: there is no such file")
    return _positions_in(path, path.stat().st_mtime_ns)


@lru_cache(maxsize=4)
def _positions_in(path: Path, changed: int) -> np.ndarray:
    """Positions in a file that was last changed then: it is read once for all who use it."""
    if path.suffix == ".npy":
        found = np.load(path, allow_pickle=False)
    elif path.suffix in (".csv", ".txt"):
        found = np.loadtxt(path, delimiter="," if path.suffix == ".csv" else None, ndmin=2)
    elif path.suffix == ".h5":
        import h5py

        with h5py.File(path) as file:
            if "position" not in file:
                raise ValueError(f"particles: {path}: holds {', '.join(file)}; a dataset position is needed")
            found = np.asarray(file["position"])
    else:
        raise ValueError(f"particles: {path}: a file .npy, .csv, .txt or .h5 is needed")
    if found.ndim != 2 or not np.isfinite(found).all():
        raise ValueError(f"particles: {path}: finite positions are needed, a row for each particle")
    return found
