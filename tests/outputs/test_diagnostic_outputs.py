"""Every diagnostic as an output: what it refuses, what lies in its file, and the same values as its functions."""

import h5py
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import COLLECTIVES, EACH_KIND, SPLIT, refused_in_one_line

import solver as sw
from solver import diagnostics
from solver.assemble.build import abstract_assembly
from solver.assemble.classes import built_in
from solver.assemble.registry import Registry
from solver.cli.main import main
from solver.cli.new_run_file import new_run_file
from solver.config import load
from solver.dynamics.derived import derived_quantities
from solver.equations import SplitEquation
from solver.loop.sums import energy_of_all
from solver.outputs.records import Records, _at_time, _values

REGISTRY = Registry()
OUTPUTS = {name: cls for name, cls in built_in("output").items() if issubclass(cls, Records)}
# of each kind, and those for outputs that few equations have
NAMES = (*EACH_KIND, SPLIT, "mhd", "nonlinear-schroedinger", "reduced-mhd")
EQUATIONS = {name: REGISTRY.find("equation", name).cls for name in NAMES}
NEEDS = {  # of an equation; other outputs are told by what they refuse alone
    "elsasser": lambda equation: {"velocity", "magnetic_field"} <= equation.fields.keys(),
    "helicity": lambda equation: (
        equation.grid.dimensions == 3 and any(field.rank == "vector" for field in equation.fields.values())
    ),
    "wave-vortex": lambda equation: equation.report.parts is not None,
    "virial": lambda equation: equation.report.virial is not None,
    "profile": lambda equation: not all(field.real for field in equation.fields.values()),
    **dict.fromkeys(
        ("spectra", "line-spectra", "modes", "domain-length", "extremes", "correlations", "pdfs"), lambda equation: True
    ),
}


def made(name, dimensions):
    """An output with what it needs."""
    needed = {"modes": {"modes": ((1,) * dimensions,)}, "points": {"at": ((0.1,) * dimensions,)}}
    return OUTPUTS[name](**needed.get(name, {}))


def equations(folder, devices=8):
    """Equations in the most dimensions that they have, on shapes alone."""
    path = folder / "run.toml"
    for name, cls in EQUATIONS.items():
        path.write_text(new_run_file(REGISTRY.find("equation", name), name))
        if "walls =" in path.read_text():
            continue  # test_traced.py has these
        stepper = "strang" if issubclass(cls, SplitEquation) else "ifrk2"
        d = max(cls.dimensions)
        small = [f"grid.shape={[24, 26, 16][:d]}", f"time.stepper={stepper}", f"grid.lengths={[5.0] * d}"]
        yield abstract_assembly(load(path, REGISTRY, small), 1 if d == 1 else devices).equation


def refusal(output, equation):
    """What an output says against an equation; None if it takes it."""
    try:
        output.check(equation)
    except ValueError as error:
        return str(error)
    return None


@pytest.mark.slow
def test_an_output_suits_an_equation_or_says_what_is_needed(tmp_path):
    taken = set()
    for equation in equations(tmp_path):
        for name in OUTPUTS:
            refused = refusal(made(name, equation.grid.dimensions), equation)
            if name in NEEDS:
                assert (refused is None) == NEEDS[name](equation), (name, equation.name)
            if refused is None:
                taken.add(name)
            else:
                assert refused.startswith(f"output {name}: ")
                assert "needed" in refused
                assert "\n" not in refused
    elsewhere = {"wall-slopes", "particle-counts", "particle-pdfs"}  # tests/walls and tests/particles have equations
    assert taken == OUTPUTS.keys() - elsewhere, "each has an equation"


