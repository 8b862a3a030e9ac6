"""An equation as its author writes it."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import Any

from solver.written import closures
from solver.written.canonical import canonical, canonical_table
from solver.written.degrees import holds_time
from solver.written.energies import names_of_squares
from solver.written.formula import unicode
from solver.written.kinds import VECTOR, kind_of
from solver.written.lifts import without_lifts
from solver.written.obstacles import WORD, called, scalars, without_penalties
from solver.written.parse import read_expression, read_line
from solver.written.system import System, insert, read_system, refuse_no_name
from solver.written.tree import Call, Contraction, Entry, Line, Name, Node, Number, Power, WrittenError
from solver.written.vocabulary import COORDINATES, Word, nearest
from solver.written.wall_lines import WallLine, apart, read_wall_lines, upward

MOST_ARGUMENTS = 16  # of a function that takes any number
FEWEST, AS_WRITTEN, BY_PRODUCT_RULE = PLANS = ("fewest transforms", "as written", "by the product rule")
TABLES = (
    "fields", "unknowns", "define", "parameters", "units", "means", "components", "functions", "energies", "series",
    "invariants", "vectors", "flows", "symbols", "limits",
)  # fmt: skip

LIMITS = (">= 0", "> 0", ">= 1")


class Given:
    """A stand-in for a function of a text that the equation has as a parameter; one object for each kind.

    Args:
        name: name of the object in this module.
    """

    def __init__(self, name: str) -> None:
        self.__qualname__ = name

    def __call__(self, *given: Any) -> Any:
        raise TypeError(f"{self.__qualname__}: the equation has this function; it is called at the points")

    def __reduce__(self) -> str:
        return self.__qualname__


FUNCTION = Given("FUNCTION")  # a function, or a pytree that can be called, with its arrays as leaves of the equation
VALUES = Given("VALUES")  # an array of values at the points
VALUES_OF = "values_of_"  # and the name of the parameter: the function by which a text takes the values


@dataclass(frozen=True)
class Text:
    """A system of equations as text.

    Args:
        write: the equations, one `=` in each.
        fields: rank of each field by name: this and the other tables as mappings, or as pairs.
        unknowns: rank of each unknown, which is neither stored nor given a start.
        define: definitions of further names.
        parameters: rank of each parameter; None if every name that is nothing else is a scalar parameter.
        units: units of each field where they are known, and of each column whose units do not follow from them.
        means: fields whose mean is 0 and stays 0, by name: 0 for the mean over the box, or an axis, `x`, `y` or `z`,
            for the mean along it, at every place of the other axes.
        components: names of the components of fields, by field; made from the field's name where none are given.
        functions: the user's functions by name; each takes numbers at a point and returns one number. Or a sequence of
            names alone, of functions that are parameters of the equation.
        of_whole_fields: names of functions that take arrays over all points and give one.
        at_points: names of parameters that are fields of values at the points.
        energies: quadratic forms of the fields that have a budget, as the text of the density by name; ½|u|² of each
            field if None.
        series: further columns of the series, by name: texts whose means over the box are reported, or what is made
            of `mean(f)`, `max(f)`, `min(f)` and columns before them.
        invariants: quadratic forms of the fields that move between scales, as energies; the energies if None.
        vectors: further vectors for diagnostics, as the velocity of a stream function: texts by name.
        flows: velocities that carry passive scalars and are no vector above, or more than the vector of this name, as a
            flow with its uniform part: texts by name.
        spectra: columns that are quadratic in the fields, whose spectra are of interest, in addition to energies and
            invariants.
        conserved: columns without whose drift since the start the series is not complete; or densities by name, of
            what need not be a column.
        rate: the rate whose maximum the CFL number uses [1/time], where it does not follow from the text.
        limits: limit of each parameter, by name: `>= 0`, `> 0` or `>= 1`.
        symbols: printed forms of names, as `u` for `velocity`.
        plan: search for the transforms, one of `PLANS`. The fewest need other forms of products of two, so that
            aliasing differs; they are looked for where the dealiasing rule leaves such products free of it, or
            `aliased` says that they are wanted all the same. By the product rule no product is differentiated along
            the last axis.
        aliased: True if other forms are wanted on every grid.
        unbounded: True if L may amplify ever shorter waves ever faster, which is refused otherwise.
        wall_lines: lines of `write` that say what a field meets at a wall, such as `T(bottom) = 1`; taken from there.
        walled: names of the unknowns that have conditions at walls of their own; the unknowns of those lines, and
            further ones that an equation has.

    Raises:
        WrittenError: an entry other than the equations is wrong; the equations are read when they are needed.
    """

    write: Sequence[str]
    fields: Any
    unknowns: Any = ()
    define: Any = ()
    parameters: Any = None
    units: Any = ()
    means: Any = ()
    components: Any = ()
    functions: Any = ()
    of_whole_fields: Sequence[str] = ()
    at_points: Sequence[str] = ()
    energies: Any = None
    series: Any = ()
    invariants: Any = None
    vectors: Any = ()
    flows: Any = ()
    spectra: Sequence[str] = ()
    conserved: Any = ()
    rate: str = ""
    limits: Any = ()
    symbols: Any = ()
    plan: str = FEWEST
    aliased: bool = False
    unbounded: bool = False
    wall_lines: Sequence[str] = ()
    walled: Sequence[str] = ()

    def __post_init__(self) -> None:
        self._take_wall_lines()
        object.__setattr__(self, "functions", _with_stand_ins(self.functions))
        self._check_whole_fields()
        self._leave_out_lifts()
        self._define_values()
        for name in TABLES:
            given = getattr(self, name)
            object.__setattr__(self, name, None if given is None else tuple(dict(given).items()))
        object.__setattr__(self, "components", tuple((name, tuple(names)) for name, names in self.components))
        known = [name for name, _ in self.fields]
        for name, _ in [*self.means, *self.components]:
            if name not in known:
                raise WrittenError(f"means and components of {name!r}{nearest(name, known)}")
        known += [name for name, _ in [*(self.energies or ()), *self.series, *(self.invariants or ())]]
        for name, _ in self.units:
            if name not in known:
                raise WrittenError(f"units of {name!r}{nearest(name, known)}")
        for name, value in self.means:
            if value not in (0, *COORDINATES):
                raise WrittenError(
                    f"means: {value!r} of {name!r}, where 0 is needed, or an axis, such as 'x', along which the mean "
                    "is 0; a constant may be part of the text"
                )
        listed = self.conserved.items() if isinstance(self.conserved, Mapping) else self.conserved
        object.__setattr__(self, "conserved", tuple((one, one) if isinstance(one, str) else one for one in listed))
        object.__setattr__(self, "spectra", tuple(self.spectra))
        self._check_names()
        self._check_beside()
        if self.plan not in PLANS:
            raise WrittenError(f"plan {self.plan!r}: {', '.join(map(repr, PLANS))} are known")

    def _take_wall_lines(self) -> None:
        """Put the lines that say what a field meets at a wall apart from the equations."""
        equations, of_walls = apart([self.write] if isinstance(self.write, str) else self.write)
        object.__setattr__(self, "write", tuple(equations))
        object.__setattr__(self, "wall_lines", (*self.wall_lines, *of_walls))
        walls = self.walls
        if any(wall.along == "z" for wall in walls):  # in a plane x, z the second direction is called y here
            upwards = lambda text: upward(text) if isinstance(text, str) else text  # noqa: E731
            object.__setattr__(self, "write", tuple(map(upwards, equations)))
            object.__setattr__(self, "define", {name: upwards(text) for name, text in dict(self.define).items()})
        known = {**dict(self.fields), **dict(self.unknowns)}
        for wall in walls:
            if wall.field not in known:
                raise WrittenError(f"{wall.text}: {wall.field!r} is no field or unknown{nearest(wall.field, known)}")
        named = {*self.walled, *(wall.field for wall in walls)}
        object.__setattr__(self, "walled", tuple(name for name in dict(self.unknowns) if name in named))

    @property
    def walls(self) -> list[WallLine]:
        """Conditions of fields at the walls, from the text."""
        return read_wall_lines(self.wall_lines, dict(self.define))

    def with_walled(self, names: Iterable[str]) -> Text:
        """The text in which these unknowns have conditions at walls, too; names of others are left out."""
        more = tuple(name for name in dict(self.unknowns) if name in {*self.walled, *names})
        return self if more == tuple(self.walled) else _with_walled(self, more)

    def _leave_out_lifts(self) -> None:
        """Leave out the terms with `lift`, and the unknowns that occur in them alone."""
        words = {name: _word(name, function) for name, function in dict(self.functions).items()}
        lines, define, unknowns = without_lifts(self.write, dict(self.define), dict(self.unknowns), words)
        object.__setattr__(self, "write", tuple(lines))
        object.__setattr__(self, "define", define)
        object.__setattr__(self, "unknowns", unknowns)

    def _check_whole_fields(self) -> None:
        """Refuse names of functions of whole fields that are no functions."""
        object.__setattr__(self, "of_whole_fields", tuple(self.of_whole_fields))
        for name in self.of_whole_fields:
            if name not in dict(self.functions):
                raise WrittenError(f"of_whole_fields of {name!r}{nearest(name, dict(self.functions))}")

    def _define_values(self) -> None:
        """Make each parameter of values at the points a name for a function of the place."""
        object.__setattr__(self, "at_points", tuple(self.at_points))
        defined, functions = dict(self.define), dict(self.functions)
        for name in self.at_points:
            refuse_no_name("parameter", name)
            text = f"{VALUES_OF}{name}(x)"
            if name in dict(self.fields) or defined.get(name, text) != text:
                raise WrittenError(f"at_points: {name!r} is a field or a definition already; another name is needed")
            defined[name], functions[VALUES_OF + name] = text, VALUES
        object.__setattr__(self, "define", defined)
        object.__setattr__(self, "functions", functions)

    @property
    def given_functions(self) -> tuple[str, ...]:
        """Names of the functions that are parameters of the equation."""
        return tuple(name for name, function in self.functions if function is FUNCTION)

    def _check_names(self) -> None:
        """Refuse names in the tables outside the equations that could be in no text."""
        names = {"field": self.fields, "definition": self.define, "energy": self.energies}
        names |= {"column of the series": self.series, "invariant": self.invariants, "vector": self.vectors}
        for what, table in names.items():
            for name, _ in table or ():
                refuse_no_name(what, name)
        for name in (own for _, listed in self.components for own in listed):
            refuse_no_name("component", name)
        for name in (name for name, text in self.conserved if name != text):
            refuse_no_name("conserved", name)

    def _check_beside(self) -> None:
        """Refuse `conserved` and `spectra` that name no column, and wrong limits."""
        default = names_of_squares([name for name, _ in self.fields])
        energies = default if self.energies is None else [name for name, _ in self.energies]
        columns = [*energies, *(name for name, _ in self.series)]
        twice = next((name for name in columns if columns.count(name) > 1 or name == "cfl"), None)
        if twice is not None:
            raise WrittenError(f"series and energies: there is a column {twice!r} already; another name is needed")
        of_columns = {"conserved": [name for name, text in self.conserved if name == text], "spectra": self.spectra}
        for table, names in of_columns.items():
            for name in names:
                if name not in columns:
                    raise WrittenError(f"{table} of {name!r}{nearest(name, columns)}")
        for name, limit in self.limits:
            if limit not in LIMITS:
                raise WrittenError(f"limits of {name!r}: {limit!r}; one of {', '.join(map(repr, LIMITS))} is needed")

    @cached_property
    def system(self) -> System:
        """The system, read and checked."""
        if self.plain is not self:
            return self.plain.system
        parameters = None if self.parameters is None else dict(self.parameters)
        return read_system(
            self.write, dict(self.fields), dict(self.unknowns), dict(self.define), parameters, self.words,
            {name: axis for name, axis in self.means if axis}, [wall.right for wall in self.walls],
            self.walled,
        )  # fmt: skip

    @property
    def holds_time(self) -> bool:
        """True if its equations hold the time."""
        return any(holds_time(side) for line in self.system.lines for side in (line.left, line.right))

    @property
    def penalised(self) -> str:
        """The velocity that `penalise` is called of, as text; empty without `penalise`."""
        return _penalised(self)

    @property
    def plain(self) -> Text:
        """The text without the terms of bodies, sponges and a closure."""
        return _plain(self) if self.takes_bodies or self.takes_closure else self

    @property
    def takes_bodies(self) -> bool:
        """True if it says `penalise` of a velocity or a scalar."""
        return any(WORD in line for line in self.write)

    @property
    def takes_closure(self) -> bool:
        """True if it says `closure` of a velocity."""
        return bool(_closures(self))

    @property
    def without_closure(self) -> Text:
        """The text without the terms of a closure, with the terms of bodies and sponges."""
        return _without_closure(self) if self.takes_closure else self

    @property
    def closed_velocity(self) -> str:
        """The velocity that `closure` is called of, as text; empty without `closure`."""
        velocity = closures.velocity_of(_closures(self))
        return "" if velocity is None else canonical(velocity)

    @property
    def closed_scalars(self) -> list[str]:
        """Names of the scalars whose subgrid flux `closure` is called for."""
        fields = frozenset(name for name, _ in self.fields)
        return [closures.closed_scalar(call, fields) for call in _closures(self) if len(call.arguments) > 1]

    @property
    def closes_each_field(self) -> bool:
        """True if each `closure` is a term of its own in the equation of its field."""
        lines = [read_line(line, self.words) for line in self.write]
        fields = frozenset(name for name, _ in self.fields)
        named = lambda call: closures.closed_scalar(call, fields) if call.arguments[1:] else self.closed_velocity  # noqa: E731
        return all(closures.is_term_of(line, call, named(call)) for line in lines for call in closures.closures(line))

    @property
    def scalars_at_bodies(self) -> dict[str, Node]:
        """The diffusivities of the scalars of which each body says what it does to them, by name."""
        lines = (read_line(line, self.words) for line in self.write if WORD in line)
        return {canonical(scalar): diffusivity for line in lines for scalar, diffusivity in scalars(line)}

    @cached_property
    def words(self) -> dict[str, Word]:
        """The user's functions as words of the language."""
        return {name: _word(name, function) for name, function in self.functions}

    @property
    def table(self) -> dict[str, Any]:
        """The physics of the text, with keys as in a run file; texts are printed in one way."""
        names = ("fields", "unknowns", "define", "means")
        tables = {name: dict(getattr(self, name)) for name in names if getattr(self, name)}
        functions = {name: f"{function.__module__}:{function.__qualname__}" for name, function in self.functions}
        named: dict[str, Any] = {"functions": functions} if functions else {}
        if self.of_whole_fields:
            named["of_whole_fields"] = list(self.of_whole_fields)
        return canonical_table({"write": [*self.write, *self.wall_lines], **tables, **named})

    def formula(self, written: Callable[[Node | Line], str] = unicode) -> str:
        """The equations as people write them, and below them what the defined names in them mean."""
        lines = [read_line(text, self.words) for text in self.plain.write]
        defined = {name: read_expression(text, self.words) for name, text in self.define}
        used = _used([side for line in lines for side in (line.left, line.right)], defined)
        definitions = [
            f"{written(self.shown(Name(name)))} = {written(self.shown(node))}"
            for name, node in defined.items()
            if name in used
        ]
        return "\n".join(
            [*(written(Line(self.shown(line.left), self.shown(line.right), line.text)) for line in lines), *definitions]
        )

    def shown(self, node: Node) -> Node:
        """An expression with its names as they are printed, and |v|² for v·v of a vector."""
        printed, closed = dict(self.symbols), closures.shown(node)
        if closed is not None:
            return closed
        if isinstance(node, Name):
            return Name(printed.get(node.name, node.name))
        if isinstance(node, Entry):
            return Entry(printed.get(node.name, node.name), node.index)
        if isinstance(node, Contraction) and node.left == node.right and self._is_vector(node.left):
            return Power(Call("abs", (self.shown(node.left),)), Number(2))
        return node.map_children(self.shown)

    def _is_vector(self, node: Node) -> bool:
        system = self.system
        whole = insert(node, system.definitions)
        return kind_of(whole, system.kinds, system.dimensions[-1], system.functions) == VECTOR

    @property
    def names(self) -> set[str]:
        lines = [side for line in self.system.lines for side in (line.left, line.right)]
        at_walls = [read_expression(wall.right, self.words) for wall in self.walls]
        nodes = [*lines, *self.system.definitions.values(), *at_walls]
        return set().union(*(node.names for node in nodes))

    def units_of(self, field: str) -> str:
        """Units of a field, `1` where none are given."""
        return dict(self.units).get(field, "1")

    @property
    def is_mixed(self) -> bool:
        """True if some of its fields are real and some are complex; their transforms are the text's."""
        return self.system.is_mixed


