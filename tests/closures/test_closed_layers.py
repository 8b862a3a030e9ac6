"""Closures between walls: stress, flux and energy against NumPy, widths, steps, restarts, and refusals."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from fields_of_numpy import strain_of
from helpers import refused_in_one_line

import solver as sw
from solver.dynamics.resolution import resolution_of

pytestmark = pytest.mark.slow
LENGTHS = (3.0, 2.0, 1.5)
CLOSURES = {
    "wale": sw.closures.WALE(constant=0.4, turbulent_schmidt=0.5),
    "dynamic": sw.closures.DynamicSmagorinsky(average="planes", turbulent_schmidt=0.5),
    "smagorinsky": sw.closures.Smagorinsky(constant=0.2, turbulent_schmidt=0.5),
}
WALLS = {
    "moving": {"velocity": sw.walls.Moving(upper=(1.0, 0.5)), "c": sw.walls.Value(1.0, 0.0)},
    "free": {"velocity": sw.walls.FreeSlip(), "c": sw.walls.Slope(-1.0, 2.0)},
}


class Layer:
    """Derivatives, filters and means at the points by NumPy: Fourier series along the walls, Legendre across them."""

    def __init__(self, shape, lengths):
        self.shape, self.height, self.d = shape, lengths[-1], len(shape)
        zeta, weights = np.polynomial.legendre.leggauss(shape[-1])
        self.z, self.weights, count = self.height / 2 * (1 + zeta), weights / 2, 2 * (shape[-1] + 1) // 3
        self.values = np.polynomial.legendre.legvander(zeta, count - 1)
        self.fit = (self.values * self.weights[:, None]).T * (2 * np.arange(count)[:, None] + 1)
        slopes = np.polynomial.legendre.legder(np.eye(count))
        self.across = np.polynomial.legendre.legvander(zeta, count - 2) @ slopes * 2 / self.height
        along = list(zip(shape[:-1], lengths, strict=False))
        self.k = np.meshgrid(*(2 * np.pi * np.fft.fftfreq(n, length / n) for n, length in along), indexing="ij")
        self.highest = [2 * np.pi * ((n - 1) // 3) / length for n, length in along]
        self.width = np.pi / (np.prod(self.highest) * count / np.sqrt(self.z * (self.height - self.z))) ** (1 / self.d)

    def along(self, f, factor):
        axes = range(self.d - 1)
        return np.fft.ifftn(np.fft.fftn(f, axes=axes) * factor[..., None], axes=axes).real

    def gradient(self, f):
        return np.array([*(self.along(f, 1j * k) for k in self.k), f @ self.fit.T @ self.across.T])

    def of_velocity(self, u):
        """∂u_i/∂x_j `(i, j, …)`."""
        return np.array([self.gradient(part) for part in u])

    def coarse(self, f):
        """Test filter along the walls, of the polynomials that the points hold."""
        inside = np.all([np.abs(k) <= h / 2 * (1 + 1e-9) for k, h in zip(self.k, self.highest, strict=True)], axis=0)
        return self.along(f, inside.astype(float)) @ self.fit.T @ self.values.T

    def of_planes(self, f):
        return np.mean(f, axis=tuple(range(self.d - 1)))

    def mean(self, f):
        return float(self.of_planes(f) @ self.weights)

    def eddy_viscosity(self, name, u):
        gradient = self.of_velocity(u)
        strain = strain_of(gradient)
        size = np.sqrt(2 * np.sum(strain**2, axis=(0, 1)))
        if name == "smagorinsky":
            return (0.2 * self.width) ** 2 * size
        if name == "wale":
            square = np.einsum("ik...,kj...->ij...", gradient, gradient)
            bent = strain_of(square) - np.einsum("ij,...->ij...", np.eye(3), np.trace(square)) / 3
            d, s = (np.sum(part**2, axis=(0, 1)) for part in (bent, strain))
            return (0.4 * self.width) ** 2 * d**1.5 / (s**2.5 + d**1.25)
        every = lambda tensor: np.array([[self.coarse(f) for f in row] for row in tensor])  # noqa: E731
        filtered = np.array([self.coarse(part) for part in u])
        of_filtered = strain_of(self.of_velocity(filtered))
        size_of_filtered = np.sqrt(2 * np.sum(of_filtered**2, axis=(0, 1)))
        resolved = every(np.einsum("i...,j...->ij...", u, u)) - np.einsum("i...,j...->ij...", filtered, filtered)
        ratio = 2 ** (2 * (self.d - 1) / self.d)  # of the widths, squared
        model = 2 * (every(size * strain) - ratio * size_of_filtered * of_filtered)
        resolved -= np.einsum("ij,...->ij...", np.eye(self.d), np.trace(resolved)) / self.d
        above, below = (self.of_planes(np.sum(part * model, axis=(0, 1))) for part in (resolved, model))
        return np.maximum(above / below, 0) * size


def flow(walls, closure, grid):
    """A velocity with a scalar, and random coefficients of both."""
    scalars = {"c": sw.PassiveScalar(diffusivity=0.02)}
    equation = sw.equations.NavierStokes(grid, 0.01, scalars=scalars, walls=WALLS[walls], closure=closure)
    keys = jax.random.split(jax.random.key(4))
    return equation, {
        name: 0.3 * equation.space(name).random(k) for name, k in zip(("velocity", "c"), keys, strict=True)
    }


@pytest.mark.parametrize(
    ("name", "shape", "walls", "devices"),
    [
        ("wale", (8, 7, 14), "moving", 1),
        ("dynamic", (13, 14), "free", 4),
        pytest.param("smagorinsky", (9, 14), "free", 2, marks=pytest.mark.thorough),
        pytest.param("dynamic", (8, 10, 13), "moving", 3, marks=pytest.mark.thorough),
    ],
)
def test_stress_and_flux_act_on_every_mode_as_their_integrals(name, shape, walls, devices):
    """⟨v · N⟩ of the closure is −⟨τ:∇v⟩, and ⟨d N⟩ is −⟨q·∇d⟩, for any v and d that the modes hold."""
    lengths = LENGTHS[-len(shape) :]
    grid = sw.Grid(shape, lengths, walls="xyz"[len(shape) - 1], mesh=sw.device_mesh(range(devices)))
    closed, fields = flow(walls, CLOSURES[name], grid)
    plain, layer = flow(walls, None, grid)[0], Layer(shape, lengths)
    np.testing.assert_allclose(resolution_of(grid).width, layer.width, rtol=1e-12)
    tests = {n: closed.space(n).random(jax.random.key(7)) for n in fields}

    @jax.jit
    def made(fields):
        difference = jax.tree.map(jnp.subtract, closed.nonlinear(fields, 0.0), plain.nonlinear(fields, 0.0))
        of_change = lambda f: {n: closed.space(n).inverse_of_change(f[n]) for n in f}  # noqa: E731
        return closed.to_physical(fields), of_change(difference), of_change(tests), closed.series(fields, 0.1)

    whole, change, other, columns = jax.tree.map(np.asarray, made(fields))
    eddy = layer.eddy_viscosity(name, whole["velocity"])
    stress = 2 * eddy * strain_of(layer.of_velocity(whole["velocity"]))
    flux = 2 * eddy * layer.gradient(whole["c"][0])
    lost = layer.mean(np.sum(stress * layer.of_velocity(other["velocity"]), axis=(0, 1)))
    found = layer.mean(np.sum(change["velocity"] * other["velocity"], axis=0))
    assert found == pytest.approx(-lost, rel=1e-10), (found, lost)
    found, lost = (
        layer.mean(change["c"][0] * other["c"][0]),
        layer.mean(np.sum(flux * layer.gradient(other["c"][0]), axis=0)),
    )
    assert found == pytest.approx(-lost, rel=1e-10), (found, lost)
    of_energy = layer.mean(np.sum(stress * layer.of_velocity(whole["velocity"]), axis=(0, 1)))
    assert columns["subgrid_dissipation"] == pytest.approx(of_energy, rel=1e-11)
    assert columns["eddy_viscosity"] == pytest.approx(layer.mean(eddy), rel=1e-11)


@pytest.mark.parametrize(("dealias", "walls"), [("two-thirds", "z"), ("two-thirds", None), ("three-halves", None)])
def test_every_plane_has_its_own_number(dealias, walls):
    """Of points that are more than modes, too."""
    grid = sw.Grid((4, 4, 10), LENGTHS, dealias=dealias, walls=walls, mesh=sw.device_mesh([0]))
    z = grid.coordinates()[-1].ravel()
    assert list(np.searchsorted(resolution_of(grid).middles, z)) == list(range(len(z)))


def test_wale_in_shear_at_rest_and_its_derivative():
    """Zero in any pure shear, and at rest, where its derivative is finite; of another gradient against differences."""
    wale = sw.closures.WALE()
    size = lambda gradient: wale.viscosity(gradient, 0.1, ())  # noqa: E731
    shear = jnp.zeros((3, 3)).at[0, 2].set(3.0).at[1, 2].set(-1.0)
    assert float(size(shear)) == 0.0
    assert not np.any(jax.grad(size)(jnp.zeros((3, 3))))
    one, other = jnp.asarray(np.random.default_rng(2).normal(size=(2, 3, 3)))
    assert float(size(3 * one)) == pytest.approx(3 * float(size(one)), rel=1e-12)
    difference = (float(size(one + 1e-5 * other)) - float(size(one - 1e-5 * other))) / 2e-5
    assert float(jnp.sum(jax.grad(size)(one) * other)) == pytest.approx(difference, rel=1e-7)


@pytest.mark.parametrize(
    ("closure", "walls", "message"),
    [
        (sw.closures.Smagorinsky(), "moving", "does not vanish there; wale, or dynamic-smagorinsky with average = 'pl"),
        (sw.closures.DynamicSmagorinsky(), "moving", "does not vanish there"),
        (sw.closures.Spectral(), "free", "no wavenumber across them; a closure at the points is needed"),
    ],
)
def test_closures_without_a_place_between_walls_are_refused(closure, walls, message):
    grid = sw.Grid((8, 6, 9), LENGTHS, walls="z", mesh=sw.device_mesh([0]))
    with refused_in_one_line(message):
        flow(walls, closure, grid)
