"""How far points are from bodies, how bodies move, and what is refused."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import refused_in_one_line

import solver as sw
from solver.bodies.body import Scene, _angular_velocity
from solver.bodies.obstacles import Obstacles
from solver.dynamics.companion import companions_at_start

PLANE = Scene(0.1, (0.1, 0.1), (6.0, 5.0))
SPACE = Scene(0.1, (0.1, 0.1, 0.1), (6.0, 5.0, 4.0))
SHAPES_2D = {
    "cylinder": sw.bodies.Cylinder((2.0, 1.5), 0.7),
    "sphere": sw.bodies.Sphere((2.0, 1.5), 0.7),
    "box": sw.bodies.Box((2.0, 1.5), (1.4, 0.8)),
    "ellipsoid": sw.bodies.Ellipsoid((2.0, 1.5), (0.9, 0.5)),
    "wall": sw.bodies.Wall(1.5, 0.6),
}


def near(scene, count=4000):
    """Points all over a box, as columns."""
    random = np.random.default_rng(3)
    return [jnp.asarray(random.uniform(0, length, count)) for length in scene.lengths]


def surface(shape, points):
    """Points of the surface, by Newton's method along the gradient of the distance."""
    d = lambda p: shape.distance([x - c for x, c in zip(p, shape.origin(len(p)), strict=True)], 0.0)  # noqa: E731
    for _ in range(60):
        slope = jax.grad(lambda p: jnp.sum(d(p)))(points)
        size = sum(g * g for g in slope)
        points = [x - d(points) * g / jnp.where(size > 0, size, 1) for x, g in zip(points, slope, strict=True)]
    return points, d


@pytest.mark.slow
@pytest.mark.parametrize("name", SHAPES_2D)
def test_a_distance_is_that_of_the_nearest_point_of_the_surface(name):
    """The smallest of the distances from many points of it; an ellipse's is exact at the surface alone."""
    shape = SHAPES_2D[name]
    edge, d = surface(shape, near(PLANE, 20000))
    assert jnp.abs(d(edge)).max() < 1e-9
    points = [x[:300] for x in near(PLANE)]
    found = d(points)
    apart = jnp.sqrt(sum((x[:, None] - e[None]) ** 2 for x, e in zip(points, edge, strict=True))).min(1)
    is_near = jnp.abs(found) < (0.05 if name == "ellipsoid" else 0.4)
    assert is_near.sum() > 2
    np.testing.assert_allclose(jnp.abs(found)[is_near], apart[is_near], atol=0.01)


SHARP = {"eta": 1e-2}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("shape", "inside"),
    [
        (sw.bodies.Sphere((1.0, 1.0, 1.0), 0.5, **SHARP), 4 / 3 * np.pi * 0.5**3),
        (sw.bodies.Cylinder((1.0, 1.0, 1.0), 0.5, "x", **SHARP), np.pi * 0.5**2 * 6.0),
        (sw.bodies.Box((1.03, 1.0, 1.0), (1.0, 0.8, 0.6), **SHARP), 0.48),
        (sw.bodies.Ellipsoid((1.0, 1.0, 1.0), (0.5, 0.7, 0.9), **SHARP), 4 / 3 * np.pi * 0.5 * 0.7 * 0.9),
        (sw.bodies.Wall(1.0, 0.5, "z", **SHARP), 15.0),
        (sw.bodies.Sphere((1.0, 1.0, 1.0), 0.5, inverted=True, **SHARP), 120 - 4 / 3 * np.pi * 0.5**3),
    ],
)
def test_the_solid_has_its_volume_whatever_image_it_is_cut_by(shape, inside):
    grid = sw.Grid((60, 50, 40), lengths=SPACE.lengths, mesh=sw.device_mesh([0]))
    at = grid.coordinates()
    mask = jnp.broadcast_to(shape.mask(at, 0.0, SPACE), grid.physical_shape)
    assert float(mask.mean()) * 120 == pytest.approx(inside, rel=0.05)
    images = [x + n * length for x, n, length in zip(at, (1, -2, 3), SPACE.lengths, strict=True)]
    np.testing.assert_allclose(shape.mask(images, 0.0, SPACE) * jnp.ones_like(mask), mask, atol=1e-10)


