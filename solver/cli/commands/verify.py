"""Compare every checksum in a run's directory; imports nothing that the run names."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from solver import io
from solver.cli import FAILED, FINISHED
from solver.cli.directory import runs_at
from solver.io import Pack, RunDirectory


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """`DIR`."""
    parser.add_argument("directory", help="a run's directory, or one with runs in it, such as an ensemble's")


def run(options: argparse.Namespace) -> int:
    """Read everything that has a checksum; exit code 1 if anything is damaged."""
    root, runs = Path(options.directory), runs_at(options.directory)
    damaged = [_verify(directory, root) for directory in runs]
    packs = {run.pack.folder: run.pack for run in runs if run.pack is not None}
    damaged += [_verify_pack(pack, root) for pack in packs.values()]
    return FAILED if any(damaged) else FINISHED


def _verify(directory: RunDirectory, root: Path) -> int:
    """Check one run, its files named from a folder; returns how many are damaged."""
    from solver.assemble.classes import known_outputs

    checked: dict[Path, list[str]] = {}
    for kind in known_outputs():
        checked |= kind.verify(directory)
    checked |= _of_other_outputs(directory, checked)
    damaged = _print_files(checked, root)
    for path in _unsealed(directory, checked):
        print(f"{'unknown':8}{path.relative_to(root)}: it has no checksum, or was cut short")
    for path, reason in io.other_formats(directory.checkpoints).items():
        print(f"{'unknown':8}{path.relative_to(root)}: {reason}")
    print(f"{len(checked)} checked, {damaged} damaged")
    return damaged


def _print_files(checked: dict[Path, list[str]], root: Path) -> int:
    """Print the problems of each file, named from a folder; returns how many files are damaged."""
    for path, problems in checked.items():
        print(f"{'DAMAGED' if problems else 'ok':8}{os.path.relpath(path, root)}")
        for problem in problems:
            print(f"        {' '.join(problem.split())}")
    return sum(bool(problems) for problems in checked.values())


def _verify_pack(pack: Pack, root: Path) -> int:
    """Check the files that members share; returns how many are damaged."""
    checked = pack.verify()
    damaged = _print_files(checked, root)
    print(f"{len(checked)} checked, {damaged} damaged")
    return damaged


def _of_other_outputs(directory: RunDirectory, checked: dict[Path, list[str]]) -> dict[Path, list[str]]:
    """Check records of outputs that only the run's own Python defines; their files have the same checksums."""
    problems: dict[Path, list[str]] = {}
    for rows in _others(directory, checked):
        if not rows.path.exists() or io.is_sealed(rows.path):
            problems |= rows.verify()
    return problems


def _unsealed(directory: RunDirectory, checked: dict[Path, list[str]]) -> list[Path]:
    series = [path for path in (directory.series,) if path not in checked]
    others = [rows.path for rows in _others(directory, checked)]
    return [path for path in [*series, *others] if path.exists() and not _has_checksum(path)]


def _has_checksum(path: Path) -> bool:
    return path.suffix == ".h5" and io.is_sealed(path)


def _others(directory: RunDirectory, checked: dict[Path, list[str]]) -> list[io.Rows]:
    """Rows of the run's own files that no known kind of output has checked; some may be only in their journal."""
    names = directory.store.names() if directory.pack is None else []
    return [rows for rows in map(directory.store.rows, names) if rows.path not in checked]
