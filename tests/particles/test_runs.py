"""Particles by command: files, restarts, other devices, members, and wrong input."""

import numpy as np
import pytest

import solver as sw
from solver.cli.main import main

HEAD = """
[grid]
shape = [8, 12]
[equation]
name = "vorticity"
viscosity = 0.01
[initial]
name = "random-phase"
peak = 2.0
energy = 1.0
[time]
stepper = "sbdf2"
step = 0.05
end = 0.4
[devices]
use = [0]
[output]
directory = "run"
[output.particles]
every_steps = 2
record = ["velocity"]
"""
TRACERS = """
[particles.tracers]
count = 30
order = 4
"""
DROPS = """
[particles.drops]
kind = "inertial"
start = "lattice"
count = 16
order = 4
response_time = 0.2
gravity = [0.0, -1.0]
"""
DUST = """
[particles.dust]
kind = "brownian"
start = "pairs"
distance = 0.1
count = 10
order = 4
diffusivity = 0.01
"""
RUN = HEAD + DROPS + DUST


@pytest.fixture
def run_file(tmp_path):
    path = tmp_path / "run.toml"
    path.write_text(RUN)
    return path


def tracks(folder):
    return sw.open_run(folder).particles


@pytest.mark.slow
def test_a_run_is_resumed_to_the_bit_drawn_and_read(run_file, tmp_path):
    whole, run = tmp_path / "whole", tmp_path / "run"
    assert main(["run", str(run_file), f"output.directory={whole}"]) == 0
    assert main(["run", str(run_file), f"output.directory={run}", "time.end=0.2"]) == 0
    assert main(["resume", str(run), "time.end=0.4"]) == 0
    assert set(tracks(whole)) == {"drops", "dust"}
    for name, one in tracks(whole).items():
        again = tracks(run)[name].sel(t=one.t)
        assert all(np.array_equal(one[key], again[key]) for key in one), name
    assert set(tracks(whole)["dust"]) == {"position", "velocity"}
    assert set(tracks(whole)["drops"]) >= {"velocity", "fluid_velocity"}
    assert tracks(whole)["drops"].position.dims == ("t", "particle", "direction")
    assert list(tracks(whole)["drops"].direction.values) == ["x", "y"]
    assert main(["resume", str(run), "--branch", str(tmp_path / "branch"), "time.end=0.5", "devices.use=[0,1]"]) == 0
    for name, one in tracks(tmp_path / "branch").items():
        np.testing.assert_array_equal(one.position.isel(t=0), tracks(whole)[name].position.isel(t=-1))
    assert main(["verify", str(whole)]) == 0
    assert main(["plot", str(whole)]) == 0
    assert {path.name for path in (whole / "figures").glob("particles-*.png")} == {
        f"particles-{name}.png" for name in ("drops", "dust")
    }


@pytest.mark.slow
def test_what_is_recorded_is_the_flow_at_the_particles(run_file, tmp_path):
    """Velocities are the rates of the positions, to the order of central differences; so is the acceleration theirs."""
    whole = tmp_path / "whole"
    run_file.write_text(HEAD.replace('["velocity"]', '["velocity", "acceleration", "vorticity"]') + TRACERS)
    words = [f"output.directory={whole}", "output.particles.every_steps=1", "time.step=0.01", "time.end=0.04"]
    words += ["forcing.name='frozen-shells'", "forcing.low=1.0", "forcing.high=1.5", "forcing.return_time=0.1"]
    assert main(["run", str(run_file), "time.stepper='ifrk4'", "particles.tracers.order=8", *words]) == 0
    one = tracks(whole)["tracers"]
    x, u, a = (one[name].values for name in ("position", "velocity", "acceleration"))
    np.testing.assert_allclose((x[4] - x[2]) / 0.02, u[3], rtol=0, atol=2e-3 * np.abs(u).max())
    np.testing.assert_allclose((u[4] - u[2]) / 0.02, a[3], rtol=0, atol=2e-2 * np.abs(a).max())
    assert np.ptp(one.vorticity.values, axis=1).min() > 0.5


@pytest.mark.slow
def test_members_have_what_each_has_alone(run_file, tmp_path):
    """Stepped together, each on a device of its own."""
    text = HEAD + DROPS + '[ensemble]\nsweep = { "particles.drops.response_time" = [0.2, 0.5] }\n'
    run_file.write_text(text.replace("use = [0]", "use = [0, 1]"))
    assert main(["run", str(run_file), f"output.directory={tmp_path / 'many'}"]) == 0
    (tmp_path / "one.toml").write_text(HEAD + DROPS)
    words = [str(tmp_path / "one.toml"), f"output.directory={tmp_path / 'one'}", "particles.drops.response_time=0.5"]
    assert main(["run", *words]) == 0
    alone, member = (tracks(tmp_path / place)["drops"] for place in ("one", "many/member-0001"))
    np.testing.assert_allclose(alone.position, member.position, rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["particles.dust.colour=1"], "particles.dust.colour: unknown key"),
        (["particles.x=3"], "particles.x = 3: a table [particles.NAME] is needed"),
        (["particles.dust.kind='swimmer'"], "particles.dust.kind = 'swimmer': unknown"),
        (["output.particles.record=['salt']"], "output particles, of drops: particles: 'salt' at the particles"),
        (["particles.drops.response_time=-1.0"], "response_time = -1.0; a positive time is needed"),
        (["particles.drops.response_time=0.01"], "decays within 0.01"),
    ],
)
def test_wrong_input_is_one_line(run_file, capsys, words, message):
    assert main(["check", str(run_file), *words]) == 2
    assert message in capsys.readouterr().err


def test_an_output_of_particles_needs_some(run_file, capsys):
    run_file.write_text(RUN.replace("[particles.", "[particle."))
    assert main(["check", str(run_file)]) == 2
    assert "particle: unknown key; did you mean 'particles'?" in capsys.readouterr().err
