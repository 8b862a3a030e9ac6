"""Distributed Fourier transforms: local stages, exchange, pruning, partitioning rules, gradients, engines."""

from solver.fft.engines import ENGINES, Method
from solver.fft.pipeline import forward_local, inverse_local
from solver.fft.transform import Transform, fftn, ifftn, irfftn, rfftn

__all__ = [
    "ENGINES",
    "Method",
    "Transform",
    "fftn",
    "forward_local",
    "ifftn",
    "inverse_local",
    "irfftn",
    "rfftn",
]
