"""Navier–Stokes: exact solutions, published numbers, costs."""

import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import VELOCITY, advanced, all_to_all_bytes, series

import solver as sw
from solver import initial
from solver.equations import NavierStokes
from solver.fft import loops
from solver.loop import FixedStep, trace_advance
from solver.plan import transforms_in_step
from solver.steppers import ETDRK4, IFRK4
from solver.steppers.start import state_shapes

pytestmark = pytest.mark.slow


@pytest.mark.thorough
def test_two_dimensional_taylor_green_decays_exactly(make_grid):
    grid = make_grid((32, 24), lengths=3.0)
    u = initial.TaylorGreen()(grid)
    state = advanced(NavierStokes(grid, viscosity=0.03), ETDRK4(), u, 1.0, 0.02)
    decay = np.exp(-0.03 * 2 * (2 * np.pi / 3) ** 2)
    np.testing.assert_allclose(sw.fft.Transform(grid).inverse(state.field["velocity"]), decay * u, atol=2e-14)


def test_beltrami_flow_decays_exactly(make_grid):
    grid = make_grid((24, 24, 24), devices=4)
    u = initial.Beltrami((1.0, 0.8, 0.6))(grid)
    state = advanced(NavierStokes(grid, viscosity=0.1), IFRK4(), u, 1.0, 0.02)
    np.testing.assert_allclose(sw.fft.Transform(grid).inverse(state.field["velocity"]), np.exp(-0.1) * u, atol=5e-14)


@pytest.mark.thorough
def test_nonlinearity_against_the_advective_form(make_grid):
    """−P[u·∇u] formed the other way, on a random solenoidal field."""
    grid = make_grid((24, 16, 20), devices=4, lengths=[1.0, 2.0, 3.0])
    equation = NavierStokes(grid, viscosity=0.0)
    u_hat = equation.from_physical({"velocity": initial.RandomPhase(peak=8.0)(grid, VELOCITY, jax.random.key(0))})[
        "velocity"
    ]
    transform = sw.fft.Transform(grid)
    u = transform.inverse(u_hat)
    gradients = [transform.inverse(sw.operators.gradient(component, grid)) for component in u_hat]
    advection = jnp.stack([jnp.sum(u * g, axis=0) for g in gradients])
    expected = -sw.operators.project_solenoidal(transform.forward(advection), grid)
    got = equation.nonlinear({"velocity": u_hat}, 0.0)["velocity"]
    assert float(jnp.max(jnp.abs(got - expected))) < 1e-14 * float(jnp.max(jnp.abs(expected))) * 100
    # inviscid, dealiased: the nonlinearity neither makes nor takes energy
    weights = grid.mode_weights()
    transfer = float(jnp.sum(weights * jnp.real(jnp.conj(u_hat) * got)))
    assert abs(transfer) < 1e-14 * float(jnp.sum(weights * jnp.abs(u_hat) * jnp.abs(got)))


@pytest.mark.thorough
def test_taylor_green_against_an_independent_code(make_grid):
    """Values of an independent FFTW solver with the same modes, to the digits it printed; Re is 100."""
    expected = {2.0: {"energy": 0.1090476}, 5.0: {"energy": 0.0739643, "enstrophy": 0.6484036}}
    grid = make_grid((48, 48, 48), devices=2)
    equation, stepper = NavierStokes(grid, viscosity=0.01), IFRK4()
    state = sw.initial_state(equation, stepper, initial.TaylorGreen()(grid))
    row = jax.jit(equation.series)
    seen = 0
    pauses = [sw.Schedule(every_time=1.0)]
    for now in sw.evolve(equation, stepper, state, end=max(expected), step=0.05, pauses=pauses):
        for name, value in expected.get(float(now.t), {}).items():
            assert float(row(now.field, now.dt)[name]) == pytest.approx(value, rel=1e-5)
            seen += 1
    assert seen == sum(len(v) for v in expected.values())


