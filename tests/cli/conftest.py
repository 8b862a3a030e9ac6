"""The command line in the process of the tests."""

import subprocess

import pytest

from solver.cli.main import main


@pytest.fixture
def here(capsys, monkeypatch):
    """The command in this process, where nothing about the process is tested: exit code, stdout, stderr."""

    def run(*arguments, cwd=None):
        if cwd is not None:
            monkeypatch.chdir(cwd)
        code = main([str(argument) for argument in arguments])
        return subprocess.CompletedProcess(arguments, code, *capsys.readouterr())

    return run
