"""Options of commands that draw slices, and errors of drawing as messages for the user."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from solver.config import ConfigError, position
from solver.io import DiskError
from solver.pictures import PLANES, View


def add_choice(parser: argparse.ArgumentParser) -> None:
    """Add the options that choose slices."""
    parser.add_argument("--field", metavar="NAME", help="field of the snapshots, or derived (vorticity, speed, …)")
    parser.add_argument("--component", metavar="C", help="component of a vector: x, y, z, or its label")
    parser.add_argument(
        "--plane", metavar="|".join(PLANES), help="in 3-D (xz of a stratified flow or between walls, or xy)"
    )
    parser.add_argument("--at", type=position, metavar="VALUE", help="position on the third axis (a fifth along)")
    parser.add_argument("--no-particles", dest="particles", action="store_false", help="draw no particles over slices")


def add_view(parser: argparse.ArgumentParser) -> None:
    """Add the options that choose and style slices."""
    add_choice(parser)
    parser.add_argument("--dark", action="store_true", help="light on a dark page")


def add_profiles(parser: argparse.ArgumentParser) -> None:
    """Add the options for profiles over planes and means over time."""
    parser.add_argument(
        "--data",
        action="append",
        default=[],
        metavar="FILE",
        help="table of published profiles, drawn over the profiles of the run; may be repeated",
    )
    parser.add_argument("--after", type=float, metavar="T", help="average profiles, Nu and Re from this time on")


def view_of(options: argparse.Namespace) -> View:
    """The view that the options choose; options that a command does not have keep their defaults.

    Raises:
        ValueError: the plane or format is unknown, or a table of published profiles is wrong.
    """
    from solver.pictures.published import read_published  # which NumPy reads; other commands import this file, too

    names = ("field", "component", "plane", "at", "time", "compensate", "after", "particles", "dark", "format")
    data = tuple(read_published(Path(file)) for file in getattr(options, "data", ()))
    return View(**{name: getattr(options, name) for name in names if hasattr(options, name)}, data=data)


@contextmanager
def needs(what: str) -> Iterator[None]:
    """Turn errors of reading and drawing into error messages with exit code 2.

    Raises:
        ConfigError: a package is missing, a choice does not fit the run, a file is damaged or cannot be written.
    """
    try:
        yield
    except (ConfigError, DiskError):
        raise
    except ModuleNotFoundError as error:
        raise ConfigError(str(error)) from None
    except ValueError as error:
        raise ConfigError(str(error)) from error
    except OSError as error:
        file = f"{error.filename}: " if error.filename else ""
        raise ConfigError(f"{what}: {file}{error.strerror or error}") from error