@cache
def _with_walled(text: Text, names: tuple[str, ...]) -> Text:
    return replace(text, walled=names)


@cache
def _penalised(text: Text) -> str:
    """The velocity that `penalise` is called of, as text; empty without `penalise`."""
    read = [read_line(line, text.words) for line in text.write if WORD in line]
    found = {node for line in read for node in called(line)}
    if len(found) > 1:
        raise min(found, key=repr).place.error("bodies act on one velocity: penalise is called of another one, too")
    return canonical(found.pop()) if found else ""


@cache
def _closures(text: Text) -> list[Call]:
    """The calls of `closure` in the equations."""
    lines = (read_line(line, text.words) for line in text.write if closures.WORD in line)
    return [call for line in lines for call in closures.closures(line)]


@cache
def _without_closure(text: Text) -> Text:
    lines = (read_line(line, text.words) for line in text.write)
    return replace(text, write=[canonical(closures.without_closures(line)) for line in lines])


@cache
def _plain(text: Text) -> Text:
    """The text without the terms of bodies, sponges and a closure, once these are checked."""
    _ = text.closed_velocity, text.closed_scalars  # which refuse what has no closure
    text = text.without_closure
    plain, _ = _without_word(text), _penalised(text)  # which refuses two velocities
    for line in (read_line(line, text.words) for line in text.write):
        for scalar, diffusivity in scalars(line):
            if dict(text.fields).get(canonical(scalar)) != "scalar":
                raise scalar.place.error("penalise of two things: a scalar field is needed first, and its diffusivity")
            if alone := sorted(diffusivity.names - plain.system.parameters.keys() - {"pi"}):
                raise diffusivity.place.error(
                    f"{alone[0]} in the diffusivity of a scalar at bodies: a number is needed, or a parameter that "
                    "stands elsewhere, too"
                )
    return plain


