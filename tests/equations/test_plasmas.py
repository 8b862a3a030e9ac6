"""Hall and reduced MHD, Hasegawa–Wakatani: exact waves, independent right-hand sides, limits, budgets."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import advanced
from scipy.linalg import expm

import solver as sw
from solver.dynamics.budget import Changes
from solver.equations import MHD, HallMHD, HasegawaWakatani, ReducedMHD
from solver.steppers import ETDRK4, IFRK4

pytestmark = pytest.mark.slow

MEAN_FIELD = (1.3, -0.4, 2.0)
SMALL = 1e-6


def random_fields(equation, seed=0):
    """Noise in every field, as the equation's coefficients."""
    noise = np.random.default_rng(seed)
    values = {name: jnp.asarray(noise.normal(size=s)) for name, s in equation.physical_shapes().items()}
    return jax.jit(equation.from_physical)(values)


class Spectral:
    """Derivatives and products in NumPy on all modes; the two-thirds rule."""

    def __init__(self, grid):
        self.axes = tuple(range(-grid.dimensions, 0))
        numbers = np.meshgrid(*(np.fft.fftfreq(n, 1 / n) for n in grid.shape), indexing="ij")
        self.kept = np.all([abs(m) < n / 3 for m, n in zip(numbers, grid.shape, strict=True)], axis=0)
        self.k = np.stack([2 * np.pi / length * m for m, length in zip(numbers, grid.lengths, strict=True)])
        self.k2 = (self.k**2).sum(0)
        self.inverse = 1 / np.where(self.k2 == 0, np.inf, self.k2)

    def hat(self, f):
        return np.fft.fftn(f, axes=self.axes) * self.kept

    def at_points(self, f_hat):
        return np.fft.ifftn(f_hat, axes=self.axes).real

    def curl(self, v_hat):
        return 1j * np.cross(self.k, v_hat, axis=0)

    def cross(self, a_hat, b_hat):
        return self.hat(np.cross(self.at_points(a_hat), self.at_points(b_hat), axis=0))

    def solenoidal(self, v_hat):
        return v_hat - self.k * self.inverse * (self.k * v_hat).sum(0)

    def bracket(self, f_hat, g_hat):
        """{f, g} = f_x g_y − f_y g_x."""
        slopes = lambda h: [self.at_points(1j * k * h) for k in self.k[:2]]  # noqa: E731
        (fx, fy), (gx, gy) = slopes(f_hat), slopes(g_hat)
        return self.hat(fx * gy - fy * gx)


def whole_change(equation, fields):
    """L u + N(u) at the points."""
    linear, nonlinear = jax.jit(lambda f: (equation.linear().apply(f), equation.nonlinear(f, 0.0)))(fields)
    return equation.to_physical({name: linear[name] + nonlinear[name] for name in fields})


# ---- Hall magnetohydrodynamics --------------------------------------------------------------------------------------


def helical(grid, n, sign):
    """A circularly polarised vector wave as a function of the phase: its curl is sign · |k| times itself."""
    k = np.array([2 * np.pi * m / length for m, length in zip(n, grid.lengths, strict=True)])
    size = np.linalg.norm(k)
    first = np.cross(k, [0.3, 1.0, -0.2])
    first = first / np.linalg.norm(first)
    second = np.cross(k, first) / size

    def at(phase):
        def values(*x):
            theta = sum(k[i] * x[i] for i in range(3)) + phase
            return tuple(a * jnp.cos(theta) - sign * b * jnp.sin(theta) for a, b in zip(first, second, strict=True))

        return sw.sample(values, grid)

    return k, size, at


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("stepper", "sign", "branch", "n"),
    [
        pytest.param(IFRK4(), 1, 1, (1, -1, 2), id="right-handed, along the field, oblique k"),
        pytest.param(ETDRK4(), -1, -1, (0, 0, 1), id="left-handed, against the field, k along z"),
    ],
)
def test_circularly_polarised_waves_turn_at_their_frequency(make_grid, stepper, sign, branch, n):
    """ω = k·B₀ (±√(1 + (d_i k/2)²) + s d_i k/2) for curl = s k.

    Products of such a wave with itself are gradients. It is small, as its steps are too long for other waves on it.
    """
    grid, d = make_grid((12, 8, 10), devices=2, lengths=[2.0, 3.0, 1.5]), 0.4
    flow = HallMHD(grid, 0.0, 0.0, d, mean_field=MEAN_FIELD)
    k, size, at = helical(grid, n, sign)
    along = k @ np.array(MEAN_FIELD)
    omega = along * (branch * np.sqrt(1 + (d * size / 2) ** 2) + sign * d * size / 2)
    ratio = -along / omega
    expected = lambda t: {"velocity": SMALL * ratio * at(-omega * t), "magnetic_field": SMALL * at(-omega * t)}  # noqa: E731
    end = float(7 / abs(omega))
    state = advanced(flow, stepper, expected(0.0), end, step=end / 5)
    for name, values in flow.to_physical(state.field).items():
        np.testing.assert_allclose(values / SMALL, expected(end)[name] / SMALL, atol=2e-12 * max(1, abs(ratio)))


