"""Particles between walls: splines from wall to wall, drift, reflection, random walks in shear, runs."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from written_runs import convection

import solver as sw
from solver.cli.main import main
from solver.dynamics.budget import Changes
from solver.dynamics.companion import Step
from solver.particles.exchange import flow_at
from solver.particles.flow import FlowSource
from solver.particles.splines import cells, halves, knot_slopes, knot_weights, spline_error, whole_of
from solver.particles.starts import check_start, positions_at_start
from solver.spaces.field import Field
from solver.spaces.polynomials import Polynomials, PolynomialSpace
from solver.walls import legendre


@pytest.mark.parametrize(("points", "order"), [(24, 4), (33, 6), (24, 8)])
def test_splines_meet_polynomials_as_waves_are_met(points, order):
    """Exactly those below the order, all at the walls, and the steepest to the error of a wave of as many points."""
    count = legendre.modes_of(points)
    x = np.concatenate([np.linspace(0, 1, 2001), [0.0, 1.0]])
    first = cells(jnp.asarray(x), points, order)
    weights = np.asarray(knot_weights(jnp.asarray(x), first, points, order))
    slopes = np.asarray(knot_slopes(jnp.asarray(x), first, points, order))
    np.testing.assert_allclose(weights.sum(axis=0), 1, rtol=0, atol=1e-14)
    matrix = whole_of(halves(points, order, count), points, count)
    at = np.asarray(first) + np.arange(order)[:, None]
    found, steep = (np.einsum("mp,mpn->pn", own, matrix[at]) for own in (weights, slopes))
    exact = legendre.values(count, 2 * x - 1)
    slope = 2 * exact @ legendre.derivative(count)
    np.testing.assert_allclose(found[-2:], exact[-2:], rtol=1e-14)
    np.testing.assert_allclose(found[:, :order], exact[:, :order], rtol=0, atol=1e-13)
    np.testing.assert_allclose(steep[:, :order], slope[:, :order], rtol=0, atol=1e-11)
    for n in (count // 2, 3 * count // 4, count - 1):
        error = np.sqrt(np.mean((found - exact)[:, n] ** 2))
        assert 0.01 < error / spline_error(np.pi * (n + 0.5) / points, order) < 1.0, n


def channel(shape, *, devices=(0,), lengths=(2.0, 1.0), walls=None, particles, precision="float64", **more):
    across = "xyz"[len(shape) - 1]
    mesh = sw.device_mesh(devices)
    grid = sw.Grid(shape, lengths, walls=across, mesh=mesh, precision=precision)
    of = {"velocity": sw.walls.NoSlip() if walls is None else walls}
    return sw.equations.NavierStokes(grid, 0.1, walls=of, particles={"dust": particles}, **more)


def places(flow, state):
    return flow.particles["dust"].unwrapped(np.asarray(state.field["dust"]), flow.grid.box.lengths)


STARTS = {
    2: np.array([[0.1, 0.0], [1.9, 0.3], [0.7, 0.5], [1.1, 1.0]]),
    3: np.array([[0.1, 0.2, 0.0], [1.9, 0.9, 0.3], [0.7, 2.9, 0.5], [1.1, 1.5, 1.0]]),
}


@pytest.mark.slow
@pytest.mark.every_case
@pytest.mark.parametrize(
    ("shape", "devices", "kind"),
    [
        ((8, 12), (0,), "Tracers"),
        ((9, 8, 9), (0, 1), "Tracers"),  # sides that no devices divide
        pytest.param((8, 8, 12), (0, 1), "Inertial", marks=pytest.mark.thorough),
    ],
)
def test_a_parabola_carries_them_exactly(shape, devices, kind):
    """Which splines hold: x = x₀ + 4z₀(H − z₀)t/H² in Poiseuille flow to round-off, at the walls as anywhere."""
    d = len(shape)
    more = {"response_time": 0.3} if kind == "Inertial" else {}
    dust = getattr(sw.particles, kind)(places=STARTS[d], order=4, **more)
    force = sw.forcing.Uniform((0.8, *[0.0] * (d - 1)))
    lengths = (2.0, 1.0) if d == 2 else (2.0, 3.0, 1.0)
    flow = channel(shape, devices=devices, lengths=lengths, particles=dust, forcing=force)
    stepper = sw.steppers.Krogstad4()
    start = sw.sample(lambda *x: [4 * x[-1] * (1 - x[-1]) + 0 * sum(x), *[0 * sum(x)] * (d - 1)], flow.grid)
    state = sw.initial_state(flow, stepper, start)
    state = sw.integrate(flow, stepper, state, step=0.25, steps=16)
    z = STARTS[d][:, -1]
    wanted = STARTS[d] + 4.0 * np.eye(d)[0] * (4 * z * (1 - z))[:, None]
    np.testing.assert_allclose(places(flow, state), wanted, rtol=0, atol=1e-12)
    assert np.asarray(state.field["dust"])[0].max() < 2


@pytest.mark.slow
def test_acceleration_above_a_plate_that_swings():
    """Stokes' second problem: u = Re exp(iωt) sinh κ(H − y)/sinh κH with κ² = iω/ν, also at the plate."""
    t, omega, kappa = 0.3, 2.0, np.sqrt(2j / 0.1)
    at = lambda y: np.exp(1j * omega * t) * np.sinh(kappa * (1 - y)) / np.sinh(kappa)  # noqa: E731
    still = sw.particles.Tracers(places=np.array([[0.1, 0.0], [0.2, 0.02], [0.7, 0.6]]))
    flow = channel((8, 25), walls=sw.walls.Moving(lower=f"cos({omega}*t)"), particles=still).at_time(t)
    u = np.stack([at(flow.grid.coordinates()[1]).real + np.zeros((8, 1)), np.zeros((8, 25))])

    @jax.jit
    def accelerations(flow, u, places):
        fields = flow.from_physical({"velocity": u})
        changes = Changes(flow.linear().apply(fields), flow.nonlinear(fields, t), {})
        return FlowSource(flow, fields, changes, None).values(places, {"acceleration"}, 6, False)["acceleration"]

    found = accelerations(flow, jnp.asarray(u), jnp.asarray(still.places).T)
    np.testing.assert_allclose(found[0], (1j * omega * at(still.places[:, 1])).real, atol=2e-5)
    np.testing.assert_allclose(found[1], 0, atol=1e-12)


