"""wave-vortex.h5 of a run: its three spectra add up to that of the energy; it is verified and drawn."""

import h5py
import jax.numpy as jnp
import numpy as np
import pytest

import solver as sw
from solver.cli.main import main
from solver.outputs import Series, Spectra, WaveVortex

pytestmark = pytest.mark.slow


@pytest.mark.thorough
def test_a_stratified_flow_leaves_its_waves_and_vortices(make_grid, tmp_path, capsys):
    grid, stepper = make_grid((8, 8, 8), devices=1), sw.steppers.IFRK2()
    flow = sw.equations.Boussinesq(grid, 0.02, 0.02, 2.0, rotation=1.0, energy_budget=False)
    rng = np.random.default_rng(0)
    start = {name: jnp.asarray(rng.normal(size=shape)) for name, shape in flow.physical_shapes().items()}
    state = sw.initial_state(flow, stepper, start)
    outputs = [Series(every_steps=1), Spectra(every_steps=1), WaveVortex(every_steps=1)]
    sw.run(flow, stepper, state, end=0.02, step=0.01, directory=tmp_path / "run", outputs=outputs)
    with h5py.File(tmp_path / "run" / "wave-vortex.h5") as parts, h5py.File(tmp_path / "run" / "spectra.h5") as whole:
        total = parts["vortical"][:] + parts["waves"][:] + parts["shear"][:]
        energy = whole["kinetic_energy"][:] + whole["potential_energy"][:]
        np.testing.assert_allclose(total, energy, rtol=1e-12)
        assert all(parts[name][:].sum() > 0.01 for name in ("vortical", "waves", "shear"))
        assert parts["waves"].attrs["units"] == "length^2/time^2"
    assert main(["verify", str(tmp_path / "run")]) == 0
    assert main(["plot", str(tmp_path / "run")]) == 0
    assert list((tmp_path / "run").rglob("wave-vortex*.png"))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda g: sw.equations.NavierStokes(g, 0.1), "wave-vortex: navier-stokes has no vortical part and waves"),
        (
            lambda g: sw.equations.Boussinesq(g, 0.1, 0.1),
            r"split_waves with buoyancy_frequency 0\.0: a positive",
        ),
    ],
    ids=["equation", "stratification"],
)
def test_it_is_refused_where_there_are_none(make_grid, make, message):
    with pytest.raises(ValueError, match=message) as refusal:
        WaveVortex().check(make(make_grid((8, 8, 8), devices=1)))
    assert "\n" not in str(refusal.value)
