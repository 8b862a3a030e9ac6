"""How particles move: to the order of the stepper, as the flow and their own equation of motion say."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import solve_ivp

import solver as sw
from solver.particles import Particles
from solver.particles.flow import velocity_of

STARTS = np.array([[0.4, 0.3], [2.0, 5.9], [6.2, 3.3], [4.4, 0.1]])
A = 2.0


def vortices(x, y):
    """Vorticity of u = A (cos x sin y, −sin x cos y) and a wind: a steady flow without viscosity."""
    return -2 * A * jnp.cos(x) * jnp.cos(y)


def velocity(x, y):
    return A * np.cos(x) * np.sin(y), -A * np.sin(x) * np.cos(y)


def exact(t, starts=STARTS):
    rates = lambda t, v: np.concatenate(velocity(*v.reshape(2, -1)))  # noqa: E731
    return solve_ivp(rates, (0, t), starts.T.ravel(), rtol=1e-11, atol=1e-12).y[:, -1].reshape(2, -1).T


def carried(stepper, particles, *, devices=(0,), shape=(16, 16), precision="float64", **more):
    grid = sw.Grid(shape, mesh=sw.device_mesh(devices), precision=precision)
    flow = sw.equations.Vorticity(grid, viscosity=0.0, particles={"dust": particles}, **more)
    return flow, sw.initial_state(flow, stepper, sw.sample(vortices, grid), seed=3)


def places(flow, state):
    return flow.particles["dust"].unwrapped(np.asarray(state.field["dust"]), flow.grid.box.lengths)


IN_A_UNIFORM_FLOW = {
    "vorticity": (lambda g, **own: sw.equations.Vorticity(g, 0.01, mean_velocity=(0.3, -0.2), **own), (0.3, -0.2)),
    "two layers": (lambda g, **own: sw.equations.TwoLayerQuasiGeostrophic(g, 2.0, shear=0.4, **own), (0.4, 0.0)),
    "many layers": (
        lambda g, **own: sw.equations.MultiLayerQuasiGeostrophic(
            g, ("a", "b"), (0.5, 0.5), (0.2,), mean_flows=(0.7, 0.1), **own
        ),
        (0.7, 0.0),
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=[pytest.mark.thorough] * (n != "many layers")) for n in IN_A_UNIFORM_FLOW]
)
def test_a_uniform_flow_that_is_no_field_carries_them(make_grid, name):
    make, wind = IN_A_UNIFORM_FLOW[name]
    flow = make(make_grid((8, 12), 1), particles={"dust": sw.particles.Tracers(places=STARTS)})
    rest = {field: jnp.zeros((1, 8, 12)) for field in flow.fields}
    state = sw.initial_state(flow, sw.steppers.IFRK2(), rest, seed=0)
    state = sw.integrate(flow, sw.steppers.IFRK2(), state, step=0.5, steps=2)
    np.testing.assert_allclose(places(flow, state), STARTS + wind, rtol=0, atol=1e-13)


def test_a_flow_that_depends_on_the_place_is_refused(make_grid):
    """Tracers would be carried by the field alone; an equation whose flow is no vector at all has no velocity."""
    lines = ["dt(u) = nu*lap(u)", "dt(c) = -u@grad(c)"]
    own = sw.write(lines, {"u": "vector", "c": "scalar"}, flows={"u": "u + sin(x)*ey"})
    grid, dust = make_grid((8, 12), 1), {"dust": sw.particles.Tracers(places=STARTS)}
    with pytest.raises(ValueError, match="a place, such as x, in a vector"):
        own(grid, nu=0.1, particles=dust)
    cells = sw.equations.AdvectionDiffusion(grid, 0.1, cell_speed=1.0)
    with pytest.raises(ValueError, match="advection-diffusion: it has no velocity"):
        dataclasses.replace(cells, particles=dust)


@pytest.mark.parametrize("taken", ["gradient", "acceleration"])
def test_a_scalar_with_the_name_of_a_quantity_at_particles_is_refused(make_grid, taken):
    scalars = {taken: sw.PassiveScalar()}
    with pytest.raises(ValueError, match=f"navier-stokes with a field '{taken}': another name of the field is needed"):
        sw.equations.NavierStokes(
            make_grid((8, 8), devices=1), 0.1, scalars=scalars, particles={"a": sw.particles.Tracers(3)}
        )


@pytest.mark.slow
@pytest.mark.every_case
@pytest.mark.parametrize(
    ("stepper", "order", "step"),
    [("IFRK4", 4, 0.2), ("ETDRK4", 4, 0.2), ("LSRK3", 3, 0.1), ("SBDF2", 2, 0.05), ("CNAB2", 2, 0.05)],
)
def test_tracers_are_moved_to_the_order_of_the_stepper(stepper, order, step):
    """Through the sides of the box, where multistep methods keep positions of steps before."""
    method, errors = getattr(sw.steppers, stepper)(), []
    for dt in (step, step / 2):
        flow, state = carried(method, sw.particles.Tracers(places=STARTS, order=8))
        *_, state = sw.evolve(flow, method, state, step=dt, end=2.0)
        errors.append(np.abs(places(flow, state) - exact(2.0)).max())
    assert errors[1] < 1e-2
    assert np.log2(errors[0] / errors[1]) > order - 0.4
    assert places(flow, state).min() < 0
    assert places(flow, state).max() > 2 * np.pi


@pytest.mark.slow
def test_on_several_devices_as_on_one_with_a_number_that_they_do_not_divide():
    stepper = sw.steppers.IFRK4()
    found = []
    for devices in ([0], [0, 1, 2]):
        flow, state = carried(
            stepper, sw.particles.Tracers(count=50, order=4, start="pairs", distance=0.1), devices=devices
        )
        pairs = places(flow, state).reshape(25, 2, 2)
        separation = np.linalg.norm((pairs[:, 1] - pairs[:, 0] + np.pi) % (2 * np.pi) - np.pi, axis=1)
        np.testing.assert_allclose(separation, 0.1, rtol=1e-12)
        *_, state = sw.evolve(flow, stepper, state, step=0.1, end=1.0)
        found.append(places(flow, state))
        assert state.field["dust"].shape == (4, 50 if len(devices) == 1 else 51)
    np.testing.assert_allclose(found[1], found[0], rtol=0, atol=1e-12)


@pytest.mark.slow
def test_single_precision_keeps_turns():
    """Whole turns are counted, so that a thousand steps of many turns cost no digits."""
    stepper = sw.steppers.IFRK4()
    flow, state = carried(stepper, Wind(places=STARTS), precision="float32")
    *_, state = sw.evolve(flow, stepper, state, step=0.25, end=250.0)
    moved = places(flow, state) - STARTS
    np.testing.assert_allclose(moved[:, 0], 250 * 7.0, rtol=0, atol=2e-3)
    np.testing.assert_allclose(moved[:, 1], 0, rtol=0, atol=1e-5)


class Wind(Particles):
    """A kind of one's own: a wind of 7 along x."""

    name = "wind"

    def motion(self, flow, particle, t):
        x = particle["position"]
        return {"position": jnp.stack([jnp.full_like(x[0], 7.0), jnp.zeros_like(x[1])])}


