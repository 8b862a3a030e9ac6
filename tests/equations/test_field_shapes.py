"""What a state holds is known without tracing."""

from typing import ClassVar

import jax
import jax.numpy as jnp
import pytest
from helpers import EACH_KIND, SPLIT

import solver as sw
from solver.assemble.registry import Registry
from solver.config import REQUIRED

ENTRIES = [Registry().find("equation", name) for name in (*EACH_KIND, SPLIT)]


class TwoKinds(sw.Equation):
    fields: ClassVar = {"density": sw.Field(), "envelope": sw.Field("wavefunction")}

    def linear(self):
        return sw.Diagonal({name: jnp.zeros(self.space(name).fourier.spectral_shape) for name in self.fields})

    def nonlinear(self, fields, t):
        return fields

    def rate(self, fields):
        return jnp.asarray(1.0)


def at_rest(entry, grid):
    needed = [name for name, parameter in entry.parameters.items() if parameter.default is REQUIRED]
    return entry.cls(grid, **dict.fromkeys(needed, 1.0))


@pytest.mark.slow
@pytest.mark.parametrize("precision", ["float64", "float32"])
@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)
def test_field_shapes_are_those_of_from_physical(make_grid, entry, precision):
    for dimensions in entry.cls.dimensions:
        devices = 1 if dimensions == 1 else 3
        grid = make_grid((12, 10, 9)[:dimensions], devices=devices, dealias=entry.dealias, precision=precision)
        equation = at_rest(entry, grid)
        assert equation.field_shapes() == jax.eval_shape(equation.from_physical, equation.values_at_points())


def test_field_shapes_of_real_and_complex_fields(make_grid):
    equation = TwoKinds(make_grid((12, 9), devices=3))
    assert equation.field_shapes() == jax.eval_shape(equation.from_physical, equation.values_at_points())
    assert len({shape.shape for shape in equation.field_shapes().values()}) == 2
