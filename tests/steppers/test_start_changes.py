"""What a start takes away from the given values is said: by a warning in Python, by a line in the log of a run."""

import warnings

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import solver as sw
from solver.cli.main import main

N = 32
ANGLES = 2 * np.pi * np.arange(N) / N


def said(equation, values):
    """The warnings of a start."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", sw.ChangedStart)
        sw.initial_state(equation, sw.steppers.IFRK4(), jnp.asarray(values))
    return [str(warning.message) for warning in caught if issubclass(warning.category, sw.ChangedStart)]


def percent(text):
    return float(text.split("initial field ")[1].split(": ")[1].split(" %")[0])


@pytest.mark.parametrize("devices", [1, 4])
def test_shares_of_white_noise_beyond_k_max_and_of_its_mean(make_grid, devices):
    """NumPy's FFT says how much of it lies in the retained modes."""
    values = np.random.default_rng(0).standard_normal((N, N)) + 0.5
    retained = np.abs(np.fft.fftfreq(N, 1 / N)) < N / 3
    modes = np.abs(np.fft.fft2(values)[np.ix_(retained, retained)] / N**2) ** 2
    beyond, mean = said(sw.equations.Vorticity(make_grid((N, N), devices), 0.02), values)
    assert "beyond k_max = 10" in beyond
    assert percent(beyond) == pytest.approx(100 * (1 - modes.sum() / np.mean(values**2)), rel=0.01)
    assert "mean" in mean
    assert percent(mean) == pytest.approx(100 * modes[0, 0] / np.mean(values**2), rel=0.01)


def test_share_of_the_divergent_part(make_grid):
    """Of (cos x + 3 cos y, 0) the first term is a gradient: a tenth of the mean square."""
    grid = make_grid((N, N), 2)
    x, y = np.meshgrid(ANGLES, ANGLES, indexing="ij")
    values = np.stack([np.cos(x) + 3 * np.cos(y), 0 * x])
    (text,) = said(sw.equations.NavierStokes(grid, 0.02), values)
    assert "divergent" in text
    assert percent(text) == pytest.approx(10)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("hill", "share"),
    [
        pytest.param("0.5*cos(2*x)*cos(y)", 0, marks=pytest.mark.thorough),
        ("cos(x) + 3*cos(14*y)", 90),
        pytest.param("0.3", 0, marks=pytest.mark.thorough),
        pytest.param("0*x", 0, marks=pytest.mark.thorough),
    ],
)
def test_topography_that_the_grid_does_not_resolve(make_grid, hill, share):
    """cos(14 y) lies beyond the ten modes of 32 points."""
    grid, rest = make_grid((N, N), 2), jnp.zeros((N, N))
    layered = sw.equations.MultiLayerQuasiGeostrophic(grid, ("a", "b"), (0.5, 0.5), (0.2,), topography=hill)
    for equation, values, below in (
        (sw.equations.Vorticity(grid, 0.02, topography=hill), rest, "vorticity"),
        (layered, {"a": rest, "b": rest}, "b"),
    ):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", sw.ChangedStart)
            sw.initial_state(equation, sw.steppers.IFRK4(), values)
        lines = [str(warning.message) for warning in caught]
        assert [line.partition(" of its mean square")[0] for line in lines] == (
            [f"topography below {below}: {share} %"] if share else []
        )


@pytest.mark.parametrize("precision", ["float64", "float32"])
def test_nothing_is_said_of_a_start_that_is_kept(make_grid, precision):
    grid = make_grid((N, N), 2, precision=precision)
    x, y = np.meshgrid(ANGLES, ANGLES, indexing="ij")
    values = np.stack([np.cos(y) + 0.5, np.sin(3 * x)]).astype(precision)
    assert not said(sw.equations.NavierStokes(grid, 0.02), values)