@pytest.mark.slow
def test_gradients_by_a_wall_and_by_starts():
    """In Couette flow x = x₀ + U t z₀/H: the derivatives are known."""
    starts, stepper, time = STARTS[2], sw.steppers.Krogstad4(), 0.5

    def found(speed, starts):
        dust = sw.particles.Tracers(places=starts, order=4)
        flow = channel((4, 8), walls=sw.walls.Moving(lower=0.0, upper=speed), particles=dust)
        state = sw.initial_state(flow, stepper, sw.sample(lambda x, z: [1.5 * z + 0 * x, 0 * z * x], flow.grid))
        state = sw.integrate(flow, stepper, state, step=0.25, steps=2)
        return jnp.sum(state.field["dust"][0, :4] * jnp.arange(1.0, 5.0))

    by_starts = jax.grad(lambda starts: found(1.5, starts))(jnp.asarray(starts))
    np.testing.assert_allclose(by_starts[:, 0], [1, 2, 3, 4], rtol=1e-12)
    np.testing.assert_allclose(by_starts[1:3, 1], 1.5 * time * np.array([2, 3]), rtol=1e-11)


@pytest.mark.thorough  # the second program compares values, and a parabola is exact
@pytest.mark.slow
@pytest.mark.parametrize("order", [4, 8])
def test_values_and_slopes_converge_at_the_order_of_the_spline(order):
    """Against the sum of modes, on the points of two grids."""
    errors = []
    for points in (12, 24):
        grid = sw.Grid((points, points), (2.0, 1.0), walls="y", mesh=sw.device_mesh([0]))
        space = PolynomialSpace("field", Field(), grid, polynomials=Polynomials.on(grid))
        wave = lambda x, y: [jnp.cos(np.pi * x + 0.4) * jnp.sin(3 * y), jnp.exp(y) + 0 * x]  # noqa: E731
        c = space.polynomials_of(sw.sample(wave, grid))
        x = np.random.default_rng(0).uniform(0, 1, (2, 500)) * [[2.0], [1.0]]
        x[1, :2] = 0, 1
        found = np.asarray(flow_at(c, jnp.asarray(x), space, order=order, slopes=True))
        exact = np.asarray(space.at_places(c, x.T.tolist())).T
        steep = [-np.pi * np.sin(np.pi * x[0] + 0.4) * np.sin(3 * x[1]), np.exp(x[1])]
        steep = [np.abs(found[1, 0] - steep[0]).max(), np.abs(found[2, 1] - steep[1]).max()]
        errors.append([np.abs(found[0] - exact).max(), *steep])
        np.testing.assert_allclose(found[0, 1, :2], exact[1, :2], rtol=1e-12)  # which does not depend on x
        beyond = jnp.asarray(x[:, :2] + [[0.0], [0.0]]) + jnp.asarray([[0.0, 0.0], [-0.3, 0.3]])
        np.testing.assert_allclose(flow_at(c, beyond, space, order=order), found[0, :, :2], rtol=0, atol=1e-13)
    falls = np.log2(np.array(errors[0]) / np.array(errors[1]))
    assert falls[0] > order - 0.8
    assert falls[1] > order - 1.3
    assert errors[1][2] < 1e-11 or falls[2] > order - 1.3


