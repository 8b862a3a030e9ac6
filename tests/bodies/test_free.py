"""Bodies that the flow moves: Newton's laws, exact flows, the order of every kind of stepper, restarts, wrong input."""

import itertools

import h5py
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import read_checkpoint, refused_in_one_line
from written_runs import written

import solver as sw
from solver.assemble import read_run_file
from solver.bodies.body import Scene
from solver.cli.main import main
from solver.config import ConfigError
from solver.dynamics.acting_bodies import fastest_decay

SHAPE, LENGTHS = (32, 28), (4.0, 3.5)
DISC = np.pi * 0.25  # mass of the fluid in the place of a disc of radius ½


MOMENTUM = sw.write(["dt(m) = nu*lap(m) + penalise(u)", "u = 2*m"], {"m": "vector"}, unknowns={"u": "vector"})


def falling(stepper, mesh=None, *, bodies=None, speed=0.0, precision="float64", **parameters):
    """A disc under gravity beside a post: equation and first state."""
    grid = sw.Grid(SHAPE, lengths=LENGTHS, mesh=mesh or sw.device_mesh([0]), precision=precision)
    disc = sw.bodies.Cylinder((2.0, 2.2), 0.5, mass=2 * DISC, gravity=(0.3, -1.0), rotation=1.0, velocity=(0.2, 0.0))
    bodies = bodies or {"disc": disc, "post": sw.bodies.Cylinder((1.0, 0.8), 0.5)}
    flow = sw.equations.NavierStokes(grid, viscosity=0.1, bodies=bodies, **parameters)
    return flow, sw.initial_state(flow, stepper, jnp.zeros((2, *SHAPE), grid.dtype).at[0].set(speed))


def motion(state):
    return np.asarray(state.field["motion"])


# ---- Newton's laws --------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_fluid_and_body_exchange_momentum_and_lose_none():
    """m V + ∫(1 − χ) u dV, of the body and the fluid outside; and x of the body is the integral of V."""
    mass, stepper = 0.6 * DISC, sw.steppers.ETDRK4()
    disc = sw.bodies.Cylinder((2.0, 2.2), 0.5, mass=mass, velocity=(0.0, -0.5))
    flow, state = falling(stepper, bodies=disc, speed=0.5)
    momenta, places = [], []
    for _ in range(3):
        u, free = flow.to_physical(state.field)["velocity"], motion(state)
        outside = 1 - flow.report.bodies.mask(state.field)(flow.grid.coordinates(), 0.0)
        momenta.append(np.sum(outside * u, axis=(1, 2)) * np.prod(flow.grid.spacing) + mass * free[2:4])
        places.append(free)
        state = sw.integrate(flow, stepper, state, step=0.005, steps=20)
    np.testing.assert_allclose(momenta[1:], [momenta[0]] * 2, atol=1e-8)
    assert np.abs(places[2][2:4] - places[0][2:4]).min() > 0.05, "much is exchanged"
    assert 0.1 * min(p[2] for p in places) < places[1][0] < 0.1 * max(p[2] for p in places)


@pytest.mark.slow
@pytest.mark.parametrize("share", [0.2, 3.0])
def test_a_body_that_moves_with_the_stream_stays_with_it(share):
    disc = sw.bodies.Cylinder((2.0, 2.2), 0.5, mass=share * DISC, velocity=(0.7, 0.0))
    flow, state = falling(sw.steppers.ETDRK3(), bodies=disc, speed=0.7)
    state = sw.integrate(flow, sw.steppers.ETDRK3(), state, step=0.02, steps=100)
    np.testing.assert_allclose(motion(state), [1.4, 0.0, 0.7, 0.0, 0.0], atol=1e-5)


