"""Lists of names in the documentation have every name of the registry, and no other."""

import re
from pathlib import Path

import pytest

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
