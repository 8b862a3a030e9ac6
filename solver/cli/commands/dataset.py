"""Check a data set in The Well's layout: its files, times, values, parts, checksums and statistics."""

from __future__ import annotations

import argparse
from pathlib import Path

from solver.cli import FAILED, FINISHED
from solver.config import ConfigError

MANIFEST = "manifest.json"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """`check DIR`."""
    parser.add_argument("action", choices=["check"], help="the action on the data set")
    parser.add_argument("directory", help="a data set's folder, or the directory of the ensemble that made it")


def run(options: argparse.Namespace) -> int:
    """Print a line for each fault; exit code 1 if there is one."""
    folder = _data_set_at(Path(options.directory))
    from solver.dataset import faults
    from solver.dataset.manifest import read_manifest

    count = 0
    for fault in faults(folder):
        print(fault, flush=True)
        count += 1
    if count:
        print(f"{folder}: {count} fault{'s' if count > 1 else ''}")
        return FAILED
    manifest = read_manifest(folder)
    files, left_out = len(manifest["files"]), len(manifest["left_out"])
    print(
        f"{folder}: ok, {manifest['trajectories']} trajectories in {files} file{'s' if files > 1 else ''}; members "
        f"drawn again: {manifest['drawn_again']}, left out: {left_out}"
    )
    return FINISHED


def _data_set_at(path: Path) -> Path:
    """The folder of a data set, or the one in the directory of an ensemble.

    Raises:
        ConfigError: no data set is found, or several.
    """
    if (path / MANIFEST).is_file() or (path / "data").is_dir():
        return path
    inside = sorted(found.parent for found in path.glob(f"*/{MANIFEST}"))
    if len(inside) != 1:
        found = ", ".join(map(str, inside)) or "none"
        raise ConfigError(f"{path} is no data set: {path / MANIFEST} does not exist; data sets in it: {found}")
    return inside[0]
