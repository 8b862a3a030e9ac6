"""Energies against their budget, and transfers of invariants against the time derivative of their spectra."""

import dataclasses
import tomllib

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import EACH_KIND, OF_SMALL_GRIDS, last_of_each, on_devices

import solver as sw
from solver.assemble.build import Assembly
from solver.assemble.registry import Registry
from solver.cli.new_run_file import new_run_file
from solver.config import load
from solver.dynamics.budget import BUDGET
from solver.dynamics.energy_budget import budget_columns
from solver.dynamics.forcings import start_forcings
from solver.outputs.transfer import Transfer, invariant_transfer

REGISTRY = Registry()
ENTRIES = {name: REGISTRY.find("equation", name) for name in REGISTRY.names("equation")}
OF_EACH_KIND = [(name, min(ENTRIES[name].cls.dimensions)) for name in EACH_KIND]
PARAMETERS = {
    ("advection-diffusion", 2): ["equation.cell_speed=0.8"],
    ("advection-diffusion", 3): ["equation.cell_speed=0.8"],
    ("boussinesq", 2): ["equation.buoyancy_frequency=1.3"],
    ("boussinesq", 3): ["equation.buoyancy_frequency=1.3", "equation.rotation=0.5"],
    ("hall-mhd", 3): ["equation.mean_field=[0.3, -0.2, 0.1]"],
    ("hasegawa-wakatani", 2): ["equation.adiabaticity=0.7", "equation.viscosity=0.01"],
    ("nonlinear-schroedinger", 1): ["equation.damping=0.1"],
    ("reduced-mhd", 3): ["equation.hyperviscosity=1e-3"],
    ("two-layer-quasi-geostrophic", 2): ["equation.shear=0.5", "equation.beta=0.2", "equation.drag=0.1"],
    ("vorticity", 2): ["equation.drag=0.1", "equation.beta=2.0", "equation.viscosity=0.01"],
    ("surface-quasi-geostrophic", 2): ["equation.diffusivity=0.1"],
}
pytestmark = pytest.mark.slow

# what the nonlinear term conserves where no product is aliased
CONSERVED = {
    ("boussinesq", 2): ["kinetic_energy", "potential_energy"],
    ("boussinesq", 3): ["kinetic_energy", "potential_energy"],
    ("burgers", 1): ["energy"],
    ("hall-mhd", 3): ["energy", "magnetic_helicity", "ion_helicity"],
    ("hasegawa-wakatani", 2): ["energy", "potential_enstrophy"],
    ("korteweg-de-vries", 1): ["momentum"],
    ("mhd", 2): ["energy", "cross_helicity", "squared_potential"],
    ("mhd", 3): ["energy", "cross_helicity", "magnetic_helicity"],
    ("navier-stokes", 2): ["energy", "enstrophy"],
    ("navier-stokes", 3): ["energy", "helicity"],
    ("reduced-mhd", 3): ["energy", "cross_helicity"],
    ("surface-quasi-geostrophic", 2): ["variance", "energy"],
    ("multi-layer-quasi-geostrophic", 2): ["energy", "upper_enstrophy", "middle_enstrophy"],
    ("two-layer-quasi-geostrophic", 2): ["energy", "upper_enstrophy", "lower_enstrophy"],
    ("vorticity", 2): ["energy", "enstrophy"],
}


def assembly(folder, name, d, devices, *more):
    """A run on a small grid, from the run file of `slabwave new`."""
    path = folder / "run.toml"
    path.write_text(new_run_file(ENTRIES[name], name))
    small = [f"grid.shape={[16, 26, 9][:d]}", "time.stepper=ifrk2", *OF_SMALL_GRIDS.get((name, d), [])]
    config = load(path, REGISTRY, last_of_each([*small, *PARAMETERS.get((name, d), []), *more]))
    return Assembly(config, sw.device_mesh(range(devices)))


def assembled(folder, name, d, devices=1, *more):
    """An equation from its run file, and noise without a mean: a mean magnetic field would change the helicity."""
    equation = assembly(folder, name, d, devices, f"grid.lengths={[6.0, 7.0, 5.0][:d]}", *more).equation
    noise = np.random.default_rng(1)
    values = {}
    for field, given in equation.values_at_points().items():
        values[field] = noise.normal(size=given.shape).astype(given.dtype)
        if given.dtype.kind == "c":
            values[field] = values[field] + 1j * noise.normal(size=given.shape)
        values[field] -= values[field].mean(axis=tuple(range(1, d + 1)), keepdims=True)
    return equation, jax.jit(equation.from_physical)(values)


