"""Particles by command: files, restarts, other devices, members, and wrong input."""

import numpy as np
import pytest

import solver as sw
from solver.cli.main import main

RUN = """
[grid]
shape = [12, 16]
[equation]
name = "navier-stokes"
viscosity = 0.01
scalars = ["dye"]
diffusivities = [0.01]
[initial.velocity]
name = "random-phase"
peak = 2.0
energy = 1.0
[initial.dye]
name = "cosine"
modes = [1, 0]
[particles.tracers]
count = 30
order = 4
[particles.drops]
kind = "inertial"
start = "lattice"
count = 16
response_time = 0.2
gravity = [0.0, -1.0]
[particles.dust]
kind = "brownian"
start = "pairs"
distance = 0.1
count = 10
diffusivity = 0.01
[time]
stepper = "sbdf2"
step = 0.05
end = 0.6
[devices]
use = [0]
[output]
directory = "run"
[output.particles]
every_steps = 2
record = ["velocity", "acceleration", "dye", "gradient"]
"""


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
    assert main(["run", str(run_file), f"output.directory={run}", "time.end=0.3"]) == 0
    assert main(["resume", str(run), "time.end=0.6"]) == 0
    assert set(tracks(whole)) == {"tracers", "drops", "dust"}
    for name, one in tracks(whole).items():
        again = tracks(run)[name].sel(t=one.t)
        assert all(np.array_equal(one[key], again[key]) for key in one), name
    assert set(tracks(whole)["tracers"]) == {"position", "velocity", "acceleration", "dye", "gradient"}
    assert set(tracks(whole)["drops"]) >= {"velocity", "fluid_velocity"}
    assert tracks(whole)["tracers"].position.dims == ("t", "particle", "direction")
    assert list(tracks(whole)["tracers"].direction.values) == ["x", "y"]
    assert main(["verify", str(whole)]) == 0
    assert main(["plot", str(whole)]) == 0
    assert {path.name for path in (whole / "figures").glob("particles-*.png")} == {
        f"particles-{name}.png" for name in ("tracers", "drops", "dust")
    }


@pytest.mark.slow
def test_what_is_recorded_is_the_flow_at_the_particles(run_file, tmp_path):
    """Velocities are the rates of the positions, to the order of central differences; so is the acceleration theirs."""
    whole = tmp_path / "whole"
    words = [f"output.directory={whole}", "output.particles.every_steps=1", "time.step=0.01", "time.end=0.04"]
    assert main(["run", str(run_file), "time.stepper='ifrk4'", "particles.tracers.order=8", *words]) == 0
    one = tracks(whole)["tracers"]
    x, u, a = (one[name].values for name in ("position", "velocity", "acceleration"))
    np.testing.assert_allclose((x[4] - x[2]) / 0.02, u[3], rtol=0, atol=1e-3 * np.abs(u).max())
    np.testing.assert_allclose((u[4] - u[2]) / 0.02, a[3], rtol=0, atol=1e-2 * np.abs(a).max())
    assert np.ptp(one.dye.values, axis=1).min() > 0.5


@pytest.mark.slow
def test_members_have_what_each_has_alone_on_other_devices_too(run_file, tmp_path):
    text = RUN + '[ensemble]\nsweep = { "particles.drops.response_time" = [0.2, 0.5] }\n'
    run_file.write_text(text.replace("use = [0]", "use = [0, 1]"))
    assert main(["run", str(run_file), f"output.directory={tmp_path / 'many'}"]) == 0
    (tmp_path / "one.toml").write_text(RUN)
    words = [str(tmp_path / "one.toml"), f"output.directory={tmp_path / 'one'}", "particles.drops.response_time=0.5"]
    assert main(["run", *words, "random.seed=0"]) == 0
    for name, one in tracks(tmp_path / "one").items():
        member = tracks(tmp_path / "many" / "member-0001")[name]
        same = name != "dust"  # members have their own random numbers
        assert np.allclose(one.position, member.position, rtol=0, atol=1e-10) == same, name


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["particles.tracers.colour=1"], "particles.tracers.colour: unknown key"),
        (["particles.x=3"], "particles.x = 3: a table [particles.NAME] is needed"),
        (["particles.tracers.kind='swimmer'"], "particles.tracers.kind = 'swimmer': unknown"),
        (["output.particles.record=['salt']"], "output particles, of tracers: particles: 'salt' at the particles"),
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
