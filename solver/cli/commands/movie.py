"""Make a film of a run's snapshots, or of a plane of its slices: mp4, or GIF."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any

from solver.cli.directory import file_to_write, open_run
from solver.cli.view import add_view, needs, view_of
from solver.config import ConfigError
from solver.io import RunDirectory
from solver.pictures import View


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """`DIR`, and the choice of a field and a plane."""
    parser.add_argument("directory", help="a run's directory")
    add_view(parser)
    parser.add_argument("--slices", action="store_true", help="film slices/: its first plane by default")
    parser.add_argument("--fps", type=float, metavar="N", help="frames per second (so many that it lasts some seconds)")
    parser.add_argument("--output", metavar="FILE", help="FILE.mp4 or FILE.gif (DIR/figures/movie.mp4, or .gif)")


def run(options: argparse.Namespace) -> int:
    """Write the film and print its name."""
    from solver.pictures import frame_rate, has_ffmpeg, pyplot, write_movie

    with needs("movie"):
        pyplot()
        directory, view = open_run(options.directory), view_of(options)
        count, pictures = _pictures(directory, view, options.slices)
        default = directory.path / "figures" / ("movie.mp4" if has_ffmpeg() else "movie.gif")
        target = file_to_write(options.output) if options.output else default
        if not options.output:
            target.parent.mkdir(exist_ok=True)
        write_movie(pictures, target, frame_rate(count) if options.fps is None else options.fps)
    print(target)
    return 0


def _pictures(directory: RunDirectory, view: View, of_slices: bool) -> tuple[int, Iterator[Any]]:
    """Number and frames of the snapshots, or of one plane of the slices if `of_slices`, or if there are no snapshots.

    Raises:
        ConfigError: the run has neither.
        ValueError: the files lack what the view chooses.
    """
    from solver.io import list_snapshots, read_slices
    from solver.pictures.drawn_parts import film_part, reader_of
    from solver.pictures.movie import frames

    snapshots, parts = list_snapshots(directory.snapshots), list_snapshots(directory.slices)
    if of_slices and not parts:
        raise ConfigError(f"{directory.path}: the run has no slices; [output.slices] writes them")
    if not snapshots and not parts:
        raise ConfigError(f"{directory.path}: the run has no snapshots; [output.snapshots] writes them")
    if snapshots and not of_slices:
        return len(snapshots), frames(snapshots, view)
    return len(parts), frames(parts, view, read=reader_of(film_part(read_slices(parts[0]), view)))
