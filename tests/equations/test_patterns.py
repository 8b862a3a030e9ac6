"""Allen–Cahn, Cahn–Hilliard, Swift–Hohenberg, complex Ginzburg–Landau: exact solutions, growth rates, free energies."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import advanced

import solver as sw
from solver import initial
from solver.equations import AllenCahn, CahnHilliard, ComplexGinzburgLandau, SwiftHohenberg
from solver.plan import transforms_in_step
from solver.steppers import ETDRK2, ETDRK4, IFRK4

pytestmark = pytest.mark.slow

SMALL = 1e-8


def only(equation, state):
    """The one field, at the points."""
    (u,) = equation.to_physical(state.field).values()
    return np.asarray(u[0])


EQUATIONS = {
    "allen-cahn": (lambda g: AllenCahn(g, 0.3), lambda k2: 1 - 0.09 * k2),
    "cahn-hilliard": (lambda g: CahnHilliard(g, 0.7, 0.4), lambda k2: 0.7 * k2 * (1 - 0.4 * k2)),
    "swift-hohenberg": (lambda g: SwiftHohenberg(g, 0.2, 1.1, 0.8), lambda k2: 0.2 - (1.21 - k2) ** 2),
    "complex-ginzburg-landau": (lambda g: ComplexGinzburgLandau(g, 1.5, -0.7), lambda k2: 1 - (1 + 1.5j) * k2),
}


@pytest.mark.thorough
@pytest.mark.parametrize("name", EQUATIONS)
def test_small_waves_grow_at_the_linear_rate(make_grid, name):
    make, rate = EQUATIONS[name]
    equation = make(make_grid((16, 20), devices=4, lengths=[7.0, 9.0]))
    k = np.array([2 * np.pi / 7.0, -4 * np.pi / 9.0])
    growth = rate(k @ k)
    angle = lambda x, y: k[0] * x + k[1] * y  # noqa: E731
    wave = lambda x, y: jnp.exp(1j * angle(x, y)) if np.iscomplex(growth) else jnp.cos(angle(x, y))  # noqa: E731
    u = SMALL * sw.sample(wave, equation.grid)
    computed = only(equation, advanced(equation, ETDRK4(), u[None], 2.0, 0.5))
    # g u² of Swift–Hohenberg adds SMALL of it
    np.testing.assert_allclose(computed / SMALL, u * np.exp(2.0 * growth) / SMALL, atol=1e-7)
    assert abs(np.exp(2.0 * growth) - 1) > 0.1


def wavy(grid):
    """A field whose powers the grid resolves."""
    kx, ky = grid.fundamental
    return sw.sample(lambda x, y: 0.7 * jnp.cos(kx * x + 1) + 0.4 * jnp.sin(2 * ky * y - kx * x) + 0.2, grid)[None]


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["allen-cahn", "cahn-hilliard", "swift-hohenberg"])
def test_the_free_energy_falls_at_its_rate(make_grid, name):
    """dF/dt = −⟨u_t²⟩; for the conserved one −M⟨|∇μ|²⟩, which is −⟨u_t M⁻¹(−∇²)⁻¹u_t⟩."""
    equation = EQUATIONS[name][0](make_grid((32, 36), devices=4, lengths=[7.0, 9.0]))
    grid = equation.grid

    @jax.jit
    def rates(u):
        fields = equation.from_physical(dict.fromkeys(equation.fields, u))
        moving = {n: a + equation.nonlinear(fields, 0.0)[n] for n, a in equation.linear().apply(fields).items()}
        _, change = jax.jvp(lambda f: equation.series(f, 0.1)["free_energy"], [fields], [moving])
        (u_t,) = moving.values()
        weight = grid.inverse_k_squared() / 0.7 if name == "cahn-hilliard" else jnp.ones(grid.spectral_shape)
        return change, jnp.sum(weight * grid.mode_weights() * jnp.abs(u_t) ** 2)

    computed, dissipated = rates(wavy(grid))
    assert float(dissipated) > 0.01
    assert float(computed) == pytest.approx(-float(dissipated), rel=1e-12)


# ---- Allen–Cahn -------------------------------------------------------------------------------------------------


@pytest.mark.thorough
def test_allen_cahn_of_a_uniform_field_and_of_a_wall(make_grid):
    grid = make_grid((192,), devices=1, lengths=12.0)
    equation = AllenCahn(grid, 0.3)
    computed = only(equation, advanced(equation, ETDRK4(), jnp.full((1, 192), 0.1), 3.0, 0.05))
    np.testing.assert_allclose(computed, 0.1 * np.exp(3) / np.sqrt(1 + 0.01 * (np.exp(6) - 1)), rtol=1e-6)
    wall = initial.Ball(radius=3.0, width=2**0.5 * 0.3)(grid)
    np.testing.assert_allclose(only(equation, advanced(equation, ETDRK4(), wall, 5.0, 0.1)), wall[0], atol=2e-5)


@pytest.mark.thorough
def test_a_ball_shrinks_by_its_curvature(make_grid):
    """R² = R₀² − 2(d − 1)ε²t with d = 3, up to corrections of order ε²/R²."""
    eps, start, end = 0.2, 2.0, 10.0
    grid = make_grid((48, 48, 48), devices=2)
    equation = AllenCahn(grid, eps)
    ball = initial.Ball(radius=start, width=2**0.5 * eps)(grid)

    def square_of_radius(state):
        volume = 0.5 * (1 + float(equation.series(state.field, 0.1)["mean_u"])) * (2 * np.pi) ** 3
        return (volume * 3 / (4 * np.pi)) ** (2 / 3)

    states = list(
        sw.evolve(equation, ETDRK2(), sw.initial_state(equation, ETDRK2(), ball), end=end, step=0.2,
                  pauses=[sw.Schedule(every_time=2.0)])
    )  # fmt: skip
    settled = next(s for s in states if float(s.t) == 2.0)  # the wall has taken its shape
    lost = square_of_radius(settled) - square_of_radius(states[-1])
    assert lost == pytest.approx(4 * eps**2 * (end - 2.0), rel=0.03)


# ---- Cahn–Hilliard ----------------------------------------------------------------------------------------------


@pytest.mark.thorough
def test_cahn_hilliard_keeps_its_mass_and_loses_energy_at_every_step(make_grid):
    equation = CahnHilliard(make_grid((24, 32), devices=4, lengths=[20.0, 25.0]))
    noise = initial.Noise(background=-0.2, amplitude=0.3)(equation.grid, key=jax.random.key(0))
    state = sw.initial_state(equation, ETDRK4(), noise)
    report = jax.jit(lambda f: (equation.series(f, 0.1)["free_energy"], equation.conserved(f)["mass"]))
    rows = [
        [float(v) for v in report(now.field)]
        for now in sw.evolve(equation, ETDRK4(), state, end=30.0, step=0.25, pauses=[sw.Schedule(every_steps=1)])
    ]
    energy, mass = np.array(rows).T
    assert len(rows) == 121
    assert np.all(np.diff(energy) < 0)
    assert energy[-1] < 0.7 * energy[0]
    np.testing.assert_allclose(mass, mass[0], atol=1e-15)
    assert float(equation.series(state.field, 0.1)["variance"]) > 0.01


@pytest.mark.thorough
def test_walls_of_cahn_hilliard_stand(make_grid):
    """c = tanh(x/√(2κ))."""
    grid = make_grid((256,), devices=1, lengths=30.0)
    equation = CahnHilliard(grid, 0.8, 0.5)
    walls = initial.Ball(radius=7.5, width=1.0)(grid)
    np.testing.assert_allclose(only(equation, advanced(equation, ETDRK4(), walls, 5.0, 0.1)), walls[0], atol=1e-5)
    assert equation.report.warnings({}) == []
    [warning] = CahnHilliard(make_grid((16,), devices=1, lengths=30.0)).report.warnings({})
    assert warning == "√(2κ) k_max = 1.48 is below 2: walls are not resolved"


# ---- Swift–Hohenberg --------------------------------------------------------------------------------------------


@pytest.mark.thorough
def test_stripes_saturate(make_grid):
    """A cos(q₀x) with A² = 4r/3; the third harmonic, −A³/256, changes that by 5e-5 of it."""
    r = 0.02
    grid = make_grid((24, 16), devices=2, lengths=[4 * np.pi, 3.0])
    equation = SwiftHohenberg(grid, r)
    start = initial.Cosine((2,), amplitude=0.1)(grid)
    computed = only(equation, advanced(equation, ETDRK2(), start, 600.0, 1.0))
    x = np.asarray(grid.coordinates()[0])
    amplitude = np.sqrt(4 * r / 3)
    np.testing.assert_allclose(computed, amplitude * np.cos(x) + 0 * computed, atol=3e-4 * amplitude)


@pytest.mark.thorough
def test_a_uniform_field_of_swift_hohenberg(make_grid):
    """u_t = (r − q₀⁴)u + g u² − u³ rests where u² − g u = r − q₀⁴."""
    equation = SwiftHohenberg(make_grid((16,), devices=1), 1.2, 0.5, 0.7)
    computed = only(equation, advanced(equation, ETDRK4(), jnp.full((1, 16), 0.3), 20.0, 0.1))
    np.testing.assert_allclose(computed, 0.35 + np.sqrt(0.35**2 + 1.2 - 0.5**4), rtol=1e-10)


# ---- complex Ginzburg–Landau ------------------------------------------------------------------------------------


@pytest.mark.thorough
def test_plane_waves_turn_at_their_frequency(make_grid):
    """√(1 − q²) exp(i(q·x − ωt)), ω = β + (α − β)q²: stable here for 1 + αβ > 0 and small q."""
    alpha, beta, t = 0.8, -0.5, 6.0
    grid = make_grid((16, 12), devices=4, lengths=[40.0, 50.0], real=False)
    equation = ComplexGinzburgLandau(grid, alpha, beta)
    q = np.array([2 * np.pi / 40, -4 * np.pi / 50])
    q2 = q @ q
    start = initial.PlaneWave((1, -2), amplitude=np.sqrt(1 - q2))(equation.grid)
    computed = only(equation, advanced(equation, ETDRK4(), start, t, 0.02))
    np.testing.assert_allclose(computed, start[0] * np.exp(-1j * (beta + (alpha - beta) * q2) * t), atol=1e-8)
    row = equation.series(equation.from_physical({"amplitude": start}), 0.1)
    assert float(row["mean_square"]) == pytest.approx(1 - q2)
    assert float(row["cfl"]) == pytest.approx(0.1 * (1 - q2) * np.sqrt(1.25))
    snapshot = equation.snapshot(equation.from_physical({"amplitude": start}))
    assert list(snapshot) == list(equation.report.snapshot_units()) == ["amplitude_real", "amplitude_imag", "modulus"]


# ---- all of them ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "shape"), [("allen-cahn", (32,)), ("cahn-hilliard", (16, 16, 12)), ("swift-hohenberg", (24, 16))], ids=str
)
def test_coefficients_stay_those_of_a_real_field(make_grid, name, shape):
    """Round-off in the part that transforms to points do not see would grow as fast as the pattern at first."""
    grid = make_grid(shape, devices=min(2, len(shape)), lengths=6.0)
    equation = EQUATIONS[name][0](grid)
    start = initial.Noise(amplitude=0.3)(grid, key=jax.random.key(0))
    state = advanced(equation, ETDRK2(), start, 300.0, 0.25)
    transform = sw.fft.Transform(grid)
    (u_hat,) = state.field.values()
    seen = transform.forward(transform.inverse(u_hat))
    assert float(jnp.max(jnp.abs(u_hat))) > 0.05
    assert float(jnp.max(jnp.abs(seen - u_hat))) < 1e-13


@pytest.mark.parametrize("name", EQUATIONS)
def test_one_transform_each_way(make_grid, name):
    equation = EQUATIONS[name][0](make_grid((16, 16), devices=2))
    state = sw.initial_state(equation, IFRK4(), jnp.zeros((1, 16, 16)))
    calls = transforms_in_step(equation, IFRK4(), state)
    assert [(c.forward, c.batch) for c in calls] == [(False, 1), (True, 1)] * 4


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda g: AllenCahn(g, 0.0), "wall_width 0.0: a positive number"),
        (lambda g: CahnHilliard(g, gradient_energy=-1.0), "gradient_energy -1.0: a positive number"),
        (lambda g: SwiftHohenberg(g, growth=np.inf), "growth inf: a finite number"),
        (lambda g: ComplexGinzburgLandau(g, np.nan), "linear_dispersion nan: a finite number"),
        (lambda g: initial.Noise()(g), "noise without a key"),
        (lambda g: initial.Spots()(g), "spots without a key"),
        (lambda g: initial.Spots(count=0), "spots with count 0: 1 or more"),
        (lambda g: initial.Noise(amplitude=-1.0), "noise with amplitude -1.0: zero or more"),
        (lambda g: initial.Ball(width=0.0), "ball with width 0.0: a positive length"),
        (lambda g: initial.Ball(centre=[1.0])(g), r"centre \[1.0\]: 2 numbers"),
        (lambda g: initial.Cosine((1, 2, 3))(g), r"modes \[1, 2, 3\] on a grid of 2"),
        (lambda g: initial.Cosine((9,))(g), "a mode of 9: this grid resolves at most 5"),
    ],
)
def test_wrong_parameters_are_refused(make_grid, make, message):
    with pytest.raises(ValueError, match=message):
        make(make_grid((16, 16), devices=2))
