"""Scalars at bodies and in sponges: fixed values, and surfaces that nothing passes."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import solver as sw

STEPPER = sw.steppers.ETDRK3()
LENGTHS, SHAPE = (4.0, 3.0), (48, 36)


def stream(bodies, shape=SHAPE, lengths=LENGTHS, speed=0.0, diffusivity=0.05, mesh=None, **parameters):
    """Navier–Stokes with a dye and a heat, uniform flow, and fields that vary."""
    grid = sw.Grid(shape, lengths=lengths, mesh=mesh or sw.device_mesh([0]))
    scalars = {"dye": sw.PassiveScalar(diffusivity), "heat": sw.PassiveScalar(2 * diffusivity)}
    return sw.equations.NavierStokes(grid, viscosity=0.1, bodies=bodies, scalars=scalars, **parameters)


def run(flow, dye, speed, step, steps, heat=None):
    shape = flow.grid.physical_shape
    start = {"velocity": jnp.zeros((2, *shape)).at[0].set(speed), "dye": dye * jnp.ones((1, *shape)),
             "heat": jnp.zeros((1, *shape)) if heat is None else heat}  # fmt: skip
    state = sw.initial_state(flow, STEPPER, start)
    return sw.integrate(flow, STEPPER, state, step=step, steps=steps)


def values(flow, state, name):
    return np.asarray(flow.to_physical(state.field)[name])[0]


SEVERAL = {
    "hot": sw.bodies.Cylinder((1.0, 1.2), 0.5, fixed=("heat",), values=(2.0,), sealed=("dye",)),
    "cold": sw.bodies.Cylinder((3.2, 1.0), 0.5, fixed=("heat",), values=(-1.0,), velocity=(0.5, 0.2)),
    "shut": sw.bodies.Ellipsoid((2.2, 2.2), (0.55, 0.5), sealed=("heat", "dye"), velocity=(0.1, 0.0), rotation=0.7),
    "end": sw.bodies.Sponge(0.0, 0.6, 4.0, (1.0, 0.0), edge=0.2, fixed=("dye",), values=(0.5,)),
}


@pytest.mark.thorough
@pytest.mark.slow
@pytest.mark.parametrize("dimensions", [2, 3])
def test_the_terms_are_those_of_the_formula(dimensions):
    """Of single waves, whose gradients are known, on all modes of the grid."""
    lengths, shape = (4.0, 3.0, 2.0)[:dimensions], (48, 36, 24)[:dimensions]
    conditions = {"fixed": ("heat",), "values": (2.0,), "sealed": ("dye",)}
    hot = sw.bodies.Cylinder((1.0, 1.5, 0.0), 0.5, velocity=(0.1, 0.3, 0.2), **conditions)
    bodies = SEVERAL if dimensions == 2 else {"hot": hot}
    grid = sw.Grid(shape, lengths=lengths, mesh=sw.device_mesh([0]), dealias="none")
    make = lambda bodies: sw.equations.NavierStokes(  # noqa: E731
        grid, viscosity=0.1, scalars={"dye": sw.PassiveScalar(0.05), "heat": sw.PassiveScalar(0.1)}, bodies=bodies
    )
    flow, plain, t = make(bodies), make(None), 0.3
    at = grid.coordinates()
    k = [2 * np.pi / length for length in lengths]
    c = {"dye": np.sin(k[0] * at[0]) * np.cos(k[1] * at[1]), "heat": np.cos(k[0] * at[0] + k[1] * at[1])}
    u = [np.cos(k[1] * at[1]) + 0 * at[0], np.sin(k[0] * at[0]) + 0 * at[1], 0.3 + 0 * at[0]][:dimensions]
    whole = lambda f: np.broadcast_to(np.asarray(f), shape)  # noqa: E731
    fields = flow.from_physical(
        {"velocity": jnp.stack(list(map(whole, u))), **{n: whole(v)[None] for n, v in c.items()}}
    )
    added = {n: v - plain.nonlinear(fields, t)[n] for n, v in flow.nonlinear(fields, t).items()}
    slopes = {
        "dye": [
            k[0] * np.cos(k[0] * at[0]) * np.cos(k[1] * at[1]),
            -k[1] * np.sin(k[0] * at[0]) * np.sin(k[1] * at[1]),
        ],
        "heat": [-k[i] * np.sin(k[0] * at[0] + k[1] * at[1]) for i in range(2)],
    }
    for name, kappa in (("dye", 0.05), ("heat", 0.1)):
        value, expected = whole(c[name]), np.zeros(shape)
        gradient = [whole(g) for g in [*slopes[name], 0.0][:dimensions]]
        for body in bodies.values():
            chi = np.asarray(body.strength(at, t, flow.obstacles.scene))
            if name in body.fixed:
                expected = expected + chi * (body.values[body.fixed.index(name)] - value)
            if name in getattr(body, "sealed", ()):
                share = lambda at, body=body: 1.01 - whole(body.mask(at, t, flow.obstacles.scene))  # noqa: E731
                for axis, g in enumerate(gradient):
                    beside = [share([x + s * 1e-5 * (i == axis) for i, x in enumerate(at)]) for s in (-1, 1)]
                    expected = expected + kappa * g * (beside[1] - beside[0]) / 2e-5 / share(at)
        found = np.asarray(flow.to_physical({**fields, **added})[name])[0]
        np.testing.assert_allclose(found, expected, atol=1e-6 * np.abs(expected).max())


@pytest.mark.slow
def test_heat_between_cylinders():
    """Steady conduction: ln(r)."""
    grid = sw.Grid((64, 64), lengths=4.8, mesh=sw.device_mesh([0]))
    bodies = {
        "inner": sw.bodies.Cylinder((2.4, 2.4), 0.8, fixed=("heat",), values=(1.0,)),
        "outer": sw.bodies.Cylinder((2.4, 2.4), 2.0, fixed=("heat",), values=(0.0,), inverted=True),
    }
    flow = sw.equations.NavierStokes(grid, viscosity=0.5, scalars={"heat": sw.PassiveScalar(0.5)}, bodies=bodies)
    start = {name: jnp.zeros(shape) for name, shape in flow.physical_shapes().items()}
    state = sw.integrate(flow, STEPPER, sw.initial_state(flow, STEPPER, start), step=0.02, steps=200)
    heat = values(flow, state, "heat")
    r = 4.8 / 64 * np.arange(64) - 2.4
    between = (r > 0.95) & (r < 1.85)
    np.testing.assert_allclose(heat[between, 32], np.log(2 / r[between]) / np.log(2.5), atol=0.01)
    assert heat[32, 32] == pytest.approx(1, abs=1e-3)


@pytest.mark.thorough
@pytest.mark.slow
def test_what_is_sealed_between_walls_diffuses_as_it_should():
    """cos y between walls at 0 and π decays as exp(−κ t), to the order of the layer."""
    for n in (32, 64):
        wall = sw.bodies.Wall(1.5 * np.pi, np.pi, sealed=("dye",))
        flow = stream(wall, (4, n), (8 * np.pi / n, 2 * np.pi), diffusivity=0.5)
        y = np.arange(n) * 2 * np.pi / n
        inside = np.where(y <= np.pi, np.cos(y), np.where(y < 1.5 * np.pi, -1.0, 1.0))
        decayed = values(flow, run(flow, jnp.asarray(inside), 0.0, 0.02, 100), "dye")[0]
        fluid = slice(n // 16, 7 * n // 16)
        np.testing.assert_allclose(decayed[fluid], np.exp(-1) * np.cos(y[fluid]), atol=4e-3)


@pytest.mark.slow
def test_what_a_sealed_body_keeps_out_stays_in_the_fluid():
    """∫ψc of a body in motion through a fluid at rest, with which it mixes; another passes through the body."""
    disc = sw.bodies.Cylinder((1.2, 1.5), 0.6, sealed=("dye",), velocity=(0.5, 0.0), eta=0.02)
    flow = stream(disc, (64, 48), diffusivity=0.02)
    dye = 1 - disc.mask(flow.grid.coordinates(), 0.0, flow.obstacles.scene)
    state = run(flow, dye, 0.0, 0.01, 200, heat=dye[None])
    amount = lambda field, t: float(jnp.mean((1 - disc.mask(flow.grid.coordinates(), t, flow.obstacles.scene)) * field))  # noqa: E731
    sealed, open_ = (amount(values(flow, state, name), 2.0) for name in ("dye", "heat"))
    before = amount(dye, 0.0)
    assert sealed == pytest.approx(before, rel=5e-3)
    assert open_ / before < 0.97


@pytest.mark.thorough
@pytest.mark.slow
def test_a_sponge_draws_a_scalar_and_waves_of_height():
    grid = sw.Grid((64, 4), lengths=(10.0, 1.0), mesh=sw.device_mesh([0]))
    left = {}
    for fixed in ((), ("height",)):
        sponge = sw.bodies.Sponge(9.0, 1.5, 3.0, fixed=fixed, values=(0.0,) * len(fixed))
        flow = sw.equations.ShallowWater(grid, rotation=0.0, viscosity=1e-3, bodies=sponge)
        x = np.arange(64) * 10 / 64
        pulse = 0.01 * np.exp(-((x - 5.0) ** 2))[None, :, None] * np.ones((1, 64, 4))
        start = {"velocity": jnp.concatenate([jnp.asarray(pulse), jnp.zeros((1, 64, 4))]), "height": jnp.asarray(pulse)}
        state = sw.integrate(flow, STEPPER, sw.initial_state(flow, STEPPER, start), step=0.02, steps=400)
        left[fixed] = np.abs(values(flow, state, "height")).max()
    assert left["height",] < 0.1 * left[()]
    assert left["height",] < 1e-3 * 0.8


@pytest.mark.slow
def test_what_is_kept_of_bodies_at_rest_changes_nothing():
    at_rest = {name: SEVERAL[name] for name in ("hot", "end")} | {
        "shut": sw.bodies.Box((2.2, 2.2), (0.8, 0.8), sealed=("heat",))
    }
    flow = stream(at_rest)
    kept = jax.jit(lambda flow: flow.prepared())(flow)
    assert len(kept.kept_of_bodies) == 1 + 4 + 2 * 2, (
        "strength, two values with their sources, two slopes of two scalars"
    )
    random = np.random.default_rng(3)
    values = {name: jnp.asarray(random.normal(size=shape)) for name, shape in flow.physical_shapes().items()}
    fields = flow.from_physical(values)
    for name, n in flow.nonlinear(fields, 0.3).items():
        np.testing.assert_allclose(kept.nonlinear(fields, 0.3)[name], n, atol=1e-12 * np.abs(n).max())


class Gust(sw.bodies.Obstacle):
    """Draws the heat to a value, more and less with time."""

    is_at_rest = False

    def strength(self, at, t, scene):
        return jnp.cos(t) ** 2 + 0 * at[0] * at[1]

    def towards(self, at, t, scene):
        return [0.0] * scene.dimensions

    def fastest(self, scene):
        return 1.0

    def check(self, key, scene):
        pass


@pytest.mark.thorough
@pytest.mark.slow
def test_what_depends_on_time_is_not_kept():
    flow = stream({"gust": Gust(fixed=("heat",), values=(3.0,)), "disc": SEVERAL["hot"]})
    fields = flow.from_physical({name: jnp.ones(shape) for name, shape in flow.physical_shapes().items()})
    kept = jax.jit(lambda flow: flow.prepared())(flow)
    assert list(kept.kept_of_bodies) == ["kept strength"]
    for name, n in flow.nonlinear(fields, np.pi / 2).items():
        np.testing.assert_allclose(kept.nonlinear(fields, np.pi / 2)[name], n, atol=1e-12)


@pytest.mark.thorough
@pytest.mark.slow
def test_a_cfl_number_counts_what_is_sealed():
    disc = sw.bodies.Cylinder((1.0, 1.5), 0.5, sealed=("heat",), eta=0.05)
    sealed, open_ = (stream({"disc": disc if of else SEVERAL["hot"]}, diffusivity=0.5) for of in (1, 0))
    fields = sealed.from_physical({name: jnp.zeros(shape) for name, shape in sealed.physical_shapes().items()})
    k = sealed.grid.k_corner
    assert float(sealed.rate(fields)) == pytest.approx(20 + 1.0 * k**2 / 4, rel=1e-12)
    eta = SEVERAL["hot"].penalisation_time(open_.obstacles.scene)
    assert float(open_.rate(fields)) == pytest.approx(1 / eta + 0.5 * k**2 / 4, rel=1e-12)


@pytest.mark.thorough
@pytest.mark.slow
@pytest.mark.parametrize("shape", [(48, 36)])
def test_devices_change_nothing(shape):
    found = []
    for mesh in (sw.device_mesh([0]), sw.device_mesh()):
        flow = stream(SEVERAL, shape, mesh=mesh)
        found.append(values(flow, run(flow, jnp.ones((1, *shape)), 0.3, 0.01, 10), "heat"))
    np.testing.assert_allclose(found[0], found[1], atol=1e-12)


def test_wrong_conditions_are_one_line():
    with pytest.raises(ValueError, match=r"body.hot.values \[\]: 1 are needed, one for each of fixed"):
        stream({"hot": sw.bodies.Cylinder((1.0, 1.5), 0.5, fixed=("heat",))})
    with pytest.raises(ValueError, match=r"sponge.values \[1.0\]: 0 are needed"):
        stream({"sponge": sw.bodies.Sponge(0.0, 1.0, 1.0, values=(1.0,))})
    with pytest.raises(ValueError, match=r"body.hot: heat is fixed and sealed"):
        stream({"hot": sw.bodies.Cylinder((1.0, 1.5), 0.5, fixed=("heat",), values=(1.0,), sealed=("heat",))})
    with pytest.raises(ValueError, match=r"fixed = 'salt' of a body or sponge: the scalars .* they act: dye, heat"):
        stream({"hot": sw.bodies.Cylinder((1.0, 1.5), 0.5, fixed=("salt",), values=(1.0,))})
    grid = sw.Grid(SHAPE, lengths=LENGTHS, mesh=sw.device_mesh([0]))
    with pytest.raises(
        ValueError, match="sealed = 'dye' of a body or sponge: the scalars of mhd on which they act: none"
    ):
        sw.equations.MHD(
            grid, viscosity=0.1, resistivity=0.1, bodies=sw.bodies.Cylinder((1.0, 1.5), 0.5, sealed=("dye",))
        )
