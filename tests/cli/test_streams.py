"""Standard streams that are closed, or that cannot encode every letter."""

import os
import subprocess
import sys

import pytest

RUN = """
[grid]
shape = [8, 8]
[equation]
name = "vorticity"
viscosity = 0.1
[initial]
name = "random-phase"
[time]
stepper = "ifrk2"
step = 0.1
end = 0.2
[devices]
virtual = 1
[output]
directory = "out"
"""


def shell(line, folder, **variables):
    """A line of a shell in which `slabwave` is the command."""
    return subprocess.run(
        ["sh", "-c", line.replace("slabwave", f"{sys.executable} -m solver")],
        cwd=folder, env={**os.environ, **variables}, capture_output=True, text=True, timeout=120,
    )  # fmt: skip


@pytest.mark.thorough
@pytest.mark.slow
def test_a_run_with_closed_streams_finishes(tmp_path):
    (tmp_path / "flow.toml").write_text(RUN)
    done = shell("slabwave run flow.toml <&- >&- 2>&-", tmp_path)
    assert done.returncode == 0, done.stderr
    assert "finished: step 2" in (tmp_path / "out/log.txt").read_text()
    assert not done.stderr


def test_a_stream_without_greek_letters_gets_question_marks(tmp_path):
    done = shell("slabwave describe vorticity", tmp_path, PYTHONIOENCODING="ascii")
    assert done.returncode == 0, done.stderr
    assert "?_t = " in done.stdout


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "buffered"), [("list cases", ""), ("new", "1"), ("schema", ""), ("schema", "1"), ("--help", "")]
)
def test_a_full_standard_output_is_named(tmp_path, words, buffered):
    """Little output stays in Python's buffer until the end, unless PYTHONUNBUFFERED is set."""
    done = shell(f"slabwave {words} >/dev/full", tmp_path, PYTHONUNBUFFERED=buffered)
    assert (done.returncode, done.stderr) == (1, "slabwave: error: standard output: No space left on device\n")


def test_a_schema_without_descriptions_is_refused(tmp_path):
    done = shell("slabwave schema", tmp_path, PYTHONOPTIMIZE="2")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("slabwave: error: schema: Python drops the descriptions with -OO")


def test_a_reader_that_is_gone_is_no_error_to_be_told(tmp_path):
    assert shell("slabwave schema | head -1", tmp_path).stderr == ""


@pytest.mark.slow
def test_a_run_whose_output_is_full_finishes(tmp_path):
    (tmp_path / "flow.toml").write_text(RUN)
    done = shell("slabwave run flow.toml >/dev/full", tmp_path, PYTHONUNBUFFERED="")
    assert (done.returncode, done.stderr) == (0, "")
    assert "finished: step 2" in (tmp_path / "out/log.txt").read_text()


def test_new_without_a_name_lists_the_cases(here):
    assert here("new").stdout == here("list", "cases").stdout != ""


def test_a_link_that_leads_nowhere_is_named(tmp_path, here):
    (tmp_path / "flow.toml").write_text(RUN)
    (tmp_path / "out").symlink_to(tmp_path / "gone")
    done = here("run", "flow.toml", "devices.use=[0]", cwd=tmp_path)
    assert done.returncode == 2
    assert f"output.directory = 'out': a link to {tmp_path}/gone, which does not exist" in done.stderr


def test_a_site_that_charges_projects_asks_for_one(tmp_path, here):
    (tmp_path / "flow.toml").write_text(RUN)
    words = ["submit", "flow.toml", "--nodes", "1", "--site", "perlmutter", "--dry-run"]
    assert "takes no job without a project: --account is needed" in here(*words, cwd=tmp_path).stderr
    assert "project" not in here(*words, "--account", "m1", cwd=tmp_path).stderr