def changes(equation, fields):
    return equation.linear().apply(fields), equation.nonlinear(fields, np.zeros(()))


def added(a, b):
    return {name: a[name] + b[name] for name in a}


# a scalar, an unknown, matrices, a complex field, and MHD, whose budget is its own
@pytest.mark.parametrize(
    ("name", "d"),
    [
        ("burgers", 1), ("navier-stokes", 2), ("boussinesq", 2), ("boussinesq", 3), ("nonlinear-schroedinger", 1),
        ("mhd", 3),
    ],
)  # fmt: skip
def test_energies_change_by_their_budget(tmp_path, name, d):
    """dE/dt along the right-hand side that a stepper takes, forcing included, is the sum of the causes."""
    equation, fields = assembled(tmp_path, name, d)
    first = next(iter(equation.fields))
    forced = equation.fields[first].rank in sw.forcing.ConstantPower.ranks
    if forced:
        forcing = {first: sw.forcing.ConstantPower(0.3)}
        equation = type(equation)(**{**_parameters(equation), "forcing": forcing})
    columns = budget_columns(equation)
    assert columns

    @jax.jit
    def both(fields):
        driven = equation.at_step(start_forcings(equation, (), fields))
        total = driven.nonlinear({**fields, BUDGET: jnp.zeros(len(columns))}, np.zeros(()))
        rates = dict(zip(sorted(columns), total.pop(BUDGET), strict=True))
        _, changes = jax.jvp(equation.report.energies, (fields,), (added(equation.linear().apply(fields), total),))
        return changes, rates

    changes, rates = both(fields)
    for energy, change in changes.items():
        causes = [rate for column, rate in rates.items() if column.startswith(f"{energy}_from_")]
        assert len(causes) > 0
        scale = max(map(abs, [*causes, change]))
        assert abs(sum(causes) - change) < 1e-12 * scale, (energy, rates)
        assert scale > 0
    assert any(column.endswith("_from_forcing") for column in columns) == forced


IN_PLANES = ("gross-pitaevskii", "schroedinger-poisson")  # whose starts need two dimensions
KEPT = [(name, 2 if name in IN_PLANES else min(entry.cls.dimensions)) for name, entry in ENTRIES.items()]


@pytest.mark.parametrize(("name", "d"), KEPT)
def test_what_is_conserved_drifts_no_more_than_the_stepper_errs(tmp_path, name, d):
    """Half the step leaves less than half of the drift, or round-off alone; of what is linear in the fields always."""
    split = issubclass(ENTRIES[name].cls, sw.equations.SplitEquation)
    lengths = tomllib.loads(new_run_file(ENTRIES[name], name))["grid"]["lengths"][:d]
    points = [f"grid.shape={[96, 26, 9][:d]}", f"grid.lengths={lengths}"]
    points += ["grid.dealias=one-half"] if name == "modified-korteweg-de-vries" else []  # its term is cubic
    stepper = "strang" if split else "etdrk2" if name == "rayleigh-benard" else "ifrk2"  # which walls refuse
    run = assembly(tmp_path, name, d, 1, *points, f"time.stepper={stepper}")
    start = run.start()
    if not start.conserved:
        return
    drifts = []
    for step in (2e-3, 1e-3):
        state = sw.integrate(run.equation, run.stepper, start, step=step, steps=round(16e-3 / step))
        now = run.equation.conserved(state.field)
        sizes = run.equation.report.conserved_scales(start.field)
        size = {q: max(abs(float(v)), float(sizes.get(q, 0.0))) for q, v in start.conserved.items()}
        drifts.append({q: abs(float(now[q]) - float(v)) / size[q] for q, v in start.conserved.items()})
    for q, drift in drifts[1].items():
        assert drift < 1e-12 or drift < 0.5 * drifts[0][q] < 1e-2, (q, drifts)


def _parameters(equation):
    return {field.name: getattr(equation, field.name) for field in dataclasses.fields(equation) if field.init}


