"""Draw figures of a run's outputs, series, spectra, slices; of an ensemble, mean and band of its series."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from solver.cli.directory import open_any, outputs_of
from solver.cli.view import add_profiles, add_view, needs, view_of
from solver.config import ConfigError
from solver.io import RunDirectory
from solver.pictures import FORMATS, View
from solver.reading import is_ensemble, refuse_ensemble

FIGURES = "figures"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """`DIR`, and the choice of fields, planes and times."""
    parser.add_argument("directory", help="a run's directory, or an ensemble's")
    add_view(parser)
    add_profiles(parser)
    parser.add_argument("--time", type=float, metavar="T", help="time of the snapshot to draw; every one if not given")
    parser.add_argument("--volume", metavar="NAME", help="a field in space, or q: surfaces of its highest values (PNG)")
    parser.add_argument("--compensate", type=float, metavar="P", help="draw k^P E(k) too; by the equation otherwise")
    parser.add_argument("--format", default="png", metavar="|".join(FORMATS), help="format of the files (png)")
    parser.add_argument("--output", metavar="FOLDER", help="folder for the figures (DIR/figures)")


def run(options: argparse.Namespace) -> int:
    """Write the figures and print the names of their files; only slices if an option chooses some."""
    from solver.pictures import check_profiles, pyplot

    with needs("figures"):
        pyplot()
        view = view_of(options)
        directory = open_any(options.directory)
        folder = Path(options.output) if options.output else directory.path / FIGURES
        if is_ensemble(directory) and options.volume is None and not (view.chooses_slices or view.chooses_profiles):
            _draw_ensemble(directory, folder, view)
            return 0
        refuse_ensemble(directory)
        if view.chooses_profiles and (options.volume is not None or view.chooses_slices):
            raise ConfigError("--data and --after are for profiles, and other options choose slices or a volume alone")
        check_profiles(directory, view)
        if options.volume is not None:
            _draw_volume(directory, options.volume, folder, view)
            return 0
        with _made(folder):
            if view.chooses_slices:
                _draw_chosen(directory, folder, view)
                return 0
            drawn = 0
            for kind in outputs_of(directory):
                for path in kind.draw(directory, folder, view):
                    print(path)
                    drawn += 1
            if not drawn:
                print(f"{directory.path}: nothing to draw yet", file=sys.stderr)
    return 0


def _draw_ensemble(directory: RunDirectory, folder: Path, view: View) -> None:
    """Draw mean and band of the members' series."""
    from solver.pictures import ensemble_figure, save
    from solver.reading import read_members
    from solver.report import bands

    members = read_members(directory)
    figure = ensemble_figure(bands(members), members.units, view)
    if figure is None:
        print(f"{directory.path}: nothing to draw yet", file=sys.stderr)
        return
    with _made(folder):
        for path in save(figure, folder, "ensemble", view):
            print(path)


@contextmanager
def _made(folder: Path) -> Iterator[None]:
    """Make a folder for figures, and remove it afterwards if it is new and empty."""
    new = not folder.exists()
    folder.mkdir(parents=True, exist_ok=True)
    try:
        yield
    finally:
        if new and not any(folder.iterdir()):
            folder.rmdir()


def _draw_chosen(directory: RunDirectory, folder: Path, view: View) -> None:
    """Draw the parts of snapshots, slices and mean fields that the view chooses.

    Raises:
        ConfigError: the run has no such files.
        ValueError: none of them has what the view chooses.
    """
    drawn, errors = [], {}
    for kind in filter(lambda kind: kind.at_points, outputs_of(directory)):
        try:
            drawn += kind.draw(directory, folder, view)
        except ValueError as error:
            errors[kind.name] = error
    if not drawn and errors:
        raise errors.get("snapshots", next(iter(errors.values())))  # of snapshots the most can be drawn
    if not drawn:
        raise ConfigError(f"{directory.path}: the run has no snapshots to draw slices of, and no slices")
    for path in drawn:
        print(path)


def _draw_volume(directory: RunDirectory, name: str, folder: Path, view: View) -> None:
    """Draw the snapshot of the view's time, or the last one."""
    from solver.io import list_snapshots, read_snapshot
    from solver.pictures.drawn_slices import chosen_snapshots
    from solver.pictures.volume import draw_volume

    snapshots = chosen_snapshots(list_snapshots(directory.snapshots), view)
    if not snapshots:
        raise ConfigError(f"{directory.path}: the run has no snapshots to draw {name} of")
    snapshot = read_snapshot(snapshots[-1])
    with _made(folder):
        print(draw_volume(snapshot, name, folder, view))
