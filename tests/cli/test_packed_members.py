"""Members of a packed ensemble share files; what is read of them is what members with files of their own have."""

import json
from pathlib import Path

import numpy as np
import pytest
from helpers import read_checkpoint
from written_runs import members, written
from zygote import zygote

from solver import open_run
from solver.cli.main import main
from solver.io import RunDirectory
from solver.reading import read_members, run_status

pytestmark = pytest.mark.slow

RUN = members(
    """
series = { every_steps = 5 }
spectra = { every_steps = 5 }
statistics = { every_steps = 10, sample_steps = 5 }
checkpoints = { every_steps = 10 }
""",
    ensemble="""members = 2
packed = true""",
    grid="""shape = [12, 8]""",
    end=0.2,
    devices=[0],
)
NAMES = [f"member-{number:04d}" for number in range(4)]
OWN = {"config.toml", "checkpoints"}  # what a packed member keeps in its directory


@pytest.fixture(scope="module")
def run_file(tmp_path_factory):
    return written(tmp_path_factory.mktemp("files"), RUN)


@pytest.fixture(scope="module")
def packed(run_file):
    folder = run_file.parent / "packed"
    assert main(["run", str(run_file), f"output.directory={folder}"]) == 0
    return folder


@pytest.fixture(scope="module")
def unpacked(run_file):
    folder = run_file.parent / "unpacked"
    assert main(["run", str(run_file), f"output.directory={folder}", "ensemble.packed=false"]) == 0
    return folder


def assert_same(a: Path, b: Path) -> None:
    """The same bits in all that is read of two ensembles."""
    first, second = (read_members(RunDirectory(folder)) for folder in (a, b))
    assert (first.names, first.values, first.units) == (second.names, second.values, second.units)
    for mine, theirs in zip(first.series, second.series, strict=True):
        assert list(mine) == list(theirs)
        assert all(np.array_equal(mine[name], theirs[name]) for name in mine)
    for name in NAMES:
        mine, theirs = open_run(a / name), open_run(b / name)
        assert mine.series.identical(theirs.series)
        assert set(mine.records) == set(theirs.records) == {"spectra"}
        assert mine.spectra.identical(theirs.spectra)
        assert mine.statistics["spectra"].identical(theirs.statistics["spectra"])
        last = [read_checkpoint(each / name / "checkpoints" / "step-00000020")[0] for each in (a, b)]
        assert all(np.array_equal(last[0][key], last[1][key]) for key in last[0])


def test_what_is_read_has_the_bits_of_members_with_files_of_their_own(packed, unpacked):
    assert_same(packed, unpacked)
    assert len(open_run(packed / "member-0002").series.t) == 5
    for name in NAMES:
        assert {path.name for path in (packed / name).iterdir()} == OWN
        assert run_status(RunDirectory(packed / name)).status == "finished"
    [pack] = (packed / "packed").iterdir()
    assert {path.name for path in pack.iterdir() if not path.name.startswith(".")} == {
        "members.json", "series.h5", "spectra.h5", "statistics", "log.txt", "status.csv", "status.json"
    }  # fmt: skip


def test_in_turn_members_share_files_too(run_file, unpacked, tmp_path):
    words = [f"output.directory={tmp_path / 'in_turn'}", "ensemble.together=1", "ensemble.members=1", "time.end=0.1"]
    assert main(["run", str(run_file), *words]) == 0
    assert {path.name for path in (tmp_path / "in_turn" / "member-0001").iterdir()} == OWN
    series, other = (open_run(folder / "member-0001").series for folder in (tmp_path / "in_turn", unpacked))
    np.testing.assert_allclose(series.energy, other.energy[:3], rtol=1e-12)
    assert run_status(RunDirectory(tmp_path / "in_turn" / "member-0001")).message.startswith("finished: step 10")