@pytest.mark.thorough
@pytest.mark.parametrize("mean_field", [None, MEAN_FIELD])
def test_hall_mhd_against_an_independent_right_hand_side(make_grid, mean_field):
    """Lamb form and J × b in NumPy."""
    grid, d = make_grid((12, 14, 10), devices=2, lengths=[2.0, 3.0, 1.5]), 0.4
    flow = HallMHD(grid, 0.03, 0.02, d, mean_field=mean_field, hyperviscosity=1e-4, hyperresistivity=2e-4)
    fields = random_fields(flow)
    s = Spectral(grid)
    u, b = (s.hat(np.asarray(flow.to_physical(fields)[name])) for name in ("velocity", "magnetic_field"))
    total = b.copy()
    total[:, 0, 0, 0] += np.prod(grid.shape) * np.array(mean_field or (0, 0, 0))
    current = s.curl(b)
    expected = {
        "velocity": s.solenoidal(s.cross(u, s.curl(u)) + s.cross(current, total)) - (0.03 + 1e-4 * s.k2) * s.k2 * u,
        "magnetic_field": s.curl(s.cross(u - d * current, total)) - (0.02 + 2e-4 * s.k2) * s.k2 * b,
    }
    for name, values in whole_change(flow, fields).items():
        wanted = s.at_points(expected[name])
        np.testing.assert_allclose(values, wanted, atol=1e-13 * np.abs(wanted).max())


@pytest.mark.thorough
def test_hall_mhd_without_an_inertial_length_is_mhd(make_grid):
    grid = make_grid((12, 14, 10), devices=2, lengths=[2.0, 3.0, 1.5])
    given = {"mean_field": MEAN_FIELD, "hyperviscosity": 1e-4, "hyperresistivity": 2e-4}
    hall, plain = HallMHD(grid, 0.03, 0.02, 0.0, **given), MHD(grid, 0.03, 0.02, **given)
    fields = random_fields(plain)
    changes, expected = whole_change(hall, fields), whole_change(plain, fields)
    for name in fields:
        np.testing.assert_allclose(changes[name], expected[name], atol=1e-13 * np.abs(expected[name]).max())
    np.testing.assert_allclose(hall.rate(fields), plain.rate(fields), rtol=1e-13)
    row, other = hall.series(fields, 0.1), plain.series(fields, 0.1)
    for name in ("kinetic_energy", "magnetic_energy", "cross_helicity", "total_dissipation", "cfl"):
        np.testing.assert_allclose(row[name], other[name], rtol=1e-12)
    np.testing.assert_allclose(
        row["magnetic_helicity"], sw.equations.magnetic_helicity(fields["magnetic_field"], grid), rtol=1e-12
    )
    np.testing.assert_allclose(row["ion_helicity"], row["magnetic_helicity"], rtol=1e-12)