@pytest.mark.parametrize(("shape", "per_rhs"), [((16, 16, 16), (3, 5)), ((16, 16), (2, 2))], ids=["3-D", "2-D"])
def test_cost_of_a_step(make_grid, shape, per_rhs):
    grid = make_grid(shape, devices=2)
    equation = NavierStokes(grid, viscosity=0.01)
    state = sw.initial_state(equation, IFRK4(), initial.TaylorGreen()(grid))
    calls = transforms_in_step(equation, IFRK4(), state)
    assert [c.batch for c in calls if not c.forward] == [per_rhs[0]] * 4
    assert [c.batch for c in calls if c.forward] == [per_rhs[1]] * 4


@pytest.mark.parametrize("engine", ["slabwave", "shard_map"])
def test_exchanges_of_a_compiled_chunk(make_grid, engine):
    """Two per right-hand side, of 3 and 5 components; mirrored modes."""
    grid = make_grid((32, 24, 16))
    equation, stepper = NavierStokes(grid, viscosity=0.01, method=sw.fft.Method(engine, "all")), IFRK4()
    state = sw.initial_state(equation, stepper, initial.RandomPhase()(grid, VELOCITY, jax.random.key(0)))
    text = trace_advance(equation, stepper, state, FixedStep(0.01)).lower().compile().as_text()
    collectives = re.findall(r"(all-to-all|all-gather|collective-permute|reduce-scatter)(?:-start)?\(", text)
    assert set(collectives) == {"all-to-all", "collective-permute"}
    assert collectives.count("all-to-all") == 4 * 2
    assert collectives.count("collective-permute") <= 2  # mirrored modes, once a step
    sent = all_to_all_bytes(text)
    assert sum(sent) * 8 * 7 // 8 == 4 * 8 * grid.layout.exchange_bytes()
    per_field = 16 * 32 * 16 * 6 // 8  # Nx · Ky, padded to eight parts, · Kz, on one device
    assert sorted(set(sent)) == [3 * per_field, 5 * per_field]


@pytest.mark.parametrize("devices", [1, 8])
def test_memory_of_a_step(make_grid, monkeypatch, devices):
    """At most 12 real words per grid point, state and stages included, with a four-stage scheme."""
    monkeypatch.setattr(loops, "BLOCK_BYTES", 2**17)  # blocks small beside a device's share, as on larger grids
    grid = make_grid((96, 96, 96), devices=devices)
    equation, stepper = NavierStokes(grid, viscosity=0.01, energy_budget=False), IFRK4()
    field = jax.ShapeDtypeStruct((3, *grid.spectral_shape), complex, sharding=grid.spectral_sharding(4))
    state = state_shapes(equation, stepper, with_key=False).replace(field={"velocity": field})
    memory = trace_advance(equation, stepper, state, FixedStep(0.01)).lower().compile().memory_analysis()
    held = memory.argument_size_in_bytes + memory.temp_size_in_bytes  # the result takes the argument's place
    assert held / (8 * 96**3 / devices) < 12


@pytest.mark.thorough
def test_three_halves_of_n_modes_is_two_thirds_of_three_n_half_points(make_grid):
    ends = []
    for shape, dealias in [((16, 16, 12), "three-halves"), ((24, 24, 18), "two-thirds")]:
        grid = make_grid(shape, devices=4, dealias=dealias)
        assert grid.physical_shape == (24, 24, 18)
        state = advanced(NavierStokes(grid, viscosity=0.01), IFRK4(), initial.TaylorGreen()(grid), 0.1, 0.02)
        ends.append(state.field["velocity"])
    np.testing.assert_array_equal(ends[0], ends[1])


def test_diagnostics_of_a_known_flow(make_grid):
    grid = make_grid((24, 24, 24), devices=4)
    equation = NavierStokes(grid, viscosity=0.02)
    state = sw.initial_state(equation, IFRK4(), initial.TaylorGreen()(grid))
    row = series(equation, state, 0.1)
    assert list(equation.report.units()) == ["energy", "enstrophy", "dissipation", "max_divergence", "kmax_eta", "cfl"]
    assert row["energy"] == pytest.approx(0.125)
    assert row["enstrophy"] == pytest.approx(0.375)
    assert row["dissipation"] == pytest.approx(2 * 0.02 * 0.375)
    assert row["max_divergence"] < 1e-13
    dx = 2 * np.pi / 24
    x = np.arange(24) * dx
    u = np.abs(np.sin(x)[:, None] * np.cos(x)) + np.abs(np.cos(x)[:, None] * np.sin(x))
    assert row["cfl"] == pytest.approx(0.1 * u.max() / dx)
    assert row["kmax_eta"] == pytest.approx(7 * (0.02**3 / 0.015) ** 0.25)
    assert equation.report.warnings({"kmax_eta": 0.9})
    assert not equation.report.warnings({"kmax_eta": 1.1})
    assert equation.report.warnings({"kmax_eta": 0.9996})[0].startswith("k_max·η = 0.9996 is below 1")


