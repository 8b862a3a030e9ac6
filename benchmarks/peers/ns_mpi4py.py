"""A plain solver on mpi4py-fft: rotational form, full transforms, modes cut by a mask, RK4; on several ranks."""

import json
import statistics
import sys
import time

import numpy as np
from mpi4py import MPI
from mpi4py_fft import PFFT, newDistArray

n, steps = int(sys.argv[1]), int(sys.argv[2])
world = MPI.COMM_WORLD
fft = PFFT(world, [n, n, n], axes=(0, 1, 2), dtype=float, slab=True)
viscosity, dt = 1e-2, 1e-3
numbers = [np.fft.fftfreq(n, 1 / n), np.fft.fftfreq(n, 1 / n), np.fft.rfftfreq(n, 1 / n)]
part = fft.local_slice(True)
K = np.array(np.meshgrid(*[k[s] for k, s in zip(numbers, part, strict=True)], indexing="ij"))
K2 = (K * K).sum(0)
K_over_K2 = K / np.where(K2 == 0, 1, K2)
keep = (np.abs(K) < n / 3).all(0)
U_hat, U, W = newDistArray(fft, True, rank=1), newDistArray(fft, False, rank=1), newDistArray(fft, False, rank=1)
dU, start, total, curl = (newDistArray(fft, True, rank=1) for _ in range(4))
U[:] = np.random.default_rng(world.rank).normal(size=U.shape)
for i in range(3):
    fft.forward(U[i], U_hat[i])
U_hat *= keep / 100


def right_hand_side():
    curl[0] = 1j * (K[1] * U_hat[2] - K[2] * U_hat[1])
    curl[1] = 1j * (K[2] * U_hat[0] - K[0] * U_hat[2])
    curl[2] = 1j * (K[0] * U_hat[1] - K[1] * U_hat[0])
    for i in range(3):
        fft.backward(U_hat[i], U[i])
        fft.backward(curl[i], W[i])
    fft.forward(U[1] * W[2] - U[2] * W[1], dU[0])
    fft.forward(U[2] * W[0] - U[0] * W[2], dU[1])
    fft.forward(U[0] * W[1] - U[1] * W[0], dU[2])
    dU[:] *= keep
    pressure = (dU * K_over_K2).sum(0)
    dU[:] -= pressure * K
    dU[:] -= viscosity * K2 * U_hat


def step():
    start[:] = total[:] = U_hat
    for a, b in ((1 / 6, 0.5), (1 / 3, 0.5), (1 / 3, 1.0), (1 / 6, None)):
        right_hand_side()
        total[:] += a * dt * dU
        if b is not None:
            U_hat[:] = start + b * dt * dU
    U_hat[:] = total


step()
times = []
for _ in range(steps):
    world.Barrier()
    began = time.perf_counter()
    step()
    world.Barrier()
    times.append(1e3 * (time.perf_counter() - began))
if world.rank == 0:
    print(json.dumps({"step": statistics.median(times)}))
