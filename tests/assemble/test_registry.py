"""Names of run files: our own classes, the user's files and modules, and what is said of those that cannot be used."""

import json
import sys
import tomllib
from pathlib import Path
from typing import ClassVar

import h5py
import jax
import numpy as np
import pytest
from written_runs import written

import solver as sw
from solver import assemble
from solver.cli.main import main
from solver.config import ConfigError, Source, json_schema, load
from solver.config.toml import cases
from solver.io import Axis, Column, RecordsLayout, Row, own_rows

OWN = """
import jax.numpy as jnp
import numpy as np
import solver as sw


class Decay(sw.Equation):
    \"\"\"u_t = -c u.

    Args:
        c: rate [1/time].
    \"\"\"

    c: float = 1.0
    fields = {"u": sw.Field("scalar", "kg")}

    def linear(self):
        return sw.Diagonal({"u": -self.c * jnp.ones(self.grid.spectral_shape, self.grid.dtype)})

    def nonlinear(self, fields, t):
        return {"u": jnp.zeros_like(fields["u"])}

    def rate(self, fields):
        return jnp.asarray(1.0)


class Mean(sw.outputs.Output):
    \"\"\"The mean of u, a line each.\"\"\"

    name = "mean-of-u"

    def write(self, run, state):
        with (run.directory.path / "mean.txt").open("a") as file:
            file.write(f"{int(state.step)} {float(state.field['u'].real.max())!r}\\n")

    @classmethod
    def drop_after(cls, directory, step):
        path = directory.path / "mean.txt"
        if path.exists():
            lines = [line for line in path.read_text().splitlines() if int(line.split()[0]) <= step]
            path.write_text("".join(f"{line}\\n" for line in lines))
"""
RUN = """
[grid]
shape = [8, 8]

[equation]
name = "own.py:Decay"
c = 2

[initial]
name = "uniform"
value = 1.0

[time]
stepper = "etdrk2"
step = 0.1
end = 1.0

[devices]
use = [0, 1]

[output]
directory = "{directory}"
mean-of-u = {{ every_steps = 2 }}
checkpoints = {{ every_steps = 3 }}
"""


@pytest.fixture
def case(tmp_path):
    return written(tmp_path, RUN.format(directory=tmp_path / "out"), own=OWN)


def said(capsys, *words):
    """Exit code and the last line on stderr of a command."""
    code = main([str(word) for word in words])
    return code, capsys.readouterr().err.strip().splitlines()[-1:] or [""]


@pytest.mark.slow
def test_an_equation_and_an_output_from_a_file_run_and_continue(case, tmp_path, capsys):
    folder = tmp_path / "out"
    assert main(["run", str(case), "time.end=0.5"]) == 0
    copies = list(folder.glob("own-*.py"))
    assert [copy.read_text() for copy in copies] == [OWN]
    written = tomllib.loads((folder / "config.toml").read_text())
    assert written["equation"]["name"] == f"{copies[0].name}:Decay"
    assert "source:" in (folder / "log.txt").read_text()
    (tmp_path / "own.py").unlink()  # the copy will do
    assert main(["resume", str(folder), "time.end=1"]) == 0
    lines = [line.split() for line in (folder / "mean.txt").read_text().splitlines()]
    assert [int(step) for step, _ in lines] == [0, 2, 4, 5, 6, 8, 10]
    assert float(lines[-1][1]) == pytest.approx(0.1353352832366127, rel=1e-12)
    assert main(["verify", str(folder)]) == 0
    assert main(["info", str(folder)]) == 0