@pytest.mark.thorough
@pytest.mark.parametrize(("cfl", "grows"), [(1.25, False), (1.6, True)])
def test_the_cfl_number_bounds_the_fastest_whistler(make_grid, cfl, grows):
    """A uniform b in N, not in L: at the corner of the modes a whistler turns by up to 5π/8 · CFL a step.

    The classical Runge–Kutta method holds turns of up to 2√2, so CFL 1.44.
    """
    grid = make_grid((16, 16, 16), devices=2)
    flow = HallMHD(grid, 0.0, 0.0, 1.5)
    k, size, at = helical(grid, (5, 5, 5), 1)
    uniform = jnp.array([1.0, 0.0, 0.0]).reshape(3, 1, 1, 1)
    ratio = -k[0] / (k[0] * (np.sqrt(1 + (0.75 * size) ** 2) + 0.75 * size))
    start = {"velocity": 1e-6 * ratio * at(0), "magnetic_field": 1e-6 * at(0) + uniform}
    state = advanced(flow, IFRK4(), start, 8.0, cfl=cfl)
    assert int(state.step) > 150
    size = float(jnp.abs(flow.to_physical(state.field)["magnetic_field"] - uniform).max())
    assert (size > 1e-3) if grows else (size < 1.1e-6)


@pytest.mark.thorough
def test_helicities_are_those_of_the_invariants(make_grid):
    """For fields without means, as the vector potential needs them."""
    flow = HallMHD(make_grid((12, 14, 10), devices=2), 0.1, 0.1, 0.4)
    fields = {name: jnp.where(flow.grid.k_squared() == 0, 0, u_hat) for name, u_hat in random_fields(flow).items()}
    row = flow.series(fields, 0.1)
    for name, conjugate in flow.report.invariants(fields).items():
        half = sum(0.5 * sw.diagnostics.mean_product(fields[field], g, flow.grid) for field, g in conjugate.items())
        np.testing.assert_allclose(half, row[name], rtol=1e-11)


# ---- Hasegawa–Wakatani ----------------------------------------------------------------------------------------------

PLASMA = {"adiabaticity": 0.7, "density_gradient": 1.3, "viscosity": 0.02, "diffusivity": 0.03}
HYPER = {"hyperviscosity": 1e-3, "hyperdiffusivity": 2e-3}


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("stepper", "n", "modified"),
    [
        pytest.param(IFRK4(), (1, 2), False, id="oblique, original"),
        pytest.param(ETDRK4(), (2, 0), True, id="zonal, modified"),
    ],
)
def test_drift_waves_grow_and_travel_as_theory_says(make_grid, stepper, n, modified):
    """One mode of any amplitude: its brackets vanish, and (ζ̂, n̂) follows the exponential of its 2 × 2 matrix."""
    grid = make_grid((12, 14), devices=2, lengths=[7.0, 9.0])
    equation = HasegawaWakatani(grid, modified=modified, **PLASMA, **HYPER)
    k = np.array([2 * np.pi * m / length for m, length in zip(n, grid.lengths, strict=True)])
    k2, kappa = k @ k, PLASMA["density_gradient"]
    alpha = 0 if modified and n[1] == 0 else PLASMA["adiabaticity"]
    matrix = np.array([
        [-alpha / k2 - 0.02 * k2 - 1e-3 * k2**2, -alpha],
        [(1j * kappa * k[1] - alpha) / k2, -alpha - 0.03 * k2 - 2e-3 * k2**2],
    ])  # fmt: skip
    if n == (1, 2):
        assert np.linalg.eigvals(matrix).real.max() > 0.05  # it grows
    first = np.array([0.8, 0.5 - 0.3j])

    def at(t):
        zeta, density = expm(matrix * t) @ first
        wave = np.exp(1j * sum(ki * xi for ki, xi in zip(k, grid.meshgrid(), strict=True)))
        return {"vorticity": (zeta * wave).real[None], "density": (density * wave).real[None]}

    state = advanced(equation, stepper, {name: jnp.asarray(v) for name, v in at(0.0).items()}, 6.0, step=1.5)
    for name, values in equation.to_physical(state.field).items():
        np.testing.assert_allclose(values, at(6.0)[name], atol=1e-12)
    assert max(np.abs(v).max() for v in at(6.0).values()) > 0.05


