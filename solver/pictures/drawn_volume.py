"""Draws the volume of a field of a snapshot: a scalar, the size of a vector, or Q of the velocity."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from solver.config import nearest
from solver.io import BODIES, Snapshot
from solver.pictures import View
from solver.pictures.volume import volume_picture

Q = "q"


def draw_volume(snapshot: Snapshot, name: str, folder: Path, view: View) -> Path:
    """Write STEP-NAME.png into a folder that exists. Reads the whole field.

    Raises:
        ValueError: an unknown field, or a run in less than three dimensions.
    """
    values = volume_values(snapshot, name)
    lengths = [float(points[1]) * len(points) if len(points) > 1 else 1.0 for points in snapshot.axes.values()]
    colouring = ("speed", _size(snapshot, "velocity")) if name == Q else None
    target = folder / f"{snapshot.path.stem}-{name}.png"
    has_bodies = BODIES in snapshot.variables and name != BODIES
    volume_picture(name, values, lengths, target, view, colouring, snapshot.values(BODIES) if has_bodies else None)
    return target


def volume_values(snapshot: Snapshot, name: str) -> np.ndarray:
    """A scalar `(x, y, z)`: a field, the size of a vector, or Q."""
    if len(snapshot.axes) != 3:
        raise ValueError(f"volume {name!r}: a run in three dimensions is needed; this one has {len(snapshot.axes)}")
    can_have_q = "velocity" in snapshot.variables
    known = [*snapshot.variables, *([Q] if can_have_q else [])]
    if name not in known:
        raise ValueError(f"volume {name!r}: the snapshots have no such field{nearest(name, known)}")
    if name == Q:
        spacing = [float(points[1] - points[0]) for points in snapshot.axes.values()]
        return second_invariant(np.moveaxis(snapshot.values("velocity"), -1, 0), spacing)
    return _size(snapshot, name)


def _size(snapshot: Snapshot, name: str) -> np.ndarray:
    values = snapshot.values(name)
    return np.sqrt(np.sum(values**2, axis=-1)) if snapshot.variables[name].labels else values


def second_invariant(u: np.ndarray, spacing: list[float]) -> np.ndarray:
    """Q = −½ ∂_i u_j ∂_j u_i [1/time²] of a solenoidal velocity `(3, x, y, z)`.

    Positive where the fluid turns more than it is strained.

    Source: Hunt, Wray & Moin, Center for Turbulence Research report S88 (1988) 193.
    """
    k = [2 * np.pi * np.fft.fftfreq(n, d) for n, d in zip(u.shape[1:], spacing, strict=True)]
    u_hat = np.fft.fftn(u, axes=(1, 2, 3))
    wave = np.meshgrid(*k, indexing="ij", sparse=True)

    def derivative(i: int, j: int) -> np.ndarray:
        return np.asarray(np.fft.ifftn(1j * wave[i] * u_hat[j]).real)

    q = np.zeros(u.shape[1:])
    for i, j in ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2)):
        q -= (0.5 if i == j else 1.0) * derivative(i, j) * derivative(j, i)
    return q
