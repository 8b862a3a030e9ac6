"""What `initial_state` makes lies on the devices as it is declared, and as a step leaves it."""

from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import AxisType

import solver as sw
from solver.assemble.classes import built_in
from solver.dynamics.splittable import Splittable
from solver.equations import Burgers, GrossPitaevskii, NavierStokes
from solver.grid import Storage
from solver.steppers import IFRK2, SBDF2, Stepper
from solver.steppers.start import state_shapes
from solver.steppers.state import path_in_state

KEEPING = [cls() for cls in built_in("stepper").values() if cls.history_storage is not Stepper.history_storage]
SLABS, EXPLICIT = {"devices": 4}, {"devices": 4, "axis_type": AxisType.Explicit}
SPLITS = {"slabs": ((8, 12), SLABS), "pencils": ((6, 8, 4), {"mesh_shape": (2, 2)})}


class Pulled(sw.forcing.Forcing):
    """Pulls a field to coefficients of zero, and counts its size by mode."""

    def start_from(self, u_hat, space, key):
        return {"to": jnp.zeros(u_hat.shape, u_hat.dtype), "sizes": jnp.abs(u_hat)}

    def state_storage(self, field):
        return {"to": field, "sizes": Storage("host")}

    def force(self, state, u_hat, space, change=None):
        return state["to"] - u_hat


class Sizes(IFRK2):
    """Keeps the size of each mode as numbers on the host, and coefficients of zero."""

    name: ClassVar[str] = "sizes"

    def start(self, equation, fields):
        u_hat = fields["velocity"]
        return {"sizes": jnp.abs(u_hat), "zeros": jnp.zeros(u_hat.shape, u_hat.dtype)}

    def history_storage(self, fields):
        return {"sizes": Storage("host"), "zeros": fields["velocity"]}

    def advance(self, equation, fields, history, t, dt, coefficients):
        moved, _ = super().advance(equation, fields, (), t, dt, coefficients)
        return moved, history


FORCINGS = {
    "ornstein-uhlenbeck": sw.forcing.OrnsteinUhlenbeck(0.1, largest=1),
    "frozen-shells": sw.forcing.FrozenShells(1.0, 1.0),
    "own": Pulled(),
}


def random_values(*shape):
    """Numbers on one device, which `initial_state` has to split."""
    return jnp.asarray(np.random.default_rng(0).normal(size=shape))


def equation_for(stepper, grid):
    """An equation that the stepper takes, and values at the points of its one field."""
    if stepper.takes is Splittable:
        return GrossPitaevskii(grid), jnp.exp(1j * random_values(1, *grid.shape))
    return NavierStokes(grid, 0.1), random_values(grid.dimensions, *grid.shape)


def shardings(state):
    """Sharding and number of axes of each array of a state, by path; numbers that NumPy holds are left out."""
    leaves = jax.tree_util.tree_leaves_with_path(state)
    return {path_in_state(path): (leaf.sharding, leaf.ndim) for path, leaf in leaves if isinstance(leaf, jax.Array)}


def after_one_step(equation, stepper, state):
    *_, state = sw.evolve(equation, stepper, state, end=0.001, step=0.001)
    return state


def check_placement(equation, stepper, state):
    """Each array lies as its storage says, on the mesh's devices, and where one step leaves it."""
    start, later = shardings(state), shardings(after_one_step(equation, stepper, state))
    declared = state.storage_by_path()
    assert later.keys() <= start.keys()
    for name, (sharding, ndim) in start.items():
        needed = declared.get(name, Storage("host")).sharding(ndim, equation.grid)
        assert sharding.device_set == set(equation.grid.mesh.devices.flat), name
        assert sharding.is_equivalent_to(needed, ndim), f"{name}: {sharding.spec}; {needed.spec} is needed"
        if name in later:
            assert sharding.is_equivalent_to(later[name][0], ndim), f"{name}: {sharding.spec}, later {later[name][0]}"


