"""Scalars carried by a flow: exact cases, variance budget, and their way through run files."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import VELOCITY, advanced, refused_in_one_line

import solver as sw
from solver import assemble, initial
from solver.assemble.classes import built_in
from solver.config import ConfigError
from solver.dynamics.budget import imbalance
from solver.equations import NavierStokes
from solver.particles.flow import vectors_of
from solver.plan import transforms_in_step
from solver.steppers import ETDRK4, IFRK2
from solver.written.scalars import velocities

pytestmark = pytest.mark.slow
# numbers of equations that need some or have a uniform flow; the vector that carries, and the uniform flow, where told
LAYERS = {"layers": ("a", "b"), "thicknesses": (0.4, 0.6), "reduced_gravities": (0.3,), "mean_flows": (0.5, -0.2)}
CASES = {
    "vorticity": ({"viscosity": 0.1, "mean_velocity": (0.7, -0.4), "deformation_radius": 0.8}, None, (0.7, -0.4)),
    "two-layer-quasi-geostrophic": ({"deformation_wavenumber": 2.0, "shear": 0.6}, "lower_velocity", (-0.6, 0.0)),
    "shallow-water": ({}, None, (0.0, 0.0)),
    "multi-layer-quasi-geostrophic": (LAYERS, "b_velocity", (-0.2, 0.0)),
    "surface-quasi-geostrophic": ({"diffusivity": 0.1}, None, (0.0, 0.0)),
    "hasegawa-mima": ({}, None, (0.0, 0.0)),
    "hasegawa-wakatani": ({}, None, (0.0, 0.0)),
    "boussinesq": ({"viscosity": 0.1, "diffusivity": 0.1, "rotation": 0.4}, None, (0.0, 0.0, 0.0)),
    "mhd": ({"viscosity": 0.1, "resistivity": 0.1, "mean_field": (0.3, 0.1, 0.2)}, None, (0.0, 0.0, 0.0)),
    "hall-mhd": ({"viscosity": 0.1, "resistivity": 0.1, "ion_inertial_length": 0.2}, None, (0.0, 0.0, 0.0)),
    "reduced-mhd": ({}, None, (0.0, 0.0, 0.0)),
    "isothermal-flow": ({}, None, (0.0, 0.0, 0.0)),
    "burgers": ({"viscosity": 0.1}, None, (0.0, 0.0, 0.0)),
    "navier-stokes": ({"viscosity": 0.1}, None, (0.0, 0.0, 0.0)),
    "oldroyd-b": ({}, None, (0.0, 0.0, 0.0)),
    "fene-p": ({}, None, (0.0, 0.0, 0.0)),
    "active-nematic": ({}, None, (0.0, 0.0)),
    "written": ({}, "u", (0.0, 0.0, 0.0)),
}
DEFAULT = ("vorticity", "written")  # others: tests/reference/test_library.py has layers, three dimensions and more
WITHOUT = ("allen-cahn", "gray-scott", "korteweg-de-vries", "zakharov")


def of_library(name):
    """The class of an equation; of no name, Stokes' flow of a concentration, whose velocity is an unknown."""
    if name != "written":
        return built_in("equation")[name]
    lines = ["dt(q) = -u@grad(q) + lap(q)", "lap(u) - grad(p) + q*up = 0", "div(u) = 0"]
    return sw.write(lines, {"q": "scalar"}, unknowns={"u": "vector", "p": "scalar"})


