"""Hyperviscosity and drag: exact decay, and budgets that close with it."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import VELOCITY, advanced, series

import solver as sw
from solver import initial
from solver.dynamics.budget import imbalance
from solver.dynamics.energy_budget import budget_columns
from solver.equations import MHD, Boussinesq, NavierStokes, SurfaceQuasiGeostrophic, TwoLayerQuasiGeostrophic, Vorticity
from solver.steppers import IFRK4

pytestmark = pytest.mark.slow

HYPER = {"hyperviscosity": 3e-4, "hyper_order": 3}
KINDS = {
    "boussinesq": (Boussinesq, "hyperdiffusivity", "buoyancy"),
    "mhd": (MHD, "hyperresistivity", "magnetic_field"),
}


def made(which, grid, **options):
    cls, second, name = KINDS[which]
    return cls(grid, 0.02, 0.01, **HYPER, **{second: 1e-4}, **options), name


@pytest.mark.thorough
@pytest.mark.parametrize("which", KINDS)
def test_layers_decay_exactly(make_grid, which):
    """All depends on the last direction alone, along which nothing flows."""
    grid = make_grid((12, 16), devices=2)
    flow, second = made(which, grid)
    u = sw.sample(lambda x, z: (jnp.cos(2 * z) + 0 * x, 0 * z * x), grid)
    other = sw.sample(lambda x, z: (jnp.sin(3 * z) + 0 * x, 0 * z * x), grid)
    start = {"velocity": u, second: other[:1] if which == "boussinesq" else other}
    computed = flow.to_physical(advanced(flow, IFRK4(), start, 1.0, 0.25).field)
    np.testing.assert_allclose(computed["velocity"], np.exp(-0.02 * 4 - 3e-4 * 4**3) * u, atol=1e-14)
    np.testing.assert_allclose(computed[second], np.exp(-0.01 * 9 - 1e-4 * 9**3) * start[second], atol=1e-14)


@pytest.mark.thorough
@pytest.mark.parametrize("which", KINDS)
def test_the_budget_closes_with_hyperviscosity(make_grid, which):
    grid = make_grid((16, 12), devices=2)
    flow, second = made(which, grid)
    u = initial.RandomPhase(peak=2.0)(grid, VELOCITY, jax.random.key(0))
    start = {"velocity": u, second: 0.5 * (u[:1] if which == "boussinesq" else u[::-1])}
    state = advanced(flow, IFRK4(), start, 0.4, 0.01)
    integrals = {name: float(value) for name, value in state.budget.items()}
    for name, now in jax.jit(flow.report.energies)(state.field).items():
        assert abs(imbalance(name, float(state.energies[name]), float(now), integrals)) < 1e-7
    plain = KINDS[which][0](grid, 0.02, 0.01)
    lost = lambda f: float(advanced(f, IFRK4(), start, 0.05, 0.05).budget["kinetic_energy_from_viscosity"])  # noqa: E731
    assert lost(flow) < 1.05 * lost(plain) < 0
    if which == "mhd":
        assert integrals["kinetic_energy_from_exchange"] == pytest.approx(
            -integrals["magnetic_energy_from_exchange"], rel=1e-4
        )
        assert series(flow, state)["total_dissipation"] > 0


@pytest.mark.thorough
def test_drag_and_hyperviscosity_of_navier_stokes(make_grid):
    """Layers decay exactly, the budget closes with a cause for each, and a term that is not given costs nothing."""
    grid = make_grid((16, 12), devices=2)
    damped = NavierStokes(grid, 0.02, drag=0.3, **HYPER)
    layer = sw.sample(lambda x, y: (jnp.cos(2 * y) + 0 * x, 0 * y * x), grid)
    computed = damped.to_physical(advanced(damped, IFRK4(), layer, 1.0, 0.25).field)["velocity"]
    np.testing.assert_allclose(computed, np.exp(-0.02 * 4 - 3e-4 * 4**3 - 0.3) * layer, atol=1e-14)
    state = advanced(damped, IFRK4(), initial.RandomPhase(peak=2.0)(grid, VELOCITY, jax.random.key(0)), 0.4, 0.01)
    integrals = {name: float(value) for name, value in state.budget.items()}
    assert integrals.keys() == {"energy_from_viscosity", "energy_from_drag"}
    energy = float(damped.report.energies(state.field)["energy"])
    assert abs(imbalance("energy", float(state.energies["energy"]), energy, integrals)) < 1e-7
    assert max(integrals.values()) < -0.03
    row, plain = series(damped, state), series(NavierStokes(grid, 0.02), state)
    assert row["dissipation"] > plain["dissipation"] == pytest.approx(2 * 0.02 * plain["enstrophy"], rel=1e-14)
    assert budget_columns(NavierStokes(grid, 0.02)) == ("energy_from_viscosity",)
    for wrong in ({"drag": -1.0}, {"hyperviscosity": -1.0}):
        with pytest.raises(ValueError, match=r"-1\.0: zero or more is needed"):
            NavierStokes(grid, 0.02, **wrong)


def test_any_text_has_hyperviscosity_by_a_word(make_grid):
    """`hyper(u, nu, p)` is −ν(−∇²)^p u; damping that no number holds is refused as in the library's equations."""
    text = sw.write("dt(u) = hyper(u, nu_h, 3) - drag*u", {"u": "scalar"})
    grid = make_grid((16, 12), devices=2)
    wave = sw.sample(lambda x, y: jnp.cos(x + 2 * y), grid)
    equation = text(grid, nu_h=1e-3, drag=0.2)
    computed = equation.to_physical(advanced(equation, IFRK4(), wave, 1.0, 0.5).field)["u"]
    np.testing.assert_allclose(computed[0], np.exp(-1e-3 * 5**3 - 0.2) * wave, atol=1e-14)
    single = make_grid((64, 48), devices=2, precision="float32")
    with pytest.raises(ValueError, match=r"nu_h 1.0 with 16: at most .* is needed, or float32 cannot hold"):
        sw.write("dt(u) = hyper(u, nu_h, 16)", {"u": "scalar"})(single, nu_h=1.0)


