"""The pages that `make docs` builds: links, the reference, and that nothing is loaded from elsewhere."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from helpers import PAGES_MADE

from solver.assemble import Registry

ROOT = Path(__file__).parents[2]


@pytest.fixture
def site(tmp_path):
    folder = tmp_path / "site"
    words = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1", "EXECUTE_TUTORIALS": "false"}
    done = subprocess.run(words, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


@pytest.mark.thorough
@pytest.mark.slow
def test_the_site_has_every_page_and_name_and_loads_nothing_from_elsewhere(site):
    listed = re.findall(r"\b[\w/]+\.md", (ROOT / "mkdocs.yml").read_text())
    written = {path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / "docs").rglob("*.md")}
    assert set(listed) - written == PAGES_MADE
    assert written < set(listed)
    for name in [*listed, *(f"equations/{name}.md" for name in Registry().names("equation"))]:
        assert (site / name).with_suffix(".html").is_file()
    reference = (site / "api.html").read_text()
    for name in re.findall(r"^::: (\S+)", (ROOT / "docs" / "api.md").read_text(), re.MULTILINE):
        assert f'id="{name}' in reference, name
    for page in site.rglob("*.html"):
        loaded = re.findall(r"<(?:script|link|img|iframe)[^>]*(?:src|href)=\"(https?:[^\"]+)", page.read_text())
        assert not loaded, page.name


def test_the_citation_names_this_version():
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    project = (ROOT / "pyproject.toml").read_text()
    assert f'version = "{cited["version"]}"' in project
    assert cited["license"] in project
    assert cited["authors"]
