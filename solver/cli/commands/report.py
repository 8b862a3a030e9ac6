"""Write one HTML page of a run that needs nothing else: curves, spectra, slices, budget, statistics, provenance."""

from __future__ import annotations

import argparse
from pathlib import Path

from solver.cli.directory import file_to_write, runs_below
from solver.cli.view import add_choice, add_profiles, needs, view_of
from solver.config import ConfigError
from solver.io import RunDirectory, write_text
from solver.reading import is_ensemble, refuse_ensemble


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """`DIR`, and the page's file."""
    parser.add_argument(
        "directory", help="a run's directory: finished, under way, blown up or still empty; or an ensemble's"
    )
    add_choice(parser)
    add_profiles(parser)
    parser.add_argument("--output", metavar="FILE", help="the page (DIR/report.html)")


def run(options: argparse.Namespace) -> int:
    """Write the page and print its name."""
    from solver.pictures import check_profiles
    from solver.report import comparison_page, ensemble_page, report_page

    directory = Path(options.directory)
    runs = [run.path for run in runs_below(directory)]
    with needs("report"):
        view = view_of(options)
        if view.chooses_profiles:
            refuse_ensemble(RunDirectory(directory))
            if runs:
                raise ConfigError(f"{directory}: holds several runs; --data and --after need one run")
            check_profiles(RunDirectory(directory), view)
        target = file_to_write(options.output) if options.output else directory / "report.html"
        if is_ensemble(RunDirectory(directory)):
            text = ensemble_page(directory)
        else:
            text = comparison_page(runs, view) if runs else report_page(directory, view)
        write_text(target, text)
    print(target)
    return 0