# ---- reflection -------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_paths_beyond_a_wall_are_mirrored_and_counted():
    dust = sw.particles.Inertial(places=[[0.5, 0.5]] * 6, response_time=0.1)
    flow = channel((8, 8), lengths=(2.0, 1.0), particles=dust)
    x = np.zeros((7, 6))
    x[1] = [-0.1, 1.25, 1.0, 0.0, 3.3, -1.4]
    x[0], x[4], x[5] = 2.5, 1.0, [-3.0, 3.0, 3.0, -3.0, 3.0, 2.0]
    y = np.asarray(dust._within(jnp.asarray(x), flow, 0.0))
    np.testing.assert_allclose(y[1], [0.1, 0.75, 1.0, 0.0, 0.7, 0.6], atol=1e-15)
    np.testing.assert_array_equal(y[6], [1, 1, 0, 0, 3, 2])
    x[1] = [-1e-17, 1 + 4e-16, -1e-12, 1.0, 0.0, 0.5]  # of which the third is more than rounding
    by_rounding = np.asarray(dust._within(jnp.asarray(x), flow, 0.0))
    np.testing.assert_array_equal(by_rounding[6], [0, 0, 1, 0, 0, 0])
    np.testing.assert_array_equal(by_rounding[1, [0, 1]], [0, 1])
    np.testing.assert_array_equal(y[5], [3, -3, 3, -3, -3, 2])
    np.testing.assert_array_equal(y[4], 1.0)
    np.testing.assert_array_equal(y[0], 0.5)
    np.testing.assert_array_equal(y[2:4], [[1] * 6, [0] * 6])


@pytest.mark.slow
def test_heavy_particles_are_reflected_elastically():
    """In fluid at rest their path is a relaxation that walls mirror, for steps of any length."""
    tau, speed, steps = 0.8, np.array([-3.0, 2.0, 0.0, 1.0]), 10
    dust = sw.particles.Inertial(places=STARTS[2], order=4, response_time=tau)
    flow, stepper = channel((4, 8), particles=dust), sw.steppers.Krogstad4()
    state = sw.initial_state(flow, stepper, jnp.zeros((2, 4, 8)))
    y = state.field["dust"].at[5].set(speed)
    state = dataclasses.replace(state, field={**state.field, "dust": y})
    state = sw.integrate(flow, stepper, state, step=0.1, steps=steps)
    way = STARTS[2][:, 1] + speed * tau * -np.expm1(-0.1 * steps / tau)
    y = np.asarray(state.field["dust"])
    np.testing.assert_allclose(y[1, :4], 1 - np.abs(np.mod(way, 2) - 1), rtol=0, atol=1e-13)
    crossed = np.where(way < 0, -np.floor(way), np.ceil(way) - 1)
    np.testing.assert_array_equal(y[6, :4], crossed)
    np.testing.assert_allclose(y[5, :4], speed * np.exp(-0.1 * steps / tau) * (-1.0) ** crossed, rtol=1e-12)
    assert float(dust.series(flow, state.field["dust"], {}, 0.0)["dust_reflections"]) == crossed.sum() > 2
    assert dust.row_warnings(flow, {"dust_reflections": 3.0}) == []
    with pytest.raises(TypeError, match=r"stepper sbdf2 continues from earlier steps, .* dust .* krogstad4"):
        sw.steppers.SBDF2().check(flow)
    tracers = channel((4, 8), particles=sw.particles.Tracers(count=4))
    sw.steppers.SBDF2().check(tracers)
    [line] = tracers.particles["dust"].row_warnings(tracers, {"dust_reflections": 3.0})
    assert line.startswith("dust_reflections = 3: steps carried particles beyond a wall")