def test_the_layer_is_three_spacings_thick_and_of_second_order():
    body, scene = SHAPES_2D["cylinder"], PLANE
    assert body.layer(scene) == pytest.approx(0.3)
    eta = body.penalisation_time(scene)
    assert eta == pytest.approx((0.3 / 2.64822828) ** 2 / 0.1)
    d = 0.13
    expected = 0.5 * (1 - np.tanh(2 * d / (2.64822828 * np.sqrt(eta * 0.1))))
    assert float(body.mask([2.0 + 0.7 + d, 1.5], 0.0, scene)) == pytest.approx(expected)


def turned(angle, r):
    cos, sin = np.cos(angle), np.sin(angle)
    return [cos * r[0] - sin * r[1], sin * r[0] + cos * r[1]]


def test_a_body_in_a_plane_moves_and_turns_as_it_says():
    moving = sw.bodies.Box((2.0, 1.5), (1.4, 0.5), velocity=(0.3, -0.2), rotation=0.7)
    t, points = 1.3, near(PLANE, 500)
    still = sw.bodies.Box((0.0, 0.0), (1.4, 0.5), eta=None)
    r = PLANE.wrapped([points[0] - 2.0 - 0.3 * t, points[1] - 1.5 + 0.2 * t])
    masks = moving.mask(points, t, PLANE), still.mask(turned(-0.7 * t, r), 0.0, PLANE)
    is_near = jnp.hypot(*r) < 2.4  # where turning takes no point to another image
    np.testing.assert_allclose(masks[0][is_near], masks[1][is_near], atol=1e-9)
    u, v = moving.towards(points, t, PLANE)
    np.testing.assert_allclose(u, 0.3 - 0.7 * r[1], rtol=1e-12)
    np.testing.assert_allclose(v, -0.2 + 0.7 * r[0], rtol=1e-12)


@pytest.mark.slow
def test_a_body_in_space_turns_about_the_direction_of_its_rotation():
    spin = np.array([0.3, -0.5, 0.8])
    moving = sw.bodies.Ellipsoid((3.0, 2.5, 2.0), (0.9, 0.4, 0.6), rotation=tuple(spin))
    t, points = 0.9, near(SPACE, 500)
    cross = np.array([[0, -spin[2], spin[1]], [spin[2], 0, -spin[0]], [-spin[1], spin[0], 0]])
    back = jax.scipy.linalg.expm(jnp.asarray(-cross * t))
    r = jnp.stack(points) - jnp.asarray([3.0, 2.5, 2.0])[:, None]
    still = sw.bodies.Ellipsoid((0.0, 0.0, 0.0), (0.9, 0.4, 0.6))
    is_inside = jnp.linalg.norm(r, axis=0) < 1.8
    masks = moving.mask(points, t, SPACE), still.mask(list(back @ r), 0.0, SPACE)
    np.testing.assert_allclose(masks[0][is_inside], masks[1][is_inside], atol=1e-9)
    np.testing.assert_allclose(jnp.stack(moving.towards(points, t, SPACE)), cross @ r, atol=1e-12)


class Tumbling(sw.bodies.Ellipsoid):
    """The axis about which it has turned is another one at each time."""

    size: float = 1.0

    def angle(self, t):
        return self.size * jnp.stack([jnp.sin(2 * t), 1.5 * t, 0.5 * jnp.cos(t)])


@pytest.mark.parametrize("size", [1.0, 1e-3, 1e-6])
def test_a_body_whose_axis_changes_drags_the_fluid_as_its_own_points_move(size):
    """Points that are fixed to the body keep their distances, and move with the velocity that it asks of the fluid."""
    body, t, h = Tumbling((0.0, 0.0, 0.0), (0.9, 0.4, 0.6), size=size), 0.7, 1e-5
    at = [np.array([0.3, -0.2, 0.5]), np.array([0.1, 0.4, -0.3]), np.array([-0.2, 0.1, 0.6])]

    def turned(t):
        """The matrix that turns a vector with the body."""
        cross = lambda a: jnp.array([[0, -a[2], a[1]], [a[2], 0, -a[0]], [-a[1], a[0], 0]])  # noqa: E731
        return jax.scipy.linalg.expm(cross(body.angle(t)))

    points = jnp.stack(at)
    before, after = (turned(t + s) @ turned(t).T @ points for s in (-h, h))
    np.testing.assert_allclose(
        jnp.stack(body.towards(at, t, SPACE)), (after - before) / (2 * h), atol=1e-11 + 1e-9 * size
    )
    np.testing.assert_allclose(
        body.from_surface(list(after), t + h, SPACE), body.from_surface(at, t, SPACE), rtol=0, atol=1e-12
    )


