"""`[ensemble]`: which members there are, what each has of its own, and what is refused in which words."""

import math
import statistics

import pytest

from solver import assemble
from solver.config import ConfigError, EnsembleSection, Share, changed_physics, load

RUN = """
[ensemble]
members = 3
draw = {{ "equation.viscosity" = {{ log_uniform = [1e-4, 1e-2] }}, "random.seed" = "member" }}
sweep = {{ "initial.energy" = [0.5, 1.0], "time.cfl" = [0.3, 0.6] }}
[grid]
shape = [16, 16]
[equation]
name = "vorticity"
[initial]
name = "random-phase"
[time]
stepper = "ifrk4"
step = 0.01
end = 0.1
[random]
seed = 5
[output]
directory = "{}"
"""


@pytest.fixture
def read(tmp_path):
    path = tmp_path / "run.toml"
    path.write_text(RUN.format(tmp_path / "out"))
    return lambda *overrides: load(path, assemble.schema(), overrides)


def drawn(draw, count=2000):
    ensemble = EnsembleSection.read({"members": count, "draw": {"a.b": draw}, "seed": 1}, "ensemble")
    return [ensemble.values(number, {})["a.b"] for number in range(count)]


def test_keys_that_are_needed_may_all_be_drawn(read):
    """None of them stands in the run file itself; each bound is looked at beside the first member's others."""
    names = ["equation.name=navier-stokes", "forcing.name=kolmogorov", "ensemble.sweep={}"]
    draws = '{ "equation.viscosity" = { uniform = [0.1, 0.2] }, "forcing.amplitude" = { uniform = [0.1, 1.0] } }'
    members = read(*names, f"ensemble.draw={draws}").members
    assert len({member.forcing["velocity"].parameters["amplitude"] for member in members}) == 3
    sweep = "{ 'forcing.amplitude' = [0.1, 'high'], 'equation.viscosity' = [0.1, 0.2] }"
    with pytest.raises(ConfigError, match=r"with forcing.amplitude = 'high'"):
        read(*names[:2], "ensemble.draw={}", f"ensemble.sweep={sweep}", "ensemble.members=1")


def test_members_are_the_product_of_sweeps_times_members(read, tmp_path):
    members = read().members
    assert len(members) == 12
    assert [member.directory for member in members[::11]] == [
        str(tmp_path / "out" / name) for name in ("member-0000", "member-0011")
    ]
    swept = [(member.initial["vorticity"].parameters["energy"], member.time.cfl) for member in members]
    assert swept == [(0.5, 0.3), (0.5, 0.6), (1.0, 0.3), (1.0, 0.6)] * 3
    assert all(member.time.step is None for member in members), "cfl drops the step of the file"
    assert [member.random.seed for member in members] == list(range(5, 17))
    assert len({member.equation.parameters["viscosity"] for member in members}) == 12
    assert all(member.ensemble is None for member in members)


def test_zip_takes_the_lists_together(read):
    members = read("ensemble.combine=zip").members
    swept = [(member.initial["vorticity"].parameters["energy"], member.time.cfl) for member in members]
    assert swept == [(0.5, 0.3), (1.0, 0.6)] * 3


def test_a_draw_depends_on_key_number_and_seed_alone(read):
    few, many = read().members, read("ensemble.members=7").members
    assert few == many[:12]
    alone = read("ensemble.draw={ 'equation.viscosity' = { log_uniform = [1e-4, 1e-2] } }").members
    viscosity = lambda members: [member.equation.parameters["viscosity"] for member in members]  # noqa: E731
    assert viscosity(alone) == viscosity(few)
    assert set(viscosity(read("random.seed=6").members)).isdisjoint(viscosity(few))
    assert viscosity(read("random.seed=6", "ensemble.seed=5").members) == viscosity(few)
    swapped = read("ensemble.draw={ 'equation.drag' = { log_uniform = [1e-4, 1e-2] } }").members
    assert {member.equation.parameters["drag"] for member in swapped}.isdisjoint(viscosity(few))


def test_distributions():
    uniform, wide = drawn({"uniform": [2.0, 4.0]}), drawn({"log_uniform": [1e-4, 1e-2]})
    assert 2 <= min(uniform) < max(uniform) <= 4
    assert statistics.mean(uniform) == pytest.approx(3, abs=5 * 2 / math.sqrt(12 * 2000))
    logs = [math.log10(value) for value in wide]
    assert 1e-4 <= min(wide) < max(wide) <= 1e-2
    assert statistics.mean(logs) == pytest.approx(-3, abs=5 * 2 / math.sqrt(12 * 2000))
    normal = drawn({"normal": [1.0, 0.5]})
    assert statistics.mean(normal) == pytest.approx(1, abs=5 * 0.5 / math.sqrt(2000))
    assert statistics.stdev(normal) == pytest.approx(0.5, rel=5 / math.sqrt(4000))
    assert set(drawn({"integers": [3, 6]})) == {3, 4, 5, 6}
    assert set(drawn({"choice": ["ifrk4", "etdrk4"]})) == {"ifrk4", "etdrk4"}


