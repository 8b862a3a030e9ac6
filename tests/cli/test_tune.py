"""`slabwave tune`: what it tries, what it recommends, and that it never recommends what is wrong or does not work."""

import tomllib
from pathlib import Path

import jax
import jax.numpy as jnp
import pytest
from helpers import last_of_each

import solver as sw
from solver import assemble
from solver.cli.main import main
from solver.config import DevicesSection
from solver.fft import operations
from solver.mesh import device_mesh
from solver.tune import Candidate, Trial, Tuning, run_file_lines, search, trial
from solver.tune.candidates import (
    splits,
    with_other_chunks,
    with_other_engines,
    with_other_fields,
    with_other_waves,
)
from solver.tune.search import Result

DEMO = Path(__file__).parents[2] / "runs" / "taylor_green.toml"
SMALL = ["grid.shape=[24,24,24]", "time.stepper=ifrk2", "initial={name='random-phase'}"]


def read(*overrides):
    return assemble.read_run_file(DEMO, [*SMALL, *overrides])


def names(candidates):
    return [str(candidate) for candidate in candidates]


def prepare(tried):
    candidate = tried.candidate
    sides = assemble.mesh_shape(candidate.config, candidate.devices)
    mesh = device_mesh(range(candidate.devices), shape=sides)
    trial.begin(tried, mesh, 0.01)
    trial.compile_program(tried, mesh)


@pytest.mark.slow
def test_every_split_of_the_grid_is_tried():
    own = Candidate(read(), 8)
    assert [candidate.split for candidate in splits(own)] == ["slab", "pencil 4×2", "pencil 2×4", "pencil 1×8"]
    flat = splits(Candidate(read("grid.shape=[24,24,4]"), 8))
    assert [candidate.split for candidate in flat] == ["slab", "pencil 4×2"]


def test_splits_are_tried_with_defaults_whatever_the_run_file_has():
    own = Candidate(read("devices.engine='shard_map'", "devices.fields_per_exchange=2", "devices.use=[0,1]"), 2)
    assert names(splits(own)) == [
        "slab, fields all, chunks 1, waves 1, slabwave",
        "pencil 1×2, fields all, chunks 1, waves 1, slabwave",
    ]
    assert {candidate.section.use for candidate in splits(own)} == {(0, 1)}, "what is not tuned stays"


@pytest.mark.slow
def test_fields_and_parts_of_an_exchange():
    slab, pencil = splits(Candidate(read(), 2))
    assert [candidate.fields for candidate in with_other_fields(slab)] == ["all", 1, 2]
    assert [candidate.section.fields_per_exchange for candidate in with_other_fields(slab)] == ["auto", 1, 2]
    on_gpu = Candidate(read("grid.shape=[128,128,128]"), 2, gpu=True)
    assert [candidate.section.fields_per_exchange for candidate in with_other_fields(on_gpu)] == ["all", "auto", 2]
    assert [candidate.section.chunks for candidate in with_other_chunks(slab)] == [1, 2, 4]
    (whole,) = with_other_chunks(pencil)
    assert whole.section.chunks == 1, "exchanges of pencils are not cut"


def test_waves_are_tried_on_gpus():
    wide = read("grid.shape=[128,128,128]")
    one_host, two_hosts = Candidate(wide, 2, gpu=True), Candidate(wide, 2, gpu=True, across=True)
    assert with_other_waves(Candidate(wide, 2)) == []
    assert [(candidate.waves, candidate.fields) for candidate in with_other_waves(one_host)] == [
        (1, 1), (2, "all"), (4, "all"), (1, 1), (2, 1), (4, 1),
    ]  # fmt: skip
    assert (two_hosts.waves, two_hosts.fields) == (2, "all")
    assert "waves = 4" in run_file_lines(with_other_waves(two_hosts)[-1])
    chunked = with_other_chunks(two_hosts)
    assert [(candidate.section.chunks, candidate.waves) for candidate in chunked] == [(1, 2), (2, 1), (4, 1)]
    assert two_hosts.key != two_hosts.with_keys(fields_per_exchange="all").key, "other transforms go one by one"


def test_engines_that_can_transform_the_grid():
    slab = Candidate(read(), 2).with_keys(chunks=2)
    assert names(with_other_engines(slab))[:2] == [
        "slab, fields all, chunks 2, waves 1, slabwave", "slab, fields all, chunks 2, waves 1, shard_map",
    ]  # fmt: skip
    uneven = Candidate(read("grid.shape=[25,24,24]"), 2)
    assert [candidate.section.engine for candidate in with_other_engines(uneven)] == ["slabwave", "shard_map"]