@pytest.mark.parametrize(
    "name", [name if name in DEFAULT else pytest.param(name, marks=pytest.mark.thorough) for name in CASES]
)
def test_the_change_of_a_scalar_against_numpy(make_grid, name):
    """−(u + U)·(∇c + G) + κ∇²c + S − λc of random fields on uneven slabs; a second scalar that the first one makes."""
    numbers, carrier, mean = CASES[name]
    d, lengths = len(mean), (2 * np.pi, 5.0, 4.0)
    grid = make_grid((12, 10, 9)[:d], devices=4 if d == 2 else 3, lengths=lengths[:d])
    gradient = (0.3, -0.5, 0.8)[:d]
    scalars = {
        "dye": sw.PassiveScalar(0.2, gradient, "0.4*t*cos(x)", decay=0.3, field=carrier),
        "made": sw.PassiveScalar(source="0.7*dye - made*dye", field=carrier),
    }
    equation = of_library(name)(grid, **numbers, scalars=scalars)
    random = np.random.default_rng(0)
    start = {n: jnp.asarray(0.3 * random.standard_normal(v.shape)) for n, v in equation.values_at_points().items()}
    fields, t = equation.from_physical(start), 0.9
    linear, nonlinear = equation.linear().apply(fields), equation.nonlinear(fields, t)
    found = equation.to_physical({n: linear[n] + nonlinear[n] for n in fields})
    values = {n: np.asarray(v)[0] for n, v in equation.to_physical(fields).items()}
    if name == "written":
        stokes = sw.write("dt(v) = v", {"v": "vector"})(grid)  # whose transform is at hand
        force = stokes.from_physical({"v": jnp.stack([*(d - 1) * [0 * values["q"]], values["q"]])})["v"]
        hat = sw.operators.project_solenoidal(force, grid) * grid.inverse_k_squared()
        vectors = {"u": stokes.space("v").inverse(hat)}
    else:
        vectors = {n: equation.space(equation.first_field).inverse(v) for n, v in vectors_of(equation, fields).items()}
    u = np.asarray(vectors[carrier or next(iter(vectors))])[:d] + np.reshape(mean, (d, *[1] * d))
    sides = zip(grid.shape, lengths, strict=False)
    k = np.meshgrid(*(2 * np.pi / side * np.fft.fftfreq(n, 1 / n) for n, side in sides), indexing="ij")
    of_mode = lambda factor, c: np.fft.ifftn(factor * np.fft.fftn(c)).real  # noqa: E731
    carried = lambda c, slope: -sum(u[i] * (of_mode(1j * k[i], c) + slope[i]) for i in range(d))  # noqa: E731
    dye, made = values["dye"], values["made"]
    source = 0.4 * t * np.cos(np.asarray(grid.coordinates()[0]))
    own = {
        "dye": carried(dye, gradient) + of_mode(-0.2 * sum(ki**2 for ki in k), dye) + source - 0.3 * dye,
        "made": carried(made, (0.0,) * d) + 0.7 * dye - made * dye,
    }
    zero = {n: jnp.zeros_like(v) for n, v in start.items()}
    whole = zero | {n: jnp.asarray(v + 0 * dye)[None] for n, v in own.items()}
    expected = equation.to_physical(equation.from_physical(whole))
    for scalar in own:
        np.testing.assert_allclose(found[scalar], expected[scalar], atol=1e-12 * np.max(np.abs(expected[scalar])))


def test_every_equation_with_a_velocity_is_among_the_cases():
    text_of = lambda cls: cls.texts(max(cls.dimensions))[-1] if issubclass(cls, sw.Equation) else None  # noqa: E731
    texts = {name: text_of(cls) for name, cls in built_in("equation").items()}
    carrying = {name for name, text in texts.items() if text is not None and velocities(text)}
    assert carrying - {"advection-diffusion", "rayleigh-benard"} == CASES.keys() - {"written"}