@pytest.mark.parametrize(("dtype", "rounding"), [(np.float64, 2e-15), (np.float32, 1e-6)])
@pytest.mark.parametrize("size", [0.0, 1e-3, 0.3, 0.99, 1.01, 2.0, 6.0])
def test_the_angular_velocity_of_any_rotation(dtype, rounding, size):
    """Against the series in extended precision, on both sides of where it takes another formula."""
    angle, speed = np.array([2.0, -1.0, 2.0]) / 3 * size, np.array([0.3, 0.8, -0.5])
    square, once = np.longdouble(size) ** 2, np.cross(angle, speed)
    first, second = (
        sum((-square) ** j / np.longdouble(math.factorial(2 * j + least)) for j in range(40)) for least in (2, 3)
    )
    expected = speed + first * once + second * np.cross(angle, once)
    found = _angular_velocity(jnp.asarray(angle, dtype), jnp.asarray(speed, dtype))
    np.testing.assert_allclose(
        np.asarray(found, float), np.asarray(expected, float), rtol=0, atol=rounding * (1 + size)
    )


class Driven(sw.bodies.Cylinder):
    """Moves as a function says that it holds."""

    path: object = None

    def displacement(self, t):
        return jnp.stack([self.path(t), jnp.zeros_like(t)])


def test_a_body_may_hold_a_function():
    body = Driven((2.0, 1.5), 0.7, path=jnp.sin)
    assert flow(body).grid.dimensions == 2
    assert float(body.towards([1.0, 1.0], 0.3, PLANE)[0]) == pytest.approx(np.cos(0.3))


def test_a_tilt_comes_before_the_rotation():
    tilted = sw.bodies.Box((2.0, 1.5), (1.4, 0.5), tilt=0.4)
    turning = sw.bodies.Box((2.0, 1.5), (1.4, 0.5), rotation=0.8)
    points = near(PLANE, 500)
    assert tilted.is_at_rest
    np.testing.assert_allclose(tilted.mask(points, 0.0, PLANE), turning.mask(points, 0.5, PLANE), atol=1e-12)
    both = sw.bodies.Ellipsoid((3.0, 2.5, 2.0), (0.9, 0.4, 0.6), tilt=(0.0, 0.5, 0.0), rotation=(0.3, 0.0, 0.0))
    r = jnp.asarray([0.4, 0.3, -0.2])
    about_y = jnp.asarray([[np.cos(0.5), 0, -np.sin(0.5)], [0, 1, 0], [np.sin(0.5), 0, np.cos(0.5)]])
    about_x = jnp.asarray([[1, 0, 0], [0, np.cos(0.6), np.sin(0.6)], [0, -np.sin(0.6), np.cos(0.6)]])
    still = sw.bodies.Ellipsoid((0.0, 0.0, 0.0), (0.9, 0.4, 0.6)).mask(list(about_y @ (about_x @ r)), 0.0, SPACE)
    assert float(both.mask(list(r + jnp.asarray([3.0, 2.5, 2.0])), 2.0, SPACE)) == pytest.approx(float(still))
    with pytest.raises(ValueError, match=r"stream_speed 1\.0: reference_area is needed"):
        flow(sw.bodies.Box((2.0, 1.5), (1.4, 0.9), tilt=0.4, stream_speed=1.0))


def test_an_oscillation_moves_by_the_integral_of_its_velocity():
    body = sw.bodies.Cylinder((2.0, 1.5), 0.7, velocity=(0.0, 0.4), frequency=0.8, phase=0.3)
    times = np.linspace(0, 1.7, 4001)
    speeds = 0.4 * np.cos(2 * np.pi * 0.8 * times + 0.3)
    np.testing.assert_allclose(body.displacement(1.7), [0.0, np.trapezoid(speeds, times)], atol=1e-7)
    assert float(body.towards([0.0, 0.0], 1.7, PLANE)[1]) == pytest.approx(speeds[-1])