@pytest.mark.slow
def test_the_precision_of_exchanges_is_kept_and_no_other_one_is_tried():
    for precision in ("grid", "float16"):
        own = Candidate(read(f"devices.exchange_precision={precision}"), 2, gpu=True)
        tried = [way for others in (with_other_fields, with_other_chunks, with_other_waves) for way in others(own)]
        tried += [*splits(own), *with_other_engines(own)]
        assert {candidate.section.exchange_precision for candidate in tried} == {precision}


def test_one_device_has_nothing_to_try():
    own = Candidate(read(), 1)
    assert names(splits(own)) == [str(own)]
    assert not [*with_other_fields(own), *with_other_chunks(own), *with_other_waves(own), *with_other_engines(own)]


def all_candidates(*overrides, devices=4):
    candidates = splits(Candidate(read(*overrides), devices))
    for others in (with_other_fields, with_other_chunks, with_other_engines):
        candidates += [other for candidate in candidates for other in others(candidate)]
    return list({candidate.key: candidate for candidate in candidates}.values())


@pytest.mark.thorough
@pytest.mark.slow
def test_lines_for_the_run_file_make_the_candidate(tmp_path):
    candidates = all_candidates("devices.virtual=4")
    assert len(candidates) > 20
    candidates = candidates[::5]  # a dry run each
    for candidate in candidates:
        table = tomllib.loads(run_file_lines(candidate))
        defaults = DevicesSection().to_table()
        assert all(value != defaults.get(key) for key, value in table["devices"].items())
        file = tmp_path / "run.toml"
        file.write_text(run_file_lines(candidate) + "\n" + _without_devices(DEMO.read_text()))
        assert Candidate(assemble.read_run_file(file, SMALL), 4).key == candidate.key


def _without_devices(text):
    before, after = text.split("[devices]")
    return after[after.index("\n[") :].lstrip() + "\n" + before[before.index("[") :]


@pytest.mark.thorough
@pytest.mark.slow
@pytest.mark.parametrize("keys", [{}, {"decomposition": "pencil", "mesh": [2, 2]}, {"fields_per_exchange": 1},
                                  {"engine": "shard_map"}], ids=str)  # fmt: skip
def test_exchanges_are_those_of_the_compiled_program(keys):
    candidate = Candidate(read(), 4).with_keys(**keys)
    tried = Trial(candidate)
    prepare(tried)
    text = tried.ready.program.as_text()
    assert tried.exchanges == text.count(" all-to-all(") + text.count(" all-to-all-start(")
    assert tried.held > 0


# ---- results ----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def result():
    """Of the first candidate's fields after two steps, on a split of choice, changed or not."""
    made = {}

    def make(change=lambda fields: fields, **keys):
        candidate = Candidate(read(), 4).with_keys(**keys)
        key = candidate.key, candidate.section.exchange_precision
        if key not in made:
            tried = Trial(candidate)
            prepare(tried)
            made[key] = tried.ready.turn(1)[1], tried.ready.equation
        fields, equation = made[key]
        return Result.of(change(fields), equation)

    return make


@pytest.mark.thorough
@pytest.mark.slow
def test_results_in_other_layouts_are_equal(result):
    for keys in ({"decomposition": "pencil", "mesh": [2, 2]}, {"decomposition": "pencil", "mesh": [1, 4]}):
        assert result(**keys).differs(result(), steps=2) == ""


@pytest.mark.thorough
@pytest.mark.slow
def test_results_of_narrow_exchanges_are_equal_to_their_rounding(result):
    slabs, pencils = (result(exchange_precision="float16", **keys) for keys in (
        {}, {"decomposition": "pencil", "mesh": [2, 2]},
    ))  # fmt: skip
    assert pencils.differs(slabs, steps=2) == ""
    assert "velocity differs by" in result().differs(slabs, steps=2), "the rounding is there"
    moved = result(lambda fields: {n: jnp.roll(u, 1, 1) for n, u in fields.items()}, exchange_precision="float16")
    assert "velocity differs by" in moved.differs(slabs, steps=2)


def changed(at, by):
    def change(fields):
        return {name: field.at[at].add(by * jnp.max(jnp.abs(field))) for name, field in fields.items()}

    return change


@pytest.mark.slow
@pytest.mark.parametrize("at", [(0, 0, 0, 1), (2, 7, 4, 12), (1, 14, 7, 3)])
def test_one_wrong_mode_is_seen(result, at):
    wrong = result(changed(at, 1e-9))
    assert "velocity differs by" in wrong.differs(result(), steps=2)


