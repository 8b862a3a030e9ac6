"""Python in the documentation runs as it stands."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from helpers import PAGES_MADE

from solver.cli.main import main

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"```(python|toml|sh)\n(?:# (\S+\.(?:py|toml))\n)?(.*?)```", re.DOTALL)
WITH_EXAMPLES = [page for page in PAGES if BLOCK.search(page.read_text())]


def run_script(text, folder):
    """Python in a process of its own in the folder, with this checkout's package and four virtual devices."""
    path = os.pathsep.join([str(ROOT), str(folder)])
    environment = {**os.environ, "PYTHONPATH": path, "JAX_NUM_CPU_DEVICES": "4", "JAX_PLATFORMS": "cpu"}
    done = subprocess.run(
        [sys.executable, "-c", text], env=environment, cwd=folder, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, f"{text}: {done.stderr}"


@pytest.mark.parametrize("page", WITH_EXAMPLES, ids=lambda page: page.name)
def test_examples_run(page, tmp_path, monkeypatch):
    """Blocks that begin with the name of a file are written to it; the others run, in their order."""
    monkeypatch.chdir(tmp_path)
    for kind, name, text in BLOCK.findall(page.read_text()):
        if name:
            (tmp_path / name).write_text(text)
        elif kind == "python":
            run_script(text, tmp_path)
        else:
            for line in text.splitlines():
                command, *words = line.split()
                assert command == "slabwave"
                assert main(words) == 0, line


def test_there_are_examples():
    assert len(WITH_EXAMPLES) >= 2


def test_links_lead_somewhere():
    for page in PAGES:
        for target in re.findall(r"\]\((?!http)([^)#]+)\)", page.read_text()):
            assert (page.parent / target).exists() or target in PAGES_MADE, f"{page.name}: {target}"


def test_the_page_of_run_files_is_what_describe_prints(capsys):
    assert main(["describe"]) == 0
    assert capsys.readouterr().out == (ROOT / "docs" / "run_files.md").read_text(encoding="utf-8")


def test_every_picture_is_shown():
    shown = " ".join(page.read_text() for page in [*PAGES, *(ROOT / "benchmarks").glob("*.md")])
    for path in (ROOT / "docs" / "images").rglob("*.*"):
        assert f"{path.relative_to(ROOT / 'docs').as_posix()})" in shown, path.name


def test_the_figures_of_the_readme_stand_in_the_records_that_it_names():
    section = (ROOT / "README.md").read_text().partition("## How fast")[2].partition("## How sure")[0]
    names = re.findall(r"\(benchmarks/(\w+\.md)\)", section)
    records = " ".join((ROOT / "benchmarks" / name).read_text() for name in names)
    figures = re.findall(r"\d\.\d+", section)
    assert len(figures) > 10
    for figure in figures:
        assert re.search(rf"(?<![\d.]){re.escape(figure)}(?!\d)", records), figure
