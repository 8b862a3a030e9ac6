"""What a run costs before it runs."""

from solver.plan.trace import Plan, make_plan, transforms_in_step

__all__ = ["Plan", "make_plan", "transforms_in_step"]
