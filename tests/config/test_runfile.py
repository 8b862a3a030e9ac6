"""Run files: what is accepted, what is refused, and in which words."""

import tomllib
from pathlib import Path

import pytest

from solver import assemble
from solver.config import ConfigError, changed_physics, load, parse

RUNS = Path(__file__).parents[2] / "runs"
DEMO = RUNS / "taylor_green.toml"


def demo(*overrides):
    return load(DEMO, assemble.schema(), overrides)


# of bodies that move, forces, wavefunctions; every run that is continued reads such a file, too
SAID_AGAIN = {"flapping_plate", "forced_abc", "forced_turbulence", "fuzzy_dark_matter", "free_discs", "surface_fronts"}


@pytest.mark.slow
@pytest.mark.parametrize("path", sorted(RUNS.glob("*.toml")), ids=lambda p: p.stem)
def test_every_case_resolves_and_its_resolved_file_says_the_same(path, tmp_path):
    config = assemble.resolve(load(path, assemble.schema()))
    assert config.title
    assert config.reference
    if path.stem in SAID_AGAIN:
        written = tmp_path / "config.toml"
        written.write_text(config.to_toml())
        assert assemble.resolve(load(written, assemble.schema())) == config


def test_the_demo_has_exactly_the_documented_keys():
    table = tomllib.loads(DEMO.read_text())
    assert list(table) == [
        "title",
        "reference",
        "grid",
        "equation",
        "initial",
        "time",
        "devices",
        "random",
        "output",
    ]
    assert set(table["devices"]) == {"platform", "virtual", "decomposition"}
    assert set(table["output"]) == {"directory", "series", "spectra", "snapshots", "checkpoints"}


def test_override_values_are_toml_and_else_strings():
    config = demo("grid.shape=[32, 16, 8]", "output.directory=some where/else", "equation.viscosity=1")
    assert config.grid.shape == (32, 16, 8)
    assert config.directory == "some where/else"
    assert config.equation.parameters["viscosity"] == 1.0
    assert type(config.equation.parameters["viscosity"]) is float


def test_setting_one_of_step_and_cfl_drops_the_other():
    config = demo("time.cfl=0.5")
    assert (config.time.step, config.time.cfl) == (None, 0.5)
    config = demo("time.cfl=0.5", "time.step=0.1")
    assert (config.time.step, config.time.cfl) == (0.1, None)


def test_an_inline_table_replaces_the_whole_table():
    config = demo("output.series={every_time=0.25}")
    assert config.outputs["series"].parameters == {"every_steps": None, "every_time": 0.25}
    config = demo("output.checkpoints.keep=7")
    given = {name: value for name, value in config.outputs["checkpoints"].parameters.items() if value is not None}
    assert given == {"every_steps": 200, "keep": 7, "layout": "per-process"}


def test_lengths_in_words():
    config = demo('grid.lengths=["2 pi", "0.5pi", 3]')
    assert list(config.grid.length_values) == pytest.approx([6.283185307, 1.570796327, 3.0])


@pytest.mark.parametrize(("written", "value"), [("1.5", 1.5), ("2", 2.0), ("4 pi", 12.566370614)])
def test_one_length_for_all_axes(written, value):
    assert list(demo(f"grid.lengths={written}").grid.length_values) == pytest.approx([value] * 3)


