"""Lists of names in the documentation have every name of the registry, and no other."""

import re
import tomllib
from pathlib import Path

import pytest
import yaml

from solver.assemble import Registry
from solver.cli.arguments import commands
from solver.submit import sites

ROOT = Path(__file__).parents[2]
OVERVIEW = (ROOT / "docs" / "overview.md").read_text(encoding="utf-8")
NAME = re.compile(r"`([a-z][a-z0-9-]*)`")


TITLES = {"stepper": "Steppers", "forcing": "Forcing", "initial": "Initial fields"}


@pytest.mark.parametrize(("kind", "title"), TITLES.items())
def test_the_overview_lists_every_name(kind, title):
    listed = re.search(rf"^- \*\*{title}\*\*:(.*?)^- ", OVERVIEW, re.MULTILINE | re.DOTALL)[1]
    assert sorted(NAME.findall(listed)) == Registry().names(kind)


def test_the_overview_lists_every_command():
    rows = OVERVIEW.partition("| command | does |\n|---|---|\n")[2].partition("\n\n")[0].splitlines()
    listed = [name for row in rows for name in re.findall(r"`(?:slabwave )?([a-z]+)", row.partition("` |")[0])]
    assert sorted(listed) == sorted(commands())


def test_the_pages_of_outputs_list_every_output():
    pages = {page: (ROOT / "docs" / page).read_text(encoding="utf-8") for page in ("outputs.md", "diagnostics.md")}
    listed = [name for text in pages.values() for name in re.findall(r"^\| `([a-z-]+)` \|", text, re.MULTILINE)]
    assert set(Registry().names("output")) <= {*listed}


def test_the_page_of_clusters_lists_every_site():
    text = (ROOT / "docs" / "clusters.md").read_text(encoding="utf-8")
    listed = re.search(r"Those that come along are (.*?), in \[slurm/sites\]", text, re.DOTALL)[1]
    assert sorted(NAME.findall(listed)) == sorted(sites())


MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


@pytest.mark.parametrize("path", [*WORKFLOWS, ROOT / "CONTRIBUTING.md", ROOT / ".github" / "pull_request_template.md"])
def test_targets_of_make_that_are_named_exist(path):
    named = set(re.findall(r"(?:run: |^|`)make ([a-z]+)", path.read_text(encoding="utf-8"), re.MULTILINE))
    assert named
    assert named <= set(re.findall(r"^\.PHONY: (.*)$", MAKEFILE, re.MULTILINE)[0].split())


def test_workflows_can_be_read_and_run_each_check():
    lines = [step.get("run", "") for path in WORKFLOWS for job in _jobs(path).values() for step in job["steps"]]
    for command in ("make fast", ".ci/run", "make thorough", "make fuzz", "make docs"):
        assert any(line.startswith(command) for line in lines), command


def test_the_oldest_jax_of_the_nightly_tests_is_the_lower_bound():
    needed = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    oldest = re.findall(r"^(jax(?:lib)?)==(.*)\.0$", (ROOT / ".github" / "oldest.txt").read_text(), re.MULTILINE)
    assert [f"{name}>={version}" for name, version in oldest] == [
        line for line in needed if line.startswith("jax") and "typing" not in line
    ]


def test_hooks_before_a_commit_are_the_lines_of_make_lint():
    hooks = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"][0]["hooks"]
    said = {" ".join(hook["entry"].replace(" --force-exclude", "").split()) for hook in hooks}
    recipe = MAKEFILE.partition("\nlint: setup\n")[2].partition("\n\n")[0].replace("$(BIN)", ".venv/bin")
    assert said == {line.strip().removesuffix(" .") for line in recipe.splitlines()}


def _jobs(path):
    return yaml.safe_load(path.read_text(encoding="utf-8"))["jobs"]
