"""States know their grid, and are refused where they do not fit: in one line, before anything is compiled."""

import copy
import os
import pickle
import subprocess
import sys
from collections import Counter

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import solver as sw
from solver.equations import NavierStokes
from solver.steppers import CNAB2, IFRK2, SBDF2

pytestmark = pytest.mark.slow


def made(stepper, devices=2, shape=(8, 12), **options):
    """An equation and a state at its start."""
    forced = {"forcing": options.pop("forcing")} if "forcing" in options else {}
    grid = sw.Grid(shape, mesh=sw.device_mesh(range(devices)), **options)
    flow = NavierStokes(grid, 0.1, **forced)
    return flow, sw.initial_state(flow, stepper, sw.initial.TaylorGreen()(grid))


@pytest.fixture(scope="module")
def steady():
    return made(IFRK2())


FORCED = {"forcing": sw.forcing.Kolmogorov(0.1, wavenumber=2)}
OTHERS = {
    "another box": ({"lengths": 4.0}, r"a state of \[8, 12\] points on \[6.28319, 6.28319\].* of \[8, 12\] .*\[4, 4\]"),
    "other modes": ({"dealias": "none"}, "two-thirds, float64, in navier-stokes of .* none, float64"),
    "another mesh": ({"devices": 1}, r"a state on 2 devices, in navier-stokes on \{'slab': 1\}"),
    "forcing": (FORCED, "forcing of nothing, in navier-stokes with forcing of velocity: initial_state"),
}


@pytest.mark.parametrize("other", OTHERS)
@pytest.mark.parametrize("call", ["integrate", "evolve", "rollout"])
def test_a_state_of_something_else_is_refused(steady, call, other):
    options, message = OTHERS[other]
    flow, _ = made(IFRK2(), **options)
    steps = {"end": 0.2} if call == "evolve" else {"steps": 2}
    with pytest.raises(ValueError, match=message):
        list(getattr(sw, call)(flow, IFRK2(), steady[1], step=0.1, **steps))


@pytest.mark.parametrize("call", ["integrate", "evolve"])
def test_a_state_of_another_stepper_is_refused(steady, call):
    flow, unaware = steady
    steps = {"end": 0.2} if call == "evolve" else {"steps": 2}
    cases = [(CNAB2(), unaware, ".*ifrk4.* in stepper cnab2"), (IFRK2(), made(CNAB2())[1], " cnab2, in stepper ifrk2")]
    for stepper, state, message in [*cases, (SBDF2(), made(CNAB2())[1], " cnab2, in stepper sbdf2")]:
        with pytest.raises(ValueError, match=f"a state of stepper{message}, which carries something else"):
            list(getattr(sw, call)(flow, stepper, state, step=0.1, **steps))
    sw.integrate(flow, sw.steppers.LSRK3(), unaware, step=0.1, steps=0)  # which carries nothing, as ifrk2


@pytest.mark.thorough
def test_the_box_goes_along(steady, tmp_path):
    flow, state = steady
    step = lambda state: sw.integrate(flow, IFRK2(), state, step=0.1, steps=1)  # noqa: E731
    path = sw.io.save_checkpoint(tmp_path, jax.jit(step)(state), flow.grid)
    slope = jax.grad(lambda s: jnp.sum(jnp.abs(step(s).field["velocity"]) ** 2), allow_int=True)(state)
    members = jax.vmap(lambda a: state.replace(field={"velocity": a * state.field["velocity"]}))(jnp.ones(2))
    for state_or_slope in (sw.io.load_checkpoint(path, flow, IFRK2()), slope, members):
        assert state_or_slope.box == flow.grid.box


def test_coefficients_of_another_step_are_refused(steady):
    flow, state = steady
    driven = flow.at_step()
    for stepper in (IFRK2(), sw.steppers.LSRK3(), sw.steppers.ETDRK2(), sw.steppers.IMEXRK2()):
        with pytest.raises(ValueError, match=r"coefficients of dt = 0.01 for a step of dt = 0.02: the same dt"):
            stepper.step(driven, state.field, (), 0.0, 0.02, stepper.coefficients(driven, 0.01))


@pytest.mark.parametrize("mesh_shape", [None, (2, 2)], ids=["slabs", "pencils"])
def test_equations_are_pickled_by_the_layout_of_their_mesh(mesh_shape):
    grid = sw.Grid((8, 9, 10), mesh=sw.device_mesh([3, 2, 1, 0], shape=mesh_shape), lengths=3.0, precision="float32")
    flow = NavierStokes(grid, 0.1, forcing=sw.forcing.Kolmogorov(0.1, wavenumber=2))
    again = pickle.loads(pickle.dumps(flow))
    assert again.grid == grid
    assert jax.tree.structure(again) == jax.tree.structure(flow)
    np.testing.assert_array_equal(jax.tree.leaves(again), jax.tree.leaves(flow))


