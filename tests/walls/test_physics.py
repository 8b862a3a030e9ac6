"""Flows and convection between walls against what is known: onsets, growth rates, steady flows, heat."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import refused_in_one_line
from numpy.polynomial import chebyshev

import solver as sw
from solver import walls
from solver.assemble import schema
from solver.assemble.build import Assembly
from solver.config import load
from solver.config.toml import cases
from solver.dynamics.budget import imbalance
from solver.steppers import ETDRK5S4, Krogstad4
from solver.walls.conditions import AtSlope, AtValue, Rigid, StressFree


def matrix_of(equation, fields, kx=1):
    """The rates of change at one kx, linearised about fields: a real matrix of the real and imaginary parts."""
    shapes = {name: f.shape for name, f in fields.items()}
    along = (*(0,) * (equation.grid.dimensions - 2), kx)  # no waves along y
    places = [
        (name, (c, *along, n)) for name, (count, *_, size) in shapes.items() for c in range(count) for n in range(size)
    ]
    held = {name: np.broadcast_to(space.holds(), shapes[name]) for name, space in equation.spaces.items()}
    places = [(name, at) for name, at in places if held[name][at]]

    def change(fields):
        linear, nonlinear = equation.linear().apply(fields), equation.nonlinear(fields, 0.0)
        return {name: linear[name] + nonlinear[name] for name in fields}

    def column(parts):
        moved = {name: jnp.zeros(shape, complex) for name, shape in shapes.items()}
        for i, (name, at) in enumerate(places):
            moved[name] = moved[name].at[at].set(parts[i] + 1j * parts[len(places) + i])
        if len(along) == 2:  # −kx belongs to kx
            moved = {name: 2 * equation.space(name).symmetric(part) for name, part in moved.items()}
        made = jax.jvp(change, (fields,), (moved,))[1]
        flat = jnp.stack([made[name][at] for name, at in places])
        return jnp.concatenate([flat.real, flat.imag])

    return np.asarray(jax.jit(jax.vmap(column))(jnp.eye(2 * len(places)))).T


def convection_at_rest(make_grid, rayleigh, k, of, prandtl=1.0, taylor=0.0):
    along = 2 * np.pi / k
    grid = make_grid((4, 25), 1, lengths=(along, 1.0), walls="y")
    if taylor:
        grid = make_grid((4, 4, 25), 1, lengths=(along, 1.0, 1.0), walls="z")
    turned = {"rotation": np.sqrt(taylor * prandtl / rayleigh)} if taylor else {}
    equation = sw.equations.RayleighBenard(grid, rayleigh, prandtl, walls=of, **turned)
    start = {name: sw.initial.Conduction().for_equation(equation, name) for name in equation.fields}
    values = {name: one(grid, equation.fields[name]) for name, one in start.items()}
    return equation, equation.from_physical(values)


HEATED = {"temperature": walls.Value(1.0, 0.0)}
ONSETS = {  # Chandrasekhar (1961), chapter 2; fixed flux: k → 0; rotating, Ta = 10⁴: by Chebyshev collocation
    "rigid": (1707.762, 3.117, HEATED, 1e-6),
    "one free": (1100.650, 2.682, {**HEATED, "velocity": walls.Walls(Rigid(), StressFree())}, 1e-6),
    "free": (27 * np.pi**4 / 4, np.pi / np.sqrt(2), {**HEATED, "velocity": walls.FreeSlip()}, 1e-10),
    "rotating": (4712.0420, 4.7848, HEATED, 1e-6),
    "fixed flux": (720.0, 0.01, {"temperature": walls.Slope(-1.0, -1.0)}, 1e-5),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("case", ONSETS)
def test_convection_begins_at_the_rayleigh_number_of_linear_theory(make_grid, case):
    critical, k, of, tolerance = ONSETS[case]
    rates = []
    for factor in (0.999, 1.001):
        taylor = 1e4 if case == "rotating" else 0.0
        equation, fields = convection_at_rest(make_grid, factor * critical, k, of, taylor=taylor)
        rates.append(np.max(np.linalg.eigvals(matrix_of(equation, fields)).real))
    assert rates[0] < 0 < rates[1]
    found = critical * (0.999 + 0.002 * rates[0] / (rates[0] - rates[1]))
    assert found == pytest.approx(critical, rel=max(tolerance, 4e-6))


@pytest.mark.slow
def test_the_growing_wave_of_orr_and_sommerfeld(make_grid):
    """Plane Poiseuille flow, Re = 10⁴, α = 1: c = 0.23752649 + 0.00373967i (Orszag, J. Fluid Mech. 50 (1971) 689)."""
    grid = make_grid((4, 95), 1, lengths=(2 * np.pi, 2.0), walls="y")
    equation = sw.equations.NavierStokes(grid, 1e-4, energy_budget=False)
    z = grid.coordinates()[1] - 1
    base = jnp.asarray(np.stack([np.broadcast_to(1 - z**2, grid.physical_shape), np.zeros(grid.physical_shape)]))
    found = np.linalg.eigvals(matrix_of(equation, equation.from_physical({"velocity": base})))
    largest = found[np.argmax(found.real)]
    assert largest.real == pytest.approx(0.00373967, abs=1e-8)
    assert abs(largest.imag) == pytest.approx(0.23752649, abs=1e-8)


@pytest.mark.slow
@pytest.mark.parametrize("stepper", [Krogstad4(), ETDRK5S4()], ids=lambda s: s.name)
def test_plane_flows_are_exact(make_grid, stepper):
    """Couette flow stays as it is; a uniform force leads to F z(H − z)/(2ν)."""
    grid = make_grid((8, 17), 1, lengths=(2.0, 1.5), walls="y")
    z = grid.coordinates()[1]
    moving = {"velocity": walls.Moving(lower=-1.0, upper=2.0)}
    couette = sw.equations.NavierStokes(grid, 0.1, walls=moving)
    start = sw.initial.Conduction().for_equation(couette, "velocity")(grid, couette.fields["velocity"])
    np.testing.assert_allclose(start[0], np.broadcast_to(-1 + 2 * z, grid.physical_shape), atol=1e-14)
    state = sw.integrate(couette, stepper, sw.initial_state(couette, stepper, start), step=0.1, steps=20)
    np.testing.assert_allclose(couette.to_physical(state.field)["velocity"], start, atol=1e-13)
    driven = sw.equations.NavierStokes(grid, 0.1, forcing=sw.forcing.Uniform((0.3, 0.0)))
    state = sw.initial_state(driven, stepper, jnp.zeros((2, 8, 17)))
    state = sw.integrate(driven, stepper, state, step=5.0, steps=40)
    exact = np.broadcast_to(0.3 * z * (1.5 - z) / 0.2, grid.physical_shape)
    np.testing.assert_allclose(driven.to_physical(state.field)["velocity"][0], exact, atol=1e-12)


def test_a_temperature_between_a_value_and_a_flux(make_grid):
    """Conduction from any start: T = 1 − 0.4 z; and what decays does so at the rate of its mode."""
    grid = make_grid((17,), 1, lengths=(2.0,), walls="x")
    of = walls.Walls(AtValue(1.0), AtSlope(-0.4))
    equation = sw.write(["dt(T) = 0.3*lap(T)"], fields={"T": "scalar"})(grid, walls={"T": of})
    x = grid.coordinates()[0]
    at = lambda t: 1 - 0.4 * x + np.exp(-0.3 * (np.pi / 4) ** 2 * t) * np.sin(np.pi * x / 4)  # noqa: E731
    stepper = Krogstad4()
    state = sw.integrate(
        equation, stepper, sw.initial_state(equation, stepper, jnp.asarray(at(0))[None]), step=0.5, steps=4
    )
    np.testing.assert_allclose(equation.to_physical(state.field)["T"][0], at(2.0), atol=1e-11)


@pytest.mark.slow
@pytest.mark.parametrize(("rayleigh", "nusselt"), [(5000.0, 2.110260), (10000.0, 2.652501)])
def test_the_heat_that_steady_rolls_carry(make_grid, rayleigh, nusselt):
    """Pr = 0.71, k = 3.117: Nu of an independent solver, by the flux in the middle and by the slope at the wall."""
    k = 3.117
    grid = make_grid((32, 35), 1, lengths=(2 * np.pi / k, 1.0), walls="y")
    equation = sw.equations.RayleighBenard(grid, rayleigh, 0.71, walls=HEATED, energy_budget=False)
    x, z = grid.coordinates()
    temperature = jnp.asarray(1 - z + 0.1 * np.cos(k * x) * np.sin(np.pi * z))
    stepper = Krogstad4()
    state = sw.initial_state(equation, stepper, {"velocity": jnp.zeros((2, 32, 35)), "temperature": temperature[None]})
    state = sw.integrate(equation, stepper, state, step=0.05, steps=2400)
    columns = equation.series(state.field, 0.05)
    for name, error in (("flux", 1e-6), ("dissipation", 1e-6), ("bottom", 2e-5), ("top", 2e-5)):
        assert float(columns[f"nusselt_{name}"]) == pytest.approx(nusselt, abs=error), name


@pytest.mark.thorough
@pytest.mark.slow
@pytest.mark.parametrize("dimensions", [1, 2])
def test_noise_has_no_mean_and_fluxes_that_balance_keep_it(make_grid, dimensions):
    grid = make_grid((8, 17)[-dimensions:], 1, lengths=(2.0, 1.0)[-dimensions:], walls="xy"[dimensions - 1])
    of = {"temperature": walls.Slope(-1.0, -1.0)}
    if dimensions == 2:
        equation: sw.Equation = sw.equations.RayleighBenard(grid, 1e5, walls=of)
    else:
        equation = sw.write(["dt(temperature) = lap(temperature)"], {"temperature": "scalar"})(grid, walls=of)
    start = sw.initial.Conduction(0.1).for_equation(equation, "temperature")
    space, z = equation.space("temperature"), grid.coordinates()[-1]
    noise = start(grid, key=jax.random.key(1)) - (0.5 - z)
    assert float(jnp.abs(space.mean(noise)[0])) < 1e-15
    np.testing.assert_allclose(space.mean(noise**2)[0], 0.01, rtol=1e-6)
    values = {name: jnp.zeros(shape) for name, shape in equation.physical_shapes().items()}
    state = sw.initial_state(equation, Krogstad4(), {**values, "temperature": start(grid, key=jax.random.key(1))})
    state = sw.integrate(equation, Krogstad4(), state, step=0.1, steps=20)
    assert abs(float(space.means(state.field["temperature"])[0])) < 1e-14


def largest_change(equation, values):
    """The largest rate of change of each field at the points, by name."""
    fields = equation.from_physical({name: jnp.asarray(np.stack(u)) for name, u in values.items()})
    forced = equation.at_step(dict.fromkeys(equation.forcings(), ())).nonlinear(fields, 0.0)
    linear = equation.linear().apply(fields)
    return {n: float(jnp.abs(s.inverse_of_change(linear[n] + forced[n])).max()) for n, s in equation.spaces.items()}


@pytest.mark.thorough
@pytest.mark.slow
def test_rotating_convection_between_free_walls_is_marginal_where_theory_says(make_grid):
    """Ra = ((π² + k²)³ + π² Ta)/k² (Chandrasekhar, chapter 3): a small wave neither grows nor decays."""
    grid, k, taylor, prandtl, small = (
        make_grid((8, 4, 35), 1, lengths=(2.0, 2.0, 1.0), walls="z"),
        np.pi,
        1e3,
        0.7,
        1e-7,
    )
    square = np.pi**2 + k**2
    rayleigh = (square**3 + np.pi**2 * taylor) / k**2
    nu, kappa, rotation = (
        np.sqrt(prandtl / rayleigh),
        1 / np.sqrt(rayleigh * prandtl),
        np.sqrt(taylor * prandtl / rayleigh),
    )
    of = {"velocity": walls.FreeSlip(), "temperature": walls.Value(1.0)}
    flow = sw.equations.RayleighBenard(grid, rayleigh, prandtl, rotation=rotation, walls=of)
    x, _, z = (np.broadcast_to(v, grid.physical_shape) for v in grid.coordinates())
    u, w = -np.pi / k * np.sin(k * x) * np.cos(np.pi * z), np.cos(k * x) * np.sin(np.pi * z)
    velocity = [small * part for part in (u, -rotation * u / (nu * square), w)]
    wave = {"velocity": velocity, "temperature": [1 - z + small * w / (kappa * square)]}
    assert max(largest_change(flow, wave).values()) < 1e-4 * small
    still = {**wave, "velocity": [small * u, 0 * u, small * w]}
    assert largest_change(flow, still)["velocity"] > 0.1 * small


@pytest.mark.thorough
@pytest.mark.slow
def test_a_channel_of_an_oldroyd_fluid_is_steady(make_grid):
    """u = a z(1 − z)/2(ν + ν_p), τ_xy = ν_p u', τ_xx = 2 λ ν_p u'²: without a diffusivity of the stress."""
    grid, force = make_grid((8, 17), 1, lengths=(2.0, 1.0), walls="y"), 0.3
    of = {"velocity": walls.NoSlip(), "stress": walls.Slope()}
    driven = {"velocity": sw.forcing.Uniform((force, 0.0))}
    fluid = sw.equations.OldroydB(grid, 0.05, 0.1, 0.7, forcing=driven, walls=of)
    z = np.broadcast_to(grid.coordinates()[1], grid.physical_shape)
    u, slope = force * z * (1 - z) / 0.3, force * (1 - 2 * z) / 0.3
    stress = [2 * 0.7 * 0.1 * slope**2, 0.1 * slope, 0 * z]
    assert max(largest_change(fluid, {"velocity": [u, 0 * u], "stress": stress}).values()) < 1e-11
    assert largest_change(fluid, {"velocity": [u, 0 * u], "stress": [0 * z, 0.1 * slope, 0 * z]})["stress"] > 0.1


@pytest.mark.thorough
@pytest.mark.slow
def test_a_channel_of_a_constant_flow_rate(make_grid):
    """The mean velocity is kept, the force of the parabola is 12 νU/H², even waves of the mean decay by tan q = q."""
    grid = make_grid((8, 6, 25), 1, lengths=(2.0, 3.0, 0.5), walls="z")
    kept = sw.forcing.FlowRate((1.0, 0.3, 0.0))
    flow = sw.equations.NavierStokes(grid, 0.05, forcing=kept)
    start = sw.initial.Conduction().for_equation(flow, "velocity")(grid, flow.fields["velocity"])
    z = np.broadcast_to(2 * grid.coordinates()[2], grid.physical_shape)
    np.testing.assert_allclose(start, np.stack([6 * z * (1 - z), 1.8 * z * (1 - z), 0 * z]), atol=1e-13)
    steady = flow.series(flow.from_physical({"velocity": start}), 0.1)
    assert float(steady["pressure_force_x"]) == pytest.approx(12 * 0.05 / 0.25)
    assert float(steady["pressure_force_y"]) == pytest.approx(0.3 * 12 * 0.05 / 0.25)
    space = flow.space("velocity")
    decay = np.sort(-np.asarray(space.laplacian())[0, 0, 0])
    np.testing.assert_allclose(decay[decay > 0][:2] * 0.25**2, [np.pi**2, 4.493409457909064**2], rtol=1e-10)
    waves = space.inverse_of_change(jnp.exp(2e-3 * space.laplacian()) * space.random(jax.random.key(2)))
    state = sw.initial_state(flow, Krogstad4(), start + waves)
    *_, after = sw.evolve(flow, Krogstad4(), state, end=0.04, step=2e-3)
    np.testing.assert_allclose(space.means(after.field["velocity"]), [1.0, 0.3, 0.0], atol=1e-13)
    assert abs(float(after.budget["energy_from_viscosity"])) > 1e-3
    for name, energy in flow.report.energies(after.field).items():
        assert abs(imbalance(name, state.energies[name], energy, after.budget)) < 1e-7
    free, faster = (replace(flow, forcing=other) for other in (None, sw.forcing.FlowRate((2.0, 0.0, 0.0))))
    assert "pressure_force_x" not in free.series(free.from_physical({"velocity": start}), 0.1)
    fields = faster.from_physical({"velocity": start})
    np.testing.assert_allclose(faster.space("velocity").means(fields["velocity"]), [2.0, 0.0, 0.0], atol=1e-13)
    with pytest.raises(ValueError, match="0 across the walls"):
        sw.equations.NavierStokes(grid, 0.05, forcing=sw.forcing.FlowRate((1.0, 0.0, 0.1)))


def of_case(name, shape, k, parameters, more=()):
    """The equation of a run file on few points, with one wave k along x and other parameters."""
    sides = [float(2 * np.pi / k), *[1.0] * (len(shape) - 1)]
    words = [f"grid.shape={shape}", f"grid.lengths={sides}", "devices.use=[0]", *more]
    words += [f"equation.parameters.{key}={float(value)!r}" for key, value in parameters.items()]
    return Assembly(load(cases()[name], schema(), words), sw.device_mesh([0])).equation


def at_rest(equation, **given):
    """Coefficients of fields that depend on the height alone; all others are 0."""
    shapes, z = equation.physical_shapes(), equation.grid.coordinates()[-1]
    values = {name: np.zeros(shape) for name, shape in shapes.items()}
    for name, (component, profile) in given.items():
        values[name][component] = profile(z)
    return equation.from_physical({name: jnp.asarray(u) for name, u in values.items()})


FREE = ["walls.u.lower='free-slip'", "walls.u.upper='free-slip'"]
FREE_ONSET, FREE_WAVE = 27 * np.pi**4 / 4, np.pi / np.sqrt(2)


def magnetised(factor):
    """3757.230 at Q = 100, a = 4.01203, by Chebyshev collocation (3757.4 in Chandrasekhar 1961, table XIV)."""
    nu = (factor * 3757.230) ** -0.5
    equation = of_case("magnetoconvection", [4, 25], 4.01203, {"nu": nu, "kappa": nu, "eta": nu, "b0": 10 * nu})
    return equation, at_rest(equation, T=(0, lambda z: 1 - z))


def salty(factor):
    """Fingers between free walls: R_S/τ − R_T = 27π⁴/4 (Turner 1973, chapter 8)."""
    numbers = {"rt": 1000.0, "rs": factor * 0.1 * (FREE_ONSET + 1000.0), "tau": 0.1}
    equation = of_case("salt-fingers", [4, 25], FREE_WAVE, numbers, FREE)
    return equation, at_rest(equation, T=(0, lambda z: z), S=(0, lambda z: z))


def heated_from_within(factor):
    """2772.27 with the wavenumber 2.629 (Roberts 1967)."""
    equation = of_case("internal-heating", [4, 25], 2.629, {"rayleigh": factor * 2772.27})
    return equation, at_rest(equation, T=(0, lambda z: (1 - z**2) / 2))


def inclined(factor):
    """Rolls along the slope at 1707.762/cos γ, about the stream R sin γ (z³/6 − z²/4 + z/12), γ = 30°."""
    rayleigh = factor * 1707.762 / np.cos(np.pi / 6)
    equation = of_case("inclined-layer", [4, 4, 25], 3.117, {"rayleigh": rayleigh})
    stream = lambda z: rayleigh * 0.5 * (z**3 / 6 - z**2 / 4 + z / 12)  # noqa: E731
    return equation, at_rest(equation, u=(1, stream), T=(0, lambda z: 0.5 - z))


@pytest.mark.slow
def test_a_field_across_a_perfect_conductor_needs_a_velocity_at_rest_there(make_grid):
    """A flow along the wall would feed the energy with u·b B₀ there, which nothing pays for."""
    grid = make_grid((8, 13), 1, walls="y")
    of = {"velocity": walls.FreeSlip(), "magnetic_field": walls.FreeSlip()}
    sw.equations.MHD(grid, 0.1, 0.1, mean_field=(1.0, 0.0), walls=of)
    sw.equations.MHD(grid, 0.1, 0.1, mean_field=(1.0, 0.5), walls={"magnetic_field": walls.FreeSlip()})
    with refused_in_one_line("0 across a wall where velocity and magnetic_field are free-slip is needed"):
        sw.equations.MHD(grid, 0.1, 0.1, mean_field=(0.0, 0.5), walls=of)


@pytest.mark.thorough
@pytest.mark.slow
@pytest.mark.parametrize("of", [magnetised, salty, heated_from_within, inclined])
def test_layers_become_unstable_where_theory_says(of):
    rates = [np.max(np.linalg.eigvals(matrix_of(*of(factor))).real) for factor in (0.999, 1.001)]
    assert rates[0] < 0 < rates[1]
    assert 0.999 + 0.002 * rates[0] / (rates[0] - rates[1]) == pytest.approx(1, abs=5e-6)


@pytest.mark.thorough
@pytest.mark.slow
def test_a_plate_that_swings_is_exact():
    """Stokes' second problem below a plate at rest, over half a period."""
    run = Assembly(load(cases()["oscillating-walls"], schema(), ["grid.shape=[4, 33]"]), sw.device_mesh([0]))
    equation, omega, nu = run.equation, 2 * np.pi, 0.01
    z, wave = equation.grid.coordinates()[-1], np.sqrt(1j * omega / nu)
    shape = np.sinh(wave * (1 - z)) / np.sinh(wave)
    exact = lambda t: (np.exp(1j * omega * t) * shape).imag  # noqa: E731
    stepper = run.stepper
    state = sw.initial_state(equation, stepper, {"u": at_points(exact(0.0), equation)})
    end = sw.integrate(equation, stepper, state, step=0.01, steps=50).field
    np.testing.assert_allclose(equation.at_time(0.5).to_physical(end)["u"], at_points(exact(0.5), equation), atol=1e-7)