@pytest.mark.thorough
@pytest.mark.parametrize("d", [2, 3])
def test_enstrophy_is_that_of_the_curl_where_all_modes_are_kept(make_grid, d):
    """½⟨|∇×u|²⟩, in which modes at the Nyquist wavenumber have no derivative; the sum of its spectrum is the same."""
    grid = make_grid((8, 6, 10)[:d], devices=1, dealias="none")
    buoyant = sw.equations.Boussinesq(grid, viscosity=0.02, diffusivity=0.1)
    equation = NavierStokes(grid, viscosity=0.02)
    u = np.random.default_rng(3).standard_normal((d, *grid.shape))
    u_hat = equation.from_physical({"velocity": jnp.asarray(u)})["velocity"]
    hats = np.fft.fftn(np.asarray(equation.transform.inverse(u_hat)), axes=range(1, d + 1)) / u[0].size
    numbers = [np.fft.fftfreq(n, 1 / n) for n in grid.shape]
    k = np.meshgrid(*[np.where(2 * abs(q) == len(q), 0, q) for q in numbers], indexing="ij")
    across = [k[i] * hats[j] - k[j] * hats[i] for i in range(d) for j in range(i)]
    expected = 0.5 * np.sum(np.abs(across) ** 2)
    np.testing.assert_allclose(equation.report.columns({"velocity": u_hat})["enstrophy"], expected, rtol=1e-12)
    fields = {"velocity": u_hat, "buoyancy": 0 * u_hat[:1]}
    np.testing.assert_allclose(buoyant.report.columns(fields)["enstrophy"], expected, rtol=1e-12)
    if d == 2:
        np.testing.assert_allclose(np.sum(equation.spectra({"velocity": u_hat})["enstrophy"]), expected, rtol=1e-12)
    k2 = sum(np.square(q) for q in np.meshgrid(*numbers, indexing="ij"))
    lost = 0.02 * np.sum(k2 * np.abs(hats) ** 2)
    np.testing.assert_allclose(equation.report.columns({"velocity": u_hat})["dissipation"], lost, rtol=1e-12)


def test_wrong_parameters_are_refused(make_grid):
    with pytest.raises(ValueError, match=r"viscosity -1.0: zero or more"):
        NavierStokes(make_grid((16, 16), devices=2), viscosity=-1.0)
    with pytest.raises(ValueError, match="navier-stokes in 1 dimensions: 2 or 3"):
        NavierStokes(make_grid((16,), devices=1), viscosity=1.0)
    assert NavierStokes(make_grid((16, 16), devices=2, real=False), viscosity=1.0).grid.real


@pytest.mark.slow
def test_a_box_of_one_point_along_an_axis_holds_a_flow_of_three_components_in_a_plane(make_grid):
    """The velocity in the plane is that of two dimensions, and the third component a scalar that it carries."""

    def after(shape, devices):
        equation = NavierStokes(make_grid(shape, devices=devices), viscosity=0.05)
        start = sw.sample(lambda x, y, *z: flow(x, y)[: len(shape)], equation.grid)
        state = sw.initial_state(equation, IFRK4(), start)
        state = sw.integrate(equation, IFRK4(), state, step=0.02, steps=10)
        return np.asarray(equation.to_physical(state.field)["velocity"])

    def flow(x, y):
        return jnp.sin(x) * jnp.cos(y) + jnp.cos(2 * y), jnp.sin(2 * x) - jnp.cos(x) * jnp.sin(y), jnp.sin(x + y)

    np.testing.assert_allclose(after((16, 18, 1), 4)[:2, :, :, 0], after((16, 18), 1), rtol=0, atol=1e-13)