RUN = """
title = "a run with every output"
grid = { shape = [12, 14, 10] }
time = { stepper = "STEPPER", step = 0.01, end = 0.04 }
devices = { use = [0, 1, 2, 3, 4, 5, 6, 7] }
"""
FLOW = 'equation = { name = "navier-stokes", viscosity = 0.05 }\ninitial = { name = "random-phase", peak = 2.0 }\n'
MHD = """
equation = { name = "mhd", viscosity = 0.05, resistivity = 0.05 }
[initial.velocity]
name = "beltrami"
[initial.magnetic_field]
name = "random-phase"
"""
WAVE = 'equation = { name = "schroedinger-poisson" }\ninitial = { name = "gaussian", width = 0.8 }\n'
TABLES = {
    "pdfs": "separations = [2]\nbins = 51\n",
    "modes": "modes = [[1, 0, 0], [0, 2, 1]]\n",
    "structure-functions": "orders = [2, 3]\nseparations = [1, 3]\n",
    "points": "at = [[0.1, 0.2, 0.3]]\n",
    "plane-spectra": 'direction = "x"\n',
    "binned-spectra": "per_decade = 8\n",
    "cospectra": 'pairs = [["velocity_x", "velocity_z"]]\n',
}


def run(folder, equation, names, stepper="ifrk2"):
    """A run from its file; returns its directory."""
    tables = "".join(f"[output.{name}]\nevery_steps = 2\n{TABLES.get(name, '')}" for name in names)
    path = folder / "run.toml"
    text = RUN.replace("STEPPER", stepper)
    path.write_text(f'{text}{equation}[output]\ndirectory = "{folder}/run"\n{tables}')
    assert main(["run", str(path)]) == 0
    assert main(["verify", str(folder / "run")]) == 0
    return folder / "run"


@pytest.mark.slow
def test_a_flow_leaves_every_file(tmp_path):
    flow = sw.equations.NavierStokes(sw.Grid((12, 14, 10)), 0.05)
    names = [name for name in OUTPUTS if refusal(made(name, 3), flow) is None]
    folder = run(tmp_path, FLOW, names)
    files = {name: h5py.File(folder / f"{name}.h5") for name in names}
    for file in files.values():
        np.testing.assert_array_equal(file["step"], [0, 2, 4])
        assert all(np.isfinite(file[key][:]).all() for key in file)
    transfer = files["transfer"]
    assert transfer["energy_flux"].dims[1].keys() == ["k"]
    largest = np.abs(transfer["energy_transfer"][:]).max()
    assert largest > 1e-4
    assert np.abs(transfer["energy_transfer"][:].sum(axis=1)).max() < 1e-13 * largest
    pdfs = files["pdfs"]
    assert pdfs["velocity"].shape == (3, 51)
    assert len(pdfs["deviation"]) == len(pdfs["log10_of_mean"]) == 51
    for name, axis in (("vorticity", "deviation"), ("increment_r2", "deviation"), ("dissipation", "log10_of_mean")):
        width = pdfs[axis][1] - pdfs[axis][0]
        total = pdfs[name][:].sum(axis=1) * width + pdfs[f"{name}_outside"][:]
        np.testing.assert_allclose(total, 1, atol=1e-12)
    scales = files["scales"]
    np.testing.assert_allclose(pdfs["dissipation_mean"], scales["dissipation"], rtol=1e-11)
    np.testing.assert_allclose(pdfs["longitudinal_gradient_flatness"], scales["gradient_flatness"], rtol=1e-11)
    lines = files["line-spectra"]
    energy = sum(lines[f"velocity_{i}_z"][:].sum(axis=1) for i in "xyz")
    np.testing.assert_allclose(energy, scales["energy"], rtol=1e-12)
    np.testing.assert_allclose(files["plane-spectra"]["velocity"][:].sum(axis=(1, 2)), energy, rtol=1e-12)
    np.testing.assert_allclose(files["binned-spectra"]["velocity"][:].sum(axis=1), energy, rtol=1e-12)
    moments = files["structure-functions"]
    assert moments["longitudinal"].shape == (3, 2, 2)
    correlation, r = files["correlations"], np.rint(moments["r"][:] / (2 * np.pi / 10)).astype(int)
    # S_2 = 2⟨u²⟩(1 − f), of one component
    second = 2 * correlation["variance"][:][:, None] / 3 * (1 - correlation["longitudinal"][:][:, r])
    np.testing.assert_allclose(moments["longitudinal"][:, :, 0], second, rtol=1e-11)
    second = 2 * correlation["variance"][:][:, None] / 3 * (1 - correlation["transverse"][:][:, r])
    np.testing.assert_allclose(moments["transverse"][:, :, 0], second, rtol=1e-11)
    extremes = files["extremes"]
    assert (extremes["velocity_x_max"][:] > extremes["velocity_x_min"][:]).all()
    assert (extremes["speed_max"][:] >= extremes["velocity_x_max"][:]).all()
    assert extremes["vorticity_max_z"].attrs["units"] == "length"
    assert files["zonal-means"]["velocity_y"].shape == (3, 14, 10)
    assert files["modes"]["velocity_z_imaginary"].shape == (3, 2)
    assert np.abs(files["helicity"]["helicity"][:]).max() > 0
    for file in files.values():
        file.close()


