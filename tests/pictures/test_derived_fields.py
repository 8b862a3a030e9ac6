"""Fields that pictures make of a snapshot: against those that the solver writes itself, and against formulas."""

import shutil
from dataclasses import replace

import jax.numpy as jnp
import numpy as np
import pytest

import solver as sw
from solver.cli.main import main
from solver.io import list_snapshots, read_snapshot
from solver.pictures import View
from solver.pictures.derived_fields import _dissipation, derived_fields, shown_fields
from solver.pictures.drawn_slices import figure_of_times, panels_of, plane_of, sides_of, suiting_plane
from solver.pictures.interpolation import factors, finer_side

pytest.importorskip("matplotlib", reason="matplotlib is not installed")


def written(folder, equation, start, fields):
    """The last snapshot of a run of two steps."""
    stepper = sw.steppers.IFRK2()
    state = sw.initial_state(equation, stepper, sw.sample(start, equation.grid))
    outputs = [sw.outputs.Snapshots(every_steps=1, fields=fields)]
    sw.run(equation, stepper, state, end=0.02, step=0.01, directory=folder, outputs=outputs)
    return read_snapshot(list_snapshots(folder / "snapshots")[-1])


def of(snapshot, name, **view):
    view = View(field=name, **view)
    return panels_of(snapshot, view, plane_of(snapshot, view))


def only(snapshot, *names):
    return replace(snapshot, variables={name: snapshot.variables[name] for name in names})


@pytest.fixture(scope="module")
def flow(tmp_path_factory):
    grid = sw.Grid((12, 16, 8), lengths=(2 * np.pi, 4 * np.pi, 3.0), mesh=sw.device_mesh([0]))
    k = 2 * np.pi / 3.0
    start = lambda x, y, z: (  # noqa: E731
        jnp.sin(x) * jnp.cos(y) * jnp.cos(k * z), -jnp.cos(x) * jnp.sin(y) + 0.3 * jnp.sin(k * z), jnp.sin(x + y / 2),
    )  # fmt: skip
    names = ("velocity", "vorticity", "q_criterion", "dissipation")
    return written(tmp_path_factory.mktemp("flow") / "run", sw.equations.NavierStokes(grid, 0.05), start, names)


@pytest.mark.slow
@pytest.mark.parametrize("plane", ["xy", "xz", "yz"])
def test_derivatives_are_those_of_the_solver(flow, plane):
    bare = only(flow, "velocity")
    for name in ("vorticity", "q_criterion", "dissipation"):
        made, stored = of(bare, name, plane=plane), of(flow, name, plane=plane)
        assert [(p.label, p.units) for p in made] == [(p.label, p.units) for p in stored]
        for one, other in zip(made, stored, strict=True):
            np.testing.assert_allclose(one.values, other.values, atol=1e-12 * np.abs(other.values).max())
    (divergence,) = of(bare, "divergence", plane=plane)
    assert np.abs(divergence.values).max() < 1e-12
    u = np.stack([panel.values for panel in of(bare, "velocity", plane=plane)])
    (speed,) = of(bare, "speed", plane=plane)
    np.testing.assert_allclose(speed.values, np.sqrt(np.sum(u**2, axis=0)))
    assert len(of(bare, "q", plane=plane)) == 1


@pytest.mark.slow
def test_a_flow_in_a_plane_has_its_velocity_of_the_vorticity(tmp_path):
    grid = sw.Grid((16, 12), lengths=(2 * np.pi, 3.0), mesh=sw.device_mesh([0]))
    equation = sw.equations.Vorticity(grid, viscosity=0.01)
    start = lambda x, y: jnp.sin(x) * jnp.cos(2 * np.pi * y / 3) + jnp.cos(2 * x)  # noqa: E731
    snapshot = written(tmp_path / "run", equation, start, ("vorticity", "velocity"))
    bare = only(snapshot, "vorticity")
    for one, other in zip(of(bare, "velocity"), of(snapshot, "velocity"), strict=True):
        np.testing.assert_allclose(one.values, other.values, atol=1e-12)
    gradient = of(bare, "gradient_vorticity")
    x = snapshot.axes["x"]
    assert [panel.label for panel in gradient] == ["x", "y"]
    np.testing.assert_allclose(gradient[0].values.mean(axis=1), -2 * np.sin(2 * x), atol=2e-3)  # of cos 2x, after 0.02


@pytest.mark.slow
def test_potential_vorticity_is_that_of_the_whole_buoyancy(tmp_path):
    """(ω + f ẑ)·∇(b + N² z), at the points of the start, by hand."""
    grid = sw.Grid((12, 12, 12), mesh=sw.device_mesh([0]))
    equation = sw.equations.Boussinesq(grid, 0.01, 0.01, buoyancy_frequency=2.0, rotation=3.0)
    start = {
        "velocity": sw.sample(lambda x, y, z: (jnp.sin(z), jnp.sin(x), 0 * x), grid),
        "buoyancy": sw.sample(lambda x, y, z: (0.5 * jnp.cos(x + z),), grid),
    }
    state = sw.initial_state(equation, sw.steppers.IFRK2(), start)
    outputs = [sw.outputs.Snapshots(every_steps=1)]
    sw.run(equation, sw.steppers.IFRK2(), state, end=0.01, step=0.01, directory=tmp_path / "run", outputs=outputs)
    (tmp_path / "run" / "config.toml").write_text("[equation]\nbuoyancy_frequency = 2.0\nrotation = 3.0\n")
    snapshot = read_snapshot(list_snapshots(tmp_path / "run" / "snapshots")[0])
    (panel,) = of(snapshot, "potential_vorticity", plane="xz", at=0.0)
    x, _, z = np.meshgrid(*snapshot.axes.values(), indexing="ij")
    slope = -0.5 * np.sin(x + z)
    expected = (3.0 + np.cos(x)) * (slope + 4.0)  # of ω = (0, cos z, cos x)
    assert panel.units == "1/time^3"
    np.testing.assert_allclose(panel.values, expected[:, 0], atol=1e-12)


