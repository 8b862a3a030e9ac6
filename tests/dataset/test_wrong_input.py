"""`[output.well]` that makes no data set is refused in one line, before a device is touched."""

import pytest

from solver import assemble
from solver.cli.main import main
from solver.config import ConfigError


@pytest.mark.parametrize(
    ("overrides", "said"),
    [
        (["output.well={}"], "output.well.every_time is missing"),
        (["output.well={ every_steps = 5 }"], "output.well.every_steps = 5: times that are uniform are needed"),
        (
            ["output.well.every_time=0.03"],
            "every_time = 0.03: times that are uniform are needed, and time.end = 0.1 is no m",
        ),
        (["output.well.every_time=0.2"], "and time.end = 0.1 is no multiple of it"),
        (["output.well.fields=['velocity', 'vortcity']"], "output.well.fields: vorticity has no 'vortcity'"),
        (["output.well.split=[0.8, 0.1, 0.2]"], "split = [0.8, 0.1, 0.2]: it sums to 1.1; parts that sum to 1 are"),
        (["output.well.split=[1.1, -0.1, 0.0]"], "split = [1.1, -0.1, 0.0]: parts of zero or more are needed"),
        (["output.well.split=[0.0, 0.5, 0.5]"], "and a positive one for training"),
        (["output.well.split=[0.9, 0.1]"], "three parts are needed: train, valid, test"),
        (["output.well.members_per_file=0"], "members_per_file = 0: 1 or more is needed"),
        (["output.well.dataset='a/b'"], "dataset = 'a/b': the name of one folder is needed"),
        (["output.well.dataset='member-0000'"], "the ensemble has folders of this name"),
        (["ensemble.sweep={ 'time.end' = [0.1, 0.2] }"], "members differ in 'time.end'; the same times"),
        (["ensemble.sweep={ 'output.well.every_time' = [0.05, 0.1] }"], "differ in 'output.well.every_time'"),
        (["ensemble.sweep={ 'grid.shape' = [[16, 12], [32, 12]] }"], "differ in 'grid.shape'"),
        (
            [
                "ensemble.draw={}",
                "ensemble.members=1",
                "equation={ name = 'vorticity' }",
                "ensemble.sweep={ 'equation.name' = ['vorticity', 'surface-quasi-geostrophic'] }",
            ],
            "members differ in 'equation.name'",
        ),
    ],
)
def test_what_is_refused(run_file, overrides, said):
    with pytest.raises(ConfigError) as refused:
        assemble.read_run_file(run_file, overrides)
    assert said in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.slow
def test_what_is_left_alone(run_file):
    """Steps, steppers and precision may differ: files have the same times, and are in single precision."""
    sweep = "ensemble.sweep={ 'time.step' = [0.01, 0.005], 'grid.precision' = ['float64', 'float32'] }"
    assert len(assemble.read_run_file(run_file, [sweep]).members) == 20


def test_a_run_without_members_makes_no_data_set(run_file, tmp_path):
    text = run_file.read_text()
    alone = tmp_path / "alone.toml"
    alone.write_text("[grid]" + text.partition("[grid]")[2])
    with pytest.raises(ConfigError, match=r"output\.well: a data set is made of the members .* \[ensemble\] is needed"):
        assemble.read_run_file(alone)


@pytest.mark.slow
def test_check_says_what_the_data_set_will_hold(run_file, capsys):
    assert main(["check", str(run_file)]) == 0
    assert "output/run/turbulence: 8 for train, 1 for valid, 1 for test; 3 times of each" in capsys.readouterr().out


def test_what_members_may_be_when_drawn_again_is_checked(run_file):
    """Of a normal distribution the values lie anywhere: here the first is positive, and a later one is not."""
    overrides = ["ensemble.members=1", "ensemble.seed=3", "ensemble.sweep={}"]
    overrides += ["ensemble.draw={ 'equation.viscosity' = { normal = [1e-3, 1e-3] } }"]
    assert assemble.read_run_file(run_file, [*overrides, "output.well=false"]).members
    with pytest.raises(ConfigError, match=r"with equation\.viscosity = -0\.00.*zero or more is needed"):
        assemble.read_run_file(run_file, overrides)


def test_a_member_can_be_continued_alone(ensemble):
    own = ensemble / "member-0003" / "config.toml"
    assert assemble.read_run_file(own).outputs["well"].parameters["every_time"] == 0.05
