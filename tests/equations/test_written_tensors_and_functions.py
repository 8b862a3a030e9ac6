"""Texts with tensors, with functions of the user's, with sources, and with names for components."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import solver as sw
from solver.outputs.at_points import component_labels
from solver.spaces.field import Field
from solver.written import Text, WrittenError

OLDROYD_B = sw.write(
    [
        "dt(u) = -u@grad(u) - grad(p) + nu*lap(u) + s*div(c)",
        "div(u) = 0",
        "dt(c) = -u@grad(c) + 2*sym(c@grad(u)) - c/lam",
    ],
    {"u": "vector", "c": "symmetric tensor"},
    unknowns={"p": "scalar"},
)
STRETCHED = sw.write("dt(a) = -v@grad(a) + a@grad(v) + trans(a)*r", {"a": "tensor"}, define={"v": "div(a)"})


def random_fields(equation, seed=0):
    """Values at the points of fields that meet what is declared of them, and their coefficients."""
    rng = np.random.default_rng(seed)
    shapes = equation.physical_shapes()
    fields = equation.from_physical({name: jnp.asarray(rng.normal(size=shapes[name])) for name in shapes})
    return {name: np.asarray(u) for name, u in equation.to_physical(fields).items()}, fields


def gradient(values, lengths):
    """∂_i of values `(…, x, y)` with an axis for i in front, by NumPy's transforms."""
    axes = range(-len(lengths), 0)
    hat = np.fft.fftn(values, axes=axes)
    slopes = []
    for axis, length in zip(axes, lengths, strict=True):
        n = values.shape[axis]
        k = 2j * np.pi * np.fft.fftfreq(n, length / n)
        k[n // 2] = 0 if n % 2 == 0 else k[n // 2]
        shape = [1] * values.ndim
        shape[axis] = n
        slopes.append(np.fft.ifftn(k.reshape(shape) * hat, axes=axes).real)
    return np.stack(slopes)


def symmetric(held, dimensions):
    """All components of a symmetric tensor."""
    full = np.empty((dimensions, dimensions, *held.shape[1:]))
    pairs = [(i, j) for i in range(dimensions) for j in range(i, dimensions)]
    for (i, j), values in zip(pairs, held, strict=True):
        full[i, j] = full[j, i] = values
    return full


@pytest.mark.thorough
@pytest.mark.slow
def test_a_symmetric_tensor_is_stretched_as_all_its_components_are():
    shape = (8, 10, 12)
    lengths = tuple(2.0 + i for i in range(len(shape)))
    equation = OLDROYD_B(sw.Grid(shape, lengths, mesh=sw.device_mesh(range(2))), nu=0.1, s=0.3, lam=2.0)
    d = len(shape)
    assert equation.space("c").component_names == (
        ("c_xx", "c_xy", "c_yy") if d == 2 else ("c_xx", "c_xy", "c_xz", "c_yy", "c_yz", "c_zz")
    )
    values, fields = random_fields(equation)
    u, c = values["u"], symmetric(values["c"], d)
    grad_u, grad_c = gradient(u, lengths), gradient(c, lengths)  # ∂_i u_j
    carried = np.sum(u[:, None] * grad_u, axis=0)
    stretched = np.einsum("ik...,kj...->ij...", c, grad_u)
    wanted_c = -np.sum(u[:, None, None] * grad_c, axis=0) + stretched + stretched.swapaxes(0, 1)
    found = jax.jit(equation.nonlinear)(fields, 0.0)
    held = np.stack([wanted_c[i, j] for i in range(d) for j in range(i, d)])
    wanted = equation.from_physical({"u": jnp.asarray(-carried), "c": jnp.asarray(held)})
    for name in ("u", "c"):
        scale = np.abs(wanted[name]).max()
        assert np.abs(found[name] - wanted[name]).max() < 1e-13 * scale, name
    linear = jax.jit(lambda fields: equation.linear().apply(fields))(fields)
    wanted_c = -values["c"] / 2.0
    assert np.abs(equation.to_physical(linear)["c"] - wanted_c).max() < 1e-13 * np.abs(wanted_c).max()
    stress = np.sum(np.stack([gradient(c[i], lengths)[i] for i in range(d)]), axis=0)
    pushed = equation.from_physical({"u": jnp.asarray(0.3 * stress), "c": jnp.asarray(values["c"])})["u"]
    k2 = equation.grid.k_squared()
    assert np.abs(linear["u"] - (pushed - 0.1 * k2 * fields["u"])).max() < 1e-12 * np.abs(linear["u"]).max()


@pytest.mark.slow
def test_what_is_counted_of_a_symmetric_tensor_counts_all_its_components():
    equation = OLDROYD_B(sw.Grid((16, 18), mesh=sw.device_mesh([0])), nu=0.1, s=0.3, lam=2.0)
    values, fields = random_fields(equation)
    energy = 0.5 * np.mean(np.sum(symmetric(values["c"], 2) ** 2, axis=(0, 1)))
    counted = jax.jit(lambda f: (equation.series(f, 0.1), equation.spectra(f), equation.report.invariants(f)))
    row, spectra, invariants = counted(fields)
    assert row["c_energy"] == pytest.approx(energy, rel=1e-13)
    assert np.sum(spectra["c_energy"]) == pytest.approx(energy, rel=1e-13)
    of_fields = invariants["c_energy"]["c"]
    assert 0.5 * sw.diagnostics.mean_product(of_fields, fields["c"], equation.grid) == pytest.approx(energy, rel=1e-13)
    start = sw.initial.RandomPhase(energy=0.7, peak=2.0)(equation.grid, Field("symmetric tensor"), jax.random.key(3))
    assert 0.5 * np.mean(np.sum(symmetric(np.asarray(start), 2) ** 2, axis=(0, 1))) == pytest.approx(0.7, rel=1e-12)


@pytest.mark.slow
def test_a_tensor_that_is_not_symmetric():
    lengths = (2.0, 3.0)
    equation = STRETCHED(sw.Grid((16, 18), lengths, mesh=sw.device_mesh([0])), r=0.7)
    assert equation.space("a").component_names == ("a_xx", "a_xy", "a_yx", "a_yy")
    values, fields = random_fields(equation)
    a = values["a"].reshape(2, 2, 16, 18)
    v = np.sum(np.stack([gradient(a[i], lengths)[i] for i in range(2)]), axis=0)
    n = -np.sum(v[:, None, None] * gradient(a, lengths), axis=0)
    n = n + np.einsum("ik...,kj...->ij...", a, gradient(v, lengths))
    wanted = equation.from_physical({"a": jnp.asarray(n.reshape(4, 16, 18))})["a"]
    assert np.abs(equation.nonlinear(fields, 0.0)["a"] - wanted).max() < 1e-13 * np.abs(wanted).max()
    turned = 0.7 * a.swapaxes(0, 1).reshape(4, 16, 18)
    assert np.abs(equation.to_physical(equation.linear().apply(fields))["a"] - turned).max() < 1e-14


def test_snapshots_name_the_components_of_tensors():
    equation = OLDROYD_B(sw.Grid((8, 8), mesh=sw.device_mesh([0])), nu=0.1, s=0.3, lam=2.0)
    assert component_labels(equation, "c", jnp.zeros((3, 8, 8))) == ("xx", "xy", "yy")
    assert component_labels(equation, "u", jnp.zeros((2, 8, 8))) == ("x", "y")


def test_what_is_not_symmetric_is_refused_for_a_symmetric_tensor():
    with pytest.raises(WrittenError, match="not symmetric, in the equation of a symmetric tensor"):
        sw.write(["dt(a) = a@outer(b, b)", "dt(b) = lap(b)"], {"a": "symmetric tensor", "b": "vector"})


def hill(u, half=1.0):
    return u**2 / (half + u**2)


def test_functions_of_the_users_are_carried_out_at_the_points():
    cls = sw.write(
        "dt(u) = d*lap(u) + hill(u, a) - u*hill(sin(x))",
        {"u": "scalar"},
        functions={"hill": hill},
        components={"u": ["density"]},
    )
    equation = cls(sw.Grid((16, 12), dealias="none", mesh=sw.device_mesh([0])), d=0.1, a=2.0)
    assert equation.space("u").component_names == ("density",)
    assert "hill" in equation.why_no_rate
    values, fields = random_fields(equation)
    u, x = values["u"], np.asarray(equation.grid.coordinates()[0])
    wanted = hill(u, 2.0) - u * hill(np.sin(x))
    assert np.abs(equation.to_physical(equation.nonlinear(fields, 0.0))["u"] - wanted).max() < 1e-14


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda u: jnp.sum(u), "which calls f, is not pointwise"),
        (lambda u: u[::-1], "which calls f, is not pointwise"),
        (lambda u: u * 1j, r"the function 'f' gives complex128.*real"),
        (lambda u: u[None], r"the function 'f' gives float64\[1"),
    ],
)
def test_functions_that_are_not_of_one_point_are_refused(function, message):
    equation = sw.write("dt(u) = f(u)", {"u": "scalar"}, functions={"f": function})(
        sw.Grid((8, 8), mesh=sw.device_mesh([0]))
    )
    with pytest.raises(ValueError, match=message):
        equation.check()


