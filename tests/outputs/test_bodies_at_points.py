"""The mask χ of bodies in snapshots, slices and data sets: where the bodies are at the time of the state."""

import h5py
import numpy as np
import pytest

import solver as sw
from solver.outputs import Slices, Snapshots
from solver.outputs.well import orders
from solver.steppers.start import state_shapes

STEPPER = sw.steppers.ETDRK4()
SPONGE = sw.bodies.Sponge(position=0.0, width=1.2, edge=0.4, rate=2.0)


def flow(grid, bodies):
    return sw.equations.NavierStokes(grid, viscosity=0.1, bodies=bodies)


def moving_disc_and_wall(grid):
    """A disc that has moved by V t = (2, 0.5) at t = 0.2, across the end of the box, a wall at rest, and a sponge."""
    disc = sw.bodies.Cylinder(centre=(6.9, 3.0), radius=0.7, velocity=(10.0, 2.5))
    wall = sw.bodies.Wall(position=0.0, thickness=1.2)
    return flow(grid, {"disc": disc, "wall": wall, "sponge": SPONGE})


def disc_and_wall(x, y, t, layer):
    """The same worked out by hand: the nearest image of (6.9, 3) + V t."""
    apart = lambda s, length: s - length * np.round(s / length)  # noqa: E731
    across, up = apart(x - 6.9 - 10.0 * t, 8.0), apart(y - 3.0 - 2.5 * t, 6.0)
    mask = lambda d: 0.5 * (1 - np.tanh(2 * d / layer))  # noqa: E731
    return np.maximum(mask(np.hypot(across, up) - 0.7), mask(np.abs(apart(y, 6.0)) - 0.6))


def run(directory, equation, *outputs):
    start = sw.sample(lambda x, y: (1 + 0 * (x + y), 0 * (x + y)), equation.grid)
    state = sw.initial_state(equation, STEPPER, start)
    sw.run(equation, STEPPER, state, end=0.2, step=0.05, directory=directory, outputs=outputs)


def read(directory, kind, step, name):
    with h5py.File(directory / kind / f"step-{step:08d}.h5") as file:
        return file[name][()], file[name].attrs["units"], file.attrs["time"]


@pytest.mark.slow
@pytest.mark.parametrize("devices", [1, 8])
@pytest.mark.parametrize("coarsen", [1, 2])
def test_bodies_are_where_they_are_at_the_time_of_the_state(make_grid, tmp_path, devices, coarsen):
    """On fewer points too, with the layer of the grid of the run: one of the coarser grid would be twice as thick."""
    equation = moving_disc_and_wall(make_grid((48, 34), devices, lengths=(8.0, 6.0)))
    snapshots = Snapshots(every_steps=2, fields=("vorticity", "bodies"), coarsen=coarsen)
    run(tmp_path, equation, snapshots, Slices(every_steps=2, at=("x = 0.6:5",)))
    x, y = (np.asarray(c)[tuple(slice(None, None, coarsen) for _ in range(2))] for c in equation.grid.coordinates())
    for step, t in ((0, 0.0), (2, 0.1), (4, 0.2)):
        bodies, units, time = read(tmp_path, "snapshots", step, "bodies")
        assert (units, time) == ("1", pytest.approx(t))
        np.testing.assert_allclose(bodies, disc_and_wall(x, y, t, layer=3 * 6 / 34), atol=1e-12)
        assert 0 <= bodies.min() < 0.01 < 0.9 < bodies.max() <= 1
    if coarsen == 1:
        part, _, _ = read(tmp_path, "slices", 4, "bodies_x4-29")  # a quantity that is written by default
        np.testing.assert_array_equal(part, bodies[4:30].astype(np.float32))


def test_every_device_makes_its_own_part(make_grid):
    equation = moving_disc_and_wall(make_grid((48, 34), 8, lengths=(8.0, 6.0)))
    state = state_shapes(equation, STEPPER, with_key=False)
    program = Snapshots(fields=("bodies",)).programs(equation, state)["snapshots"].lower().compile()
    assert program.output_shardings["bodies"].spec[0] is not None
    assert not any(word in program.as_text() for word in ("all-gather", "all-to-all", "all-reduce"))


@pytest.mark.parametrize("bodies", [None, {"sponge": SPONGE}], ids=["none", "a sponge"])
def test_without_bodies_there_is_no_such_quantity(make_grid, bodies):
    equation = flow(make_grid((24, 18), 1, lengths=(8.0, 6.0)), bodies)
    with pytest.raises(ValueError, match=r"output\.snapshots\.fields: navier-stokes has no 'bodies'; known are"):
        Snapshots(fields=("bodies",)).check(equation)
    assert orders(equation, Snapshots().selection) == {"velocity": 1}


def test_a_data_set_has_them_by_default(make_grid):
    equation = moving_disc_and_wall(make_grid((24, 18), 1, lengths=(8.0, 6.0)))
    assert orders(equation, Snapshots().selection) == {"velocity": 1, "bodies": 0}
