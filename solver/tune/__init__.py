"""Finds the fastest `[devices]` for a run: tries ways to split and exchange on the devices of a job."""

from solver.tune.candidates import Candidate
from solver.tune.search import Tuning, tune
from solver.tune.table import lines_of, run_file_lines
from solver.tune.trial import Trial

__all__ = ["Candidate", "Trial", "Tuning", "lines_of", "run_file_lines", "tune"]
