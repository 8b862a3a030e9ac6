"""Two spaces from outside: cosine series between walls, and velocities that are stored as streamfunctions."""

import dataclasses
import re
import shutil
from pathlib import Path

import h5py
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import VELOCITY, random_field, refused_in_one_line

import solver as sw
from solver.cli.main import main
from solver.equations import NavierStokes
from solver.io import read_series
from solver.spaces.manifold import distances
from spaces.cosines import AllenCahnAsText, AllenCahnBetweenWalls, CosineSpace, SineSpace, WeightedMeans
from spaces.streamfunctions import FlowByStreamfunction, Streamfunctions

SHAPE, LENGTHS = (24, 18), (6.0, 4.0)


def start(x, z):
    return 0.3 * jnp.cos(2 * jnp.pi * x / 6) * jnp.cos(jnp.pi * z / 4) + 0.2 * jnp.cos(jnp.pi * z / 2) + 0.1


def begun(cls, stepper, devices=1, precision="float64", **parameters):
    mesh = sw.device_mesh(range(devices))
    equation = cls(sw.Grid(SHAPE, LENGTHS, precision=precision, mesh=mesh), viscosity=0.1, **parameters)
    return equation, sw.initial_state(equation, stepper, sw.sample(start, equation.grid))


def values(equation, state):
    return equation.to_physical(state.field)["u"][0]


def in_mirrored_box(steps, **parameters):
    """The same flow in a periodic box of twice the height, whose points are half a spacing lower."""
    stepper = sw.steppers.ETDRK4()
    grid, down = sw.Grid((24, 36), (6.0, 8.0), mesh=sw.device_mesh([0])), 4 / 36
    equation = sw.write(["dt(u) = viscosity*lap(u) + u - u**3"], {"u": "scalar"})(grid, viscosity=0.1, **parameters)
    state = sw.initial_state(equation, stepper, sw.sample(lambda x, z: start(x, z + down), grid))
    return values(equation, sw.integrate(equation, stepper, state, step=0.02, steps=steps))[:, :18]


@pytest.fixture(scope="module")
def mirrored():
    return in_mirrored_box(50)


COMPETING = ["dt(u) = viscosity*lap(u) + u - u*v**2", "dt(v) = viscosity*lap(v) + v/2 - u**2*v"]


def cosines_and_sines(lines, devices=1, **options):
    """An equation of a text with u even and v odd at both walls, and its fields at the start."""

    class TwoSpaces(sw.Equation):
        text = sw.Text(lines, fields={"u": "scalar", "v": "scalar"}, **options)
        with_points = AllenCahnBetweenWalls.with_points

        def space(self, name):
            return {"u": CosineSpace, "v": SineSpace}[name].of(name, self.fields[name], self.grid, self.method)

    equation = TwoSpaces(sw.Grid(SHAPE, LENGTHS, mesh=sw.device_mesh(range(devices))), viscosity=0.1)
    return equation, competing(*equation.grid.coordinates())


def competing(x, z):
    v = 0.4 * jnp.sin(jnp.pi * z / 4) * (1 + jnp.cos(2 * jnp.pi * x / 6))
    return {"u": jnp.broadcast_to(start(x, z), v.shape)[None], "v": v[None]}


@pytest.mark.slow
@pytest.mark.parametrize("devices", [1, 4])
def test_fields_of_one_text_in_spaces_of_two_kinds_are_those_of_a_mirrored_box(devices):
    stepper = sw.steppers.ETDRK4()
    energies = {"energy": "(u*u + v*v)/2"}
    equation, u = cosines_and_sines(COMPETING, devices, energies=energies, series={"both": "mean(real(u)*v)"})
    state = sw.initial_state(equation, stepper, u)
    np.testing.assert_allclose(equation.series(state.field, 0.0)["both"], jnp.mean(u["u"] * u["v"]), rtol=1e-13)
    made = equation.to_physical(sw.integrate(equation, stepper, state, step=0.02, steps=50).field)
    grid, down = sw.Grid((24, 36), (6.0, 8.0), mesh=sw.device_mesh([0])), 4 / 36
    x, z = grid.coordinates()
    mirrored = sw.write(COMPETING, {"u": "scalar", "v": "scalar"})(grid, viscosity=0.1)
    state = sw.initial_state(mirrored, stepper, competing(x, z + down))
    there = mirrored.to_physical(sw.integrate(mirrored, stepper, state, step=0.02, steps=50).field)
    for name in made:
        np.testing.assert_allclose(np.asarray(made[name]), np.asarray(there[name])[..., :18], atol=2e-12)


