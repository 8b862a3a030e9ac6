"""Boussinesq, MHD and Gray–Scott: dispersion relations, independent integrators."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import VELOCITY, advanced
from scipy.integrate import solve_ivp

import solver as sw
from solver import initial
from solver.equations import (
    MHD,
    Boussinesq,
    GrayScott,
    HallMHD,
    HasegawaWakatani,
    SurfaceQuasiGeostrophic,
    TwoLayerQuasiGeostrophic,
)
from solver.plan import transforms_in_step
from solver.steppers import ETDRK4, IFRK2, IFRK4

pytestmark = pytest.mark.slow

SMALL = 1e-9  # of a wave: its product with itself is below round-off


def wave(grid, n, amplitude, phase=0.0):
    """cos(k·x + phase) in each component."""
    k = [2 * np.pi * m / length for m, length in zip(n, grid.lengths, strict=True)]
    return sw.sample(
        lambda *x: tuple(a * jnp.cos(k[0] * x[0] + k[1] * x[1] + k[2] * x[2] + phase) for a in amplitude), grid
    )


def gravity_wave(grid, n, frequency, rotation):
    """One inertia–gravity wave at t = 0, and what it is at any t: (u, b)(x, t) from the linear equations."""
    k = np.array([2 * np.pi * m / length for m, length in zip(n, grid.lengths, strict=True)])
    kx, _, kz = k
    omega = np.sqrt((frequency**2 * kx**2 + rotation**2 * kz**2) / (kx**2 + kz**2))

    def at(t):
        # w = cos θ; u from ∇·u = 0; v from v_t = −f u; b from b_t = −N² w, with θ = k·x − ω t
        def values(x, y, z):
            theta = kx * x + kz * z - omega * t
            w, u = jnp.cos(theta), -kz / kx * jnp.cos(theta)
            v = -rotation * kz / (kx * omega) * jnp.sin(theta)
            return SMALL * u, SMALL * v, SMALL * w, SMALL * frequency**2 / omega * jnp.sin(theta)

        sampled = sw.sample(values, grid)
        return {"velocity": sampled[:3], "buoyancy": sampled[3:]}

    return omega, at


@pytest.mark.parametrize(
    ("stepper", "frequency", "rotation"),
    [(IFRK4(), 3.0, 0.7), (ETDRK4(), 0.0, 2.0)],
    ids=lambda p: getattr(p, "name", str(p)),
)
def test_inertia_gravity_waves_turn_at_their_frequency(make_grid, stepper, frequency, rotation):
    grid = make_grid((8, 4, 12), devices=2, lengths=[2.0, 3.0, 1.5])
    omega, at = gravity_wave(grid, (1, 0, 2), frequency, rotation)
    flow = Boussinesq(grid, 0.0, 0.0, buoyancy_frequency=frequency, rotation=rotation)
    state = advanced(flow, stepper, at(0.0), end=7.0, step=0.7)  # ω dt up to 1.5
    expected = at(7.0)
    for name, values in flow.to_physical(state.field).items():
        np.testing.assert_allclose(values / SMALL, expected[name] / SMALL, atol=1e-10 * max(1, omega * 7))


@pytest.mark.thorough
def test_alfven_waves_turn_at_their_frequency(make_grid):
    grid = make_grid((12, 8, 8), devices=4, lengths=[2.0, 3.0, 1.5])
    mean = (1.3, -0.4, 2.0)
    flow = MHD(grid, 0.0, 0.0, mean_field=mean)
    k = 2 * np.pi * np.array([1 / 2.0, 0, 1 / 1.5])
    omega = float(k @ np.array(mean))
    along_y = lambda phase, sign: wave(grid, (1, 0, 1), (0, sign * SMALL, 0), phase)  # noqa: E731
    state = advanced(flow, IFRK4(), {"velocity": along_y(0, 1), "magnetic_field": along_y(0, -1)}, 5.0, 0.5)
    # u = −b travels along B₀: u(x, t) = cos(k·x − ω t)
    values = flow.to_physical(state.field)
    expected = along_y(-omega * 5.0, 1) / SMALL
    np.testing.assert_allclose(values["velocity"] / SMALL, expected, atol=1e-10 * omega * 5)
    np.testing.assert_allclose(values["magnetic_field"] / SMALL, -expected, atol=1e-10 * omega * 5)


@pytest.mark.thorough
def test_orszag_tang_against_an_independent_solver(make_grid):
    """Vorticity and potential in NumPy, in advective form: the same truncated system, written otherwise."""
    n, viscosity, resistivity, end, steps = 32, 0.05, 0.03, 1.0, 400
    grid = make_grid((n, n), devices=4)
    flow = MHD(grid, viscosity, resistivity)
    start = {"velocity": initial.OrszagTang()(grid), "magnetic_field": initial.OrszagTang(magnetic=True)(grid)}
    values = flow.to_physical(advanced(flow, IFRK4(), start, end, 0.0125).field)

    k = np.fft.fftfreq(n, 1 / n)
    kx, ky = np.meshgrid(k, k, indexing="ij")
    square = kx**2 + ky**2
    inverse = 1 / np.where(square == 0, np.inf, square)
    kept = (np.abs(kx) < n / 3) & (np.abs(ky) < n / 3)
    at_points = lambda f: np.fft.ifft2(f).real  # noqa: E731

    def along(f, stream):
        """(∂_y s, −∂_x s)·∇f."""
        u, v = at_points(1j * ky * stream), -at_points(1j * kx * stream)
        return u * at_points(1j * kx * f) + v * at_points(1j * ky * f)

    def rhs(q):
        vorticity, potential = q
        stream, current = vorticity * inverse, potential * square
        turned = -along(vorticity, stream) + along(current, potential)
        moved = -along(potential, stream)
        new = np.stack([np.fft.fft2(turned), np.fft.fft2(moved)]) * kept
        return new - square * np.stack([viscosity * vorticity, resistivity * potential])

    def of(fields, sign):
        """ω from u, or a from b = (∂_y a, −∂_x a)."""
        x, y = (np.fft.fft2(np.asarray(c)) for c in fields)
        curl = 1j * kx * y - 1j * ky * x
        return (curl if sign > 0 else curl * inverse) * kept

    q = np.stack([of(start["velocity"], 1), of(start["magnetic_field"], -1)])
    dt = end / steps
    for _ in range(steps):
        a = rhs(q)
        b = rhs(q + dt / 2 * a)
        c = rhs(q + dt / 2 * b)
        q = q + dt / 6 * (a + 2 * b + 2 * c + rhs(q + dt * c))
    for name, stream in (("velocity", q[0] * inverse), ("magnetic_field", q[1])):
        expected = np.stack([at_points(1j * ky * stream), at_points(-1j * kx * stream)])
        np.testing.assert_allclose(values[name], expected, atol=2e-7)
        assert np.abs(expected).max() > 0.5


@pytest.mark.thorough
@pytest.mark.parametrize("frequency", [1.7, 0.0])
def test_energies_and_numbers_of_stratified_flow(make_grid, frequency):
    """Against means over the points; N = 0 has no potential energy to add, and no finite number."""
    grid = make_grid((12, 10, 14), devices=2)
    flow = Boussinesq(grid, 0.03, 0.01, buoyancy_frequency=frequency)
    noise = np.random.default_rng(0)
    fields = flow.from_physical({n: jnp.asarray(noise.normal(size=s)) for n, s in flow.physical_shapes().items()})
    u, b = (np.asarray(v) for v in flow.to_physical(fields).values())
    row = {name: float(value) for name, value in flow.series(fields, 0.1).items()}
    kinetic, half_square = 0.5 * (u**2).sum(0).mean(), 0.5 * (b**2).mean()
    potential = half_square / frequency**2 if frequency else half_square
    gradient = sw.operators.gradient(fields["velocity"], grid)
    dissipation = 0.03 * sum(float((flow.transform.inverse(g) ** 2).sum(0).mean()) for g in gradient)
    expected = {
        "kinetic_energy": kinetic,
        "potential_energy": potential,
        "energy": kinetic + (potential if frequency else 0),
        "dissipation": dissipation,
        "buoyancy_flux": (u[2] * b[0]).mean(),
    }
    for name, value in expected.items():
        assert row[name] == pytest.approx(value, rel=1e-12), name
    with np.errstate(divide="ignore"):
        froude = np.float64(dissipation) / (frequency * (u[:2] ** 2).sum(0).mean())
        reynolds = np.float64(dissipation) / (0.03 * np.float64(frequency) ** 2)
    assert row["froude"] == pytest.approx(froude, rel=1e-12)
    assert row["buoyancy_reynolds"] == pytest.approx(reynolds, rel=1e-12)
    rest = flow.series({name: jnp.zeros_like(field) for name, field in fields.items()}, 0.1)
    assert (float(rest["froude"]), float(rest["buoyancy_reynolds"])) == (0.0, 0.0)


@pytest.mark.thorough
def test_boussinesq_without_buoyancy_is_navier_stokes(make_grid):
    grid = make_grid((16, 12, 16), devices=4)
    u = initial.RandomPhase(peak=3.0)(grid, VELOCITY, jax.random.key(0))
    zero = jnp.zeros((1, *grid.physical_shape))
    flow = advanced(sw.equations.NavierStokes(grid, 0.02), IFRK2(), u, 0.2, 0.02)
    both = advanced(Boussinesq(grid, 0.02, 0.1), IFRK2(), {"velocity": u, "buoyancy": zero}, 0.2, 0.02)
    np.testing.assert_allclose(both.field["velocity"], flow.field["velocity"], atol=1e-14)


@pytest.mark.thorough
def test_gray_scott_against_an_independent_integrator(make_grid):
    n, length = 24, 0.6
    grid = make_grid((n, n), devices=4, lengths=length, dealias="none")
    equation = GrayScott(grid, feed=0.04, kill=0.06)
    u = initial.Bump(background=1.0, height=-0.5, width=0.1)(grid)
    v = initial.Bump(height=0.25, width=0.1)(grid)
    state = advanced(equation, ETDRK4(), {"u": u, "v": v}, 20.0, 0.25)
    values = equation.to_physical(state.field)
    k = 2 * np.pi * np.fft.fftfreq(n, length / n)
    k2 = k[:, None] ** 2 + k**2

    def rhs(t, q):
        u, v = q.reshape(2, n, n)
        diffused = lambda f, d: np.fft.ifft2(-d * k2 * np.fft.fft2(f)).real  # noqa: E731
        reaction = u * v * v
        return np.concatenate(
            [
                (diffused(u, 2e-5) - reaction + 0.04 * (1 - u)).ravel(),
                (diffused(v, 1e-5) + reaction - 0.10 * v).ravel(),
            ]
        )

    first = np.concatenate([np.asarray(u).ravel(), np.asarray(v).ravel()])
    expected = solve_ivp(rhs, (0, 20), first, rtol=1e-11, atol=1e-13, method="DOP853").y[:, -1].reshape(2, n, n)
    np.testing.assert_allclose(values["u"][0], expected[0], atol=1e-8)
    np.testing.assert_allclose(values["v"][0], expected[1], atol=1e-8)
    assert np.abs(expected[1]).max() > 0.05


@pytest.mark.parametrize(
    ("make", "shape", "counts"),
    [
        (lambda g: MHD(g, 0.1, 0.1), (16, 16, 16), (6, 8)),
        (lambda g: MHD(g, 0.1, 0.1), (16, 16), (4, 3)),
        (lambda g: HallMHD(g, 0.1, 0.1, 0.1), (16, 16, 16), (9, 8)),
        (lambda g: HasegawaWakatani(g), (16, 16), (3, 4)),
        (lambda g: Boussinesq(g, 0.1, 0.1), (16, 16, 16), (4, 8)),
        (lambda g: GrayScott(g), (16, 16), (2, 1)),
        (lambda g: SurfaceQuasiGeostrophic(g), (16, 16), (3, 2)),
        (lambda g: TwoLayerQuasiGeostrophic(g, 1.0), (16, 16), (4, 5)),
    ],
    ids=["mhd 3-D", "mhd 2-D", "hall-mhd", "hasegawa-wakatani", "boussinesq", "gray-scott", "surface", "two layers"],
)
def test_transforms_of_a_right_hand_side(make_grid, make, shape, counts):
    """All fields of an equation share an exchange each way."""
    equation = make(make_grid(shape, devices=2))
    start = {name: jnp.zeros(s) for name, s in equation.physical_shapes().items()}
    calls = transforms_in_step(equation, IFRK4(), sw.initial_state(equation, IFRK4(), start))
    assert [c.batch for c in calls if not c.forward] == [counts[0]] * 4
    assert [c.batch for c in calls if c.forward] == [counts[1]] * 4


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda g: MHD(g, 0.1, -1.0), "resistivity -1.0: zero or more"),
        (lambda g: MHD(g, 0.1, 0.1, (1.0, 2.0)), r"mean_field \(1.0, 2.0\): 3 numbers are needed"),
        (lambda g: Boussinesq(g, float("nan"), 0.1), "viscosity nan: zero or more"),
        (lambda g: GrayScott(g, feed=-1.0), "feed -1.0: zero or more"),
    ],
    ids=["resistivity", "mean field", "nan", "feed"],
)
def test_wrong_parameters_are_refused(make_grid, make, message):
    with pytest.raises(ValueError, match=message):
        make(make_grid((8, 8, 8), devices=2))


def test_dynamics_that_do_not_fit_are_refused_before_they_run(make_grid):
    class Wrong(sw.equations.NavierStokes):
        def nonlinear(self, fields, t):
            return {"velocity": fields["velocity"][:1]}

    grid = make_grid((8, 8), devices=2)
    with pytest.raises(ValueError, match=r"\(Wrong\): nonlinear\(\) gives velocity .*\[1, .*; velocity .*\[2, "):
        sw.initial_state(Wrong(grid, 0.1), IFRK4(), jnp.zeros((2, 8, 8)))