def test_random_cylinders_stand_apart_and_are_one_mask():
    many = sw.bodies.Cylinders(count=6, radius=0.4, gap=0.2, seed=2)
    places = np.array(many.places(PLANE.lengths))
    between = places[:, None] - places[None]
    between -= np.array(PLANE.lengths) * np.round(between / np.array(PLANE.lengths))
    distances = np.hypot(*np.moveaxis(between, -1, 0))[np.triu_indices(6, 1)]
    assert distances.min() >= 1.0
    points = near(PLANE, 500)
    alone = [sw.bodies.Cylinder(tuple(place), 0.4).mask(points, 0.0, PLANE) for place in places]
    np.testing.assert_allclose(many.mask(points, 0.0, PLANE), jnp.max(jnp.stack(alone), axis=0), atol=1e-12)
    again = sw.bodies.Cylinders(count=6, radius=0.4, gap=0.2, seed=3)
    assert not np.allclose(again.places(PLANE.lengths), places)
    along = sw.bodies.Cylinders(count=4, radius=0.4, axis="x").mask([1.0, *near(PLANE, 5)], 0.0, SPACE)
    assert along.shape == (5,)


class Rising(sw.bodies.Sphere):
    """Its motion is a function of its own."""

    moves = True

    def displacement(self, t):
        return jnp.stack([jnp.zeros_like(t), 0.5 * t**2])


def test_an_own_motion_has_the_velocity_of_its_displacement():
    body = Rising((2.0, 1.5), 0.7)
    assert not body.is_at_rest
    assert [float(u) for u in body.towards([1.0, 1.0], 1.4, PLANE)] == pytest.approx([0.0, 1.4])


def test_rates_of_several_are_added():
    named = {"a": SHAPES_2D["cylinder"], "b": sw.bodies.Box((4.0, 3.5), (1.0, 1.0), velocity=(0.2, 0.0))}
    both, at = Obstacles(named, PLANE), [2.0, 1.5]
    assert float(both.at_rest(at)) == pytest.approx(1 / named["a"].penalisation_time(PLANE), rel=1e-3)
    strength, sources = both.moving([4.0, 3.5], 0.0)
    assert float(strength) == pytest.approx(1 / named["b"].penalisation_time(PLANE), rel=1e-2)
    assert [float(s) for s in sources] == pytest.approx([0.2 * float(strength), 0.0])
    assert not both.are_at_rest


# ---- refused --------------------------------------------------------------------------------------------------------


def flow(bodies, shape=(32, 24), lengths=(6.0, 5.0), viscosity=0.1, **options):
    grid = sw.Grid(shape, lengths=lengths, mesh=sw.device_mesh([0]))
    return sw.equations.NavierStokes(grid, viscosity=viscosity, bodies=bodies, **options)