REFUSED = {
    "no fields": (["devices.fields_per_exchange=0"], "devices.fields_per_exchange = 0: a positive number is needed"),
    "no such precision": (
        ["devices.exchange_precision=float15"],
        "devices.exchange_precision = 'float15': 'grid' or 'float32' or 'float16' is needed; did you mean 'float16'?",
    ),
    "jaxdecomp sends as it is": (
        ["devices.exchange_precision=float16", "devices.engine=jaxdecomp"],
        "devices.exchange_precision = 'float16' with devices.engine = 'jaxdecomp'",
    ),
    "misspelt key": (["grid.shpe=[1]"], "grid.shpe: unknown key; did you mean 'shape'?"),
    "misspelt section": (["gird.shape=[1]"], "gird: unknown key; did you mean 'grid'?"),
    "wrong type": (["time.step=fast"], "time.step = 'fast': a number is needed"),
    "boolean is no number": (["time.step=true"], "time.step = True: a number is needed"),
    "no length for all axes": (["grid.lengths=wide"], "grid.lengths = 'wide': 'wide' is not a length"),
    "table is no length": (["grid.lengths={ a = 1 }"], "grid.lengths = {'a': 1}: a length is needed"),
    "boolean is no length": (["grid.lengths=true"], "grid.lengths = True: a length is needed"),
    "float is no integer": (["random.seed=1.5"], "random.seed = 1.5: an integer is needed"),
    "infinite": (["time.end=inf"], "time.end = inf: a number is needed"),
    "negative step": (["time.step=-0.1"], "time.step = -0.1: a positive number is needed"),
    "misspelt choice": (["grid.dealias=two-third"], "did you mean 'two-thirds'?"),
    "misspelt equation": (["equation.name=navier-stoke"], "did you mean 'navier-stokes'?"),
    "misspelt parameter": (
        ["equation.viscocity=1"],
        "equation.viscocity: unknown key; did you mean 'viscosity'?",
    ),
    "capital letters": (["time.stepper=RK4"], "time.stepper = 'RK4': unknown; did you mean 'ifrk4'?"),
    "unknown stepper": (["time.stepper=rk4"], "time.stepper = 'rk4': unknown; did you mean 'ifrk4'?"),
    "bad length": (['grid.lengths=["2 pie", 1, 1]'], "'2 pie' is not a length"),
    "negative length": (["grid.lengths=[1, 1, -1]"], "grid.lengths[2] = -1: a positive length is needed"),
    "too few lengths": (["grid.lengths=[1, 1]"], "grid.lengths has 2 entries; grid.shape has 3"),
    "no table": (["output.series=5"], "output.series = 5: a table is needed"),
    "zero interval": (["output.series={every_steps=0}"], "output.series.every_steps = 0: a positive number"),
    "longest step": (["time.max_step=0.1"], "time.max_step = 0.1 needs time.cfl or time.tolerance"),
    "minutes": (['time.wall_limit="12:99:00"'], "minutes and seconds of at most 59 are needed"),
    "no time of the clock": (["time.wall_limit=00:00:00"], "time.wall_limit = 00:00:00: a positive time is needed"),
    "a date": (["time.end=2026-01-02"], "time.end = 2026-01-02: a number is needed"),
    "scalar with a field's name": (
        ["scalars.velocity.diffusivity=0.1"],
        "scalars.velocity: the equation has 'velocity' already; another name is needed",
    ),
    "not an override": (["grid"], "'grid': an override is written section.key=value"),
    "through a value": (["title.x=1"], "'title' is not a table"),
}


@pytest.mark.parametrize("written", ["11:50:00", '"11:50:00"'])
def test_a_time_of_the_clock_needs_no_quotes(written):
    assert demo(f"time.wall_limit={written}").time.wall_limit == "11:50:00"


@pytest.mark.parametrize("case", REFUSED)
def test_refused_by_itself(case):
    overrides, message = REFUSED[case]
    with pytest.raises(ConfigError) as error:
        demo(*overrides)
    assert message in str(error.value)
    assert "\n" not in str(error.value)


NOT_TOGETHER = {
    "stepper": (
        ["time.stepper=strang"],
        "stepper strang with navier-stokes: velocity is no wavefunction; an equation of wavefunctions is needed",
    ),
    "stepper of another form": (
        ["equation={ name = 'gross-pitaevskii' }", "initial={ name = 'gaussian' }", "grid.dealias=none"],
        "time.stepper = 'ifrk4': gross-pitaevskii is stepped by strang, yoshida4",
    ),
    "initial of one field, by its name": (
        ["initial={velocity={name='noise'}}"],
        "[initial.velocity]: the equation has one field, so [initial] is needed",
    ),
    "forcing of one field, by its name": (
        ["forcing={velocity={name='abc'}}"],
        "[forcing.velocity]: the equation has one field, so [forcing] is needed",
    ),
    "initial": (
        ["initial={name='gaussian'}"],
        "velocity, a vector of navier-stokes, starts from beltrami, conduction, file, gaussian-random, ",
    ),
    "unresolved": (
        ["grid.shape=[32,32,32]", "initial.name=beltrami", "initial.wavenumber=20"],
        "beltrami with wavenumber 20: this grid resolves at most 10",
    ),
    "two coefficients": (
        ["initial={name='beltrami', coefficients=[1, 2]}"],
        "coefficients [1.0, 2.0]: three numbers A, B, C are needed",
    ),
    "dimension": (["grid.shape=[64]", "grid.lengths=[1]"], "navier-stokes in 1 dimensions: 2 or 3 are known"),
    "initial's dimension": (
        ["grid.shape=[16, 16]", "grid.lengths=[1, 1]", "initial={name='beltrami'}"],
        "beltrami on a grid of 2 dimensions",
    ),
    "four sides": (["grid.shape=[4, 4, 4, 4]", "grid.lengths=[1, 1, 1, 1]"], "one to three sides"),
    "negative viscosity": (["equation.viscosity=-1"], "viscosity -1.0: zero or more is needed"),
    "missing file": (["initial={name='file', path='no.h5', datasets=['u']}"], "no.h5: no such file"),
    "sides of a slab": (["devices.mesh=[4, 2]"], "decomposition = 'pencil' is needed"),
    "three sides": (["devices.decomposition=pencil", "devices.mesh=[4, 2, 1]"], "two positive sides are needed"),
    "pencils of an area": (
        ["grid.shape=[16, 16]", "grid.lengths=[1, 1]", "devices.decomposition=pencil", "devices.mesh=[2, 2]"],
        "split in slabs only",
    ),
    "infinite in single precision": (
        ["grid.precision=float32", "equation.viscosity=1e300"],
        "equation.viscosity = 1e+300: grid.precision = 'float32' holds numbers from 1.2e-38 to 3.4e+38",
    ),
    "nothing in single precision": (
        ["grid.precision=float32", "forcing={name='abc', coefficients=[1e-40, 1, 1]}"],
        "forcing.coefficients = 1e-40: grid.precision = 'float32' holds",
    ),
    "phase shift": (["grid.dealias=phase-shift"], "'smooth' or 'none' is needed; did you mean 'phase-shift-random'?"),
}


