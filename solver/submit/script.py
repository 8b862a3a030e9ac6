"""The text of a batch script: a template of `slurm/` with directives, settings of a site and arguments of the run."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from solver.submit.site import Site, slurm_folder

PLACE = "# here `slabwave submit` writes the settings of a site, and the run's arguments\n"


@dataclass(frozen=True)
class Job:
    """A job to submit.

    Args:
        site: the cluster on which it runs.
        file: path of the run file, relative to the folder from which the job is submitted.
        overrides: `section.key=value`.
        nodes: number of nodes.
        time: limit of the run time in a form that Slurm knows; the partition's default if None.
        requeues: True if the job puts itself back in the queue when its run stopped early.
        retries: number of times that it does so after a process was killed or crashed.
        options: more options of sbatch, by name; they override the site's.
        jobs: make the job an array of so many, which share the members of an ensemble.
        programs: folder of the `slabwave` to run; if None, the job searches for it.
    """

    site: Site
    file: str
    overrides: tuple[str, ...]
    nodes: int
    time: str | None = None
    requeues: bool = True
    retries: int = 0
    options: Mapping[str, str] = field(default_factory=dict)
    jobs: int | None = None
    programs: Path | None = None


def script(job: Job) -> str:
    """The complete batch script: sbatch needs no further argument."""
    template = (slurm_folder() / f"{job.site.platform}.sbatch").read_text(encoding="utf-8")
    head, _, body = template.partition(PLACE)
    return _with_directives(head, _directives(job)) + "".join(f"{line}\n" for line in _settings(job)) + body


def _directives(job: Job) -> dict[str, str | int | None]:
    """Options of sbatch by name; those without a value have None."""
    site = job.site
    own: dict[str, str | int | None] = {
        "job-name": re.sub(r"[^\w.-]", "_", Path(job.file).stem),
        "nodes": job.nodes,
        "ntasks-per-node": site.tasks_per_node,
        "gpus-per-node": site.gpus_per_node,
        "cpus-per-task": site.cores_per_task,
        "partition": site.partition,
        "account": site.account,
        "constraint": site.constraint,
        "time": job.time,
        "array": None if job.jobs is None else f"0-{job.jobs - 1}",
    }
    more: dict[str, str | int | None] = dict(_option(text) for text in site.sbatch)
    return {name: value for name, value in own.items() if value is not None} | more | dict(job.options) | _requeue(job)


def _requeue(job: Job) -> dict[str, str | int | None]:
    return {} if job.requeues else {"no-requeue": None}


def _option(text: str) -> tuple[str, str | None]:
    name, sign, value = text.partition("=")
    return name.lstrip("-"), value if sign else None


def _with_directives(head: str, directives: Mapping[str, str | int | None]) -> str:
    """Replace directives of the template, and add the others below them."""
    replaced = {*directives, *(["requeue"] if "no-requeue" in directives else [])}
    lines = head.splitlines()
    old = [line for line in lines if line.startswith("#SBATCH ")]
    kept = [line for line in old if _option(line.split()[1])[0] not in replaced]
    new = [f"#SBATCH {'--' if len(k) > 1 else '-'}{k}{'' if v is None else f'={v}'}" for k, v in directives.items()]
    start = lines.index(old[0])
    below = [line for line in lines[start:] if line not in old]
    return "\n".join([*lines[:start], *kept, *new, *below]) + "\n"


def _settings(job: Job) -> list[str]:
    site = job.site
    lines = [f"module load {shlex.quote(module)}" for module in site.modules]
    lines = ["set +u", *lines, "set -u"] if lines else []  # modules may read variables that are not set
    lines += [f"export {name}={shlex.quote(value)}" for name, value in site.environment.items()]
    if job.programs is not None:
        lines.append(f"export PATH={shlex.quote(str(job.programs))}:$PATH")
    if site.srun:
        lines.append(f"srun_options=({_quoted(site.srun)})")
    if not job.requeues:
        lines.append("SLABWAVE_RESTARTS=0")
    if job.retries:
        lines.append(f"SLABWAVE_RETRIES={job.retries}")
    share = "" if job.jobs is None else f' --jobs {job.jobs} --job "$SLURM_ARRAY_TASK_ID"'
    return [*lines, f"set -- {_quoted([job.file, *job.overrides])}{share}"]


def _quoted(words: Sequence[str]) -> str:
    return " ".join(shlex.quote(word) for word in words)
