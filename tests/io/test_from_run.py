"""A run that starts where another stood: another resolution, other devices, other precision; and what is refused."""

import h5py
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import random_field

import solver as sw
from solver import assemble
from solver.cli.main import main
from solver.config import ConfigError
from solver.fft import Transform, resample
from solver.io.from_run import FromRun

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("mesh", [(4, 1), (2, 2)], ids=str)
@pytest.mark.parametrize("real", [True, False], ids=["real", "complex"])
def test_resampling_is_the_polynomial_through_the_points(make_grid, mesh, real):
    coarse = make_grid((12, 10, 16), mesh_shape=mesh, real=real)
    fine = make_grid((18, 20, 16), mesh_shape=mesh, real=real)
    u_hat = Transform(coarse).forward(random_field(coarse))
    moved = resample(u_hat, coarse, fine)
    np.testing.assert_allclose(resample(moved, fine, coarse), u_hat, atol=1e-17)
    wider = sw.Grid(fine.shape, lengths=9.0, mesh=fine.mesh, real=real)
    with pytest.raises(ValueError, match=r"resample between boxes of .*: equal ones are needed"):
        resample(u_hat, coarse, wider)
    assert float(sw.diagnostics.mean_square(moved, fine)) == pytest.approx(
        float(sw.diagnostics.mean_square(u_hat, coarse)), rel=1e-14
    )
    # 12 and 18 points along x, 10 and 20 along y: every second point in x of three, every other in y, is common
    before, after = Transform(coarse).inverse(u_hat), Transform(fine).inverse(moved)
    np.testing.assert_allclose(after[:, ::3, ::2], before[:, ::2], atol=1e-13)
    text = jax.jit(lambda v: resample(v, coarse, fine)).lower(u_hat).compile().as_text()
    assert "all-gather" not in text


def flow_run(tmp_path, shape=16, end=0.2, **more):
    text = f"""
    [grid]
    shape = [{shape}, {shape}]
    [equation]
    name = "boussinesq"
    viscosity = 0.05
    diffusivity = 0.02
    buoyancy_frequency = 1.0
    [initial.velocity]
    name = "random-phase"
    [initial.buoyancy]
    name = "bump"
    [time]
    stepper = "ifrk3"
    step = 0.05
    end = {end}
    [output]
    directory = "{tmp_path}/coarse"
    snapshots = {{}}
    """
    path = tmp_path / "coarse.toml"
    path.write_text(text)
    return path


def started(path, overrides, devices):
    config = assemble.read_run_file(path, overrides)
    run = assemble.Assembly(config, sw.device_mesh(range(devices)))
    return run, run.start()


@pytest.fixture
def coarse(tmp_path):
    """A finished run: its file, and its last state."""
    from solver.cli.main import main

    path = flow_run(tmp_path)
    assert main(["run", str(path), "devices.virtual=8", "devices.use=[0, 1, 2]"]) == 0
    return path


