"""What is known of particles in simple flows: reversal in time, effective diffusivities, densities, clustering."""

import jax.numpy as jnp
import numpy as np
import pytest
from scipy.sparse import csr_array, diags_array, eye_array, kron
from scipy.sparse.linalg import spsolve

import solver as sw
from particles.test_motion import STARTS, carried, places, vortices
from solver.particles import Particles

PERIOD = 2.0


class Turning(Particles):
    """Tracers of a flow that turns back: its velocity times cos(πt/T)."""

    name = "turning"

    def motion(self, flow, particle, t):
        return {"position": jnp.cos(np.pi * t / PERIOD) * flow.velocity}


def after(stepper, particles, *, step, end):
    flow, state = carried(stepper, particles)
    *_, state = sw.evolve(flow, stepper, state, step=step, end=end)
    return places(flow, state)


@pytest.mark.slow
@pytest.mark.parametrize(("stepper", "order"), [("IFRK4", 4), pytest.param("IFRK2", 2, marks=pytest.mark.thorough)])
def test_a_flow_that_turns_back_returns_them_one_order_better(stepper, order):
    """At T/2 errors are of the order of the method; on return those of leading order cancel, where it is even."""
    method, dust = getattr(sw.steppers, stepper)(), Turning(places=STARTS, order=8)
    steps = (PERIOD / 10, PERIOD / 20)
    there = after(sw.steppers.IFRK4(), dust, step=PERIOD / 200, end=PERIOD / 2)
    half = [np.abs(after(method, dust, step=dt, end=PERIOD / 2) - there).max() for dt in steps]
    back = [np.abs(after(method, dust, step=dt, end=PERIOD) - STARTS).max() for dt in steps]
    assert np.abs(there - STARTS).max() > 0.5
    assert abs(np.log2(half[0] / half[1]) - order) < 0.4
    assert abs(np.log2(back[0] / back[1]) - order - 1) < 0.4


def diffused(vorticity, kappa, times, *, count=4000, step=0.05):
    """Variance of the displacement along x of Brownian particles in a steady flow at each time, and its deviation."""
    stepper = sw.steppers.IFRK4()
    grid = sw.Grid((16, 16), mesh=sw.device_mesh([0]))
    dust = sw.particles.Brownian(count=count, diffusivity=kappa, order=8)
    flow = sw.equations.Vorticity(grid, viscosity=0.0, particles={"dust": dust})
    state = sw.initial_state(flow, stepper, sw.sample(vorticity, grid), seed=2)
    start, found = places(flow, state), []
    for end in times:
        *_, state = sw.evolve(flow, stepper, state, step=step, end=end)
        found.append((places(flow, state) - start)[:, 0])
    squares = np.array(found) ** 2
    return squares.mean(1), squares.std(1) / np.sqrt(count), squares


@pytest.mark.thorough
@pytest.mark.slow
def test_brownian_particles_in_a_shear_have_the_effective_diffusivity_of_taylor():
    """⟨Δx²⟩ = 2κt + U²/(κk²) (t − (1 − e^−κk²t)/κk²) in U sin(ky), which is 2κ(1 + U²/(2κ²k²)) t in the end."""
    u, kappa, k, times = 2.0, 1.0, 1, np.array([1.0, 4.0])
    found, deviation, squares = diffused(lambda x, y: -u * k * jnp.cos(k * y) + 0 * x, kappa, times)
    rate = kappa * k**2
    expected = 2 * kappa * times + u**2 / rate * (times - (1 - np.exp(-rate * times)) / rate)
    assert (np.abs(found - expected) < 4 * deviation).all()
    effective = (squares[1] - squares[0]) / (2 * (times[1] - times[0]))
    taylor = kappa * (1 + u**2 / (2 * kappa**2 * k**2))
    bound = 4 * effective.std() / np.sqrt(effective.size)
    assert abs(effective.mean() - taylor) < bound + 0.1 * kappa  # e^−1 of the start is left at t = 1
    assert taylor - kappa > 4 * bound


