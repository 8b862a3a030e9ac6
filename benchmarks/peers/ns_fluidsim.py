"""fluidsim's ns3d, or its ns2d (vorticity), with RK4; on several ranks, with the distributed FFT that is asked for."""

import json
import statistics
import sys
import time
from importlib import import_module

import numpy as np
from mpi4py import MPI

fft, n, steps = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
axes = "xyz" if fft.startswith("fft3d") else "xy"
Simul = import_module(f"fluidsim.solvers.ns{len(axes)}d.solver").Simul
params = Simul.create_default_params()
params.oper.type_fft = fft
for axis in axes:
    setattr(params.oper, f"n{axis}", n)
    setattr(params.oper, f"L{axis}", 2 * np.pi)
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
