"""Linear terms that depend on time: exact, stable and of full order with methods that have an integrating factor."""

import jax.numpy as jnp
import numpy as np
import pytest
from helpers import advanced

import solver as sw
from solver.dynamics.budget import imbalance
from solver.steppers import ETDRK4, IFRK2, IFRK3, IFRK4, LSRK3, Strang, Yoshida4

pytestmark = pytest.mark.slow

FACTORS = [IFRK2(), IFRK3(), IFRK4(), LSRK3()]
names = lambda stepper: stepper.name  # noqa: E731
TABLE = sw.Table(np.linspace(-1, 3, 9), np.linspace(-1, 3, 9) ** 2)  # cubic between its points: exact


def wave(grid, k=1):
    return sw.sample(lambda x, *y: jnp.cos(k * x) + 0.5 * jnp.sin(3 * x) + 0 * sum(y), grid)[None]


@pytest.mark.parametrize(
    ("nu", "integral"),
    [("4*a*exp(-t)", 16 * (1 - np.exp(-1.2))), ("a*ramp(1, 3, 0.4, 0.8)", 4 * (0.4 + 0.8 + 3 * 0.4)),
     ("4*a*scale(t)", 16 * 1.2**3 / 3)],
    ids=["formula", "ramp", "table"],
)  # fmt: skip
@pytest.mark.parametrize("stepper", [IFRK2(), LSRK3()], ids=names)
def test_a_stiff_diffusion_that_depends_on_time_is_exact(make_grid, stepper, nu, integral):
    """Steps some ten times longer than an explicit term would allow, which end where a ramp does."""
    grid = make_grid((16, 8), devices=2)
    functions = {"scale": TABLE} if "scale" in nu else {}
    equation = sw.write(f"dt(q) = {nu}*lap(q) - lap(lap(q))/100 - dx(q)", {"q": "scalar"}, functions=functions)(
        grid, a=4.0
    )
    state = advanced(equation, stepper, {"q": 1 + 1e3 * wave(grid)}, 1.2, 0.2)
    q = equation.to_physical(state.field)["q"][0]
    decay = lambda k: np.exp(-integral * k**2 - 1.2 * k**4 / 100)  # noqa: E731
    x = grid.coordinates()[0] - 1.2
    exact = 1 + 1e3 * (decay(1) * np.cos(x) + 0.5 * decay(3) * np.sin(3 * x))
    np.testing.assert_allclose(q, exact + np.zeros(grid.shape), rtol=1e-11, atol=1e-11)
    assert np.abs(exact - 1).max() > 1e-4


@pytest.mark.parametrize("stepper", [*FACTORS, Strang(), Yoshida4()], ids=names)
def test_with_products_a_method_keeps_its_order(make_grid, stepper):
    """Against etdrk4, which takes the same terms explicitly, with much shorter steps."""
    if isinstance(stepper, Strang | Yoshida4):
        grid = make_grid((16,), devices=1, real=False, dealias="none")
        lines, fields = "dt(q) = 1j/2*(1 + 0.6*cos(3*t))*lap(q) - 1j*exp(t)*abs(q)**2*q", {"q": "wavefunction"}
        start = {"q": 0.6 + 0.3 * wave(grid)}
    else:
        grid = make_grid((16,), devices=1)
        lines, fields = "dt(q) = 0.1*(1 + 0.9*cos(5*t))*lap(q) - 2*sin(3*t)*dx(q) - q*dx(q)", {"q": "scalar"}
        start = {"q": wave(grid)}
    equation = sw.write(lines, fields, energies={})(grid)
    end = lambda stepper, step: np.asarray(  # noqa: E731
        equation.to_physical(advanced(equation, stepper, start, 1.0, step).field)["q"]
    )
    exact = end(ETDRK4(), 0.002)
    errors = [np.abs(end(stepper, step) - exact).max() for step in (0.04, 0.02)]
    assert np.log2(errors[0] / errors[1]) == pytest.approx(stepper.order, abs=0.2), errors
    assert errors[1] > 1e-9


def test_single_precision_stays_single(make_grid):
    grid = make_grid((16,), devices=1, precision="float32")
    equation = sw.write("dt(q) = -(2 + sin(t))*q", {"q": "scalar"})(grid)
    start = sw.initial_state(equation, IFRK4(), {"q": wave(grid)})
    state = sw.integrate(equation, IFRK4(), start, step=0.25, steps=4)
    assert state.field["q"].dtype == np.complex64
    decay = np.exp(-2 - (1 - np.cos(1.0)))
    np.testing.assert_allclose(equation.to_physical(state.field)["q"], decay * wave(grid), atol=1e-6)


def test_a_budget_counts_what_depends_on_time(make_grid):
    """Taken out of N for the stages alone: the change of the energy is what its causes say."""
    grid = make_grid((16, 12), devices=4)
    lines = "dt(q) = cause(viscosity, nu*(1 + 0.5*cos(4*t))*lap(q)) - q*dx(q)"
    equation = sw.write(lines, {"q": "scalar"})(grid, nu=0.2)
    state = advanced(equation, IFRK4(), {"q": wave(grid)}, 0.5, 0.01)
    energy = float(equation.series(state.field, 0.01)["energy"])
    integrals = {name: float(value) for name, value in state.budget.items()}
    assert abs(imbalance("energy", float(state.energies["energy"]), energy, integrals)) < 1e-7
    assert integrals["energy_from_nonlinear"] < -0.05


@pytest.mark.parametrize(
    ("lines", "fields"),
    [
        (["dt(a) = b - cos(t)*a", "dt(b) = -a"], "ab"),
        (["dt(a) = cos(t)*b", "dt(b) = -cos(t)*a"], "ab"),
        (["dt(a) = -explicit(exp(-t)*a) + t*a*a"], "a"),
    ],
    ids=["rotation", "rotation in time", "explicit"],
)
def test_what_does_not_commute_or_is_explicit_stays_in_n(make_grid, lines, fields):
    equation = sw.write(lines, dict.fromkeys(fields, "scalar"))(make_grid((8,), devices=1))
    assert equation.varying_linear is None


def test_under_white_noise_these_terms_stay_in_n(make_grid):
    """The variance that a kick adds over a step is known of L alone."""
    Decay, grid = sw.write("dt(q) = -exp(-t)*q", {"q": "scalar"}), make_grid((8,), devices=1)
    assert Decay(grid).varying_linear is not None
    assert Decay(grid, forcing=sw.forcing.WhiteNoise(0.1)).varying_linear is None
