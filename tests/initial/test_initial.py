"""Initial fields: what they are, and that the devices do not matter."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import VELOCITY

import solver as sw
from solver import initial, operators
from solver.assemble.classes import built_in
from solver.diagnostics import mean_square, shell_spectrum, shell_wavenumbers
from solver.equations import SchroedingerPoisson

pytestmark = pytest.mark.slow

KEY = jax.random.key(7)


def largest_divergence(u, grid):
    u_hat = sw.fft.Transform(grid).forward(u)
    return float(jnp.max(jnp.abs(sw.fft.Transform(grid).inverse(operators.divergence(u_hat, grid)))))


@pytest.mark.parametrize("shape", [(24, 24), (24, 24, 24)], ids=str)
def test_taylor_green_is_solenoidal_with_its_energy(make_grid, shape):
    grid = make_grid(shape, devices=4, lengths=3.0)
    u = initial.TaylorGreen(amplitude=2.0)(grid)
    assert largest_divergence(u, grid) < 1e-13
    assert float(jnp.mean(jnp.sum(u**2, axis=0)) / 2) == pytest.approx(4 * (0.25 if len(shape) == 2 else 0.125))


def test_beltrami_is_its_own_vorticity(make_grid):
    grid = make_grid((24, 24, 24), devices=4)
    u_hat = sw.fft.Transform(grid).forward(initial.Beltrami((1.0, 0.7, 0.43), wavenumber=2)(grid))
    np.testing.assert_allclose(operators.curl(u_hat, grid), 2 * u_hat, atol=1e-15)


@pytest.mark.parametrize("solenoidal", [True, False])
def test_random_phase_has_the_prescribed_spectrum_exactly(make_grid, solenoidal):
    grid = make_grid((32, 24, 16), devices=4)
    u = initial.RandomPhase(energy=0.7, peak=3.0, slope=2.0)(grid, sw.Field("vector", solenoidal=solenoidal), KEY)
    u_hat = sw.fft.Transform(grid).forward(u)
    spectrum = shell_spectrum(u_hat, grid)
    k = shell_wavenumbers(grid)
    wanted = k**2 * np.exp(-((k / 3.0) ** 2))
    np.testing.assert_allclose(spectrum, 0.7 * wanted / wanted.sum(), rtol=1e-11, atol=1e-16)
    assert float(0.5 * mean_square(u_hat, grid)) == pytest.approx(0.7, rel=1e-13)
    assert np.abs(np.asarray(u).mean(axis=(1, 2, 3))).max() < 1e-15
    if solenoidal:
        assert largest_divergence(u, grid) < 1e-13


@pytest.mark.parametrize("real", [True, False])
@pytest.mark.parametrize("shape", [(24, 16, 20), (32, 24)], ids=str)
def test_random_phase_is_the_same_field_on_any_number_of_devices(make_grid, shape, real):
    fields = []
    for mesh in ((1, 1), (3, 1) if len(shape) == 2 else (2, 3), (5, 1)):
        grid = make_grid(shape, mesh_shape=mesh, real=real)
        fields.append(np.asarray(initial.RandomPhase()(grid, key=KEY)))
    scale = np.abs(fields[0]).max()
    assert np.abs(fields[1] - fields[0]).max() < 1e-13 * scale
    assert np.abs(fields[2] - fields[0]).max() < 1e-13 * scale
    other = np.asarray(initial.RandomPhase()(grid, key=jax.random.key(8)))
    assert np.abs(other - fields[0]).max() > 0.1 * scale


def test_packets(make_grid):
    grid = make_grid((32, 16, 16), devices=4, lengths=16.0, real=False, dealias="none")
    assert float(jnp.max(jnp.abs(jnp.abs(initial.PlaneWave((1, 2), 3.0)(grid)) - 3))) < 1e-14
    psi = initial.Gaussian(width=1.2, centre=(0.0, 8.0, 15.0), velocity=(0.8, 0.0, 0.0))(grid)
    norm = float(jnp.mean(jnp.abs(psi) ** 2)) * 16**3
    assert norm == pytest.approx((np.pi * 1.2**2) ** 1.5, rel=2e-3)  # images: the packet is centred on the boundary
    two = initial.Solitons([1.5, 2.0], [(4.0, 8.0, 8.0), (12.0, 8.0, 8.0)], coupling=3.0)(grid)
    assert two.shape == (1, 32, 16, 16)
    core = float(jnp.abs(two[0, 8, 8, 8]) ** 2)
    assert core == pytest.approx(initial.CORE_RADIUS**4 / (3 * 1.5**4), rel=0.05)


# every initial field that a run file can name, as it stands in Python: parameters without defaults, and a grid for it
REQUIRED = {
    "nls-soliton": {"coupling": 1.0},
    "quantised-vortices": {"healing_length": 0.5, "centres": [[2.0, 2.3], [2.1, 4.0]]},
    "solitons": {"core_radii": [0.6], "centres": [[1.0, 2.0, 3.0]], "coupling": 1.0},
}
REGISTERED = dict(built_in("initial"))
for needing in ("file", "run", "conduction", "ground-state"):  # a file, a run, an equation
    del REGISTERED[needing]


def suitable(cls, make_grid, devices=4):
    """A small grid in which a class exists, with a field of each rank that it makes."""
    for rank in cls.ranks:
        field = sw.Field(rank, solenoidal=rank == "vector")
        real = rank != "wavefunction"
        shape = (16,) * max(2, min(cls.dimensions))
        yield make_grid(shape, devices=devices, real=real, dealias="two-thirds" if real else "none"), field


@pytest.mark.parametrize("name", REGISTERED)
def test_every_initial_field_works_with_its_defaults(make_grid, name):
    cls = REGISTERED[name]
    assert "Args:" in cls.__doc__
    assert "Source:" in cls.__doc__ or " = " in cls.__doc__
    start = cls(**REQUIRED.get(name, {}))
    for grid, field in suitable(cls, make_grid):
        u = start(grid, field, KEY)
        assert u.shape == (len(field.component_names("u", grid.dimensions)), *grid.physical_shape)
        assert u.dtype == grid.physical_dtype
        assert u.sharding.is_equivalent_to(grid.physical_sharding(u.ndim), u.ndim)
        assert bool(jnp.all(jnp.isfinite(u)))
        if field.solenoidal and name != "uniform":
            assert largest_divergence(u, grid) < 1e-12


@pytest.mark.parametrize("name", REGISTERED)
def test_every_number_can_be_differentiated_and_batched(make_grid, name):
    """Derivatives in all leaves at once are those of finite differences along them."""
    cls = REGISTERED[name]
    start = cls(**REQUIRED.get(name, {}))
    grid, field = next(suitable(cls, make_grid, devices=1))
    weight = np.random.default_rng(0).normal(size=start(grid, field, KEY).shape)

    @jax.jit
    def total(start):
        return jnp.sum(weight * jnp.abs(start(grid, field, KEY) - 0.3) ** 2)

    numbers = jax.tree.map(jnp.asarray, start)
    direction = jax.tree.map(jnp.ones_like, numbers)
    _, slope = jax.jvp(total, [numbers], [direction])
    moved = lambda h: float(total(jax.tree.map(lambda x, d: float(x + h * d), numbers, direction)))  # noqa: E731
    difference = (moved(1e-5) - moved(-1e-5)) / 2e-5
    assert abs(difference) > 1e-3
    assert float(slope) == pytest.approx(difference, rel=1e-5)
    gradient = jax.grad(total)(numbers)
    assert float(sum(jnp.sum(g) for g in jax.tree.leaves(gradient))) == pytest.approx(float(slope), rel=1e-10)
    batch = jax.jit(jax.vmap(lambda start: start(grid, field, KEY)))(jax.tree.map(lambda x: jnp.stack([x, x]), numbers))
    np.testing.assert_allclose(batch[1], start(grid, field, KEY), rtol=1e-12, atol=1e-12)


def test_gradient_with_respect_to_the_amplitude(make_grid):
    """The energy of a Taylor–Green vortex is A²/8 in three dimensions."""
    grid = make_grid((16, 16, 16), devices=4)
    energy = lambda amplitude: jnp.mean(jnp.sum(initial.TaylorGreen(amplitude)(grid) ** 2, axis=0)) / 2  # noqa: E731
    assert float(jax.grad(energy)(2.0)) == pytest.approx(0.5, rel=1e-13)


def test_solitons_take_the_coupling_of_the_equation(make_grid):
    grid = make_grid((16, 16, 16), devices=4, lengths=16.0, real=False, dealias="none")
    open_ = initial.Solitons([2.0], [[8.0, 8.0, 8.0]])
    equation = SchroedingerPoisson(grid, coupling=2.5)
    filled = open_.for_equation(equation, "wavefunction")
    np.testing.assert_array_equal(filled(grid), initial.Solitons([2.0], [[8.0, 8.0, 8.0]], coupling=2.5)(grid))
    assert (
        initial.Solitons([2.0], [[8.0, 8.0, 8.0]], coupling=1.0).for_equation(equation, "wavefunction").coupling == 1.0
    )
    with pytest.raises(ValueError, match=r"^solitons without coupling: .* is needed"):
        open_(grid)
    with pytest.raises(ValueError, match=r"^solitons with coupling 0\.0: a positive number"):
        open_.for_equation(SchroedingerPoisson(grid, coupling=0.0), "wavefunction")


def test_sequences_are_kept_as_tuples():
    start = initial.Solitons([2.0], np.array([[8.0, 8.0, 8.0]]), velocities=[[0.0, 1.0, 0.0]])
    assert (start.core_radii, start.centres, start.velocities) == ((2.0,), ((8.0,) * 3,), ((0.0, 1.0, 0.0),))
    assert initial.PlaneWave([1, 2]) == initial.PlaneWave((1, 2))


FLAT, CUBE = {"shape": (16, 16)}, {"shape": (16, 16, 16)}
COMPLEX = {"shape": (16, 16, 16), "real": False, "dealias": "none"}
ORIGIN = (0.0, 0.0, 0.0)
REFUSED = {
    "dimension": (lambda g: initial.Beltrami()(g), FLAT, "beltrami on a grid of 2 dimensions; it is a field in 3"),
    "sides": (lambda g: initial.TaylorGreen()(g), {**FLAT, "lengths": [1.0, 2.0]}, "equal lengths in x and y"),
    "coefficients": (lambda g: initial.Beltrami([1.0, 2.0])(g), CUBE, r"coefficients \[1.0, 2.0\]: three numbers"),
    "wavenumber": (lambda g: initial.Beltrami(wavenumber=9)(g), CUBE, "wavenumber 9: this grid resolves at most 5"),
    "halves": (lambda g: initial.Cosine((1.5,))(g), CUBE, "1.5: a whole number is needed"),
    "rank": (lambda g: initial.TaylorGreen()(g, sw.Field()), FLAT, "taylor-green for a scalar: .* of rank vector$"),
    "other rank": (lambda g: initial.Bump()(g, VELOCITY), FLAT, "bump for a vector: .* of rank scalar$"),
    "energy": (lambda g: initial.RandomPhase(energy=-1.0)(g, key=KEY), FLAT, "energy -1.0: a positive number is"),
    "nan": (lambda g: initial.RandomPhase(slope=np.nan)(g, key=KEY), FLAT, "slope nan: a positive number is needed"),
    "peak": (lambda g: initial.RandomPhase(peak=1e-3)(g, key=KEY), FLAT, "less than 1% of its spectrum lies"),
    "high peak": (lambda g: initial.RandomPhase(peak=1000.0)(g, key=KEY), FLAT, "less than 1% of its spectrum"),
    "key": (lambda g: initial.RandomPhase()(g), FLAT, "random-phase without a key: one from jax.random.key is needed"),
    "bump": (lambda g: initial.Bump(width=0.0)(g), FLAT, "bump with width 0.0: a positive length is needed"),
    "places": (lambda g: initial.Bump(centres=[[1.0]])(g), FLAT, r"centres \[1.0\]: 2 numbers are needed"),
    "width": (lambda g: initial.Gaussian(width=-1.0)(g), COMPLEX, "gaussian with width -1.0: a positive length"),
    "centre": (lambda g: initial.Gaussian(centre=[1.0])(g), COMPLEX, r"centre \[1.0\]: 3 numbers"),
    "solitons": (lambda g: initial.Solitons([1.0], [ORIGIN] * 2, 1.0)(g), COMPLEX, "1 core_radii, 2 centres and 1 vel"),
    "no solitons": (lambda g: initial.Solitons([], [], 1.0)(g), COMPLEX, "0 core_radii, .* at least one"),
    "radii": (lambda g: initial.Solitons([-1.0], [ORIGIN], 1.0)(g), COMPLEX, r"core_radii \(-1.0,\): a positive"),
    "modes": (lambda g: initial.PlaneWave((1, 2, 3, 4))(g), COMPLEX, r"modes \[1, 2, 3, 4\] on a grid of 3 dim"),
    "mode": (lambda g: initial.PlaneWave((1, 9))(g), COMPLEX, "a mode of 9: this grid resolves at most"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_impossible_fields_are_refused_in_one_line(make_grid, case):
    make, options, message = REFUSED[case]
    grid = make_grid(devices=2, **options)
    with pytest.raises(ValueError, match=message) as refusal:
        make(grid)
    assert "\n" not in str(refusal.value)


def test_a_key_in_the_place_of_the_field_is_told(make_grid):
    with pytest.raises(TypeError, match=r"random-phase\(grid, field, key\): field is of type .*; a Field, or key=…"):
        sw.initial.RandomPhase()(make_grid((8, 8), devices=1), jax.random.key(0))


def test_a_peak_among_waves_that_share_the_shell_of_the_mean_is_refused(make_grid):
    """On [2π, 20π] shells are 1 wide and the longest wave has k = 0.1: a peak at 0.3 would get no long wave.

    x⁴exp(−2x²) from 0 to 5/3, is 95 % of its whole integral. In a box of [7, 6] no wave shares the shell of
    the mean, and of a peak at 0.95 of the width 5 % is lost.
    """
    grid = make_grid((16, 160), devices=2, lengths=(2 * np.pi, 20 * np.pi))
    field = sw.Field("scalar")
    with pytest.raises(ValueError, match=r"peak 0.3: 95% of its spectrum lies below k = 0.5, .* k = 0.1, .*gaussian"):
        sw.initial.RandomPhase(peak=0.3)(grid, field, jax.random.key(0))
    sw.initial.RandomPhase(peak=0.95)(grid, field, jax.random.key(0))
    sw.initial.RandomPhase(peak=0.7)(make_grid((16, 16), devices=2, lengths=(7.0, 6.0)), field, jax.random.key(0))
    sw.initial.RandomPhase(peak=0.3)(make_grid((16, 16), devices=2, lengths=20 * np.pi), field, jax.random.key(0))
