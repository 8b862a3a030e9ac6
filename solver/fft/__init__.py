"""Distributed Fourier transforms: local stages, exchange, pruning, partitioning rules, gradients, engines."""

from solver.fft.cost import Call as Call, transforms_in as transforms_in
from solver.fft.maxima import max_over_points as max_over_points
from solver.fft.method import ENGINES as ENGINES, Method as Method, has_few_points as has_few_points
from solver.fft.neighbours import (
    apply_stencil as apply_stencil,
    fftfreq as fftfreq,
    from_natural_order as from_natural_order,
    rfftfreq as rfftfreq,
    roll as roll,
    to_natural_order as to_natural_order,
)
from solver.fft.numpy_api import fftn as fftn, ifftn as ifftn, irfftn as irfftn, rfftn as rfftn
from solver.fft.resample import resample as resample
from solver.fft.transform import Transform as Transform
from solver.fft.whole import forward_local as forward_local, inverse_local as inverse_local
from solver.fft.wire import sent_bytes as sent_bytes
