"""Quasi-geostrophic flow, on a surface and in layers: invariants, steady states, growth rates, budgets, costs."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import advanced

import solver as sw
from solver import initial
from solver.dynamics.budget import Changes, imbalance
from solver.equations import MultiLayerQuasiGeostrophic, SurfaceQuasiGeostrophic, TwoLayerQuasiGeostrophic
from solver.forcing import ConstantPower
from solver.steppers import ETDRK4, IFRK4

pytestmark = pytest.mark.slow


def eddies(grid, seed=0, energy=2.0):
    return initial.RandomPhase(energy=energy, peak=3.0)(grid, key=jax.random.key(seed))


def drift(equation, start, end, steps, quantities):
    """Of each quantity, relative, for each size of step."""
    drifts = []
    for step in steps:
        state = advanced(equation, IFRK4(), start, end, step)
        before = jax.jit(quantities)(sw.initial_state(equation, IFRK4(), start).field)
        after = jax.jit(quantities)(state.field)
        drifts.append([abs(float(after[name] / before[name]) - 1) for name in before])
    return np.array(drifts)


# ---- on a surface -------------------------------------------------------------------------------------------------


@pytest.mark.thorough
@pytest.mark.parametrize("power", [0.5, 1.0, 2.7])
def test_modes_of_one_wavenumber_do_not_advect_each_other(make_grid, power):
    """θ and ψ are proportional there: the field only decays, as exp(−κ |k|^(2α) t). |(3, 4)| = |(5, 0)| = 5."""
    grid = make_grid((20, 24), devices=3)
    equation = SurfaceQuasiGeostrophic(grid, diffusivity=0.4 / 5 ** (2 * power), exponent=power)
    theta = sw.sample(lambda x, y: jnp.sin(3 * x + 4 * y) + 2 * jnp.cos(5 * x) - jnp.cos(4 * x - 3 * y), grid)[None]
    state = advanced(equation, ETDRK4(), theta, 1.0, 0.1)
    np.testing.assert_allclose(equation.to_physical(state.field)["buoyancy"], np.exp(-0.4) * theta, atol=1e-13)


@pytest.mark.thorough
def test_surface_flow_conserves_variance_and_energy(make_grid):
    grid = make_grid((32, 24), devices=2)
    equation = SurfaceQuasiGeostrophic(grid)
    drifts = drift(equation, eddies(grid, energy=0.5), 0.6, (0.1, 0.05), equation.report.energies)
    assert np.all(drifts[1] < 1e-5), drifts
    assert np.all(drifts[0] / drifts[1] > 12), drifts


@pytest.mark.thorough
def test_advection_on_the_surface_against_dense_transforms(make_grid):
    """u·∇θ of Constantin, Majda and Tabak's hyperbolic saddle, with NumPy."""
    grid = make_grid((24, 32), devices=4)
    equation = SurfaceQuasiGeostrophic(grid)
    x, y = np.meshgrid(*(2 * np.pi * np.arange(n) / n for n in (24, 32)), indexing="ij")
    theta = np.sin(x) * np.sin(y) + np.cos(y)
    # ψ = sin x sin y/√2 + cos y, u = −ψ_y, v = ψ_x
    u, v = -np.sin(x) * np.cos(y) / np.sqrt(2) + np.sin(y), np.cos(x) * np.sin(y) / np.sqrt(2)
    theta_x, theta_y = np.cos(x) * np.sin(y), np.sin(x) * np.cos(y) - np.sin(y)
    fields = equation.from_physical({"buoyancy": jnp.asarray(theta)[None]})
    computed = equation.to_physical(equation.nonlinear(fields, 0))
    np.testing.assert_allclose(computed["buoyancy"][0], -(u * theta_x + v * theta_y), atol=1e-14)
    row = equation.series(fields, 0.1)
    assert float(row["max_slope"]) == pytest.approx(np.sqrt(np.max(theta_x**2 + theta_y**2)))
    assert float(row["energy"]) == pytest.approx(0.25 * (0.5 / np.sqrt(2) + 1))


