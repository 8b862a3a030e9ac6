"""dnsjax's Kolmogorov flow with CN/AB2: four times what it prints for a right-hand side.

On two MPI ranks, or with a third argument in one process on that platform (cpu, cuda). It needs Python 3.12 or later,
so it is started as a command: SLABWAVE_DNSJAX, by default `dnsjax`.
"""

import json
import os
import re
import shlex
import subprocess
import sys

n, steps, *platform = sys.argv[1:]
n, steps = int(n), int(steps)
modes = 2 * n // 3 // 2 * 2  # the 3/2 rule makes n points of them
flow = ["--phys.system", "kolmogorov", "--phys.re", "100", "--geo.lx", "4", "--geo.lz", "4", "--step.scheme", "cnab2"]
flow += [word for axis in "xyz" for word in (f"--res.n{axis}", str(modes))]
flow += ["--step.dt", "0.001", "--stop.max_sim_time", str(0.001 * (4 * steps + 1)), "--init.random_seed", "1"]
flow += ["--outs.snapshot_save_final", "False", "--outs.snapshot_save_initial", "False"]
flow += ["--dist.platform", *platform] if platform else ["--dist.np0", "2"]
ranks = [] if platform else ["mpirun", "--allow-run-as-root", "--oversubscribe", "-n", "2", "--bind-to", "none"]
command = [*ranks, *shlex.split(os.environ.get("SLABWAVE_DNSJAX", "dnsjax")), *flow]
kept = ("XLA_FLAGS",) if platform else ("XLA_FLAGS", "PYTHONPATH")
environment = {key: value for key, value in os.environ.items() if key not in kept}
done = subprocess.run(command, capture_output=True, text=True, env=environment)
found = re.search(r"([\d.e+-]+) s/rhs", done.stdout)
if done.returncode or found is None:
    sys.exit(f"dnsjax: {(done.stderr.strip() or done.stdout.strip() or 'printed no s/rhs').splitlines()[-1]}")
print(json.dumps({"step": 4e3 * float(found[1])}))
