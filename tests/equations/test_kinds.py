"""An equation of a real and a complex field: each is transformed as its kind needs, and both go the whole way."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import solve_ivp

import solver as sw
from solver.cli.main import main

pytestmark = pytest.mark.slow

WAVES = '''
import jax.numpy as jnp
import solver as sw


class Waves(sw.Equation):
    """E_t = i∇²E − i n E,  n_t = −γ n + κ∇²n + |E|²: a wave's envelope and a density that it drives.

    Args:
        damping: γ [1/time].
        diffusivity: κ [length²/time].
    """

    damping: float = 0.5
    diffusivity: float = 0.1
    fields = {"envelope": sw.Field("wavefunction", "volt/length"), "density": sw.Field("scalar", "1/length^3")}

    def linear(self):
        k2, l2 = (self.grid_of(name).k_squared() for name in self.fields)
        return sw.Diagonal({"envelope": -1j * k2, "density": -self.damping - self.diffusivity * l2})

    def nonlinear(self, fields, t):
        u = self.to_physical(fields)
        density = jnp.abs(u["envelope"]) ** 2
        return self.from_physical({"envelope": -1j * u["density"] * u["envelope"], "density": density})

    def rate(self, fields):
        return jnp.max(jnp.abs(self.to_physical(fields)["density"]))
'''
space = {}
exec(WAVES, space)
Waves = space["Waves"]
SHAPE = (16, 12)


def start(grid):
    envelope = sw.sample(lambda x, y: 1 + 0.3 * jnp.exp(1j * (x - 2 * y)) + 0.2j * jnp.cos(2 * x), grid)
    return {"envelope": envelope, "density": sw.sample(lambda x, y: 0.4 * jnp.cos(x) * jnp.sin(y) + 0 * x, grid)}


def reference(end):
    """The same truncated system with NumPy's transforms, by an adaptive method of order 8."""
    n = [np.fft.fftfreq(size, 1 / size) for size in SHAPE]
    kx, ky = np.meshgrid(*n, indexing="ij")
    kept = (3 * np.abs(kx) < SHAPE[0]) & (3 * np.abs(ky) < SHAPE[1])
    k2 = kx**2 + ky**2
    x, y = np.meshgrid(*(2 * np.pi * np.arange(size) / size for size in SHAPE), indexing="ij")
    cut = lambda u: np.fft.ifft2(np.fft.fft2(u) * kept)  # noqa: E731
    laplacian = lambda u: np.fft.ifft2(-k2 * np.fft.fft2(u))  # noqa: E731

    def rates(_, values):
        e, d = values.reshape(2, *SHAPE)
        e_t = 1j * laplacian(e) - 1j * cut(d.real * e)
        d_t = -0.5 * d + 0.1 * laplacian(d) + cut(np.abs(e) ** 2)
        return np.stack([e_t, d_t.real]).ravel()

    first = np.stack([1 + 0.3 * np.exp(1j * (x - 2 * y)) + 0.2j * np.cos(2 * x), 0.4 * np.cos(x) * np.sin(y) + 0j])
    done = solve_ivp(rates, (0, end), first.ravel(), method="DOP853", rtol=1e-11, atol=1e-12)
    return done.y[:, -1].reshape(2, *SHAPE)


@pytest.mark.parametrize("devices", [1, 4])
def test_against_an_independent_solver(make_grid, devices):
    equation, stepper = Waves(make_grid(SHAPE, devices=devices)), sw.steppers.ETDRK4()
    state = sw.initial_state(equation, stepper, start(equation.grid))
    assert state.field["envelope"].shape[1:] == equation.grid.as_complex.spectral_shape
    assert state.field["density"].shape[1:] == equation.grid.spectral_shape
    final = sw.integrate(equation, stepper, state, step=0.005, steps=100)
    computed = jax.jit(equation.to_physical)(final.field)
    envelope, density = reference(0.5)
    np.testing.assert_allclose(computed["envelope"][0], envelope, atol=2e-9)
    np.testing.assert_allclose(computed["density"][0], density.real, atol=2e-9)


def test_what_is_reported(make_grid):
    equation = Waves(make_grid(SHAPE, devices=2))
    u = start(equation.grid)
    state = sw.initial_state(equation, sw.steppers.ETDRK2(), u)
    row = equation.series(state.field, 0.1)
    assert float(row["envelope_energy"]) == pytest.approx(0.5 * np.mean(np.abs(u["envelope"]) ** 2))
    assert float(row["density_energy"]) == pytest.approx(0.5 * np.mean(u["density"] ** 2))
    assert float(equation.spectra(state.field)["envelope_energy"].sum()) == pytest.approx(float(row["envelope_energy"]))
    snapshot = equation.snapshot(state.field)
    assert list(snapshot) == ["envelope_real", "envelope_imag", "density"]
    assert equation.snapshot_units()["envelope_imag"] == "volt/length"


def test_checkpoints_on_other_devices(make_grid, tmp_path):
    stepper = sw.steppers.CNAB2()
    four, three = (Waves(make_grid(SHAPE, devices=n)) for n in (4, 3))
    state = sw.initial_state(four, stepper, start(four.grid))
    *_, state = sw.evolve(four, stepper, state, end=0.1, step=0.02)
    again = sw.io.load_checkpoint(sw.io.save_checkpoint(tmp_path, state, four.grid), three, stepper)
    rows, columns = four.grid.layout.logical_spectral_shape
    np.testing.assert_array_equal(
        np.asarray(again.field["density"])[:, :rows], np.asarray(state.field["density"])[:, :rows]
    )
    rows, columns = four.grid.as_complex.layout.logical_spectral_shape
    assert columns == 11
    np.testing.assert_array_equal(
        np.asarray(again.field["envelope"])[:, :rows], np.asarray(state.field["envelope"])[:, :rows]
    )


def test_from_a_run_file(tmp_path):
    (tmp_path / "waves.py").write_text(WAVES)
    run_file = tmp_path / "waves.toml"
    run_file.write_text(
        f"grid = {{ shape = {list(SHAPE)} }}\nequation = {{ name = 'waves.py:Waves' }}\n"
        "initial = { envelope = { name = 'plane-wave' }, density = { name = 'bump' } }\n"
        "time = { stepper = 'sbdf2', step = 0.01, end = 0.1 }\ndevices = { use = [0, 1] }\n"
        f"output = {{ directory = '{tmp_path}/out', snapshots = {{}}, spectra = {{}} }}\n"
    )
    assert main(["check", str(run_file)]) == 0
    assert main(["run", str(run_file)]) == 0
    assert main(["resume", str(tmp_path / "out"), "time.end=0.2"]) == 0
    assert main(["plot", str(tmp_path / "out")]) == 0
    assert main(["verify", str(tmp_path / "out")]) == 0


def test_a_matrix_couples_fields_of_one_kind(make_grid):
    class Coupled(Waves):
        name = "coupled"

        def linear(self):
            ones = jnp.ones((2, 2, *self.grid.spectral_shape))
            return sw.Matrix(ones, ("envelope", "density"), couples="fields")

    with pytest.raises(ValueError, match=r"envelope has \[7, 11\], density has \[4, 11\]"):
        Coupled(make_grid(SHAPE, devices=1)).check()