@pytest.mark.slow
def test_heavy_particles_relax_and_settle_in_fluid_at_rest():
    stepper, tau, g = sw.steppers.IFRK4(), 0.4, -0.5
    grid = sw.Grid((8, 8), mesh=sw.device_mesh([0]))
    drops = sw.particles.Inertial(places=STARTS, order=4, response_time=tau, gravity=(0.0, g), density_ratio=2.0)
    flow = sw.equations.Vorticity(grid, particles={"dust": drops})
    state = sw.initial_state(flow, stepper, jnp.zeros((8, 8)))
    *_, state = sw.evolve(flow, stepper, state, step=0.02, end=1.0)
    settled = (1 - 3 / 5) * g * tau
    velocity = settled * (1 - np.exp(-1.0 / tau))
    y = np.asarray(state.field["dust"])
    np.testing.assert_allclose(y[5, :4], velocity, rtol=1e-7)
    np.testing.assert_allclose((places(flow, state) - STARTS)[:, 1], settled - tau * velocity, rtol=1e-6)


@pytest.mark.slow
def test_particles_as_light_as_the_fluid_are_tracers_and_its_acceleration_is_known():
    """Neutral ones (β = 1) of the fluid's velocity stay with it: dv/dt = Du/Dt, which is −∇p of the steady vortices."""
    stepper = sw.steppers.IFRK4()
    flow, state = carried(stepper, sw.particles.Inertial(places=STARTS, response_time=0.5, density_ratio=1.0, order=8))
    *_, state = sw.evolve(flow, stepper, state, step=0.05, end=1.0)
    np.testing.assert_allclose(places(flow, state), exact(1.0), rtol=0, atol=2e-4)


