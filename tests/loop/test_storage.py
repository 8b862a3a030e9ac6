"""What a state says of its arrays: modes, points or the host; written into checkpoints, never told from shapes."""

import dataclasses
import json
from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import solver as sw
from solver.equations import Burgers, ComplexGinzburgLandau, GrossPitaevskii
from solver.grid import Storage
from solver.io import CheckpointError
from solver.steppers import IFRK2, SBDF2, Strang

MODES, HOST = Storage("modes"), Storage("host")


class Remembers(IFRK2):
    """Keeps the modes of a step before, and as many numbers as its field has modes."""

    storage: ClassVar[object] = {"before": MODES, "numbers": HOST, "count": None}

    def start(self, equation, fields):
        whole = jnp.zeros(equation.grid.spectral_shape)
        return {"before": fields["velocity"], "numbers": whole, "count": jnp.zeros(())}

    def history_storage(self, fields):
        return self.storage

    def advance(self, equation, fields, history, t, dt, coefficients):
        moved, _ = super().advance(equation, fields, (), t, dt, coefficients)
        return moved, {**history, "before": fields["velocity"], "count": history["count"] + 1}


class Follows(sw.forcing.Forcing):
    """Drives a field with what it was at the start, kept as modes."""

    declared = MODES

    def start_from(self, u_hat, space, key):
        return {"then": u_hat}

    def state_storage(self, field):
        return {"then": field} if self.declared else None

    def force(self, state, u_hat, space, change=None):
        return 0.1 * state["then"]


def manifest(path):
    return json.loads((path / "manifest.json").read_text())


def test_modes_and_points_of_one_shape_are_told_apart(make_grid, tmp_path):
    """Without dealiasing a complex field has as many modes as points, and nothing but the word tells them apart."""
    grid = make_grid((8, 8), devices=2, dealias="none", real=False)
    assert grid.spectral_shape == grid.physical_shape
    words = {}
    for equation, stepper in ((ComplexGinzburgLandau(grid), IFRK2()), (GrossPitaevskii(grid), Strang())):
        name = next(iter(equation.fields))
        state = sw.initial_state(equation, stepper, jnp.ones((1, *grid.physical_shape), complex))
        path = sw.io.save_checkpoint(tmp_path / equation.name, state, grid)
        entry = manifest(path)["arrays"][f"field/{name}"]
        words[equation.name] = entry["storage"]
    assert words == {ComplexGinzburgLandau.name: "modes of complex fields", GrossPitaevskii.name: "points"}


@pytest.mark.slow
@pytest.mark.parametrize("shape", [(12, 10), (10, 10)])
def test_what_a_stepper_of_ones_own_keeps_goes_through_a_checkpoint(make_grid, tmp_path, shape):
    four, one = make_grid(shape, devices=4), make_grid(shape, devices=1)
    equations = {grid: Burgers(grid, viscosity=0.1) for grid in (four, one)}
    start = sw.initial_state(equations[four], Remembers(), sw.sample(lambda x, y: (jnp.sin(x), jnp.cos(x + y)), four))
    *_, state = sw.evolve(equations[four], Remembers(), start, end=0.02, step=0.01)
    path = sw.io.save_checkpoint(tmp_path, state, four)
    kept = manifest(path)
    assert kept["arrays"]["history/before"]["storage"] == "modes"
    assert kept["arrays"].keys() == {"field/velocity", "history/before"}
    assert np.shape(kept["values"]["history/numbers"]["value"]) == four.spectral_shape
    loaded = sw.io.load_checkpoint(path, equations[one], Remembers())
    whole = one.layout.logical_spectral_shape
    cut = tuple(slice(0, n) for n in (2, *whole))
    for find in (lambda s: s.field["velocity"], lambda s: s.history["before"]):
        np.testing.assert_array_equal(np.asarray(find(loaded))[cut], np.asarray(find(state))[cut])
    assert float(loaded.history["count"]) == 2