def test_nothing_is_said_while_tracing(make_grid):
    equation, values = sw.equations.Vorticity(make_grid((N, N), 1), 0.02), np.ones((N, N))
    with warnings.catch_warnings():
        warnings.simplefilter("error", sw.ChangedStart)
        jax.jit(lambda u: sw.initial_state(equation, sw.steppers.IFRK4(), u))(jnp.asarray(values))


def log_of(folder, text):
    """The log of a run of a run file, which ends well."""
    (folder / "run.toml").write_text(text)
    assert main(["run", str(folder / "run.toml"), f"output.directory={folder / 'out'}"]) == 0
    return (folder / "out/log.txt").read_text()


@pytest.mark.slow
def test_the_log_of_a_run_says_it(tmp_path):
    log = log_of(
        tmp_path,
        'title = "a mean"\n[grid]\nshape = [16, 16]\nlengths = [6.283185307179586, 6.283185307179586]\n'
        '[equation]\nname = "vorticity"\nviscosity = 0.01\n[initial]\nname = "uniform"\nvalue = 2.0\n'
        '[time]\nstepper = "ifrk4"\nstep = 0.1\nend = 0.1\n[devices]\nuse = [0, 1]\n',
    )
    assert log.count("initial field vorticity: 100 % of its mean square is its mean") == 1


@pytest.mark.slow
def test_a_fixed_step_of_a_large_cfl_number_is_said(make_grid):
    """sin y crosses its points, 2π/32 apart, at speeds up to one: the CFL number of a step of 0.5 is 16/2π."""
    grid = make_grid((N, N), 2)
    values = np.stack([np.sin(ANGLES)[None] + np.zeros((N, 1)), np.zeros((N, N))])
    flow, stepper = sw.equations.NavierStokes(grid, 0.02), sw.steppers.IFRK4()
    state = sw.initial_state(flow, stepper, jnp.asarray(values))
    with pytest.warns(sw.LongStep, match=r"step = 0\.5: the CFL number is 2\.55 at the start; step = 0\.19 makes it 1"):
        list(sw.evolve(flow, stepper, state, end=0.5, step=0.5))
    with warnings.catch_warnings():
        warnings.simplefilter("error", sw.LongStep)
        list(sw.evolve(flow, stepper, state, end=0.19, step=0.19))


@pytest.mark.slow
def test_the_log_of_a_run_says_that_its_step_is_long(tmp_path):
    log = log_of(
        tmp_path,
        'title = "a long step"\n[grid]\nshape = [16, 16]\nlengths = ["2 pi", "2 pi"]\n'
        '[equation]\nname = "navier-stokes"\nviscosity = 0.1\n[initial]\nname = "taylor-green"\n'
        '[time]\nstepper = "ifrk4"\nstep = 0.8\nend = 0.8\n[devices]\nuse = [0, 1]\n',
    )
    assert log.count("time.step = 0.8: the CFL number is 2.04 at the start; step = 0.39 makes it 1") == 1


# ---- unknowns whose equation divides by zero -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "shape", "lengths", "count"),
    [
        ("lap(w) + w = q", (12, 14), 2 * np.pi, 3),  # (±1, 0) and (0, 1) of a half spectrum
        ("lap(w) + w = q", (12, 14), 6.0, 0),
        ("lap(w) - w = q", (12, 14), 2 * np.pi, 0),
        ("lap(w) = q", (12, 14), 2 * np.pi, 0),  # its mean alone, which is known
        ("dx(dx(w)) + dy(dy(w)) - 4*dz(dz(w)) = q", (8, 8, 8), 2 * np.pi, 4),  # kz = 1
    ],
)
def test_modes_that_no_equation_gives_are_said(line, shape, lengths, count):
    cls = sw.write([line, "dt(q) = nu*lap(q) + w"], {"q": "scalar"}, unknowns={"w": "scalar"})
    equation = cls(sw.Grid(shape, lengths=lengths, mesh=sw.device_mesh([0])), nu=0.1)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", sw.UnsolvedModes)
        sw.initial_state(equation, sw.steppers.ETDRK4(), jnp.zeros(shape))
    said = [str(warning.message) for warning in caught if issubclass(warning.category, sw.UnsolvedModes)]
    assert len(said) == (count > 0)
    assert all(
        f"unknown w of written: what its equation divides by vanishes for {count} of the modes" in s for s in said
    )


