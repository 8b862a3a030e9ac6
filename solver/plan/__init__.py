"""What a run costs before it runs: counted on its trace, or read off the programs compiled for a target."""

from solver.plan.gpu import NoCompiler, target_mesh
from solver.plan.of_run import Part, compile_run
from solver.plan.program import Program, read_program
from solver.plan.rates import Rates
from solver.plan.target import Target, largest
from solver.plan.trace import Plan, make_plan, transforms_in_step

__all__ = [
    "NoCompiler",
    "Part",
    "Plan",
    "Program",
    "Rates",
    "Target",
    "compile_run",
    "largest",
    "make_plan",
    "read_program",
    "target_mesh",
    "transforms_in_step",
]