def test_the_steppers_that_keep_a_history_are_found():
    assert {"sbdf2", "sbdf3", "cnab2", "strang"} <= {stepper.name for stepper in KEEPING}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("stepper", "split"),
    [(stepper, list(SPLITS)[i % len(SPLITS)]) for i, stepper in enumerate(KEEPING)],
    ids=lambda each: getattr(each, "name", each),
)
def test_a_history_is_split_from_the_start(make_grid, stepper, split):
    """No device holds more than its own part of any array of modes or points."""
    shape, mesh = SPLITS[split]
    equation, u = equation_for(stepper, make_grid(shape, **mesh, dealias="none"))
    state = sw.initial_state(equation, stepper, u)
    check_placement(equation, stepper, state)
    arrays = [leaf for leaf in jax.tree.leaves(state.history) if leaf.ndim > 1]
    assert arrays
    for leaf in arrays:
        assert {shard.data.size for shard in leaf.addressable_shards} == {leaf.size // 4}


@pytest.mark.slow
@pytest.mark.parametrize("forcing", FORCINGS)
def test_what_a_forcing_keeps_is_placed(make_grid, forcing):
    grid = make_grid((8, 12), devices=4)
    flow = NavierStokes(grid, 0.1, forcing=FORCINGS[forcing])
    state = sw.initial_state(flow, SBDF2(), random_values(2, 8, 12), seed=0)
    assert "forcing/velocity" in str(shardings(state))
    check_placement(flow, SBDF2(), state)


def test_points_that_the_devices_do_not_divide_are_whole(make_grid):
    equation = GrossPitaevskii(make_grid((10, 9), devices=4, dealias="none", real=False))
    strang = sw.steppers.Strang()
    check_placement(equation, strang, sw.initial_state(equation, strang, jnp.ones((1, 10, 9), complex)))


@pytest.mark.slow
@pytest.mark.parametrize("mesh", [SLABS, EXPLICIT], ids=["Auto", "Explicit"])
def test_a_stepper_of_ones_own_is_placed_as_it_declares(make_grid, mesh):
    """Left to the compiler its numbers on the host would be split, and its coefficients of zero whole."""
    flow, u = equation_for(Sizes(), make_grid((8, 12), **mesh))
    state = sw.initial_state(flow, Sizes(), u)
    check_placement(flow, Sizes(), state)
    assert state.history["sizes"].is_fully_replicated
    assert not state.history["zeros"].is_fully_replicated


@pytest.mark.slow
def test_explicit_axes_and_a_forcing_that_reads_no_field(make_grid):
    flow = NavierStokes(make_grid((8, 12), **EXPLICIT), 0.1, forcing=FORCINGS["ornstein-uhlenbeck"])
    check_placement(flow, SBDF2(), sw.initial_state(flow, SBDF2(), random_values(2, 8, 12), seed=0))


@pytest.mark.slow
@pytest.mark.parametrize("use", [[5, 2], [3]], ids=str)
def test_some_of_the_devices(use):
    grid = sw.Grid((8, 12), mesh=sw.device_mesh(use))
    flow = NavierStokes(grid, 0.1, forcing=FORCINGS["ornstein-uhlenbeck"])
    check_placement(flow, SBDF2(), sw.initial_state(flow, SBDF2(), random_values(2, 8, 12), seed=0))


def test_members_of_an_ensemble_are_placed_under_vmap(make_grid):
    """Each member's arrays are split as those of one state."""
    grid = make_grid((8, 12), devices=4)
    flow = NavierStokes(grid, 0.1, forcing=FORCINGS["own"])
    members = jax.vmap(lambda u: sw.initial_state(flow, SBDF2(), u))
    for run in (members, jax.jit(members)):
        state = run(random_values(3, 2, 8, 12))
        histories = [state.history[name]["velocity"] for name in ("field", "nonlinear")]
        for u_hat in (state.field["velocity"], state.forcing["velocity"]["to"], *histories):
            assert u_hat.shape == (3, 2, *grid.spectral_shape)
            assert u_hat.sharding.is_equivalent_to(grid.spectral_sharding(u_hat.ndim), u_hat.ndim)


def test_an_abstract_mesh_is_enough(make_grid):
    real = make_grid((8, 12), devices=4)
    grid = sw.Grid((8, 12), mesh=real.mesh.abstract_mesh)
    shapes = [state_shapes(Burgers(g, 0.1, forcing=Pulled()), SBDF2(), with_key=True) for g in (grid, real)]
    assert jax.tree.leaves(shapes[0]) == jax.tree.leaves(shapes[1])


@pytest.mark.slow
@pytest.mark.parametrize("devices", [1, 4])
@pytest.mark.parametrize("stepper", [IFRK2(), SBDF2()], ids=lambda stepper: stepper.name)
def test_a_run_compiles_its_step_once(make_grid, programs_compiled, stepper, devices):
    flow = NavierStokes(make_grid((8, 12), devices=devices), 0.1, forcing=FORCINGS["ornstein-uhlenbeck"])
    state = sw.initial_state(flow, stepper, random_values(2, 8, 12), seed=0)
    states = sw.evolve(flow, stepper, state, end=0.03, step=0.01, pauses=[sw.Schedule(every_steps=1)])
    _ = next(states), next(states)
    before = programs_compiled()
    assert len(list(states)) == 2
    assert programs_compiled() == before