@pytest.mark.thorough
def test_the_hyperbolic_saddle_against_an_independent_solver(make_grid):
    """Constantin, Majda and Tabak's start, with diffusion: NumPy in advective form, the same modes, to t = 1."""
    n, diffusivity, end, steps = 32, 0.01, 1.0, 200
    grid = make_grid((n, n), devices=2)
    start = sw.sample(lambda x, y: jnp.sin(x) * jnp.sin(y) + jnp.cos(y), grid)[None]
    equation = SurfaceQuasiGeostrophic(grid, diffusivity)
    computed = equation.to_physical(advanced(equation, IFRK4(), start, end, 0.02).field)["buoyancy"][0]
    k = np.fft.fftfreq(n, 1 / n)
    kx, ky = np.meshgrid(k, k, indexing="ij")
    size = np.hypot(kx, ky)
    kept = (np.abs(kx) < n / 3) & (np.abs(ky) < n / 3)
    at_points = lambda f: np.fft.ifft2(f).real  # noqa: E731

    def rhs(theta):
        psi = theta / np.where(size == 0, np.inf, size)
        u, v = at_points(-1j * ky * psi), at_points(1j * kx * psi)
        carried = np.fft.fft2(u * at_points(1j * kx * theta) + v * at_points(1j * ky * theta)) * kept
        return -carried - diffusivity * size**2 * theta

    theta, dt = np.fft.fft2(np.asarray(start[0])), end / steps
    for _ in range(steps):
        a = rhs(theta)
        b = rhs(theta + dt / 2 * a)
        c = rhs(theta + dt / 2 * b)
        theta = theta + dt / 6 * (a + 2 * b + 2 * c + rhs(theta + dt * c))
    np.testing.assert_allclose(computed, at_points(theta), atol=1e-8)
    assert np.abs(computed - start[0]).max() > 0.25


@pytest.mark.thorough
def test_budget_on_the_surface(make_grid):
    grid = make_grid((24, 20), devices=2)
    equation = SurfaceQuasiGeostrophic(grid, 1e-3, 2.0, forcing=ConstantPower(0.3, 2.0, 4.0))
    state = advanced(equation, IFRK4(), eddies(grid, energy=0.5), 0.5, 0.01)
    check_budget(equation, state, ["diffusion"], 1e-8)
    slope = jax.grad(lambda power: jnp.sum(SurfaceQuasiGeostrophic(grid, 0.1, power).linear().entries["buoyancy"]))(1.0)
    assert np.isfinite(slope)
    assert slope < 0


def check_budget(equation, state, causes, tolerance):
    integrals = {name: float(value) for name, value in state.budget.items()}
    for name, now in jax.jit(equation.report.energies)(state.field).items():
        assert abs(imbalance(name, float(state.energies[name]), float(now), integrals)) < tolerance
        assert all(abs(integrals[f"{name}_from_{cause}"]) > 1e-5 for cause in [*causes, "forcing"]), integrals


# ---- in two layers ------------------------------------------------------------------------------------------------


def phase_speeds(wavenumber, kd, u, beta):
    """Both solutions c of Vallis (2017), section 9.6, for shear: complex where the flow is unstable."""
    k2 = wavenumber**2
    root = np.sqrt(kd**4 * beta**2 + 4 * k2**2 * u**2 * (k2**2 - kd**4) / 1 + 0j) / (2 * k2)
    middle = -beta * (k2 + 0.5 * kd**2) / k2
    return [(middle + sign * root) / (k2 + kd**2) for sign in (1, -1)]


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("stepper", "beta", "grows"), [(IFRK4(), 0.0, True), (ETDRK4(), 4.0, True), (IFRK4(), 14.0, False)]
)
def test_baroclinic_waves_grow_and_travel_as_theory_says(make_grid, stepper, beta, grows):
    """A plane wave in both layers, whose stream functions depend on k·x alone, does so at any height."""
    kd, u, t = 3.0, 1.0, 1.0
    grid = make_grid((16, 12), devices=2, lengths=[2 * np.pi, 5.0])
    equation = TwoLayerQuasiGeostrophic(grid, kd, shear=u, beta=beta)
    c = phase_speeds(2.0, kd, u, beta)[0]
    assert (c.imag > 0.1) == grows
    ratio = ((u - c) * (4 + 0.5 * kd**2) - beta - kd**2 * u) / ((u - c) * 0.5 * kd**2)  # ψ_2/ψ_1, from layer 1
    q = np.array([-4 + 0.5 * kd**2 * (ratio - 1), -4 * ratio + 0.5 * kd**2 * (1 - ratio)])

    def waves(time):
        turn = np.exp(-2j * c * time)
        return {
            name: sw.sample(lambda x, y, a=a: jnp.real(a * turn * jnp.exp(2j * x)) + 0 * y, grid)[None]
            for name, a in zip(equation.fields, q, strict=True)
        }

    computed = equation.to_physical(advanced(equation, stepper, waves(0.0), t, 0.1).field)
    for name, expected in waves(t).items():
        np.testing.assert_allclose(computed[name], expected, atol=1e-12 * float(jnp.max(jnp.abs(expected))))
    if grows and beta == 0:
        assert 2 * c.imag == pytest.approx(2 * u * np.sqrt((kd**2 - 4) / (kd**2 + 4)))