@pytest.mark.slow
def test_steps_longer_than_a_response_allows_are_refused():
    stepper = sw.steppers.IFRK4()
    flow, state = carried(stepper, sw.particles.Inertial(places=STARTS, response_time=0.01))
    with pytest.raises(ValueError, match=r"a step of 0.1 with dust, which decays within 0.01: 0.0278 or less"):
        next(iter(sw.evolve(flow, stepper, state, step=0.1, end=1.0)))
    with pytest.raises(ValueError, match=r"steps of any length with dust.* as step or max_step"):
        next(iter(sw.evolve(flow, stepper, state, cfl=0.5, end=1.0)))


@pytest.mark.thorough
@pytest.mark.slow
def test_brownian_particles_diffuse_by_number_and_step():
    """In fluid at rest their displacement has the variance 2κt; by particle the same on any devices."""
    stepper, kappa = sw.steppers.IFRK4(), 0.3
    found = []
    for devices in ([0], [0, 1]):
        grid = sw.Grid((8, 8), mesh=sw.device_mesh(devices))
        dust = sw.particles.Brownian(order=4, count=4001, diffusivity=kappa)
        flow = sw.equations.Vorticity(grid, particles={"dust": dust})
        state = sw.initial_state(flow, stepper, jnp.zeros((8, 8)), seed=5)
        start = places(flow, state)
        *_, state = sw.evolve(flow, stepper, state, step=0.05, end=0.5)
        found.append(places(flow, state) - start)
    np.testing.assert_allclose(found[1], found[0], rtol=0, atol=1e-13)
    variance = np.mean(found[0] ** 2)
    assert variance == pytest.approx(2 * kappa * 0.5, abs=4 * variance * np.sqrt(2 / found[0].size))
    unseeded = sw.initial_state(flow, stepper, jnp.zeros((8, 8)))
    with pytest.raises(ValueError, match="particles brownian move at random: initial_state needs a seed"):
        sw.integrate(flow, stepper, unseeded, step=0.1, steps=1)


@pytest.mark.slow
def test_random_displacements_are_not_extrapolated_by_multistep_methods():
    """What a kick before a step adds is no velocity: the variance in fluid at rest is 2κt, as of one-step methods."""
    method, kappa = sw.steppers.SBDF2(), 0.3
    grid = sw.Grid((8, 8), mesh=sw.device_mesh([0]))
    dust = sw.particles.Brownian(order=4, count=4001, diffusivity=kappa)
    flow = sw.equations.Vorticity(grid, particles={"dust": dust})
    start = sw.initial_state(flow, method, jnp.zeros((8, 8)), seed=5)
    end = sw.integrate(flow, method, start, step=0.05, steps=10)
    variance = np.mean((places(flow, end) - places(flow, start)) ** 2)
    assert variance == pytest.approx(2 * kappa * 0.5, rel=4 * np.sqrt(2 / 8002))


@pytest.mark.slow
def test_they_begin_at_their_release():
    stepper = sw.steppers.SBDF2()
    flow, state = carried(stepper, sw.particles.Tracers(places=STARTS, order=8, release=1.0))
    *_, before, state = sw.evolve(flow, stepper, state, step=0.02, end=2.0, chunk=50)
    np.testing.assert_allclose(places(flow, before), STARTS, rtol=0, atol=1e-14)
    np.testing.assert_allclose(places(flow, state), exact(1.0), rtol=0, atol=5e-3)