@pytest.mark.parametrize(("name", "d"), sorted({*OF_EACH_KIND, ("hall-mhd", 3), ("boussinesq", 3)}))
def test_transfers_are_the_time_derivative_of_the_spectrum(tmp_path, name, d):
    equation, fields = assembled(tmp_path, name, d)

    def spectra(fields):
        invariants = equation.report.invariants(fields)
        return {q: 0.5 * invariant_transfer(equation, conjugate, fields) for q, conjugate in invariants.items()}

    @jax.jit
    def both(fields):
        linear, nonlinear = changes(equation, fields)
        return jax.jvp(spectra, (fields,), (added(linear, nonlinear),))[1], Transfer().values(equation, fields)

    derivative, transfers = both(fields)
    for q, change in derivative.items():
        transfer, flux, linear = (np.asarray(transfers[f"{q}_{what}"]) for what in ("transfer", "flux", "linear"))
        scale = np.abs(transfer).max() + np.abs(linear).max()
        assert scale > 0
        np.testing.assert_allclose(transfer + linear, change, atol=1e-12 * scale)
        np.testing.assert_allclose(flux, -np.cumsum(transfer), atol=1e-13 * scale)
    for q in CONSERVED.get((name, d), []):
        transfer = np.asarray(transfers[f"{q}_transfer"])
        assert abs(transfer.sum()) < 1e-12 * np.abs(transfer).sum(), q
        assert np.abs(transfer).sum() > 0


@pytest.mark.parametrize("name", ["mhd", "boussinesq"])
def test_transfers_on_eight_devices(tmp_path, name):
    d = max(ENTRIES[name].cls.dimensions)
    one, start = assembled(tmp_path, name, d)
    expected = jax.jit(lambda fields: Transfer().values(one, fields))(start)
    equation, fields = assembled(tmp_path, name, d, 8)
    stacked = equation.join(fields)
    transfers = on_devices(lambda v: Transfer().values(equation, equation.split(v)), stacked, exchanges=2)
    for q, values in expected.items():
        np.testing.assert_allclose(transfers[q], values, atol=1e-12 * np.abs(values).max())


@pytest.mark.parametrize("dealias", ["three-halves", "none"])
def test_aliased_products_lose_what_they_should_keep(make_grid, dealias):
    flow = sw.equations.NavierStokes(make_grid((16, 16), devices=2, dealias=dealias), 0.0)
    shape = flow.grid.physical_shape
    u = {"velocity": jnp.asarray(np.random.default_rng(0).normal(size=(2, *shape)))}
    transfer = np.asarray(jax.jit(lambda u: Transfer().values(flow, flow.from_physical(u)))(u)["energy_transfer"])
    missing = abs(transfer.sum()) / np.abs(transfer).sum()
    assert missing < 1e-13 if dealias == "three-halves" else missing > 1e-6


@pytest.mark.thorough
def test_invariants_are_the_quantities_of_the_series(make_grid):
    """½⟨u · g⟩ is the energy, the enstrophy, the helicities that other functions give."""
    grid = make_grid((12, 14, 10), devices=2)
    mhd = sw.equations.MHD(grid, 0.1, 0.1)
    rng = np.random.default_rng(0)
    fields = jax.jit(mhd.from_physical)({name: jnp.asarray(rng.normal(size=(3, *grid.shape))) for name in mhd.fields})

    @jax.jit
    def both(equation, fields):
        invariants = equation.report.invariants(fields)
        halves = {q: 0.5 * invariant_transfer(equation, g, fields).sum() for q, g in invariants.items()}
        return equation.series(fields, 0.1), halves

    row, invariants = both(mhd, fields)
    total = float(row["kinetic_energy"] + row["magnetic_energy"])
    assert float(invariants["energy"]) == pytest.approx(total, rel=1e-12)
    assert float(invariants["cross_helicity"]) == pytest.approx(float(row["cross_helicity"]), rel=1e-12)
    helicity = sw.equations.magnetic_helicity(fields["magnetic_field"], mhd.grid)
    assert float(invariants["magnetic_helicity"]) == pytest.approx(float(helicity), rel=1e-11)
    plane = make_grid((18, 14), devices=2)
    layers = sw.equations.TwoLayerQuasiGeostrophic(plane, 3.0)
    fields = jax.jit(layers.from_physical)(
        {name: jnp.asarray(rng.normal(size=(1, *plane.shape))) for name in layers.fields}
    )
    row, invariants = both(layers, fields)
    for q in invariants:
        assert float(invariants[q]) == pytest.approx(float(row[q]), rel=1e-12)
    flow = sw.equations.NavierStokes(grid, 0.1)
    abc = jax.jit(flow.from_physical)({"velocity": sw.initial.Beltrami((1.0, 0.5, 0.7))(grid)})
    _, invariants = both(flow, abc)
    assert float(invariants["helicity"]) == pytest.approx(2 * float(invariants["energy"]), rel=1e-12)  # ω = u


def test_wavefunctions_have_no_transfer(make_grid):
    split = sw.equations.SchroedingerPoisson(make_grid((8, 8), devices=1, dealias="none"))
    with pytest.raises(ValueError, match=r"output transfer: schroedinger-poisson is split into T and V; an equation"):
        sw.outputs.Transfer().check(split)