@pytest.mark.thorough
@pytest.mark.parametrize("modified", [False, True], ids=["original", "modified"])
def test_hasegawa_wakatani_against_an_independent_right_hand_side(make_grid, modified):
    grid = make_grid((18, 14), devices=2, lengths=[7.0, 9.0])
    equation = HasegawaWakatani(grid, modified=modified, **PLASMA, **HYPER)
    fields = random_fields(equation)
    s = Spectral(grid)
    zeta, n = (s.hat(np.asarray(equation.to_physical(fields)[name])[0]) for name in ("vorticity", "density"))
    phi = -s.inverse * zeta
    coupling = 0.7 * (phi - n)
    if modified:
        coupling = coupling * (s.k[1] != 0)
    expected = {
        "vorticity": -s.bracket(phi, zeta) + coupling - (0.02 + 1e-3 * s.k2) * s.k2 * zeta,
        "density": -s.bracket(phi, n) - 1.3j * s.k[1] * phi + coupling - (0.03 + 2e-3 * s.k2) * s.k2 * n,
    }
    for name, values in whole_change(equation, fields).items():
        wanted = s.at_points(expected[name])
        np.testing.assert_allclose(values[0], wanted, atol=1e-13 * np.abs(wanted).max())


@pytest.mark.thorough
@pytest.mark.parametrize("modified", [False, True], ids=["original", "modified"])
def test_flux_and_resistive_dissipation_are_what_changes_the_energies(make_grid, modified):
    """Columns against means over the points, and both against the budget: dE/dt = Γ − α⟨(φ − n)²⟩, dU/dt = Γ."""
    grid = make_grid((18, 14), devices=2, lengths=[7.0, 9.0])
    equation = HasegawaWakatani(grid, modified=modified, **PLASMA, **HYPER)
    fields = random_fields(equation)
    row = {name: float(value) for name, value in equation.series(fields, 0.1).items()}
    values = {name: np.asarray(v)[0] for name, v in equation.to_physical(fields).items()}
    s = Spectral(grid)
    zeta, n = values["vorticity"], values["density"]
    phi_hat = -s.inverse * s.hat(zeta)
    phi, slopes = s.at_points(phi_hat), [s.at_points(1j * k * phi_hat) for k in s.k]
    difference = phi - n
    if modified:
        difference = difference - difference.mean(axis=1, keepdims=True)
    expected = {
        "energy": (slopes[0] ** 2 + slopes[1] ** 2 + n**2).mean() / 2,
        "potential_enstrophy": ((n - zeta) ** 2).mean() / 2,
        "kinetic_energy": (slopes[0] ** 2 + slopes[1] ** 2).mean() / 2,
        "zonal_energy": (slopes[0].mean(axis=1) ** 2).mean() / 2,
        "particle_flux": -1.3 * (n * slopes[1]).mean(),
        "resistive_dissipation": 0.7 * (difference**2).mean(),
    }
    for name, value in expected.items():
        np.testing.assert_allclose(row[name], value, rtol=1e-12, err_msg=name)
    changes = Changes(equation.linear().apply(fields), equation.nonlinear(fields, 0.0), {})
    budget = equation.report.budget(fields, changes)
    causes = {"coupling", "gradient", "viscosity", "diffusivity"}
    assert (set(budget["energy"]), set(budget["potential_enstrophy"])) == (causes, causes - {"coupling"})
    for energy in budget:
        np.testing.assert_allclose(budget[energy]["gradient"], row["particle_flux"], rtol=1e-11)
    np.testing.assert_allclose(budget["energy"]["coupling"], -row["resistive_dissipation"], rtol=1e-11)
    both = {name: changes.linear[name] + changes.nonlinear[name] for name in fields}
    _, derivatives = jax.jvp(equation.report.energies, (fields,), (both,))
    for energy, derivative in derivatives.items():
        size = max(abs(float(rate)) for rate in budget[energy].values())
        np.testing.assert_allclose(sum(budget[energy].values()), derivative, atol=1e-12 * size)


# ---- reduced magnetohydrodynamics ------------------------------------------------------------------------------------


