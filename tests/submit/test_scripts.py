"""Sites and the text of batch scripts; `bash` itself reads what is quoted for it."""

import subprocess
import sys
from pathlib import Path

import pytest
from helpers import refused_in_one_line

from solver.config import ConfigError
from solver.submit import DEFAULT_SITES, Job, Site, read_site, script, sites
from solver.submit.script import PLACE
from solver.submit.site import slurm_folder

ROOT = Path(__file__).parents[2]
GPU = 'platform = "gpu"\ngpus_per_node = 4\n'


@pytest.fixture
def site(tmp_path):
    def read(text, **overrides):
        (tmp_path / "mine.toml").write_text(text, encoding="utf-8")
        return read_site(str(tmp_path / "mine.toml"), **overrides)

    return read


# ---- sites ----


def test_sites_that_come_along():
    assert set(DEFAULT_SITES.values()) <= sites().keys()
    for name in sites():
        read_site(name)
    perlmutter = read_site("perlmutter")
    assert (perlmutter.tasks_per_node, perlmutter.cores_per_task) == (4, 32)
    assert perlmutter.environment["NCCL_NET"] == "AWS Libfabric"
    assert perlmutter.srun == read_site("slingshot").srun
    assert perlmutter.sbatch == ("--qos=regular",)


def test_a_site_may_be_like_another_but_for_its_own_keys(site):
    mine = site('like = "perlmutter"\nconstraint = "gpu&hbm80g"\n[environment]\nNCCL_NET = "mine"\n')
    assert (mine.constraint, mine.modules, mine.cores_per_node) == ("gpu&hbm80g", ("nccl",), 128)
    assert mine.environment["NCCL_NET"] == "mine"
    assert mine.environment["FI_CXI_RDZV_PROTO"] == "alt_read"


def test_options_replace_what_a_site_says(site):
    text = GPU + 'partition = "a"\naccount = "b"\n'
    assert site(text, partition="c", account=None).partition == "c"
    assert site(text, partition="c", account=None).account == "b"


