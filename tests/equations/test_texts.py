"""Equations that are no more than their text, against exact and independent results."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import solver as sw
from solver.equations.brusselator import Brusselator
from solver.equations.fisher_kpp import FisherKPP
from solver.equations.hasegawa_mima import HasegawaMima
from solver.equations.isothermal_flow import IsothermalFlow
from solver.equations.keller_segel import KellerSegel
from solver.equations.oldroyd_b import OldroydB
from solver.equations.phase_field_crystal import PhaseFieldCrystal
from solver.equations.shallow_water import ShallowWater
from solver.equations.zakharov import Zakharov

X = 2 * np.pi * np.arange(16) / 16


def advanced(equation, start, end, steps, stepper=None):
    """Values at the points at the end, and the series there and at the start."""
    stepper = stepper or sw.steppers.ETDRK4()
    start = {name: jnp.asarray(u, equation.values_at_points()[name].dtype) for name, u in start.items()}
    state = sw.initial_state(equation, stepper, start)
    row = jax.jit(lambda fields: equation.series(fields, 0.0))
    final = sw.integrate(equation, stepper, state, step=end / steps, steps=steps)
    values = {name: np.asarray(u) for name, u in equation.to_physical(final.field).items()}
    return values, row(state.field), row(final.field), final.field


def test_the_exact_front_of_ablowitz_and_zeppetella(make_grid):
    """u = 1/(1 + exp(ξ√(r/6D)))² runs at 5√(rD/6), here on both sides of a population."""
    d, r, length, end = 0.7, 1.3, 120.0, 6.0
    grid = make_grid((512,), lengths=(length,), devices=1)
    x = np.asarray(grid.coordinates()[0])

    def front(t):
        edge = np.abs(x - length / 2) - 25 - 5 * np.sqrt(r * d / 6) * t
        return (1 / (1 + np.exp(edge * np.sqrt(r / (6 * d)))) ** 2)[None]

    found, *_ = advanced(FisherKPP(grid, d, r), {"u": front(0.0)}, end, 300)
    assert np.abs(front(end) - front(0.0)).max() > 0.5
    np.testing.assert_allclose(found["u"], front(end), atol=2e-6)


def growth_of(equation, uniform, mode, end=0.5, steps=400, size=1e-6):
    """What a small disturbance `mode · cos x` of uniform fields has become, divided by its size: its amplitudes."""
    grid = equation.grid
    cosine = np.cos(np.asarray(grid.coordinates()[0])) + np.zeros(grid.physical_shape)
    start = {name: (uniform[name] + size * mode[name] * cosine)[None] for name in uniform}
    found, *_ = advanced(equation, start, end, steps)
    return np.array([2 * np.mean(found[name][0] * cosine) / size for name in uniform])


def exponential(matrix, t):
    """exp(matrix t), by its eigenvectors."""
    values, vectors = np.linalg.eig(np.asarray(matrix, complex))
    return np.real(vectors @ np.diag(np.exp(values * t)) @ np.linalg.inv(vectors))


@pytest.mark.thorough
@pytest.mark.slow
def test_small_disturbances_of_the_brusselator(make_grid):
    a, b, du, dv = 1.5, 3.0, 0.3, 1.1
    equation = Brusselator(make_grid((16,), devices=1), a, b, du, dv)
    found = growth_of(equation, {"u": a, "v": b / a}, {"u": 1.0, "v": -0.5})
    jacobian = [[b - 1 - du, a**2], [-b, -(a**2) - dv]]
    np.testing.assert_allclose(found, exponential(jacobian, 0.5) @ [1.0, -0.5], rtol=2e-5)


@pytest.mark.thorough
@pytest.mark.slow
def test_small_disturbances_of_cells_that_follow_a_signal(make_grid):
    given = {"diffusivity": 0.4, "signal_diffusivity": 0.9, "sensitivity": 5.0, "production": 1.2, "decay": 1.2}
    equation = KellerSegel(make_grid((16, 12), devices=2), **given, growth=0.7)
    found = growth_of(equation, {"cells": 1.0, "signal": 1.0}, {"cells": 1.0, "signal": 0.3})
    jacobian = [[-0.4 - 0.7, 5.0], [1.2, -0.9 - 1.2]]
    np.testing.assert_allclose(found, exponential(jacobian, 0.5) @ [1.0, 0.3], rtol=2e-5)


@pytest.mark.thorough
@pytest.mark.slow
def test_cells_are_conserved_without_growth(make_grid):
    equation = KellerSegel(make_grid((16, 12), devices=2), growth=0.0, sensitivity=2.0)
    cells = 1 + 0.3 * np.cos(X)[:, None] * np.sin(X[:12] * 16 / 12)
    _, before, after, _ = advanced(equation, {"cells": cells[None], "signal": cells[None]}, 0.2, 20)
    assert float(after["mean_cells"]) == pytest.approx(float(before["mean_cells"]), rel=1e-13)
    assert float(after["max_cells"]) != pytest.approx(float(before["max_cells"]), rel=1e-2)


def test_a_crystal_grows_from_a_melt_and_its_free_energy_falls(make_grid):
    eps, mean, q = 0.6, -0.2, 1.1
    equation = PhaseFieldCrystal(make_grid((32,), devices=1), eps, q)
    [grown] = growth_of(equation, {"psi": mean}, {"psi": 1.0})
    assert grown == pytest.approx(np.exp(0.5 * (eps - 3 * mean**2 - (q**2 - 1) ** 2)), rel=1e-5)
    x = 2 * np.pi * np.arange(32) / 32
    _, before, after, _ = advanced(equation, {"psi": (mean + 0.1 * np.cos(x))[None]}, 20.0, 400)
    assert float(after["free_energy"]) < float(before["free_energy"]) - 1e-3
    assert float(after["mean_psi"]) == pytest.approx(mean, abs=1e-14)


@pytest.mark.thorough
@pytest.mark.slow
def test_drift_waves_and_invariants_of_hasegawa_and_mima(make_grid):
    """One wave cos(x + 2y − ωt) is exact, ω = κ k_y/(1 + k²); advection conserves energy and potential enstrophy."""
    grid = make_grid((16, 18), devices=2)
    equation, end = HasegawaMima(grid, density_gradient=1.7), 3.0
    x, y = np.meshgrid(*(2 * np.pi * np.arange(n) / n for n in (16, 18)), indexing="ij")
    wave = lambda t: np.cos(x + 2 * y - 1.7 * 2 / 6 * t)[None]  # noqa: E731
    found, *_ = advanced(equation, {"q": wave(0.0)}, end, 10)
    np.testing.assert_allclose(found["q"], wave(end), atol=1e-12)
    many = np.sin(x) * np.cos(2 * y) + np.cos(3 * x - y) + 0.5 * np.sin(2 * x + y)
    _, before, after, _ = advanced(equation, {"q": many[None]}, 0.5, 200)
    for name in ("energy", "potential_enstrophy"):
        assert float(after[name]) == pytest.approx(float(before[name]), rel=1e-9)
    assert float(after["zonal_energy"]) != pytest.approx(float(before["zonal_energy"]), rel=1e-3)


WATER = {"depth": 0.8, "gravity": 1.3, "rotation": 0.9}


@pytest.mark.thorough
@pytest.mark.slow
def test_poincare_waves_and_geostrophic_balance(make_grid):
    """Small waves have ω² = f² + gHk²; what is balanced, f ẑ × u = −g∇η, stays."""
    equation, size, end = ShallowWater(make_grid((16, 12), devices=2), **WATER), 1e-7, 2.0
    f, g, h = WATER["rotation"], WATER["gravity"], WATER["depth"]
    omega, zero = np.sqrt(f**2 + g * h), np.zeros((16, 12))

    def wave(t):
        phase = X[:, None] - omega * t + zero
        return {"velocity": size * np.stack([omega * np.cos(phase), f * np.sin(phase)]) / h,
                "height": size * np.cos(phase)[None]}  # fmt: skip

    found, *_ = advanced(equation, wave(0.0), end, 20)
    for name, wanted in wave(end).items():
        np.testing.assert_allclose(found[name], wanted, atol=1e-6 * size)
    height = np.cos(X)[:, None] + zero
    balanced = {"velocity": np.stack([zero, -g / f * np.sin(X)[:, None] + zero]), "height": height[None]}
    found, *_ = advanced(equation, {name: size * u for name, u in balanced.items()}, end, 20)
    for name, wanted in balanced.items():
        np.testing.assert_allclose(found[name], size * wanted, atol=1e-6 * size)


@pytest.mark.thorough
@pytest.mark.slow
def test_energy_and_volume_of_shallow_water(make_grid):
    equation = ShallowWater(make_grid((24, 24), devices=2, dealias="one-half"), **WATER)
    x, y = np.meshgrid(*[2 * np.pi * np.arange(24) / 24] * 2, indexing="ij")
    start = {"velocity": 0.1 * np.stack([np.sin(y), np.cos(x)]), "height": 0.1 * (np.cos(x) * np.sin(y))[None]}
    _, before, after, final = advanced(equation, start, 1.0, 200)
    assert float(after["energy"]) == pytest.approx(float(before["energy"]), rel=1e-8)
    assert abs(float(after["kinetic_energy"] / before["kinetic_energy"]) - 1) > 1e-2
    assert abs(float(equation.conserved(final)["volume"])) < 1e-15


@pytest.mark.thorough
@pytest.mark.slow
def test_sound_and_its_attenuation(make_grid):
    """A small sound wave along x: s_tt = c²s_xx + (4/3)ν s_txx."""
    c, nu, size, end = 1.4, 0.05, 1e-7, 3.0
    equation = IsothermalFlow(make_grid((16, 12), devices=2), c, nu)
    zero = np.zeros((16, 12))
    start = {"velocity": np.zeros((2, 16, 12)), "log_density": size * np.cos(X)[:, None][None] + zero}
    found, *_ = advanced(equation, start, end, 20)
    damping = 2 * nu / 3
    omega = np.sqrt(c**2 - damping**2)
    expected = np.exp(-damping * end) * (np.cos(omega * end) + damping / omega * np.sin(omega * end))
    np.testing.assert_allclose(found["log_density"][0], size * expected * np.cos(X)[:, None] + zero, atol=1e-6 * size)


@pytest.mark.thorough
@pytest.mark.slow
def test_compressible_flow_conserves_mass_and_loses_energy_to_viscosity_alone(make_grid):
    """d/dt ⟨ρ(½|u|² + c²s)⟩ = −⟨2νρ S:S⟩ with S the strain without its trace."""
    equation = IsothermalFlow(make_grid((32, 32), devices=2, dealias="one-half"), 1.0, 0.1)
    x, y = np.meshgrid(*[2 * np.pi * np.arange(32) / 32] * 2, indexing="ij")
    u = np.stack([0.2 * np.sin(y) + 0.1 * np.cos(x), 0.2 * np.cos(x + y)])
    s = 0.1 * np.cos(x) * np.sin(y)
    fields = equation.from_physical({"velocity": jnp.asarray(u), "log_density": jnp.asarray(s)[None]})
    change = jax.tree.map(jnp.add, equation.linear().apply(fields), equation.nonlinear(fields, 0.0))
    u_t, s_t = (np.asarray(v) for v in equation.to_physical(change).values())
    rho = np.exp(s)
    energy_rate = np.mean(rho * (s_t[0] * (np.sum(u * u, 0) / 2 + s + 1) + np.sum(u * u_t, 0)))
    k = np.fft.fftfreq(32, 1 / 32)
    slope = lambda f, axis: np.real(np.fft.ifft(1j * np.expand_dims(k, 1 - axis) * np.fft.fft(f, axis=axis), axis=axis))  # noqa: E731
    gradient = np.array([[slope(u[j], i) for j in range(2)] for i in range(2)])
    strain = (gradient + gradient.swapaxes(0, 1)) / 2
    spread = strain[0, 0] + strain[1, 1]
    lost = 2 * 0.1 * np.mean(rho * (np.sum(strain * strain, (0, 1)) - spread**2 / 3))
    assert energy_rate == pytest.approx(-lost, rel=1e-9)
    assert np.mean(rho * s_t[0]) == pytest.approx(0, abs=1e-10 * lost)


@pytest.mark.thorough
@pytest.mark.slow
def test_a_soliton_of_langmuir_waves(make_grid):
    """E = A sech(a ξ) e^{i(vx/2 + (a² − v²/4)t)}, n = −|E|²/(1 − v²), ξ = x − vt, A² = 2a²(1 − v²)."""
    length, a, end = 40.0, 1.5, 1.0
    v = 4 * np.pi / length
    grid = make_grid((256,), lengths=(length,), devices=1, dealias="none")
    x = np.asarray(grid.coordinates()[0])

    def exact(t):
        xi = (x - v * t) % length - length / 2
        shape = 1 / np.cosh(a * xi)
        phase = v * (x - length / 2) / 2 + (a**2 - v**2 / 4) * t
        n = -2 * a**2 * shape**2
        envelope = np.sqrt(2 * (1 - v**2)) * a * shape * np.exp(1j * phase)
        return {"envelope": envelope[None], "density": n[None],
                "rate_of_density": (2 * a * v * np.tanh(a * xi) * n)[None]}  # fmt: skip

    found, before, after, _ = advanced(Zakharov(grid), exact(0.0), end, 500)
    for name, wanted in exact(end).items():
        assert np.abs(found[name] - wanted).max() < 1e-7 * np.abs(wanted).max(), name
    for column in ("mass", "energy"):
        assert float(after[column]) == pytest.approx(float(before[column]), rel=1e-9)


@pytest.mark.thorough
@pytest.mark.slow
def test_shear_of_a_fluid_with_polymers(make_grid):
    """Where shear starts, u_tt + (νk² + 1/λ)u_t + (ν + ν_p)k²u/λ = 0: it swings back, as no Newtonian fluid does."""
    nu, polymer, relaxation, k, end = 0.02, 0.6, 3.0, 2, 4.0
    equation = OldroydB(make_grid((12, 16), devices=2), nu, polymer, relaxation)
    velocity = np.stack([np.cos(k * X) + np.zeros((12, 1)), np.zeros((12, 16))])
    found, *_ = advanced(equation, {"velocity": velocity, "stress": np.zeros((3, 12, 16))}, end, 40)
    damped, stiffness = nu * k**2 + 1 / relaxation, (nu + polymer) * k**2 / relaxation
    system = np.array([[0.0, 1.0], [-stiffness, -damped]])
    amplitude = (exponential(system, end) @ [1.0, -nu * k**2])[0]
    assert amplitude < -0.05
    np.testing.assert_allclose(found["velocity"], amplitude * velocity, atol=1e-12)


@pytest.mark.thorough
@pytest.mark.slow
def test_what_polymers_and_flow_lose(make_grid):
    """d/dt ⟨½|u|² + ½tr τ⟩ = −ν⟨|∇u|²⟩ − ⟨tr τ⟩/(2λ)."""
    equation = OldroydB(make_grid((16, 16), devices=2), 0.03, 0.2, 1.5)
    x, y = np.meshgrid(X, X, indexing="ij")
    u = np.stack([np.sin(x) * np.cos(y), -np.cos(x) * np.sin(y)])
    tau = 0.1 * np.stack([1 + np.cos(x), np.sin(x + y), 1 + np.cos(2 * y)])
    fields = equation.from_physical({"velocity": jnp.asarray(u), "stress": jnp.asarray(tau)})
    change = jax.tree.map(jnp.add, equation.linear().apply(fields), equation.nonlinear(fields, 0.0))
    u_t, tau_t = (np.asarray(v) for v in equation.to_physical(change).values())
    row = equation.series(fields, 0.0)
    rate = np.mean(np.sum(u * u_t, 0)) + np.mean(tau_t[0] + tau_t[2]) / 2
    assert rate == pytest.approx(-float(row["dissipation"]) - float(row["elastic_energy"]) / 1.5, rel=1e-12)


GROWS = {  # without bound: text, fields, parameters, the largest rate at |k| = 5 of a grid of 16 points on 2π
    "antidiffusion": ("dt(q) = -0.1*lap(q)", {"q": "scalar"}, {}, 2.5),
    "fourth order": ("dt(q) = nu*lap(lap(q)) - q", {"q": "scalar"}, {"nu": 0.2}, 124.0),
    "one direction": ("dt(q) = dx(dx(q)) - a*dy(dy(q))", {"q": "scalar"}, {"a": 0.04}, 1.0),
    "a negative parameter": ("dt(q) = nu*lap(q)", {"q": "scalar"}, {"nu": -1.0}, 25.0),
    "complex": ("dt(A) = (1j - 0.2)*lap(A)", {"A": "wavefunction"}, {}, 5.0),
    "coupled": (["dt(a) = 0.1*lap(b)", "dt(b) = 0.1*lap(a)"], {"a": "scalar", "b": "scalar"}, {}, 2.5),
}


@pytest.mark.parametrize("case", GROWS)
def test_a_linear_part_that_amplifies_ever_shorter_waves_ever_faster_is_refused(make_grid, case):
    """Whatever the grid, its shortest waves grow first; the message has their rate, and `unbounded` lets it pass."""
    text, fields, numbers, rate = GROWS[case]
    grid = make_grid((16, 16), devices=1)
    kind = sw.write(text, fields=fields)
    with pytest.raises(ValueError, match=rf"ever faster: on this grid those of \|k\| = 5 grow as exp\({rate:g} t\)"):
        kind(grid, **numbers)
    sw.write(text, fields=fields, unbounded=True)(grid, **numbers)


BOUNDED = {
    "waves in a band": ("dt(u) = -u*dx(u) - lap(u) - lap(lap(u))", {"u": "scalar"}),
    "a rate of one": ("dt(q) = q", {"q": "scalar"}),
    "dispersion": ("dt(A) = 1j*lap(A) + dx(dx(dx(A)))", {"A": "wavefunction"}),
    "sound": (["dt(r) = -div(m)", "dt(m) = -4*grad(r)"], {"r": "scalar", "m": "vector"}),
    "heated from below": (
        ["dt(u) = -u@grad(u) - grad(p) + b*ey", "dt(b) = -u@grad(b) + 3*dot(u, ey)", "div(u) = 0"],
        {"u": "vector", "b": "scalar"},
    ),
}


@pytest.mark.parametrize("case", BOUNDED)
def test_growth_that_short_waves_do_not_exceed_is_none_to_refuse(make_grid, case):
    text, fields = BOUNDED[case]
    sw.write(text, fields=fields, unknowns={"p": "scalar"} if "grad(p)" in "".join(text) else {})(
        make_grid((16, 16), devices=1)
    )


def test_numbers_that_are_traced_are_not_refused_for_their_growth(make_grid):
    grid, kind = make_grid((16,), devices=1), sw.write("dt(q) = nu*lap(q)", fields={"q": "scalar"})
    grown = jax.jit(lambda nu: kind(grid, nu=nu).linear().entries["q"][..., 5].sum())(-1.0)
    assert float(np.real(grown)) == 25.0
