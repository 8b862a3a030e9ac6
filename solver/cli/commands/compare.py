"""Write one HTML page of several runs side by side: differences of their run files and of their curves."""

from __future__ import annotations

import argparse

from solver.cli.directory import file_to_write, runs_at
from solver.cli.view import add_choice, needs, view_of
from solver.io import write_text


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """`DIR DIR …`, and the page's file."""
    parser.add_argument(
        "directories", nargs="+", metavar="DIR", help="directories of runs, or of ensembles; compared with the first"
    )
    add_choice(parser)
    parser.add_argument("--output", default="comparison.html", metavar="FILE", help="the page (comparison.html)")


def run(options: argparse.Namespace) -> int:
    """Write the page and print its name."""
    from solver.report import comparison_page

    page = file_to_write(options.output)
    runs = [run.path for path in options.directories for run in runs_at(path)]
    with needs("compare"):
        write_text(page, comparison_page(runs, view_of(options)))
    print(options.output)
    return 0