@pytest.mark.parametrize("devices", [1, pytest.param(4, marks=pytest.mark.thorough)])
def test_age_decay_and_the_uniform_flow_against_exact_solutions(make_grid, devices):
    """The age of the fluid is t everywhere; a wave goes with U and decays; a gradient along U brings −G·U t."""
    grid = make_grid((16, 12), devices=devices)
    scalars = {
        "age": sw.PassiveScalar(0.1, source="1", units="time"),
        "dye": sw.PassiveScalar(0.05, decay=0.3),
        "along": sw.PassiveScalar(mean_gradient=(2.0, 1.0)),
    }
    flow = sw.equations.Vorticity(grid, 0.1, beta=2.0, mean_velocity=(0.7, -0.4), scalars=scalars)
    assert flow.report.units()["age_mean"] == "time"
    aging = {"age": sw.PassiveScalar(source="1 - cause(ventilation, 3*age)", units="time")}  # 3 is a rate
    ventilated = sw.equations.Vorticity(grid, 0.1, scalars=aging)
    assert {*ventilated.derived.energies["age_variance"].causes} == {"diffusion", "ventilation"}
    units = ventilated.report.units()
    assert (units["energy"], units["age_variance"]) == ("length^2/time^2", "time^2")
    eddies = 3 * sw.sample(lambda x, y: jnp.cos(2 * x) * jnp.sin(y) + jnp.sin(x + 3 * y), grid)
    dye, zero = sw.sample(lambda x, y: jnp.cos(2 * x + 3 * y), grid), jnp.zeros(grid.shape)
    start = {"vorticity": eddies, "age": zero, "dye": dye, "along": zero}
    state = advanced(flow, ETDRK4(), start, 1.0, 0.05)
    np.testing.assert_allclose(flow.to_physical(state.field)["age"], 1.0, rtol=1e-13)
    row = jax.jit(lambda fields: flow.series(fields, 0.05))(state.field)
    assert float(row["along_mean"]) == pytest.approx(-1.0, rel=1e-13)
    still = advanced(flow, ETDRK4(), start | {"vorticity": zero}, 1.0, 0.25)
    moved = np.exp(-0.05 * 13 - 0.3) * sw.sample(lambda x, y: jnp.cos(2 * (x - 0.7) + 3 * (y + 0.4)), grid)
    np.testing.assert_allclose(flow.to_physical(still.field)["dye"][0], moved, atol=1e-13)


@pytest.mark.thorough
def test_a_scalar_in_cells_and_wind_is_the_scalar_that_they_carry(make_grid):
    """`advection-diffusion` with a second scalar: both have one equation."""
    grid = make_grid((16, 12), devices=2)
    scalars = {"twin": sw.PassiveScalar(0.05)}
    flow = sw.equations.AdvectionDiffusion(grid, 0.05, (0.4, 0.2), 1.3, scalars=scalars)
    c = initial.RandomPhase(peak=2.0)(grid, key=jax.random.key(1))
    state = advanced(flow, ETDRK4(), {"c": c, "twin": c}, 0.2, 0.02)
    np.testing.assert_allclose(state.field["twin"], state.field["c"], atol=1e-14)


REFUSED = {
    "no velocity": (lambda g, P: sw.equations.AllenCahn(g, scalars={"dye": P()}), "dye: the equation has no velocity"),
    "another vector": (lambda g, P: flow_with(g, P(field="wind")), "dye.field = 'wind': one of velocity is needed"),
    "a field's name": (
        lambda g, P: flow_with(g, P(), "vorticity"),
        "scalars.vorticity: the equation has 'vorticity' already",
    ),
    "a column's name": (lambda g, P: flow_with(g, P(), "energy"), "scalars.energy: the equation has 'energy' already"),
    "a parameter's name": (lambda g, P: hot(g, P()), "scalars.hot: the equation has 'hot_diffusivity' already"),
    "another scalar's column": (
        lambda g, P: sw.equations.Vorticity(g, 0.1, scalars={"dye": P(), "dye_mean": P()}),
        "scalars.dye_mean: the equation has 'dye_mean' already",
    ),
    "one number as a gradient": (lambda g, P: flow_with(g, P(0.1, 1.0)), "dye.mean_gradient 1.0: 2 numbers are"),
    "no diffusivity": (lambda g, P: P(None), "diffusivity None: zero or more is needed"),
    "a number as a source": (lambda g, P: P(source=1), "source 1: a text in quotes is needed"),
    "a component's name": (lambda g, P: flow_with(g, P(), "velocity_y"), "a field named 'velocity_y': another name"),
    "a long gradient": (lambda g, P: flow_with(g, P(0.1, (1, 2, 3))), r"dye.mean_gradient \(1, 2, 3\): 2 numbers are"),
    "a diffusivity": (lambda g, P: P(-0.1), "diffusivity -0.1: zero or more is needed"),
    "a decay": (lambda g, P: P(decay=-1.0), "decay -1.0: zero or more is needed"),
    "no dict": (lambda g, P: sw.equations.NavierStokes(g, 0.1, scalars=["dye"]), r"scalars = \['dye'\]: a dict of"),
    "an equation by hand": (lambda g, P: ByHand(g, scalars={"c": P()}), "scalars of by-hand: it has no text"),
    "a word": (lambda g, P: flow_with(g, P(), "x"), "field 'x': the name has a meaning of its own"),
}


