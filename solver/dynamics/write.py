"""`sw.write`: a class of equations from text."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from types import FunctionType
from typing import TYPE_CHECKING, Any

import equinox as eqx
import jax

from solver.dynamics.equation import Equation
from solver.grid import Grid
from solver.static import is_array
from solver.written import Text
from solver.written.text import FUNCTION


class WrittenEquation(Equation):
    """An equation whose class is made from a text; its parameters are the parameters of the text."""

    if TYPE_CHECKING:  # no type checker reads them off the text

        def __init__(self, grid: Grid, *parameters: Any, **named: Any) -> None: ...


def write(
    lines: str | Sequence[str],
    fields: Mapping[str, str],
    unknowns: Mapping[str, str] | None = None,
    define: Mapping[str, str] | None = None,
    parameters: Mapping[str, str] | Sequence[str] | None = None,
    units: Mapping[str, str] | None = None,
    means: Mapping[str, float | str] | None = None,
    components: Mapping[str, Sequence[str]] | None = None,
    functions: Mapping[str, Callable[..., Any]] | Sequence[str] | None = None,
    of_whole_fields: Sequence[str] = (),
    at_points: Sequence[str] = (),
    energies: Mapping[str, str] | None = None,
    series: Mapping[str, str] | None = None,
    invariants: Mapping[str, str] | None = None,
    spectra: Sequence[str] = (),
    vectors: Mapping[str, str] | None = None,
    flows: Mapping[str, str] | None = None,
    conserved: Sequence[str] | Mapping[str, str] = (),
    rate: str = "",
    limits: Mapping[str, str] | None = None,
    plan: str = "fewest transforms",
    unbounded: bool = False,
) -> type[WrittenEquation]:
    """A class of equations from text.

    `write(["dt(u) = -u*dx(u) + nu*lap(u)"], {"u": "scalar"})(grid, nu=0.1)` is an equation as others are; its
    parameters are leaves.

    Args:
        lines: the equations, one `=` in each; see docs/writing.md for the language.
        fields: rank of each field by name: `scalar`, `vector`, `tensor`, `symmetric tensor` or `wavefunction`.
        unknowns: rank of each unknown by name. An unknown is neither stored nor given a start: a pressure, a stream
            function, a potential.
        define: definitions of further names.
        parameters: names of the parameters, or rank by name; by default every name that is not a field, a function or a
            coordinate is a number.
        units: units of each field, as far as they are known; units of columns follow from them, or are given here too.
        means: 0 for each field whose mean is 0 and stays so; an axis, `x`, for one whose mean along that axis does.
        components: names of the components of fields, by field; `u_x`, `u_y`, … by default.
        functions: functions of your own, by name, written with `jax.numpy`: from numbers at a point to one number
            there. Terms with them are evaluated as written, and give no CFL number. Those that `symbol(name, f)` names
            are functions of |k|, or of kx, ky, kz, and multiply modes. Or their names alone: then each is
            a parameter of the equation, a function or a pytree that can be called (a network), whose arrays are leaves.
            The same in a mapping is the default of such a parameter.
        of_whole_fields: names of those functions that look at all points, as a convolution does: each takes arrays over
            the points of the whole box, split over the devices as fields at the points are, and gives one such array.
        at_points: names of parameters that are fields of values at the points, `(x, y, z)` or what broadcasts against
            it: a topography, a coefficient. They are leaves, split over the devices as fields at the points are.
        energies: densities that are quadratic in the fields, by the names of their columns, whose budgets are kept.
        series: further columns of the series, by name: an expression to average over the box, or one made of `max(f)`,
            `min(f)`, `mean(f)` and columns before it.
        invariants: densities that are quadratic in the fields and move between scales; the energies by default.
        spectra: columns that are quadratic in the fields and have a spectrum, as energies and invariants have.
        vectors: further vectors for diagnostics, linear in the fields, by name.
        flows: velocities that carry passive scalars and are no vector, or more than the vector of this name, as a flow
            with its uniform part.
        conserved: columns whose drift since the start the series has too, or densities by name of quantities that are
            no columns.
        rate: quantity [1/time] whose largest value over the box, times dt, is the CFL number, where the text does not
            tell it.
        limits: limits of parameters, by name: `>= 0`, `> 0` or `>= 1`.
        plan: `fewest transforms`, or `as written` for the transforms in the text.
        unbounded: True if the linear part may amplify ever shorter waves ever faster, as −∇²u does; if False, such a
            text is refused, since the shortest waves of any grid would grow first.

    Returns:
        A subclass of `Equation`. The same arguments give the same class, so that programs compiled for it are kept.

    Raises:
        WrittenError: a ValueError: the first thing that is wrong, with its place in the text.
    """
    if not isinstance(fields, Mapping):
        raise TypeError(f"fields={fields!r}: a dict of ranks by name is needed, such as {{'u': 'scalar'}}")
    functions, defaults = declared_functions(functions)
    made = class_of(
        Text(
            write=lines,
            fields=fields,
            unknowns=unknowns or {},
            define=define or {},
            parameters=_with_ranks(parameters),
            units=units or {},
            means=means or {},
            components=components or {},
            functions=functions or {},
            of_whole_fields=tuple(of_whole_fields),
            at_points=tuple(at_points),
            energies=energies,
            series=series or {},
            invariants=invariants,
            spectra=spectra,
            vectors=vectors or {},
            flows=flows or {},
            conserved=conserved,
            rate=rate,
            limits=limits or {},
            plan=plan,
            unbounded=unbounded,
        )
    )
    return with_defaults(made, defaults) if defaults else made


def _with_ranks(parameters: Any) -> Any:
    """Parameters by name; parameters in a list are scalars."""
    if parameters is None or isinstance(parameters, Mapping):
        return parameters
    return dict.fromkeys(parameters, "scalar")


def declared_functions(functions: Any) -> tuple[Any, dict[str, Any]]:
    """Functions as a text declares them; those that hold arrays, apart, are defaults of parameters."""
    given = functions if isinstance(functions, Mapping) else {}
    defaults = {name: function for name, function in given.items() if _holds_arrays(function)}
    return {**given, **dict.fromkeys(defaults, FUNCTION)} if defaults else functions, defaults


def _holds_arrays(function: Any) -> bool:
    """True for a pytree with arrays, such as a network."""
    return not isinstance(function, FunctionType) and any(map(is_array, jax.tree.leaves(function)))


def with_defaults(cls: type[WrittenEquation], functions: Mapping[str, Any]) -> type[WrittenEquation]:
    """A class below a class of equations, with defaults of functions that are its parameters."""
    members: dict[str, Any] = {"__module__": __name__, "__annotations__": dict.fromkeys(functions, Any)}
    members |= {name: eqx.field(default=function, kw_only=True) for name, function in functions.items()}
    return type(cls.__name__, (cls,), {**members, "__doc__": cls.__doc__})


@cache
def class_of(text: Text) -> type[WrittenEquation]:
    """The class of a text."""
    members = {"__module__": __name__, "name": "written", "text": text, "__reduce__": _reduced}
    return type("WrittenEquation", (WrittenEquation,), members)


def _reduced(equation: Any) -> tuple[Any, ...]:
    """Pickle an equation of a text by its text: no module has its class, which is made of the text again."""
    text = type(equation).text
    written = {field.name: getattr(text, field.name) for field in dataclasses.fields(text)}
    return _restored, (written, dict(vars(equation)))


def _restored(written: Mapping[str, Any], attributes: Mapping[str, Any]) -> Equation:
    equation = object.__new__(class_of(Text(**written)))
    for name, value in attributes.items():
        object.__setattr__(equation, name, value)
    return equation
