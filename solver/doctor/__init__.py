"""Examines the job of this process: launcher, binding, exchanges, memory, disk, hosts."""

from solver.doctor.examine import examine
from solver.doctor.report import Report, read_report
from solver.doctor.verdict import Check

__all__ = ["Check", "Report", "examine", "read_report"]
