"""Cases whose results are known, exactly or from papers, and the table of what this installation computes."""

from solver.validate.case import Case as Case, Finding as Finding, cases as cases, judge as judge, table as table