@pytest.mark.thorough
def test_reduced_equations_against_brackets_in_numpy(make_grid):
    """ω_t = −{φ, ω} + {ψ, j} + B₀ j_z + ν∇⊥²ω, ψ_t = −{φ, ψ} + B₀ φ_z + η∇⊥²ψ, and hyperviscosity, on slabs."""
    grid = make_grid((14, 12, 10), devices=2, lengths=[7.0, 9.0, 5.0])
    numbers = {"mean_field": 1.3, "viscosity": 0.02, "resistivity": 0.03, "hyperviscosity": 1e-3}
    equation = ReducedMHD(grid, **numbers)
    fields = random_fields(equation)
    values = {name: np.asarray(v)[0] for name, v in equation.to_physical(fields).items()}
    s = Spectral(grid)
    w, psi = s.hat(values["vorticity"]), s.hat(values["flux"])
    across = s.k[0] ** 2 + s.k[1] ** 2
    phi, current = -w / np.where(across == 0, np.inf, across), -across * psi
    damping = lambda number: number * across + 1e-3 * s.k2**2  # noqa: E731
    expected = {
        "vorticity": s.bracket(psi, current) - s.bracket(phi, w) + 1.3j * s.k[2] * current - damping(0.02) * w,
        "flux": -s.bracket(phi, psi) + 1.3j * s.k[2] * phi - damping(0.03) * psi,
    }
    for name, computed in whole_change(equation, fields).items():
        wanted = s.at_points(expected[name])
        np.testing.assert_allclose(computed[0], wanted, atol=1e-13 * np.abs(wanted).max())
    row = equation.series(fields, 0.1)
    half = lambda f: 0.5 * (s.at_points(1j * s.k[0] * f) ** 2 + s.at_points(1j * s.k[1] * f) ** 2).mean()  # noqa: E731
    np.testing.assert_allclose(row["energy"], half(phi) + half(psi), rtol=1e-12)
    rate = lambda f: [np.abs(s.at_points(1j * s.k[axis] * f)) for axis in (1, 0)]  # noqa: E731
    speeds = sum((u + b) / dx for u, b, dx in zip(rate(phi), rate(psi), grid.spacing[:2], strict=True))
    np.testing.assert_allclose(row["cfl"], 0.1 * (speeds.max() + 1.3 / grid.spacing[2]), rtol=1e-12)


@pytest.mark.thorough
def test_alfven_waves_of_the_reduced_equations_are_exact(make_grid):
    """φ = cos(k·x − k_z B₀ t) and ψ = −φ run along the mean field, in steps of five periods."""
    grid = make_grid((8, 10, 12), devices=2)
    equation = ReducedMHD(grid, mean_field=0.7)
    phase = lambda t: sw.sample(lambda x, y, z: SMALL * jnp.cos(2 * x + y + 3 * z - 2.1 * t), grid)[None]  # noqa: E731
    period = 2 * np.pi / 2.1
    start = {"vorticity": -5 * phase(0), "flux": -phase(0)}
    state = advanced(equation, ETDRK4(), start, 10.3 * period, step=5 * period)
    u = equation.to_physical(state.field)
    np.testing.assert_allclose(u["vorticity"], -5 * phase(10.3 * period), atol=1e-11 * SMALL)
    np.testing.assert_allclose(u["flux"], -phase(10.3 * period), atol=1e-11 * SMALL)


# ---- all ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda g: HallMHD(g((8, 8, 8)), 0.1, 0.1, -1.0), "ion_inertial_length -1.0: zero or more"),
        (lambda g: HallMHD(g((8, 8, 8)), 0.1, 0.1, 0.1, (1.0, 2.0)), r"mean_field \(1.0, 2.0\): 3 numbers are needed"),
        (lambda g: HasegawaWakatani(g((8, 8)), adiabaticity=-1.0), "adiabaticity -1.0: zero or more"),
        (lambda g: HasegawaWakatani(g((8, 8)), density_gradient=float("nan")), "density_gradient nan: a finite number"),
    ],
    ids=["inertial length", "mean field", "adiabaticity", "gradient"],
)
def test_wrong_parameters_are_refused(make_grid, make, message):
    with pytest.raises(ValueError, match=message):
        make(lambda shape: make_grid(shape, devices=2))
