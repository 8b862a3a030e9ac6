"""Draw figures of a run's outputs: series, spectra, slices."""

from __future__ import annotations

import argparse

from solver.cli.directory import open_run, outputs_of
from solver.config import ConfigError
from solver.outputs.figures import pyplot

FIGURES = "figures"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """`DIR`."""
    parser.add_argument("directory", help="a run's directory")


def run(options: argparse.Namespace) -> int:
    """Write DIR/figures and print the names of its files."""
    try:
        pyplot()
    except ModuleNotFoundError as error:
        raise ConfigError(str(error)) from None
    directory = open_run(options.directory)
    folder = directory.path / FIGURES
    folder.mkdir(exist_ok=True)
    for kind in outputs_of(directory):
        for path in kind.draw(directory, folder):
            print(path)
    return 0
