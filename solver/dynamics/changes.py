"""Changes of the fields of an equation at one moment."""

from __future__ import annotations

from dataclasses import dataclass

from solver.operators import Fields


@dataclass(frozen=True)
class Changes:
    """Changes of the fields at one moment: coefficients [u/time] by field name.

    Args:
        linear: L u.
        nonlinear: N(u, t), without forcing.
        forcing: forcing of the fields that are forced.
        by_device: True if rates may be arrays `(devices,)` that add up to them (`diagnostics.mode_sums`): devices then
            add up once in a step, and not for each of its evaluations.
    """

    linear: Fields
    nonlinear: Fields
    forcing: Fields
    by_device: bool = False