def at_points(along, equation):
    """A velocity along x, at the points."""
    u = np.zeros(equation.physical_shapes()["u"])
    u[0] = along
    return jnp.asarray(u)


# ---- stream functions -----------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_jet_in_a_channel_is_unstable_as_the_rayleigh_kuo_equation_has_it():
    """The jet of the case on fewer points: the growth of its fastest waves, by collocation at Chebyshev points."""
    words = ["grid.shape=[4, 65]", "grid.lengths=[3.8, 2.0]", "devices.use=[0]"]
    flow = Assembly(load(cases()["barotropic-channel"], schema(), words), sw.device_mesh([0])).equation
    k, places, beta = 2 * np.pi / 3.8, np.cos(np.pi * np.arange(57) / 56), 0.5
    values = chebyshev.chebvander(places, 56)
    second = np.stack([chebyshev.chebval(places, chebyshev.chebder(row, 2)) for row in np.eye(57)], 1)
    laplacian = ((second - k**2 * values) @ np.linalg.inv(values))[1:-1, 1:-1]
    jet = np.cos(0.5 * np.pi * places[1:-1]) ** 2
    gradient = beta + 0.5 * np.pi**2 * np.cos(np.pi * places[1:-1])
    waves = -1j * k * (np.diag(jet) + np.diag(gradient) @ np.linalg.inv(laplacian))
    wanted = max(np.linalg.eigvals(waves + 2e-4 * laplacian - 0.02 * np.eye(55)).real)
    assert wanted == pytest.approx(0.1498, abs=1e-4)
    found = matrix_of(flow, flow.from_physical({"q": jnp.zeros((1, *flow.grid.physical_shape))}))
    assert max(np.linalg.eigvals(found).real) == pytest.approx(wanted, rel=1e-6)


