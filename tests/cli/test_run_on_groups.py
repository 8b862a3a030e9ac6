"""`devices.groups` on the command line: the same run, whoever carries out its outputs, killed and continued too."""

import csv
import json
import signal

import numpy as np
import pytest
from helpers import read_checkpoint, refused_in_one_line, values_of_file
from written_runs import written

from solver.assemble import read_run_file
from solver.cli.main import main
from solver.config import ConfigError

pytestmark = pytest.mark.slow

RUN = """
[grid]
shape = [24, 20]
lengths = [6.0, 5.0]
[equation]
name = "vorticity"
viscosity = 0.005
[forcing]
name = "ornstein-uhlenbeck"
rms = 0.5
[initial]
name = "random-phase"
[time]
stepper = "cnab2"
step = 0.01
end = 0.3
[output]
directory = "unnamed"
series = { every_steps = 5 }
spectra = { every_steps = 10 }
snapshots = { every_steps = 10 }
statistics = { every_steps = 30, sample_steps = 5, fields = ["vorticity"] }
checkpoints = { every_steps = 15, keep = 10 }
"""
GROUPS = "devices.groups={ step = 3, analyse = 2 }"
STEPS = [15, 30]
OF_TWO = ["--processes", "2", "--process", "0", "--coordinator", "localhost:1"]

SIGNALLING = '''
import os
import signal
from dataclasses import dataclass

import solver as sw


@dataclass(frozen=True)
class Signalling(sw.outputs.Output):
    """Asks for the end of the job, from the thread that analyses."""

    name = "signalling"

    def write(self, run, state):
        if int(state.step) == 8:
            os.kill(os.getpid(), signal.SIGTERM)
'''


@pytest.fixture(scope="module")
def run_file(tmp_path_factory):
    return written(tmp_path_factory.mktemp("files"), RUN, signalling=SIGNALLING)


@pytest.fixture(scope="module")
def alone(run_file):
    """The run on three devices."""
    folder = run_file.parent / "alone"
    assert main(["run", str(run_file), f"output.directory={folder}", "devices.use=[0, 1, 2]"]) == 0
    return folder


@pytest.fixture(scope="module")
def apart(run_file):
    """The run on three devices, with two more that analyse."""
    folder = run_file.parent / "apart"
    assert main(["run", str(run_file), f"output.directory={folder}", GROUPS]) == 0
    return folder


@pytest.fixture(scope="module")
def killed(run_file):
    """The same, killed by who analyses step 8, and continued."""
    folder = run_file.parent / "killed"
    signalling = run_file.with_name("signalling.toml")
    signalling.write_text(f'{RUN}[output."signalling.py:Signalling"]\nevery_steps = 8\n')
    before = signal.getsignal(signal.SIGTERM)
    assert main(["run", str(signalling), f"output.directory={folder}", GROUPS]) == 75
    signal.signal(signal.SIGTERM, before)  # a run that was stopped ignores it until its process ends
    last = max(int(path.name.removeprefix("step-")) for path in (folder / "checkpoints").iterdir())
    assert 8 <= last < 30
    assert main(["resume", str(folder)]) == 0
    return folder


@pytest.fixture(scope="module", params=["apart", "killed"])
def other(request):
    return request.getfixturevalue(request.param)


@pytest.mark.thorough
def test_checkpoints_have_the_bits_of_a_run_on_the_devices_that_step(alone, other):
    for step in STEPS:
        (first, manifest), (second, other_manifest) = (
            read_checkpoint(folder / "checkpoints" / f"step-{step:08d}") for folder in (alone, other)
        )
        assert first.keys() == second.keys()
        for name in first:
            np.testing.assert_array_equal(first[name], second[name])
        assert manifest["values"] == other_manifest["values"]


def test_snapshots_have_the_same_bits(alone, other):
    names = sorted(path.name for path in (alone / "snapshots").glob("step-*.h5"))
    assert len(names) == 4
    assert names == sorted(path.name for path in (other / "snapshots").glob("step-*.h5"))
    for name in names:
        np.testing.assert_array_equal(
            values_of_file(alone / "snapshots" / name)["vorticity"],
            values_of_file(other / "snapshots" / name)["vorticity"],
        )


