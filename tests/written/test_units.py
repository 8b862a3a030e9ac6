"""Units of parameters and columns follow from those of the fields, and from the terms of an equation being alike."""

from fractions import Fraction

import pytest

from solver.written import Text, WrittenError
from solver.written.derivation import derived_units
from solver.written.units import parsed, printed, raised, times


def derived(write, fields, units, **more):
    text = Text(write=write, fields=fields, units=units, **more)
    return derived_units(text, {name: units.get(name, "1") for name in fields})


def test_units_of_parameters_and_columns_of_a_flow():
    found = derived(
        [
            "dt(u) = -u@grad(u) - grad(p) + nu*lap(u) + hyper(u, nu_h, q) - mu*u + b*up",
            "dt(b) = -u@grad(b) - n**2*u.up + kappa*lap(b) + hyper(b, kappa_4, 2)",
            "div(u) = 0",
        ],
        {"u": "vector", "b": "scalar"},
        {"u": "length/time", "b": "length/time^2"},
        unknowns={"p": "scalar"},
        energies={"energy": "u@u/2"},
        series={
            "dissipation": "2*nu*enstrophy_of_all",
            "enstrophy_of_all": "curl(u)@curl(u)/2",
            "flux": "u.up*b",
            "ratio": "mean(u@u)/max(abs(b))",
            "slope": "sqrt(max(grad(b)@grad(b)))",
        },
        invariants={"helicity": "u@curl(u)"},
    )
    assert found == {
        "p": "length^2/time^2",
        "nu": "length^2/time",
        "nu_h": "length^(2 q)/time",
        "mu": "1/time",
        "n": "1/time",
        "kappa": "length^2/time",
        "kappa_4": "length^4/time",
        "energy": "length^2/time^2",
        "enstrophy_of_all": "1/time^2",
        "flux": "length^2/time^3",
        "ratio": "length",
        "slope": "1/time^2",
        "helicity": "length/time^2",
    }


@pytest.mark.parametrize(
    ("write", "units", "name", "expected"),
    [
        ("dt(c) = m*lap(c**3 - c - kappa*lap(c))", {"c": "1"}, "kappa", "length^2"),
        ("dt(c) = -(a + v)*dx(c)", {"c": "g"}, "v", "length/time"),
        ("dt(c) = d*lap(c) - g*c*dx(c)", {"c": "u"}, "g", "length/(time*u)"),
        ("dt(c) = k*x*c", {"c": "u"}, "k", "1/(length*time)"),
        ("dt(c) = a*fraclap(c, 1/2)", {"c": "u"}, "a", "length/time"),
        ("dt(c) = where(c > 0, r*c, 0)", {"c": "u"}, "r", "1/time"),
        ("dt(c) = k*c**(-2)", {"c": "u"}, "k", "u^3/time"),
        ("dt(c) = r*c/(k + c)", {"c": "u"}, "k", "u"),
        ("dt(c) = r*sin(c)", {"c": "1"}, "r", "1/time"),
        ("dt(c) = c - c**3 + d*lap(c)", {"c": "1"}, "d", None),  # a time is 1
    ],
)
def test_units_of_one_parameter(write, units, name, expected):
    assert derived(write, {"c": "scalar"}, units).get(name) == expected


def test_where_a_length_or_a_time_is_one_columns_have_none():
    more = {"energies": {"energy": "c**2"}, "series": {"slope": "dx(c)**2"}}
    assert derived("dt(c) = -lap(c) - lap(lap(c))", {"c": "scalar"}, {"c": "u"}, **more) == {
        "energy": "u^2",
        "slope": "u^2",
    }


def test_units_that_are_given_count():
    text = Text(
        write="dt(c) = -lap(c) - lap(lap(c))",
        fields={"c": "scalar"},
        units={"c": "u", "slope": "u^2/length^2"},
        series={"slope": "dx(c)**2"},
    )
    assert derived_units(text, {"c": "u"})["slope"] == "u^2/length^2"
    with pytest.raises(WrittenError, match="units of 'slop'; did you mean 'slope'"):
        Text(write=text.write, fields=text.fields, units={"slop": "u"}, series=text.series)


@pytest.mark.parametrize(
    ("text", "again"),
    [
        ("length^2/time", "length^2/time"),
        ("1", "1"),
        ("1/(length*time)^2", "1/(length*time)^2"),
        ("m/s/s", "m/s^2"),
        ("density^(1/2)", "density^(1/2)"),
        ("kg*m^2/(s*K)", "kg*m^2/(K*s)"),
        ("parts per million", "parts per million"),
    ],
)
def test_units_are_read_and_printed(text, again):
    assert printed(parsed(text)) == again
    assert times(parsed(text), raised(parsed(text), Fraction(-1))) == {}
