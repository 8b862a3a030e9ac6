"""Invents run files for so many seconds, and prints the smallest one that each kind of fault was seen with.

make fuzz SECONDS=600 SEED=1
"""

from __future__ import annotations

import argparse
import os
import sys
import time
import warnings

import jax
from compilation import compile_fast, trace_fast

compile_fast(os.environ)
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
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    search, number = Search(time.time() + options.seconds, options.trials.split(",")), options.seed
    while not search.is_over():
        search.go(number, shrink=options.shrink)
        number += 1
    for kind, (fault, table) in search.faults.items():
        print(f"\n{kind}\n  {fault}\n  {table}")
    print(f"\n{dict(search.results)}; {len(search.faults)} kinds of faults")
    return 1 if search.faults else 0


if __name__ == "__main__":
    sys.exit(main())
