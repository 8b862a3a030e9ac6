"""Run named cases whose results are known, and print the computed numbers next to the known ones."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from solver.cli import FAILED, FINISHED
from solver.config import ConfigError, nearest

OVERRIDES = False


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """`[NAME …] [--quick] [--output DIR]`, and the devices."""
    parser.add_argument("names", nargs="*", metavar="NAME", help="cases (default: all)")
    parser.add_argument("--quick", action="store_true", help="small versions, which take two minutes in all")
    parser.add_argument(
        "--output", type=Path, metavar="DIR", help="folder for the checkpoints of long cases, which resume from it"
    )
    parser.add_argument("--platform", default="auto", choices=("auto", "cpu", "gpu", "tpu"), help="as devices.platform")


def run(options: argparse.Namespace) -> int:
    """Print a table; returns 1 if a number is not what it must be.

    With `--output` the log of the runs is printed as they continue, and each case has a table of its own.
    """
    import jax

    from solver.cluster import Launch, available_cores, forced_cpu_devices, set_up_jax
    from solver.validate import cases, judge, table
    from solver.validate.case import HEAD

    known = cases()
    for name in options.names:
        if name not in known:
            raise ConfigError(f"case {name!r}: no case has this name{nearest(name, known)}")
    cores = available_cores(os.environ, Launch("validate"))
    set_up_jax(options.platform, cores if forced_cpu_devices(os.environ) is None else None)
    jax.config.update("jax_enable_x64", True)
    failed, seconds = 0, list[str]()
    for name in options.names or known:
        if known[name].takes and not options.quick:
            print(f"{name}: takes {known[name].takes}", file=sys.stderr, flush=True)
        findings, took = judge(known[name](options.quick, options.output))
        failed += sum(not finding.holds for finding in findings)
        if options.output is not None or not seconds:
            print("".join(HEAD), end="")
        print("\n".join(table(name, findings)), flush=True)
        seconds.append(f"{name} {took:.0f} s")
    installation = f"jax {jax.__version__}, {len(jax.devices())} × {jax.devices()[0].device_kind}"
    print(f"\n{'quick' if options.quick else 'full'} versions; {installation}; {', '.join(seconds)}")
    return FAILED if failed else FINISHED
