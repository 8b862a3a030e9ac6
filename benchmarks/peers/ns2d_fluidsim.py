"""fluidsim's ns2d (vorticity) with RK4, on several ranks; with the faster of its two-dimensional distributed FFTs."""

import json
import statistics
import sys
import time

import numpy as np
from fluidsim.solvers.ns2d.solver import Simul
from mpi4py import MPI

n, steps, fft = int(sys.argv[2]), int(sys.argv[3]), sys.argv[1]
params = Simul.create_default_params()
params.oper.type_fft = fft
params.oper.nx = params.oper.ny = n
params.oper.Lx = params.oper.Ly = 2 * np.pi
params.oper.coef_dealiasing = 2 / 3
params.nu_2 = 1e-2
params.time_stepping.type_time_scheme = "RK4"
params.time_stepping.USE_CFL = False
params.time_stepping.deltat0 = 1e-3
params.init_fields.type = "noise"
params.output.HAS_TO_SAVE = False
params.output.periods_print.print_stdout = 0
simulation = Simul(params)
simulation.time_stepping.one_time_step()
times = []
for _ in range(steps):
    MPI.COMM_WORLD.Barrier()
    began = time.perf_counter()
    simulation.time_stepping.one_time_step_computation()
    MPI.COMM_WORLD.Barrier()
    times.append(1e3 * (time.perf_counter() - began))
if MPI.COMM_WORLD.rank == 0:
    print(json.dumps({"step": statistics.median(times)}))