def test_reduced_outputs_agree_to_round_off(alone, other):
    rows, other_rows = (list(csv.reader((f / "series.csv").read_text().splitlines()[2:])) for f in (alone, other))
    assert [row[0] for row in rows] == [row[0] for row in other_rows] == [str(n) for n in range(0, 31, 5)]
    np.testing.assert_allclose(np.array(other_rows, float), np.array(rows, float), rtol=1e-9, atol=1e-12)
    for path in (
        "spectra.h5", "statistics/spectra.h5", "statistics/step-00000030.h5",
    ):  # fmt: skip
        first, second = values_of_file(alone / path), values_of_file(other / path)
        assert first.keys() == second.keys()
        for name in first:
            np.testing.assert_allclose(second[name], first[name], rtol=1e-9, atol=1e-15)


def test_the_directory_says_who_did_what(apart):
    assert "groups: devices that step: 3; that carry out outputs: 2" in (apart / "log.txt").read_text()
    assert "groups: on the CPU groups of several devices take turns" in (apart / "log.txt").read_text()
    assert "devices: 5 in use of 8" in (apart / "log.txt").read_text()
    assert main(["verify", str(apart)]) == 0


def test_check_prints_the_memory_of_both_groups(run_file, capsys):
    assert main(["check", str(run_file), GROUPS]) == 0
    lines = capsys.readouterr().out
    assert "# devices:      3 slabs" in lines
    assert "# analysis:     2 more devices carry out outputs" in lines


def test_members_of_an_ensemble_leave_their_outputs_to_others(run_file, tmp_path):
    """One after the other; each is the run of its own run file."""
    words = ["ensemble={ sweep = { 'equation.viscosity' = [0.005, 0.01] } }", "time.end=0.1", "output.snapshots={}"]
    assert main(["run", str(run_file), *words, GROUPS, f"output.directory={tmp_path}/many"]) == 0
    member = tmp_path / "many" / "member-0001"
    assert main(["run", str(member / "config.toml"), GROUPS, f"output.directory={tmp_path}/one"]) == 0
    last = "snapshots/step-00000010.h5"
    first, second = (values_of_file(folder / last)["vorticity"] for folder in (member, tmp_path / "one"))
    np.testing.assert_array_equal(first, second)
    assert "finished: step 10" in (member / "log.txt").read_text()
    assert len(json.loads((member / "provenance.json").read_text())["devices"]) == 5, "those of both groups"
    [devices] = [line for line in (tmp_path / "many" / "log.txt").read_text().splitlines() if "groups:" in line][:1]
    assert "devices that step: 3; that carry out outputs: 2" in devices


WRONG = {
    "another name": (
        ["devices.groups={ step = 6, observe = 2 }"],
        "devices.groups.observe: no such group in run files",
    ),
    "one group": (["devices.groups={ step = 6 }"], "devices.groups.analyse is missing"),
    "no devices": (
        ["devices.groups={ step = 0, analyse = 2 }"],
        "devices.groups.step = 0: a positive number is needed",
    ),
    "too many": (["devices.groups={ step = 3, analyse = 40 }"], "devices.groups.analyse = 40: 40 slabs of the grid"),
    "chosen devices": ([GROUPS, "devices.use=[0, 1]"], "devices.use = .* with devices.groups"),
    "other pencils": (
        [GROUPS, "devices.decomposition=pencil", "devices.mesh=[2, 2]"],
        "devices.mesh = .* with devices.groups .* the 3 devices that step",
    ),
    "members together": (
        [GROUPS, "ensemble={ draw = { 'random.seed' = 'member' }, members = 2, together = 2 }"],
        "with ensemble.together = 2: members .* go one after the other",
    ),
}


@pytest.mark.parametrize(("words", "message"), WRONG.values(), ids=WRONG)
def test_what_cannot_be_is_one_line(words, message, run_file):
    with refused_in_one_line(message, ConfigError):
        read_run_file(run_file, words)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["run", "devices.groups={ step = 7, analyse = 2 }"], "9 devices are needed; there are 8"),
        (["check", "--devices", "4", GROUPS], "5 devices are needed; there are 4"),
        (
            ["run", *OF_TWO, GROUPS, "ensemble={ draw = { 'random.seed' = 'member' }, members = 2, packed = true }"],
            "with ensemble.packed in 2 processes: one process writes the files that members share",
        ),
        (["check", "--target", "h200", GROUPS], "--target with devices.groups"),
        (["tune", GROUPS], "tune takes all devices for steps"),
        (
            ["run", *OF_TWO, "devices.virtual=auto", "devices.groups={ step = 2, analyse = 3 }"],
            "in 2 processes: each process must have devices of one group",
        ),
    ],
)
def test_what_the_devices_refuse_is_one_line(words, message, run_file, tmp_path, capsys):
    folder = tmp_path / "refused"
    assert main([words[0], str(run_file), *words[1:], f"output.directory={folder}"]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
    assert not folder.exists()
