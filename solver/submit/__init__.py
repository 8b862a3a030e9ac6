"""Batch scripts, made of a template of `slurm/`, the settings of a site and a run's arguments. Imports no JAX."""

from solver.submit.scan import Scan, Scans, read_scan, read_scans
from solver.submit.script import Job, script
from solver.submit.site import DEFAULT_SITES, Site, read_site, sites

__all__ = ["DEFAULT_SITES", "Job", "Scan", "Scans", "Site", "read_scan", "read_scans", "read_site", "script", "sites"]