@pytest.mark.slow
def test_a_field_enters_the_equation_of_another_space_through_the_points():
    equation, u = cosines_and_sines(["dt(u) = viscosity*lap(u) + real(v)", "dt(v) = viscosity*lap(v)"])
    fields = equation.from_physical(u)
    change = equation.nonlinear(fields, 0.0)["u"]
    np.testing.assert_allclose(change, equation.space("u").forward(equation.to_physical(fields)["v"]), atol=1e-15)


@pytest.mark.parametrize(("line", "options", "message"), [
    ("v", {}, "v in a linear term for u: their spaces differ; real(v) takes it through the points"),
    ("v*dx(u*v)", {}, "takes fields of two kinds of spaces through one operator"),
    ("v*v", {"energies": {"m": "u*v"}}, "(u) (v) in a mean: fields of cosine series along z and of sine series"),
    ("v*v", {"series": {"m": "mean(u*v)"}}, "(u) (v) in a mean"),
    ("v*v", {"series": {"m": "mean((u + v)**2)"}}, "v and fields of another kind of space in one operator"),
])  # fmt: skip
def test_what_couples_two_kinds_of_spaces_mode_by_mode_is_refused(line, options, message):
    lines = [f"dt(u) = viscosity*lap(u) + {line}", "dt(v) = viscosity*lap(v)"]

    with refused_in_one_line(re.escape(message)):
        equation, u = cosines_and_sines(lines, **options)
        equation.series(sw.initial_state(equation, sw.steppers.ETDRK4(), u).field, 0.0)


@pytest.mark.slow
@pytest.mark.parametrize(("cls", "devices"), [(AllenCahnBetweenWalls, 4), (AllenCahnAsText, 1), (AllenCahnAsText, 4)])
def test_cosine_series_are_those_of_a_mirrored_box(cls, devices, mirrored):
    stepper = sw.steppers.ETDRK4()
    equation, state = begun(cls, stepper, devices)
    *_, after = sw.evolve(equation, stepper, state, step=0.02, end=1.0)
    u = values(equation, after)
    np.testing.assert_allclose(u, mirrored, rtol=0, atol=2e-12)
    energy = float(equation.report.energies(after.field)["energy"])
    assert energy == pytest.approx(0.5 * float(jnp.mean(u * u)), rel=1e-13)
    grown = sum(map(float, after.budget.values()))
    assert grown == pytest.approx(energy - float(state.energies["energy"]), rel=1e-7)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("cls", "forcing"),
    [
        (AllenCahnBetweenWalls, sw.forcing.Uniform((0.7,))),
        (AllenCahnAsText, sw.forcing.FlowRate((0.4,), relaxation=0.5)),
    ],
)
def test_forces_that_are_the_same_everywhere_need_no_periodic_box(cls, forcing):
    equation, state = begun(cls, sw.steppers.ETDRK4(), 2, forcing=forcing)
    after = sw.integrate(equation, sw.steppers.ETDRK4(), state, step=0.02, steps=20)
    u = values(equation, after)
    np.testing.assert_allclose(u, in_mirrored_box(20, forcing=forcing), rtol=0, atol=2e-12)
    np.testing.assert_allclose(equation.space("u").means(after.field["u"])[0], jnp.mean(u), rtol=1e-13)


@pytest.mark.slow
@pytest.mark.parametrize("control", [sw.KeepCFL(0.2, max_step=0.05), sw.MeetTolerance(1e-4)])
def test_steps_that_vary_in_single_precision(control, mirrored):
    stepper = sw.steppers.IFRK3()
    equation, state = begun(AllenCahnAsText, stepper, 2, "float32")
    *_, after = sw.evolve(equation, stepper, state, control=control, end=1.0)
    np.testing.assert_allclose(values(equation, after), mirrored, rtol=0, atol=3e-4)


@pytest.mark.slow
@pytest.mark.parametrize("cls", [AllenCahnBetweenWalls, AllenCahnAsText])
def test_they_are_differentiated(cls):
    stepper = sw.steppers.ETDRK4()
    equation, state = begun(cls, stepper)

    def energy(viscosity):
        changed = dataclasses.replace(equation, viscosity=viscosity)
        end = sw.integrate(changed, stepper, state, step=0.05, steps=10)
        return jnp.mean(values(changed, end) ** 2)

    slope = (energy(0.1 + 1e-5) - energy(0.1 - 1e-5)) / 2e-5
    assert float(jax.grad(energy)(0.1)) == pytest.approx(float(slope), rel=1e-7)


