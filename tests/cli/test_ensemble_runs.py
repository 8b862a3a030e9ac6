"""An ensemble on the command line: every member is a run of its own, and all are continued together."""

import csv
import json
import re
from pathlib import Path

import numpy as np
import pytest
from helpers import read_checkpoint
from written_runs import members, written

from solver.cli.main import main
from solver.simulation import stepping

pytestmark = pytest.mark.slow

RUN = members(
    """
series = { every_steps = 5 }
checkpoints = { every_steps = 10 }
""",
    ensemble="""members = 2""",
    grid="""shape = [16, 12]""",
    end=0.2,
    devices=[0, 1],
)
NAMES = [f"member-{number:04d}" for number in range(4)]


@pytest.fixture(scope="module")
def run_file(tmp_path_factory):
    return written(tmp_path_factory.mktemp("files"), RUN)


@pytest.fixture(scope="module")
def finished(run_file):
    folder = run_file.parent / "whole"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stepping, "LINE_SECONDS", 0.0)
        assert main(["run", str(run_file), f"output.directory={folder}"]) == 0
    return folder


@pytest.mark.thorough
def test_lines_say_how_far_members_are_that_go_on_together(finished):
    assert re.search(
        r"4 members go on together, from t = 0\.1 \(member-000\d\) to t = 0\.1 \(", (finished / "log.txt").read_text()
    )


@pytest.fixture(scope="module")
def in_turn(run_file):
    folder = run_file.parent / "in_turn"
    assert main(["run", str(run_file), f"output.directory={folder}", "ensemble.together=1"]) == 0
    return folder


def last_arrays(folder: Path) -> dict:
    return read_checkpoint(folder / "checkpoints" / "step-00000020")[0]


def assert_same_run(a: Path, b: Path) -> None:
    first, second = last_arrays(a), last_arrays(b)
    assert first.keys() == second.keys()
    for name in first:
        np.testing.assert_array_equal(first[name], second[name])
    assert (a / "series.csv").read_text() == (b / "series.csv").read_text()


def test_each_member_is_a_run_of_its_own(in_turn, here, tmp_path):
    assert sorted(path.name for path in in_turn.iterdir() if path.is_dir()) == NAMES
    rows = list(csv.DictReader((in_turn / "members.csv").read_text().splitlines()))
    assert [row["member"] for row in rows] == NAMES
    assert [row["initial.energy"] for row in rows] == ["0.5", "1.0"] * 2
    assert [row["random.seed"] for row in rows] == list("0123")
    alone = tmp_path / "alone"
    assert here("run", in_turn / "member-0002/config.toml", f"output.directory={alone}").returncode == 0
    assert_same_run(alone, in_turn / "member-0002")
    first = {(in_turn / name / "series.csv").read_text().splitlines()[2] for name in NAMES}
    assert len(first) == 4, "each starts from fields of its own"


@pytest.mark.thorough
def test_members_stepped_together_agree_with_those_in_turn(finished, in_turn):
    for name in NAMES:
        together, alone = last_arrays(finished / name), last_arrays(in_turn / name)
        largest = np.max(np.abs(alone["field/vorticity"]))
        np.testing.assert_allclose(together["field/vorticity"], alone["field/vorticity"], rtol=0, atol=1e-14 * largest)
        assert (finished / name / "log.txt").read_text().count("finished: step 20") == 1
    said = (finished / "log.txt").read_text()
    assert "4 of 4 places of a batch, stepped by one program" in said
    assert "finished: step" not in said, "each member has a log of its own"


def test_members_that_stop_go_on_to_the_same_bits(run_file, finished, here, tmp_path):
    folder = tmp_path / "stopped"
    (folder / "member-0001").mkdir(parents=True)
    (folder / "member-0001" / "stop").touch()
    assert here("run", run_file, "--resume", f"output.directory={folder}", "time.end=0.1").returncode == 75
    states = [run["state"] for run in json.loads(here("info", folder, "--json").stdout)["runs"]]
    assert states == ["finished", "stopped", "finished", "finished"]
    (folder / "stop").touch()
    assert here("resume", folder, "time.end=0.2").returncode == 75
    assert not (folder / "stop").exists()
    before = (folder / "log.txt").read_text()
    done = here("resume", folder)
    assert done.returncode == 0, done.stderr
    assert "4 of 4 places" in (folder / "log.txt").read_text()[len(before) :]
    for name in NAMES:
        assert_same_run(folder / name, finished / name)
    before = (folder / "member-0000" / "log.txt").read_text()
    assert here("resume", folder).returncode == 0
    assert (folder / "member-0000" / "log.txt").read_text() == before, "a finished member is left alone"