def layers(grid):
    return {"upper_pv": eddies(grid), "lower_pv": eddies(grid, 1)}


@pytest.mark.thorough
def test_two_layers_conserve_energy_and_both_enstrophies(make_grid):
    grid = make_grid((32, 24), devices=2)
    equation = TwoLayerQuasiGeostrophic(grid, 2.0)
    names = ("energy", "upper_enstrophy", "lower_enstrophy")
    quantities = lambda fields: {name: equation.series(fields, 0.1)[name] for name in names}  # noqa: E731
    drifts = drift(equation, layers(grid), 0.6, (0.08, 0.04), quantities)
    assert np.all(drifts[1] < 2e-7), drifts
    assert np.all(drifts[0] / drifts[1] > 12), drifts


@pytest.mark.thorough
def test_jacobians_of_two_layers_against_their_definition(make_grid):
    grid = make_grid((24, 20), devices=4, lengths=[6.0, 5.0])
    equation = TwoLayerQuasiGeostrophic(grid, 2.5)
    q_hat = equation.from_physical(layers(grid))
    transform, slope = sw.fft.Transform(grid), sw.operators.gradient
    kd2, k2 = 2.5**2, grid.k_squared()
    inverse = -grid.inverse_k_squared() / (k2 + kd2)
    own, other = (k2 + kd2 / 2) * inverse, kd2 / 2 * inverse
    psi = [own * q_hat[a][0] + other * q_hat[b][0] for a, b in (("upper_pv", "lower_pv"), ("lower_pv", "upper_pv"))]
    np.testing.assert_allclose(-k2 * psi[0] + 0.5 * kd2 * (psi[1] - psi[0]), q_hat["upper_pv"][0], atol=1e-14)
    computed = jax.jit(equation.nonlinear)(q_hat, 0.0)
    for i, name in enumerate(equation.fields):
        (psi_x, psi_y), (q_x, q_y) = (jax.jit(transform.inverse)(slope(f, grid)) for f in (psi[i], q_hat[name][0]))
        expected = transform.forward(psi_y * q_x - psi_x * q_y)
        np.testing.assert_allclose(computed[name][0], expected, atol=1e-13 * float(jnp.max(jnp.abs(expected))))


@pytest.mark.thorough
def test_budget_of_two_layers_under_shear(make_grid):
    grid = make_grid((24, 20), devices=2)
    forcing = {"upper_pv": ConstantPower(0.5, 2.0, 4.0), "lower_pv": ConstantPower(0.2, 2.0, 4.0)}
    equation = TwoLayerQuasiGeostrophic(grid, 3.0, 0.4, 1.0, 0.2, 1e-4, 2, forcing=forcing)
    state = advanced(equation, IFRK4(), layers(grid), 0.5, 0.01)
    check_budget(equation, state, ["shear", "drag", "hyperviscosity"], 1e-8)
    still = TwoLayerQuasiGeostrophic(grid, 3.0, 0.0, 1.0, 0.2, 1e-4, 2)
    nothing = {name: 0 * q for name, q in state.field.items()}
    changes = Changes(still.linear().apply(state.field), nothing, {})
    rates = still.report.budget(state.field, changes)["energy"]
    assert abs(float(rates["shear"])) < 1e-13 * abs(float(rates["drag"])), "waves change no energy"
    assert float(rates["drag"]) < 0
    assert float(rates["hyperviscosity"]) < 0