@pytest.mark.thorough
@pytest.mark.slow
def test_random_walks_between_walls_and_taylor_dispersion():
    """The density relaxes as reflecting walls say, and Couette flow spreads particles as Taylor's dispersion does.

    With λ_n = κ(nπ/H)² the mean of cos(nπz/H) is exp(−λ_n t), of particles from the lower wall. Of those that
    started anywhere Var x = 2κt + Σ a_n² (t/λ_n − (1 − exp(−λ_n t))/λ_n²), n odd, a_n = 4U/(nπ)²: for long times the
    diffusivity κ(1 + (UH/κ)²/120).
    """
    kappa, speed, time, count = 0.2, 2.0, 1.5, 6000
    stepper = sw.steppers.Krogstad4()
    places_of = [None, np.stack([np.zeros(count), np.zeros(count)], 1)]
    moved = []
    for given in places_of:
        start = {"count": count} if given is None else {"places": given}
        dust = sw.particles.Brownian(order=4, diffusivity=kappa, **start)
        flow = channel((4, 8), walls=sw.walls.Moving(lower=-speed / 2, upper=speed / 2), particles=dust)
        initial = sw.sample(lambda x, z: [speed * (z - 0.5) + 0 * x, 0 * z * x], flow.grid)
        state = sw.initial_state(flow, stepper, initial, seed=1)
        y = state.field["dust"]
        kicked = np.asarray(dust.before_step(flow, y, Step(y, 0.0, 1.0, state.key, 1)))[1]
        assert 0 <= kicked.min() <= 0.01 < 0.99 < kicked.max() <= 1
        begin = places(flow, state)
        assert 0 <= begin[:, 1].min() <= begin[:, 1].max() <= 1
        moved.append((begin, places(flow, sw.integrate(flow, stepper, state, step=0.05, steps=30))))
    n = np.arange(1, 99, 2)
    decay, size = kappa * (n * np.pi) ** 2, 4 * speed / (n * np.pi) ** 2
    spread = 2 * kappa * time + np.sum(size**2 * (time / decay + np.expm1(-decay * time) / decay**2))
    assert spread > 1.4 * 2 * kappa * time  # that the walk alone would have
    begin, end = moved[0]
    assert np.var(end[:, 0] - begin[:, 0]) == pytest.approx(spread, rel=4 * np.sqrt(2 / count))
    for k in (1, 2, 3):
        assert abs(np.mean(np.cos(k * np.pi * end[:, 1]))) < 4 * np.sqrt(0.5 / count)
        mean = np.mean(np.cos(k * np.pi * moved[1][1][:, 1]))
        assert mean == pytest.approx(np.exp(-kappa * (k * np.pi) ** 2 * time), abs=4 * np.sqrt(0.5 / count))


# ---- starts and runs --------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_starts_are_between_the_walls():
    grid = sw.Grid((4, 8), (2.0, 0.5), walls="y", mesh=sw.device_mesh([0]))
    pairs = sw.particles.Tracers(count=200, start="pairs", distance=0.25)
    x = np.asarray(positions_at_start(pairs, channel((4, 8), lengths=(2.0, 0.5), particles=pairs), 200))
    assert 0 <= x[1].min() <= x[1].max() <= 0.5
    np.testing.assert_allclose(np.linalg.norm(x[:, 1::2] - x[:, ::2], axis=0), 0.25, rtol=1e-12)
    with pytest.raises(ValueError, match=r"distance = 0.3 between walls; 0.25 or less is needed"):
        check_start(sw.particles.Tracers(count=2, start="pairs", distance=0.3), grid)
    check_start(sw.particles.Tracers(places=[[0.0, 0.5]]), grid)
    with pytest.raises(ValueError, match=r"1 of 1 positions are outside of the box 2 × 0.5"):
        check_start(sw.particles.Tracers(places=[[2.0, 0.5]]), grid)


RUN = convection(
    [8, 12],
    1e5,
    0.3,
    """
[particles.tracers]
count = 30
[particles.drops]
kind = "inertial"
count = 9
start = "lattice"
order = 4
response_time = 0.02
gravity = [0.0, -20.0]
[time]
stepper = "krogstad4"
step = 0.04
end = 0.64
[devices]
use = [0]
[output.series]
every_steps = 4
[output.particles]
every_steps = 1
record = ["velocity", "acceleration", "temperature"]
""",
    prandtl=0.71,
)


@pytest.mark.thorough  # test_runs.py resumes one in a periodic box
@pytest.mark.slow
def test_a_run_between_walls_is_resumed_to_the_bit(tmp_path):
    """Recorded velocities are the rates of positions, and accelerations those of velocities."""
    path, whole, run = tmp_path / "run.toml", tmp_path / "whole", tmp_path / "run"
    path.write_text(RUN)
    assert main(["run", str(path), f"output.directory={whole}"]) == 0
    assert main(["run", str(path), f"output.directory={run}", "time.end=0.32"]) == 0
    assert main(["resume", str(run), "time.end=0.64"]) == 0
    for name, one in sw.open_run(whole).particles.items():
        again = sw.open_run(run).particles[name].sel(t=one.t)
        assert all(np.array_equal(one[key], again[key]) for key in one), name
        assert 0 <= one.position.values[..., 1].min() <= one.position.values[..., 1].max() <= 1
    tracers = sw.open_run(whole).particles["tracers"]
    x, u, a = (tracers[name].values for name in ("position", "velocity", "acceleration"))
    np.testing.assert_allclose((x[10] - x[8]) / 0.08, u[9], rtol=0, atol=2e-2 * np.abs(u).max())
    np.testing.assert_allclose((u[10] - u[8]) / 0.08, a[9], rtol=0, atol=5e-2 * np.abs(a).max())
    assert np.abs(u).max() > 0.01
    series = sw.open_run(whole).series
    assert float(series.drops_reflections[-1]) > 5
    assert float(series.tracers_reflections[-1]) == 0
