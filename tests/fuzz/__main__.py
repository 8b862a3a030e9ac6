"""Invents run files for so many seconds, and prints the smallest one that each kind of fault was seen with.

make fuzz SECONDS=600 SEED=1

One process for each core, each with its part of the turns.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
import warnings

import jax
from compilation import compile_fast, trace_fast

compile_fast(os.environ)
# as a run's own process has it; matrices between walls are multiplied with other rounding by several threads
os.environ["XLA_FLAGS"] += " --xla_cpu_multi_thread_eigen=false"
trace_fast()
jax.config.update("jax_num_cpu_devices", 8)
jax.config.update("jax_enable_x64", True)
jax.config.update("jax_platforms", "cpu")
jax.devices()  # eight from now on, whatever a run file asks for

from fuzz.search import Search  # noqa: E402
from fuzz.trials import TRIALS  # noqa: E402


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--trials", default=",".join(TRIALS), help="of " + ", ".join(TRIALS))
    parser.add_argument("--shrink", action="store_true", help="look for smaller run files of each fault")
    parser.add_argument("--walls", action="store_true", help="run files between walls alone")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--part", type=int, help="be one of the processes: a number from 0 on")
    options = parser.parse_args()
    if options.part is None:
        return all_parts(options.processes)
    warnings.simplefilter("ignore")
    part = (options.part, options.processes)
    search, number = (
        Search(time.time() + options.seconds, options.trials.split(","), only_walls=options.walls),
        options.seed,
    )
    while not search.is_over():
        search.go(number, shrink=options.shrink, part=part)
        number += 1
    for kind, (fault, table) in search.faults.items():
        print(f"\n{kind}\n  {fault}\n  {table}")
    print(f"\n{dict(search.results)}; {len(search.faults)} kinds of faults")
    return 1 if search.faults else 0


def all_parts(processes: int) -> int:
    """The same command in processes of its own, one for each part; 1 if one of them found a fault."""
    words = [sys.executable, "-u", "-m", "fuzz", *sys.argv[1:], "--processes", str(processes)]
    parts = [subprocess.Popen([*words, "--part", str(part)]) for part in range(processes)]
    return max([part.wait() for part in parts])


if __name__ == "__main__":
    sys.exit(main())
