"""Positions of particles at the start: drawn by number, on a lattice, in pairs, from a file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from solver.grid import Grid
from solver.operators import normal, random_key, uniform


def positions_at_start(particles: Any, grid: Grid, length: int) -> Array:
    """Positions `(direction, length)`: of the particles, and zeros up to the length that the devices divide.

    Raises:
        ValueError: a start that is not possible with this number of particles, or positions of another dimension.
    """
    d = grid.dimensions
    if particles.count is None:
        given = jnp.asarray(particles.places if particles.path is None else positions_in(particles.path), grid.dtype)
        if given.ndim != 2 or given.shape[1] != d:
            raise ValueError(
                f"particles {particles.name}: positions of shape {list(given.shape)}; rows of {d} numbers are needed"
            )
        return jnp.pad(given.T, [(0, 0), (0, length - len(given))])
    count, number = particles.count, jnp.arange(length)
    x = DRAWN[particles.start](particles, grid, number)
    return jnp.where(number < count, x, 0).astype(grid.dtype)


def _uniform(particles: Any, grid: Grid, number: Array) -> Array:
    return _drawn(random_key(particles.seed), grid, len(number))


def _lattice(particles: Any, grid: Grid, number: Array) -> Array:
    d, count = grid.dimensions, particles.count
    n = round(count ** (1 / d))
    if n**d != count:
        raise ValueError(
            f"particles {particles.name}: a lattice of {count} in {d} dimensions; n^{d} are needed, such as {n**d}"
        )
    digits = [(number // n ** (d - 1 - axis)) % n for axis in range(d)]
    return jnp.stack([(digit + 0.5) * (length / n) for digit, length in zip(digits, grid.box.lengths, strict=True)])


def _pairs(particles: Any, grid: Grid, number: Array) -> Array:
    if particles.count % 2:
        raise ValueError(f"particles {particles.name}: pairs of {particles.count} particles; an even number is needed")
    key = random_key(particles.seed)
    first = _drawn(key, grid, len(number))[:, number // 2]
    keys = [jax.random.fold_in(key, 100 + axis) for axis in range(grid.dimensions)]
    direction = jnp.stack([normal(k, (len(number),), grid.dtype) for k in keys])[:, number // 2]
    direction = direction / jnp.sqrt(jnp.sum(direction**2, axis=0))
    return first + particles.distance * direction * (number % 2)


DRAWN = {"uniform": _uniform, "lattice": _lattice, "pairs": _pairs}
STARTS = (*DRAWN, "file")


def _drawn(key: Array, grid: Grid, length: int) -> Array:
    """Anywhere in the box: a direction at a time, so that a particle's numbers do not depend on how many there are."""
    keys = [jax.random.fold_in(key, axis) for axis in range(grid.dimensions)]
    return jnp.stack([uniform(k, (length,), grid.dtype) * side for k, side in zip(keys, grid.box.lengths, strict=True)])


def positions_in(path: str | Path) -> np.ndarray:
    """Positions `(particle, direction)` in a file.

    Raises:
        ValueError: no file, or one that holds no such rows.
    """
    path = Path(path)
    if not path.is_file():
        raise ValueError(f"particles: {path}: there is no such file")
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
