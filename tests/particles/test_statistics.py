"""Statistics of particles: by NumPy from the recorded positions, over windows, in members, and what physics says."""

import shutil

import jax.numpy as jnp
import numpy as np
import pytest

import solver as sw
from particles.test_runs import DROPS, DUST, HEAD, TRACERS
from solver.cli.main import main
from solver.io import list_checkpoints
from solver.outputs import ParticleCounts, Statistics

NAMES = ("drops", "dust", "tracers")

OUTPUTS = """
[output.particle-pdfs]
every_steps = 2
bins = 40
deviations = 4.0
[output.particle-counts]
every_steps = 2
boxes = [3, 2]
[output.statistics]
every_steps = 4
sample_steps = 2
of = ["particle-counts", "particle-pdfs"]
of_particles = ["drops", "dust", "tracers"]
lags = 3
[output.checkpoints]
every_steps = 1
keep = 99
"""
RECORD = HEAD.replace('["velocity"]', '["velocity", "acceleration"]')
PAIRS = DUST.replace("distance = 0.1", "distance = 2.5").replace("count = 10", "count = 30")
RUN = RECORD + TRACERS + DROPS + PAIRS + OUTPUTS
FORCED = ["forcing.name='frozen-shells'", "forcing.low=1.0", "forcing.high=1.5", "forcing.return_time=0.1"]


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """A run on two devices, which do not divide the numbers of tracers and of drops, of a forced flow."""
    folder = tmp_path_factory.mktemp("run")
    (folder / "run.toml").write_text(
        RUN.replace("use = [0]", "use = [0, 1]").replace("count = 30\n", "count = 31\n", 1)
    )
    words = [f"output.directory={folder / 'whole'}", "time.step=0.1", "time.end=1.6", *FORCED]
    assert main(["run", str(folder / "run.toml"), *words]) == 0
    return folder


def own(tracks, name):
    """Velocity and acceleration of the particles themselves, by what was recorded."""
    if name != "drops":
        return tracks.velocity.values, tracks.acceleration.values
    v, u = tracks.velocity.values, tracks.fluid_velocity.values
    return v, (u - v) / 0.2 + np.array([0.0, -1.0])


@pytest.mark.slow
@pytest.mark.parametrize("name", ["drops", pytest.param("dust", marks=pytest.mark.thorough), "tracers"])
def test_averages_by_lag_are_those_of_the_recorded_particles(written, name):
    run = sw.open_run(written / "whole")
    tracks, found = run.particles[name], run.statistics[f"particles-{name}"]
    np.testing.assert_allclose(found.t, [0.4, 0.8, 1.2, 1.6])
    np.testing.assert_allclose(found.since, [0.0, 0.4, 0.8, 1.2])
    assert list(found.direction.values) == ["x", "y"]
    x, v = tracks.position.values, own(tracks, name)[0]
    for window in range(4):
        for sample in range(3):
            first, now = 2 * window, 2 * window + sample
            row = found.isel(t=window, sample=sample)
            assert float(row.lag) == pytest.approx(tracks.t.values[now] - tracks.t.values[first])
            moved = x[now] - x[first]
            expected = {
                "mean_displacement": moved.mean(0),
                "mean_square_displacement": (moved**2).mean(0),
                "velocity_correlation": (v[first] * v[now]).mean(0),
                "velocity_structure_function": ((v[now] - v[first]) ** 2).mean(0),
            }
            if name == "dust":
                apart = x[now, 1::2] - x[now, ::2]
                expected["mean_square_separation"] = (apart**2).mean(0)
                expected["pair_dispersion"] = ((moved[1::2] - moved[::2]) ** 2).mean(0)
            assert set(found) == {"since", "samples", "lag", *expected}
            for key, values in expected.items():
                np.testing.assert_allclose(row[key], values, rtol=1e-9, atol=1e-13, err_msg=key)
    assert np.isnan(found.mean_displacement.isel(sample=3)).all()
    assert (found.samples == 2).all()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["drops", "tracers"])
