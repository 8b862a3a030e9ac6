"""Python in the documentation runs as it stands."""

import re
import shlex
from pathlib import Path

import pytest
from helpers import PAGES_MADE
from zygote import slabwave, zygote

from solver.cli.main import main

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"```(python|toml|sh)\n(?:# (\S+\.(?:py|toml))\n)?(.*?)```", re.DOTALL)
WITH_EXAMPLES = [page for page in PAGES if BLOCK.search(page.read_text())]


FOUR_DEVICES = 'import jax; jax.config.update("jax_num_cpu_devices", 4)\n'


def run_script(text, folder):
    """Python in a process of its own in the folder, with this checkout's package and four virtual devices."""
    before = f"{FOUR_DEVICES}import sys; sys.path.insert(0, {str(folder)!r})\n"
    process = zygote().start([], script=before + text, folder=folder)
    _, error = process.communicate(timeout=120)
    assert process.returncode == 0, f"{text}: {error}"


@pytest.mark.parametrize("page", WITH_EXAMPLES, ids=lambda page: page.name)
def test_examples_run(page, tmp_path):
    """Blocks that begin with the name of a file are written to it; the others run, in their order."""
    for kind, name, text in BLOCK.findall(page.read_text()):
        if name:
            (tmp_path / name).write_text(text)
        elif kind == "python":
            run_script(text, tmp_path)
        else:
            for line in text.splitlines():
                command, *words = shlex.split(line)
                assert command == "slabwave"
                done = slabwave(*words, folder=tmp_path)
                assert done.returncode == 0, f"{line}: {done.stderr}"


def test_there_are_examples():
    assert len(WITH_EXAMPLES) >= 2


def test_links_lead_somewhere():
    for page in PAGES:
        for target in re.findall(r"\]\((?!http)([^)#]+)\)", page.read_text()):
            assert (page.parent / target).exists() or target in PAGES_MADE, f"{page.name}: {target}"


def test_the_pages_of_run_files_are_those_that_describe_writes(tmp_path):
    """If this fails: slabwave describe --pages docs."""
    assert main(["describe", "--pages", str(tmp_path)]) == 0
    written = {path.relative_to(tmp_path): path.read_text(encoding="utf-8") for path in tmp_path.rglob("*.md")}
    kept = [ROOT / "docs" / "run_files.md", *(ROOT / "docs" / "run_files").iterdir()]
    assert written == {path.relative_to(ROOT / "docs"): path.read_text(encoding="utf-8") for path in kept}


def test_keys_that_most_classes_share_are_said_once():
    pages = {name: (ROOT / "docs" / "run_files" / f"{name}.md").read_text() for name in ("equations", "bodies")}
    assert pages["equations"].count("| `energy_budget` |") == 1
    assert "Keys of all but `gross-pitaevskii`, `schroedinger-poisson`:" in pages["equations"]
    assert pages["bodies"].count("| `tilt` |") == pages["bodies"].count("| `fixed` |") == 1
    assert pages["equations"].count("| `viscosity` |") > 5  # of few equations, and of other units or defaults


def test_every_picture_is_shown():
    shown = " ".join(page.read_text() for page in [*PAGES, *(ROOT / "benchmarks").glob("*.md")])
    for path in (ROOT / "docs" / "images").rglob("*.*"):
        assert f"{path.relative_to(ROOT / 'docs').as_posix()})" in shown, path.name


# rows of the README's table, and the rows of a record that they quote
QUOTED = {
    "real transform, all modes": ("fft", ("slabwave, all modes",)),
    "two-thirds of the modes": ("fft", ("slabwave, two-thirds",)),
    "step of Navier–Stokes, its energy budget with it": (
        "navier_stokes", ("slabwave, IFRK4", "slabwave vorticity, IFRK4"),
    ),
    "without the budget": (
        "navier_stokes", ("slabwave, IFRK4, no energy budget", "slabwave vorticity, IFRK4, no energy budget"),
    ),
    "in single precision": ("navier_stokes", ("slabwave, IFRK4, float32", "slabwave vorticity, IFRK4, float32")),
}  # fmt: skip


def test_each_ratio_of_the_readme_is_that_of_its_program_and_size_in_the_record():
    section = (ROOT / "README.md").read_text().partition("## How fast")[2].partition("## How sure")[0]
    head, _, *rows = [_cells(line) for line in section.splitlines() if line.startswith("|")]
    assert {row[0].partition(":")[0] for row in rows} == QUOTED.keys()
    for label, *quoted in rows:
        record, programs = QUOTED[label.partition(":")[0]]
        measured = _ratios((ROOT / "benchmarks" / f"{record}.md").read_text())
        for size, cell in zip(head[1:], quoted, strict=True):
            known = [", ".join(measured[size, program]) for program in programs if (size, program) in measured]
            assert [cell] == (known or [""]), (label, size)


def test_figures_in_sentences_of_the_readme_are_in_the_records():
    words = " ".join((ROOT / "README.md").read_text().split())
    text = {name: (ROOT / "benchmarks" / f"{name}.md").read_text() for name in ("demo", "navier_stokes", "gpu")}
    seconds = re.search(r"(\d+) to (\d+) s of run on 2 cores", words).groups()
    assert "{} and {} s of run".format(*seconds) in text["demo"]
    [ratio] = re.findall(r"on 256³ points takes (0\.\d+) of fluidsim's time", words)
    assert _ratios(text["navier_stokes"])["256³", "slabwave, IFRK4"] == [ratio]
    double, single = re.findall(r"on 512³ points takes (0\.\d+) ns per point in float\d+", words)
    assert f"takes {double} ns a point at 512³ in float64 and {single} in float32" in text["gpu"]
    quoted = re.search(r"takes (0\.\d+) of exponax' time and (0\.\d+) of jax-cfd's in float32", words).groups()
    rows = [_cells(line) for line in text["gpu"].partition("| vorticity, 2048² | float32 |")[2].splitlines()[:3]]
    ours, *others = (float(row[-4]) for row in rows)
    assert list(quoted) == [f"{ours / other:.2f}" for other in others]


def _ratios(record):
    """By size and program what stands in the columns `ratio` of a record's tables.

    The size is that of the column before, or of the section.
    """
    found, section, columns = {}, "", {}
    for line in record.splitlines():
        if line.startswith("## "):
            section = line.removeprefix("## ")
        cells = _cells(line)
        if cells[0] == "program":
            sizes = [re.match(r"\d+[²³]|", cell).group() or section for cell in cells]
            columns = {i: sizes[i - 1] for i, cell in enumerate(cells) if cell == "ratio"}
        elif line.startswith("| ") and columns:
            for i, size in columns.items():
                found.setdefault((size, cells[0]), []).append(cells[i])
        elif not line.startswith("|"):
            columns = {}
    return found


def _cells(line):
    return [cell.strip() for cell in line.strip().strip("|").split("|")]
