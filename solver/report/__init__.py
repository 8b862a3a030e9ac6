"""Pages about runs: one HTML file that needs nothing else, of one run or of several side by side."""

from solver.report.compare import comparison_page
from solver.report.page import report_page

__all__ = ["comparison_page", "report_page"]