def test_coefficients_that_belong_to_no_real_field_are_put_back():
    """And a watch says how far they were."""
    equation, state = begun(AllenCahnBetweenWalls, sw.steppers.IFRK2())
    off = {"u": state.field["u"].at[0, 1, 0].add(0.01j)}
    assert float(distances(off, equation.spaces)["u"]["not real"]) > 1e-3
    np.testing.assert_array_equal(equation.to_manifold(off)["u"], state.field["u"])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda e: e.transform, "field u is of cosine series along z; Fourier modes of a periodic box are needed"),
        (
            lambda e: e.space("u").at_places(jnp.zeros((1, 12, 8)), [[0.0, 0.0]]),
            "field u: values between the points are not known of",
        ),
        (
            lambda e: e.space("u").as_declared(jnp.zeros((1, 12, 8)), "solenoidal"),
            "fields of cosine series along z cannot be declared",
        ),
        (
            lambda e: Streamfunctions("u", VELOCITY, sw.Grid((8, 8), mesh=e.grid.mesh)).uniform(jnp.ones(2)),
            "field u: no field of streamfunctions is the same everywhere",
        ),
        (lambda e: e.space("u").mean_modes([0]), "field u: means along an axis are not known of"),
        (
            lambda e: e.space("u").resampled(jnp.zeros((1, 12, 8)), e.space("u")),
            "cosine series along z has no way to another resolution",
        ),
    ],
)
def test_what_a_space_cannot_do_is_refused(make, message):
    equation, _ = begun(AllenCahnBetweenWalls, sw.steppers.IFRK2())
    with refused_in_one_line(message):
        make(equation)


def test_points_count_in_means_as_the_space_says():
    equation, state = begun(WeightedMeans, sw.steppers.IFRK2(), devices=4)
    x, z = np.meshgrid(np.arange(24) / 24 * 6, (np.arange(18) + 0.5) / 18 * 4, indexing="ij")
    expected = np.mean(np.abs(start(x, z)) * (1 + 0.5 * np.cos(np.pi * z / 2)))
    np.testing.assert_allclose(equation.report.conserved_scales(state.field)["mass"], expected, rtol=1e-12)
    assert abs(expected / np.mean(np.abs(start(x, z))) - 1) > 0.01
    with refused_in_one_line("output pdfs: field u is of cosine series along z; points that count alike are needed"):
        sw.outputs.PDFs().check(equation)


def test_a_derivative_that_leaves_the_space_is_refused():
    class Sheared(AllenCahnAsText):
        text = sw.Text(["dt(u) = viscosity*lap(u) + u*dy(u)"], fields={"u": "scalar"})

    with refused_in_one_line(r"dy\(…\): the derivative along y of a field of cosine series along z is none; lap"):
        begun(Sheared, sw.steppers.IFRK2())


def test_a_function_of_a_text_that_looks_at_other_points_is_refused():
    class Mixed(AllenCahnAsText):
        text = sw.Text(
            ["dt(u) = viscosity*lap(u) + f(u)"], fields={"u": "scalar"}, functions={"f": lambda u: u - jnp.mean(u)}
        )

    with pytest.raises(ValueError, match=r"which calls f, is not pointwise"):
        begun(Mixed, sw.steppers.IFRK2())


def test_what_heeds_no_shift_of_the_points_is_refused_with_phase_shifts():
    with refused_in_one_line("dealias 'phase-shift-random': field u is of cosine series along z, which cannot shift"):
        AllenCahnAsText(sw.Grid((24, 18), dealias="phase-shift-random"), viscosity=0.1)


def test_a_text_is_not_carried_out_in_streamfunctions():
    class Flow(sw.Equation):
        text = sw.Text(["dt(u) = nu*lap(u)"], fields={"u": "vector"})

        def space(self, name):
            return Streamfunctions(name, self.fields[name], self.grid)

    with refused_in_one_line("fields of streamfunctions: a text needs as many stored components"):
        Flow(sw.Grid((12, 12), mesh=sw.device_mesh([0])), nu=0.1)


# ---- streamfunctions ------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("devices", [1, 4])
def test_velocities_stored_as_streamfunctions(make_grid, devices):
    """Half of the numbers, and the flow of Navier–Stokes: the transforms are linear, and projection is exact."""
    grid, stepper = make_grid((16, 12), devices=devices), sw.steppers.IFRK4()
    flow, stored = (cls(grid, viscosity=0.02) for cls in (NavierStokes, FlowByStreamfunction))
    u = flow.to_physical(flow.from_physical({"velocity": random_field(grid)}))["velocity"]
    u = u - jnp.mean(u, axis=(1, 2), keepdims=True)
    ends = []
    for equation in (flow, stored):
        state = sw.initial_state(equation, stepper, u)
        after = sw.integrate(equation, stepper, state, step=0.01, steps=20)
        ends.append((equation.to_physical(after.field)["velocity"], equation.report.energies(after.field), after))
    np.testing.assert_allclose(ends[0][0], ends[1][0], rtol=0, atol=1e-12)
    assert ends[1][2].field["velocity"].shape == (1, *grid.spectral_shape)
    assert stored.snapshot(ends[1][2].field)["velocity"].shape == (2, *grid.physical_shape)
    mean = 0.5 * float(jnp.mean(jnp.sum(ends[1][0] ** 2, axis=0)))
    assert float(next(iter(ends[1][1].values()))) == pytest.approx(mean, rel=1e-13)


