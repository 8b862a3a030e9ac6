"""A watch in every run: whether the fields are still what the equation declares them to be."""

from __future__ import annotations

import numpy as np

from solver.loop import BlowUp

WORTH_A_WARNING = {np.dtype("float64"): 1e-6, np.dtype("float32"): 1e-3}
WRONG = 1e-2  # of a field: what is written of it would be wrong by a percent

Distances = dict[str, dict[str, float]]  # field → what is wrong → ‖that part‖/‖field‖


def strayed(distances: Distances, precision: np.dtype) -> list[str]:
    """A warning for each field that has left its manifold; see `equations.manifold.distances`."""
    return [
        f"the part of {name} that is {what} = {size:.1e} of it, more than round-off: sums over modes and values at the "
        "points do not agree"
        for name, parts in distances.items()
        for what, size in parts.items()
        if size > WORTH_A_WARNING[precision]
    ]


def stop_if_wrong(distances: Distances, step: int, t: float) -> None:
    """Raises BlowUp where so much of a field is not what it is declared to be that results are wrong."""
    for name, parts in distances.items():
        for what, size in parts.items():
            if size > WRONG:
                raise BlowUp(
                    f"step {step}, t = {t:.6g}: {name} is {what} by {size:.1e} of its size; at most {WRONG:g} is "
                    "allowed, the last checkpoint is from before"
                )