REFUSED = {
    "unknown key": (GPU + 'partion = "a"', "mine.toml: partion: unknown key; did you mean 'partition'"),
    "like no site": ('like = "perlmuter"', "mine.toml: like = 'perlmuter': one of .* did you mean 'perlmutter'"),
    "like a number": ("like = 7", "mine.toml: like = 7: one of "),
    "no platform": ("gpus_per_node = 4", "platform is missing"),
    "no GPUs": ('platform = "gpu"', "gpus_per_node is missing: platform = 'gpu' needs it"),
    "GPUs of CPUs": ('platform = "cpu"\ngpus_per_node = 1', "needs platform = 'gpu'"),
    "too few cores": (GPU + "cores_per_node = 3", "cores_per_node = 3: 4 or more are needed"),
    "zero": ('platform = "gpu"\ngpus_per_node = 0', "gpus_per_node = 0: a positive number is needed"),
    "a number as name": (GPU + "partition = 7", "partition = 7: a string is needed"),
    "blank in a directive": (GPU + 'partition = "a b"', r"partition = 'a b': letters, digits"),
    "quote in a directive": (GPU + 'account = "a\'b"', "account = .* letters, digits"),
    "comment in a directive": (GPU + 'constraint = "a#b"', "constraint = 'a#b': letters"),
    "newline in a directive": (GPU + r'partition = "a\n#SBATCH --x"', "partition = .*: letters"),
    "no option": (GPU + 'sbatch = ["exclusive"]', r"sbatch\[0\] = 'exclusive': an option such as"),
    "two options in one": (GPU + 'srun = ["--a --b"]', r"srun\[0\] = '--a --b': an option such as"),
    "newline in a module": (GPU + r'modules = ["a\nrm"]', r"modules\[0\] = 'a\\nrm': one line"),
    "newline in a variable": (GPU + '[environment]\nA = "a\\nb"', r"environment.A = 'a\\nb': one line"),
    "name of a variable": (GPU + '[environment]\n"A;B" = "a"', "environment.A;B: letters, digits and _"),
    "variable of a number": (GPU + "[environment]\nA = 1", "environment"),
    "not TOML": ("platform = gpu", "mine.toml"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_wrong_sites_are_one_line(site, case):
    text, message = REFUSED[case]
    with refused_in_one_line(message, ConfigError):
        site(text)


def test_a_site_that_is_not_there(tmp_path):
    with pytest.raises(ConfigError, match=r"--site perlmuter: unknown site.*did you mean 'perlmutter'"):
        read_site("perlmuter")
    with pytest.raises(ConfigError, match=r"none\.toml"):
        read_site(str(tmp_path / "none.toml"))


# ---- scripts ----


def directives(text):
    return [line.removeprefix("#SBATCH --") for line in text.splitlines() if line.startswith("#SBATCH")]


@pytest.mark.parametrize("kind", ["cpu", "gpu"])
def test_templates_have_one_place_for_settings(kind):
    text = (ROOT / "slurm" / f"{kind}.sbatch").read_text(encoding="utf-8")
    assert text.count(PLACE) == 1
    assert "--gpus-per-task" not in "".join(directives(text))
    assert "signal=USR1@120" in directives(text)
    assert subprocess.run(["bash", "-n"], input=text, text=True).returncode == 0


def test_directives_of_a_site(site):
    text = site(GPU + 'cores_per_node = 64\npartition = "p"\nconstraint = "a&b"\nsbatch = ["--exclusive", "--qos=q"]')
    made = directives(script(Job(text, "runs/my case.toml", (), nodes=3, time="1:00:00")))
    assert sorted(made) == sorted([
        "job-name=my_case", "nodes=3", "ntasks-per-node=4", "gpus-per-node=4", "cpus-per-task=16", "partition=p",
        "constraint=a&b", "time=1:00:00", "exclusive", "qos=q", "requeue", "open-mode=append", "signal=USR1@120",
    ])  # fmt: skip


def test_a_link_of_a_chain_is_not_queued_again():
    text = script(Job(read_site("cpu"), "run.toml", (), nodes=1, requeues=False))
    assert "no-requeue" in directives(text)
    assert "requeue" not in directives(text)
    assert "\nSLABWAVE_RESTARTS=0\n" in text


def arguments(text, **variables):
    """The words that a script hands to slabwave, as bash reads them."""
    assert subprocess.run(["bash", "-n"], input=text, text=True).returncode == 0
    settings = text[text.index("srun_options=()") : text.index(': "${1:?usage')]
    done = subprocess.run(
        ["bash", "-c", settings + r"""printf '%s\0' "${srun_options[@]}" -- "$NOTE" -- "$@" """],
        capture_output=True, text=True, check=True, env={"PATH": "/usr/bin:/bin", **variables},
    )  # fmt: skip
    return done.stdout.split("\0")[:-1]


NASTY = 'it\'s $HOME `id` "x" \\ ; rm'


def test_everything_is_quoted(site):
    text = (
        'platform = "cpu"\nsrun = ["--network=a&b|c"]\n[environment]\nNOTE = """' + NASTY.replace("\\", "\\\\") + '"""'
    )
    job = Job(site(text), f"a {NASTY}.toml", (f"title={NASTY}",), nodes=1, programs=Path("/opt/$(id) x"))
    assert arguments(script(job)) == ["--network=a&b|c", "--", NASTY, "--", f"a {NASTY}.toml", f"title={NASTY}"]
    assert "export PATH='/opt/$(id) x':$PATH" in script(job)


def test_an_element_of_an_array_has_its_share(site):
    place = site('platform = "cpu"\n[environment]\nNOTE = ""')
    sweep = 'ensemble.sweep."equation.viscosity"=[1e-3, 2e-3]'
    text = script(Job(place, "run.toml", ("time.end=2", sweep), 1, jobs=2))
    assert "array=0-1" in directives(text)
    words = ["run.toml", "time.end=2", sweep, "--jobs", "2", "--job", "1"]
    assert arguments(text, SLURM_ARRAY_TASK_ID="1")[-len(words) :] == words


def test_built_packages_hold_scripts_and_sites(tmp_path):
    """The same files as in slurm/: an installed `slabwave submit` writes what a checkout's does."""
    done = subprocess.run(
        [sys.executable, "setup.py", "-q", "build_py", "--build-lib", str(tmp_path)],
        cwd=ROOT, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    built = tmp_path / "solver" / "slurm"
    names = {path.relative_to(slurm_folder()) for path in slurm_folder().rglob("*.*")}
    assert {Path("cpu.sbatch"), Path("gpu.sbatch"), Path("sites/cpu.toml")} <= names
    assert {path.relative_to(built) for path in built.rglob("*.*")} == names
    for name in names:
        assert (built / name).read_bytes() == (slurm_folder() / name).read_bytes()


def test_a_site_is_frozen():
    assert isinstance(read_site("cpu"), Site)
    with pytest.raises(ValueError, match="frozen"):
        read_site("cpu").partition = "x"


@pytest.fixture
def ended(tmp_path):
    """A script whose srun ends with a code: the result of bash, and whether the job was queued again."""

    def run(code, kind="cpu", queued="7", **variables):
        queue = tmp_path / "queued"
        queue.unlink(missing_ok=True)
        for name, does in (("srun", f'echo "$JAX_COORDINATOR_PORT"; exit {code}'), ("scontrol", f"echo $* >{queue}")):
            (tmp_path / name).write_text(f"#!/bin/bash\n{does}\n")
            (tmp_path / name).chmod(0o755)
        about = {"SLURM_SUBMIT_DIR": str(tmp_path), "SLURM_JOB_ID": "7", "SLURM_CPUS_PER_TASK": "1"}
        done = subprocess.run(
            ["bash", str(ROOT / "slurm" / f"{kind}.sbatch"), "run.toml"], capture_output=True, text=True,
            env={"PATH": f"{tmp_path}:/usr/bin:/bin", **about, **variables},
        )  # fmt: skip
        assert done.returncode == code
        return done, queue.exists() and queue.read_text() == f"requeue {queued}\n"

    return run


@pytest.mark.parametrize("kind", ["cpu", "gpu"])
def test_after_a_kill_a_job_is_queued_again_as_often_as_was_asked(ended, tmp_path, kind):
    assert [ended(137, kind, SLABWAVE_RETRIES="2")[1] for _ in range(3)] == [True, True, False]
    assert not list(tmp_path.glob(".slabwave-*")), "the count begins anew"
    assert not ended(137, kind)[1]
    assert not any(ended(code, kind, SLABWAVE_RETRIES="2")[1] for code in (0, 2, 3))
    assert ended(75, kind)[1]


@pytest.mark.parametrize("kind", ["cpu", "gpu"])
def test_an_element_of_an_array_is_queued_again_alone(ended, kind):
    """The number of the job may be that of the whole array, whose other elements go on."""
    array = {"SLURM_ARRAY_JOB_ID": "7", "SLURM_ARRAY_TASK_ID": "3", "SLABWAVE_RETRIES": "1"}
    assert all(ended(code, kind, "7_3", **array)[1] for code in (75, 137))


def test_each_start_of_a_job_meets_at_another_port(ended):
    ports = [int(ended(0)[0].stdout) for _ in range(2)]
    assert ports[0] != ports[1]
    assert all(20000 <= port < 32000 for port in ports)
    assert ended(0, JAX_COORDINATOR_PORT="4711")[0].stdout == "4711\n"