@pytest.mark.thorough
@pytest.mark.slow
def test_a_magnetised_flow_and_a_wave_leave_theirs(tmp_path):
    folder = run(tmp_path, MHD, ["elsasser", "transfer", "helicity"])
    with h5py.File(folder / "elsasser.h5") as both, h5py.File(folder / "transfer.h5") as transfer:
        for what in ("transfer", "flux"):
            total = both[f"plus_{what}"][:] + both[f"minus_{what}"][:]
            scale = np.abs(total).max()
            np.testing.assert_allclose(total, transfer[f"energy_{what}"], atol=1e-13 * scale)
            difference = both[f"plus_{what}"][:] - both[f"minus_{what}"][:]
            np.testing.assert_allclose(difference, transfer[f"cross_helicity_{what}"], atol=1e-13 * scale)
            assert scale > 1e-3
    with h5py.File(folder / "helicity.h5") as file, h5py.File(folder / "elsasser.h5") as both:
        np.testing.assert_allclose(file["helicity"][0].sum(), 3, rtol=1e-12)  # Beltrami: ⟨|u|²⟩, since ω = u
        cross = (both["plus"][:] - both["minus"][:]).sum(axis=1)
        np.testing.assert_allclose(file["cross_helicity"][:].sum(axis=1), cross, rtol=1e-11)
    names = ["profile", "virial", "pdfs", "zonal-means", "domain-length", "extremes"]
    (tmp_path / "wave").mkdir()
    folder = run(tmp_path / "wave", WAVE, names, stepper="strang")
    with h5py.File(folder / "profile.h5") as file, h5py.File(folder / "extremes.h5") as extremes:
        np.testing.assert_allclose(file["density"][:, 0], file["peak_density"])
        np.testing.assert_allclose(extremes["density_max"], file["peak_density"])
        np.testing.assert_allclose(file["peak_x"], np.pi)
    with h5py.File(folder / "virial.h5") as file:
        kinetic, potential = file["kinetic_energy"][:], file["potential_energy"][:]
        np.testing.assert_allclose(file["virial"], 2 * kinetic + potential, rtol=1e-12)
        np.testing.assert_allclose(file["virial_ratio"], -2 * kinetic / potential, rtol=1e-12)
    with h5py.File(folder / "pdfs.h5") as file, h5py.File(folder / "zonal-means.h5") as zonal:
        np.testing.assert_allclose(zonal["density"][:].mean(axis=(1, 2)), file["density_mean"], rtol=1e-12)


@pytest.mark.thorough
@pytest.mark.slow
def test_a_scalar_named_density_is_no_density_of_a_wavefunction(make_grid):
    equation = sw.equations.HasegawaWakatani(make_grid((16, 12), devices=2))
    noise = np.random.default_rng(0).normal(size=(2, 1, 16, 12))
    fields = equation.from_physical(dict(zip(equation.fields, jnp.asarray(noise), strict=True)))
    pdfs = sw.outputs.PDFs(quantities=("density",), bins=20)
    assert pdfs.layout(equation).columns["density"].axes == ("deviation",)
    values = np.asarray(equation.to_physical(fields)["density"])
    np.testing.assert_allclose(pdfs.values(equation, fields)["density_std"], values.std(), rtol=1e-12)


