"""What is built and installed: sdist, wheel, and the wheel alone in a folder of its own, away from the checkout."""

import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
pytestmark = pytest.mark.slow


def call(*words, cwd, **environment):
    clean = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "XLA_FLAGS")}
    done = subprocess.run(
        [sys.executable, *map(str, words)], cwd=cwd, env={**clean, **environment}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def sdist(tmp_path_factory):
    """From a copy of what a release is made of."""
    folder = tmp_path_factory.mktemp("sdist")
    checkout = folder / "checkout"
    for name in ("solver", "runs", "slurm"):
        shutil.copytree(ROOT / name, checkout / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "setup.py", "MANIFEST.in", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, checkout)
    call("setup.py", "-q", "sdist", "--dist-dir", folder, cwd=checkout)
    (archive,) = folder.glob("*.tar.gz")
    return archive


@pytest.fixture(scope="module")
def wheel(sdist, tmp_path_factory):
    """Built from the sdist, so that nothing it needs is missing there."""
    folder = tmp_path_factory.mktemp("wheel")
    with tarfile.open(sdist) as archive:
        archive.extractall(folder, filter="data")
    (source,) = folder.glob("slabwave-*")
    call("-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation", "-w", folder, source, cwd=folder)
    (wheel,) = folder.glob("*.whl")
    return wheel


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory):
    """The wheel unpacked where nothing else is, and a folder to work in."""
    folder = tmp_path_factory.mktemp("installed")
    call("-m", "pip", "install", "-q", "--no-deps", "--target", folder / "site", wheel, cwd=folder)
    (folder / "work").mkdir()
    return folder


def run(installed, *words):
    return call("-m", "solver", *words, cwd=installed / "work", PYTHONPATH=str(installed / "site"))


def test_the_wheel_holds_what_commands_need_and_no_more(wheel):
    names = zipfile.ZipFile(wheel).namelist()
    for needed in ("solver/cases/taylor_green.toml", "solver/slurm/gpu.sbatch", "solver/slurm/sites/cpu.toml",
                   "solver/py.typed", "solver/plan/targets/h200.toml", "solver/plan/recorded.json",
                   "solver/report/page.css", "solver/report/charts.js"):  # fmt: skip
        assert needed in names
    assert {name.split("/")[0] for name in names if ".dist-info" not in name} == {"solver"}


def test_what_is_installed_is_not_the_checkout(installed):
    place = call("-c", "import solver; print(solver.__file__)", cwd=installed / "work",
                 PYTHONPATH=str(installed / "site"))  # fmt: skip
    assert Path(place.strip()).is_relative_to(installed / "site")


def test_a_case_from_the_wheel_runs_and_is_reported(installed):
    text = run(installed, "new", "taylor-green")
    (installed / "work" / "case.toml").write_text(text)
    small = ["grid.shape=[12,12,12]", "time.end=0.1", "time.step=0.05", "output.directory=out"]
    run(installed, "run", "case.toml", *small)
    run(installed, "verify", "out")
    run(installed, "report", "out")
    page = next((installed / "work" / "out").glob("*.html")).read_text()
    assert "Taylor–Green" in page


@pytest.mark.thorough
def test_every_case_and_site_is_there(installed):
    cases = run(installed, "list", "cases").splitlines()
    assert len(cases) >= len(list((ROOT / "runs").glob("*.toml")))
    (installed / "work" / "case.toml").write_text(run(installed, "new", "taylor-green"))
    script = run(installed, "submit", "case.toml", "--nodes", "2", "--site", "cpu", "--dry-run")
    assert "#SBATCH" in script
    assert "kdv-solitons" in run(installed, "validate", "kdv-solitons", "--quick")
