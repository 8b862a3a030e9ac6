"""A state on other devices has the same bits, and gets there in pieces."""

import dataclasses
import math

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax._src.array import ArrayImpl
from jax.sharding import AxisType

import solver as sw
from solver.io.checkpoint_writing import leaves_of
from solver.mesh import device_mesh

FORCED = sw.forcing.OrnsteinUhlenbeck(rms=1.0)
SLABS = {n: device_mesh(range(n)) for n in (1, 2, 3, 6)}
LAST = {n: device_mesh(range(8 - n, 8)) for n in (1, 2, 5)}
PENCILS = device_mesh(range(2, 8), shape=(2, 3))


def flow(mesh, shape=(20, 18, 10), **options):
    """A forced flow with a history, on sides that the devices do not divide."""
    grid = sw.Grid(shape, mesh=mesh, **options)
    equation, stepper = sw.equations.NavierStokes(grid, viscosity=0.02, forcing=FORCED), sw.steppers.CNAB2()
    noise = np.random.default_rng(0).normal(size=(len(shape), *shape)).astype(grid.dtype)
    state = sw.initial_state(equation, stepper, jnp.asarray(noise), seed=3)
    return equation, stepper, state


def wave(mesh):
    grid = sw.Grid((32,), mesh=mesh)
    equation, stepper = sw.equations.KortewegDeVries(grid), sw.steppers.ETDRK4()
    return equation, stepper, sw.initial_state(equation, stepper, sw.sample(jnp.cos, grid))


def condensate(mesh):
    """A state whose field is held at the points."""
    grid = sw.Grid((12, 10, 8), dealias="none", mesh=mesh)
    equation, stepper = sw.equations.SchroedingerPoisson(grid), sw.steppers.Strang()
    noise = np.random.default_rng(0).normal(size=(12, 10, 8)) + 1j
    return equation, stepper, sw.initial_state(equation, stepper, jnp.asarray(noise))


CASES = {
    "6 slabs on 2": (flow, SLABS[6], LAST[2], {}),
    "3 slabs on 5, two dimensions": (flow, SLABS[3], LAST[5], {"shape": (21, 34)}),
    "2 slabs on pencils, single precision": (flow, SLABS[2], PENCILS, {"precision": "float32"}),
    "pencils on 2 slabs": (flow, PENCILS, SLABS[2], {}),
    "some of its own devices": (flow, SLABS[3], SLABS[2], {}),
    "a mesh with explicit axes": (flow, SLABS[2], device_mesh(range(5, 8), axis_type=AxisType.Explicit), {}),
    "one dimension": (wave, SLABS[1], LAST[1], {}),
    "values at the points": (condensate, SLABS[3], LAST[2], {}),
}


def logical(leaf, grid):
    """The values of an entry without its padding, which is zero."""
    value = jax.random.key_data(leaf.value) if leaf.is_key else leaf.value
    whole = np.asarray(value)
    inside = np.index_exp[...] if leaf.is_key else tuple(map(slice, leaf.storage.logical_shape(whole.shape, grid)))
    rest = whole.copy()
    rest[inside] = 0
    assert not rest.any()
    return whole[inside]


def same(state, other, grid, other_grid):
    pairs = zip(leaves_of(state), leaves_of(other), strict=True)
    return all(a.name == b.name and np.array_equal(logical(a, grid), logical(b, other_grid)) for a, b in pairs)


@pytest.fixture(scope="module", params=CASES.values(), ids=CASES)
def handed(request):
    """Equation, stepper and state here, and the state on the other mesh."""
    make, here, there, options = request.param
    equation, stepper, state = make(here, **options)
    return equation, stepper, state, sw.hand_over(state, equation, there), there


@pytest.mark.slow
def test_the_bits_are_the_same(handed):
    equation, _, state, on_other, mesh = handed
    assert same(state, on_other, equation.grid, equation.on_mesh(mesh).grid)
    assert any(np.any(np.asarray(field)) for field in on_other.field.values())


@pytest.mark.slow
def test_everything_lies_as_in_a_state_that_was_made_there(handed):
    equation, stepper, state, on_other, mesh = handed
    there = equation.on_mesh(mesh)
    values = {name: jnp.zeros(held.shape, held.dtype) for name, held in there.values_at_points().items()}
    made = sw.initial_state(there, stepper, values, seed=None if isinstance(state.key, tuple) else 0)
    assert jax.tree.structure(on_other) == jax.tree.structure(made)
    for moved, expected in zip(jax.tree.leaves(on_other), jax.tree.leaves(made), strict=True):
        assert (type(moved), moved.shape, moved.dtype) == (type(expected), expected.shape, expected.dtype)
        if isinstance(moved, jax.Array):
            assert moved.sharding.mesh == expected.sharding.mesh
            assert moved.sharding.is_equivalent_to(expected.sharding, moved.ndim)


