"""Compare every checksum in a run's directory; imports nothing that the run names."""

from __future__ import annotations

import argparse
from pathlib import Path

from solver import io
from solver.cli.codes import FAILED, FINISHED
from solver.cli.directory import runs_at
from solver.io import RunDirectory


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """`DIR`."""
    parser.add_argument("directory", help="a run's directory, or one with runs in it, such as an ensemble's")


def run(options: argparse.Namespace) -> int:
    """Read everything that has a checksum; exit code 1 if anything is damaged."""
    damaged = [_verify(directory, Path(options.directory)) for directory in runs_at(options.directory)]
    return FAILED if any(damaged) else FINISHED


def _verify(directory: RunDirectory, root: Path) -> int:
    """Check one run, its files named from a folder; returns how many are damaged."""
    from solver.assemble.classes import known_outputs

    checked: dict[Path, list[str]] = {}
    for kind in known_outputs():
        checked |= kind.verify(directory)
    checked |= _of_other_outputs(directory, checked)
    for path, problems in checked.items():
        print(f"{'DAMAGED' if problems else 'ok':8}{path.relative_to(root)}")
        for problem in problems:
            print(f"        {' '.join(problem.split())}")
    for path in _unsealed(directory, checked):
        print(f"{'unknown':8}{path.relative_to(root)}: it has no checksum, or was cut short")
    for path, reason in io.other_formats(directory.checkpoints).items():
        print(f"{'unknown':8}{path.relative_to(root)}: {reason}")
    damaged = sum(bool(problems) for problems in checked.values())
    print(f"{len(checked)} checked, {damaged} damaged")
    return damaged


def _of_other_outputs(directory: RunDirectory, checked: dict[Path, list[str]]) -> dict[Path, list[str]]:
    """Check records of outputs that only the run's own Python defines; their files have the same checksums."""
    problems: dict[Path, list[str]] = {}
    for file in map(io.RecordsFile, _others(directory, checked)):
        if not file.path.exists() or io.is_sealed(file.path):
            problems |= file.verify()
    return problems


def _unsealed(directory: RunDirectory, checked: dict[Path, list[str]]) -> list[Path]:
    series = [path for path in (directory.series,) if path not in checked]
    return [path for path in [*series, *_others(directory, checked)] if path.exists() and not _has_checksum(path)]


def _has_checksum(path: Path) -> bool:
    return path.suffix == ".h5" and io.is_sealed(path)


def _others(directory: RunDirectory, checked: dict[Path, list[str]]) -> list[Path]:
    """Records that no known kind of output has checked; some may be only in their journal."""
    from solver.reading import recorded_names

    files = map(io.RecordsFile, (directory.records(name) for name in recorded_names(directory.path)))
    return [file.path for file in files if file.path not in checked and file.journal not in checked]
