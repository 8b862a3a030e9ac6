"""Vortical part, waves and shear of a rotating, stratified flow: complete, orthogonal, and modes of the equation."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import on_devices

from solver.diagnostics import mean_product, mean_square
from solver.equations import Boussinesq
from solver.operators import curl, divergence, split_waves

NUMBERS = [(2.0, 0.0), (2.0, 3.0), (0.5, -1.0), (1e-3, 1.0)]


def a_flow(grid, seed=0):
    flow = Boussinesq(grid, 0.0, 0.0, 1.0)
    rng = np.random.default_rng(seed)
    values = {name: rng.normal(size=shape) for name, shape in flow.physical_shapes().items()}
    return jax.jit(flow.from_physical)(values)


def split(grid, fields, n, f):
    return split_waves(fields["velocity"], fields["buoyancy"], grid, buoyancy_frequency=n, rotation=f)


def energy_product(one, other, n, grid):
    return mean_product(one[0], other[0], grid) + mean_product(one[1], other[1], grid) / n**2


@pytest.mark.slow
@pytest.mark.parametrize("dealias", ["two-thirds", "none"])
@pytest.mark.parametrize(("n", "f"), NUMBERS)
def test_parts_are_complete_orthogonal_and_solenoidal(make_grid, n, f, dealias):
    grid = make_grid((8, 6, 9), devices=1, dealias=dealias)
    fields = a_flow(grid)
    parts = split(grid, fields, n, f)
    assert sorted(parts) == ["shear", "vortical", "waves"]
    for i, name in enumerate(("velocity", "buoyancy")):
        np.testing.assert_allclose(sum(part[i] for part in parts.values()), fields[name], atol=1e-14)
    whole = energy_product(*2 * [(fields["velocity"], fields["buoyancy"])], n, grid)
    products = {(a, b): float(energy_product(parts[a], parts[b], n, grid) / whole) for a in parts for b in parts}
    assert sum(products.values()) == pytest.approx(1, rel=1e-12)
    assert all(abs(value) < 1e-14 for (a, b), value in products.items() if a != b)
    assert min(products[a, a] for a in ("shear", "waves")) > 1e-3
    assert products["vortical", "vortical"] > (1e-3 if n > 0.1 else 1e-8)
    for velocity, _ in parts.values():
        assert float(jnp.max(jnp.abs(divergence(velocity, grid)))) < 1e-12
    for a in parts:  # projections
        again = split(grid, dict(zip(("velocity", "buoyancy"), parts[a], strict=True)), n, f)
        for b in parts:
            scale = float(mean_square(parts[a][1], grid)) ** 0.5
            np.testing.assert_allclose(again[b][1], parts[a][1] * (a == b), atol=1e-13 * max(scale, 1))


@pytest.mark.slow
@pytest.mark.parametrize(("n", "f"), NUMBERS)
def test_parts_are_modes_of_the_equation(make_grid, n, f):
    """L of the vortical part is 0; L² of the waves is −ω² times them; they have no potential vorticity."""
    grid = make_grid((8, 6, 9), devices=1)
    equation = Boussinesq(grid, 0.0, 0.0, n, rotation=f)
    parts = split(grid, a_flow(grid), n, f)
    linear = jax.jit(lambda part: equation.linear().apply(dict(zip(("velocity", "buoyancy"), part, strict=True))))
    moved = linear(parts["vortical"])
    size = [float(jnp.max(jnp.abs(field))) for field in parts["vortical"]]
    assert float(jnp.max(jnp.abs(moved["velocity"]))) < 1e-14 * (n + abs(f)) * (size[0] + size[1])
    assert float(jnp.max(jnp.abs(moved["buoyancy"]))) == 0
    waves = parts["waves"]
    once = linear(waves)
    twice = linear((once["velocity"], once["buoyancy"]))
    kx, ky, kz = grid.wavenumbers()
    k2 = kx**2 + ky**2 + kz**2
    squared = (n**2 * (kx**2 + ky**2) + f**2 * kz**2) / np.where(k2 == 0, 1, k2)
    np.testing.assert_allclose(twice["velocity"], -squared * waves[0], atol=1e-12)
    np.testing.assert_allclose(twice["buoyancy"], -squared * waves[1], atol=1e-12)
    vorticity = lambda part: curl(part[0], grid)[2] + f / n**2 * 1j * kz * part[1][0]  # noqa: E731
    assert float(jnp.max(jnp.abs(vorticity(waves)))) < 1e-13 * (1 + abs(f) / n**2)
    horizontal = (kx != 0) | (ky != 0)
    fields = a_flow(grid)
    whole = vorticity((fields["velocity"], fields["buoyancy"]))
    np.testing.assert_allclose(vorticity(parts["vortical"]), whole * horizontal, atol=1e-12 * (1 + abs(f) / n**2))
    if f == 0:
        assert float(jnp.max(jnp.abs(parts["vortical"][1]))) == 0, "without rotation it is velocity alone"
        np.testing.assert_allclose(linear(parts["shear"])["velocity"] * (k2 > 0), 0, atol=1e-14)


@pytest.mark.slow
def test_parts_on_eight_devices_and_in_single_precision(make_grid):
    results = []
    for split_over in ({"devices": 1}, {"devices": 8}, {"mesh_shape": (3, 2)}):
        grid = make_grid((16, 24, 10), **split_over)
        fields = a_flow(grid)
        parts = on_devices(lambda u, b, grid=grid: split_waves(u, b, grid, buoyancy_frequency=2.0, rotation=1.0),
                           fields["velocity"], fields["buoyancy"])  # fmt: skip
        results.append([np.asarray(part[0])[:, : grid.layout.retained[1], : grid.layout.retained[2]]
                        for part in parts.values()])  # fmt: skip
    for other in results[1:]:
        for found, expected in zip(other, results[0], strict=True):
            np.testing.assert_allclose(found, expected, atol=1e-15)
    grid = make_grid((8, 6, 9), devices=1, precision="float32")
    parts = split(grid, a_flow(grid), np.float64(2.0), 1.0)
    assert {part.dtype for pair in parts.values() for part in pair} == {np.dtype("complex64")}


@pytest.mark.slow
def test_derivatives_in_the_frequencies(make_grid):
    grid = make_grid((8, 6, 9), devices=1)
    fields = a_flow(grid)
    energy = lambda f: mean_square(split(grid, fields, 2.0, f)["vortical"][0], grid)  # noqa: E731
    difference = (energy(1.0 + 1e-5) - energy(1.0 - 1e-5)) / 2e-5
    assert float(jax.grad(energy)(1.0)) == pytest.approx(float(difference), rel=1e-6)


@pytest.mark.slow
def test_what_has_no_parts_is_refused(make_grid):
    grid, flat = make_grid((8, 6, 9), devices=1), make_grid((8, 6), devices=1)
    fields = a_flow(grid)
    with pytest.raises(ValueError, match=r"buoyancy_frequency 0\.0: a positive number is needed"):
        split(grid, fields, 0.0, 1.0)
    with pytest.raises(ValueError, match="split_waves in 2 dimensions: three are needed"):
        split(flat, a_flow(flat), 1.0, 0.0)
