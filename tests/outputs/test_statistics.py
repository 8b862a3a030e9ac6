"""Running statistics: means and variances over windows of time, as part of the state."""

import h5py
import jax
import numpy as np
import pytest

import solver as sw
from solver.config import ConfigError
from solver.io import list_checkpoints, own_rows
from solver.outputs import Checkpoints, PDFs, Snapshots, Spectra, Statistics

STEP, WINDOW = 0.05, 10  # a window of ten steps


def run(
    directory, end, *, devices=2, resume=False, control=None, shape=(12, 14, 9), momentary=False, more=(), **options
):
    grid = sw.Grid(shape, mesh=sw.device_mesh(range(devices)))
    flow = sw.equations.NavierStokes(grid, viscosity=0.02, scalars={"dye": sw.PassiveScalar(0.01)})
    stepper = sw.steppers.IFRK2()
    x = sw.initial.TaylorGreen()(grid)
    state = sw.initial_state(flow, stepper, {"velocity": x, "dye": x[:1] + 0.3})
    given = {"every_steps": WINDOW, "sample_steps": 2, "fields": ("velocity", "dye"), **options}
    outputs = [Statistics(**given), Checkpoints(every_steps=5, keep=9)]
    outputs += [Spectra(every_steps=2), Snapshots(every_steps=2)] if momentary else []
    outputs += more
    control = {"step": STEP} if control is None else control
    return sw.run(flow, stepper, state, end=end, directory=directory, resume=resume, outputs=outputs, **control)


def continue_from(directory, step):
    """Later checkpoints taken away, as a kill would leave it."""
    for path in list_checkpoints(directory / "checkpoints"):
        if int(path.name[5:]) > step:
            path.rename(directory / f"gone-{path.name}")


def recorded(directory, name="spectra"):
    file = own_rows(directory / "statistics" / f"{name}.h5")
    return file.table().rows


def fields(directory):
    """Every array of every file of fields."""
    arrays = {}
    for path in sorted((directory / "statistics").glob("step-*.h5")):
        with h5py.File(path) as file:
            arrays |= {(path.name, name): file[name][:] for name in file if name.endswith(("_mean", "_variance"))}
            arrays[path.name, "since"] = file.attrs["since"]
    return arrays


@pytest.mark.slow
def test_means_and_variances_are_those_of_the_states_that_entered(tmp_path):
    run(tmp_path, 30 * STEP, devices=8, momentary=True)
    momentary = own_rows(tmp_path / "spectra.h5").table().rows
    for row in recorded(tmp_path):
        window = [m.values["energy"] for m in momentary if row.step - WINDOW < m.step <= row.step]
        assert len(window) == row.values["samples"] == 5
        assert row.values["since"] == pytest.approx(row.t - WINDOW * STEP)
        np.testing.assert_allclose(row.values["energy"], np.mean(window, 0), rtol=1e-13, atol=1e-18)
        np.testing.assert_allclose(row.values["energy_variance_in_time"], np.var(window, 0), rtol=1e-9, atol=1e-20)
    for end in (10, 20, 30):
        points = {}
        for step in range(end - WINDOW + 2, end + 1, 2):
            with h5py.File(tmp_path / "snapshots" / f"step-{step:08d}.h5") as file:
                for name in ("velocity", "dye"):
                    points.setdefault(name, []).append(file[name][:])
        for name, values in points.items():
            written = fields(tmp_path)
            np.testing.assert_allclose(written[f"step-{end:08d}.h5", f"{name}_mean"], np.mean(values, 0), atol=1e-14)
            variance = np.var(values, 0)
            there = written[f"step-{end:08d}.h5", f"{name}_variance"]
            np.testing.assert_allclose(there, variance, rtol=1e-9, atol=1e-16)
            assert variance.max() > 1e-5


@pytest.mark.slow
@pytest.mark.parametrize(
    ("stop", "sample"),
    [(15, 2), (15, 5)],
    ids=["within a window", "where a state entered"],
)
def test_a_run_that_continues_has_the_bits_of_the_undisturbed_one(tmp_path, stop, sample):
    run(tmp_path / "whole", 40 * STEP, sample_steps=sample)
    stopped = tmp_path / "parts"
    run(stopped, 40 * STEP, sample_steps=sample)
    continue_from(stopped, stop)
    last = run(stopped, 40 * STEP, resume=True, sample_steps=sample)
    assert int(last.step) == 40
    whole, parts = recorded(tmp_path / "whole"), recorded(stopped)
    assert [row.step for row in parts] == [row.step for row in whole] == [10, 20, 30, 40]
    for a, b in zip(whole, parts, strict=True):
        for name in a.values:
            np.testing.assert_array_equal(a.values[name], b.values[name])
    a, b = fields(tmp_path / "whole"), fields(stopped)
    assert a.keys() == b.keys()
    for name in a:
        np.testing.assert_array_equal(a[name], b[name])