def _without_word(text: Text) -> Text:
    return replace(text, write=[canonical(without_penalties(read_line(line, text.words))) for line in text.write])


def _used(nodes: Sequence[Node], defined: Mapping[str, Node]) -> set[str]:
    """The defined names in some expressions, and in the definitions of these names."""
    names = set().union(*(node.names for node in nodes)) & defined.keys()
    return names | (_used([defined[name] for name in names], defined) if names else set())


def _with_stand_ins(functions: Any) -> dict[str, Any]:
    """Functions by name, with a stand-in for each that is given by its name alone.

    Raises:
        WrittenError: a function that cannot be part of a text, since it holds arrays.
    """
    pairs = functions.items() if isinstance(functions, Mapping) else functions
    named = dict((one, FUNCTION) if isinstance(one, str) else one for one in pairs)
    for name, function in named.items():
        try:
            hash(function)
        except TypeError:
            raise WrittenError(
                f"function {name!r} is a {type(function).__name__}, which holds arrays: functions = [{name!r}] is "
                f"needed, and {name}=… of the equation"
            ) from None
    return named


def _word(name: str, function: Any) -> Word:
    """A function of the user's as a word of the language, with the numbers of arguments that it takes."""
    if isinstance(function, Given):
        return Word(f"{name}(…)", 1, MOST_ARGUMENTS)
    if not callable(function):
        raise WrittenError(f"function {name!r}: {type(function).__name__}, where a function of numbers is needed")
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # of functions that are not written in Python
        return Word(f"{name}(…)", 1, MOST_ARGUMENTS)
    by_place = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    least = sum(p.default is p.empty for p in by_place)
    most = MOST_ARGUMENTS if any(p.kind is p.VAR_POSITIONAL for p in parameters) else len(by_place)
    return Word(f"{name}({', '.join(p.name for p in by_place)})", max(least, 1), most)