def spin_in_a_drum(inner, outer, viscosity, inertia, t, points=400):
    """Ω(t) of a cylinder that starts with 1 in a fluid at rest, by finite differences in r: ω's own diffusion."""
    r, h = np.linspace(inner, outer, points + 1, retstep=True)
    change = np.zeros((points, points))
    for i in range(1, points):
        change[i, i - 1 : i + 2] = np.array([1 / h**2 - 1 / (2 * h * r[i]), -2 / h**2 - 1 / r[i] ** 2,
                                             1 / h**2 + 1 / (2 * h * r[i])])[: points - i + 1]  # fmt: skip
    change[0, :3] = np.array([-1.5, 2, -0.5]) / h
    change[0, 0] -= 1 / inner
    change[0] *= 2 * np.pi * inner**3 / inertia
    rates, modes = np.linalg.eig(viscosity * change)
    start = np.eye(points)[0] * inner
    return float(np.real((modes * np.exp(rates * t)) @ np.linalg.solve(modes, start))[0] / inner)


@pytest.mark.thorough
@pytest.mark.slow
def test_a_cylinder_that_spins_down_in_a_drum():
    """Second order in the spacing: torque, moment of inertia and the fluid in between."""
    errors = []
    for n in (32, 64):
        grid, stepper = sw.Grid((n, n), lengths=4.8, mesh=sw.device_mesh([0])), sw.steppers.ETDRK3()
        axle = sw.bodies.Cylinder((2.4, 2.4), 1.0, mass=np.pi, rotation=1.0)
        drum = sw.bodies.Cylinder((2.4, 2.4), 2.0, inverted=True)
        flow = sw.equations.NavierStokes(grid, viscosity=0.5, bodies={"axle": axle, "drum": drum}, energy_budget=False)
        state = sw.initial_state(flow, stepper, jnp.zeros((2, n, n)))
        step = 0.5 / round(0.5 / fastest_decay(flow) ** -1)
        state = sw.integrate(flow, stepper, state, step=step, steps=round(0.5 / step))
        errors.append(motion(state)[-1] / spin_in_a_drum(1.0, 2.0, 0.5, np.pi / 2, 0.5) - 1)
    assert abs(errors[1]) < 0.06
    assert errors[0] / errors[1] > 3


@pytest.mark.thorough
@pytest.mark.slow
def test_a_sphere_settles_as_in_a_cubic_array():
    """At Re → 0, the mean flow held at zero: Hasimoto, J. Fluid Mech. 5 (1959) 317; 6πμaUK of all that falls."""
    share, n, stepper = 0.065, 24, sw.steppers.ETDRK3()
    radius = (3 * share / (4 * np.pi)) ** (1 / 3)
    drag = 6 * np.pi * radius / (1 - 1.7601 * share ** (1 / 3) + share - 1.5593 * share**2)
    eta = 0.1 * (3 / n / 2.64822828) ** 2
    grid = sw.Grid((n, n, n), lengths=1.0, mesh=sw.device_mesh([0]))
    ball = sw.bodies.Sphere((0.52, 0.5, 0.5), radius, eta=eta, mass=0.5 * share, gravity=(0.0, 0.0, -100.0))
    still = sw.forcing.FlowRate((0.0, 0.0, 0.0), relaxation=10 * eta)
    flow = sw.equations.NavierStokes(grid, viscosity=1.0, bodies=ball, forcing=still, energy_budget=False)
    state = sw.initial_state(flow, stepper, jnp.zeros((3, n, n, n)))
    state = sw.integrate(flow, stepper, state, step=1.5 * eta, steps=360)
    rises = 0.5 * share * 100 / ((1 - share) * drag)  # the uniform force that holds the flow does not act on the body
    assert motion(state)[5] / rises - 1 == pytest.approx(0.03, abs=0.01)
    np.testing.assert_allclose(motion(state)[[3, 4, 6, 7, 8]], 0.0, atol=1e-3 * rises)


