"""Shear layers, vortices, Orszag–Tang in space and Gaussian random fields: what they are."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import VELOCITY

import solver as sw
from solver import initial, operators
from solver.diagnostics import mean_square, shell_spectrum, shell_wavenumbers
from solver.equations import NavierStokes
from solver.steppers import IFRK2

pytestmark = pytest.mark.slow

CUBE = {"shape": (32, 30, 36), "dealias": "none", "devices": 2}


def coefficients(u, grid):
    return sw.fft.Transform(grid).forward(u)


def vorticity(u, grid):
    return np.asarray(sw.fft.Transform(grid).inverse(operators.curl(coefficients(u, grid), grid)))


def cell(grid):
    return np.prod(grid.spacing)


# ---- Orszag–Tang in three dimensions ----------------------------------------------------------------------------


def test_orszag_tang_in_space(make_grid):
    """As published, with about equal energies for amplitudes 1 and 0.8."""
    grid = make_grid((12, 14, 16), devices=2, lengths=[1.0, 2.0, 3.0])
    u, b = (initial.OrszagTang(1.0, magnetic=m)(grid) for m in (False, True))
    for field in (u, b):
        assert float(jnp.max(jnp.abs(operators.divergence(coefficients(field, grid), grid)))) < 1e-13
    x, y, z = (2 * np.pi * s / n for s, n in zip(grid.coordinates(), (1, 2, 3), strict=True))
    whole = lambda *parts: np.stack([np.broadcast_to(part, grid.shape) for part in parts])  # noqa: E731
    np.testing.assert_allclose(u, whole(-2 * np.sin(y), 2 * np.sin(x), 0), atol=1e-14)
    expected = whole(-2 * np.sin(2 * y) + np.sin(z), 2 * np.sin(x) + np.sin(z), np.sin(x) + np.sin(y))
    np.testing.assert_allclose(b, expected, atol=1e-14)
    energies = [0.5 * float(mean_square(coefficients(field, grid), grid)) for field in (u, 0.8 * b)]
    assert energies == pytest.approx([2.0, 1.92])


# ---- shear layers -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(8, 128), (8, 6, 128)], ids=["2-D", "3-D"])
def test_shear_layers(make_grid, shape):
    grid = make_grid(shape, devices=2, lengths=4.0)
    layers = initial.KelvinHelmholtz(2.0, 0.1, perturbation=0.01, waves=1)
    u, dye = np.asarray(layers(grid, VELOCITY)), np.asarray(layers(grid, sw.Field()))
    zeta = grid.coordinates()[-1].ravel()
    profile = u[0].reshape(-1, 128)[0]
    assert profile[[0, 64]] == pytest.approx([-2.0, 2.0], abs=1e-4)
    near = np.abs(zeta - 1) < 0.1
    np.testing.assert_allclose(profile[near], 2 * np.tanh((zeta[near] - 1) / 0.1), atol=5e-3)
    np.testing.assert_allclose(profile, profile[-np.arange(128) % 128], atol=1e-12)  # the other layer mirrors it
    np.testing.assert_array_equal(dye[0], u[0])
    across = u[-1]
    assert np.abs(across).max() == pytest.approx(2.0 * 0.01 * (1.5 if len(shape) == 3 else 1), rel=0.1)
    assert float(jnp.max(jnp.abs(operators.divergence(coefficients(u, grid), grid)))) < 1e-13


def test_a_layer_grows_at_michalke_s_rate(make_grid):
    """The fastest wave of a tanh layer, k δ = 0.44, grows with 0.19 U/δ while it is small."""
    delta = 0.22
    grid = make_grid((24, 96), devices=2, lengths=[np.pi, 2 * np.pi])
    flow = NavierStokes(grid, viscosity=0.0)
    start = initial.KelvinHelmholtz(1.0, delta, perturbation=1e-6, waves=1)(grid)
    state = sw.initial_state(flow, IFRK2(), start)
    sizes = []
    for at in (5.0, 7.0):
        *_, state = sw.evolve(flow, IFRK2(), state, end=at, step=0.02)
        sizes.append(float(jnp.sqrt(mean_square(state.field["velocity"][1:], grid))))
    assert np.log(sizes[1] / sizes[0]) / 2 == pytest.approx(0.1897 / delta, rel=0.03)


# ---- rings and tubes --------------------------------------------------------------------------------------------


def test_a_ring_has_its_circulation_and_impulse(make_grid):
    grid = make_grid(**CUBE)
    gamma, radius, core, centre = 1.5, 1.2, 0.45, (3.0, np.pi, 2.5)
    u = initial.VortexRing(gamma, radius, core, [centre])(grid)
    omega = vorticity(u, grid)
    x, y, z = (s - c for s, c in zip(grid.meshgrid(), centre, strict=True))
    impulse = [0.5 * cell(grid) * float(np.sum(a)) for a in np.cross(np.stack([x, y, z]), omega, axis=0)]
    assert impulse == pytest.approx([0, 0, np.pi * gamma * (radius**2 + core**2 / 2)], rel=1e-4, abs=1e-4)
    assert np.abs(np.asarray(u).mean(axis=(1, 2, 3))).max() < 1e-14
    # the sum of ω_y over planes of constant y, on one side of the axis: Γ in the middle plane
    middle = int(np.argmin(np.abs(grid.coordinates()[1].ravel() - centre[1])))
    half = np.asarray(x)[:, middle, :] > 0
    through = float(np.sum(omega[1][:, middle, :] * half)) * grid.spacing[0] * grid.spacing[2]
    assert through == pytest.approx(gamma, rel=5e-3)


def test_two_rings_along_other_axes(make_grid):
    grid = make_grid(**CUBE)
    centres, axes = [(2.0, 3.1, 3.1), (4.2, 3.1, 3.1)], [(2.0, 0.0, 0.0), (-3.0, 0.0, 0.0)]
    both = initial.VortexRing(1.0, 0.8, 0.4, centres, axes)(grid)
    alone = [initial.VortexRing(1.0, 0.8, 0.4, [c], [n])(grid) for c, n in zip(centres, axes, strict=True)]
    np.testing.assert_allclose(both, alone[0] + alone[1], atol=1e-13)
    i = round(2.0 / grid.spacing[0])
    assert float(alone[0][0, i, 15, 18]) > 0.3, "it blows along its axis"
    assert float(jnp.max(jnp.abs(jnp.mean(both, axis=(1, 2, 3))))) < 1e-14


def test_antiparallel_tubes(make_grid):
    grid = make_grid(**CUBE)
    tubes = initial.VortexTubes(2.0, 0.45, 2.4, perturbation=0.3, inclination=0.5)
    u = tubes(grid)
    omega = vorticity(u, grid)
    assert float(jnp.max(jnp.abs(operators.divergence(coefficients(u, grid), grid)))) < 1e-12
    x, y, z = grid.coordinates()
    for j in (0, 7, 15):
        right = (x[:, 0, 0] > np.pi)[:, None] * omega[1][:, j, :]
        strength = float(right.sum()) * grid.spacing[0] * grid.spacing[2]
        wave = np.cos(y[0, j, 0])
        assert strength == pytest.approx(2.0, rel=1e-2)
        place = [float((right * s).sum()) / float(right.sum()) for s in (x[:, 0, 0][:, None], z[0])]
        expected = np.pi + 1.2 + 0.3 * np.cos(0.5) * wave, np.pi - 0.3 * np.sin(0.5) * wave
        assert place == pytest.approx(expected, abs=0.02)
    np.testing.assert_allclose(omega[1].sum(axis=(0, 2)), 0, atol=1e-10)  # the other tube has −Γ
    between = np.asarray(u[2])[16, 15, 18]
    assert between > 0.5, "they move together along z"


@pytest.mark.thorough
def test_tubes_reconnect_where_they_are_closest(make_grid):
    """There the circulation of each falls, and vorticity across the plane between them links the two instead."""
    grid = make_grid((24, 24, 24), devices=2)
    flow, stepper = sw.equations.NavierStokes(grid, 0.04), IFRK2()
    start = sw.initial_state(flow, stepper, initial.VortexTubes(20.0, 0.7, 1.6, 0.4)(grid))
    sides = []
    for state in (start, *sw.evolve(flow, stepper, start, end=1.4, cfl=0.5)):
        omega = vorticity(flow.to_physical(state.field)["velocity"], grid) * grid.spacing[0] ** 2
        sides.append((omega[1][12:, 12].sum(), omega[1][12:, 0].sum(), (omega[0][12, :12] - omega[0][0, :12]).sum()))
    before, after = sides[0], sides[-1]
    assert after[0] < 0.85 * before[0], sides
    assert after[1] > 0.97 * before[1], sides
    assert after[0] - after[1] == pytest.approx(after[2], rel=0.1)  # no vortex line ends; sums on 24 points


# ---- Gaussian random fields -------------------------------------------------------------------------------------


def spectra_of(start, grid, field, count=200):
    """Mean shell spectrum and mean square over seeds, and the standard deviation of the latter."""

    @jax.jit
    @jax.vmap
    def of_key(key):
        u_hat = sw.fft.Transform(grid).forward(start(grid, field, key))
        return shell_spectrum(u_hat, grid), mean_square(u_hat, grid)

    spectrum, square = map(np.asarray, of_key(jax.random.split(jax.random.key(0), count)))
    return spectrum.mean(axis=0), square.mean(), square.std()


SPECTRA = {
    "power-law": (initial.GaussianRandom(0.7, "power-law", slope=-1.0, low=2.0, high=6.0),
                  lambda k: np.where((k >= 2) & (k <= 6), 1 / np.where(k > 0, k, 1), 0)),
    "von-karman": (initial.GaussianRandom(0.7, "von-karman", peak=3.0),
                   lambda k: (k / 3) ** 4 / (1 + (k / 3) ** 2) ** (17 / 6)),
    "exponential": (initial.GaussianRandom(0.7, "exponential", slope=2.0, peak=3.0),
                    lambda k: (k / 3) ** 2 * np.exp(-((k / 3) ** 2))),
}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "rank", "shape"),
    [
        *((name, "scalar", (24, 28)) for name in SPECTRA),
        *(("von-karman", rank, (24, 28)) for rank in ("solenoidal", "vector", "wavefunction")),
        ("exponential", "scalar", (64,)),
        ("exponential", "solenoidal", (14, 12, 16)),
    ],
    ids=str,
)
def test_a_gaussian_field_has_its_spectrum_and_rms_in_the_mean(make_grid, name, rank, shape):
    start, density = SPECTRA[name]
    grid = make_grid(shape, devices=1, real=rank != "wavefunction")
    field = VELOCITY if rank == "solenoidal" else sw.Field(rank)
    spectrum, square, deviation = spectra_of(start, grid, field)
    assert square == pytest.approx(0.49, rel=0.1)
    assert deviation / square > 0.03, "amplitudes are random too"
    k = np.sqrt(np.asarray(grid.k_squared()))
    with np.errstate(divide="ignore", invalid="ignore"):
        modes = np.where(k > 0, density(k) / k ** (len(shape) - 1), 0) * grid.mode_weights()
    inside = modes > 0
    shell = np.floor(k + 0.5).astype(int)
    wanted = np.bincount(shell[inside], modes[inside], minlength=len(shell_wavenumbers(grid)))
    np.testing.assert_allclose(2 * spectrum, 0.49 * wanted / wanted.sum(), rtol=0.3, atol=2e-3)


def test_values_of_a_gaussian_field_are_normal(make_grid):
    """Skewness 0 and flatness 3 of one component at one point, over seeds."""
    grid = make_grid((12, 14), devices=1)
    values = jax.jit(jax.vmap(lambda key: initial.GaussianRandom(peak=2.0)(grid, sw.Field(), key)[0, 3, 4]))(
        jax.random.split(jax.random.key(1), 4000)
    )
    values = np.asarray(values) / np.std(values)
    assert abs(values.mean()) < 0.06
    assert abs((values**3).mean()) < 0.15
    assert (values**4).mean() == pytest.approx(3, abs=0.35)


@pytest.mark.parametrize("start", [initial.GaussianRandom(), initial.VortexTubes(), initial.VortexRing()],
                         ids=lambda s: s.name)  # fmt: skip
def test_the_same_field_on_any_number_of_devices(make_grid, start):
    shape = (12, 14, 16)
    on_one, *others = (np.asarray(start(make_grid(shape, mesh_shape=m), VELOCITY, jax.random.key(3)))
                    for m in ((1, 1), (3, 1), (2, 3)))  # fmt: skip
    assert np.abs(on_one).max() > 0.1
    for other in others:
        np.testing.assert_allclose(other, on_one, atol=1e-13)


WRONG = {
    "layers": (lambda g: initial.KelvinHelmholtz(width=0.0), "width 0.0: a positive length"),
    "waves": (lambda g: initial.KelvinHelmholtz(waves=9)(g), "waves 9: this grid resolves at most 3"),
    "axes": (lambda g: initial.VortexRing(axes=[(1.0, 0.0, 0.0)] * 2), "2 axes for 1 centres"),
    "axis": (lambda g: initial.VortexRing(axes=[(0, 0, 0.0)])(g), r"axis \[0, 0, 0.0\]: a direction"),
    "centre": (lambda g: initial.VortexRing(centres=[(1.0, 2.0)])(g), r"centres \[1.0, 2.0\]: 3 numbers"),
    "core": (lambda g: initial.VortexTubes(core=-1.0), "core -1.0: a positive length"),
    "key": (lambda g: initial.GaussianRandom()(g), "gaussian-random without a key"),
    "cut-offs": (lambda g: initial.GaussianRandom(low=4.2, high=4.1)(g, key=jax.random.key(0)), "no mode of this grid"),
    "peak": (lambda g: initial.GaussianRandom(peak=0.0), "peak 0.0: a positive wavenumber"),
}


@pytest.mark.parametrize("case", WRONG)
def test_impossible_fields_are_refused_in_one_line(make_grid, case):
    make, message = WRONG[case]
    with pytest.raises(ValueError, match=message) as refusal:
        make(make_grid((10, 10, 10), devices=1))
    assert "\n" not in str(refusal.value)
