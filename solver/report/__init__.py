"""Pages about runs: one HTML file that needs nothing else, of one run or of several side by side."""

from solver.report.compare import comparison_page as comparison_page
from solver.report.ensemble import bands as bands, ensemble_page as ensemble_page
from solver.report.page import report_page as report_page
