"""Flows past bodies: against other solvers and exact solutions, on any devices, as gradients, in float32, continued."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import solver as sw
from solver.assemble.registry import Registry

STEPPER = sw.steppers.ETDRK4()  # whose steady states do not depend on the step


def integrated(equation, start, step, steps):
    return sw.integrate(equation, STEPPER, sw.initial_state(equation, STEPPER, start), step=step, steps=steps)


def velocity(equation, state):
    return np.asarray(sw.gather(equation.to_physical(state.field)["velocity"]))


def on_bodies(equation, state, t=0.0):
    row = jax.jit(lambda equation, fields, t: equation.on_bodies(fields, t))(equation, state.field, t)
    return {name: float(value) for name, value in row.items()}


# ---- Poiseuille -----------------------------------------------------------------------------------------------------

N = 256


def channel(eta):
    """u(y) between walls where u_xx = −1, by collocation on the same points: u'' − (χ/η) u = −1."""
    y = np.arange(N) * 2 * np.pi / N
    d = np.abs((y + np.pi) % (2 * np.pi) - np.pi) - np.pi / 2
    chi = 0.5 * (1 - np.tanh(2 * d / (2.64822828 * np.sqrt(eta))))
    k, modes = np.fft.fftfreq(N, 1 / N), np.fft.fft(np.eye(N), axis=0)
    second = np.real(np.fft.ifft(-(k**2)[:, None] * modes, axis=0))
    return np.linalg.solve(second - np.diag(chi / eta), -np.ones(N))


@pytest.mark.slow
def test_poiseuille_flow_is_that_of_a_collocation_solver_and_of_first_order_in_eta():
    errors = []
    for eta in (4e-2, 1e-2):
        grid = sw.Grid((2, N), lengths=(1.0, 2 * np.pi), dealias="none", mesh=sw.device_mesh([0]))
        flow = sw.equations.NavierStokes(
            grid, viscosity=1.0, bodies=sw.bodies.Wall(0.0, np.pi, eta=eta), forcing=sw.forcing.Uniform((1.0, 0.0))
        )
        state = integrated(flow, jnp.zeros((2, 2, N)), step=eta, steps=int(30 / eta))
        u = velocity(flow, state)[0, 0]
        np.testing.assert_allclose(u, channel(eta), atol=1e-9)
        errors.append(u[N // 2] / (np.pi**2 / 8) - 1)
    assert errors[1] == pytest.approx(0.0099, abs=2e-4)
    assert 3.7 < errors[0] / errors[1] < 4.4


# ---- Stokes flow through a square array of cylinders ----------------------------------------------------------------


def resistance(n, fraction, published):
    """Force per length on a cylinder, over μU of the superficial velocity."""
    grid = sw.Grid((n, n), lengths=1.0, mesh=sw.device_mesh([0]))
    disc = sw.bodies.Cylinder((0.5, 0.5), np.sqrt(fraction / np.pi))
    flow = sw.equations.NavierStokes(
        grid, viscosity=1.0, bodies=disc, forcing=sw.forcing.Uniform((1.0, 0.0)), energy_budget=False
    )
    step = 2.0 * disc.penalisation_time(flow.obstacles.scene)
    state = integrated(flow, jnp.zeros((2, n, n)), step=step, steps=int(12 / (published * step)))
    mean = float(jnp.real(state.field["velocity"][0, 0, 0]))
    solid = on_bodies(flow, state)["body_force_x"]
    assert solid == pytest.approx(1 - fraction, rel=0.02), "the rest is the force on the fluid inside the solid"
    return 1 / mean


@pytest.mark.thorough
@pytest.mark.slow
def test_stokes_flow_through_an_array_of_cylinders():
    """Within 2 %, and of second order in the spacing, where cylinders fill a fifth of the space.

    Source: Sangani & Acrivos, Int. J. Multiphase Flow 8 (1982) 193.
    """
    coarse, fine = (resistance(n, 0.2, 51.53) / 51.53 - 1 for n in (64, 128))
    assert abs(fine) < 0.02
    assert np.log(coarse / fine) / np.log(2) > 1.6


# ---- Couette flow between cylinders ---------------------------------------------------------------------------------


@pytest.mark.slow
def test_couette_flow_between_cylinders_is_exact_to_the_order_of_eta():
    inner, outer, spin = 0.6, 1.4, 1.0
    errors = []
    for n in (32, 64):
        grid = sw.Grid((n, n), lengths=4.0, mesh=sw.device_mesh([0]))
        bodies = {
            "axle": sw.bodies.Cylinder((2.0, 2.0), inner, rotation=spin),
            "case": sw.bodies.Cylinder((2.0, 2.0), outer, inverted=True),
        }
        flow = sw.equations.NavierStokes(grid, viscosity=1.0, bodies=bodies, energy_budget=False)
        step = 2.0 * bodies["axle"].penalisation_time(flow.obstacles.scene)
        state = integrated(flow, jnp.zeros((2, n, n)), step=step, steps=int(1.0 / step))
        x, y = (np.asarray(c) - 2.0 for c in grid.meshgrid())
        r = np.hypot(x, y)
        u = velocity(flow, state)
        swirl = (x * u[1] - y * u[0]) / np.where(r > 0, r, 1)
        b = spin * inner**2 * outer**2 / (outer**2 - inner**2)
        exact = b / np.where(r > 0, r, 1) - b * r / outer**2
        inside = (r > inner + 0.15) & (r < outer - 0.15)
        torque = on_bodies(flow, state)
        assert torque["axle_torque"] == pytest.approx(-torque["case_torque"], rel=0.02)
        assert torque["axle_torque"] == pytest.approx(-4 * np.pi * b, rel={32: 0.03, 64: 0.005}[n])
        errors.append(np.abs(swirl - exact)[inside].max())
    assert errors[1] < 0.01
    assert errors[0] > 2.5 * errors[1]


# ---- bodies that move -----------------------------------------------------------------------------------------------

SHAPE, LENGTHS = (48, 40), (6.0, 5.0)


def stream(speed, body, shape=SHAPE, mesh=None, precision="float64", **options):
    grid = sw.Grid(shape, lengths=LENGTHS, mesh=mesh or sw.device_mesh([0]), precision=precision)
    flow = sw.equations.NavierStokes(grid, viscosity=0.1, bodies=body, **options)
    start = jnp.zeros((2, *shape), grid.dtype).at[0].set(speed)
    return flow, start


@pytest.mark.slow
def test_a_body_at_rest_and_one_carried_with_the_stream_are_the_same_flow():
    """Up to a shift: after a time in which the second has moved by whole spacings."""
    ahead, steps, step = 1.0, 128, 1.0 / 128
    at_rest, start = stream(1.0, sw.bodies.Cylinder((2.0, 2.5), 0.6))
    first = integrated(at_rest, start, step, steps)
    moved, start = stream(1.0 + ahead, sw.bodies.Cylinder((2.0, 2.5), 0.6, velocity=(ahead, 0.0)))
    second = integrated(moved, start, step, steps)
    u, v = velocity(at_rest, first), velocity(moved, second)
    v = np.roll(v, -round(ahead / (LENGTHS[0] / SHAPE[0])), axis=1)
    v[0] -= ahead
    assert np.abs(u - v).max() < 2e-3
    assert np.abs(velocity(moved, second) - u).max() > 0.5
    forces = on_bodies(at_rest, first), on_bodies(moved, second, 1.0)
    assert forces[0]["body_force_x"] == pytest.approx(forces[1]["body_force_x"], rel=0.01)


@pytest.mark.slow
def test_a_body_that_the_flow_goes_through_is_told():
    slips = {}
    for eta in (0.02, 0.5):
        flow, start = stream(1.0, sw.bodies.Cylinder((2.0, 2.5), 0.6, eta=eta), energy_budget=False)
        row = on_bodies(flow, integrated(flow, start, 0.01, 100))
        slips[eta], said = row["body_slip"], flow.report.bodies.warnings(row, 11.0)
        assert [line.partition(" = ")[0] for line in said] == (["body_slip"] if eta == 0.5 else [])
        assert not flow.report.bodies.warnings(row, 19 * eta), "while it is set going"
    assert 0.02 < slips[0.02] < 0.1 < 0.3 < slips[0.5] < 0.8


@pytest.mark.slow
def test_the_force_is_what_the_fluid_outside_loses():
    """d/dt∫(1 − χ)u dV = −F, by differences in time, of a body that is set going."""
    disc = sw.bodies.Cylinder((2.0, 2.5), 0.6, velocity=(0.2, 0.5), frequency=0.7)
    flow, start = stream(1.0, disc, energy_budget=False)
    scene, at, cell = flow.obstacles.scene, flow.grid.coordinates(), np.prod(flow.grid.spacing)
    step, states = 1e-3, []
    state = integrated(flow, start, step, 300)
    for _ in range(3):
        states.append(state)
        state = sw.integrate(flow, STEPPER, state, step=step, steps=1)
    outside = [
        ((1 - np.asarray(disc.mask(at, float(s.t), scene))) * velocity(flow, s)).sum(axis=(1, 2)) * cell for s in states
    ]
    force = on_bodies(flow, states[1], float(states[1].t))
    lost = (outside[0] - outside[2]) / (2 * step)
    np.testing.assert_allclose([force["body_force_x"], force["body_force_y"]], lost, rtol=1e-4, atol=1e-5)
    assert abs(lost[0]) > 0.1


@pytest.mark.slow
def test_the_energy_budget_closes_and_a_cfl_number_counts_eta():
    disc = sw.bodies.Cylinder((2.0, 2.5), 0.6, velocity=(0.0, 0.5), frequency=0.5)
    flow, start = stream(1.0, disc)
    rates = {}
    for state in sw.evolve(flow, STEPPER, sw.initial_state(flow, STEPPER, start), end=0.4, control=sw.KeepCFL(0.5)):
        rates = {"dt": float(state.dt), "state": state}
    state, eta = rates["state"], disc.penalisation_time(flow.obstacles.scene)
    plain = stream(1.0, None)[0]
    rate, of_flow = (float(jax.jit(lambda e, f: e.rate(f))(e, state.field)) for e in (flow, plain))
    assert rate - of_flow == pytest.approx(1 / eta)
    assert rates["dt"] == pytest.approx(0.5 / rate, rel=0.2)
    budget = {name: float(value) for name, value in state.budget.items()}
    assert budget.keys() == {"energy_from_body", "energy_from_viscosity"}
    change = float(jax.jit(lambda f: flow.report.energies(f)["energy"])(state.field)) - float(state.energies["energy"])
    assert sum(budget.values()) == pytest.approx(change, rel=1e-5)
    assert abs(budget["energy_from_body"]) > 0.02


# ---- anywhere -------------------------------------------------------------------------------------------------------

SEVERAL = {
    "disc": sw.bodies.Cylinder((1.5, 2.5), 0.6),
    "flap": sw.bodies.Ellipsoid((4.0, 2.5), (0.9, 0.6), rotation=1.0, velocity=(0.1, 0.4), frequency=0.5),
    "end": sw.bodies.Sponge(0.0, 1.0, 5.0, (1.0, 0.0), edge=0.25),
}


IN_SPACE = {
    "ball": sw.bodies.Sphere((1.5, 1.2, 1.8), 0.8),
    "rod": sw.bodies.Ellipsoid((4.0, 3.0, 2.0), (1.2, 0.8, 0.8), rotation=(0.5, 0.8, 0.3), velocity=(0.1, 0.2, 0.0)),
}


@pytest.mark.thorough
@pytest.mark.slow
def test_any_devices_give_what_one_gives():
    found = {}
    for devices, mesh in (("one", sw.device_mesh([0])), ("many", sw.device_mesh(shape=(2, 4)))):
        grid = sw.Grid((24, 20, 16), lengths=(6.0, 5.0, 4.0), mesh=mesh)
        flow = sw.equations.NavierStokes(grid, viscosity=0.1, bodies=IN_SPACE)
        state = integrated(flow, jnp.zeros((3, 24, 20, 16)).at[0].set(1.0), 0.01, 10)
        found[devices] = velocity(flow, state), on_bodies(flow, state, 0.1)
    np.testing.assert_allclose(found["many"][0], found["one"][0], atol=1e-12)
    assert found["many"][1] == pytest.approx(found["one"][1], rel=1e-9, abs=1e-11)
    of = [f"{kind}_{axis}" for kind in ("force", "torque") for axis in "xyz"]
    assert set(found["one"][1]) == {f"{name}_{each}" for name in IN_SPACE for each in [*of, "slip"]}


@pytest.mark.thorough
@pytest.mark.slow
def test_what_is_kept_of_bodies_at_rest_changes_nothing():
    flow, start = stream(1.0, SEVERAL)
    kept = jax.jit(lambda flow: flow.prepared())(flow)
    assert {name: a.shape for name, a in kept.kept_of_bodies.items()} == {"kept strength": SHAPE}
    fields = flow.from_physical({"velocity": start})
    n = [np.asarray(e.nonlinear(fields, 0.3)["velocity"]) for e in (flow, kept)]
    np.testing.assert_allclose(*n, atol=1e-13 * np.abs(n[0]).max())


@pytest.mark.slow
def test_a_batch_over_radii_is_separate_runs():
    flow, start = stream(1.0, sw.bodies.Cylinder((2.0, 2.5), 0.6))
    state = sw.initial_state(flow, STEPPER, start)

    def run(radius):
        own = stream(1.0, sw.bodies.Cylinder((2.0, 2.5), radius))[0]
        return sw.integrate(own, STEPPER, state, step=0.01, steps=10).field["velocity"]

    radii = jnp.asarray([0.5, 0.8])
    together = jax.vmap(run)(radii)
    for n, radius in enumerate(radii):
        np.testing.assert_allclose(together[n], run(radius), atol=1e-13)


@pytest.mark.thorough
@pytest.mark.slow
def test_gradients_of_a_drag_are_differences():
    mesh = sw.device_mesh(range(2))

    def drag(radius, centre):
        disc = sw.bodies.Cylinder((2.0, centre), radius)
        flow, start = stream(1.0, {"disc": disc, "near": sw.bodies.Sphere((4.0, 1.5), 0.5)}, mesh=mesh)
        state = sw.integrate(flow, STEPPER, sw.initial_state(flow, STEPPER, start), step=0.02, steps=15)
        return flow.on_bodies(state.field, 0.3)["disc_force_x"]

    at = jnp.asarray(0.6), jnp.asarray(2.5)
    slopes = jax.jit(jax.grad(drag, argnums=(0, 1)))(*at)
    value = jax.jit(drag)
    for n in range(2):
        above, below = ([x + sign * 1e-4 * (i == n) for i, x in enumerate(at)] for sign in (1, -1))
        difference = (value(*above) - value(*below)) / 2e-4
        assert float(slopes[n]) == pytest.approx(float(difference), rel=1e-5)
    assert abs(float(slopes[0])) > 0.1


@pytest.mark.slow
def test_a_long_run_in_float32_stays_real_and_settles():
    """Against float64, after a thousand steps past two bodies and through a sponge."""
    fixed = {name: SEVERAL[name] for name in ("disc", "end")}
    flows = {p: stream(1.0, fixed, precision=p, energy_budget=False) for p in ("float32", "float64")}
    found = {}
    for precision, (flow, start) in flows.items():
        state = integrated(flow, start, 0.02, 1000)
        found[precision] = velocity(flow, state)
        assert found[precision].dtype == np.dtype(precision)
        x = found[precision][0]
        assert abs(x[0].mean() - 1.0) < 0.2, "the sponge holds the stream"
    assert np.abs(found["float32"] - found["float64"]).max() < 1e-3


@pytest.mark.slow
def test_plans_count_what_bodies_cost():
    """The rotational form: the trace-free one has no inverse transform to spare."""
    shapes = {2: ((32, 24), (3, 2)), 3: ((24, 24, 24), (6, 3))}
    for dimensions, (shape, transforms) in shapes.items():
        grid = sw.Grid(shape, lengths=5.0, mesh=sw.device_mesh([0]))
        sphere = sw.bodies.Sphere((2.0,) * dimensions, 0.9)
        assert sw.equations.NavierStokes(grid, viscosity=0.1, bodies=sphere).derived.plan.transforms == transforms
        plain = sw.equations.NavierStokes(grid, viscosity=0.1)
        assert plain.derived.plan.transforms == {2: (2, 2), 3: (3, 5)}[dimensions]


WITH_VELOCITY = ["isothermal-flow", "oldroyd-b"]  # the second program has the others, too


@pytest.mark.thorough
@pytest.mark.slow
@pytest.mark.parametrize("name", WITH_VELOCITY)
def test_equations_with_a_velocity_take_bodies(name):
    """The change of its velocity is that without bodies and −P(χ/η)u."""
    cls = Registry().find("equation", name).cls
    d = max(cls.dimensions)
    grid = sw.Grid((16,) * d, lengths=5.0, mesh=sw.device_mesh([0]))
    given = {f.name: 0.1 for f in dataclasses.fields(cls) if f.init and f.default is f.default_factory} | {
        "viscosity": 0.1
    }
    del given["grid"]
    plain, solid = cls(grid, **given), cls(grid, **given, bodies=sw.bodies.Sphere((2.0, 2.5, 2.5)[:d], 1.2))
    random = np.random.default_rng(1)
    fields = plain.from_physical(
        {n: jnp.asarray(0.1 * random.normal(size=shape)) for n, shape in plain.physical_shapes().items()}
    )
    u = plain.to_physical(fields)["velocity"]
    strength = solid.obstacles.at_rest(grid.coordinates())
    before, after = (e.nonlinear(fields, 0.0) for e in (plain, solid))
    added = plain.to_manifold({**fields, "velocity": plain.transform.forward(-strength * u)})["velocity"]
    scale = np.abs(np.asarray(added)).max()
    np.testing.assert_allclose(after["velocity"] - before["velocity"], added, atol=1e-9 * scale)
    for other in plain.fields:
        if other != "velocity":
            np.testing.assert_allclose(after[other], before[other], atol=1e-12)


# ---- sponges and forces that are the same everywhere ----------------------------------------------------------------


@pytest.mark.slow
def test_a_sponge_draws_the_flow_to_its_target():
    """Uniform flow that is crossed by a sponge of the whole cross-section: only the mean can change."""
    flow, start = stream(0.0, {"end": SEVERAL["end"]}, energy_budget=False)
    state = integrated(flow, start, 0.02, 500)
    np.testing.assert_allclose(velocity(flow, state)[0], 1.0, atol=1e-2)
    assert np.abs(velocity(flow, state)[1]).max() < 1e-12
    strength = flow.obstacles.named["end"].strength(flow.grid.coordinates(), 0.0, flow.obstacles.scene)
    mean = float(jnp.mean(strength))
    assert mean == pytest.approx(5.0 * 1.0 / LENGTHS[0], rel=1e-6), "its width, on both sides of the edge of the box"
    early = integrated(flow, start, 0.01, 50)
    assert float(jnp.real(early.field["velocity"][0, 0, 0])) == pytest.approx(1 - np.exp(-0.5 * mean), rel=1e-4)


def test_a_sponge_can_hold_the_flow_of_a_channel():
    """A parabola about the middle of the box, whose mean over the channel is the target; nothing outside."""
    sponge = sw.bodies.Sponge(1.0, 1.0, 5.0, (0.4, -0.2), channel=2.0)
    flow, _ = stream(1.0, {"in": sponge})
    x, y = flow.grid.coordinates()
    u, v = sponge.towards((x, y), 0.0, flow.obstacles.scene)
    parabola = np.where(np.abs(y - 2.5) < 1, 1.5 * (1 - (y - 2.5) ** 2), 0)
    np.testing.assert_allclose(u, 0.4 * parabola, atol=1e-15)
    np.testing.assert_allclose(v, -0.2 * parabola, atol=1e-15)
    inside = np.linspace(1.5, 3.5, 2001)
    assert np.mean(sponge.towards((0.0, inside), 0.0, flow.obstacles.scene)[0]) == pytest.approx(0.4, rel=1e-3)
    for wrong in ({"channel": 6.0}, {"channel": 2.0, "axis": "y"}):
        with pytest.raises(ValueError, match=r"sponge.in.channel .*: a width along y of 5 or less is needed"):
            stream(1.0, {"in": sw.bodies.Sponge(1.0, 1.0, 5.0, (0.4, 0.0), **wrong)})


@pytest.mark.slow
def test_a_flow_rate_is_kept_whatever_a_body_takes():
    disc = sw.bodies.Cylinder((2.0, 2.5), 0.6)
    flow, start = stream(1.0, disc, forcing=sw.forcing.FlowRate((1.0, 0.0)))
    state = integrated(flow, start, 0.02, 100)
    mean = [float(jnp.real(u[0, 0])) for u in state.field["velocity"]]
    assert mean == pytest.approx([1.0, 0.0], abs=1e-12)
    slow, start = stream(0.5, disc, forcing=sw.forcing.FlowRate((1.0, 0.0), relaxation=0.2))
    state = integrated(slow, start, 0.01, 50)
    assert float(jnp.real(state.field["velocity"][0, 0, 0])) == pytest.approx(1 - 0.5 * np.exp(-2.5), rel=1e-6)
    with pytest.raises(ValueError, match=r"flow-rate.velocity .*: 2 numbers are needed"):
        stream(1.0, disc, forcing=sw.forcing.FlowRate((1.0,)))
    with pytest.raises(ValueError, match=r"uniform.acceleration .*: 2 numbers are needed"):
        stream(1.0, disc, forcing=sw.forcing.Uniform((1.0, 0.0, 0.0)))
