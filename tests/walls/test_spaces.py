"""Fields between walls: both forms, conditions, derivatives, means, other resolutions, devices."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import solver as sw
from solver import walls
from solver.spaces.manifold import distances
from solver.walls import legendre
from solver.walls.conditions import AtMixture, AtSlope, AtValue, Rigid, StressFree

SHAPES = {1: (17,), 2: (12, 17), 3: (12, 10, 17)}
LENGTHS = (2.0, 3.0, 1.3)
OF_VELOCITY = {
    "no-slip": walls.NoSlip(),
    "free-slip": walls.FreeSlip(),
    "one free": walls.Walls(Rigid(), StressFree()),
    "moving": walls.Moving(lower=[0.5, -1.0], upper=[1.0, 2.0]),
    "mean kept": walls.Walls(Rigid((0.5, -1.0)), Rigid(), mean=(0.7, -0.2)),
    "mean kept, free": walls.Walls(StressFree(), StressFree(), mean=(0.7, -0.2)),
}
OF_SCALAR = {
    "values": walls.Value(1.0, -0.5),
    "slopes": walls.Slope(1.0, -2.0),
    "value and slope": walls.Walls(AtValue(2.0), AtSlope(0.5)),
    "mixtures": walls.Robin((1.0, -0.4, 0.3), (1.0, 0.7, -0.2)),
    "value and mixture": walls.Walls(AtValue(2.0), AtMixture(1.0, 2.0, 3.0)),
}


class Carried(sw.Equation):
    """A field that diffuses."""

    text = sw.Text(["dt(c) = nu*lap(c)"], fields={"c": "scalar"}, parameters={"nu": "scalar"})
    nu: float = 0.1


def grid_of(make_grid, dimensions, devices=1):
    lengths = LENGTHS[-dimensions:]
    return make_grid(SHAPES[dimensions], devices, lengths=lengths, walls="xyz"[dimensions - 1])


def space_of(grid, of):
    """The space of a velocity or of a scalar with these conditions."""
    if not of.of_velocity:
        return Carried(grid, walls={"c": of}).space("c")
    if grid.dimensions == 2:
        sides = (Rigid(side.velocity[:1]) if isinstance(side, Rigid) else side for side in of)
        of = walls.Walls(*sides, mean=None if of.mean is None else of.mean[:1])
    forcing = None if of.mean is None else sw.forcing.FlowRate((*of.mean, 0.0))
    flow = sw.equations.NavierStokes(grid, 0.1, walls={"velocity": of}, forcing=forcing)
    return flow.space("velocity")


@pytest.mark.slow
@pytest.mark.parametrize("dimensions", [1, 2, 3])
@pytest.mark.parametrize("of", [*OF_VELOCITY, *OF_SCALAR])
def test_both_forms_and_sums(make_grid, of, dimensions):
    conditions = {**OF_VELOCITY, **OF_SCALAR}[of]
    if dimensions == 1 and conditions.of_velocity:
        pytest.skip("a velocity without divergence needs two dimensions")
    space = space_of(grid_of(make_grid, dimensions), conditions)
    u_hat = space.random(jax.random.key(1))
    u = space.inverse(u_hat)
    np.testing.assert_allclose(space.forward(u), u_hat, atol=1e-12)
    np.testing.assert_allclose(space.whole_square(u_hat), jnp.sum(space.mean(u**2)), rtol=1e-13)
    np.testing.assert_allclose(space.means(u_hat), space.mean(u), atol=1e-13)
    np.testing.assert_allclose(space.symmetric(u_hat), u_hat, atol=1e-15)
    if conditions.mean is not None:
        np.testing.assert_allclose(space.means(u_hat)[:-1], conditions.mean[: dimensions - 1], rtol=1e-12)
    held = jnp.broadcast_to(space.holds(), u_hat.shape)
    assert jnp.all(jnp.where(held, 0, u_hat) == 0)
    assert (
        np.mean(np.abs(np.asarray(u_hat)[np.asarray(held)]) > 0) > 0.95
    )  # the rest are imaginary parts of real numbers


@pytest.mark.parametrize("of", OF_SCALAR)
def test_a_scalar_meets_its_conditions(make_grid, of):
    """A smooth field, so that natural conditions hold, too: the state after some diffusion."""
    conditions, height = OF_SCALAR[of], LENGTHS[-1]
    space = space_of(make_grid((12, 47), 1, lengths=LENGTHS[1:], walls="y"), conditions)
    smooth = jnp.exp(0.1 * space.laplacian()) * space.random(jax.random.key(2))
    c = space.series(smooth)
    at = lambda c, z: _at(space, c, z)  # noqa: E731
    for side, z in zip(conditions, (0.0, height), strict=True):
        a, b = side.pair(0.5 * height)
        slope = 0.5 * height * at(space.across(c), z)
        np.testing.assert_allclose(a * at(c, z) + b * slope, side.right, atol=1e-8)


def _at(space, c, z):
    """The value of polynomials at x = 0.3 and a height."""
    along = np.exp(0.3j * space.wavenumbers()[0][:, 0])
    weights = np.where(np.arange(len(along)) > 0, 2, 1)
    ends = legendre.values(c.shape[-1], np.array([2 * z / space.height - 1]))[0]
    return float(np.real(np.sum(weights * along * (np.asarray(c[0]) @ ends))))


@pytest.mark.slow
def test_noise_of_a_velocity(make_grid):
    """Random modes of the amplitude that is given, on the profile at rest; none without an equation."""
    grid = grid_of(make_grid, 2)
    flow = sw.equations.NavierStokes(grid, 0.1, walls={"velocity": walls.Moving(0.5, 1.0)})
    noise, still = (sw.initial.Noise(amplitude=a).for_equation(flow, "velocity") for a in (0.3, 0.0))
    u, profile = (start(grid, flow.fields["velocity"], key=jax.random.key(1)) for start in (noise, still))
    space = flow.space("velocity")
    assert float(jnp.sum(space.mean((u - profile) ** 2))) == pytest.approx(0.09)
    np.testing.assert_allclose(space.inverse(space.forward(u)), u, atol=1e-12)
    rest = sw.initial.Conduction().for_equation(flow, "velocity")
    np.testing.assert_allclose(profile, rest(grid, space.field), atol=1e-14)
    with pytest.raises(ValueError, match="gives the modes, for_equation"):
        sw.initial.Noise()(grid, flow.fields["velocity"], key=jax.random.key(1))
    with pytest.raises(ValueError, match=r"background 1\.0 of velocity, a field without divergence"):
        sw.initial.Noise(background=1.0).check(flow, "velocity")


@pytest.mark.slow
@pytest.mark.parametrize("dimensions", [2, 3])
@pytest.mark.parametrize("of", OF_VELOCITY)
def test_a_velocity_has_no_divergence_and_the_velocity_of_the_walls(make_grid, of, dimensions):
    conditions = OF_VELOCITY[of]
    grid = grid_of(make_grid, dimensions)
    space = space_of(grid, conditions)
    u_hat = space.random(jax.random.key(3))
    c = space.series(u_hat)
    divergence = sum(1j * k * c[i] for i, k in enumerate(space.wavenumbers())) + space.across(c[-1])
    assert jnp.max(jnp.abs(divergence)) < 1e-13 * jnp.max(jnp.abs(c))
    inside = [0.4, 1.1][: dimensions - 1]
    below, above = space.at_places(u_hat, [[*inside, 0.0], [*inside, LENGTHS[-1]]])
    for found, side in zip((below, above), conditions, strict=True):
        assert abs(found[-1]) < 1e-12
        if isinstance(side, Rigid):
            np.testing.assert_allclose(found[:-1], (side.velocity or (0.0, 0.0))[: dimensions - 1], atol=1e-11)


@pytest.mark.parametrize("of", ["no-slip", "free-slip", "one free", "mean kept", "values", "slopes", "mixtures"])
def test_the_laplacian_of_each_mode_is_its_number(make_grid, of):
    """⟨mode · ∇²u⟩ = ∇²·coefficient, tested weakly: −⟨∇mode · ∇u⟩ where conditions are natural."""
    conditions = {**OF_VELOCITY, **OF_SCALAR}[of]
    space = space_of(grid_of(make_grid, 2), conditions)
    a, b = (space.random(jax.random.key(i)) for i in (4, 5))
    c, d = space.without_lifting(a), space.without_lifting(b)
    dot = lambda c, d: jnp.sum(jnp.asarray(space.grid.mode_weights()) * jnp.sum((c * jnp.conj(d)).real, 0))  # noqa: E731
    weak = -dot(space.across(c), space.across(d)) - dot(space.along_squared() * c, d)
    for sign, side in zip((-1, 1), conditions, strict=True):
        if isinstance(side, AtMixture):  # what passes through the wall
            beta = side.wall(0.5 * space.height, sign).beta
            ends = np.sqrt(2 * np.arange(c.shape[-1]) + 1.0) * float(sign) ** np.arange(c.shape[-1])
            there = [jnp.einsum("n,c...n->c...", ends, v)[..., None] for v in (c, d)]
            weak -= 2 * beta / space.height**2 * dot(*there) / c.shape[-1]
    strong = jnp.sum(jnp.asarray(space.grid.mode_weights()) * jnp.sum((space.laplacian() * a * jnp.conj(b)).real, 0))
    np.testing.assert_allclose(strong, weak, rtol=1e-11)


@pytest.mark.slow
@pytest.mark.parametrize("devices", [3])
@pytest.mark.parametrize("of", ["moving", "mean kept", "values"])
def test_devices_agree(make_grid, of, devices):
    conditions = {**OF_VELOCITY, **OF_SCALAR}[of]
    one, several = (space_of(grid_of(make_grid, 3, n), conditions) for n in (1, devices))
    u = np.random.default_rng(6).normal(size=one.values.shape)
    made = [space.forward(jnp.asarray(u)) for space in (one, several)]
    count = made[0].shape[1]
    np.testing.assert_allclose(made[1][:, :count], made[0], atol=1e-14)
    np.testing.assert_array_equal(made[1][:, count:], 0)
    np.testing.assert_allclose(several.inverse(made[1]), one.inverse(made[0]), atol=1e-13)


@pytest.mark.slow
def test_other_resolutions(make_grid):
    coarse = space_of(grid_of(make_grid, 2), OF_VELOCITY["moving"])
    fine = space_of(make_grid((20, 25), 1, lengths=LENGTHS[1:], walls="y"), OF_VELOCITY["moving"])
    u_hat = coarse.random(jax.random.key(7))
    places = [(0.3, 0.2), (2.0, 1.1)]
    np.testing.assert_allclose(
        fine.at_places(coarse.resampled(u_hat, fine), places), coarse.at_places(u_hat, places), atol=1e-11
    )
    back = fine.resampled(coarse.resampled(u_hat, fine), coarse)
    np.testing.assert_allclose(back, u_hat, atol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("dimensions", [2, 3])
def test_a_step_removes_what_belongs_to_no_real_field(make_grid, dimensions):
    """Modes that are their own mirror, kx = 0 in a plane and ky = 0 in a box: buoyancy amplifies their other part."""
    lengths = (*LENGTHS[-dimensions:-1], 1.0)
    grid = make_grid((8, 6, 11)[-dimensions:], 1, lengths=lengths, walls="xyz"[dimensions - 1])
    flow = sw.equations.RayleighBenard(grid, 1e5, walls={"temperature": walls.Value(1.0)})
    fields = {name: space.random(jax.random.key(8)) for name, space in flow.spaces.items()}
    astray = lambda field: max(float(v["not real"]) for v in distances(field, flow.spaces).values())  # noqa: E731
    turned = {name: u_hat * (1 + 1e-3j) for name, u_hat in fields.items()}
    assert astray(turned) > 1e-5
    state = sw.initial_state(flow, sw.steppers.Krogstad4(), flow.to_physical(fields))
    after = sw.integrate(flow, sw.steppers.Krogstad4(), state.replace(field=turned), step=1e-3, steps=1)
    assert astray(after.field) < 1e-15
