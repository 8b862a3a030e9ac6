"""Kills while members write into shared files, and many members with few open files."""

import signal
import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))

from campaign import Campaign
from zygote import zygote

from solver.cli.main import main
from solver.io import RunDirectory
from solver.reading import read_members

pytestmark = [pytest.mark.multiprocess, pytest.mark.slow]

MEMBERS = 20
RUN = f"""
[ensemble]
members = 2
draw = {{ "random.seed" = "member" }}
packed = true
together = {MEMBERS}
[grid]
shape = [8, 8]
[equation]
name = "vorticity"
viscosity = 1e-2
[initial]
name = "random-phase"
[time]
stepper = "ifrk2"
step = 0.01
end = 0.2
[devices]
virtual = 1
[output]
series = {{ every_steps = 2 }}
spectra = {{ every_steps = 2 }}
checkpoints = {{ every_steps = 5, keep = 2 }}
"""
OFTEN = "import solver.io.row_file as r; r.SMALL_SHARED = 4000"  # so that shared files are rewritten during the run
FEW = "import resource; resource.setrlimit(resource.RLIMIT_NOFILE, (44, 44))"


@pytest.fixture(scope="module")
def campaign(tmp_path_factory):
    folder = tmp_path_factory.mktemp("packed")
    (folder / "run.toml").write_text(RUN)
    return Campaign(zygote(), folder, words=(str(folder / "run.toml"),))


@pytest.fixture(scope="module")
def whole(campaign):
    directory = campaign.folder / "whole"
    assert campaign.run(directory, code=OFTEN) == [0], campaign.said(directory)
    return directory


def shared(directory: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted((directory / "packed").glob("*/*.h5"))}


def test_files_are_the_same_after_kills_at_any_write(campaign, whole):
    calls = campaign.calls(whole)[0]
    assert shared(whole).keys() == {"series.h5", "spectra.h5"}
    for at, when in zip(np.random.default_rng(3).integers(calls // 4, calls, 2), ("before", "within"), strict=True):
        directory = campaign.folder / f"killed-{when}"
        assert campaign.run(directory, at=int(at), when=when, code=OFTEN) == [-signal.SIGKILL]
        if read_members(RunDirectory(directory)).names:
            assert main(["verify", str(directory)]) == 0
        assert campaign.run(directory, code=OFTEN) == [0], campaign.said(directory)
        assert shared(directory) == shared(whole)
        assert not list(directory.rglob("*.partial"))


def test_two_processes_agree_on_the_checkpoints_of_each_member(campaign, whole):
    """Several members write at the same time: what one process says of one must not be taken for another."""
    pair = Campaign(campaign.zygote, campaign.folder, 2, campaign.words)
    directory = campaign.folder / "pair"
    words = ("ensemble.members=4", "time.end=0.12", "output.checkpoints.every_steps=1")
    assert pair.run(directory, *words, timeout=60) == [0, 0], pair.said(directory)
    assert main(["verify", str(directory)]) == 0
    alone, together = (read_members(RunDirectory(folder)).series[1] for folder in (whole, directory))
    rows = len(together["t"])
    np.testing.assert_allclose(together["energy"], alone["energy"][:rows], rtol=1e-12)
    assert rows == 7


def test_open_files_do_not_grow_with_members(campaign, whole):
    words = (f"ensemble.members={MEMBERS}", "time.end=0.04", "output.checkpoints=false")
    unpacked, packed = campaign.folder / "unpacked", campaign.folder / "many"
    assert campaign.run(unpacked, *words, "ensemble.packed=false", code=FEW) != [0]
    assert "Too many open files" in campaign.said(unpacked)
    assert campaign.run(packed, *words, code=FEW) == [0], campaign.said(packed)
    assert len(read_members(RunDirectory(packed)).series) == MEMBERS