@pytest.mark.slow
@pytest.mark.parametrize("devices", [1, pytest.param(2, marks=pytest.mark.thorough)])
def test_gradients_of_a_place_against_differences(devices, monkeypatch):
    """By the strength of the flow, through several rounds of the exchange, and by the starts."""
    monkeypatch.setattr("solver.particles.exchange.FEW", 0)
    stepper = sw.steppers.IFRK4()
    grid = sw.Grid((16, 16), mesh=sw.device_mesh(range(devices)))
    crowd = STARTS * np.array([0.2, 1.0])

    def found(strength, starts):
        flow = sw.equations.Vorticity(
            grid, viscosity=0.1, particles={"dust": sw.particles.Tracers(places=starts, order=4)}
        )
        state = sw.initial_state(flow, stepper, strength * sw.sample(vortices, grid))
        state = sw.integrate(flow, stepper, state, step=0.1, steps=3)
        return jnp.sum(jnp.sin(state.field["dust"][:2, :4]) * jnp.arange(1.0, 5.0))

    by_strength, by_starts = jax.grad(found, argnums=(0, 1))(1.0, jnp.asarray(crowd))
    h = 1e-5
    assert float(by_strength) == pytest.approx(float(found(1 + h, crowd) - found(1 - h, crowd)) / (2 * h), rel=1e-7)
    moved = np.zeros_like(crowd)
    moved[2, 1] = h
    difference = float(found(1.0, crowd + moved) - found(1.0, crowd - moved)) / (2 * h)
    assert float(by_starts[2, 1]) == pytest.approx(difference, rel=1e-6)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: sw.particles.Tracers(), "particles tracer with no count: one of count, path and places is needed"),
        (lambda: sw.particles.Tracers(count=0), "count = 0; one or more is needed"),
        (lambda: sw.particles.Tracers(count=4, order=5), "order = 5; one of 4, 6, 8, spectral is needed"),
        (lambda: sw.particles.Tracers(count=4, start="pairs"), "a positive distance is needed with start = 'pairs'"),
        (lambda: sw.particles.Tracers(count=4, start="file"), "a path is needed with start = 'file'"),
        (lambda: sw.particles.Tracers(path="no.npy", start="file").number(), "no.npy: there is no such file"),
        (lambda: sw.particles.Inertial(count=4, response_time=-1.0), "response_time = -1.0; a positive time is needed"),
        (lambda: sw.particles.Brownian(count=4), "diffusivity = 0.0; a positive number is needed"),
    ],
)  # fmt: skip
def test_wrong_numbers_are_one_line(make, message):
    with pytest.raises(ValueError, match=message.replace("(", r"\(")):
        make()


def test_the_velocity_carries_them_unless_another_vector_is_named():
    """Its name comes after that of the magnetic field."""
    grid = sw.Grid((8, 8), mesh=sw.device_mesh([0]))
    flow = sw.equations.MHD(grid, viscosity=0.1, resistivity=0.1)
    shapes = flow.field_shapes()
    assert velocity_of(flow, None, shapes) == "velocity"
    assert velocity_of(flow, "magnetic_field", shapes) == "magnetic_field"


def test_waves_that_splines_miss_are_told():
    stepper, dust = sw.steppers.IFRK4(), {"dust": sw.particles.Tracers(count=5)}
    flow = sw.equations.Vorticity(sw.Grid((12, 12), dealias="none", mesh=sw.device_mesh([0])), particles=dust)
    with pytest.warns(sw.CompanionWarning, match=r"dust: dealias 'none' keeps waves up to k h = 3.14.* error of 1: "):
        sw.initial_state(flow, stepper, jnp.zeros((12, 12)))
    assert flow.particles["dust"].warnings(sw.equations.Vorticity(sw.Grid((12, 12), mesh=sw.device_mesh([0])))) == []


def test_what_cannot_carry_them_is_refused():
    grid = sw.Grid((8, 8), mesh=sw.device_mesh([0]))
    dust = {"dust": sw.particles.Tracers(count=5)}
    with pytest.raises(ValueError, match="particles in allen-cahn: it has no velocity that carries them"):
        sw.equations.AllenCahn(grid, particles=dust)
    with pytest.raises(ValueError, match="field 'wind' of vorticity: the vectors are velocity"):
        sw.equations.Vorticity(grid, particles={"dust": sw.particles.Tracers(count=5, field="wind")})
    with pytest.raises(ValueError, match=r"1 of 1 positions are outside of the box .* number 0 at \(7, 1\)"):
        sw.equations.Vorticity(grid, particles={"dust": sw.particles.Tracers(places=[[7.0, 1.0]])})
    with pytest.raises(ValueError, match="a lattice of 5 in 2 dimensions; n\\^2 are needed, such as 4"):
        sw.equations.Vorticity(grid, particles={"dust": sw.particles.Tracers(count=5, start="lattice")})
    with pytest.raises(TypeError, match=r"particles = .*: a dict by name is needed"):
        sw.equations.Vorticity(grid, particles=sw.particles.Tracers(count=5))