@pytest.mark.thorough
def test_a_stop_in_turn_leaves_the_later_members_for_the_next_start(run_file, in_turn, here, tmp_path):
    folder = tmp_path / "stopped"
    (folder / "member-0001").mkdir(parents=True)
    (folder / "member-0001" / "stop").touch()
    done = here("run", run_file, f"output.directory={folder}", "ensemble.together=1")
    assert done.returncode == 75
    assert "stopped early by the file" in done.stdout
    assert not (folder / "member-0002").exists()
    assert here("resume", folder).returncode == 0
    for name in NAMES[:2]:
        assert_same_run(folder / name, in_turn / name)


@pytest.mark.thorough
def test_more_members_join_and_another_sweep_does_not(run_file, finished, here, tmp_path):
    folder = tmp_path / "more"
    start = ("run", run_file, "--resume", f"output.directory={folder}")
    assert here(*start, "ensemble.members=1", "ensemble.together=4").returncode == 0
    assert here(*start).returncode == 0
    for name in NAMES:
        assert_same_run(folder / name, finished / name)  # each at its place in a batch of four
    told = here("info", folder).stdout.splitlines()
    assert told[0].split()[5:7] == ["device", "hours"]
    assert [line.split()[5] for line in told[1:]] == ["–"] * len(NAMES), "members share the ensemble's devices"
    lines = (folder / "members.csv").read_text()
    assert here(*start, "ensemble.members=1").returncode == 0
    assert (folder / "members.csv").read_text() == lines, "members that were begun keep their lines"
    assert here(*start).returncode == 0
    assert (folder / "members.csv").read_text() == lines
    done = here(*start, "ensemble.sweep={ 'initial.energy' = [1.0, 0.5] }")
    assert done.returncode == 2
    assert "holds a run of other physics (ensemble.sweep" in done.stderr
    done = here("run", run_file, f"output.directory={folder}")
    assert done.returncode == 2
    assert "already holds a run" in done.stderr
    changed = (folder / "member-0003" / "config.toml").read_text().replace("energy = 1.0", "energy = 3.0")
    (folder / "member-0003" / "config.toml").write_text(changed)
    done = here(*start)
    assert done.returncode == 2
    assert "member-0003 holds a run of other physics (initial.energy: 3.0 → 1.0)" in done.stderr


def test_a_member_that_blows_up_leaves_the_others_alone(run_file, finished, here, tmp_path):
    folder = tmp_path / "blown"
    start = ("run", run_file, "--resume", f"output.directory={folder}", "ensemble.sweep={'initial.energy'=[0.5,1e30]}")
    done = here(*start)
    assert done.returncode == 3
    assert "2 of 4 members blew up (member-0001, member-0003)" in done.stderr
    assert_same_run(folder / "member-0002", finished / "member-0002")
    runs = json.loads(here("info", folder, "--json").stdout)["runs"]
    assert [run["state"] for run in runs] == ["finished", "blown up"] * 2
    assert [float(run["values"]["initial.energy"]) for run in runs] == [0.5, 1e30] * 2
    before = (folder / "member-0003" / "log.txt").read_text()
    assert here(*start).returncode == 3
    assert (folder / "member-0003" / "log.txt").read_text() == before, "the same run file would lead there again"


def test_jobs_share_the_members_and_leave_their_bits_alone(run_file, here, tmp_path):
    """Batches of three on two devices: job 0 has the first one, job 1 the member that is left, in three places too."""
    whole, folder = tmp_path / "whole", tmp_path / "shared"
    start = ("run", run_file, "--resume", "ensemble.together=3")
    assert here(*start, f"output.directory={whole}").returncode == 0
    places = re.findall(r"(\d of \d) places", (whole / "log.txt").read_text())
    assert places == ["3 of 4", "1 of 4"], "what is together does not depend on the number of devices"
    jobs = (*start, f"output.directory={folder}", "--jobs", 2, "--job")
    (folder / "member-0001").mkdir(parents=True)
    (folder / "member-0001" / "stop").touch()
    assert here(*jobs, 0).returncode == 75
    assert not (folder / "member-0003").exists(), "a member of the other job"
    assert "\n3 of 4 members were begun\njobs: 1 stopped (0000-of-0002)\n" in here("info", folder).stdout
    assert here(*jobs, 1).returncode == 0, "the other job's members have come to their ends"
    assert here("resume", folder, "--jobs", 2, "--job", 0).returncode == 0
    for name in NAMES:
        assert_same_run(folder / name, whole / name)
    assert (folder / "members.csv").read_text() == (whole / "members.csv").read_text()
    said = [line.partition(" I ")[2].partition(";")[0] for line in (folder / "log.txt").read_text().splitlines()]
    first, second = "job 0 of 2 carries out member-0000 to member-0002", "job 1 of 2 carries out member-0003"
    assert said == [first, second, first]
    facts = json.loads(here("info", folder, "--json").stdout)
    assert [run["state"] for run in facts["runs"]] == ["finished"] * 4
    assert [(job["name"], job["state"]) for job in facts["jobs"]] == [(f"000{n}-of-0002", "finished") for n in (0, 1)]
    assert here("info", folder).stdout.endswith("\njobs: 2 finished\n")
    assert here("verify", folder).returncode == 0
    assert here("resume", folder).returncode == 0, "one job takes what several have left"