@pytest.mark.slow
@pytest.mark.parametrize("axis", range(4))
def test_modes_in_other_places_are_seen(result, axis):
    moved = result(lambda fields: {name: jnp.roll(field, 1, axis) for name, field in fields.items()})
    assert "velocity differs by" in moved.differs(result(), steps=2)


@pytest.mark.slow
def test_not_a_number_is_seen(result):
    assert "velocity differs by" in result(changed((0, 0, 0, 1), jnp.nan)).differs(result(), steps=2)


@pytest.mark.slow
def test_padding_is_left_out(result):
    assert result(changed((0, 15, 0, 0), 1.0)).differs(result(), steps=2) == "", "15 rows of ky on 4 devices"


# ---- what is recommended ----------------------------------------------------------------------------------------


def tuning(**milliseconds):
    """The run file's own (slabs) and pencils, as if they had been timed."""
    own, other = splits(Candidate(read(), 2))
    result = Tuning(own, steps=1)
    for candidate, name in ((own, "own"), (other, "other")):
        result.trials[candidate.key] = Trial(candidate, milliseconds[name], final=True)
    return result


def test_what_is_faster_beyond_the_spread_is_recommended():
    result = tuning(own=[10.0, 10.1, 10.2], other=[9.0, 9.1, 9.2])
    assert result.winner.candidate.split == "pencil 1×2"


def test_what_is_faster_within_the_spread_is_not():
    assert tuning(own=[10.0, 10.1, 12.0], other=[9.0, 9.8, 11.0]).winner is None
    assert tuning(own=[9.0, 9.1, 9.2], other=[10.0, 10.1, 10.2]).winner is None


def test_what_failed_is_not_recommended_however_fast():
    result = tuning(own=[10.0, 10.1, 10.2], other=[1.0, 1.0, 1.0])
    result.trials[result.own.with_keys(decomposition="pencil", mesh=[1, 2]).key].failure = "another result"
    assert result.winner is None


# ---- the command ------------------------------------------------------------------------------------------------


@pytest.fixture
def tune(capsys, monkeypatch):
    """The command on two of the eight devices; exit code, lines, errors."""
    monkeypatch.setattr(search, "ROUNDS", 1)
    monkeypatch.setattr(search, "LAST_ROUNDS", 2)

    def run(*words):
        code = main(["tune", str(DEMO), *last_of_each([*SMALL, "devices.use=[0,1]", "--steps", "2", *words])])
        out, err = capsys.readouterr()
        return code, out, err

    return run


@pytest.fixture
def few(monkeypatch):
    """Splits and engines alone."""
    monkeypatch.setattr(search, "with_other_fields", lambda base: [])
    monkeypatch.setattr(search, "with_other_chunks", lambda base: [])


def rows(out):
    table = out[out.index("split  ") :].splitlines()
    return [line for line in table if line.startswith(("slab ", "pencil "))]


