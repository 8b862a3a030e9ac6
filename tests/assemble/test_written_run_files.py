"""Run files whose equation is text: read, refused, run, continued."""

import json

import h5py
import jax.numpy as jnp
import jsonschema
import numpy as np
import pytest
import tomli_w

import solver as sw
from solver.assemble import Registry, read_run_file
from solver.cli.main import main
from solver.config import ConfigError, json_schema
from solver.io.series import read_series

TABLE = {
    "grid": {"shape": [32, 24]},
    "equation": {
        "name": "written",
        "fields": {"u": "vector", "b": "scalar"},
        "unknowns": {"p": "scalar"},
        "write": ["dt(u) = -u@grad(u) - grad(p) + cause(viscosity, nu*lap(u)) + b*g", "div(u) = 0",
                  "dt(b) = -u@grad(b) + kappa*lap(b)"],
        "units": {"u": "m/s"},
        "energies": {"kinetic": "u@u/2"},
        "series": {"flux": "u.up*b"},
        "parameters": {"nu": 0.05, "kappa": 0.02, "g": [0.0, 1.0]},
    },
    "initial": {"u": {"name": "taylor-green"}, "b": {"name": "bump", "width": 0.7}},
    "time": {"stepper": "ifrk2", "cfl": 0.5, "end": 0.4},
    "devices": {"virtual": 2},
    "output": {"series": {"every_steps": 1}, "checkpoints": {"every_steps": 2}},
}  # fmt: skip
# no equation of the library with passive scalars, whose plans no run keeps
OWN = [line.replace("kappa*lap(b)", "kappa*lap(b) - b*b") for line in TABLE["equation"]["write"]]


@pytest.fixture
def case(tmp_path):
    """A function that writes a run file with some keys of its equation changed."""

    def write(**changes):
        table = {**TABLE, "equation": {**TABLE["equation"], **changes}}
        path = tmp_path / "case.toml"
        path.write_text(tomli_w.dumps(table))
        return path

    return write


def test_what_a_run_file_says_is_the_equation(case):
    config = read_run_file(case(), ["equation.parameters.nu=0.1"])
    assert config.equation.parameters["parameters"] == {"nu": 0.1, "kappa": 0.02, "g": [0.0, 1.0]}
    assert config.equation.entry.fields["u"] == ("vector", "m/s")
    assert config.equation.cls.fields["u"].solenoidal
    again = config.to_table()["equation"]
    assert again["write"] == TABLE["equation"]["write"]
    assert again["plan"] == "fewest transforms"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"write": ["dt(u) = nux*lap(u)"]}, "equation: unknown name 'nux'; did you mean 'nu'?"),
        ({"write": "dt(u) = 1"}, "equation.write = 'dt(u) = 1': a list"),
        ({"fields": {"u": "vectr", "b": "scalar"}}, "did you mean 'vector'?"),
        ({"parameters": {**TABLE["equation"]["parameters"], "mu": 1.0}}, "equation.parameters.mu stands nowhere"),
        ({"parameters": {"nu": 0.1, "kappa": 0.1}}, "unknown name 'g'; known are"),
        ({"parameters": {"kappa": 0.1}}, "did you mean 'u'? (the number of a parameter belongs in [equation.par"),
        ({"parameters": {"nu": "large"}}, "equation.parameters.nu = 'large': a finite number"),
        ({"parameters": {"nu": float("nan")}}, "equation.parameters.nu = nan: a finite number"),
        ({"parameters": {"nu": 0.1, "kappa": 0.1, "g": 1.0}}, "added to a vector"),
        ({"energies": {"e": "b**3"}}, "an energy is quadratic"),
        ({"energies": {"a,b": "b*b"}}, "energy 'a,b': a name of letters and digits is needed"),
        ({"energies": {"a/b": "b*b"}}, "energy 'a/b': a name"),
        ({"series": {"a b": "b*b"}}, "column of the series 'a b': a name"),
        ({"series": {"": "b*b"}}, "column of the series '': a name"),
        ({"invariants": {"a/b": "b*b"}}, "invariant 'a/b': a name"),
        ({"vectors": {"a/b": "u"}}, "vector 'a/b': a name"),
        ({"conserved": {"a,b": "b"}}, "conserved 'a,b': a name"),
        ({"define": {"a/b": "b"}}, "definition 'a/b': a name"),
        ({"components": {"u": ["a,b", "c"]}}, "component 'a,b': a name"),
        ({"series": {"e": "b**c"}}, "unknown name 'c'"),
        ({"means": {"c": 0}}, "means and components of 'c'"),
        ({"units": {"c": "m"}}, "units of 'c'"),
        ({"conserved": ["c"]}, "conserved of 'c'"),
        ({"means": {"b": 1.0}}, "where 0 is needed"),
        ({"write": ["dt(u) = -u@grad(u) + g*max(b)", "dt(b) = 0*b"]}, "max(f) over the box is for columns"),
        ({"series": {"e": "b*max(b)"}}, "'b' together with max, min or another column: mean(b) is needed"),
        ({"series": {"e": "max(b)*t"}}, "t outside the equations"),
        ({"series": {"e": "b*b", "f": "e*t"}}, "t outside the equations"),
        ({"series": {"e": "max(b)*x"}}, "x together with max, min or another column: numbers for the whole box"),
        ({"series": {"e": "max(b)@ex"}}, "a scalar @ a vector"),
        ({"series": {"e": "max(b)*g"}}, "a vector: a scalar is needed"),
        ({"series": {"e": "b*b", "f": "lap(e)"}}, "lap together with max, min or another column"),
        ({"series": {"e": "max(b)*mean(b, x)"}}, "mean together with max, min or another column"),
        ({"series": {"e": "2**b"}}, "a field as an exponent"),
        ({"series": {"e": "b*dt(b)"}}, "dt may be on the left of an equation"),
        ({"energies": {"e": "b*integ(b)"}}, "integ may be used in an equation alone"),
        ({"series": {"e": "b*penalise(b)"}}, "penalise may be used in an equation alone"),
        ({"series": {"e": "1+max(div(u*b))"}}, "only derivatives of fields are known\n    1+max(div(u*b))\n      ^^^^"),
        ({"series": {"e": "later*2", "later": "b*b"}}, "unknown name 'later'"),
        ({"invariants": {"e": "b**3"}}, "an energy is quadratic"),
        ({"vectors": {"w": "b*u"}}, "a product of fields"),
        ({"vectors": {"w": "b"}}, "a vector is needed"),
        ({"conserved": ["enstrophy"]}, "conserved of 'enstrophy'; known are flux, kinetic"),
        ({"spectra": ["fluks"]}, "spectra of 'fluks'; did you mean 'flux'?"),
        ({"limits": {"nu": "positive"}}, "limits of 'nu': 'positive'; one of '>= 0', '> 0', '>= 1' is needed"),
        ({"limits": {"mu": "> 0"}}, "limits of 'mu'"),
        ({"rate": "abs(b)*dx(b)"}, "in the rate, which the right-hand side does not take to the points"),
        ({"plan": "fast"}, "equation.plan = 'fast'"),
        ({"forms": {}}, "equation.forms: unknown key"),
        ({"fields": {"u": "vector", "b": "wavefunction"}}, "complex, in the equation of the real field 'u'"),
    ],
)  # fmt: skip
def test_what_is_no_equation_is_refused_before_anything_runs(case, changes, message):
    with pytest.raises(ConfigError) as raised:
        read_run_file(case(**changes))
    assert message in str(raised.value)


