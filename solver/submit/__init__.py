"""Batch scripts, made of a template of `slurm/`, the settings of a site and a run's arguments. Imports no JAX."""

from solver.submit.script import Job as Job, script as script
from solver.submit.site import DEFAULT_SITES as DEFAULT_SITES, Site as Site, read_site as read_site, sites as sites