@pytest.mark.slow
@pytest.mark.thorough
def test_brownian_particles_in_cells_have_the_diffusivity_of_the_cell_problem():
    """κ(1 + ⟨|∇χ|²⟩), with u·∇χ − κ∇²χ = −u_x in a cell, by SciPy's sparse matrices of sixth order."""
    a, kappa, n = 2.0, 0.5, 48
    x, y = np.meshgrid(*[2 * np.pi * np.arange(n) / n] * 2, indexing="ij")
    h, one = 2 * np.pi / n, eye_array(n)
    ring = lambda weights: sum(w * _shift(n, j) for j, w in weights.items())  # noqa: E731
    slope = ring({1: 45, 2: -9, 3: 1, -1: -45, -2: 9, -3: -1}) / (60 * h)
    bend = ring({0: -490, 1: 270, -1: 270, 2: -27, -2: -27, 3: 2, -3: 2}) / (180 * h**2)
    u, v = a * np.cos(x) * np.sin(y), -a * np.sin(x) * np.cos(y)
    along, across = kron(slope, one), kron(one, slope)
    matrix = diags_array(u.ravel()) @ along + diags_array(v.ravel()) @ across
    matrix = matrix - kappa * (kron(bend, one) + kron(one, bend))
    matrix = matrix + 1e-9 * eye_array(n * n)  # the mean of χ is free
    chi = spsolve(matrix.tocsc(), -u.ravel())
    expected = kappa * (1 + np.mean((along @ chi) ** 2 + (across @ chi) ** 2))
    assert expected > 1.5 * kappa
    times = np.array([3.0, 12.0])
    _, _, squares = diffused(vortices, kappa, times, count=6000)
    effective = (squares[1] - squares[0]) / (2 * (times[1] - times[0]))
    assert abs(effective.mean() - expected) < 4 * effective.std() / np.sqrt(effective.size)


def _shift(n, j):
    """The matrix of v(x + j h) on a ring."""
    return csr_array(np.roll(np.eye(n), j, axis=1))


@pytest.mark.slow
def test_a_passive_scalar_is_the_density_of_tracers_that_have_its_values():
    """Σ c(x₀) exp(−ik·x)/N is ĉ(k), as ∂c/∂t + u·∇c = 0 moves both, from a fine lattice."""
    stepper, grid = sw.steppers.IFRK4(), sw.Grid((48, 48), mesh=sw.device_mesh([0]))
    dust = sw.particles.Tracers(count=96**2, start="lattice", order=6)
    flow = sw.equations.NavierStokes(grid, viscosity=0.0, scalars={"c": sw.PassiveScalar()}, particles={"dust": dust})
    cells = sw.sample(lambda x, y: (jnp.cos(x) * jnp.sin(y), -jnp.sin(x) * jnp.cos(y)), grid)
    scalar = lambda x, y: 1 + 0.5 * np.sin(x + 0.3) + 0.3 * np.cos(y - 2 * x)  # noqa: E731
    c = sw.sample(lambda x, y: 1 + 0.5 * jnp.sin(x + 0.3) + 0.3 * jnp.cos(y - 2 * x), grid)
    state = sw.initial_state(flow, stepper, {"velocity": cells, "c": c})
    weights = scalar(*places(flow, state).T)
    *_, state = sw.evolve(flow, stepper, state, step=0.05, end=0.5)
    x = places(flow, state)
    coefficients = np.fft.fftn(np.asarray(flow.to_physical(state.field)["c"])[0]) / 48**2
    for k in [(0, 0), (1, 0), (0, 1), (1, 1), (2, 1), (2, -1)]:
        wanted = coefficients[k]
        assert np.mean(weights * np.exp(-1j * x @ k)) == pytest.approx(wanted, abs=2e-6)
    assert abs(coefficients[0, 1]) > 0.01  # none at the start


@pytest.mark.thorough
@pytest.mark.slow
@pytest.mark.parametrize("density_ratio", [None, 1e-4], ids=["heavy", "light"])
def test_heavy_drops_leave_vortices_and_light_ones_gather_there(density_ratio):
    """Mean square vorticity at particles of Stokes number one, over that of the flow; heavy ones cluster in boxes."""
    stepper, grid = sw.steppers.IFRK4(), sw.Grid((32, 32), mesh=sw.device_mesh([0]))
    given = {"count": 1600, "order": 4, "start": "lattice", "response_time": 0.5}
    drops = {"drops": sw.particles.Inertial(density_ratio=density_ratio, **given)}
    flow = sw.equations.Vorticity(grid, viscosity=1e-3, particles=drops)
    start = 2 * sw.initial.RandomPhase(peak=3.0, energy=0.25)(grid, sw.Field("scalar"), key=sw.operators.random_key(1))
    state = sw.initial_state(flow, stepper, start)
    *_, state = sw.evolve(flow, stepper, state, step=0.1, end=2.0)
    enstrophy = np.mean(np.asarray(flow.to_physical(state.field)["vorticity"]) ** 2)
    found = sw.outputs.ParticlePDFs(quantities=("vorticity",)).values(flow, state.field)
    ratio = float(found["drops_vorticity_std"] ** 2 + found["drops_vorticity_mean"] ** 2) / enstrophy
    counts = sw.outputs.ParticleCounts(boxes=(8,)).values(flow, state.field)
    assert float(counts["drops_variance"][0] / counts["drops_poisson"][0]) > 2
    assert ratio < 0.8 if density_ratio is None else ratio > 1.25
