"""Noise in the vortical part or in the waves of a stratified flow alone."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import solver as sw
from solver.equations import Boussinesq, NavierStokes
from solver.forcing import WhiteNoise
from solver.steppers import IFRK2

pytestmark = pytest.mark.slow

EACH = [("vortical", 1.5), ("waves", 1.5)]  # a part, and the rotation


def flow_with(grid, part, f=0.0, power=1.0, n=2.0, **options):
    forcing = {"velocity": WhiteNoise(power, 1.0, 2.5, part=part)}
    return Boussinesq(grid, 0.05, 0.05, n, rotation=f, forcing=forcing, **options)


def at_rest(equation, stepper, seed=0):
    still = {name: jnp.zeros(shape) for name, shape in equation.physical_shapes().items()}
    return sw.initial_state(equation, stepper, still, seed=seed)


def energies(equation, fields):
    """½⟨|u|²⟩ + ½⟨b²⟩/N² of each part."""
    spectra = jax.jit(lambda fields: sw.outputs.WaveVortex().values(equation, fields))(fields)
    return {part: float(np.sum(values)) for part, values in spectra.items()}


@pytest.mark.thorough
@pytest.mark.parametrize(("part", "f"), EACH)
def test_the_other_part_stays_empty_in_a_linear_run(make_grid, part, f):
    """So weak that N, which is quadratic, is below round-off; the long steps turn waves many times."""
    flow = flow_with(make_grid((8, 9, 8), devices=1), part, f, power=1e-26, energy_budget=False)
    state = at_rest(flow, IFRK2())
    *_, state = sw.evolve(flow, IFRK2(), state, end=20.0, step=4.0)
    found = energies(flow, state.field)
    assert found[part] > 1e-27
    assert sum(found.values()) - found[part] < 1e-18 * found[part]
    potential = float(jnp.sum(jnp.abs(state.field["buoyancy"]) ** 2))
    assert (potential > 1e-3 * found[part]) == (part == "waves" or f != 0)


@pytest.mark.thorough
@pytest.mark.parametrize(("part", "f"), EACH)
def test_power_is_that_of_the_whole_energy_and_alike_in_all_modes(make_grid, part, f):
    """½⟨|u|²⟩ + ½⟨b²⟩/N² after one short step over members: P dt, within its sampling; nothing with k_h = 0."""
    flow = flow_with(make_grid((8, 9, 8), devices=1), part, f, power=0.7)
    dt, count = 1e-6, 600
    rest = {name: jnp.zeros(shape.shape, shape.dtype) for name, shape in flow.field_shapes().items()}

    @jax.jit
    def kicked(keys):
        prepared = flow.at_step().prepare_kicks(dt)
        return jax.vmap(lambda key: flow.at_step({"velocity": ()}, key).kicked(rest, prepared, 0.0))(keys)

    fields = {name: np.asarray(u) for name, u in kicked(jax.random.split(jax.random.key(1), count)).items()}
    per_mode = (np.abs(fields["velocity"]) ** 2).sum(axis=1) + np.abs(fields["buoyancy"])[:, 0] ** 2 / 4
    weights = np.broadcast_to(flow.grid.mode_weights(), flow.grid.spectral_shape)
    gained = 0.5 * (per_mode * weights).sum(axis=(1, 2, 3))
    sampling = 4 * gained.std() / np.sqrt(count)
    assert abs(gained.mean() - 0.7 * dt) < sampling < 0.05 * 0.7 * dt
    kx, ky, _ = flow.grid.wavenumbers()
    forced = per_mode.mean(axis=0) > 0
    k2 = np.asarray(flow.grid.k_squared())
    assert np.array_equal(forced, (k2 > 0) & (k2 < 6.26) & ((kx != 0) | (ky != 0)))
    mean = (per_mode * k2**1)[:, forced].mean(axis=0)  # of slope 0 in 3-D: variance ∝ 1/k²
    assert np.abs(mean / mean.mean() - 1).max() < 6 * np.sqrt(1 / count)


@pytest.mark.thorough
def test_the_same_noise_on_eight_devices(make_grid):
    drawn = []
    for devices in (1, 8):
        flow = flow_with(make_grid((16, 18, 8), devices=devices), "waves", f=1.0)
        rest = {name: jnp.zeros(shape.shape, shape.dtype) for name, shape in flow.field_shapes().items()}
        driven = flow.at_step({"velocity": ()}, jax.random.key(3))
        kicked = jax.jit(lambda rest, driven=driven: driven.kicked(rest, driven.prepare_kicks(0.3), 0.0))(rest)
        drawn.append(np.asarray(kicked["buoyancy"])[:, : flow.grid.layout.retained[1]])
    assert np.abs(drawn[0]).max() > 0.01
    np.testing.assert_allclose(drawn[1], drawn[0], atol=1e-14)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda g: flow_with(sw.Grid((8, 8, 8), [2.0, 2.0, 6.0], mesh=g.mesh), "waves"),
         "low 1.0 and high 2.5: no mode of the part waves of this grid lies between"),
        (lambda g: flow_with(g, "waves", n=0.0), "part 'waves': split_waves with buoyancy_frequency 0.0: a positive"),
        (lambda g: flow_with(sw.Grid((8, 8), mesh=g.mesh), "waves"), "split_waves in 2 dimensions: three are needed"),
        (lambda g: NavierStokes(g, 0.1, forcing=WhiteNoise(1.0, part="vortical")),
         "part 'vortical': navier-stokes has no such part, boussinesq has"),
        (lambda g: Boussinesq(g, 0.1, 0.1, 1.0, forcing={"buoyancy": WhiteNoise(1.0, part="waves")}),
         "white-noise of buoyancy with part 'waves': a forcing of velocity is needed"),
    ],
    ids=["shear alone", "stratification", "plane", "equation", "field"],
)  # fmt: skip
def test_parts_that_are_not_there_are_refused_in_one_line(make_grid, make, message):
    with pytest.raises(ValueError, match=message) as refusal:
        make(make_grid((8, 9, 8), devices=2))
    assert "\n" not in str(refusal.value)