def test_the_resolved_file_says_the_same(read, tmp_path):
    config = read("ensemble.draw={ 'equation.viscosity' = { normal = [1e-2, 1e-3] }, 'random.seed' = 'member' }")
    written = tmp_path / "config.toml"
    written.write_text(config.to_toml())
    again = load(written, assemble.schema())
    assert again == config
    assert again.members == config.members


def test_more_members_are_the_same_ensemble_and_another_order_is_not(read):
    table = read().to_table()
    assert changed_physics(table, read("ensemble.members=9", "ensemble.together=1").to_table()) == []
    turned = read("ensemble.sweep={ 'time.cfl' = [0.3, 0.6], 'initial.energy' = [0.5, 1.0] }").to_table()
    assert changed_physics(table, turned)


@pytest.mark.parametrize(
    ("override", "said"),
    [
        ("draw={ 'initial.energy' = { uniform = [1.0, 2.0] } }", "'initial.energy' is drawn and swept"),
        ("draw={ 'initial.peak' = 'member' }", "draw.'initial.peak' = 'member': the run file needs a whole number"),
        ("draw={ 'equation.drag' = { uniform = [2.0, 1.0] } }", "the smaller number is needed first"),
        ("draw={ 'equation.drag' = { log_uniform = [0.0, 1.0] } }", "positive numbers are needed"),
        ("draw={ 'equation.drag' = { normal = [0.0, 0.0] } }", "a positive standard deviation is needed"),
        ("draw={ 'equation.drag' = { choice = [] } }", "one value or more is needed"),
        ("draw={ 'equation.drag' = { gaussian = [0.0, 1.0] } }", "gaussian: unknown key; known are choice"),
        ("draw={ 'equation.drag' = {} }", "no distribution: one of uniform, log_uniform"),
        (
            "draw={ 'equation.drug' = { uniform = [0.0, 1.0] } }",
            "with equation.drug = 0.0: equation.drug: unknown key; did",
        ),
        ("draw={}", "ensemble.members = 3: nothing is drawn in which they differ"),
        ("together=0", "ensemble.together = 0: 'auto' or a"),
        ("members=0", "ensemble.members = 0: a positive number is needed"),
        ("sweep={ 'initial.energy' = [] }", "'initial.energy' = []: one value or more is needed"),
        ("sweep={ 'initial' = [1.0] }", "'initial': a key of the run file is needed in which members may differ"),
        ("sweep={ 'output.directory' = ['a'] }", "'output.directory': a key of the run file is needed"),
        ("sweep={ 'devices.use' = [[0], [1]] }", "'devices.use': a key of the run file is needed"),
        ("sweep={ 'equation.means' = [{ a = 1.0 }] }", "none a table"),
        (
            "sweep={ 'initial.energy' = [1.0, 2.0], 'initial.peak' = [3.0] }\ncombine='zip'",
            "has 2, 'initial.peak' has 1",
        ),
    ],
)
def test_what_is_refused(read, override, said):
    first, *more = override.split("\n")
    with pytest.raises(ConfigError) as refused:
        read(f"ensemble.{first}", *(f"ensemble.{each}" for each in more))
    assert said in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("override", "said"), [("equation.viscosity=1e-3", "it is drawn"), ("time.cfl=0.2", "it is swept")]
)
def test_an_override_of_what_members_differ_in_is_refused(read, override, said):
    with pytest.raises(ConfigError, match="an override gives all members one value") as refused:
        read(override)
    assert said in str(refused.value)


@pytest.mark.parametrize(
    ("draw", "said"),
    [
        ("uniform = [-1.0, 1.0]", "ensemble, with equation.viscosity = -1.0: equation.viscosity -1.0: zero or more"),
        ("normal = [0.0, 1.0]", "zero or more is needed"),
    ],
)
def test_a_draw_outside_of_the_range_of_its_parameter(read, draw, said):
    with pytest.raises(ConfigError, match=r"ensemble, with equation\.viscosity = -") as refused:
        assemble.resolve(read(f"ensemble.draw={{ 'equation.viscosity' = {{ {draw} }} }}"))
    assert said in str(refused.value)


@pytest.mark.parametrize("together", ["auto", 1, 4, 100])
def test_jobs_share_the_members_in_whole_batches(together):
    """Each member has one job, whatever the number of jobs; none cuts a batch."""
    table = {"members": 14, "draw": {"random.seed": "member"}, "together": together}
    ensemble = EnsembleSection.read(table, "ensemble")
    unit = {"auto": 1, 100: 14}.get(together, together)
    assert ensemble.max_jobs == math.ceil(14 / unit)
    assert ensemble.numbers(None) == range(14)
    for jobs in range(1, ensemble.max_jobs + 1):
        shares = [ensemble.numbers(Share(job, jobs)) for job in range(jobs)]
        assert [number for share in shares for number in share] == list(range(14))
        assert all(share.start % unit == 0 for share in shares)
        assert max(map(len, shares)) - min(map(len, shares)) <= 2 * unit
        assert min(map(len, shares)) > 0
