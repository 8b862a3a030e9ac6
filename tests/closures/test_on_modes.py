"""The spectral eddy viscosity against NumPy: what it changes, its columns, budget and rate; refusals."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from fields_of_numpy import Box, change_by_closure, noisy, rates_and_budget
from helpers import refused_in_one_line

import solver as sw
from solver.closures import Spectral
from solver.closures.spectral import last_whole_shell
from solver.dynamics.resolution import resolution_of
from solver.equations import NavierStokes


def test_a_side_of_one_point_has_no_wave(make_grid):
    """Its length has no part in a closure's width and shell, nor in the waves that a start's spectrum can have."""
    flat, whole = make_grid((16, 1, 15), 1, lengths=(3.0, 50.0, 4.0)), make_grid((16, 15), 1, lengths=(3.0, 4.0))
    assert flat.k_min == whole.k_min == 2 * np.pi / 4
    assert last_whole_shell(flat) == last_whole_shell(whole)
    assert resolution_of(flat).width == resolution_of(whole).width
    sw.initial.RandomPhase(peak=1.6)(flat, key=jax.random.key(0))


@pytest.mark.slow
def test_viscosity_of_each_mode_against_numpy(make_grid):
    """−ν_t(k)k²û of a velocity and of a scalar, with E(k_c) of the last whole shell, k_c = 5; the rate and columns."""
    grid = make_grid((17, 18, 20), devices=2)
    given = {"scalars": {"c": sw.PassiveScalar(0.1, (0.3, 0.0, 1.0))}}
    closure = Spectral(kolmogorov=1.7, turbulent_schmidt=0.6)
    closed, plain = (NavierStokes(grid, 0.01, **given, closure=one) for one in (closure, None))
    fields, box = noisy(closed), Box(grid)
    found = change_by_closure(closed, plain, fields)
    values = {name: np.asarray(v) for name, v in closed.to_physical(fields).items()}
    hats = {name: np.array([np.fft.fftn(part) / box.k2.size for part in v]) for name, v in values.items()}
    k = np.sqrt(box.k2)
    energy = np.sum(0.5 * np.abs(hats["velocity"]) ** 2 * (np.round(k) == 5))
    with np.errstate(divide="ignore"):
        eddy = 0.441 * 1.7**-1.5 * np.sqrt(energy / 5) * (1 + 34.5 * np.exp(-3.03 * 5 / k))
    for name, ratio in {"velocity": 1.0, "c": 0.6}.items():
        own = np.array([np.fft.ifftn(-eddy / ratio * box.k2 * part * box.k2.size).real for part in hats[name]])
        np.testing.assert_allclose(found[name], own, atol=1e-12 * np.max(np.abs(own)))
    lost = np.sum(eddy * box.k2 * np.sum(np.abs(hats["velocity"]) ** 2, axis=0))
    row, units = closed.series(fields, 0.1), closed.report.units()
    assert float(row["subgrid_dissipation"]) == pytest.approx(lost, rel=1e-12)
    gradients = np.sum(box.k2 * np.sum(np.abs(hats["velocity"]) ** 2, axis=0))
    assert float(row["eddy_viscosity"]) == pytest.approx(lost / gradients, rel=1e-12)
    assert (units["subgrid_dissipation"], units["eddy_viscosity"]) == ("length^2/time^3", "length^2/time")
    more = float(row["cfl"]) - float(plain.series(fields, 0.1)["cfl"])
    assert more == pytest.approx(0.1 * np.max((eddy * box.k2)[box.kept]) / 0.6, rel=1e-10)


@pytest.mark.slow
def test_the_energy_lost_is_a_cause_of_the_budget(make_grid):
    equation = NavierStokes(make_grid((12, 12, 12), devices=4), 0.0, closure=Spectral())
    rate, causes, row = rates_and_budget(equation, noisy(equation))
    assert row["subgrid_dissipation"] > 0.1
    assert rate == pytest.approx(-row["subgrid_dissipation"], rel=1e-12)
    assert causes == {"viscosity": 0.0, "closure": pytest.approx(rate, rel=1e-12)}


def test_a_flow_without_small_scales_has_no_viscosity_and_a_finite_derivative(make_grid):
    grid = make_grid((12, 12, 12), devices=1)
    space = NavierStokes(grid, 0.1).space("velocity")
    rest = jnp.zeros((3, *grid.spectral_shape), grid.complex_dtype)

    @jax.jit
    def size(scale):
        return jnp.sum(Spectral().viscosity(scale * rest, space))

    assert float(size(1.0)) == 0.0
    assert float(jax.grad(size)(1.0)) == 0.0


def text(term):
    return sw.write([f"dt(u) = -u@grad(u) - grad(p) + {term}", "div(u) = 0"], fields={"u": "vector"},
                    unknowns={"p": "scalar"})  # fmt: skip


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda grid: Spectral(kolmogorov=0.0), "kolmogorov 0.0: a positive number is needed"),
        (lambda grid: NavierStokes(grid(2), 0.1, closure=Spectral()), "closure spectral in 2 dimensions: 3 are needed"),
        (
            lambda grid: text("2*closure(u)")(grid(3), closure=Spectral()),
            r"closure\(…\) is needed as a term of its own",
        ),
        (lambda grid: text("closure(2*u)")(grid(3), closure=Spectral()), "has it of 2"),
    ],
    ids=["constant", "plane", "factor", "velocity"],
)
def test_wrong_closures_are_refused(make, message):
    with refused_in_one_line(message):
        make(lambda d: sw.Grid((8,) * d, mesh=sw.device_mesh([0])))
