"""Write the batch script of a run for a site and hand it to sbatch."""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from solver import assemble
from solver.cli import jax_for
from solver.cli.shares import check_jobs
from solver.config import Config, ConfigError
from solver.config.sections import check_line
from solver.io import RunDirectory, list_checkpoints
from solver.submit import DEFAULT_SITES, Job, Site, read_site, script, sites
from solver.submit.site import check_word

OVERRIDES = True
# as Slurm reads them: minutes, minutes:seconds, hours:minutes:seconds, days-hours, days-hours:minutes, …
TIME = re.compile(r"\d+(:[0-5]\d)?|\d+:[0-5]?\d:[0-5]\d|\d+-([01]?\d|2[0-3])(:[0-5]\d){0,2}")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """`FILE --nodes N`, where it runs, how long, and how often."""
    parser.add_argument("file", help="run file (TOML)")
    parser.add_argument("--nodes", type=int, required=True, metavar="N", help="number of nodes")
    parser.add_argument(
        "--site", metavar="NAME|FILE.toml", help=f"{', '.join(sites())}, or a file; by default cpu or cuda, by platform"
    )
    parser.add_argument("--time", metavar="HH:MM:SS", help="time limit of the job")
    parser.add_argument("--partition", help="instead of the site's")
    parser.add_argument("--account", help="instead of the site's")
    parser.add_argument("--qos", help="quality of service, as of sbatch")
    parser.add_argument("--output", metavar="FILE", help="the job's output, with sbatch's patterns (slurm-%%j.out)")
    parser.add_argument("--mail", metavar="ADDRESS", help="address that receives mail when the job ends or fails")
    parser.add_argument(
        "--cpus-per-task", type=int, metavar="N", help="cores of a process, instead of the site's share"
    )
    parser.add_argument(
        "--chain", type=int, default=1, metavar="K", help="K jobs, each after the one before, that continue the run"
    )
    parser.add_argument(
        "--retries", type=int, default=0, metavar="N", help="resume at most N times after a process was killed (0)"
    )
    parser.add_argument(
        "--jobs", type=int, metavar="N",
        help="an array of N jobs that share the members of an ensemble; by default one job",
    )  # fmt: skip
    parser.add_argument("--dry-run", action="store_true", help="print the script and submit nothing")


def run(options: argparse.Namespace) -> int:
    """Check run file and site, and submit; prints the job's number, one line for each job of a chain."""
    _check_options(options)
    config = assemble.read_run_file(
        options.file, options.overrides, continues=_has_checkpoints, prepare=jax_for("auto")
    )
    if options.jobs is not None:
        check_jobs(config, options.jobs)
    _refuse_other_run(config)
    for line in config.dropped:
        print(f"slabwave: {line}", file=sys.stderr)
    site = _site(options, config)
    _check_platform(config, site, options)
    if site.needs_account and site.account is None:
        print(f"slabwave: warning: {options.site} takes no job without a project: --account is needed", file=sys.stderr)
    for each in config.members or (config,):
        _check_devices(each, site, options.nodes)
    job = Job(
        site=site,
        file=options.file,
        overrides=tuple(options.overrides),
        nodes=options.nodes,
        time=options.time,
        requeues=options.chain == 1,
        retries=options.retries,
        options=_sbatch_options(options),
        jobs=options.jobs,
        programs=Path(sys.executable).parent,
    )
    text = script(job)
    if options.dry_run:
        print(text, end="")
        return 0
    before = None
    for _ in range(options.chain):
        before = _sbatch(text, [] if before is None else [f"--dependency=afterany:{before}"])
        print(before)
    return 0


def _check_options(options: argparse.Namespace) -> None:
    for name in ("nodes", "chain"):
        if getattr(options, name) < 1:
            raise ConfigError(f"--{name} {getattr(options, name)}: 1 or more is needed")
    if options.retries < 0:
        raise ConfigError(f"--retries {options.retries}: 0 or more is needed")
    if options.retries and options.chain > 1:
        raise ConfigError(f"--retries {options.retries}: the next link of a chain resumes anyway; use --chain alone")
    if options.time is not None and not TIME.fullmatch(options.time):
        raise ConfigError(f"--time {options.time}: HH:MM:SS is needed, or D-HH:MM:SS")
    if options.cpus_per_task is not None and options.cpus_per_task < 1:
        raise ConfigError(f"--cpus-per-task {options.cpus_per_task}: 1 or more is needed")
    for name in ("partition", "account", "qos", "output", "mail"):
        _check(f"--{name}", getattr(options, name), check_word)
    for word in (options.file, *options.overrides):
        _check("the command line", word, check_line)


