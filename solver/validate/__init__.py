"""Cases whose results are known, exactly or from papers, and the table of what this installation computes."""

from solver.validate.base import Case, Finding, cases
from solver.validate.table import judge, table

__all__ = ["Case", "Finding", "cases", "judge", "table"]
