"""Finds the fastest `[devices]` for a run: tries ways to split and exchange on the devices of a job."""

from solver.tune.candidates import Candidate as Candidate
from solver.tune.search import Tuning as Tuning, tune as tune
from solver.tune.table import lines_of as lines_of, run_file_lines as run_file_lines
from solver.tune.trial import Trial as Trial
