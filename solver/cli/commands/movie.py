"""Make a film of a run's snapshots: mp4, or GIF."""

from __future__ import annotations

import argparse
from pathlib import Path

from solver.cli.directory import open_run
from solver.cli.view import add_view, needs, view_of
from solver.config import ConfigError
from solver.io import list_snapshots
from solver.outputs.film import frames
from solver.pictures import has_ffmpeg, pyplot, write_movie


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """`DIR`, and what is shown."""
    parser.add_argument("directory", help="a run's directory")
    add_view(parser)
    parser.add_argument("--fps", type=float, default=10.0, metavar="N", help="frames per second (10)")
    parser.add_argument("--output", metavar="FILE", help="FILE.mp4 or FILE.gif (DIR/figures/movie.mp4, or .gif)")


def run(options: argparse.Namespace) -> int:
    """Write the film and print its name."""
    with needs("movie"):
        pyplot()
        directory, view = open_run(options.directory), view_of(options)
        snapshots = list_snapshots(directory.snapshots)
        if not snapshots:
            raise ConfigError(f"{options.directory}: the run has no snapshots; [output.snapshots] writes them")
        default = directory.path / "figures" / ("movie.mp4" if has_ffmpeg() else "movie.gif")
        target = Path(options.output) if options.output else default
        if not options.output:
            target.parent.mkdir(exist_ok=True)
        write_movie(frames(snapshots, view), target, options.fps)
    print(target)
    return 0
