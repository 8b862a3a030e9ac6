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
        k2, l2 = (self.space(name).fourier.k_squared() for name in self.fields)
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
WRITTEN = sw.write(
    [
        "dt(envelope) = 1j*lap(envelope) - 1j*density*envelope",
        "dt(density) = -damping*density + diffusivity*lap(density) + abs(envelope)**2",
    ],
    {"envelope": "wavefunction", "density": "scalar"},
)
ZAKHAROV = sw.write(
    ["dt(E) = 1j*lap(E) - 1j*n*E", "dt(n) = v", "dt(v) = lap(n) + lap(abs(E)**2)"],
    {"E": "wavefunction", "n": "scalar", "v": "scalar"},
    series={"mass": "mean(abs(E)**2)", "energy": "mean(abs(dx(E))**2 + n*abs(E)**2 + n**2/2)"},
)
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


@pytest.mark.thorough
@pytest.mark.parametrize("written", [False, True], ids=["by hand", "as text"])
def test_against_an_independent_solver(make_grid, written):
    grid, stepper = make_grid(SHAPE, devices=4), sw.steppers.ETDRK4()
    equation = WRITTEN(grid, damping=0.5, diffusivity=0.1) if written else Waves(grid)
    state = sw.initial_state(equation, stepper, start(equation.grid))
    assert state.field["envelope"].shape[1:] == equation.grid.as_complex.spectral_shape
    assert state.field["density"].shape[1:] == equation.grid.spectral_shape
    final = sw.integrate(equation, stepper, state, step=0.005, steps=100)
    computed = jax.jit(equation.to_physical)(final.field)
    envelope, density = reference(0.5)
    np.testing.assert_allclose(computed["envelope"][0], envelope, atol=2e-9)
    np.testing.assert_allclose(computed["density"][0], density.real, atol=2e-9)


@pytest.mark.thorough
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
    assert equation.report.snapshot_units()["envelope_imag"] == "volt/length"


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


@pytest.mark.thorough
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


# ---- as text ---------------------------------------------------------------------------------------------------------


def test_a_text_sees_the_rate_of_both_kinds(make_grid):
    grid = make_grid(SHAPE, devices=2)
    by_hand, written = Waves(grid), WRITTEN(grid, damping=0.5, diffusivity=0.1)
    fields = sw.initial_state(by_hand, sw.steppers.ETDRK4(), start(grid)).field
    u = by_hand.to_physical(fields)
    assert [str(s) for s in written.field_shapes().values()] == [str(s) for s in by_hand.field_shapes().values()]
    n, rate = written.change_and_rate(fields, 0.0)
    wanted = by_hand.nonlinear(fields, 0.0)
    for name in wanted:
        np.testing.assert_allclose(n[name], wanted[name], atol=1e-15)
    e, d = np.abs(u["envelope"]), np.abs(u["density"])
    assert rate == written.rate(fields)
    assert float(rate) == pytest.approx(np.max(np.maximum(d + e, 2 * e)), rel=0.2)  # rows of |∂N/∂(E, n)|
    row, other = written.series(fields, 0.1), by_hand.series(fields, 0.1)
    for column in ("envelope_energy", "density_energy"):
        assert float(row[column]) == pytest.approx(float(other[column]), rel=1e-14)


@pytest.mark.thorough
def test_a_soliton_of_the_zakharov_equations(make_grid):
    """E = A sech(a ξ) e^{i(vx/2 + (a² − v²/4)t)}, n = −|E|²/(1 − v²), ξ = x − vt, A² = 2a²(1 − v²)."""
    length, a, end = 40.0, 1.5, 1.0
    v = 4 * np.pi / length
    grid = make_grid((256,), lengths=(length,), devices=1, dealias="none")
    equation, stepper = ZAKHAROV(grid), sw.steppers.ETDRK4()
    x = np.asarray(grid.coordinates()[0])

    def exact(t):
        xi = (x - v * t - length / 2 + length / 2) % length - length / 2
        shape = 1 / np.cosh(a * xi)
        e = np.sqrt(2 * (1 - v**2)) * a * shape * np.exp(1j * (v * x / 2 + (a**2 - v**2 / 4) * t))
        n = -2 * a**2 * shape**2
        return {"E": e[None], "n": n[None], "v": (2 * a * v * np.tanh(a * xi) * n)[None]}

    state = sw.initial_state(equation, stepper, {name: jnp.asarray(u) for name, u in exact(0.0).items()})
    before = equation.series(state.field, 0.0)
    final = sw.integrate(equation, stepper, state, step=0.002, steps=500)
    found, wanted = equation.to_physical(final.field), exact(end)
    for name in wanted:
        assert np.abs(found[name] - wanted[name]).max() < 1e-7 * np.abs(wanted[name]).max(), name
    for column in ("mass", "E_energy"):
        assert float(equation.series(final.field, 0.0)[column]) == pytest.approx(float(before[column]), rel=1e-9)


def test_what_a_text_of_both_kinds_multiplies(make_grid):
    cls = sw.write(
        ["dt(E) = 1j*lap(E) + real(n) + n*n", "dt(n) = lap(n) + real(E) + imag(E*conj(E + n)) - mean(n*n)"],
        {"E": "wavefunction", "n": "scalar"},
    )
    equation = cls(make_grid((10, 9), devices=2, dealias="none"))
    rng = np.random.default_rng(0)
    u = {"E": rng.normal(size=(1, 10, 9)) + 1j * rng.normal(size=(1, 10, 9)), "n": rng.normal(size=(1, 10, 9))}
    fields = equation.from_physical({name: jnp.asarray(values) for name, values in u.items()})
    found = equation.to_physical(equation.nonlinear(fields, 0.0))
    u = {name: np.asarray(values) for name, values in equation.to_physical(fields).items()}
    e, n = u["E"], u["n"]
    wanted = equation.from_physical({
        "E": jnp.asarray(n + n * n + 0j), "n": jnp.asarray(e.real + (e * np.conj(e + n)).imag - np.mean(n * n))
    })  # fmt: skip
    wanted = equation.to_physical(wanted)
    for name in found:
        assert np.abs(found[name] - wanted[name]).max() < 1e-14, name


def test_a_linear_term_between_the_kinds_is_refused():
    with pytest.raises(ValueError, match=r"'n' in a linear term for 'E': one is real, the other complex.*real\(n\)"):
        sw.write(["dt(E) = 1j*lap(E) + n", "dt(n) = lap(n)"], {"E": "wavefunction", "n": "scalar"})(
            sw.Grid((8, 8), mesh=sw.device_mesh([0]))
        ).linear()


def test_separate_operators_fit_their_fields():
    operator = sw.operators.Separate((sw.Diagonal({"a": jnp.ones(4)}), sw.Diagonal({"b": jnp.ones(4)})))
    operator.check({"a": (1, 4), "b": (1, 4)})
    with pytest.raises(ValueError, match="a Separate linear part of the fields"):
        operator.check({"a": (1, 4), "c": (1, 4)})
