"""Tuning in two real processes that meet by explicit address."""

import pytest
from test_processes import ROOT, finish
from zygote import zygote

from solver.cluster.addresses import free_port

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
    words = ["tune", str(ROOT / "runs" / "taylor_green.toml"), "grid.shape=[16,16,16]", "devices.virtual=1"]
    words += ["--steps", "1", "--coordinator", f"127.0.0.1:{free_port()}", "--processes", "2", "--process"]
    started = [zygote().start([*words, str(i)], script=PROGRAM) for i in range(2)]
    codes, (out, silent), errors = finish(started, timeout=100)
    assert codes == [0, 0], errors
    rows = [line for line in out.splitlines() if line.startswith(("slab ", "pencil "))]
    assert any("failed: process 1: RuntimeError: no room here" in row for row in rows)
    times = [float(row.replace("pencil 1×2", "pencil").split()[5]) for row in rows if "failed" not in row]
    assert len(times) >= 2
    assert min(times) >= 1e4, "the slowest process counts"  # ten seconds, printed to four digits
    assert "split " not in silent, "the first process alone prints"
