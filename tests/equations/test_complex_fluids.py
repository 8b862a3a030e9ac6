"""Fluids with polymers and active ones: what they lose, one as the limit of another, rates that linear theory gives."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import refused_in_one_line

import solver as sw


def changes(equation, values):
    """Fields and their rates of change at the points."""
    fields = equation.from_physical({name: jnp.asarray(v) for name, v in values.items()})
    rates = jax.tree.map(jnp.add, equation.linear().apply(fields), equation.nonlinear(fields, 0.0))
    found = equation.to_physical({**fields}), equation.to_physical(equation.to_manifold(rates))
    return fields, *({name: np.asarray(v) for name, v in values.items()} for values in found)


def smooth(grid):
    """A solenoidal flow, and a symmetric tensor near the unit tensor, of few modes."""
    x = np.meshgrid(*(2 * np.pi * np.arange(n) / n for n in grid.shape), indexing="ij")
    d, last = len(x), x[-1]
    flow = np.zeros((d, *grid.shape))
    flow[0], flow[1] = np.sin(x[0]) * np.cos(x[1]), -np.cos(x[0]) * np.sin(x[1]) + 0.3 * np.cos(last) * (d == 3)
    pairs = [(i, j) for i in range(d) for j in range(i, d)]
    return flow, np.stack([(i == j) + 0.1 * np.cos(x[i] + n) * np.cos(x[j]) for n, (i, j) in enumerate(pairs)])


def trace(values, d):
    return values[0] + values[2] if d == 2 else values[0] + values[3] + values[5]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "shape"), [("OldroydB", (8, 9, 8)), ("FeneP", (32, 32))])
def test_what_polymers_and_flow_lose(name, shape, make_grid):
    """d/dt ⟨½|u|² + E⟩ is what viscosity and springs lose; f of FENE-P is no polynomial, and needs more points."""
    grid, d, relaxation, polymer = make_grid(shape, devices=2), len(shape), 1.5, 0.2
    equation = getattr(sw.equations, name)(grid, 0.03, polymer, relaxation)
    flow, tensor = smooth(grid)
    other = next(other for other in equation.fields if other != "velocity")
    fields, now, rates = changes(equation, {"velocity": flow, other: tensor})
    extent, change = trace(now[other], d), trace(rates[other], d)
    if name == "FeneP":
        f = (100.0 - d) / (100.0 - extent)
        stored = polymer / (2 * relaxation) * np.mean(f * change)
        lost = polymer / (2 * relaxation**2) * np.mean(f * (f * extent - d))
    else:
        stored, lost = np.mean(change) / 2, np.mean(extent) / (2 * relaxation)
    row = equation.series(fields, 0.0)
    rate = np.mean(np.sum(now["velocity"] * rates["velocity"], 0)) + stored
    assert rate == pytest.approx(-float(row["dissipation"]) - lost, rel=1e-11)


@pytest.mark.thorough  # the second program and what is lost see both
@pytest.mark.slow
def test_polymers_without_a_longest_length_are_those_of_oldroyd(make_grid):
    """τ = ν_p/λ (c − I) where L is infinite."""
    grid = make_grid((8, 9, 8), devices=2)
    flow, c = smooth(grid)
    unit = np.array([1, 0, 0, 1, 0, 1.0])[:, None, None, None]
    shared = (grid, 0.03, 0.2, 1.5)
    *_, of_c = changes(sw.equations.FeneP(*shared, longest=1e9), {"velocity": flow, "conformation": c})
    *_, of_tau = changes(sw.equations.OldroydB(*shared), {"velocity": flow, "stress": 0.2 / 1.5 * (c - unit)})
    np.testing.assert_allclose(of_c["velocity"], of_tau["velocity"], rtol=0, atol=1e-12)
    np.testing.assert_allclose(of_c["conformation"], of_tau["stress"] * 1.5 / 0.2, rtol=0, atol=1e-11)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("order", "wave", "drive"),
    [(0.0, (2, 0), 1.3), (0.0, (2, 2), -1.3), (0.8, (3, 0), 1.3 + 0.8), (0.8, (0, 3), 1.3 - 0.8)],
    ids=["shear of disorder", "stretch of disorder", "bend", "splay"],
)
def test_active_filaments_grow_as_linear_theory_says(order, wave, drive, make_grid):
    """Along the diagonal a wave of Q_xy is a stretch: there it decays as without flow, and Q_xx grows."""
    nu, mu, zeta, relaxation, elasticity, disorder, saturation = 0.7, 0.3, 1.2, 0.9, 0.05, -0.64, 2.0
    equation = sw.equations.ActiveNematic(
        make_grid((16, 16), devices=2), nu, mu, zeta, 1.3, relaxation, elasticity, disorder, saturation
    )
    x, y = np.meshgrid(*[2 * np.pi * np.arange(16) / 16] * 2, indexing="ij")
    ripple = 1e-7 * np.cos(wave[0] * x + wave[1] * y)
    moved = "qxy" if 0 in wave else "qxx"
    values = {"qxx": np.full((1, 16, 16), order / 2), "qxy": np.zeros((1, 16, 16))}
    values[moved] = values[moved] + ripple
    *_, rates = changes(equation, values)
    k2 = wave[0] ** 2 + wave[1] ** 2
    relaxing = relaxation * elasticity * k2 + (relaxation * disorder if not order else 0.0)
    growth = abs(drive) * zeta * k2 / (2 * (nu * k2 + mu)) * np.sign(drive if order else 1.0) - relaxing
    found = np.sum(rates[moved][0] * ripple) / np.sum(ripple**2)
    assert found == pytest.approx(growth, rel=1e-6)


def test_an_active_force_needs_what_it_meets(make_grid):
    with refused_in_one_line("viscosity 0 and friction 0: one above zero is needed"):
        sw.equations.ActiveNematic(make_grid((8, 8), devices=1), viscosity=0, friction=0.0)


def test_damped_flames_grow_as_linear_theory_says(make_grid):
    flame = sw.equations.KuramotoSivashinsky(make_grid((16,), devices=1), 0.7, 0.3, -1.4, 0.2)
    k = np.arange(6.0)
    grown = np.asarray(flame.linear().entries["u"]).ravel()[:6]
    np.testing.assert_allclose(grown[1:], 0.7 * k[1:] ** 2 - 0.3 * k[1:] ** 4 - 0.2, rtol=1e-14)


@pytest.mark.parametrize(
    ("line", "power"),
    [("u = -grad(p) + (c - mean(c))*up", 0), ("nu*lap(u) - grad(p) + c*up = 0", 1)],
    ids=["Darcy", "Stokes"],
)
def test_layers_in_fluids_without_inertia_grow_as_linear_theory_says(line, power, make_grid):
    """c_t = −g u_y: the rate is −g (k_x²/k²) for Darcy's law and −g (k_x²/k²)/(νk²) for the Stokes equation."""
    layer = sw.write(
        ["dt(c) = -u@grad(c) - g*u.up", line, "div(u) = 0"], {"c": "scalar"}, unknowns={"u": "vector", "p": "scalar"}
    )
    grid = make_grid((16, 12), devices=1)
    found = np.asarray(layer(grid, g=-1.5, **({"nu": 0.4} if power else {})).linear().entries["c"])
    kx, ky = grid.wavenumbers()
    k2 = np.where(kx**2 + ky**2 > 0, kx**2 + ky**2, 1)
    np.testing.assert_allclose(found, 1.5 * kx**2 / k2 / (0.4 * k2) ** power, rtol=1e-13, atol=1e-13)