def test_a_mesh_of_more_devices_than_are_here_is_refused():
    from solver.mesh import mesh_from

    with pytest.raises(ValueError, match=r"'slab': 16\} was stored on 16 devices, and 8 are here: .*_DEVICES=16 gives"):
        mesh_from([("slab", 16)], ["Auto"], "cpu", range(16))
    assert mesh_from([("slab", 2)], ["Auto"], "cpu", [9, 8]).devices.tolist() == jax.devices()[:2]


class Reacting(NavierStokes):
    def react(self, u):
        return -self.viscosity * u

    def nonlinear(self, fields, t):
        return {"velocity": self.transform.pointwise(self.react, fields["velocity"])}


def test_what_is_no_grid_no_field_and_no_function_is_said(steady):
    grid = steady[0].grid
    with pytest.raises(
        ValueError, match="react is a method of Reacting, and holds its parameters; a function of a mod"
    ):
        Reacting(grid, 0.1).check()
    with pytest.raises(ValueError, match=r"initial field velocity is of type list; an array \[2, 8, 12\] is needed"):
        sw.steppers.start._by_name({"velocity": [1.0]}, steady[0])
    with pytest.raises(TypeError, match=r"an equation on \(16, 16\): a grid is needed, such as solver.Grid"):
        NavierStokes((16, 16), 0.1)


def rising(u):
    return jnp.sinh(u)


def test_an_equation_of_a_text_is_pickled_and_copied():
    """With its functions, which a module has, its parameters, a forcing and the grid; the class is the same one."""
    grid = sw.Grid((12, 10), mesh=sw.device_mesh([0]))
    written = sw.write(["dt(c) = rising(c) + a*lap(c)"], fields={"c": "scalar"}, functions={"rising": rising})
    equation = written(grid, a=jnp.asarray(0.1), forcing=sw.forcing.FrozenShells())
    _ = equation.linear()  # so that what is worked out of the text is there
    c = sw.sample(lambda x, y: (jnp.cos(x) * jnp.cos(y),), grid)
    state = sw.initial_state(equation, IFRK2(), c)
    end = sw.integrate(equation, IFRK2(), state, step=0.1, steps=1).field["c"]
    for again in (pickle.loads(pickle.dumps(equation)), copy.copy(equation), copy.deepcopy(equation)):
        assert type(again) is written
        assert (again.grid, float(again.a)) == (grid, 0.1)
        np.testing.assert_array_equal(sw.integrate(again, IFRK2(), state, step=0.1, steps=1).field["c"], end)


DOORS = """
import jax
jax.config.update("jax_enable_x64", True)
import jax.numpy as jnp
import solver as sw
grid = sw.Grid((12, 10))
flow, stepper, w = sw.equations.Vorticity(grid, 0.01), sw.steppers.IFRK4(), jnp.zeros((1, 12, 10))
state = sw.initial_state(flow, stepper, w)
for given in [(flow, "ifrk4", state), (flow, sw.steppers.IFRK4, state), (stepper, flow, state), (flow, stepper, w)]:
    for door in (
        lambda *given: sw.initial_state(*given[:2], w),
        lambda *given: sw.integrate(*given, step=0.1, steps=1),
        lambda *given: sw.rollout(*given, step=0.1, steps=1),
        lambda *given: next(sw.evolve(*given, step=0.1, end=0.1)),
        lambda *given: sw.run(*given, step=0.1, end=0.1, directory="not made"),
    ):
        try:
            door(*given)
        except TypeError as error:
            print(error)
ended = lambda outputs: sw.run(flow, stepper, state, step=0.1, end=0.1, directory="not made", outputs=outputs)
for door in (
    lambda: ended(sw.outputs.Series), lambda: ended([sw.outputs.Series]), lambda: ended({"series": 1}),
    lambda: next(sw.evolve(flow, stepper, state, step=0.1, end="1")), lambda: sw.outputs.Series(every_steps="1"),
    lambda: sw.write(["dt(u) = lap(u)"], fields=["u"]), lambda: sw.diagnostics.shell_spectrum(w, grid),
    lambda: sw.diagnostics.mean_square(w, grid),
):
    try:
        door()
    except (TypeError, ValueError) as error:
        print(str(error).partition("; values")[0].partition(", such as")[0])
"""


