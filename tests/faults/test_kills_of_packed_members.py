"""Kills while members write into shared files, and many members with few open files."""

import signal
import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))

from campaign import Campaign
from zygote import Zygote

from solver.cli.main import main
from solver.io import RunDirectory
from solver.reading import read_members

pytestmark = [pytest.mark.multiprocess, pytest.mark.slow]

MEMBERS = 40
RUN = f"""
[ensemble]
members = 3
draw = {{ "random.seed" = "member" }}
packed = true
together = {MEMBERS}
[grid]
shape = [16]
[equation]
name = "kuramoto-sivashinsky"
[initial]
name = "random-phase"
[time]
stepper = "etdrk4"
step = 0.1
end = 2.0
[devices]
virtual = 1
[output]
series = {{ every_steps = 2 }}
line-spectra = {{ every_steps = 2 }}
checkpoints = {{ every_steps = 5, keep = 2 }}
"""
OFTEN = "import solver.io.packed_records as r; r.SMALL = 4000"  # so that shared files are rewritten during the run
FEW = "import resource; resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))"


@pytest.fixture(scope="module")
def campaign(tmp_path_factory):
    folder = tmp_path_factory.mktemp("packed")
    (folder / "run.toml").write_text(RUN)
    with Zygote() as zygote:
        yield Campaign(zygote, folder, words=(str(folder / "run.toml"),))


@pytest.fixture(scope="module")
def whole(campaign):
    directory = campaign.folder / "whole"
    assert campaign.run(campaign.folder / "first") == [0], "compiles"
    assert campaign.run(directory, code=OFTEN) == [0], campaign.said(directory)
    return directory


def shared(directory: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted((directory / "packed").glob("*/*.h5"))}


def test_files_are_the_same_after_kills_at_any_write(campaign, whole):
    calls = campaign.calls(whole)[0]
    assert shared(whole).keys() == {"series.h5", "line-spectra.h5"}
    assert shared(whole) == shared(campaign.folder / "first"), "whenever they are rewritten"
    for at, when in zip(
        np.random.default_rng(3).integers(calls // 5, calls, 3), ("before", "within", "after"), strict=True
    ):
        directory = campaign.folder / f"killed-{when}"
        assert campaign.run(directory, at=int(at), when=when, code=OFTEN) == [-signal.SIGKILL]
        if read_members(RunDirectory(directory)).names:
            assert main(["verify", str(directory)]) == 0
        assert campaign.run(directory, code=OFTEN) == [0], campaign.said(directory)
        assert shared(directory) == shared(whole)
        assert not list(directory.rglob("*.partial"))


def test_open_files_do_not_grow_with_members(campaign, whole):
    words = (f"ensemble.members={MEMBERS}", "time.end=0.4", "output.checkpoints=false")
    unpacked, packed = campaign.folder / "unpacked", campaign.folder / "many"
    assert campaign.run(unpacked, *words, "ensemble.packed=false", code=FEW) != [0]
    assert "Too many open files" in campaign.said(unpacked)
    assert campaign.run(packed, *words, code=FEW) == [0], campaign.said(packed)
    assert len(read_members(RunDirectory(packed)).series) == MEMBERS
