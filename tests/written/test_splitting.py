"""Potentials of wavefunctions, found in texts, and why a text has none."""

import re

import pytest

from solver.written import Text, unicode
from solver.written.splitting import splitting

T = "dt(psi) = 1j/2*alpha*lap(psi)"
PAIR = [
    "dt(p) = 1j*lap(p) - 1j*{}*q - 1j*(g*abs(p)**2 + h*abs(q)**2)*p",
    "dt(q) = 1j*lap(q) - 1j*omega*p - 1j*(h*abs(p)**2 + x*abs(q)**2)*q",
]


def split(lines, fields=("psi",), **given):
    return splitting(Text(write=lines, fields=dict.fromkeys(fields, "wavefunction"), **given), 1)


@pytest.mark.parametrize(
    ("lines", "given", "potential"),
    [
        (f"{T} + 1j*g*abs(psi)**2*psi", {}, "−g|ψ|²"),
        (f"{T} + 1j*g*psi*psi*conj(psi)", {}, "−ψ^* g ψ"),
        (f"{T} - 1j*(cos(t)*x**2/2 + g*abs(psi)**2)*psi", {}, "g|ψ|² + ½ cos(t) x²"),
        ("dt(psi) = -1j*(-lap(psi)/2 + (f(x, t) + abs(psi)**3)*psi)", {"functions": {"f": lambda x, t: x}},
         "f(x, t) + |ψ|³"),
        (f"{T} - 1j*trap*psi + v*dx(psi)", {"at_points": ("trap",)}, "values_of_trap(x)"),
        (f"{T} + 1j*abs(psi)**2*psi/(1 + s*abs(psi)**2)", {}, "−|ψ|²/(1 + s|ψ|²)"),
        (f"{T} + 1j*where(abs(psi) < 3, 1, 2)*psi + 1j*symbol(w, psi)", {"functions": {"w": lambda k: k}},
         "−where(|ψ| < 3, 1, 2)"),
    ],
    ids=["cubic", "conjugate", "time", "function", "values", "saturated", "where"],
)  # fmt: skip
def test_a_potential_is_found(lines, given, potential):
    found = split(lines, **given)
    assert (found.reason, unicode(found.potentials["psi"])) == ("", potential)


def test_two_wavefunctions_that_turn_each_other_are_split():
    found = split([line.format("omega") for line in PAIR], ("p", "q"))
    assert found.reason == ""
    assert {name: unicode(v) for name, v in found.potentials.items()} == {"p": "g|p|² + h|q|²", "q": "h|p|² + x|q|²"}


@pytest.mark.parametrize(
    ("lines", "fields", "reason"),
    [
        (f"{T} + g*abs(psi)**2*psi", ["psi"], r"g i\|ψ\|² times psi changes \|psi\|: a real function"),
        (f"{T} + 1j*real(psi)*psi", ["psi"], r"times psi changes \|psi\|"),
        (f"{T} + 1j*where(real(psi) < -40, 1, 2)*psi", ["psi"], r"times psi changes \|psi\|"),
        (f"{T} + 1j*conj(psi)", ["psi"], "a term for psi is no real potential times psi"),
        (f"{T} + 1j*x*dx(psi)", ["psi"], "a term for psi is no real potential times psi"),
        (f"{T} + 1j*mean(abs(psi)**2)*psi", ["psi"], r"⟨\|ψ\|²⟩ in the potential of psi depends on other points"),
        (f"{T} - gamma*psi + 1j*abs(psi)*psi", ["psi"], r"its linear part changes \|ψ\|"),
        (f"{T} + dx(psi)*1j", ["psi"], r"its linear part changes \|ψ\|"),
        ([line.format("omega*2") for line in PAIR], ["p", "q"], r"its linear part changes \|ψ\|"),
        (["dt(p) = -1j*conj(p)*q", "dt(q) = -1j*p*p"], ["p", "q"], "a term for p is no real potential times p"),
    ],
    ids=["loss", "phase", "rare", "conjugate", "gradient", "mean", "damped", "growing", "one way", "harmonics"],
)
def test_what_changes_a_modulus_is_not_split(lines, fields, reason):
    assert re.match(f".*{reason}", split(lines, fields).reason)


def test_an_unknown_and_a_real_field_are_not_split():
    unknown = Text(write=[f"{T} - 1j*s*psi", "lap(s) = abs(psi)**2"], fields={"psi": "wavefunction"},
                   unknowns={"s": "scalar"})  # fmt: skip
    assert "∇⁻²(|ψ|²) in the potential of psi depends on other points" in splitting(unknown, 1).reason
    real = Text(write=[T, "dt(n) = lap(n)"], fields={"psi": "wavefunction", "n": "scalar"})
    assert splitting(real, 1).reason.startswith("n is no wavefunction; ")