def values_and_fields(equation, seed=0):
    """Random values at the points that the equation can hold, and their coefficients."""
    noise, values = np.random.default_rng(seed), {}
    for name, u in equation.values_at_points().items():
        imaginary = 1j * noise.normal(size=u.shape) if np.issubdtype(u.dtype, complex) else 0
        values[name] = jnp.asarray(noise.normal(size=u.shape) + imaginary, u.dtype)
    fields = equation.from_physical(values)
    return {n: np.asarray(v) for n, v in equation.to_physical(fields).items()}, fields


@pytest.mark.thorough
@pytest.mark.slow
def test_a_density_beside_a_wavefunction_keeps_its_name(make_grid):
    equation = sw.equations.Zakharov(make_grid((16, 12), devices=1))
    values, fields = values_and_fields(equation)
    intensity = np.abs(values["envelope"][0]) ** 2
    found = sw.outputs.Extremes().values(equation, fields)
    for name, expected in {"density": values["density"][0], "envelope_density": intensity}.items():
        np.testing.assert_allclose(found[f"{name}_max"], expected.max(), rtol=1e-12)
        np.testing.assert_allclose(found[f"{name}_min"], expected.min(), rtol=1e-12)
    pdfs = sw.outputs.PDFs(bins=20)
    assert pdfs.layout(equation).columns["density"].axes == ("deviation",)
    assert pdfs.layout(equation).columns["envelope_density"].axes == ("log10_of_mean",)
    shares = pdfs.values(equation, fields)
    np.testing.assert_allclose(shares["density_std"], values["density"].std(), rtol=1e-12)
    np.testing.assert_allclose(shares["envelope_density_mean"], intensity.mean(), rtol=1e-12)
    means = sw.outputs.ZonalMeans()
    assert means.layout(equation).columns.keys() == means.values(equation, fields).keys()
    np.testing.assert_allclose(means.values(equation, fields)["density"], values["density"][0].mean(0), atol=1e-14)
    np.testing.assert_allclose(means.values(equation, fields)["envelope_density"], intensity.mean(0), rtol=1e-12)
    np.testing.assert_allclose(derived_quantities(equation)["envelope_density"].make(fields), intensity, rtol=1e-12)


@pytest.mark.thorough
@pytest.mark.slow
def test_scalars_keep_their_names_beside_what_is_made_of_a_velocity(make_grid):
    names = ("speed", "vorticity", "increment_r1", "longitudinal_gradient", "dissipation")
    texts = [f"dt({name}) = lap({name})" for name in names]
    cls = sw.write(["dt(u) = viscosity*lap(u)", *texts], {"u": "vector", **dict.fromkeys(names, "scalar")})
    equation = cls(make_grid((16, 12), devices=1), viscosity=0.1)
    values, fields = values_and_fields(equation)
    found, pdfs = sw.outputs.Extremes().values(equation, fields), sw.outputs.PDFs(bins=20)
    np.testing.assert_allclose(found["u_speed_max"], np.sqrt((values["u"] ** 2).sum(0)).max(), rtol=1e-12)
    shares = pdfs.values(equation, fields)
    assert shares.keys() == pdfs.layout(equation).columns.keys()
    for name in names:
        np.testing.assert_allclose(found[f"{name}_max"], values[name].max(), rtol=1e-12)
        np.testing.assert_allclose(shares[f"{name}_std"], values[name].std(), rtol=1e-12)
    step = np.stack([np.roll(values["u"][i], -1, axis=i) - values["u"][i] for i in range(2)])
    np.testing.assert_allclose(shares["u_increment_r1_std"], step.std(), rtol=0.2)
    assert shares["u_dissipation_mean"] > 0


@pytest.mark.thorough
@pytest.mark.slow
def test_the_vorticity_of_a_magnetised_column_is_its_own(make_grid):
    equation = sw.equations.ReducedMHD(make_grid((10, 8, 6), devices=1), 0.1, 0.1)
    values, fields = values_and_fields(equation)
    shares = sw.outputs.PDFs(quantities=("vorticity",), bins=20).values(equation, fields)
    np.testing.assert_allclose(shares["vorticity_std"], values["vorticity"].std(), rtol=1e-12)


