"""Distributed Fourier transforms: local stages, exchange, pruning, partitioning rules, gradients, engines."""

from solver.fft.cost import Call, transforms_in
from solver.fft.maxima import max_over_points
from solver.fft.method import ENGINES, Method, has_few_points
from solver.fft.neighbours import apply_stencil, fftfreq, from_natural_order, rfftfreq, roll, to_natural_order
from solver.fft.numpy_api import fftn, ifftn, irfftn, rfftn
from solver.fft.resample import resample
from solver.fft.transform import Transform
from solver.fft.whole import forward_local, inverse_local

__all__ = [
    "ENGINES",
    "Call",
    "Method",
    "Transform",
    "apply_stencil",
    "fftfreq",
    "fftn",
    "forward_local",
    "from_natural_order",
    "has_few_points",
    "ifftn",
    "inverse_local",
    "irfftn",
    "max_over_points",
    "resample",
    "rfftfreq",
    "rfftn",
    "roll",
    "to_natural_order",
    "transforms_in",
]
