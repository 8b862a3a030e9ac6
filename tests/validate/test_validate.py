"""`slabwave validate`: its table, its verdict, and the small version of every case."""

import os
import subprocess
import sys

import pytest

from solver.cli.main import main
from solver.loop import BlowUp
from solver.validate import Case, Finding, cases, table


def test_a_finding_holds_within_its_tolerance():
    finding = Finding("energy", 1.02, 1.0, 0.03, "exact")
    assert finding.holds
    assert not Finding("energy", 1.04, 1.0, 0.03, "exact").holds
    assert not Finding("energy", float("nan"), 1.0, 0.03, "exact").holds
    (row,) = table("flow", [finding])
    assert row == "| flow | energy | 1.02 | 1 | 0.03 | ok | exact |"


def test_an_unknown_case_is_refused(capsys):
    assert main(["validate", "sod"]) == 2
    assert "case 'sod': no case has this name; known are" in capsys.readouterr().err


def test_a_number_that_is_off_ends_with_1(capsys, monkeypatch):
    class Wrong(Case):
        name = "wrong"

        def run(self):
            return [Finding("pi", 3.0, 3.14159, 0.01, "exact")]

    monkeypatch.setattr("solver.validate.cases", lambda: {"wrong": Wrong})
    assert main(["validate", "wrong", "--quick"]) == 1
    assert "| wrong | pi | 3 | 3.14159 | 0.01 | FAILS | exact |" in capsys.readouterr().out


def test_a_case_that_blows_up_is_a_number_that_is_off(capsys, monkeypatch):
    class Wild(Case):
        name = "wild"

        def run(self):
            raise BlowUp("at step 3")

    monkeypatch.setattr("solver.validate.cases", lambda: {"wild": Wild})
    assert main(["validate", "wild"]) == 1
    assert "| wild | blew up: at step 3 | nan |" in capsys.readouterr().out


@pytest.mark.thorough
@pytest.mark.slow
def test_the_small_version_of_every_case_holds():
    """In a process of its own, with programs that are compiled to be fast."""
    environment = {**os.environ, "XLA_FLAGS": ""}
    words = [sys.executable, "-m", "solver", "validate", "--quick"]
    done = subprocess.run(words, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    for name in cases():
        assert f"| {name} |" in done.stdout
    assert "FAILS" not in done.stdout
