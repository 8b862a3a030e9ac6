"""Fields of a periodic box, as Fourier series."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from solver.diagnostics import shell_spectrum, shell_wavenumbers
from solver.diagnostics.points import at_places
from solver.fft import resample
from solver.grid import Fourier, Grid, Storage
from solver.operators import curl, gradient, hermitian, project_solenoidal, random_modes
from solver.spaces.space import SOLENOIDAL, Space, tail_of

TAIL = 0.1  # fraction of the shells up to k_max that form the tail
MIN_SHELLS = 6  # including that of the mean; with fewer there is no tail


class FourierSpace(Space):
    """u(x) = Σ_k û(k) exp(i k·x): real fields, half of whose modes are stored, or complex ones."""

    def __str__(self) -> str:
        return "Fourier series"

    @property
    def storage(self) -> Storage:
        return Storage("modes", Fourier(self.field.real))

    @property
    def fourier(self) -> Grid:
        return self.points

    @property
    def moves_points(self) -> bool:
        return True

    @property
    def limit(self) -> str:
        return f"k_max = {self.grid.k_max:.4g} (dealias = {str(self.grid.dealias)!r})"

    def forward(self, u: Array) -> Array:
        return self.fourier_transform.forward(u)

    def inverse(self, u_hat: Array) -> Array:
        return self.fourier_transform.inverse(u_hat)

    def pointwise(
        self, fn: Callable[..., Array], u_hat: Array, parameters: Any, at_points: Any, largest: Any = None
    ) -> Any:
        return self.fourier_transform.pointwise(fn, u_hat, parameters, at_points, largest=largest)

    def slopes(self) -> Sequence[np.ndarray]:
        return self.fourier.derivative_wavenumbers()

    def gradient(self, u_hat: Array) -> Array:
        return self.fourier_transform.inverse(gradient(u_hat, self.fourier))  # of scalars, too

    def curl(self, u_hat: Array) -> Array:
        return self.fourier_transform.inverse(curl(u_hat, self.fourier))

    def laplacian(self) -> Array:
        return -self.fourier.k_squared()

    def inverse_laplacian(self) -> Array:
        return -self.fourier.inverse_k_squared()

    def mean_modes(self, axes: Sequence[int] = ()) -> Array:
        wavenumbers = self.fourier.wavenumbers()
        chosen = [wavenumbers[axis] for axis in axes or range(len(wavenumbers))]
        return self.fourier.is_kept() & (sum(jnp.abs(jnp.asarray(k)) for k in chosen) == 0)

    def as_declared(self, u_hat: Array, what: str) -> Array:
        if what == SOLENOIDAL:
            return project_solenoidal(u_hat, self.fourier)
        if self.field.mean_axes:
            return jnp.where(self.mean_modes(self.field.mean_axes), 0, u_hat)
        return jnp.where(self.fourier.k_squared() == 0, 0, u_hat)

    @property
    def has_twins(self) -> bool:
        return self.field.real

    def symmetric(self, fields: Any) -> Any:
        return hermitian(fields, self.fourier)

    def random(self, key: Array) -> Array:
        return random_modes(key, self.fourier, self.stored_components)

    def tail(self, u_hat: Array) -> Array:
        """Mean energy of the last tenth of the shells up to k_max over the energy of the largest shell.

        It uses the spectrum ½|û|² without the mean. It is 0 if there are but rounding errors of the mean, or if the
        grid has too few shells.
        """
        grid = self.fourier
        shells = int(np.sum(shell_wavenumbers(grid) <= grid.k_max * (1 + 1e-9)))
        if shells < MIN_SHELLS:
            return jnp.zeros(())
        mean, energy = jnp.split(shell_spectrum(u_hat, grid)[:shells], [1])
        return tail_of(energy, max(1, round(TAIL * shells)), mean[0])

    def at_places(self, u_hat: Array, places: Sequence[Sequence[float]]) -> Array:
        return at_places(u_hat, places, self.fourier)

    def resampled(self, u_hat: Array, target: Space) -> Array:
        return resample(u_hat, self.fourier, target.fourier)
