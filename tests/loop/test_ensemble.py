"""Members of an ensemble on an axis of the device mesh of their own."""

import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import solver as sw

pytestmark = pytest.mark.slow

VISCOSITIES, AMPLITUDES = np.linspace(0.01, 0.1, 4), np.linspace(0.5, 2.0, 4)


def final(grid, viscosity, amplitude):
    flow, stepper = sw.equations.NavierStokes(grid, viscosity), sw.steppers.IFRK2()
    state = sw.initial_state(flow, stepper, sw.initial.TaylorGreen(amplitude)(grid))
    return sw.integrate(flow, stepper, state, step=0.01, steps=4).field["velocity"]


def energy(grid, viscosity, amplitude):
    return sw.diagnostics.mean_square(final(grid, viscosity, amplitude), grid)


def ensemble(fn, members):
    """The function of the members' numbers on eight devices, compiled; and its text."""
    grid = sw.Grid((16, 12, 10), mesh=sw.device_mesh(members=members))
    over_members = jax.vmap(lambda *numbers: fn(grid, *numbers), spmd_axis_name=sw.MEMBER)
    compiled = jax.jit(over_members).lower(VISCOSITIES, AMPLITUDES).compile()
    return compiled, compiled.as_text()


@pytest.mark.parametrize("members", [2, 4])
def test_members_equal_single_runs_and_exchange_among_themselves(members):
    compiled, text = ensemble(final, members)
    computed = compiled(VISCOSITIES, AMPLITUDES)
    alone = sw.Grid((16, 12, 10), mesh=sw.device_mesh([0]))
    rows = alone.spectral_shape[0]
    single_run = jax.jit(lambda *numbers: final(alone, *numbers))
    for i, (viscosity, amplitude) in enumerate(zip(VISCOSITIES, AMPLITUDES, strict=True)):
        single = np.asarray(single_run(viscosity, amplitude))
        np.testing.assert_allclose(np.asarray(computed[i])[:, :rows], single, atol=1e-13)
    size = 8 // members
    groups = [list(range(i, i + size)) for i in range(0, 8, size)]
    expected = "{" + ",".join("{" + ",".join(map(str, group)) + "}" for group in groups) + "}"
    on_mesh = f"mesh['member'={members},'slab'={size}] {{'slab'}}"  # as jaxlib 0.12 writes it
    groups = set(re.findall(r"all-to-all\(.*?replica_groups=(\{\{.*?\}\}|mesh\[.*?\] \{.*?\})", text))
    assert groups in ({expected}, {on_mesh})
    assert not re.search(r"all-gather(-start)?\(", text)
    assert computed.sharding.spec[0] == sw.MEMBER


@pytest.mark.thorough
def test_members_differ_in_a_parameter_of_the_nonlinear_term():
    """It goes along with the operation that forms the products, each member's where the member is."""
    grid, alone = (sw.Grid((16, 12), mesh=mesh) for mesh in (sw.device_mesh(members=4), sw.device_mesh([0, 1])))

    def swifts(quadratic, grid):
        equation, stepper = sw.equations.SwiftHohenberg(grid, 0.3, quadratic=quadratic), sw.steppers.ETDRK2()
        start = sw.sample(lambda x, y: jnp.cos(x) + jnp.sin(x + y), grid)
        return sw.integrate(equation, stepper, sw.initial_state(equation, stepper, start), step=0.1, steps=2).field["u"]

    def fields(strength, grid):
        equation, stepper = sw.equations.MHD(grid, 0.1, 0.1, mean_field=jnp.stack([strength, 0.1])), sw.steppers.IFRK2()
        start = sw.initial.TaylorGreen(1.0)(grid)
        state = sw.initial_state(equation, stepper, {"velocity": start, "magnetic_field": start})
        return sw.integrate(equation, stepper, state, step=0.05, steps=2).field["velocity"]

    for run in (swifts, fields):
        computed = jax.jit(jax.vmap(lambda n, run=run: run(n, grid), spmd_axis_name=sw.MEMBER))(AMPLITUDES)
        single = jax.jit(lambda n, run=run: run(n, alone))
        for i, amplitude in enumerate(AMPLITUDES):
            expected = single(amplitude)
            np.testing.assert_allclose(computed[i], expected, atol=1e-13 * np.abs(expected).max())


@pytest.mark.thorough
def test_gradients_of_members():
    compiled, text = ensemble(jax.grad(energy, argnums=1), 4)
    slopes = compiled(VISCOSITIES, AMPLITUDES)
    alone = sw.Grid((16, 12, 10), mesh=sw.device_mesh([0]))
    slope = jax.jit(lambda *numbers: jax.grad(energy, argnums=1)(alone, *numbers))
    for i in range(4):
        assert float(slopes[i]) == pytest.approx(float(slope(VISCOSITIES[i], AMPLITUDES[i])), rel=1e-11)
    assert not re.search(r"all-gather(-start)?\(", text)


def test_a_field_without_members_is_transformed_as_ever():
    grid, alone = (sw.Grid((8, 8, 8), mesh=m) for m in (sw.device_mesh(members=4), sw.device_mesh([0])))
    u = jnp.sin(jnp.arange(8.0 * 8 * 8 * 2)).reshape(2, 8, 8, 8)
    computed, expected = (sw.fft.Transform(g).forward(u) for g in (grid, alone))
    np.testing.assert_allclose(np.asarray(computed)[:, :5], np.asarray(expected), atol=1e-15)


def test_wrong_numbers_of_members():
    with pytest.raises(ValueError, match="members=3 on 8 devices: a number that divides them"):
        sw.device_mesh(members=3)
    grid = sw.Grid((8, 8, 8), mesh=sw.device_mesh(members=4))
    with pytest.raises(ValueError, match="engine 'shard_map' on a mesh with an axis 'member'"):
        sw.fft.Transform(grid, sw.fft.Method("shard_map"))