def test_looking_at_a_run_imports_nothing_but_its_own_copies(tmp_path, capsys, monkeypatch):
    """Directories are shared: what their config.toml names may be anybody's."""
    evil = f"open({str(tmp_path / 'was-here')!r}, 'w')\n"
    (tmp_path / "evil.py").write_text(evil)
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / "evil.py").write_text(evil)
    copy = Source(Path("own.py"), OWN.encode()).copy_name
    (folder / copy).write_text(OWN)
    (folder / "log.txt").touch()
    (folder / "series.csv").write_text("# units: step [1], t [time], dt [time], energy [1]\nstep,t,dt,energy\n")
    text = RUN.format(directory=folder).replace("own.py:Decay", f"{copy}:Decay")
    monkeypatch.chdir(tmp_path)
    for name in ("evil.py:X", "evil:X"):
        (folder / "config.toml").write_text(text.replace('"uniform"', f'"{name}"'))
        assert main(["verify", "run"]) == 0
        assert main(["plot", "run"]) == 0
        said = capsys.readouterr().err
        assert f"run/{copy} was imported: the run's own copy of its Python" in said
        assert f"{name[:-2]} is not imported here" in said
        assert main(["check", "run/config.toml"]) == 2
        assert f"{name[:-2]} is not imported here" in capsys.readouterr().err
        assert not (tmp_path / "was-here").exists()
    (folder / "config.toml").write_text(text)
    assert main(["check", "run/config.toml"]) == 0
    assert f"# source:       run/{copy} was imported" in capsys.readouterr().out


def test_records_of_outputs_that_are_not_imported_are_verified(tmp_path, capsys):
    (tmp_path / "config.toml").write_text(RUN.format(directory=tmp_path))
    records = own_rows(tmp_path / "own-record.h5")
    records.append(
        Row(0, 0.0, {"size": np.ones(3)}), RecordsLayout({"i": Axis(np.arange(3))}, {"size": Column(("i",))})
    )
    (tmp_path / "other.h5").write_bytes(b"made by something else")
    assert main(["verify", str(tmp_path)]) == 0
    said = capsys.readouterr().out
    assert "ok      own-record.h5\nunknown other.h5" in said
    data = bytearray(records.path.read_bytes())
    data[100] ^= 1
    records.path.write_bytes(data)
    assert main(["verify", str(tmp_path)]) == 1
    assert "DAMAGED own-record.h5" in capsys.readouterr().out


@pytest.mark.slow
def test_other_contents_of_the_file_are_other_physics(case, tmp_path, capsys):
    assert main(["run", str(case), "time.end=0.5"]) == 0
    (tmp_path / "own.py").write_text(OWN.replace("-self.c", "-2 * self.c"))
    before = (tmp_path / "out" / "config.toml").read_text()
    code, [line] = said(capsys, "run", case, "--resume")
    assert code == 2
    assert "other physics (equation.name: own-" in line
    assert (tmp_path / "out" / "config.toml").read_text() == before
    copy = next((tmp_path / "out").glob("own-*.py"))
    copy.write_text(copy.read_text() + "\n")
    code, [line] = said(capsys, "resume", tmp_path / "out")
    assert code == 2
    assert f"{copy}: it was changed since it was copied here" in line


def test_a_file_is_an_equation_whose_name_need_not_be_given(case):
    registry = assemble.Registry(case.parent)
    entry = registry.find("equation", "own.py:Decay")
    assert entry.cls.name == "decay"
    assert str(entry.parameters["c"]) == "a number"
    assert entry.parameters["c"].description == "rate [1/time]."
    assert registry.find("output", "mean-of-u").cls.__name__ == "Mean"


def test_a_class_of_a_module(monkeypatch, tmp_path):
    (tmp_path / "my_package_of_waves.py").write_text(OWN)
    monkeypatch.syspath_prepend(tmp_path)
    entry = assemble.Registry().find("equation", "my_package_of_waves:Decay")
    assert entry.name == "my_package_of_waves:Decay"
    assert entry.source is None
    del sys.modules["my_package_of_waves"]