# ---- in many layers -----------------------------------------------------------------------------------------------


def many_layers(grid, **options):
    """Three layers of other thicknesses under a free surface."""
    given = {"coriolis": 1.3, "surface_gravity": 3.0, **options}
    return MultiLayerQuasiGeostrophic(grid, ("a", "b", "c"), (0.2, 0.5, 0.9), (0.4, 0.2), **given)


@pytest.mark.thorough
def test_two_of_many_layers_are_the_two_layers(make_grid):
    grid = make_grid((16, 12), devices=2, lengths=[2 * np.pi, 5.0])
    two = TwoLayerQuasiGeostrophic(grid, 3.0, 0.5, 0.3, 0.1)
    many = MultiLayerQuasiGeostrophic(grid, ("a", "b"), (0.7, 0.7), (4 / (9 * 1.4),), 1.0, None, (0.5, -0.5), 0.3, 0.1)
    fields = two.from_physical(layers(grid))
    renamed = dict(zip("ab", fields.values(), strict=True))
    for of_two, of_many in (
        (two.nonlinear(fields, 0.0), many.nonlinear(renamed, 0.0)),
        (two.linear().apply(fields), many.linear().apply(renamed)),
    ):
        for expected, found in zip(of_two.values(), of_many.values(), strict=True):
            np.testing.assert_allclose(found, expected, atol=1e-14)
            assert float(jnp.max(jnp.abs(expected))) > 0.1
    row, other = two.series(fields, 0.1), many.series(renamed, 0.1)
    kinetic = other["a_kinetic_energy"] + other["b_kinetic_energy"]
    np.testing.assert_allclose(
        [other["energy"], other["available_energy"], kinetic, other["cfl"]],
        [row["energy"], row["available_energy"], row["kinetic_energy"], row["cfl"]],
        rtol=1e-13,
    )


def test_three_layers_grow_as_an_eigenvalue_problem_of_numpy_says(make_grid):
    """−iω (S − k²)ψ = −ik_x (U (S − k²) + Q_y)ψ, β + U_n F_n … = Q_y; with drag, for each mode."""
    grid = make_grid((12, 10), devices=2, lengths=[2 * np.pi, 5.0])
    flows, beta, drag = np.array([1.0, 0.3, -0.2]), 0.4, 0.2
    equation = many_layers(grid, mean_flows=tuple(flows), beta=beta, drag=drag)
    h, g1, g2, f2 = np.array([0.2, 0.5, 0.9]), 0.4, 0.2, 1.3**2
    stretch = f2 * np.array(
        [[-1 / (3.0 * h[0]) - 1 / (g1 * h[0]), 1 / (g1 * h[0]), 0.0],
         [1 / (g1 * h[1]), -1 / (g1 * h[1]) - 1 / (g2 * h[1]), 1 / (g2 * h[1])],
         [0.0, 1 / (g2 * h[2]), -1 / (g2 * h[2])]]
    )  # fmt: skip
    found = np.asarray(equation.linear().entries)
    kx, ky = np.broadcast_arrays(*map(np.asarray, grid.wavenumbers()))
    fastest = []
    for where in [(1, 2), (0, 3), (2, 0)]:
        k, k2 = kx[where], kx[where] ** 2 + ky[where] ** 2
        to_q = stretch - k2 * np.eye(3)
        slowed = np.diag([0.0, 0.0, drag * k2])
        right = -1j * k * (np.diag(flows) @ to_q + np.diag(beta - stretch @ flows)) + slowed
        expected = np.sort_complex(np.linalg.eigvals(np.linalg.solve(to_q, right)))
        computed = np.sort_complex(np.linalg.eigvals(found[:, :, *where]))
        np.testing.assert_allclose(computed, expected, atol=1e-12)
        fastest.append(computed[-1].real)
    assert max(fastest) > 0.05, "one of them grows"


