"""Convection by Dedalus 3, in a vertical plane or a layer: ⟨wT⟩, the kinetic energy, and the time of the steps.

Its arguments are the modes along each axis, as 256x64 or 64x64x64, the Rayleigh number, the step, the end, the scheme.
"""

import json
import sys
import time

import dedalus.public as d3
import numpy as np
from mpi4py import MPI

*modes, nz = map(int, sys.argv[1].split("x"))
rayleigh, step, end, scheme = (*map(float, sys.argv[2:5]), sys.argv[5])
L, Lz, kappa, nu = 2.0, 1.0, rayleigh**-0.5, rayleigh**-0.5
names = "xy"[: len(modes)] + "z"
coords = d3.CartesianCoordinates(*names)
dist = d3.Distributor(coords, dtype=np.float64)
fourier = lambda name, size: d3.RealFourier(coords[name], size=size, bounds=(0, L), dealias=3 / 2)  # noqa: E731
along = tuple(map(fourier, names, modes))
across = d3.ChebyshevT(coords["z"], size=nz, bounds=(0, Lz), dealias=3 / 2)
p, b = (dist.Field(name=name, bases=(*along, across)) for name in "pb")
u = dist.VectorField(coords, name="u", bases=(*along, across))
tau_p = dist.Field(name="tau_p")
tau_b1, tau_b2 = (dist.Field(name=f"tau_b{i}", bases=along) for i in (1, 2))
tau_u1, tau_u2 = (dist.VectorField(coords, name=f"tau_u{i}", bases=along) for i in (1, 2))
*_, ez = coords.unit_vector_fields(dist)
lift = lambda tau: d3.Lift(tau, across.derivative_basis(1), -1)  # noqa: E731
grad_u, grad_b = d3.grad(u) + ez * lift(tau_u1), d3.grad(b) + ez * lift(tau_b1)
problem = d3.IVP([p, b, u, tau_p, tau_b1, tau_b2, tau_u1, tau_u2], namespace=locals())
for line in [
    "trace(grad_u) + tau_p = 0", "dt(b) - kappa*div(grad_b) + lift(tau_b2) = - u@grad(b)",
    "dt(u) - nu*div(grad_u) + grad(p) - b*ez + lift(tau_u2) = - u@grad(u)",
    "b(z=0) = Lz", "u(z=0) = 0", "b(z=Lz) = 0", "u(z=Lz) = 0", "integ(p) = 0",
]:  # fmt: skip
    problem.add_equation(line)
solver = problem.build_solver(getattr(d3, scheme))
*points, z = dist.local_grids(*along, across)
waves = sum(np.cos(np.pi * x) + 0.5 * np.sin(2 * np.pi * x) for x in points)
b["g"] = 1 - z + 0.1 * np.sin(np.pi * z) * waves
w = u @ ez
flux, energy = (d3.Integrate(of / (L ** len(modes) * Lz)) for of in (w * b, u @ u / 2))
steps = round(end / step)
for _ in range(5):  # its transforms and matrices are made
    solver.step(1e-9)
MPI.COMM_WORLD.Barrier()
began = time.perf_counter()
for _ in range(steps):
    solver.step(step)
MPI.COMM_WORLD.Barrier()
took = time.perf_counter() - began
found = [one.evaluate()["g"] for one in (flux, energy)]
if dist.comm.rank == 0:
    numbers = [float(np.ravel(one)[0]) for one in found]
    print(json.dumps({"seconds": took, "steps": steps, "flux": numbers[0], "energy": numbers[1]}))