@pytest.mark.thorough
def test_a_job_ends_as_its_own_members_do(run_file, here, tmp_path):
    start = ("run", run_file, "--resume", f"output.directory={tmp_path / 'shared'}", "ensemble.together=2")
    other = ("ensemble.members=1", "ensemble.sweep={'initial.energy'=[0.5,1.0,1e30]}")
    codes = [here(*start, *other, "--jobs", 2, "--job", job) for job in (1, 0)]
    assert [done.returncode for done in codes] == [3, 0]
    assert "1 of 1 members of job 1 of 2 blew up (member-0002)" in codes[0].stderr


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--resume", "--jobs", 2], "--jobs 2: --jobs N and --job I are needed together"),
        (["--resume", "--jobs", 2, "--job", 2], "--job 2: a number from 0 to 1 is needed"),
        (["--resume", "--jobs", 5, "--job", 0], "--jobs 5: 4 members are enough for 4 at most"),
        (["--jobs", 2, "--job", 0], "--jobs 2: --resume is needed too"),
    ],
)
def test_jobs_that_cannot_be_are_refused(run_file, here, tmp_path, words, message):
    done = here("run", run_file, f"output.directory={tmp_path / 'none'}", *words)
    assert done.returncode == 2
    assert message in done.stderr
    assert not (tmp_path / "none").exists()


@pytest.mark.thorough
def test_commands_take_the_ensemble(run_file, finished, here, tmp_path):
    table = here("info", finished).stdout.splitlines()
    assert table[0].split()[-3:] == ["initial.energy", "equation.viscosity", "random.seed"]
    assert [line.split()[:2] for line in table[1:]] == [[name, "finished"] for name in NAMES]
    verified = here("verify", finished)
    assert verified.returncode == 0
    assert "member-0003/series.csv" in verified.stdout
    assert here("report", finished, "--output", tmp_path / "page.html").returncode == 0
    assert here("compare", finished, "--output", tmp_path / "same.html").returncode == 0
    pages = [(tmp_path / name).read_text() for name in ("page.html", "same.html")]
    assert all(name in page for name in NAMES for page in pages)
    assert "At the end, against what members differ in" in pages[0]
    assert "initial.energy = 0.5, mean + deviation" in pages[0]
    done = here("plot", finished, "--output", tmp_path / "drawn")
    assert done.stdout.split() == [str(tmp_path / "drawn" / "ensemble.png")]
    for command in (("movie", finished), ("plot", finished, "--time", "0.1")):
        done = here(*command)
        assert done.returncode == 2
        assert f"one of its runs is needed: {finished}/member-0000" in done.stderr
    done = here("resume", finished, "--branch", tmp_path / "new", "time.step=0.005")
    assert done.returncode == 2
    assert "one of its runs is needed" in done.stderr
    done = here("run", run_file, f"output.directory={tmp_path / 'traced'}", "--profile", "3")
    assert done.returncode == 2
    assert "it traces one run" in done.stderr
    done = here("check", run_file)
    assert "4 members, up to 4 stepped by one program: output/many/member-0000 to member-0003" in done.stdout
    assert "4 members, one after the other:" in here("check", run_file, "ensemble.together=1").stdout
    done = here("check", run_file, "ensemble.together=4", "ensemble.sweep={'grid.shape'=[[16,16],[20,16]]}")
    assert done.returncode == 2
    assert "ensemble.together = 4: grid.shape = [20, 16] changes shapes or formulas" in done.stderr
    damaged = finished / "member-0001" / "series.csv"
    whole = damaged.read_text()
    damaged.write_text(whole.replace("0.05", "0.06"))
    try:
        assert here("verify", finished).returncode == 1
    finally:
        damaged.write_text(whole)