def test_every_field_goes_on_where_it_stood(tmp_path, coarse):
    there = tmp_path / "coarse"
    finer = [
        "grid.shape=[24, 20]",
        f"initial={{ name = 'run', path = '{there}' }}",
        f"output.directory={tmp_path}/fine",
    ]
    run, state = started(coarse, finer, 4)
    config = assemble.read_run_file(coarse)
    before = assemble.Assembly(config, sw.device_mesh(range(2)))
    old = sw.io.load_checkpoint(there / "checkpoints" / "step-00000004", before.equation, before.stepper)
    for name in ("velocity", "buoyancy"):
        then, now = before.equation.to_physical(old.field)[name], run.equation.to_physical(state.field)[name]
        assert float(np.abs(then).max()) > 1e-2
        np.testing.assert_allclose(now[:, ::3, ::5], then[:, ::2, ::4], atol=1e-13)
    assert float(state.t) == 0
    assert "t = 0.2, on 16×16" in " ".join(line for s in run.initials.values() for line in s.notes(run.grid))
    # a snapshot of the same time is the same start
    snapshot = f"initial={{ name = 'run', path = '{there}/snapshots/step-00000004.h5' }}"
    _, again = started(coarse, [finer[0], snapshot, finer[2]], 2)
    for name in ("velocity", "buoyancy"):
        np.testing.assert_allclose(again.field[name][..., :7, :], state.field[name][..., :7, :], atol=1e-14)
    # one field of it alone, in single precision and on fewer points, beside another kind of start
    alone = [
        "grid.shape=[12, 12]", "grid.precision=float32", f"output.directory={tmp_path}/alone",
        f"initial.buoyancy={{ name = 'run', path = '{there}', step = 0 }}",
    ]  # fmt: skip
    with pytest.raises(ConfigError, match=r"initial.buoyancy.step.*no checkpoint of step 0; it has 4"):
        started(coarse, alone, 1)
    _, small = started(coarse, [*alone[:3], alone[3].replace(", step = 0", ", step = 4")], 1)
    assert small.field["buoyancy"].dtype == np.complex64
    np.testing.assert_allclose(small.field["buoyancy"][0, 0, 0], old.field["buoyancy"][0, 0, 0], atol=1e-8)


def test_a_wavefunction_goes_on_too(make_grid, tmp_path):
    coarse, fine = (make_grid((n, n), devices=2, dealias="none", lengths=4.0) for n in (16, 24))
    wave = lambda grid: sw.sample(lambda x, y: 1 + 0.1 * jnp.exp(0.5j * np.pi * (x - 2 * y)), grid.as_complex)  # noqa: E731
    equation, stepper = sw.equations.SchroedingerPoisson(coarse), sw.steppers.Strang()
    state = sw.initial_state(equation, stepper, wave(coarse))
    sw.run(equation, stepper, state, end=0.0, step=0.05, directory=tmp_path / "halo")
    finer = sw.equations.SchroedingerPoisson(fine)
    start = FromRun(str(tmp_path / "halo")).for_equation(finer, "wavefunction")
    start.check(finer, "wavefunction")
    np.testing.assert_allclose(start(fine, finer.fields["wavefunction"])[0], wave(fine), atol=1e-14)
    real = sw.equations.AllenCahn(fine)
    with pytest.raises(ValueError, match="wavefunction is complex; a real field is needed"):
        FromRun(str(tmp_path / "halo"), field="wavefunction").check(real, next(iter(real.fields)))


def test_a_complex_field_starts_from_a_real_one(make_grid, tmp_path):
    coarse, fine = (make_grid((n, n), devices=2) for n in (12, 18))
    ripple = lambda grid: sw.sample(lambda x, y: jnp.cos(x - 2 * y), grid)  # noqa: E731
    phases, amplitudes = sw.equations.AllenCahn(coarse), sw.equations.ComplexGinzburgLandau(fine)
    [name], [field] = phases.fields, amplitudes.fields.values()
    state = sw.initial_state(phases, sw.steppers.IFRK2(), ripple(coarse))
    sw.run(phases, sw.steppers.IFRK2(), state, end=0.0, step=0.05, directory=tmp_path / "real")
    start = FromRun(str(tmp_path / "real"), field=name)(fine.as_complex, field)
    assert start.dtype == complex
    np.testing.assert_allclose(start[0], ripple(fine), atol=1e-14)


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        ({"path": "nowhere"}, r"initial.velocity.path: nowhere holds no checkpoint"),
        ({"field": "wind"}, r"has no field wind; it has buoyancy, velocity"),
    ],
    ids=["no run", "no field"],
)
def test_a_start_that_is_not_there_is_one_line(tmp_path, coarse, overrides, message):
    given = {"name": "run", "path": f"{tmp_path}/coarse", **overrides}
    table = ", ".join(f"{key} = '{value}'" for key, value in given.items())
    with pytest.raises(ConfigError, match=message):
        assemble.read_run_file(coarse, [f"initial={{ {table} }}", f"output.directory={tmp_path}/new"])


