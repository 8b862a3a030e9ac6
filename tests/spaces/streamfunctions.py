"""A space that is not of the package, whose stored components are fewer than those at the points."""

import jax.numpy as jnp

import solver as sw
from solver.grid import Fourier
from solver.operators import hermitian, random_modes


class Streamfunctions(sw.Space):
    """A velocity (∂ψ/∂y, −∂ψ/∂x) in two dimensions, stored as the Fourier modes of ψ."""

    stored_components = 1

    def __str__(self):
        return "streamfunctions"

    @property
    def storage(self):
        return sw.Storage("modes", Fourier())

    @property
    def transform(self):
        return sw.fft.Transform(self.grid, self.method, self.shift)

    def forward(self, u):
        kx, ky = self.slopes()
        u_hat, v_hat = self.transform.forward(u)
        return (-self.inverse_laplacian() * 1j * (kx * v_hat - ky * u_hat))[None]

    def inverse(self, u_hat):
        kx, ky = self.slopes()
        return self.transform.inverse(1j * jnp.concatenate([ky * u_hat, -kx * u_hat]))

    def vorticity(self, u_hat):
        return self.transform.inverse(-self.laplacian() * u_hat)

    def product(self, a_hat, b_hat, weight=1):
        return super().product(a_hat, b_hat, weight * -self.laplacian())

    def slopes(self):
        return self.grid.derivative_wavenumbers()

    def laplacian(self):
        return -self.grid.k_squared()

    def inverse_laplacian(self):
        return -self.grid.inverse_k_squared()

    def as_declared(self, u_hat, what):
        return u_hat if what == "solenoidal" else super().as_declared(u_hat, what)

    has_twins = True
    moves_points = True

    def symmetric(self, fields):
        return hermitian(fields, self.grid)

    def random(self, key):
        return random_modes(key, self.grid)


class FlowByStreamfunction(sw.Equation):
    """u_t = u × ω − ∇p + ν∇²u in two dimensions, without a mean flow.

    Args:
        viscosity: ν [length²/time].
    """

    name = "flow-by-streamfunction"
    fields = {"velocity": sw.Field("vector", "length/time", solenoidal=True, zero_mean=True)}  # noqa: RUF012
    dimensions = (2,)
    keeps_constraints = True

    viscosity: float = 0.01

    def space(self, name):
        return Streamfunctions(name, self.fields[name], self.grid, self.method, self.shift)

    def linear(self):
        return sw.Diagonal({"velocity": self.viscosity * self.space("velocity").laplacian()})

    def nonlinear(self, fields, t):
        space = self.space("velocity")
        (u, v), omega = space.inverse(fields["velocity"]), space.vorticity(fields["velocity"])[0]
        return {"velocity": space.forward(jnp.stack([v * omega, -u * omega]))}

    def rate(self, fields):
        return sw.equations.advection_rate(self.space("velocity").inverse(fields["velocity"]), self.grid)
