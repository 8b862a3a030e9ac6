"""The transform of few points on one device: one FFT of all axes, then the modes that are kept.

Where there are few points, XLA needs longer to compile a program than the program runs. So nothing is cut into blocks
and no two planes share an FFT: a step of Navier–Stokes is 843 instructions instead of 2402. From about 32³ points on
the steps of blocks are faster by a third (benchmarks/startup.md).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from jaxtyping import Array

from solver.fft.local import AxisNames
from solver.fft.stages import extend, to_modes, to_points, transposed, truncate
from solver.fft.whole import WholeArrays
from solver.grid.layout import Layout

MOST_POINTS = 2**12  # 16³ or 64²


def has_plain_transform(layout: Layout, on_cpu: bool, most_points: int) -> bool:
    """True if a grid of two or three dimensions has no more points than these, and is on one device of a CPU."""
    return on_cpu and layout.devices == 1 and layout.dimensions > 1 and math.prod(layout.points) <= most_points


@dataclass(frozen=True)
class PlainArrays(WholeArrays):
    """Transforms of whole arrays on one device, by one FFT call each. Nothing is sent."""

    def forward(self, u: Array, layout: Layout, axis_name: AxisNames, factor: float) -> Array:
        """FFT of all axes, then the modes that are kept. See `LocalTransform.forward`."""
        d = layout.dimensions
        u_hat = to_modes(u, layout, d)
        for axis in range(d):
            u_hat = truncate(u_hat, layout, axis, axis - d)
        return transposed(u_hat, layout.order) * factor

    def inverse(self, u_hat: Array, layout: Layout, axis_name: AxisNames, factor: float) -> Array:
        """Zeros where modes were dropped, then the FFT of all axes. See `LocalTransform.inverse`."""
        d = layout.dimensions
        u_hat = transposed(u_hat * (factor * math.prod(layout.points)), [layout.order.index(axis) for axis in range(d)])
        for axis in range(d):
            u_hat = extend(u_hat, layout, axis, axis - d)
        return to_points(u_hat, layout, d)