def test_densities_and_counts_are_those_of_the_recorded_particles(written, name):
    run = sw.open_run(written / "whole")
    tracks, pdfs, counts = run.particles[name], run.records["particle-pdfs"], run.records["particle-counts"]
    edges, lengths = np.linspace(-4, 4, 41), 2 * np.pi
    for i in range(len(tracks.t)):
        for quantity, values in zip(("velocity", "acceleration"), own(tracks.isel(t=i), name), strict=True):
            apart = values - values.mean()
            sigma = np.sqrt((apart**2).mean())
            density = np.histogram((apart / sigma).ravel(), edges)[0] / values.size / np.diff(edges)
            np.testing.assert_allclose(pdfs[f"{name}_{quantity}"][i], density, atol=1e-13)
            assert float(pdfs[f"{name}_{quantity}_std"][i]) == pytest.approx(sigma, rel=1e-9)
            assert float(pdfs[f"{name}_{quantity}_mean"][i]) == pytest.approx(values.mean(), rel=1e-7, abs=1e-12)
            flatness = ((apart / sigma) ** 4).mean()
            assert float(pdfs[f"{name}_{quantity}_flatness"][i]) == pytest.approx(flatness, rel=1e-8)
            skewness = ((apart / sigma) ** 3).mean()
            assert float(pdfs[f"{name}_{quantity}_skewness"][i]) == pytest.approx(skewness, rel=1e-7, abs=1e-10)
        x = tracks.position.values[i] % lengths
        for place, n in enumerate((3, 2)):
            expected = np.histogramdd(x, [np.linspace(0, lengths, n + 1)] * 2)[0]
            assert float(counts[f"{name}_variance"][i, place]) == pytest.approx(expected.var(), rel=1e-12)
            assert float(counts[f"{name}_poisson"][i, place]) == pytest.approx(len(x) / n**2 * (1 - 1 / n**2))
            if n == 3:
                np.testing.assert_array_equal(counts[f"{name}_count"][i], expected)
    mean = run.statistics["particle-counts"][f"{name}_count"]
    np.testing.assert_allclose(mean[1], counts[f"{name}_count"][3:5].mean("t"), rtol=1e-13)


@pytest.mark.thorough
@pytest.mark.slow
@pytest.mark.parametrize(
    "step",
    [5, 8, 10],
    ids=["within a window", "where one ends", "where a state entered"],
)
def test_a_run_that_continues_has_the_bits_of_the_undisturbed_one(written, tmp_path, step):
    whole, stopped = written / "whole", tmp_path / "stopped"
    shutil.copytree(whole, stopped)
    for path in list_checkpoints(stopped / "checkpoints"):
        if int(path.name[5:]) > step:
            shutil.rmtree(path)
    assert main(["resume", str(stopped)]) == 0
    before, after = sw.open_run(whole), sw.open_run(stopped)
    assert set(before.statistics) == {"particle-counts", "particle-pdfs", *(f"particles-{n}" for n in NAMES)}
    for datasets, again in ((before.statistics, after.statistics), (before.records, after.records)):
        for name, one in datasets.items():
            assert all(np.array_equal(one[key], again[name][key], equal_nan=True) for key in one), name
    assert main(["verify", str(stopped)]) == 0


@pytest.mark.thorough  # test_runs.py draws a run with particles
@pytest.mark.slow
def test_they_are_drawn(written):
    assert main(["plot", str(written / "whole")]) == 0
    figures = {path.stem for path in (written / "whole" / "figures").glob("*.png")}
    of_particles = {f"statistics-particles-{name}" for name in NAMES}
    assert figures >= of_particles | {"particle-pdfs", "particle-counts", "statistics-particle-pdfs"}
    assert main(["report", str(written / "whole")]) == 0
    page = (written / "whole" / "report.html").read_text()
    assert "Particles dust, since a window began" in page


# ---- what physics says -------------------------------------------------------------------------------------------


def averages(output, flow, stepper, state, name="dust", **control):
    """The averages by lag of a window, without a run's directory."""
    sums = output.accumulators(flow)
    for now in sw.evolve(flow, stepper, state, pauses=output.pauses, **control):
        sums = output.observe(flow, now, sums, end=False)
    (found,) = (one for key, one in sums["particles"].items() if key.startswith(name))
    return found["lag"], found["averages"]


def still(particles, shape=(8, 8)):
    grid, stepper = sw.Grid(shape, mesh=sw.device_mesh([0])), sw.steppers.IFRK2()
    flow = sw.equations.Vorticity(grid, particles={"dust": particles})
    return flow, stepper, sw.initial_state(flow, stepper, jnp.zeros(shape), seed=4)


@pytest.mark.slow
def test_brownian_particles_spread_by_two_kappa_t_and_pairs_twice_as_fast():
    """In fluid at rest, within four deviations of an average over them."""
    kappa, count = 0.3, 4000
    given = {"count": count, "start": "pairs", "distance": 0.1, "order": 4, "diffusivity": kappa}
    flow, stepper, state = still(sw.particles.Brownian(**given))
    output = Statistics(of=(), of_particles=("dust",), sample_steps=2, lags=5)
    lag, found = averages(output, flow, stepper, state, step=0.05, end=0.5)
    np.testing.assert_allclose(lag, np.arange(6) * 0.1)
    for key, expected, number in (
        ("mean_square_displacement", 2 * kappa * lag, count),
        ("pair_dispersion", 4 * kappa * lag, count / 2),
    ):
        error = np.abs(found[key] - expected[:, None])
        assert (error <= 4 * expected[:, None] * np.sqrt(2 / number)).all(), key
    assert (np.abs(found["mean_displacement"]) <= 4 * np.sqrt(2 * kappa * lag / count)[:, None]).all()