@pytest.mark.parametrize(
    ("text", "more", "message"),
    [
        ("dt(u) = f(u, u, u)", {"functions": {"f": hill}}, r"f with 3 arguments: f\(u, half\) is needed"),
        ("dt(u) = f()", {"functions": {"f": hill}}, r"f with 0 arguments: f\(u, half\) is needed"),
        ("dt(u) = f(grad(u))", {"functions": {"f": hill}}, "an argument of f is a vector"),
        ("dt(u) = g(u)", {"functions": {"f": hill}}, "no operator or function 'g'"),
        ("dt(u) = u", {"functions": {"sin": hill}}, "function 'sin': the name has a meaning of its own"),
        ("dt(u) = u", {"functions": {"u": hill}}, "function 'u': the name means something else"),
        ("dt(u) = u", {"components": {"v": ["a"]}}, "components of 'v'; known are u"),
        ("dt(u) = u", {"components": {"u": ["a", "b"]}}, "components of 'u': a, b; 1 in 1 dimensions or 1 in 2"),
        ("dt(u) = grad(grad(grad(grad(u))))", {}, "grad of a tensor of order 3"),
    ],
)
def test_functions_and_components_that_do_not_fit(text, more, message):
    with pytest.raises(WrittenError, match=message):
        sw.write(text, {"u": "scalar"}, **more)


def test_what_is_no_function_is_refused():
    with pytest.raises(WrittenError, match="function 'f': int, where a function of numbers is needed"):
        Text("dt(u) = f(u)", {"u": "scalar"}, functions={"f": 3}).system  # noqa: B018


@pytest.mark.slow
@pytest.mark.parametrize("dealias", ["two-thirds", "three-halves"])
def test_a_source_alone_needs_no_field_at_the_points(dealias):
    grid = sw.Grid((16, 12), dealias=dealias, mesh=sw.device_mesh(range(2)))
    equation = sw.write("dt(u) = lap(u) + a*sin(x)*cos(2*y)", {"u": "scalar"})(grid, a=0.3)
    _, fields = random_fields(equation)
    x, y = grid.coordinates()
    found = equation.to_physical(equation.nonlinear(fields, 0.0))["u"][0]
    assert np.abs(found - 0.3 * np.sin(x) * np.cos(2 * y)).max() < 1e-15
    assert equation.rate(fields) == 0