@pytest.mark.slow
def test_the_log_of_a_run_says_how_many(tmp_path):
    log = log_of(
        tmp_path,
        'title = "resonance"\n[grid]\nshape = [16, 16]\nlengths = "2 pi"\n[equation]\nname = "written"\n'
        'fields = { q = "scalar" }\nunknowns = { w = "scalar" }\nwrite = ["lap(w) + w = q", "dt(q) = w"]\n'
        '[initial]\nname = "cosine"\n[time]\nstepper = "ifrk4"\nstep = 0.1\nend = 0.1\n[devices]\nuse = [0, 1]\n',
    )
    assert log.count("unknown w of written: what its equation divides by vanishes for 3 of the modes") == 1


# ---- forcings that multiply their field --------------------------------------------------------------------------


def idle(forcing, values, grid, category=sw.IdleForcing):
    """Warnings of a start of a velocity under a forcing."""
    flow = sw.equations.NavierStokes(grid, 0.02, forcing={"velocity": forcing})
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", category)
        state = sw.initial_state(flow, sw.steppers.IFRK4(), jnp.asarray(values), seed=1)
    return state, flow, [str(warning.message) for warning in caught if issubclass(warning.category, category)]


MULTIPLYING = [sw.forcing.ConstantPower(power=0.1), sw.forcing.FrozenShells()]


@pytest.mark.slow
@pytest.mark.parametrize("forcing", MULTIPLYING, ids=lambda forcing: forcing.name)
def test_a_forcing_that_multiplies_nothing_is_told(make_grid, forcing):
    """At rest; with waves of k = 5 alone, whose transform leaves rounding errors in the shells of k = 1 and 2."""
    grid = make_grid((N, N), 2)
    x, y = np.meshgrid(ANGLES, ANGLES, indexing="ij")
    for values in (np.zeros((2, N, N)), np.stack([np.cos(5 * y + 0.3), 0 * x])):
        flow, (text,) = idle(forcing, values, grid)[1:]
        assert text.startswith(f"forcing.velocity: {forcing.name} multiplies modes of velocity that hold no energy")
    after = sw.integrate(flow, sw.steppers.IFRK4(), idle(forcing, np.zeros((2, N, N)), grid)[0], step=0.1, steps=2)
    assert not np.any(np.asarray(after.field["velocity"])), "nothing was put in"


@pytest.mark.parametrize("forcing", MULTIPLYING, ids=lambda forcing: forcing.name)
def test_nothing_is_said_where_there_is_something_to_multiply(make_grid, forcing):
    x, y = np.meshgrid(ANGLES, ANGLES, indexing="ij")
    values = np.stack([np.cos(5 * y) + 1e-10 * np.cos(2 * y), 0 * x])
    assert not idle(forcing, values, make_grid((N, N), 2))[2]
    assert not idle(sw.forcing.Kolmogorov(1.0), 0 * values, make_grid((N, N), 2))[2]


@pytest.mark.slow
def test_the_log_of_a_run_has_the_forcing_that_puts_in_nothing(tmp_path):
    log = log_of(
        tmp_path,
        '[grid]\nshape = [16, 16]\n[equation]\nname = "navier-stokes"\nviscosity = 0.1\n'
        '[initial]\nname = "uniform"\nvalue = 0.0\n[forcing]\nname = "constant-power"\npower = 0.1\n'
        '[time]\nstepper = "ifrk2"\nstep = 0.1\nend = 0.1\n[devices]\nuse = [0]\n',
    )
    assert "forcing.velocity: constant-power multiplies" in log