def test_moments_of_inertia_and_axes_in_space():
    scene = Scene(0.1, (0.1, 0.1, 0.1), (4.0, 3.0, 2.0))
    ball = sw.bodies.Sphere((2.0, 1.5, 1.0), 0.5, mass=3.0, gravity=(0.0, 0.0, -2.0))
    rod = sw.bodies.Cylinder((2.0, 1.5, 1.0), 0.5, "y", mass=3.0)
    own = sw.bodies.Sphere((2.0, 1.5, 1.0), 0.5, mass=3.0, moment_of_inertia=0.6)
    load = list(jnp.asarray([0.0, 1.5, 0.0])), list(jnp.asarray([0.3, 0.6, 0.9]))
    rates = {body: np.asarray(b.accelerations(*load, scene)) for body, b in
             (("ball", ball), ("rod", rod), ("own", own))}  # fmt: skip
    np.testing.assert_allclose(rates["ball"][6:], [1.0, 2.0, 3.0])  # 2/5 m R²
    np.testing.assert_allclose(rates["rod"][6:], [0.0, 1.6, 0.0])  # ½ m R², about its axis alone
    np.testing.assert_allclose(rates["own"][6:], [0.5, 1.0, 1.5])
    weight = -2 * (3 - np.pi / 6) / 3
    np.testing.assert_allclose(rates["ball"][3:6], [0.0, 0.5, weight])
    assert float(rod.displaced(scene.lengths)) == pytest.approx(np.pi * 0.25 * 3.0)


# ---- as any state ---------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    ("stepper", "order"),
    [("ETDRK4", 4), ("SBDF3", 3)],
)
def test_the_motion_has_the_order_of_the_stepper(stepper, order):
    method, found = getattr(sw.steppers, stepper)(), []
    for steps in (10, 20, 40):
        flow, state = falling(method, energy_budget=False)
        found.append(motion(sw.integrate(flow, method, state, step=0.2 / steps, steps=steps)))
    fell = np.linalg.norm(found[-1][:2])
    assert fell > 0.03
    first, second = (np.linalg.norm(a - b) for a, b in itertools.pairwise(found))
    assert np.log2(first / second) > order - 0.35 or first < 1e-11


@pytest.mark.thorough
@pytest.mark.slow
def test_evolve_integrate_and_rollout_agree_and_devices_change_nothing():
    stepper = sw.steppers.ETDRK3()
    flow, state = falling(stepper)
    once = sw.integrate(flow, stepper, state, step=0.02, steps=10)
    *_, evolved = sw.evolve(flow, stepper, state, end=0.2, step=0.02)
    np.testing.assert_array_equal(motion(once), motion(evolved))
    _, rolled = sw.rollout(flow, stepper, state, step=0.02, steps=10, every=10)
    np.testing.assert_allclose(rolled["velocity"][-1], flow.to_physical(once.field)["velocity"], atol=1e-13)
    many, start = falling(stepper, sw.device_mesh())
    split = sw.integrate(many, stepper, start, step=0.02, steps=10)
    np.testing.assert_allclose(motion(split), motion(once), atol=1e-12)
    by_rate = sw.integrate(flow, stepper, state, cfl=0.3, end=0.2, max_steps=100)
    np.testing.assert_allclose(motion(by_rate), motion(once), atol=1e-4)


@pytest.mark.thorough
@pytest.mark.slow
def test_steps_by_tolerance_and_their_derivatives():
    """Steps as an embedded method asks for; and the derivative with respect to the size of equal steps."""
    stepper = sw.steppers.IFRK3()
    flow, state = falling(stepper)
    fixed = sw.integrate(flow, stepper, state, step=0.01, steps=20)
    *_, last = sw.evolve(flow, stepper, state, end=0.2, tolerance=1e-5)
    np.testing.assert_allclose(motion(last), motion(fixed), atol=1e-4)

    def after(step):
        return sw.integrate(flow, stepper, state, step=step, steps=6).field["motion"]

    _, slope = jax.jit(lambda step: jax.jvp(after, (step,), (jnp.ones_like(step),)))(jnp.asarray(0.02))
    difference = (np.asarray(after(0.02001)) - np.asarray(after(0.01999))) / 2e-5
    np.testing.assert_allclose(slope, difference, rtol=1e-6, atol=1e-8)