def test_their_modes_make_no_spectrum_of_energy(make_grid):
    equation = FlowByStreamfunction(make_grid((16, 12), devices=1))
    with refused_in_one_line("field velocity is of streamfunctions; Fourier modes of a periodic box are needed"):
        equation.spectra(equation.from_physical({"velocity": random_field(equation.grid)}))


@pytest.mark.slow
def test_a_checkpoint_of_them_goes_to_other_devices(make_grid, tmp_path):
    stepper = sw.steppers.SBDF2()
    one, four = (FlowByStreamfunction(make_grid((16, 12), devices=n)) for n in (1, 4))
    state = sw.initial_state(four, stepper, random_field(four.grid))
    state = sw.integrate(four, stepper, state, step=0.01, steps=3)
    path = sw.io.save_checkpoint(tmp_path, state, four.grid)
    loaded = sw.io.load_checkpoint(path, one, stepper)
    gathered = [sw.gather(equation.to_physical(s.field)["velocity"]) for equation, s in ((one, loaded), (four, state))]
    np.testing.assert_allclose(*gathered, rtol=0, atol=1e-14)


# ---- by command -----------------------------------------------------------------------------------------------------

RUN = """
[grid]
shape = [24, 18]
lengths = [6.0, 4.0]
[equation]
name = "cosines.py:CLASS"
viscosity = 0.1
[initial]
name = "noise"
amplitude = 0.3
[random]
seed = 1
[time]
stepper = "sbdf2"
step = 0.01
end = 0.2
[devices]
use = [0, 1]
[output]
directory = "unnamed"
series = { every_steps = 1 }
snapshots = { every_steps = 10 }
slices = { at = ["y = 0.1"], every_steps = 10 }
checkpoints = { every_steps = 10 }
"""


@pytest.fixture(params=["AllenCahnBetweenWalls", "AllenCahnAsText"])
def run_file(request, tmp_path):
    shutil.copy(Path(__file__).with_name("cosines.py"), tmp_path)
    (tmp_path / "run.toml").write_text(RUN.replace("CLASS", request.param))
    return tmp_path / "run.toml"


def column(folder, name):
    return read_series(folder / "series.csv")[name]


@pytest.mark.slow
def test_a_run_is_resumed_to_the_bit_drawn_and_read(run_file, tmp_path):
    whole, run = tmp_path / "whole", tmp_path / "run"
    assert main(["run", str(run_file), f"output.directory={whole}"]) == 0
    assert main(["run", str(run_file), f"output.directory={run}", "time.end=0.1"]) == 0
    assert main(["resume", str(run), "time.end=0.2"]) == 0
    assert (run / "series.csv").read_text() == (whole / "series.csv").read_text()
    for folder in ("snapshots", "slices"):
        name = f"{folder}/step-00000020.h5"
        assert (run / name).read_bytes() == (whole / name).read_bytes()
    assert abs(column(whole, "energy_imbalance")[-1]) < 1e-2  # of noise, to the order of sbdf2
    with h5py.File(whole / "snapshots" / "step-00000020.h5") as file:
        np.testing.assert_allclose(file["y"], (np.arange(18) + 0.5) * 4 / 18, rtol=1e-14)
        assert (file["x"].attrs["periodic"], file["y"].attrs["periodic"]) == (True, False)
        assert 0.5 * np.mean(file["u"][:] ** 2) == pytest.approx(column(whole, "energy")[-1], rel=1e-12)
    with h5py.File(whole / "slices" / "step-00000020.h5") as file:
        assert file["u_y0"].attrs["y"] == pytest.approx(4 / 36)
    for command in ("verify", "plot", "report", "info"):
        assert main([command, str(whole)]) == 0
    assert (whole / "figures" / "step-00000020.png").exists()
    assert sw.open_run(whole).snapshots["u"].shape == (3, 24, 18)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["output.spectra.every_steps=5"], "output spectra: field u is of cosine series along z; Fourier modes"),
        (["output.points.at=[[0, 0]]"], "output points: field u: values between the points are not known"),
        (["forcing.name=kolmogorov", "forcing.amplitude=1.0"], "forcing kolmogorov: field u is of cosine series"),
        (["forcing.name=ornstein-uhlenbeck", "forcing.rms=1.0"], "forcing ornstein-uhlenbeck: field u is of cosine"),
        (["initial={ name = 'run', path = 'other' }"], "path: other"),
    ],
)
def test_what_needs_a_periodic_box_is_refused_by_check_in_one_line(run_file, capsys, words, message):
    assert main(["check", str(run_file), *words]) == 2
    said = capsys.readouterr().err
    assert message in said
    assert said.count("\n") == 1
