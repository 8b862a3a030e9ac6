"""Properties of a cluster that a batch script needs: one small TOML file per cluster, strictly validated."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, field_validator, model_validator

from solver.config import ConfigError, nearest, read_toml
from solver.config.sections import Section, check_line

WORD = re.compile(r"[\w.,:&|*()\[\]@/+=%-]+")
OPTION = re.compile(r"--?[A-Za-z][\w-]*(=[\w.,:&|*()\[\]@/+=%-]+)?")
VARIABLE = re.compile(r"[A-Za-z_]\w*")
DEFAULT_SITES = {"auto": "cpu", "cpu": "cpu", "gpu": "cuda"}


def check_word(text: str) -> str:
    """Check a value of an `#SBATCH` line, in which quoting is not possible.

    Raises:
        ValueError: it contains blanks, quotes, a backslash, a comment sign or the like.
    """
    if not WORD.fullmatch(text):
        raise ValueError("letters, digits and .,:&|*()[]@/+=%- are allowed")
    return text


def _check_option(text: str) -> str:
    if not OPTION.fullmatch(text):
        raise ValueError("an option such as '--qos=regular' is needed")
    return text


Word = Annotated[str, AfterValidator(check_word), "a string"]
Options = Annotated[tuple[Annotated[str, AfterValidator(_check_option)], ...], Field(strict=False)]
Lines = Annotated[tuple[Annotated[str, AfterValidator(check_line)], ...], Field(strict=False)]
Count = Annotated[int, Field(gt=0)]


class Site(Section):
    """A cluster, or a part of it with nodes of one kind."""

    platform: Literal["cpu", "gpu"] = Field(description="gpu starts a process per GPU, cpu one per node")
    gpus_per_node: Count | None = Field(None, description="GPUs of a node")
    cores_per_node: Count | None = Field(
        None, description="cores of a node as Slurm counts them, shared by its tasks; what the job has, if not given"
    )
    partition: Word | None = Field(None, description="partition that jobs are sent to")
    account: Word | None = Field(None, description="project that jobs are charged to")
    needs_account: bool = Field(False, description="true where jobs without an account are refused")
    constraint: Word | None = Field(None, description="features that nodes must have")
    sbatch: Options = Field((), description="more options of the job, such as '--exclusive'")
    srun: Options = Field((), description="more options of srun")
    modules: Lines = Field((), description="modules to load, in this order")
    environment: dict[str, Annotated[str, AfterValidator(check_line)]] = Field(
        default_factory=dict, description="environment variables of the run"
    )

    @field_validator("environment")
    @classmethod
    def _check_names(cls, environment: dict[str, str]) -> dict[str, str]:
        for name in environment:
            if not VARIABLE.fullmatch(name):
                raise ValueError(f"environment.{name}: letters, digits and _ are needed in the name of a variable")
        return environment

    @model_validator(mode="after")
    def _check_gpus(self) -> Site:
        if self.platform == "gpu" and self.gpus_per_node is None:
            raise ValueError("gpus_per_node is missing: platform = 'gpu' needs it")
        if self.platform == "cpu" and self.gpus_per_node is not None:
            raise ValueError(f"gpus_per_node = {self.gpus_per_node} needs platform = 'gpu'")
        if self.cores_per_node is not None and self.cores_per_node < self.tasks_per_node:
            raise ValueError(
                f"cores_per_node = {self.cores_per_node}: {self.tasks_per_node} or more are needed, one for each GPU"
            )
        return self

    @property
    def tasks_per_node(self) -> int:
        """Processes of a run on each node."""
        return self.gpus_per_node or 1

    @property
    def cores_per_task(self) -> int | None:
        """Each task's share of a node's cores; None if it is not known before the job starts."""
        return None if self.cores_per_node is None else self.cores_per_node // self.tasks_per_node


def slurm_folder() -> Path:
    """The folder of scripts and sites, in the installed package or in a checkout."""
    package = Path(__file__).parents[1]
    return next(folder for folder in (package / "slurm", package.parent / "slurm") if folder.is_dir())


def sites() -> dict[str, Path]:
    """The site files that come with the package, by name."""
    return {path.stem: path for path in sorted((slurm_folder() / "sites").glob("*.toml"))}


def read_site(name: str, **overrides: Any) -> Site:
    """Read a site by its name or from a file, and replace some of its keys.

    Raises:
        ConfigError: `name` is neither a known name nor a file; the file has unknown keys, wrong types, or values that
            would break the script; it is `like` a site that does not come along.
    """
    if name in sites():
        path = sites()[name]
    elif name.endswith(".toml"):
        path = Path(name)
    else:
        raise ConfigError(f"--site {name}: unknown site, and no file NAME.toml{nearest(name, sites())}")
    table = {**_whole_table(path), **{key: value for key, value in overrides.items() if value is not None}}
    try:
        return Site.read(table, "")
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}") from None


def _whole_table(path: Path) -> dict[str, Any]:
    """The table of a site file, with the keys of the site that it is `like` where it does not give them itself."""
    table = read_toml(path)
    like = table.pop("like", None)
    if like is None:
        return table
    if not isinstance(like, str) or like not in sites():
        raise ConfigError(
            f"{path}: like = {like!r}: one of {', '.join(sites())} is needed{nearest(str(like), sites())}"
        )
    base = _whole_table(sites()[like])
    both = {"environment": {**base.get("environment", {}), **table.get("environment", {})}}
    return {**base, **table, **(both if both["environment"] else {})}