WRONG = {
    "missing": (None, "own.py:Decay", "own.py: no such file"),
    "raises": ("1 / 0", "own.py:Decay", "own.py: cannot be imported: ZeroDivisionError: division by zero"),
    "exits": ("raise SystemExit(4)", "own.py:Decay", "own.py: cannot be imported: SystemExit: 4"),
    "no such class": (OWN, "own.py:Decoy", "Decoy: has no Decoy; subclasses of Equation there: Decay"),
    "no equation": (OWN, "own.py:Mean", "Mean: it is no Equation; subclasses of Equation there: Decay"),
    "no fields": (OWN.replace("fields = {", "felder = {"), "own.py:Decay", "needs a class attribute fields"),
    "abstract": (OWN.replace("def nonlinear", "def speed"), "own.py:Decay", "Decay has no nonlinear: linear and"),
    "no module": (OWN, "no_such_package.waves:Decay", "No module named 'no_such_package'"),
    "no name of a module": (OWN, ":Decay", "':Decay': a file or a module is needed in front of the colon"),
    "wrong names": (OWN.replace('return {"u": jnp.z', 'return {"w": jnp.z'), "own.py:Decay", "own.py: Decay:"),
    "wrong shape": (OWN.replace("jnp.zeros_like(fields[\"u\"])", "fields[\"u\"][0]"), "own.py:Decay", "nonlinear()"),
    "raises in use": (OWN.replace("-self.c *", "-self.speed *"), "own.py:Decay", "no attribute 'speed'"),
    "wrong operator": (OWN.replace("return sw.Diagonal({", "return dict({"), "own.py:Decay", "linear() gives dict"),
}  # fmt: skip


@pytest.mark.parametrize("wrong", WRONG)
def test_what_cannot_be_used_is_one_line_with_file_and_class(case, capsys, wrong):
    text, name, message = WRONG[wrong]
    own = case.parent / "own.py"
    own.write_text(text) if text is not None else own.unlink()
    code, lines = said(capsys, "run", case, f"equation.name={name}", "equation.c=2", "output.mean-of-u=false")
    assert code == 2
    assert len(lines) == 1
    assert message in lines[0]
    assert str(case) in lines[0]
    assert not (case.parent / "out").exists()


def test_registered_in_python():
    class Waves(sw.Equation):
        fields: ClassVar = {"u": sw.Field()}

    assert sw.register(Waves) is Waves
    assert assemble.Registry().find("equation", "waves").cls is Waves
    with pytest.raises(ValueError, match="a subclass of one of"):
        sw.register(dict)

    class Other(sw.Equation):
        name = "navier-stokes"

    with pytest.raises(ValueError, match=r"the name 'navier-stokes' is solver\.equations\.navier_stokes\.NavierStokes"):
        sw.register(Other)
    from solver.assemble import registry

    del registry.REGISTERED["equation"]["waves"]


# ---- list, describe, new, schema --------------------------------------------------------------------------------


@pytest.mark.slow
def test_everything_listed_is_described(capsys):
    assert main(["list"]) == 0
    listed = capsys.readouterr().out
    registry = assemble.Registry()
    for kind in assemble.BASES:
        for name in registry.names(kind):
            assert f"  {name} " in listed
            assert main(["describe", name]) == 0
            text = capsys.readouterr().out
            assert name in text
            for key, parameter in registry.find(kind, name).parameters.items():
                assert f"  {key}: " in text
                assert parameter.description, f"{kind} {name}: {key} is not described in its docstring"
    assert main(["list", "steppers"]) == 0
    assert "ifrk4" in capsys.readouterr().out


@pytest.mark.parametrize("name", sorted(cases()))
def test_cases_come_with_the_package(name, capsys):
    assert main(["new", name]) == 0
    assert tomllib.loads(capsys.readouterr().out)["title"]


@pytest.mark.parametrize(
    ("name", "case"),
    [("boussinesq", "internal-waves"), ("two-layer-quasi-geostrophic", "baroclinic-turbulence")],
)
def test_a_new_run_file_has_the_values_of_a_case(name, case, capsys):
    """Not defaults with which nothing happens, or the run blows up."""
    assert main(["new", name]) == 0
    new, expected = tomllib.loads(capsys.readouterr().out), tomllib.loads(cases()[case].read_text())
    assert new["equation"].items() >= expected["equation"].items()
    assert new["time"] == expected["time"]
    assert new["grid"].items() >= expected["grid"].items()
    for field, start in expected["initial"].items():
        assert new["initial"][field].items() >= start.items()