@pytest.mark.slow
def test_the_command(tune, few, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, out, _ = tune()
    assert code == 0
    assert "failed" not in out
    own = next(row for row in rows(out) if "the run file's" in row)
    assert own.split()[:5] == ["slab", "all", "1", "1", "slabwave"]
    assert len({row[: row.index(".")] for row in rows(out)}) == len(rows(out)) >= 4
    assert {"slab", "pencil"} == {row.split()[0] for row in rows(out)}
    assert any(" shard_map " in row for row in rows(out))
    if "in the run file:" in out:
        table = tomllib.loads(out.partition("in the run file:")[2])
        read(*(f"devices.{key}={value!r}" for key, value in table["devices"].items()))
    else:
        assert "leave [devices] as it is" in out
    assert not list(tmp_path.iterdir()), "nothing is written"


@pytest.mark.slow
def test_steps_are_as_long_as_the_first_one_of_the_run():
    candidate = Trial(Candidate(read("time.cfl=0.5"), 1))
    trial.begin(candidate, device_mesh([0]), None)
    run = assemble.Assembly(candidate.candidate.config, device_mesh([0]))
    _, after, *_ = sw.evolve(run.equation, run.stepper, run.start(), end=0.1, cfl=0.5, chunk=1)
    assert candidate.ready.dt == float(after.dt) > 0


@pytest.mark.thorough
@pytest.mark.slow
def test_steps_by_cfl_and_a_run_file_of_its_own_kind(tune, few):
    code, out, _ = tune(
        "time.cfl=0.5", "devices.decomposition='pencil'", "devices.mesh=[1,2]", "devices.fields_per_exchange=3",
        "forcing={name='ornstein-uhlenbeck',rms=0.1,largest=1}",
    )  # fmt: skip
    assert code == 0
    own = next(row for row in rows(out) if "the run file's" in row)
    assert own.split()[:6] == ["pencil", "1×2", "3", "1", "1", "slabwave"]
    assert "failed" not in out


@pytest.mark.thorough
@pytest.mark.slow
def test_a_stepper_that_keeps_a_history(tune, few):
    """A candidate is one program: it takes what it gave before, so each array must lie there as at the start."""
    code, out, _ = tune("time.stepper=sbdf2")
    assert code == 0
    assert len(rows(out)) >= 3
    assert "failed" not in out


@pytest.mark.thorough
@pytest.mark.slow
def test_a_candidate_that_fails_is_a_line_of_the_table(tune, few, monkeypatch):
    original = operations.on_global_arrays

    def broken(work, layout, mesh, engine):
        if engine == "shard_map" or layout.pencils > 1:
            raise RuntimeError("RESOURCE_EXHAUSTED: out of\nmemory")
        return original(work, layout, mesh, engine)

    monkeypatch.setattr(operations, "on_global_arrays", broken)
    code, out, _ = tune("grid.shape=[24,24,20]")
    assert code == 0
    failed = [row for row in rows(out) if "failed" in row]
    assert len(failed) == 2
    assert all("failed: RuntimeError: RESOURCE_EXHAUSTED: out of memory" in row for row in failed)


@pytest.mark.thorough
@pytest.mark.slow
def test_where_the_own_choice_fails_another_is_recommended(tune, few, monkeypatch):
    original = search.compile_program

    def broken(trial, mesh):
        if trial.candidate.section.engine == "shard_map":
            raise RuntimeError("no memory")
        original(trial, mesh)

    monkeypatch.setattr(search, "compile_program", broken)
    code, out, _ = tune("devices.engine='shard_map'")
    assert code == 0
    assert "failed: RuntimeError: no memory (the run file's)" in out
    assert "the run file's own choice failed" in out
    assert "shard_map" not in out.partition("in the run file:")[2]


@pytest.mark.thorough
@pytest.mark.slow
def test_a_wrong_result_is_said_and_never_recommended(tune, few, monkeypatch):
    original, turn = operations.on_global_arrays, trial.Ready.turn

    def wrong(work, layout, mesh, engine):
        operation = original(work, layout, mesh, engine)
        factor = 1 + 1e-9 if engine == "shard_map" else 1
        return lambda *operands: [factor * result for result in operation(*operands)]

    def fast(self, steps):
        seconds, fields = turn(self, steps)
        return seconds / (1e6 if self.equation.method.engine == "shard_map" else 1), fields

    monkeypatch.setattr(operations, "on_global_arrays", wrong)
    monkeypatch.setattr(trial.Ready, "turn", fast)
    code, out, _ = tune("grid.shape=[24,20,24]")
    assert code == 0
    row = next(row for row in rows(out) if " shard_map " in row)
    assert "failed: another result: velocity differs by" in row
    assert "shard_map" not in out.partition("best: ")[2]


def test_a_program_that_needs_too_much_memory_is_not_started(monkeypatch):
    class Device:
        process_index = 0

        def memory_stats(self):
            return {"bytes_limit": 2**30}

    class Mesh:
        devices = jnp.zeros(0)

    Mesh.devices = type("Flat", (), {"flat": [Device()]})
    trial._refuse_too_large(2**30, Mesh)
    with pytest.raises(trial.TrialError, match="needs 2 GiB on each device, which has 1 GiB"):
        trial._refuse_too_large(2**31, Mesh)
    assert jax.process_index() == 0


WRONG = {
    "no steps": (["--steps", "0"], "--steps 0: 1 or more are needed"),
    "steps in words": (["--steps", "many"], "--steps"),
    "nothing to time": (["time.end=0.0"], "time.end = 0: a run without steps cannot be timed"),
    "no such key": (["devices.chunk=2"], "chunks"),
    "too many devices for the grid": (
        ["grid.shape=[4,24,24]", "initial.name='taylor-green'", "devices.use=[0,1,2,3,4,5,6,7]"],
        "possible are",
    ),
    "no such device": (["devices.use=[0,99]"], "99"),
}


@pytest.mark.slow
@pytest.mark.parametrize("case", WRONG)
def test_bad_input_is_one_line(tune, case):
    words, message = WRONG[case]
    code, _, err = tune(*words)
    assert code == 2
    assert err.count("\n") == 1
    assert message in err


@pytest.mark.slow
def test_a_missing_run_file(capsys):
    assert main(["tune", "nowhere.toml"]) == 2
    assert "nowhere.toml: no such run file" in capsys.readouterr().err
