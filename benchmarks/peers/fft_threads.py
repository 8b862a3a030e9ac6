"""FFTW through pyFFTW, or scipy.fft, with two threads in one process."""

import json
import statistics
import sys
import time

import numpy as np

library, n, repeats = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
field = np.random.default_rng(0).normal(size=(n, n, n))
if library == "pyfftw":
    import pyfftw

    u, u_hat = pyfftw.empty_aligned((n, n, n)), pyfftw.empty_aligned((n, n, n // 2 + 1), complex)
    forward = pyfftw.FFTW(u, u_hat, axes=(0, 1, 2), threads=2)
    inverse = pyfftw.FFTW(u_hat, u, axes=(0, 1, 2), direction="FFTW_BACKWARD", threads=2)
    u[:] = field
else:
    import scipy.fft

    field_hat = scipy.fft.rfftn(field)
    forward = lambda: scipy.fft.rfftn(field, workers=2)  # noqa: E731
    inverse = lambda: scipy.fft.irfftn(field_hat, (n, n, n), workers=2)  # noqa: E731


def timed(call):
    call()
    times = []
    for _ in range(repeats):
        began = time.perf_counter()
        call()
        times.append(1e3 * (time.perf_counter() - began))
    return statistics.median(times)


print(json.dumps({"forward": timed(forward), "inverse": timed(inverse)}))
