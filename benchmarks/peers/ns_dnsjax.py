"""dnsjax's Kolmogorov flow with CN/AB2 on two MPI ranks: four times what it prints for a right-hand side.

It needs Python 3.12 or later, so it is started as a command: SLABWAVE_DNSJAX, by default `dnsjax`.
"""

import json
import os
import re
import shlex
import subprocess
import sys

n, steps = int(sys.argv[1]), int(sys.argv[2])
modes = 2 * n // 3 // 2 * 2  # the 3/2 rule makes n points of them
flow = ["--phys.system", "kolmogorov", "--phys.re", "100", "--geo.lx", "4", "--geo.lz", "4", "--step.scheme", "cnab2"]
flow += [word for axis in "xyz" for word in (f"--res.n{axis}", str(modes))]
flow += ["--step.dt", "0.001", "--stop.max_sim_time", str(0.001 * (4 * steps + 1)), "--init.random_seed", "1"]
flow += ["--outs.snapshot_save_final", "False", "--outs.snapshot_save_initial", "False", "--dist.np0", "2"]
ranks = ["mpirun", "--allow-run-as-root", "--oversubscribe", "-n", "2", "--bind-to", "none"]
command = [*ranks, *shlex.split(os.environ.get("SLABWAVE_DNSJAX", "dnsjax")), *flow]
environment = {key: value for key, value in os.environ.items() if key not in ("XLA_FLAGS", "PYTHONPATH")}
done = subprocess.run(command, capture_output=True, text=True, env=environment)
found = re.search(r"([\d.e+-]+) s/rhs", done.stdout)
if done.returncode or found is None:
    sys.exit(f"dnsjax: {(done.stderr.strip() or 'printed no s/rhs').splitlines()[-1]}")
print(json.dumps({"step": 4e3 * float(found[1])}))