@pytest.mark.thorough
def test_commands_take_the_ensemble(packed, unpacked, here, tmp_path):
    tables = [here("info", folder).stdout.splitlines() for folder in (packed, unpacked)]
    assert tables[0] == tables[1]
    facts = [json.loads(here("info", folder, "--json").stdout)["runs"] for folder in (packed, unpacked)]
    for mine, theirs in zip(*facts, strict=True):
        changing = ("directory", "steps_per_second", "seconds_left", "said")
        assert {k: v for k, v in mine.items() if k not in changing} == {
            k: v for k, v in theirs.items() if k not in changing
        }
    lines = [here("info", folder / "member-0001").stdout.splitlines() for folder in (packed, unpacked)]
    assert lines[0] == lines[1]
    verified = here("verify", packed)
    assert verified.returncode == 0
    assert "packed/members-0000-0003/statistics/spectra.h5" in verified.stdout
    pages = []
    for folder in (packed, unpacked):
        page = tmp_path / f"{folder.name}.html"
        assert here("report", folder, "--output", page).returncode == 0
        pages.append(page.read_text())
    assert pages[0] == pages[1]
    assert here("compare", packed, "--output", tmp_path / "same.html").returncode == 0
    assert "finished: step 20" in (tmp_path / "same.html").read_text()
    assert here("report", packed / "member-0001", "--output", tmp_path / "one.html").returncode == 0
    for folder, drawn in ((packed, ["ensemble.png"]), (packed / "member-0001", None)):
        done = here("plot", folder, "--output", tmp_path / folder.name)
        names = [Path(line).name for line in done.stdout.split()]
        assert names == (drawn or ["series.png", "spectra.png", "statistics-spectra.png"])
    shared = packed / "packed" / "members-0000-0003" / "spectra.h5"
    whole = shared.read_bytes()
    shared.write_bytes(whole[:-1] + b"0" if whole[-1:] != b"0" else whole[:-1] + b"1")
    try:
        done = here("verify", packed)
        assert done.returncode == 1
        assert "DAMAGED packed/members-0000-0003/spectra.h5" in done.stdout
        done = here("resume", packed, "time.end=0.3")
        assert done.returncode == 2
        assert done.stderr.count("\n") == 1
        assert "spectra.h5: damaged; move it away to continue without its rows" in done.stderr
    finally:
        shared.write_bytes(whole)


@pytest.mark.thorough
def test_members_that_stop_go_on_with_more_to_the_same_bytes(run_file, packed, here, tmp_path):
    folder = tmp_path / "stopped"
    (folder / "member-0001").mkdir(parents=True)
    (folder / "member-0001" / "stop").touch()
    start = ("run", run_file, "--resume", f"output.directory={folder}")
    assert here(*start, "ensemble.members=1", "ensemble.together=4", "time.end=0.1").returncode == 75
    states = [run["state"] for run in json.loads(here("info", folder, "--json").stdout)["runs"]]
    assert states == ["finished", "stopped"]
    assert [path.name for path in (folder / "packed").iterdir()] == ["members-0000-0001"]
    assert here(*start).returncode == 0
    assert_same(folder, packed)
    assert [path.name for path in (folder / "packed").iterdir()] == ["members-0000-0003"]
    for path in sorted((packed / "packed").rglob("*.h5")):
        assert (folder / path.relative_to(packed)).read_bytes() == path.read_bytes()
    done = here(*start, "ensemble.packed=false")
    assert done.returncode == 2
    assert "holds a run of other physics (ensemble.packed: True → False)" in done.stderr
    done = here("run", run_file, "ensemble.packed=some")
    assert done.returncode == 2
    assert "ensemble.packed" in done.stderr


def test_a_member_that_blows_up_leaves_the_others_alone(run_file, packed, here, tmp_path):
    folder = tmp_path / "blown"
    start = ("run", run_file, "--resume", f"output.directory={folder}", "ensemble.sweep={'initial.energy'=[0.5,1e30]}")
    done = here(*start)
    assert done.returncode == 3
    assert "2 of 4 members blew up (member-0001, member-0003)" in done.stderr
    runs = json.loads(here("info", folder, "--json").stdout)["runs"]
    assert [run["state"] for run in runs] == ["finished", "blown up"] * 2
    assert open_run(folder / "member-0002").series.identical(open_run(packed / "member-0002").series)
    log = folder / "packed" / "members-0000-0003" / "log.txt"
    before = log.read_text()
    assert here(*start).returncode == 3
    assert log.read_text() == before, "the same run file would lead there again"


def test_jobs_share_the_members_at_the_same_time(run_file, packed, tmp_path):
    """Each job has files of its own members; one that continues the whole ensemble takes them over."""
    folder = tmp_path / "shared"
    words = [
        "run",
        str(run_file),
        "--resume",
        f"output.directory={folder}",
        "ensemble.together=2",
        "--jobs",
        "2",
        "--job",
    ]
    jobs = [zygote().start([*words, str(job)]) for job in range(2)]
    assert [job.wait(timeout=100) for job in jobs] == [0, 0]
    assert sorted(path.name for path in (folder / "packed").iterdir()) == ["members-0000-0001", "members-0002-0003"]
    assert main(["resume", str(folder)]) == 0
    assert [path.name for path in (folder / "packed").iterdir()] == ["members-0000-0003"]
    for name in NAMES:
        ours, theirs = (open_run(each / name) for each in (folder, packed))
        np.testing.assert_allclose(ours.series.energy, theirs.series.energy, rtol=1e-12)
        np.testing.assert_array_equal(ours.spectra.t, theirs.spectra.t)