def test_a_whole_number_may_stand_under_a_power(make_grid):
    """NumPy, which works out the size of the damping, refuses negative powers of whole numbers by itself."""
    text = sw.write(["dt(u) = hyper(u, width**(-p), 2)"], fields={"u": "scalar"})
    grid = make_grid((8, 8), devices=1)
    symbol = text(grid, width=2, p=2).linear().entries["u"]
    np.testing.assert_allclose(symbol, -0.25 * np.asarray(grid.k_squared()) ** 2, rtol=1e-13)


@pytest.mark.parametrize("which", KINDS)
def test_wrong_orders_are_refused(make_grid, which):
    cls, second, _ = KINDS[which]
    grid = make_grid((8, 8), devices=1)
    with pytest.raises(ValueError, match="hyper_order 0: one or more is needed"):
        cls(grid, 0.1, 0.1, hyper_order=0)
    with pytest.raises(ValueError, match=f"{second} -1.0: zero or more is needed"):
        cls(grid, 0.1, 0.1, **{second: -1.0})


HIGH = {
    "boussinesq": lambda g, **o: Boussinesq(g, 0.0, 0.0, **o),
    "mhd": lambda g, **o: MHD(g, 0.0, 0.0, **o),
    "mhd with mean field": lambda g, **o: MHD(g, 0.0, 0.0, mean_field=(0.5, 1.0), **o),
    "vorticity": lambda g, **o: Vorticity(g, **o),
    "two layers": lambda g, **o: TwoLayerQuasiGeostrophic(g, 1.0, **o),
}


@pytest.mark.parametrize("which", HIGH)
def test_high_orders_in_single_precision(make_grid, which):
    """|k|^32 is beyond single precision; the damping is not, and it is that of double precision."""
    entries = {}
    for precision in ("float32", "float64"):
        grid = make_grid((64, 48), devices=2, precision=precision)
        flow = HIGH[which](grid, hyperviscosity=1e-43, hyper_order=16)
        flow.check()
        entries[precision] = [np.asarray(leaf) for leaf in jax.tree.leaves(jax.jit(flow.linear)())]
    assert grid.k_corner**32 > float(np.finfo(np.float32).max)
    for single, double in zip(entries["float32"], entries["float64"], strict=True):
        assert np.all(np.isfinite(single))
        np.testing.assert_allclose(single, double, rtol=1e-4, atol=1e-6 * np.abs(double).max())
    assert max(np.abs(double).max() for double in entries["float64"]) > 1


@pytest.mark.parametrize("which", HIGH)
def test_damping_that_no_number_holds_is_refused(make_grid, which):
    grid = make_grid((64, 48), devices=2, precision="float32")
    with pytest.raises(ValueError, match=r"hyperviscosity 1.0 with hyper_order 16: at most 2\.\d+e-07 is needed"):
        HIGH[which](grid, hyperviscosity=1.0, hyper_order=16)
    possible = float(np.finfo(np.float32).max) / grid.k_corner**32
    HIGH[which](grid, hyperviscosity=0.999 * possible, hyper_order=16)
    with pytest.raises(ValueError, match="with hyper_order 16: at most"):
        HIGH[which](grid, hyperviscosity=1.001 * possible, hyper_order=16)
    with pytest.raises(ValueError, match=r"hyper_order 200: float64 cannot hold \|k\|\^400 of the largest \|k\| = 2"):
        HIGH[which](grid, hyperviscosity=1e-43, hyper_order=200)
    with jax.enable_x64(False):
        with pytest.raises(ValueError, match=r"hyper_order 16: float32 cannot hold .*jax_enable_x64"):
            HIGH[which](grid, hyperviscosity=1e-43, hyper_order=16)
        with pytest.raises(ValueError, match=r"hyperviscosity 1e-43: float32 cannot hold it.*jax_enable_x64"):
            HIGH[which](grid, hyperviscosity=1e-43, hyper_order=4)


def test_diffusion_of_any_power_in_single_precision(make_grid):
    """κ|k|^16 of surface buoyancy is held where |k|^16 is not, and refused where it is not."""
    single, double = (make_grid((1024, 8), devices=1, precision=p) for p in ("float32", "float64"))
    damping = [
        np.asarray(SurfaceQuasiGeostrophic(g, 1e-40, 8.0).linear().entries["buoyancy"]) for g in (single, double)
    ]
    assert single.k_corner**16 > float(np.finfo(np.float32).max)
    np.testing.assert_allclose(*damping, rtol=1e-5, atol=1e-37)
    with pytest.raises(ValueError, match=r"diffusivity 1.0 with exponent 8.0: at most 0\.\d+ is needed, or float32"):
        SurfaceQuasiGeostrophic(single, 1.0, 8.0)
    with pytest.raises(ValueError, match=r"diffusivity -1.0: zero or more is needed"):
        SurfaceQuasiGeostrophic(single, -1.0, 1.0)