@pytest.mark.thorough
@pytest.mark.slow
def test_gradients_with_respect_to_mass_and_place_are_differences():
    stepper = sw.steppers.ETDRK3()

    def height(mass, place):
        disc = sw.bodies.Cylinder((2.0, place), 0.5, mass=mass, gravity=(0.0, -1.0))
        flow, state = falling(stepper, bodies={"disc": disc, "post": sw.bodies.Cylinder((1.0, 0.8), 0.5)})
        return sw.integrate(flow, stepper, state, step=0.02, steps=10).field["motion"][1]

    at = jnp.asarray(1.3), jnp.asarray(2.2)
    slopes, value = jax.jit(jax.grad(height, argnums=(0, 1)))(*at), jax.jit(height)
    for n in range(2):
        above, below = ([x + sign * 1e-4 * (i == n) for i, x in enumerate(at)] for sign in (1, -1))
        assert float(slopes[n]) == pytest.approx(float(value(*above) - value(*below)) / 2e-4, rel=1e-5)


@pytest.mark.slow
def test_float32_stays_with_float64_over_a_long_run():
    stepper, found = sw.steppers.ETDRK3(), {}
    for precision in ("float32", "float64"):
        flow, state = falling(stepper, precision=precision)
        found[precision] = motion(sw.integrate(flow, stepper, state, step=0.02, steps=1000))
    assert abs(found["float64"][1]) > 10, "it falls through the box several times"
    np.testing.assert_allclose(found["float32"][:2], found["float64"][:2], atol=2e-2)


@pytest.mark.thorough
@pytest.mark.slow
def test_free_bodies_in_other_equations():
    grid, stepper = sw.Grid(SHAPE, lengths=LENGTHS, mesh=sw.device_mesh([0])), sw.steppers.ETDRK3()
    disc = {"disc": sw.bodies.Sphere((2.0, 2.2), 0.5, mass=2 * DISC, gravity=(0.0, -1.0))}
    flow = sw.equations.Boussinesq(grid, viscosity=0.1, diffusivity=0.1, buoyancy_frequency=1.0, bodies=disc)
    start = {name: jnp.zeros(shape) for name, shape in flow.physical_shapes().items()}
    state = sw.integrate(flow, stepper, sw.initial_state(flow, stepper, start), step=0.02, steps=10)
    assert motion(state)[3] < -0.03
    with pytest.raises(ValueError, match=r"body.disc.mass 1.5.*: .* moves no velocity by itself"):
        MOMENTUM(grid, nu=0.1, bodies=disc)


# ---- runs -----------------------------------------------------------------------------------------------------------

RUN = f"""
[grid]
shape = [32, 28]
lengths = [4.0, 3.5]
[equation]
name = "navier-stokes"
viscosity = 0.1
[initial]
name = "uniform"
value = [0.2, 0.0]
[body.disc]
shape = "cylinder"
centre = [2.0, 2.2]
radius = 0.5
mass = {2 * DISC}
gravity = [0.0, -1.0]
[body.post]
shape = "cylinder"
centre = [1.0, 0.8]
radius = 0.5
[time]
stepper = "cnab2"
step = 0.02
end = 0.4
[output]
directory = "unnamed"
series = {{ every_steps = 5 }}
checkpoints = {{ every_steps = 10, keep = 10 }}
snapshots = {{ every_steps = 20 }}
"""


@pytest.fixture(scope="module")
def run_file(tmp_path_factory):
    return written(tmp_path_factory.mktemp("free"), RUN)


@pytest.mark.slow
def test_a_run_is_continued_with_the_same_bits_and_reports_where_bodies_are(run_file, tmp_path):
    whole, run = tmp_path / "whole", tmp_path / "run"
    assert main(["run", str(run_file), f"output.directory={whole}"]) == 0
    assert main(["run", str(run_file), f"output.directory={run}", "time.end=0.2"]) == 0
    assert main(["resume", str(run), "time.end=0.4"]) == 0
    (first, numbers), (second, others) = (read_checkpoint(f / "checkpoints" / "step-00000020") for f in (whole, run))
    assert first.keys() == second.keys()
    for name in first:
        np.testing.assert_array_equal(first[name], second[name])
    motion = numbers["values"]["field/motion"]["value"]
    assert others["values"]["field/motion"]["value"] == motion
    rows = np.genfromtxt(whole / "series.csv", delimiter=",", names=True, skip_header=1)
    columns = ["disc_x", "disc_y", "disc_velocity_x", "disc_velocity_y", "disc_spin"]
    np.testing.assert_allclose([rows[c][-1] for c in columns], np.add(motion, [2.0, 2.2, 0, 0, 0]), rtol=1e-12)
    assert rows["disc_y"][-1] < 2.17
    head = (whole / "series.csv").read_text().splitlines()[0]
    assert "disc_x [length], disc_y [length], disc_velocity_x [length/time]" in head
    assert "disc_spin [1/time]" in head
    with h5py.File(whole / "snapshots" / "step-00000020.h5") as file:
        chi = file["bodies"][...]
    along_y, middle = np.mean(chi, axis=0), (0.8 + rows["disc_y"][-1]) / 2
    assert along_y @ np.arange(28) / 8 == pytest.approx(np.sum(along_y) * middle, rel=4e-3)