# all-to-alls of one row: one for each inverse transform, two for N; along x, which is split, one for each separation
EXCHANGES = {
    "correlations": 0,
    "binned-spectra": 0,
    "cospectra": 0,
    "domain-length": 0,
    "elsasser": 2,
    "extremes": 2,
    "helicity": 0,
    "line-spectra": 0,
    "modes": 0,
    "pdfs": 4,
    "plane-spectra": 0,
    "scales": 1,
    "spectra": 0,
    "structure-functions": 2,
    "transfer": 2,
    "wave-vortex": 0,
    "zonal-means": 1,
}


FLOWS = {  # for what Navier–Stokes does not have
    "elsasser": lambda grid: sw.equations.MHD(grid, 0.1, 0.1),
    "wave-vortex": lambda grid: sw.equations.Boussinesq(grid, 0.1, 0.1, 2.0, rotation=1.0),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", EXCHANGES)
def test_a_row_costs_the_transforms_that_it_needs_and_no_gather(make_grid, name):
    """On a box whose points are equally far apart, x split over 8 devices; the same values as on one."""
    results = []
    for devices in (8, 1):
        grid = make_grid((12, 14, 10), devices=devices, lengths=[6.0, 7.0, 5.0])
        flow = FLOWS.get(name, lambda grid: sw.equations.NavierStokes(grid, 0.1))(grid)
        rng = np.random.default_rng(0)  # one for all fields: of two that are the same nothing is exchanged
        noise = {n: rng.normal(size=shape) for n, shape in flow.physical_shapes().items()}
        fields = jax.jit(flow.from_physical)(noise)
        given = (made(name, 3), flow, fields, 0.0)
        program = _values.lower(*given).compile()
        counts = COLLECTIVES.findall(program.as_text())
        assert "all-gather" not in counts
        assert counts.count("all-to-all") == (EXCHANGES[name] if devices == 8 else 0)
        results.append({key: np.asarray(v) for key, v in program(*_values.sealed(*given)[1:]).items()})
    for key, values in results[0].items():
        scale = np.abs(results[1][key]).max() + 1e-3 * ("_mean" in key)  # of increments it is 0
        np.testing.assert_allclose(values, results[1][key], rtol=1e-11, atol=1e-12 * scale, err_msg=key)


@pytest.mark.thorough
@pytest.mark.slow
def test_single_precision_stays_single(make_grid):
    grid = make_grid((12, 14, 10), devices=8, precision="float32")
    flows = [sw.equations.NavierStokes(grid, 0.1), sw.equations.MHD(grid, 0.1, 0.1)]
    flows.append(sw.equations.SchroedingerPoisson(make_grid((12, 14, 10), dealias="none", precision="float32")))
    for flow in flows:
        for name in OUTPUTS:
            output = made(name, 3)
            if refusal(output, flow) is None:
                columns = jax.eval_shape(
                    lambda f, o=output, e=flow: _at_time(o, e, f, np.float64(0)), flow.field_shapes()
                )
                assert {key: v.dtype for key, v in columns.items() if v.dtype != np.float32} == {}, name
    noise = np.random.default_rng(0).normal(size=(1, 3, *grid.shape)).astype(np.float32)
    transfers = _values(sw.outputs.Transfer(), flows[0], jax.jit(flows[0].from_physical)({"velocity": noise[0]}), 0.0)
    transfer = np.asarray(transfers["energy_transfer"])
    assert abs(transfer.sum()) < 1e-5 * np.abs(transfer).sum()


@pytest.mark.parametrize(
    ("output", "message"),
    [
        (sw.outputs.StructureFunctions(orders=(0,)), r"orders \(0,\): whole numbers of one or more is needed"),
        (sw.outputs.StructureFunctions(separations=(9,)), r"separations \[9\]: different numbers from 1 to 5"),
        (
            sw.outputs.PDFs(quantities=("vortcity",)),
            r"output pdfs: unknown quantity 'vortcity'; did you mean 'vorticity'\?",
        ),
        (sw.outputs.PDFs(bins=0), "bins 0: one or more is needed"),
        (sw.outputs.Modes(), r"output modes: modes \[\]; one or more are needed"),
        (sw.outputs.Modes(modes=((9, 0, 0),)), r"mode \[9, 0, 0\] is not retained; this grid has \|n_x\| ≤ 3"),
        (sw.outputs.Cospectra(pairs=(("velocity_x", "velocity_w"),)), "unknown component 'velocity_w'; did you mean"),
        (sw.outputs.Cospectra(pairs=(("velocity_x",),)), "two components, real or complex both, are needed"),
        (sw.outputs.Extremes(quantities=("sped",)), "unknown quantity 'sped'; did you mean 'speed'"),
        (sw.outputs.Elsasser(), "navier-stokes has the fields velocity; velocity and magnetic_field are needed"),
    ],
)
def test_what_is_refused(make_grid, output, message):
    flow = sw.equations.NavierStokes(make_grid((12, 14, 10), devices=1), 0.1)
    with pytest.raises(ValueError, match=message):
        output.check(flow)


def test_the_velocity_comes_first(make_grid):
    flow = sw.equations.MHD(make_grid((12, 14, 10), devices=1), 0.1, 0.1)
    columns = set(sw.outputs.StructureFunctions().layout(flow).columns)
    assert columns == {"longitudinal", "transverse", "magnetic_field_longitudinal", "magnetic_field_transverse"}
    columns = set(sw.outputs.PDFs(separations=(2,)).layout(flow).columns)
    assert {"velocity", "magnetic_field", "magnetic_field_vorticity", "magnetic_field_increment_r2"} <= columns


@pytest.mark.slow
def test_scalars_have_structure_functions(make_grid):
    grid = make_grid((12, 14, 10), devices=1)
    flow = sw.equations.NavierStokes(grid, 0.1, scalars={"dye": sw.PassiveScalar(0.1)})
    output = sw.outputs.StructureFunctions(orders=(2, 3), separations=(1, 2))
    assert list(output.layout(flow).columns) == ["longitudinal", "transverse", "dye"]
    noise = np.random.default_rng(3).normal(size=(1, *grid.shape))
    fields = jax.jit(flow.from_physical)({"velocity": np.repeat(noise, 3, axis=0), "dye": noise})
    expected = diagnostics.scalar_structure_functions(fields["dye"], [1, 2], (2, 3), flow.transform)
    np.testing.assert_allclose(_values(output, flow, fields, 0.0)["dye"], expected, rtol=1e-12)
    alone = sw.equations.CahnHilliard(grid, 1.0, 1.0)
    assert list(output.layout(alone).columns) == ["c"]
    wave = sw.equations.SchroedingerPoisson(make_grid((12, 14, 10), dealias="none"))
    with pytest.raises(ValueError, match="has no vector and no real scalar; one is needed"):
        output.check(wave)


def test_modes_make_frequencies(make_grid):
    """The record of a free wave exp(i(x − ωt)), ω = ½, has its frequency."""
    grid = make_grid((16,), devices=1, dealias="none", real=False)
    wave = sw.equations.SchroedingerPoisson(grid, coupling=0.0)
    output, record, t = sw.outputs.Modes(modes=((1,),)), [], np.arange(32) * np.pi / 4
    x = np.arange(16) * np.pi / 8
    for now in t:
        row = output.values(wave, {"wavefunction": jnp.exp(1j * (x - 0.5 * now))[None]})
        record.append(complex(row["wavefunction_real"][0], row["wavefunction_imaginary"][0]))
    omega, power = diagnostics.frequency_spectrum(t, np.array(record))
    assert omega[np.argmax(power)] == pytest.approx(0.5)


@pytest.mark.thorough
@pytest.mark.slow
def test_transfers_are_those_at_the_time_of_their_row(make_grid, tmp_path):
    """Of N = −(1 + t) u·∇u rows at t = 2 hold three times what N has at t = 0, in runs and in statistics."""
    text = [f"dt({name}) = -(1 + t)*velocity@grad({name}) + nu*lap({name})" for name in ("velocity", "magnetic_field")]
    grid = make_grid((12, 12), devices=2)
    flow = sw.write(text, {"velocity": "vector", "magnetic_field": "vector"})(grid, nu=0.1)
    noise = {n: jnp.asarray(np.random.default_rng(0).normal(size=shape)) for n, shape in flow.physical_shapes().items()}
    state = sw.initial_state(flow, sw.steppers.IFRK2(), noise, t=2.0)
    outputs = [sw.outputs.Transfer(), sw.outputs.Elsasser()]
    sw.run(flow, sw.steppers.IFRK2(), state, end=2.01, step=0.01, directory=tmp_path, outputs=outputs)
    of_both = sw.outputs.Statistics(of=("transfer",))
    carried = of_both.observe(flow, state.replace(t=np.float64(1.0)), of_both.accumulators(flow), end=False)
    carried = of_both.observe(flow, state, carried, end=True)
    (records,) = carried["records"].values()
    for output, column in zip(outputs, ("velocity_energy_transfer", "plus_transfer"), strict=True):
        with h5py.File(tmp_path / f"{output.name}.h5") as file:
            assert file["t"][0] == 2.0
            np.testing.assert_allclose(file[column][0], 3 * output.values(flow, state.field)[column], rtol=1e-12)
            if output is outputs[0]:
                np.testing.assert_allclose(records[column]["mean"], file[column][0], rtol=1e-12)


@pytest.mark.parametrize(
    ("before", "now"),
    [
        (sw.outputs.Points(at=((0.1, 0.2, 0.3),)), sw.outputs.Points(at=((0.1, 0.2, 0.4),))),
        (sw.outputs.Modes(modes=((1, 1, 1),)), sw.outputs.Modes(modes=((1, 1, 0),))),
        (sw.outputs.PlaneSpectra(direction="x"), sw.outputs.PlaneSpectra(direction="z")),
    ],
)
def test_rows_of_other_places_modes_and_directions_are_not_continued(make_grid, before, now):
    """Their axes have the same numbers, on a cube also those of directions."""
    flow = sw.equations.NavierStokes(make_grid((8, 8, 8), devices=1), viscosity=0.02)
    assert before.layout(flow).continues(before.layout(flow))
    assert not now.layout(flow).continues(before.layout(flow))


@pytest.mark.slow
def test_both_halves_of_a_symmetric_tensor_count(make_grid):
    """Of a stress off the diagonal that is short and one on it that is long: ⟨|τ|²⟩ has the short one twice."""
    flow = sw.equations.OldroydB(make_grid((12, 12), devices=2))
    stress = sw.sample(lambda x, y: (jnp.cos(x), jnp.cos(3 * x), 0 * x), flow.grid)
    fields = jax.jit(flow.from_physical)({"velocity": jnp.zeros((2, 12, 12)), "stress": stress})
    values = lambda output: _values(output, flow, fields, 0.0)  # noqa: E731
    assert [name.rpartition("_")[2] for name in flow.space("stress").component_names] == ["xx", "xy", "yy"]
    assert float(values(sw.outputs.PlaneSpectra())["stress"].sum()) == pytest.approx(0.5 * 1.5)
    assert float(values(sw.outputs.Correlations())["stress_variance"]) == pytest.approx(1.5)
    assert float(values(sw.outputs.DomainLength())["stress_length"]) == pytest.approx(2 * np.pi * 3 / (1 + 2 * 3))
    assert float(energy_of_all(flow, fields)) == pytest.approx(0.5 * 1.5)


@pytest.mark.parametrize(
    ("output", "scalars", "column"),
    [
        ("correlations", ["longitudinal"], "longitudinal"),
        ("correlations", ["variance"], "variance"),
        ("structure-functions", ["transverse"], "transverse"),
        ("pdfs", ["dye", "dye_std"], "dye_std"),
    ],
)
def test_two_columns_of_one_name_are_refused(output, scalars, column):
    """Of a scalar that is called as a column of the velocity; one of them was written and the other lost."""
    grid = sw.Grid((8, 8), mesh=sw.device_mesh([0]))
    flow = sw.equations.NavierStokes(grid, 0.1, scalars={name: sw.PassiveScalar() for name in scalars})
    with refused_in_one_line(f"output {output}: two columns '{column}'"):
        OUTPUTS[output]().check(flow)
