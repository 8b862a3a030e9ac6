"""Examines the job of this process: launcher, binding, exchanges, memory, disk, hosts."""

from solver.doctor.examine import examine as examine
from solver.doctor.job import Check as Check
from solver.doctor.report import Report as Report, read_report as read_report