@pytest.mark.slow
def test_two_layers_in_a_channel_grow_as_phillips_has_it(make_grid):
    """kU √((k_d² − K²)/(k_d² + K²)) of the waves sin ly between the walls, K² = k² + l²."""
    k, wave, deformation, shear = 1.5, np.pi, 6.0, 0.7
    grid = make_grid((4, 33), 1, lengths=(2 * np.pi / k, 1.0), walls="y")
    of = dict.fromkeys(("upper_pv", "lower_pv"), walls.Slope()) | dict.fromkeys(("psi_1", "psi_2"), walls.Value())
    flow = sw.equations.TwoLayerQuasiGeostrophic(grid, deformation, shear, walls=of)
    with refused_in_one_line("changes the mean of lower_pv"):
        sw.equations.TwoLayerQuasiGeostrophic(grid, deformation, shear, drag=0.1, walls=of)
    with refused_in_one_line("its energies are not known"):
        sw.equations.TwoLayerQuasiGeostrophic(grid, deformation, shear, walls={**of, "psi_1": walls.Value(1.0)})
    rest = {name: jnp.zeros(s.coefficients.shape, s.coefficients.dtype) for name, s in flow.spaces.items()}
    ratio = (deformation**2 - k**2 - wave**2) / (deformation**2 + k**2 + wave**2)
    assert max(np.linalg.eigvals(matrix_of(flow, rest)).real) == pytest.approx(k * shear * np.sqrt(ratio), rel=1e-7)