def _check(what: str, text: str | None, check: Callable[[str], str]) -> None:
    try:
        if text is not None:
            check(text)
    except ValueError as error:
        raise ConfigError(f"{what} {text!r}: {error}") from None


def _sbatch_options(options: argparse.Namespace) -> dict[str, str]:
    mail = {"mail-user": options.mail, "mail-type": "END,FAIL"} if options.mail else {}
    given = {"qos": options.qos, "output": options.output, **mail}
    return {name: value for name, value in given.items() if value is not None}


def _refuse_other_run(config: Config) -> None:
    """Refuse a directory with a run that the job could not continue."""
    from solver.cli.job import refuse_another_run

    directory = RunDirectory(Path(config.directory))
    if directory.run_file.exists():
        refuse_another_run(directory, config)


def _has_checkpoints(config: Config) -> bool:
    return bool(list_checkpoints(RunDirectory(Path(config.directory)).checkpoints))


def _site(options: argparse.Namespace, config: Config) -> Site:
    platform = config.devices.platform
    if options.site is None and platform not in DEFAULT_SITES:
        raise ConfigError(f"devices.platform = {platform!r}: Slurm's scripts are for cpu and gpu")
    chosen = options.site or DEFAULT_SITES[platform]
    site = read_site(chosen, partition=options.partition, account=options.account)
    if options.cpus_per_task is None:
        return site
    return site.model_copy(update={"cores_per_node": options.cpus_per_task * site.tasks_per_node})


def _check_platform(config: Config, site: Site, options: argparse.Namespace) -> None:
    if config.devices.platform not in ("auto", site.platform):
        raise ConfigError(
            f"devices.platform = {config.devices.platform!r}, but the site {options.site} is for {site.platform!r}; "
            "they must agree"
        )


def _check_devices(config: Config, site: Site, nodes: int) -> None:
    """Refuse a number of nodes whose devices cannot split the grid; the message names possible numbers."""
    try:
        _check_number(config, site, nodes)
    except ConfigError as error:
        fitting = [n for n in range(1, nodes) if _fits(config, site, n)]
        advice = f"--nodes {_listed(fitting)} can" if fitting else "no number of such nodes can"
        raise ConfigError(f"--nodes {nodes}: {error}; {advice}") from None


def _fits(config: Config, site: Site, nodes: int) -> bool:
    try:
        _check_number(config, site, nodes)
    except ConfigError:
        return False
    return True


def _check_number(config: Config, site: Site, nodes: int) -> None:
    """Refuse a number of nodes whose devices cannot split the grid, or make the groups of `devices.groups`."""
    devices, processes = _devices(config, site, nodes), nodes * site.tasks_per_node
    assemble.check_device_count(config, assemble.devices_that_step(config, devices))
    assemble.check_processes_of_groups(config, max(1, devices // processes), processes)


def _devices(config: Config, site: Site, nodes: int) -> int:
    """Number of devices of the run on `nodes` nodes; one per node if the number of cores is not known."""
    section = config.devices
    if section.use:
        return len(section.use)
    if site.gpus_per_node is not None:
        return nodes * site.gpus_per_node
    if section.virtual != "auto":
        return nodes * section.virtual
    processes = nodes if config.devices.groups is None else nodes * site.tasks_per_node
    return processes * assemble.preferred_device_count(config, site.cores_per_node or 1, processes)


def _listed(numbers: list[int]) -> str:
    if numbers == list(range(1, len(numbers) + 1)):
        return f"1 to {len(numbers)}" if len(numbers) > 1 else "1"
    return ", ".join(map(str, numbers[-8:]))


def _sbatch(text: str, options: list[str]) -> str:
    """Submit a script; returns the job's number."""
    try:
        done = subprocess.run(["sbatch", "--parsable", *options], input=text, capture_output=True, text=True)
    except FileNotFoundError:
        raise ConfigError("there is no sbatch here: submit where Slurm is, or print the script by --dry-run") from None
    if done.returncode:
        raise ConfigError(f"sbatch refused the job: {' '.join(done.stderr.split())}")
    return done.stdout.strip().partition(";")[0]