@pytest.mark.thorough
@pytest.mark.parametrize("topography", [None, "1.5*cos(x)*sin(2*y)"])
def test_many_layers_conserve_energy_and_enstrophies(make_grid, topography):
    grid = make_grid((32, 24), devices=2)
    equation = many_layers(grid, topography=topography)
    start = {name: eddies(grid, seed) for seed, name in enumerate("abc")}
    last = "total_enstrophy" if topography else "c_enstrophy"
    names = ("energy", "a_enstrophy", "b_enstrophy", last)
    quantities = lambda fields: {name: equation.series(fields, 0.1)[name] for name in names}  # noqa: E731
    drifts = drift(equation, start, 0.6, (0.08, 0.04), quantities)
    assert np.all(drifts[1] < 1e-6), drifts
    assert np.all(drifts[0] / drifts[1] > 12), drifts
    row = equation.series(equation.from_physical(start), 0.1)
    parts = [row[f"{q}_kinetic_energy"] for q in "abc"] + [row["available_energy"]]
    assert float(sum(parts)) == pytest.approx(float(row["energy"]), rel=1e-12)


@pytest.mark.thorough
def test_a_stratification_has_a_gradient(make_grid):
    """Through the vertical modes, against a difference of two energies; and values at the points as topography."""
    grid = make_grid((8, 8), devices=1)
    hill = sw.sample(lambda x, y: jnp.cos(x) * jnp.sin(y), grid)
    start = {name: eddies(grid, seed) for seed, name in enumerate("abc")}

    @jax.jit
    def rate(gravity):
        layered = MultiLayerQuasiGeostrophic(grid, "abc", (0.2, 0.5, 0.9), (0.4, gravity), topography=hill)
        fields = layered.from_physical(start)
        return layered.report.energies(fields)["energy"] + jnp.sum(jnp.abs(layered.nonlinear(fields, 0.0)["c"]) ** 2)

    slope = (rate(0.2 + 1e-5) - rate(0.2 - 1e-5)) / 2e-5
    assert float(jax.grad(rate)(0.2)) == pytest.approx(float(slope), rel=1e-7)
    assert abs(float(slope)) > 1e-3


# ---- all ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda g: SurfaceQuasiGeostrophic(g, exponent=0.0), "exponent 0.0: a positive number is needed"),
        (lambda g: SurfaceQuasiGeostrophic(g, diffusivity=-1.0), "diffusivity -1.0: zero or more is needed"),
        (lambda g: TwoLayerQuasiGeostrophic(g, 0.0), "deformation_wavenumber 0.0: a positive number is needed"),
        (lambda g: TwoLayerQuasiGeostrophic(g, 1.0, hyper_order=0), "hyper_order 0: one or more is needed"),
        (lambda g: MultiLayerQuasiGeostrophic(g, "a", (1.0,), ()), "names of two to 8 layers"),
        (lambda g: MultiLayerQuasiGeostrophic(g, "aa", (1.0, 1.0), (1.0,)), "names are needed that differ"),
        (lambda g: MultiLayerQuasiGeostrophic(g, "ab", (1.0, 1.0), (1.0, 2.0)), "gravities .* 1 are needed for 2"),
        (lambda g: MultiLayerQuasiGeostrophic(g, "ab", (1.0, 0.0), (1.0,)), "thicknesses .* positive numbers"),
        (lambda g: many_layers(g, mean_flows=(1.0,)), "mean_flows .* 3 are needed"),
        (lambda g: many_layers(g, coriolis=0.0), "coriolis 0.0: a number other than zero"),
        (lambda g: many_layers(g, topography="cos(q)"), "topography 'cos.q.' holds q: an expression of x, y and pi"),
        (lambda g: many_layers(g, topography="lap(x)"), "holds lap: an expression"),
        (lambda g: many_layers(g, topography="cos(x"), "no expression: .* was never closed"),
        (lambda g: many_layers(g, topography=np.zeros(3)), r"topography of shape \[3\]: values at the points"),
    ],
    ids=[
        "power",
        "diffusivity",
        "kd",
        "order",
        "one layer",
        "names",
        "gravities",
        "thickness",
        "flows",
        "f",
        "q",
        "lap",
        "bracket",
        "points",
    ],
)
def test_wrong_parameters_are_refused(make_grid, make, message):
    with pytest.raises(ValueError, match=message):
        make(make_grid((8, 8), devices=1))