@pytest.mark.parametrize(
    ("bodies", "message"),
    [
        (lambda: sw.bodies.Cylinder((2.0, 1.5), -0.7), "radius -0.7: a positive length is needed"),
        (lambda: sw.bodies.Cylinder((2.0, 1.5, 1.0), 0.7), r"body.centre .*: 2 numbers are needed"),
        (lambda: sw.bodies.Cylinder((2.0, 1.5), 0.2), r"body: 0.4 thick, with a layer of 0.625 .*: a thicker body"),
        (lambda: sw.bodies.Cylinder((2.0, 1.5), 2.7), "body: 5.4 long along y, in a box of 5"),
        (lambda: sw.bodies.Cylinder((2.0, 1.5), 0.7, eta=0.0), "body.eta 0.0: a positive time is needed"),
        (lambda: sw.bodies.Cylinder((2.0, 1.5), 0.7, velocity=(1.0,)), "body.velocity .*: 2 numbers are needed"),
        (lambda: sw.bodies.Cylinder((2.0, 1.5), 0.7, rotation=(0.0, 0.0, 1.0)), "body.rotation .*: one number is"),
        (lambda: sw.bodies.Cylinder((2.0, 1.5), 0.7, stream_speed=0.0), "stream_speed 0.0: a positive speed is needed"),
        (lambda: sw.bodies.Cylinder((2.0, 1.5), 0.7, reference_area=-1.0), "reference_area -1.0: a positive area"),
        (lambda: sw.bodies.Cylinder((2.0, 1.5j), 0.7), "body.centre .*: a number that is not complex is needed"),
        (lambda: sw.bodies.Wall(0.0, 1.0, tilt=0.2), "body: a wall crosses the whole box"),
        (lambda: sw.bodies.Cylinder((2.0, 1.5), 0.7, frequency=0.0), "body.frequency 0.0: a positive number"),
        (lambda: sw.bodies.Box((2.0, 1.5), (1.0, 1.0, 1.0)), "sides .*: 2 numbers are needed, as many as the centre"),
        (lambda: sw.bodies.Cylinders(60, 0.6), "body.count 60: .* of them have found a place"),
        (lambda: sw.bodies.Cylinders(3, 0.6, velocity=(1.0, 0.0)), "body: many cylinders are at rest"),
        (
            lambda: {"sponge": sw.bodies.Sponge(0.0, 9.0, 1.0)},
            "sponge.width 9.0: with its edges it is 13.5 wide, in a box of 6",
        ),
        (lambda: {"end": sw.bodies.Sponge(0.0, 1.0, 1.0)}, "sponge.end.edge 0.125: a spacing of the points"),
        (lambda: {"end": sw.bodies.Sponge(0.0, 2.0, 1.0, axis="z")}, "sponge.end.axis 'z': this grid has x, y"),
        (lambda: {"end": sw.bodies.Sponge(0.0, 2.0, 1.0, (1.0,))}, "sponge.end.target .*: 2 numbers are needed"),
        (
            lambda: {
                "a": sw.bodies.Cylinder((2.0, 1.5), 0.7),
                "b": sw.bodies.Cylinder((3.0, 1.5), 0.7, velocity=(1.0, 0.0)),
            },
            "body.a and body.b overlap and do not move alike",
        ),
    ],
)
def test_wrong_bodies_are_one_line(bodies, message):
    with refused_in_one_line(message):
        flow(bodies())


def test_a_cylinder_in_space_turns_about_its_axis_alone():
    rod = lambda **motion: sw.bodies.Cylinder((2.0, 1.5, 1.0), 0.7, "y", **motion)  # noqa: E731
    in_space = {"shape": (16, 16, 16), "lengths": (4.0, 4.0, 4.0)}
    flow(rod(rotation=(0.0, 1.0, 0.0)), **in_space)
    for motion in ({"rotation": (0.1, 1.0, 0.0)}, {"tilt": (0.0, 0.0, 0.3)}):
        with pytest.raises(ValueError, match=r"body\.(rotation|tilt) .*: a cylinder .* turns about its axis alone, y"):
            flow(rod(**motion), **in_space)


def test_bodies_need_a_velocity_and_a_viscosity():
    grid, disc = sw.Grid((32, 24), lengths=(6.0, 5.0), mesh=sw.device_mesh([0])), SHAPES_2D["cylinder"]
    with pytest.raises(ValueError, match="vorticity: its text says of no velocity"):
        sw.equations.Vorticity(grid, viscosity=0.1, bodies=disc)
    with pytest.raises(ValueError, match="viscosity > 0 is needed"):
        flow(disc, viscosity=0.0)
    with pytest.raises(TypeError, match="is needed, or a dict of them by name"):
        flow({"disc": 1.0})
    moved = sw.Grid((32, 24), lengths=(6.0, 5.0), mesh=sw.device_mesh([0]), dealias="phase-shift-alternating")
    shifted = sw.equations.NavierStokes(moved, viscosity=0.1, bodies=disc)
    with pytest.raises(ValueError, match="arrays over points cannot follow the points as they move"):
        shifted.check()
    fixed = flow(disc)
    state = sw.initial_state(fixed, sw.steppers.CNAB2(), jnp.zeros((2, 32, 24)))
    eta = disc.penalisation_time(fixed.obstacles.scene)
    with pytest.raises(ValueError, match=f"step 1 with cnab2: bodies draw the flow .* {eta:.4g} or less is needed"):
        next(sw.evolve(fixed, sw.steppers.CNAB2(), state, end=1.0, control=sw.FixedStep(1.0)))
    with pytest.raises(ValueError, match="step 1 with cnab2: bodies draw the flow"):
        sw.integrate(fixed, sw.steppers.CNAB2(), state, step=1.0, steps=1)
    with pytest.raises(ValueError, match="hot in the diffusivity of a scalar at bodies: a number is needed"):
        sw.write("dt(c) = lap(c) + penalise(c, hot)", {"c": "scalar"})
    with pytest.raises(ValueError, match="penalise of two things: a scalar field is needed first"):
        sw.write("dt(c) = lap(c) + penalise(2*c, 1)", {"c": "scalar"})
    with pytest.raises(ValueError, match="penalise is called of another one, too"):
        sw.write(["dt(u) = penalise(u)", "dt(v) = penalise(v)"], {"u": "vector", "v": "vector"})