class ByHand(sw.Equation):
    """u_t = 0."""

    fields = {"u": sw.Field()}  # noqa: RUF012

    def linear(self):
        return sw.Diagonal({"u": 0 * self.grid.k_squared()})

    def nonlinear(self, fields, t):
        return fields


def hot(grid, scalar):
    """A text whose parameter is called as the diffusivity of a scalar would be."""
    return sw.write("dt(u) = hot_diffusivity*lap(u)", {"u": "vector"})(grid, 0.1, scalars={"hot": scalar})


def flow_with(grid, scalar, name="dye"):
    return sw.equations.Vorticity(grid, 0.1, scalars={name: scalar})


@pytest.mark.parametrize("case", REFUSED)
def test_refused_in_one_line(case):
    grid = sw.Grid((8, 10), mesh=sw.device_mesh([0]))
    make, message = REFUSED[case]
    with refused_in_one_line(message):
        make(grid, sw.PassiveScalar)


def test_an_unknown_name_in_a_source_is_shown_with_its_place():
    grid = sw.Grid((8, 10), mesh=sw.device_mesh([0]))
    with pytest.raises(ValueError, match=r"(?s)'vortcity' in scalars.dye.source; did you mean 'vorticity'.*\^"):
        flow_with(grid, sw.PassiveScalar(source="2*vortcity"))


def test_a_source_that_fits_in_no_dimensions_is_shown_and_not_what_fits_in_these_alone():
    """The stream function has no sense in 1-D or in 3-D, the source in none."""
    grid = sw.Grid((8, 10), mesh=sw.device_mesh([0]))
    with pytest.raises(ValueError, match=r"(?s)^z in 2 dimensions: there is no such axis.*\^$"):
        flow_with(grid, sw.PassiveScalar(source="z"))


@pytest.mark.thorough
@pytest.mark.parametrize("shape", [(12, 8), (12, 8, 6)], ids=["2-D", "3-D"])
def test_a_scalar_in_a_shear_flow_against_the_exact_solution(make_grid, shape):
    """u = (0, cos x): a scalar with G along y and one without; c_t = κ c_xx − G cos x from rest is known."""
    grid = make_grid(shape, devices=2)
    d, k, v, g, end = grid.dimensions, 0.3, 0.1, 1.5, 0.8
    flow = NavierStokes(grid, v, scalars={"still": sw.PassiveScalar(k, (0, g, 0)[:d]), "dye": sw.PassiveScalar(0.2)})
    u = sw.sample(lambda *x: (0 * x[0], jnp.cos(x[0]), 0 * x[0])[:d], grid)
    zero, dye = jnp.zeros(grid.physical_shape), sw.sample(lambda *x: jnp.sin(x[0]), grid)
    state = advanced(flow, ETDRK4(), {"velocity": u, "still": zero, "dye": dye}, end, 0.02)
    computed = flow.to_physical(state.field)
    x = grid.coordinates()[0]
    still = -g * np.cos(x) * (np.exp(-v * end) - np.exp(-k * end)) / (k - v) + zero
    np.testing.assert_allclose(computed["still"][0], still, atol=1e-8)
    # along the shear nothing moves
    np.testing.assert_allclose(computed["dye"][0], np.exp(-0.2 * end) * dye, atol=1e-12)


