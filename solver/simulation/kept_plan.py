"""Results of a search for an equation, such as its transforms: facts of its run, found once and used again."""

from __future__ import annotations

from pathlib import Path

from solver.cluster import Agreement, is_first
from solver.config import ConfigError
from solver.dynamics.any_equation import AnyEquation
from solver.dynamics.derivation import plan_to_keep
from solver.dynamics.equation import has_text
from solver.io.files import write_text
from solver.written.derivation import keep_plan as use_plan

PLAN = "plan.json"  # in a run's directory


def keep_plan(equation: AnyEquation, file: Path) -> None:
    """Let all processes use the plan that the run's directory keeps, or else the one that the first has found.

    Collective. Another processor's round-off could find another plan of equal cost, and so another program.

    Raises:
        ConfigError: the file cannot be read.
    """
    if not has_text(equation):
        return
    found = plan_to_keep(equation)
    has_file = is_first() and bool(found) and file.exists()
    plan = Agreement("plan").tell(file.read_text("utf-8") if has_file else found)
    if not plan:
        return
    try:
        use_plan(plan)
    except ValueError as error:
        raise ConfigError(f"{file}: {error}") from None
    if is_first() and not has_file:
        write_text(file, plan)