SHAPE = {"centre": (3.0, 3.0)}
REFUSED = {  # of a number: one that is taken, one that is refused
    "radius of a disc": (lambda x: {"a": sw.bodies.Cylinder(**SHAPE, radius=x)}, 1.0, -1.0),
    "a disc that is too thin": (lambda x: {"a": sw.bodies.Cylinder(**SHAPE, radius=x)}, 1.0, 0.1),
    "a disc that is too large": (lambda x: {"a": sw.bodies.Cylinder(**SHAPE, radius=x)}, 1.0, 4.0),
    "sides": (lambda x: {"a": sw.bodies.Box(**SHAPE, sides=(2.0, x))}, 2.0, 0.0),
    "semi-axes": (lambda x: {"a": sw.bodies.Ellipsoid(**SHAPE, semi_axes=(x, 1.0))}, 1.0, -1.0),
    "thickness": (lambda x: {"a": sw.bodies.Wall(position=3.0, thickness=x)}, 2.0, -2.0),
    "eta": (lambda x: {"a": sw.bodies.Cylinder(**SHAPE, radius=1.0, eta=x)}, 0.5, -0.5),
    "frequency": (lambda x: {"a": sw.bodies.Cylinder(**SHAPE, radius=1.0, velocity=(0.1, 0.0), frequency=x)}, 1.0, 0.0),
    "mass": (lambda x: {"a": sw.bodies.Cylinder(**SHAPE, radius=1.0, mass=x)}, 1.0, 0.0),
    "rate of a sponge": (lambda x: {"sponge": sw.bodies.Sponge(position=3.0, width=2.0, rate=x)}, 1.0, -1.0),
    "width of a sponge": (lambda x: {"sponge": sw.bodies.Sponge(position=3.0, width=x, rate=1.0, edge=0.5)}, 2.0, 6.0),
    "bodies that overlap": (
        lambda x: {
            "a": sw.bodies.Cylinder(centre=(1.5, 3.0), radius=0.7, velocity=(0.1, 0.0)),
            "b": sw.bodies.Cylinder(centre=(x, 3.0), radius=0.7),
        },
        4.5,
        2.0,
    ),
}


@pytest.mark.parametrize("which", REFUSED)
def test_numbers_that_are_refused_are_none_where_they_are_traced(make_grid, which):
    """Under `jit` nothing can be raised: what would be, makes the change of the flow not a number, and nothing else."""
    make, good, bad = REFUSED[which]
    grid = make_grid((48, 48), devices=1)
    at_rest = sw.equations.NavierStokes(grid, 0.1)
    fields = at_rest.from_physical({"velocity": sw.initial.TaylorGreen()(grid)})

    def changes(x):
        equation = sw.equations.NavierStokes(grid, 0.1, bodies=make(x))
        return equation.at_step().nonlinear({**fields, **companions_at_start(equation, fields)}, 0.0)

    with pytest.raises(ValueError, match=r"needed|fits|wide"):
        changes(bad)
    traced = jax.jit(changes)
    for name, values in changes(good).items():
        np.testing.assert_allclose(traced(good)[name], values, atol=1e-12)
    assert any(np.isnan(values).any() for values in traced(bad).values())