@pytest.mark.thorough
@pytest.mark.slow
def test_the_equation_goes_on_with_it():
    equation, stepper, state = flow(SLABS[3])
    there = equation.on_mesh(LAST[2])
    *_, expected = sw.evolve(equation, stepper, state, end=0.03, step=0.01)
    *_, moved = sw.evolve(there, stepper, sw.hand_over(state, equation, LAST[2]), end=0.03, step=0.01)
    for a, b in zip(leaves_of(expected), leaves_of(moved), strict=True):
        if not a.is_key:
            np.testing.assert_allclose(logical(b, there.grid), logical(a, equation.grid), rtol=1e-10, atol=1e-13)
    assert not np.array_equal(np.asarray(expected.field["velocity"]), np.asarray(state.field["velocity"]))


@pytest.fixture
def traffic(monkeypatch):
    """Sizes of what is copied to the host, and of what is sent to a device."""
    to_host, sent = [], []
    value, put = ArrayImpl._value, jax.device_put
    spied = property(lambda array: (to_host.append(array.size), value.fget(array))[1])
    monkeypatch.setattr(ArrayImpl, "_value", spied)
    monkeypatch.setattr(jax, "device_put", lambda x, *to, **how: (sent.append((x.size, *to)), put(x, *to, **how))[1])
    return to_host, sent


@pytest.mark.slow
@pytest.mark.parametrize(("here", "there"), [(SLABS[6], LAST[2]), (SLABS[2], PENCILS), (PENCILS, SLABS[1])])
def test_nothing_is_gathered_and_nothing_goes_through_the_host(here, there, traffic):
    equation, _, state = flow(here, shape=(24, 32, 20))
    to_host, sent = traffic
    to_host.clear()
    sent.clear()
    handed = sw.hand_over(state, equation, there)
    assert not to_host
    part = lambda array: math.prod(array.sharding.shard_shape(array.shape))  # noqa: E731
    largest = min(part(s.field["velocity"]) for s in (state, handed))
    assert max(size for size, _ in sent) <= largest
    assert all(isinstance(device, jax.Device) for _, device in sent)
    np.asarray(state.field["velocity"])
    assert to_host  # that a copy would have been seen


@pytest.mark.parametrize("mesh", [LAST[2], SLABS[3], SLABS[2]], ids=["others", "the same", "some"])
def test_the_buffers_may_be_used_again_at_once(mesh):
    equation, _, state = flow(SLABS[3])
    before = state.replace(field=jax.tree.map(lambda u: u + 0, state.field))
    handed = sw.hand_over(state, equation, mesh)
    overwrite = jax.jit(lambda u: 0 * u - 1, donate_argnums=0)
    jax.block_until_ready(overwrite(state.field["velocity"]))
    assert same(before, handed, equation.grid, equation.on_mesh(mesh).grid)


@pytest.mark.slow
def test_sums_of_outputs_go_along():
    equation, stepper, first = flow(SLABS[3])
    listed = sw.outputs.Statistics(of=("spectra",), fields=("velocity",), sample_steps=1)
    from solver.simulation import OutputList, Simulation

    simulation = Simulation(equation, stepper, sw.FixedStep(0.01), 0.02, lambda: first, OutputList.of([listed]))
    *_, state = simulation.states(first)
    handed = sw.hand_over(state, equation, LAST[2])
    assert same(state, handed, equation.grid, equation.on_mesh(LAST[2]).grid)
    assert np.asarray(handed.statistics["statistics"]["fields"]["velocity"]["squares"]).any()


def test_parameters_of_the_equation_move_or_are_refused():
    equation, *_ = flow(SLABS[3])
    everywhere = jax.sharding.NamedSharding(SLABS[3], jax.sharding.PartitionSpec())
    equation = dataclasses.replace(equation, viscosity=jax.device_put(jnp.asarray(0.25), everywhere))
    moved = equation.on_mesh(LAST[2])
    assert moved.viscosity.devices() == set(LAST[2].devices.flat)
    assert float(moved.viscosity) == 0.25
    split = eqx.tree_at(lambda e: e.viscosity, equation, equation.grid.k_squared())
    with pytest.raises(ValueError, match="navier-stokes: parameter viscosity is split over 3 devices"):
        split.on_mesh(LAST[2])


@pytest.mark.slow
def test_what_does_not_fit_is_one_line():
    equation, _, state = flow(SLABS[2], shape=(12, 10))
    other, *_ = flow(SLABS[2], shape=(12, 12))
    with pytest.raises(ValueError, match=r"a state of \[12, 10\]"):
        sw.hand_over(state, other, LAST[1])
    with pytest.raises(ValueError, match="slabs only"):
        sw.hand_over(state, equation, PENCILS)
    with pytest.raises(ValueError, match="a state made by hand"):
        sw.hand_over(state.replace(storage=None), equation, LAST[1])