def test_unknown_names(capsys):
    assert said(capsys, "new", "navier-stoke") == (
        2,
        ["slabwave: error: 'navier-stoke': unknown name; did you mean 'navier-stokes'?"],
    )
    assert said(capsys, "describe", "ifrk5")[0] == 2
    assert said(capsys, "list", "equation")[0] == 2


@pytest.mark.slow
def test_the_schema_accepts_our_run_files_and_refuses_misspelt_ones(capsys):
    jsonschema = pytest.importorskip("jsonschema")
    assert main(["schema"]) == 0
    schema = json.loads(capsys.readouterr().out)
    validator = jsonschema.Draft202012Validator(schema)
    validator.check_schema(schema)
    for path in cases().values():
        table = tomllib.loads(path.read_text())
        assert not list(validator.iter_errors(table)), path
        table["grid"]["shpe"] = [1]
        assert list(validator.iter_errors(table))
    table = tomllib.loads(cases()["taylor-green"].read_text())
    for change in ({"viscocity": 1}, {"viscosity": "thick"}):
        assert list(validator.iter_errors({**table, "equation": {"name": "navier-stokes", **change}}))
    assert list(validator.iter_errors({**table, "initial": {"name": "taylor-gren"}}))
    assert not list(validator.iter_errors({**table, "equation": {"name": "my.py:Waves", "speed": 1}}))
    assert json_schema(assemble.schema()) == schema


def test_an_output_that_is_not_known(tmp_path):
    with pytest.raises(ConfigError, match=r"output\.seris: unknown; did you mean 'series'"):
        load(cases()["taylor-green"], assemble.schema(), ["output.seris={}"])
    assert jax  # the run files above touch no device


# ---- what a run says of itself ----------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_velocity_that_is_rounded_to_the_box_is_said(tmp_path, capsys):
    run_file = tmp_path / "packet.toml"
    run_file.write_text(
        "grid = { shape = [16, 16], lengths = [16.0, 16.0] }\nequation = { name = 'schroedinger-poisson' }\n"
        "initial = { name = 'gaussian', width = 2.0, velocity = [1.0, 0.0] }\ndevices = { use = [0, 1] }\n"
        f"time = {{ stepper = 'strang', step = 0.1, end = 0.1 }}\noutput = {{ directory = '{tmp_path}/out' }}\n"
    )
    assert main(["run", str(run_file)]) == 0
    line = "gaussian: velocity [1.0, 0.0] is not periodic in this box: [1.1781, 0.0] is used"
    assert line in (tmp_path / "out" / "log.txt").read_text()
    capsys.readouterr()
    assert main(["info", str(tmp_path / "out")]) == 0
    assert f"note 1:      {line}" in capsys.readouterr().out


