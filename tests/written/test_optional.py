"""A parameter that is None takes its terms with it, and columns stand in the dimensions in which they make sense."""

import pytest

import solver as sw
from solver.dynamics.derivation import text_table
from solver.dynamics.energy_budget import budget_columns
from solver.dynamics.evaluation import Evaluation
from solver.written import Text, WrittenError
from solver.written.variants import without_parameters


@pytest.mark.parametrize(
    ("line", "left"),
    [
        ("dt(b) = nu*lap(b) - a*b", "dt(b) = nu*lap(b)"),
        ("dt(b) = nu*lap(b) - a*b + a*(b + a)", "dt(b) = nu*lap(b)"),
        ("dt(b) = (a + b)*dx(b)", "dt(b) = b*dx(b)"),
        ("dt(b) = dx((b - a*b)*b)", "dt(b) = dx(b*b)"),
        ("dt(b) = cause(a, nu*lap(b) + hyper(b, a, 2))", "dt(b) = cause(a, nu*lap(b))"),
        ("dt(b) = cause(a, nu*lap(b)) + cause(other, a*b)", "dt(b) = cause(a, nu*lap(b))"),
        ("dt(b) = -a*b", "dt(b) = 0"),
        ("dt(b) = -half*b + b", "dt(b) = b"),
        ("dt(b) = b/(1 + a) + sin(b + a)", "dt(b) = b/1 + sin(b)"),
    ],
)
def test_terms_with_the_name_are_left_out_at_any_depth(line, left):
    text = Text(write=line, fields={"b": "scalar"}, define={"half": "a/2", "whole": "b + a"}, energies={})
    kept = without_parameters(text, frozenset(["a"]))
    assert kept.write == (left,)
    assert dict(kept.define) == {"whole": "b"}
    assert kept.system.lines  # it can be read
    assert without_parameters(text, frozenset()) is text


def test_what_stands_beside_the_equations_goes_too():
    text = Text(
        write="dt(b) = nu*lap(b) - a*b",
        fields={"b": "scalar"},
        energies={"energy": "b**2/2", "own": "a*b**2"},
        series={"loss": "2*own", "sum": "energy + own", "top": "max(b)"},
        invariants={"energy": "b**2/2", "own": "a*b**2"},
        spectra=["own", "energy"],
        conserved={"mean": "b", "other": "a*b"},
        limits={"nu": ">= 0", "a": ">= 0"},
        rate="nu + a*max(b, 0)",
    )
    kept = without_parameters(text, frozenset(["a"]))
    assert dict(kept.energies).keys() == dict(kept.invariants).keys() == {"energy"}
    assert dict(kept.series) == {"sum": "energy", "top": "max(b)"}
    assert (kept.spectra, kept.rate, dict(kept.limits)) == (("energy",), "nu", {"nu": ">= 0"})
    assert dict(kept.conserved) == {"mean": "b"}


class Damped(sw.Equation):
    """A field that diffuses, and decays if it is told to."""

    text = Text(write="dt(b) = nu*lap(b) - cause(drag, drag*b)", fields={"b": "scalar"}, limits={"drag": ">= 0"})
    nu: float = 0.1
    drag: float | None = None


def test_of_a_class_of_ones_own(make_grid):
    grid = make_grid((8, 6), devices=1)
    plain, damped = Damped(grid), Damped(grid, drag=0.3)
    assert Evaluation(plain).text.formula() == "b_t = ν∇²b"
    assert (budget_columns(plain), budget_columns(damped)) == (
        ("energy_from_linear",),
        ("energy_from_drag", "energy_from_linear"),
    )
    assert text_table(plain) != text_table(damped)  # other physics
    with pytest.raises(ValueError, match=r"drag -1\.0: zero or more"):
        Damped(grid, drag=-1.0)


def test_columns_stand_where_they_make_sense(make_grid):
    text = {
        "write": ["dt(u) = -u@grad(u) - grad(p) + nu*lap(u)", "div(u) = 0"],
        "fields": {"u": "vector"},
        "unknowns": {"p": "scalar"},
    }
    both = {"enstrophy": "curl(u)**2/2", "helicity": "u@curl(u)"}
    cls = sw.write(text["write"], text["fields"], text["unknowns"], series=both, invariants=both)
    for shape, kept, other in (((8, 6), "enstrophy", "helicity"), ((8, 6, 4), "helicity", "enstrophy")):
        equation = cls(make_grid(shape, devices=1), nu=0.1)
        assert kept in equation.report.units()
        assert other not in equation.report.units()
        assert list(equation.derived.invariants) == [kept]
    wrong = sw.write(text["write"], text["fields"], text["unknowns"], series={"none": "u + 1"})
    with pytest.raises(WrittenError, match="a scalar is added to a vector"):
        _ = wrong(make_grid((8, 6), devices=1), nu=0.1).derived
