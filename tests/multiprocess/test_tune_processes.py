"""Tuning in two real processes that meet by explicit address."""

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

pytestmark = [pytest.mark.multiprocess, pytest.mark.slow]

# the second process is the slower one, and cannot do one of the candidates
PROGRAM = """
import sys
from solver.tune import search, trial
search.ROUNDS = search.LAST_ROUNDS = 1
search.with_other_fields = search.with_other_chunks = lambda base: []
second = sys.argv[-1] == "1"
compile_program, turn = search.compile_program, trial.Ready.turn
def fails(one, mesh):
    if second and one.candidate.section.engine == "shard_map":
        raise RuntimeError("no room here")
    compile_program(one, mesh)
def slow(self, steps):
    seconds, fields = turn(self, steps)
    return seconds + (10.0 if second else 0.0), fields
search.compile_program, trial.Ready.turn = fails, slow
from solver.cli.main import entry
entry()
"""


def test_two_processes():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{s.getsockname()[1]}"
    clean = {k: v for k, v in os.environ.items() if k not in ("JAX_NUM_CPU_DEVICES", "XLA_FLAGS")}
    words = ["tune", str(ROOT / "runs" / "taylor_green.toml"), "grid.shape=[16,16,16]", "devices.virtual=1"]
    words += ["--steps", "1", "--coordinator", address, "--processes", "2", "--process"]
    started = [
        subprocess.Popen(
            [sys.executable, "-c", PROGRAM, *words, str(i)], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            text=True, env={**clean, "PYTHONPATH": str(ROOT)},
        )
        for i in range(2)
    ]  # fmt: skip
    try:
        (out, first), (silent, second) = (process.communicate(timeout=100) for process in started)
    finally:
        for process in started:
            process.kill()
    assert [process.returncode for process in started] == [0, 0], first + second
    rows = [line for line in out.splitlines() if line.startswith(("slab ", "pencil "))]
    assert any("failed: process 1: RuntimeError: no room here" in row for row in rows)
    times = [float(row.replace("pencil 1×2", "pencil").split()[5]) for row in rows if "failed" not in row]
    assert len(times) >= 2
    assert min(times) >= 1e4, "the slowest process counts"  # ten seconds, printed to four digits
    assert "split " not in silent, "the first process alone prints"
