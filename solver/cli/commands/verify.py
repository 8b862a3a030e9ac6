"""Compare every checksum in a run's directory."""

from __future__ import annotations

import argparse
from pathlib import Path

from solver.cli.codes import FAILED, FINISHED
from solver.cli.directory import open_run, outputs_of


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """`DIR`."""
    parser.add_argument("directory", help="a run's directory")


def run(options: argparse.Namespace) -> int:
    """Read everything that carries a checksum; exit code 1 if anything is damaged."""
    directory = open_run(options.directory)
    checked: dict[Path, list[str]] = {}
    for kind in outputs_of(directory):
        checked |= kind.verify(directory)
    for path, problems in checked.items():
        print(f"{'DAMAGED' if problems else 'ok':8}{path.relative_to(directory.path)}")
        for problem in problems:
            print(f"        {' '.join(problem.split())}")
    damaged = sum(bool(problems) for problems in checked.values())
    print(f"{len(checked)} checked, {damaged} damaged")
    return FAILED if damaged else FINISHED