@pytest.mark.slow
def test_tracers_are_ballistic_for_short_times_and_lose_their_velocity_by_its_structure_function():
    """⟨Δx²⟩ = ⟨u²⟩ τ² to second order in τ; S₂ = 2⟨u²⟩ − 2⟨u(0) u(τ)⟩ where particles fill the box evenly."""
    grid, stepper = sw.Grid((16, 16), mesh=sw.device_mesh([0])), sw.steppers.IFRK4()
    dust = sw.particles.Tracers(count=4096, start="lattice", order=6)
    flow = sw.equations.Vorticity(grid, viscosity=0.0, particles={"dust": dust})
    start = sw.sample(lambda x, y: -2 * jnp.cos(x) * jnp.cos(y), grid)
    state = sw.initial_state(flow, stepper, start)
    output = Statistics(of=(), of_particles=("dust",), sample_steps=1, lags=8)
    lag, found = averages(output, flow, stepper, state, step=0.01, end=0.08)
    square = found["velocity_correlation"][0]
    np.testing.assert_allclose(square, 0.25, rtol=1e-5)  # of cos x sin y
    ballistic = found["mean_square_displacement"][1:] / (square * lag[1:, None] ** 2)
    np.testing.assert_allclose(ballistic, 1, atol=2e-3)
    structure = 2 * square - 2 * found["velocity_correlation"]
    np.testing.assert_allclose(found["velocity_structure_function"], structure, atol=1e-6)
    # dv/dt = (−sin 2x, −sin 2y)/2 of these vortices
    np.testing.assert_allclose(found["velocity_structure_function"][-1], 0.125 * 0.08**2, rtol=5e-3)


@pytest.mark.slow
def test_counts_of_particles_that_are_anywhere_are_poissonian():
    """The variance of the counts in boxes is its expectation, within four deviations of a variance of M counts."""
    flow, _, state = still(sw.particles.Tracers(count=20_000, order=4), shape=(8, 12))
    output = ParticleCounts(boxes=(4, 8, 16))
    found = output.values(flow, state.field)
    ratio = found["dust_variance"] / found["dust_poisson"]
    assert (np.abs(ratio - 1) < 4 * np.sqrt(2 / np.array([16, 64, 256]))).all()
    assert int(found["dust_count"].sum()) == 20_000
    lattice = sw.particles.Tracers(count=64, start="lattice", order=4)
    flow, _, state = still(lattice, shape=(8, 12))
    np.testing.assert_array_equal(ParticleCounts(boxes=(4, 8)).values(flow, state.field)["dust_variance"], 0)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ["output.statistics.of_particles=['drop']"],
            "of_particles: there are no particles 'drop'; did you mean 'drops'?",
        ),
        (["output.statistics.lags=0"], "lags = 0: one or more is needed"),
        (
            ["output.particle-counts.boxes=[4,0]"],
            "output particle-counts: boxes = [4, 0]; numbers from one on are needed",
        ),
        (["output.particle-counts.boxes=[2000]"], "at most 1448 are needed along each"),
        (["output.particle-pdfs.bins=0"], "output particle-pdfs: bins 0: one or more is needed"),
        (["output.particle-pdfs.quantities=['salt']"], "output particle-pdfs, of drops: particles: 'salt' at the"),
    ],
)
def test_wrong_input_is_one_line(tmp_path, capsys, words, message):
    (tmp_path / "run.toml").write_text(HEAD + DROPS + OUTPUTS.replace('"drops", "dust", "tracers"', '"drops"'))
    assert main(["check", str(tmp_path / "run.toml"), *words]) == 2
    assert message in capsys.readouterr().err


def test_outputs_of_particles_need_some(tmp_path, capsys):
    for name in ("particle-counts", "particle-pdfs"):
        (tmp_path / "run.toml").write_text(HEAD.replace("[output.particles]", f"[output.{name}]").split("record")[0])
        assert main(["check", str(tmp_path / "run.toml")]) == 2
        assert (
            f"output {name}: the run has no particles; a section [particles.NAME] is needed" in capsys.readouterr().err
        )