@pytest.mark.slow
def test_a_grid_that_no_memory_holds_is_refused_and_leaves_no_directory(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("solver.cli.job.machine_memory", lambda: 24 * 2**30)
    code, [line] = said(
        capsys, "run", cases()["taylor-green"], "grid.shape=[2048,2048,2048]", f"output.directory={tmp_path}/out"
    )
    assert code == 2
    assert "grid.shape = [2048, 2048, 2048]: its fields need" in line
    assert "1 host of 24 GiB cannot hold them" in line
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
def test_check_compares_the_plan_with_the_machine(capsys, monkeypatch):
    monkeypatch.setattr("solver.cli.estimate_lines.machine_memory", lambda: 2**30)
    assert main(["check", str(cases()["taylor-green-512"]), "--devices", "4"]) == 0
    assert "# this machine: 1 GiB, is not enough for" in capsys.readouterr().out


# ---- what went wrong once ---------------------------------------------------------------------------------------


def test_types_of_parameters(tmp_path):
    more = "    c: float = 1.0\n    several: tuple = (1.0, 2.0)\n    table: Path = ''\n"
    text = OWN.replace("    c: float = 1.0\n", more)
    (tmp_path / "own.py").write_text(f"from pathlib import Path\n{text}")
    parameters = assemble.Registry(tmp_path).find("equation", "own.py:Decay").parameters
    assert str(parameters["several"]) == "a list, each entry a number"
    assert str(parameters["table"]) == "a string"


def test_parameters_that_cannot_be_read_are_one_line(tmp_path, case):
    own = case.parent / "own.py"
    for before, after, message in (
        ("c: float = 1.0", "c: 'NoSuchType' = 1.0", "Decay: its parameters cannot be read: NameError"),
        ('name = "mean-of-u"', 'name = "mean-of-u"\n    scale: float = 1.0', "must be a @dataclass"),
    ):
        own.write_text(OWN.replace(before, after))
        with pytest.raises(ConfigError, match=message):
            assemble.Registry(case.parent).find("equation", "own.py:Decay")


@pytest.mark.slow
def test_an_output_of_a_file_is_overridden_by_its_name_or_class(case, capsys):
    assert main(["run", str(case), "time.end=0.3", "output.mean-of-u.every_steps=1"]) == 0
    folder = case.parent / "out"
    assert not (folder / "mean-of-u").exists(), "a copy of the file was called after the output"
    assert len(list(folder.glob("own-*.py"))) == 1
    assert main(["resume", str(folder), "time.end=0.6", "output.mean-of-u=false"]) == 0
    steps = [int(line.split()[0]) for line in (folder / "mean.txt").read_text().splitlines()]
    assert steps == [0, 1, 2, 3]


@pytest.mark.slow
def test_a_run_continues_where_its_initial_file_is_gone(tmp_path, monkeypatch):
    with h5py.File(tmp_path / "in.h5", "w") as file:
        file["u"] = np.sin(np.arange(64.0)).reshape(8, 8)
    run_file = tmp_path / "run.toml"
    run_file.write_text(
        "grid = { shape = [8, 8] }\nequation = { name = 'kuramoto-sivashinsky' }\ndevices = { use = [0, 1] }\n"
        f"initial = {{ name = 'file', path = '{tmp_path}/in.h5', datasets = ['u'] }}\n"
        f"time = {{ stepper = 'etdrk2', step = 0.01, end = 0.02 }}\noutput = {{ directory = '{tmp_path}/out' }}\n"
    )
    assert main(["run", str(run_file)]) == 0
    (tmp_path / "in.h5").unlink()
    assert main(["resume", str(tmp_path / "out"), "time.end=0.04"]) == 0
    assert main(["run", str(run_file), "--resume", "time.end=0.06"]) == 0
    assert main(["run", str(run_file), "--resume", f"output.directory={tmp_path}/new"]) == 2  # it starts there


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("output.directory=run.toml", "cannot be made"),
        ("output.directory=run.toml/below", "cannot be made"),
        ("time.step=1e-320", "too small to reach"),
        ("output.series.every_time=1e-300", "output.series.every_time = 1e-300: at least a thousandth"),
        ("devices.use=[]", "devices.use = []: distinct indices"),
        ("devices.use=[0, 0]", "devices.use = [0, 0]: distinct indices"),
        ('grid.lengths=["1..2 pi", 1]', "'1..2' is not a number"),
        ("equation.c=inf", "equation.c = inf"),
    ],
)
def test_nonsense_is_one_line(case, capsys, monkeypatch, override, message):
    monkeypatch.chdir(case.parent)
    code, lines = said(capsys, "run", "run.toml", override)
    assert code == 2
    assert message in lines[-1]


def test_a_file_may_have_an_equals_sign_in_its_name(case, monkeypatch):
    monkeypatch.chdir(case.parent)
    case.rename("re=2.toml")
    assert main(["check", "re=2.toml"]) == 0


def test_the_directory_stays_the_default_when_outputs_are_replaced(tmp_path):
    config = load(cases()["taylor-green"], assemble.schema(), ["output={series=false}"])
    assert config.directory == "output/taylor_green"


def test_one_initial_field_for_several_is_refused(capsys):
    """All of them would start from the same values: of magnetohydrodynamics u = b, which never moves."""
    words = ["check", str(Path(__file__).parents[2] / "runs" / "orszag_tang.toml"), "initial={name='orszag-tang'}"]
    assert main(words) == 2
    assert "tables [initial.velocity], [initial.magnetic_field] are needed" in capsys.readouterr().err
