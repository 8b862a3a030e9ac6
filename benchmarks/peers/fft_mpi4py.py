"""mpi4py-fft's slab transform of a real array; on several ranks."""

import json
import statistics
import sys
import time

import numpy as np
from mpi4py import MPI
from mpi4py_fft import PFFT, newDistArray

n, repeats = int(sys.argv[1]), int(sys.argv[2])
world = MPI.COMM_WORLD
fft = PFFT(world, [n, n, n], axes=(0, 1, 2), dtype=float, slab=True)
u, u_hat = newDistArray(fft, False), newDistArray(fft, True)
u[:] = np.random.default_rng(world.rank).normal(size=u.shape)


def timed(call):
    call()
    times = []
    for _ in range(repeats):
        world.Barrier()
        began = time.perf_counter()
        call()
        world.Barrier()
        times.append(1e3 * (time.perf_counter() - began))
    return statistics.median(times)


result = {"forward": timed(lambda: fft.forward(u, u_hat)), "inverse": timed(lambda: fft.backward(u_hat, u))}
if world.rank == 0:
    print(json.dumps(result))
