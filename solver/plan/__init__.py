"""Costs of a run before it runs: counted on its trace, or on the programs compiled for a target."""

from solver.plan.disk import DiskUse as DiskUse, disk_use as disk_use
from solver.plan.gpu import NoCompiler as NoCompiler, target_mesh as target_mesh
from solver.plan.of_run import Part as Part, compile_run as compile_run
from solver.plan.program import Program as Program, read_program as read_program
from solver.plan.rates import Rates as Rates
from solver.plan.target import Target as Target, largest as largest
from solver.plan.trace import (
    AnalysisEstimate as AnalysisEstimate,
    Estimate as Estimate,
    estimate_analysis as estimate_analysis,
    make_estimate as make_estimate,
    transforms_in_step as transforms_in_step,
)