@pytest.mark.thorough
@pytest.mark.slow
def test_a_branch_goes_on_from_where_the_bodies_are(run_file, tmp_path, capsys):
    """With another viscosity; bodies of other names begin at their centres, and a line says so."""
    run, branch, other = tmp_path / "run", tmp_path / "branch", tmp_path / "other"
    assert main(["run", str(run_file), f"output.directory={run}"]) == 0
    assert main(["resume", str(run), "--branch", str(branch), "equation.viscosity=0.2", "time.end=0.5"]) == 0
    rows = [np.genfromtxt(f / "series.csv", delimiter=",", names=True, skip_header=1) for f in (run, branch)]
    for column in ("t", "disc_x", "disc_y", "disc_velocity_y", "disc_spin"):
        assert rows[1][column][0] == rows[0][column][-1]
    assert rows[1]["disc_y"][-1] < rows[0]["disc_y"][-1]
    moved = ["resume", str(run), "--branch", str(tmp_path / "moved"), "body.disc.centre=[1.9, 2.0]", "time.end=0.5"]
    assert main(moved) == 0
    first = np.genfromtxt(tmp_path / "moved" / "series.csv", delimiter=",", names=True, skip_header=1)[0]
    assert [first["disc_x"], first["disc_y"]] == pytest.approx(
        [rows[0]["disc_x"][-1], rows[0]["disc_y"][-1]], abs=1e-14
    )
    capsys.readouterr()
    start = f"initial={{ name = 'run', path = '{run}', step = 20, keep_time = true }}"
    words = ["body={ shape = 'sphere', centre = [2.0, 2.2], radius = 0.5, mass = 1.0 }", "time.end=0.5"]
    assert main(["run", str(run_file), f"output.directory={other}", start, *words]) == 0
    assert "free bodies begin at their centres" in "".join(capsys.readouterr())
    assert np.genfromtxt(other / "series.csv", delimiter=",", names=True, skip_header=1)["body_y"][0] == 2.2


@pytest.mark.slow
def test_check_counts_the_transforms_of_the_forces(run_file, capsys):
    assert main(["check", str(run_file)]) == 0
    told = capsys.readouterr().out
    assert "the flow moves disc: 4 inverse transforms more for each right-hand side" in told
    assert "7 inverse, 2 forward per step" in told


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["body.disc.mass=0.0"], "body.disc.mass 0.0: a positive number is needed"),
        (["body.disc.moment_of_inertia=-1.0"], "body.disc.moment_of_inertia -1.0: a positive number"),
        (["body.disc.gravity=[1.0]"], r"body.disc.gravity .*: 2 numbers are needed"),
        (["body.post.gravity=[1.0, 0.0]"], "body.post.gravity .* needs mass"),
        (["body.disc.frequency=1.0"], "body.disc.frequency 1.0: the flow moves a body that has a mass"),
        (["body.disc.inverted=true"], "body.disc.inverted: the solid must be inside"),
        (["body.post.centre=[2.0, 1.5]"], "body.disc and body.post overlap and do not move alike"),
    ],
)
def test_wrong_free_bodies_are_one_line(words, message, run_file):
    with refused_in_one_line(message, ConfigError):
        read_run_file(run_file, words)
