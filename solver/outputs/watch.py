"""Checks in every run that the fields still have the properties that the equation declares."""

from __future__ import annotations

import numpy as np

from solver.loop import BlowUp

WARNING_LEVEL = {np.dtype("float64"): 1e-6, np.dtype("float32"): 1e-3}
WRONG = 1e-2  # of a field; the output would be wrong by a percent

Distances = dict[str, dict[str, float]]  # field → violated property → ‖violating part‖/‖field‖


def strayed(distances: Distances, precision: np.dtype) -> list[str]:
    """A warning for each field that has left its manifold; see `spaces.manifold.distances`."""
    return [
        f"the part of {name} that is {what} = {size:.1e} of it, more than round-off: sums over modes and values at the "
        "points do not agree"
        for name, parts in distances.items()
        for what, size in parts.items()
        if size > WARNING_LEVEL[precision]
    ]


def stop_if_wrong(distances: Distances, step: int, t: float) -> None:
    """Raises BlowUp if a field violates its declared properties so much that results are wrong."""
    for name, parts in distances.items():
        for what, size in parts.items():
            if size > WRONG:
                raise BlowUp(
                    f"step {step}, t = {t:.6g}: {name} is {what} by {size:.1e} of its size; at most {WRONG:g} is "
                    "allowed, the last checkpoint is from before"
                )