@pytest.mark.parametrize("case", NOT_TOGETHER)
def test_refused_for_what_does_not_go_together(case):
    overrides, message = NOT_TOGETHER[case]
    with pytest.raises(ConfigError) as error:
        assemble.resolve(demo(*overrides))
    assert message in str(error.value)


def test_both_or_neither_of_step_and_cfl():
    table = tomllib.loads(DEMO.read_text())
    table["time"]["cfl"] = 0.5
    with pytest.raises(ConfigError, match="two are given"):
        parse(table, assemble.schema())
    del table["time"]["cfl"], table["time"]["step"]
    with pytest.raises(ConfigError, match="none is given"):
        parse(table, assemble.schema())


def test_missing_keys_are_named():
    table = tomllib.loads(DEMO.read_text())
    del table["equation"]["viscosity"]
    with pytest.raises(ConfigError, match=r"equation.viscosity is missing: a number is needed"):
        parse(table, assemble.schema())
    del table["equation"]
    with pytest.raises(ConfigError, match=r"equation.name is missing: one of .*navier-stokes"):
        parse(table, assemble.schema())


@pytest.mark.parametrize(("text", "message"), [(None, "no such run file"), ("[grid\n", "not TOML")])
def test_unreadable_file(tmp_path, text, message):
    path = tmp_path / "run.toml"
    if text is not None:
        path.write_text(text)
    with pytest.raises(ConfigError, match=message):
        load(path, assemble.schema())


def test_what_may_change_when_a_run_is_continued():
    before = demo().to_table()
    free = demo("time.end=99", "devices.virtual=4", "output.series={every_steps=1}", "output.directory=x", "title=x")
    assert changed_physics(before, free.to_table()) == []
    changed = changed_physics(before, demo("equation.viscosity=1", "time.step=0.5").to_table())
    assert changed == ["equation.viscosity: 0.005 → 1.0", "time.step: 0.01 → 0.5"]


def test_split_step_equations_keep_all_modes_unless_told_otherwise():
    overrides = [
        "equation={name='schroedinger-poisson', coupling=1}",
        "initial={name='gaussian'}",
        "time.stepper=strang",
        "grid={shape=[8, 8, 8]}",
    ]
    assert assemble.resolve(demo(*overrides)).grid.dealias == "none"
    with pytest.raises(ConfigError, match="would lose mass"):
        assemble.resolve(demo(*overrides, "grid.dealias=two-thirds"))
    with pytest.raises(ConfigError, match=r"coupling -1\.0"):
        assemble.resolve(demo(*overrides, "equation.coupling=-1"))


@pytest.mark.slow
def test_device_counts_that_work_are_named():
    config = assemble.resolve(
        demo("grid.shape=[48, 32, 40]", "grid.lengths=[1, 1, 1]", "initial={name='random-phase'}")
    )
    assemble.check_device_count(config, 8)  # 21 retained ky on 8 devices: padded, no error
    with pytest.raises(ConfigError, match=r"22 slabs of .* possible are 1 to 21"):
        assemble.check_device_count(config, 22)