def test_what_is_given_in_another_place_or_kind_is_named(make_grid):
    """In a process of its own, since here the types of arguments are checked before."""
    environment = {**os.environ, "JAX_NUM_CPU_DEVICES": "1"}
    said = subprocess.run([sys.executable, "-c", DOORS], env=environment, capture_output=True, text=True, check=True)
    assert Counter(said.stdout.splitlines()) == {
        "stepper is 'ifrk4': a stepper, such as solver.steppers.IFRK4(), is needed": 5,
        "stepper is the class IFRK4, not an instance of it: a stepper, such as solver.steppers.IFRK4(), is needed": 5,
        "equation is of type IFRK4: an equation, such as solver.equations.Burgers(grid, 0.1), is needed": 5,
        "state is of type ArrayImpl: a State, as initial_state makes one, is needed": 4,
        "outputs=<class 'solver.outputs.series.Series'>: a list of outputs is needed": 1,
        "outputs=[<class 'solver.outputs.series.Series'>]: a list of outputs is needed": 1,
        "outputs={'series': 1}: a list of outputs is needed": 1,
        "end='1': a finite time is needed": 1,
        "every_steps = '1': a number is needed": 1,
        "fields=['u']: a dict of ranks by name is needed": 1,
        "coefficients of shape [1, 12, 10]: the last axes must be [4, 7]": 2,
    }


def test_a_state_of_another_equation_with_the_same_field_is_refused(make_grid):
    grid, stepper = make_grid((12, 10), devices=1), sw.steppers.IFRK4()
    state = sw.initial_state(sw.equations.Vorticity(grid, 0.01), stepper, jnp.zeros((1, *grid.physical_shape)))
    other = sw.write(["dt(vorticity) = lap(vorticity)"], fields={"vorticity": "scalar"})(grid)
    with pytest.raises(ValueError, match=r"a state with the energy budget .*, in written with energy_from_linear"):
        next(sw.evolve(other, stepper, state, step=0.1, end=0.1))


def test_double_precision_that_was_switched_off_is_named(make_grid):
    grid, stepper = make_grid((12, 10), devices=1), sw.steppers.IFRK4()
    flow, w = sw.equations.Vorticity(grid, 0.01), jnp.zeros((1, *grid.physical_shape))
    state = sw.initial_state(flow, stepper, w)
    with jax.enable_x64(False):
        for door in (
            lambda: sw.initial_state(flow, stepper, w),
            lambda: sw.integrate(flow, stepper, state, step=0.1, steps=1),
            lambda: next(sw.evolve(flow, stepper, state, step=0.1, end=0.1)),
        ):
            with pytest.raises(ValueError, match="jax_enable_x64 is switched off since the grid was made"):
                door()


def test_an_array_in_place_of_a_number_is_named_by_its_shape(make_grid):
    decay = sw.write(["dt(c) = -a*c"], fields={"c": "scalar"})
    with pytest.raises(ValueError, match=r"^a of shape \[12, 10\]: one number is needed"):
        decay(make_grid((12, 10), devices=1), a=np.ones((12, 10)))


def test_a_state_and_an_ensemble_are_printed_in_one_line():
    grid = sw.Grid((12, 16, 8), mesh=sw.device_mesh(range(4)), dealias="none")
    flow, stepper = NavierStokes(grid, 0.1), CNAB2()
    state = sw.initial_state(flow, stepper, sw.initial.TaylorGreen()(grid)).replace(
        t=np.float64(0.25), step=np.int64(5)
    )
    said = (
        "State at step 5, t = 0.25: velocity complex128[3, 16, 5, 12] on 4 devices, [3, 4, 5, 12] on each; with history"
    )
    assert repr(state) == str(state) == said
    assert repr(sw.Ensemble([flow, flow], stepper, [state] * 2)) == (
        f"Ensemble of 2 members of navier-stokes with cnab2; member 0: {said}"
    )
    printed = []
    jax.jit(lambda state: printed.append(repr(state)) or state.field)(state)
    jax.eval_shape(lambda state: printed.append(repr(state)) or state.field, state)
    assert printed == ["State at step ?, t = ?: velocity complex128[3, 16, 5, 12]; with history"] * 2
    rows = sw.Ensemble([flow, flow], stepper, [state] * 2).integrate(step=0.1, steps=1)
    assert repr(rows).startswith("Rows of 2 members, each ")
    assert len(repr(rows).splitlines()) == 1
