"""What `print`, a notebook and `sw.plot` show of an equation and a state."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import refused_in_one_line

import solver as sw


def rolls(grid, **options):
    return sw.equations.NavierStokes(grid, viscosity=0.01, **options)


def test_an_equation_is_printed_with_its_lines_its_numbers_and_what_acts_on_it(make_grid):
    grid = make_grid((8, 8), devices=2, lengths=(2.0, 1.0))
    force = sw.forcing.Kolmogorov(amplitude=1.5, wavenumber=2)
    flow = rolls(grid, drag=np.float64(0.5), forcing=force, closure=sw.closures.Smagorinsky(constant=0.1))
    assert str(flow).splitlines() == [
        "navier-stokes",
        "  u_t = −u·∇u − ∇p + ν∇²u − μ u",
        "  ∇·u = 0",
        "  viscosity ν = 0.01, drag μ = 0.5, hyper_order q = 2",
        "  forcing: Kolmogorov(amplitude=1.5, wavenumber=2)",
        "  closure: Smagorinsky(constant=0.1)",
        "  on [8, 8] points on [2, 1], two-thirds, float64; on 2 slabs",
    ]
    page = flow._repr_html_()
    assert "<pre>u_t = −u·∇u − ∇p + ν∇²u − μ u\n∇·u = 0</pre>" in page
    assert "viscosity ν</th><td style='text-align:left'>0.01</td>" in page


def test_a_traced_parameter_is_a_question_mark(make_grid):
    shown, grid = [], make_grid((8, 8), devices=1)
    jax.eval_shape(lambda nu: shown.append(str(sw.equations.NavierStokes(grid, viscosity=nu))), 0.1)
    assert "viscosity ν = ?" in shown[0]


@pytest.mark.slow
def test_a_state_is_drawn_as_its_snapshot_is(make_grid):
    grid = make_grid((8, 8), devices=2)
    flow = rolls(grid)
    x, y = grid.coordinates()
    values = np.stack([np.sin(x) * np.cos(y), -np.cos(x) * np.sin(y)])
    state = sw.initial_state(flow, sw.steppers.IFRK4(), jnp.asarray(values))
    axis = sw.plot(flow, state, "vorticity").axes[0]
    image = np.asarray(axis.images[0].get_array())  # on finer points of the series, of which the first is at (0, 0)
    step = image.shape[0] // 8
    np.testing.assert_allclose(image[::step, ::step][:8, :8].T, 2 * np.sin(x) * np.sin(y), atol=1e-12)
    with refused_in_one_line("field 'vortcity': .* did you mean 'vorticity'"):
        sw.plot(flow, state, "vortcity")