@pytest.mark.thorough
def test_a_carried_scalar_against_its_own_advection(make_grid):
    """In a uniform wind a scalar moves with it; κ takes from each wave what it should."""
    grid = make_grid((16, 12), devices=3)
    flow = NavierStokes(grid, 0.01, scalars={"dye": sw.PassiveScalar(0.05)})
    wind = sw.sample(lambda x, y: (0.7 + 0 * x, -0.4 + 0 * x), grid)
    wave = lambda t: sw.sample(lambda x, y: jnp.cos(2 * (x - 0.7 * t) + 3 * (y + 0.4 * t)), grid)  # noqa: E731
    state = advanced(flow, ETDRK4(), {"velocity": wind, "dye": wave(0)}, 1.0, 0.01)
    expected = np.exp(-0.05 * 13) * wave(1.0)
    np.testing.assert_allclose(flow.to_physical(state.field)["dye"][0], expected, atol=1e-8)


@pytest.mark.thorough
def test_variance_closes_and_the_flow_is_what_it_is_without_scalars(make_grid):
    grid = make_grid((16, 12, 8), devices=4)
    u = initial.RandomPhase(peak=2.0)(grid, VELOCITY, jax.random.key(0))
    c = initial.RandomPhase(peak=2.0)(grid, key=jax.random.key(1))
    flow = NavierStokes(grid, 0.05, scalars={"a": sw.PassiveScalar(0.02, (1.0, 0.0, 0.5))})
    state = advanced(flow, ETDRK4(), {"velocity": u, "a": c}, 0.2, 0.01)
    alone = advanced(NavierStokes(grid, 0.05), ETDRK4(), u, 0.2, 0.01)
    np.testing.assert_allclose(state.field["velocity"], alone.field["velocity"], atol=1e-15)
    now = jax.jit(flow.report.energies)(state.field)
    for name in ("energy", "a_variance"):
        missing = imbalance(name, float(state.energies[name]), float(now[name]), state.budget)
        assert abs(missing) < 1e-9
    assert abs(float(state.budget["a_variance_from_gradient"])) > 1e-4
    calls = transforms_in_step(flow, IFRK2(), sw.steppers.start.state_shapes(flow, IFRK2(), with_key=False))
    batches = sorted((call.forward, call.batch) for call in calls)
    assert batches == [(False, 4)] * 2 + [(True, 8)] * 2


def test_a_run_file_with_scalars(tmp_path):
    text = """
    [grid]
    shape = [8, 8]
    [equation]
    name = "navier-stokes"
    viscosity = 0.1
    [scalars.dye]
    diffusivity = 0.1
    mean_gradient = [1.0, 0.0]
    source = "cos(x)*viscosity"
    [initial.velocity]
    name = "taylor-green"
    [initial.dye]
    name = "bump"
    [time]
    stepper = "ifrk2"
    step = 0.1
    end = 0.2
    """
    path = tmp_path / "scalars.toml"
    path.write_text(text)
    config = assemble.read_run_file(path, ["devices.virtual=1"])
    assert list(config.initial) == ["velocity", "dye"]
    assert config.to_table()["scalars"]["dye"]["mean_gradient"] == [1.0, 0.0]
    with pytest.raises(ConfigError, match=r"initial\.dye\.name is missing"):
        assemble.read_run_file(path, ["initial={ velocity = { name = 'taylor-green' } }"])
    with pytest.raises(ConfigError, match=r"scalars\.dye\.diffusivity -1.0: zero or more is needed"):
        assemble.dry_run(assemble.read_run_file(path, ["scalars.dye.diffusivity=-1.0"]), 1)
    with pytest.raises(ConfigError, match=r"scalars\.dye\.difusivity: unknown key; did you mean 'diffusivity'"):
        assemble.read_run_file(path, ["scalars.dye.difusivity=1.0"])