@pytest.mark.slow
def test_a_run_may_begin_with_the_last_state_of_one_with_other_outputs(tmp_path):
    """It carries the sums of that run's outputs, which nothing in the new one declares."""
    grid = sw.Grid((8, 8), mesh=sw.device_mesh([0]))
    flow, stepper = sw.equations.NavierStokes(grid, viscosity=0.02), sw.steppers.IFRK2()
    state = sw.initial_state(flow, stepper, sw.initial.TaylorGreen()(grid))
    summing = [Statistics(every_steps=4, sample_steps=2, fields=("velocity",))]
    last = sw.run(flow, stepper, state, end=0.1, step=0.05, directory=tmp_path / "first", outputs=summing)
    assert "statistics" in last.statistics
    after = sw.run(flow, stepper, last, end=0.2, step=0.05, directory=tmp_path / "next", outputs=[])
    assert int(after.step) == 4
    assert not after.statistics
    kept = sw.io.load_checkpoint(list_checkpoints(tmp_path / "next" / "checkpoints")[-1], flow, stepper)
    assert not kept.statistics


@pytest.mark.slow
def test_steps_of_changing_size_count_by_their_time(tmp_path):
    """Each state has the weight of the step before it; the last one of a window is shortened."""
    options = {"every_steps": None, "every_time": 0.5, "sample_steps": 1, "fields": ()}
    run(tmp_path, 1.0, control={"cfl": 0.4}, more=[Spectra(every_steps=1)], **options)
    rows, momentary = recorded(tmp_path), own_rows(tmp_path / "spectra.h5").table().rows
    for row in rows:
        window = [m for m in momentary if row.values["since"] <= m.t <= row.t]
        weights, energies = np.diff([m.t for m in window]), [m.values["energy"] for m in window[1:]]
        assert weights.min() < 0.9 * weights.max()
        np.testing.assert_allclose(row.values["energy"], np.average(energies, 0, weights), rtol=1e-12, atol=1e-18)
    assert [row.t for row in rows] == pytest.approx([0.5, 1.0])
    assert rows[0].values["since"] == 0
    assert rows[1].values["since"] == pytest.approx(0.5)


@pytest.mark.slow
def test_states_before_a_time_do_not_enter(tmp_path):
    run(tmp_path, 30 * STEP, every_steps=None, after=0.8, fields=())
    (row,) = recorded(tmp_path)
    assert (row.step, row.values["since"], row.values["samples"]) == (30, pytest.approx(0.8), 7)


@pytest.mark.slow
def test_other_sums_than_those_of_the_checkpoint_begin_anew(tmp_path):
    run(tmp_path, 20 * STEP, fields=())
    continue_from(tmp_path, 15)
    run(tmp_path, 30 * STEP, resume=True, fields=("dye",))
    assert "they begin anew" in (tmp_path / "log.txt").read_text()
    assert [row.values["samples"] for row in recorded(tmp_path)] == [5, 2, 5]


def test_the_parameters_are_those_of_the_run(tmp_path):
    """An output that the run has is summed up as it is there."""
    from solver.simulation import OutputList

    class Shifted(Spectra):
        pass

    mine = Shifted(every_steps=3)
    listed = OutputList.of([Statistics(of=("spectra",)), mine])
    assert listed.others[0].sources == {"spectra": mine}
    assert type(OutputList.of([Statistics()]).others[0].sources["spectra"]) is Spectra


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"of": ("series",)},
            "'series' records no arrays against time; (did you mean|known are)",
        ),
        ({"fields": ("vorticity",)}, "navier-stokes has no field 'vorticity'; did you mean 'velocity'"),
        ({"of": (), "fields": ()}, "of, fields and of_particles are all empty"),
        ({"sample_steps": 0}, "one or more is needed"),
    ],
)
def test_what_cannot_be_summed_up_is_refused_before_anything_is_written(tmp_path, options, message):
    with pytest.raises((ValueError, ConfigError), match=message):
        run(tmp_path / "run", 1.0, **options)
    assert not (tmp_path / "run").exists()


def test_sums_of_fields_need_no_gather():
    grid = sw.Grid((16, 16, 16), mesh=sw.device_mesh(range(8)))
    flow = sw.equations.NavierStokes(grid, viscosity=0.02)
    state = sw.initial_state(flow, sw.steppers.IFRK2(), sw.initial.TaylorGreen()(grid))
    text = Statistics(fields=("velocity",)).programs(flow, state)["statistics"].lower().compile().as_text()
    assert "all-gather" not in text
    assert text.count("all-to-all(") == 1
    made = jax.eval_shape(lambda: Statistics(fields=("velocity",)).accumulators(flow))
    assert made["fields"]["velocity"]["squares"].shape == (3, 16, 16, 16)