@pytest.mark.thorough
@pytest.mark.slow
def test_a_snapshot_in_single_precision_starts_a_run_in_its_box(tmp_path):
    """Its lengths are those that its places tell, which are rounded."""
    path, box = flow_run(tmp_path), "grid.lengths=[0.3, 1.1]"
    words = [box, "initial.velocity.peak=30", "grid.precision=float32", "devices.use=[0, 1]"]
    assert main(["run", str(path), *words]) == 0
    [*_, last] = sorted((tmp_path / "coarse" / "snapshots").glob("*.h5"))
    given = [f"initial={{ name = 'run', path = '{last}' }}", f"output.directory={tmp_path}/new"]
    run, state = started(path, [*given, box], 1)
    with h5py.File(last) as file:
        written = np.moveaxis(file["buoyancy"][...].reshape(16, 16, -1), -1, 0)
    np.testing.assert_allclose(run.equation.to_physical(state.field)["buoyancy"], written, atol=1e-6)
    with pytest.raises(ConfigError, match="its box is"):
        assemble.read_run_file(path, [*given, "grid.lengths=[0.300001, 1.1]"])


def test_another_box_is_refused(tmp_path, coarse):
    given = [f"initial={{ name = 'run', path = '{tmp_path}/coarse' }}", f"output.directory={tmp_path}/new"]
    with pytest.raises(ConfigError, match=r"its box is \[6.28.*\], this one \[1.0, 1.0\]"):
        assemble.read_run_file(coarse, [*given, "grid.lengths=[1, 1]"])


def test_modes_that_the_target_does_not_keep_are_zero(make_grid):
    """A grid with phase shifts keeps an ellipsoid of modes; all of the box went over to it."""
    source, target = make_grid((12, 16), devices=2), make_grid((9, 13), devices=2, dealias="phase-shift-alternating")
    u_hat = jnp.where(source.is_kept(), jnp.ones((2, *source.spectral_shape), complex), 0)
    moved, kept = np.asarray(resample(u_hat, source, target)), np.asarray(target.is_kept())
    assert np.all(moved[:, ~np.broadcast_to(kept, moved.shape[1:])] == 0)
    assert np.any(moved[:, np.broadcast_to(kept, moved.shape[1:])] == 1)


@pytest.mark.thorough
def test_the_log_says_what_a_coarser_grid_drops(tmp_path):
    """Two waves of amplitude 3 and 1 on 32 points: on 16 points the second, a tenth, is beyond k_max = 5."""
    x = 2 * np.pi * np.arange(32) / 32
    np.save(tmp_path / "u.npy", (3 * np.cos(x) + np.cos(8 * x))[:, None] + 0 * x)
    table = (
        '[grid]\nshape = [{n}, {n}]\nlengths = ["2 pi", "2 pi"]\n[equation]\nname = "allen-cahn"\n[initial]\n{start}\n'
        '[time]\nstepper = "etdrk2"\nstep = 1e-6\nend = 1e-6\n[devices]\nuse = [0, 1]\n[output]\ndirectory = "{out}"\n'
    )
    for n, start, out in [
        (32, f'name = "file"\npath = "{tmp_path}/u.npy"', "fine"),
        (16, f'name = "run"\npath = "{tmp_path}/fine"', "coarse"),
    ]:
        (tmp_path / f"{out}.toml").write_text(table.format(n=n, start=start, out=tmp_path / out))
        assert main(["run", str(tmp_path / f"{out}.toml")]) == 0
    log = (tmp_path / "coarse/log.txt").read_text()
    assert "initial field u: 10 % of its mean square lies beyond k_max = 5" in log
    assert "beyond" not in (tmp_path / "fine/log.txt").read_text()