def test_a_wavefunction_is_drawn_by_density_and_phase(tmp_path):
    grid = sw.Grid((16, 8), dealias="none", mesh=sw.device_mesh([0]))
    equation, stepper = sw.equations.GrossPitaevskii(grid), sw.steppers.Strang()
    state = sw.initial_state(equation, stepper, sw.sample(lambda x, y: jnp.sqrt(2.0) * jnp.exp(3j * x) + 0 * y, grid))
    names = tuple(name for name in equation.snapshot(state.field) if name != "density")
    outputs = [sw.outputs.Snapshots(every_steps=1, fields=names)]
    sw.run(equation, stepper, state, end=0.01, step=0.01, directory=tmp_path / "run", outputs=outputs)
    snapshot = read_snapshot(list_snapshots(tmp_path / "run" / "snapshots")[0])
    assert shown_fields(snapshot) == ["density", "phase"]
    density, phase = panels_of(snapshot, View(), plane_of(snapshot, View()))
    assert (density.units, phase.units) == ("density", "rad")
    sides = sides_of(snapshot, plane_of(snapshot, View()))
    x = finer_side(sides[0], factors(sides)[0]).points
    np.testing.assert_allclose(density.drawn(sides), 2.0, rtol=1e-12)
    turned = np.exp(1j * (phase.drawn(sides) - 3 * x[:, None]))
    np.testing.assert_allclose(turned, 1.0, atol=1e-12)
    assert len(of(snapshot, names[0])) == 1  # the real part, if it is asked for


def test_stratified_and_turning_flow_are_cut_upright(flow, tmp_path):
    assert suiting_plane(flow) == "xy"
    assert suiting_plane(replace(flow, variables={"buoyancy": flow.variables["q_criterion"]})) == "xz"
    folder = tmp_path / "run"
    shutil.copytree(flow.path.parent.parent, folder)
    text = (folder / "config.toml").read_text() if (folder / "config.toml").exists() else ""
    (folder / "config.toml").write_text(text.replace("viscosity = 0.05", "viscosity = 0.05\nrotation = 2.0"))
    turning = read_snapshot(folder / "snapshots" / flow.path.name)
    assert suiting_plane(turning) == "xz"
    assert plane_of(turning, View()).axes == ("x", "z")
    assert plane_of(turning, View(plane="yz")).axes == ("y", "z")
    assert suiting_plane(replace(turning, axes={**turning.axes, "x": turning.axes["x"][:1]})) == "yz"


def test_an_unknown_field_is_one_line_with_those_that_are_there(flow, tmp_path, capsys):
    words = [str(flow.path.parent.parent), "--field", "presure", "--output", str(tmp_path / "out")]
    for command in (["plot", *words], ["report", *words], ["movie", *words[:-1], str(tmp_path / "film.gif")]):
        assert main(command) == 2
        error = capsys.readouterr().err
        assert error.count("\n") == 1
        assert "there are dissipation, q_criterion, velocity, vorticity, and made of them " in error
    assert "divergence" in derived_fields(flow)


def test_one_field_is_drawn_at_several_times_in_one_figure(flow):
    snapshots = [read_snapshot(path) for path in list_snapshots(flow.path.parent)]
    figure = figure_of_times(snapshots, View(field="vorticity", component="z"))
    drawn = [axis for axis in figure.axes if axis.images]
    assert [axis.get_title(loc="left") for axis in drawn] == [f"vorticity z, t = {t}" for t in ("0", "0.01", "0.02")]
    assert len({axis.images[0].get_clim() for axis in drawn}) == 1
    assert [len(axis.child_axes) for axis in drawn] == [0, 0, 1]  # one colour bar
    assert figure_of_times(snapshots, View(field="vorticity")) is None


def test_dissipation_of_a_velocity_with_divergence_is_not_guessed():
    ones, nothing = np.ones((4, 3)), np.zeros((4, 3))
    still, moving = (nothing, nothing), (1e5 * ones, nothing)
    shear, stretch = (nothing, 2 * ones, nothing, nothing), (ones, nothing, nothing, nothing)
    np.testing.assert_allclose(_dissipation(0.1, (*shear, *still), 1e-6), 0.4)
    with pytest.raises(ValueError, match=r"u has divergence .1 among gradients of 1.: its dissipation depends on the"):
        _dissipation(0.1, (*stretch, *still), 1e-6)
    rounded = (shear[0] + 1e-2, *shear[1:])  # of a fast mean flow, in single precision
    np.testing.assert_allclose(_dissipation(0.1, (*rounded, *moving), 1e-6), 0.4, rtol=1e-3)
