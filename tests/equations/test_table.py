"""Functions that tables give."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import solver as sw
from solver.assemble.build import Assembly
from solver.assemble.registry import Registry
from solver.config import load

AT = np.array([0.0, 0.1, 0.4, 0.5, 1.1, 2.0])


def test_it_is_exact_for_parabolas_and_smooth_between():
    parabola = lambda x: 1 - 3 * x + 2 * x**2  # noqa: E731
    table, x = sw.Table(AT, parabola(AT)), np.linspace(0, 2, 41)
    np.testing.assert_allclose(table(x), parabola(x), rtol=0, atol=1e-13)
    slope = jax.vmap(jax.grad(sw.Table(AT, np.sin(5 * AT))))
    np.testing.assert_allclose(slope(AT[1:-1] - 1e-9), slope(AT[1:-1] + 1e-9), rtol=0, atol=1e-6)
    np.testing.assert_allclose(sw.Table([0.0, 2.0], [1.0, 5.0])(0.5), 2.0)


def test_errors_are_of_third_order():
    errors = [np.abs(sw.Table(t := np.linspace(0, 3, n), np.sin(t))(np.linspace(1, 2, 57)) - np.sin(
        np.linspace(1, 2, 57))).max() for n in (25, 49)]  # fmt: skip
    assert 7 < errors[0] / errors[1] < 9


def test_beyond_its_ends_it_is_not_a_number_and_values_have_derivatives():
    table = sw.Table(AT, AT)
    assert np.isnan(table(jnp.array([-1e-9, 2.1]))).all()
    of_values = lambda v: sw.Table(AT, v)(0.3)  # noqa: E731
    step = np.eye(6)[2] * 1e-3
    wanted = (of_values(AT + step) - of_values(AT - step)) / 2e-3
    np.testing.assert_allclose(jax.grad(of_values)(jnp.asarray(AT))[2], wanted, rtol=1e-10)


@pytest.mark.parametrize(
    ("at", "values", "message"),
    [([0, 1, 1], [1, 2, 3], "do not increase"), ([0, 1], [1, 2, 3], "two or more"), ([0], [1], "two or more")],
)
def test_what_is_no_table_is_refused(at, values, message):
    with pytest.raises(ValueError, match=message):
        sw.Table(at, values)


def test_a_run_file_takes_one_from_a_file_of_the_users(tmp_path):
    (tmp_path / "my.py").write_text("import solver as sw\ngust = sw.Table([0, 1, 2], [1, 3, 2])\n")
    (tmp_path / "run.toml").write_text(
        '[grid]\nshape = [8]\n[equation]\nname = "written"\nfields = { u = "scalar" }\nwrite = ["dt(u) = gust(t)*u"]\n'
        'functions = { gust = "my.py:gust" }\n[initial]\nname = "uniform"\nvalue = 1.0\n'
        '[time]\nstepper = "ifrk4"\nstep = 0.1\nend = 1.0\n'
    )
    run = Assembly(load(tmp_path / "run.toml", Registry(tmp_path)), sw.device_mesh([0]))
    change = run.equation.nonlinear(run.start().field, 0.5)["u"]
    np.testing.assert_allclose(change[0, 0].real, sw.Table([0, 1, 2], [1, 3, 2])(0.5), rtol=1e-14)