@pytest.mark.slow
def test_devices_chosen_by_themselves_share_the_planes_evenly_where_they_can():
    config = assemble.resolve(demo())
    assert [assemble.preferred_device_count(config, cores) for cores in (1, 2, 3, 7, 8)] == [1, 2, 2, 4, 8]
    assert assemble.preferred_device_count(config, 3, processes=3) == 3, "9, 6 and 3 devices: none divides 64 planes"
    odd = assemble.resolve(demo("grid.shape=[15, 15, 15]"))
    assert assemble.preferred_device_count(odd, 4) == 3
    assert assemble.preferred_device_count(odd, 100) == 5, "no more devices than the 9 retained ky"


def test_devices_split_the_points_that_snapshots_have():
    config = assemble.resolve(demo("grid.shape=[24, 16, 20]", "output.snapshots.coarsen=8"))
    message = r"^output.snapshots.coarsen = 8: 4 slabs of the grid \[3, 2, 2\].* possible are 1 to 2"
    assemble.check_device_count(config, 2)
    with pytest.raises(ConfigError, match=message):
        assemble.check_device_count(config, 4)
    assert assemble.preferred_device_count(config, 4) == 2


def test_sides_of_pencils_are_even_and_nearly_square():
    config = assemble.resolve(demo("devices.decomposition=pencil"))
    sides = {devices: assemble.mesh_shape(config, devices) for devices in (1, 2, 8, 16, 12, 44)}
    assert sides == {1: (1, 1), 2: (2, 1), 8: (4, 2), 16: (4, 4), 12: (4, 3), 44: (11, 4)}
    with pytest.raises(ConfigError, match="at most 43 slabs and at most 22 pencils in each"):
        assemble.check_device_count(config, 2021)


def test_a_name_that_is_no_string_is_refused():
    with pytest.raises(ConfigError, match=r"equation.name = \[\]: a string is needed, one of .*boussinesq"):
        demo("equation={name=[]}")


RENAMED = [
    (
        "initial.name=gaussian-random",
        {"peak": 8.0, "slope": 2.0, "rms": 1.0},
        ["initial.name = 'gaussian-random' has no initial.energy: dropped"],
    ),
    (
        "initial.name=beltrami",
        {"wavenumber": 1},
        ["initial.name = 'beltrami' has no initial.energy, initial.peak, initial.slope: dropped"],
    ),
    ("equation.name=burgers", {"viscosity": 0.5}, ["equation.name = 'burgers' has no equation.drag: dropped"]),
    ("initial.name=random-phase", {"energy": 0.3}, []),
]


@pytest.mark.parametrize(("override", "kept", "dropped"), RENAMED, ids=[case[0] for case in RENAMED])
def test_another_name_keeps_the_keys_that_its_class_has_and_says_which_go(tmp_path, override, kept, dropped):
    text = DEMO.read_text().replace("viscosity = 5e-3", "viscosity = 0.5\ndrag = 0.1")
    text = text.replace('name = "taylor-green"', 'name = "random-phase"\nenergy = 0.3\npeak = 8\nslope = 2')
    (tmp_path / "run.toml").write_text(text)
    config = load(tmp_path / "run.toml", assemble.schema(), [override])
    parameters = {**config.equation.parameters, **config.initial["velocity"].parameters}
    assert parameters.items() >= kept.items()
    assert list(config.dropped) == dropped


def test_keys_given_beside_another_name_are_refused_where_it_has_none():
    with pytest.raises(ConfigError, match=r"initial.peak: unknown key"):
        demo("initial.name=beltrami", "initial.peak=8")


def test_an_equation_of_several_fields_starts_each_from_its_table():
    config = assemble.resolve(load(RUNS / "gray_scott.toml", assemble.schema()))
    assert list(config.initial) == ["u", "v"]
    with pytest.raises(ConfigError, match=r"initial.w: unknown field; known are u, v"):
        load(RUNS / "gray_scott.toml", assemble.schema(), ["initial.w.name=uniform"])
    with pytest.raises(ConfigError, match=r"initial.v.name is missing"):
        load(RUNS / "gray_scott.toml", assemble.schema(), ["initial.v={}"])
    with pytest.raises(
        ConfigError, match=r"initial.v.name = 'beltrami': v, a scalar of gray-scott, starts from .*bump"
    ):
        assemble.resolve(load(RUNS / "gray_scott.toml", assemble.schema(), ["initial.v.name=beltrami"]))