@pytest.mark.slow
def test_a_run_keeps_its_plan_and_goes_on_with_the_same_bits(case, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    path = case(write=OWN)
    assert main(["run", str(path), "time.step=0.1", "output.directory=whole"]) == 0
    assert main(["run", str(path), "time.step=0.1", "output.directory=parts", "time.end=0.2"]) == 0
    plan = (tmp_path / "parts" / "plan.json").read_text()
    assert len(json.loads(plan)["inner"]) == 3
    assert main(["resume", "parts", "time.end=0.4"]) == 0
    assert (tmp_path / "parts" / "plan.json").read_text() == plan
    whole, parts = (read_series(tmp_path / name / "series.csv") for name in ("whole", "parts"))
    for name in ("kinetic", "flux", "cfl"):
        assert jnp.array_equal(whole[name][-1], parts[name][-1]), name
    spaced = [line.replace("*", " * ").replace("(", "( ").replace("=", "  =") for line in OWN]
    assert main(["resume", "parts", "time.end=0.4", f"equation.write={json.dumps(spaced)}"]) == 0
    again = ["time.step=0.1", "output.directory=parts", "time.end=0.4", "--resume"]
    assert main(["run", str(case(write=spaced)), *again]) == 0
    other = [line.replace("nu*lap(u)", "2*nu*lap(u)") for line in OWN]
    assert main(["resume", "parts", "time.end=0.5", f"equation.write={json.dumps(other)}"]) != 0
    assert "other physics (equation.write" in capsys.readouterr().err
    assert main(["run", str(case(write=other)), *again]) != 0
    assert "other physics (equation.write" in capsys.readouterr().err


@pytest.mark.slow
def test_what_stands_beside_the_equations(case, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    beside = {
        "series": {"flux": "u.up*b", "top": "max(b)", "range": "top - min(b)", "mean_b": "b"},
        "invariants": {"kinetic": "u@u/2", "heat": "b*b"},
        "spectra": ["flux"],
        "conserved": ["mean_b"],
        "rate": "abs(b) + 2",
        "limits": {"nu": ">= 0"},
    }
    path = case(**beside)
    short = ["time.step=0.01", "time.end=0.02", "output.spectra={}", "output.directory=run"]
    assert main(["run", str(path), *short, "initial.b.background=0.5"]) == 0
    row = read_series(tmp_path / "run" / "series.csv")
    assert (row["top"][0], row["range"][0]) == pytest.approx((1.5, 1.0), abs=1e-2)
    assert row["cfl"][0] == pytest.approx((row["top"][0] + 2) * 0.01, rel=1e-9)
    assert abs(row["mean_b_drift"][-1]) < 1e-12
    with h5py.File(tmp_path / "run" / "spectra.h5") as file:
        for name in ("kinetic", "flux"):
            assert np.sum(file[name][0]) == pytest.approx(row[name][0], abs=1e-14)
        assert "heat" in file
    assert main(["run", str(path), "equation.parameters.nu=-1.0"]) != 0
    assert "nu -1.0: zero or more is needed" in capsys.readouterr().err


@pytest.mark.slow
def test_a_plan_that_cannot_be_read_is_said(case, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["run", str(case(write=OWN)), "time.step=0.1", "output.directory=run", "time.end=0.2"]) == 0
    (tmp_path / "run" / "plan.json").write_text("{}")
    assert main(["resume", "run", "time.end=0.4"]) == 2
    assert "plan.json: the plan that the run keeps cannot be read" in capsys.readouterr().err


@pytest.mark.slow
def test_a_script_that_goes_on_with_another_text_is_refused(tmp_path):
    grid, stepper = sw.Grid((16,), mesh=sw.device_mesh([0])), sw.steppers.IFRK4()

    def run(text, end, **options):
        equation = sw.write(text, {"u": "scalar"})(grid, nu=0.1)
        start = sw.initial_state(equation, stepper, {"u": jnp.sin(grid.coordinates()[0])[None]})
        return sw.run(equation, stepper, start, end=end, step=0.1, directory=tmp_path / "run", **options)

    run("dt(u) = -u*dx(u) + nu*lap(u)", 0.2)
    run("dt( u )=-(u*dx(u))+nu * lap(u)", 0.3, resume=True)
    with pytest.raises(ConfigError, match=r"equation\.write"):
        run("dt(u) = -2*u*dx(u) + nu*lap(u)", 0.4, resume=True)


@pytest.mark.slow
def test_the_schema_and_describe_know_texts(capsys):
    schema = json_schema(Registry())
    jsonschema.validate(TABLE, schema)
    wrong = {**TABLE, "equation": {**TABLE["equation"], "writes": []}}
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(wrong, schema)
    assert main(["describe", "written"]) == 0
    assert "`unknowns`" in capsys.readouterr().out


@pytest.mark.thorough
@pytest.mark.slow
def test_functions_of_a_file_are_copied_with_the_run_and_count_as_its_physics(case, tmp_path, capsys):
    own = tmp_path / "own.py"
    own.write_text("import jax.numpy as jnp\n\ndef gust(y):\n    return 0.1 * jnp.sin(y)\n")
    lines = [TABLE["equation"]["write"][0] + " + gust(y)*ex", *TABLE["equation"]["write"][1:]]
    path = case(write=lines, functions={"gust": "own.py:gust"})
    directory = tmp_path / "run"
    assert main(["run", str(path), f"output.directory={directory}", "time.end=0.1"]) == 0
    [copy] = directory.glob("own-*.py")
    assert f'gust = "{copy.name}:gust"' in (directory / "config.toml").read_text()
    assert main(["resume", str(directory), "time.end=0.15"]) == 0
    own.write_text(own.read_text().replace("sin", "cos"))
    capsys.readouterr()
    assert main(["run", str(path), "--resume", f"output.directory={directory}", "time.end=0.2"]) == 2
    assert "other physics" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("functions", "message"),
    [
        ({"f": "own.py"}, "equation.functions.f = 'own.py': 'file.py:function' is needed"),
        ({"f": "own.py:g"}, "own.py: no function g; known are f"),
        ({"f": "none.py:f"}, "none.py: no such file"),
        ({"f": "own.py:f", "g": "other.py:f"}, "all of one file are needed"),
    ],
)
def test_functions_that_are_not_there(case, tmp_path, functions, message):
    for name in ("own", "other"):
        (tmp_path / f"{name}.py").write_text("def f(u):\n    return u\n")
    with pytest.raises(ConfigError, match=message):
        read_run_file(case(functions=functions))


def test_check_and_run_refuse_a_symbol_that_is_not_finite(case, tmp_path, monkeypatch, capsys):
    (tmp_path / "own.py").write_text("def depth(k):\n    return 1 / k\n")
    monkeypatch.chdir(tmp_path)
    path = case(write=["dt(b) = -symbol(depth, b)"], fields={"b": "scalar"}, unknowns={}, energies={}, series={},
                units={}, parameters={}, functions={"depth": "own.py:depth"})  # fmt: skip
    for command in ("check", "run"):
        given = [command, str(path), "initial={ name = 'noise' }", "time={ stepper = 'ifrk2', step = 0.1, end = 0.4 }"]
        assert main(given) == 2
        assert "symbol(depth, …) is not finite at k = 0" in capsys.readouterr().err