@pytest.mark.parametrize(
    ("storage", "error", "message"),
    [
        (None, TypeError, r"stepper ifrk2 keeps an array of shape .* \(history/before\) and does not say how"),
        ({"before": MODES, "numbers": None, "count": None}, TypeError, r"\(history/numbers\) and does not say how"),
        ({"before": MODES, "numbers": HOST}, TypeError, "what history_storage returns is not of the form"),
        ({"before": Storage("points"), "numbers": HOST, "count": None}, ValueError, "history/before .* as points"),
        ({"before": MODES, "numbers": HOST, "count": MODES}, ValueError, "history/count .* as modes"),
        (
            {"before": HOST, "numbers": HOST, "count": None},
            TypeError,
            r"on the host \(history/before\)",
        ),
    ],
)
def test_a_storage_that_is_missing_or_wrong_is_refused_before_the_first_step(make_grid, storage, error, message):
    grid = make_grid((12, 8), devices=2)
    wrong = type("Remembers", (Remembers,), {"storage": storage, "__module__": __name__})()
    with pytest.raises(error, match=message):
        sw.initial_state(Burgers(grid, viscosity=0.1), wrong, jnp.zeros((2, 12, 8)))


def test_what_a_forcing_keeps_is_declared(make_grid, tmp_path):
    grids = [make_grid((12, 10), devices=n) for n in (4, 2)]
    flows = [Burgers(grid, viscosity=0.1, forcing=Follows()) for grid in grids]
    u = sw.sample(lambda x, y: (jnp.sin(x), jnp.cos(x + y)), grids[0])
    state = sw.initial_state(flows[0], SBDF2(), u)
    path = sw.io.save_checkpoint(tmp_path, state, grids[0])
    assert manifest(path)["arrays"]["forcing/velocity/then"]["storage"] == "modes"
    loaded = sw.io.load_checkpoint(path, flows[1], SBDF2())
    assert len(loaded.forcing["velocity"]["then"].sharding.device_set) == 2
    undeclared = type("Undeclared", (Follows,), {"declared": None, "__module__": __name__})()
    with pytest.raises(TypeError, match=r"forcing undeclared keeps an array .* \(forcing/velocity/then\)"):
        sw.initial_state(Burgers(grids[0], viscosity=0.1, forcing=undeclared), SBDF2(), u)


def test_a_checkpoint_of_another_storage_is_refused(make_grid, tmp_path):
    grid = make_grid((8, 8), devices=2, dealias="none", real=False)
    ginzburg_landau = ComplexGinzburgLandau(grid)
    state = sw.initial_state(ginzburg_landau, IFRK2(), jnp.ones((1, 8, 8), complex))
    name = next(iter(state.field))
    points = dataclasses.replace(state, storage=((f"field/{name}", Storage("points")),))
    path = sw.io.save_checkpoint(tmp_path, points, grid)
    needed = rf"'field/{name}' holds points .*; modes of complex fields .* is needed"
    with pytest.raises(CheckpointError, match=needed):
        sw.io.load_checkpoint(path, ginzburg_landau, IFRK2())


def test_a_state_made_by_hand_is_no_checkpoint(make_grid, tmp_path):
    grid = make_grid((12, 8), devices=2)
    state = sw.State(field={"velocity": jnp.zeros((2, *grid.spectral_shape), complex)})
    with pytest.raises(ValueError, match="a state made by hand does not say which of its arrays are modes"):
        sw.io.save_checkpoint(tmp_path, state, grid)
    assert not list(tmp_path.iterdir())
    with pytest.raises(ValueError, match="made by hand"):
        sw.run(Burgers(grid, viscosity=0.1), IFRK2(), state, end=0.1, step=0.01, directory=tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_steps_compile_once_whatever_is_summed_up(make_grid):
    """Sums of outputs, which only pauses change, are no part of what the compiled step is given."""
    grid = make_grid((12, 8), devices=2)
    flow = Burgers(grid, viscosity=0.1)
    state = sw.initial_state(flow, IFRK2(), jnp.zeros((2, 12, 8)))
    summed = state.with_statistics({"a": {"b": jnp.zeros((2, 12, 8))}}, {"a": {"statistics/a/b": Storage("points")}})
    assert summed.storage_by_path()["statistics/a/b"] == Storage("points")
    from solver.loop.sums import device_state

    assert jax.tree.structure(device_state(state)) == jax.tree.structure(device_state(summed))