@pytest.mark.slow
def test_a_run_continues_whatever_the_order_of_what_is_summed_up(tmp_path):
    """Two outputs with columns of one name, in an order that is not that of their names."""
    of = ("structure-functions", "correlations")
    run(tmp_path / "whole", 20 * STEP, fields=(), of=of)
    stopped = tmp_path / "parts"
    run(stopped, 20 * STEP, fields=(), of=of)
    continue_from(stopped, 15)
    run(stopped, 20 * STEP, resume=True, fields=(), of=of)
    for name in of:
        whole, parts = recorded(tmp_path / "whole", name), recorded(stopped, name)
        assert [row.step for row in parts] == [row.step for row in whole] == [10, 20]
        for column, values in whole[-1].values.items():
            np.testing.assert_array_equal(parts[-1].values[column], values)


@pytest.mark.slow
def test_sums_on_other_axes_are_not_continued(tmp_path):
    """Arrays of the same shapes with another meaning: neither the sums nor the rows go on."""
    given = {"fields": (), "of": ("pdfs",)}
    run(tmp_path, 20 * STEP, more=[PDFs(quantities=("velocity",), deviations=5.0)], **given)
    continue_from(tmp_path, 15)
    (tmp_path / "pdfs.h5").rename(tmp_path / "moved.h5")
    wider = [PDFs(quantities=("velocity",), deviations=6.0)]
    with pytest.raises(ConfigError, match=r"pdfs\.h5: holds .* with other axes"):
        run(tmp_path, 20 * STEP, resume=True, more=wider, **given)
    assert len(recorded(tmp_path, "pdfs")) == 2
    (tmp_path / "statistics" / "pdfs.h5").rename(tmp_path / "moved-too.h5")
    run(tmp_path, 20 * STEP, resume=True, more=wider, **given)
    assert "they begin anew" in (tmp_path / "log.txt").read_text()
    (row,) = recorded(tmp_path, "pdfs")
    assert row.values["since"] == pytest.approx(16 * STEP)  # the next state that enters


@pytest.mark.slow
@pytest.mark.parametrize("every_steps", [None, 10], ids=["within a window", "after one"])
def test_a_later_time_to_begin_at_counts_for_a_run_that_is_continued(tmp_path, every_steps):
    """States before it leave the sums, and none of them gives the first state after it a weight."""
    given = {"fields": (), "every_steps": every_steps, "sample_steps": 1}
    run(tmp_path / "whole", 40 * STEP, after=32 * STEP, **given)
    stopped = tmp_path / "parts"
    run(stopped, 40 * STEP, **given)
    continue_from(stopped, 15)
    run(stopped, 40 * STEP, resume=True, after=32 * STEP, **given)
    row, expected = recorded(stopped)[-1], recorded(tmp_path / "whole")[-1]
    assert row.step == expected.step == 40
    assert row.values.keys() == expected.values.keys()
    for name, values in expected.values.items():
        np.testing.assert_array_equal(row.values[name], values, err_msg=name)


def test_a_window_begins_at_its_time(make_grid):
    """0.45 in steps of 0.15 may be the number before: schedules allow a billionth of a step, and so does `after`."""
    flow = sw.equations.NavierStokes(make_grid((8, 8), devices=1), viscosity=0.02)
    output = Statistics(after=0.45)
    t = np.nextafter(0.45, 0)
    state = sw.State(field={}, t=t, dt=np.float64(0.15), step=np.int64(3))
    assert output.observe(flow, state, output.accumulators(flow), end=True)["since"] == t
    with pytest.raises(ValueError, match=r"^time.end = 0: a later end than 0 is needed with output.statistics"):
        Statistics().check_times(0.0)


@pytest.mark.slow
def test_the_first_stage_of_a_run_may_end_before_its_window(tmp_path):
    """A run to t = 0.2 keeps its `after = 0.3`, says so, and goes on to what it would have been in one go."""
    run(tmp_path / "whole", 0.6, after=0.3)
    run(tmp_path / "staged", 0.2, after=0.3)
    run(tmp_path / "staged", 0.6, after=0.3, resume=True)
    assert "output.statistics.after = 0.3 is not before time.end = 0.2" in (tmp_path / "staged/log.txt").read_text()
    row, expected = recorded(tmp_path / "staged")[-1], recorded(tmp_path / "whole")[-1]
    for name, values in expected.values.items():
        np.testing.assert_array_equal(row.values[name], values, err_msg=name)
